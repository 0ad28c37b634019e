use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{AlertId, Timestamp};

/// Rows past their time removed by each that is added.
pub(crate) const OLD_CAP_REMOVED: i64 = 16;
/// Ends that are looked through at most.
pub(crate) const CAP_ENDS_MAX: i64 = 10_000;

/// A CAP message that was told to an audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapTold {
    /// Of its identity (CAP 1.2, section 3.2.1).
    pub sender: String,
    /// Of its identity.
    pub identifier: String,
    /// Of its identity, as the message writes it; empty: it names no time.
    pub sent: String,
    /// Whom, and which part of the message: a hash.
    pub told: String,
    /// The alert it became; that may be gone by now.
    pub alert: AlertId,
    /// A hash of the message.
    pub content: String,
    /// Nothing of it holds after this.
    pub until: Timestamp,
}

/// A CAP message that a later one has ended, known here or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapEnd {
    /// Of the ended message's identity.
    pub sender: String,
    /// Of the ended message's identity.
    pub identifier: String,
    /// As the reference has it; empty: unreadable.
    pub sent: String,
    /// The token whose alerts alone are ended; empty: those of all.
    pub token: String,
    /// When the later message was sent.
    pub ended: Timestamp,
    /// It is remembered until then.
    pub until: Timestamp,
}

/// Identities of CAP messages.
pub trait CapMessages {
    /// Notes that a message was told; one that was noted before stays. `now` decides which are forgotten.
    fn note_cap_told<'a>(
        &'a self,
        account: &'a str,
        told: CapTold,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// To whom a message was told, by its sender and identifier, of those that are not forgotten.
    fn cap_told<'a>(
        &'a self,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
    ) -> BoxFuture<'a, Result<Vec<CapTold>, StoreError>>;
    /// Notes that a message is ended; of several ends of one the latest stays.
    fn note_cap_end<'a>(
        &'a self,
        account: &'a str,
        end: CapEnd,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Ends of messages of this sender and identifier; of all, at most 10,000, if none is named.
    fn cap_ends<'a>(
        &'a self,
        account: &'a str,
        of: Option<(&'a str, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<CapEnd>, StoreError>>;
}
