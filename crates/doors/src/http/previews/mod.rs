//! Preview of an alert: each text as it goes out, and the HTML of mails as pages of their own.
//!
//! `POST /api/v1/alerts:preview` · `GET /api/v1/previews/{id}`

pub(crate) mod frames;
mod letters;

use self::frames::FrameOwner;
use crate::http::alerts::warnings;
use crate::http::app::App;
use crate::http::audience::PartRequest;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query};
use crate::http::role_matrix::{Reach, RequiredRole};
use crate::http::scope;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::{AlertPreview, PreviewRequest, PreviewedText, Problem};
use records::{AlertRequest, AudienceEntry, ChannelNumber, DeviceProfile, Recipient};
use serde_json::{Map, Value, json};

/// The page of a mail runs nothing, loads nothing from elsewhere, and is shown in pages of this server alone.
const FRAME_POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/alerts:preview", post(preview)).route("/api/v1/previews/{id}", get(frame))
}

async fn preview(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["recipient"])?;
    let PartRequest { request, problems } = PartRequest::read(&app, &caller, &headers, body).await?;
    let recipient = match query.one("recipient") {
        Some(id) => Some(person(&app, &caller, &request, id).await?),
        None => None,
    };
    let warnings = warnings::of_texts(&request);
    let profiles = match recipient {
        Some(_) => Vec::new(),
        None => profiles(&app, &caller, &request).await?,
    };
    let filled_from = if recipient.is_some() { "recipient" } else { "examples" };
    let asked = PreviewRequest { account: caller.account().to_owned(), request, recipient, profiles };
    let previews = engine::AlertPreviews::of(&app.engine);
    let preview = previews.preview(asked).await?;
    let mut view = view(&app, &caller, preview, problems)?;
    view["filled_from"] = filled_from.into();
    view["warnings"] = warnings::view(&warnings);
    Ok(Json(view))
}

/// The person whose values are filled in: one of the caller's limits, for a caller who may read people.
async fn person(app: &App, caller: &Caller, request: &AlertRequest, id: &str) -> HttpResult<Recipient> {
    if caller.reach_with(RequiredRole::See) == Reach::Nothing {
        let detail = "a preview with somebody's values needs the right to read people; leave recipient out for examples";
        return Err(HttpProblem::new(ProblemKind::WrongRole, detail));
    }
    let entry = AudienceEntry { to: format!("recipient:{id}"), strategy: None, expires: None };
    scope::check(app, caller, &AlertRequest { audience: vec![entry], ..request.clone() }).await?;
    let found = app.store.recipient(caller.account(), id).await?;
    found.map(|(recipient, _)| recipient).ok_or_else(|| {
        let reason = "is no recipient's id: take one of GET /api/v1/recipients, or leave it out for examples";
        HttpProblem::field(ProblemKind::BadQuery, "recipient", reason)
    })
}

/// Kinds of devices of the audience; none where nobody is named, or too many audiences are being counted.
async fn profiles(
    app: &App,
    caller: &Caller,
    request: &AlertRequest,
) -> HttpResult<Vec<(ChannelNumber, DeviceProfile)>> {
    if request.audience.is_empty() {
        return Ok(Vec::new());
    }
    match app.alerts.audiences.profiles(caller.account(), request.clone()).await {
        Ok(profiles) => Ok(profiles),
        Err(engine::AudienceError::Busy) => Ok(Vec::new()),
        Err(error) => Err(crate::http::audience::problem(error)),
    }
}

fn view(app: &App, caller: &Caller, preview: AlertPreview, mut problems: Vec<Problem>) -> HttpResult<Value> {
    let owner = FrameOwner::of(caller);
    let mut texts = Vec::with_capacity(preview.texts.len());
    for text in preview.texts {
        let url = match &text.message.html {
            Some(html) => app.alerts.frames.keep(&owner, html, app.now())?,
            None => None,
        };
        texts.push(text_view(&text, url));
    }
    let spoken = preview.spoken.iter().map(|(language, text)| json!({"language": language, "text": text}));
    problems.extend(preview.problems);
    Ok(json!({
        "texts": texts,
        "more": preview.more,
        "spoken": spoken.collect::<Vec<_>>(),
        "missing": preview.missing,
        "problems": problems,
    }))
}

fn text_view(text: &PreviewedText, url: Option<String>) -> Value {
    let encoding = text.message.encoding.as_ref().map(|one| letters::view(&text.message.text, one));
    let members = [
        ("channel", Some(json!(channels::name(text.channel)))),
        ("language", text.language.as_ref().map(|one| json!(one))),
        ("profile", text.profile.as_ref().map(store::import::profile_to_json)),
        ("address", text.address.as_ref().map(|one| json!(one))),
        ("route", text.route.as_ref().map(|one| json!(one))),
        ("headline", text.headline.as_ref().map(|one| json!(one))),
        ("text", Some(json!(text.message.text))),
        ("html", url.map(|url| json!({"url": url}))),
        ("link", text.link.as_ref().map(|one| json!(one))),
        ("letters", Some(json!(text.message.text.chars().count()))),
        ("parts", Some(json!(text.parts))),
        ("encoding", encoding),
        ("missing", Some(json!(text.missing))),
        ("problem", text.problem.as_ref().map(|one| json!(one))),
    ];
    let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}

async fn frame(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let found = app.alerts.frames.find(&id, &FrameOwner::of(&caller), app.now());
    let html = found.ok_or_else(|| {
        HttpProblem::new(ProblemKind::NotFound, "no such preview: it is kept for some minutes; make it again")
    })?;
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, FRAME_POLICY)];
    Ok((headers, html.to_string()).into_response())
}

#[cfg(test)]
mod tests;
