//! One connection: each request is answered when its time has come, or never.

use super::Shared;
use super::book::CreditAnswer;
use super::service::Granted;
use crate::chance::Chance;
use diameter::check::{Fault, Origin};
use diameter::credit::CreditControlRequest;
use diameter::credit::answer::{CreditControlAnswer, ServiceGrant};
use diameter::message::Message;
use diameter::peer::{Connection, Event, Incoming};
use diameter::result_code;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

pub(super) struct ServerConnection {
    connection: Connection,
    shared: Arc<Shared>,
    chance: Chance,
    /// Answers by their time; nothing where one is lost.
    late: BTreeMap<(Instant, u64), Option<Vec<u8>>>,
    count: u64,
}

impl ServerConnection {
    pub(super) fn new(connection: Connection, shared: Arc<Shared>, seed: u64) -> ServerConnection {
        let chance = Chance::new(shared.options.seed, seed);
        ServerConnection { connection, shared, chance, late: BTreeMap::new(), count: 0 }
    }

    /// Writes the answers whose time has come.
    fn flush(&mut self, now: Instant) {
        while let Some(entry) = self.late.first_entry().filter(|entry| entry.key().0 <= now) {
            let octets = entry.remove().unwrap_or_default();
            // Who is gone needs no answer.
            let _ = self.connection.answer(1, now, |out| out.extend_from_slice(&octets));
        }
    }
}

/// What is answered to a request, and whether that is lost.
fn answer(shared: &Shared, chance: &mut Chance, message: &Message<'_>) -> (Vec<u8>, bool) {
    let options = &shared.options;
    let origin = Origin { host: &options.origin_host, realm: &options.origin_realm };
    let mut octets = Vec::new();
    let request = match CreditControlRequest::read(message) {
        Ok(request) => request,
        Err(fault) => {
            fault.answer(message, &origin, None, &mut octets);
            return (octets, false);
        }
    };
    let mut book = shared.book.lock().unwrap_or_else(PoisonError::into_inner);
    book.stats.requests += 1;
    let is_refused = chance.hits(options.refused);
    let is_lost = chance.hits(options.lost);
    let said = match book.known(&request) {
        Some(said) => said,
        None if is_refused => {
            book.stats.refused += 1;
            CreditAnswer::only(options.refused_with)
        }
        None => book.charge(&request),
    };
    book.stats.lost += u64::from(is_lost);
    drop(book);
    if result_code::is_protocol(said.code) {
        Fault::new(said.code).answer(message, &origin, None, &mut octets);
    } else {
        write(&said, &request, &origin, &mut octets);
    }
    (octets, is_lost)
}

fn write(said: &CreditAnswer, request: &CreditControlRequest<'_>, origin: &Origin<'_>, octets: &mut Vec<u8>) {
    let identifiers: Vec<Vec<u32>> = said
        .services
        .iter()
        .map(|service| service.key.and_then(|(_, identifier)| identifier).into_iter().collect())
        .collect();
    let each = said.services.iter().zip(&identifiers);
    let services: Vec<ServiceGrant<'_>> =
        each.filter_map(|(service, identifier)| service.control(identifier)).collect();
    let top = said.services.iter().find(|service| service.key.is_none());
    let answer = CreditControlAnswer {
        result_code: said.code,
        granted: top.and_then(Granted::grant),
        final_unit: top.and_then(Granted::final_unit),
        services: &services,
        ..Default::default()
    };
    answer.write(request, origin, octets);
}

impl net::Machine for ServerConnection {
    type Event<'a> = Event;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        let ServerConnection { connection, shared, chance, late, count } = self;
        connection.handle_input(input, now, &mut |incoming, _| {
            // It asks nothing itself.
            let Incoming::Request(message) = incoming else { return };
            let (octets, is_lost) = answer(shared, chance, &message);
            *count += 1;
            let due = now + shared.options.latency.at(chance.unit());
            late.insert((due, *count), (!is_lost).then_some(octets));
        });
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
    }
    fn handle_eof(&mut self, now: Instant) {
        self.connection.handle_eof(now);
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        self.connection.poll_transmit(output);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let due = self.late.first_key_value().map(|((due, _), _)| *due);
        [due, self.connection.poll_timeout()].into_iter().flatten().min()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.connection.poll_event()
    }
    fn wants_input(&self) -> bool {
        self.connection.wants_input()
    }
    fn is_finished(&self) -> bool {
        self.connection.is_over()
    }
}

/// Lets in whoever comes.
#[derive(Default)]
pub(super) struct Usher {
    is_asked: bool,
}

impl net::Worker<ServerConnection> for Usher {
    fn handle(&mut self, event: Event, _now: Instant) {
        if let Event::Asked(peer) = event {
            tracing::info!(peer = peer.origin_host, "let in");
            self.is_asked = true;
        }
    }

    fn fill(&mut self, connection: &mut ServerConnection, now: Instant, _writable: bool) {
        if std::mem::take(&mut self.is_asked) {
            connection.connection.accept(now);
        }
        connection.flush(now);
    }
}
