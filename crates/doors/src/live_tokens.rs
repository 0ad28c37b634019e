//! Live tokens: those by which a stream, a long body or a session is open, so that it ends when its token is
//! revoked, by this process or by another one of the same store.

use axum::body::{Body, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::collections::HashMap;
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

    /// Looks for revocations as long as it is polled: in a store that other processes share all the time,
    /// else only where a token may have been revoked while it was looked up. `revoked` is called when there
    /// is any new one.
    pub(crate) async fn follow(&self, store: SharedStore, is_shared: bool, revoked: impl Fn()) {
        let mut known = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let is_fresh = self.is_fresh.swap(false, Ordering::AcqRel);
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

    async fn end_revoked(&self, store: &SharedStore) {
        let ids: Vec<String> = self.lock().keys().cloned().collect();
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
            let error = io::Error::new(io::ErrorKind::PermissionDenied, "the token was revoked");
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
