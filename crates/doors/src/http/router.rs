//! Puts the handlers on their paths.

use crate::http::accounts::{self, credit_sessions, diameter_peers, tariffs};
use crate::http::app::App;
use crate::http::problem::{HttpProblem, ProblemKind};
use crate::http::request::fields;
use crate::http::request::rest_of_body::read_away;
use crate::http::routes::ROWS;
use crate::http::{
    alerts, answer_page, attachments, auth, cap, forward, groups, openapi, operations, pages, recipients,
    tokens,
};
use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, Method, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{delete, get, post};
use tokio::time::Instant;

/// The router of the whole door.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .merge(api_alerts())
        .merge(api_rest())
        .merge(pages())
        .route_layer(from_fn_with_state(app.clone(), forward::pass_on))
        .route_layer(from_fn_with_state(app.clone(), auth::guard))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown_path)
        .layer(from_fn(read_away))
        .layer(from_fn(observe))
        .with_state(app)
}

fn api_alerts() -> Router<App> {
    Router::new()
        .route("/api/v1/alerts", post(alerts::submit).get(alerts::list))
        .route("/api/v1/alerts:forecast", post(alerts::forecast))
        .route("/api/v1/alerts/{id}", get(alerts::show).post(alerts::steer))
        .route("/api/v1/alerts/{id}/deliveries", get(alerts::deliveries))
        .route("/api/v1/alerts/{id}/report", get(alerts::report))
        .route("/api/v1/alerts/{id}/events", get(alerts::events::events))
        .route("/api/v1/alerts/{id}/cap", get(cap::document))
        .route("/api/v1/alerts/{id}/observers", post(alerts::add_observer).get(alerts::observers))
        .route("/api/v1/alerts/{id}/observers/{observer}", delete(alerts::remove_observer))
        .route("/api/v1/answers", post(alerts::answer))
}

fn api_rest() -> Router<App> {
    Router::new()
        .route("/api/v1/recipients", post(recipients::create).get(recipients::list))
        .route("/api/v1/recipients:import", post(recipients::stream::import))
        .route("/api/v1/recipients:export", get(recipients::stream::export))
        .route(
            "/api/v1/recipients/{id}",
            get(recipients::show)
                .put(recipients::replace)
                .patch(recipients::change)
                .delete(recipients::remove),
        )
        .route("/api/v1/groups", post(groups::create).get(groups::list))
        .route("/api/v1/groups/{id}", get(groups::show).put(groups::replace).delete(groups::remove))
        .route("/api/v1/tokens", post(tokens::create).get(tokens::list))
        .route("/api/v1/tokens/{id}", delete(tokens::revoke))
        .route("/api/v1/cap", post(cap::submit))
        .route("/api/v1/attachments", post(attachments::upload))
        .route("/api/v1/attachments/{id}", get(attachments::show))
        .route("/api/v1/accounts", post(accounts::create).get(accounts::list))
        .route("/api/v1/accounts/{id}", get(accounts::show).post(accounts::act).patch(accounts::change))
        .route("/api/v1/accounts/{id}/records", get(accounts::records))
        .route("/api/v1/credit-sessions", get(credit_sessions::list))
        .route("/api/v1/credit-sessions/{id}", delete(credit_sessions::end))
        .route("/api/v1/tariffs", get(tariffs::show).put(tariffs::replace).delete(tariffs::remove))
        .route("/api/v1/diameter-peers", get(diameter_peers::list).post(diameter_peers::add))
        .route("/api/v1/diameter-peers/{id}", delete(diameter_peers::remove))
        .route("/api/v1/audit", get(operations::audit))
        .route("/api/v1/reload", post(operations::reload))
}

fn pages() -> Router<App> {
    Router::new()
        .route("/", get(pages::front))
        .route("/login", post(pages::login))
        .route("/logout", post(pages::logout))
        .route("/alerts/{id}", get(pages::alert))
        .route("/a/{token}", get(answer_page::show).post(answer_page::record))
        .route("/cap/feed.atom", get(cap::feed))
        .route("/cap/{id}", get(cap::public))
        .route("/healthz", get(operations::healthz))
        .route("/readyz", get(operations::readyz))
        .route("/metrics", get(operations::metrics))
        .route("/openapi.json", get(openapi::document))
}

async fn unknown_path(uri: Uri) -> HttpProblem {
    let known: Vec<&str> = ROWS.iter().map(|row| row.path).collect();
    let path: String = uri.path().chars().take(100).collect();
    let detail = match fields::nearest(&path, &known) {
        Some(near) => format!("there is nothing at {path}; did you mean {near}?"),
        None => format!("there is nothing at {path}; GET /openapi.json lists what there is"),
    };
    HttpProblem::new(ProblemKind::UnknownPath, detail)
}

async fn wrong_method(method: Method, uri: Uri) -> HttpProblem {
    let path: String = uri.path().chars().take(100).collect();
    HttpProblem::new(
        ProblemKind::WrongMethod,
        format!("{method} is not allowed at {path}; the Allow header lists what is"),
    )
}

/// Counts requests and their time by the table's path, and sets what every answer carries.
async fn observe(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let path = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    tracing::debug!(%method, path, status = response.status().as_u16(), took = ?began.elapsed(), "a request was answered");
    let status = response.status().as_u16().to_string();
    let method = method_label(&method);
    metrics::counter!("campanile_http_requests_total", "method" => method, "path" => path.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("campanile_http_request_seconds", "path" => path)
        .record(began.elapsed().as_secs_f64());
    response
}

/// Methods that we know; a client may invent others, and labels must stay few.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
