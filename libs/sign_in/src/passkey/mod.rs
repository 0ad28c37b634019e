//! Passkeys: WebAuthn (Level 3) as a relying party, without attestation.
//!
//! - [`options`]: the JSON for `navigator.credentials.create` and `.get`.
//! - [`response`]: the JSON that comes back, `PublicKeyCredential.toJSON()`.
//! - [`registration`] and [`assertion`]: their verification (§7.1 and §7.2).
//! - [`key`]: COSE keys, ES256 and RS256. [`cbor`]: the reader under it all.
//!
//! Attestation says which maker's device a passkey is in. It is neither asked for nor looked at: any
//! statement is accepted unread, and a key is trusted because a user who has signed in brought it.

pub mod assertion;
mod authenticator_data;
pub mod cbor;
mod client_data;
mod error;
pub mod key;
pub mod options;
pub mod registration;
pub mod relying_party;
pub mod response;
#[cfg(test)]
mod tests;

pub use error::PasskeyError;

/// Random octets of a challenge (§13.4.3 asks for 16).
pub const CHALLENGE_OCTETS: usize = 32;
/// A challenge is accepted for so long: the options' timeout, and what its keeper forgets it by.
pub const CHALLENGE_S: u64 = 5 * 60;
/// Octets of a credential's id (§4, *Credential ID*).
pub const ID_OCTETS_MAX: usize = 1_023;
/// Octets of a user handle (§5.4.3).
pub const USER_HANDLE_OCTETS_MAX: usize = 64;
/// Passkeys of one user, so that options stay short.
pub const PASSKEYS_MAX: usize = 32;

/// Whether the authenticator has to check who holds it, by a PIN or biometrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserVerification {
    /// It has to: the passkey is the only factor.
    Required,
    /// It may: the passkey comes after a password.
    Preferred,
}

/// A passkey as the store keeps it. Nothing of it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// Credential id, at most [`ID_OCTETS_MAX`].
    pub id: Vec<u8>,
    /// Public key.
    pub key: key::PasskeyKey,
    /// Signatures so far, as the authenticator counts; 0: it does not count.
    pub sign_count: u32,
    /// It may be copied to other devices (BE); this never changes.
    pub is_backup_eligible: bool,
    /// It was copied (BS).
    pub is_backed_up: bool,
    /// The authenticator once checked who holds it.
    pub was_user_verified: bool,
    /// Model of the authenticator; zeros where it does not say. Only for showing: it is not attested.
    pub aaguid: [u8; 16],
    /// How the authenticator is reached ("internal", "hybrid", "usb" …), for the browser's next dialog.
    pub transports: Vec<String>,
}
