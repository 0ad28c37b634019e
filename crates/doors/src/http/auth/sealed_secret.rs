//! Secrets that have to be readable and are stored sealed: keys of one-time codes (RFC 6238, section 5.1).
//! ChaCha20-Poly1305 under a key of the data folder, bound to the user; also challenges that say by
//! themselves that they are ours.

use crate::http::auth::password_hasher::fill_random;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::Timestamp;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use sign_in::passkey::{CHALLENGE_OCTETS, CHALLENGE_S};

/// Octets of the key.
pub(crate) const SEALING_KEY_OCTETS: usize = 32;
const MARK_OCTETS: usize = 16;
const TIME_OCTETS: usize = 8;

/// Seals and opens secrets of users.
pub(crate) struct SecretSeal {
    key: Option<LessSafeKey>,
    marks: hmac::Key,
}

impl SecretSeal {
    pub(crate) fn new(key: &[u8; SEALING_KEY_OCTETS]) -> SecretSeal {
        let made = |purpose: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), purpose);
        let sealing = UnboundKey::new(&CHACHA20_POLY1305, made(b"seal").as_ref());
        SecretSeal {
            key: sealing.ok().map(LessSafeKey::new),
            marks: hmac::Key::new(hmac::HMAC_SHA256, made(b"challenges").as_ref()),
        }
    }

    /// Seals octets for this owner: the nonce, the ciphertext and its tag, in base64url.
    pub(crate) fn seal(&self, owner: &str, octets: &[u8]) -> HttpResult<String> {
        let failed = || HttpProblem::new(ProblemKind::Internal, "a secret cannot be sealed");
        let mut nonce = [0; NONCE_LEN];
        fill_random(&mut nonce)?;
        let mut sealed = octets.to_vec();
        let key = self.key.as_ref().ok_or_else(failed)?;
        let once = Nonce::assume_unique_for_key(nonce);
        let done = key.seal_in_place_append_tag(once, Aad::from(owner.as_bytes()), &mut sealed);
        done.map_err(|_| failed())?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens what was sealed for this owner; nothing if it was not, or is damaged.
    pub(crate) fn open(&self, owner: &str, sealed: &str) -> Option<Vec<u8>> {
        let octets = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, rest) = octets.split_first_chunk::<NONCE_LEN>()?;
        let mut rest = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key.as_ref()?.open_in_place(nonce, Aad::from(owner.as_bytes()), &mut rest);
        opened.ok().map(|octets| octets.to_vec())
    }

    /// A challenge of a passkey for this purpose: the time, random octets, and a mark of ours over both.
    pub(crate) fn challenge(&self, purpose: &str, now: Timestamp) -> HttpResult<[u8; CHALLENGE_OCTETS]> {
        let mut challenge = [0; CHALLENGE_OCTETS];
        let (said, mark) = challenge.split_at_mut(CHALLENGE_OCTETS - MARK_OCTETS);
        said[..TIME_OCTETS].copy_from_slice(&now.0.to_be_bytes());
        fill_random(&mut said[TIME_OCTETS..])?;
        mark.copy_from_slice(&self.mark(purpose, said)[..MARK_OCTETS]);
        Ok(challenge)
    }

    /// When a challenge of ours for this purpose was made; nothing if it is none, or too old.
    pub(crate) fn challenge_made(
        &self,
        purpose: &str,
        challenge: &[u8; CHALLENGE_OCTETS],
        now: Timestamp,
    ) -> Option<Timestamp> {
        let (said, mark) = challenge.split_at(CHALLENGE_OCTETS - MARK_OCTETS);
        // The mark is public once it was shown; comparing it tells nothing but whether it is ours.
        if self.mark(purpose, said)[..MARK_OCTETS] != *mark {
            return None;
        }
        let made = Timestamp(i64::from_be_bytes(said[..TIME_OCTETS].try_into().ok()?));
        let age_us = now.us_since(made);
        (-60_000_000..=CHALLENGE_S as i64 * 1_000_000).contains(&age_us).then_some(made)
    }

    fn mark(&self, purpose: &str, said: &[u8]) -> Vec<u8> {
        let mut context = hmac::Context::with_key(&self.marks);
        context.update(purpose.as_bytes());
        context.update(&[0]);
        context.update(said);
        context.sign().as_ref().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_983_200_000_000);

    #[test]
    fn a_secret_opens_for_its_owner_under_its_key_alone() {
        let seal = SecretSeal::new(&[7; 32]);
        let sealed = seal.seal("default/u_1", b"secret").unwrap();
        assert_eq!(seal.open("default/u_1", &sealed).as_deref(), Some(&b"secret"[..]));
        assert_ne!(seal.seal("default/u_1", b"secret").unwrap(), sealed, "each has its nonce");
        assert_eq!(seal.open("default/u_2", &sealed), None);
        assert_eq!(SecretSeal::new(&[8; 32]).open("default/u_1", &sealed), None);
        for wrong in ["", "AAAA", &sealed[1..]] {
            assert_eq!(seal.open("default/u_1", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_challenge_is_ours_for_one_purpose_and_five_minutes() {
        let seal = SecretSeal::new(&[7; 32]);
        let challenge = seal.challenge("sign-in", NOW).unwrap();
        let made = |purpose, now| seal.challenge_made(purpose, &challenge, now);
        assert_eq!(made("sign-in", NOW.plus_s(299)), Some(NOW));
        assert_eq!(made("sign-in", NOW.plus_s(301)), None);
        assert_eq!(made("register", NOW), None);
        let mut changed = challenge;
        changed[0] ^= 1;
        assert_eq!(seal.challenge_made("sign-in", &changed, NOW), None);
    }
}
