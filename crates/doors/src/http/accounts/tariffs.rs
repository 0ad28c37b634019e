//! Tariffs that hold, and their change in place of the config's.

use crate::http::accounts::books;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::{Object, list};
use crate::http::request::json::JsonNode;
use crate::http::request::query::{check_preconditions, etag};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use ledger::tariff::TARIFFS_MAX;
use ledger::tariff_spec::{Price, TariffSpec};
use ledger::{Ledger, Prices, RulesError};
use serde_json::json;
use std::io;

const KEYS: &[&str] = &[
    "context",
    "rating_group",
    "class",
    "prefix",
    "hours",
    "days",
    "utc_offset",
    "unit",
    "octets",
    "seconds",
];
/// Characters of any of its texts.
const TEXT_CHARS_MAX: usize = 255;
/// Name of the lock: one writer at a time.
const LOCK: &str = "tariffs";

pub(crate) async fn show(State(app): State<App>, _: Caller) -> HttpResult<Response> {
    Ok(shown(&books(&app)?.ledger().prices()))
}

/// All of them at once.
pub(crate) async fn replace(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let books = books(&app)?;
    let tariffs = read(app.json(&headers, body).await?)?;
    let _held = app.hold("", LOCK).await;
    check_preconditions(&headers, Some(books.ledger().prices().version))?;
    let count = tariffs.len();
    let act = app.act(&caller, "tariffs.put", LOCK, &format!("{count} tariffs"));
    let prices = app.noted(act, set(books.ledger(), Some(tariffs))).await?;
    Ok(shown(&prices))
}

/// The config's hold again.
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let books = books(&app)?;
    let _held = app.hold("", LOCK).await;
    check_preconditions(&headers, Some(books.ledger().prices().version))?;
    let prices = app.noted(app.act(&caller, "tariffs.delete", LOCK, ""), set(books.ledger(), None)).await?;
    Ok(shown(&prices))
}

/// A file is synced: not on a thread that others wait for.
async fn set(ledger: &Ledger, tariffs: Option<Vec<TariffSpec>>) -> HttpResult<Prices> {
    let ledger = ledger.clone();
    let set = tokio::task::spawn_blocking(move || ledger.set_prices(tariffs)).await;
    let set = set.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    set.map_err(|error| match error {
        RulesError::Tariff(at, key, why) => {
            HttpProblem::field(ProblemKind::InvalidFields, format!("items[{at}].{key}"), why)
        }
        RulesError::Tariffs(why) => HttpProblem::field(ProblemKind::InvalidFields, "items", why),
        RulesError::Disk(error) if error.kind() == io::ErrorKind::Unsupported => {
            HttpProblem::new(ProblemKind::WrongState, error.to_string())
        }
        RulesError::Disk(error) => {
            HttpProblem::new(ProblemKind::Internal, format!("the tariffs cannot be written: {error}"))
        }
    })
}

fn shown(prices: &Prices) -> Response {
    let source = if prices.are_configs { "config" } else { "api" };
    ([etag(prices.version)], Json(json!({"items": prices.tariffs, "source": source}))).into_response()
}

fn read(node: JsonNode) -> HttpResult<Vec<TariffSpec>> {
    let mut fields = Fields::default();
    let mut tariffs = Vec::new();
    if let Some(mut object) = Object::open(node, "", &["items"], &mut fields) {
        match object.take("items") {
            Some(items) => {
                let items = list(items, "items", TARIFFS_MAX, &mut fields).unwrap_or_default();
                for (at, item) in items.into_iter().enumerate() {
                    tariffs.extend(one(item, &format!("items[{at}]"), &mut fields));
                }
            }
            None => fields.push("items", "is needed: a list of tariffs, perhaps empty"),
        }
    }
    if fields.is_empty() { Ok(tariffs) } else { Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)) }
}

fn one(node: JsonNode, at: &str, fields: &mut Fields) -> Option<TariffSpec> {
    let mut object = Object::open(node, at, KEYS, fields)?;
    let spec = TariffSpec {
        context: object.text("context", TEXT_CHARS_MAX, fields),
        rating_group: whole(&mut object, "rating_group", fields),
        class: whole(&mut object, "class", fields),
        prefix: object.text("prefix", TEXT_CHARS_MAX, fields).unwrap_or_default(),
        hours: object.text("hours", TEXT_CHARS_MAX, fields),
        days: object.texts("days", 7, TEXT_CHARS_MAX, fields),
        utc_offset: object.text("utc_offset", TEXT_CHARS_MAX, fields),
        unit: price(&mut object, "unit", fields),
        octets: price(&mut object, "octets", fields),
        seconds: price(&mut object, "seconds", fields),
    };
    match spec.read() {
        Ok(_) => Some(spec),
        Err((key, why)) => {
            fields.push(format!("{at}.{key}"), why);
            None
        }
    }
}

fn whole<T: TryFrom<i64>>(object: &mut Object, name: &str, fields: &mut Fields) -> Option<T> {
    let node = object.take(name)?;
    let value = match &node {
        JsonNode::Number(number) => number.as_i64().and_then(|value| T::try_from(value).ok()),
        _ => None,
    };
    if value.is_none() {
        fields.push(object.path(name), "must be a whole number within the range of this field");
    }
    value
}

fn price(object: &mut Object, name: &str, fields: &mut Fields) -> Option<Price> {
    let path = object.path(name);
    let node = object.take(name)?;
    let mut price = Object::open(node, &path, &["price", "per"], fields)?;
    let mut amount = |key: &str| {
        let found = whole::<i64>(&mut price, key, fields);
        if found.is_none_or(|found| found < 0) {
            fields.push(price.path(key), "is needed: a whole number of at least 0");
        }
        found.unwrap_or_default().max(0)
    };
    Some(Price { price: amount("price"), per: amount("per") as u64 })
}
