//! The store in one SQLite file.

mod alerts;
mod approvals;
mod attachments;
mod attributes;
mod audit;
mod bulk_insert;
mod cap_messages;
mod deliveries;
mod documents;
mod evidence;
mod groups;
mod import_jobs;
mod leases;
mod migrate;
mod observers;
mod opt_outs;
mod privacy;
mod queue;
mod readers;
mod recipients;
mod revisions;
mod roster;
mod sessions;
mod staging;
mod sweep;
#[cfg(test)]
mod tests;
mod tokens;
mod visible;
mod wal;
mod writer;

use crate::attachments::NAMED_KEPT_S;
use crate::staged::Staging;
use crate::{Fence, SharedStore, StopHasher, Store, StoreError};
use futures_util::future::BoxFuture;
use queue::{JobStep, Lane, WriterQueue};
use readers::Readers;
use rusqlite::{Connection, OptionalExtension};
use std::fs::{File, TryLockError};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sweep::Sweep;
use wal::WalMonitor;
use writer::Tx;

/// How long a statement waits for a lock another connection holds for a moment.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// How to open a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Threads that answer questions, with a connection each; at least 1.
    pub readers: usize,
    /// The file may have so many pages of 4 KiB and no more: then the disk counts as full.
    pub pages_max: Option<u32>,
    /// A write-ahead log of so many pages is long: imports and folds wait while it is moved into the file.
    pub log_pages: u32,
    /// Remove superseded and abandoned rows of imports in the background. Without, they only cost room and
    /// time.
    pub sweep: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        SqliteOptions { readers: 4, pages_max: None, log_pages: 16_000, sweep: true }
    }
}

/// Opens the database at `path`, made if it is not there, and brings it to this program's form. Blocks;
/// spawns the store's threads, which end with the store. Refuses a file that another process has open, that
/// is of a newer form, or that belongs to another program.
pub fn open(path: &Path, options: &SqliteOptions) -> Result<SharedStore, StoreError> {
    Ok(Arc::new(Sqlite::open(path, options)?))
}

/// The store in one SQLite file, for anybody or for whoever holds a lease.
struct Sqlite {
    parts: Arc<SqliteParts>,
    fence: Option<Fence>,
}

impl Deref for Sqlite {
    type Target = SqliteParts;
    fn deref(&self) -> &SqliteParts {
        &self.parts
    }
}

/// What it is made of.
struct SqliteParts {
    path: PathBuf,
    /// What leases are counted from.
    opened: Instant,
    queue: Arc<WriterQueue>,
    readers: Arc<Readers>,
    log: Arc<WalMonitor>,
    sweep: Arc<Sweep>,
    staging: Staging,
    threads: Mutex<Threads>,
    stops: OnceLock<StopHasher>,
    /// How long the files of an alert are kept, seconds after it.
    named_kept_s: AtomicI64,
}

#[derive(Default)]
struct Threads {
    writer: Option<JoinHandle<()>>,
    beside: Vec<JoinHandle<()>>,
    /// Held while the store is open.
    lock: Option<File>,
}

impl Sqlite {
    fn open(path: &Path, options: &SqliteOptions) -> Result<Sqlite, StoreError> {
        let lock = lock_file(path)?;
        let connection = writer::connect(path, options)?;
        migrate::migrate(&connection)?;
        staging::abandon_orphans(&connection)?;
        leases::end_all(&connection)?;
        let queue = Arc::new(WriterQueue::new());
        let log = Arc::new(WalMonitor::new(u64::from(options.log_pages)));
        let readers = Arc::new(Readers::start(path, options.readers)?);
        let moving = wal::connect(path, Duration::ZERO)?;
        let sweep = Arc::new(Sweep::default());
        let threads = Threads {
            writer: Some(start("store-write", (&queue, &log), move |queue, log| {
                writer::run(connection, queue, log)
            })?),
            beside: vec![start("store-log", (&queue, &log), move |queue, log| {
                wal::run(&moving, log, queue)
            })?],
            lock: Some(lock),
        };
        let staging = Staging::new(path);
        let threads = Mutex::new(threads);
        let (path, opened) = (path.to_owned(), Instant::now());
        let stops = OnceLock::new();
        let named_kept_s = AtomicI64::new(NAMED_KEPT_S);
        let parts =
            SqliteParts { path, opened, queue, readers, log, sweep, staging, threads, stops, named_kept_s };
        let store = Sqlite { parts: Arc::new(parts), fence: None };
        if options.sweep {
            store.start_sweep()?;
        }
        Ok(store)
    }

    fn start_sweep(&self) -> Result<(), StoreError> {
        let (sweep, readers) = (Arc::clone(&self.sweep), Arc::clone(&self.readers));
        let thread = start("store-sweep", (&self.queue, &self.log), move |queue, _| {
            sweep::run(&readers, &sweep, queue)
        })?;
        self.threads().beside.push(thread);
        self.sweep.wake();
        Ok(())
    }

    /// Does something in the writer's lane for those with somebody waiting. `run` may be called again after
    /// its transaction was rolled back, so it takes nothing out of what it owns.
    async fn write<T, F>(&self, mut run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.write_slices(Lane::Now, move |tx| run(tx).map(JobStep::Done)).await
    }

    /// The same, whoever holds the lease.
    async fn write_unfenced<T, F>(&self, mut run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.queue.submit(Lane::Now, move |tx| run(tx).map(JobStep::Done)).await
    }

    /// Does something in slices, each a transaction of its own that is tried once.
    async fn write_slices<T, F>(&self, lane: Lane, run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Tx<'_>) -> Result<JobStep<T>, StoreError> + Send + 'static,
    {
        self.queue.submit(lane, leases::behind(self.fence.clone(), run)).await
    }

    async fn read<T, F>(&self, question: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.readers.ask(question).await
    }
}

impl SqliteParts {
    /// Ends all threads; the queue has been told how to end.
    fn join(&self) -> Result<(), StoreError> {
        let mut threads = self.threads();
        let Some(writer) = threads.writer.take() else {
            return Ok(());
        };
        let _ = writer.join(); // a panic in it was answered with `Closed` to all who waited
        self.log.end();
        self.sweep.end();
        for thread in threads.beside.drain(..) {
            let _ = thread.join();
        }
        self.readers.close();
        let moved = wal::connect(&self.path, BUSY_WAIT).and_then(|last| wal::truncate(&last, &self.log));
        threads.lock = None;
        moved
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Sqlite {
    fn fenced(&self, fence: Fence) -> SharedStore {
        Arc::new(Sqlite { parts: Arc::clone(&self.parts), fence: Some(fence) })
    }

    fn house(&self) -> BoxFuture<'_, Result<uuid::Uuid, StoreError>> {
        let house = |connection: &Connection| {
            let id = connection.query_row("SELECT id FROM house", [], |row| row.get::<_, [u8; 16]>(0))?;
            Ok(uuid::Builder::from_random_bytes(id).into_uuid())
        };
        Box::pin(self.read(house))
    }

    fn pair(&self) -> BoxFuture<'_, Result<Option<uuid::Uuid>, StoreError>> {
        let pair = |connection: &Connection| {
            let id = connection
                .query_row("SELECT pair FROM house", [], |row| row.get::<_, Option<[u8; 16]>>(0))?;
            Ok(id.map(uuid::Uuid::from_bytes))
        };
        Box::pin(self.read(pair))
    }

    fn set_pair(&self, pair: uuid::Uuid) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write_unfenced(move |tx| {
            tx.execute("UPDATE house SET pair = ?1", [pair.as_bytes()])?;
            Ok(())
        }))
    }

    fn set_stop_key(&self, key: [u8; 32]) {
        self.stops.get_or_init(|| StopHasher::new(&key));
    }

    fn ledger_log(&self) -> Option<Arc<dyn crate::LedgerLog>> {
        None
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.queue.close();
            let parts = Arc::clone(&self.parts);
            tokio::task::spawn_blocking(move || parts.join()).await.unwrap_or(Err(StoreError::Closed))
        })
    }
}

impl Drop for SqliteParts {
    fn drop(&mut self) {
        self.queue.close_at_once();
        if let Err(error) = self.join() {
            tracing::warn!(%error, "the store did not close cleanly");
        }
    }
}

/// Refuses to share the file: two processes would each believe to be the one writer.
fn lock_file(path: &Path) -> Result<File, StoreError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let failed = |error: std::io::Error| StoreError::Database {
        why: format!("cannot open {}: {error}", path.display()),
    };
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(PathBuf::from(beside))
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::Conflict { why: format!("another process has {} open", path.display()) })
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn start(
    name: &str,
    (queue, log): (&Arc<WriterQueue>, &Arc<WalMonitor>),
    run: impl FnOnce(&Arc<WriterQueue>, &Arc<WalMonitor>) + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let (queue, log) = (Arc::clone(queue), Arc::clone(log));
    std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&queue, &log)).map_err(no_thread)
}

fn no_thread(error: std::io::Error) -> StoreError {
    StoreError::Database { why: format!("no thread could be started: {error}") }
}

/// The number of an account, if anything was ever stored for it.
fn account_no(connection: &Connection, id: &str) -> Result<Option<i64>, StoreError> {
    let mut find = connection.prepare_cached("SELECT no FROM accounts WHERE id = ?1")?;
    Ok(find.query_row([id], |row| row.get(0)).optional()?)
}

/// SQLite's integers are signed; ours stay far below 2^63.
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
