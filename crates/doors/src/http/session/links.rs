//! One-time links that sign a user in: made by whoever runs this process, in it, and for browsers of this
//! machine alone.
//!
//! `GET /auth/link/{secret}`. A link is 256 random bits, of which the hash is kept, in memory. It counts once
//! and for a short time; whoever comes with it is signed in as by a password, with what follows from that:
//! the second factor where there is one, and the note in the audit trail.

use crate::guessing::Attempt;
use crate::http::app::App;
use crate::http::auth::{hash, random_text, user_session};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Captured;
use crate::http::session;
use crate::http::users::client_of;
use crate::http::users::record;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use records::Timestamp;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Where a link leads, before its secret.
pub(crate) const PATH: &str = "/auth/link/";
/// Links that may wait at once.
const LINKS_MAX: usize = 16;
/// The door, as the log, the metric and the audit trail name it.
const DOOR: &str = "link";
/// What proxies add: behind one, an address of this machine says nothing of the browser's.
const OF_PROXIES: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// Links that wait for somebody to open them.
#[derive(Clone, Default)]
pub struct SignInLinks {
    waiting: Arc<Mutex<Vec<WaitingLink>>>,
}

#[derive(Clone, PartialEq, Eq)]
struct WaitingLink {
    hash: [u8; 32],
    account: String,
    user: String,
    until: Timestamp,
}

impl SignInLinks {
    /// Makes a link for a user, by account and id, that counts once and until then. Gives its path.
    ///
    /// # Errors
    /// In words: too many links wait, or the system gives no random octets.
    pub fn make(
        &self,
        (account, user): (&str, &str),
        now: Timestamp,
        until: Timestamp,
    ) -> Result<String, String> {
        let secret = random_text().map_err(|problem| problem.detail().to_owned())?;
        let mut waiting = self.waiting();
        waiting.retain(|link| link.until > now);
        if waiting.len() >= LINKS_MAX {
            return Err(format!("{LINKS_MAX} links wait already, which is the limit; use one of them first"));
        }
        let (account, user) = (account.to_owned(), user.to_owned());
        waiting.push(WaitingLink { hash: hash(&secret), account, user, until });
        Ok(format!("{PATH}{secret}"))
    }

    /// The link of a secret, which counts no more.
    fn take(&self, secret: &str, now: Timestamp) -> Option<WaitingLink> {
        let hash = hash(secret);
        let mut waiting = self.waiting();
        waiting.retain(|link| link.until > now);
        let at = waiting.iter().position(|link| link.hash == hash)?;
        Some(waiting.swap_remove(at))
    }

    /// It was not used after all.
    fn put_back(&self, link: WaitingLink) {
        self.waiting().push(link);
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<WaitingLink>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn open(
    State(app): State<App>,
    secret: Result<Captured, HttpProblem>,
    request: Request,
) -> Response {
    let client = client_of(&request);
    let (parts, _) = request.into_parts();
    let opened = match secret {
        Ok(Captured(secret)) if !is_look_ahead(&parts.method, &parts.headers) => {
            opened(&app, &secret, &parts.headers, client).await
        }
        _ => Err(not_good()),
    };
    opened.unwrap_or_else(|problem| page(&problem))
}

/// A request that somebody's click did not make uses no link up.
fn is_look_ahead(method: &Method, headers: &HeaderMap) -> bool {
    let purpose = headers.get("sec-purpose").or_else(|| headers.get("purpose"));
    let is_early = purpose.is_some_and(|value| value.as_bytes().starts_with(b"prefetch"));
    *method != Method::GET || is_early
}

async fn opened(app: &App, secret: &str, headers: &HeaderMap, client: IpAddr) -> HttpResult<Response> {
    let guessing = &app.auth.guessing;
    let turn = app.auth.sign_in.throttle.take_address_turn(client, app.now_ms());
    let turn = turn.inspect_err(|_| guessing.failures().count(DOOR, client))?;
    let is_here = client.is_loopback() && !OF_PROXIES.iter().any(|name| headers.contains_key(*name));
    let links = &app.auth.sign_in.links;
    let Some(link) = is_here.then(|| links.take(secret, app.now())).flatten() else {
        let attempt = Attempt { door: DOOR, name: b"", ip: client, is_known: false };
        guessing.note_failed(attempt, Instant::now());
        return Err(not_good());
    };
    turn.succeeded();
    let signed_in = sign_in(app, &link, headers, client).await;
    if signed_in.as_ref().is_err_and(|problem| problem.status().is_server_error()) {
        links.put_back(link);
    }
    signed_in
}

async fn sign_in(app: &App, link: &WaitingLink, headers: &HeaderMap, client: IpAddr) -> HttpResult<Response> {
    let user = record::find(&app.store, &link.account, &link.user).await?;
    let user = user.filter(|user| user.record.is_active).ok_or_else(not_good)?;
    let is_pending = user.record.credentials.has_second_factor();
    let session = session::begin(app, (headers, client), &user, is_pending).await?;
    let cookie = user_session::set_cookie(app, Some(&session))?;
    Ok((StatusCode::SEE_OTHER, [(LOCATION, "/".to_owned())], [(SET_COOKIE, cookie)]).into_response())
}

fn not_good() -> HttpProblem {
    let detail = "It counts once, for a few minutes, and in a browser on the machine that the server runs on. \
        Ask whoever runs the server for a new one, or sign in with a name and a password.";
    HttpProblem::new(ProblemKind::NotFound, detail)
}

/// What somebody reads who was not signed in. The words are ours and have no markup.
fn page(problem: &HttpProblem) -> Response {
    let text = match problem.status() {
        StatusCode::NOT_FOUND => problem.detail().to_owned(),
        StatusCode::TOO_MANY_REQUESTS => {
            "There were too many attempts. Wait a minute, then open it again.".to_owned()
        }
        _ => "The server cannot sign you in at the moment. Wait a minute, then open it again.".to_owned(),
    };
    let title = match problem.status() {
        StatusCode::NOT_FOUND => "This link does not sign you in",
        _ => "Not now",
    };
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title></head>\
         <body><h1>{title}</h1><p>{text}</p><p><a href=\"/\">Sign in</a></p></body></html>"
    );
    let mut response = (problem.status(), [(CACHE_CONTROL, "no-store")], Html(html)).into_response();
    let wait = problem.clone().into_response().headers().get(RETRY_AFTER).cloned();
    if let Some(wait) = wait {
        response.headers_mut().insert(RETRY_AFTER, wait);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::browser::Browser;
    use crate::http::tests::*;

    /// A link for a new user of these rights, for ten minutes.
    async fn link(server: &TestServer, name: &str) -> String {
        let id = server.user(name, json!({"roles": ["operator"], "spaces": ["live", "drill"]})).await;
        server.door.sign_in_links().make(("default", &id), NOW, NOW.plus_s(600)).unwrap()
    }

    #[tokio::test]
    async fn a_link_signs_its_user_in_once_and_that_is_in_the_audit_trail() {
        let server = TestServer::open().await;
        let link = link(&server, "eva").await;
        let mut browser = Browser::of(&server);
        let answer = browser.request(Method::GET, &link).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["location"]), (303, &"/".parse().unwrap()));
        let (status, _) = browser.send(browser.request(Method::GET, &link)).await;
        assert_eq!(status, 404, "it counts once");
        let set = answer.headers()["set-cookie"].to_str().unwrap();
        assert!(set.ends_with("; HttpOnly; SameSite=Strict"), "{set}");
        browser.cookie = Some(set.split(['=', ';']).nth(1).unwrap().to_owned());
        let (_, me) = browser.get("/api/v1/me").await;
        assert_eq!((&me["name"], &me["spaces"]), (&json!("eva"), &json!(["live", "drill"])), "{me}");
        let begun = server.get("/api/v1/audit?verb=session.begin").await.1;
        assert_eq!(begun["items"].as_array().unwrap().len(), 1, "{begun}");
        assert!(!begun.to_string().contains(link.rsplit('/').next().unwrap()), "{begun}");
        server.close().await;
    }

    #[tokio::test]
    async fn looks_ahead_use_no_link_up_and_proxies_and_old_links_sign_nobody_in() {
        let server = TestServer::open().await;
        let link = link(&server, "eva").await;
        let get = || server.anon(Method::GET, &link);
        for (name, request) in [
            ("a look at the head", server.anon(Method::HEAD, &link)),
            ("a browser that looks ahead", get().header("sec-purpose", "prefetch;prerender")),
            ("somebody behind a proxy", get().header("x-forwarded-for", "203.0.113.9")),
            ("another link", server.anon(Method::GET, "/auth/link/nobodys")),
        ] {
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 404, "{name}");
            assert!(!answer.headers().contains_key("set-cookie"), "{name}");
            assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/html"), "{name}");
        }
        server.clock.store(NOW.plus_s(599).0, Ordering::Relaxed);
        assert_eq!(get().send().await.unwrap().status(), 303, "it waited");
        let again = self::link(&server, "bo").await;
        server.clock.store(NOW.plus_s(600).0, Ordering::Relaxed);
        let answer = server.anon(Method::GET, &again).send().await.unwrap();
        assert_eq!(answer.status(), 404, "it is too old");
        let page = answer.text().await.unwrap();
        assert!(page.contains("sign in with a name and a password") && page.contains("href=\"/\""), "{page}");
        server.close().await;
    }

    #[tokio::test]
    async fn a_link_of_a_user_with_a_second_factor_asks_for_it_and_of_a_disabled_one_signs_nobody_in() {
        let server = TestServer::open().await;
        let mut eva = server.signed_in("eva", json!({"roles": ["operator"]})).await;
        eva.with_totp(&server).await;
        let links = server.door.sign_in_links();
        let path = links.make(("default", &eva.user), NOW, NOW.plus_s(600)).unwrap();
        let mut browser = Browser::of(&server);
        browser.send(browser.request(Method::GET, &path)).await;
        let (_, session) = browser.get("/api/v1/session").await;
        assert_eq!(
            (&session["state"], &session["spaces"]),
            (&json!("second_factor"), &json!(null)),
            "{session}"
        );
        let bo = server.user("bo", json!({"roles": ["viewer"]})).await;
        let path = links.make(("default", &bo), NOW, NOW.plus_s(600)).unwrap();
        let disable = server.call(Method::PATCH, &format!("/api/v1/users/{bo}"));
        assert_eq!(said(disable.json(&json!({"active": false}))).await.0, 200);
        assert_eq!(server.anon(Method::GET, &path).send().await.unwrap().status(), 404);
        server.close().await;
    }

    #[test]
    fn no_more_links_wait_than_the_limit_and_old_ones_make_room() {
        let links = SignInLinks::default();
        let make = |now: Timestamp| links.make(("default", "eva"), now, now.plus_s(60));
        for _ in 0..LINKS_MAX {
            make(NOW).unwrap();
        }
        assert!(make(NOW).unwrap_err().contains("16 links"));
        assert_ne!(make(NOW.plus_s(60)).unwrap(), make(NOW.plus_s(60)).unwrap());
    }
}
