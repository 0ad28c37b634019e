//! Requests about a session to its client (Re-Auth, Abort-Session): the trait by which the accounts API hands
//! them to the credit-control server, which has the connections.

use super::client::Client;
use super::ended::OpenSession;
use super::hash::Hash128;
use std::sync::Arc;

/// What a client is asked about a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// To ask for units again (RFC 8506, section 5.5).
    ReAuth,
    /// To end it (RFC 6733, section 8.5).
    Abort,
}

/// One request to one client.
#[derive(Clone, Debug)]
pub struct SessionRequest {
    pub ask: RequestKind,
    /// Where the session is kept.
    pub shard: usize,
    pub session: Hash128,
    /// Session-Id.
    pub id: Box<[u8]>,
    pub client: Arc<Client>,
    /// How often it was sent and not answered.
    pub tries: u8,
}

impl SessionRequest {
    /// About a session. None: nobody knows who opened it.
    pub fn new(ask: RequestKind, shard: usize, session: OpenSession) -> Option<SessionRequest> {
        let client = session.client.filter(|_| !session.id.is_empty())?;
        Some(SessionRequest { ask, shard, session: session.session, id: session.id, client, tries: 0 })
    }
}

/// The clients of a ledger's sessions, as far as they are connected. Called between two turns of a shard's
/// thread: it hands over and returns at once.
pub trait SessionClients: Send + Sync {
    /// Sends a request to the client of its session. False: the client is not connected, and gets the request
    /// when it is.
    fn ask(&self, request: SessionRequest) -> bool;

    /// The same, but that the request is dropped where the client is not connected.
    fn ask_now(&self, request: SessionRequest) -> bool;
}

/// No client is connected, and none will be.
pub(crate) struct NoClients;

impl SessionClients for NoClients {
    fn ask(&self, _: SessionRequest) -> bool {
        false
    }

    fn ask_now(&self, _: SessionRequest) -> bool {
        false
    }
}
