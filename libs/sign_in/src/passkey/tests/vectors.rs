//! Test vectors of Web Authentication Level 3, section 16.

use super::*;

const VECTORS: &str = include_str!("webauthn_vectors");

struct Vector {
    name: &'static str,
    octets: Vec<Vec<u8>>,
}

fn vectors() -> Vec<Vector> {
    let blocks = VECTORS.split("\n\n").skip(1);
    let vector = |block: &'static str| {
        let mut lines = block.lines();
        Vector { name: lines.next().unwrap(), octets: lines.map(hex).collect() }
    };
    blocks.map(vector).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |c: char| c.to_digit(16).unwrap() as u8;
    let digits: Vec<u8> = text.chars().map(digit).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Registration and assertion of a vector; the id is that of the authenticator data.
fn run(vector: &Vector) -> Result<PasskeyUse, PasskeyError> {
    let party = RelyingParty::new("example.org", "", &["https://example.org"]).unwrap();
    let [challenge, client_data, object, next_challenge, next_client_data, data, signature] =
        &vector.octets[..]
    else {
        panic!("{} has {} lines", vector.name, vector.octets.len())
    };
    let challenge = challenge.as_slice().try_into().unwrap();
    let mut created = RegistrationResponse {
        id: Vec::new(),
        client_data: client_data.clone(),
        attestation_object: object.clone(),
        transports: Vec::new(),
    };
    let value = super::super::cbor::read(object).unwrap();
    let auth_data = value.named("authData").unwrap().octets().unwrap();
    let length = usize::from(u16::from_be_bytes([auth_data[53], auth_data[54]]));
    created.id = auth_data[55..55 + length].to_vec();
    let passkey = registration::verify(&party, challenge, UserVerification::Preferred, &created)?;
    let expected = ExpectedAssertion {
        challenge: next_challenge.as_slice().try_into().unwrap(),
        verification: UserVerification::Preferred,
        user_handle: HANDLE,
        names_user: false,
    };
    let response = AssertionResponse {
        id: created.id,
        client_data: next_client_data.clone(),
        authenticator_data: data.clone(),
        signature: signature.clone(),
        user_handle: None,
    };
    let used = assertion::verify(&party, expected, &passkey, &response)?;
    let mut forged = response;
    *forged.signature.last_mut().unwrap() ^= 1;
    assert_eq!(assertion::verify(&party, expected, &passkey, &forged), Err(PasskeyError::Signature));
    Ok(used)
}

#[test]
fn vectors_of_the_standard_are_accepted_or_refused_by_the_field_that_is_not_allowed_here() {
    let expected = [
        ("none-es256", None),
        ("packed-self-es256", None),
        ("none-es256-crossOrigin", Some("crossOrigin")),
        ("none-es256-topOrigin", Some("crossOrigin")),
        ("none-es256-long-credential-id", None),
        ("packed-es256", None),
        ("packed-es384", Some("alg")),
        ("packed-rs256", None),
        ("packed-eddsa", Some("alg")),
        ("tpm-es256", None),
        ("android-key-es256", None),
        ("apple-es256", None),
        ("fido-u2f-es256", None),
    ];
    let vectors = vectors();
    assert_eq!(vectors.len(), expected.len());
    for (vector, (name, field)) in vectors.iter().zip(expected) {
        assert_eq!(vector.name, name);
        let result = run(vector);
        assert_eq!(result.as_ref().err().map(PasskeyError::field), field, "{name}: {result:?}");
    }
}
