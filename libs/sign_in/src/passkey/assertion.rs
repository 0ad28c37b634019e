//! Assertion by a passkey (§7.2): somebody signs in, or confirms who they are.

use super::authenticator_data::AuthenticatorData;
use super::relying_party::RelyingParty;
use super::response::AssertionResponse;
use super::{CHALLENGE_OCTETS, Passkey, PasskeyError, UserVerification, client_data};
use ring::digest;

/// An assertion that is expected.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedAssertion<'a> {
    /// The challenge of the options; the caller forgets it whatever comes out.
    pub challenge: &'a [u8; CHALLENGE_OCTETS],
    /// Whether the authenticator has to check its holder; as in the options.
    pub verification: UserVerification,
    /// Handle of the user whose passkey it is.
    pub user_handle: &'a [u8],
    /// The options named no passkey, so that the handle in the response is what names the user.
    pub names_user: bool,
}

/// What to write to the passkey after an assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasskeyUse {
    /// Signatures so far.
    pub sign_count: u32,
    /// It is copied to other devices now.
    pub is_backed_up: bool,
    /// The authenticator checked its holder: this sign-in has two factors.
    pub is_user_verified: bool,
}

/// Verifies the response to the options of an assertion, with the passkey that has the response's id.
///
/// A count that does not rise is refused: an authenticator that counts was copied, or an older answer came
/// again. Authenticators that do not count send 0 for ever.
///
/// # Errors
/// A field is wrong: the error names it. Fields are checked in the standard's order.
pub fn verify(
    party: &RelyingParty,
    expected: ExpectedAssertion<'_>,
    passkey: &Passkey,
    response: &AssertionResponse,
) -> Result<PasskeyUse, PasskeyError> {
    if response.id != passkey.id {
        return Err(PasskeyError::CredentialId);
    }
    match &response.user_handle {
        Some(handle) if handle == expected.user_handle => {}
        None if !expected.names_user => {}
        _ => return Err(PasskeyError::UserHandle),
    }
    client_data::check(&response.client_data, client_data::GET, party, expected.challenge)?;
    let data = AuthenticatorData::read(&response.authenticator_data)?;
    data.check(party, expected.verification)?;
    if data.is_backup_eligible() != passkey.is_backup_eligible {
        return Err(PasskeyError::BackupEligibility);
    }
    let hash = digest::digest(&digest::SHA256, &response.client_data);
    let signed = [&response.authenticator_data, hash.as_ref()].concat();
    passkey.key.verify(&signed, &response.signature)?;
    let (kept, given) = (passkey.sign_count, data.sign_count);
    if (kept, given) != (0, 0) && given <= kept {
        return Err(PasskeyError::SignCount { kept, given });
    }
    Ok(PasskeyUse {
        sign_count: given,
        is_backed_up: data.is_backed_up(),
        is_user_verified: data.is_user_verified(),
    })
}
