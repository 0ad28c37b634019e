//! Forwarding of requests that only the leading process can answer, streams included. The caller is looked up
//! here, and sent to the leader in a line that is signed with a key of all processes.
//!
//! Accepting an alert is never forwarded: each process does that by itself.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::sessions;
use crate::http::person_page;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::server::ClientAddress;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, COOKIE, HOST, TRANSFER_ENCODING, UPGRADE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::Leader;
use records::{Role, Timestamp, Token};
use ring::hmac;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The page of a person.
const PERSON_PAGE: &str = "/p/{token}";
/// Header with the caller that another process looked up.
const CALLER: HeaderName = HeaderName::from_static("campanile-caller");
/// Validity of a caller's line, either way: clocks of the processes may differ by this.
const GOOD_FOR_US: i64 = 60_000_000;
/// Characters of the longest such line.
const LINE_CHARS_MAX: usize = 48 << 10;
/// A leader that cannot be connected to within this is not there.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// A leader that does not begin to answer within this is stopped or cut off. The slowest answer begins
/// earlier.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Retry-After where no process leads, or the leader does not answer.
const RETRY_S: u64 = 2;

/// Key and client for forwarding.
#[derive(Clone)]
pub struct Forwarding {
    key: Arc<hmac::Key>,
    scheme: &'static str,
    client: reqwest::Client,
    answer_max: Duration,
}

impl Forwarding {
    /// `key` is the same in all processes, and secret. With `tls` the other processes' doors use TLS.
    ///
    /// # Errors
    /// In words, if there can be no client.
    pub fn new(key: &[u8; 32], tls: bool) -> Result<Forwarding, String> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_MAX)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .no_proxy()
            .build()
            .map_err(|error| format!("cannot create the HTTP client for other processes: {error}"))?;
        let scheme = if tls { "https" } else { "http" };
        let key = Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key));
        Ok(Forwarding { key, scheme, client, answer_max: ANSWER_MAX })
    }

    async fn answered(&self, address: &str, request: reqwest::RequestBuilder) -> Response {
        match tokio::time::timeout(self.answer_max, request.send()).await {
            Ok(Ok(answer)) => response_of(answer),
            Ok(Err(error)) => {
                // The address is said; path and query are the caller's.
                let error = error.without_url();
                tracing::warn!(address, %error, "the leading process did not answer");
                unavailable(&format!("the leading process at {address} does not answer"))
            }
            Err(_) => {
                tracing::warn!(address, within = ?self.answer_max, "the leading process did not begin to answer");
                let seconds = self.answer_max.as_secs();
                unavailable(&format!(
                    "the leading process at {address} did not begin to answer within {seconds} s; \
                     it may have carried out the request: check that before you send it again"
                ))
            }
        }
    }

    /// A caller as one line: its fields, the time, and the signature of this process.
    fn sealed(&self, caller: &Caller, now: Timestamp) -> Option<HeaderValue> {
        let (token, role) = (&caller.token, caller.token.role.name());
        let from = caller.from.map(|from| from.to_string()).unwrap_or_default();
        let name = URL_SAFE_NO_PAD.encode(&token.name);
        // JSON on one line: it escapes the ends of lines.
        let user = match &caller.user {
            Some(user) => serde_json::to_string(&**user).ok()?,
            None => String::new(),
        };
        let line = format!("{}\n{role}\n{}\n{from}\n{name}\n{user}\n{}", now.0, token.id, token.account);
        let proof = hmac::sign(&self.key, line.as_bytes());
        let line = format!("{}.{}", URL_SAFE_NO_PAD.encode(&line), URL_SAFE_NO_PAD.encode(proof.as_ref()));
        HeaderValue::from_str(&line).ok().filter(|line| line.len() <= LINE_CHARS_MAX)
    }

    /// The caller of such a line; nothing if it is none of ours or too old.
    fn opened(&self, line: &HeaderValue, now: Timestamp) -> Option<Caller> {
        let (line, proof) =
            line.to_str().ok().filter(|line| line.len() <= LINE_CHARS_MAX)?.split_once('.')?;
        let line = URL_SAFE_NO_PAD.decode(line).ok()?;
        hmac::verify(&self.key, &line, &URL_SAFE_NO_PAD.decode(proof).ok()?).ok()?;
        let line = String::from_utf8(line).ok()?;
        let mut fields = line.splitn(7, '\n');
        let at: i64 = fields.next()?.parse().ok()?;
        if now.0.saturating_sub(at).saturating_abs() > GOOD_FOR_US {
            return None;
        }
        let role: Role = fields.next()?.parse().ok()?;
        let id = fields.next()?.to_owned();
        let from = fields.next()?.parse().ok();
        let name = String::from_utf8(URL_SAFE_NO_PAD.decode(fields.next()?).ok()?).ok()?;
        let user = fields.next()?;
        let account = fields.next()?;
        if !user.is_empty() {
            return Some(Caller { from, ..Caller::of_user(serde_json::from_str(user).ok()?, account) });
        }
        let account = account.to_owned();
        let token = Token { id, hash: [0; 32], role, account, name, created: Timestamp(at), revoked: None };
        Some(Caller { from, ..Caller::new(Arc::new(token)) })
    }
}

/// The caller that another process vouches for; nothing: none does.
pub(crate) fn vouched(app: &App, headers: &HeaderMap) -> HttpResult<Option<Caller>> {
    let (Some(forwarding), Some(line)) = (&app.forwarding, headers.get(CALLER)) else { return Ok(None) };
    let caller = forwarding.opened(line, app.now());
    let refused = || {
        HttpProblem::new(
            ProblemKind::BadToken,
            "the caller's line is not signed by a process of this deployment, or is too old",
        )
    };
    caller.map(Some).ok_or_else(refused)
}

/// Forwards requests that only the leader can answer; all others are answered here.
pub(crate) async fn forward_to_leader(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_the_leaders = is_the_leaders(&request) || is_a_persons_page(&app, &request);
    let Some(forwarding) = app.forwarding.clone().filter(|_| is_the_leaders) else {
        return next.run(request).await;
    };
    match app.engine.leader() {
        Leader::There { address } if request.headers().contains_key(CALLER) => {
            // It has changed hands on the way; to pass it on again might go in circles.
            unavailable(&format!("the process at {address} has just taken over"))
        }
        Leader::There { address } => {
            forwarded(&app, &forwarding, &address, request).await.unwrap_or_else(IntoResponse::into_response)
        }
        Leader::Here | Leader::Nobody => next.run(request).await,
    }
}

/// Whether only the leader can answer: the request reads or changes a running alert.
fn is_the_leaders(request: &Request) -> bool {
    let Some(path) = request.extensions().get::<MatchedPath>() else { return false };
    let (method, query) = (request.method(), request.uri().query().unwrap_or_default());
    match path.as_str() {
        "/api/v1/alerts" => *method == Method::POST && query.split('&').any(|pair| pair == "mode=sync"),
        "/api/v1/alerts/{id}/cap" => false,
        "/api/v1/answers" | "/api/v1/cap" | "/plain/alerts/{id}" | "/api/v1/recipients/{id}/export" => true,
        "/api/v1/recipients/{id}" => *method == Method::POST,
        // What waits on the routes is known to the leader.
        "/api/v1/alerts:forecast" | "/api/v1/drills:replay" => true,
        "/api/v1/tests/{id}" | "/api/v1/recipients/{id}/devices/{n}" => true,
        path if path.starts_with("/api/v1/routes") => true,
        "/api/v1/stops/{id}" | "/api/v1/help-cases/{id}" => true,
        // Pages of previews are in the memory of the process that made them.
        "/api/v1/alerts:preview" | "/api/v1/previews/{id}" => true,
        "/api/v1/events" | "/api/v1/readiness" => true,
        path => path.starts_with("/api/v1/alerts/{id}"),
    }
}

/// Whether it is for the page of a person; a wrong link is refused here, where its client is known.
fn is_a_persons_page(app: &App, request: &Request) -> bool {
    let path = request.extensions().get::<MatchedPath>();
    path.is_some_and(|path| path.as_str() == PERSON_PAGE) && person_page::is_token(app, request.uri().path())
}

/// Nobody with a token: the address alone is told to the leader.
fn visitor(client: IpAddr) -> Caller {
    let token = Token {
        id: String::new(),
        hash: [0; 32],
        role: Role::Submit,
        account: String::new(),
        name: String::new(),
        created: Timestamp(0),
        revoked: None,
    };
    Caller::new(Arc::new(token)).at(Some(client))
}

async fn forwarded(
    app: &App,
    forwarding: &Forwarding,
    address: &str,
    request: Request,
) -> HttpResult<Response> {
    let client = request.extensions().get::<ClientAddress>().map(|client| client.0);
    let is_page = request.extensions().get::<MatchedPath>().is_some_and(|path| path.as_str() == PERSON_PAGE);
    let caller = match request.extensions().get::<Caller>() {
        Some(caller) => Some(caller.clone()),
        None if is_page => client.map(visitor),
        None => sessions::caller(app, request.headers()).await?.map(|caller| caller.at(client)),
    };
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let uri: Uri = format!("{}://{address}{path}", forwarding.scheme).parse().map_err(|_| {
        HttpProblem::new(ProblemKind::Internal, format!("the leader's address {address:?} is not valid"))
    })?;
    let mut headers = head.headers;
    for name in [AUTHORIZATION, COOKIE, HOST, CONNECTION, UPGRADE, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    if let Some(line) = caller.and_then(|caller| forwarding.sealed(&caller, app.now())) {
        headers.insert(CALLER, line);
    }
    let mut request = forwarding.client.request(head.method, uri.to_string()).headers(headers);
    if !axum::body::HttpBody::is_end_stream(&body) {
        request = request.body(reqwest::Body::wrap_stream(body.into_data_stream()));
    }
    Ok(forwarding.answered(address, request).await)
}

/// The leader's answer, as it comes.
fn response_of(answer: reqwest::Response) -> Response {
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    (status, headers, Body::from_stream(answer.bytes_stream())).into_response()
}

fn unavailable(why: &str) -> Response {
    let detail = format!("{why}; try again in a moment");
    HttpProblem::new(ProblemKind::Busy, detail).retry_after(RETRY_S).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_983_200_000_000);

    fn forwarding(key: u8) -> Forwarding {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Forwarding::new(&[key; 32], false).unwrap()
    }

    fn caller(account: &str) -> Caller {
        let token = Token {
            id: "t_1".into(),
            hash: [7; 32],
            role: Role::Viewer,
            account: account.into(),
            name: "n".into(),
            created: NOW,
            revoked: None,
        };
        Caller { from: Some([2, 1, 0, 192].into()), ..Caller::new(Arc::new(token)) }
    }

    #[test]
    fn a_caller_is_vouched_for_with_role_token_address_and_account_and_without_the_secret() {
        let sealed = forwarding(1).sealed(&caller("city\nadmin"), NOW).unwrap();
        let opened = forwarding(1).opened(&sealed, NOW).unwrap();
        assert_eq!((opened.token.id.as_str(), opened.account()), ("t_1", "city\nadmin"));
        assert_eq!(opened.token.role, Role::Viewer);
        assert_eq!((opened.token.name.as_str(), opened.from), ("n", Some([2, 1, 0, 192].into())));
        assert_eq!(opened.token.hash, [0; 32]);
    }

    #[test]
    fn a_user_is_vouched_for_with_roles_limits_space_session_and_confirmation() {
        use crate::http::auth::signed_in::{SignedInUser, UserScope};
        use records::{Mode, UserRole};
        let limits: Vec<String> = (0..64).map(|n| format!("{n:02}{}", "\u{e5}".repeat(63))).collect();
        let user = SignedInUser {
            id: "u_1".into(),
            name: "eva".into(),
            full_name: "Eva\nLind".into(),
            person: "ext-7".into(),
            roles: vec![UserRole::Operator, UserRole::Approver],
            scope: UserScope {
                groups: Some(limits.clone()),
                areas: Some(limits),
                spaces: vec![Mode::Live, Mode::Drill],
            },
            space: Mode::Live,
            session: [7; 32],
            is_confirmed: true,
        };
        let sealed = forwarding(1).sealed(&Caller::of_user(user.clone(), "city\n"), NOW).unwrap();
        let opened = forwarding(1).opened(&sealed, NOW).unwrap();
        assert_eq!(opened.user.as_deref(), Some(&user));
        assert_eq!((opened.token.id.as_str(), opened.account()), ("user:u_1", "city\n"));
    }

    #[tokio::test]
    async fn a_leader_that_stands_still_is_not_waited_for_without_end() {
        let still = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = still.local_addr().unwrap().to_string();
        let forwarding = Forwarding { answer_max: Duration::from_millis(100), ..forwarding(1) };
        let request = forwarding.client.get(format!("http://{address}/api/v1/alerts/a_1"));
        let answer = forwarding.answered(&address, request).await;
        assert_eq!(answer.status(), 503);
        assert!(answer.headers().contains_key("retry-after"));
        drop(still);
    }

    #[test]
    fn a_line_of_another_key_an_old_one_and_a_changed_one_vouch_for_nobody() {
        let sealed = forwarding(1).sealed(&caller("city"), NOW).unwrap();
        assert!(forwarding(2).opened(&sealed, NOW).is_none());
        assert!(forwarding(1).opened(&sealed, Timestamp(NOW.0 + GOOD_FOR_US + 1)).is_none());
        assert!(forwarding(1).opened(&sealed, Timestamp(NOW.0 - GOOD_FOR_US - 1)).is_none());
        let text = sealed.to_str().unwrap();
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = HeaderValue::from_bytes(&changed).unwrap();
            let same = |opened: Caller| opened.token.role == Role::Viewer && opened.account() == "city";
            assert!(forwarding(1).opened(&changed, NOW).is_none_or(same), "octet {at}");
        }
        for line in ["", ".", "a.b", "AAAA", &"A".repeat(LINE_CHARS_MAX + 1)] {
            assert!(forwarding(1).opened(&HeaderValue::from_str(line).unwrap(), NOW).is_none(), "{line}");
        }
    }
}
