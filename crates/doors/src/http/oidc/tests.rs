//! Signing in at a provider of the tests: a real HTTP server that signs ID tokens by ES256.

use super::*;
use crate::http::SignInPolicy;
use crate::http::tests::browser::Browser;
use crate::http::tests::*;
use axum::Json;
use axum::extract::Form;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use std::collections::HashMap;
use std::sync::Mutex;

/// What the provider says of whoever signs in.
#[derive(Clone)]
struct TestProvider {
    issuer: String,
    key: Arc<EcdsaKeyPair>,
    /// The nonce of the request, and the groups of who signs in.
    state: Arc<Mutex<(String, Vec<&'static str>)>>,
}

impl TestProvider {
    async fn start() -> TestProvider {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let provider = TestProvider { issuer, key: Arc::new(key), state: Arc::default() };
        let (document, keys, token) = (provider.clone(), provider.clone(), provider.clone());
        let router = axum::Router::new()
            .route("/.well-known/openid-configuration", get(async move || Json(document.document())))
            .route("/keys", get(async move || Json(keys.keys())))
            .route(
                "/token",
                axum::routing::post(async move |Form(form): Form<HashMap<String, String>>| {
                    Json(token.token(&form))
                }),
            );
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    fn document(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        json!({"issuer": self.issuer, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
            "jwks_uri": at("/keys"), "code_challenge_methods_supported": ["S256"]})
    }

    fn keys(&self) -> Value {
        let point = self.key.public_key().as_ref();
        let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..]));
        json!({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1", "x": x, "y": y}]})
    }

    fn token(&self, form: &HashMap<String, String>) -> Value {
        assert!(form["code_verifier"].len() >= 43, "PKCE");
        let (nonce, groups) = self.state.lock().unwrap().clone();
        let now_s = NOW.0 / 1_000_000;
        let claims = json!({"iss": self.issuer, "sub": "subject-7", "aud": "campanile", "iat": now_s, "exp": now_s + 600,
            "nonce": nonce, "name": "Eva Lind", "email": "eva@city.example", "email_verified": true, "groups": groups});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "ES256", "kid": "1"})), part(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        let id_token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()));
        json!({"token_type": "Bearer", "access_token": "a", "id_token": id_token})
    }
}

fn parameter(url: &str, name: &str) -> String {
    let query = url.split_once('?').unwrap().1;
    let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap_or_else(|| panic!("{name} is not in {url}")).to_owned()
}

async fn server(provider: &TestProvider) -> TestServer {
    let server = TestServer::open().await;
    let oidc = OidcSettings {
        issuer: provider.issuer.clone(),
        client_id: "campanile".into(),
        client_secret: None,
        name: "City".into(),
        scopes: vec!["email".into()],
        claim: "groups".into(),
        roles: vec![("duty".into(), vec![UserRole::Operator]), ("look".into(), vec![UserRole::Viewer])],
        spaces: vec![records::Mode::Drill],
        account: "default".into(),
    };
    let policy = SignInPolicy { organisation: None, oidc: Some(oidc) };
    server.policies.sign_in.store(Arc::new(policy));
    server
}

/// Goes to the provider and back; the status and what came of it.
async fn there_and_back(
    provider: &TestProvider,
    browser: &mut Browser,
    groups: Vec<&'static str>,
) -> (StatusCode, Value) {
    let start = browser.request(Method::GET, "/auth/oidc/start").send().await.unwrap();
    assert_eq!(start.status(), 303);
    let location = start.headers()["location"].to_str().unwrap().to_owned();
    let cookie = start.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("; Path=/auth/oidc; Max-Age=600; HttpOnly; SameSite=Lax"), "{cookie}");
    assert_eq!(parameter(&location, "code_challenge_method"), "S256");
    *provider.state.lock().unwrap() = (parameter(&location, "nonce"), groups);
    let back = format!("{CALLBACK}?code=c&state={}", parameter(&location, "state"));
    let kept = cookie.split(';').next().unwrap();
    let request = browser.request(Method::GET, &back).header("cookie", kept);
    browser.send(request).await
}

#[tokio::test]
async fn a_provider_signs_people_in_with_the_roles_of_its_claim() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let mut browser = Browser::of(&server);
    let (_, options) = browser.get("/api/v1/session/options").await;
    assert_eq!(options["provider"], json!({"name": "City", "start": "/auth/oidc/start"}));
    let (status, problem) = there_and_back(&provider, &mut browser, vec!["duty"]).await;
    assert_eq!(status, 303, "{problem}");
    let (_, me) = browser.get("/api/v1/me").await;
    assert_eq!((&me["name"], &me["roles"]), (&json!("eva@city.example"), &json!(["operator"])), "{me}");
    assert_eq!((&me["spaces"], &me["factors"]["provider"]), (&json!(["drill"]), &json!(true)));
    // The same subject is the same user, with the roles of today; the sessions of before are over.
    let mut again = Browser::of(&server);
    assert_eq!(there_and_back(&provider, &mut again, vec!["look"]).await.0, 303);
    let (_, later) = again.get("/api/v1/me").await;
    assert_eq!((&later["id"], &later["roles"]), (&me["id"], &json!(["viewer"])));
    assert_eq!(browser.get("/api/v1/me").await.0, 401);
    let (status, problem) = there_and_back(&provider, &mut Browser::of(&server), vec!["other"]).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-role"));
    server.close().await;
}

#[tokio::test]
async fn who_was_provisioned_signs_in_with_the_roles_that_scim_gave_and_is_ended_by_it() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let body = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "externalId": "7",
        "userName": "Eva@city.example", "displayName": "Eva Lind", "roles": [{"value": "author"}]});
    let (status, made) = server.post("/scim/v2/Users", body).await;
    assert_eq!(status, 201, "{made}");
    let mut browser = Browser::of(&server);
    let (status, problem) = there_and_back(&provider, &mut browser, vec![]).await;
    assert_eq!(status, 303, "{problem}");
    let (_, me) = browser.get("/api/v1/me").await;
    assert_eq!((&me["person"], &me["roles"]), (&json!("7"), &json!(["author"])), "{me}");
    let mut again = Browser::of(&server);
    assert_eq!(there_and_back(&provider, &mut again, vec!["duty"]).await.0, 303);
    assert_eq!(again.get("/api/v1/me").await.1["id"], me["id"], "the same user, and the same roles");
    assert_eq!(browser.get("/api/v1/me").await.0, 200);
    let path = format!("/scim/v2/Users/{}", made["id"].as_str().unwrap());
    let off = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "replace", "value": {"active": false}}]});
    assert_eq!(said(server.call(Method::PATCH, &path).json(&off)).await.0, 200);
    assert_eq!(
        (browser.get("/api/v1/me").await.0, again.get("/api/v1/me").await.0.as_u16()),
        (StatusCode::UNAUTHORIZED, 401)
    );
    let (status, problem) = there_and_back(&provider, &mut Browser::of(&server), vec!["duty"]).await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"), "{problem}");
    server.close().await;
}

#[tokio::test]
async fn a_way_back_that_the_browser_did_not_begin_is_refused() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let mut browser = Browser::of(&server);
    let (status, problem) = browser.get(&format!("{CALLBACK}?code=c&state=s")).await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"));
    let start = browser.request(Method::GET, "/auth/oidc/start").send().await.unwrap();
    let cookie = start.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let forged = format!("{CALLBACK}?code=c&state={}", "A".repeat(43));
    let request = browser.request(Method::GET, &forged).header("cookie", cookie);
    let (status, problem) = browser.send(request).await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"));
    server.close().await;
}

#[tokio::test]
async fn without_a_provider_there_is_none() {
    let server = TestServer::open().await;
    for path in ["/auth/oidc/start", CALLBACK] {
        let (status, problem) = Browser::of(&server).get(path).await;
        assert_eq!((status.as_u16(), slug(&problem)), (404, "not-found"), "{path}");
    }
    server.close().await;
}

fn example() -> OidcSettings {
    OidcSettings {
        issuer: "https://id.example".into(),
        client_id: "campanile".into(),
        client_secret: Some("s3cret".into()),
        name: "Example".into(),
        scopes: vec!["email".into()],
        claim: "groups".into(),
        roles: vec![
            ("duty".into(), vec![UserRole::Operator, UserRole::Author]),
            ("chiefs".into(), vec![UserRole::Approver, UserRole::Author]),
        ],
        spaces: vec![records::Mode::Drill],
        account: "default".into(),
    }
}

#[test]
fn roles_are_those_of_all_values_of_the_claim_and_of_no_other() {
    let named = |groups: Option<Vec<&str>>| OidcUser {
        subject: "7".into(),
        mail: None,
        is_mail_verified: false,
        name: None,
        groups: groups.map(|groups| groups.into_iter().map(str::to_owned).collect()),
        has_groups_elsewhere: false,
    };
    use UserRole::{Approver, Author, Operator};
    for (groups, expected) in [
        (Some(vec!["duty", "chiefs"]), vec![Author, Operator, Approver]),
        (Some(vec!["duty"]), vec![Author, Operator]),
        (Some(vec!["Duty", "other"]), vec![]),
        (None, vec![]),
    ] {
        assert_eq!(roles(&example(), &named(groups.clone())), expected, "{groups:?}");
    }
}

#[test]
fn a_subject_is_one_user_of_its_issuer() {
    let one = id_of("https://a.example", "7");
    assert_eq!(one, id_of("https://a.example", "7"));
    assert_ne!(one, id_of("https://b.example", "7"));
    assert_ne!(one, id_of("https://a.example", "8"));
}

#[test]
fn the_secret_is_in_no_log() {
    assert!(!format!("{:?}", example()).contains("s3cret"));
}
