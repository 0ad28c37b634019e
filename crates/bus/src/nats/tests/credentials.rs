//! Each way to say who we are, to a server that lets in nobody else; and to one whose operator signs its
//! accounts.

use super::*;
use crate::BusError;
use crate::conformance::append_each;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

fn refused(url: &str, options: NatsOptions) -> BusError {
    match open(url, options) {
        Ok(_) => panic!("{url} was taken"),
        Err(error) => error,
    }
}

/// What nobody else may see of these credentials.
struct Secret<'a>(&'a str);

/// Whoever has `right` is let in and can append; whoever has one of `wrong` is not, and no error shows the
/// secret.
async fn only_lets_in(rules: &str, right: Credentials, wrong: Vec<Credentials>, secret: Secret<'_>) {
    let server = NatsServer::start_with(&servers::nats::program(), rules);
    let (url, hidden) = (server.url(), secret.0.to_owned());
    let opened = tokio::task::spawn_blocking(move || {
        for credentials in wrong {
            let error = refused(&url, NatsOptions { credentials, ..options(1) });
            let words = format!("{error} {error:?}");
            assert!(matches!(error, BusError::Unreachable { .. }), "{words}");
            assert!(!words.contains(&hidden), "the secret is told: {words}");
        }
        let right = NatsOptions { credentials: right, ..options(1) };
        assert!(!format!("{right:?}").contains(&hidden), "the secret is shown: {right:?}");
        open(&url, right).expect("let in")
    });
    let bus = opened.await.expect("no panic");
    assert_eq!(append_each(&*bus.topic("t").unwrap(), &["a", "b"]).await, 0);
}

fn seed(pair: &KeyPair) -> String {
    pair.seed().expect("it was made with its seed")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_lets_in_and_another_does_not() {
    let token = |text: &str| Credentials::Token(text.to_owned());
    let wrong = vec![Credentials::Address, token("belfry")];
    only_lets_in("authorization { token: \"carillon\" }\n", token("carillon"), wrong, Secret("carillon"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_may_stand_in_the_address() {
    let server = NatsServer::start_with(&servers::nats::program(), "authorization { token: \"carillon\" }\n");
    let url = server.url().replace("nats://", "nats://carillon@");
    let bus = tokio::task::spawn_blocking(move || open(&url, options(1)).expect("let in"));
    assert_eq!(append_each(&*bus.await.expect("no panic").topic("t").unwrap(), &["a"]).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_seed_of_an_nkey_lets_in_and_anothers_does_not() {
    let (ours, anothers) = (KeyPair::new_user(), KeyPair::new_user());
    let rules = format!("authorization {{ users: [ {{ nkey: {} }} ] }}\n", ours.public_key());
    let wrong = vec![Credentials::Address, Credentials::Nkey(seed(&anothers))];
    only_lets_in(&rules, Credentials::Nkey(seed(&ours)), wrong, Secret(&seed(&ours))).await;
}

/// A JWT as NATS has them: claims of `subject` that `issuer` signed.
fn signed(issuer: &KeyPair, subject: &KeyPair, claims: Value) -> String {
    let header = URL_SAFE_NO_PAD.encode(json!({"typ": "JWT", "alg": "ed25519-nkey"}).to_string());
    let body = json!({
        "jti": subject.public_key(),
        "iat": 1_767_225_600,
        "iss": issuer.public_key(),
        "sub": subject.public_key(),
        "name": "campanile",
        "nats": claims,
    });
    let body = format!("{header}.{}", URL_SAFE_NO_PAD.encode(body.to_string()));
    let signature = issuer.sign(body.as_bytes()).expect("it has its seed");
    format!("{body}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn account_claims(streams: i64) -> Value {
    json!({"type": "account", "version": 2, "limits": {
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
        "mem_storage": streams, "disk_storage": streams, "streams": streams, "consumer": streams,
    }})
}

fn user_claims() -> Value {
    json!({"type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1})
}

fn file_of(folder: &tempfile::TempDir, name: &str, account: &KeyPair, user: &KeyPair) -> (PathBuf, String) {
    let secret = seed(user);
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n{secret}\n\
         ------END USER NKEY SEED------\n",
        signed(account, user, user_claims()),
    );
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    (path, secret)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_credentials_lets_in_where_an_operator_vouches_for_its_account() {
    let (operator, system, account) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
    let rules = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload {{ {}: {}, {}: {} }}\n",
        signed(&operator, &operator, json!({"type": "operator", "version": 2})),
        system.public_key(),
        system.public_key(),
        signed(&operator, &system, account_claims(0)),
        account.public_key(),
        signed(&operator, &account, account_claims(-1)),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let (path, secret) = file_of(&folder, "ours.creds", &account, &KeyPair::new_user());
    // Signed by somebody who is no account of this operator.
    let (strangers, _) = file_of(&folder, "strangers.creds", &KeyPair::new_account(), &KeyPair::new_user());
    let wrong =
        vec![Credentials::Address, Credentials::File(strangers), Credentials::File("missing.creds".into())];
    only_lets_in(&rules, Credentials::File(path), wrong, Secret(&secret)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_our_certificate_lets_in_who_shows_one_of_its_authority() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    let authority_key = rcgen::KeyPair::generate().expect("a key");
    let mut of_authority = rcgen::CertificateParams::new(Vec::new()).expect("no names");
    of_authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = of_authority.self_signed(&authority_key).expect("signed");
    let issuer = rcgen::Issuer::from_params(&of_authority, &authority_key);
    let made = |name: &str| {
        let key = rcgen::KeyPair::generate().expect("a key");
        let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
        let certificate = params.signed_by(&key, &issuer).expect("signed");
        (write(&format!("{name}.pem"), certificate.pem()), write(&format!("{name}.key"), key.serialize_pem()))
    };
    let roots = write("authority.pem", authority.pem());
    let (server_pem, server_key) = made("server");
    let ours = made("ours");
    let rules = format!(
        "tls {{ cert_file: {server_pem:?}, key_file: {server_key:?}, ca_file: {roots:?}, verify: true }}\n"
    );
    let server = NatsServer::start_with(&servers::nats::program(), &rules);
    let url = server.url();
    let opened = tokio::task::spawn_blocking(move || {
        let tls = |identity| NatsTls { required: true, roots: Some(roots.clone()), identity };
        let briefly = NatsOptions { connected_within: Duration::from_secs(1), tls: tls(None), ..options(1) };
        assert!(matches!(refused(&url, briefly), BusError::Unreachable { .. }));
        open(&url, NatsOptions { tls: tls(Some(ours)), ..options(1) }).expect("let in")
    });
    let bus = opened.await.expect("no panic");
    assert_eq!(append_each(&*bus.topic("t").unwrap(), &["a"]).await, 0);
}
