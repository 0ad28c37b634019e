//! What a house stands on: a folder of one process alone, or servers that several share. The same is asked of both.

use super::house::{House, START};
use crate::shared::Node;
use records::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::SharedStore;
use tempfile::TempDir;

/// No test waits until this has run out by itself.
const LEASE: Duration = Duration::from_secs(60);

/// Runs each test over both.
macro_rules! over_both {
    ($($name:ident),* $(,)?) => {
        mod files {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::Ground::files()).await;
                }
            )*
        }
        mod over_servers {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::Ground::shared().await).await;
                }
            )*
        }
    };
}
pub(crate) use over_both;

/// See the module.
pub enum Ground {
    /// A log on disk and SQLite, of one process alone.
    Files(Folder),
    /// nats-server and PostgreSQL, a prefix and a database of its own; of a process that could be one of several.
    Shared(Servers),
}

/// What is its own on the servers of this test process.
pub struct Servers {
    prefix: String,
    database: String,
}

/// A folder, and what is open of it: one bus and one store for all who ask.
pub struct Folder {
    dir: TempDir,
    open: OnceLock<(Arc<dyn bus::Bus>, SharedStore)>,
}

impl From<TempDir> for Folder {
    fn from(dir: TempDir) -> Folder {
        Folder { dir, open: OnceLock::new() }
    }
}

impl Ground {
    pub fn files() -> Ground {
        Ground::Files(tempfile::tempdir().unwrap().into())
    }

    pub async fn shared() -> Ground {
        static GROUNDS: AtomicU64 = AtomicU64::new(0);
        let prefix = format!("ground-{}", GROUNDS.fetch_add(1, Ordering::Relaxed));
        let make = || servers::postgres::Server::shared().create_database();
        let database = tokio::task::spawn_blocking(make).await.unwrap();
        Ground::Shared(Servers { prefix, database })
    }

    /// A new one of the same kind.
    pub async fn another(&self) -> Ground {
        match self {
            Ground::Files(_) => Ground::files(),
            Ground::Shared(..) => Ground::shared().await,
        }
    }

    /// How many courses of things a test of chance looks at: servers take their time for each kill.
    pub fn seeds(&self) -> u64 {
        match self {
            Ground::Files(_) => 4,
            Ground::Shared(_) => 2,
        }
    }

    /// Bus and store, as a process opens them.
    pub async fn open(&self) -> (Arc<dyn bus::Bus>, SharedStore) {
        match self {
            Ground::Files(folder) => folder.open.get_or_init(|| files(folder.dir.path())).clone(),
            Ground::Shared(servers) => (nats(&servers.prefix).await, postgres(&servers.database).await),
        }
    }

    pub async fn house(&self) -> House {
        self.house_at(START).await
    }

    pub async fn house_at(&self, now: Timestamp) -> House {
        let node = match self {
            Ground::Files(_) => None,
            Ground::Shared(..) => {
                Some(Node { name: "a".into(), address: String::new(), lease: LEASE, leads: true })
            }
        };
        let (bus, store) = self.open().await;
        House::on(bus, store, now, node).await
    }

    /// What kill -9 leaves of a house, whatever it was about to do.
    pub async fn killed(self, house: House) -> Ground {
        match self {
            Ground::Files(folder) => Ground::Files(copied(&folder, house)),
            Ground::Shared(servers) => {
                drop(house);
                // Its lease would run out by itself; nobody need wait for that here.
                let store = postgres(&servers.database).await;
                if let Some(held) = store.lease_holder("engine").await.unwrap() {
                    store.release_lease("engine", held.epoch).await.unwrap();
                }
                Ground::Shared(servers)
            }
        }
    }

    /// What an orderly end leaves.
    pub async fn ended(self, house: House) -> Ground {
        house.engine.stop().await;
        house.store.close().await.unwrap();
        match self {
            Ground::Files(folder) => Ground::Files(copied(&folder, house)),
            shared @ Ground::Shared(_) => shared,
        }
    }
}

async fn postgres(database: &str) -> SharedStore {
    let database = database.to_owned();
    let open = move || store::postgres::open(&database, &store::postgres::Options::default()).unwrap();
    tokio::task::spawn_blocking(open).await.unwrap()
}

/// The one server of this test process; it ends with it.
async fn nats(prefix: &str) -> Arc<dyn bus::Bus> {
    static SERVER: OnceLock<servers::nats::Server> = OnceLock::new();
    let prefix = prefix.to_owned();
    let open = move || {
        let server = SERVER.get_or_init(servers::nats::Server::start);
        let options = bus::nats::Options { prefix, lease: Duration::from_secs(10), ..Default::default() };
        bus::nats::open(&server.url(), options).unwrap()
    };
    tokio::task::spawn_blocking(open).await.unwrap()
}

fn files(dir: &Path) -> (Arc<dyn bus::Bus>, SharedStore) {
    let options = bus::embedded::Options { fsync: bus::embedded::Fsync::Os, ..Default::default() };
    let bus = bus::embedded::open(dir.join("bus"), options).unwrap();
    let store = store::sqlite::open(&dir.join("db"), &store::sqlite::Options::default()).unwrap();
    (bus, store)
}

/// The files as they are, while everything still runs.
fn copied(from: &Folder, house: House) -> Folder {
    let to = tempfile::tempdir().unwrap();
    copy(from.dir.path(), to.path());
    drop(house);
    to.into()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target: PathBuf = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
