//! A browser of the tests: it keeps the cookie of its session and brings the CSRF value.

use super::*;
use sign_in::totp::TotpSecret;
use std::net::SocketAddr;

pub(crate) const PASSWORD: &str = "seven green umbrellas";

pub(crate) struct Browser {
    pub at: SocketAddr,
    client: Client,
    pub cookie: Option<String>,
    pub csrf: String,
    pub user: String,
    /// The space that its page is of.
    pub space: Option<&'static str>,
    /// Cookies that the last answer set, whole.
    pub set_cookies: Vec<String>,
}

impl Browser {
    pub fn of(server: &TestServer) -> Browser {
        Browser {
            at: server.door.address(),
            client: server.client.clone(),
            cookie: None,
            csrf: String::new(),
            user: String::new(),
            space: None,
            set_cookies: Vec::new(),
        }
    }

    pub fn in_space(mut self, space: &'static str) -> Browser {
        self.space = Some(space);
        self
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.client.request(method, format!("http://{}{path}", self.at));
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", format!("campanile={cookie}; __Host-campanile={cookie}"));
        }
        if !self.csrf.is_empty() {
            request = request.header("x-campanile-csrf", &self.csrf);
        }
        if let Some(space) = self.space {
            request = request.header("x-campanile-space", space);
        }
        request
    }

    /// Sends it, and keeps what it says of the session.
    pub async fn send(&mut self, request: RequestBuilder) -> (StatusCode, Value) {
        let response = request.send().await.unwrap();
        let cookies = response.headers().get_all("set-cookie").iter();
        self.set_cookies = cookies.map(|cookie| cookie.to_str().unwrap().to_owned()).collect();
        for set in &self.set_cookies {
            let value = set.split(['=', ';']).nth(1).unwrap().to_owned();
            self.cookie = Some(value).filter(|value| !value.is_empty()).or(self.cookie.take());
        }
        let status = response.status();
        let text = response.text().await.unwrap();
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if let Some(csrf) = body["csrf"].as_str() {
            self.csrf = csrf.to_owned();
            self.user = body["user"]["id"].as_str().unwrap_or_default().to_owned();
        }
        (status, body)
    }

    pub async fn get(&mut self, path: &str) -> (StatusCode, Value) {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn post(&mut self, path: &str, body: Value) -> (StatusCode, Value) {
        self.send(self.request(Method::POST, path).json(&body)).await
    }

    pub async fn put(&mut self, path: &str, body: Value) -> (StatusCode, Value) {
        self.send(self.request(Method::PUT, path).json(&body)).await
    }

    pub async fn delete(&mut self, path: &str) -> (StatusCode, Value) {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub async fn sign_in(&mut self, name: &str, password: &str) -> (StatusCode, Value) {
        self.post("/api/v1/session", json!({"name": name, "password": password})).await
    }

    /// Switches one-time codes on; the secret and the recovery codes.
    pub async fn with_totp(&mut self, server: &TestServer) -> (String, Vec<String>) {
        let offer = self.request(Method::POST, "/api/v1/me/totp");
        let (status, offered) = self.send(offer).await;
        assert_eq!(status, 200, "{offered}");
        let secret = offered["secret"].as_str().unwrap().to_owned();
        let code = code_of(&secret, server);
        let (status, given) = self.put("/api/v1/me/totp", json!({"code": code})).await;
        assert_eq!(status, 200, "{given}");
        self.get("/api/v1/session").await;
        let codes = given["codes"].as_array().unwrap().iter();
        (secret, codes.map(|code| code.as_str().unwrap().to_owned()).collect())
    }
}

/// The one-time code of this moment.
pub(crate) fn code_of(secret: &str, server: &TestServer) -> String {
    let now_s = server.clock.load(Ordering::Relaxed) as u64 / 1_000_000;
    let secret = TotpSecret::from_base32(secret).unwrap();
    format!("{:06}", secret.code(sign_in::totp::step(now_s)))
}

impl TestServer {
    /// A user of the account default who has a password; their id.
    pub async fn user(&self, name: &str, body: Value) -> String {
        let admin = self.admin.clone();
        self.user_by(&admin, name, body).await
    }

    /// A user made by an admin token of their account.
    pub async fn user_by(&self, admin: &str, name: &str, mut body: Value) -> String {
        body["name"] = name.into();
        let create = self.anon(Method::POST, "/api/v1/users").bearer_auth(admin).json(&body);
        let (status, user) = said(create).await;
        assert_eq!(status, 201, "{user}");
        let id = user["id"].as_str().unwrap().to_owned();
        let invite = self.anon(Method::POST, &format!("/api/v1/users/{id}:invite")).bearer_auth(admin);
        let (status, invitation) = said(invite).await;
        assert_eq!(status, 200, "{invitation}");
        let accepted = json!({"token": invitation["token"], "password": PASSWORD});
        let accept = self.anon(Method::POST, "/api/v1/invitations:accept").json(&accepted);
        assert_eq!(said(accept).await.0, 200);
        id
    }

    /// A browser in which a new user of these rights has signed in.
    pub async fn signed_in(&self, name: &str, body: Value) -> Browser {
        self.user(name, body).await;
        let mut browser = Browser::of(self);
        let (status, session) = browser.sign_in(name, PASSWORD).await;
        assert_eq!(status, 200, "{session}");
        browser
    }

    /// Passwords that the door has hashed.
    pub fn door_hashes(&self) -> u64 {
        self.door.password_hashes()
    }
}
