//! Methods of each path: a request with another method is answered 405, with those of the table in `Allow`.

use crate::http::problem::{HttpProblem, ProblemKind};
use crate::http::routes::{methods, template, verbs};
use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::http::header::ALLOW;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Characters of a path that are repeated to the client.
const PATH_CHARS_SHOWN: usize = 100;

/// A layer around all handlers.
pub(crate) async fn check_method(request: Request, next: Next) -> Response {
    match refusal(&request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn refusal(request: &Request) -> Option<HttpProblem> {
    let matched = request.extensions().get::<MatchedPath>()?.as_str();
    let (method, path) = (request.method(), request.uri().path());
    let allowed = methods(&template(method, matched, path));
    // Without any, the path is in no row: its handler says what is wrong with it.
    if allowed.is_empty() || allowed.contains(&method.as_str()) || has_encoded_colon(path) {
        return None;
    }
    let shown: String = path.chars().take(PATH_CHARS_SHOWN).collect();
    let detail = match verbs(matched).next().filter(|_| method == "POST") {
        Some(verb) => format!("POST needs a verb behind the id, such as {{id}}:{verb}"),
        None => format!("{method} is not allowed at {shown}; allowed are {}", allowed.join(", ")),
    };
    let problem = HttpProblem::new(ProblemKind::WrongMethod, detail);
    let allow = HeaderValue::from_str(&allowed.join(", "));
    Some(problem.with_header(ALLOW, allow.unwrap_or(HeaderValue::from_static(""))))
}

/// The colon before a verb stands for itself; the handler tells a client that encodes it.
fn has_encoded_colon(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.to_ascii_lowercase().contains("%3a"))
}
