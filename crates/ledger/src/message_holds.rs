//! Money of our own messages: hold, settle, release, and the debt of emergencies.

use super::entry::{Entry, EntryKind};
use super::message::{Message, Messages, Stage};
use super::rating::Rating;
use super::request::{MessageKey, result};
use super::shard::Funds;

impl Messages {
    /// Whether this message was told of already; then the entry says again what it costs and moves nothing.
    /// What was freed may be held again, for another attempt.
    fn is_known(&self, key: &MessageKey, entry: &mut Entry, expected: Stage) -> bool {
        let Some(known) = self.find(key) else {
            return false;
        };
        if Some(known.account) == entry.account && known.stage == Stage::Released {
            return false;
        }
        if Some(known.account) != entry.account || known.stage != expected {
            entry.result = result::CREDIT_CONTROL_NOT_APPLICABLE;
        }
        entry.cost = known.held;
        true
    }

    pub(super) fn decide_hold(&self, key: MessageKey, rating: &Rating, funds: Funds, entry: &mut Entry) {
        if self.is_known(&key, entry, Stage::Held) {
            return;
        }
        if self.len() >= rating.config.messages_max {
            return entry.result = result::UNABLE_TO_COMPLY;
        }
        match rating.price_of_parts(entry.parts, entry) {
            None => entry.result = result::RATING_FAILED,
            Some(_) if funds.is_blocked => entry.result = result::END_USER_SERVICE_DENIED,
            Some(price) if price > funds.available => entry.result = result::CREDIT_LIMIT_REACHED,
            Some(price) => (entry.moved.pending, entry.cost) = (price, price),
        }
    }

    /// An emergency waits for no money, not even for that of a blocked account.
    pub(super) fn decide_debt(&self, key: MessageKey, rating: &Rating, debt: i64, entry: &mut Entry) {
        if self.is_known(&key, entry, Stage::Owed) {
            return;
        }
        match rating.price_of_parts(entry.parts, entry) {
            Some(price) if debt.checked_add(price).is_some() => {
                (entry.moved.debt, entry.cost) = (price, price);
            }
            _ => entry.result = result::RATING_FAILED,
        }
    }

    /// Takes the price of the parts that were sent, at the price when they were held; over what was held only
    /// as far as there is money. What was freed may yet be found to have been sent. What is owed stays so for
    /// good.
    pub(super) fn decide_settle(&self, key: MessageKey, parts: u32, funds: Funds, entry: &mut Entry) {
        (entry.message, entry.parts) = (Some(key), parts);
        let Some(message) = self.own_message(&key, entry) else {
            return;
        };
        if !matches!(message.stage, Stage::Held | Stage::Released) {
            return;
        }
        let price = message.part_price.saturating_mul(parts.into());
        let taken = price.min(funds.available.saturating_add(message.pending()));
        entry.moved.pending = -message.pending();
        entry.moved.posted = -taken;
        entry.cost = taken;
    }

    /// Frees what is held, or owed, since before that place; anything else stays as it is.
    pub(super) fn decide_release(&self, key: MessageKey, at: u64, entry: &mut Entry) {
        entry.message = Some(key);
        let Some(message) = self.own_message(&key, entry) else {
            return;
        };
        match message.stage {
            Stage::Released => {}
            Stage::Held if message.since <= at => entry.moved.pending = -message.held,
            Stage::Owed if message.since <= at => {
                (entry.moved.debt, entry.cost) = (-message.held, message.held);
            }
            _ => entry.result = result::CREDIT_CONTROL_NOT_APPLICABLE,
        }
    }

    /// From now on only the end of its validity frees what is held.
    pub(super) fn decide_keep(&self, key: MessageKey, entry: &mut Entry) {
        (entry.message, entry.since) = (Some(key), u64::MAX);
        self.own_message(&key, entry);
    }

    /// The account's message, or the refusal: 5002 where nobody knows it (its validity is over, and what it
    /// held was freed).
    fn own_message(&self, key: &MessageKey, entry: &mut Entry) -> Option<Message> {
        let message = self.find(key).copied();
        if message.is_none_or(|message| Some(message.account) != entry.account) {
            entry.result = result::UNKNOWN_SESSION_ID;
            return None;
        }
        message
    }

    /// Moves the message as the entry says. A new one is looked at when this time has come.
    pub(super) fn commit(&mut self, entry: &Entry) -> Option<(u64, MessageKey)> {
        let (Some(key), Some(account)) = (entry.message, entry.account) else {
            return None;
        };
        if entry.result != result::SUCCESS {
            return None;
        }
        let before = self.find(&key).copied();
        let since = before.map_or(0, |message| message.since).max(entry.since);
        let stage = match (entry.deed, before) {
            (EntryKind::Hold, _) => Stage::Held,
            (EntryKind::Settle, _) => Stage::Settled,
            (EntryKind::Release, _) => Stage::Released,
            (EntryKind::Debt, _) => Stage::Owed,
            (EntryKind::Keep, Some(message)) => message.stage,
            _ => {
                self.remove(&key);
                return None;
            }
        };
        if let Some(message) = before.filter(|message| message.stage == stage) {
            self.insert(key, Message { since, ..message });
            return None;
        }
        let until_us = before.map_or(0, |message| message.until_us).max(entry.until_us);
        let is_new = matches!(stage, Stage::Held | Stage::Owed);
        let held = if is_new { entry.cost } else { 0 };
        let part_price = match is_new {
            true => entry.cost / i64::from(entry.parts.max(1)),
            false => before.map_or(0, |message| message.part_price),
        };
        self.insert(key, Message { account, stage, held, part_price, until_us, since });
        before.is_none().then_some((until_us, key))
    }
}
