//! The client's side: submits every message until its fate is known, and finds each receipt's message.

use super::*;
use crate::pdu::QuerySm;
use crate::receipt::{Receipt, receipt_keys, submit_key};
use std::collections::HashMap;

/// Tokens from here on are of queries.
const QUERIES: u64 = 1 << 32;
/// Queries of one run.
const QUERIES_MAX: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fortune {
    Waiting,
    InFlight,
    Accepted,
    Unknown,
}

pub(super) struct Message {
    pub(super) fortune: Fortune,
    /// The carrier's names for its copies, as far as they are known.
    pub(super) ids: Vec<String>,
    /// The names under which receipts of it came.
    pub(super) receipts: Vec<String>,
    /// How often its fate was unknown.
    pub(super) unknowns: usize,
    /// How often that was told after all.
    pub(super) late: usize,
}

/// An acknowledgement to come: when, on which link, of what.
type Ack = (Instant, usize, u32);

pub(super) struct Platform {
    weather: Weather,
    pub(super) messages: Vec<Message>,
    /// Which message has this key.
    known: HashMap<u64, (usize, String)>,
    /// Receipts that found nothing yet, as the carrier wrote their ids.
    waiting: Vec<String>,
    pub(super) early: usize,
    acks: Vec<Ack>,
    queries: usize,
    /// Requests of ours without an answer.
    in_flight: usize,
}

impl Platform {
    pub(super) fn new(weather: Weather) -> Platform {
        let message =
            || Message { fortune: Fortune::Waiting, ids: vec![], receipts: vec![], unknowns: 0, late: 0 };
        Platform {
            weather,
            messages: (0..MESSAGES).map(|_| message()).collect(),
            known: HashMap::new(),
            waiting: Vec::new(),
            early: 0,
            acks: Vec::new(),
            queries: 0,
            in_flight: 0,
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        let is_open = |message: &Message| match message.fortune {
            Fortune::Waiting | Fortune::InFlight => true,
            Fortune::Accepted => false,
            Fortune::Unknown => self.weather.resends,
        };
        !self.messages.iter().any(is_open) && self.acks.is_empty() && self.in_flight == 0
    }

    pub(super) fn describe(&self) -> String {
        let fortunes: Vec<_> = self.messages.iter().map(|message| message.fortune).collect();
        format!("it never ends: {fortunes:?}, {} acknowledgements to come", self.acks.len())
    }

    /// The ids of receipts that never found their message, as the answers write them.
    pub(super) fn unmatched(&self) -> Vec<String> {
        self.waiting.iter().map(|id| self.plain(id)).collect()
    }

    fn plain(&self, id: &str) -> String {
        match self.weather.form {
            IdForm::HexToDecimal => format!("{:08X}", id.parse::<u32>().unwrap()),
            _ => id.to_owned(),
        }
    }

    /// Acknowledges what is due, and submits while there is room.
    pub(super) fn act(&mut self, link: usize, session: &mut Session, now: Instant, random: &mut Random) {
        self.acks.retain(|&(at, of, sequence)| {
            if of != link || at > now {
                return true;
            }
            let _ = session.respond(sequence, Status::ROK, b"", now);
            false
        });
        let resends = self.weather.resends;
        for token in 0..self.messages.len() {
            if !random.chance(30) {
                continue;
            }
            let message = &mut self.messages[token];
            let is_due =
                message.fortune == Fortune::Waiting || resends && message.fortune == Fortune::Unknown;
            let text = token.to_string();
            let submit = SubmitSm { short_message: text.as_bytes(), ..hello() };
            if is_due && session.submit(&submit, token as u64, now).is_ok() {
                message.fortune = Fortune::InFlight;
                self.in_flight += 1;
            }
        }
        let query = QuerySm { message_id: b"1", ..QuerySm::default() };
        if self.queries < QUERIES_MAX && random.chance(5) && session.request(&query, QUERIES, now).is_ok() {
            self.queries += 1;
            self.in_flight += 1;
        }
    }

    pub(super) fn events(&mut self, link: usize, session: &mut Session, now: Instant, random: &mut Random) {
        while let Some(event) = session.poll_event() {
            let is_end =
                matches!(event, Event::Response(Response { late: false, .. }) | Event::Unanswered(_));
            self.in_flight -= usize::from(is_end);
            match event {
                Event::Response(Response { token, .. }) if token >= QUERIES => {}
                Event::Unanswered(Unanswered { token, .. }) if token >= QUERIES => {}
                Event::Response(response) => {
                    assert!(response.status.is_ok() && !response.malformed, "{:?}", self.weather);
                    let id = String::from_utf8(response.message_id.to_vec()).unwrap();
                    self.accepted(response.token as usize, id, response.late);
                }
                Event::Unanswered(Unanswered { token, fate, .. }) => self.unanswered(token as usize, fate),
                Event::Deliver { sequence, pdu } => {
                    let receipt = Receipt::of_deliver(&pdu).expect("it is marked as one");
                    let id = String::from_utf8(receipt.id().to_vec()).unwrap();
                    self.receipt(id);
                    self.acks.push((now + self.weather.wait(random), link, sequence));
                }
                Event::Bound { .. } | Event::Closed(_) | Event::Unbinding => {}
                other => panic!("{:?}: {other:?}", self.weather),
            }
        }
    }

    /// What the carrier sent on a connection that is no more, it will send again.
    pub(super) fn forget(&mut self, link: usize) {
        self.acks.retain(|(_, of, _)| *of != link);
    }

    fn accepted(&mut self, token: usize, id: String, is_late: bool) {
        let message = &mut self.messages[token];
        assert!(is_late || message.fortune == Fortune::InFlight, "{:?}: {token} has two fates", self.weather);
        assert!(!message.ids.contains(&id), "{:?}: {token} was answered twice with {id}", self.weather);
        // A late answer of a copy leaves a later copy in flight.
        if !is_late || message.fortune == Fortune::Unknown {
            message.fortune = Fortune::Accepted;
        }
        message.late += usize::from(is_late);
        message.ids.push(id.clone());
        let before = self.known.insert(submit_key(id.as_bytes()), (token, id));
        assert!(before.is_none(), "{:?}: one id for two", self.weather);
        for receipt in std::mem::take(&mut self.waiting) {
            self.early += usize::from(self.receipt(receipt));
        }
    }

    fn unanswered(&mut self, token: usize, fate: NoResponse) {
        let message = &mut self.messages[token];
        assert_eq!(message.fortune, Fortune::InFlight, "{:?}: {token} has two fates", self.weather);
        message.unknowns += usize::from(fate != NoResponse::NotSent);
        message.fortune = match (message.ids.is_empty(), message.unknowns) {
            (false, _) => Fortune::Accepted,
            (true, 0) => Fortune::Waiting,
            (true, _) => Fortune::Unknown,
        };
    }

    /// Finds a receipt's message, or keeps it until its answer comes; whether it was found.
    fn receipt(&mut self, written: String) -> bool {
        let keys = receipt_keys(written.as_bytes(), self.weather.form);
        let Some((token, id)) = keys.into_iter().find_map(|key| self.known.get(&key)) else {
            if !self.waiting.contains(&written) {
                self.waiting.push(written);
            }
            return false;
        };
        let receipts = &mut self.messages[*token].receipts;
        if !receipts.contains(id) {
            receipts.push(id.clone());
        }
        true
    }
}
