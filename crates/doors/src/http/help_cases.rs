//! Help cases: answers at which a person should look. Who needs help, and in a drill also what people say in
//! their own words: a real cry does not wait for the end of an exercise, so the live space shows both.
//!
//! `GET /api/v1/help-cases` · `POST /api/v1/help-cases/{id}:take`, `:note`, `:resolve`.

use crate::http::alerts::view::{headline, mode};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text::rfc3339;
use crate::http::scope;
use crate::http::versioned::{self, Versioned};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use engine::{DeliveryView, EngineError};
use records::{Alert, AlertId, HelpCase, HelpNote, HelpReason, Mode};
use serde_json::{Value, json};
use store::{DocumentKind, Expected, NewDocument};

/// Notes read at once for a page.
const NOTES_AT_ONCE: usize = 100;
/// Notes looked through for one page: those of another space, or of who is safe by now, are passed over.
const NOTES_MAX: usize = 2_000;
/// A case is kept for so long after it was changed, in seconds: as long as an alert may last, and a day.
const KEPT_S: i64 = 41 * 86_400;
/// Characters of a note.
const NOTE_CHARS_MAX: usize = 1_000;
/// Notes past their time that are removed in one go.
const REMOVED_AT_ONCE: usize = 100;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/help-cases", get(list)).route("/api/v1/help-cases/{id}", post(act))
}

/// Which cases a list has.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Open,
    Resolved,
    All,
}

impl Wanted {
    fn has(self, case: &HelpCase) -> bool {
        self == Wanted::All || (self == Wanted::Resolved) == case.resolved.is_some()
    }
}

/// Those of the newest alert first.
async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["state", "alert", "cursor", "limit"])?;
    let limit = query.limit()?;
    let words = [("open", Wanted::Open), ("resolved", Wanted::Resolved), ("all", Wanted::All)];
    let wanted = query.word("state", &words)?;
    let of_alert = query.parsed::<AlertId>("alert")?;
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
            if wanted.has(&case) && of_alert.is_none_or(|id| id == case.alert) {
                items.extend(shown(&app, &caller, (&after, case), &mut alert).await?);
            }
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
    (id, case): (&str, HelpCase),
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
    let delivery = app.engine.people().delivery(caller.account(), alert.id, case.endpoint).await?;
    Ok(delivery.and_then(|delivery| view(alert, &delivery, (id, &case))))
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
fn view(alert: &Alert, delivery: &DeliveryView, (id, case): (&str, &HelpCase)) -> Option<Value> {
    let (request, answer) = (&alert.request, delivery.answer.as_ref()?);
    let reason = HelpReason::of(request, answer.key.as_deref())?;
    let choice = request.choices.iter().find(|choice| Some(&choice.key) == answer.key.as_ref());
    Some(json!({
        "id": id,
        "taken": case.taken.as_ref().map(note_view),
        "notes": case.notes.iter().map(note_view).collect::<Vec<_>>(),
        "resolved": case.resolved.as_ref().map(note_view),
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

fn note_view(note: &HelpNote) -> Value {
    json!({"by": note.by, "at": rfc3339(note.at), "text": note.text})
}

/// `POST /api/v1/help-cases/{id}:verb`; the router has no syntax for text behind a capture.
async fn act(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(id_and_verb): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let (id, word) = id_and_verb.rsplit_once(':').unwrap_or((&id_and_verb, ""));
    let Some(verb) = Verb::named(word) else {
        let detail = "POST needs a verb behind the id: {id}:take, {id}:note or {id}:resolve";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let kind = DocumentKind::HelpCase;
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such help case");
    let found = versioned::find::<HelpCase>(&app.store, caller.account(), kind, id).await?;
    let Versioned { version, body: mut case, .. } = found.ok_or_else(missing)?;
    let alert = app.engine.alert(caller.account(), case.alert).await.map_err(|_| missing())?;
    if !may_see(&app, &caller, &alert).await? {
        return Err(missing());
    }
    let text = match verb {
        Verb::Take => String::new(),
        Verb::Note | Verb::Resolve => text(&app, &headers, body, verb == Verb::Note).await?,
    };
    let note = HelpNote { by: caller.token.name.clone(), at: app.now(), text };
    let (endpoint, at) = (case.endpoint, note.at);
    verb.carry_out(&mut case, note)?;
    let document = NewDocument { due: Some(app.now().plus_s(KEPT_S)), ..versioned::written_out(id, &case)? };
    let audited = app.act(&caller, &format!("help-case.{word}"), &case.alert.to_string(), id);
    let writing = async {
        let put = versioned::put(&app, caller.account(), kind, document, Expected::Version(version));
        versioned::done(put.await?)?;
        if verb == Verb::Resolve {
            app.engine.people().settle(caller.account(), alert.id, endpoint, at).await?;
        }
        Ok::<(), HttpProblem>(())
    };
    app.noted(audited, writing).await?;
    let delivery = app.engine.people().delivery(caller.account(), alert.id, endpoint).await?;
    delivery.and_then(|delivery| view(&alert, &delivery, (id, &case))).map(Json).ok_or_else(missing)
}

/// The text of a note; of a resolution it may be absent.
async fn text(app: &App, headers: &HeaderMap, body: Body, is_needed: bool) -> HttpResult<String> {
    let node = app.json(headers, body).await?;
    let mut fields = Fields::default();
    let text = Object::open(node, "", &["text"], &mut fields).and_then(|mut object| match is_needed {
        true => object.needed_text("text", NOTE_CHARS_MAX, &mut fields),
        false => Some(object.text("text", NOTE_CHARS_MAX, &mut fields).unwrap_or_default()),
    });
    text.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

/// What is done about a case.
#[derive(Clone, Copy, PartialEq)]
enum Verb {
    Take,
    Note,
    Resolve,
}

impl Verb {
    fn named(word: &str) -> Option<Verb> {
        [("take", Verb::Take), ("note", Verb::Note), ("resolve", Verb::Resolve)]
            .into_iter()
            .find(|(name, _)| *name == word)
            .map(|(_, verb)| verb)
    }

    fn carry_out(self, case: &mut HelpCase, note: HelpNote) -> HttpResult<()> {
        if case.resolved.is_some() && self != Verb::Note {
            let detail = "the case is resolved; it is open again once the person calls again";
            return Err(HttpProblem::new(ProblemKind::WrongState, detail));
        }
        match self {
            Verb::Take => case.taken = Some(note),
            Verb::Resolve => case.resolved = Some(note),
            Verb::Note if case.notes.len() < HelpCase::NOTES_MAX => case.notes.push(note),
            Verb::Note => {
                let max = HelpCase::NOTES_MAX;
                let detail = format!("the case has {max} notes, which is the limit: resolve it");
                return Err(HttpProblem::new(ProblemKind::WrongState, detail));
            }
        }
        Ok(())
    }
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
    #[tokio::test]
    async fn a_case_is_taken_noted_and_resolved_and_open_again_once_they_call_again() {
        let server = TestServer::open().await;
        server.people().await;
        let choices = json!([{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help", "needs_help": true}]);
        let id = server.submit(json!({"text": "Gas", "audience": ["all"], "choices": choices})).await;
        let call = || json!({"alert": id, "recipient": "ann", "text": "2"});
        assert_eq!(server.post("/api/v1/answers", call()).await.0, 204);
        let case = cases(&server, 1).await.remove(0);
        let case = format!("/api/v1/help-cases/{}", case["id"].as_str().unwrap());
        let report = format!("/api/v1/alerts/{id}/report");
        assert_eq!(server.get(&report).await.1["needs_help"], 1);
        let (status, taken) = said(server.call(Method::POST, &format!("{case}:take"))).await;
        assert_eq!((status.as_u16(), taken["taken"]["by"].is_string()), (200, true), "{taken}");
        let note = json!({"text": "an ambulance is on its way"});
        let (status, noted) = server.post(&format!("{case}:note"), note).await;
        assert_eq!(
            (status.as_u16(), &noted["notes"][0]["text"]),
            (200, &json!("an ambulance is on its way"))
        );
        assert_eq!(server.post(&format!("{case}:note"), json!({})).await.0, 422);
        let (status, resolved) =
            server.post(&format!("{case}:resolve"), json!({"text": "at hospital"})).await;
        assert_eq!((status.as_u16(), &resolved["resolved"]["text"]), (200, &json!("at hospital")));
        assert_eq!(server.post(&format!("{case}:resolve"), json!({})).await.0, 409);
        let trail = server.get(&format!("/api/v1/audit?object={id}&limit=100")).await.1;
        let noted = |verb: &str| trail["items"].as_array().unwrap().iter().any(|act| act["verb"] == verb);
        for verb in ["help-case.take", "help-case.note", "help-case.resolve"] {
            assert!(noted(verb), "{verb}: {trail}");
        }
        assert_eq!(server.get(&report).await.1["needs_help"], 0, "it is settled");
        assert_eq!(cases(&server, 0).await, [] as [Value; 0]);
        let all = server.get("/api/v1/help-cases?state=resolved").await.1;
        assert_eq!(all["items"].as_array().unwrap().len(), 1, "{all}");
        server.clock.fetch_add(60_000_000, Ordering::SeqCst);
        assert_eq!(server.post("/api/v1/answers", call()).await.0, 204);
        let again = cases(&server, 1).await.remove(0);
        assert_eq!((&again["resolved"], &again["notes"][1]["text"]), (&Value::Null, &json!("at hospital")));
        assert_eq!(server.get(&report).await.1["needs_help"], 1);
        server.close().await;
    }
}
