//! Topic keeps unsettled messages ([`Settlement`]), from which the next process continues, after a crash or
//! in place of another.
//!
//! A record of the topic is a list of [`Change`]s. What a record of outcomes changes, its pending receipts
//! too, is noted at once when the sessions that it ends are ended, and before it is acknowledged: until then
//! it is given out again, and means the same again. Only one process writes: each record is put at the place
//! where the one before it ended, so that the bus refuses those of a process that leads no more.

use crate::message_charging::changes;
use crate::message_charging::pending_receipts::Clock;
use crate::message_charging::settlement::{Change, Settlement};
use bus::{Bus, BusError, Topic};
use std::sync::Arc;

/// The topic.
const TOPIC: &str = "charging-unsettled";
const NOUN: &str = "record of the topic charging-unsettled";
/// Changes in one record.
const CHANGES_MAX: usize = 1_000;
/// All is written anew, and what was before let go of, when so many changes were noted, and more than twice
/// as many as there is to know.
const ANEW_AT: usize = 16_384;
/// See the module.
pub(super) struct OpenSessionTopic {
    topic: Arc<dyn Topic>,
    /// Where the next record stands.
    head: u64,
    /// Changes on the topic.
    noted: usize,
}

impl OpenSessionTopic {
    /// Of this bus; nothing is read yet.
    pub(super) fn open(bus: &dyn Bus) -> Result<OpenSessionTopic, BusError> {
        Ok(OpenSessionTopic { topic: bus.topic(TOPIC)?, head: 0, noted: 0 })
    }

    /// What was noted so far. From now on this process notes.
    pub(super) async fn read(&mut self) -> Result<Settlement, BusError> {
        let (mut settlement, clock) = (Settlement::of_attempts(), Clock::now());
        let end = self.topic.latest().await?;
        let (mut head, mut noted) = (self.topic.low(), 0);
        let apply = |change: Change| {
            noted += 1;
            settlement.restore(change, clock);
        };
        changes::read(&*self.topic, &mut head, end, NOUN, apply).await?;
        (self.head, self.noted) = (head.max(end), noted);
        Ok(settlement)
    }

    /// Notes what changed.
    ///
    /// # Errors
    /// [`BusError::Moved`]: another notes; the bus's.
    pub(super) async fn note(&mut self, changes: &[Change]) -> Result<(), BusError> {
        if changes.is_empty() {
            return Ok(());
        }
        let records: Vec<Vec<u8>> = changes.chunks(CHANGES_MAX).map(changes::encode).collect();
        let records: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
        let first = self.topic.append_at(self.head, &records).await?;
        self.head = first + records.len() as u64;
        self.noted += changes.len();
        Ok(())
    }

    /// Writes all anew, if what was noted is far more than what is known.
    pub(super) async fn tidy(&mut self, settlement: &Settlement) -> Result<(), BusError> {
        if self.noted < ANEW_AT || self.noted <= 2 * settlement.len() {
            return Ok(());
        }
        let before = self.head;
        self.note(&settlement.all(Clock::now())).await?;
        self.noted = settlement.len();
        self.topic.trim(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bus::embedded::{Embedded, Options};

    fn unknown(endpoint: u32) -> Change {
        let since_us = Clock::now().us_of(Clock::now().now);
        Change::Unknown((7, endpoint, 1), 1, since_us)
    }

    #[tokio::test]
    async fn what_is_noted_is_known_after_a_start_and_who_was_replaced_notes_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Embedded::open(folder.path().join("bus"), Options::default()).unwrap();
        {
            let bus = open();
            let mut first = OpenSessionTopic::open(&bus).unwrap();
            assert_eq!(first.read().await.unwrap().len(), 0);
            first.note(&[unknown(1), unknown(2)]).await.unwrap();
            first.note(&[Change::Known((7, 1, 1))]).await.unwrap();
            first.note(&[]).await.unwrap();
            // Another leads meanwhile.
            let mut other = OpenSessionTopic::open(&bus).unwrap();
            let known = other.read().await.unwrap();
            assert_eq!(known.unknown().map(|id| id.endpoint.0).collect::<Vec<_>>(), [2]);
            other.note(&[unknown(3)]).await.unwrap();
            assert!(matches!(first.note(&[unknown(4)]).await, Err(BusError::Moved { .. })));
            assert_eq!(first.read().await.unwrap().len(), 2, "it goes on from there");
            first.note(&[unknown(4)]).await.unwrap();
        }
        let bus = open();
        let mut endpoints: Vec<u32> = OpenSessionTopic::open(&bus)
            .unwrap()
            .read()
            .await
            .unwrap()
            .unknown()
            .map(|id| id.endpoint.0)
            .collect();
        endpoints.sort_unstable();
        assert_eq!(endpoints, [2, 3, 4]);
    }

    #[tokio::test]
    async fn what_was_settled_takes_no_room_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let bus = Embedded::open(folder.path().join("bus"), Options::default()).unwrap();
        let mut unsettled = OpenSessionTopic::open(&bus).unwrap();
        let mut settlement = unsettled.read().await.unwrap();
        let note =
            async |unsettled: &mut OpenSessionTopic, settlement: &mut Settlement, changes: &[Change]| {
                changes.iter().for_each(|change| settlement.restore(*change, Clock::now()));
                unsettled.note(changes).await.unwrap();
                unsettled.tidy(settlement).await.unwrap();
            };
        note(&mut unsettled, &mut settlement, &[unknown(0)]).await;
        let pair = [unknown(1), Change::Known((7, 1, 1))];
        let pairs: Vec<Change> = pair.into_iter().cycle().take(ANEW_AT - 2).collect();
        note(&mut unsettled, &mut settlement, &pairs).await;
        assert_eq!(unsettled.noted, ANEW_AT - 1);
        note(&mut unsettled, &mut settlement, &[unknown(2)]).await;
        assert_eq!((unsettled.noted, settlement.len()), (2, 2));
        let mut heir = OpenSessionTopic::open(&bus).unwrap();
        assert_eq!(heir.read().await.unwrap().len(), 2);
    }
}
