//! Refusals of a registration or an assertion, each by its own name.

use super::cbor::CborError;
use std::fmt;

/// A registration or assertion is refused. The text is for the log: the browser is told only that it did not
/// work, and to try again or to sign in in another way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasskeyError {
    /// The response is no JSON, or a member is missing, too long or of another form.
    Json(&'static str),
    /// Another `type` in the client data than that of the ceremony.
    Type(String),
    /// The challenge is not the one of the options.
    Challenge,
    /// The origin is none of the relying party's.
    Origin(String),
    /// The ceremony ran in a frame of another site.
    CrossOrigin,
    /// CBOR cannot be read.
    Cbor(CborError),
    /// The attestation object has no member of this name.
    AttestationObject(&'static str),
    /// The authenticator data is cut, or octets follow it.
    AuthenticatorData(&'static str),
    /// The authenticator signed for another relying party.
    RpIdHash,
    /// Nobody touched the authenticator (UP).
    UserPresence,
    /// The authenticator did not check who holds it (UV).
    UserVerification,
    /// It says that it is copied, and that it cannot be (BS without BE).
    BackupState,
    /// It could be copied when it was registered and cannot now, or the other way about (BE).
    BackupEligibility,
    /// The id of the response and that of the authenticator data or the passkey differ.
    CredentialId,
    /// The key is of another algorithm than -7 and -257.
    Algorithm(i64),
    /// The COSE key lacks this parameter, or it has another form.
    Key(&'static str),
    /// The signature is not by the key.
    Signature,
    /// The count did not rise: somebody may have a copy of the authenticator.
    SignCount {
        /// The count of the passkey.
        kept: u32,
        /// The count that came.
        given: u32,
    },
    /// The user handle is another user's, or is missing where it has to name the user.
    UserHandle,
}

impl PasskeyError {
    /// Name of the field that is wrong, as the standard calls it.
    pub fn field(&self) -> &'static str {
        match self {
            PasskeyError::Json(member) => member,
            PasskeyError::Type(_) => "type",
            PasskeyError::Challenge => "challenge",
            PasskeyError::Origin(_) => "origin",
            PasskeyError::CrossOrigin => "crossOrigin",
            PasskeyError::Cbor(_) | PasskeyError::AttestationObject(_) => "attestationObject",
            PasskeyError::AuthenticatorData(_) => "authenticatorData",
            PasskeyError::RpIdHash => "rpIdHash",
            PasskeyError::UserPresence => "UP",
            PasskeyError::UserVerification => "UV",
            PasskeyError::BackupState => "BS",
            PasskeyError::BackupEligibility => "BE",
            PasskeyError::CredentialId => "credentialId",
            PasskeyError::Algorithm(_) => "alg",
            PasskeyError::Key(_) => "credentialPublicKey",
            PasskeyError::Signature => "signature",
            PasskeyError::SignCount { .. } => "signCount",
            PasskeyError::UserHandle => "userHandle",
        }
    }
}

impl fmt::Display for PasskeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PasskeyError::Json(member) => {
                write!(f, "the response's {member} is missing, too long or of another form")
            }
            PasskeyError::Type(given) => {
                write!(f, "the client data is of type {given:?}, not that of this ceremony")
            }
            PasskeyError::Challenge => {
                f.write_str("the challenge is not the one that was given: begin again")
            }
            PasskeyError::Origin(given) => write!(
                f,
                "the origin {given:?} is not allowed; if people open the console at it, add it to the origins"
            ),
            PasskeyError::CrossOrigin => {
                f.write_str("the page ran in a frame of another site; open it by itself")
            }
            PasskeyError::Cbor(error) => write!(f, "the authenticator sent {error}"),
            PasskeyError::AttestationObject(member) => write!(f, "the attestation object has no {member}"),
            PasskeyError::AuthenticatorData(what) => write!(f, "the authenticator data {what}"),
            PasskeyError::RpIdHash => f.write_str("the passkey is one of another site"),
            PasskeyError::UserPresence => f.write_str("nobody touched the authenticator (UP is not set)"),
            PasskeyError::UserVerification => f.write_str(
                "the authenticator did not check its holder (UV is not set): set a PIN or biometrics on it",
            ),
            PasskeyError::BackupState => f.write_str("the authenticator data has BS without BE"),
            PasskeyError::BackupEligibility => f.write_str("BE is not as it was at the registration"),
            PasskeyError::CredentialId => f.write_str("the credential id is not the one that was expected"),
            PasskeyError::Algorithm(algorithm) => {
                write!(f, "the key is of COSE algorithm {algorithm}; -7 (ES256) and -257 (RS256) are known")
            }
            PasskeyError::Key(parameter) => {
                write!(f, "the COSE key's {parameter} is missing or has another form")
            }
            PasskeyError::Signature => f.write_str("the signature is not by the passkey's key"),
            PasskeyError::SignCount { kept, given } => write!(
                f,
                "the authenticator counts {given} signatures after {kept}: somebody may have a copy of it; remove the \
                 passkey and register it again"
            ),
            PasskeyError::UserHandle => f.write_str("the user handle is missing or another user's"),
        }
    }
}

impl std::error::Error for PasskeyError {}

impl From<CborError> for PasskeyError {
    fn from(error: CborError) -> PasskeyError {
        PasskeyError::Cbor(error)
    }
}
