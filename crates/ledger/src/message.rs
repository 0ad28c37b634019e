//! Our own messages: each is held, taken, freed or owed exactly once, however often it is tried.

use std::collections::HashMap;

use super::account::AccountNumber;
use super::request::MessageKey;
use records::{AlertNo, EndpointNo, mail_key};

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Its price is held.
    Held = 0,
    /// Its price was taken.
    Settled = 1,
    /// What was held is free again.
    Released = 2,
    /// Its price was posted to the debt: it may still be found that it was not sent.
    Owed = 3,
}

impl Stage {
    pub fn of(value: u8) -> Option<Stage> {
        [Stage::Held, Stage::Settled, Stage::Released, Stage::Owed].into_iter().find(|s| *s as u8 == value)
    }
}

/// One message; it is remembered until its validity ends, so that nothing late is charged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub account: AccountNumber,
    pub stage: Stage,
    /// Minor units held, or owed.
    pub held: i64,
    /// The price of a part when it was held.
    pub part_price: i64,
    pub until_us: u64,
    /// What became of it before this place in the order of outcomes does not free it; the greatest number:
    /// nothing does.
    pub since: u64,
}

impl Message {
    /// An attempt at it is unknown, and nothing was said of it since.
    pub fn is_unknown(&self) -> bool {
        self.since == u64::MAX && matches!(self.stage, Stage::Held | Stage::Owed)
    }

    /// How many parts were held, or are owed.
    pub fn parts(&self) -> u32 {
        self.held.checked_div(self.part_price).and_then(|parts| u32::try_from(parts).ok()).unwrap_or(1)
    }

    /// What of the account's pending money is for it.
    pub fn pending(&self) -> i64 {
        if self.stage == Stage::Held { self.held } else { 0 }
    }
}

/// All messages of a shard that are remembered.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    all: HashMap<MessageKey, Message>,
    /// The unknown ones, by the key that a mail's receipt has.
    unknown: HashMap<u64, MessageKey>,
}

const ROOM_KEPT: usize = 1_024;

impl Messages {
    pub fn len(&self) -> usize {
        self.all.len()
    }
    pub fn find(&self, key: &MessageKey) -> Option<&Message> {
        self.all.get(key)
    }
    /// The unknown message that a receipt of this key is of.
    pub fn find_unknown(&self, receipt: u64) -> Option<(MessageKey, &Message)> {
        let key = self.unknown.get(&receipt)?;
        Some((*key, self.all.get(key)?))
    }
    pub fn insert(&mut self, key: MessageKey, message: Message) {
        if message.is_unknown() {
            self.unknown.insert(receipt_key(&key), key);
        } else {
            self.forget_unknown(&key);
        }
        self.all.insert(key, message);
    }
    pub fn iter(&self) -> impl Iterator<Item = (&MessageKey, &Message)> {
        self.all.iter()
    }
    /// Forgets a message, and gives memory back when little of it is used.
    pub fn remove(&mut self, key: &MessageKey) -> Option<Message> {
        let removed = self.all.remove(key)?;
        self.forget_unknown(key);
        if self.all.capacity() > ROOM_KEPT && self.all.len() * 8 < self.all.capacity() {
            self.all.shrink_to((self.all.len() * 2).max(ROOM_KEPT / 2));
        }
        Some(removed)
    }

    fn forget_unknown(&mut self, key: &MessageKey) {
        // Nearly always there is none.
        if !self.unknown.is_empty() {
            self.unknown.remove(&receipt_key(key));
        }
    }
}

fn receipt_key(key: &MessageKey) -> u64 {
    mail_key(AlertNo(key.alert), EndpointNo(key.endpoint))
}
