//! PageNotes keeps what a person's own page needs beside their record: devices that wait for a code, how many
//! codes were sent of late, and since when older links to the page hold no longer. No name stands there: keys
//! and codes are keyed hashes.

use super::chat_link::CHAT_LINK_S;
use crate::api::{EngineError, KeyedHash, PAGE_LINK_S};
use crate::run::{Engine, bus_error};
use records::{ChannelNumber, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::sync::Arc;

/// The retained topic: hash of a person or of an address to what is noted of it.
const NOTES: &str = "person-page";
/// A code holds for so many minutes.
pub const CODE_MINUTES: i64 = 10;
/// Codes that are tried for one device; then it needs a new one.
pub(super) const TRIES: u8 = 3;
/// Codes sent in an hour for one person, to whatever devices.
pub(super) const CODES_OF_PERSON: u16 = 5;
/// Codes sent in an hour to one address, for whatever people.
pub(super) const CODES_TO_ADDRESS: u16 = 3;
/// Devices of one person that wait for a code.
const WAITING_MAX: usize = 5;
const HOUR_US: i64 = 3_600_000_000;

/// A device that is not a person's before a code that was sent to it was typed on their page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingDevice {
    /// The channel's number.
    pub channel: u8,
    /// In normal form.
    pub address: String,
    /// The code's hash.
    hash: KeyedHash,
    /// Until when the code holds.
    pub until: Timestamp,
    /// Wrong codes so far.
    tries: u8,
}

impl WaitingDevice {
    /// The channel.
    pub fn channel(&self) -> ChannelNumber {
        ChannelNumber(self.channel)
    }

    /// Is it this device?
    pub(super) fn is(&self, channel: ChannelNumber, address: &str) -> bool {
        let key = channels::key(channel, address);
        self.channel == channel.0 && channels::key(channel, &self.address) == key
    }
}

/// What is noted of a person, or of an address that codes are sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// The beginning of the hour in which codes are counted.
    hour: Timestamp,
    sent: u16,
    waiting: Vec<WaitingDevice>,
    /// Links that were made until then hold no longer.
    revoked: Option<Timestamp>,
    /// Links to a chat that were made until then hold no longer: one of them was used.
    #[serde(default)]
    chat_used: Option<Timestamp>,
}

impl Note {
    /// Whether one more code may be sent within the hour.
    fn may_send(&self, max: u16, now: Timestamp) -> bool {
        now.us_since(self.hour) > HOUR_US || self.sent < max
    }

    fn count(&mut self, now: Timestamp) {
        if now.us_since(self.hour) > HOUR_US {
            (self.hour, self.sent) = (now, 0);
        }
        self.sent = self.sent.saturating_add(1);
    }

    fn drop_old(&mut self, now: Timestamp) {
        self.waiting.retain(|device| now <= device.until);
        if now.us_since(self.hour) > HOUR_US {
            (self.hour, self.sent) = (Timestamp::default(), 0);
        }
        self.revoked = self.revoked.filter(|at| now.us_since(*at) <= PAGE_LINK_S * 1_000_000);
        self.chat_used = self.chat_used.filter(|at| now.us_since(*at) <= CHAT_LINK_S * 1_000_000);
    }
}

/// What came of a code that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeVerdict {
    Right(WaitingDevice),
    Wrong,
    /// None holds any more: too late, tried too often, or never sent.
    Over,
}

/// See the module.
pub(crate) struct PageNotes<'a> {
    engine: &'a Engine,
}

impl PageNotes<'_> {
    /// Of this engine.
    pub(crate) fn of(engine: &Engine) -> PageNotes<'_> {
        PageNotes { engine }
    }

    /// Takes every link to the page of somebody, and forgets their devices that wait.
    ///
    /// # Errors
    /// The bus's.
    pub(crate) async fn forget(&self, account: &str, id: &str) -> Result<(), EngineError> {
        let note = Note { revoked: Some(self.engine.parts().now()), ..Note::default() };
        self.keep(&self.person(account, id), &note).await
    }

    /// Whether a link that was made then still holds.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn is_link_good(&self, account: &str, id: &str, made: Timestamp) -> Result<bool, EngineError> {
        let note = self.note(&self.person(account, id))?;
        Ok(note.revoked.is_none_or(|at| made > at))
    }

    /// Whether a link to a chat that was made then still holds.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn is_chat_link_good(
        &self,
        account: &str,
        id: &str,
        made: Timestamp,
    ) -> Result<bool, EngineError> {
        let note = self.note(&self.person(account, id))?;
        Ok([note.revoked, note.chat_used].into_iter().flatten().all(|at| made > at))
    }

    /// A link to a chat was used: those that were made until then hold no longer.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn use_chat_link(
        &self,
        account: &str,
        id: &str,
        made: Timestamp,
    ) -> Result<(), EngineError> {
        let person = self.person(account, id);
        let mut note = self.note(&person)?;
        note.chat_used = note.chat_used.max(Some(made));
        self.keep(&person, &note).await
    }

    /// Devices that wait for their code, in the order in which they came.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn waiting(&self, account: &str, id: &str) -> Result<Vec<WaitingDevice>, EngineError> {
        let (mut note, now) = (self.note(&self.person(account, id))?, self.engine.parts().now());
        note.waiting.retain(|device| now <= device.until && device.tries < TRIES);
        Ok(note.waiting)
    }

    /// Notes a code that is about to be sent; false: too many were, to that address or for that person.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn wait_for(
        &self,
        (account, id): (&str, &str),
        (channel, address): (ChannelNumber, &str),
        code: &str,
    ) -> Result<bool, EngineError> {
        let now = self.engine.parts().now();
        let (person, to) = (self.person(account, id), self.address(account, channel, address));
        let (mut of_person, mut of_address) = (self.note(&person)?, self.note(&to)?);
        if !of_person.may_send(CODES_OF_PERSON, now) || !of_address.may_send(CODES_TO_ADDRESS, now) {
            return Ok(false);
        }
        of_person.waiting.retain(|device| now <= device.until && !device.is(channel, address));
        if of_person.waiting.len() >= WAITING_MAX {
            of_person.waiting.remove(0);
        }
        let hash = self.code(&person, channel, address, code);
        let until = now.plus_s(60 * CODE_MINUTES);
        let device = WaitingDevice { channel: channel.0, address: address.to_owned(), hash, until, tries: 0 };
        of_person.waiting.push(device);
        of_person.count(now);
        of_address.count(now);
        self.keep(&to, &of_address).await?;
        self.keep(&person, &of_person).await?;
        Ok(true)
    }

    /// Looks at a code; each that is looked at counts before anybody hears of it.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn try_code(
        &self,
        (account, id): (&str, &str),
        (channel, address): (ChannelNumber, &str),
        code: &str,
    ) -> Result<CodeVerdict, EngineError> {
        let (person, now) = (self.person(account, id), self.engine.parts().now());
        let mut note = self.note(&person)?;
        let Some(place) = note.waiting.iter().position(|device| device.is(channel, address)) else {
            return Ok(CodeVerdict::Over);
        };
        let expected = self.code(&person, channel, &note.waiting[place].address, code);
        let device = &mut note.waiting[place];
        if now > device.until || device.tries >= TRIES {
            note.waiting.remove(place);
            self.keep(&person, &note).await?;
            return Ok(CodeVerdict::Over);
        }
        if !is_same(&device.hash, &expected) {
            device.tries += 1;
            let is_over = device.tries >= TRIES;
            self.keep(&person, &note).await?;
            return Ok(if is_over { CodeVerdict::Over } else { CodeVerdict::Wrong });
        }
        let device = note.waiting.remove(place);
        self.keep(&person, &note).await?;
        Ok(CodeVerdict::Right(device))
    }

    /// Forgets a device that waits; false: there is none such.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn give_up(
        &self,
        (account, id): (&str, &str),
        (channel, address): (ChannelNumber, &str),
    ) -> Result<bool, EngineError> {
        let person = self.person(account, id);
        let mut note = self.note(&person)?;
        let before = note.waiting.len();
        note.waiting.retain(|device| !device.is(channel, address));
        let was_there = note.waiting.len() < before;
        if was_there {
            self.keep(&person, &note).await?;
        }
        Ok(was_there)
    }

    /// Lets go of what says nothing any more.
    ///
    /// # Errors
    /// The bus's.
    pub(crate) async fn forget_old(&self, now: Timestamp) -> Result<(), EngineError> {
        let notes = self.notes()?;
        for (key, octets) in notes.all() {
            let before = read(&octets);
            let mut note = before.clone();
            note.drop_old(now);
            if note != before {
                self.keep(&key, &note).await?;
            }
        }
        Ok(())
    }

    fn notes(&self) -> Result<Arc<dyn bus::Retained>, EngineError> {
        self.engine.parts().bus.retained(NOTES).map_err(bus_error)
    }

    fn note(&self, key: &str) -> Result<Note, EngineError> {
        Ok(self.notes()?.value(key).map(|octets| read(&octets)).unwrap_or_default())
    }

    async fn keep(&self, key: &str, note: &Note) -> Result<(), EngineError> {
        let value = match *note == Note::default() {
            true => Vec::new(),
            false => {
                let value =
                    serde_json::to_vec(note).map_err(|error| EngineError::Internal(error.to_string()))?;
                records::with_form(&value)
            }
        };
        self.notes()?.set(key, &value).await.map_err(bus_error)
    }

    fn person(&self, account: &str, id: &str) -> String {
        hex(self.engine.parts().links.keyed_hash("page of", &[account.as_bytes(), id.as_bytes()]))
    }

    fn address(&self, account: &str, channel: ChannelNumber, address: &str) -> String {
        let key = channels::key(channel, address);
        let pieces = [account.as_bytes(), &[channel.0], key.as_bytes()];
        hex(self.engine.parts().links.keyed_hash("codes to", &pieces))
    }

    fn code(&self, person: &str, channel: ChannelNumber, address: &str, code: &str) -> KeyedHash {
        let pieces = [person.as_bytes(), &[channel.0], address.as_bytes(), code.as_bytes()];
        self.engine.parts().links.keyed_hash("code", &pieces)
    }
}

fn read(octets: &[u8]) -> Note {
    let value = records::behind_form("value of the topic person-page", octets).ok();
    value.and_then(|value| serde_json::from_slice(value).ok()).unwrap_or_default()
}

fn hex(hash: KeyedHash) -> String {
    hash.iter().fold(String::with_capacity(2 * hash.len()), |mut out, octet| {
        let _ = write!(out, "{octet:02x}");
        out
    })
}

/// Compares in a time that does not depend on where they differ.
fn is_same(a: &KeyedHash, b: &KeyedHash) -> bool {
    a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_800_000_000_000_000);

    #[test]
    fn so_many_codes_are_sent_in_an_hour() {
        let mut note = Note::default();
        for n in 0..i64::from(CODES_TO_ADDRESS) {
            assert!(note.may_send(CODES_TO_ADDRESS, START.plus_s(n)));
            note.count(START.plus_s(n));
        }
        assert!(!note.may_send(CODES_TO_ADDRESS, START.plus_s(3_600)));
        assert!(note.may_send(CODES_TO_ADDRESS, START.plus_s(3_601)));
    }

    #[test]
    fn a_note_is_nothing_once_all_in_it_is_old() {
        let device = WaitingDevice { channel: 0, address: "a".into(), hash: [0; 12], until: START, tries: 0 };
        let mut note = Note {
            hour: START,
            sent: 1,
            waiting: vec![device],
            revoked: Some(START),
            chat_used: Some(START),
        };
        note.drop_old(START.plus_s(3_601));
        assert_eq!(note, Note { revoked: Some(START), ..Note::default() });
        note.drop_old(START.plus_s(PAGE_LINK_S + 1));
        assert_eq!(note, Note::default());
    }
}
