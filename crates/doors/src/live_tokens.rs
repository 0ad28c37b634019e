//! Live tokens: those by which a stream, a long body or a session is open, so that it ends when its token is
//! revoked, by this process or by another one of the same store. The session of a user is held as a token is.

use axum::body::{Body, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use records::Timestamp;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use store::{SharedStore, StoreError};
use tokio::sync::watch;

/// How often it is looked for revocations by other processes: with the rest of the way all ends within a
/// second.
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// Of so many looks one is for sessions whose time is over, where no other process can end any.
const LOOKS_FOR_OLD_SESSIONS: u32 = 25;
/// Before the hash of a session where a token's id would stand.
const SESSION_PREFIX: &str = "session:";

/// What a session of a user is held by.
pub(crate) fn session_key(hash: &[u8; 32]) -> String {
    let digits = hash.iter().map(|octet| format!("{octet:02x}"));
    digits.fold(SESSION_PREFIX.to_owned(), |key, digits| key + &digits)
}

/// The hash of such a session.
fn session_of(key: &str) -> Option<[u8; 32]> {
    let digits = key.strip_prefix(SESSION_PREFIX).filter(|digits| digits.len() == 64 && digits.is_ascii())?;
    let mut hash = [0; 32];
    for (at, octet) in hash.iter_mut().enumerate() {
        *octet = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

/// Tokens in use, by id.
#[derive(Default)]
pub struct LiveTokens {
    held: Mutex<HashMap<String, HeldToken>>,
    /// A token was held since it was last looked: it may have been revoked just before.
    is_fresh: AtomicBool,
}

struct HeldToken {
    holders: usize,
    ended: watch::Sender<bool>,
}

impl LiveTokens {
    /// Holds a token for something that is to end with it.
    pub fn hold(self: &Arc<Self>, id: &str) -> TokenHold {
        let ended = {
            let mut held = self.lock();
            let new = || HeldToken { holders: 0, ended: watch::Sender::new(false) };
            let token = held.entry(id.to_owned()).or_insert_with(new);
            token.holders += 1;
            token.ended.subscribe()
        };
        self.is_fresh.store(true, Ordering::Release);
        TokenHold { tokens: self.clone(), id: id.to_owned(), ended }
    }

    /// A token was revoked: what is open by it ends.
    pub fn end(&self, id: &str) {
        if let Some(token) = self.lock().get(id) {
            token.ended.send_replace(true);
        }
    }

    /// Looks for revocations and ended sessions as long as it is polled: in a store that other processes
    /// share all the time, else only where one may have ended while it was looked up, and once in a while for
    /// sessions whose time is over. `revoked` is called when there is any new revocation.
    pub(crate) async fn follow(
        &self,
        store: SharedStore,
        is_shared: bool,
        revoked: impl Fn(),
        now: impl Fn() -> Timestamp,
    ) {
        let (mut known, mut looks) = (None, 0_u32);
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            looks = looks.wrapping_add(1);
            let is_fresh = self.is_fresh.swap(false, Ordering::AcqRel);
            if is_fresh || is_shared || looks.is_multiple_of(LOOKS_FOR_OLD_SESSIONS) {
                self.end_old_sessions(&store, now()).await;
            }
            if !is_fresh && !is_shared {
                continue;
            }
            match store.revocations().await {
                Ok(count) if known == Some(count) && !is_fresh => {}
                Ok(count) => {
                    // Also the first time: there may have been one since the start.
                    if known.replace(count) != Some(count) {
                        revoked();
                    }
                    self.end_revoked(&store).await;
                }
                Err(error) => self.look_again(&error),
            }
        }
    }

    async fn end_old_sessions(&self, store: &SharedStore, now: Timestamp) {
        let held: Vec<[u8; 32]> = self.lock().keys().filter_map(|key| session_of(key)).collect();
        if held.is_empty() {
            return;
        }
        match store.live_sessions(held.clone(), now).await {
            Ok(live) => {
                let live: HashSet<[u8; 32]> = live.into_iter().collect();
                let over = held.iter().filter(|hash| !live.contains(*hash));
                over.for_each(|hash| self.end(&session_key(hash)));
            }
            Err(error) => self.look_again(&error),
        }
    }

    async fn end_revoked(&self, store: &SharedStore) {
        let ids = self.lock().keys().filter(|key| !key.starts_with(SESSION_PREFIX)).cloned().collect();
        match store.revoked_of(ids).await {
            Ok(revoked) => revoked.iter().for_each(|id| self.end(id)),
            Err(error) => self.look_again(&error),
        }
    }

    fn look_again(&self, error: &StoreError) {
        self.is_fresh.store(true, Ordering::Release);
        tracing::debug!(%error, "revocations cannot be looked up; it will be tried again");
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HeldToken>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A token that something is open by.
pub struct TokenHold {
    tokens: Arc<LiveTokens>,
    id: String,
    ended: watch::Receiver<bool>,
}

impl TokenHold {
    /// It was revoked.
    pub fn is_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Resolves when it is revoked.
    pub async fn ended(&self) {
        // The sender lives as long as this does.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }
}

impl Drop for TokenHold {
    fn drop(&mut self) {
        let mut held = self.tokens.lock();
        if let Some(token) = held.get_mut(&self.id) {
            token.holders -= 1;
            if token.holders == 0 {
                held.remove(&self.id);
            }
        }
    }
}

/// A body that breaks off when the token is revoked by which it comes or goes.
pub(crate) struct UntilRevoked {
    body: Body,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl UntilRevoked {
    pub(crate) fn wrap(body: Body, hold: TokenHold) -> Body {
        Body::new(UntilRevoked { body, ended: Box::pin(async move { hold.ended().await }) })
    }
}

impl HttpBody for UntilRevoked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.as_mut().poll(cx).is_ready() {
            // A future that is over is not polled again.
            self.ended = Box::pin(std::future::pending());
            self.body = Body::empty();
            let error = io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the token was revoked, or the session has ended",
            );
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_that_is_open_by_a_token_ends_with_it_and_nothing_else() {
        let tokens: Arc<LiveTokens> = Arc::default();
        let (one, two, other) = (tokens.hold("t_1"), tokens.hold("t_1"), tokens.hold("t_2"));
        drop(two);
        assert!(!one.is_ended());
        tokens.end("t_1");
        tokens.end("t_3");
        one.ended().await;
        assert!(one.is_ended() && !other.is_ended());
        drop((one, other));
        assert!(tokens.lock().is_empty(), "nothing is kept of what is over");
    }

    #[test]
    fn a_session_is_read_back_from_what_it_is_held_by() {
        let hash = std::array::from_fn(|at| at as u8 * 7);
        assert_eq!(session_of(&session_key(&hash)), Some(hash));
        for other in ["t_1", "session:", "session:zz", &session_key(&hash)[1..]] {
            assert_eq!(session_of(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn a_body_breaks_off_with_an_error_so_that_nobody_takes_it_for_whole() {
        let tokens: Arc<LiveTokens> = Arc::default();
        let pieces = futures_util::stream::once(async { Ok::<_, io::Error>("a piece") });
        let pieces = futures_util::StreamExt::chain(pieces, futures_util::stream::pending());
        let body = UntilRevoked::wrap(Body::from_stream(pieces), tokens.hold("t_1"));
        let mut stream = body.into_data_stream();
        let next = futures_util::StreamExt::next(&mut stream).await.unwrap();
        assert_eq!(next.unwrap(), "a piece");
        tokens.end("t_1");
        let next = futures_util::StreamExt::next(&mut stream).await.unwrap();
        assert!(next.unwrap_err().to_string().contains("the token was revoked"));
        assert!(futures_util::StreamExt::next(&mut stream).await.is_none());
    }
}
