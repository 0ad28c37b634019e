//! Trait takes messages for the engine.

use engine::{EngineError, Messages, Unroutable};
use futures_util::future::BoxFuture;
use records::{MessageId, Mode};

/// Takes messages: the engine, or a stand-in of tests and benches.
pub trait MessageIntake: Send + Sync {
    /// A route takes such a message now, or when it is up again.
    ///
    /// # Errors
    /// Why none does.
    fn routable(
        &self,
        mode: Mode,
        to: &str,
        sender: &str,
        account: &str,
        route: Option<&str>,
    ) -> Result<(), Unroutable>;
    /// Takes encoded records as one unit; resolves when they are durable.
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>>;
    /// The engine is so far behind that platforms should wait.
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
