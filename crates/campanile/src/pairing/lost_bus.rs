//! Taking of an empty bus in the place of one that is lost: its topics go on above every index that was given
//! out, so that neither a message's id nor a position of the database is used twice, and the alerts that are
//! not done say it in their reports.

use super::verdict::DatabaseFacts;
use super::{Pairing, bus_words, opened, store_words};
use records::{Alert, AlertState};

/// Indexes that the lost bus may have given out above what the database has read: a door takes at most a
/// million messages that are not read yet.
const UNREAD_MAX: u64 = 2 * engine::INTAKE_WAITING_MAX;

impl Pairing<'_> {
    /// Takes the empty bus. Cut short at any place, it is done again with the option alone.
    pub(super) async fn take_empty_bus(&self, database: &DatabaseFacts) -> Result<(), String> {
        let outcomes = self.begin(records::OUTCOMES, database.folded_to).await?;
        let intake = self.begin(records::INTAKE, database.intake_to).await?;
        let fold = store::Fold { folded_to: outcomes, intake_to: Some(intake), ..store::Fold::default() };
        self.store.fold_all(fold).await.map_err(store_words)?;
        let noted = self.note_alerts().await?;
        let pair = super::write_new(self.store, self.bus).await?;
        tracing::warn!(
            alerts = noted,
            "{} takes the empty bus {} in the place of the one that is lost (pair {pair}): what is not settled is planned again. \
             Who was being sent to then may get a message twice; messages of platforms from the last second, receipts of \
             messages sent before, callbacks not yet made and text topics are lost",
            self.names.database,
            self.names.bus
        );
        Ok(())
    }

    /// Begins a topic above the database's position in the old one. The position behind its first record.
    async fn begin(&self, name: &'static str, position: u64) -> Result<u64, String> {
        let bus = self.bus.clone();
        let topic = opened(self.bus, name).await?;
        // Begun by a start that was cut short, or by another process just now.
        if topic.latest().await.map_err(bus_words)? == 0 {
            let at = position + UNREAD_MAX;
            let nothing = records::encode_outcomes(&[]);
            crate::storage::aside(move || bus.begin(name, at, &nothing).map_err(bus_words)).await?;
        }
        let first = opened(self.bus, name).await?.low();
        if first < position {
            return Err(super::verdict::older_bus(self.names, name, position, first));
        }
        Ok(first + 1)
    }

    /// Says it in the reports of alerts that were sent to somebody and are not done. How many there are.
    async fn note_alerts(&self) -> Result<usize, String> {
        let now = crate::server::wall_clock();
        let mut noted = 0;
        for alert in self.store.unfinished_alerts().await.map_err(store_words)? {
            if !is_under_way(&alert) {
                continue;
            }
            let note = format!(
                "{} and replaced at {}: what was not settled was planned again. Who was being sent to then may get it twice; \
                 receipts of what was sent before are lost",
                records::BUS_LOST,
                crate::alert_documents::rfc3339(now)
            );
            let version = alert.version + 1;
            let set = self.store.set_alert_state(alert.no, alert.state, version, &note, now).await;
            set.map_err(store_words)?;
            noted += 1;
        }
        Ok(noted)
    }
}

fn is_under_way(alert: &Alert) -> bool {
    matches!(alert.state, AlertState::Running | AlertState::Paused)
}
