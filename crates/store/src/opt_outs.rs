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
    /// Who of the account said stop to whatever we send, those who were forgotten among them.
    fn opt_out_set<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<OptOutSet, StoreError>>;
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
