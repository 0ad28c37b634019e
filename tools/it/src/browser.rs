use crate::api::{answered, patient_client};
use crate::{Api, Reply};
use reqwest::header::COOKIE;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::net::IpAddr;

/// Everybody's.
const PASSWORD: &str = "seven green umbrellas";

/// The browser of somebody who signed in: it keeps its session's cookie, and brings the CSRF value and the
/// space of its page. Of several processes it talks to one at a time.
#[derive(Debug, Clone)]
pub struct Browser {
    client: Client,
    base: String,
    space: &'static str,
    cookie: String,
    csrf: String,
}

/// Makes a user, who sets their password by an invitation; returns their id.
pub async fn new_user(api: &Api, body: &Value) -> String {
    let made = api.post("/api/v1/users", body).await.expect(201);
    let id = made["id"].as_str().unwrap().to_owned();
    let invite = api.request(Method::POST, &format!("/api/v1/users/{id}:invite"));
    let invitation = api.send(invite).await.expect(200);
    let accepted = json!({"token": invitation["token"], "password": PASSWORD});
    api.post("/api/v1/invitations:accept", &accepted).await.expect(200);
    id
}

impl Browser {
    /// One in which nobody signed in, with a page of this space.
    pub fn new(api: &Api, space: &'static str) -> Browser {
        Browser::over(patient_client(Client::builder()), api, space)
    }

    /// The same, on a machine of this address.
    pub fn at(address: impl Into<IpAddr>, api: &Api, space: &'static str) -> Browser {
        let address: IpAddr = address.into();
        Browser::over(patient_client(Client::builder().local_address(address)), api, space)
    }

    fn over(client: Client, api: &Api, space: &'static str) -> Browser {
        let (cookie, csrf) = (String::new(), String::new());
        Browser { client, base: api.url().to_owned(), space, cookie, csrf }
    }

    /// One in which a user signed in whom [`new_user`] made.
    pub async fn signed_in(api: &Api, name: &str, space: &'static str) -> Browser {
        let mut browser = Browser::new(api, space);
        let session = browser.sign_in(name).await.expect(200);
        assert_eq!(session["state"], "signed_in", "{session}");
        browser
    }

    /// Signs in, and keeps the session.
    pub async fn sign_in(&mut self, name: &str) -> Reply {
        let reply = self.guess(name, PASSWORD).await;
        if let Some(cookie) = reply.header("set-cookie") {
            cookie.split(';').next().unwrap().clone_into(&mut self.cookie);
            reply.json()["csrf"].as_str().unwrap().clone_into(&mut self.csrf);
        }
        reply
    }

    /// Tries a password, and keeps nothing.
    pub async fn guess(&self, name: &str, password: &str) -> Reply {
        self.post("/api/v1/session", &json!({"name": name, "password": password})).await
    }

    /// Goes on at another process of the same servers.
    pub fn go_to(&mut self, api: &Api) {
        api.url().clone_into(&mut self.base);
    }

    /// A request of its session, to be finished and sent.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let request = request.header("x-campanile-space", self.space);
        if self.cookie.is_empty() {
            return request;
        }
        request.header(COOKIE, &self.cookie).header("x-campanile-csrf", &self.csrf)
    }

    /// Sends a request; no answer at all is an error in words.
    pub async fn try_send(&self, request: RequestBuilder) -> Result<Reply, String> {
        answered(&self.client, request).await
    }

    /// Sends a request.
    pub async fn send(&self, request: RequestBuilder) -> Reply {
        self.try_send(request).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.request(Method::GET, path)).await
    }

    /// `POST path` with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::POST, path).json(body)).await
    }
}
