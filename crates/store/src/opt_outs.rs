use crate::{ForgottenStop, OptOutSet, StopHasher, StoreError};
use futures_util::future::BoxFuture;
use records::{ChannelNumber, Timestamp};

/// Addresses whose owners said stop, whoever they belong to.
pub trait OptOuts {
    /// Notes a stop (or, with `out` false, a start) for an address.
    fn set_opt_out<'a>(
        &'a self,
        account: &'a str,
        channel: ChannelNumber,
        address: &'a str,
        out: bool,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// The same for one number or name of ours alone.
    fn set_sender_opt_out<'a>(
        &'a self,
        account: &'a str,
        channel: ChannelNumber,
        address: &'a str,
        sender: &'a str,
        out: bool,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// All of the account's, with what they hold for and since when.
    fn all_opt_outs<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Vec<OptOut>, StoreError>>;
    /// All of the account's that hold for whatever we send.
    fn opt_outs<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(ChannelNumber, String)>, StoreError>>;
    /// All of the account's stops of people who were forgotten. A start takes them back like the others.
    fn forgotten_stops<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ForgottenStop>, StoreError>>;
    /// What makes their hashes; nothing before the key is set.
    fn stop_hasher(&self) -> Option<StopHasher>;
    /// Notes stops to whatever we send, all or none.
    fn put_opt_outs<'a>(
        &'a self,
        account: &'a str,
        stops: Vec<(ChannelNumber, String)>,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// The stops of these addresses in normal form, those of people who were forgotten among them; each with
    /// its address as it was asked for.
    fn stops_of<'a>(
        &'a self,
        account: &'a str,
        addresses: Vec<(ChannelNumber, String)>,
    ) -> BoxFuture<'a, Result<Vec<OptOut>, StoreError>>;
    /// Notes words that are perhaps a stop. Of one address the newest are kept; at most
    /// [`PERHAPS_STOPS_MAX`] of an account, the oldest go first.
    fn note_perhaps_stop<'a>(
        &'a self,
        account: &'a str,
        perhaps: PerhapsStop,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// The next up to `limit` of them with a number above `after`.
    fn perhaps_stops<'a>(
        &'a self,
        account: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PerhapsStop>, StoreError>>;
    /// Takes one away, since somebody decided. Nothing if there is none with this number.
    fn remove_perhaps_stop<'a>(
        &'a self,
        account: &'a str,
        no: u64,
    ) -> BoxFuture<'a, Result<Option<PerhapsStop>, StoreError>>;
    /// Who of the account said stop to whatever we send, those who were forgotten among them.
    fn opt_out_set<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<OptOutSet, StoreError>>;
}

/// Words of an account that are perhaps a stop, at most.
pub const PERHAPS_STOPS_MAX: usize = 100_000;

/// Somebody wrote a sentence with a word in it that stops messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerhapsStop {
    /// Its number; 0 before it has one. Newer words of the address have a greater one.
    pub no: u64,
    /// By which channel.
    pub channel: ChannelNumber,
    /// Theirs.
    pub address: String,
    /// Our number or name they wrote to; may be empty.
    pub sender: String,
    /// What they wrote.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// The forms in which older versions may have stored an address.
pub(crate) fn stored_forms(address: &str) -> Vec<String> {
    match address.strip_prefix('+') {
        Some(digits) => vec![address.to_owned(), digits.to_owned(), format!("00{digits}")],
        None => vec![address.to_owned()],
    }
}

/// Somebody said stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptOut {
    /// By which channel.
    pub channel: ChannelNumber,
    /// Theirs.
    pub address: String,
    /// Our number or name it holds for; nothing: all.
    pub sender: Option<String>,
    /// Since when.
    pub at: Timestamp,
}
