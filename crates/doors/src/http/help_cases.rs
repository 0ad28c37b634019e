//! Help cases: answers at which a person should look. Who needs help, and in a drill also what people say in
//! their own words: a real cry does not wait for the end of an exercise, so the live space shows both.
//!
//! `GET /api/v1/help-cases`.

use crate::http::alerts::view::{headline, mode};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Query, cursor};
use crate::http::scope;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use axum::{Json, Router};
use engine::{DeliveryView, EngineError};
use records::{Alert, HelpCase, HelpReason, Mode};
use serde_json::{Value, json};
use store::{DocumentKind, Expected};

/// Notes read at once for a page.
const NOTES_AT_ONCE: usize = 100;
/// Notes looked through for one page: those of another space, or of who is safe by now, are passed over.
const NOTES_MAX: usize = 2_000;
/// Notes past their time that are removed in one go.
const REMOVED_AT_ONCE: usize = 100;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/help-cases", get(list))
}

/// Those of the newest alert first.
async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let mut after = query.cursor()?.unwrap_or_default();
    let (mut items, mut seen, mut alert) = (Vec::new(), 0, None);
    loop {
        let kind = DocumentKind::HelpCase;
        let notes = app.store.documents_after(caller.account(), kind, &after, NOTES_AT_ONCE).await?;
        let is_last = notes.len() < NOTES_AT_ONCE;
        for note in notes {
            seen += 1;
            after = note.id;
            let case: HelpCase = serde_json::from_str(&note.body).map_err(|error| {
                HttpProblem::new(ProblemKind::Internal, format!("help case {after}: {error}"))
            })?;
            items.extend(shown(&app, &caller, case, &mut alert).await?);
            if items.len() == limit || seen == NOTES_MAX {
                return Ok(Json(json!({"items": items, "next": cursor(&after)})));
            }
        }
        if is_last {
            return Ok(Json(json!({"items": items, "next": null})));
        }
    }
}

/// A case as it stands, if it is one that the caller may see; `last` is the alert of the one before.
async fn shown(
    app: &App,
    caller: &Caller,
    case: HelpCase,
    last: &mut Option<Alert>,
) -> HttpResult<Option<Value>> {
    if last.as_ref().is_none_or(|alert| alert.id != case.alert) {
        *last = match app.engine.alert(caller.account(), case.alert).await {
            Ok(alert) if may_see(app, caller, &alert).await? => Some(alert),
            // It was removed, and its people with it.
            Ok(_) | Err(EngineError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
    }
    let Some(alert) = last.as_ref() else { return Ok(None) };
    let delivery = app.engine.delivery(caller.account(), alert.id, case.endpoint).await?;
    Ok(delivery.and_then(|delivery| view(alert, &delivery)))
}

/// A page of drills shows drills alone; one of live alerts both, since somebody in a drill may mean it.
async fn may_see(app: &App, caller: &Caller, alert: &Alert) -> HttpResult<bool> {
    let in_space = caller.user.as_ref().is_none_or(|user| may_show(user.space, alert.request.mode));
    Ok(in_space && scope::is_within(app, caller, &alert.request).await?)
}

fn may_show(space: Mode, mode: Mode) -> bool {
    space == Mode::Live || mode == Mode::Drill
}

/// Nothing where the last answer of the delivery is no call for help any more.
fn view(alert: &Alert, delivery: &DeliveryView) -> Option<Value> {
    let (request, answer) = (&alert.request, delivery.answer.as_ref()?);
    let reason = HelpReason::of(request, answer.key.as_deref())?;
    let choice = request.choices.iter().find(|choice| Some(&choice.key) == answer.key.as_ref());
    Some(json!({
        "alert": alert.id.to_string(),
        "headline": headline(&alert.request),
        "mode": mode(request.mode),
        "endpoint": delivery.endpoint,
        "channel": delivery.channel,
        "address": delivery.address,
        "recipients": delivery.recipients,
        "reason": reason.name(),
        "choice": choice.map(|choice| json!({"key": choice.key, "label": choice.label})),
        "text": answer.text,
        "via": answer.via,
        "at": answer.at,
    }))
}

/// Removes notes past their time, of all accounts.
pub(crate) async fn remove_past(app: &App) -> HttpResult<()> {
    let kind = DocumentKind::HelpCase;
    for (account, note) in app.store.due_documents(kind, app.now(), REMOVED_AT_ONCE).await? {
        app.store.delete_document(&account, kind, &note.id, Expected::Any).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::*;
    use records::Role;

    #[test]
    fn the_live_space_shows_what_is_answered_to_drills_too() {
        for (space, mode, expected) in [
            (Mode::Live, Mode::Live, true),
            (Mode::Live, Mode::Drill, true),
            (Mode::Drill, Mode::Drill, true),
            (Mode::Drill, Mode::Live, false),
        ] {
            assert_eq!(may_show(space, mode), expected, "{mode:?} in {space:?}");
        }
    }

    /// The cases of a page, once there are so many.
    async fn cases(server: &TestServer, count: usize) -> Vec<Value> {
        for _ in 0..2_000 {
            let (status, page) = server.get("/api/v1/help-cases").await;
            assert_eq!(status, 200, "{page}");
            let items = page["items"].as_array().unwrap();
            if items.len() >= count {
                return items.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("there are not {count} cases");
    }

    #[tokio::test]
    async fn who_needs_help_is_listed_and_in_a_drill_who_says_something_else() {
        let server = TestServer::open().await;
        server.people().await;
        let choices = json!([{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help", "needs_help": true}]);
        let mut ids = Vec::new();
        for mode in ["live", "drill"] {
            let alert = json!({"text": "Gas", "audience": ["all"], "mode": mode, "choices": choices});
            let (status, made) = server.post("/api/v1/alerts?mode=sync", alert).await;
            assert_eq!(status, 201, "{made}");
            ids.push(made["id"].as_str().unwrap().to_owned());
        }
        for (alert, text) in [(&ids[0], "2"), (&ids[1], "is this real?")] {
            let answer = json!({"alert": alert, "recipient": "ann", "text": text});
            assert_eq!(server.post("/api/v1/answers", answer).await.0, 204);
        }
        let found = cases(&server, 2).await;
        let expected =
            [(&ids[1], "drill", "words", "is this real?"), (&ids[0], "live", "needs_help", "I need help")];
        for (case, (id, mode, reason, text)) in found.iter().zip(expected) {
            assert_eq!((&case["alert"], &case["mode"]), (&json!(id), &json!(mode)), "{case}");
            assert_eq!((&case["reason"], &case["text"]), (&json!(reason), &json!(text)), "{case}");
            assert_eq!(case["recipients"][0]["id"], "ann");
        }
        assert_eq!(found[1]["choice"]["key"], "2");
        // Who is safe by now is no case any more.
        let safe = json!({"alert": ids[0], "recipient": "ann", "text": "1"});
        assert_eq!(server.post("/api/v1/answers", safe).await.0, 204);
        for _ in 0..2_000 {
            if server.get("/api/v1/help-cases").await.1["items"].as_array().unwrap().len() == 1 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(server.get("/api/v1/help-cases").await.1["items"].as_array().unwrap().len(), 1);
        let submit = server.token(Role::Submit).await;
        let refused = said(server.anon(Method::GET, "/api/v1/help-cases").bearer_auth(submit)).await;
        assert_eq!(refused.0, 403);
        server.close().await;
    }
}
