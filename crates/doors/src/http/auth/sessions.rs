//! Sessions of browsers: an opaque id in a cookie, hashed in memory, tied to a token that is looked up again
//! for each request.

use crate::http::answer_page::links::same;
use crate::http::app::App;
use crate::http::auth::{Caller, hash, random_text};
use crate::http::forward;
use crate::http::problem::HttpResult;
use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Sessions in memory; the oldest goes for a new one.
const SESSIONS_MAX: usize = 10_000;
/// Of them, those of one token: its own oldest goes for one more.
const SESSIONS_OF_TOKEN_MAX: usize = 100;
/// A session ends after so long.
const SESSION_FOR: Duration = Duration::from_secs(12 * 3_600);
/// The session's cookie.
pub(crate) const SESSION_COOKIE: &str = "campanile_session";
/// The cookie that a form repeats which is shown without a session.
pub(crate) const FORM_COOKIE: &str = "campanile_form";

/// All sessions.
#[derive(Default)]
pub(crate) struct BrowserSessions {
    by_hash: Mutex<HashMap<[u8; 32], BrowserSession>>,
}

#[derive(Clone)]
struct BrowserSession {
    token_hash: [u8; 32],
    form_token: String,
    began: Instant,
}

impl BrowserSessions {
    /// Begins a session for a token; gives its id, which is nowhere else.
    pub(crate) fn begin(&self, token_hash: [u8; 32]) -> HttpResult<String> {
        let id = random_text()?;
        let session = BrowserSession { token_hash, form_token: random_text()?, began: Instant::now() };
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.began.elapsed() < SESSION_FOR);
        let is_own = |session: &BrowserSession| session.token_hash == token_hash;
        let has_many = sessions.values().filter(|session| is_own(session)).count() >= SESSIONS_OF_TOKEN_MAX;
        if has_many || sessions.len() >= SESSIONS_MAX {
            let in_the_way = sessions.iter().filter(|(_, session)| !has_many || is_own(session));
            let oldest = in_the_way.min_by_key(|(_, session)| session.began).map(|(id, _)| *id);
            oldest.map(|oldest| sessions.remove(&oldest));
        }
        sessions.insert(hash(&id), session);
        Ok(id)
    }

    /// Ends the session of these headers, if its form's token is right.
    pub(crate) fn end(&self, headers: &HeaderMap, form_token: &str) -> bool {
        let Some(id) = cookie(headers, SESSION_COOKIE) else { return false };
        let mut sessions = self.lock();
        let right =
            sessions.get(&hash(&id)).is_some_and(|s| same(s.form_token.as_bytes(), form_token.as_bytes()));
        if right {
            sessions.remove(&hash(&id));
        }
        right
    }

    /// The token that forms of this session carry.
    pub(crate) fn form_token(&self, headers: &HeaderMap) -> Option<String> {
        self.session(headers).map(|session| session.form_token)
    }

    fn session(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        let id = cookie(headers, SESSION_COOKIE)?;
        let sessions = self.lock();
        sessions.get(&hash(&id)).filter(|session| session.began.elapsed() < SESSION_FOR).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], BrowserSession>> {
        self.by_hash.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller of the session that these headers carry; nothing if it ended or its token was revoked.
pub(crate) async fn caller(app: &App, headers: &HeaderMap) -> HttpResult<Option<Caller>> {
    if let Some(caller) = forward::vouched(app, headers)? {
        return Ok(Some(caller));
    }
    let Some(session) = app.auth.sessions.session(headers) else { return Ok(None) };
    let token = app.auth.tokens.find(&app.store, session.token_hash).await?;
    Ok(token.map(Caller::new))
}

/// A cookie's value.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name && value.len() <= 200).then(|| value.to_owned())
        })
}

/// A cookie that scripts cannot read and other sites cannot send. An empty value removes it.
pub(crate) fn set_cookie(name: &str, value: &str, secure: bool) -> Option<HeaderValue> {
    let age = if value.is_empty() { 0 } else { SESSION_FOR.as_secs() };
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_with_many_sessions_drops_its_own_oldest_and_nobody_elses() {
        let sessions = BrowserSessions::default();
        sessions.begin([1; 32]).unwrap();
        let first = sessions.begin([2; 32]).unwrap();
        for _ in 0..SESSIONS_OF_TOKEN_MAX {
            sessions.begin([2; 32]).unwrap();
        }
        let held = sessions.lock();
        let of = |token: u8| held.values().filter(|session| session.token_hash == [token; 32]).count();
        assert_eq!((of(1), of(2)), (1, SESSIONS_OF_TOKEN_MAX));
        assert!(!held.contains_key(&hash(&first)));
    }
}
