//! Audit trail: listed by page, time and verb, and verified.
//!
//! `GET /api/v1/audit` · `GET /api/v1/audit:verify`; [`noting`] has what handlers note with.

pub(crate) mod noting;
#[cfg(test)]
mod tests;

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Query, cursor};
use crate::http::request::time_text::{parse_time, rfc3339};
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use axum::{Json, Router};
use noting::NotedReads;
use records::{Account, Timestamp};
use serde_json::{Map, Value, json};
use store::audit::chain::hex;
use store::audit::{AuditField, ChainHead, SaltedField};
use store::{AuditEntry, AuditKey, AuditSearch};

/// Parameters of the list.
pub(crate) const SEARCH: &[&str] =
    &["who", "verb", "object", "account", "from", "until", "order", "cursor", "limit"];

/// What the trail is kept with.
pub(crate) struct AuditState {
    /// Signs what retention drops from the trail.
    key: AuditKey,
    reads: NotedReads,
}

impl AuditState {
    pub(crate) fn new(key: AuditKey) -> AuditState {
        AuditState { key, reads: NotedReads::default() }
    }
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/audit", get(list)).route("/api/v1/audit:verify", get(verify))
}

/// An account's admin sees its own account's entries; an admin of the first account is the system's, and sees
/// all.
fn is_systems(caller: &Caller) -> bool {
    caller.account() == Account::DEFAULT
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, SEARCH)?;
    let search = search(&query, &caller)?;
    let limit = search.limit;
    let mut entries = app.store.audit_entries(AuditSearch { limit: limit + 1, ..search }).await?;
    let is_more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| is_more).map(|last| cursor(last.link.seq));
    // Before it is answered, and behind what it shows.
    app.note_read(app.act(&caller, "audit.read", query.one("account").unwrap_or_default(), "")).await?;
    Ok(Json(json!({"items": entries.iter().map(view).collect::<Vec<_>>(), "next": next})))
}

fn search(query: &Query, caller: &Caller) -> HttpResult<AuditSearch> {
    let own = (!is_systems(caller)).then(|| caller.account().to_owned());
    let wanted = query.one("account").map(str::to_owned);
    if own.is_some() && wanted.is_some() && own != wanted {
        return Err(HttpProblem::new(
            ProblemKind::WrongRole,
            format!(
                "account: only an admin of the account {:?} sees other accounts' entries",
                Account::DEFAULT
            ),
        ));
    }
    let text = |name: &str| query.one(name).map(str::to_owned);
    Ok(AuditSearch {
        account: own.or(wanted),
        verb: text("verb"),
        token: text("who"),
        object: text("object"),
        from: time(query, "from")?,
        until: time(query, "until")?,
        place: query.number_cursor()?,
        oldest_first: query.word("order", &[("newest", false), ("oldest", true)])?,
        limit: query.limit()?,
    })
}

fn time(query: &Query, name: &str) -> HttpResult<Option<Timestamp>> {
    let wrong = |why| HttpProblem::field(ProblemKind::BadQuery, name, why);
    query.one(name).map(|text| parse_time(text).map_err(wrong)).transpose()
}

fn view(entry: &AuditEntry) -> Value {
    let (act, link) = (&entry.act, &entry.link);
    json!({
        "seq": link.seq,
        "at": rfc3339(act.at),
        "account": act.account,
        "token": act.token,
        "token_name": act.token_name,
        "from": act.from,
        "verb": act.verb,
        "object": act.object,
        "detail": act.detail,
        "failed": act.failed,
        "count": act.count,
        "erased": entry.erased.iter().map(|field| field.name()).collect::<Vec<_>>(),
        "link": {
            "version": link.version,
            "algorithm": link.algorithm,
            "at_us": link.at.0,
            "previous": hex(&link.previous),
            "extras": hex(&link.extras),
            "commitments": hex(&link.commitments),
            "hash": hex(&link.hash),
            "salts": salts(&entry.fields),
        },
    })
}

fn salts(fields: &[SaltedField]) -> Value {
    let salt = |field: &SaltedField| {
        let known = AuditField::numbered(field.number)?;
        Some((known.name().to_owned(), Value::from(hex(&field.salt))))
    };
    Value::Object(fields.iter().filter_map(salt).collect::<Map<_, _>>())
}

async fn verify(State(app): State<App>, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["head"])?;
    let wrong = || {
        let reason =
            "is no head of the audit trail: NUMBER:HASH is needed, as an earlier verification printed it";
        HttpProblem::field(ProblemKind::BadQuery, "head", reason)
    };
    let anchor = query.one("head").map(|text| ChainHead::parse(text).ok_or_else(wrong)).transpose()?;
    let verdict = store::audit::verify(&*app.store, &app.audit.key, anchor).await?;
    Ok(Json(verdict.to_json()))
}
