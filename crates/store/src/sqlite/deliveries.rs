use super::{JobStep, Lane, Sqlite, Tx, as_i64, as_limit, as_u64};
use crate::alerts::to_json;
use crate::{Deliveries, Fold, StoreError};
use futures_util::future::BoxFuture;
use records::{AlertNo, Answer, Delivery, DeliveryState, EndpointNo, Reason, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, Statement, params};
use rustc_hash::FxHashMap;

/// Rows of one slice, one transaction.
const SLICE_ROWS_MAX: usize = 2_000;
/// Rows between two looks whether somebody has more haste.
const HURRY_ROWS: usize = 64;
/// Rows removed in one transaction.
const REMOVED_ROWS_MAX: usize = 2_000;
/// Deliveries handed to a scan's callback at a time.
const SCAN_ROWS: usize = 1_024;
const COLUMNS: &str = "alert, endpoint, state, attempts, last_attempt, parts, parts_accepted, parts_delivered, \
     (SELECT name FROM names WHERE names.no = deliveries.route), \
     reason, detail, submitted, accepted, delivered, due, answer";

const UPSERT: &str = "INSERT OR REPLACE INTO deliveries (alert, endpoint, account, state, attempts, last_attempt, \
     parts, parts_accepted, parts_delivered, route, reason, detail, submitted, accepted, delivered, due, answer) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

impl Deliveries for Sqlite {
    fn fold_all(&self, fold: Fold) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let Fold { mut deliveries, mut blocks, folded_to, intake_to } = fold;
            deliveries.sort_by_key(|delivery| (delivery.alert, delivery.endpoint));
            blocks.sort_by_key(|block| (block.alert, block.first));
            let (mut next, mut next_block) = (0, 0);
            let fold = move |tx: &Tx<'_>| {
                if next_block < blocks.len() {
                    next_block += super::roster::overwrite(tx, &blocks[next_block..])?;
                    if next_block < blocks.len() || tx.hurry() {
                        return Ok(JobStep::More);
                    }
                }
                let begun = next;
                let mut accounts = FxHashMap::default();
                let mut insert = tx.prepare_cached(UPSERT)?;
                while next < deliveries.len() && next - begun < SLICE_ROWS_MAX {
                    upsert(tx, &mut insert, &mut accounts, &deliveries[next])?;
                    next += 1;
                    if next.is_multiple_of(HURRY_ROWS) && tx.hurry() {
                        break;
                    }
                }
                super::evidence::note_changes(tx, accounts.keys().copied())?;
                if next < deliveries.len() {
                    return Ok(JobStep::More);
                }
                let positions = [(records::OUTCOMES, Some(folded_to)), (records::INTAKE, intake_to)];
                for (topic, position) in positions {
                    let Some(position) = position else { continue };
                    tx.prepare_cached("INSERT OR REPLACE INTO folds (topic, folded_to) VALUES (?1, ?2)")?
                        .execute((topic, as_i64(position)))?;
                }
                Ok(JobStep::Done(()))
            };
            self.write_slices(Lane::Soon, fold).await
        })
    }

    fn folded_to(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.read(|connection| position(connection, records::OUTCOMES)))
    }

    fn intake_to(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.read(|connection| position(connection, records::INTAKE)))
    }

    fn deliveries_from(
        &self,
        alert: AlertNo,
        from: EndpointNo,
        state: Option<DeliveryState>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Delivery>, StoreError>> {
        let page = move |connection: &Connection| {
            let mut page = Vec::new();
            if limit > 0 {
                walk(connection, alert, from, state, &mut |delivery| {
                    page.push(delivery);
                    page.len() < limit
                })?;
            }
            Ok(page)
        };
        Box::pin(self.read(page))
    }

    fn scan_deliveries(
        &self,
        alert: AlertNo,
        each: &mut dyn FnMut(&[Delivery]) -> bool,
    ) -> Result<(), StoreError> {
        self.readers.here(|connection| {
            let mut slice = Vec::with_capacity(SCAN_ROWS);
            let mut go_on = true;
            walk(connection, alert, EndpointNo(0), None, &mut |delivery| {
                slice.push(delivery);
                if slice.len() == SCAN_ROWS {
                    go_on = each(&slice);
                    slice.clear();
                }
                go_on
            })?;
            if go_on && !slice.is_empty() {
                each(&slice);
            }
            Ok(())
        })
    }
}

fn upsert(
    tx: &Tx<'_>,
    insert: &mut Statement<'_>,
    accounts: &mut FxHashMap<AlertNo, Option<i64>>,
    delivery: &Delivery,
) -> Result<(), StoreError> {
    let account = match accounts.get(&delivery.alert) {
        Some(account) => *account,
        None => *accounts.entry(delivery.alert).or_insert(account_of(tx, delivery.alert)?),
    };
    let Some(account) = account else {
        return Ok(()); // the alert was removed for its age
    };
    let route = delivery.route.as_deref().map(|route| tx.name_no(route)).transpose()?;
    let answer = delivery.answer.as_ref().map(to_json).transpose()?;
    insert.execute(params![
        as_i64(delivery.alert.0),
        delivery.endpoint.0,
        account,
        delivery.state as u8,
        delivery.attempts,
        delivery.last_attempt,
        delivery.parts,
        delivery.parts_accepted,
        delivery.parts_delivered,
        route,
        delivery.reason as u8,
        (!delivery.detail.is_empty()).then_some(&delivery.detail),
        delivery.submitted.map(|at| at.0),
        delivery.accepted.map(|at| at.0),
        delivery.delivered.map(|at| at.0),
        delivery.due.map(|at| at.0),
        answer,
    ])?;
    Ok(())
}

fn position(connection: &Connection, topic: &str) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached("SELECT folded_to FROM folds WHERE topic = ?1")?;
    Ok(select.query_row([topic], |row| row.get(0)).optional()?.map_or(0, as_u64))
}

pub(super) fn account_of(tx: &Tx<'_>, alert: AlertNo) -> Result<Option<i64>, StoreError> {
    let mut select = tx.prepare_cached("SELECT account FROM alerts WHERE no = ?1")?;
    Ok(select.query_row([as_i64(alert.0)], |row| row.get(0)).optional()?)
}

fn walk(
    connection: &Connection,
    alert: AlertNo,
    from: EndpointNo,
    state: Option<DeliveryState>,
    each: &mut dyn FnMut(Delivery) -> bool,
) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM deliveries WHERE alert = ?1 AND endpoint >= ?2 AND (?3 IS NULL OR state = ?3) \
         ORDER BY endpoint"
    ))?;
    let mut rows = select.query((as_i64(alert.0), from.0, state.map(|state| state as u8)))?;
    while let Some(row) = rows.next()? {
        if !each(delivery(row)?) {
            break;
        }
    }
    Ok(())
}

fn delivery(row: &Row<'_>) -> Result<Delivery, StoreError> {
    let (alert, endpoint): (i64, u32) = (row.get(0)?, row.get(1)?);
    let damaged = |why: String| StoreError::Damaged { what: format!("delivery {alert}/{endpoint}: {why}") };
    let (state, reason): (u8, u8) = (row.get(2)?, row.get(9)?);
    let time = |column| row.get::<_, Option<i64>>(column).map(|at| at.map(Timestamp));
    let answer: Option<Answer> =
        match row.get_ref(15)?.as_str_or_null().map_err(|error| damaged(error.to_string()))? {
            Some(json) => serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?,
            None => None,
        };
    Ok(Delivery {
        alert: AlertNo(as_u64(alert)),
        endpoint: EndpointNo(endpoint),
        state: state_numbered(state).ok_or_else(|| damaged(format!("state {state} is unknown")))?,
        attempts: row.get(3)?,
        last_attempt: row.get(4)?,
        parts: row.get(5)?,
        parts_accepted: row.get(6)?,
        parts_delivered: row.get(7)?,
        route: row.get(8)?,
        reason: Reason::from_number(reason).ok_or_else(|| damaged(format!("reason {reason} is unknown")))?,
        detail: row.get::<_, Option<String>>(10)?.unwrap_or_default(),
        submitted: time(11)?,
        accepted: time(12)?,
        delivered: time(13)?,
        due: time(14)?,
        answer,
    })
}

fn state_numbered(number: u8) -> Option<DeliveryState> {
    DeliveryState::ALL.into_iter().find(|state| *state as u8 == number)
}

/// Removes some deliveries of an alert. False if there was none.
pub(super) fn remove_some(tx: &Tx<'_>, alert: i64) -> Result<bool, StoreError> {
    let removed = tx
        .prepare_cached(
            "DELETE FROM deliveries WHERE alert = ?1 AND endpoint <= \
             (SELECT max(endpoint) FROM \
              (SELECT endpoint FROM deliveries WHERE alert = ?1 ORDER BY endpoint LIMIT ?2))",
        )?
        .execute((alert, as_limit(REMOVED_ROWS_MAX)))?;
    Ok(removed > 0)
}
