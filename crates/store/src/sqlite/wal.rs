//! Moves the write-ahead log into the database, beside the writer.
//!
//! The writer does not do it: the sync of the database file would stand in the way of an alert. But the log
//! can start again from its beginning only when all of it is moved, and what the writer adds meanwhile is
//! never moved. So once a log is long, slices (not small jobs) wait while it is moved, and the writer itself
//! moves the little that came meanwhile.

use super::queue::WriterQueue;
use crate::StoreError;
use rusqlite::Connection;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So many passes are made of a log before it is long.
const PASSES_OF_A_LOG: u64 = 16;
/// How long the writer must have been quiet before the log file is cut to nothing.
const IDLE: Duration = Duration::from_secs(5);
/// How long the writer has to move the rest. When it has nothing to do, nothing was added either.
const REST_WAIT: Duration = Duration::from_millis(50);

/// What is known of the log.
pub(super) struct WalMonitor {
    pages: AtomicU64,
    /// At so many pages it is moved next.
    move_at: AtomicU64,
    /// At so many pages it is long.
    long_at: AtomicU64,
    /// The writer should move the rest.
    rest_wanted: AtomicBool,
    /// So long is long.
    long_pages: u64,
    state: Mutex<WalState>,
    wake: Condvar,
}

#[derive(Default)]
struct WalState {
    wanted: bool,
    ended: bool,
}

enum Wake {
    Wanted,
    Idle,
    Ended,
}

impl WalMonitor {
    pub(super) fn new(long_pages: u64) -> WalMonitor {
        WalMonitor {
            pages: AtomicU64::new(0),
            move_at: AtomicU64::new(long_pages / PASSES_OF_A_LOG),
            long_at: AtomicU64::new(long_pages),
            rest_wanted: AtomicBool::new(false),
            long_pages,
            state: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    /// The writer committed, and the log has so many pages.
    pub(super) fn grown_to(&self, pages: u64) {
        if pages < self.pages.swap(pages, Ordering::Relaxed) {
            // It began again from its beginning.
            self.move_at.store(self.long_pages / PASSES_OF_A_LOG, Ordering::Relaxed);
            self.long_at.store(self.long_pages, Ordering::Relaxed);
        }
        if pages >= self.move_at.load(Ordering::Relaxed) {
            self.move_now();
        }
    }

    /// Slices should wait.
    pub(super) fn is_long(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= self.long_at.load(Ordering::Relaxed)
    }

    /// Wakes the thread.
    pub(super) fn move_now(&self) {
        let mut state = self.lock();
        if !state.wanted {
            state.wanted = true;
            self.wake.notify_all();
        }
    }

    /// Ends the thread.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.wake.notify_all();
    }

    fn wait(&self, timeout: Duration) -> Wake {
        let (mut state, _) = self
            .wake
            .wait_timeout_while(self.lock(), timeout, |state| !state.wanted && !state.ended)
            .unwrap_or_else(PoisonError::into_inner);
        if state.ended {
            Wake::Ended
        } else if std::mem::take(&mut state.wanted) {
            Wake::Wanted
        } else {
            Wake::Idle
        }
    }

    /// Two cannot move at a time: the writer goes first now, if it has anything to do at all.
    fn wait_for_rest(&self) {
        let wanted = |state: &mut WalState| self.rest_wanted.load(Ordering::Acquire) && !state.ended;
        let _ = self.wake.wait_timeout_while(self.lock(), REST_WAIT, wanted);
        self.rest_wanted.store(false, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, WalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that moves the log. `wait`: for readers and the writer when the log is cut. The thread must
/// not: holding the writer's lock, it would wait for a long read, and alerts with it.
pub(super) fn connect(path: &Path, wait: Duration) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(wait)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

/// Runs until [`WalMonitor::end`].
pub(super) fn run(connection: &Connection, log: &WalMonitor, queue: &WriterQueue) {
    let mut cut = true;
    loop {
        match log.wait(IDLE) {
            Wake::Wanted => {
                move_log(connection, log, queue);
                cut = false;
            }
            Wake::Idle if !cut && log.pages.load(Ordering::Relaxed) > 0 => {
                cut = truncate(connection, log).is_ok()
            }
            Wake::Idle => {}
            Wake::Ended => return,
        }
    }
}

/// One pass. Behind a closed gate two, the second for what came meanwhile, so that little is left to the
/// writer. Opens the gate.
fn move_log(connection: &Connection, log: &WalMonitor, queue: &WriterQueue) {
    let gate_closed = log.is_long();
    for _ in 0..if gate_closed { 2 } else { 1 } {
        let pages = log.pages.load(Ordering::Relaxed);
        log.move_at.store(pages + log.long_pages / PASSES_OF_A_LOG, Ordering::Relaxed);
        if let Err(error) = pass(connection, "PASSIVE") {
            tracing::warn!(%error, "the write-ahead log could not be checkpointed into the database");
            break;
        }
    }
    if gate_closed {
        // A log that cannot begin again (somebody reads from it) may grow by as much once more.
        log.long_at.store(log.pages.load(Ordering::Relaxed) + log.long_pages, Ordering::Relaxed);
        log.rest_wanted.store(true, Ordering::Release);
    }
    queue.open_gate();
    log.wait_for_rest();
}

/// For the writer, between two transactions: moves the little that is left of a long log, if that is wanted.
/// A read that holds the log is not waited for; the log then grows until the next attempt.
pub(super) fn move_rest(connection: &Connection, log: &WalMonitor) {
    if log.rest_wanted.load(Ordering::Acquire) {
        if let Err(error) = pass(connection, "PASSIVE") {
            tracing::warn!(%error, "the rest of the write-ahead log could not be checkpointed into the database");
        }
        log.rest_wanted.store(false, Ordering::Release);
        log.wake.notify_all();
    }
}

/// Cuts the log file to nothing, so that a quiet server leaves none behind.
pub(super) fn truncate(connection: &Connection, log: &WalMonitor) -> Result<(), StoreError> {
    let pass = pass(connection, "TRUNCATE")?;
    if !pass.is_whole() {
        return Err(StoreError::Conflict {
            why: "another connection still uses the write-ahead log".to_owned(),
        });
    }
    log.grown_to(0);
    Ok(())
}

struct Pass {
    busy: bool,
    pages: u64,
    moved: u64,
}

impl Pass {
    fn is_whole(&self) -> bool {
        !self.busy && self.moved >= self.pages
    }
}

fn pass(connection: &Connection, mode: &str) -> Result<Pass, StoreError> {
    let pass = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        let pages: i64 = row.get(1)?;
        let moved: i64 = row.get(2)?;
        Ok(Pass {
            busy: row.get::<_, i64>(0)? != 0,
            pages: u64::try_from(pages).unwrap_or(0),
            moved: u64::try_from(moved).unwrap_or(0),
        })
    })?;
    Ok(pass)
}
