//! Site of the server: who runs it, and by which time, as the config, the first run (for all processes) or
//! the machine says.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::{JsonNode, tree_of};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use jiff::tz::TimeZone;
use records::Account;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{DocumentKind, DocumentWritten, Expected, NewDocument};

/// Characters of the organisation's name.
const NAME_CHARS_MAX: usize = 200;
/// Characters of a time zone's name.
const ZONE_CHARS_MAX: usize = 64;
/// The document of the store.
const ID: &str = "site";
/// Tries of a write beside others.
const TRIES_MAX: usize = 5;

/// What the first run stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredSite {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    organisation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
}

/// See the module.
pub(crate) struct Site {
    configured: Option<String>,
    stored: StoredSite,
}

/// The site of this server.
pub(crate) async fn of(app: &App) -> HttpResult<Site> {
    let configured = app.operations.server.facts.load().organisation.clone();
    Ok(Site { configured, stored: stored(app).await?.1 })
}

/// What is stored, and its version.
async fn stored(app: &App) -> HttpResult<(Expected, StoredSite)> {
    let found = app.store.document(Account::DEFAULT, DocumentKind::Site, ID).await?;
    let Some(document) = found else { return Ok((Expected::Absent, StoredSite::default())) };
    let read = serde_json::from_str(&document.body);
    let failed = |error| {
        HttpProblem::new(
            ProblemKind::Internal,
            format!("the settings of the first run cannot be read: {error}"),
        )
    };
    Ok((Expected::Version(document.version), read.map_err(failed)?))
}

impl Site {
    /// Who runs the server; the config counts before what was stored.
    pub(crate) fn organisation(&self) -> Option<&str> {
        self.configured.as_deref().or(self.stored.organisation.as_deref())
    }

    /// An IANA zone; the machine's where none was stored.
    pub(crate) fn time_zone(&self) -> String {
        let of_machine = || TimeZone::system().iana_name().unwrap_or("UTC").to_owned();
        self.stored.time_zone.clone().unwrap_or_else(of_machine)
    }

    /// Each setting with where it comes from.
    pub(super) fn view(&self) -> Value {
        let of_organisation = match (&self.configured, &self.stored.organisation) {
            (Some(_), _) => Some("config"),
            (None, Some(_)) => Some("setup"),
            (None, None) => None,
        };
        let of_zone = if self.stored.time_zone.is_some() { "setup" } else { "system" };
        json!({
            "organisation": {"value": self.organisation(), "from": of_organisation},
            "time_zone": {"value": self.time_zone(), "from": of_zone},
        })
    }
}

/// `PATCH /api/v1/setup`.
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let patch = app.json_patch(&headers, body).await?;
    check(&app, patch.clone())?;
    let act = app.act(&caller, "setup.change", "", &patch.canonical());
    app.noted(act, write(&app, patch)).await?;
    super::setup::show(State(app), caller, uri).await
}

/// Every member that is wrong, and what the config says instead.
fn check(app: &App, patch: JsonNode) -> HttpResult<()> {
    let names_organisation =
        matches!(&patch, JsonNode::Object(members) if members.iter().any(|(name, _)| name == "organisation"));
    read(patch)?;
    if names_organisation && app.operations.server.facts.load().organisation.is_some() {
        let detail =
            "the config names the organisation: change name in its section [organisation], and reload it";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    Ok(())
}

fn read(node: JsonNode) -> HttpResult<StoredSite> {
    let mut fields = Fields::default();
    let site = Object::open(node, "", &["organisation", "time_zone"], &mut fields).map(|mut object| {
        let organisation = object.text("organisation", NAME_CHARS_MAX, &mut fields);
        let zone = object.text("time_zone", ZONE_CHARS_MAX, &mut fields);
        let time_zone = zone.and_then(|zone| canonical(&zone, &mut fields));
        StoredSite { organisation, time_zone }
    });
    site.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

/// A zone's name as the database of zones writes it.
fn canonical(zone: &str, fields: &mut Fields) -> Option<String> {
    match TimeZone::get(zone) {
        Ok(found) => Some(found.iana_name().unwrap_or(zone).to_owned()),
        Err(_) => {
            fields.push("time_zone", "is no known time zone; one is named like Europe/Stockholm");
            None
        }
    }
}

async fn write(app: &App, patch: JsonNode) -> HttpResult<()> {
    for _ in 0..TRIES_MAX {
        let (expected, before) = stored(app).await?;
        let mut node = tree_of(&json!(before))?;
        node.merge(patch.clone());
        let body = json!(read(node)?).to_string();
        let document = NewDocument { id: ID.to_owned(), lookup: None, due: None, body };
        let written =
            app.store.put_document(Account::DEFAULT, DocumentKind::Site, document, expected, app.now());
        if let DocumentWritten::Done(_) = written.await? {
            return Ok(());
        }
    }
    Err(HttpProblem::new(ProblemKind::WrongState, "others change this at the same time; try again"))
}
