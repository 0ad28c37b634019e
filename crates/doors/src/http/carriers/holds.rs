//! Holds of routes: an administrator stops the use of one until somebody ends that. It is on disk, every
//! process obeys it, and a restart changes nothing.

use super::named;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::time_text::rfc3339;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::Routes;
use records::RouteHold;
use serde_json::{Value, json};

/// Characters of a reason.
const REASON_CHARS_MAX: usize = 500;

/// Stops the use of a route.
pub(super) async fn hold(app: &App, caller: &Caller, name: &str, body: JsonNode) -> HttpResult<Response> {
    let mut fields = Fields::default();
    let object = Object::open(body, "", &["reason"], &mut fields);
    let reason = object.and_then(|mut object| object.needed_text("reason", REASON_CHARS_MAX, &mut fields));
    let Some(reason) = reason.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    named(app, name)?;
    let _held = app.hold("", &format!("route {name}")).await;
    let hold = RouteHold { since: app.now(), token: caller.token.id.clone(), by: by(caller), reason };
    let holding = async {
        let routes = Routes::of(&app.engine);
        match routes.hold_of(name)? {
            Some(earlier) => {
                let (by, since) = (&earlier.by, rfc3339(earlier.since));
                let detail =
                    format!("the use of this route was stopped at {since} by {by}: release it first");
                Err(HttpProblem::new(ProblemKind::WrongState, detail))
            }
            None => Ok(routes.hold(name, &hold).await?),
        }
    };
    app.noted(app.act(caller, "route.hold", name, &hold.reason), holding).await?;
    Ok(Json(view(&hold)).into_response())
}

/// Takes the use of a route up again.
pub(super) async fn release(app: &App, caller: &Caller, name: &str) -> HttpResult<Response> {
    named(app, name)?;
    let _held = app.hold("", &format!("route {name}")).await;
    let releasing = async {
        let routes = Routes::of(&app.engine);
        match routes.hold_of(name)? {
            Some(_) => Ok(routes.release(name).await?),
            None => Err(HttpProblem::new(ProblemKind::WrongState, "the use of this route is not stopped")),
        }
    };
    app.noted(app.act(caller, "route.release", name, ""), releasing).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A hold as the API shows it.
pub(super) fn view(hold: &RouteHold) -> Value {
    json!({"since": rfc3339(hold.since), "by": hold.by, "reason": hold.reason})
}

/// The caller in words for people.
fn by(caller: &Caller) -> String {
    let user = caller.user.as_ref().map(|user| match user.full_name.as_str() {
        "" => user.name.clone(),
        full_name => full_name.to_owned(),
    });
    let token = || match caller.token.name.as_str() {
        "" => caller.token.id.clone(),
        name => name.to_owned(),
    };
    user.unwrap_or_else(token)
}
