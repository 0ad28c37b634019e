//! Appends to the topic of outcomes, in batches: whoever notes something while a batch is being synced is in
//! the next one.

pub(crate) mod recovery;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, BusError, Topic};
use records::{AttemptRef, AttemptResultRef, OUTCOMES, Outcome, OutcomeBatch, Timestamp};

/// One append holds about so many octets at most, and what sessions noted meanwhile: well below what a bus
/// takes as one record (a nats-server 1 MiB, unless it is told otherwise).
const BATCH_OCTETS_MAX: usize = 256 * 1024;
/// After a failed append wait so long before it is tried again.
const APPEND_PAUSE: Duration = Duration::from_secs(1);

/// The place of a noted outcome: [`Pending::is_durable`] says whether it is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What follows from outcomes once they are on disk.
pub trait Tag: Sized {
    /// Takes another in that follows with it, or gives it back.
    fn join(&mut self, other: Self) -> Option<Self>;
}

/// How many of each kind of outcome, in [`OutcomeKind`]'s order.
pub type Tally = [u64; 6];

/// Outcomes as they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The carrier took it.
    Accepted,
    /// It said no.
    Refused,
    /// Nobody knows.
    Unknown,
    /// Never written.
    NotTried,
    /// The network told of it.
    Receipt,
    /// A person said something.
    Inbound,
}

/// Outcomes that are appended together, and what follows. They are kept as the octets of their record.
#[derive(Debug)]
pub struct OutcomeAppend<T> {
    outcomes: OutcomeBatch,
    /// What follows.
    pub tags: Vec<T>,
    /// What they are.
    pub tally: Tally,
    /// Those that somebody may ask after; what is added to a batch is not among them.
    noted: u64,
}

impl<T> Default for OutcomeAppend<T> {
    fn default() -> OutcomeAppend<T> {
        OutcomeAppend {
            outcomes: OutcomeBatch::default(),
            tags: Vec::new(),
            tally: Tally::default(),
            noted: 0,
        }
    }
}

impl<T: Tag> OutcomeAppend<T> {
    /// Takes an outcome in.
    pub fn note(&mut self, outcome: &Outcome, tag: Option<T>) {
        self.outcomes.push(outcome);
        if let Some(kind) = OutcomeKind::of(outcome) {
            self.tally[kind as usize] += 1;
        }
        self.noted += 1;
        tag.into_iter().for_each(|tag| self.tag(tag));
    }

    /// Takes in what became of an attempt.
    pub fn note_attempt(
        &mut self,
        of: AttemptRef,
        route: &str,
        at: Timestamp,
        result: AttemptResultRef<'_>,
        tag: Option<T>,
    ) {
        self.outcomes.push_attempt(of, route, at, result);
        self.tally[OutcomeKind::of_result(result) as usize] += 1;
        self.noted += 1;
        tag.into_iter().for_each(|tag| self.tag(tag));
    }

    /// Adds what nobody asks after to a batch that is about to be appended.
    pub fn add(&mut self, outcome: &Outcome) {
        self.outcomes.push(outcome);
        if let Some(kind) = OutcomeKind::of(outcome) {
            self.tally[kind as usize] += 1;
        }
    }

    /// Nothing was taken in.
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// How many outcomes it has.
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// As it is appended.
    pub fn record(&mut self) -> &[u8] {
        self.outcomes.record()
    }

    /// Takes all of another in, which is empty then.
    fn append(&mut self, other: &mut OutcomeAppend<T>) {
        self.outcomes.append(&mut other.outcomes);
        other.tags.drain(..).for_each(|tag| self.tag(tag));
        self.tally
            .iter_mut()
            .zip(std::mem::take(&mut other.tally))
            .for_each(|(ours, theirs)| *ours += theirs);
        self.noted += std::mem::take(&mut other.noted);
    }

    fn tag(&mut self, tag: T) {
        let left = match self.tags.last_mut() {
            Some(last) => last.join(tag),
            None => Some(tag),
        };
        self.tags.extend(left);
    }

    fn clear(&mut self) {
        self.outcomes.clear();
        self.tags.clear();
        (self.tally, self.noted) = (Tally::default(), 0);
    }
}

impl OutcomeKind {
    fn of(outcome: &Outcome) -> Option<OutcomeKind> {
        match outcome {
            Outcome::Attempt { result, .. } => Some(OutcomeKind::of_result(result.into())),
            Outcome::Receipt(_) | Outcome::CarrierReceipt(_) => Some(OutcomeKind::Receipt),
            Outcome::Inbound(_) | Outcome::Reply(_) | Outcome::Unproven(_) => Some(OutcomeKind::Inbound),
            Outcome::Intent(_) | Outcome::Answer { .. } | Outcome::Claim(_) | Outcome::By { .. } => None,
        }
    }

    fn of_result(result: AttemptResultRef<'_>) -> OutcomeKind {
        match result {
            AttemptResultRef::Accepted { .. } => OutcomeKind::Accepted,
            AttemptResultRef::Refused { .. } => OutcomeKind::Refused,
            AttemptResultRef::Unknown { .. } => OutcomeKind::Unknown,
            AttemptResultRef::NotTried { .. } => OutcomeKind::NotTried,
        }
    }
}

/// Outcomes that wait to be appended, each with what follows once it is on disk.
#[derive(Debug)]
pub struct Pending<T> {
    /// The last one is being filled; none is empty.
    waiting: VecDeque<OutcomeAppend<T>>,
    /// An empty one, with its room.
    spare: Option<OutcomeAppend<T>>,
    noted: u64,
    durable: u64,
}

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending { waiting: VecDeque::new(), spare: None, noted: 0, durable: 0 }
    }
}

impl<T: Tag> Pending<T> {
    /// Takes an outcome in.
    pub fn note(&mut self, outcome: &Outcome, tag: Option<T>) -> Ticket {
        self.filling().note(outcome, tag);
        self.noted += 1;
        Ticket(self.noted)
    }

    /// Takes in what became of an attempt.
    pub fn note_attempt(
        &mut self,
        of: AttemptRef,
        route: &str,
        at: Timestamp,
        result: AttemptResultRef<'_>,
        tag: Option<T>,
    ) {
        self.filling().note_attempt(of, route, at, result, tag);
        self.noted += 1;
    }

    /// Takes in what belongs together: it stands in one record.
    pub fn note_together(&mut self, note: impl FnOnce(&mut OutcomeAppend<T>)) {
        let batch = self.filling();
        let before = batch.noted;
        note(batch);
        self.noted += batch.noted - before;
    }

    /// Takes in what was noted elsewhere, which is empty then.
    pub fn absorb(&mut self, batch: &mut OutcomeAppend<T>) {
        if batch.is_empty() {
            return;
        }
        self.noted += batch.noted;
        self.filling().append(batch);
    }

    /// None waits; a batch may still be under way.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// All that was noted is on disk.
    pub fn is_clear(&self) -> bool {
        self.durable == self.noted
    }

    /// Whether an outcome is on disk.
    pub fn is_durable(&self, ticket: Ticket) -> bool {
        ticket.0 <= self.durable
    }

    /// What waits, as it will be appended, and a number that is another when more waits.
    pub fn copies(&mut self) -> (u64, Vec<Vec<u8>>) {
        (self.noted, self.waiting.iter_mut().map(|batch| batch.record().to_vec()).collect())
    }

    /// Takes the next batch out.
    pub fn take(&mut self) -> OutcomeAppend<T> {
        self.waiting.pop_front().or_else(|| self.spare.take()).unwrap_or_default()
    }

    /// A batch is on disk, and what follows of it is done. Batches are appended one after another.
    pub fn done(&mut self, mut batch: OutcomeAppend<T>) {
        self.durable += batch.noted;
        batch.clear();
        self.spare = Some(batch);
    }

    fn filling(&mut self) -> &mut OutcomeAppend<T> {
        if self.waiting.back().is_none_or(|batch| batch.outcomes.octets() >= BATCH_OCTETS_MAX) {
            self.waiting.push_back(self.spare.take().unwrap_or_default());
        }
        let last = self.waiting.len() - 1;
        &mut self.waiting[last]
    }
}

/// The topic of outcomes.
#[derive(Clone)]
pub struct Journal {
    topic: Arc<dyn Topic>,
}

impl Journal {
    /// Opens the topic.
    ///
    /// # Errors
    /// The bus's.
    pub fn open(bus: &dyn Bus) -> Result<Journal, BusError> {
        Ok(Journal { topic: bus.topic(OUTCOMES)? })
    }

    /// Appends a record of outcomes, again and again until it is durable: what happened must not be lost
    /// because the disk is full just now. `trouble` is told of each failure, and with `None` of the end of
    /// it. With a key it stands there once, though a failed append may have been none. Says where.
    ///
    /// # Errors
    /// The bus is closing: there is nothing more to hope for.
    pub async fn insist(
        &self,
        record: &[u8],
        key: Option<&[u8]>,
        mut trouble: impl FnMut(Option<&BusError>) + Send,
    ) -> Result<u64, BusError> {
        let mut failed = false;
        loop {
            let appended = match key {
                None => self.topic.append(&[record]).await,
                Some(key) => self.topic.append_keyed(key, &[record]).await.map(|keyed| keyed.first),
            };
            match appended {
                Ok(index) => {
                    if failed {
                        trouble(None);
                    }
                    return Ok(index);
                }
                Err(BusError::Closed) => return Err(BusError::Closed),
                Err(error) => {
                    failed = true;
                    trouble(Some(&error));
                    tokio::time::sleep(APPEND_PAUSE).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{AlertNo, EndpointNo, decode_outcomes};

    /// Numbers of one decade follow together.
    impl Tag for Vec<u32> {
        fn join(&mut self, other: Vec<u32>) -> Option<Vec<u32>> {
            if self[0] / 10 != other[0] / 10 {
                return Some(other);
            }
            self.extend(other);
            None
        }
    }

    fn answer(text: &str) -> Outcome {
        Outcome::Answer {
            alert: AlertNo(1),
            endpoint: EndpointNo(2),
            text: text.to_owned(),
            via: "api".to_owned(),
            at: Timestamp(3),
        }
    }

    fn outcomes(batch: &mut OutcomeAppend<Vec<u32>>) -> Vec<Outcome> {
        decode_outcomes(batch.record()).unwrap()
    }

    #[test]
    fn a_ticket_is_durable_when_its_batch_is_and_not_before() {
        let mut pending = Pending::default();
        let first = pending.note(&answer("a"), Some(vec![1]));
        let mut batch = pending.take();
        let second = pending.note(&answer("b"), None);
        assert!(!pending.is_durable(first));
        assert_eq!((outcomes(&mut batch), batch.tags.clone()), (vec![answer("a")], vec![vec![1]]));
        pending.done(batch);
        assert_eq!((pending.is_durable(first), pending.is_durable(second)), (true, false));
        assert!(!pending.is_clear());
        let batch = pending.take();
        pending.done(batch);
        assert!(pending.is_durable(second) && pending.is_clear() && pending.is_empty());
    }

    #[test]
    fn what_was_noted_elsewhere_comes_in_its_order_and_what_follows_together_is_one() {
        let (mut pending, mut batch) = (Pending::default(), OutcomeAppend::default());
        pending.note(&answer("a"), Some(vec![1]));
        for (text, tag) in [("b", 2), ("c", 11), ("d", 12)] {
            batch.note(&answer(text), Some(vec![tag]));
        }
        pending.absorb(&mut batch);
        let last = pending.note(&answer("e"), None);
        assert!(batch.is_empty() && batch.tags.is_empty());
        let mut taken = pending.take();
        assert_eq!(outcomes(&mut taken), ["a", "b", "c", "d", "e"].map(answer));
        assert_eq!(taken.tags, [vec![1, 2], vec![11, 12]]);
        taken.add(&answer("intent"));
        assert_eq!(taken.len(), 6);
        pending.done(taken);
        assert!(pending.is_durable(last) && pending.is_clear(), "what was added is not counted");
    }

    #[test]
    fn a_batch_stays_near_its_octets_but_is_never_empty_while_something_waits() {
        let mut pending = Pending::<Vec<u32>>::default();
        let long = "x".repeat(150_000);
        for text in [&long, &long, &long[..1]] {
            pending.note(&answer(text), None);
        }
        pending.note(&answer(&"y".repeat(275_000)), None);
        pending.note(&answer("z"), None);
        let sizes: Vec<usize> = (0..3).map(|_| pending.take().len()).collect();
        assert_eq!((sizes, pending.is_empty()), (vec![2, 2, 1], true));
    }
}
