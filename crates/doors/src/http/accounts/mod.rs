//! Accounts: their money, and the charging behind it.
//!
//! `POST`, `GET /api/v1/accounts` · `GET`, `PATCH /api/v1/accounts/{id}` and its verbs · `…/{id}/records` ·
//! `/api/v1/credit-sessions` ([`credit_sessions`]) · `/api/v1/tariffs` ([`tariffs`]) ·
//! `/api/v1/diameter-peers` ([`diameter_peers`]).

pub(crate) mod credit_sessions;
pub(crate) mod diameter_peers;
pub(crate) mod tariffs;

use crate::http::LedgerAccess;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::encoded;
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query, check_preconditions, cursor, etag};
use crate::http::request::time_text::parse_time;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use ledger::books::{AccountId, AccountView, Books, BooksError};
use ledger::records::{Record, Search};
use records::Account;
use serde_json::{Value, json};

/// Characters of an id that are read at all.
const ID_CHARS_MAX: usize = 300;
/// Minor units of one sum.
const AMOUNT_MAX: i64 = 1_000_000_000_000_000;
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/accounts", post(create).get(list))
        .route("/api/v1/accounts/{id}", get(show).post(act).patch(change))
        .route("/api/v1/accounts/{id}/records", get(records))
        .route("/api/v1/credit-sessions", get(credit_sessions::list))
        .route("/api/v1/credit-sessions/{id}", delete(credit_sessions::end))
        .route("/api/v1/tariffs", get(tariffs::show).put(tariffs::replace).delete(tariffs::remove))
        .route("/api/v1/diameter-peers", get(diameter_peers::list).post(diameter_peers::add))
        .route("/api/v1/diameter-peers/{id}", delete(diameter_peers::remove))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
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
    let detail = format!("balance {balance}, limit {limit}");
    let act = app.act(&caller, "account.create", &id.to_string(), &detail);
    let account = app.noted(act, async { books.open(&id, balance, limit).await.map_err(problem) }).await?;
    let location = format!("/api/v1/accounts/{}", encoded(&id.to_string()));
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(view(&account))).into_response())
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let account = books(&app)?.account(&reached(&caller, in_path(&id)?)?).await.map_err(problem)?;
    Ok(shown(&account))
}

/// An account with the entity tag of its settings: its money moves all the time, and must not make If-Match
/// fail.
fn shown(account: &AccountView) -> Response {
    ([etag(version(account))], Json(view(account))).into_response()
}

fn version(account: &AccountView) -> u64 {
    (account.limit as u64) << 1 | u64::from(account.is_blocked)
}

/// `{"state": "active" | "blocked", "limit": …}`; absent members stay unchanged.
async fn change(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let books = books(&app)?;
    let id = in_path(&id)?;
    let wanted = AccountPatch::read(app.json_patch(&headers, body).await?)?;
    let _held = app.hold("", &id.to_string()).await;
    let mut account = books.account(&id).await.map_err(problem)?;
    check_preconditions(&headers, Some(version(&account)))?;
    if let Some(limit) = wanted.limit {
        let act = app.act(&caller, "account.limit", &id.to_string(), &limit.to_string());
        account = app.noted(act, async { books.set_limit(&id, limit).await.map_err(problem) }).await?;
    }
    if let Some(blocked) = wanted.blocked {
        let verb = if blocked { "account.block" } else { "account.unblock" };
        let act = app.act(&caller, verb, &id.to_string(), "");
        account = app.noted(act, async { books.block(&id, blocked).await.map_err(problem) }).await?;
    }
    Ok(shown(&account))
}

/// The changes of a PATCH.
struct AccountPatch {
    limit: Option<i64>,
    blocked: Option<bool>,
}

impl AccountPatch {
    fn read(node: JsonNode) -> HttpResult<AccountPatch> {
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

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let (from, limit) = (query.number_cursor()?.unwrap_or(0), query.limit()?);
    let books = books(&app)?;
    if let Some(own) = caller.only_account().filter(|own| *own != Account::DEFAULT) {
        let items: Vec<Value> = match books.account(&AccountId::named(own)).await {
            Ok(account) => vec![view(&account)],
            Err(BooksError::Unknown) => Vec::new(),
            Err(error) => return Err(problem(error)),
        };
        return Ok(Json(json!({"items": items, "next": null})));
    }
    let (mut accounts, next) = books.page(from, limit).await.map_err(problem)?;
    accounts.retain(|account| caller.reaches(owner(&account.id)));
    let next = next.map(|next| cursor(next.to_string()));
    Ok(Json(json!({"items": accounts.iter().map(view).collect::<Vec<_>>(), "next": next})))
}

/// Charging records, the oldest first.
async fn records(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["from", "until", "cursor", "limit"])?;
    let id = reached(&caller, in_path(&id)?)?;
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
    let page = books(&app)?.records(&id, search, place, query.limit()?).await.map_err(problem)?;
    let next = page.next.map(|next| cursor(next.to_string()));
    Ok(Json(json!({"items": page.records.iter().map(Record::json).collect::<Vec<_>>(), "next": next})))
}

/// `:topup`, `:block`, `:unblock`.
async fn act(
    State(app): State<App>,
    caller: Option<axum::Extension<Caller>>,
    Captured(path): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let (id, verb) = path.rsplit_once(':').unwrap_or((&path, ""));
    // Of a verb that is not in the table nobody has asked who calls.
    let Some(axum::Extension(caller)) = caller else {
        let detail = "the verbs of an account are :topup, :block and :unblock";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let (books, id) = (books(&app)?, in_path(id)?);
    let noted = |detail: &str| app.act(&caller, &format!("account.{verb}"), &id.to_string(), detail);
    let account = match verb {
        "topup" => {
            let amount = top_up_amount(app.json(&headers, body).await?)?;
            let paying = async { books.top_up(&id, amount).await.map_err(problem) };
            app.noted(noted(&amount.to_string()), paying).await?
        }
        verb => {
            let blocking = async { books.block(&id, verb == "block").await.map_err(problem) };
            app.noted(noted(""), blocking).await?
        }
    };
    Ok(Json(view(&account)))
}

fn top_up_amount(node: JsonNode) -> HttpResult<i64> {
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

fn in_path(text: &str) -> HttpResult<AccountId> {
    AccountId::parse(text)
        .map_err(|why| HttpProblem::new(ProblemKind::BadQuery, format!("the account's id {why}")))
}

/// Whose money it is: the account of a name is that of the tokens, platforms and clients with this account;
/// every other one is a subscriber's of the credit-control server, which is the system's.
fn owner(id: &AccountId) -> &str {
    id.name().unwrap_or(Account::DEFAULT)
}

/// An account that the caller reaches; any other is not there.
pub(super) fn reached(caller: &Caller, id: AccountId) -> HttpResult<AccountId> {
    if caller.reaches(owner(&id)) { Ok(id) } else { Err(problem(BooksError::Unknown)) }
}

pub(super) fn books(app: &App) -> HttpResult<Books> {
    access(app).map(|ledger| ledger.books)
}

pub(super) fn access(app: &App) -> HttpResult<LedgerAccess> {
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
