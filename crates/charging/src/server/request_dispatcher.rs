//! Request dispatcher of a connection reads requests, puts them into a batch for each shard, and answers when
//! the batch comes back.

use super::answer::{self, Context, Identity};
use super::answer_cache::AnswerCache;
use super::read::{Reading, RequestReader};
use diameter::check::Strictness;
use diameter::message::Message;
use diameter::peer::{Answers, Connection, Incoming};
use ledger::batch::Batch;
use ledger::request::{Answer, result};
use ledger::shard_threads::{Ledger, Receiver, Refused};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// Batches that are kept for the next turn.
const SPARE_MAX: usize = 16;
/// A chunk of contexts that grew over this is given back.
const CHUNK_OCTETS_KEPT: usize = 256 * 1024;

/// Room that is made for an answer.
const ANSWER_OCTETS: usize = 224;

/// Where a connection's batches come back to.
struct BatchInbox {
    batches: Mutex<Vec<(usize, Batch)>>,
    /// The connection's.
    notify: Arc<Notify>,
}

impl Receiver for BatchInbox {
    fn answered(&self, shard: usize, batch: Batch) {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.push((shard, batch));
        let is_first = batches.len() == 1;
        drop(batches);
        if is_first {
            self.notify.notify_one();
        }
    }
}

/// What is kept of a turn's requests until all are answered.
#[derive(Default)]
struct Chunk {
    contexts: Vec<u8>,
    unanswered: u32,
}

pub(super) struct RequestDispatcher {
    ledger: Ledger,
    identity: Arc<Identity>,
    inbox: Arc<BatchInbox>,
    to: Arc<dyn Receiver>,
    reader: RequestReader,
    tails: AnswerCache,
    /// One for each shard, being filled.
    open: Vec<Batch>,
    spare: Vec<Batch>,
    /// What came back, being answered.
    back: Vec<(usize, Batch)>,
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    /// The chunk that is being filled.
    filling: Option<u32>,
}

impl RequestDispatcher {
    /// `notify` wakes the connection when batches came back.
    pub(super) fn new(
        ledger: Ledger,
        identity: Arc<Identity>,
        strictness: Strictness,
        notify: Arc<Notify>,
    ) -> RequestDispatcher {
        let inbox = Arc::new(BatchInbox { batches: Mutex::default(), notify });
        let open = (0..ledger.shards()).map(|_| Batch::default()).collect();
        RequestDispatcher {
            reader: RequestReader::new(ledger.key(), &identity.origin(), strictness),
            ledger,
            identity,
            to: inbox.clone(),
            inbox,
            tails: AnswerCache::default(),
            open,
            spare: Vec::new(),
            back: Vec::new(),
            chunks: Vec::new(),
            free: Vec::new(),
            filling: None,
        }
    }

    /// The peer at the other end is this one, at this start of its.
    pub(super) fn meet(&mut self, origin_host: &str, state_id: Option<u32>) {
        self.reader.meet(origin_host, state_id);
    }

    /// A message of an open peer.
    pub(super) fn take(&mut self, incoming: Incoming<'_>, answers: &mut Answers<'_>) {
        // Answers are for who asked.
        let Incoming::Request(message) = incoming else { return };
        match self.reader.read(&message) {
            Reading::Wrong(fault) => {
                answers.answer(|out| fault.answer(&message, &self.identity.origin(), None, out))
            }
            Reading::Credit(request) => {
                let place = match self.filling {
                    Some(place) => place,
                    None => {
                        let place = self.free.pop().unwrap_or_else(|| {
                            self.chunks.push(Chunk::default());
                            self.chunks.len() as u32 - 1
                        });
                        self.filling = Some(place);
                        place
                    }
                };
                let chunk = &mut self.chunks[place as usize];
                let offset = chunk.contexts.len() as u32;
                request.context.write(&message, &mut chunk.contexts);
                chunk.unanswered += 1;
                let tag = u64::from(place) << 32 | u64::from(offset);
                let for_ledger = request.for_ledger(tag);
                if request.context.is_addressed {
                    self.ledger.push(&mut self.open, &for_ledger);
                } else {
                    // Whose it is only its session's shard knows: they are asked in turn, from the first on.
                    let (packed, hash) =
                        self.ledger.account_hash(for_ledger.account_kind, for_ledger.account);
                    self.open[0].push(packed, hash, &for_ledger);
                }
            }
        }
    }

    /// Hands what came in this turn to the shards.
    pub(super) fn submit(&mut self, connection: &mut Connection, now: Instant) {
        self.filling = None;
        for shard in 0..self.open.len() {
            if self.open[shard].is_empty() {
                continue;
            }
            let next = self.spare.pop().unwrap_or_default();
            let batch = std::mem::replace(&mut self.open[shard], next);
            match self.ledger.try_submit(shard, batch, &self.to) {
                Ok(()) => {}
                Err(Refused::Busy(batch)) => {
                    self.refuse(shard, batch, diameter::result_code::TOO_BUSY, connection, now)
                }
                Err(Refused::Stopped(batch)) => {
                    self.refuse(shard, batch, result::UNABLE_TO_COMPLY, connection, now)
                }
            }
        }
    }

    /// Writes the answers of all batches that came back.
    pub(super) fn answer(&mut self, connection: &mut Connection, now: Instant) {
        let mut back = std::mem::take(&mut self.back);
        std::mem::swap(&mut back, &mut self.inbox.batches.lock().unwrap_or_else(PoisonError::into_inner));
        for (shard, batch) in back.drain(..) {
            self.answer_batch(shard, batch, connection, now);
        }
        self.back = back;
    }

    fn answer_batch(&mut self, shard: usize, batch: Batch, connection: &mut Connection, now: Instant) {
        let is_last = shard + 1 >= self.ledger.shards();
        let passed_on = if is_last { 0 } else { self.pass_on(shard, &batch) };
        let RequestDispatcher { chunks, free, identity, filling, tails, .. } = self;
        // Whoever is gone needs no answer; what it was is on record.
        let _ = connection.answer(batch.len() - passed_on, now, |out| {
            // Once for all of them; a few more octets than most answers have.
            out.reserve(ANSWER_OCTETS * batch.len());
            for (tag, answer, services) in batch.answers() {
                let context = context(chunks, tag);
                if passed_on == 0 || !is_elsewhere(&context, answer) {
                    answer::credit(out, identity, tails, &context, answer, services);
                }
            }
        });
        for (tag, answer, _) in batch.answers() {
            if passed_on == 0 || !is_elsewhere(&context(chunks, tag), answer) {
                settle(chunks, free, *filling, (tag >> 32) as u32);
            }
        }
        self.keep(batch);
    }

    /// Hands those to the next shard that do not say whose account they are, and whose session this one does
    /// not know. How many.
    fn pass_on(&mut self, shard: usize, batch: &Batch) -> usize {
        let mut passed_on = 0;
        for (tag, answer, _) in batch.answers() {
            let RequestDispatcher { chunks, reader, open, ledger, .. } = self;
            let context = context(chunks, tag);
            if !is_elsewhere(&context, answer) {
                continue;
            }
            // It was read before.
            if let Ok(message) = Message::read(context.whole)
                && let Reading::Credit(request) = reader.read(&message)
            {
                let request = request.for_ledger(tag);
                let (packed, hash) = ledger.account_hash(request.account_kind, request.account);
                open[shard + 1].push(packed, hash, &request);
            }
            passed_on += 1;
        }
        passed_on
    }

    /// Answers a whole batch with an error. Whatever else came back meanwhile rings the bell by itself.
    fn refuse(
        &mut self,
        shard: usize,
        mut batch: Batch,
        result: u32,
        connection: &mut Connection,
        now: Instant,
    ) {
        batch.refuse(result);
        self.answer_batch(shard, batch, connection, now);
    }

    fn keep(&mut self, mut batch: Batch) {
        if self.spare.len() < SPARE_MAX {
            batch.clear();
            self.spare.push(batch);
        }
    }
}

fn context(chunks: &[Chunk], tag: u64) -> Context<'_> {
    Context::read(&chunks[(tag >> 32) as usize].contexts, tag as u32 as usize)
}

/// This shard does not know the session, and another may.
fn is_elsewhere(context: &Context<'_>, answer: &Answer) -> bool {
    answer.result == result::UNKNOWN_SESSION_ID && !context.whole.is_empty()
}

/// One request of a chunk is answered.
fn settle(chunks: &mut [Chunk], free: &mut Vec<u32>, filling: Option<u32>, place: u32) {
    let chunk = &mut chunks[place as usize];
    chunk.unanswered -= 1;
    if chunk.unanswered == 0 && filling != Some(place) {
        chunk.contexts.clear();
        chunk.contexts.shrink_to(CHUNK_OCTETS_KEPT);
        free.push(place);
    }
}
