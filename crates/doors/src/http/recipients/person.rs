//! A person's rights: forgotten everywhere, shown all that is known of them, given the link to a page of
//! their own.
//!
//! `POST /api/v1/recipients/{id}:erase`, `:page-link` · `GET /api/v1/recipients/{id}/export`

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Captured;
use crate::http::request::time_text::rfc3339;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::ALLOW;
use axum::response::{IntoResponse, Response};
use engine::{EngineError, Erased, PersonExport, Privacy};
use serde_json::{Value, json};
use store::Act;

/// What stands in the audit trail in place of the id of somebody who was forgotten.
pub(crate) const ERASED: &str = "erased";
/// Verbs behind the id.
const VERBS: [&str; 2] = ["erase", "page-link"];

/// `POST /api/v1/recipients/{id}:verb`; the router has no syntax for text behind a capture.
pub(super) async fn act(
    State(app): State<App>,
    caller: Option<axum::Extension<Caller>>,
    Captured(id_and_verb): Captured,
) -> HttpResult<Response> {
    let Some((id, verb)) = id_and_verb.rsplit_once(':') else {
        let problem =
            HttpProblem::new(ProblemKind::WrongMethod, "POST needs a verb behind the id, such as {id}:erase");
        return Err(problem.with_header(ALLOW, HeaderValue::from_static("GET,HEAD,PUT,PATCH,DELETE")));
    };
    if !VERBS.contains(&verb) {
        let verb: String = verb.chars().take(40).collect();
        let detail = format!("there is no verb {verb:?}; known are {}", VERBS.join(", "));
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    }
    // A request without a caller has a path that is in no row of the table.
    let Some(axum::Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let _held = app.hold(caller.account(), id).await;
    match verb {
        "erase" => Ok(Json(erase(&app, &caller, id).await?).into_response()),
        _ => Ok(Json(page_link(&app, &caller, id).await?).into_response()),
    }
}

async fn erase(app: &App, caller: &Caller, id: &str) -> HttpResult<Erased> {
    let erasing = async {
        Privacy::of(&app.engine)
            .erase(caller.account(), id, app.operations.forget_elsewhere.as_ref())
            .await
            .map_err(unknown)
    };
    // The id would be what is to be forgotten.
    app.noted(app.act(caller, "recipient.erase", ERASED, ""), erasing).await
}

/// A link to the person's own page: whoever has it may do there what the person may.
async fn page_link(app: &App, caller: &Caller, id: &str) -> HttpResult<Value> {
    if app.store.recipient(caller.account(), id).await?.is_none() {
        return Err(HttpProblem::new(ProblemKind::NotFound, "no such recipient"));
    }
    let Some((url, expires)) = app.links.page_link(caller.account(), id, app.now()) else {
        let detail = "there are no links without a public address: set public_url in [http]";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    };
    let act = Act { person: Some(id.to_owned()), ..app.act(caller, "recipient.page-link", id, "") };
    app.note(act).await?;
    Ok(json!({"url": url, "expires": rfc3339(expires)}))
}

pub(super) async fn export(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<Json<PersonExport>> {
    let export = Privacy::of(&app.engine).export(caller.account(), &id).await.map_err(unknown)?;
    let act = Act { person: Some(id.clone()), ..app.act(&caller, "recipient.export", &id, "") };
    app.note(act).await?;
    Ok(Json(export))
}

fn unknown(error: EngineError) -> HttpProblem {
    match error {
        EngineError::NotFound => {
            HttpProblem::new(ProblemKind::NotFound, "nothing is known of a recipient with this id")
        }
        other => other.into(),
    }
}
