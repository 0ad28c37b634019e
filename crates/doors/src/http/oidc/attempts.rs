//! Attempts to sign in at the provider: what ties the way back to the browser that began it is sealed in a
//! cookie of its own, with the time, and counts once.

use crate::http::app::App;
use crate::http::auth::hash;
use crate::http::auth::sessions::cookie;
use crate::http::auth::user_session::seconds;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sign_in::oidc::ATTEMPT_S;
use sign_in::oidc::authorization::SignInAttempt;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The cookie of one attempt under TLS, where no neighbour under the same domain can plant one.
const SECURE_COOKIE: &str = "__Host-campanile_oidc";
/// Its name without TLS.
const PLAIN_COOKIE: &str = "campanile_oidc";
/// Attempts that came back and are remembered.
const USED_MAX: usize = 10_000;

/// Attempts that came back, until they are too old anyway. A provider's code counts once as well, so another
/// process needs no word of it.
#[derive(Default)]
pub(crate) struct UsedAttempts(Mutex<HashMap<[u8; 32], u64>>);

impl UsedAttempts {
    /// Uses an attempt up; false: it was before.
    fn take(&self, attempt: &SignInAttempt, now_s: u64) -> bool {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= USED_MAX {
            used.retain(|_, until_s| *until_s > now_s);
        }
        if used.len() >= USED_MAX {
            used.clear();
        }
        used.insert(hash(&attempt.state()), now_s.saturating_add(ATTEMPT_S)).is_none()
    }
}

/// What an attempt at this issuer is sealed for.
fn owner(issuer: &str) -> String {
    format!("an attempt to sign in\n{issuer}")
}

/// The cookie of an attempt that begins.
pub(super) fn begun(app: &App, issuer: &str, attempt: &SignInAttempt) -> HttpResult<HeaderValue> {
    let secrets = URL_SAFE_NO_PAD.decode(attempt.text()).map_err(|_| unwritten())?;
    let made = seconds(app.now()).to_be_bytes();
    let sealed = app.auth.sign_in.seal.seal(&owner(issuer), &[&made[..], &secrets].concat())?;
    set_cookie(app, &sealed, ATTEMPT_S)
}

/// What removes the cookie.
pub(super) fn over(app: &App) -> HttpResult<HeaderValue> {
    set_cookie(app, "", 0)
}

fn set_cookie(app: &App, value: &str, age_s: u64) -> HttpResult<HeaderValue> {
    let text = match app.auth.secure_cookies {
        true => {
            format!("{SECURE_COOKIE}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Lax; Secure")
        }
        false => format!("{PLAIN_COOKIE}={value}; Path=/auth/oidc; Max-Age={age_s}; HttpOnly; SameSite=Lax"),
    };
    HeaderValue::from_str(&text).map_err(|_| unwritten())
}

fn unwritten() -> HttpProblem {
    HttpProblem::new(ProblemKind::Internal, "the cookie cannot be written")
}

/// Uses up the attempt that this browser began.
///
/// # Errors
/// It began none at this issuer, too long ago, or it came back before.
pub(super) fn take(app: &App, issuer: &str, headers: &HeaderMap) -> HttpResult<SignInAttempt> {
    let refused = |detail| HttpProblem::new(ProblemKind::SignInFailed, detail);
    let now_s = seconds(app.now());
    let name = if app.auth.secure_cookies { SECURE_COOKIE } else { PLAIN_COOKIE };
    let sealed = cookie(headers, name);
    let opened = sealed.and_then(|sealed| app.auth.sign_in.seal.open(&owner(issuer), &sealed));
    let attempt = opened.and_then(|octets| {
        let (made, secrets) = octets.split_first_chunk()?;
        let is_recent = now_s.saturating_sub(u64::from_be_bytes(*made)) <= ATTEMPT_S;
        SignInAttempt::read(&URL_SAFE_NO_PAD.encode(secrets)).filter(|_| is_recent)
    });
    let Some(attempt) = attempt else {
        return Err(refused("this browser did not begin the sign-in, or too long ago; begin again"));
    };
    match app.auth.sign_in.attempts.take(&attempt, now_s) {
        true => Ok(attempt),
        false => Err(refused("this sign-in came back before, and counts once; begin again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: usize) -> SignInAttempt {
        let mut state = [0; 32];
        state[..8].copy_from_slice(&number.to_be_bytes());
        SignInAttempt::new([state, [1; 32], [2; 32]])
    }

    #[test]
    fn an_attempt_counts_once_and_memory_is_bounded() {
        let used = UsedAttempts::default();
        assert!(used.take(&attempt(0), 100));
        assert!(!used.take(&attempt(0), 100 + ATTEMPT_S));
        assert!(used.take(&attempt(1), 100));
        for number in 0..2 * USED_MAX {
            used.take(&attempt(2 + number), 200);
        }
        assert!(used.0.lock().unwrap().len() <= USED_MAX);
    }
}
