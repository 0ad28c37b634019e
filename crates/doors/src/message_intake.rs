//! Intake of messages from platforms: the engine, or its substitute in tests and benches.

use engine::{EngineError, Messages, Unroutable};
use futures_util::future::BoxFuture;
use records::{MessageId, Mode};

/// Takes messages of platforms. [`engine::Messages`] is one.
pub trait MessageIntake: Send + Sync {
    /// A route of the mode takes such a message, now or when it is up again.
    ///
    /// # Errors
    /// No route takes it.
    fn routable(
        &self,
        mode: Mode,
        to: &str,
        sender: &str,
        account: &str,
        route: Option<&str>,
    ) -> Result<(), Unroutable>;
    /// Takes encoded [`records::Intake`]s as one unit; resolves to the first one's id when they are durable.
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>>;
    /// The engine is so far behind that platforms should be throttled.
    fn is_behind(&self) -> bool;
}

impl MessageIntake for Messages {
    fn routable(
        &self,
        mode: Mode,
        to: &str,
        sender: &str,
        account: &str,
        route: Option<&str>,
    ) -> Result<(), Unroutable> {
        Messages::routable(self, mode, to, sender, account, route)
    }
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        Box::pin(Messages::accept(self, records))
    }
    fn is_behind(&self) -> bool {
        Messages::is_behind(self)
    }
}
