//! Sessions of users: the cookie, its session in the store, the proof that a write is the console's own, the
//! space of a request, and the caller that comes of it.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::password_hasher::fill_random;
use crate::http::auth::sessions::cookie;
use crate::http::auth::signed_in::{SignedInUser, UserScope, space_name};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::routes::Operation;
use crate::http::users::record::{self, StoredUser};
use crate::live_tokens::session_key;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};
use records::{Mode, Timestamp};
use serde::{Deserialize, Serialize};
use sign_in::session::{AGE_MAX_S, RightsChange, SessionLife, SessionTimes, SessionToken, TOKEN_OCTETS};
use store::StoredSession;

/// The cookie's name under TLS: a browser takes it only from this host, by TLS, for every path.
pub(crate) const SECURE_COOKIE: &str = "__Host-campanile";
/// Its name without TLS.
pub(crate) const PLAIN_COOKIE: &str = "campanile";
/// What a write brings to show that a page of ours made it.
const CSRF: &str = "x-campanile-csrf";
/// The space that a page is of.
const SPACE: &str = "x-campanile-space";
const FETCH_SITE: &str = "sec-fetch-site";
/// The second factor has to follow the password within so long.
const PENDING_S: u64 = 10 * 60;
/// Characters of a browser's name that are kept.
const AGENT_CHARS_MAX: usize = 200;

/// Bodies that a form of any site can send without a question before it (Fetch, section 3.2.2).
const FORM_TYPES: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// What is kept of a session beside its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    pub began_s: u64,
    pub confirmed_s: u64,
    /// The password was right, and the second factor is still to come.
    pub is_pending: bool,
    /// Where it began.
    pub from: String,
    /// The browser that it began in.
    pub agent: String,
}

/// A session that has not ended, with the cookie's secret.
#[derive(Clone)]
pub(crate) struct UserSession {
    pub token: SessionToken,
    pub stored: StoredSession,
    pub state: SessionRecord,
}

impl UserSession {
    /// A session that begins, with a secret of its own: one that the browser brought is never adopted.
    pub(crate) fn begin(user: &StoredUser, state: SessionRecord, now: Timestamp) -> HttpResult<UserSession> {
        let times = SessionTimes::begin(seconds(now));
        let state = SessionRecord { began_s: times.began_s, confirmed_s: times.confirmed_s, ..state };
        let mut session = UserSession::made(&user.account, &user.id, state, times)?;
        if session.state.is_pending {
            session.stored.until = timestamp(times.began_s.saturating_add(PENDING_S));
        }
        Ok(session)
    }

    fn made(account: &str, user: &str, state: SessionRecord, times: SessionTimes) -> HttpResult<UserSession> {
        let mut random = [0; TOKEN_OCTETS];
        fill_random(&mut random)?;
        let token = SessionToken::new(random);
        let stored = StoredSession {
            hash: token.hash(),
            account: account.to_owned(),
            user: user.to_owned(),
            used: timestamp(times.used_s),
            until: timestamp(times.ends_s()),
            body: written(&state)?,
        };
        Ok(UserSession { token, stored, state })
    }

    pub(crate) fn times(&self) -> SessionTimes {
        SessionTimes {
            began_s: self.state.began_s,
            used_s: seconds(self.stored.used),
            confirmed_s: self.state.confirmed_s,
        }
    }

    /// The same session under another secret, after a change of what its holder may do.
    pub(crate) fn renewed(&self, change: RightsChange, now: Timestamp) -> HttpResult<UserSession> {
        let times = self.times().after(change, seconds(now));
        let state = SessionRecord { confirmed_s: times.confirmed_s, is_pending: false, ..self.state.clone() };
        UserSession::made(&self.stored.account, &self.stored.user, state, times)
    }

    /// The session with other times.
    pub(crate) fn with_times(&self, times: SessionTimes) -> HttpResult<StoredSession> {
        let state = SessionRecord { confirmed_s: times.confirmed_s, ..self.state.clone() };
        Ok(StoredSession {
            used: timestamp(times.used_s),
            until: timestamp(times.ends_s()),
            body: written(&state)?,
            ..self.stored.clone()
        })
    }
}

fn written(state: &SessionRecord) -> HttpResult<String> {
    let failed =
        |error| HttpProblem::new(ProblemKind::Internal, format!("a session cannot be kept: {error}"));
    serde_json::to_string(state).map_err(failed)
}

/// Whole seconds of a time.
pub(crate) fn seconds(at: Timestamp) -> u64 {
    u64::try_from(at.0 / 1_000_000).unwrap_or(0)
}

/// The time of whole seconds.
pub(crate) fn timestamp(seconds: u64) -> Timestamp {
    Timestamp(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000))
}

/// The browser's name, as it says it.
pub(crate) fn agent(headers: &HeaderMap) -> String {
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    agent.chars().take(AGENT_CHARS_MAX).collect()
}

/// The secret in the cookie, if there is one of the right form.
pub(crate) fn brought(app: &App, headers: &HeaderMap) -> Option<SessionToken> {
    SessionToken::read(&cookie(headers, cookie_name(app))?)
}

fn cookie_name(app: &App) -> &'static str {
    if app.auth.secure_cookies { SECURE_COOKIE } else { PLAIN_COOKIE }
}

/// The cookie of a session; without one, what removes it.
pub(crate) fn set_cookie(app: &App, session: Option<&UserSession>) -> HttpResult<HeaderValue> {
    let (value, age) = session.map_or((String::new(), 0), |session| (session.token.text(), AGE_MAX_S));
    let secure = if app.auth.secure_cookies { "; Secure" } else { "" };
    let name = cookie_name(app);
    let text = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text)
        .map_err(|_| HttpProblem::new(ProblemKind::Internal, "the cookie cannot be written"))
}

/// The session of the cookie that these headers carry; nothing if there is no cookie.
///
/// # Errors
/// The session has ended.
pub(crate) async fn find(app: &App, headers: &HeaderMap) -> HttpResult<Option<UserSession>> {
    let Some(token) = brought(app, headers) else { return Ok(None) };
    let now = app.now();
    let stored = app.store.session(token.hash(), now).await?;
    let found = stored.and_then(|stored| {
        let state = serde_json::from_str(&stored.body).ok()?;
        Some(UserSession { token, stored, state })
    });
    let session = found.ok_or_else(ended)?;
    match session.times().state(seconds(now)) {
        SessionLife::Live { .. } => Ok(Some(session)),
        SessionLife::Idle | SessionLife::TooOld => Err(ended()),
    }
}

/// Said of a session that has ended.
pub(crate) fn ended() -> HttpProblem {
    HttpProblem::new(ProblemKind::SessionEnded, "sign in again: the session has ended, or was ended")
}

/// The caller of the session cookie that these headers carry; nothing if there is no cookie.
pub(crate) async fn caller(app: &App, headers: &HeaderMap, row: &Operation) -> HttpResult<Option<Caller>> {
    let Some(mut session) = find(app, headers).await? else { return Ok(None) };
    if session.state.is_pending {
        return Err(HttpProblem::new(
            ProblemKind::SecondFactorNeeded,
            "give the second factor first, with POST /api/v1/session:second",
        ));
    }
    if row.method != "GET" {
        check_write(headers, &session.token, &app.auth.sign_in.base)?;
    }
    let (account, id) = (session.stored.account.clone(), session.stored.user.clone());
    let user = record::find(&app.store, &account, &id).await?.filter(|user| user.record.is_active);
    let user = user.ok_or_else(ended)?;
    let space = space(headers, row, &user.record.scope)?;
    touch(app, &mut session).await?;
    Ok(Some(caller_of(app, &user, &session, space)))
}

/// A user in their session, as a caller.
pub(crate) fn caller_of(app: &App, user: &StoredUser, session: &UserSession, space: Mode) -> Caller {
    let is_confirmed =
        session.times().is_confirmed(seconds(app.now())) || has_nothing_to_confirm_by(app, user);
    let signed_in = SignedInUser { session: session.stored.hash, is_confirmed, ..signed_in(user, space) };
    Caller::of_user(signed_in, &user.account)
}

/// In a demonstration, who came by its link has nothing to confirm by: the link counts while the session
/// lasts.
pub(crate) fn has_nothing_to_confirm_by(app: &App, user: &StoredUser) -> bool {
    let credentials = &user.record.credentials;
    let is_demo = app.operations.server.demo.get().is_some();
    is_demo && credentials.password.is_none() && credentials.passkeys.is_empty()
}

/// A user without a session, as the caller of what happens in their name.
pub(crate) fn absent(user: &StoredUser, space: Mode) -> Caller {
    Caller::of_user(signed_in(user, space), &user.account)
}

fn signed_in(user: &StoredUser, space: Mode) -> SignedInUser {
    let profile = &user.record.profile;
    SignedInUser {
        id: user.id.clone(),
        name: profile.name.clone(),
        full_name: profile.full_name.clone(),
        person: profile.person.clone().unwrap_or_else(|| user.id.clone()),
        roles: user.record.roles.clone(),
        scope: user.record.scope.clone(),
        space,
        session: [0; 32],
        is_confirmed: false,
    }
}

/// Notes that a session is in use, at most once a minute.
async fn touch(app: &App, session: &mut UserSession) -> HttpResult<()> {
    let mut times = session.times();
    if !times.touch(seconds(app.now())) {
        return Ok(());
    }
    session.stored = session.with_times(times)?;
    match app.store.update_session(session.stored.clone()).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(ended()),
        // A store that takes no writes for now can still be read.
        Err(error) => {
            tracing::debug!(%error, "the use of a session could not be noted");
            Ok(())
        }
    }
}

/// The proof that a request which writes was made by a page of ours: not by another site (the browser says
/// from where, and a form of another site cannot set the header), nor by a form. `base` is where people reach
/// this server.
pub(crate) fn check_write(headers: &HeaderMap, token: &SessionToken, base: &str) -> HttpResult<()> {
    check_origin(headers, base)?;
    let given = headers.get(CSRF).and_then(|value| value.to_str().ok());
    let refused = match given {
        Some(given) if token.is_csrf(given) => return Ok(()),
        Some(_) => "X-Campanile-CSRF is not that of this session",
        None => "X-Campanile-CSRF is missing",
    };
    let detail = format!("{refused}: send the csrf of GET /api/v1/session in it");
    Err(HttpProblem::field(ProblemKind::CrossSite, "X-Campanile-CSRF", detail))
}

/// A request of another site, or one that a form could have made, is refused.
pub(crate) fn check_origin(headers: &HeaderMap, base: &str) -> HttpResult<()> {
    let refused =
        |header: &str, reason: String| Err(HttpProblem::field(ProblemKind::CrossSite, header, reason));
    match headers.get(FETCH_SITE) {
        Some(site) if site.as_bytes() == b"same-origin" => {}
        Some(_) => {
            let reason = "is not same-origin: only pages of this server may do this";
            return refused("Sec-Fetch-Site", reason.to_owned());
        }
        // Browsers that do not say that say the origin alone.
        None if !is_own_origin(headers, base) => {
            let reason = "is not this server: only its pages may do this; [http] public_url says where people reach it";
            return refused("Origin", reason.to_owned());
        }
        None => {}
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if FORM_TYPES.contains(&essence.as_str()) {
        let reason = format!("is {essence}, which a form of any site can send; send application/json");
        return refused("Content-Type", reason);
    }
    Ok(())
}

/// Whether the page that made a request is of this server, as far as the request names its origin: of the
/// host that was asked, or of the public address, which a proxy may write otherwise into Host.
fn is_own_origin(headers: &HeaderMap, base: &str) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    // `null` is nobody's.
    let Some((scheme, authority)) = origin.to_str().ok().and_then(|origin| origin.split_once("://")) else {
        return false;
    };
    let (base_scheme, rest) = base.split_once("://").unwrap_or_default();
    let public = rest.split('/').next().unwrap_or_default();
    let is_host = |host: &HeaderValue| host.as_bytes().eq_ignore_ascii_case(authority.as_bytes());
    let is_asked = headers.get(HOST).is_some_and(is_host) || public.eq_ignore_ascii_case(authority);
    // A page without TLS may be anybody's, also under our name.
    is_asked && (scheme.eq_ignore_ascii_case("https") || base_scheme != "https")
}

/// The space that a request names, if any.
pub(crate) fn named_space(headers: &HeaderMap) -> HttpResult<Option<Mode>> {
    match headers.get(SPACE).map(HeaderValue::as_bytes) {
        Some(b"live") => Ok(Some(Mode::Live)),
        Some(b"drill") => Ok(Some(Mode::Drill)),
        Some(_) => Err(wrong_space("is neither live nor drill")),
        None => Ok(None),
    }
}

/// The space that the query of an event stream names stands for the header, which `EventSource` cannot send.
pub(crate) fn name_space_by_query(row: &Operation, request: &mut Request) -> HttpResult<()> {
    let query = request.uri().query().unwrap_or_default();
    let named = query.split('&').find_map(|pair| pair.strip_prefix("space="));
    let Some(named) = named.filter(|_| row.is_event_stream()) else { return Ok(()) };
    let refused = |reason| Err(HttpProblem::field(ProblemKind::BadQuery, "space", reason));
    let named = match named {
        "live" => HeaderValue::from_static("live"),
        "drill" => HeaderValue::from_static("drill"),
        _ => return refused("is neither live nor drill"),
    };
    match request.headers().get(SPACE) {
        Some(other) if *other != named => refused("is another one than X-Campanile-Space names"),
        _ => {
            request.headers_mut().insert(SPACE, named);
            Ok(())
        }
    }
}

fn wrong_space(reason: &str) -> HttpProblem {
    HttpProblem::field(ProblemKind::BadHeader, "X-Campanile-Space", reason.to_owned())
}

/// The space that a request is of; one that concerns alerts has to name it.
fn space(headers: &HeaderMap, row: &Operation, scope: &UserScope) -> HttpResult<Mode> {
    let space = match named_space(headers)? {
        Some(space) => space,
        None if row.concerns_alerts() => {
            return Err(wrong_space("is needed where alerts are concerned: live or drill"));
        }
        None => return Ok(scope.spaces.first().copied().unwrap_or(Mode::Drill)),
    };
    if !scope.spaces.contains(&space) {
        let name = space_name(space);
        let detail = format!("you are not in the {name} space; an administrator can add it to your spaces");
        return Err(HttpProblem::new(ProblemKind::WrongSpace, detail));
    }
    Ok(space)
}

/// Gives a session another secret after a change of what its holder may do; after one of credentials all
/// other sessions of the user end.
pub(crate) async fn renew(app: &App, session: &UserSession, change: RightsChange) -> HttpResult<UserSession> {
    let renewed = session.renewed(change, app.now())?;
    let old = session.stored.hash;
    app.store.put_session(renewed.stored.clone(), Some(old), app.now()).await?;
    app.auth.live_tokens.end(&session_key(&old));
    if change.ends_others() {
        let (account, user) = (&session.stored.account, &session.stored.user);
        end_all(app, (account, user), Some(renewed.stored.hash)).await?;
    }
    Ok(renewed)
}

/// Ends all sessions of a user but one, and what is open by them.
pub(crate) async fn end_all(
    app: &App,
    (account, user): (&str, &str),
    but: Option<[u8; 32]>,
) -> HttpResult<u64> {
    let open = app.store.sessions_of(account, user, app.now()).await?;
    let count = app.store.end_sessions_of(account, user, but).await?;
    let ended = open.iter().filter(|session| Some(session.hash) != but);
    ended.for_each(|session| app.auth.live_tokens.end(&session_key(&session.hash)));
    Ok(count)
}

/// Ends one session, and what is open by it.
pub(crate) async fn end_one(app: &App, hash: [u8; 32]) -> HttpResult<bool> {
    let was_open = app.store.end_session(hash).await?;
    app.auth.live_tokens.end(&session_key(&hash));
    Ok(was_open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::routes;
    use axum::http::Method;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        pairs.iter().for_each(|(name, value)| _ = headers.append(*name, value.parse().unwrap()));
        headers
    }

    #[test]
    fn a_write_needs_the_value_of_its_session_and_comes_from_this_site() {
        let token = SessionToken::new([1; 32]);
        let (own, others) = (token.csrf(), SessionToken::new([2; 32]).csrf());
        for (pairs, is_right) in [
            (vec![("x-campanile-csrf", own.as_str())], true),
            (vec![("x-campanile-csrf", &own), ("sec-fetch-site", "same-origin")], true),
            (vec![("x-campanile-csrf", &own), ("content-type", "application/json")], true),
            (vec![], false),
            (vec![("x-campanile-csrf", &others)], false),
            (vec![("x-campanile-csrf", &own), ("sec-fetch-site", "cross-site")], false),
            (vec![("x-campanile-csrf", &own), ("sec-fetch-site", "same-site")], false),
            (vec![("x-campanile-csrf", &own), ("sec-fetch-site", "none")], false),
            (vec![("x-campanile-csrf", &own), ("content-type", "text/plain; charset=utf-8")], false),
            (vec![("x-campanile-csrf", &own), ("content-type", "multipart/form-data")], false),
        ] {
            let checked = check_write(&headers(&pairs), &token, "https://alerts.example");
            assert_eq!(checked.is_ok(), is_right, "{pairs:?}");
        }
    }

    #[test]
    fn an_origin_is_that_of_the_host_that_was_asked_or_of_the_public_address() {
        for (base, host, origin, is_own) in [
            ("https://alerts.example", "alerts.example", "https://alerts.example", true),
            ("https://alerts.example/", "inner:8080", "https://alerts.example", true),
            ("https://alerts.example", "alerts.example", "http://alerts.example", false),
            ("https://alerts.example", "alerts.example", "https://evil.example", false),
            ("https://alerts.example", "alerts.example", "https://alerts.example.evil.example", false),
            ("https://alerts.example", "alerts.example", "https://alerts.example:8443", false),
            ("https://alerts.example", "alerts.example", "null", false),
            ("http://localhost:8080", "127.0.0.1:8080", "http://127.0.0.1:8080", true),
            ("http://localhost:8080", "localhost:8080", "http://LOCALHOST:8080", true),
            ("http://localhost:8080", "alerts.example", "https://alerts.example", true),
            ("http://localhost:8080", "localhost:8080", "http://localhost:9090", false),
        ] {
            let said = headers(&[("host", host), ("origin", origin)]);
            assert_eq!(check_origin(&said, base).is_ok(), is_own, "{base} {host} {origin}");
        }
        // Where the browser says more, that counts.
        let more = [("host", "inner"), ("origin", "https://a.example"), ("sec-fetch-site", "same-origin")];
        assert!(check_origin(&headers(&more), "http://localhost:8080").is_ok());
    }

    #[test]
    fn the_query_of_an_event_stream_names_the_space_and_no_other_query_does() {
        let row = |path| routes::row(&Method::GET, path).unwrap();
        let (events, alerts) = (row("/api/v1/events"), row("/api/v1/alerts"));
        for (row, query, header, expected) in [
            (events, "?space=drill", None, Ok(Some("drill"))),
            (events, "?alerts=running&space=live", Some("live"), Ok(Some("live"))),
            (events, "", Some("live"), Ok(Some("live"))),
            (events, "", None, Ok(None)),
            (events, "?space=drill", Some("live"), Err(400)),
            (events, "?space=Drill", None, Err(400)),
            (events, "?space=", None, Err(400)),
            (alerts, "?space=drill", None, Ok(None)),
        ] {
            let mut request = Request::builder().uri(format!("/x{query}"));
            if let Some(header) = header {
                request = request.header(SPACE, header);
            }
            let mut request = request.body(axum::body::Body::empty()).unwrap();
            let named = name_space_by_query(row, &mut request);
            let found = named.map(|()| request.headers().get(SPACE).map(|space| space.to_str().unwrap()));
            let found = found.map_err(|problem| problem.status().as_u16());
            assert_eq!(found, expected, "{query} {header:?}");
        }
    }

    #[test]
    fn a_request_about_alerts_names_a_space_of_its_user() {
        let row = |path| routes::row(&Method::GET, path).unwrap();
        let (alerts, groups) = (row("/api/v1/alerts"), row("/api/v1/groups"));
        let scope = |spaces: &[Mode]| UserScope { spaces: spaces.to_vec(), ..UserScope::default() };
        let (both, drill) = (scope(&[Mode::Live, Mode::Drill]), scope(&[Mode::Drill]));
        for (row, value, scope, expected) in [
            (alerts, Some("live"), &both, Ok(Mode::Live)),
            (alerts, Some("drill"), &drill, Ok(Mode::Drill)),
            (alerts, None, &both, Err(400)),
            (alerts, Some("Live"), &both, Err(400)),
            (alerts, Some("live"), &drill, Err(403)),
            (groups, None, &drill, Ok(Mode::Drill)),
            (groups, Some("live"), &drill, Err(403)),
        ] {
            let headers = headers(&value.map(|value| (SPACE, value)).into_iter().collect::<Vec<_>>());
            let found = space(&headers, row, scope).map_err(|problem| problem.status().as_u16());
            assert_eq!(found, expected, "{} {value:?} {scope:?}", row.path);
        }
    }
}
