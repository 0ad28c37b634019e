//! Registration of a passkey (§7.1), without its attestation.

use super::authenticator_data::AuthenticatorData;
use super::cbor::{self, CborValue};
use super::key::PasskeyKey;
use super::relying_party::RelyingParty;
use super::response::RegistrationResponse;
use super::{CHALLENGE_OCTETS, Passkey, PasskeyError, UserVerification, client_data};

/// Verifies the response to the options of a registration. `challenge` is the one of the options; the caller
/// forgets it whatever comes out, and refuses an id that any user has already (§7.1 step 26).
///
/// # Errors
/// A field is wrong: the error names it. Fields are checked in the standard's order.
pub fn verify(
    party: &RelyingParty,
    challenge: &[u8; CHALLENGE_OCTETS],
    verification: UserVerification,
    response: &RegistrationResponse,
) -> Result<Passkey, PasskeyError> {
    client_data::check(&response.client_data, client_data::CREATE, party, challenge)?;
    let object = cbor::read(&response.attestation_object)?;
    // `fmt` and `attStmt` have to be there; what they say is not looked at.
    object.named("fmt").and_then(CborValue::text).ok_or(PasskeyError::AttestationObject("fmt"))?;
    object.named("attStmt").ok_or(PasskeyError::AttestationObject("attStmt"))?;
    let data = object.named("authData").and_then(CborValue::octets);
    let data = AuthenticatorData::read(data.ok_or(PasskeyError::AttestationObject("authData"))?)?;
    data.check(party, verification)?;
    let Some(attested) = &data.attested else {
        return Err(PasskeyError::AuthenticatorData("has no credential (AT is not set)"));
    };
    let key = PasskeyKey::of(&attested.key)?;
    if attested.id != response.id {
        return Err(PasskeyError::CredentialId);
    }
    Ok(Passkey {
        id: attested.id.to_vec(),
        key,
        sign_count: data.sign_count,
        is_backup_eligible: data.is_backup_eligible(),
        is_backed_up: data.is_backed_up(),
        was_user_verified: data.is_user_verified(),
        aaguid: attested.aaguid,
        transports: response.transports.clone(),
    })
}
