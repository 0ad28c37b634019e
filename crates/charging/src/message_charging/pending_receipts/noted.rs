//! Receipts that wait, where the ledger of this house pays: each process notes its own on a topic of the bus,
//! and follows what all note. Whoever reads a receipt looks for word of its message soon; should that process
//! be gone, the others do, later and less often. To be told twice what became of a message does the ledger no
//! harm.

use super::{Change, Clock, PendingReceipts, WAITS};
use crate::message_charging::changes;
use bus::{Bus, BusError, Retention, Topic, TopicSettings};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The topic: each record is a list of [`Change`]s.
const TOPIC: &str = "charging-early";
const NOUN: &str = "record of the topic charging-early";
/// What was noted before is over.
const KEPT: Duration = WAITS.saturating_mul(2);
/// What others noted is read so often.
const FOLLOWS: Duration = Duration::from_secs(30);
/// What others noted is looked for after so long.
const OTHERS_LOOK: Duration = Duration::from_secs(60);
/// After an error of the bus it is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// Records read at a time.
const READ_RECORDS: usize = 1_000;
/// And octets of them.
const READ_OCTETS: usize = 1024 * 1024;

/// See the module.
pub(in crate::message_charging) struct PendingReceiptTopic {
    topic: Arc<dyn Topic>,
    next: u64,
    /// What is found first, an earlier process of this place may have noted.
    is_first: bool,
    due: Instant,
}

impl PendingReceiptTopic {
    /// Of this bus; nothing is read yet.
    pub(in crate::message_charging) fn open(bus: &dyn Bus) -> Result<PendingReceiptTopic, BusError> {
        let retention = Retention { age: Some(KEPT), ..Retention::default() };
        let topic = bus.topic_with(TOPIC, &TopicSettings { retention, ..TopicSettings::default() })?;
        Ok(PendingReceiptTopic { next: topic.low(), topic, is_first: true, due: Instant::now() })
    }

    /// When it is to be read again.
    pub(in crate::message_charging) fn due(&self) -> Instant {
        self.due
    }

    /// Reads what was noted, if it is time.
    pub(in crate::message_charging) async fn follow(&mut self, early: &mut PendingReceipts) {
        if Instant::now() < self.due {
            return;
        }
        let again = match self.read(early).await {
            Ok(()) => {
                self.is_first = false;
                FOLLOWS
            }
            Err(error) => {
                tracing::warn!(%error, "receipts that wait for word of their message are not heard of yet");
                AGAIN
            }
        };
        self.due = Instant::now() + again;
    }

    async fn read(&mut self, early: &mut PendingReceipts) -> Result<(), BusError> {
        let first_look = if self.is_first { Duration::ZERO } else { OTHERS_LOOK };
        let end = self.topic.latest().await?;
        while self.next < end {
            let records = self.topic.fetch(self.next, READ_RECORDS, READ_OCTETS).await?;
            let Some(last) = records.last() else { break };
            self.next = last.index + 1;
            let clock = Clock::now();
            for record in &records {
                match changes::decode(NOUN, &record.octets) {
                    Ok(changes) => {
                        changes.into_iter().for_each(|change: Change| early.hear(change, clock, first_look));
                    }
                    Err(error) => {
                        tracing::warn!(index = record.index, %error, "receipts that wait for word of their message cannot be read");
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes what changed, however long that takes; false: the bus is closed.
    pub(in crate::message_charging) async fn note(&self, early: &mut PendingReceipts) -> bool {
        let changes = early.changes(Clock::now());
        if changes.is_empty() {
            return true;
        }
        let record = match changes::encode(&changes) {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(%error, "receipts that wait for word of their message cannot be written");
                return true;
            }
        };
        loop {
            match self.topic.append(&[&record]).await {
                Ok(_) => return true,
                Err(BusError::Closed) => return false,
                Err(error) => {
                    tracing::error!(%error, "receipts that wait for word of their message are not noted yet: money waits to be settled");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::embedded::{Embedded, Options};
    use records::ReceiptState;

    #[tokio::test]
    async fn what_one_process_notes_the_others_look_for_later_and_an_heir_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let bus = Embedded::open(folder.path().join("bus"), Options::default()).unwrap();
        let (mut one, mut other) =
            (PendingReceiptTopic::open(&bus).unwrap(), PendingReceiptTopic::open(&bus).unwrap());
        let (mut of_one, mut of_other) = (PendingReceipts::default(), PendingReceipts::default());
        other.follow(&mut of_other).await;
        assert!(other.due() > Instant::now() + FOLLOWS / 2, "it was read");
        let began = Instant::now();
        of_one.wait(7, ReceiptState::Delivered, began);
        of_one.wait(8, ReceiptState::Failed, began);
        assert!(one.note(&mut of_one).await);
        of_one.take(8, began);
        assert!(one.note(&mut of_one).await);
        other.due = began;
        other.follow(&mut of_other).await;
        assert!(of_other.next_due().is_some_and(|due| due >= began + OTHERS_LOOK));
        let mut heir = PendingReceipts::default();
        PendingReceiptTopic::open(&bus).unwrap().follow(&mut heir).await;
        assert!(heir.next_due().is_some_and(|due| due <= Instant::now()));
        for early in [&mut of_other, &mut heir] {
            assert_eq!(early.take(8, began), None, "it was given");
            assert_eq!(early.take(7, began), Some(ReceiptState::Delivered));
        }
        // What they heard they do not tell again, but what they gave they do.
        assert!(other.note(&mut of_other).await);
        one.follow(&mut of_one).await;
        assert_eq!(of_one.take(7, began), None);
    }
}
