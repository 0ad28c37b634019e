//! Money of our own messages: hold, settle, release, and the debt of emergencies.

use super::entry::{Entry, EntryKind};
use super::expiry::Due;
use super::message::{Message, Stage};
use super::request::{MessageKey, Units, result};
use super::shard::{Funds, Shard};

impl Shard {
    /// The price of so many parts of a message.
    fn price_of_parts(&self, parts: u32, entry: &Entry) -> Option<i64> {
        let (_, rates) = self.config.tariffs.find(&Shard::target(entry), None, self.now_us)?;
        rates.price(&Units::specific(1))?.checked_mul(parts.into())
    }

    /// Whether this message was told of already; then the entry says again what it costs and moves nothing.
    /// What was freed may be held again, for another attempt.
    fn is_known(&self, key: &MessageKey, entry: &mut Entry, expected: Stage) -> bool {
        let Some(known) = self.messages.find(key) else {
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

    pub(super) fn decide_hold(&self, key: MessageKey, funds: Funds, entry: &mut Entry) {
        if self.is_known(&key, entry, Stage::Held) {
            return;
        }
        if self.messages.len() >= self.config.messages_max {
            return entry.result = result::UNABLE_TO_COMPLY;
        }
        match self.price_of_parts(entry.parts, entry) {
            None => entry.result = result::RATING_FAILED,
            Some(_) if funds.is_blocked => entry.result = result::END_USER_SERVICE_DENIED,
            Some(price) if price > funds.available => entry.result = result::CREDIT_LIMIT_REACHED,
            Some(price) => (entry.moved.pending, entry.cost) = (price, price),
        }
    }

    /// An emergency waits for no money, not even for that of a blocked account.
    pub(super) fn decide_debt(&self, key: MessageKey, entry: &mut Entry) {
        if self.is_known(&key, entry, Stage::Owed) {
            return;
        }
        let account = entry.account.and_then(|number| self.accounts.account(number));
        match self.price_of_parts(entry.parts, entry) {
            Some(price) if account.map_or(0, |a| a.debt).checked_add(price).is_some() => {
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
        let message = self.messages.find(key).copied();
        if message.is_none_or(|message| Some(message.account) != entry.account) {
            entry.result = result::UNKNOWN_SESSION_ID;
            return None;
        }
        message
    }

    pub(super) fn expire_message(&mut self, key: MessageKey) -> Option<Entry> {
        let message = self.messages.find(&key)?;
        if message.until_us > self.now_us {
            self.expiry.push(message.until_us, Due::Message(key));
            return None;
        }
        let mut entry = Entry {
            deed: EntryKind::MessageExpired,
            account: Some(message.account),
            message: Some(key),
            ..Entry::default()
        };
        entry.moved.pending = -message.pending();
        Some(entry)
    }
}
