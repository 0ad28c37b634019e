//! Client profiles: what an alert that is submitted by a token has where its request says nothing, for all
//! tokens of an account or for one. What the request says counts first, then the token's profile, then the
//! account's. People who sign in see what they send, so no profile changes it.
//!
//! `GET /api/v1/profiles` · `GET`, `PUT`, `DELETE /api/v1/profiles/{id}`, with the id of a token, or
//! `account`.

#[cfg(test)]
mod tests;

use crate::http::alerts::body;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::Author;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::encoded;
use crate::http::request::fields::{Object, nearest};
use crate::http::request::json::{self, JsonNode};
use crate::http::request::query::{Captured, Query, check_preconditions, etag};
use crate::http::request::time_text::{parse_duration_s, rfc3339};
use crate::http::versioned::{self, Versioned};
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, body::Body};
use channels::Defaults;
use records::{AlertRequest, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::{DocumentKind, Expected};

/// The id of an account's own profile; no token has it.
const ACCOUNT: &str = "account";
/// How long an alert lasts that has no end.
const EXPIRES_AFTER: &str = "expires_after";
/// Profiles of one account: one a token.
const PROFILES_MAX: u64 = 10_001;
/// Members that a profile may have: those of an alert that do not say what it is about, and how long it
/// lasts.
const KNOWN: [&str; 9] = [
    "audience",
    "channels",
    "strategy",
    "terminal",
    "priority",
    "on_unknown",
    "sender",
    "participants_only",
    EXPIRES_AFTER,
];

/// A profile as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ProfileRecord {
    defaults: Map<String, Value>,
    changed_by: Author,
}

/// Whose profile an id names.
struct ProfileOf {
    account: String,
    id: String,
    /// Of the token; nothing: it is a whole account's.
    role: Option<Role>,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/profiles", get(list))
        .route("/api/v1/profiles/{id}", get(show).put(replace).delete(remove))
}

/// What the requests of a caller have where they say nothing.
#[derive(Debug, Default)]
pub(crate) struct AlertDefaults {
    members: Vec<(String, JsonNode)>,
    expires_after_s: Option<u32>,
}

impl AlertDefaults {
    /// Those of the token and of its account; none of somebody who signed in.
    pub(crate) async fn of(app: &App, caller: &Caller) -> HttpResult<AlertDefaults> {
        if caller.user.is_some() {
            return Ok(AlertDefaults::default());
        }
        let mut all = Map::new();
        for id in [ACCOUNT, caller.token.id.as_str()] {
            let found = versioned::find(&app.store, caller.account(), DocumentKind::Profile, id).await?;
            all.extend(found.into_iter().flat_map(|profile: Versioned<ProfileRecord>| profile.body.defaults));
        }
        AlertDefaults::read(all)
    }

    fn read(mut all: Map<String, Value>) -> HttpResult<AlertDefaults> {
        let after = all.remove(EXPIRES_AFTER);
        let expires_after_s = after.and_then(|text| parse_duration_s(text.as_str()?).ok());
        match json::tree_of(&all)? {
            JsonNode::Object(members) => Ok(AlertDefaults { members, expires_after_s }),
            _ => Ok(AlertDefaults { members: Vec::new(), expires_after_s }),
        }
    }

    /// The request with what it leaves out; and the time after which it ends, if it does not say so.
    pub(crate) fn fill(self, node: JsonNode) -> (JsonNode, Option<u32>) {
        let JsonNode::Object(mut own) = node else { return (node, None) };
        let has = |own: &[(String, JsonNode)], name: &str| own.iter().any(|(known, _)| known == name);
        // Null counts as absent.
        own.retain(|(_, value)| !matches!(value, JsonNode::Null));
        let expires_after_s = self.expires_after_s.filter(|_| !has(&own, "expires"));
        for (name, value) in self.members {
            if !has(&own, &name) {
                own.push((name, value));
            }
        }
        (JsonNode::Object(own), expires_after_s)
    }
}

/// An alert that says nothing of its end has it so long after its start.
pub(crate) fn end_after(request: &mut AlertRequest, seconds: Option<u32>, now: Timestamp) {
    if let Some(seconds) = seconds {
        let start = request.not_before.unwrap_or(now).max(now);
        request.expires = start.plus_s(i64::from(seconds));
    }
}

/// Forgets the profile of a token that is withdrawn.
pub(crate) async fn forget(app: &App, account: &str, token: &str) -> HttpResult<()> {
    app.store.delete_document(account, DocumentKind::Profile, token, Expected::Any).await?;
    Ok(())
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let shown = |profile: Versioned<ProfileRecord>| Some(view(caller.account(), &profile));
    versioned::page(&app.store, caller.account(), DocumentKind::Profile, &query, shown).await
}

fn view(account: &str, profile: &Versioned<ProfileRecord>) -> Value {
    json!({
        "id": profile.id,
        "account": account,
        "version": profile.version,
        "defaults": profile.body.defaults,
        "changed": rfc3339(profile.changed),
        "changed_by": profile.body.changed_by.view(),
    })
}

fn missing() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "there is no such profile, or no such token")
}

/// Whose profile a path names: one of the caller's account, or of a token that the caller reaches.
async fn named(app: &App, caller: &Caller, id: String) -> HttpResult<ProfileOf> {
    if id == ACCOUNT {
        return Ok(ProfileOf { account: caller.account().to_owned(), id, role: None });
    }
    let tokens = app.store.tokens(caller.only_account()).await?;
    let found = tokens.into_iter().find(|token| token.id == id && token.revoked.is_none());
    let token = found.ok_or_else(missing)?;
    Ok(ProfileOf { account: token.account, id, role: Some(token.role) })
}

async fn found(app: &App, of: &ProfileOf) -> HttpResult<Option<Versioned<ProfileRecord>>> {
    versioned::find(&app.store, &of.account, DocumentKind::Profile, &of.id).await
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let of = named(&app, &caller, id).await?;
    let profile = found(&app, &of).await?.ok_or_else(missing)?;
    Ok(([etag(profile.version)], Json(view(&of.account, &profile))).into_response())
}

async fn replace(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let of = named(&app, &caller, id).await?;
    let defaults = read(app.json(&headers, body).await?, app.now(), &app.defaults.load_full())?;
    if of.role == Some(Role::Viewer) {
        let detail = "a token of the role viewer submits nothing: a profile of it would have no effect";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    let _held = app.hold(&of.account, &format!("profile {}", of.id)).await;
    let before = found(&app, &of).await?.map(|profile| profile.version);
    check_preconditions(&headers, before)?;
    if before.is_none() {
        let kind = DocumentKind::Profile;
        versioned::check_count(&app, &of.account, kind, (PROFILES_MAX, "profiles")).await?;
    }
    let record = ProfileRecord { defaults, changed_by: Author::of(&caller) };
    let document = versioned::written_out(&of.id, &record)?;
    let expected = before.map_or(Expected::Absent, Expected::Version);
    let putting = versioned::put(&app, &of.account, DocumentKind::Profile, document, expected);
    let names: Vec<&str> = record.defaults.keys().map(String::as_str).collect();
    let act = app.act(&caller, "profile.put", &of.id, &names.join(", "));
    let version = versioned::done(app.noted(act, putting).await?)?;
    let profile = Versioned { id: of.id, version, changed: app.now(), body: record };
    let shown = ([etag(version)], Json(view(&of.account, &profile)));
    if before.is_some() {
        return Ok(shown.into_response());
    }
    let location = format!("/api/v1/profiles/{}", encoded(&profile.id));
    Ok((StatusCode::CREATED, [(LOCATION, location)], shown).into_response())
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let of = named(&app, &caller, id).await?;
    let _held = app.hold(&of.account, &format!("profile {}", of.id)).await;
    let before = found(&app, &of).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(before.version))?;
    let expected = Expected::Version(before.version);
    let deleting = app.store.delete_document(&of.account, DocumentKind::Profile, &of.id, expected);
    if !app.noted(app.act(&caller, "profile.delete", &of.id, ""), deleting).await? {
        return Err(missing());
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Reads a profile: every default is judged as in an alert that has it.
fn read(node: JsonNode, now: Timestamp, defaults: &Defaults) -> HttpResult<Map<String, Value>> {
    let mut fields = Fields::default();
    let given = Object::open(node, "", &["defaults"], &mut fields).and_then(|mut object| {
        let given = object.take("defaults");
        if given.is_none() {
            fields.push("defaults", "is needed: an object, perhaps an empty one");
        }
        given
    });
    let members = match given {
        Some(JsonNode::Object(members)) => members,
        Some(other) => {
            fields.push("defaults", format!("is {}; an object is needed", other.kind()));
            Vec::new()
        }
        None => Vec::new(),
    };
    let mut read = Map::new();
    for (name, value) in members {
        let at = format!("defaults.{}", name.chars().take(40).collect::<String>());
        match (KNOWN.contains(&name.as_str()), value) {
            (true, JsonNode::Null) => {}
            (true, value) => _ = read.insert(name, value.into_value()),
            (false, _) => match nearest(&name, &KNOWN) {
                Some(near) => fields.push(at, format!("is no default of alerts; did you mean {near:?}?")),
                None => fields.push(at, format!("is no default of alerts; known are {}", KNOWN.join(", "))),
            },
        }
    }
    judge(&read, now, defaults, &mut fields)?;
    if fields.is_empty() { Ok(read) } else { Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)) }
}

fn judge(
    read: &Map<String, Value>,
    now: Timestamp,
    defaults: &Defaults,
    fields: &mut Fields,
) -> HttpResult<()> {
    let mut alert = read.clone();
    if let Some(after) = alert.remove(EXPIRES_AFTER) {
        let seconds = match &after {
            Value::String(text) => parse_duration_s(text),
            other => Err(format!("is {other}; a duration such as \"4h\" is needed")),
        };
        match seconds {
            Ok(seconds) if i64::from(seconds) <= body::EXPIRES_S_MAX => {}
            Ok(_) => fields.push("defaults.expires_after", "is more than 40 days, the limit of an alert"),
            Err(reason) => fields.push("defaults.expires_after", reason),
        }
    }
    alert.insert("text".to_owned(), "x".into());
    alert.entry("audience").or_insert_with(|| json!(["all"]));
    let (_, found) = body::parse_part(json::tree_of(&alert)?, now, defaults);
    for problem in found.listed() {
        fields.push(format!("defaults.{}", problem.field), problem.reason.clone());
    }
    Ok(())
}
