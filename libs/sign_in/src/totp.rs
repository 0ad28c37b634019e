//! One-time codes by time (TOTP, RFC 6238) over HOTP (RFC 4226): SHA-1, 6 digits, 30 seconds.

use crate::text;
use ring::hmac;
use std::fmt;

/// Octets of a secret: as many as SHA-1 gives (RFC 4226 §4, R6).
pub const SECRET_OCTETS: usize = 20;
/// Digits of a code.
pub const DIGITS: usize = 6;
/// Seconds of a step (RFC 6238 §4.1, X).
pub const STEP_S: u64 = 30;
/// Steps before and after the present one whose codes count too, for clocks that differ (RFC 6238 §5.2).
pub const WINDOW_STEPS: u64 = 1;
/// Characters of an issuer or account in a URI; further ones are cut off.
pub const LABEL_CHARACTERS_MAX: usize = 64;
/// Characters of a typed code, with the spaces that people put into it.
const TYPED_OCTETS_MAX: usize = 32;
const MODULUS: u32 = 1_000_000;

/// Secret that a server and an authenticator share.
#[derive(Clone, PartialEq, Eq)]
pub struct TotpSecret([u8; SECRET_OCTETS]);

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret(..)")
    }
}

/// A code is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotpError {
    /// Not six digits.
    Form,
    /// The code of no step in the window.
    Wrong,
    /// The code of a step whose code, or a later one, was used before (RFC 6238 §5.2).
    Used,
}

impl fmt::Display for TotpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TotpError::Form => "a code has six digits: type those that the authenticator shows",
            TotpError::Wrong => {
                "the code is wrong: type the present one, and check that the clock of the phone is right"
            }
            TotpError::Used => "the code was used before: wait for the next one, at most 30 seconds",
        })
    }
}

impl std::error::Error for TotpError {}

impl TotpSecret {
    /// A secret of random octets, or of those that were kept.
    pub fn new(octets: [u8; SECRET_OCTETS]) -> TotpSecret {
        TotpSecret(octets)
    }

    /// Reads a secret of [`SECRET_OCTETS`] in base32, in any case, with spaces or without.
    pub fn from_base32(text: &str) -> Option<TotpSecret> {
        text::from_base32(text)?.try_into().ok().map(TotpSecret)
    }

    /// The octets, to keep them. They let whoever has them sign in.
    pub fn octets(&self) -> &[u8; SECRET_OCTETS] {
        &self.0
    }

    /// The secret in base32 without padding, 32 letters, to type it by hand.
    pub fn base32(&self) -> String {
        text::base32(&self.0)
    }

    /// `otpauth://` URI for a QR code: type, label, secret and issuer are escaped, so that no name ends one
    /// early. Parameters that are the default of every authenticator are written all the same.
    pub fn uri(&self, issuer: &str, account: &str) -> String {
        let label = |name: &str| text::percent_escape(&text::shown(name, LABEL_CHARACTERS_MAX));
        let (issuer, account) = (label(issuer), label(account));
        format!(
            "otpauth://totp/{issuer}:{account}?secret={}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={STEP_S}",
            self.base32()
        )
    }

    /// The code of a step (RFC 4226 §5.3), below a million; it is shown with [`DIGITS`] digits.
    pub fn code(&self, step: u64) -> u32 {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        truncate(tag.as_ref()) % MODULUS
    }

    /// Checks a typed code against the steps around `now_s`. `used_step` is the last step whose code was
    /// accepted; the result is the step to keep in its place, in one stroke with accepting the code.
    ///
    /// # Errors
    /// The code has another form, is wrong, or is one of `used_step` or before.
    pub fn verify(&self, typed: &str, now_s: u64, used_step: Option<u64>) -> Result<u64, TotpError> {
        let typed = read(typed).ok_or(TotpError::Form)?;
        let now = step(now_s);
        let window = now.saturating_sub(WINDOW_STEPS)..=now.saturating_add(WINDOW_STEPS);
        // All steps are computed, so that the time does not say which one it was.
        let matching = window.filter(|step| self.code(*step) == typed).max().ok_or(TotpError::Wrong)?;
        if used_step.is_some_and(|used| matching <= used) { Err(TotpError::Used) } else { Ok(matching) }
    }
}

/// The step of a time.
pub fn step(now_s: u64) -> u64 {
    now_s / STEP_S
}

/// Dynamic truncation (RFC 4226 §5.3): 31 bits from the place that the last four bits say.
fn truncate(tag: &[u8]) -> u32 {
    let at = usize::from(tag.last().copied().unwrap_or_default() & 0xf);
    let octets = tag.get(at..at + 4).and_then(|four| four.try_into().ok()).unwrap_or_default();
    u32::from_be_bytes(octets) & 0x7fff_ffff
}

/// Six digits, with spaces or hyphens among them.
fn read(typed: &str) -> Option<u32> {
    if typed.len() > TYPED_OCTETS_MAX {
        return None;
    }
    let digits: String = typed.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let is_code = digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_code.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secret() -> TotpSecret {
        TotpSecret::new(*b"12345678901234567890")
    }

    #[test]
    fn codes_are_those_of_rfc_4226_appendix_d() {
        let expected = [755224, 287082, 359152, 969429, 338314, 254676, 287922, 162583, 399871, 520489];
        for (counter, code) in (0..).zip(expected) {
            assert_eq!(secret().code(counter), code, "{counter}");
        }
    }

    #[test]
    fn codes_are_the_last_digits_of_rfc_6238_appendix_b() {
        for (now_s, eight_digits) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            let typed = &eight_digits[2..];
            assert_eq!(secret().verify(typed, now_s, None), Ok(now_s / 30), "{now_s}");
        }
    }

    #[test]
    fn a_step_before_and_one_after_count_and_no_further_one() {
        let now_s = 1_111_111_111;
        let typed = |steps: i64| format!("{:06}", secret().code(step(now_s).saturating_add_signed(steps)));
        for (steps, accepted) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
            assert_eq!(secret().verify(&typed(steps), now_s, None).is_ok(), accepted, "{steps}");
        }
    }

    #[test]
    fn the_code_of_a_step_counts_once_and_none_before_it_afterwards() {
        let now_s = 1_111_111_111;
        let typed = |step: u64| format!("{:06}", secret().code(step));
        let now = step(now_s);
        let used = secret().verify(&typed(now), now_s, Some(now - 1)).unwrap();
        assert_eq!(used, now);
        assert_eq!(secret().verify(&typed(now), now_s, Some(used)), Err(TotpError::Used));
        assert_eq!(secret().verify(&typed(now - 1), now_s, Some(used)), Err(TotpError::Used));
        assert_eq!(secret().verify(&typed(now + 1), now_s, Some(used)), Ok(now + 1));
    }

    #[test]
    fn spaces_are_read_over_and_anything_else_is_no_code() {
        assert_eq!(secret().verify(" 287 082\n", 59, None), Ok(1));
        assert_eq!(secret().verify("287-082", 59, None), Ok(1));
        for wrong in ["", "28708", "2870820", "28708a", "+87082", "２８７０８２", &" ".repeat(1_000)] {
            assert_eq!(secret().verify(wrong, 59, None), Err(TotpError::Form), "{wrong}");
        }
        assert_eq!(secret().verify("287083", 59, None), Err(TotpError::Wrong));
    }

    #[test]
    fn the_uri_has_no_name_that_ends_it_early() {
        assert_eq!(
            secret().uri("Town of Å: alerts", "a&secret=X@example.org"),
            "otpauth://totp/Town%20of%20%C3%85%3A%20alerts:a%26secret%3DX%40example.org\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Town%20of%20%C3%85%3A%20alerts\
             &algorithm=SHA1&digits=6&period=30"
        );
        assert!(secret().uri(&"x".repeat(1_000), "a").len() < 300);
    }

    #[test]
    fn a_secret_is_read_back_from_base32_and_is_not_in_debug_texts() {
        assert_eq!(TotpSecret::from_base32("gezd gnbv gy3t qojq gezd gnbv gy3t qojq"), Some(secret()));
        assert_eq!(TotpSecret::from_base32("GEZDGNBV"), None);
        assert_eq!(format!("{:?}", secret()), "TotpSecret(..)");
    }

    proptest! {
        #[test]
        fn whatever_is_typed_a_used_step_never_counts_again(typed in "[0-9]{6}|.*", now_s: u64, used: u64) {
            if let Ok(step) = secret().verify(&typed, now_s, Some(used)) {
                prop_assert!(step > used && step.abs_diff(now_s / STEP_S) <= WINDOW_STEPS);
            }
        }
    }
}
