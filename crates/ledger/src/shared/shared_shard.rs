//! The thread of a shard that other processes have too: takes what waits, decides it, appends it where the
//! log ends, and answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::store::{Appended, LedgerBlock, NewLedgerBlock, StoreError};

use super::LOST_MAX;
use super::replica::Replica;
use super::savepoint::Savepoint;
use crate::block;
use crate::hash::HashKey;
use crate::request::result;
use crate::shard::{Shard, Turn};
use crate::shard_threads::{Ask, BatchQueue, BatchSubmission, now_us};

/// Who has nothing to do follows what others append this often.
const FOLLOW: Duration = Duration::from_millis(500);
/// Ends of sessions that are written in one turn, so that requests do not wait behind them.
const EXPIRED_PER_TURN: usize = 1_024;
/// A database that does not answer is asked again after so long.
const AGAIN: Duration = Duration::from_millis(100);

/// Why a turn was not done.
enum Halt {
    /// This shard cannot go on.
    Failed(StoreError),
    /// There is no room: nothing of the turn was done.
    Full,
    /// The ledger ends while the database is away. Who asked gets no answer: perhaps it was done.
    Left,
}

pub(super) struct SharedShard {
    replica: Replica,
    queue: Arc<BatchQueue>,
    taken: Vec<BatchSubmission>,
    asks: Vec<Ask>,
    block: Vec<u8>,
    savepoint: Savepoint,
    /// The last block's mark: it goes on from a number that nobody else has.
    mark: u128,
    snapshot_octets: u64,
    snapshot: Option<JoinHandle<()>>,
    followed: Instant,
}

impl SharedShard {
    pub(super) fn new(replica: Replica, queue: Arc<BatchQueue>, snapshot_octets: u64) -> SharedShard {
        let [low, high] = HashKey::draw().octets(b"mark");
        SharedShard {
            replica,
            queue,
            taken: Vec::new(),
            asks: Vec::new(),
            block: Vec::new(),
            savepoint: Savepoint::default(),
            mark: u128::from(high) << 64 | u128::from(low),
            snapshot_octets,
            snapshot: None,
            followed: Instant::now(),
        }
    }

    pub(super) fn queue(&self) -> Arc<BatchQueue> {
        self.queue.clone()
    }

    pub(super) fn shard(&self) -> &Shard {
        &self.replica.shard
    }

    pub(super) fn number(&self) -> u32 {
        self.replica.number
    }

    pub(super) fn run(mut self) {
        let number = self.number() as usize;
        loop {
            let is_over = self.take();
            match self.turn() {
                Ok(()) => {}
                Err(Halt::Full) => {
                    tracing::error!(
                        shard = number,
                        "the database of the ledger has no room: requests are refused"
                    );
                    self.taken.iter_mut().for_each(|taken| taken.batch.refuse(result::UNABLE_TO_COMPLY));
                    std::thread::sleep(AGAIN);
                }
                Err(Halt::Left) => return,
                Err(Halt::Failed(error)) => return self.fail(&error),
            }
            for BatchSubmission { batch, to } in self.taken.drain(..) {
                to.answered(number, batch);
            }
            for ask in self.asks.drain(..) {
                ask(&mut self.replica.shard);
            }
            self.freeze_if_due();
            if is_over {
                self.snapshot.take().map(JoinHandle::join);
                return;
            }
        }
    }

    /// Waits for work and takes all of it. Says whether this is the last turn.
    fn take(&mut self) -> bool {
        let mut waiting = self.queue.lock();
        if waiting.batches.is_empty() && waiting.asks.is_empty() && !waiting.is_over {
            waiting.is_asleep = true;
            let next_us = self.replica.shard.next_expiry_us().unwrap_or(u64::MAX);
            let patience = Duration::from_micros(next_us.saturating_sub(now_us()).max(1_000));
            let patience = patience.min(FOLLOW.saturating_sub(self.followed.elapsed()));
            let woken = self.queue.notify.wait_timeout(waiting, patience);
            waiting = woken.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            waiting.is_asleep = false;
        }
        std::mem::swap(&mut waiting.batches, &mut self.taken);
        self.asks = std::mem::take(&mut waiting.asks);
        waiting.requests = 0;
        waiting.is_over
    }

    fn turn(&mut self) -> Result<(), Halt> {
        let mut lost = 0;
        loop {
            if lost >= LOST_MAX {
                return self.turn_held();
            }
            self.decide()?;
            if self.is_empty() {
                if self.is_certain() {
                    return Ok(());
                }
                let missed = self.persist(|replica| replica.log.read(replica.number, replica.head, 0))?;
                self.followed = Instant::now();
                if missed.is_empty() {
                    return Ok(());
                }
                self.give_way(missed)?;
                continue;
            }
            let block = self.sealed();
            match self.persist(|replica| replica.log.append(&block))? {
                Appended::Done => {
                    self.follow(block);
                    return Ok(());
                }
                Appended::Missed(missed) => {
                    self.give_way(missed)?;
                    lost += 1;
                }
            }
        }
    }

    /// The same while nobody else may append.
    fn turn_held(&mut self) -> Result<(), Halt> {
        loop {
            let mut hold = self.persist(|replica| replica.log.hold(replica.number, replica.head))?;
            for block in hold.missed() {
                self.take_in(block)?;
            }
            while self.replica.head < hold.head() {
                let Ok(missed) = hold.read(self.replica.head) else { break };
                for block in missed {
                    self.take_in(block)?;
                }
            }
            if self.replica.head < hold.head() {
                continue;
            }
            self.decide()?;
            if self.is_empty() {
                return Ok(());
            }
            let block = self.sealed();
            // Whether it was done where that is not known is told by trying again.
            let appended = match hold.append(&block) {
                Err(StoreError::Unreachable { .. }) => self.persist(|replica| replica.log.append(&block))?,
                appended => self.persist_once(appended)?,
            };
            match appended {
                Appended::Done => {
                    self.follow(block);
                    return Ok(());
                }
                Appended::Missed(missed) => self.give_way(missed)?,
            }
        }
    }

    /// Decides all that was taken, on the state as far as it is known here. The block has what came of it.
    fn decide(&mut self) -> Result<(), Halt> {
        loop {
            let Replica { shard, head, past, .. } = &mut self.replica;
            block::begin(&mut self.block);
            shard.begin_block(*head, now_us());
            self.savepoint.begin(shard);
            for BatchSubmission { batch, .. } in &self.taken {
                self.savepoint.save(shard, batch);
            }
            let mut services = Vec::new();
            let now_us = shard.now_us();
            let mut turn = Turn { now_us, log: &mut self.block, services: &mut services, past };
            self.savepoint.expire(shard, &mut turn, EXPIRED_PER_TURN);
            for BatchSubmission { batch, .. } in &mut self.taken {
                batch.apply(shard, now_us, &mut self.block, past);
            }
            let Some(error) = past.failed() else { return Ok(()) };
            // Whether something came before is not known, so nothing of this may be believed.
            self.savepoint.restore(&mut self.replica.shard);
            match error {
                StoreError::Unreachable { why } => self.wait_out(&why)?,
                error => return Err(Halt::Failed(error)),
            }
        }
    }

    /// What is decided left no entry.
    fn is_empty(&self) -> bool {
        self.block.len() == block::HEAD_OCTETS
    }

    /// What is decided without an entry is so whatever others appended meanwhile: first answers alone.
    fn is_certain(&self) -> bool {
        let answers = || self.taken.iter().flat_map(|taken| taken.batch.answers());
        self.asks.is_empty() && !self.taken.is_empty() && answers().all(|(_, answer, _)| answer.is_duplicate)
    }

    fn sealed(&mut self) -> NewLedgerBlock {
        let (position, at_us) = (self.replica.head, self.replica.shard.now_us());
        block::seal(&mut self.block, position, position, at_us);
        self.mark = self.mark.wrapping_add(1);
        let octets = std::mem::take(&mut self.block);
        NewLedgerBlock { shard: self.number(), position, at_us, mark: self.mark, octets }
    }

    fn follow(&mut self, block: NewLedgerBlock) {
        self.followed = Instant::now();
        self.replica.follow(LedgerBlock { position: block.position, octets: block.octets });
    }

    /// Others were first: what was decided here is taken back, and theirs is taken in.
    fn give_way(&mut self, missed: Vec<LedgerBlock>) -> Result<(), Halt> {
        self.savepoint.restore(&mut self.replica.shard);
        missed.into_iter().try_for_each(|block| self.take_in(block))
    }

    fn take_in(&mut self, block: LedgerBlock) -> Result<(), Halt> {
        self.replica.take_in(block, false).map_err(Halt::Failed)
    }

    /// Asks until the database has answered. Meanwhile nothing more is taken on.
    fn persist<T>(&mut self, ask: impl Fn(&mut Replica) -> Result<T, StoreError>) -> Result<T, Halt> {
        loop {
            match ask(&mut self.replica) {
                Err(StoreError::Unreachable { why }) => self.wait_out(&why)?,
                answer => {
                    self.queue.away.store(false, Ordering::Relaxed);
                    return self.persist_once(answer);
                }
            }
        }
    }

    fn wait_out(&mut self, why: &str) -> Result<(), Halt> {
        if !self.queue.away.swap(true, Ordering::Relaxed) {
            tracing::error!(
                shard = self.number(),
                why,
                "the database of the ledger does not answer: it is asked again"
            );
        }
        std::thread::sleep(AGAIN);
        if self.queue.lock().is_over { Err(Halt::Left) } else { Ok(()) }
    }

    /// What an answer that is not good means for the turn. What was decided is taken back.
    fn persist_once<T>(&mut self, answer: Result<T, StoreError>) -> Result<T, Halt> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(StoreError::DiskFull) => {
                self.savepoint.restore(&mut self.replica.shard);
                Err(Halt::Full)
            }
            Err(error) => Err(Halt::Failed(error)),
        }
    }

    /// Has a snapshot written by another thread when the log has grown enough; one at a time, and by one
    /// process.
    fn freeze_if_due(&mut self) {
        let Replica { log, number, shard, head, snapshot_at, .. } = &mut self.replica;
        let is_busy = self.snapshot.as_ref().is_some_and(|thread| !thread.is_finished());
        if *head - *snapshot_at < self.snapshot_octets || is_busy {
            return;
        }
        // Another process may have been before us.
        let known = log.snapshot_position(*number).ok().flatten().unwrap_or(0);
        if known > *snapshot_at {
            *snapshot_at = known;
            return;
        }
        *snapshot_at = *head;
        let (frozen, log, number) = (shard.freeze(*head), log.clone(), *number);
        let write = move || {
            let octets = frozen.encode(Vec::new()).map_err(|error| error.to_string());
            let kept = octets.and_then(|octets| {
                log.keep_snapshot(number, frozen.position, octets).map_err(|error| error.to_string())
            });
            match kept {
                Ok(()) => tracing::debug!(shard = number, "a snapshot of the shared ledger is kept"),
                Err(error) => {
                    tracing::warn!(
                        shard = number,
                        error,
                        "no snapshot of the ledger is kept; starts take longer"
                    )
                }
            }
        };
        match std::thread::Builder::new().name(format!("ledger-{number}-snapshot")).spawn(write) {
            Ok(thread) => self.snapshot = Some(thread),
            Err(error) => tracing::warn!(shard = number, %error, "no thread for a snapshot of the ledger"),
        }
    }

    /// The shard cannot go on: whatever was not answered is refused, and nothing is done any more.
    fn fail(mut self, error: &StoreError) {
        let number = self.number() as usize;
        tracing::error!(shard = number, %error, "the shared ledger's log cannot be used; this shard has stopped");
        let why = format!("shard {number} of the ledger has stopped: {error}");
        self.queue.fail(number, why, self.taken.drain(..));
    }
}
