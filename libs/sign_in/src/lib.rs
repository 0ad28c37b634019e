//! Mechanics of signing in, without IO: no socket, no clock, no source of random octets.
//!
//! - [`password`]: Argon2id hashes, and the policy for new passwords.
//! - [`totp`]: one-time codes by time (RFC 6238). [`recovery`]: codes for a lost device.
//! - [`session`]: tokens of browsers, their CSRF values, and how long they last.
//! - [`passkey`]: WebAuthn (Level 3) registrations and assertions, without attestation.
//! - [`oidc`]: OpenID Connect by the code flow with PKCE, as a relying party.
//! - [`throttle`]: waits between wrong second factors.
//!
//! Times are seconds since 1970 in UTC and a parameter (`now_s`); random octets are a parameter too, and must
//! come from the system's generator.
//!
//! Invariants worth naming:
//! - A secret is in no error, and in no `Debug` text.
//! - What is kept lets nobody sign in: tokens and codes are kept as hashes. TOTP secrets are the exception
//!   (RFC 6238 §5.1), so their keeper encrypts them or guards the file.
//! - Each check that fails has its own name, so that the log can say which one it was; the browser is told
//!   less.
//! - Only algorithms of a fixed list verify a signature: the key says which, the message never does.

pub mod oidc;
pub mod passkey;
pub mod password;
pub mod recovery;
pub mod session;
#[cfg(test)]
mod test_keys;
mod text;
pub mod throttle;
pub mod totp;
