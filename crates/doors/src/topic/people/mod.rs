//! People at the topic door: they log in under an id, alerts appear in their session, and what they type is
//! an answer.
//!
//! ```text
//! codes     codes on record, by id: pure
//! logins    who may log in: codes sent to another device, tokens
//! desk      the same over the engine: devices, the code's message, the audit trail
//! session   what an open session was shown, and what is typed in it
//! talk      a person's requests carried out
//! ```
//!
//! Invariants worth naming:
//! - A code is never sent to the session that asks for it, and an unknown id is replied to as a known one.
//! - What is typed is on record before the session says so.

mod codes;
mod desk;
mod logins;
mod session;
mod talk;

pub use desk::EngineLogins;
pub use session::{SessionWriter, WriteResult};

pub(super) use logins::Logins;
pub(super) use session::{PersonSession, QueuedBlock};

use engine::{Clock, LoginDevice};
use futures_util::future::BoxFuture;
use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

/// Finds who may log in, sends codes, and is told who did.
pub trait LoginDesk: Send + Sync {
    /// The devices that a code for this id may go to, one for each person who has the id.
    fn devices(&self, id: String) -> BoxFuture<'static, Result<Vec<LoginDevice>, String>>;

    /// Sends a code.
    fn send_code(
        &self,
        device: LoginDevice,
        id: String,
        code: String,
    ) -> BoxFuture<'static, Result<(), String>>;

    /// A session is open: what waits for it can be written, and it is noted.
    fn logged_in(&self, id: String, from: IpAddr, by: LoginProof) -> BoxFuture<'static, Result<(), String>>;
}

/// What a person logged in with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginProof {
    /// A code that another device of theirs got.
    Code,
    /// A token of the API.
    Token,
}

/// Enters open sessions where routes find them.
pub trait SessionRegister: Send + Sync {
    /// A session of this id is open until what this gives is dropped; nothing if the id has too many.
    fn open(&self, id: &str, writer: SessionWriter) -> Option<Box<dyn Any + Send + Sync>>;
}

/// What the door needs for people.
#[derive(Clone)]
pub struct PeopleDeps {
    /// Who may log in.
    pub desk: Arc<dyn LoginDesk>,
    /// Where sessions are entered.
    pub register: Arc<dyn SessionRegister>,
    /// The wall clock.
    pub clock: Clock,
    /// Makes up the device that a reply names for an id that nobody has: the same one each time.
    pub mask_key: [u8; 32],
}
