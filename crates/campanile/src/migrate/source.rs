//! Source of a migration: a data folder that no server uses, in which nothing is under way.

use super::Migration;
use bus::Bus;
use bus::embedded::{Fsync, Options, listing};
use records::{Alert, AlertNo, DeliveryState, EndpointNo, INTAKE, OUTCOMES, ROSTER_BLOCK_ENDPOINTS};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::SharedStore;
use store::sqlite::SqliteOptions;

/// What the names of the topics of segments begin with.
pub(super) const SEGMENTS: &str = "segments/";
/// Alerts named in a refusal.
const NAMED_MAX: usize = 5;
/// Said where topics have what SQL has not.
const START_ONCE: &str =
    "the server did not end in order: start it once, stop it with SIGTERM, and migrate then";

/// The folder, open.
pub(super) struct MigrationSource {
    /// Held open for its lock.
    pub(super) store: SharedStore,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) folder: PathBuf,
}

impl MigrationSource {
    /// Takes the locks that a server would hold.
    pub(super) fn open(migration: &Migration) -> Result<MigrationSource, String> {
        if !migration.database.is_file() {
            return Err(format!(
                "{} is not there: --data names the folder of a server, --old-config its config",
                migration.database.display()
            ));
        }
        let running = |why: String| format!("{why}; if a server runs on this folder, stop it first");
        crate::data_form::note_in_folder(&migration.data)?;
        let options = SqliteOptions { sweep: false, ..SqliteOptions::default() };
        let store =
            store::sqlite::open(&migration.database, &options).map_err(|error| running(error.to_string()))?;
        let options = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(&migration.bus, options).map_err(|error| running(error.to_string()))?;
        Ok(MigrationSource { store, bus, folder: migration.bus.clone() })
    }

    pub(super) async fn close(&self) {
        if let Err(error) = self.store.close().await {
            tracing::warn!(%error, "the folder's database did not close cleanly");
        }
    }

    /// Nothing runs, nothing waits, and SQL has all that topics have.
    pub(super) async fn check(&self) -> Result<(), String> {
        self.check_alerts().await?;
        for (topic, known) in [
            (OUTCOMES, self.store.folded_to().await.map_err(in_folder)?),
            (INTAKE, self.store.intake_to().await.map_err(in_folder)?),
        ] {
            let head = self.bus.topic(topic).map_err(in_bus)?.head();
            if known < head {
                return Err(format!(
                    "{} records of {topic} are not in the database: {START_ONCE}",
                    head - known
                ));
            }
            let taken = self.taken(topic)?;
            if taken.is_some_and(|taken| taken < head) {
                return Err(format!("not everything of {topic} is settled: {START_ONCE}"));
            }
        }
        for topic in self.bus.topics(SEGMENTS).map_err(in_bus)? {
            let head = self.bus.topic(&topic).map_err(in_bus)?.head();
            if self.taken(&topic)?.is_none_or(|taken| taken < head) && head > 0 {
                return Err(format!("{topic} holds messages on their way: {START_ONCE}"));
            }
        }
        Ok(())
    }

    /// Up to where all consumer groups of a topic have acknowledged it. None: it has none.
    pub(super) fn taken(&self, topic: &str) -> Result<Option<u64>, String> {
        let names = listing::group_names(&self.folder, topic).map_err(|error| error.to_string())?;
        let groups = names.iter().map(|group| self.bus.group(topic, group).map(|group| group.low_water()));
        let marks = groups.collect::<Result<Vec<u64>, _>>().map_err(in_bus)?;
        Ok(marks.into_iter().min())
    }

    async fn check_alerts(&self) -> Result<(), String> {
        let unfinished = self.store.unfinished_alerts().await.map_err(in_folder)?;
        let (streams, alerts): (Vec<Alert>, Vec<Alert>) = unfinished
            .into_iter()
            .partition(|alert| matches!(alert.origin, records::Origin::Standing { .. }));
        if !alerts.is_empty() {
            let named: Vec<String> = alerts
                .iter()
                .take(NAMED_MAX)
                .map(|alert| format!("{} ({})", alert.id, alert.state.name()))
                .collect();
            return Err(format!(
                "{} alerts have not ended, such as {}: start the server, let them end or cancel them, stop it, and migrate then",
                alerts.len(),
                named.join(", ")
            ));
        }
        for stream in streams {
            let waiting = self.waiting(stream.no)?;
            if waiting > 0 {
                return Err(format!(
                    "{waiting} messages of platforms of account {} have not ended: start the server, wait until they have, stop it, and \
                     migrate then",
                    stream.account
                ));
            }
        }
        Ok(())
    }

    /// Messages of a stream that are still to be sent, or are on their way.
    fn waiting(&self, no: AlertNo) -> Result<usize, String> {
        let mut states = BTreeMap::new();
        let mut note = |rows: &[records::Delivery]| {
            states.extend(rows.iter().map(|row| (row.endpoint, row.state)));
            true
        };
        self.store.scan_deliveries(no, &mut note).map_err(in_folder)?;
        let (mut at, mut waiting) = (EndpointNo(0), 0);
        while let Some(block) = self.store.roster_block(no, at).map_err(in_folder)? {
            for (endpoint, entry) in (block.first.0..).zip(&block.entries) {
                let state = states.get(&EndpointNo(endpoint)).copied();
                let state = state.or(entry.excluded.map(|_| DeliveryState::Excluded));
                let is_waiting = matches!(
                    state,
                    None | Some(DeliveryState::Planned | DeliveryState::Held | DeliveryState::Submitted)
                );
                waiting += usize::from(is_waiting);
            }
            at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
        }
        Ok(waiting)
    }
}

fn in_folder(error: store::StoreError) -> String {
    format!("the folder's database: {error}")
}

pub(super) fn in_bus(error: bus::BusError) -> String {
    format!("the folder's bus: {error}")
}
