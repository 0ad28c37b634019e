//! Any text: no ID token is valid without a signature, and documents, queries and claims are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sign_in::oidc::authorization::SignInAttempt;
use sign_in::oidc::claims;
use sign_in::oidc::discovery::OidcProvider;
use sign_in::oidc::id_token::{ExpectedToken, IdClaims, validate};
use sign_in::oidc::jwks::{JwkSet, KEYS_MAX};
use sign_in::oidc::{OidcClient, callback, token};

/// A key on P-256, of RFC 7515 Appendix A.3.
const KEYS: &[u8] = br#"{"keys":[{"kty":"EC","crv":"P-256","kid":"a",
"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;
const ISSUER: &str = "https://a.test";
const DOCUMENT: &[u8] = br#"{"issuer":"https://a.test","authorization_endpoint":"https://a.test/a",
"token_endpoint":"https://a.test/t","jwks_uri":"https://a.test/k"}"#;

fuzz_target!(|text: &str| {
    let expected = ExpectedToken {
        issuer: ISSUER,
        client_id: "c",
        nonce: "n",
        max_age_s: Some(1),
        now_s: 1_800_000_000,
    };
    let keys = JwkSet::read(KEYS).expect("the set is one");
    assert!(validate(text, &keys, expected).is_err(), "a token without a signature");
    if let Ok(keys) = JwkSet::read(text.as_bytes()) {
        assert!(keys.len() <= KEYS_MAX);
        let _ = validate("eyJhbGciOiJFUzI1NiJ9.e30.AA", &keys, expected);
        let _ = validate("eyJhbGciOiJSUzI1NiJ9.e30.AA", &keys, expected);
    }
    if let Ok(all) = serde_json::from_str(text) {
        let claims = IdClaims { subject: "s".to_owned(), auth_time_s: None, all };
        let user = claims::user(&claims, "groups.names");
        assert!(user.groups.unwrap_or_default().len() <= claims::GROUPS_MAX);
    }
    let attempt = SignInAttempt::new([[1; 32], [2; 32], [3; 32]]);
    let provider = OidcProvider::read(ISSUER, DOCUMENT).expect("the document is one");
    let _ = OidcProvider::read(ISSUER, text.as_bytes());
    let _ = token::read(text.as_bytes());
    let with_state = format!("state={}&{text}", attempt.state());
    for query in [text, &with_state] {
        if let Ok(code) = callback::read(query, &attempt, &provider) {
            assert!(code.is_ascii() && (1..=callback::CODE_OCTETS_MAX).contains(&code.len()));
        }
    }
    let client = OidcClient {
        id: text.to_owned(),
        secret: Some(text.to_owned()),
        redirect_uri: ISSUER.to_owned(),
        method: None,
    };
    let request = token::request(&provider, &client, &attempt, text).expect("Basic is the default");
    assert!(request.body.bytes().all(|octet| octet.is_ascii_graphic()));
});
