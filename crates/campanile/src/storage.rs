//! Storage opens store, bus and secrets, and checks that they belong together.

use crate::data_form;
use crate::keys::Keys;
use crate::setup::{NodeSetup, Setup, SharedServers, StoragePlace};
use bus::embedded::Fsync;
use std::path::Path;
use std::sync::Arc;
use store::SharedStore;

/// The topic whose first record says which database the bus belongs to, and holds the secrets that all
/// processes share; those behind it are [`data_form`]'s.
const HOUSE: &str = "house";
/// A database's id in front of the secrets.
const ID_OCTETS: usize = 16;

/// Store, bus and secrets, open.
pub struct OpenedStorage {
    /// SQL.
    pub store: SharedStore,
    /// Topics.
    pub bus: Arc<dyn bus::Bus>,
    /// Secrets.
    pub keys: Keys,
    /// This process, if others share all this.
    pub node: Option<NodeSetup>,
    /// Topics of this machine alone, beside those that are shared.
    pub outbox: Option<Arc<dyn bus::Bus>>,
}

/// Opens what the setup names.
///
/// # Errors
/// In words, with what to do.
pub async fn open(setup: &Setup) -> Result<OpenedStorage, String> {
    data_form::note_in_folder(&setup.data)?;
    match &setup.kept {
        StoragePlace::Here { database, bus, fsync } => {
            let keys = Keys::open(&setup.data)?;
            let options = bus::embedded::Options { fsync: *fsync, ..bus::embedded::Options::default() };
            let bus =
                bus::embedded::open(setup.data.join(bus), options).map_err(|error| error.to_string())?;
            let store =
                store::sqlite::open(&setup.data.join(database), &store::sqlite::SqliteOptions::default())
                    .map_err(|error| error.to_string())?;
            Ok(OpenedStorage { store, bus, keys, node: None, outbox: None })
        }
        StoragePlace::Shared(servers) => shared(servers, &setup.data).await,
    }
}

async fn shared(servers: &SharedServers, data: &Path) -> Result<OpenedStorage, String> {
    let (url, options) = (servers.store.reveal().to_owned(), servers.postgres.clone());
    let store = aside(move || store::postgres::open(&url, &options).map_err(|error| error.to_string()))
        .await
        .map_err(|why| format!("[store]: {why}"))?;
    let (url, options) = (servers.bus.clone(), servers.nats.clone());
    let bus = aside(move || bus::nats::open(&url, options).map_err(|error| error.to_string()))
        .await
        .map_err(|why| format!("[bus]: {why}"))?;
    let keys = belonging(&store, &bus).await?;
    // A kill of the process takes nothing of it; a power cut may, and then it is unknown what carriers said.
    let options =
        bus::embedded::Options { fsync: Fsync::Os, reserve_octets: 0, ..bus::embedded::Options::default() };
    let outbox = bus::embedded::open(data.join("outbox"), options).map_err(|error| error.to_string())?;
    Ok(OpenedStorage { store, bus, keys, node: Some(servers.node.clone()), outbox: Some(outbox) })
}

/// Servers are asked on a thread that may wait.
async fn aside<T: Send + 'static>(
    open: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(open).await.map_err(|error| format!("opening failed: {error}"))?
}

/// The secrets that the first process left; a bus that belongs to another database is refused: its segments
/// and outcomes speak of alerts that are not ours.
async fn belonging(store: &SharedStore, bus: &Arc<dyn bus::Bus>) -> Result<Keys, String> {
    let id = store.house().await.map_err(|error| error.to_string())?;
    let describe = |error: bus::BusError| format!("[bus]: {error}");
    let opened = bus.clone();
    let topic = aside(move || opened.topic(HOUSE).map_err(|error| error.to_string())).await?;
    if topic.latest().await.map_err(describe)? == 0 {
        let record = [&[records::FORM][..], id.as_bytes(), &Keys::random()?].concat();
        match topic.append_at(0, &[&record]).await {
            // Another process was first: its secrets hold for all.
            Ok(_) | Err(bus::BusError::Moved { .. }) => {}
            Err(error) => return Err(describe(error)),
        }
    }
    let records = topic.fetch(0, 1, usize::MAX).await.map_err(describe)?;
    let first = records.first().filter(|record| record.index == 0);
    let first = first.map(|record| records::behind_form("record of the topic house", &record.octets));
    let octets = first.transpose().map_err(|error| format!("[bus]: {error}"))?;
    let octets = octets.and_then(|octets| octets.split_at_checked(ID_OCTETS));
    let (of, secrets) = octets.ok_or("[bus]: the topic \"house\" is damaged: use another bus.prefix")?;
    if of != id.as_bytes() {
        return Err(format!(
            "[bus]: these streams belong to another database than [store] names ({id}): use another bus.prefix, \
             or the database they were made with"
        ));
    }
    data_form::note_on_bus(&*topic, HOUSE).await?;
    Keys::of(secrets)
        .ok_or_else(|| "[bus]: the topic \"house\" has no secrets: use another bus.prefix".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_here(dir: &std::path::Path, database: &str) -> (SharedStore, Arc<dyn bus::Bus>) {
        let store =
            store::sqlite::open(&dir.join(database), &store::sqlite::SqliteOptions::default()).unwrap();
        (store, bus::embedded::open(dir.join("bus"), bus::embedded::Options::default()).unwrap())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_process_has_the_first_ones_secrets_and_another_database_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (store, bus) = open_here(dir.path(), "one");
        let first = belonging(&store, &bus).await.unwrap();
        let second = belonging(&store, &bus).await.unwrap();
        assert_eq!((first.links, first.tags, first.webhooks), (second.links, second.tags, second.webhooks));
        let other =
            store::sqlite::open(&dir.path().join("two"), &store::sqlite::SqliteOptions::default()).unwrap();
        let refused = belonging(&other, &bus).await.err().unwrap();
        assert!(refused.contains("another database") && refused.contains("bus.prefix"), "{refused}");
    }
}
