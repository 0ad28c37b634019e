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

/// Changes the header and the claims of an ID token.
type Change = fn(&mut Value, &mut Value);

/// What the provider says of whoever signs in.
#[derive(Clone)]
struct TestProvider {
    issuer: String,
    state: Arc<Mutex<ProviderState>>,
}

struct ProviderState {
    key: Arc<EcdsaKeyPair>,
    kid: u32,
    /// The key that signs, if not the published one.
    signer: Option<Arc<EcdsaKeyPair>>,
    /// Of the request.
    nonce: String,
    /// Of who signs in.
    groups: Vec<&'static str>,
    change: Change,
    /// What it answers to everything, instead.
    status: Option<StatusCode>,
    /// Where its keys are, if not at its own host.
    keys_at: Option<String>,
    /// Documents that were asked for.
    asked: usize,
}

fn key() -> Arc<EcdsaKeyPair> {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random);
    Arc::new(key.unwrap())
}

impl TestProvider {
    async fn start() -> TestProvider {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let state = ProviderState {
            key: key(),
            kid: 1,
            signer: None,
            nonce: String::new(),
            groups: vec!["duty"],
            change: |_, _| {},
            status: None,
            keys_at: None,
            asked: 0,
        };
        let provider = TestProvider { issuer, state: Arc::new(Mutex::new(state)) };
        let (document, keys, token) = (provider.clone(), provider.clone(), provider.clone());
        let router = axum::Router::new()
            .route("/.well-known/openid-configuration", get(async move || document.document()))
            .route("/keys", get(async move || keys.keys()))
            .route(
                "/token",
                axum::routing::post(async move |Form(form): Form<HashMap<String, String>>| {
                    token.token(&form)
                }),
            );
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    fn with(&self, change: impl FnOnce(&mut ProviderState)) {
        change(&mut self.state.lock().unwrap());
    }

    fn answer(&self, value: Value) -> Response {
        match self.state.lock().unwrap().status {
            Some(status) => status.into_response(),
            None => Json(value).into_response(),
        }
    }

    fn document(&self) -> Response {
        let at = |path: &str| format!("{}{path}", self.issuer);
        let mut state = self.state.lock().unwrap();
        state.asked += 1;
        let keys = state.keys_at.clone().unwrap_or_else(|| at("/keys"));
        drop(state);
        self.answer(
            json!({"issuer": self.issuer, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
            "jwks_uri": keys, "code_challenge_methods_supported": ["S256"]}),
        )
    }

    fn keys(&self) -> Response {
        let (key, kid) = self.state.lock().map(|state| (state.key.clone(), state.kid)).unwrap();
        let point = key.public_key().as_ref();
        let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..]));
        let kid = kid.to_string();
        self.answer(
            json!({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": kid, "x": x, "y": y}]}),
        )
    }

    fn token(&self, form: &HashMap<String, String>) -> Response {
        assert!(form["code_verifier"].len() >= 43, "PKCE");
        let state = self.state.lock().unwrap();
        let now_s = NOW.0 / 1_000_000;
        let mut header = json!({"alg": "ES256", "kid": state.kid.to_string()});
        let mut claims = json!({"iss": self.issuer, "sub": "subject-7", "aud": "campanile", "iat": now_s, "exp": now_s + 600,
            "nonce": state.nonce, "name": "Eva Lind", "email": "eva@city.example", "email_verified": true, "groups": state.groups});
        (state.change)(&mut header, &mut claims);
        let signer = state.signer.clone().unwrap_or_else(|| state.key.clone());
        drop(state);
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = signer.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        let id_token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()));
        self.answer(json!({"token_type": "Bearer", "access_token": "a", "id_token": id_token}))
    }
}

fn parameter(url: &str, name: &str) -> String {
    let query = url.split_once('?').unwrap().1;
    let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap_or_else(|| panic!("{name} is not in {url}")).to_owned()
}

async fn server(provider: &TestProvider) -> TestServer {
    let server = TestServer::open().await;
    set_issuer(&server, &provider.issuer);
    server
}

fn set_issuer(server: &TestServer, issuer: &str) {
    let oidc = OidcSettings {
        issuer: issuer.to_owned(),
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
}

/// Goes to the provider: the way back from it, and the cookie of the attempt.
async fn there(provider: &TestProvider, browser: &Browser) -> (String, String) {
    let start = browser.request(Method::GET, "/auth/oidc/start").send().await.unwrap();
    assert_eq!(start.status(), 303);
    let location = start.headers()["location"].to_str().unwrap().to_owned();
    let cookie = start.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("; Path=/auth/oidc; Max-Age=600; HttpOnly; SameSite=Lax"), "{cookie}");
    assert_eq!(parameter(&location, "code_challenge_method"), "S256");
    provider.with(|state| state.nonce = parameter(&location, "nonce"));
    let back = format!("{CALLBACK}?code=c&state={}", parameter(&location, "state"));
    (back, cookie.split(';').next().unwrap().to_owned())
}

/// Goes to the provider and back; the status and what came of it.
async fn there_and_back(provider: &TestProvider, browser: &mut Browser) -> (StatusCode, Value) {
    let (back, cookie) = there(provider, browser).await;
    let request = browser.request(Method::GET, &back).header("cookie", cookie);
    browser.send(request).await
}

/// The same of somebody with these groups.
async fn as_one_of(
    provider: &TestProvider,
    browser: &mut Browser,
    groups: Vec<&'static str>,
) -> (StatusCode, Value) {
    provider.with(|state| state.groups = groups);
    there_and_back(provider, browser).await
}

#[track_caller]
fn assert_refused((status, problem): &(StatusCode, Value), why: &str, words: &str) {
    assert_eq!((status.as_u16(), slug(problem)), (401, "sign-in-failed"), "{why}: {problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(words), "{why}: {detail}");
}

#[tokio::test]
async fn a_provider_signs_people_in_with_the_roles_of_its_claim() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let mut browser = Browser::of(&server);
    let (_, options) = browser.get("/api/v1/session/options").await;
    assert_eq!(options["provider"], json!({"name": "City", "start": "/auth/oidc/start"}));
    let (status, problem) = as_one_of(&provider, &mut browser, vec!["duty"]).await;
    assert_eq!(status, 303, "{problem}");
    let (_, me) = browser.get("/api/v1/me").await;
    assert_eq!((&me["name"], &me["roles"]), (&json!("eva@city.example"), &json!(["operator"])), "{me}");
    assert_eq!((&me["spaces"], &me["factors"]["provider"]), (&json!(["drill"]), &json!(true)));
    // The same subject is the same user, with the roles of today; the sessions of before are over.
    let mut again = Browser::of(&server);
    assert_eq!(as_one_of(&provider, &mut again, vec!["look"]).await.0, 303);
    let (_, later) = again.get("/api/v1/me").await;
    assert_eq!((&later["id"], &later["roles"]), (&me["id"], &json!(["viewer"])));
    assert_eq!(browser.get("/api/v1/me").await.0, 401);
    let (status, problem) = as_one_of(&provider, &mut Browser::of(&server), vec!["other"]).await;
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
    let (status, problem) = as_one_of(&provider, &mut browser, vec![]).await;
    assert_eq!(status, 303, "{problem}");
    let (_, me) = browser.get("/api/v1/me").await;
    assert_eq!((&me["person"], &me["roles"]), (&json!("7"), &json!(["author"])), "{me}");
    let mut again = Browser::of(&server);
    assert_eq!(as_one_of(&provider, &mut again, vec!["duty"]).await.0, 303);
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
    let (status, problem) = as_one_of(&provider, &mut Browser::of(&server), vec!["duty"]).await;
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
async fn each_wrong_part_of_an_id_token_is_refused_and_begins_no_session() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let wrong: [(&str, &str, Change); 11] = [
        ("another nonce", "(nonce)", |_, claims| claims["nonce"] = json!("n")),
        ("no nonce", "nonce", |_, claims| claims["nonce"] = Value::Null),
        ("another client", "(aud)", |_, claims| claims["aud"] = json!("another")),
        ("several clients", "(azp)", |_, claims| claims["aud"] = json!(["campanile", "another"])),
        ("made for another", "(azp)", |_, claims| claims["azp"] = json!("another")),
        ("another issuer", "evil.example", |_, claims| claims["iss"] = json!("https://evil.example")),
        ("expired", "(exp)", |_, claims| claims["exp"] = json!(NOW.0 / 1_000_000 - 61)),
        ("of the future", "(iat)", |_, claims| claims["iat"] = json!(NOW.0 / 1_000_000 + 61)),
        ("unsigned", "\"none\"", |header, _| header["alg"] = json!("none")),
        ("signed by a shared secret", "\"HS256\"", |header, _| header["alg"] = json!("HS256")),
        ("of nobody", "sub", |_, claims| claims["sub"] = json!("")),
    ];
    for (why, words, change) in wrong {
        provider.with(|state| state.change = change);
        let mut browser = Browser::of(&server);
        assert_refused(&there_and_back(&provider, &mut browser).await, why, words);
        assert_eq!(browser.get("/api/v1/me").await.0, 401, "{why}");
    }
    provider.with(|state| {
        state.change = |_, _| {};
        state.signer = Some(key());
    });
    let foreign = there_and_back(&provider, &mut Browser::of(&server)).await;
    assert_refused(&foreign, "a foreign key", "signature");
    assert_eq!(server.get("/api/v1/users").await.1["items"], json!([]), "nobody was made a user");
    provider.with(|state| state.signer = None);
    assert_eq!(there_and_back(&provider, &mut Browser::of(&server)).await.0, 303);
    server.close().await;
}

#[tokio::test]
async fn a_way_back_counts_once_for_ten_minutes_in_its_own_browser_and_at_its_own_issuer() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let come = async |back: &str, cookie: &str| {
        let browser = Browser::of(&server);
        said(browser.request(Method::GET, back).header("cookie", cookie)).await
    };
    let (back, cookie) = there(&provider, &Browser::of(&server)).await;
    let (other_back, _) = there(&provider, &Browser::of(&server)).await;
    assert_refused(&come(&other_back, &cookie).await, "the state of another attempt", "another browser");
    assert_refused(&come(&back, &cookie).await, "it came back before", "came back before");
    let (back, cookie) = there(&provider, &Browser::of(&server)).await;
    assert_eq!(come(&back, &cookie).await.0, 303);
    assert_refused(&come(&back, &cookie).await, "replayed", "came back before");

    let (back, cookie) = there(&provider, &Browser::of(&server)).await;
    let (rest, last) = cookie.split_at(cookie.len() - 1);
    let forged = format!("{rest}{}", if last == "A" { "B" } else { "A" });
    assert_refused(&come(&back, &forged).await, "a cookie that is not ours", "did not begin");
    let plain = format!("campanile_oidc={}", URL_SAFE_NO_PAD.encode([0; 96]));
    assert_refused(&come(&back, &plain).await, "a cookie that anybody can make", "did not begin");
    let elsewhere = TestProvider::start().await;
    set_issuer(&server, &elsewhere.issuer);
    assert_refused(&come(&back, &cookie).await, "begun at another issuer", "did not begin");
    set_issuer(&server, &provider.issuer);
    server.clock.fetch_add(601_000_000, Ordering::Relaxed);
    assert_refused(&come(&back, &cookie).await, "too late", "too long ago");
    server.close().await;
}

#[tokio::test]
async fn a_new_key_of_the_provider_is_fetched_once_in_a_while() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    assert_eq!(there_and_back(&provider, &mut Browser::of(&server)).await.0, 303);
    let rotate = || provider.with(|state| (state.key, state.kid) = (key(), state.kid + 1));
    rotate();
    assert_eq!(there_and_back(&provider, &mut Browser::of(&server)).await.0, 303, "it is fetched at once");
    rotate();
    let again = there_and_back(&provider, &mut Browser::of(&server)).await;
    assert_refused(&again, "keys are not fetched for each token", "keys have none");
    server.close().await;
}

#[tokio::test]
async fn a_provider_that_fails_is_said_and_not_asked_by_everybody() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let is_busy = |(status, problem): (StatusCode, Value), words: &str| {
        assert_eq!((status.as_u16(), slug(&problem)), (503, "busy"), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    };
    // Between the way there and the way back; an answer that fails is no guess.
    for _ in 0..40 {
        let (back, cookie) = there(&provider, &Browser::of(&server)).await;
        provider.with(|state| state.status = Some(StatusCode::BAD_GATEWAY));
        let request = Browser::of(&server).request(Method::GET, &back).header("cookie", cookie);
        is_busy(said(request).await, "answered with status 502");
        provider.with(|state| state.status = None);
    }
    let failing = TestProvider::start().await;
    failing.with(|state| state.status = Some(StatusCode::NOT_FOUND));
    set_issuer(&server, &failing.issuer);
    for _ in 0..5 {
        let start = Browser::of(&server).request(Method::GET, "/auth/oidc/start");
        is_busy(said(start).await, "answered with status 404");
    }
    failing.with(|state| assert_eq!(state.asked, 1));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    set_issuer(&server, &format!("http://{nobody}"));
    let start = Browser::of(&server).request(Method::GET, "/auth/oidc/start").send().await.unwrap();
    assert_eq!((start.status().as_u16(), &start.headers()["retry-after"]), (503, &5.into()));
    is_busy(
        (start.status(), start.json().await.unwrap()),
        "cannot be reached; try again, or sign in with a password",
    );
    server.close().await;
}

#[tokio::test]
async fn an_address_that_the_provider_names_is_called_as_far_as_outbound_goes() {
    let (provider, inner) = (TestProvider::start().await, TestProvider::start().await);
    let server = server(&provider).await;
    provider.with(|state| state.keys_at = Some(format!("{}/keys", inner.issuer)));
    let start = || said(Browser::of(&server).request(Method::GET, "/auth/oidc/start"));
    assert_refused(&start().await, "keys at an inner address", "[outbound] allow");
    let allowed = net::OutboundPolicy::new(&["127.0.0.0/8".to_owned()]).unwrap();
    server.policies.outbound.store(Arc::new(allowed));
    assert_eq!(start().await.0, 303);
    server.close().await;
}

#[tokio::test]
async fn a_disabled_user_stays_out_and_a_planted_session_is_not_adopted() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let mut planted = server.signed_in("mallory", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    browser.cookie = planted.cookie.clone();
    let (back, cookie) = there(&provider, &browser).await;
    let session = format!("campanile={}", planted.cookie.as_ref().unwrap());
    let request = Browser::of(&server).request(Method::GET, &back);
    assert_eq!(browser.send(request.header("cookie", format!("{cookie}; {session}"))).await.0, 303);
    assert_ne!(browser.cookie, planted.cookie);
    assert_eq!(planted.get("/api/v1/me").await.0, 401, "what was planted is over");
    let (_, me) = browser.get("/api/v1/me").await;
    let path = format!("/api/v1/users/{}", me["id"].as_str().unwrap());
    let off = server.call(Method::PATCH, &path).json(&json!({"active": false}));
    assert_eq!(said(off).await.0, 200);
    assert_eq!(browser.get("/api/v1/me").await.0, 401);
    let again = there_and_back(&provider, &mut Browser::of(&server)).await;
    assert_refused(&again, "disabled", "the user is disabled here");
    server.close().await;
}

#[tokio::test]
async fn forged_ways_back_are_counted_and_bounded_by_their_address() {
    let provider = TestProvider::start().await;
    let server = server(&provider).await;
    let forged = format!("{CALLBACK}?code=c&state={}", "A".repeat(43));
    let mut statuses = std::collections::BTreeMap::new();
    for _ in 0..100 {
        let (status, _) = Browser::of(&server).get(&forged).await;
        *statuses.entry(status.as_u16()).or_insert(0) += 1;
    }
    assert_eq!(statuses, [(401, 30), (429, 70)].into());
    // The address has no more guesses at a password either.
    assert_eq!(Browser::of(&server).sign_in("eva", "guess").await.0, 429);
    let acts = server.guessing.failures().take().acts(NOW);
    let counted: Vec<_> = acts.iter().map(|act| (act.object.as_str(), act.count)).collect();
    assert_eq!(counted, [("oidc", Some(100)), ("session", Some(1))], "they are in the audit trail");
    server.close().await;
}

#[tokio::test]
async fn under_tls_the_cookie_of_an_attempt_is_the_hosts_alone() {
    let provider = TestProvider::start().await;
    let url = Some("https://alerts.example".to_owned());
    let server = TestServer::at(HttpConfig::plain(([127, 0, 0, 1], 0).into(), url), None, None).await;
    set_issuer(&server, &provider.issuer);
    let start = server.anon(Method::GET, "/auth/oidc/start").send().await.unwrap();
    let cookie = start.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-campanile_oidc="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
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
