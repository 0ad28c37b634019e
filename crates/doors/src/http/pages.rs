//! Plain pages: log in with a token, list the alerts, follow one live. They work without scripts, and without
//! the console.
//!
//! `GET /plain` · `POST /login` · `POST /logout` · `GET /plain/alerts/{id}`.

use crate::http::alerts::view;
use crate::http::alerts::{self, alert_id, seen};
use crate::http::answer_page::form;
use crate::http::answer_page::links::same;
use crate::http::app::App;
use crate::http::auth::sessions::{self, FORM_COOKIE, SESSION_COOKIE, cookie, set_cookie};
use crate::http::auth::{RequestOrigin, caller_of_secret, random_text};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text;
use crate::http::server::ClientAddress;
use askama::Template;
use axum::extract::{Request, State};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use engine::{Counts, DeliveryView, Report};
use records::{Alert, AlertNo, DeliveryState, EndpointNo, Timestamp};

/// Alerts on a page.
const ALERTS_SHOWN: usize = 50;
/// Deliveries on a page.
const DELIVERIES_SHOWN: usize = 100;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    nonce: &'a str,
    form_token: Option<String>,
    login_form: &'a str,
    version: &'static str,
    wrong: bool,
    why: &'a str,
}

#[derive(Template)]
#[template(path = "alerts.html")]
struct AlertsPage<'a> {
    nonce: &'a str,
    form_token: Option<String>,
    alerts: Vec<AlertLine>,
    next: Option<String>,
}

struct AlertLine {
    id: String,
    headline: String,
    state: &'static str,
    priority: &'static str,
    mode: &'static str,
    created: String,
}

#[derive(Template)]
#[template(path = "alert.html")]
struct AlertPage<'a> {
    nonce: &'a str,
    form_token: Option<String>,
    report: &'a Report,
    over: bool,
    bar: Vec<BarPart>,
    bar_label: String,
    pace: String,
    answers: Vec<(String, u64)>,
    deliveries: &'a [DeliveryView],
    state: Option<&'static str>,
    next: Option<u32>,
}

/// One state's share of the bar, in percent.
struct BarPart {
    name: &'static str,
    count: u64,
    from: String,
    width: String,
}
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/plain", get(front))
        .route("/login", post(login))
        .route("/logout", post(logout))
        .route("/plain/alerts/{id}", get(alert))
}

async fn front(State(app): State<App>, uri: Uri, headers: HeaderMap) -> HttpResult<Response> {
    let before = Query::read(&uri, &["cursor"])?.number_cursor()?.map(AlertNo);
    let Some(caller) = sessions::caller(&app, &headers).await? else {
        return login_page(&app, StatusCode::OK, "");
    };
    let (alerts, next) = alerts::page(&app, &caller, before, ALERTS_SHOWN).await?;
    let nonce = random_text()?;
    let page = AlertsPage {
        nonce: &nonce,
        form_token: app.auth.sessions.form_token(&headers),
        alerts: alerts.iter().map(line).collect(),
        next: next.map(|no| cursor(no.0)),
    };
    html(StatusCode::OK, &nonce, page.render())
}

fn line(alert: &Alert) -> AlertLine {
    let headline = view::headline(&alert.request);
    AlertLine {
        id: alert.id.to_string(),
        headline: if headline.is_empty() { alert.id.to_string() } else { headline },
        state: alert.state.name(),
        priority: view::priority(alert.request.priority),
        mode: view::mode(alert.request.mode),
        created: time_text::rfc3339(Timestamp(alert.created.0 - alert.created.0.rem_euclid(1_000_000))),
    }
}

/// The form repeats a cookie that other sites can neither read nor have sent (SameSite=Strict).
fn login_page(app: &App, status: StatusCode, why: &str) -> HttpResult<Response> {
    let (nonce, login_form) = (random_text()?, random_text()?);
    let page = LoginPage {
        nonce: &nonce,
        form_token: None,
        login_form: &login_form,
        version: env!("CARGO_PKG_VERSION"),
        wrong: !why.is_empty(),
        why,
    };
    let mut response = html(status, &nonce, page.render())?;
    add_cookie(&mut response, FORM_COOKIE, &login_form, app.auth.secure_cookies);
    Ok(response)
}

async fn login(State(app): State<App>, request: Request) -> HttpResult<Response> {
    let (parts, body) = request.into_parts();
    let origin = RequestOrigin::of(&parts.extensions);
    let headers = parts.headers;
    let fields = form(&app, &headers, body).await?;
    let value =
        |name: &str| fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim());
    let cookie = cookie(&headers, FORM_COOKIE).unwrap_or_default();
    if cookie.is_empty() || !same(cookie.as_bytes(), value("form").as_bytes()) {
        return login_page(&app, StatusCode::FORBIDDEN, "This form was too old. Please try again.");
    }
    let caller = match caller_of_secret(&app, value("token"), ("login", &origin)).await {
        Ok(caller) => caller.at(Some(origin.client)),
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            return login_page(&app, StatusCode::UNAUTHORIZED, "This token is not valid.");
        }
        Err(problem) => return Err(problem),
    };
    app.note(app.act(&caller, "session.begin", "", "")).await?;
    let session = app.auth.sessions.begin(caller.token.hash)?;
    let mut response = away();
    add_cookie(&mut response, SESSION_COOKIE, &session, app.auth.secure_cookies);
    add_cookie(&mut response, FORM_COOKIE, "", app.auth.secure_cookies);
    Ok(response)
}

/// Ends a session even if that cannot be noted: nobody is to be kept logged in.
async fn logout(State(app): State<App>, request: Request) -> HttpResult<Response> {
    let (parts, body) = request.into_parts();
    let (origin, headers) = (RequestOrigin::of(&parts.extensions), parts.headers);
    let fields = form(&app, &headers, body).await?;
    let caller = sessions::caller(&app, &headers).await?;
    let token = fields.iter().find(|(name, _)| name == "form").map_or("", |(_, value)| value);
    if !app.auth.sessions.end(&headers, token) {
        return Err(HttpProblem::new(
            ProblemKind::BadForm,
            "the session is over, or the form belongs to another session",
        ));
    }
    if let Some(caller) = caller.map(|caller| caller.at(Some(origin.client)))
        && let Err(problem) = app.note(app.act(&caller, "session.end", "", "")).await
    {
        tracing::error!(why = problem.detail(), "the end of a session is missing from the audit trail");
    }
    let mut response = away();
    add_cookie(&mut response, SESSION_COOKIE, "", app.auth.secure_cookies);
    Ok(response)
}

/// To the list of alerts.
fn away() -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, "/plain")]).into_response()
}

fn add_cookie(response: &mut Response, name: &str, value: &str, secure: bool) {
    if let Some(cookie) = set_cookie(name, value, secure) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

async fn alert(
    State(app): State<App>,
    client: Option<Extension<ClientAddress>>,
    Captured(id): Captured,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["state", "from"])?;
    let state: Option<DeliveryState> = query.parsed("state")?;
    let Some(caller) = sessions::caller(&app, &headers).await? else {
        return login_page(&app, StatusCode::UNAUTHORIZED, "Please log in to see this alert.");
    };
    let from = query.one("from").and_then(|text| text.parse().ok()).map_or(EndpointNo(0), EndpointNo);
    let alert = seen(&app, &caller, alert_id(&id)?).await?;
    let report = app.engine.report(caller.account(), alert.id).await?;
    let (deliveries, next) =
        alerts::delivery_page(&app, &caller, alert.id, (state, from), DELIVERIES_SHOWN).await?;
    let caller = caller.at(client.map(|client| client.0.0));
    app.note_read(app.act(&caller, "deliveries.read", &alert.id.to_string(), "")).await?;
    let nonce = random_text()?;
    let bar = bar(&report.counts);
    let label: Vec<String> = bar.iter().map(|part| format!("{} {}", part.count, part.name)).collect();
    let page = AlertPage {
        nonce: &nonce,
        form_token: app.auth.sessions.form_token(&headers),
        over: report.moments.finished.is_some(),
        bar_label: label.join(", "),
        bar,
        pace: pace(&report),
        answers: answers(&report, &alert),
        report: &report,
        deliveries: &deliveries,
        state: state.map(DeliveryState::name),
        next: next.map(|no| no.0),
    };
    html(StatusCode::OK, &nonce, page.render())
}

fn bar(counts: &Counts) -> Vec<BarPart> {
    let shares = [
        ("answered", counts.answered),
        ("delivered", counts.delivered),
        ("accepted", counts.accepted),
        ("submitted", counts.submitted),
        ("planned", counts.planned),
        ("held", counts.held),
        ("unknown", counts.unknown),
        ("failed", counts.failed),
        ("excluded", counts.excluded),
    ];
    let percent = |count: u64| count as f64 * 100.0 / counts.endpoints.max(1) as f64;
    let mut before = 0;
    let mut parts = Vec::new();
    for (name, count) in shares.into_iter().filter(|(_, count)| *count > 0) {
        parts.push(BarPart {
            name,
            count,
            from: format!("{:.3}", percent(before)),
            width: format!("{:.3}", percent(count)),
        });
        before += count;
    }
    parts
}

fn pace(report: &Report) -> String {
    let mut words = Vec::new();
    if report.moments.finished.is_none() {
        words.push(format!("{:.0} a second now", report.rate_now));
        if let Some(eta) = report.eta {
            words.push(format!("about {} until all are with their carriers", spoken(eta)));
        }
    }
    let times = [("50 %", report.times.p50), ("95 %", report.times.p95), ("99 %", report.times.p99)];
    for (share, seconds) in times {
        if let Some(seconds) = seconds {
            words.push(format!("{share} after {}", spoken(seconds)));
        }
    }
    words.join(" · ")
}

fn spoken(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// Counts with the choices' labels.
fn answers(report: &Report, alert: &Alert) -> Vec<(String, u64)> {
    let label = |key: &String| {
        let choice = alert.request.choices.iter().find(|choice| choice.key == *key);
        choice.map_or_else(|| key.clone(), |choice| format!("{key} – {}", choice.label))
    };
    // Words that are no choice are for a person to read: they come first.
    let (other, chosen): (Vec<_>, Vec<_>) = report.answers.iter().partition(|(key, _)| *key == "other");
    other.into_iter().chain(chosen).map(|(key, count)| (label(key), *count)).collect()
}

fn html(status: StatusCode, nonce: &str, rendered: askama::Result<String>) -> HttpResult<Response> {
    let text = rendered.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    );
    let mut response = (status, Html(text)).into_response();
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    Ok(response)
}
