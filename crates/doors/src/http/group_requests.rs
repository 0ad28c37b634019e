//! Requests of people to join a group, made from their devices: listed until an operator decides.
//!
//! `GET /api/v1/group-requests` · `POST /api/v1/group-requests/{id}:approve`, `:reject`

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text::rfc3339;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use engine::{EngineError, JoinRequest, Joining};
use serde_json::{Value, json};
use store::Act;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/group-requests", get(list))
        .route("/api/v1/group-requests/{id}", post(decide))
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let from: usize = query.cursor()?.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let all = Joining::of(&app.engine).waiting(caller.account())?;
    let page: Vec<Value> = all.iter().skip(from).take(limit).map(view).collect();
    let next = (from + page.len() < all.len()).then(|| cursor(from + page.len()));
    Ok(Json(json!({"items": page, "next": next})))
}

fn view(request: &JoinRequest) -> Value {
    json!({
        "id": request.id(),
        "group": request.group,
        "recipient": request.recipient,
        "channel": channels::name(records::ChannelNumber(request.channel)),
        "address": request.address,
        "at": rfc3339(request.at),
    })
}

/// `POST /api/v1/group-requests/{id}:verb`; the router has no syntax for text behind a capture.
async fn decide(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(id_and_verb): Captured,
) -> HttpResult<StatusCode> {
    let (id, verb) = id_and_verb.rsplit_once(':').unwrap_or((&id_and_verb, ""));
    let is_approved = match verb {
        "approve" => true,
        "reject" => false,
        _ => {
            let detail = "POST needs a verb behind the id: {id}:approve or {id}:reject";
            return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
        }
    };
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such request waits for a decision");
    let joining = Joining::of(&app.engine);
    let found = joining.waiting(caller.account())?.into_iter().find(|request| request.id() == id);
    let found = found.ok_or_else(missing)?;
    let name = if is_approved { "group.approve" } else { "group.reject" };
    let act = Act {
        person: Some(found.recipient.clone()),
        ..app.act(&caller, name, &found.group, &found.recipient)
    };
    let deciding = async {
        joining.decide(caller.account(), id, is_approved).await.map_err(|error| match error {
            EngineError::NotFound => missing(),
            other => other.into(),
        })
    };
    app.noted(act, deciding).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use crate::http::tests::*;

    #[tokio::test]
    async fn requests_to_join_are_listed_until_somebody_decides() {
        let server = TestServer::open().await;
        server.people().await;
        let (status, _) = server.post("/api/v1/groups", json!({"id": "harbour", "join": "approval"})).await;
        assert_eq!(status, 201);
        let ann = server.join_request("default", "harbour", "ann").await;
        let bo = server.join_request("default", "harbour", "bo").await;
        let (status, list) = server.get("/api/v1/group-requests?limit=1").await;
        assert_eq!((status, &list["items"][0]["id"]), (StatusCode::OK, &json!(ann)), "{list}");
        let next = list["next"].as_str().unwrap();
        let (_, rest) = server.get(&format!("/api/v1/group-requests?cursor={next}")).await;
        assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!(bo), &Value::Null), "{rest}");
        for (id, verb, expected) in
            [(&ann, "approve", 204), (&bo, "reject", 204), (&bo, "approve", 404), (&ann, "forget", 404)]
        {
            let decided =
                said(server.call(Method::POST, &format!("/api/v1/group-requests/{id}:{verb}"))).await;
            assert_eq!(decided.0, expected, "{verb}: {}", decided.1);
        }
        assert_eq!(server.get("/api/v1/group-requests").await.1["items"], json!([]));
        let groups = |person: Value| person["groups"].to_string().contains("harbour");
        assert!(groups(server.get("/api/v1/recipients/ann").await.1));
        assert!(!groups(server.get("/api/v1/recipients/bo").await.1));
        server.close().await;
    }
}
