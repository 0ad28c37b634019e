//! Live sessions of an account: looked at, ended, and their clients asked to come again.

use super::{AccountId, Books, BooksError};
use crate::ended::OpenSession;
use crate::hash::Hash128;
use crate::session::Session;
use crate::session_clients::{RequestKind, SessionRequest};
use std::fmt;
use tokio::sync::oneshot;

/// Which session: its shard and the hash of its id, since another client may have another session of the same
/// id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    shard: usize,
    session: Hash128,
}

impl SessionPlace {
    /// As `Display` writes it. None: it is nobody's.
    pub fn parse(text: &str) -> Option<SessionPlace> {
        let (shard, hash) = text.split_once('-')?;
        if hash.len() != 32 || !hash.bytes().all(|octet| octet.is_ascii_hexdigit()) {
            return None;
        }
        let word = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let session = [word(&hash[..16])?, word(&hash[16..])?];
        Some(SessionPlace { shard: shard.parse().ok()?, session })
    }
}

impl fmt::Display for SessionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}{:016x}", self.shard, self.session[0], self.session[1])
    }
}

/// A live session.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// Its name here.
    pub place: SessionPlace,
    /// What is known of it.
    pub session: OpenSession,
}

/// How a session was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its client was asked to end it (ASR); it reports what was used with its last request.
    Asked,
    /// Its client is not connected: what it held is free.
    Released,
}

impl Books {
    /// Live sessions of an account, in the order of their places, after one.
    ///
    /// # Errors
    /// There is no such account, or the ledger has stopped.
    pub async fn sessions(
        &self,
        id: &AccountId,
        after: Option<SessionPlace>,
        count: usize,
    ) -> Result<Vec<SessionView>, BooksError> {
        let (packed, hash) = self.ledger.account_hash(id.kind, &id.octets);
        let shard = self.ledger.shard_of(hash);
        let after = after.map(|after| after.session);
        let (tell, told) = oneshot::channel();
        self.ledger.ask(shard, move |state| {
            let found = state.find(&packed).map(|number| state.sessions_after(number, after, count));
            let _ = tell.send(found);
        });
        let found = told.await.map_err(|_| BooksError::Stopped)?.ok_or(BooksError::Unknown)?;
        let view = |session: OpenSession| SessionView {
            place: SessionPlace { shard, session: session.session },
            session,
        };
        Ok(found.into_iter().map(view).collect())
    }

    /// Ends a session: its client is asked to (ASR), or, where it is not connected, what the session holds is
    /// released at once.
    ///
    /// # Errors
    /// There is no such session, or the ledger has stopped.
    pub async fn end_session(&self, place: SessionPlace) -> Result<Ended, BooksError> {
        if place.shard >= self.ledger.shards() {
            return Err(BooksError::Unknown);
        }
        let clients = self.clients.clone();
        let (tell, told) = oneshot::channel();
        self.ledger.ask(place.shard, move |state| {
            let ended = state.session(&place.session).map(|session| {
                let session_request = SessionRequest::new(RequestKind::Abort, place.shard, session);
                if session_request.is_some_and(|session_request| clients.ask_now(session_request)) {
                    return Ended::Asked;
                }
                state.end_sessions([place.session]);
                Ended::Released
            });
            let _ = tell.send(ended);
        });
        told.await.map_err(|_| BooksError::Stopped)?.ok_or(BooksError::Unknown)
    }

    /// Asks the clients of those sessions of an account of which this is true. Who is not connected is asked
    /// when it is.
    pub(super) fn ask_clients(&self, id: &AccountId, ask: RequestKind, which: fn(&Session) -> bool) {
        let (packed, hash) = self.ledger.account_hash(id.kind, &id.octets);
        let (shard, clients) = (self.ledger.shard_of(hash), self.clients.clone());
        self.ledger.ask(shard, move |state| {
            let Some(number) = state.find(&packed) else { return };
            for session in state.sessions_of(number, which) {
                if let Some(session_request) = SessionRequest::new(ask, shard, session) {
                    clients.ask(session_request);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_by_its_shard_and_hash() {
        let place = SessionPlace { shard: 3, session: [1, u64::MAX] };
        assert_eq!(place.to_string(), "3-0000000000000001ffffffffffffffff");
        assert_eq!(SessionPlace::parse(&place.to_string()), Some(place));
        for wrong in
            ["", "3", "3-", "x-0000000000000001ffffffffffffffff", "3-+000000000000001ffffffffffffffff"]
        {
            assert_eq!(SessionPlace::parse(wrong), None, "{wrong}");
        }
    }
}
