//! Extension of an alert: it ends later than it was to.
//!
//! `POST /api/v1/alerts/{id}:extend`.

use crate::http::alerts::body::EXPIRES_S_MAX;
use crate::http::alerts::{alert_id, seen, view};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::time_text::rfc3339;
use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use serde_json::Value;

/// The verb.
pub(super) const VERB: &str = "extend";
/// Characters of a reason.
const REASON_CHARS_MAX: usize = 1_000;

pub(super) async fn extend(
    app: &App,
    caller: &Caller,
    id: &str,
    headers: &HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let id = alert_id(id)?;
    let alert = seen(app, caller, id).await?;
    let node = app.json(headers, body).await?;
    let mut fields = Fields::default();
    let given = Object::open(node, "", &["expires", "reason"], &mut fields).and_then(|mut object| {
        let expires = object.time("expires", &mut fields);
        if expires.is_none() {
            fields.push("expires", "is needed: a moment, later than the alert ends already");
        }
        let reason = object.text("reason", REASON_CHARS_MAX, &mut fields).unwrap_or_default();
        Some((expires?, reason))
    });
    if let Some((expires, _)) = &given {
        if *expires > app.now().plus_s(EXPIRES_S_MAX) {
            fields.push("expires", "is more than 40 days from now");
        } else if *expires <= alert.request.expires {
            let ends = rfc3339(alert.request.expires);
            fields.push("expires", format!("is not later than {ends}, when the alert ends already"));
        }
    }
    let Some((expires, reason)) = given.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let act = app.act(caller, "alert.extend", &id.to_string(), &reason);
    let alert = app.noted(act, app.engine.people().extend(caller.account(), id, expires)).await?;
    Ok(Json(view::summary(&alert)))
}

#[cfg(test)]
mod tests {
    use crate::http::request::time_text::rfc3339;
    use crate::http::tests::*;

    #[tokio::test]
    async fn an_alert_is_extended_and_never_shortened_also_over_a_start() {
        let server = TestServer::open().await;
        server.people().await;
        let ends = |hours: i64| rfc3339(NOW.plus_s(hours * 3_600));
        let alert = json!({"text": "Gas", "audience": ["all"], "require_answer": true, "expires": ends(2)});
        let id = server.submit(alert).await;
        let path = format!("/api/v1/alerts/{id}:extend");
        for wrong in [json!({}), json!({"expires": ends(1)}), json!({"expires": ends(24 * 41)})] {
            assert_eq!(server.post(&path, wrong.clone()).await.0, 422, "{wrong}");
        }
        let (status, extended) =
            server.post(&path, json!({"expires": ends(5), "reason": "still burning"})).await;
        assert_eq!((status.as_u16(), &extended["expires"]), (200, &json!(ends(5))), "{extended}");
        let server = server.reopened().await;
        let shown = server.get(&format!("/api/v1/alerts/{id}")).await.1;
        assert_eq!(shown["request"]["expires"], json!(ends(5)), "{shown}");
        let timeline = server.get(&format!("/api/v1/alerts/{id}/timeline")).await.1;
        let extended = timeline["items"].as_array().unwrap().iter().find(|item| item["code"] == "extended");
        assert_eq!(extended.unwrap()["args"]["reason"], "still burning", "{timeline}");
        server.close().await;
    }
}
