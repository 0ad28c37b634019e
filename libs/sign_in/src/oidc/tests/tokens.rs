//! Keys, ID tokens and claims.

use super::*;
use crate::oidc::claims::{GROUPS_MAX, user};
use crate::oidc::id_token::IdClaims;
use crate::test_keys::{component, rsa};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256};

const NOW: u64 = 1_800_000_000;
/// RFC 7515 Appendix A.2 and A.3: one payload, two signatures, and the key of the second.
const PAYLOAD: &str =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const RS256_SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W\
                               2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS\
                               jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv\
                               Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
const ES256_SIGNATURE: &str =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
const ES256_KEY: (&str, &str) =
    ("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");

fn p256() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap()
}

fn p256_jwk(kid: &str, pair: &EcdsaKeyPair) -> Value {
    let point = pair.public_key().as_ref();
    json!({ "kty": "EC", "crv": "P-256", "kid": kid, "x": base64url(&point[1..33]), "y": base64url(&point[33..]) })
}

fn rsa_jwk(kid: &str) -> Value {
    json!({ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": component("n"), "e": component("e") })
}

fn keys(keys: &[Value]) -> JwkSet {
    JwkSet::read(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "248289761001", "aud": "campanile", "exp": NOW + 300, "iat": NOW - 5,
        "nonce": attempt().nonce(), "auth_time": NOW - 10,
    })
}

fn rs256(header: &Value, claims: &Value) -> String {
    let message =
        format!("{}.{}", base64url(header.to_string().as_bytes()), base64url(claims.to_string().as_bytes()));
    let pair = rsa();
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature).unwrap();
    format!("{message}.{}", base64url(&signature))
}

fn es256(header: &Value, claims: &Value, pair: &EcdsaKeyPair) -> String {
    let message =
        format!("{}.{}", base64url(header.to_string().as_bytes()), base64url(claims.to_string().as_bytes()));
    let signature = pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
    format!("{message}.{}", base64url(signature.as_ref()))
}

fn validated(token: &str, keys: &JwkSet) -> Result<String, OidcError> {
    let nonce = attempt().nonce();
    let expected =
        ExpectedToken { issuer: ISSUER, client_id: "campanile", nonce: &nonce, max_age_s: None, now_s: NOW };
    validate(token, keys, expected).map(|claims| claims.subject)
}

#[test]
fn tokens_of_both_algorithms_are_accepted() {
    let pair = p256();
    let set = keys(&[rsa_jwk("r"), p256_jwk("e", &pair)]);
    let subject = Ok("248289761001".to_owned());
    assert_eq!(
        validated(&rs256(&json!({"alg": "RS256", "kid": "r", "typ": "JWT"}), &claims()), &set),
        subject
    );
    assert_eq!(validated(&es256(&json!({"alg": "ES256", "kid": "e"}), &claims(), &pair), &set), subject);
    assert_eq!(validated(&es256(&json!({"alg": "ES256"}), &claims(), &pair), &set), subject);
}

#[test]
fn signatures_are_those_of_rfc_7515_appendices_a_2_and_a_3() {
    let ec = json!({ "kty": "EC", "crv": "P-256", "x": ES256_KEY.0, "y": ES256_KEY.1 });
    let set = keys(&[rsa_jwk("r"), ec]);
    // The signature is right; the claims are of another issuer.
    let other = Err(OidcError::Issuer("joe".to_owned()));
    assert_eq!(validated(&format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}.{RS256_SIGNATURE}"), &set), other);
    assert_eq!(validated(&format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.{ES256_SIGNATURE}"), &set), other);
    let changed = PAYLOAD.replace("VlfQ", "VlfA");
    let wrong = Err(OidcError::Signature);
    assert_eq!(validated(&format!("eyJhbGciOiJSUzI1NiJ9.{changed}.{RS256_SIGNATURE}"), &set), wrong);
    assert_eq!(validated(&format!("eyJhbGciOiJFUzI1NiJ9.{changed}.{ES256_SIGNATURE}"), &set), wrong);
    assert_eq!(validated(&format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.{RS256_SIGNATURE}"), &set), wrong);
}

#[test]
fn no_other_algorithm_is_accepted_whatever_signs() {
    let set = keys(&[rsa_jwk("r")]);
    let payload = base64url(claims().to_string().as_bytes());
    for name in ["none", "None", "nOnE", "HS256", "HS512", "RS384", "PS256", "ES384", "EdDSA", "", "rs256"] {
        let header = base64url(json!({ "alg": name, "kid": "r" }).to_string().as_bytes());
        let unsigned = format!("{header}.{payload}.");
        assert_eq!(validated(&unsigned, &set), Err(OidcError::Algorithm(name.to_owned())));
        // The public key as the secret of an HMAC.
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, component("n").as_bytes());
        let tag = ring::hmac::sign(&key, format!("{header}.{payload}").as_bytes());
        let signed = format!("{header}.{payload}.{}", base64url(tag.as_ref()));
        assert_eq!(validated(&signed, &set), Err(OidcError::Algorithm(name.to_owned())));
    }
}

#[test]
fn a_key_signs_only_by_its_own_name_and_algorithm() {
    let (pair, other) = (p256(), p256());
    let wanted = |kid: Option<&str>, algorithm| {
        Err(OidcError::UnknownKey(KeyWanted { kid: kid.map(str::to_owned), algorithm }))
    };
    let token = |header: Value| es256(&header, &claims(), &pair);
    let one = keys(&[p256_jwk("e", &pair), rsa_jwk("r")]);
    let two = keys(&[p256_jwk("e", &pair), p256_jwk("f", &other)]);
    assert_eq!(
        validated(&token(json!({"alg": "ES256", "kid": "x"})), &one),
        wanted(Some("x"), JwsAlgorithm::Es256)
    );
    assert_eq!(
        validated(&token(json!({"alg": "ES256", "kid": "r"})), &one),
        wanted(Some("r"), JwsAlgorithm::Es256)
    );
    assert_eq!(
        validated(&token(json!({"alg": "RS256", "kid": "e"})), &one),
        wanted(Some("e"), JwsAlgorithm::Rs256)
    );
    assert_eq!(validated(&token(json!({"alg": "RS256"})), &two), wanted(None, JwsAlgorithm::Rs256));
    assert_eq!(validated(&token(json!({"alg": "ES256"})), &two), Err(OidcError::AmbiguousKey));
    assert_eq!(validated(&token(json!({"alg": "ES256", "kid": "f"})), &two), Err(OidcError::Signature));
    assert!(validated(&token(json!({"alg": "ES256", "kid": "e"})), &two).is_ok());
    // While keys change, two may have one name.
    let same_name = keys(&[p256_jwk("e", &other), p256_jwk("e", &pair)]);
    assert!(validated(&token(json!({"alg": "ES256", "kid": "e"})), &same_name).is_ok());
}

#[test]
fn keys_for_anything_else_are_left_out() {
    let pair = p256();
    let with = |member: &str, value: Value| {
        let mut jwk = p256_jwk("e", &pair);
        jwk[member] = value;
        keys(&[jwk]).len()
    };
    assert_eq!(with("use", json!("sig")), 1);
    for (member, value) in [
        ("use", json!("enc")),
        ("alg", json!("ES384")),
        ("alg", json!("none")),
        ("kty", json!("oct")),
        ("kty", json!("RSA")),
        ("crv", json!("P-384")),
        ("crv", json!(null)),
        ("x", json!("AAAA")),
        ("y", json!("=")),
        ("kid", json!("k".repeat(513))),
    ] {
        assert_eq!(with(member, value), 0, "{member}");
    }
    let rsa = |n: usize, e: &[u8]| {
        keys(&[json!({ "kty": "RSA", "n": base64url(&vec![0xff; n]), "e": base64url(e) })]).len()
    };
    assert_eq!((rsa(256, &[1, 0, 1]), rsa(255, &[1, 0, 1]), rsa(1_025, &[1, 0, 1])), (1, 0, 0));
    assert_eq!((rsa(256, &[0, 1, 0, 1]), rsa(256, &[0]), rsa(256, &[1; 5])), (1, 0, 0));
    assert_eq!(keys(&vec![rsa_jwk("r"); 100]).len(), super::jwks::KEYS_MAX);
    assert_eq!(JwkSet::read(b"{}"), Err(OidcError::Member("keys")));
    assert!(keys(&[json!(null), json!("x"), json!({})]).is_empty());
}

#[test]
fn each_wrong_claim_is_refused_by_its_name() {
    let set = keys(&[rsa_jwk("r")]);
    let signed = |claims: &Value| rs256(&json!({"alg": "RS256", "kid": "r"}), claims);
    for (name, value, error) in [
        ("iss", json!("https://evil.test"), Some(OidcError::Issuer("https://evil.test".to_owned()))),
        ("iss", json!(null), Some(OidcError::Claim("iss"))),
        ("sub", json!(""), Some(OidcError::Claim("sub"))),
        ("sub", json!(7), Some(OidcError::Claim("sub"))),
        ("sub", json!("s".repeat(256)), Some(OidcError::Claim("sub"))),
        ("aud", json!("another"), Some(OidcError::Audience)),
        ("aud", json!([]), Some(OidcError::Audience)),
        ("aud", json!(["campanile"]), None),
        ("aud", json!(["campanile", "another"]), Some(OidcError::AuthorizedParty)),
        ("aud", json!(["campanile", 7]), Some(OidcError::Claim("aud"))),
        ("aud", json!({"campanile": 1}), Some(OidcError::Claim("aud"))),
        ("aud", json!(vec!["campanile"; 65]), Some(OidcError::Claim("aud"))),
        ("azp", json!("campanile"), None),
        ("azp", json!("another"), Some(OidcError::AuthorizedParty)),
        ("azp", json!(null), Some(OidcError::AuthorizedParty)),
        ("exp", json!(NOW - 59), None),
        ("exp", json!(NOW - 60), Some(OidcError::Expired)),
        ("exp", json!(NOW as f64 + 0.5), None),
        ("exp", json!(-1), Some(OidcError::Claim("exp"))),
        ("exp", json!("2100-01-01"), Some(OidcError::Claim("exp"))),
        ("iat", json!(NOW + 60), None),
        ("iat", json!(NOW + 61), Some(OidcError::NotYet("iat"))),
        ("nbf", json!(NOW + 60), None),
        ("nbf", json!(NOW + 61), Some(OidcError::NotYet("nbf"))),
        ("nbf", json!("x"), Some(OidcError::Claim("nbf"))),
        ("nonce", json!("x"), Some(OidcError::Nonce)),
        ("nonce", json!(null), Some(OidcError::Claim("nonce"))),
    ] {
        let mut claims = claims();
        claims[name] = value.clone();
        assert_eq!(validated(&signed(&claims), &set).err(), error, "{name} {value}");
    }
    for name in ["iss", "sub", "aud", "exp", "iat", "nonce"] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(name);
        assert_eq!(validated(&signed(&claims), &set), Err(OidcError::Claim(name)));
    }
    let mut claims = claims();
    (claims["aud"], claims["azp"]) = (json!(["another", "campanile"]), json!("campanile"));
    assert!(validated(&signed(&claims), &set).is_ok());
}

#[test]
fn a_person_who_had_to_prove_who_they_are_again_did_so() {
    let set = keys(&[rsa_jwk("r")]);
    let nonce = attempt().nonce();
    let with = |auth_time: Value, max_age_s| {
        let mut claims = claims();
        claims["auth_time"] = auth_time;
        let expected =
            ExpectedToken { issuer: ISSUER, client_id: "campanile", nonce: &nonce, max_age_s, now_s: NOW };
        validate(&rs256(&json!({"alg": "RS256"}), &claims), &set, expected).err()
    };
    assert_eq!(with(json!(NOW - 5_000), None), None);
    assert_eq!(with(json!(NOW - 660), Some(600)), None);
    assert_eq!(with(json!(NOW - 661), Some(600)), Some(OidcError::AuthTime));
    assert_eq!(with(json!(null), Some(600)), Some(OidcError::Claim("auth_time")));
}

#[test]
fn userinfo_adds_claims_of_the_same_subject_and_changes_none() {
    let all = json!({"sub": "s", "name": "Anna"}).as_object().unwrap().clone();
    let token = IdClaims { subject: "s".to_owned(), auth_time_s: None, all };
    let added = |userinfo: Value| {
        let mut claims = token.clone();
        claims.add_userinfo(userinfo.to_string().as_bytes()).map(|()| user(&claims, "groups"))
    };
    let anna = added(json!({"sub": "s", "name": "Eve", "email": "a@b", "groups": ["x"]})).unwrap();
    assert_eq!((anna.name.as_deref(), anna.mail.as_deref()), (Some("Anna"), Some("a@b")));
    assert_eq!(anna.groups, Some(vec!["x".to_owned()]));
    assert_eq!(added(json!({"sub": "t", "email": "a@b"})), Err(OidcError::Claim("sub")));
    assert_eq!(added(json!({"email": "a@b"})), Err(OidcError::Claim("sub")));
    assert_eq!(added(json!("s")), Err(OidcError::Document("userinfo answer")));
}

#[test]
fn anything_that_is_no_token_is_refused_by_its_part() {
    let set = keys(&[rsa_jwk("r")]);
    let header = |header: Value| base64url(header.to_string().as_bytes());
    let good = header(json!({"alg": "RS256"}));
    for (token, part) in [
        (String::new(), "three parts"),
        ("a".to_owned(), "three parts"),
        ("a.b".to_owned(), "three parts"),
        ("a.b.c".to_owned(), "header"),
        (format!("{good}=.e30.AA"), "header"),
        (format!("{}.e30.AA", base64url(b"[]")), "header"),
        (format!("{}.e30.AA", header(json!({"typ": "JWT"}))), "without alg"),
        (format!("{}.e30.AA", header(json!({"alg": "RS256", "crit": ["b64"], "b64": false}))), "crit"),
        (format!("{}.e30.AA", header(json!({"alg": "RS256", "kid": 7}))), "kid"),
        (format!("{good}.e30.A"), "signature"),
        (format!("{good}.e30.AA.AA"), "Signature"),
        (rs256(&json!({"alg": "RS256"}), &json!([])), "payload"),
        (format!("{good}.{}.AA", "A".repeat(70_000)), "too long"),
    ] {
        let refused = validated(&token, &set).unwrap_err();
        let text = format!("{refused} {refused:?}");
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn claims_become_a_user() {
    let set = keys(&[rsa_jwk("r")]);
    let nonce = attempt().nonce();
    let of = |more: Value, groups: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let expected = ExpectedToken {
            issuer: ISSUER,
            client_id: "campanile",
            nonce: &nonce,
            max_age_s: None,
            now_s: NOW,
        };
        user(&validate(&rs256(&json!({"alg": "RS256"}), &claims), &set, expected).unwrap(), groups)
    };
    let anna = of(
        json!({"email": "anna@example.org", "email_verified": true, "name": " Anna\n Öberg ", "groups": ["a", "", 7, "b"]}),
        "groups",
    );
    assert_eq!(anna.subject, "248289761001");
    assert_eq!((anna.mail.as_deref(), anna.is_mail_verified), (Some("anna@example.org"), true));
    assert_eq!(anna.name.as_deref(), Some("Anna Öberg"));
    assert_eq!(anna.groups, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(of(json!({}), "groups").groups, None);
    assert_eq!(of(json!({"groups": "one"}), "groups").groups, Some(vec!["one".to_owned()]));
    assert_eq!(of(json!({"groups": {}}), "groups").groups, None);
    let nested = json!({"realm_access": {"roles": ["x"]}, "https://example.org/g": ["y"]});
    assert_eq!(of(nested.clone(), "realm_access.roles").groups, Some(vec!["x".to_owned()]));
    assert_eq!(of(nested, "https://example.org/g").groups, Some(vec!["y".to_owned()]));
    assert_eq!(of(json!({"g": vec!["x"; 2_000]}), "g").groups.map(|all| all.len()), Some(GROUPS_MAX));
    assert_eq!(of(json!({"g": ["x".repeat(257), "y"]}), "g").groups, Some(vec!["y".to_owned()]));
    assert!(of(json!({"_claim_names": {"groups": "src1"}}), "groups").has_groups_elsewhere);
    for (value, verified) in
        [(json!("true"), true), (json!("1"), false), (json!(1), false), (json!(null), false)]
    {
        let user = of(json!({"email": "a@b", "email_verified": value}), "groups");
        assert_eq!(user.is_mail_verified, verified, "{value}");
    }
    for mail in ["", "@", "a", "a b@c", "a@b\n", &format!("{}@b", "a".repeat(300))] {
        let user = of(json!({"email": mail, "email_verified": true}), "groups");
        assert_eq!((user.mail, user.is_mail_verified), (None, false), "{mail:?}");
    }
    let named = |more| of(more, "groups").name;
    assert_eq!(named(json!({"given_name": "Anna", "family_name": "Öberg"})).as_deref(), Some("Anna Öberg"));
    assert_eq!(named(json!({"name": " ", "preferred_username": "anna"})).as_deref(), Some("anna"));
    assert_eq!(named(json!({})), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(128)))]

    #[test]
    fn no_text_is_a_valid_token(token in "(eyJhbGciOiJFUzI1NiJ9\\.)?[-_A-Za-z0-9.]{0,80}|.*") {
        let set = keys(&[json!({ "kty": "EC", "crv": "P-256", "x": ES256_KEY.0, "y": ES256_KEY.1 })]);
        prop_assert!(validated(&token, &set).is_err());
    }

    #[test]
    fn a_token_with_one_letter_changed_is_refused(at: prop::sample::Index, letter in "[A-Za-z0-9]") {
        let set = keys(&[rsa_jwk("r")]);
        let token = rs256(&json!({"alg": "RS256", "kid": "r"}), &claims());
        let at = at.index(token.len());
        let mut changed = token.clone();
        changed.replace_range(at..at + 1, &letter);
        prop_assert!(changed == token || validated(&changed, &set).is_err());
    }
}
