//! What requests bring at a time goes to the engine in one append: each waits for the append its messages are in.

use super::intake::MessageIntake;
use records::Intake;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Requests that may wait for the engine at a time.
const WAITING_MAX: usize = 100_000;
/// Octets of their records at most.
const WAITING_OCTETS_MAX: usize = 64 << 20;

/// Too many requests wait already, or the bus refused their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotTaken;

/// Resolves when a request's messages are durable.
pub(super) type Done = oneshot::Receiver<Result<(), NotTaken>>;

/// The queue in front of an appender of its own.
pub(super) struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    wake: Notify,
    is_over: AtomicBool,
}

/// Encoded records, one behind the other, and who waits for them.
#[derive(Default)]
struct Waiting {
    octets: Vec<u8>,
    ends: Vec<usize>,
    requests: Vec<oneshot::Sender<Result<(), NotTaken>>>,
}

impl Queue {
    /// A queue whose appender runs on the current runtime until the queue is dropped.
    pub(super) fn start(intake: Arc<dyn MessageIntake>) -> Queue {
        let shared = Arc::new(Shared::default());
        tokio::spawn(run(shared.clone(), intake));
        Queue(shared)
    }

    /// Puts a request's records into the next append.
    pub(super) fn put(&self, records: impl Iterator<Item = Intake>) -> Result<Done, NotTaken> {
        let mut waiting = self.0.lock();
        if waiting.requests.len() >= WAITING_MAX || waiting.octets.len() >= WAITING_OCTETS_MAX {
            return Err(NotTaken);
        }
        let is_first = waiting.requests.is_empty();
        for record in records {
            record.encode_into(&mut waiting.octets);
            let end = waiting.octets.len();
            waiting.ends.push(end);
        }
        let (reply, done) = oneshot::channel();
        waiting.requests.push(reply);
        drop(waiting);
        if is_first {
            self.0.wake.notify_one();
        }
        Ok(done)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.wake.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(shared: Arc<Shared>, intake: Arc<dyn MessageIntake>) {
    let mut taken = Waiting::default();
    loop {
        std::mem::swap(&mut taken, &mut *shared.lock());
        if !taken.requests.is_empty() {
            append(&mut taken, intake.as_ref()).await;
        } else if shared.is_over.load(Ordering::Acquire) {
            return;
        } else {
            shared.wake.notified().await;
        }
    }
}

async fn append(taken: &mut Waiting, intake: &dyn MessageIntake) {
    let mut start = 0;
    let mut records = Vec::with_capacity(taken.ends.len());
    for end in &taken.ends {
        records.push(&taken.octets[start..*end]);
        start = *end;
    }
    let done = match intake.accept(&records).await {
        Ok(_) => Ok(()),
        Err(error) => {
            tracing::warn!(%error, messages = records.len(), "messages of platforms were not taken");
            Err(NotTaken)
        }
    };
    for request in taken.requests.drain(..) {
        // Who does not wait any more has gone; the messages are taken all the same.
        let _ = request.send(done);
    }
    taken.octets.clear();
    taken.ends.clear();
}
