//! Topic keeps pending receipts where the local ledger pays: each process notes its own, and follows those
//! of all. The process that read a receipt looks up its message soon; should it be gone, the others do,
//! later and less often. A message that is settled twice does the ledger no harm.

use crate::message_charging::changes;
use crate::message_charging::pending_receipts::{Change, Clock, PendingReceipts, WAITS};
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

/// See the module.
pub(super) struct PendingReceiptTopic {
    topic: Arc<dyn Topic>,
    next: u64,
    /// What is found first, an earlier process of this place may have noted.
    is_first: bool,
    due: Instant,
}

impl PendingReceiptTopic {
    /// Of this bus; nothing is read yet.
    pub(super) fn open(bus: &dyn Bus) -> Result<PendingReceiptTopic, BusError> {
        let retention = Retention { age: Some(KEPT), ..Retention::default() };
        let topic = bus.topic_with(TOPIC, &TopicSettings { retention, ..TopicSettings::default() })?;
        Ok(PendingReceiptTopic { next: topic.low(), topic, is_first: true, due: Instant::now() })
    }

    /// When it is to be read again.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Reads what was noted, if it is time.
    pub(super) async fn follow(&mut self, pending: &mut PendingReceipts) {
        if Instant::now() < self.due {
            return;
        }
        let again = match self.read(pending).await {
            Ok(()) => {
                self.is_first = false;
                FOLLOWS
            }
            Err(error) => {
                tracing::warn!(%error, "pending receipts of other processes cannot be read yet");
                AGAIN
            }
        };
        self.due = Instant::now() + again;
    }

    async fn read(&mut self, pending: &mut PendingReceipts) -> Result<(), BusError> {
        let first_look = if self.is_first { Duration::ZERO } else { OTHERS_LOOK };
        let (end, clock) = (self.topic.latest().await?, Clock::now());
        let apply = |change: Change| pending.restore(change, clock, first_look);
        changes::read(&*self.topic, &mut self.next, end, NOUN, apply).await
    }

    /// Notes changes.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn note(&self, changes: &[Change]) -> Result<(), BusError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.topic.append(&[&changes::encode(changes)]).await.map(drop)
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
        of_one.insert(7, ReceiptState::Delivered, began);
        of_one.insert(8, ReceiptState::Failed, began);
        one.note(&of_one.changes(Clock::now())).await.unwrap();
        of_one.take(8, began);
        one.note(&of_one.changes(Clock::now())).await.unwrap();
        other.due = began;
        other.follow(&mut of_other).await;
        assert!(of_other.next_due().is_some_and(|due| due >= began + OTHERS_LOOK));
        let mut heir = PendingReceipts::default();
        PendingReceiptTopic::open(&bus).unwrap().follow(&mut heir).await;
        assert!(heir.next_due().is_some_and(|due| due <= Instant::now()));
        for pending in [&mut of_other, &mut heir] {
            assert_eq!(pending.take(8, began), None, "it was given");
            assert_eq!(pending.take(7, began), Some(ReceiptState::Delivered));
        }
        // What they heard they do not tell again, but what they gave they do.
        other.note(&of_other.changes(Clock::now())).await.unwrap();
        one.follow(&mut of_one).await;
        assert_eq!(of_one.take(7, began), None);
    }
}
