//! Appends to the topic of outcomes, in batches: whoever notes something while a batch is being synced is in the next one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, BusError, Topic};
use records::{AttemptResult, OUTCOMES, Outcome, encode_outcomes};

/// One append holds about so many octets at most: well below the bus's limit on a record.
const BATCH_OCTETS_MAX: usize = 1024 * 1024;
/// After a failed append wait so long before it is tried again.
const APPEND_PAUSE: Duration = Duration::from_secs(1);

/// The place of a noted outcome: [`Pending::is_durable`] says whether it is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Outcomes that wait to be appended, each with what follows once it is on disk.
#[derive(Debug)]
pub struct Pending<T> {
    waiting: VecDeque<(Outcome, Option<T>)>,
    noted: u64,
    durable: u64,
}

/// What is appended together.
#[derive(Debug)]
pub struct Batch<T> {
    /// Noted outcomes, in order; intents come behind them.
    pub outcomes: Vec<Outcome>,
    /// What follows.
    pub tags: Vec<T>,
    noted: u64,
}

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending { waiting: VecDeque::new(), noted: 0, durable: 0 }
    }
}

impl<T> Pending<T> {
    /// Takes an outcome in.
    pub fn note(&mut self, outcome: Outcome, tag: Option<T>) -> Ticket {
        self.waiting.push_back((outcome, tag));
        self.noted += 1;
        Ticket(self.noted)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
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

    /// Takes the next batch out.
    pub fn take(&mut self) -> Batch<T> {
        let mut batch = Batch { outcomes: Vec::new(), tags: Vec::new(), noted: 0 };
        let mut octets = 0;
        while let Some((outcome, _)) = self.waiting.front() {
            octets += octets_about(outcome);
            if octets > BATCH_OCTETS_MAX && batch.noted > 0 {
                break;
            }
            let Some((outcome, tag)) = self.waiting.pop_front() else { break };
            batch.outcomes.push(outcome);
            batch.tags.extend(tag);
            batch.noted += 1;
        }
        batch
    }

    /// A batch is on disk. Batches are appended one after another.
    pub fn done(&mut self, batch: &Batch<T>) {
        self.durable += batch.noted;
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

    /// Appends outcomes as one record; resolves when they are durable.
    ///
    /// # Errors
    /// The bus's: nothing was appended.
    pub async fn append(&self, outcomes: &[Outcome]) -> Result<u64, BusError> {
        self.topic.append(&[&encode_outcomes(outcomes)]).await
    }

    /// Appends outcomes, again and again until they are durable: what happened must not be lost because the disk is full
    /// just now. `trouble` is told of each failure, and with `None` of the end of it.
    ///
    /// # Errors
    /// The bus is closing: there is nothing more to hope for.
    pub async fn insist(
        &self,
        outcomes: &[Outcome],
        mut trouble: impl FnMut(Option<&BusError>) + Send,
    ) -> Result<(), BusError> {
        let record = encode_outcomes(outcomes);
        let mut failed = false;
        loop {
            match self.topic.append(&[&record]).await {
                Ok(_) => {
                    if failed {
                        trouble(None);
                    }
                    return Ok(());
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

/// About how many octets an outcome has on the bus.
fn octets_about(outcome: &Outcome) -> usize {
    const FIXED: usize = 48;
    FIXED
        + match outcome {
            Outcome::Intent(intent) => intent.attempts.len() * 8,
            Outcome::Attempt { route, result, .. } => {
                route.len()
                    + match result {
                        AttemptResult::Accepted { keys, id } => keys.len() * 10 + id.len(),
                        AttemptResult::Refused { code, text, .. } => code.len() + text.len(),
                        AttemptResult::Unknown { text } => text.len(),
                        AttemptResult::NotTried { .. } => 0,
                    }
            }
            Outcome::Receipt(receipt) => receipt.route.len() + receipt.keys.len() * 10 + receipt.text.len(),
            Outcome::Inbound(inbound) => {
                inbound.route.len() + inbound.from.len() + inbound.to.len() + inbound.text.len()
            }
            Outcome::Answer { text, via, .. } => text.len() + via.len(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{AlertNo, EndpointNo, Timestamp};

    fn answer(text: &str) -> Outcome {
        Outcome::Answer {
            alert: AlertNo(1),
            endpoint: EndpointNo(2),
            text: text.to_owned(),
            via: "api".to_owned(),
            at: Timestamp(3),
        }
    }

    #[test]
    fn a_ticket_is_durable_when_its_batch_is_and_not_before() {
        let mut pending = Pending::default();
        let first = pending.note(answer("a"), Some(1));
        let batch = pending.take();
        let second = pending.note(answer("b"), None);
        assert!(!pending.is_durable(first));
        pending.done(&batch);
        assert_eq!((pending.is_durable(first), pending.is_durable(second)), (true, false));
        assert_eq!((batch.outcomes.len(), batch.tags, pending.is_clear()), (1, vec![1], false));
        let batch = pending.take();
        pending.done(&batch);
        assert!(pending.is_durable(second) && pending.is_clear() && pending.is_empty());
    }

    #[test]
    fn a_batch_stays_within_its_octets_but_is_never_empty_while_something_waits() {
        let mut pending = Pending::<()>::default();
        let long = "x".repeat(400_000);
        for text in [&long, &long, &long, &long[..1]] {
            pending.note(answer(text), None);
        }
        pending.note(answer(&"y".repeat(3_000_000)), None);
        let sizes: Vec<usize> = (0..3).map(|_| pending.take().outcomes.len()).collect();
        assert_eq!((sizes, pending.is_empty()), (vec![2, 2, 1], true));
    }

    #[test]
    fn the_estimate_is_not_below_what_is_written() {
        for text in ["", "hello", &"z".repeat(1_000)] {
            let outcome = answer(text);
            assert!(octets_about(&outcome) >= encode_outcomes(std::slice::from_ref(&outcome)).len());
        }
    }
}
