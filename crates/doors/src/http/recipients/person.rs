//! A person's rights: forgotten everywhere, or shown all that is known of them.
//!
//! `POST /api/v1/recipients/{id}:erase` · `GET /api/v1/recipients/{id}/export`

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Captured;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::ALLOW;
use engine::{EngineError, Erased, PersonExport, Privacy};
use store::Act;

/// What stands in the audit trail in place of the id of somebody who was forgotten.
const ERASED: &str = "erased";

/// `POST /api/v1/recipients/{id}:verb`; the router has no syntax for text behind a capture.
pub(super) async fn act(
    State(app): State<App>,
    caller: Option<axum::Extension<Caller>>,
    Captured(id_and_verb): Captured,
) -> HttpResult<Json<Erased>> {
    let Some((id, verb)) = id_and_verb.rsplit_once(':') else {
        let problem =
            HttpProblem::new(ProblemKind::WrongMethod, "POST needs a verb behind the id, such as {id}:erase");
        return Err(problem.with_header(ALLOW, HeaderValue::from_static("GET,HEAD,PUT,PATCH,DELETE")));
    };
    if verb != "erase" {
        let verb: String = verb.chars().take(40).collect();
        let detail = format!("there is no verb {verb:?}; known is erase");
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    }
    // A request without a caller has a path that is in no row of the table.
    let Some(axum::Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let _held = app.hold(caller.account(), id).await;
    let erasing = async {
        Privacy::of(&app.engine)
            .erase(caller.account(), id, app.operations.forget_elsewhere.as_ref())
            .await
            .map_err(unknown)
    };
    // The id would be what is to be forgotten.
    let erased = app.noted(app.act(&caller, "recipient.erase", ERASED, ""), erasing).await?;
    Ok(Json(erased))
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
