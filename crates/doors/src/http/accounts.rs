//! Accounts and their money.

use super::LedgerAccess;
use super::app::App;
use super::auth::Caller;
use super::fields::Object;
use super::json::JsonNode;
use super::problem::{Fields, HttpProblem, Outcome, ProblemKind};
use super::query::{Captured, Query, check_if_match, cursor, etag};
use super::recipients::encoded;
use super::time_text::parse_time;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ledger::books::{AccountId, AccountView, Books, BooksError};
use ledger::records::{Record, Search};
use serde_json::{Value, json};

/// Characters of an id that are read at all.
const ID_CHARS_MAX: usize = 300;
/// Minor units of one sum.
const AMOUNT_MAX: i64 = 1_000_000_000_000_000;

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response> {
    let books = books(&app)?;
    let node = app.json(&headers, body).await?;
    let mut fields = Fields::default();
    let wanted = Object::open(node, "", &["id", "balance", "limit"], &mut fields).and_then(|mut object| {
        let id = object.needed_text("id", ID_CHARS_MAX, &mut fields);
        let mut amount = |name: &str| match object.take(name) {
            Some(node) => amount(node, name, 0, &mut fields),
            None => Some(0),
        };
        let (balance, limit) = (amount("balance"), amount("limit"));
        Some((account_id(&id?, &mut fields)?, balance?, limit?))
    });
    let Some((id, balance, limit)) = wanted.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let account = books.open(&id, balance, limit).await.map_err(problem)?;
    app.note(&caller, "account.create", &id.to_string(), &format!("balance {balance}, limit {limit}")).await;
    let location = format!("/api/v1/accounts/{}", encoded(&id.to_string()));
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(view(&account))).into_response())
}

pub(crate) async fn show(State(app): State<App>, _: Caller, Captured(id): Captured) -> Outcome<Response> {
    let account = books(&app)?.account(&in_path(&id)?).await.map_err(problem)?;
    Ok(shown(&account))
}

/// An account with the tag of what can be changed of it: its money moves all the time, and is no reason to
/// refuse a change.
fn shown(account: &AccountView) -> Response {
    ([etag(version(account))], Json(view(account))).into_response()
}

fn version(account: &AccountView) -> u64 {
    (account.limit as u64) << 1 | u64::from(account.is_blocked)
}

/// `{"state": "active" | "blocked", "limit": …}`; what is left out stays.
pub(crate) async fn change(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response> {
    let books = books(&app)?;
    let id = in_path(&id)?;
    let wanted = AccountPatch::read(app.json(&headers, body).await?)?;
    let _held = app.hold("", &id.to_string()).await;
    let mut account = books.account(&id).await.map_err(problem)?;
    check_if_match(&headers, Some(version(&account)))?;
    if let Some(limit) = wanted.limit {
        account = books.set_limit(&id, limit).await.map_err(problem)?;
        app.note(&caller, "account.limit", &id.to_string(), &limit.to_string()).await;
    }
    if let Some(blocked) = wanted.blocked {
        account = books.block(&id, blocked).await.map_err(problem)?;
        let verb = if blocked { "account.block" } else { "account.unblock" };
        app.note(&caller, verb, &id.to_string(), "").await;
    }
    Ok(shown(&account))
}

/// What a PATCH asks for.
struct AccountPatch {
    limit: Option<i64>,
    blocked: Option<bool>,
}

impl AccountPatch {
    fn read(node: JsonNode) -> Outcome<AccountPatch> {
        let mut fields = Fields::default();
        let read = Object::open(node, "", &["state", "limit"], &mut fields).map(|mut object| {
            let limit = object.take("limit").and_then(|node| amount(node, "limit", 0, &mut fields));
            let blocked = match object.take("state") {
                Some(JsonNode::Text(state)) if state == BLOCKED => Some(true),
                Some(JsonNode::Text(state)) if state == ACTIVE => Some(false),
                Some(_) => {
                    fields.push("state", "must be \"active\" or \"blocked\"");
                    None
                }
                None => None,
            };
            AccountPatch { limit, blocked }
        });
        read.filter(|_| fields.is_empty())
            .ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
    }
}

/// States of an account.
const ACTIVE: &str = "active";
const BLOCKED: &str = "blocked";

pub(crate) async fn list(State(app): State<App>, _: Caller, uri: Uri) -> Outcome<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let from = query.number_cursor()?.unwrap_or(0);
    let (accounts, next) = books(&app)?.page(from, query.limit()?).await.map_err(problem)?;
    let next = next.map(|next| cursor(next.to_string()));
    Ok(Json(json!({"items": accounts.iter().map(view).collect::<Vec<_>>(), "next": next})))
}

/// Charging records, the oldest first.
pub(crate) async fn records(
    State(app): State<App>,
    _: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> Outcome<Json<Value>> {
    let query = Query::read(&uri, &["from", "until", "cursor", "limit"])?;
    let place = query.number_cursor()?.unwrap_or(0);
    let time = |name: &str, otherwise: u64| match query.one(name) {
        None => Ok(otherwise),
        Some(text) => match parse_time(text) {
            Ok(time) => Ok(u64::try_from(time.0).unwrap_or(0)),
            Err(why) => Err(HttpProblem::new(ProblemKind::BadQuery, format!("{name}: {why}"))),
        },
    };
    let search =
        Search { from_us: time("from", 0)?, until_us: time("until", u64::MAX)?, ..Search::default() };
    let page = books(&app)?.records(&in_path(&id)?, search, place, query.limit()?).await.map_err(problem)?;
    let next = page.next.map(|next| cursor(next.to_string()));
    Ok(Json(json!({"items": page.records.iter().map(Record::json).collect::<Vec<_>>(), "next": next})))
}

/// `:topup`, `:block`, `:unblock`.
pub(crate) async fn act(
    State(app): State<App>,
    caller: Caller,
    Captured(path): Captured,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Json<Value>> {
    let books = books(&app)?;
    let (id, verb) = path.rsplit_once(':').unwrap_or((&path, ""));
    let id = in_path(id)?;
    let (account, detail) = match verb {
        "topup" => {
            let amount = top_up_amount(app.json(&headers, body).await?)?;
            (books.top_up(&id, amount).await, amount.to_string())
        }
        "block" => (books.block(&id, true).await, String::new()),
        "unblock" => (books.block(&id, false).await, String::new()),
        _ => {
            return Err(HttpProblem::new(
                ProblemKind::UnknownPath,
                "an account takes :topup, :block and :unblock",
            ));
        }
    };
    let account = account.map_err(problem)?;
    app.note(&caller, &format!("account.{verb}"), &id.to_string(), &detail).await;
    Ok(Json(view(&account)))
}

fn top_up_amount(node: JsonNode) -> Outcome<i64> {
    let mut fields = Fields::default();
    let found =
        Object::open(node, "", &["amount"], &mut fields).and_then(|mut object| match object.take("amount") {
            Some(node) => amount(node, "amount", 1, &mut fields),
            None => {
                fields.push("amount", "is needed: minor units");
                None
            }
        });
    found.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

fn amount(node: JsonNode, name: &str, least: i64, fields: &mut Fields) -> Option<i64> {
    let value = match &node {
        JsonNode::Number(number) => number.as_i64().filter(|value| (least..=AMOUNT_MAX).contains(value)),
        _ => None,
    };
    if value.is_none() {
        fields.push(name, format!("must be a whole number of minor units from {least} to {AMOUNT_MAX}"));
    }
    value
}

fn account_id(text: &str, fields: &mut Fields) -> Option<AccountId> {
    AccountId::parse(text).map_err(|why| fields.push("id", why)).ok()
}

fn in_path(text: &str) -> Outcome<AccountId> {
    AccountId::parse(text)
        .map_err(|why| HttpProblem::new(ProblemKind::BadQuery, format!("the account's id {why}")))
}

pub(super) fn books(app: &App) -> Outcome<Books> {
    access(app).map(|ledger| ledger.books)
}

pub(super) fn access(app: &App) -> Outcome<LedgerAccess> {
    let none = "there is no ledger: [charging] mode = \"ledger\" or [diameter] in the config opens one";
    app.ledger.clone().ok_or_else(|| HttpProblem::new(ProblemKind::NotFound, none))
}

pub(super) fn problem(error: BooksError) -> HttpProblem {
    let kind = match &error {
        BooksError::Unknown => ProblemKind::NotFound,
        BooksError::Exists => ProblemKind::WrongState,
        BooksError::Refused(_) => ProblemKind::WrongState,
        BooksError::Busy => ProblemKind::Busy,
        BooksError::Stopped => ProblemKind::Internal,
    };
    HttpProblem::new(kind, error.to_string())
}

fn view(account: &AccountView) -> Value {
    json!({
        "id": account.id.to_string(),
        "balance": account.balance,
        "reserved": account.reserved,
        "used": account.used,
        "debt": account.debt,
        "limit": account.limit,
        "blocked": account.is_blocked,
        "state": if account.is_blocked { BLOCKED } else { ACTIVE },
    })
}
