//! The one thread that writes.

use super::SqliteOptions;
use super::queue::{NextWork, Work, WriterQueue};
use super::wal::{self, WalMonitor};
use crate::StoreError;
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// KiB of pages the writer keeps; imports in no order touch many.
const CACHE_KIB: i64 = 32 * 1024;
/// Prepared statements kept; there are fewer.
const STATEMENTS_MAX: usize = 128;

/// A transaction of the writer.
pub(super) struct Tx<'a> {
    connection: &'a Connection,
    queue: &'a WriterQueue,
    names: &'a RefCell<FxHashMap<String, i64>>,
}

impl Deref for Tx<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Tx<'_> {
    /// Somebody with haste waits: end the slice.
    pub(super) fn hurry(&self) -> bool {
        self.queue.hurry()
    }

    /// The number of an account, given out at its first use.
    pub(super) fn account(&self, id: &str) -> Result<i64, StoreError> {
        if let Some(no) = super::account_no(self, id)? {
            return Ok(no);
        }
        self.prepare_cached("INSERT INTO accounts (id) VALUES (?1)")?.execute([id])?;
        Ok(self.last_insert_rowid())
    }

    /// The number of a name that many rows repeat.
    pub(super) fn name_no(&self, name: &str) -> Result<i64, StoreError> {
        if let Some(no) = self.names.borrow().get(name) {
            return Ok(*no);
        }
        let known = self
            .prepare_cached("SELECT no FROM names WHERE name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?;
        let no = match known {
            Some(no) => no,
            None => {
                self.prepare_cached("INSERT INTO names (name) VALUES (?1)")?.execute([name])?;
                self.last_insert_rowid()
            }
        };
        self.names.borrow_mut().insert(name.to_owned(), no);
        Ok(no)
    }

    /// Raises the version counter by `by` and returns its new value: the versions are the last `by` up to it.
    pub(super) fn raise_version(&self, by: usize) -> Result<i64, StoreError> {
        let by = i64::try_from(by).unwrap_or(i64::MAX);
        let mut raise = self.prepare_cached(
            "UPDATE counters SET value = value + ?1 WHERE name = 'version' RETURNING value",
        )?;
        Ok(raise.query_row([by], |row| row.get(0))?)
    }
}

/// A connection that writes, synced at each commit, which never moves the log into the database by itself.
pub(super) fn connect(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(super::BUSY_WAIT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // What is deleted is overwritten where that costs no page more; see `privacy::overwriting`.
    connection.query_row("PRAGMA secure_delete = FAST", [], |_| Ok(()))?;
    if let Some(pages) = options.pages_max {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

/// Runs until the queue ends.
pub(super) fn run(mut connection: Connection, queue: &Arc<WriterQueue>, log: &Arc<WalMonitor>) {
    let _ending = EndWith(queue);
    let frames = Arc::clone(log);
    let hook = move |_: &mut rusqlite::hooks::Wal, pages: std::ffi::c_int| {
        frames.grown_to(u64::try_from(pages).unwrap_or(0));
        Ok(())
    };
    if let Err(error) = connection.wal_hook(Some(hook)) {
        tracing::error!(%error, "the writer cannot watch the size of its write-ahead log");
        return;
    }
    let names = RefCell::new(FxHashMap::default());
    let writer = BatchWriter { tx: Tx { connection: &connection, queue, names: &names } };
    loop {
        match queue.next() {
            NextWork::Batch(jobs) => writer.batch(jobs),
            NextWork::Slice(mut job, lane) => match writer.alone(&mut *job) {
                Ok(true) => job.answer(Ok(())),
                Ok(false) => queue.put_back(lane, job),
                Err(error) => job.answer(Err(error)),
            },
            NextWork::End => return,
        }
        wal::move_rest(&connection, log);
        if log.is_long() {
            queue.close_gate();
            log.move_now();
        }
    }
}

/// Whatever ends the writer, nobody waits for it in vain.
struct EndWith<'a>(&'a WriterQueue);
impl Drop for EndWith<'_> {
    fn drop(&mut self) {
        self.0.close_at_once();
    }
}

struct BatchWriter<'a> {
    tx: Tx<'a>,
}

impl BatchWriter<'_> {
    /// All in one transaction, each undone alone if it fails; where the whole fails, each by itself.
    fn batch(&self, mut jobs: Vec<Box<dyn Work>>) {
        if jobs.len() > 1
            && let Some(results) = self.together(&mut jobs)
        {
            for (job, result) in jobs.into_iter().zip(results) {
                job.answer(result);
            }
            return;
        }
        for mut job in jobs {
            let result = self.alone(&mut *job).map(|_| ());
            job.answer(result);
        }
    }

    /// One transaction with a savepoint for each job; nothing if it could not be committed, or was rolled
    /// back under us.
    fn together(&self, jobs: &mut [Box<dyn Work>]) -> Option<Vec<Result<(), StoreError>>> {
        let mut results = Vec::with_capacity(jobs.len());
        let whole = self.transaction(|tx| {
            for job in jobs.iter_mut() {
                let result = savepoint(tx, &mut **job);
                if tx.is_autocommit() {
                    return Err(result.err().unwrap_or(StoreError::Closed));
                }
                results.push(result);
            }
            Ok(())
        });
        whole.ok().map(|()| results)
    }

    /// One slice in a transaction of its own.
    fn alone(&self, job: &mut dyn Work) -> Result<bool, StoreError> {
        self.transaction(|tx| job.slice(tx))
    }

    fn transaction<T>(&self, inside: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let tx = &self.tx;
        tx.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let result = inside(tx).and_then(|value| {
            tx.prepare_cached("COMMIT")?.execute([])?;
            Ok(value)
        });
        if result.is_err() {
            tx.names.borrow_mut().clear();
            if !tx.is_autocommit()
                && let Err(error) = tx.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, "a transaction could not be rolled back");
            }
        }
        result
    }
}

fn savepoint(tx: &Tx<'_>, job: &mut dyn Work) -> Result<(), StoreError> {
    tx.prepare_cached("SAVEPOINT job")?.execute([])?;
    let result = job.slice(tx).map(|_| ());
    if tx.is_autocommit() {
        return result;
    }
    if result.is_err() {
        tx.names.borrow_mut().clear();
        tx.prepare_cached("ROLLBACK TO job")?.execute([])?;
    }
    tx.prepare_cached("RELEASE job")?.execute([])?;
    result
}
