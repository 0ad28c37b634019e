use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{Channel, Timestamp};

/// Addresses whose owners said stop, whoever they belong to.
pub trait OptOuts {
    /// Notes a stop (or, with `out` false, a start) for an address.
    fn set_opt_out<'a>(
        &'a self,
        account: &'a str,
        channel: Channel,
        address: &'a str,
        out: bool,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// All of the account's.
    fn opt_outs<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Vec<(Channel, String)>, StoreError>>;
}
