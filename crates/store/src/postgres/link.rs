//! Connections, and the pool they come from.

use super::error::Trouble;
use super::url::PgServer;
use super::{ANSWER_WITHIN_MIN, CONNECT_WITHIN};
use crate::{Fence, StoreError};
use bytes::Bytes;
use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use deadpool::{Runtime, managed::Timeouts};
use futures_util::future;
use rustc_hash::FxHashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, CopyInSink, Row, Statement};

/// The oldest server that knows all we ask of it.
const VERSION_MIN: u32 = 13;
/// A connection that was idle for so long is asked whether it still stands.
const ASKED_AFTER: Duration = Duration::from_secs(15);
/// For this a session is set up alike, whatever the server's defaults are. Every question has an index; a
/// plan that reads or sorts a whole table is one of a table without statistics. A transaction that its
/// process forgot (a machine that stands still) is ended, so that it does not hold the lease it wrote under
/// against the next holder. A commit is on disk before it is answered.
const SESSION: &str = "SET lock_timeout = '15s'; SET idle_in_transaction_session_timeout = '10s'; \
     SET client_min_messages = warning; SET TimeZone = 'UTC'; SET jit = off; \
     SET enable_seqscan = off; SET enable_bitmapscan = off; SET search_path TO DEFAULT; \
     SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')";

pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];
pub(super) type Pool = managed::Pool<Links>;

/// One connection. Lent to one at a time.
pub(super) struct PgLink {
    client: Client,
    /// By their text, which is always a literal of ours: so there are few.
    statements: Mutex<FxHashMap<&'static str, Statement>>,
    pump: AbortHandle,
    spent: AtomicBool,
}

impl PgLink {
    /// All rows.
    pub(super) async fn all(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Trouble> {
        let statement = self.prepared(sql).await?;
        Ok(self.client.query(&statement, params).await?)
    }

    /// The first row.
    pub(super) async fn one(&self, sql: &'static str, params: Params<'_>) -> Result<Option<Row>, Trouble> {
        Ok(self.all(sql, params).await?.into_iter().next())
    }

    /// Has these ready, so that they can be sent together.
    pub(super) async fn prepare(&self, all: &[&'static str]) -> Result<(), Trouble> {
        for sql in all {
            self.prepared(sql).await?;
        }
        Ok(())
    }

    /// How many rows were changed.
    pub(super) async fn execute(&self, sql: &'static str, params: Params<'_>) -> Result<u64, Trouble> {
        let statement = self.prepared(sql).await?;
        Ok(self.client.execute(&statement, params).await?)
    }

    /// Something without parameters and without an answer.
    pub(super) async fn simple(&self, sql: &str) -> Result<(), Trouble> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Writes rows by COPY, the fastest way in.
    pub(super) async fn copy<const N: usize>(
        &self,
        sql: &'static str,
        types: [Type; N],
        rows: impl Iterator<Item = [&(dyn ToSql + Sync); N]>,
    ) -> Result<u64, Trouble> {
        let statement = self.prepared(sql).await?;
        let sink: CopyInSink<Bytes> = self.client.copy_in(&statement).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        for row in rows {
            writer.as_mut().write(&row).await?;
        }
        Ok(writer.finish().await?)
    }

    /// Writes rows of any columns by COPY: for a transfer, whose statements are made of names of columns.
    pub(super) async fn copy_cells(
        &self,
        sql: &str,
        types: &[Type],
        rows: Vec<Vec<Box<dyn ToSql + Sync + Send>>>,
    ) -> Result<(), Trouble> {
        let sink: CopyInSink<Bytes> = self.client.copy_in(sql).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
        for row in &rows {
            let cells: Vec<&(dyn ToSql + Sync)> =
                row.iter().map(|cell| &**cell as &(dyn ToSql + Sync)).collect();
            writer.as_mut().write(&cells).await?;
        }
        writer.finish().await?;
        Ok(())
    }

    /// One number, of a statement that is made for the occasion.
    pub(super) async fn number(&self, sql: &str) -> Result<i64, Trouble> {
        get(&self.client.query_one(sql, &[]).await?, 0)
    }

    /// Begins a transaction, behind a fence if there is one; both in one round trip.
    pub(super) async fn begin(&self, begin: &str, fence: Option<&Fence>) -> Result<(), Trouble> {
        let Some(fence) = fence else { return self.simple(begin).await };
        let epoch = super::as_i64(fence.epoch);
        let params: Params<'_> = &[&fence.lease, &epoch];
        let asked = self.one(super::leases::FENCE, params);
        let (begun, held) = future::join(self.simple(begin), asked).await;
        begun?;
        match held? {
            Some(_) => Ok(()),
            None => Err(StoreError::Fenced { lease: fence.lease.clone() }.into()),
        }
    }

    /// Not to be used again: nobody knows what the server still does on it.
    pub(super) fn spend(&self) {
        self.spent.store(true, Ordering::Relaxed);
    }

    async fn prepared(&self, sql: &'static str) -> Result<Statement, Trouble> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).insert(sql, statement.clone());
        Ok(statement)
    }
}

impl Drop for PgLink {
    fn drop(&mut self) {
        // A connection in order says goodbye by itself once its client is gone.
        if self.spent.load(Ordering::Relaxed) {
            self.pump.abort();
        }
    }
}

/// A column of a row.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Trouble> {
    let damaged = |error: tokio_postgres::Error| StoreError::Damaged { what: super::error::words(&error) };
    Ok(row.try_get(column).map_err(damaged)?)
}

/// Makes connections.
pub(super) struct Links {
    pub(super) server: PgServer,
    /// How long the server may take for one statement.
    pub(super) statement_timeout: Duration,
}

impl Links {
    /// A pool of at most `size`.
    pub(super) fn pool(self, size: usize) -> Result<Pool, StoreError> {
        let wait = self.statement_timeout.max(ANSWER_WITHIN_MIN);
        let timeouts =
            Timeouts { wait: Some(wait), create: Some(CONNECT_WITHIN), recycle: Some(CONNECT_WITHIN) };
        let pool = managed::Pool::builder(self).max_size(size).timeouts(timeouts).runtime(Runtime::Tokio1);
        pool.build().map_err(|error| StoreError::Database { why: error.to_string() })
    }

    /// One connection, set up.
    pub(super) async fn connect(&self) -> Result<PgLink, Trouble> {
        let (client, pump) = self.server.connect().await?;
        let link = PgLink { client, statements: Mutex::default(), pump, spent: AtomicBool::new(false) };
        let version = link.client.query_one_scalar::<String, _>("SHOW server_version_num", &[]).await?;
        new_enough(&version)?;
        let session = format!("{SESSION}; SET statement_timeout = {}", self.statement_timeout.as_millis());
        link.simple(&session).await?;
        Ok(link)
    }
}

/// By `server_version_num`, such as 150018.
fn new_enough(version: &str) -> Result<(), StoreError> {
    let major = version.parse::<u32>().unwrap_or(0) / 10_000;
    if major < VERSION_MIN {
        let why = format!("the server is PostgreSQL {major}: {VERSION_MIN} or later is needed");
        return Err(StoreError::Conflict { why });
    }
    Ok(())
}

impl managed::Manager for Links {
    type Type = PgLink;
    type Error = Trouble;

    async fn create(&self) -> Result<PgLink, Trouble> {
        self.connect().await
    }

    async fn recycle(&self, link: &mut PgLink, metrics: &Metrics) -> RecycleResult<Trouble> {
        if link.spent.load(Ordering::Relaxed) || link.client.is_closed() {
            return Err(RecycleError::message("the connection is gone"));
        }
        if metrics.last_used() >= ASKED_AFTER {
            let stands = tokio::time::timeout(CONNECT_WITHIN, link.simple("")).await;
            if !matches!(stands, Ok(Ok(()))) {
                link.spend();
                return Err(RecycleError::message("the connection does not answer"));
            }
        }
        Ok(())
    }
}

/// Of a pool whose connections are all lent: no fault of the server.
pub(super) const ALL_BUSY: &str = "all connections are busy";

/// A connection from a pool.
pub(super) async fn lend(pool: &Pool) -> Result<managed::Object<Links>, Trouble> {
    use deadpool::managed::{PoolError, TimeoutType};
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(trouble) => trouble,
        PoolError::Timeout(TimeoutType::Wait) => Trouble::Lost(ALL_BUSY.to_owned()),
        PoolError::Timeout(_) => Trouble::Lost("the server does not take a connection".to_owned()),
        PoolError::Closed => Trouble::Refused(StoreError::Closed),
        PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
            Trouble::Lost("the pool gives no connection".to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_refused() {
        for old in ["120022", "90624", "?"] {
            assert!(matches!(new_enough(old), Err(StoreError::Conflict { .. })), "{old}");
        }
        for new in ["130000", "150018", "180001"] {
            assert_eq!(new_enough(new), Ok(()), "{new}");
        }
    }
}
