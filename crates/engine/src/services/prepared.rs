//! SEND: an alert that was prepared, sent by who may from their own device: by its name and a PIN, and by a
//! code once it was read back.

use super::PreparedAlert;
use super::acts::PersonRequest;
use super::groups::is_in;
use super::people::AddressOf;
use super::phrases::Phrase;
use crate::api::{Draft, EngineError};
use crate::inbound_text::folded;
use crate::run::store_error;
use records::{ApprovalPerson, Origin, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// A code holds for so long, in minutes.
const CODE_MINUTES: i64 = 5;
/// Wrong PINs of one address in an hour, after which none is looked at.
const WRONG_MAX: u8 = 3;
const HOUR_US: i64 = 3_600_000_000;
/// Addresses with something under way at most.
const ADDRESSES_MAX: usize = 10_000;

/// What an address has under way.
#[derive(Debug, Clone, Default)]
struct UnderWay {
    wrong: u8,
    wrong_since: Timestamp,
    read_back: Option<ReadBack>,
}

#[derive(Debug, Clone)]
struct ReadBack {
    name: String,
    code: String,
    until: Timestamp,
}

/// What was read back and waits for a code, and wrong PINs, by address.
#[derive(Default)]
pub(super) struct SendDesk {
    under_way: Mutex<FxHashMap<AddressOf, UnderWay>>,
}

impl SendDesk {
    fn change<T>(&self, of: &AddressOf, change: impl FnOnce(&mut UnderWay) -> T) -> T {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.len() >= ADDRESSES_MAX && !under_way.contains_key(of) {
            under_way.clear();
        }
        change(under_way.entry(of.clone()).or_default())
    }

    /// Whether a PIN may be looked at.
    fn may_try(&self, of: &AddressOf, now: Timestamp) -> bool {
        self.change(of, |one| {
            if now.us_since(one.wrong_since) > HOUR_US {
                one.wrong = 0;
            }
            one.wrong < WRONG_MAX
        })
    }

    fn was_wrong(&self, of: &AddressOf, now: Timestamp) {
        self.change(of, |one| {
            if one.wrong == 0 {
                one.wrong_since = now;
            }
            one.wrong = one.wrong.saturating_add(1);
        });
    }
}

impl PersonRequest<'_> {
    /// `SEND name PIN`: reads back what would be sent.
    pub(super) async fn prepare_send(&self, argument: &str) -> Result<String, EngineError> {
        let of = self.address();
        let now = self.engine.parts().now();
        let (name, pin) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        let rules = self.engine.services();
        let found = rules.prepared.iter().find(|one| folded(&one.name) == folded(name));
        // Nobody learns which of them it was: the name, the right to send it, or the PIN.
        let may = match found {
            Some(prepared) if self.desk.sending.may_try(&of, now) => {
                is_same(pin.trim(), &prepared.pin) && self.is_one_of(&prepared.who).await?
            }
            _ => false,
        };
        let Some(prepared) = found.filter(|_| may) else {
            self.desk.sending.was_wrong(&of, now);
            self.note("service.send_refused", name).await?;
            return Ok(self.say(Phrase::MayNotSend, &[]));
        };
        let request = request_of(prepared, now);
        let forecast = self.engine.forecast(&self.call.account, request).await?;
        let code = code();
        let by: Vec<&str> = forecast.channels.keys().map(String::as_str).collect();
        let read_back = self.say(
            Phrase::ReadBack,
            &[
                &shown(prepared),
                &forecast.recipients.to_string(),
                &by.join(", "),
                &code,
                &CODE_MINUTES.to_string(),
            ],
        );
        let until = now.plus_s(60 * CODE_MINUTES);
        self.desk.sending.change(&of, |one| {
            one.wrong = 0;
            one.read_back = Some(ReadBack { name: prepared.name.clone(), code, until });
        });
        Ok(read_back)
    }

    /// `YES code`: sends what was read back.
    pub(super) async fn confirm_send(&self, argument: &str) -> Result<String, EngineError> {
        let (of, now) = (self.address(), self.engine.parts().now());
        let waits = self.desk.sending.change(&of, |one| {
            let fits = |waits: &mut ReadBack| is_same(argument, &waits.code) && now <= waits.until;
            one.read_back.take_if(fits)
        });
        let rules = self.engine.services();
        let found = waits.and_then(|waits| rules.prepared.iter().find(|one| one.name == waits.name).cloned());
        let Some(prepared) = found else {
            self.desk.sending.was_wrong(&of, now);
            return Ok(self.say(Phrase::WrongCode, &[]));
        };
        self.note("service.send", &prepared.name).await?;
        let token = format!("recipient:{}", self.person.id);
        let (name, person) = (self.person.name.clone(), Some(self.person.id.clone()));
        let draft = Draft {
            account: self.call.account.clone(),
            authors: vec![ApprovalPerson { user: token.clone(), name, person }],
            token,
            request: request_of(&prepared, now),
            origin: Origin::Device,
            key: None,
            wait_solved: false,
            note: None,
        };
        self.engine.submit(draft).await?;
        Ok(self.say(Phrase::Sent, &[&shown(&prepared)]))
    }

    fn address(&self) -> AddressOf {
        let inbound = &self.call.inbound;
        super::people::address_of(&self.call.account, inbound.channel, &inbound.from)
    }

    async fn is_one_of(&self, who: &[String]) -> Result<bool, EngineError> {
        for entry in who {
            let is_it = match entry.split_once(':') {
                Some(("recipient", id)) => id == self.person.id,
                Some(("group", name)) => {
                    let found = self.engine.store().group(&self.call.account, name).await;
                    let group = found.map_err(store_error)?.map(|(group, _)| group);
                    self.person.groups.iter().any(|group| group == name)
                        || group.is_some_and(|group| is_in(self.person, &group))
                }
                _ => false,
            };
            if is_it {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn request_of(prepared: &PreparedAlert, now: Timestamp) -> records::AlertRequest {
    records::AlertRequest { expires: now.plus_s(i64::from(prepared.tried_s)), ..prepared.request.clone() }
}

fn shown(prepared: &PreparedAlert) -> String {
    let request = &prepared.request;
    let text = request.headline.as_ref().or(request.text.as_ref());
    text.map_or_else(|| prepared.name.clone(), |text| crate::without_values(text))
}

/// Six digits that nobody guesses in a few tries.
pub(super) fn code() -> String {
    let random = uuid::Uuid::now_v7().as_u128() as u64;
    format!("{:06}", random % 1_000_000)
}

/// Compares in a time that does not depend on where they differ.
fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    !b.is_empty() && a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}
