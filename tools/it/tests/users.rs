//! Stories of people who sign in: a session outlives the server, spaces and rights hold over its end.

use it::{Reply, Server, sms_route};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

const PASSWORD: &str = "seven green umbrellas";

/// A browser: it keeps its session's cookie and brings the CSRF value.
struct Browser {
    client: reqwest::Client,
    url: String,
    cookie: String,
    csrf: String,
}

impl Browser {
    async fn signed_in(server: &Server, name: &str) -> Browser {
        let client = reqwest::Client::new();
        let (cookie, csrf) = (String::new(), String::new());
        let mut browser = Browser { client, url: server.url(), cookie, csrf };
        let body = json!({"name": name, "password": PASSWORD});
        let (status, session) =
            browser.send(browser.request(Method::POST, "/api/v1/session").json(&body)).await;
        assert_eq!((status, &session["state"]), (200, &json!("signed_in")), "{session}");
        browser
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request = request.header("x-campanile-space", "drill").header("x-campanile-csrf", &self.csrf);
        match self.cookie.is_empty() {
            true => request,
            false => request.header("cookie", &self.cookie),
        }
    }

    async fn send(&mut self, request: RequestBuilder) -> (u16, Value) {
        let reply = request.send().await.unwrap();
        if let Some(cookie) = reply.headers().get("set-cookie") {
            self.cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        }
        let status = reply.status().as_u16();
        let body: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap_or_default();
        if let Some(csrf) = body["csrf"].as_str() {
            self.csrf = csrf.to_owned();
        }
        (status, body)
    }

    async fn get(&mut self, path: &str) -> (u16, Value) {
        self.send(self.request(Method::GET, path)).await
    }

    async fn post(&mut self, path: &str, body: Value) -> (u16, Value) {
        self.send(self.request(Method::POST, path).json(&body)).await
    }
}

async fn user(server: &Server, body: Value) -> String {
    let api = server.api();
    let made = api.post("/api/v1/users", &body).await.expect(201);
    let id = made["id"].as_str().unwrap().to_owned();
    let invite: Reply = api.send(api.request(Method::POST, &format!("/api/v1/users/{id}:invite"))).await;
    let token = invite.expect(200)["token"].clone();
    let accepted = json!({"token": token, "password": PASSWORD});
    api.post("/api/v1/invitations:accept", &accepted).await.expect(200);
    id
}

#[tokio::test]
async fn a_session_outlives_the_server_that_it_began_at_and_ends_with_its_user() {
    let drill = "[[route]]\nname = \"range\"\nchannel = \"sms\"\nmode = \"drill\"\nsim = true\n";
    let live = sms_route("carrier", "127.0.0.1:9", "");
    let mut server = Server::start(&format!("{live}{drill}")).await;
    let api = server.api();
    api.add_recipients(&json!([{"id": "ann", "participant": true, "sms": "+46701000001"}])).await;
    let eva = user(&server, json!({"name": "eva", "roles": ["author", "operator"]})).await;
    let mut browser = Browser::signed_in(&server, "eva").await;
    let alert = json!({"text": "Practice", "audience": ["recipient:ann"]});
    let (status, first) = browser.post("/api/v1/alerts?mode=sync", alert.clone()).await;
    assert_eq!(status, 201, "{first}");

    server.kill9();
    server.restart().await;
    browser.url = server.url();
    let (status, shown) = browser.get(&format!("/api/v1/alerts/{}", first["id"].as_str().unwrap())).await;
    assert_eq!((status, &shown["request"]["mode"]), (200, &json!("drill")), "{shown}");
    assert_eq!(browser.post("/api/v1/alerts", alert.clone()).await.0, 202);
    let real = json!({"text": "Real", "audience": ["recipient:ann"], "mode": "live"});
    assert_eq!(browser.post("/api/v1/alerts", real).await.0, 403, "the drill space sends nothing live");

    let api = server.api();
    api.patch(&format!("/api/v1/users/{eva}"), &json!({"active": false})).await.expect(200);
    assert_eq!(browser.post("/api/v1/alerts", alert).await.0, 401);
    assert_eq!(browser.get("/api/v1/alerts").await.0, 401);
}
