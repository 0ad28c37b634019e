//! Records of forecasts in the store, as documents: what each route did in the last 30 days, one for a route,
//! and the forecast of each alert.

use crate::forecast::{Forecast, KeptForecast};
use crate::plan::RouteDays;
use crate::report::rfc3339;
use records::{Account, AlertId, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use store::{DocumentKind, DocumentWritten, Expected, NewDocument, Store, StoreError};

/// Routes whose days are read.
const ROUTES_MAX: usize = 10_000;
/// Routes read in one go.
const ROUTES_AT_ONCE: usize = 500;
/// A document that another process changes at the same time is tried so often.
const TRIES: u32 = 5;
/// A forecast is kept for so long, in seconds: a drill of last year can still be compared.
const KEPT_S: i64 = 400 * 86_400;
/// Forecasts that are removed in one go.
const REMOVED_AT_ONCE: usize = 100;

/// A forecast as it is kept with an alert.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ForecastRecord {
    pub forecast: KeptForecast,
    /// Devices of alerts that came later and did not go behind it.
    #[serde(default)]
    pub later: u64,
}

/// What routes did, by their names.
pub async fn read_days(store: &dyn Store) -> Result<BTreeMap<String, RouteDays>, StoreError> {
    let (mut days, mut after) = (BTreeMap::new(), String::new());
    while days.len() < ROUTES_MAX {
        let kind = DocumentKind::RouteDays;
        let page = store.documents_after(Account::DEFAULT, kind, &after, ROUTES_AT_ONCE).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.id);
        for document in page {
            let of_route = read(&document.body)?;
            days.insert(document.id, of_route);
        }
    }
    Ok(days)
}

/// Adds what routes did since it was written last.
pub async fn save_days(
    store: &dyn Store,
    later: &BTreeMap<String, RouteDays>,
    now: Timestamp,
) -> Result<(), StoreError> {
    for (route, later) in later.iter().filter(|(_, days)| !days.is_empty()) {
        let add = |days: &mut RouteDays| days.add(later, now);
        change(store, (Account::DEFAULT, DocumentKind::RouteDays, route), None, now, add).await?;
    }
    remove_old(store, now).await
}

async fn remove_old(store: &dyn Store, now: Timestamp) -> Result<(), StoreError> {
    for (account, old) in store.due_documents(DocumentKind::AlertForecast, now, REMOVED_AT_ONCE).await? {
        store.delete_document(&account, DocumentKind::AlertForecast, &old.id, Expected::Any).await?;
    }
    Ok(())
}

/// The forecast of an alert.
pub async fn read_forecast(
    store: &dyn Store,
    account: &str,
    id: AlertId,
) -> Result<Option<ForecastRecord>, StoreError> {
    let found = store.document(account, DocumentKind::AlertForecast, &id.to_string()).await?;
    found.map(|document| read(&document.body)).transpose()
}

/// Keeps a forecast with its alert; one that is there already stays.
pub async fn save_forecast(
    store: &dyn Store,
    account: &str,
    id: AlertId,
    forecast: Forecast,
    now: Timestamp,
) -> Result<(), StoreError> {
    let record = ForecastRecord { forecast: KeptForecast::of(forecast, rfc3339(now)), later: 0 };
    let (id, due) = (id.to_string(), Some(now.plus_s(KEPT_S)));
    let document = NewDocument { id, lookup: None, due, body: written(&record)? };
    let kind = DocumentKind::AlertForecast;
    store.put_document(account, kind, document, Expected::Absent, now).await.map(|_| ())
}

/// Notes how many devices came later.
pub async fn save_later(
    store: &dyn Store,
    account: &str,
    id: AlertId,
    later: u64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (id, due) = (id.to_string(), Some(now.plus_s(KEPT_S)));
    let add = |record: &mut ForecastRecord| record.later = later;
    change(store, (account, DocumentKind::AlertForecast, &id), due, now, add).await
}

/// Reads a document, changes it, and writes it in the place of what was read.
async fn change<T: Default + Serialize + DeserializeOwned>(
    store: &dyn Store,
    (account, kind, id): (&str, DocumentKind, &str),
    due: Option<Timestamp>,
    now: Timestamp,
    change: impl Fn(&mut T),
) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let found = store.document(account, kind, id).await?;
        let expected = found.as_ref().map_or(Expected::Absent, |found| Expected::Version(found.version));
        let mut value: T = match &found {
            Some(found) => read(&found.body)?,
            None => T::default(),
        };
        change(&mut value);
        let document = NewDocument { id: id.to_owned(), lookup: None, due, body: written(&value)? };
        match store.put_document(account, kind, document, expected, now).await? {
            DocumentWritten::Done(_) => return Ok(()),
            DocumentWritten::Conflict(_) | DocumentWritten::LookupTaken => {}
        }
    }
    Err(StoreError::Conflict { why: format!("{} {id} was changed {TRIES} times meanwhile", kind.name()) })
}

fn read<T: DeserializeOwned>(body: &str) -> Result<T, StoreError> {
    serde_json::from_str(body)
        .map_err(|error| StoreError::Database { why: format!("a forecast's record: {error}") })
}

fn written<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Database { why: format!("a forecast's record: {error}") })
}
