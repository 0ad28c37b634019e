//! Router of the door: a row per noun of the API, and the layers that every request passes.

use crate::http::app::App;
use crate::http::console::Console;
use crate::http::methods::check_method;
use crate::http::problem::{HttpProblem, ProblemKind};
use crate::http::request::fields;
use crate::http::request::rest_of_body::read_away;
use crate::http::routes::ROWS;
use crate::http::{
    accounts, alerts, answer_page, approvals, areas, attachments, audience, audit, auth, callbacks, cap,
    carriers, clients, demo, directories, drafts, event_stream, evidence, forward, group_requests, groups,
    help_cases, imports, map, messages, oidc, openapi, operations, pages, person_page, previews, profiles,
    readiness, recipients, schedules, scim, session, stops, system, templates, tokens, users,
};
use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use std::future::ready;
use tokio::time::Instant;

/// The router of the whole door: each noun's routes, behind the guard and the forwarding to the leader; the
/// console has what they leave.
pub(crate) fn router(app: App, console: Console) -> Router {
    let router = Router::new()
        .merge(alerts::routes())
        .merge(event_stream::routes())
        .merge(approvals::routes())
        .merge(answer_page::routes())
        .merge(evidence::routes())
        .merge(help_cases::routes())
        .merge(person_page::routes())
        .merge(attachments::routes())
        .merge(audience::routes())
        .merge(previews::routes())
        .merge(areas::routes())
        .merge(drafts::routes())
        .merge(schedules::routes())
        .merge(templates::routes())
        .merge(audit::routes())
        .merge(callbacks::routes())
        .merge(messages::routes())
        .merge(clients::routes())
        .merge(system::routes())
        .merge(cap::routes())
        .merge(carriers::routes())
        .merge(recipients::routes())
        .merge(groups::routes())
        .merge(group_requests::routes())
        .merge(imports::routes())
        .merge(directories::routes())
        .merge(scim::routes())
        .merge(stops::routes())
        .merge(accounts::routes())
        .merge(tokens::routes())
        .merge(profiles::routes())
        .merge(session::routes())
        .merge(users::routes())
        .merge(oidc::routes())
        .merge(operations::routes())
        .merge(map::routes())
        .merge(readiness::routes())
        .merge(demo::routes())
        .merge(openapi::routes())
        .merge(pages::routes())
        .route_layer(from_fn_with_state(app.clone(), forward::forward_to_leader))
        .route_layer(from_fn_with_state(app.clone(), auth::guard))
        .fallback(move |request: Request| {
            let answer = console.answer(request.method(), request.uri(), request.headers());
            ready(answer.unwrap_or_else(|| unknown_path(request.uri()).into_response()))
        })
        .layer(from_fn(check_method))
        .layer(from_fn(read_away))
        .layer(from_fn(observe));
    #[cfg(test)]
    let router = router.layer(from_fn(openapi::conformance::check));
    router.with_state(app)
}

fn unknown_path(uri: &Uri) -> HttpProblem {
    let known: Vec<&str> = ROWS.iter().map(|row| row.path).collect();
    let path: String = uri.path().chars().take(100).collect();
    let detail = match fields::nearest(&path, &known) {
        Some(near) => format!("there is nothing at {path}; did you mean {near}?"),
        None => format!("there is nothing at {path}; GET /openapi.json lists all paths"),
    };
    HttpProblem::new(ProblemKind::UnknownPath, detail)
}

/// Headers of every answer that has none of its own by these names: nothing of it is kept, shown in a page of
/// another site, or run by a browser.
const USUAL_HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Counts requests and their time by the table's path, and sets the headers that every answer carries.
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
    for (name, value) in USUAL_HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    tracing::debug!(%method, path, status = response.status().as_u16(), took = ?began.elapsed(), "a request was answered");
    let status = response.status().as_u16().to_string();
    let method = method_label(&method);
    metrics::counter!("campanile_http_requests_total", "method" => method, "path" => path.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("campanile_http_request_seconds", "path" => path)
        .record(began.elapsed().as_secs_f64());
    response
}

/// Methods with a label of their own; a client may invent others, and labels must stay few.
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
