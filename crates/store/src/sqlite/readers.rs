//! Connections that read, beside the writer.
//!
//! Questions asked by async code are answered by a few threads with a connection each. Whole-table scans and
//! roster blocks run on the caller's thread with a connection lent to it.

use super::BUSY_WAIT;
use crate::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::collections::VecDeque;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{Semaphore, oneshot};

/// Questions that may wait; more callers wait outside.
const QUESTIONS_MAX: usize = 16_384;
/// Connections lent to callers' threads at a time; more callers wait.
const LENT_MAX: usize = 16;
/// KiB of pages each connection keeps.
const CACHE_KIB: i64 = 2 * 1024;
/// Prepared statements kept by each connection; there are fewer.
const STATEMENTS_MAX: usize = 64;

/// The reading side.
pub(super) struct Readers {
    questions: Arc<Questions>,
    permits: Arc<Semaphore>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    path: PathBuf,
    lent: Mutex<Lent>,
    returned: Condvar,
}

type Question = Box<dyn FnOnce(&Connection) + Send>;

#[derive(Default)]
struct Questions {
    waiting: Mutex<(VecDeque<Question>, bool)>,
    wake: Condvar,
}

#[derive(Default)]
struct Lent {
    idle: Vec<Connection>,
    out: usize,
    closed: bool,
}

impl Readers {
    /// Opens `count` connections with a thread each.
    pub(super) fn start(path: &Path, count: usize) -> Result<Readers, StoreError> {
        let questions = Arc::new(Questions::default());
        let mut threads = Vec::new();
        for _ in 0..count.max(1) {
            let connection = connect(path)?;
            let questions = Arc::clone(&questions);
            let thread = std::thread::Builder::new().name("store-read".to_owned());
            threads.push(thread.spawn(move || questions.answer_all(&connection)).map_err(super::no_thread)?);
        }
        Ok(Readers {
            questions,
            permits: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            threads: Mutex::new(threads),
            path: path.to_owned(),
            lent: Mutex::default(),
            returned: Condvar::new(),
        })
    }

    /// Asks on one of the threads. Each question reads one snapshot.
    pub(super) async fn ask<T, F>(&self, question: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        self.questions.push(Box::new(move |connection| {
            let _permit = permit;
            let _ = reply.send(snapshot(connection, question)); // who asked may have gone
        }));
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Reads on the calling thread, in one snapshot.
    pub(super) fn here<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let loan = self.borrow()?;
        snapshot(&loan, question)
    }

    fn borrow(&self) -> Result<Loan<'_>, StoreError> {
        let mut lent = lock(&self.lent);
        while lent.out >= LENT_MAX && !lent.closed {
            lent = self.returned.wait(lent).unwrap_or_else(PoisonError::into_inner);
        }
        if lent.closed {
            return Err(StoreError::Closed);
        }
        lent.out += 1;
        let mut loan = Loan { readers: self, connection: lent.idle.pop() };
        drop(lent);
        if loan.connection.is_none() {
            loan.connection = Some(connect(&self.path)?);
        }
        Ok(loan)
    }

    /// Takes no more questions, and ends the threads when those that wait are answered.
    pub(super) fn close(&self) {
        self.permits.close();
        lock(&self.questions.waiting).1 = true;
        self.questions.wake.notify_all();
        let mut lent = lock(&self.lent);
        lent.closed = true;
        lent.idle.clear();
        drop(lent);
        self.returned.notify_all();
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join(); // a panic in it was logged where it happened
        }
    }
}

impl Questions {
    fn push(&self, question: Question) {
        let mut waiting = lock(&self.waiting);
        if !waiting.1 {
            waiting.0.push_back(question);
            drop(waiting);
            self.wake.notify_one();
        }
    }

    fn answer_all(&self, connection: &Connection) {
        while let Some(question) = self.next() {
            // A question that panics has lost its answer; the thread goes on for the others.
            if catch_unwind(AssertUnwindSafe(|| question(connection))).is_err() {
                tracing::error!("a read from the store panicked");
                let _ = connection.execute_batch("ROLLBACK"); // there may be none
            }
        }
    }

    fn next(&self) -> Option<Question> {
        let mut waiting = lock(&self.waiting);
        loop {
            if let Some(question) = waiting.0.pop_front() {
                return Some(question);
            }
            if waiting.1 {
                return None;
            }
            waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct Loan<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Deref for Loan<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a loan holds its connection until it is dropped")
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut lent = lock(&self.readers.lent);
        lent.out -= 1;
        // A panic may have left a transaction open: such a connection is not lent again.
        if let Some(connection) = self.connection.take()
            && connection.is_autocommit()
            && !lent.closed
        {
            lent.idle.push(connection);
        }
        drop(lent);
        self.readers.returned.notify_one();
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

fn snapshot<T>(
    connection: &Connection,
    question: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let answer = question(connection);
    connection.prepare_cached("COMMIT")?.execute([])?;
    answer
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
