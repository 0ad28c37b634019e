//! Trait takes messages for the engine, so that tests and benches can stand in for it.

use engine::{EngineError, MessageView, Messages, Steered};
use futures_util::future::BoxFuture;
use records::{MessageClient, MessageId, Mode, Short, Timestamp};

/// Takes messages, and knows how they stand. [`engine::Messages`] is one.
pub trait Intake: Send + Sync {
    /// A route of the mode takes such a message, now or when it is up again.
    fn is_routable(&self, mode: Mode, to: &str, sender: &str, account: &str) -> bool;
    /// Takes encoded [`records::Intake`]s as one unit; resolves to the first one's id when they are durable.
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>>;
    /// So much waits that clients should be throttled.
    fn is_behind(&self) -> bool;
    /// How a message of the account stands; nothing: it has none such.
    fn message<'a>(
        &'a self,
        account: &'a str,
        id: MessageId,
    ) -> BoxFuture<'a, Result<Option<MessageView>, EngineError>>;
    /// Takes a message back.
    fn cancel<'a>(&'a self, account: &'a str, id: MessageId) -> BoxFuture<'a, Result<Steered, EngineError>>;
    /// Takes back all of a client's to an address; how many.
    fn cancel_all<'a>(
        &'a self,
        account: &'a str,
        party: &'a MessageClient,
        service_type: &'a str,
        source: &'a str,
        to: &'a str,
    ) -> BoxFuture<'a, Result<u64, EngineError>>;
    /// Lets a message say something else.
    fn replace<'a>(
        &'a self,
        account: &'a str,
        id: MessageId,
        short: Short,
        expires: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<Steered, EngineError>>;
}

impl Intake for Messages {
    fn is_routable(&self, mode: Mode, to: &str, sender: &str, account: &str) -> bool {
        self.routable(mode, to, sender, account, None).is_ok()
    }
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        Box::pin(Messages::accept(self, records))
    }
    fn is_behind(&self) -> bool {
        Messages::is_behind(self)
    }
    fn message<'a>(
        &'a self,
        account: &'a str,
        id: MessageId,
    ) -> BoxFuture<'a, Result<Option<MessageView>, EngineError>> {
        Box::pin(Messages::message(self, account, id))
    }
    fn cancel<'a>(&'a self, account: &'a str, id: MessageId) -> BoxFuture<'a, Result<Steered, EngineError>> {
        Box::pin(Messages::cancel(self, account, id))
    }
    fn cancel_all<'a>(
        &'a self,
        account: &'a str,
        party: &'a MessageClient,
        service_type: &'a str,
        source: &'a str,
        to: &'a str,
    ) -> BoxFuture<'a, Result<u64, EngineError>> {
        Box::pin(Messages::cancel_all(self, account, party, service_type, source, to))
    }
    fn replace<'a>(
        &'a self,
        account: &'a str,
        id: MessageId,
        short: Short,
        expires: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<Steered, EngineError>> {
        Box::pin(Messages::replace(self, account, id, short, expires, not_before))
    }
}
