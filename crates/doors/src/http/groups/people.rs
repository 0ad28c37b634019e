//! People of a group, and whom a rule fits.
//!
//! `GET /api/v1/groups/{id}/people` · `POST /api/v1/groups:preview`

use super::body;
use super::membership::Membership;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::stops;
use crate::http::request::fields::Object;
use crate::http::request::query::{Captured, Query, cursor};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use records::{Recipient, Rule};
use serde_json::{Value, json};
use store::StoreError;
use store::import::to_json;

/// Recipients looked through for one page of a group with a rule.
const SCAN_MAX: usize = 20_000;
/// Recipients read at a time while they are looked through.
const SCAN_ROWS: usize = 1_000;
/// Examples of a preview.
const EXAMPLES: usize = 10;

pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let (limit, after) = (query.limit()?, query.cursor()?.unwrap_or_default());
    let account = caller.account();
    if !app.store.group_exists(account, &id).await? {
        return Err(super::missing());
    }
    let membership = Membership::of(&app, account, &id).await?;
    let (mut people, next) = match membership.has_rules() {
        true => looked_through(&app, account, &membership, (after, limit)).await?,
        false => named(&app, account, &membership, (after, limit)).await?,
    };
    stops::mark(&app, account, &mut people).await?;
    let view = |person: &Recipient| {
        let (by, group) = membership.why(person)?;
        Some(json!({"recipient": to_json(person), "by": by.name(), "group": group}))
    };
    let items: Vec<Value> = people.iter().filter_map(view).collect();
    Ok(Json(json!({"items": items, "next": next.map(cursor)})))
}

/// The next people that are named, by an index, and where the next page begins.
async fn named(
    app: &App,
    account: &str,
    membership: &Membership,
    (after, limit): (String, usize),
) -> HttpResult<(Vec<Recipient>, Option<String>)> {
    let mut ids = app.store.members_after(account, &membership.names(), &after, limit).await?;
    ids.extend(membership.members_after(&after, limit));
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(limit);
    let next = ids.last().filter(|_| ids.len() == limit).cloned();
    Ok((app.store.recipients_by_ids(account, &ids).await?, next))
}

/// The same where a rule makes members: people are looked through, up to a limit a page.
async fn looked_through(
    app: &App,
    account: &str,
    membership: &Membership,
    (mut after, limit): (String, usize),
) -> HttpResult<(Vec<Recipient>, Option<String>)> {
    let (mut found, mut seen) = (Vec::new(), 0);
    loop {
        let slice = app.store.recipients_after(account, &after, SCAN_ROWS).await?;
        let is_last = slice.len() < SCAN_ROWS;
        seen += slice.len();
        for person in slice {
            after.clone_from(&person.id);
            if membership.why(&person).is_some() {
                found.push(person);
                if found.len() == limit {
                    return Ok((found, Some(after)));
                }
            }
        }
        if is_last {
            return Ok((found, None));
        }
        if seen >= SCAN_MAX {
            return Ok((found, Some(after)));
        }
    }
}

/// Whom a rule fits, before a group has it.
pub(super) async fn preview(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let node = app.json(&headers, body).await?;
    let mut fields = Fields::default();
    let rule = Object::open(node, "", &["rule"], &mut fields).and_then(|mut object| {
        let node = object.take("rule");
        if node.is_none() {
            fields.push("rule", "is needed");
        }
        body::parse_rule(node?, &mut fields)
    });
    let Some(rule) = rule.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let _place = app.uploads.directory.scans.take(caller.account())?;
    let (store, account) = (app.store.clone(), caller.account().to_owned());
    let scan = tokio::task::spawn_blocking(move || fitting(&store, &account, &rule));
    let (count, mut examples) =
        scan.await.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))??;
    stops::mark(&app, caller.account(), &mut examples).await?;
    let examples: Vec<Value> = examples.iter().map(to_json).collect();
    Ok(Json(json!({"count": count, "examples": examples})))
}

/// How many a rule fits, and the first of them.
fn fitting(
    store: &store::SharedStore,
    account: &str,
    rule: &Rule,
) -> Result<(u64, Vec<Recipient>), StoreError> {
    let (mut count, mut examples) = (0, Vec::new());
    store.scan_recipients(account, &mut |slice| {
        for person in slice.iter().filter(|person| store::rule::fits(rule, person)) {
            count += 1;
            if examples.len() < EXAMPLES {
                examples.push(person.clone());
            }
        }
        true
    })?;
    Ok((count, examples))
}
