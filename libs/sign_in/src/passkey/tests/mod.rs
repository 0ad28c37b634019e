//! An authenticator of our own, with keys made by ring: what it signs is accepted, and each field that is
//! wrong is refused by its name.

mod cbor;
mod vectors;

use super::assertion::{self, ExpectedAssertion, PasskeyUse};
use super::cbor::CborValue;
use super::key::PasskeyKey;
use super::options::{self, PasskeyUser};
use super::relying_party::{RelyingParty, RelyingPartyError};
use super::response::{AssertionResponse, RegistrationResponse};
use super::*;
use crate::text::base64url;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256};
use serde_json::json;

const ORIGIN: &str = "https://alerts.example.org";
const CHALLENGE: [u8; CHALLENGE_OCTETS] = [9; CHALLENGE_OCTETS];
const HANDLE: &[u8] = b"user 1";

const UP: u8 = 0x01;
const UV: u8 = 0x04;
const BE: u8 = 0x08;
const BS: u8 = 0x10;
const AT: u8 = 0x40;
const ED: u8 = 0x80;

fn party() -> RelyingParty {
    RelyingParty::new("example.org", "Town", &[ORIGIN, "https://example.org:8443"]).unwrap()
}

enum Signer {
    Es256(EcdsaKeyPair),
    Rs256(ring::rsa::KeyPair),
}

impl Signer {
    fn es256() -> Signer {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random);
        Signer::Es256(pair.unwrap())
    }

    fn rs256() -> Signer {
        Signer::Rs256(crate::test_keys::rsa())
    }

    fn key(&self) -> PasskeyKey {
        match self {
            Signer::Es256(pair) => {
                let point = pair.public_key().as_ref();
                PasskeyKey::Es256 { x: point[1..33].try_into().unwrap(), y: point[33..].try_into().unwrap() }
            }
            Signer::Rs256(pair) => {
                let public: ring::rsa::PublicKeyComponents<Vec<u8>> = pair.public().into();
                PasskeyKey::Rs256 { n: public.n, e: public.e }
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Signer::Es256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Signer::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }
}

/// A field's name, and the change that makes it wrong.
type WrongField = (&'static str, fn(&mut Ceremony));

/// What an authenticator and a browser say; each part can be made wrong.
struct Ceremony {
    kind: &'static str,
    challenge: Vec<u8>,
    origin: &'static str,
    extra: &'static str,
    rp_id: &'static str,
    flags: u8,
    sign_count: u32,
    id: Vec<u8>,
    cose: Vec<u8>,
    after: Vec<u8>,
}

impl Ceremony {
    fn creation(key: &PasskeyKey) -> Ceremony {
        Ceremony {
            kind: "webauthn.create",
            challenge: CHALLENGE.to_vec(),
            origin: ORIGIN,
            extra: r#","crossOrigin":false"#,
            rp_id: "example.org",
            flags: UP | UV | BE | AT,
            sign_count: 1,
            id: b"credential 1".to_vec(),
            cose: key.write(),
            after: Vec::new(),
        }
    }

    fn request() -> Ceremony {
        let key = PasskeyKey::Es256 { x: [0; 32], y: [0; 32] };
        let creation = Ceremony::creation(&key);
        Ceremony { kind: "webauthn.get", flags: UP | UV | BE | BS, sign_count: 2, ..creation }
    }

    fn client_data(&self) -> Vec<u8> {
        let Ceremony { kind, origin, extra, .. } = self;
        let challenge = base64url(&self.challenge);
        format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{origin}"{extra}}}"#).into_bytes()
    }

    fn authenticator_data(&self) -> Vec<u8> {
        let mut data = ring::digest::digest(&ring::digest::SHA256, self.rp_id.as_bytes()).as_ref().to_vec();
        data.push(self.flags);
        data.extend(self.sign_count.to_be_bytes());
        if self.flags & AT != 0 {
            data.extend([7; 16]);
            data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
            data.extend(&self.id);
            data.extend(&self.cose);
        }
        data.extend(&self.after);
        data
    }

    fn attestation_object(&self) -> Vec<u8> {
        object(&[
            ("fmt", CborValue::Text("packed".to_owned())),
            ("attStmt", CborValue::Map(vec![(CborValue::Text("alg".to_owned()), CborValue::Negative(6))])),
            ("authData", CborValue::Octets(self.authenticator_data())),
        ])
    }

    fn registration(&self) -> RegistrationResponse {
        RegistrationResponse {
            id: b"credential 1".to_vec(),
            client_data: self.client_data(),
            attestation_object: self.attestation_object(),
            transports: vec!["internal".to_owned()],
        }
    }

    fn assertion(&self, signer: &Signer) -> AssertionResponse {
        let client_data = self.client_data();
        let authenticator_data = self.authenticator_data();
        let hash = ring::digest::digest(&ring::digest::SHA256, &client_data);
        let signature = signer.sign(&[&authenticator_data, hash.as_ref()].concat());
        AssertionResponse {
            id: self.id.clone(),
            client_data,
            authenticator_data,
            signature,
            user_handle: Some(HANDLE.to_vec()),
        }
    }
}

fn object(members: &[(&str, CborValue)]) -> Vec<u8> {
    let entry = |(name, value): &(&str, CborValue)| (CborValue::Text((*name).to_owned()), value.clone());
    let mut out = Vec::new();
    super::cbor::write(&CborValue::Map(members.iter().map(entry).collect()), &mut out);
    out
}

fn register(response: &RegistrationResponse) -> Result<Passkey, PasskeyError> {
    registration::verify(&party(), &CHALLENGE, UserVerification::Required, response)
}

fn expected() -> ExpectedAssertion<'static> {
    ExpectedAssertion {
        challenge: &CHALLENGE,
        verification: UserVerification::Required,
        user_handle: HANDLE,
        names_user: true,
    }
}

#[test]
fn a_passkey_of_either_algorithm_is_registered_and_signs_in() {
    for signer in [Signer::es256(), Signer::rs256()] {
        let passkey = register(&Ceremony::creation(&signer.key()).registration()).unwrap();
        assert_eq!((passkey.sign_count, passkey.aaguid, &passkey.key), (1, [7; 16], &signer.key()));
        assert!(passkey.is_backup_eligible && !passkey.is_backed_up && passkey.was_user_verified);
        let signed = Ceremony::request().assertion(&signer);
        let used = assertion::verify(&party(), expected(), &passkey, &signed);
        assert_eq!(used, Ok(PasskeyUse { sign_count: 2, is_backed_up: true, is_user_verified: true }));
    }
}

#[test]
fn each_wrong_field_of_a_registration_is_refused_by_its_name() {
    let key = Signer::es256().key();
    let wrong: [WrongField; 18] = [
        ("type", |c| c.kind = "webauthn.get"),
        ("challenge", |c| c.challenge[31] ^= 1),
        ("challenge", |c| c.challenge.truncate(16)),
        ("origin", |c| c.origin = "https://example.org.evil.test"),
        ("origin", |c| c.origin = "http://alerts.example.org"),
        ("crossOrigin", |c| c.extra = r#","crossOrigin":true"#),
        ("crossOrigin", |c| c.extra = r#","topOrigin":"https://evil.test""#),
        ("clientDataJSON", |c| c.extra = r#","origin":"https://alerts.example.org""#),
        ("rpIdHash", |c| c.rp_id = "alerts.example.org"),
        ("UP", |c| c.flags &= !UP),
        ("UV", |c| c.flags &= !UV),
        ("BS", |c| c.flags = UP | UV | BS | AT),
        ("authenticatorData", |c| c.flags &= !AT),
        ("authenticatorData", |c| c.after = vec![0]),
        ("authenticatorData", |c| (c.flags, c.after) = (c.flags | ED, vec![0x01])),
        ("authenticatorData", |c| c.id.clear()),
        ("credentialId", |c| c.id[0] ^= 1),
        ("attestationObject", |c| c.cose.truncate(40)),
    ];
    for (at, (field, change)) in wrong.into_iter().enumerate() {
        let mut ceremony = Ceremony::creation(&key);
        change(&mut ceremony);
        let refused = register(&ceremony.registration()).unwrap_err();
        assert_eq!(refused.field(), field, "{at}: {refused}");
    }
    let mut extended = Ceremony::creation(&key);
    (extended.flags, extended.after) = (extended.flags | ED, vec![0xa0]);
    assert!(register(&extended.registration()).is_ok());
}

#[test]
fn a_key_of_another_algorithm_or_form_is_refused_by_its_parameter() {
    let good = |algorithm: i64| match algorithm {
        -7 => vec![(1, int(2)), (3, int(-7)), (-1, int(1)), (-2, octets(32)), (-3, octets(32))],
        _ => vec![(1, int(3)), (3, int(-257)), (-1, octets(256)), (-2, octets(3))],
    };
    for (algorithm, label, value, error) in [
        (-7, 3, int(-35), PasskeyError::Algorithm(-35)),
        (-7, 3, int(-8), PasskeyError::Algorithm(-8)),
        (-7, 3, octets(1), PasskeyError::Key("alg")),
        (-7, 1, int(3), PasskeyError::Key("kty")),
        (-7, -1, int(2), PasskeyError::Key("crv")),
        (-7, -2, octets(31), PasskeyError::Key("x")),
        (-7, -3, octets(33), PasskeyError::Key("y")),
        (-7, -3, CborValue::Bool(true), PasskeyError::Key("y")),
        (-257, 1, int(2), PasskeyError::Key("kty")),
        (-257, -1, octets(255), PasskeyError::Key("n")),
        (-257, -1, octets(1_025), PasskeyError::Key("n")),
        (-257, -2, octets(5), PasskeyError::Key("e")),
        (-257, -2, CborValue::Octets(vec![0]), PasskeyError::Key("e")),
    ] {
        let mut entries = good(algorithm);
        assert!(PasskeyKey::of(&map(&entries)).is_ok());
        entries.iter_mut().find(|(known, _)| *known == label).unwrap().1 = value;
        assert_eq!(PasskeyKey::of(&map(&entries)), Err(error));
    }
    let padded =
        map(&[(1, int(3)), (3, int(-257)), (-1, octets(256)), (-2, CborValue::Octets(vec![0, 1, 0, 1]))]);
    let PasskeyKey::Rs256 { e, .. } = PasskeyKey::of(&padded).unwrap() else { panic!("another algorithm") };
    assert_eq!(e, [1, 0, 1]);
}

fn int(value: i64) -> CborValue {
    match u64::try_from(value) {
        Ok(value) => CborValue::Unsigned(value),
        Err(_) => CborValue::Negative((-1 - value).unsigned_abs()),
    }
}

fn octets(count: usize) -> CborValue {
    CborValue::Octets(vec![0x7f; count])
}

fn map(entries: &[(i64, CborValue)]) -> CborValue {
    CborValue::Map(entries.iter().map(|(label, value)| (int(*label), value.clone())).collect())
}

#[test]
fn an_attestation_object_without_a_member_is_refused_by_its_name() {
    let ceremony = Ceremony::creation(&Signer::es256().key());
    let members = [
        ("fmt", CborValue::Text("none".to_owned())),
        ("attStmt", CborValue::Map(Vec::new())),
        ("authData", CborValue::Octets(ceremony.authenticator_data())),
    ];
    let with = |members: &[(&str, CborValue)]| {
        register(&RegistrationResponse { attestation_object: object(members), ..ceremony.registration() })
    };
    assert!(with(&members).is_ok());
    for missing in ["fmt", "attStmt", "authData"] {
        let left: Vec<_> = members.iter().filter(|(name, _)| *name != missing).cloned().collect();
        assert_eq!(with(&left), Err(PasskeyError::AttestationObject(missing)));
    }
}

#[test]
fn each_wrong_field_of_an_assertion_is_refused_by_its_name() {
    let signer = Signer::es256();
    let passkey = register(&Ceremony::creation(&signer.key()).registration()).unwrap();
    let wrong: [WrongField; 13] = [
        ("type", |c| c.kind = "webauthn.create"),
        ("challenge", |c| c.challenge[0] ^= 1),
        ("origin", |c| c.origin = "https://example.org"),
        ("crossOrigin", |c| c.extra = r#","crossOrigin":true"#),
        ("rpIdHash", |c| c.rp_id = "example.com"),
        ("UP", |c| c.flags &= !UP),
        ("UV", |c| c.flags &= !UV),
        ("BS", |c| c.flags = UP | UV | BS),
        ("BE", |c| c.flags = UP | UV),
        ("signCount", |c| c.sign_count = 1),
        ("signCount", |c| c.sign_count = 0),
        ("authenticatorData", |c| c.after = vec![0]),
        ("credentialId", |c| c.id[0] ^= 1),
    ];
    for (at, (field, change)) in wrong.into_iter().enumerate() {
        let mut ceremony = Ceremony::request();
        change(&mut ceremony);
        let refused = assertion::verify(&party(), expected(), &passkey, &ceremony.assertion(&signer));
        assert_eq!(refused.as_ref().map_err(PasskeyError::field), Err(field), "{at}: {refused:?}");
    }
    let by_another = Ceremony::request().assertion(&Signer::es256());
    let refused = assertion::verify(&party(), expected(), &passkey, &by_another);
    assert_eq!(refused, Err(PasskeyError::Signature));
}

#[test]
fn a_signature_over_anything_else_is_refused() {
    let signer = Signer::es256();
    let passkey = register(&Ceremony::creation(&signer.key()).registration()).unwrap();
    let signed = Ceremony::request().assertion(&signer);
    let changed: [fn(&mut AssertionResponse); 5] = [
        |r| r.signature[10] ^= 1,
        |r| r.signature.truncate(8),
        |r| r.authenticator_data[36] ^= 4,
        |r| r.client_data.push(b' '),
        |r| r.signature.clear(),
    ];
    for (at, change) in changed.into_iter().enumerate() {
        let mut response = signed.clone();
        change(&mut response);
        let refused = assertion::verify(&party(), expected(), &passkey, &response);
        assert_eq!(refused, Err(PasskeyError::Signature), "{at}");
    }
}

#[test]
fn the_user_handle_has_to_be_there_only_where_it_names_the_user() {
    let signer = Signer::es256();
    let passkey = register(&Ceremony::creation(&signer.key()).registration()).unwrap();
    let signed = Ceremony::request().assertion(&signer);
    for (handle, names_user, accepted) in [
        (Some(HANDLE), true, true),
        (Some(HANDLE), false, true),
        (None, false, true),
        (None, true, false),
        (Some(b"user 2".as_slice()), true, false),
        (Some(b"user 2".as_slice()), false, false),
    ] {
        let response = AssertionResponse { user_handle: handle.map(<[u8]>::to_vec), ..signed.clone() };
        let expected = ExpectedAssertion { names_user, ..expected() };
        let result = assertion::verify(&party(), expected, &passkey, &response);
        assert_eq!(result.is_ok(), accepted, "{handle:?} {names_user}: {result:?}");
    }
}

#[test]
fn an_authenticator_that_does_not_count_is_accepted_and_one_that_stops_is_not() {
    let signer = Signer::es256();
    let registered = register(&Ceremony::creation(&signer.key()).registration()).unwrap();
    for (kept, given, accepted) in
        [(0, 0, true), (0, 5, true), (5, 6, true), (5, 5, false), (5, 0, false), (u32::MAX, 0, false)]
    {
        let passkey = Passkey { sign_count: kept, ..registered.clone() };
        let signed = Ceremony { sign_count: given, ..Ceremony::request() }.assertion(&signer);
        let result = assertion::verify(&party(), expected(), &passkey, &signed);
        assert_eq!(result.is_ok(), accepted, "{kept} {given}: {result:?}");
    }
}

#[test]
fn a_second_factor_needs_no_check_of_its_holder() {
    let signer = Signer::es256();
    let creation = Ceremony { flags: UP | AT, ..Ceremony::creation(&signer.key()) };
    let passkey =
        registration::verify(&party(), &CHALLENGE, UserVerification::Preferred, &creation.registration());
    let signed = Ceremony { flags: UP, ..Ceremony::request() }.assertion(&signer);
    let expected = ExpectedAssertion { verification: UserVerification::Preferred, ..expected() };
    let used = assertion::verify(&party(), expected, &passkey.unwrap(), &signed).unwrap();
    assert!(!used.is_user_verified);
}

#[test]
fn responses_are_read_from_the_json_of_the_browser() {
    let signer = Signer::es256();
    let created = Ceremony::creation(&signer.key()).registration();
    let json = json!({
        "id": base64url(&created.id), "rawId": base64url(&created.id), "type": "public-key",
        "authenticatorAttachment": "platform", "clientExtensionResults": {},
        "response": {
            "clientDataJSON": base64url(&created.client_data),
            "attestationObject": base64url(&created.attestation_object),
            "transports": ["internal", "<script>", ""],
            "publicKeyAlgorithm": -7, "publicKey": "AA", "authenticatorData": "AA",
        },
    });
    assert_eq!(RegistrationResponse::read(json.to_string().as_bytes()), Ok(created));
    let signed = Ceremony::request().assertion(&signer);
    let json = json!({
        "id": base64url(&signed.id), "rawId": base64url(&signed.id), "type": "public-key",
        "clientExtensionResults": {},
        "response": {
            "clientDataJSON": base64url(&signed.client_data),
            "authenticatorData": base64url(&signed.authenticator_data),
            "signature": base64url(&signed.signature),
            "userHandle": base64url(HANDLE),
        },
    });
    assert_eq!(AssertionResponse::read(json.to_string().as_bytes()), Ok(signed.clone()));
    for (pointer, value, member) in [
        ("/rawId", json!("AAAA"), "rawId"),
        ("/type", json!("password"), "type"),
        ("/response/signature", json!("A=="), "signature"),
        ("/response/signature", json!(""), "signature"),
        ("/response/signature", json!(7), "body"),
        ("/response/signature", json!(base64url(&[0; 1_025])), "signature"),
        ("/response/userHandle", json!(base64url(&[0; 65])), "userHandle"),
        ("/response/clientDataJSON", json!(base64url(&[0; 8_193])), "clientDataJSON"),
        ("/response/authenticatorData", json!("+/"), "authenticatorData"),
        ("/response", json!(null), "body"),
    ] {
        let mut wrong = json.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        let refused = AssertionResponse::read(wrong.to_string().as_bytes());
        assert_eq!(refused, Err(PasskeyError::Json(member)), "{pointer}");
    }
    let mut without = json.clone();
    without["response"]["userHandle"] = json!(null);
    assert_eq!(AssertionResponse::read(without.to_string().as_bytes()).unwrap().user_handle, None);
}

#[test]
fn options_are_those_of_the_standard() {
    let user = PasskeyUser { handle: HANDLE, name: "anna", display_name: "Anna Öberg" };
    let known = register(&Ceremony::creation(&Signer::es256().key()).registration()).unwrap();
    let options = options::creation(
        &party(),
        user,
        &CHALLENGE,
        UserVerification::Required,
        std::slice::from_ref(&known),
    );
    assert_eq!(
        options,
        json!({
            "rp": { "id": "example.org", "name": "Town" },
            "user": { "id": "dXNlciAx", "name": "anna", "displayName": "Anna Öberg" },
            "challenge": "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk",
            "pubKeyCredParams": [{ "type": "public-key", "alg": -7 }, { "type": "public-key", "alg": -257 }],
            "timeout": 300_000,
            "excludeCredentials": [
                { "type": "public-key", "id": "Y3JlZGVudGlhbCAx", "transports": ["internal"] },
            ],
            "authenticatorSelection": {
                "residentKey": "required", "requireResidentKey": true, "userVerification": "required",
            },
            "attestation": "none",
        })
    );
    let options = options::request(&party(), &CHALLENGE, UserVerification::Preferred, &[]);
    assert_eq!(
        options,
        json!({
            "rpId": "example.org",
            "challenge": "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk",
            "timeout": 300_000, "allowCredentials": [], "userVerification": "preferred",
        })
    );
    let many = vec![known; 100];
    let options = options::request(&party(), &CHALLENGE, UserVerification::Preferred, &many);
    assert_eq!(options["allowCredentials"].as_array().unwrap().len(), PASSKEYS_MAX);
}

#[test]
fn an_origin_has_to_be_at_or_below_the_id() {
    let with = |id: &str, origin: &str| RelyingParty::new(id, "Town", &[origin]).err();
    for (id, origin) in [
        ("example.org", "https://example.org"),
        ("example.org", "https://a.b.example.org:8443"),
        ("localhost", "http://localhost:8080"),
    ] {
        assert_eq!(with(id, origin), None, "{id} {origin}");
    }
    for origin in [
        "https://example.org/",
        "http://example.org",
        "https://evilexample.org",
        "https://.example.org",
        "https://example.org:",
        "https://example.org:08443",
        "https://example.org:99999",
        "https://org",
        "https://user@example.org",
        "https://Example.org",
        "https://example.com",
        "example.org",
        "",
    ] {
        assert_eq!(with("example.org", origin), Some(RelyingPartyError::Origin(origin.to_owned())));
    }
    for id in ["", "Example.org", "example..org", "192.0.2.1", "example.org:443", "[::1]", &"a.".repeat(200)]
    {
        assert_eq!(with(id, "https://example.org"), Some(RelyingPartyError::Id(id.to_owned())));
    }
    assert_eq!(RelyingParty::new("example.org", "", &[]), Err(RelyingPartyError::Origins(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(256)))]

    #[test]
    fn no_octets_are_a_registration_or_a_signature(octets: Vec<u8>) {
        let created = Ceremony::creation(&PasskeyKey::Es256 { x: [1; 32], y: [2; 32] }).registration();
        let object = RegistrationResponse { attestation_object: octets.clone(), ..created.clone() };
        prop_assert!(register(&object).is_err());
        let passkey = register(&created).unwrap();
        let response = AssertionResponse {
            id: passkey.id.clone(),
            client_data: Ceremony::request().client_data(),
            authenticator_data: Ceremony::request().authenticator_data(),
            signature: octets,
            user_handle: Some(HANDLE.to_vec()),
        };
        let refused = assertion::verify(&party(), expected(), &passkey, &response);
        prop_assert_eq!(refused, Err(PasskeyError::Signature));
    }

    #[test]
    fn every_key_is_read_back(x: [u8; 32], y: [u8; 32], first in 1_u8.., n in proptest::collection::vec(any::<u8>(), 255..1_023)) {
        let n = [vec![first], n].concat();
        for key in [PasskeyKey::Es256 { x, y }, PasskeyKey::Rs256 { n, e: vec![1, 0, 1] }] {
            prop_assert_eq!(PasskeyKey::read(&key.write()), Ok(key));
        }
    }
}
