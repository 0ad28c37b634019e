//! Diameter peers: the connected ones, and rules that admit more peers than those of the config.

use crate::http::LedgerAccess;
use crate::http::accounts::{access, books};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::Captured;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use charging::server::PeerRule;
use charging::session_notifier::PeerView;
use ledger::runtime_rules::{PeerSpec, RuntimeSettings};
use serde_json::{Value, json};
use std::io;

/// Characters of a name (a DiameterIdentity is a name of DNS).
const NAME_CHARS_MAX: usize = 255;
/// Addresses of one rule.
const ADDRESSES_MAX: usize = 64;
/// Rules of the API.
const RULES_MAX: usize = 1_000;

pub(crate) async fn list(State(app): State<App>, _: Caller) -> HttpResult<Json<Value>> {
    let LedgerAccess { books, peers } = access(&app)?;
    let items: Vec<Value> = peers.peers().iter().map(view).collect();
    let rules = books.ledger().kept().get().peers;
    Ok(Json(json!({"items": items, "next": null, "rules": rules})))
}

/// Lets in peers; at once, and also after a restart.
pub(crate) async fn add(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let books = books(&app)?;
    let spec = read(app.json(&headers, body).await?)?;
    let words = format!("{} {}", spec.origin_host, spec.realm);
    let adding = change(&app, move |settings| {
        if settings.peers.len() >= RULES_MAX {
            return Err(RulesRefused::TooMany);
        }
        // Versions only grow: so no rule gets the name of one that was removed.
        let id = (settings.version + 1).to_string();
        settings.peers.push(PeerSpec { id, ..spec });
        Ok(())
    });
    let settings = app.noted(app.act(&caller, "diameter-peer.add", "", &words), adding).await?;
    drop(books);
    let rule = settings.peers.last().cloned().unwrap_or_default();
    let location = format!("/api/v1/diameter-peers/{}", rule.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(rule)).into_response())
}

pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<StatusCode> {
    let wanted = id.clone();
    let removing = change(&app, move |settings| {
        let before = settings.peers.len();
        settings.peers.retain(|rule| rule.id != wanted);
        if settings.peers.len() < before { Ok(()) } else { Err(RulesRefused::Unknown) }
    });
    app.noted(app.act(&caller, "diameter-peer.remove", &id, ""), removing).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Why the rules were not changed.
enum RulesRefused {
    TooMany,
    Unknown,
    Disk(io::Error),
}

impl From<io::Error> for RulesRefused {
    fn from(error: io::Error) -> RulesRefused {
        RulesRefused::Disk(error)
    }
}

/// A file is synced: not on a thread that others wait for.
async fn change(
    app: &App,
    change: impl FnOnce(&mut RuntimeSettings) -> Result<(), RulesRefused> + Send + 'static,
) -> HttpResult<RuntimeSettings> {
    let kept = books(app)?.ledger().kept().clone();
    let changed = tokio::task::spawn_blocking(move || kept.change(change)).await;
    let changed = changed.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    changed.map_err(|refused| match refused {
        RulesRefused::TooMany => {
            HttpProblem::new(ProblemKind::WrongState, format!("there are {RULES_MAX} rules: remove one"))
        }
        RulesRefused::Unknown => HttpProblem::new(
            ProblemKind::NotFound,
            "there is no such rule of the API; rules of the config are changed there",
        ),
        RulesRefused::Disk(error) if error.kind() == io::ErrorKind::Unsupported => {
            HttpProblem::new(ProblemKind::WrongState, error.to_string())
        }
        RulesRefused::Disk(error) => {
            HttpProblem::new(ProblemKind::Internal, format!("the rule cannot be written: {error}"))
        }
    })
}

fn read(node: JsonNode) -> HttpResult<PeerSpec> {
    let mut fields = Fields::default();
    let known = &["origin_host", "realm", "allowed_ips", "tls"];
    let spec = Object::open(node, "", known, &mut fields).map(|mut object| PeerSpec {
        id: String::new(),
        origin_host: object.text("origin_host", NAME_CHARS_MAX, &mut fields).unwrap_or_default(),
        realm: object.text("realm", NAME_CHARS_MAX, &mut fields).unwrap_or_default(),
        allowed_ips: object.texts("allowed_ips", ADDRESSES_MAX, NAME_CHARS_MAX, &mut fields),
        tls: object.flag("tls", &mut fields).unwrap_or(false),
    });
    if let Some(Err((key, why))) = spec.as_ref().map(PeerRule::of) {
        fields.push(key, why);
    }
    spec.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

fn view(peer: &PeerView) -> Value {
    json!({
        "origin_host": peer.about.origin_host,
        "realm": peer.about.realm,
        "product": peer.about.product,
        "from": peer.about.from.to_string(),
        "transport": peer.about.transport.to_string(),
        "state": if peer.is_suspended { "suspended" } else { "open" },
        "requests": peer.requests,
        "refused": peer.refused,
        "octets_in": peer.octets_in,
        "octets_out": peer.octets_out,
        "unanswered": peer.owed,
        "window": peer.about.owed_max,
        "asked": peer.in_flight,
        "asked_window": peer.about.window,
    })
}
