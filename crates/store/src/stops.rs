//! Stops of people who were forgotten: their addresses are known by keyed hashes alone.

use crate::{OptOut, StoreError};
use channels::Defaults;
use records::{ChannelNumber, Timestamp};
use ring::hmac;
use rustc_hash::FxHashSet;

/// What stands before each hashed text: a hash made for another purpose is never one of these.
const PURPOSE: &[u8] = b"campanile: stop of a forgotten person\0";
/// Octets of a hash.
pub const STOP_HASH_OCTETS: usize = 32;

/// HMAC-SHA256 of an account, a channel and an address in its normal form.
pub type StopHash = [u8; STOP_HASH_OCTETS];

/// Makes the hashes. Its key is a secret of the installation, kept outside the database: who has the database
/// alone cannot try out numbers.
#[derive(Clone)]
pub struct StopHasher(hmac::Key);

impl StopHasher {
    /// By this key.
    pub fn new(key: &[u8; 32]) -> StopHasher {
        StopHasher(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The hash of an address: the same however the address was written.
    pub fn hash(&self, account: &str, channel: ChannelNumber, address: &str) -> StopHash {
        let mut text = Vec::with_capacity(PURPOSE.len() + account.len() + address.len() + 3);
        text.extend_from_slice(PURPOSE);
        text.extend_from_slice(account.as_bytes());
        text.extend_from_slice(&[0, channel.0, 0]);
        text.extend_from_slice(canonical(channel, address).as_bytes());
        let mut hash = [0; STOP_HASH_OCTETS];
        hash.copy_from_slice(hmac::sign(&self.0, &text).as_ref());
        hash
    }
}

impl std::fmt::Debug for StopHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StopHasher")
    }
}

/// An address's one form, in lower case, since people do not tell `Ann@` from `ann@`. A hash is made anew
/// from the address each time: the form of an address in E.164 never changes.
fn canonical(channel: ChannelNumber, address: &str) -> String {
    channels::canonical(channel, address, &Defaults::default()).to_lowercase()
}

/// A stop of somebody who was forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenStop {
    /// Of the address.
    pub hash: StopHash,
    /// Our number or name it holds for; nothing: all.
    pub sender: Option<String>,
    /// Since when.
    pub at: Timestamp,
}

/// Everybody of an account who said stop to whatever we send, those who were forgotten among them.
#[derive(Debug, Clone, Default)]
pub struct OptOutSet {
    account: String,
    plain: FxHashSet<(ChannelNumber, String)>,
    forgotten: FxHashSet<StopHash>,
    /// Said to one sender each.
    of_senders: Vec<OptOut>,
    forgotten_of_senders: Vec<ForgottenStop>,
    hasher: Option<StopHasher>,
}

impl OptOutSet {
    /// The same, with addresses as `defaults` write them: older versions stored them as networks gave them.
    #[must_use]
    pub fn in_one_form(self, defaults: &Defaults) -> OptOutSet {
        let one_form = |(channel, address): (ChannelNumber, String)| {
            let address = channels::canonical(channel, &address, defaults).into_owned();
            (channel, address)
        };
        OptOutSet { plain: self.plain.into_iter().map(one_form).collect(), ..self }
    }

    /// The same for what shows some senders: stops that were said to one of them hold as well, with addresses
    /// as `defaults` write them.
    #[must_use]
    pub fn with_those_said_to(mut self, shows: impl Fn(&str) -> bool, defaults: &Defaults) -> OptOutSet {
        let holds = |sender: &Option<String>| sender.as_deref().is_some_and(&shows);
        for stop in std::mem::take(&mut self.of_senders).into_iter().filter(|stop| holds(&stop.sender)) {
            let address = channels::canonical(stop.channel, &stop.address, defaults).into_owned();
            self.plain.insert((stop.channel, address));
        }
        let forgotten = std::mem::take(&mut self.forgotten_of_senders).into_iter();
        self.forgotten.extend(forgotten.filter(|stop| holds(&stop.sender)).map(|stop| stop.hash));
        self
    }

    /// Did the owner of this address say stop?
    pub fn contains(&self, channel: ChannelNumber, address: &str) -> bool {
        if !self.plain.is_empty() {
            let address = channels::canonical(channel, address, &Defaults::default()).into_owned();
            if self.plain.contains(&(channel, address)) {
                return true;
            }
        }
        // A hash costs a fraction of a microsecond: only where anybody was forgotten.
        let Some(hasher) = self.hasher.as_ref().filter(|_| !self.forgotten.is_empty()) else { return false };
        self.forgotten.contains(&hasher.hash(&self.account, channel, address))
    }
}

/// The set of an account, of all its stops. An error where somebody was forgotten whom nothing can find,
/// since the key is missing.
pub(crate) fn set_of(
    account: &str,
    stops: (Vec<OptOut>, Vec<ForgottenStop>),
    hasher: Option<StopHasher>,
) -> Result<OptOutSet, StoreError> {
    let (of_all, of_senders): (Vec<OptOut>, _) = stops.0.into_iter().partition(|stop| stop.sender.is_none());
    let (forgotten, forgotten_of_senders): (Vec<ForgottenStop>, _) =
        stops.1.into_iter().partition(|stop| stop.sender.is_none());
    if hasher.is_none() && !(forgotten.is_empty() && forgotten_of_senders.is_empty()) {
        return Err(no_key());
    }
    let set = OptOutSet {
        account: account.to_owned(),
        plain: of_all.into_iter().map(|stop| (stop.channel, stop.address)).collect(),
        forgotten: forgotten.into_iter().map(|stop| stop.hash).collect(),
        of_senders,
        forgotten_of_senders,
        hasher,
    };
    Ok(set.in_one_form(&Defaults::default()))
}

/// Nobody gave the store its key.
pub(crate) fn no_key() -> StoreError {
    let why = "the store has no key for the stops of forgotten people".to_owned();
    StoreError::Conflict { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_address_has_one_hash_however_it_is_written() {
        let hasher = StopHasher::new(&[7; 32]);
        let hash = |channel, address: &str| hasher.hash("a", channel, address);
        for written in ["+46 70-123 45 67", "46701234567", "tel:+46701234567", " +46701234567 "] {
            assert_eq!(hash(channels::SMS, written), hash(channels::SMS, "+46701234567"), "{written}");
        }
        assert_eq!(hash(channels::MAIL, "Ann@Example.SE"), hash(channels::MAIL, "ann@example.se"));
    }

    #[test]
    fn another_account_channel_number_or_key_has_another_hash() {
        let (ours, theirs) = (StopHasher::new(&[7; 32]), StopHasher::new(&[8; 32]));
        let one = ours.hash("a", channels::SMS, "+46701234567");
        assert_ne!(one, ours.hash("b", channels::SMS, "+46701234567"));
        assert_ne!(one, ours.hash("a", channels::MAIL, "+46701234567"));
        assert_ne!(one, ours.hash("a", channels::SMS, "+46701234568"));
        assert_ne!(one, theirs.hash("a", channels::SMS, "+46701234567"));
    }
}
