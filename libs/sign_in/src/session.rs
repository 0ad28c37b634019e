//! Sessions of browsers: token, CSRF value, ends, confirmation, and new tokens where rights change.
//!
//! The browser has the token in a cookie; the store has its hash and [`SessionTimes`]. The CSRF value is
//! computed from the token, so it is not kept, and it ends with the token.

use crate::text;
use ring::{digest, hmac};
use std::fmt;

/// Random octets of a token.
pub const TOKEN_OCTETS: usize = 32;
/// Octets of a token's hash.
pub const HASH_OCTETS: usize = 32;
/// A session ends after so long without a request.
pub const IDLE_MAX_S: u64 = 12 * 3_600;
/// A session ends so long after it began, whatever is done.
pub const AGE_MAX_S: u64 = 7 * 24 * 3_600;
/// A confirmation (password or second factor, typed again) holds so long.
pub const CONFIRMED_S: u64 = 10 * 60;
/// The time of the last request is written at most so often.
pub const TOUCH_EVERY_S: u64 = 60;
const CSRF_CONTEXT: &[u8] = b"campanile csrf value";

/// Secret of a browser's session.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken([u8; TOKEN_OCTETS]);

impl fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionToken(..)")
    }
}

impl SessionToken {
    /// A token of random octets from the system's generator.
    pub fn new(random: [u8; TOKEN_OCTETS]) -> SessionToken {
        SessionToken(random)
    }

    /// Reads a cookie's value: base64url, 43 letters. Nothing if it has any other form.
    pub fn read(text: &str) -> Option<SessionToken> {
        text::from_base64url(text)?.try_into().ok().map(SessionToken)
    }

    /// The cookie's value. It goes to the browser alone, never to a log or the store.
    pub fn text(&self) -> String {
        text::base64url(&self.0)
    }

    /// SHA-256 of the token's octets: the key by which the store keeps the session.
    pub fn hash(&self) -> [u8; HASH_OCTETS] {
        let mut hash = [0; HASH_OCTETS];
        hash.copy_from_slice(digest::digest(&digest::SHA256, &self.0).as_ref());
        hash
    }

    /// The value that requests that write bring in a header: HMAC-SHA256 under the token, in base64url.
    pub fn csrf(&self) -> String {
        text::base64url(hmac::sign(&self.csrf_key(), CSRF_CONTEXT).as_ref())
    }

    /// Whether a header's value is that of [`csrf`](Self::csrf), compared in constant time.
    pub fn is_csrf(&self, given: &str) -> bool {
        text::from_base64url(given)
            .is_some_and(|given| hmac::verify(&self.csrf_key(), CSRF_CONTEXT, &given).is_ok())
    }

    fn csrf_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

/// Times of a session, as the store keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTimes {
    /// Signing in.
    pub began_s: u64,
    /// The last request that was noted.
    pub used_s: u64,
    /// The last time that the password or a factor was given.
    pub confirmed_s: u64,
}

/// Whether a session still lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionLife {
    /// Until this time, if no request comes; the page warns a minute before.
    Live {
        /// The end.
        ends_s: u64,
    },
    /// No request came for [`IDLE_MAX_S`].
    Idle,
    /// It began [`AGE_MAX_S`] ago.
    TooOld,
}

/// An event of a session that changes what its holder may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightsChange {
    /// First factor right: a new session begins.
    SignedIn,
    /// Second factor right.
    SecondFactor,
    /// Password or factor given again in a live session.
    Confirmed,
    /// Another role, or other limits of it.
    Role,
    /// Another password, passkey or one-time secret.
    Credentials,
}

impl RightsChange {
    /// Whether the session gets a new token, so that one that was planted or seen before gains nothing.
    pub fn needs_new_token(self) -> bool {
        self != RightsChange::Confirmed
    }

    /// Whether all other sessions of the user end.
    pub fn ends_others(self) -> bool {
        self == RightsChange::Credentials
    }
}

impl SessionTimes {
    /// Those of a session that begins.
    pub fn begin(now_s: u64) -> SessionTimes {
        SessionTimes { began_s: now_s, used_s: now_s, confirmed_s: now_s }
    }

    /// The end if no request comes: idle or of age, whichever is first.
    pub fn ends_s(self) -> u64 {
        self.used_s.saturating_add(IDLE_MAX_S).min(self.began_s.saturating_add(AGE_MAX_S))
    }

    /// Whether it lives. The end itself is no longer within the session.
    pub fn state(self, now_s: u64) -> SessionLife {
        if now_s >= self.began_s.saturating_add(AGE_MAX_S) {
            SessionLife::TooOld
        } else if now_s >= self.used_s.saturating_add(IDLE_MAX_S) {
            SessionLife::Idle
        } else {
            SessionLife::Live { ends_s: self.ends_s() }
        }
    }

    /// Notes a request of a live session; true: it is time to write the times.
    pub fn touch(&mut self, now_s: u64) -> bool {
        let is_due = now_s.saturating_sub(self.used_s) >= TOUCH_EVERY_S;
        if is_due {
            self.used_s = now_s;
        }
        is_due
    }

    /// Whether the holder proved who they are lately enough for users, tokens, policy and tariffs.
    pub fn is_confirmed(self, now_s: u64) -> bool {
        now_s < self.confirmed_s.saturating_add(CONFIRMED_S)
    }

    /// Times after a change of rights. A new session begins at [`RightsChange::SignedIn`] alone: a new token
    /// does not make the session younger. A change of role proves nothing, so it does not confirm.
    #[must_use]
    pub fn after(self, change: RightsChange, now_s: u64) -> SessionTimes {
        match change {
            RightsChange::SignedIn => SessionTimes::begin(now_s),
            RightsChange::Role => SessionTimes { used_s: now_s.max(self.used_s), ..self },
            RightsChange::SecondFactor | RightsChange::Confirmed | RightsChange::Credentials => {
                SessionTimes {
                    used_s: now_s.max(self.used_s),
                    confirmed_s: now_s.max(self.confirmed_s),
                    ..self
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BEGIN: u64 = 1_800_000_000;

    #[test]
    fn a_token_is_read_back_and_its_hash_and_csrf_value_do_not_contain_it() {
        let token = SessionToken::new([7; TOKEN_OCTETS]);
        assert_eq!(token.text().len(), 43);
        assert_eq!(SessionToken::read(&token.text()), Some(token.clone()));
        assert_ne!(token.hash(), [7; 32]);
        assert!(token.is_csrf(&token.csrf()));
        assert_ne!(token.csrf(), token.text());
        assert_eq!(format!("{token:?}"), "SessionToken(..)");
    }

    #[test]
    fn the_hash_is_sha_256_and_the_csrf_value_belongs_to_one_token() {
        let (one, other) = (SessionToken::new([0; 32]), SessionToken::new([1; 32]));
        assert_eq!(one.hash()[..4], [0x66, 0x68, 0x7a, 0xad]);
        for wrong in
            [other.csrf(), String::new(), one.text(), one.csrf()[..42].to_owned(), format!("{}=", one.csrf())]
        {
            assert!(!one.is_csrf(&wrong), "{wrong}");
        }
    }

    #[test]
    fn another_form_is_no_token() {
        let text = SessionToken::new([255; 32]).text();
        for wrong in ["", "a", &text[1..], &format!("{text}A"), &format!("{text}="), &text.replace('_', "/")]
        {
            assert_eq!(SessionToken::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_session_ends_after_twelve_idle_hours_or_seven_days() {
        let mut times = SessionTimes::begin(BEGIN);
        assert_eq!(times.state(BEGIN + IDLE_MAX_S - 1), SessionLife::Live { ends_s: BEGIN + IDLE_MAX_S });
        assert_eq!(times.state(BEGIN + IDLE_MAX_S), SessionLife::Idle);
        for hour in 1..=167 {
            assert!(times.touch(BEGIN + hour * 3_600));
        }
        assert_eq!(times.ends_s(), BEGIN + AGE_MAX_S);
        assert_eq!(times.state(BEGIN + AGE_MAX_S - 1), SessionLife::Live { ends_s: BEGIN + AGE_MAX_S });
        assert_eq!(times.state(BEGIN + AGE_MAX_S), SessionLife::TooOld);
    }

    #[test]
    fn requests_are_written_once_a_minute() {
        let mut times = SessionTimes::begin(BEGIN);
        assert!(!times.touch(BEGIN + 59));
        assert!(times.touch(BEGIN + 60));
        assert!(!times.touch(BEGIN + 61));
        assert_eq!(times.used_s, BEGIN + 60);
    }

    #[test]
    fn a_confirmation_holds_ten_minutes_and_a_new_role_is_none() {
        let later = BEGIN + 3_600;
        let times = SessionTimes::begin(BEGIN);
        assert!(times.is_confirmed(BEGIN + 599) && !times.is_confirmed(BEGIN + 600));
        assert!(!times.after(RightsChange::Role, later).is_confirmed(later));
        assert!(times.after(RightsChange::Confirmed, later).is_confirmed(later + 599));
        assert_eq!(times.after(RightsChange::Credentials, later).began_s, BEGIN);
        assert_eq!(times.after(RightsChange::SignedIn, later), SessionTimes::begin(later));
    }

    #[test]
    fn every_change_of_rights_but_a_confirmation_brings_a_new_token() {
        for (change, new_token, ends_others) in [
            (RightsChange::SignedIn, true, false),
            (RightsChange::SecondFactor, true, false),
            (RightsChange::Confirmed, false, false),
            (RightsChange::Role, true, false),
            (RightsChange::Credentials, true, true),
        ] {
            assert_eq!(
                (change.needs_new_token(), change.ends_others()),
                (new_token, ends_others),
                "{change:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_session_lives_exactly_until_its_end(began_s: u64, used_after: u32, now_s: u64) {
            let used_s = began_s.saturating_add(u64::from(used_after));
            let times = SessionTimes { began_s, used_s, confirmed_s: began_s };
            let is_live = matches!(times.state(now_s), SessionLife::Live { .. });
            prop_assert_eq!(is_live, now_s < times.ends_s());
        }
    }
}
