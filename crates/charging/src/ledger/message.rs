//! Our own messages: each is held, taken, freed or owed exactly once, however often it is tried.

use std::collections::HashMap;

use super::account::AccountNumber;
use super::request::MessageKey;

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
    /// What became of it before this place in the order of outcomes does not free it; the greatest number: nothing does.
    pub since: u64,
}

impl Message {
    /// What of the account's pending money is for it.
    pub fn pending(&self) -> i64 {
        if self.stage == Stage::Held { self.held } else { 0 }
    }
}

/// All messages of a shard that are remembered.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    all: HashMap<MessageKey, Message>,
}

const ROOM_KEPT: usize = 1_024;

impl Messages {
    pub fn len(&self) -> usize {
        self.all.len()
    }
    pub fn find(&self, key: &MessageKey) -> Option<&Message> {
        self.all.get(key)
    }
    pub fn insert(&mut self, key: MessageKey, message: Message) {
        self.all.insert(key, message);
    }
    pub fn iter(&self) -> impl Iterator<Item = (&MessageKey, &Message)> {
        self.all.iter()
    }
    /// Forgets a message, and gives memory back when little of it is used.
    pub fn remove(&mut self, key: &MessageKey) -> Option<Message> {
        let removed = self.all.remove(key)?;
        if self.all.capacity() > ROOM_KEPT && self.all.len() * 8 < self.all.capacity() {
            self.all.shrink_to((self.all.len() * 2).max(ROOM_KEPT / 2));
        }
        Some(removed)
    }
}
