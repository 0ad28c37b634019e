//! Words of people that are perhaps a STOP: listed until a person decides.
//!
//! `GET /api/v1/stops` · `POST /api/v1/stops/{id}:confirm`, `:dismiss`

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text::rfc3339;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use engine::{EngineError, Stops};
use serde_json::{Value, json};
use store::{Act, PerhapsStop, SharedStore};

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/stops", get(list)).route("/api/v1/stops/{id}", post(decide))
}

async fn list(State(store): State<SharedStore>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let after = query.cursor()?.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let found = store.perhaps_stops(caller.account(), after, limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| cursor(last.no));
    Ok(Json(json!({"items": found.iter().map(view).collect::<Vec<_>>(), "next": next})))
}

fn view(perhaps: &PerhapsStop) -> Value {
    json!({
        "id": perhaps.no.to_string(),
        "channel": channels::name(perhaps.channel),
        "address": perhaps.address,
        "sender": perhaps.sender,
        "text": perhaps.text,
        "at": rfc3339(perhaps.at),
    })
}

/// `POST /api/v1/stops/{id}:verb`; the router has no syntax for text behind a capture.
async fn decide(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(id_and_verb): Captured,
) -> HttpResult<StatusCode> {
    let (id, verb) = id_and_verb.rsplit_once(':').unwrap_or((&id_and_verb, ""));
    let is_stop = match verb {
        "confirm" => true,
        "dismiss" => false,
        _ => {
            let detail = "POST needs a verb behind the id: {id}:confirm or {id}:dismiss";
            return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
        }
    };
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such words wait for a decision");
    let no: u64 = id.parse().map_err(|_| missing())?;
    let found = app.store.perhaps_stops(caller.account(), no.saturating_sub(1), 1).await?.pop();
    let found = found.filter(|found| found.no == no).ok_or_else(missing)?;
    let name = if is_stop { "stop.confirm" } else { "stop.dismiss" };
    let act = Act { person: Some(found.address.clone()), ..app.act(&caller, name, &found.address, "") };
    let deciding = async {
        Stops::of(&app.engine).decide_stop(caller.account(), no, is_stop).await.map_err(|error| match error {
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
    async fn words_that_are_perhaps_a_stop_are_listed_until_somebody_decides() {
        let server = TestServer::open().await;
        let stop = server.perhaps_stop("default", "+46701740001").await;
        let noise = server.perhaps_stop("default", "+46701740002").await;
        let (status, list) = server.get("/api/v1/stops?limit=1").await;
        assert_eq!(status, 200);
        let first = &list["items"][0];
        assert_eq!((&first["id"], &first["address"]), (&json!(stop), &json!("+46701740001")), "{list}");
        assert_eq!(first["text"], "do stop this, of default");
        let next = list["next"].as_str().unwrap();
        let (_, rest) = server.get(&format!("/api/v1/stops?cursor={next}")).await;
        assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!(noise), &Value::Null), "{rest}");

        for (id, verb, expected) in [
            (&stop, "confirm", 204),
            (&noise, "dismiss", 204),
            (&noise, "confirm", 404),
            (&stop, "forget", 404),
        ] {
            let decided = said(server.call(Method::POST, &format!("/api/v1/stops/{id}:{verb}"))).await;
            assert_eq!(decided.0, expected, "{verb}: {}", decided.1);
        }
        assert_eq!(server.get("/api/v1/stops").await.1["items"], json!([]));
        let stopped = server.store.opt_outs("default").await.unwrap();
        assert_eq!(stopped, [(channels::SMS, "+46701740001".to_owned())]);
        server.close().await;
    }
}
