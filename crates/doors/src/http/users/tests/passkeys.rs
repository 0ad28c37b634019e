//! Passkeys over the door, by an authenticator of the tests that signs as a real one does.

use crate::http::tests::browser::{Browser, PASSWORD};
use crate::http::tests::*;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use sign_in::passkey::cbor::{self, CborValue};
use sign_in::passkey::key::PasskeyKey;

const ORIGIN: &str = "https://alerts.example";
const ID: [u8; 16] = [7; 16];
/// User present and verified.
const PRESENT: u8 = 0x05;
/// A credential is there.
const ATTESTED: u8 = 0x40;

struct Authenticator {
    id: [u8; 16],
    key: EcdsaKeyPair,
    handle: String,
    count: u32,
}

impl Authenticator {
    fn new(handle: &str) -> Authenticator {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random);
        Authenticator { id: ID, key: key.unwrap(), handle: handle.to_owned(), count: 0 }
    }

    fn data(&self, flags: u8, rest: &[u8]) -> Vec<u8> {
        let party = digest(&SHA256, b"alerts.example");
        [party.as_ref(), &[flags], &self.count.to_be_bytes(), rest].concat()
    }

    fn client_data(kind: &str, options: &Value, origin: &str) -> String {
        json!({"type": kind, "challenge": options["challenge"], "origin": origin, "crossOrigin": false})
            .to_string()
    }

    fn credential(&self, response: &Value) -> Value {
        let id = URL_SAFE_NO_PAD.encode(self.id);
        json!({"id": id, "rawId": id, "type": "public-key", "response": response})
    }

    /// The answer to the options of a registration.
    fn create(&self, options: &Value) -> Value {
        let point = self.key.public_key().as_ref();
        let key =
            PasskeyKey::Es256 { x: point[1..33].try_into().unwrap(), y: point[33..].try_into().unwrap() };
        let credential =
            [&[0; 16][..], &(self.id.len() as u16).to_be_bytes(), &self.id, &key.write()].concat();
        let text = |text: &str| CborValue::Text(text.to_owned());
        let object = CborValue::Map(vec![
            (text("fmt"), text("none")),
            (text("attStmt"), CborValue::Map(Vec::new())),
            (text("authData"), CborValue::Octets(self.data(PRESENT | ATTESTED, &credential))),
        ]);
        let mut octets = Vec::new();
        cbor::write(&object, &mut octets);
        let client_data = Authenticator::client_data("webauthn.create", options, ORIGIN);
        self.credential(&json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(client_data),
            "attestationObject": URL_SAFE_NO_PAD.encode(octets),
            "transports": ["internal"],
        }))
    }

    /// The answer to the options of an assertion.
    fn get(&mut self, options: &Value, origin: &str) -> Value {
        self.count += 1;
        self.answer(PRESENT, &Authenticator::client_data("webauthn.get", options, origin))
    }

    /// An answer with these flags and this client data, signed rightly.
    fn answer(&self, flags: u8, client_data: &str) -> Value {
        let data = self.data(flags, &[]);
        let signed = [&data, digest(&SHA256, client_data.as_bytes()).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        self.credential(&json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(client_data),
            "authenticatorData": URL_SAFE_NO_PAD.encode(data),
            "signature": URL_SAFE_NO_PAD.encode(signature.as_ref()),
            "userHandle": URL_SAFE_NO_PAD.encode(&self.handle),
        }))
    }
}

async fn server() -> TestServer {
    let config = HttpConfig::plain(([127, 0, 0, 1], 0).into(), Some(ORIGIN.to_owned()));
    TestServer::at(config, None, None).await
}

/// Registers a passkey in the browser.
async fn registered(browser: &mut Browser) -> Authenticator {
    let authenticator = Authenticator::new(&browser.user);
    let request = browser.request(Method::POST, "/api/v1/me/passkeys:options");
    let (status, options) = browser.send(request).await;
    assert_eq!((status.as_u16(), &options["rp"]["id"]), (200, &json!("alerts.example")), "{options}");
    let credential = authenticator.create(&options);
    let body = json!({"name": "key ring", "credential": credential});
    let (status, passkey) = browser.post("/api/v1/me/passkeys", body.clone()).await;
    assert_eq!((status.as_u16(), &passkey["name"]), (201, &json!("key ring")), "{passkey}");
    browser.get("/api/v1/session").await;
    assert_eq!(browser.post("/api/v1/me/passkeys", body).await.0, 409, "it is registered already");
    authenticator
}

#[tokio::test]
async fn a_passkey_signs_in_alone_and_its_answer_counts_once() {
    let server = server().await;
    let mut browser = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let mut authenticator = registered(&mut browser).await;
    server.clock.fetch_add(1_000_000, Ordering::Relaxed);
    let (_, options) = Browser::of(&server).get("/api/v1/session/options").await;
    let answer = authenticator.get(&options["passkey"], ORIGIN);
    let mut other = Browser::of(&server);
    let (status, session) = other.post("/api/v1/session", json!({"passkey": answer})).await;
    assert_eq!((status.as_u16(), &session["state"]), (200, &json!("signed_in")), "{session}");
    assert_eq!(other.get("/api/v1/me").await.0, 200);
    let (status, problem) = Browser::of(&server).post("/api/v1/session", json!({"passkey": answer})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"), "replayed");
    server.clock.fetch_add(4_000_000, Ordering::Relaxed);
    for (answer, why) in [
        (authenticator.get(&options["passkey"], "https://evil.example"), "another origin"),
        (authenticator.get(&json!({"challenge": "A".repeat(43)}), ORIGIN), "a challenge that is not ours"),
    ] {
        let (status, _) = Browser::of(&server).post("/api/v1/session", json!({"passkey": answer})).await;
        assert_eq!(status, 401, "{why}");
        server.clock.fetch_add(16_000_000, Ordering::Relaxed);
    }
    let stranger = Authenticator::new("u_nobody").get(&options["passkey"], ORIGIN);
    let (status, problem) = Browser::of(&server).post("/api/v1/session", json!({"passkey": stranger})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"));
    server.close().await;
}

#[tokio::test]
async fn a_challenge_is_answered_once_in_time_and_for_what_it_was_made() {
    let server = server().await;
    let mut browser = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let mut authenticator = registered(&mut browser).await;
    // Of a registration: again by another authenticator, and too late.
    server.clock.fetch_add(1_000_000, Ordering::Relaxed);
    let request = browser.request(Method::POST, "/api/v1/me/passkeys:options");
    let (_, options) = browser.send(request).await;
    let mut other = Authenticator::new(&browser.user);
    for (id, after_s, status, words) in
        [([8; 16], 0, 201, ""), ([9; 16], 0, 422, "answered before"), ([9; 16], 301, 422, "too old")]
    {
        server.clock.fetch_add(after_s * 1_000_000, Ordering::Relaxed);
        other.id = id;
        let body = json!({"credential": other.create(&options)});
        let (given, problem) = browser.post("/api/v1/me/passkeys", body).await;
        assert_eq!(given, status, "{problem}");
        assert!(status == 201 || reason(&problem, "credential").contains(words), "{problem}");
        browser.get("/api/v1/session").await;
    }
    // Of a sign-in: wrong in one thing each, in another session, and too late.
    let (_, options) = Browser::of(&server).get("/api/v1/session/options").await;
    let (_, pending) = Browser::of(&server).sign_in("eva", PASSWORD).await;
    let challenge = &options["passkey"];
    let client_data = Authenticator::client_data("webauthn.get", challenge, ORIGIN);
    let crossing = client_data.replace("\"crossOrigin\":false", "\"crossOrigin\":true");
    let created = Authenticator::client_data("webauthn.create", challenge, ORIGIN);
    authenticator.count += 1;
    let wrong = [
        ("nobody was there", authenticator.answer(0x04, &client_data)),
        ("its holder was not checked", authenticator.answer(0x01, &client_data)),
        ("in a frame of another site", authenticator.answer(PRESENT, &crossing)),
        ("the answer of a registration", authenticator.answer(PRESENT, &created)),
        ("the challenge of a second factor", authenticator.get(&pending["passkey"], ORIGIN)),
    ];
    for (n, (why, answer)) in wrong.into_iter().enumerate() {
        let (status, problem) =
            Browser::of(&server).post("/api/v1/session", json!({"passkey": answer})).await;
        assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"), "{why}: {problem}");
        server.clock.fetch_add((1 << n) * 1_000_000, Ordering::Relaxed);
    }
    let mut second = Browser::of(&server);
    second.sign_in("eva", PASSWORD).await;
    let answer = authenticator.get(&pending["passkey"], ORIGIN);
    let (status, problem) = second.post("/api/v1/session:second", json!({"passkey": answer})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"), "of another session: {problem}");
    let answer = authenticator.get(challenge, ORIGIN);
    assert_eq!(Browser::of(&server).post("/api/v1/session", json!({"passkey": answer})).await.0, 200);
    // A counter that does not rise is that of a copy.
    server.clock.fetch_add(1_000_000, Ordering::Relaxed);
    let (_, options) = Browser::of(&server).get("/api/v1/session/options").await;
    authenticator.count -= 1;
    let copied = authenticator.get(&options["passkey"], ORIGIN);
    assert_eq!(Browser::of(&server).post("/api/v1/session", json!({"passkey": copied})).await.0, 401);
    server.clock.fetch_add(301_000_000, Ordering::Relaxed);
    let late = authenticator.get(&options["passkey"], ORIGIN);
    assert_eq!(Browser::of(&server).post("/api/v1/session", json!({"passkey": late})).await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn a_passkey_follows_a_password_confirms_and_is_removed() {
    let server = server().await;
    let mut browser = server.signed_in("eva", json!({"roles": ["administrator"]})).await;
    let mut authenticator = registered(&mut browser).await;
    server.clock.fetch_add(1_000_000, Ordering::Relaxed);
    let mut other = Browser::of(&server);
    let (_, session) = other.sign_in("eva", PASSWORD).await;
    assert_eq!((&session["state"], &session["factors"]), (&json!("second_factor"), &json!(["passkey"])));
    let answer = authenticator.get(&session["passkey"], ORIGIN);
    let (status, session) = other.post("/api/v1/session:second", json!({"passkey": answer})).await;
    assert_eq!(status, 200, "{session}");
    server.clock.fetch_add(601_000_000, Ordering::Relaxed);
    assert_eq!(other.post("/api/v1/users", json!({"name": "x", "roles": ["viewer"]})).await.0, 403);
    let (_, session) = other.get("/api/v1/session").await;
    let answer = authenticator.get(&session["passkey"], ORIGIN);
    assert_eq!(other.post("/api/v1/session:confirm", json!({"passkey": answer})).await.0, 200);
    let (_, list) = other.get("/api/v1/me/passkeys").await;
    assert_eq!(list["items"][0]["transports"], json!(["internal"]));
    let path = format!("/api/v1/me/passkeys/{}", list["items"][0]["id"].as_str().unwrap());
    assert_eq!(other.delete(&path).await.0, 200);
    assert_eq!(other.delete(&path).await.0, 404);
    let (_, session) = Browser::of(&server).sign_in("eva", PASSWORD).await;
    assert_eq!(session["state"], "signed_in");
    server.close().await;
}

#[tokio::test]
async fn an_author_does_not_approve_as_another_user_who_signed_in_by_the_same_persons_passkey() {
    let server = server().await;
    server.people().await;
    let rule = engine::ApprovalRule { needs: records::ApprovalNeed::One, ..engine::ApprovalRule::default() };
    server.engine.change_approval_policy(engine::ApprovalPolicy { rules: vec![rule] }).await.unwrap();
    let rights = |roles: Value| json!({"roles": roles, "person": "jonas", "spaces": ["live"]});
    let mut jonas = server.signed_in("jonas", rights(json!(["operator"]))).await.in_space("live");
    let alert = json!({"text": "Leave hall 2 now", "audience": ["group:staff"]});
    let (status, submitted) = jonas.post("/api/v1/alerts?mode=sync", alert).await;
    assert_eq!(status, 201, "{submitted}");
    let mut second = server.signed_in("jonas-2", rights(json!(["approver"]))).await.in_space("live");
    let mut authenticator = registered(&mut second).await;
    server.clock.fetch_add(1_000_000, Ordering::Relaxed);
    let mut browser = Browser::of(&server).in_space("live");
    let (_, options) = browser.get("/api/v1/session/options").await;
    let answer = authenticator.get(&options["passkey"], ORIGIN);
    assert_eq!(browser.post("/api/v1/session", json!({"passkey": answer})).await.0, 200);
    let path = format!("/api/v1/alerts/{}", submitted["id"].as_str().unwrap());
    let (_, shown) = browser.get(&path).await;
    let approve = browser.request(Method::POST, &format!("{path}:approve"));
    let approve = approve.header("if-match", format!("\"{}\"", shown["version"])).json(&json!({}));
    let (status, problem) = browser.send(approve).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "another-person"), "{problem}");
    assert_eq!(browser.get(&path).await.1["state"], "awaiting_approval");
    server.close().await;
}

#[tokio::test]
async fn a_passkey_of_one_user_is_not_registered_for_another() {
    let server = server().await;
    let mut jonas = server.signed_in("jonas", json!({"roles": ["operator"]})).await;
    registered(&mut jonas).await;
    let mut second = server.signed_in("jonas-2", json!({"roles": ["approver"]})).await;
    let request = second.request(Method::POST, "/api/v1/me/passkeys:options");
    let (_, options) = second.send(request).await;
    let credential = Authenticator::new(&second.user).create(&options);
    let (status, problem) = second.post("/api/v1/me/passkeys", json!({"credential": credential})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("another user has this passkey"), "{problem}");
    assert_eq!(second.get("/api/v1/me/passkeys").await.1["items"], json!([]));
    server.close().await;
}

#[tokio::test]
async fn a_server_without_a_name_under_tls_has_no_passkeys() {
    let config = HttpConfig::plain(([127, 0, 0, 1], 0).into(), Some("http://alerts.example".to_owned()));
    let server = TestServer::at(config, None, None).await;
    let mut browser = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let request = browser.request(Method::POST, "/api/v1/me/passkeys:options");
    let (status, problem) = browser.send(request).await;
    assert_eq!(status, 404);
    assert!(problem["detail"].as_str().unwrap().contains("public_url"), "{problem}");
    let (_, options) = browser.get("/api/v1/session/options").await;
    assert_eq!(options["passkey"], Value::Null);
    server.close().await;
}
