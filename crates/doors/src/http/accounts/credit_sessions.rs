//! Live sessions of credit control.

use crate::http::accounts::{books, problem, reached};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text::rfc3339;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ledger::books::{AccountId, Ended, SessionPlace, SessionView};
use serde_json::{Value, json};

/// Those of one account.
pub(crate) async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["account", "cursor", "limit"])?;
    let needed = || HttpProblem::new(ProblemKind::BadQuery, "account: is needed");
    let account = query.one("account").ok_or_else(needed)?;
    let wrong = |why| HttpProblem::new(ProblemKind::BadQuery, format!("account: {why}"));
    let account = reached(&caller, AccountId::parse(account).map_err(wrong)?)?;
    let after = match query.cursor()? {
        None => None,
        Some(text) => Some(SessionPlace::parse(&text).ok_or_else(|| {
            HttpProblem::new(
                ProblemKind::BadQuery,
                "cursor: is not the next value of an earlier page: leave it out to begin anew",
            )
        })?),
    };
    let limit = query.limit()?;
    let mut sessions = books(&app)?.sessions(&account, after, limit + 1).await.map_err(problem)?;
    let is_more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| is_more).map(|last| cursor(last.place));
    let items: Vec<Value> = sessions.iter().map(|session| view(session, &account)).collect();
    Ok(Json(json!({"items": items, "next": next})))
}

/// Has one ended.
pub(crate) async fn end(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<Response> {
    let nobody = || HttpProblem::new(ProblemKind::NotFound, "there is no such session");
    let place = SessionPlace::parse(&id).ok_or_else(nobody)?;
    let books = books(&app)?;
    let ending = async {
        books.end_session(place).await.map_err(|error| match error {
            ledger::books::BooksError::Unknown => nobody(),
            other => problem(other),
        })
    };
    let ended = app.noted(app.act(&caller, "credit-session.end", &id, ""), ending).await?;
    let word = match ended {
        Ended::Asked => "asked",
        Ended::Released => "released",
    };
    Ok((StatusCode::ACCEPTED, Json(json!({"id": id, "ended": word}))).into_response())
}

fn view(view: &SessionView, account: &AccountId) -> Value {
    let session = &view.session;
    let client = session.client.as_deref();
    let services: Vec<Value> = session
        .services
        .iter()
        .map(|service| {
            json!({
                "rating_group": service.rating_group,
                "service_id": service.service_id,
                "reserved": service.reserved,
                "starved": service.is_starved,
            })
        })
        .collect();
    json!({
        "id": view.place.to_string(),
        "session_id": String::from_utf8_lossy(&session.id),
        "account": account.to_string(),
        "origin_host": client.map(|client| &*client.host),
        "origin_realm": client.map(|client| &*client.realm),
        "peer": client.map(|client| &*client.via),
        "request_number": session.number,
        "reserved": session.reserved,
        "starved": session.is_starved,
        "expires": rfc3339(records::Timestamp(i64::try_from(session.until_us).unwrap_or(i64::MAX))),
        "services": services,
    })
}
