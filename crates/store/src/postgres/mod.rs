//! The store on PostgreSQL, for several processes at once.
//!
//! - Each change is a transaction on a connection of a small pool; what SQLite's one writer puts in order is
//!   ordered by row locks: an account's recipients and groups by the account's row, an alert's roster by the
//!   alert's, numbers of alerts by their counter's.
//! - A fence is asked after within each transaction that writes, by a lock on the lease's row that only a
//!   change of hands conflicts with.
//! - What failed before it was committed is tried again for a bounded time; what may have been committed only
//!   if doing it twice is doing it once. Then it is [`StoreError::Unreachable`].
//! - All runs on threads of the store's own, so that it does not matter who asks, and what was begun ends
//!   though who asked has gone.

mod alerts;
mod approvals;
mod attachments;
mod attributes;
mod audit;
mod cap_messages;
mod deliveries;
mod documents;
mod error;
mod evidence;
mod groups;
mod import_jobs;
mod leases;
mod ledger;
mod link;
mod migrate;
mod observers;
mod opt_outs;
mod privacy;
mod recipients;
mod revisions;
mod roster;
mod scan;
mod search;
mod sessions;
mod staging;
mod sweep;
#[cfg(test)]
mod tests;
mod tokens;
pub mod transfer;
mod url;
mod watch;
mod words;
mod work;

use crate::attachments::NAMED_KEPT_S;
use crate::staged::Staging;
use crate::{Fence, LedgerLog, SharedStore, StopHasher, Store, StoreError};
use error::Trouble;
use futures_util::future::BoxFuture;
use link::{Links, PgLink, Pool, get};
use records::{ServerTrouble, TroubleTracker};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore};
use work::Work;

/// Questions and changes under way or waiting for a connection; more callers wait outside.
const ASKED_MAX: usize = 4_096;
/// A server that does not take a connection for so long is not there.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Waits for a connection of the pool are at least so long.
const ANSWER_WITHIN_MIN: Duration = Duration::from_secs(5);
/// Threads that move octets and read rows.
const THREADS: usize = 2;

/// How to use a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Connections at most, at least 2; one more is the leases', one the watch's over the server.
    pub connections: usize,
    /// Instead of the one in the URL.
    pub password: Option<String>,
    /// What the server does not answer for so long is [`StoreError::Unreachable`].
    pub answer_within: Duration,
    /// What failed because the server was away is tried again for so long.
    pub patience: Duration,
    /// At the opening a server that is not there yet is waited for so long; nothing: as `patience` says.
    pub opened_within: Option<Duration>,
    /// Where imports are put in order before they are written; the files have no names.
    pub spool: PathBuf,
    /// Remove superseded and abandoned rows of imports in the background. Without, they only cost room and
    /// time.
    pub sweep: bool,
    /// Open it although a transfer into it has not ended ([`transfer`]).
    pub unfinished: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        PostgresOptions {
            connections: 8,
            password: None,
            answer_within: Duration::from_secs(30),
            patience: Duration::from_secs(10),
            opened_within: None,
            spool: std::env::temp_dir(),
            sweep: true,
            unfinished: false,
        }
    }
}

/// Opens the database at `url` (`postgres://USER@HOST:PORT/DATABASE?sslmode=MODE`) and brings it to this
/// program's form. Blocks; spawns the store's threads, which end with the store. Several processes may do it
/// at once.
///
/// # Errors
/// [`StoreError::Unreachable`], or a server that is too old, or a database that is of a newer form or belongs
/// to another program.
pub fn open(url: &str, options: &PostgresOptions) -> Result<SharedStore, StoreError> {
    Ok(Arc::new(Postgres::open(url, options)?))
}

/// The store on a server, for anybody or for whoever holds a lease.
struct Postgres {
    parts: Arc<PostgresParts>,
    fence: Option<Fence>,
}

impl Deref for Postgres {
    type Target = Arc<Base>;
    fn deref(&self) -> &Arc<Base> {
        &self.parts.base
    }
}

/// What ends with the last handle of the store.
struct PostgresParts {
    base: Arc<Base>,
    runtime: Option<Runtime>,
}

impl Drop for PostgresParts {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background(); // may be called from anywhere, also from a thread that must not block
        }
    }
}

/// Connections, by what they are for.
struct Pools {
    general: Pool,
    /// Of one connection, so that a lease is renewed whoever else waits.
    lease: Pool,
    /// Made as they are needed: without a ledger none.
    ledger: Pool,
}

/// What all that runs shares.
struct Base {
    pools: Pools,
    answer_within: Duration,
    patience: Duration,
    /// What is wrong with the server now.
    trouble: TroubleTracker,
    /// The server's disk was full when something was written last.
    is_full: AtomicBool,
    permits: Arc<Semaphore>,
    closing: AtomicBool,
    /// Held by what may take long: so connections are left for what may not.
    bulk: Semaphore,
    /// Held by the fold that is under way: folds are done in the order they were asked for.
    folding: Arc<Mutex<()>>,
    staging: Staging,
    sweep: Notify,
    handle: Handle,
    stops: OnceLock<StopHasher>,
    /// How long the files of an alert are kept, seconds after it.
    named_kept_s: AtomicI64,
}

impl Postgres {
    fn open(url: &str, options: &PostgresOptions) -> Result<Postgres, StoreError> {
        let server = url::PgServer::parse(url, options)?;
        let links = || Links { server: server.clone(), statement_timeout: options.answer_within };
        let connections = options.connections.max(2);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("store-postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Database { why: format!("no thread could be started: {error}") })?;
        let name = format!("campanile-{}", uuid::Uuid::now_v7());
        let base = Base {
            pools: Pools {
                general: links().pool(connections)?,
                lease: links().pool(1)?,
                ledger: links().pool(ledger::CONNECTIONS)?,
            },
            answer_within: options.answer_within,
            patience: options.patience,
            trouble: TroubleTracker::new(server.name()),
            is_full: AtomicBool::new(false),
            permits: Arc::new(Semaphore::new(ASKED_MAX)),
            closing: AtomicBool::new(false),
            bulk: Semaphore::new(connections / 2),
            folding: Arc::default(),
            staging: Staging::new(&options.spool.join(name)),
            sweep: Notify::new(),
            handle: runtime.handle().clone(),
            stops: OnceLock::new(),
            named_kept_s: AtomicI64::new(NAMED_KEPT_S),
        };
        let parts = PostgresParts { base: Arc::new(base), runtime: Some(runtime) };
        let store = Postgres { parts: Arc::new(parts), fence: None };
        let until = tokio::time::Instant::now() + options.opened_within.unwrap_or(options.patience);
        let first = links();
        store.block_on(|base| async move { watch::await_server(&base, &first, until).await })?;
        let migrating = Work::new(options.unfinished, |link, unfinished| {
            Box::pin(async move {
                migrate::migrate(link).await?;
                if *unfinished { Ok(()) } else { transfer::refuse_unfinished(link).await }
            })
        });
        let migrating = migrating.again();
        store.block_on(|base| async move { base.change(&migrating).await })?;
        store.handle.spawn(watch::run(Arc::clone(&store), links()));
        store.handle.spawn(staging::keep(Arc::clone(&store)));
        if options.sweep {
            store.handle.spawn(sweep::run(Arc::clone(&store)));
        }
        Ok(store)
    }

    /// A transaction under the fence.
    async fn write<A, T>(&self, work: Work<A, T>) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let work = work.behind(self.fence.clone());
        self.on_runtime(|base| async move { base.change(&work).await }).await
    }

    /// Statements that each see what is there.
    async fn read<A, T>(&self, work: Work<A, T>) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.on_runtime(|base| async move { base.look(&work).await }).await
    }

    /// Statements that see one moment.
    async fn snapshot<A, T>(&self, work: Work<A, T>) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.on_runtime(|base| async move { base.look_at_once(&work).await }).await
    }

    /// Does something on the store's threads; it ends though who asked has gone.
    async fn on_runtime<T, F>(&self, run: impl FnOnce(Arc<Base>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let permit = self.enter().await?;
        let running = run(Arc::clone(self));
        let task = self.handle.spawn(async move {
            let _permit = permit;
            running.await
        });
        task.await.unwrap_or(Err(StoreError::Closed)) // it panicked, or the store was dropped
    }

    /// The same for a thread that waits, whatever thread that is.
    fn block_on<T, F>(&self, run: impl FnOnce(Arc<Base>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let base = Arc::clone(self);
        let running = run(Arc::clone(self));
        let (reply, answer) = std::sync::mpsc::channel();
        self.handle.spawn(async move {
            let answer = match base.enter().await {
                Ok(_permit) => running.await,
                Err(error) => Err(error),
            };
            let _ = reply.send(answer); // who asked waits below
        });
        answer.recv().unwrap_or(Err(StoreError::Closed))
    }
}

impl Base {
    async fn enter(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        if self.closing.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)
    }

    /// For what goes on by itself, or in many pieces: not once the store closes.
    fn go_on(&self) -> Result<(), StoreError> {
        if self.closing.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    async fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.sweep.notify_waiters();
        let all = u32::try_from(ASKED_MAX).unwrap_or(u32::MAX);
        // Whoever was let in is answered first. An error: another has closed it meanwhile.
        let _all = self.permits.acquire_many(all).await;
        self.permits.close();
        for pool in [&self.pools.general, &self.pools.lease, &self.pools.ledger] {
            pool.close();
        }
    }
}

impl Store for Postgres {
    fn fenced(&self, fence: Fence) -> SharedStore {
        Arc::new(Postgres { parts: Arc::clone(&self.parts), fence: Some(fence) })
    }

    fn house(&self) -> BoxFuture<'_, Result<uuid::Uuid, StoreError>> {
        let house = Work::new((), |link, ()| {
            Box::pin(async move {
                let row = link.one("SELECT id FROM house", &[]).await?;
                let absent = || StoreError::Damaged { what: "the house has no id".to_owned() };
                get(&row.ok_or_else(absent)?, 0)
            })
        });
        Box::pin(self.read(house))
    }

    fn pair(&self) -> BoxFuture<'_, Result<Option<uuid::Uuid>, StoreError>> {
        let pair = Work::new((), |link, ()| {
            Box::pin(async move {
                let row = link.one("SELECT pair FROM house", &[]).await?;
                let absent = || StoreError::Damaged { what: "the house has no id".to_owned() };
                get(&row.ok_or_else(absent)?, 0)
            })
        });
        Box::pin(self.read(pair))
    }

    fn set_pair(&self, pair: uuid::Uuid) -> BoxFuture<'_, Result<(), StoreError>> {
        let set = Work::new(pair, |link, pair| {
            Box::pin(async move {
                link.execute("UPDATE house SET pair = $1", &[pair]).await?;
                Ok(())
            })
        });
        Box::pin(async move { self.on_runtime(|base| async move { base.change(&set.again()).await }).await })
    }

    fn trouble(&self) -> Option<ServerTrouble> {
        self.trouble.current()
    }

    fn set_stop_key(&self, key: [u8; 32]) {
        self.stops.get_or_init(|| StopHasher::new(&key));
    }

    fn ledger_log(&self) -> Option<Arc<dyn LedgerLog>> {
        Some(Arc::new(Postgres { parts: Arc::clone(&self.parts), fence: None }))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            Base::close(self).await;
            Ok(())
        })
    }
}

/// PostgreSQL's integers are signed; ours stay far below 2^63.
fn as_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Back again. Nothing negative is ever stored where this is used.
fn as_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A number of rows for LIMIT.
fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// PostgreSQL keeps every character but U+0000, which a carrier's words might hold.
fn kept(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The number of an account, if anything was ever stored for it.
async fn account_no(link: &PgLink, id: &str) -> Result<Option<i32>, Trouble> {
    let row = link.one("SELECT no FROM accounts WHERE id = $1", &[&id]).await?;
    row.map(|row| get(&row, 0)).transpose()
}

/// The number of an account, given out at its first use.
async fn account(link: &PgLink, id: &str) -> Result<i32, Trouble> {
    loop {
        if let Some(no) = account_no(link, id).await? {
            return Ok(no);
        }
        // Another may do the same at this moment: then this waits until that is committed, and finds it.
        link.execute("INSERT INTO accounts (id) VALUES ($1) ON CONFLICT (id) DO NOTHING", &[&id]).await?;
    }
}

/// The same, and until the end of the transaction nobody else changes the account's recipients and groups.
async fn account_locked(link: &PgLink, id: &str) -> Result<i32, Trouble> {
    let no = account(link, id).await?;
    lock_account(link, no).await?;
    Ok(no)
}

async fn lock_account(link: &PgLink, no: i32) -> Result<(), Trouble> {
    link.execute("SELECT FROM accounts WHERE no = $1 FOR NO KEY UPDATE", &[&no]).await?;
    Ok(())
}
