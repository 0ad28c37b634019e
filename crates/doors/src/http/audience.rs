//! Audience of an alert before it is sent: how many people, and who.
//!
//! `POST /api/v1/audience:count` · `POST /api/v1/audience:people`

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::space_of;
use crate::http::drafts::body::{meaning, read_body, with_mode};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::profiles::AlertDefaults;
use crate::http::request::json;
use crate::http::request::query::{Query, cursor};
use crate::http::scope;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::routing::post;
use axum::{Json, Router};
use engine::{AudienceError, AudienceFilter, COUNTS_AT_ONCE, Problem};
use records::{AlertRequest, Reason};
use serde_json::{Value, json};

/// The word for people to whom something goes at once.
const REACHED: &str = "reached";
/// Retry-After where too many are counted at once, in seconds.
const RETRY_S: u64 = 1;
/// Members of a request that its audience follows from.
const OF_AUDIENCE: [&str; 7] = ["audience", "exclude", "channels", "mode", "strategy", "priority", "area"];

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/audience:count", post(count)).route("/api/v1/audience:people", post(people))
}

async fn count(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let part = PartRequest::read(&app, &caller, &headers, body).await?;
    let counted = app.alerts.audiences.count(caller.account(), part.request).await;
    let mut count = counted.map_err(problem)?;
    let mut problems: Vec<Problem> = part.problems.into_iter().filter(is_of_audience).collect();
    problems.append(&mut count.problems);
    count.problems = problems;
    Ok(Json(json!(count)))
}

async fn people(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["entry", "reason", "cursor", "limit"])?;
    let filter = AudienceFilter {
        entry: query.one("entry").map(str::to_owned),
        reason: query.one("reason").map(reason).transpose()?,
        from: query.number_cursor()?.unwrap_or(0),
        limit: query.limit()?,
    };
    let part = PartRequest::read(&app, &caller, &headers, body).await?;
    let found = app.alerts.audiences.people(caller.account(), part.request, filter).await;
    let (items, next) = found.map_err(problem)?;
    app.note_read(app.act(&caller, "audience.read", "", "")).await?;
    Ok(Json(json!({"items": items, "next": next.map(cursor)})))
}

/// A request that may lack members, with what is wrong with it.
pub(crate) struct PartRequest {
    pub request: AlertRequest,
    pub problems: Vec<Problem>,
}

impl PartRequest {
    /// Reads a body, with what the caller's alerts have where it says nothing. Its audience is within the
    /// caller's limits.
    pub(crate) async fn read(
        app: &App,
        caller: &Caller,
        headers: &HeaderMap,
        body: Body,
    ) -> HttpResult<PartRequest> {
        let part = read_body(app.json(headers, body).await?)?;
        let whole = with_mode(&part.request, space_of(caller, part.mode)?);
        let (node, _) = AlertDefaults::of(app, caller).await?.fill(json::tree_of(&whole)?);
        let (request, fields) = meaning(app, node.into_value(), app.now()).await?;
        let is_no_object = || HttpProblem::new(ProblemKind::InvalidFields, "the body is no object");
        let request = request.ok_or_else(is_no_object)?;
        scope::check(app, caller, &request).await?;
        Ok(PartRequest { request, problems: fields.listed().to_vec() })
    }
}

fn is_of_audience(problem: &Problem) -> bool {
    let member = problem.field.split(['.', '[']).next().unwrap_or_default();
    OF_AUDIENCE.contains(&member)
}

/// What becomes of people: a code of deliveries, or that they are reached.
fn reason(word: &str) -> HttpResult<Reason> {
    if word == REACHED {
        return Ok(Reason::None);
    }
    serde_json::from_value(word.into()).map_err(|_| {
        let word: String = word.chars().take(40).collect();
        let detail =
            format!("is {word:?}; a code of left_out of a count is needed, quiet_hours, or {REACHED}");
        HttpProblem::field(ProblemKind::BadQuery, "reason", detail)
    })
}

/// An audience that was not counted.
pub(crate) fn problem(error: AudienceError) -> HttpProblem {
    match error {
        AudienceError::Busy => {
            let detail = format!(
                "audiences are being counted: at most {COUNTS_AT_ONCE} at once; try again in a moment"
            );
            HttpProblem::new(ProblemKind::TooMany, detail).retry_after(RETRY_S)
        }
        AudienceError::UnknownEntry => {
            let reason = "is no entry of the body's audience: name one as it stands there";
            HttpProblem::field(ProblemKind::BadQuery, "entry", reason)
        }
        AudienceError::Engine(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::http::tests::*;

    const COUNT: &str = "/api/v1/audience:count";
    const PEOPLE: &str = "/api/v1/audience:people";

    async fn town() -> TestServer {
        let server = TestServer::open().await;
        server.people().await;
        let people = json!([
            {"id": "cy", "name": "Cy", "groups": ["night"]},
            {"id": "dan", "name": "Dan", "sms": "+46701000004", "attributes": {"floor": "3"},
             "quiet_hours": "00:00-23:59"},
        ]);
        assert_eq!(server.post("/api/v1/recipients", people).await.0, 200);
        for group in [
            json!({"id": "house", "groups": ["staff", "night"], "members": ["dan"]}),
            json!({"id": "third", "rule": {"attribute": "floor", "is": "3"}}),
        ] {
            assert_eq!(server.post("/api/v1/groups", group).await.0, 201);
        }
        server
    }

    #[tokio::test]
    async fn people_are_counted_by_entry_device_language_and_reason() {
        let server = town().await;
        let audience =
            json!(["group:house", "group:third", "group:nobody", "recipient:zoe", "sms:+46701000009"]);
        let body = json!({"audience": audience, "exclude": ["recipient:bo"]});
        for _ in 0..2 {
            let (status, count) = server.post(COUNT, body.clone()).await;
            assert_eq!(status, 200, "{count}");
            assert_eq!((&count["people"], &count["reached"]), (&json!(5), &json!(3)), "{count}");
            assert_eq!(count["after_quiet_hours"], 1);
            assert_eq!(count["left_out"], json!({"no_device": 1, "excluded_by_sender": 1}));
            assert_eq!(count["entries"][0], json!({"entry": "group:house", "people": 4, "only_here": 3}));
            assert_eq!(count["entries"][1], json!({"entry": "group:third", "people": 1, "only_here": 0}));
            assert_eq!(count["overlaps"], json!([{"entries": ["group:house", "group:third"], "people": 1}]));
            assert_eq!(count["devices"], json!({"sms": 3}));
            assert_eq!(count["languages"], json!({"en": 1, "sv": 1}));
            assert_eq!(count["unknown"], json!(["group:nobody", "recipient:zoe"]));
        }
        server.close().await;
    }

    #[tokio::test]
    async fn a_count_follows_people_groups_and_stops() {
        let server = town().await;
        let count = async |reached: u64| {
            let (_, count) = server.post(COUNT, json!({"audience": ["group:third", "all"]})).await;
            assert_eq!(count["reached"], reached, "{count}");
            count
        };
        count(3).await;
        let eve = json!({"id": "eve", "name": "Eve", "sms": "+46701000005"});
        assert_eq!(server.post("/api/v1/recipients", eve).await.0, 201);
        assert_eq!(count(4).await["entries"][0]["people"], 1);
        let group = json!({"members": ["ann", "eve"]});
        assert_eq!(
            server.call(Method::PUT, "/api/v1/groups/third").json(&group).send().await.unwrap().status(),
            200
        );
        assert_eq!(count(4).await["entries"][0]["people"], 2);
        server.store.set_opt_out("default", channels::SMS, "+46701000005", true, NOW).await.unwrap();
        assert_eq!(count(3).await["left_out"]["opted_out"], 1);
        server.store.delete_recipient("default", "ann").await.unwrap();
        count(2).await;
        server.close().await;
    }

    #[tokio::test]
    async fn a_draft_is_counted_as_far_as_it_can_be_read() {
        let server = town().await;
        let (status, count) = server.post(COUNT, json!({})).await;
        assert_eq!((status.as_u16(), &count["people"]), (200, &json!(0)), "{count}");
        assert_eq!(count["problems"][0]["field"], "audience");
        let (_, count) = server.post(COUNT, json!({"audience": ["fax:1", "group:staff"]})).await;
        assert_eq!((&count["people"], &count["problems"][0]["field"]), (&json!(2), &json!("audience[0]")));
        let (status, problem) = server.post(COUNT, json!({"audiense": []})).await;
        assert_eq!(status, 422, "{problem}");
        server.close().await;
    }

    #[tokio::test]
    async fn a_page_says_why_each_person_is_named_and_what_is_used() {
        let server = town().await;
        let body = json!({"audience": ["group:house", "group:third"], "strategy": "first-reachable"});
        let (status, page) = server.post(&format!("{PEOPLE}?limit=2"), body.clone()).await;
        assert_eq!(status, 200, "{page}");
        let ann = json!({"id": "ann", "name": "Ann", "language": "en", "reason_code": null, "reason": null,
            "entries": [{"entry": "group:house", "by": "person", "path": ["house", "staff"]}],
            "devices": [{"channel": "sms", "address": "+46701000001", "used": true, "step": 0, "not_before": null, "reason_code": null}]});
        assert_eq!(page["items"][0], ann);
        assert_eq!(page["items"][1]["devices"][1]["step"], 1, "the mail comes second");
        let next = format!("{PEOPLE}?cursor={}", page["next"].as_str().unwrap());
        let (_, page) = server.post(&next, body.clone()).await;
        assert_eq!((page["items"].as_array().unwrap().len(), &page["next"]), (2, &Value::Null));
        assert_eq!(page["items"][0]["reason_code"], "no_device");
        let dan = &page["items"][1];
        assert_eq!((&dan["reason_code"], &dan["entries"][0]["by"]), (&json!("quiet_hours"), &json!("group")));
        assert_eq!(dan["entries"][1]["rule"], json!({"attribute": "floor", "is": "3"}));
        for (query, ids) in [
            ("entry=group:third", json!(["dan"])),
            ("reason=no_device", json!(["cy"])),
            ("reason=reached", json!(["ann", "bo"])),
        ] {
            let (_, page) = server.post(&format!("{PEOPLE}?{query}"), body.clone()).await;
            let found: Vec<&Value> = page["items"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
            assert_eq!(json!(found), ids, "{query}");
        }
        for query in ["entry=all", "reason=tired", "who=me"] {
            assert_eq!(server.post(&format!("{PEOPLE}?{query}"), body.clone()).await.0, 400, "{query}");
        }
        server.close().await;
    }

    #[test]
    fn who_comes_while_too_many_are_counted_is_told_when_to_come_again() {
        use axum::response::IntoResponse;
        let response = super::problem(engine::AudienceError::Busy).into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "1");
    }

    #[tokio::test]
    async fn a_user_who_is_limited_counts_and_sees_their_own_groups_alone() {
        let server = town().await;
        let rights = json!({"roles": ["author"], "groups": ["staff"]});
        let mut eva = server.signed_in("eva", rights).await.in_space("drill");
        for path in [COUNT, PEOPLE] {
            for (audience, status) in [("group:staff", 200), ("group:house", 403), ("all", 403)] {
                let (got, said) = eva.post(path, json!({"audience": [audience]})).await;
                assert_eq!(got.as_u16(), status, "{path} {audience} {said}");
            }
        }
        assert_eq!(eva.post(COUNT, json!({"audience": [], "mode": "live"})).await.0, 403, "the other space");
        server.close().await;
    }
}
