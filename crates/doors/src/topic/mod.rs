//! Topic door: a text protocol on topics of the bus, for displays, scripts and `nc`.
//!
//! The requests of one wake-up of a connection are parsed in place, their messages are appended together, and
//! all replies leave in one write. With few connections the thread that the system wakes for a client does
//! all of that by itself; with many, those of a core share one. A connection moves between the two as others
//! come and go.
//!
//! ```text
//! machine       framing, grammar and limits, without a socket
//! people        who logs in, and their sessions
//! topic_cache   the topics, in memory
//! batch         a wake-up's requests carried out
//! door          listens, stops
//! threads       few connections; reactor: many
//! ```
//!
//! Invariant: text topics live below a prefix of their own and can never name an internal one.

mod batch;
mod config;
mod door;
pub mod machine;
mod meter;
mod people;
mod reactor;
#[cfg(test)]
mod tests;
mod threads;
mod topic_cache;

pub use config::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, Exit, TopicUsers, TopicsConfig};
pub use door::{TopicsError, TopicsRunning, start};
pub use people::{
    EngineLogins, LoginDesk, LoginProof, PeopleDeps, SessionRegister, SessionWriter, WriteResult,
};

use crate::Gatekeeper;
use crate::live_tokens::{LiveTokens, TokenHold};
use bus::Bus;
use futures_util::future::BoxFuture;
use net::Cores;
use records::{Account, Role};
use std::sync::Arc;
use store::SharedStore;

/// Looks up a token; nothing for an unknown one.
pub type TokenCheck = Arc<dyn Fn(String) -> BoxFuture<'static, Option<TopicToken>> + Send + Sync>;

/// A token that is good here.
pub struct TopicToken {
    /// What it may do.
    pub role: Role,
    /// Ends when it is revoked.
    pub hold: TokenHold,
}

/// The parts of the server that the door uses.
#[derive(Clone)]
pub struct TopicsDeps {
    /// Where the topics are.
    pub bus: Arc<dyn Bus>,
    /// Checks the tokens of clients from other machines.
    pub token_check: TokenCheck,
    /// Where connections live when there are many.
    pub cores: Arc<Cores>,
    /// Descriptors and guesses, over all doors.
    pub gatekeeper: Gatekeeper,
    /// For people who log in, where [`TopicUsers::line_route`] lets them.
    pub people: Option<PeopleDeps>,
}

/// A check against the API's tokens. Text topics have no accounts, they are the system's: tokens of other
/// accounts than `default` are denied.
pub fn by_tokens(store: SharedStore, live: Arc<LiveTokens>) -> TokenCheck {
    Arc::new(move |token| {
        let (store, live) = (store.clone(), live.clone());
        Box::pin(async move {
            match store.token_by_hash(crate::http::token_hash(&token)).await {
                Ok(found) => found
                    .filter(|token| token.account == Account::DEFAULT)
                    .map(|token| TopicToken { role: token.role, hold: live.hold(&token.id) }),
                Err(error) => {
                    tracing::error!(%error, "a token cannot be looked up: it is denied");
                    None
                }
            }
        })
    })
}
