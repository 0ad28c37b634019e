//! Topic keeps unsettled messages ([`Settlement`]), from which the next process continues, after a crash or
//! in place of another.
//!
//! A record of the topic is a list of [`Change`]s. What a record of outcomes changes is noted when the
//! sessions that it ends are ended, and before it is acknowledged: until then it is given out again, and
//! means the same again. Only one writes: each record is put at the place where the one before it ended, so
//! that who leads no more is told so by the bus.

use super::settlement::{Change, Settlement};
use crate::message_charging::changes;
use crate::message_charging::pending_receipts::Clock;
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
/// Records read at a time.
const READ_RECORDS: usize = 1_000;
/// And octets of them.
const READ_OCTETS: usize = 1024 * 1024;

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
        let (mut words, clock) = (Settlement::default(), Clock::now());
        let end = self.topic.latest().await?;
        (self.head, self.noted) = (self.topic.low(), 0);
        while self.head < end {
            let records = self.topic.fetch(self.head, READ_RECORDS, READ_OCTETS).await?;
            let Some(last) = records.last() else { break };
            self.head = last.index + 1;
            for record in &records {
                match changes::decode(NOUN, &record.octets) {
                    Ok(changes) => {
                        self.noted += changes.len();
                        changes.into_iter().for_each(|change: Change| words.hear(change, clock));
                    }
                    Err(error) => {
                        tracing::error!(index = record.index, %error, "what is known of unsettled messages cannot be read: what it says is free when the session ends");
                    }
                }
            }
        }
        self.head = self.head.max(end);
        Ok(words)
    }

    /// Notes what changed.
    ///
    /// # Errors
    /// [`BusError::Moved`]: another notes; the bus's.
    pub(super) async fn note(&mut self, changes: &[Change]) -> Result<(), BusError> {
        if changes.is_empty() {
            return Ok(());
        }
        let records: Vec<Vec<u8>> = changes.chunks(CHANGES_MAX).map(record).collect();
        let records: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
        let first = self.topic.append_at(self.head, &records).await?;
        self.head = first + records.len() as u64;
        self.noted += changes.len();
        Ok(())
    }

    /// Writes all anew, if what was noted is far more than what is known.
    pub(super) async fn tidy(&mut self, words: &Settlement) -> Result<(), BusError> {
        if self.noted < ANEW_AT || self.noted <= 2 * words.len() {
            return Ok(());
        }
        let before = self.head;
        self.note(&words.all(Clock::now())).await?;
        self.noted = words.len();
        self.topic.trim(before)
    }
}

fn record(changes: &[Change]) -> Vec<u8> {
    // Numbers and names only: it cannot fail.
    changes::encode(changes).unwrap_or_default()
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
        let mut words = unsettled.read().await.unwrap();
        let note = async |unsettled: &mut OpenSessionTopic, words: &mut Settlement, changes: &[Change]| {
            changes.iter().for_each(|change| words.hear(*change, Clock::now()));
            unsettled.note(changes).await.unwrap();
            unsettled.tidy(words).await.unwrap();
        };
        note(&mut unsettled, &mut words, &[unknown(0)]).await;
        let pair = [unknown(1), Change::Known((7, 1, 1))];
        let pairs: Vec<Change> = pair.into_iter().cycle().take(ANEW_AT - 2).collect();
        note(&mut unsettled, &mut words, &pairs).await;
        assert_eq!(unsettled.noted, ANEW_AT - 1);
        note(&mut unsettled, &mut words, &[unknown(2)]).await;
        assert_eq!((unsettled.noted, words.len()), (2, 2));
        let mut heir = OpenSessionTopic::open(&bus).unwrap();
        assert_eq!(heir.read().await.unwrap().len(), 2);
    }
}
