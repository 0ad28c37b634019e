//! The connection: sessions begin when there is room and time, ask, and hear their answers.

use super::session::{ClientSession, Learnt, Next, RoutingAvps};
use super::{CreditClientOptions, CreditClientReport};
use diameter::check::Origin;
use diameter::dictionary::{avp, command};
use diameter::message::Message;
use diameter::peer::{Cause, Connection, EndToEnd, Event, Incoming, Outgoing};
use diameter::result_code;
use diameter::write::Writer;
use std::collections::HashMap;
use std::time::{Duration, Instant};

pub(super) struct ClientConnection {
    connection: Connection,
    options: CreditClientOptions,
    /// Distinguishes this run's sessions from those of others (RFC 6733, section 8.8).
    started_s: u64,
    began: Instant,
    /// The server, once it let us in: its name and realm.
    server: Option<(String, String)>,
    identifiers: EndToEnd,
    begun: u64,
    live: HashMap<u64, ClientSession>,
    report: CreditClientReport,
    said_goodbye: bool,
}

impl ClientConnection {
    pub(super) fn new(
        connection: Connection,
        options: CreditClientOptions,
        since: Duration,
        began: Instant,
    ) -> ClientConnection {
        ClientConnection {
            connection,
            started_s: since.as_secs(),
            began,
            server: None,
            identifiers: EndToEnd::new(since.as_secs(), since.subsec_nanos()),
            begun: 0,
            live: HashMap::new(),
            report: CreditClientReport::default(),
            said_goodbye: false,
            options,
        }
    }

    /// What became of all, once the connection is over.
    pub(super) fn report(self) -> Result<CreditClientReport, String> {
        match (&self.server, self.is_done()) {
            (None, _) => Err(format!("{} did not let {} in", self.options.connect, self.options.origin_host)),
            (Some((host, _)), false) => {
                let through = self.report.sessions;
                Err(format!(
                    "{host} ended the connection when {through} of {} sessions were through",
                    self.options.sessions
                ))
            }
            (Some(_), true) => Ok(self.report),
        }
    }

    fn is_done(&self) -> bool {
        self.begun == self.options.sessions && self.live.is_empty()
    }

    /// When the next session may begin; nothing: all have begun, or there is no room.
    fn next_begin(&self) -> Option<Instant> {
        let has_room = self.begun < self.options.sessions && self.live.len() < self.options.at_once;
        let after = self
            .options
            .rate
            .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(self.begun as f64 / rate));
        has_room.then_some(self.began + after)
    }

    fn begin(&mut self, now: Instant) {
        while self.next_begin().is_some_and(|due| due <= now) {
            let number = self.begun;
            let subscriber = (self.options.subscriber + number % self.options.subscribers).to_string();
            let id = format!("{};{};{number}", self.options.origin_host, self.started_s);
            self.live.insert(number, ClientSession::new(id, subscriber, self.options.script.clone()));
            self.begun += 1;
        }
    }

    /// Has every session do what is its turn, as far as the connection takes it.
    fn go_on(&mut self, now: Instant) {
        let Some((host, realm)) = self.server.clone() else { return };
        if !self.connection.is_usable() {
            return;
        }
        self.begin(now);
        let origin = Origin { host: &self.options.origin_host, realm: &self.options.origin_realm };
        let names = RoutingAvps { origin, realm: &realm, host: Some(&host) };
        for (token, session) in &mut self.live {
            if matches!(session.next(), Next::Until(due) if due <= now) {
                session.woken(now);
            }
            if session.next() != Next::Ask || self.connection.free_slots() == 0 {
                continue;
            }
            let Some((octets, end_to_end)) = session.request(&names, self.identifiers.take()) else {
                continue;
            };
            let timeout = self.options.tx;
            let outgoing = Outgoing { token: *token, command: command::CREDIT_CONTROL, timeout, end_to_end };
            let sent = self.connection.request(outgoing, now, |out, hop_by_hop| {
                let at = out.len() + 12;
                out.extend_from_slice(&octets);
                out[at..at + 4].copy_from_slice(&hop_by_hop.to_be_bytes());
            });
            match sent {
                Ok(_) => self.report.requests += 1,
                // There was a slot: it is not open any more.
                Err(_) => session.unanswered(now),
            }
        }
        self.sweep();
        if self.is_done() && !std::mem::replace(&mut self.said_goodbye, true) {
            self.connection.disconnect(Cause::DO_NOT_WANT_TO_TALK_TO_YOU, now);
        }
    }

    fn sweep(&mut self) {
        let before = self.live.len();
        self.live.retain(|_, session| session.next() != Next::Over);
        self.report.sessions += (before - self.live.len()) as u64;
    }

    fn unanswered(&mut self, token: u64, now: Instant) {
        self.report.unanswered += 1;
        if let Some(session) = self.live.get_mut(&token) {
            session.unanswered(now);
        }
    }
}

impl CreditClientReport {
    fn add(&mut self, learnt: Learnt) {
        *self.answers.entry(learnt.code).or_default() += 1;
        self.granted += learnt.granted;
        self.used += learnt.used;
        match learnt.is_alike {
            Some(true) => self.alike += 1,
            Some(false) => self.unlike += 1,
            None => {}
        }
    }
}

/// The server asks: for a session to go on, or to end.
fn answer(
    live: &mut HashMap<u64, ClientSession>,
    report: &mut CreditClientReport,
    options: &CreditClientOptions,
    asked: &Message<'_>,
    now: Instant,
) -> Vec<u8> {
    let id = asked.find(avp::SESSION_ID).and_then(|avp| avp.utf8().ok()).unwrap_or_default();
    let session = live.values_mut().find(|session| session.session_id() == id);
    let (count, good, is_known) = match asked.header.command {
        command::RE_AUTH => {
            let is_known = session.is_some_and(|session| session.asked_again(now));
            (&mut report.asked_again, result_code::LIMITED_SUCCESS, is_known)
        }
        command::ABORT_SESSION => {
            (&mut report.aborted, result_code::SUCCESS, session.is_some_and(ClientSession::aborted))
        }
        _ => (&mut 0, result_code::COMMAND_UNSUPPORTED, true),
    };
    *count += u64::from(is_known);
    let code = if is_known { good } else { result_code::UNKNOWN_SESSION_ID };
    let mut octets = Vec::new();
    let mut writer = Writer::answer(&mut octets, &asked.header);
    if !id.is_empty() {
        writer.utf8(avp::SESSION_ID, id);
    }
    if result_code::is_protocol(code) {
        writer.error();
    }
    writer.u32(avp::RESULT_CODE, code);
    writer.identity(avp::ORIGIN_HOST, &options.origin_host);
    writer.identity(avp::ORIGIN_REALM, &options.origin_realm);
    writer.finish();
    octets
}

impl net::Machine for ClientConnection {
    type Event<'a> = Event;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        let ClientConnection { connection, live, report, options, .. } = self;
        connection.handle_input(input, now, &mut |incoming, answers| match incoming {
            Incoming::Answer { message, pending } => {
                if let Some(session) = live.get_mut(&pending.token) {
                    report.add(session.answered(&message, now));
                }
            }
            Incoming::Request(asked) => {
                let octets = answer(live, report, options, &asked, now);
                answers.answer(|out| out.extend_from_slice(&octets));
            }
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
        self.connection.poll_timeout()
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

/// Keeps the sessions going.
#[derive(Default)]
pub(super) struct Driver {
    opened: Option<(String, String)>,
    unanswered: Vec<u64>,
    due: Option<Instant>,
}

impl net::Worker<ClientConnection> for Driver {
    fn handle(&mut self, event: Event, _now: Instant) {
        match event {
            Event::Opened(server) => self.opened = Some((server.origin_host, server.origin_realm)),
            Event::Unanswered(unanswered) => self.unanswered.push(unanswered.token),
            _ => {}
        }
    }

    fn fill(&mut self, connection: &mut ClientConnection, now: Instant, writable: bool) {
        if let Some(server) = self.opened.take() {
            (connection.server, connection.began) = (Some(server), now);
        }
        for token in self.unanswered.drain(..) {
            connection.unanswered(token, now);
        }
        if writable {
            connection.go_on(now);
        }
        let pauses = connection.live.values().filter_map(|session| match session.next() {
            Next::Until(due) => Some(due),
            _ => None,
        });
        self.due = pauses.chain(connection.next_begin().filter(|_| connection.server.is_some())).min();
    }

    fn deadline(&self) -> Option<Instant> {
        self.due
    }
}
