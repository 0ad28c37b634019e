//! Check of an alert before it is submitted: what is wrong with it, and what is odd. Nothing is refused, and
//! nothing is stored or sent.

use crate::http::alerts::warnings;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::space_of;
use crate::http::drafts::body::{meaning, read_body, with_mode};
use crate::http::problem::HttpResult;
use crate::http::request::query::Query;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use engine::{EngineError, Problem};
use serde_json::{Value, json};

/// `POST /api/v1/alerts:check`.
pub(super) async fn check(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let part = read_body(app.json(&headers, body).await?)?;
    let request = with_mode(&part.request, space_of(&caller, part.mode)?);
    let now = app.now();
    let (read, fields) = meaning(&app, request, now).await?;
    let mut problems: Vec<Problem> = fields.listed().to_vec();
    let mut warnings = read.as_ref().map(warnings::of_texts).unwrap_or_default();
    if let Some(request) = read.filter(|_| problems.is_empty()) {
        match app.engine.forecast(caller.account(), request.clone()).await {
            Ok(forecast) => {
                warnings = warnings::of_forecast(&request, &forecast, now);
                problems.extend(forecast.problems);
            }
            Err(EngineError::Unprocessable(found)) => problems.extend(found),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Json(json!({"problems": problems, "warnings": warnings::view(&warnings)})))
}

#[cfg(test)]
mod tests {
    use crate::http::tests::*;

    fn codes(answer: &Value) -> Vec<&str> {
        answer["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
    }

    #[tokio::test]
    async fn what_lacks_and_what_is_odd_is_told_and_nothing_is_refused() {
        let server = TestServer::open().await;
        server.people().await;
        let (status, answer) = server.post("/api/v1/alerts:check", json!({"headline": "Fire"})).await;
        assert_eq!(status, 200, "{answer}");
        assert!(!reason(&answer, "text").is_empty() && !reason(&answer, "audience").is_empty());
        let body = json!({"text": "Fire", "audience": ["group:nobody"]});
        let (_, answer) = server.post("/api/v1/alerts:check", body).await;
        assert!(reason(&answer, "audience[0]").contains("no group"), "{answer}");
        assert_eq!(codes(&answer), ["no_instruction", "no_place"]);
        assert_eq!(server.post("/api/v1/alerts:check", json!({"txt": 1})).await.0, 422);
        server.close().await;
    }

    #[tokio::test]
    async fn an_alert_that_the_same_people_got_a_moment_ago_is_told_with_its_languages() {
        let server = TestServer::open().await;
        server.people().await;
        let body = json!({"text": "Fire in hall 2. Leave the building.", "audience": ["group:staff"], "channels": ["sms"]});
        let (_, before) = server.post("/api/v1/alerts:forecast", body.clone()).await;
        assert_eq!(codes(&before), ["missing_language"], "{before}");
        assert_eq!(before["languages"], json!({"en": 1, "sv": 1}));
        let id = server.submit(body.clone()).await;
        server.clock.fetch_add(250_000_000, Ordering::Relaxed);
        let (_, answer) = server.post("/api/v1/alerts:check", body.clone()).await;
        assert_eq!(codes(&answer), ["similar_alert", "missing_language"], "{answer}");
        let similar = &answer["warnings"][0];
        assert_eq!(similar["message"], "100 % of the same people got this text 4 minutes ago");
        assert_eq!(similar["args"]["alert"], json!(id));
        for change in
            [json!({"mode": "drill"}), json!({"text": "All is well. You may go back to the building."})]
        {
            let mut other = body.clone();
            other.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let (_, answer) = server.post("/api/v1/alerts:check", other).await;
            assert!(!codes(&answer).contains(&"similar_alert"), "{answer}");
        }
        server.clock.fetch_add(86_400_000_000, Ordering::Relaxed);
        let (_, answer) = server.post("/api/v1/alerts:check", body).await;
        assert!(!codes(&answer).contains(&"similar_alert"), "{answer}");
        server.close().await;
    }
}
