//! Storage opens store, bus and secrets, and checks that they belong together.

use crate::data_lock::DataLock;
use crate::keys::Keys;
use crate::pairing::{EmptyBus, PairNames, Pairing};
use crate::server_names;
use crate::setup::{NodeSetup, Setup, SharedServers, StoragePlace};
use crate::{data_form, data_lock};
use bus::embedded::Fsync;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::SharedStore;

/// The topic whose first record says which database the bus belongs to, and holds the secrets that all
/// processes share; those behind it are [`data_form`]'s.
pub(crate) const HOUSE: &str = "house";
/// A database's id in front of the secrets.
const ID_OCTETS: usize = 16;
/// The file in a data folder whose content was migrated, which says where to.
const MIGRATED: &str = "migrated";

/// A server that is not there at a start is waited for so long: a machine that boots starts it meanwhile.
const AWAITED_AT_START: Duration = Duration::from_secs(60);

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
    /// The data folder is this server's.
    pub lock: DataLock,
}

/// Opens what the setup names.
///
/// # Errors
/// In words, with what to do.
pub async fn open(setup: &Setup, empty_bus: EmptyBus) -> Result<OpenedStorage, String> {
    let lock = data_lock::take(&setup.data)?;
    data_form::note_in_folder(&setup.data)?;
    let opened = match &setup.kept {
        StoragePlace::Here { database, bus, fsync } => {
            refuse_migrated(&setup.data)?;
            here(setup, (database, bus), *fsync, empty_bus, lock).await?
        }
        StoragePlace::Shared(servers) => shared(servers, &setup.data, empty_bus, lock).await?,
    };
    opened.store.keep_named_for(attachments_kept_s(setup.retention.attachments));
    warn_of_new_keys(&opened).await?;
    Ok(opened)
}

/// What a folder's content was migrated to goes on elsewhere: two servers would send everything twice.
fn refuse_migrated(data: &Path) -> Result<(), String> {
    let path = data.join(MIGRATED);
    let Ok(to) = std::fs::read_to_string(&path) else { return Ok(()) };
    Err(format!(
        "the data folder {} was migrated {}: start with the config that names these servers. To go back to the folder as it was then, stop \
         all processes of these servers and remove {}",
        data.display(),
        to.trim(),
        path.display()
    ))
}

/// Notes where a folder's content went.
pub(crate) fn note_migrated(data: &Path, to: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::File::create(data.join(MIGRATED))?;
    file.write_all(to.as_bytes())?;
    file.sync_all()?;
    std::fs::File::open(data)?.sync_all()
}

/// Makes an empty bus belong to a database, with the secrets of the installation: the one place where the two
/// come to know each other.
pub(crate) async fn join(house: uuid::Uuid, secrets: &[u8], bus: &Arc<dyn bus::Bus>) -> Result<(), String> {
    let describe = |error: bus::BusError| format!("[bus]: {error}");
    let opened = bus.clone();
    let topic = aside(move || opened.topic(HOUSE).map_err(|error| error.to_string())).await?;
    topic.append_at(0, &[&house_record(house, secrets)]).await.map_err(describe)?;
    data_form::note_on_bus(&*topic, HOUSE).await
}

/// The first record of the topic [`HOUSE`].
fn house_record(house: uuid::Uuid, secrets: &[u8]) -> Vec<u8> {
    [&[records::FORM][..], house.as_bytes(), secrets].concat()
}

/// How long the files of an alert are kept. 0 days: for ever, which is a thousand years.
fn attachments_kept_s(days: u32) -> i64 {
    i64::from(if days == 0 { 365_000 } else { days }) * 86_400
}

async fn here(
    setup: &Setup,
    (database, folder): (&Path, &Path),
    fsync: Fsync,
    empty_bus: EmptyBus,
    lock: DataLock,
) -> Result<OpenedStorage, String> {
    let (database, folder) = (setup.data.join(database), setup.data.join(folder));
    let options = bus::embedded::Options { fsync, ..bus::embedded::Options::default() };
    let bus = bus::embedded::open(&folder, options).map_err(|error| error.to_string())?;
    let store = store::sqlite::open(&database, &store::sqlite::SqliteOptions::default())
        .map_err(|error| error.to_string())?;
    let names = PairNames {
        another_bus: format!("move {} away", folder.display()),
        database: database.display().to_string(),
        bus: folder.display().to_string(),
    };
    let keeps_all = fsync == Fsync::Always;
    Pairing { store: &store, bus: &bus, names: &names, empty_bus, keeps_all }.check().await?;
    // Behind the check: a start that is refused leaves no new secrets.
    let keys = Keys::open(&setup.data)?;
    store.set_stop_key(keys.stops());
    Ok(OpenedStorage { store, bus, keys, node: None, outbox: None, lock })
}

/// What was sent bears the old secrets.
async fn warn_of_new_keys(opened: &OpenedStorage) -> Result<(), String> {
    let store = &opened.store;
    let describe = |error: store::StoreError| format!("[store]: {error}");
    if !opened.keys.are_new || store.folded_to().await.map_err(describe)? == 0 {
        return Ok(());
    }
    let asking = store.asking_alerts(crate::server::wall_clock()).await.map_err(describe)?;
    let place = if opened.node.is_some() { "the bus" } else { "the data folder (file keys)" };
    tracing::warn!(
        alerts = asking.len(),
        "the secrets were not in {place}, and new ones were made: links for answers and reply addresses in messages that were \
         sent do not work any more, those of {} alerts that wait for answers among them; who checks the signatures of callbacks \
         needs the new secret, unless [callback] secret is set. Put the old secrets back from a copy before people answer",
        asking.len()
    );
    Ok(())
}

async fn shared(
    servers: &SharedServers,
    data: &Path,
    empty_bus: EmptyBus,
    lock: DataLock,
) -> Result<OpenedStorage, String> {
    let store = shared_store(servers).await?;
    let bus = shared_bus(servers).await?;
    let names = PairNames {
        database: server_names::without_secrets(servers.store.reveal()),
        bus: format!("{} (prefix {})", server_names::without_secrets(&servers.bus), servers.nats.prefix),
        another_bus: "name another bus.prefix".to_owned(),
    };
    Pairing { store: &store, bus: &bus, names: &names, empty_bus, keeps_all: false }.check().await?;
    let keys = belonging(&store, &bus).await?;
    store.set_stop_key(keys.stops());
    // A kill of the process takes nothing of it; a power cut may, and then it is unknown what carriers said.
    let options =
        bus::embedded::Options { fsync: Fsync::Os, reserve_octets: 0, ..bus::embedded::Options::default() };
    let outbox = bus::embedded::open(data.join("outbox"), options).map_err(|error| error.to_string())?;
    Ok(OpenedStorage { store, bus, keys, node: Some(servers.node.clone()), outbox: Some(outbox), lock })
}

/// Store and secrets alone, for a look at the audit trail.
///
/// # Errors
/// In words.
pub async fn for_audit(setup: &Setup) -> Result<(SharedStore, Keys), String> {
    match &setup.kept {
        StoragePlace::Here { database, .. } => {
            let options = store::sqlite::SqliteOptions { sweep: false, ..Default::default() };
            let store = store::sqlite::open(&setup.data.join(database), &options);
            Ok((store.map_err(|error| error.to_string())?, Keys::open(&setup.data)?))
        }
        StoragePlace::Shared(servers) => {
            let store = shared_store(servers).await?;
            let bus = shared_bus(servers).await?;
            let keys = belonging(&store, &bus).await?;
            Ok((store, keys))
        }
    }
}

/// NATS of several processes, alone.
async fn shared_bus(servers: &SharedServers) -> Result<Arc<dyn bus::Bus>, String> {
    let url = servers.bus.clone();
    let options = bus::nats::NatsOptions { connected_within: AWAITED_AT_START, ..servers.nats.clone() };
    aside(move || bus::nats::open(&url, options).map_err(|error| error.to_string()))
        .await
        .map_err(|why| format!("[bus]: {why}"))
}

/// PostgreSQL of several processes, alone.
pub async fn shared_store(servers: &SharedServers) -> Result<SharedStore, String> {
    let url = servers.store.reveal().to_owned();
    let options = store::postgres::PostgresOptions {
        opened_within: Some(AWAITED_AT_START),
        ..servers.postgres.clone()
    };
    aside(move || store::postgres::open(&url, &options).map_err(|error| error.to_string()))
        .await
        .map_err(|why| format!("[store]: {why}"))
}

/// Servers are asked on a thread that may wait.
pub(crate) async fn aside<T: Send + 'static>(
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
    let mut are_new = false;
    if topic.latest().await.map_err(describe)? == 0 {
        let record = house_record(id, &Keys::random()?);
        match topic.append_at(0, &[&record]).await {
            Ok(_) => are_new = true,
            // Another process was first: its secrets hold for all.
            Err(bus::BusError::Moved { .. }) => {}
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
    let keys = Keys::of(secrets).map(|keys| Keys { are_new, ..keys });
    keys.ok_or_else(|| "[bus]: the topic \"house\" has no secrets: use another bus.prefix".to_owned())
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
