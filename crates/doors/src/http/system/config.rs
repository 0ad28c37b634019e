//! The config as operators see it: its sections with their lines, without secrets; and another one checked.
//!
//! A [`ConfigAccess`] reads the config; `campanile` has it.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::Query;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use futures_util::future::BoxFuture;
use serde::Serialize;
use std::sync::Arc;

/// Characters of a config that is checked.
const TEXT_CHARS_MAX: usize = 1 << 20;

/// Reads the config of a running server.
pub trait ConfigAccess: Send + Sync {
    /// The config as it stands in the file and the environment now. An error is in words.
    fn shown(&self) -> BoxFuture<'_, Result<ShownConfig, String>>;
    /// What is wrong with another text of it; nothing is changed.
    fn check(&self, text: String) -> BoxFuture<'_, CheckedConfig>;
}

/// The config without its secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ShownConfig {
    /// The file; nothing: there is none.
    pub file: Option<String>,
    /// Sections that are set, in the order of the file.
    pub sections: Vec<ConfigSection>,
}

/// A section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ConfigSection {
    /// Such as `route[0]`.
    pub path: String,
    /// Its line; nothing: it is set elsewhere.
    pub line: Option<usize>,
    /// Keys that are set, and secrets that may be.
    pub keys: Vec<ConfigKey>,
}

/// A key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ConfigKey {
    /// Its name.
    pub name: String,
    /// As TOML; nothing for what is not shown.
    pub value: Option<String>,
    /// It has a value.
    pub is_set: bool,
    /// Its value is not shown: it is a secret, or may hold one.
    pub is_secret: bool,
    /// Its line.
    pub line: Option<usize>,
    /// The environment variable that sets it.
    pub environment: Option<String>,
}

/// What `campanile check` says of a config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CheckedConfig {
    /// There are no problems.
    pub ok: bool,
    /// In the order of their places.
    pub problems: Vec<ConfigProblem>,
    /// What is perhaps wrong, a sentence each.
    pub warnings: Vec<String>,
}

/// Something wrong with a config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ConfigProblem {
    /// Such as `campanile.toml:12:3`.
    pub place: String,
    /// Of the text.
    pub line: Option<usize>,
    /// Such as `route[0].rate`; empty for what is wrong with the text as such.
    pub field: String,
    /// In words.
    pub reason: String,
}

fn access(app: &App) -> HttpResult<Arc<dyn ConfigAccess>> {
    let access = app.operations.server.config.get().cloned();
    access.ok_or_else(|| {
        let detail = "this server was not started from a config: campanile serve has one";
        HttpProblem::new(ProblemKind::NotFound, detail)
    })
}

pub(super) async fn show(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<ShownConfig>> {
    Query::read(&uri, &[])?;
    let access = access(&app)?;
    app.note_read(app.act(&caller, "config.read", "", "")).await?;
    let shown = access.shown().await.map_err(|why| HttpProblem::new(ProblemKind::Internal, why))?;
    Ok(Json(shown))
}

/// `POST /api/v1/config:check` with the text: changes nothing.
pub(super) async fn check(
    State(app): State<App>,
    _: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<CheckedConfig>> {
    let text = read(app.json(&headers, body).await?)?;
    Ok(Json(access(&app)?.check(text).await))
}

fn read(body: JsonNode) -> HttpResult<String> {
    let mut fields = Fields::default();
    let object = Object::open(body, "", &["text"], &mut fields);
    let text = object.and_then(|mut object| object.needed_text("text", TEXT_CHARS_MAX, &mut fields));
    match text {
        Some(text) if fields.is_empty() => Ok(text),
        _ => Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)),
    }
}
