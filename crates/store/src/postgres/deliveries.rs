use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::{Postgres, Work, as_i64, as_limit, as_u64, kept, roster, scan};
use crate::alerts::to_json;
use crate::{Deliveries, Fold, FoldedBlock, StoreError};
use futures_util::future::BoxFuture;
use records::{AlertNo, Answer, Delivery, DeliveryState, EndpointNo, Reason, Timestamp};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Rows of one slice, one transaction.
const SLICE_ROWS_MAX: usize = 5_000;
/// Rows removed in one transaction.
const REMOVED_ROWS_MAX: usize = 10_000;
/// Rows of a page that a caller wants at most; larger pages are cut.
const PAGE_ROWS_MAX: usize = 100_000;

/// The columns of a delivery, in the order `delivery` reads them.
macro_rules! deliveries {
    ($rest:literal) => {
        concat!(
            "SELECT alert, endpoint, state, attempts, last_attempt, parts, parts_accepted, parts_delivered, \
             (SELECT name FROM names WHERE names.no = deliveries.route), \
             reason, detail, submitted, accepted, delivered, due, answer FROM deliveries ",
            $rest
        )
    };
}

const UPSERT: &str = "INSERT INTO deliveries (alert, endpoint, account, route, state, reason, attempts, last_attempt, parts, \
     parts_accepted, parts_delivered, submitted, accepted, delivered, due, detail, answer) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::smallint[], \
     $6::smallint[], $7::smallint[], $8::smallint[], $9::smallint[], $10::integer[], $11::integer[], $12::bigint[], \
     $13::bigint[], $14::bigint[], $15::bigint[], $16::text[], $17::text[]) \
     ON CONFLICT (alert, endpoint) DO UPDATE SET route = excluded.route, state = excluded.state, \
     reason = excluded.reason, attempts = excluded.attempts, last_attempt = excluded.last_attempt, \
     parts = excluded.parts, parts_accepted = excluded.parts_accepted, parts_delivered = excluded.parts_delivered, \
     submitted = excluded.submitted, accepted = excluded.accepted, delivered = excluded.delivered, \
     due = excluded.due, detail = excluded.detail, answer = excluded.answer";
/// Locked until the commit against being removed.
const ACCOUNTS: &str = "SELECT no, account FROM alerts WHERE no = ANY($1) ORDER BY no FOR KEY SHARE";

impl Deliveries for Postgres {
    fn fold_all(&self, fold: Fold) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            // In the order they were asked for: whoever waits here stands in line.
            let _turn = Arc::clone(&self.folding).lock_owned().await;
            let fold = Arc::new(sorted(fold));
            let mut next = 0;
            while next < fold.blocks.len() {
                let to = next + roster::slice_of(&fold.blocks[next..]);
                let slice = (Arc::clone(&fold), next..to);
                let write = Work::new(slice, |link, (fold, range)| {
                    Box::pin(write_blocks(link, &fold.blocks[range.start..range.end]))
                });
                self.write(write.again()).await?;
                next = to;
            }
            next = 0;
            loop {
                let to = fold.deliveries.len().min(next + SLICE_ROWS_MAX);
                let slice = (Arc::clone(&fold), next..to);
                let write = Work::new(slice, |link, (fold, range)| Box::pin(write_slice(link, fold, range)));
                self.write(write.again()).await?;
                next = to;
                if next == fold.deliveries.len() {
                    return Ok(());
                }
            }
        })
    }

    fn folded_to(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.read(Work::new((), |link, ()| Box::pin(position(link, records::OUTCOMES)))))
    }

    fn intake_to(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.read(Work::new((), |link, ()| Box::pin(position(link, records::INTAKE)))))
    }

    fn deliveries_from(
        &self,
        alert: AlertNo,
        from: EndpointNo,
        state: Option<DeliveryState>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Delivery>, StoreError>> {
        let state = state.map(|state| i16::from(state as u8));
        let args = (as_i64(alert.0), i64::from(from.0), state, as_limit(limit.min(PAGE_ROWS_MAX)));
        let page = Work::new(args, |link, (alert, from, state, limit)| {
            Box::pin(page(link, *alert, *from, *state, *limit))
        });
        Box::pin(self.read(page))
    }

    fn scan_deliveries(
        &self,
        alert: AlertNo,
        each: &mut dyn FnMut(&[Delivery]) -> bool,
    ) -> Result<(), StoreError> {
        scan::run(self, scan::Deliveries::of(as_i64(alert.0)), each)
    }
}

/// In key order, which makes a page to be written once; of two with one key the later.
fn sorted(mut fold: Fold) -> Fold {
    fold.deliveries.sort_by_key(|delivery| (delivery.alert, delivery.endpoint));
    fold.deliveries.reverse();
    fold.deliveries.dedup_by_key(|delivery| (delivery.alert, delivery.endpoint));
    fold.deliveries.reverse();
    fold.blocks.sort_by_key(|block| (block.alert, block.first));
    fold.blocks.reverse();
    fold.blocks.dedup_by_key(|block| (block.alert, block.first));
    fold.blocks.reverse();
    fold
}

async fn write_blocks(link: &PgLink, blocks: &[FoldedBlock]) -> Result<(), Trouble> {
    let accounts = accounts_of(link, blocks.iter().map(|block| block.alert)).await?;
    let with_account = |block| -> Option<(&FoldedBlock, i32)> {
        let block: &FoldedBlock = block;
        Some((block, *accounts.get(&as_i64(block.alert.0))?)) // or the alert was removed for its age
    };
    let blocks: Vec<(&FoldedBlock, i32)> = blocks.iter().filter_map(with_account).collect();
    if blocks.is_empty() { Ok(()) } else { roster::overwrite(link, &blocks).await }
}

async fn write_slice(link: &PgLink, fold: &Fold, range: &Range<usize>) -> Result<(), Trouble> {
    let rows = &fold.deliveries[range.start..range.end];
    let accounts = accounts_of(link, rows.iter().map(|delivery| delivery.alert)).await?;
    let routes = routes_of(link, rows).await?;
    let mut columns = Columns::default();
    for delivery in rows {
        let Some(account) = accounts.get(&as_i64(delivery.alert.0)) else {
            continue; // the alert was removed for its age
        };
        columns.push(
            delivery,
            *account,
            delivery.route.as_deref().and_then(|route| routes.get(route)).copied(),
        )?;
    }
    columns.upsert(link).await?;
    super::evidence::note_changes(link, accounts.into_keys().collect()).await?;
    if range.end < fold.deliveries.len() {
        return Ok(());
    }
    let positions = [(records::OUTCOMES, Some(fold.folded_to)), (records::INTAKE, fold.intake_to)];
    for (topic, position) in positions {
        let Some(position) = position else { continue };
        let sql = "INSERT INTO folds (topic, folded_to) VALUES ($1, $2) ON CONFLICT (topic) DO UPDATE SET folded_to = $2";
        link.execute(sql, &[&topic, &as_i64(position)]).await?;
    }
    Ok(())
}

/// The accounts of those of the alerts that are there.
async fn accounts_of(
    link: &PgLink,
    alerts: impl Iterator<Item = AlertNo>,
) -> Result<FxHashMap<i64, i32>, Trouble> {
    let mut numbers: Vec<i64> = alerts.map(|alert| as_i64(alert.0)).collect();
    numbers.dedup();
    if numbers.is_empty() {
        return Ok(FxHashMap::default());
    }
    let rows = link.all(ACCOUNTS, &[&numbers]).await?;
    rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect()
}

/// The numbers of the routes that rows name, given out at their first use.
async fn routes_of<'a>(link: &PgLink, rows: &'a [Delivery]) -> Result<FxHashMap<&'a str, i32>, Trouble> {
    let mut names: Vec<&str> = Vec::new();
    for route in rows.iter().filter_map(|delivery| delivery.route.as_deref()) {
        if names.last() != Some(&route) && !names.contains(&route) {
            names.push(route);
        }
    }
    let mut numbers = FxHashMap::default();
    for name in names {
        let no = loop {
            if let Some(row) = link.one("SELECT no FROM names WHERE name = $1", &[&name]).await? {
                break get(&row, 0)?;
            }
            let sql = "INSERT INTO names (name) VALUES ($1) ON CONFLICT (name) DO NOTHING";
            link.execute(sql, &[&name]).await?;
        };
        numbers.insert(name, no);
    }
    Ok(numbers)
}

/// Rows, column by column.
#[derive(Default)]
struct Columns {
    alert: Vec<i64>,
    endpoint: Vec<i64>,
    account: Vec<i32>,
    route: Vec<Option<i32>>,
    state: Vec<i16>,
    reason: Vec<i16>,
    attempts: Vec<i16>,
    last_attempt: Vec<i16>,
    parts: Vec<i16>,
    parts_accepted: Vec<i32>,
    parts_delivered: Vec<i32>,
    times: [Vec<Option<i64>>; 4],
    detail: Vec<Option<String>>,
    answer: Vec<Option<String>>,
}

impl Columns {
    fn push(&mut self, delivery: &Delivery, account: i32, route: Option<i32>) -> Result<(), StoreError> {
        self.alert.push(as_i64(delivery.alert.0));
        self.endpoint.push(i64::from(delivery.endpoint.0));
        self.account.push(account);
        self.route.push(route);
        self.state.push(i16::from(delivery.state as u8));
        self.reason.push(i16::from(delivery.reason as u8));
        self.attempts.push(i16::from(delivery.attempts));
        self.last_attempt.push(i16::from(delivery.last_attempt));
        self.parts.push(i16::from(delivery.parts));
        self.parts_accepted.push(i32::from(delivery.parts_accepted));
        self.parts_delivered.push(i32::from(delivery.parts_delivered));
        let times = [delivery.submitted, delivery.accepted, delivery.delivered, delivery.due];
        for (column, time) in self.times.iter_mut().zip(times) {
            column.push(time.map(|at| at.0));
        }
        self.detail.push((!delivery.detail.is_empty()).then(|| kept(&delivery.detail)));
        self.answer.push(delivery.answer.as_ref().map(to_json).transpose()?);
        Ok(())
    }

    async fn upsert(&self, link: &PgLink) -> Result<(), Trouble> {
        if self.alert.is_empty() {
            return Ok(());
        }
        let [submitted, accepted, delivered, due] = &self.times;
        let params: [&(dyn ToSql + Sync); 17] = [
            &self.alert,
            &self.endpoint,
            &self.account,
            &self.route,
            &self.state,
            &self.reason,
            &self.attempts,
            &self.last_attempt,
            &self.parts,
            &self.parts_accepted,
            &self.parts_delivered,
            submitted,
            accepted,
            delivered,
            due,
            &self.detail,
            &self.answer,
        ];
        link.execute(UPSERT, &params).await?;
        Ok(())
    }
}

async fn position(link: &PgLink, topic: &str) -> Result<u64, Trouble> {
    let row = link.one("SELECT folded_to FROM folds WHERE topic = $1", &[&topic]).await?;
    Ok(row.map(|row| get(&row, 0)).transpose()?.map_or(0, as_u64))
}

/// Deliveries of an alert in key order.
pub(super) async fn page(
    link: &PgLink,
    alert: i64,
    from: i64,
    state: Option<i16>,
    limit: i64,
) -> Result<Vec<Delivery>, Trouble> {
    let rows = match state {
        Some(state) => {
            let sql =
                deliveries!("WHERE alert = $1 AND endpoint >= $2 AND state = $4 ORDER BY endpoint LIMIT $3");
            let params: Params<'_> = &[&alert, &from, &limit, &state];
            link.all(sql, params).await?
        }
        None => {
            let sql = deliveries!("WHERE alert = $1 AND endpoint >= $2 ORDER BY endpoint LIMIT $3");
            link.all(sql, &[&alert, &from, &limit]).await?
        }
    };
    rows.iter().map(delivery).collect()
}

fn delivery(row: &Row) -> Result<Delivery, Trouble> {
    let (alert, endpoint): (i64, i64) = (get(row, 0)?, get(row, 1)?);
    let damaged = |why: String| StoreError::Damaged { what: format!("delivery {alert}/{endpoint}: {why}") };
    let small = |column| -> Result<u8, Trouble> {
        Ok(u8::try_from(get::<i16>(row, column)?).map_err(|error| damaged(error.to_string()))?)
    };
    let bits = |column| -> Result<u16, Trouble> {
        Ok(u16::try_from(get::<i32>(row, column)?).map_err(|error| damaged(error.to_string()))?)
    };
    let time = |column| -> Result<Option<Timestamp>, Trouble> {
        Ok(get::<Option<i64>>(row, column)?.map(Timestamp))
    };
    let (state, reason) = (small(2)?, small(9)?);
    let answer: Option<Answer> = match get::<Option<&str>>(row, 15)? {
        Some(json) => serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?,
        None => None,
    };
    let numbered = DeliveryState::ALL.into_iter().find(|known| *known as u8 == state);
    Ok(Delivery {
        alert: AlertNo(as_u64(alert)),
        endpoint: EndpointNo(u32::try_from(endpoint).map_err(|error| damaged(error.to_string()))?),
        state: numbered.ok_or_else(|| damaged(format!("state {state} is unknown")))?,
        attempts: small(3)?,
        last_attempt: small(4)?,
        parts: small(5)?,
        parts_accepted: bits(6)?,
        parts_delivered: bits(7)?,
        route: get(row, 8)?,
        reason: Reason::from_number(reason).ok_or_else(|| damaged(format!("reason {reason} is unknown")))?,
        detail: get::<Option<String>>(row, 10)?.unwrap_or_default(),
        submitted: time(11)?,
        accepted: time(12)?,
        delivered: time(13)?,
        due: time(14)?,
        answer,
    })
}

/// Removes some deliveries of an alert. False if there was none.
pub(super) async fn remove_some(link: &PgLink, alert: i64) -> Result<bool, Trouble> {
    let sql = "DELETE FROM deliveries WHERE alert = $1 AND endpoint <= \
         (SELECT max(endpoint) FROM \
          (SELECT endpoint FROM deliveries WHERE alert = $1 ORDER BY endpoint LIMIT $2) AS first_few)";
    Ok(link.execute(sql, &[&alert, &as_limit(REMOVED_ROWS_MAX)]).await? > 0)
}
