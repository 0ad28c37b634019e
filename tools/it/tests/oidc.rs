//! Signing in at a provider that nobody here wrote: there and back by a browser, roles by its groups, and
//! what is refused.

use it::{OIDC_CLIENT, OIDC_CLIENT_SECRET, OidcProvider, Server, Setup, eventually, free_port};
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, Response, Url};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

const CALLBACK: &str = "/auth/oidc/callback";
const COOKIE_OF_SESSION: &str = "campanile";
/// Redirects on the way there and back.
const REDIRECTS_MAX: usize = 12;
/// A provider that failed is asked again within so long.
const ASKED_AGAIN_MAX: Duration = Duration::from_secs(30);

/// A browser: it follows redirects and keeps the cookies of each host and port.
struct Browser {
    client: reqwest::Client,
    server: String,
    cookies: HashMap<String, BTreeMap<String, String>>,
}

impl Browser {
    fn of(server: &Server) -> Browser {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Browser { client, server: server.url(), cookies: HashMap::new() }
    }

    fn jar(&mut self, url: &Url) -> &mut BTreeMap<String, String> {
        self.cookies.entry(url.authority().to_owned()).or_default()
    }

    async fn send(&mut self, method: Method, url: &Url, body: Option<(&str, Value)>) -> Response {
        let cookies: Vec<String> =
            self.jar(url).iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = self.client.request(method, url.clone()).header("x-campanile-space", "drill");
        if !cookies.is_empty() {
            request = request.header(COOKIE, cookies.join("; "));
        }
        if let Some((csrf, body)) = body {
            request = request.header("x-campanile-csrf", csrf).json(&body);
        }
        let response = request.send().await.unwrap();
        for set in response.headers().get_all(SET_COOKIE) {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            match rest.split(';').next().unwrap() {
                "" => _ = self.jar(url).remove(name),
                value => _ = self.jar(url).insert(name.to_owned(), value.to_owned()),
            }
        }
        response
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&self.server).unwrap().join(path).unwrap()
    }

    /// Follows redirects from here; up to the way back, which is not gone, or to the end.
    async fn follow(&mut self, mut url: Url, stops_before_the_way_back: bool) -> (Url, Option<Response>) {
        for _ in 0..REDIRECTS_MAX {
            if stops_before_the_way_back && url.path() == CALLBACK {
                return (url, None);
            }
            let response = self.send(Method::GET, &url, None).await;
            match response.headers().get(LOCATION) {
                Some(location) => url = url.join(location.to_str().unwrap()).unwrap(),
                None => return (url, Some(response)),
            }
        }
        panic!("more than {REDIRECTS_MAX} redirects, the last to {url}");
    }

    /// The way back from the provider.
    async fn there(&mut self) -> Url {
        let (url, response) = self.follow(self.url("/auth/oidc/start"), true).await;
        assert!(response.is_none(), "there is no way back from {url}: {response:?}");
        url
    }

    /// Signs in; status and body of the page that it ends at.
    async fn there_and_back(&mut self) -> (u16, String) {
        let url = self.there().await;
        self.back(url).await
    }

    async fn back(&mut self, url: Url) -> (u16, String) {
        let (_, response) = self.follow(url, false).await;
        let response = response.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn get(&mut self, path: &str) -> (u16, Value) {
        let response = self.send(Method::GET, &self.url(path), None).await;
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default())
    }

    fn has_session(&mut self) -> bool {
        let url = self.url("/");
        self.jar(&url).contains_key(COOKIE_OF_SESSION)
    }
}

fn accounts() -> Value {
    let person = |name: &str, groups: &[&str]| json!({"email": format!("{name}@city.example"), "email_verified": true, "name": name, "groups": groups});
    json!({
        "eva": person("eva", &["duty-officers", "staff"]),
        "jonas": person("jonas", &["duty-officers", "chiefs"]),
        "visitor": person("visitor", &["staff"]),
    })
}

/// A provider, and a server whose people sign in there.
async fn pair(alg: &str) -> (OidcProvider, Server) {
    let port = free_port();
    let provider = OidcProvider::start(alg, &format!("http://127.0.0.1:{port}"), &accounts()).await;
    let config = format!(
        "[oidc]\nissuer = \"{}\"\nclient_id = \"{OIDC_CLIENT}\"\nclient_secret = \"{OIDC_CLIENT_SECRET}\"\nname = \"City\"\n\
         scopes = [\"profile\", \"email\", \"groups\"]\nclaim = \"groups\"\n\
         [[oidc.role]]\nvalue = \"duty-officers\"\nroles = [\"author\", \"operator\"]\n\
         [[oidc.role]]\nvalue = \"chiefs\"\nroles = [\"approver\"]\n\
         [[route]]\nname = \"range\"\nchannel = \"sms\"\nmode = \"drill\"\nsim = true\n",
        provider.issuer()
    );
    let server = Server::start_with(Setup { config, port: Some(port), ..Setup::default() }).await;
    (provider, server)
}

#[tokio::test]
async fn people_sign_in_at_the_provider_with_the_roles_of_their_groups() {
    for alg in ["RS256", "ES256"] {
        let (provider, mut server) = pair(alg).await;
        let (_, options) = Browser::of(&server).get("/api/v1/session/options").await;
        assert_eq!(options["provider"], json!({"name": "City", "start": "/auth/oidc/start"}));
        let people = json!([{"id": "ann", "participant": true, "sms": "+46701000001"}]);
        server.api().add_recipients(&people).await;
        provider.sign_in_as("eva").await;
        let mut eva = Browser::of(&server);
        let (status, page) = eva.there_and_back().await;
        assert_eq!(status, 200, "{alg}: {page}");
        let (status, me) = eva.get("/api/v1/me").await;
        assert_eq!((status, &me["name"]), (200, &json!("eva@city.example")), "{alg}: {me}");
        assert_eq!((&me["roles"], &me["spaces"]), (&json!(["author", "operator"]), &json!(["drill"])));
        let asked: Vec<Value> =
            provider.events("asked").iter().map(|asked| asked["prompt"].clone()).collect();
        assert_eq!(asked, ["login", "consent"]);
        assert_eq!(provider.events("asked")[0]["challenge"], "S256");
        assert_eq!((provider.events("granted").len(), provider.events("failed").len()), (1, 0));
        // The session is one as of anybody: it writes, and outlives the server.
        let (_, session) = eva.get("/api/v1/session").await;
        let alert = json!({"text": "Practice", "audience": ["recipient:ann"]});
        let body = Some((session["csrf"].as_str().unwrap(), alert));
        let sent = eva.send(Method::POST, &eva.url("/api/v1/alerts"), body).await;
        assert_eq!(sent.status(), 202, "{:?}", sent.text().await);
        server.kill9();
        server.restart().await;
        assert_eq!(eva.get("/api/v1/me").await.0, 200);
        // Somebody else is another user, with the roles of all their groups.
        provider.sign_in_as("jonas").await;
        let mut jonas = Browser::of(&server);
        assert_eq!(jonas.there_and_back().await.0, 200);
        let (_, other) = jonas.get("/api/v1/me").await;
        assert_eq!(other["roles"], json!(["author", "operator", "approver"]), "{other}");
        assert_ne!(other["id"], me["id"]);
    }
}

#[tokio::test]
async fn what_the_provider_or_the_browser_forges_is_refused() {
    let (provider, server) = pair("ES256").await;
    provider.sign_in_as("eva").await;
    for (lie, words) in [
        ("nonce", "(nonce)"),
        ("audience", "(aud)"),
        ("party", "(azp)"),
        ("issuer", "evil.example"),
        ("expired", "(exp)"),
        ("future", "(iat)"),
        ("unsigned", "none"),
        ("foreign", "signature"),
        ("subject", "sub"),
    ] {
        provider.lie(lie).await;
        let mut browser = Browser::of(&server);
        let (status, problem) = browser.there_and_back().await;
        assert!(status == 401 && problem.contains(words), "{lie}: {status} {problem}");
        assert!(!browser.has_session(), "{lie}");
        assert_eq!(browser.get("/api/v1/me").await.0, 401, "{lie}");
    }
    provider.lie("none").await;

    let mut browser = Browser::of(&server);
    let back = browser.there().await;
    let (status, problem) = Browser::of(&server).back(back.clone()).await;
    assert!(status == 401 && problem.contains("did not begin"), "in another browser: {status} {problem}");
    let mut forged = back.clone();
    forged.query_pairs_mut().clear().append_pair("code", "c").append_pair("state", &"A".repeat(43));
    let (status, problem) = browser.back(forged).await;
    assert!(status == 401 && problem.contains("another browser"), "another state: {status} {problem}");
    assert_eq!(browser.back(back).await.0, 401, "the attempt was used up");
    assert!(!browser.has_session());

    let mut browser = Browser::of(&server);
    let back = browser.there().await;
    let attempt = browser.cookies.clone();
    assert_eq!(browser.back(back.clone()).await.0, 200);
    let mut thief = Browser::of(&server);
    thief.cookies = attempt;
    assert_eq!(thief.back(back).await.0, 401, "replayed, with the cookie of the attempt");
    assert!(!thief.has_session());
}

#[tokio::test]
async fn who_refuses_has_no_role_or_is_disabled_stays_out() {
    let (provider, server) = pair("RS256").await;
    provider.sign_in_as("visitor").await;
    let (status, problem) = Browser::of(&server).there_and_back().await;
    assert!(status == 403 && problem.contains("none of the groups"), "{status} {problem}");
    provider.sign_in_as("eva").await;
    provider.deny(true).await;
    let (status, problem) = Browser::of(&server).there_and_back().await;
    assert!(status == 401 && problem.contains("not today"), "{status} {problem}");
    provider.deny(false).await;

    let mut eva = Browser::of(&server);
    assert_eq!(eva.there_and_back().await.0, 200);
    let (_, me) = eva.get("/api/v1/me").await;
    let user = format!("/api/v1/users/{}", me["id"].as_str().unwrap());
    server.api().patch(&user, &json!({"active": false})).await.expect(200);
    assert_eq!(eva.get("/api/v1/me").await.0, 401);
    let (status, problem) = Browser::of(&server).there_and_back().await;
    assert!(status == 401 && problem.contains("disabled here"), "{status} {problem}");
}

#[tokio::test]
async fn a_provider_that_rotates_its_keys_or_goes_away_is_followed() {
    let (provider, mut server) = pair("RS256").await;
    provider.sign_in_as("eva").await;
    assert_eq!(Browser::of(&server).there_and_back().await.0, 200);
    provider.rotate().await;
    let (status, problem) = Browser::of(&server).there_and_back().await;
    assert_eq!(status, 200, "by a new key: {problem}");

    // It goes away between the way there and the way back.
    let mut browser = Browser::of(&server);
    let back = browser.there().await;
    provider.stop().await;
    let (status, problem) = browser.back(back).await;
    assert!(status == 503 && problem.contains("the provider cannot be reached"), "{status} {problem}");
    // And is not there when the server starts.
    server.kill9();
    server.restart().await;
    let started = browser.send(Method::GET, &browser.url("/auth/oidc/start"), None).await;
    assert_eq!(started.status(), 503);
    assert!(started.headers().contains_key("retry-after"));
    provider.listen_again().await;
    eventually("people sign in again", ASKED_AGAIN_MAX, async || {
        let start = browser.url("/auth/oidc/start");
        match browser.send(Method::GET, &start, None).await.status().as_u16() {
            303 => Ok(()),
            status => Err(status),
        }
    })
    .await;
    assert_eq!(Browser::of(&server).there_and_back().await.0, 200);
}
