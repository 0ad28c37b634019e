//! Control of messages that were handed in: query, cancel, replace.

use crate::message_intake::MessageIntake;
use engine::{EngineError, MessageView, Messages, Steered};
use futures_util::future::BoxFuture;
use records::{MessageClient, MessageId, Short, Timestamp};

/// Takes messages, and queries and changes those it has. [`engine::Messages`] is one.
pub trait MessageControl: MessageIntake {
    /// The state of a message of the account; nothing if it has no such message.
    fn message<'a>(
        &'a self,
        account: &'a str,
        id: MessageId,
    ) -> BoxFuture<'a, Result<Option<MessageView>, EngineError>>;
    /// Takes a message back.
    fn cancel<'a>(&'a self, account: &'a str, id: MessageId) -> BoxFuture<'a, Result<Steered, EngineError>>;
    /// Takes back all messages of a client to an address; resolves to their number.
    fn cancel_all<'a>(
        &'a self,
        account: &'a str,
        party: &'a MessageClient,
        service_type: &'a str,
        source: &'a str,
        to: &'a str,
    ) -> BoxFuture<'a, Result<u64, EngineError>>;
    /// Replaces the text of a message, and its times where given.
    fn replace<'a>(
        &'a self,
        account: &'a str,
        id: MessageId,
        short: Short,
        expires: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<Steered, EngineError>>;
}

impl MessageControl for Messages {
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
