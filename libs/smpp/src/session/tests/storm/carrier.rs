//! The server's side: takes every message once, answers as the weather is, and delivers receipts until they
//! are acknowledged.

use super::*;
use crate::pdu::{QuerySmResp, esm_class};
use crate::receipt::{MessageState, Receipt};
use std::collections::BTreeMap;

impl Weather {
    /// How long until an answer is given.
    pub(super) fn wait(&self, random: &mut Random) -> Duration {
        let milliseconds = if random.chance(self.late) { 2_500 } else { random.below(300) };
        Duration::from_millis(milliseconds as u64)
    }
}

/// An answer to come.
struct Answer {
    at: Instant,
    link: usize,
    sequence: u32,
    /// The message's id; `None` answers a query.
    id: Option<String>,
}

pub(super) struct Carrier {
    weather: Weather,
    /// Id to the message it was given to.
    ids: BTreeMap<String, usize>,
    answers: Vec<Answer>,
    /// Receipts to be delivered, by the number in their id.
    receipts: Vec<u32>,
    in_flight: usize,
    next: u32,
}

impl Carrier {
    pub(super) fn new(weather: Weather) -> Carrier {
        // Numbers whose decimal and hexadecimal forms differ in length.
        Carrier {
            weather,
            ids: BTreeMap::new(),
            answers: vec![],
            receipts: vec![],
            in_flight: 0,
            next: 0x00A0_0000,
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.answers.is_empty() && self.receipts.is_empty() && self.in_flight == 0
    }

    /// The ids of a message's copies.
    pub(super) fn carried(&self, token: usize) -> Vec<String> {
        self.ids.iter().filter(|(_, of)| **of == token).map(|(id, _)| id.clone()).collect()
    }

    /// Which message an id was given to.
    pub(super) fn whose(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }

    /// Gives the answers that are due, in any order, and delivers receipts on whatever session has room.
    pub(super) fn act(&mut self, link: usize, session: &mut Session, now: Instant, random: &mut Random) {
        let mut index = 0;
        while index < self.answers.len() {
            let answer = &self.answers[index];
            if answer.at > now || answer.link != link {
                index += 1;
                continue;
            }
            let Answer { sequence, id, .. } = self.answers.swap_remove(index);
            let given = match id {
                Some(id) => session.respond(sequence, Status::ROK, id.as_bytes(), now),
                None => session.respond_with(sequence, Status::ROK, &QuerySmResp::default(), now),
            };
            given.unwrap_or_else(|error| panic!("{:?}: {error}", self.weather));
        }
        while !self.receipts.is_empty() && random.chance(40) {
            let number = self.receipts.swap_remove(random.below(self.receipts.len()));
            if self.deliver(number, session, now).is_err() {
                self.receipts.push(number);
                return;
            }
            self.in_flight += 1;
        }
    }

    fn deliver(&self, number: u32, session: &mut Session, now: Instant) -> Result<u32, SendError> {
        let (decimal, hexadecimal) = (number.to_string(), format!("{number:08X}"));
        let (mut text, mut tlvs) = (Vec::new(), TlvBuf::new());
        let in_text = match self.weather.form {
            IdForm::HexToDecimal => decimal.as_bytes(),
            _ => hexadecimal.as_bytes(),
        };
        let receipt =
            Receipt { text_id: in_text, state: Some(MessageState::Delivered), ..Receipt::default() };
        receipt.write_text(&mut text);
        if number.is_multiple_of(2) {
            receipt.write_tlvs(&mut tlvs)?;
        }
        let deliver = DeliverSm {
            esm_class: esm_class::RECEIPT,
            short_message: &text,
            tlvs: tlvs.as_tlvs(),
            ..DeliverSm::default()
        };
        session.deliver(&deliver, u64::from(number), now)
    }

    pub(super) fn events(&mut self, link: usize, session: &mut Session, now: Instant, random: &mut Random) {
        let mut bind = false;
        while let Some(event) = session.poll_event() {
            match event {
                Event::Bind { .. } => bind = true,
                Event::Submit { sequence, pdu } => {
                    let text = std::str::from_utf8(pdu.short_message).unwrap();
                    let id = self.take(text.parse().unwrap());
                    let at = now + self.weather.wait(random);
                    self.answers.push(Answer { at, link, sequence, id: Some(id) });
                }
                Event::Request { sequence, .. } => {
                    let at = now + Duration::from_millis(random.below(100) as u64);
                    self.answers.push(Answer { at, link, sequence, id: None });
                }
                Event::Response(response) if response.late => {}
                Event::Response(_) => self.in_flight -= 1,
                Event::Unanswered(Unanswered { token, .. }) => {
                    self.in_flight -= 1;
                    self.receipts.push(token as u32);
                }
                Event::Unbinding | Event::Closed(_) => {}
                other => panic!("{:?}: {other:?}", self.weather),
            }
        }
        if bind {
            // Unless the connection broke meanwhile.
            let _ = session.accept_bind(b"carrier", now);
        }
    }

    pub(super) fn forget(&mut self, link: usize) {
        self.answers.retain(|answer| answer.link != link);
    }

    fn take(&mut self, token: usize) -> String {
        let number = self.next;
        self.next += 1;
        let id = format!("{number:08X}");
        self.ids.insert(id.clone(), token);
        self.receipts.push(number);
        id
    }
}
