//! The study's record queue: threads handle messages and queue their records, one thread drains them into a
//! chunk of XML. The disk is left out.
//!
//! The three queues differ in what the lock is held for. Everything else of the study's server is here but
//! its sockets.

use super::handling;
use super::job::{Job, JobResult};
use serde::{Deserialize, Serialize};
use std::collections::LinkedList;
use std::fmt::Write;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// So many records may wait: whoever comes later waits for room.
const WAITING_MAX: usize = 65_536;
/// A chunk that is so long is full, and a next one begins.
const CHUNK_OCTETS: usize = 1 << 20;

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum QueueKind {
    /// A vector, drained while the lock is held.
    VectorUnderLock,
    /// A list, drained while the lock is held.
    ListUnderLock,
    /// A list, taken under the lock and drained without it.
    ListTaken,
}

type Record = Vec<u8>;

enum Records {
    Vector(Vec<Record>),
    List(LinkedList<Record>),
}

struct Queue {
    state: Mutex<QueueState>,
    filled: Condvar,
    room: Condvar,
}

struct QueueState {
    records: Records,
    is_over: bool,
}

impl Records {
    fn len(&self) -> usize {
        match self {
            Records::Vector(records) => records.len(),
            Records::List(records) => records.len(),
        }
    }

    fn push(&mut self, record: Record) {
        match self {
            Records::Vector(records) => records.push(record),
            Records::List(records) => records.push_back(record),
        }
    }
}

/// Messages a second through the queue, until the last record is in a chunk.
pub(super) fn run(job: &Job, kind: QueueKind) -> io::Result<JobResult> {
    let records = match kind {
        QueueKind::VectorUnderLock => Records::Vector(Vec::new()),
        QueueKind::ListUnderLock | QueueKind::ListTaken => Records::List(LinkedList::new()),
    };
    let state = Mutex::new(QueueState { records, is_over: false });
    let queue = Queue { state, filled: Condvar::new(), room: Condvar::new() };
    std::thread::scope(|scope| {
        let file = scope.spawn(|| queue.drain(kind));
        let make = |_: usize| {
            let (queue, mut session) = (&queue, Vec::new());
            move |number| handling::handled(&mut session, number).map(|record| queue.push(record)).is_some()
        };
        let after = || {
            queue.end();
            let drained = file.join().unwrap_or_default();
            drained.records.abs_diff(job.count) + u64::from(!drained.is_right(job.count))
        };
        let outcome = job.on_threads(make, after);
        // Also where a thread failed: the one that drains must end.
        queue.end();
        outcome
    })
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, record: Record) {
        let state = self.lock();
        let is_full = |state: &mut QueueState| state.records.len() >= WAITING_MAX && !state.is_over;
        let mut state = self.room.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        let was_empty = state.records.len() == 0;
        state.records.push(record);
        drop(state);
        if was_empty {
            self.filled.notify_one();
        }
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.filled.notify_all();
        self.room.notify_all();
    }

    fn drain(&self, kind: QueueKind) -> Drained {
        let mut drained = Drained::default();
        loop {
            let is_empty = |state: &mut QueueState| state.records.len() == 0 && !state.is_over;
            let waiting = self.filled.wait_while(self.lock(), is_empty);
            let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
            if state.records.len() == 0 {
                return drained;
            }
            match &mut state.records {
                Records::Vector(records) => {
                    for record in records.drain(..) {
                        drained.add(&record);
                    }
                }
                Records::List(records) if kind == QueueKind::ListUnderLock => {
                    while let Some(record) = records.pop_front() {
                        drained.add(&record);
                    }
                }
                Records::List(records) => {
                    let taken = std::mem::take(records);
                    drop(state);
                    self.room.notify_all();
                    for record in taken {
                        drained.add(&record);
                    }
                    continue;
                }
            }
            drop(state);
            self.room.notify_all();
        }
    }
}

/// What the file's thread has written.
#[derive(Default)]
struct Drained {
    chunk: String,
    records: u64,
    /// The sum of the numbers that stood in the records.
    numbers: u64,
}

impl Drained {
    /// One record as XML: its number, and its octets in hexadecimal.
    fn add(&mut self, record: &[u8]) {
        if self.chunk.len() >= CHUNK_OCTETS {
            self.chunk.clear();
        }
        // The End-to-End Identifier (RFC 6733, section 3), which is the message's number.
        let number =
            record.get(16..20).and_then(|octets| octets.try_into().ok()).map_or(0, u32::from_be_bytes);
        // Writing to a string does not fail.
        let _ = write!(self.chunk, "<record number=\"{number}\">");
        for octet in record {
            for digit in [octet >> 4, octet & 15] {
                self.chunk.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        self.chunk.push_str("</record>\n");
        self.records += 1;
        self.numbers += u64::from(number);
    }

    /// Each message's record came once, by the sum of their numbers; a number has 32 bits.
    fn is_right(&self, count: u64) -> bool {
        count > u64::from(u32::MAX) || self.numbers == count * count.saturating_sub(1) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_missing_or_comes_twice_is_seen() {
        let mut drained = Drained::default();
        let mut session = Vec::new();
        for number in [0, 1, 2] {
            drained.add(&handling::handled(&mut session, number).unwrap());
        }
        assert!(drained.is_right(3) && !drained.is_right(4) && !drained.is_right(2));
        assert!(drained.chunk.starts_with("<record number=\"0\">01"), "{}", drained.chunk);
        assert_eq!(drained.chunk.matches("</record>").count(), 3);
    }
}
