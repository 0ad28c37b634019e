//! Any octets: as CBOR they are read or refused, and what is read is written and read back the same; as an
//! attestation object, authenticator data and a COSE key they are refused or keep their bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sign_in::passkey::assertion::{self, ExpectedAssertion};
use sign_in::passkey::cbor;
use sign_in::passkey::key::PasskeyKey;
use sign_in::passkey::relying_party::RelyingParty;
use sign_in::passkey::response::{AssertionResponse, RegistrationResponse};
use sign_in::passkey::{CHALLENGE_OCTETS, ID_OCTETS_MAX, Passkey, UserVerification, registration};

const CHALLENGE: [u8; CHALLENGE_OCTETS] = [0; CHALLENGE_OCTETS];

fuzz_target!(|octets: &[u8]| {
    if let Ok((value, used)) = cbor::read_first(octets) {
        assert!(used <= octets.len());
        let mut written = Vec::new();
        cbor::write(&value, &mut written);
        if let Ok(again) = cbor::read(&written) {
            let mut rewritten = Vec::new();
            cbor::write(&again, &mut rewritten);
            assert_eq!(written, rewritten);
        } else {
            // A float of 16 bits is written with 64: only that can pass a bound.
            assert!(written.len() > cbor::OCTETS_MAX);
        }
    }
    if let Ok(key) = PasskeyKey::read(octets) {
        assert_eq!(PasskeyKey::read(&key.write()), Ok(key));
    }
    let _ = RegistrationResponse::read(octets);
    let _ = AssertionResponse::read(octets);
    let Ok(party) = RelyingParty::new("example.org", "", &["https://example.org"]) else { return };
    register(&party, octets);
    let passkey = Passkey {
        id: vec![1],
        key: PasskeyKey::Es256 { x: [1; 32], y: [2; 32] },
        sign_count: 0,
        is_backup_eligible: false,
        is_backed_up: false,
        was_user_verified: false,
        aaguid: [0; 16],
        transports: Vec::new(),
    };
    let response = AssertionResponse {
        id: vec![1],
        client_data: client_data("webauthn.get"),
        authenticator_data: octets.to_vec(),
        signature: octets.to_vec(),
        user_handle: None,
    };
    let expected = ExpectedAssertion {
        challenge: &CHALLENGE,
        verification: UserVerification::Preferred,
        user_handle: b"u",
        names_user: false,
    };
    assert!(assertion::verify(&party, expected, &passkey, &response).is_err(), "a forged signature");
});

/// The octets behind the first are an attestation object; the first says how many of them are the id.
fn register(party: &RelyingParty, octets: &[u8]) {
    let Some((length, object)) = octets.split_at_checked(1) else { return };
    let id = object.get(..usize::from(length[0])).unwrap_or_default().to_vec();
    let response = RegistrationResponse {
        id,
        client_data: client_data("webauthn.create"),
        attestation_object: object.to_vec(),
        transports: Vec::new(),
    };
    if let Ok(passkey) = registration::verify(party, &CHALLENGE, UserVerification::Preferred, &response) {
        assert!(passkey.id == response.id && passkey.id.len() <= ID_OCTETS_MAX);
    }
}

fn client_data(kind: &str) -> Vec<u8> {
    let challenge = "A".repeat(43);
    format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"https://example.org"}}"#).into_bytes()
}
