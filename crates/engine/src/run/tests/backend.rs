//! Backend of a test engine: a folder of one process alone, or servers that several share. The same is asked
//! of both.

use super::test_engine::{START, TestEngine};
use crate::approval::ApprovalPolicy;
use crate::shared::Node;
use records::Timestamp;
use std::collections::BTreeMap;
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
                    super::$name(super::TestBackend::files()).await;
                }
            )*
        }
        mod over_servers {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::TestBackend::shared().await).await;
                }
            )*
        }
    };
}
pub(crate) use over_both;

/// See the module.
pub enum TestBackend {
    /// A log on disk and SQLite, of one process alone.
    Files(Folder),
    /// nats-server and PostgreSQL, a prefix and a database of its own; of a process that could be one of
    /// several.
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

impl TestBackend {
    pub fn files() -> TestBackend {
        TestBackend::Files(tempfile::tempdir().unwrap().into())
    }

    pub async fn shared() -> TestBackend {
        static GROUNDS: AtomicU64 = AtomicU64::new(0);
        let prefix = format!("ground-{}", GROUNDS.fetch_add(1, Ordering::Relaxed));
        let make = || servers::postgres::PostgresServer::shared().create_database();
        let database = tokio::task::spawn_blocking(make).await.unwrap();
        TestBackend::Shared(Servers { prefix, database })
    }

    /// A new one of the same kind.
    pub async fn another(&self) -> TestBackend {
        match self {
            TestBackend::Files(_) => TestBackend::files(),
            TestBackend::Shared(..) => TestBackend::shared().await,
        }
    }

    /// How many courses of things a test of chance looks at: servers take their time for each kill.
    pub fn seeds(&self) -> u64 {
        match self {
            TestBackend::Files(_) => 4,
            TestBackend::Shared(_) => 2,
        }
    }

    /// Bus and store, as a process opens them.
    pub async fn open(&self) -> (Arc<dyn bus::Bus>, SharedStore) {
        match self {
            TestBackend::Files(folder) => folder.open.get_or_init(|| files(folder.dir.path())).clone(),
            TestBackend::Shared(servers) => (nats(&servers.prefix).await, postgres(&servers.database).await),
        }
    }

    pub async fn engine_under_test(&self) -> TestEngine {
        self.engine_at(START).await
    }

    pub async fn engine_at(&self, now: Timestamp) -> TestEngine {
        self.engine_asking(now, ApprovalPolicy::default()).await
    }

    /// With rules of approval.
    pub async fn engine_asking(&self, now: Timestamp, approval: ApprovalPolicy) -> TestEngine {
        let node = match self {
            TestBackend::Files(_) => None,
            TestBackend::Shared(..) => {
                Some(Node { name: "a".into(), address: String::new(), lease: LEASE, leads: true })
            }
        };
        let (bus, store) = self.open().await;
        TestEngine::asking(bus, store, now, (node, approval)).await
    }

    /// What kill -9 leaves of a house, whatever it was about to do.
    pub async fn killed(self, engine_under_test: TestEngine) -> TestBackend {
        match self {
            TestBackend::Files(folder) => TestBackend::Files(copied(&folder, engine_under_test)),
            TestBackend::Shared(servers) => {
                drop(engine_under_test);
                // Its lease would run out by itself; nobody need wait for that here.
                let store = postgres(&servers.database).await;
                if let Some(held) = store.lease_holder("engine").await.unwrap() {
                    store.release_lease("engine", held.epoch).await.unwrap();
                }
                TestBackend::Shared(servers)
            }
        }
    }

    /// What an orderly end leaves.
    pub async fn ended(self, engine_under_test: TestEngine) -> TestBackend {
        engine_under_test.engine.stop().await;
        engine_under_test.store.close().await.unwrap();
        match self {
            TestBackend::Files(folder) => TestBackend::Files(copied(&folder, engine_under_test)),
            shared @ TestBackend::Shared(_) => shared,
        }
    }
}

async fn postgres(database: &str) -> SharedStore {
    let database = database.to_owned();
    let open =
        move || store::postgres::open(&database, &store::postgres::PostgresOptions::default()).unwrap();
    tokio::task::spawn_blocking(open).await.unwrap()
}

/// The one server of this test process; it ends with it.
async fn nats(prefix: &str) -> Arc<dyn bus::Bus> {
    static SERVER: OnceLock<servers::nats::NatsServer> = OnceLock::new();
    let prefix = prefix.to_owned();
    let open = move || {
        let server = SERVER.get_or_init(servers::nats::NatsServer::start);
        let options = bus::nats::NatsOptions { prefix, lease: Duration::from_secs(10), ..Default::default() };
        bus::nats::open(&server.url(), options).unwrap()
    };
    tokio::task::spawn_blocking(open).await.unwrap()
}

fn files(dir: &Path) -> (Arc<dyn bus::Bus>, SharedStore) {
    let options = bus::embedded::Options { fsync: bus::embedded::Fsync::Os, ..Default::default() };
    let bus = bus::embedded::open(dir.join("bus"), options).unwrap();
    let store = store::sqlite::open(&dir.join("db"), &store::sqlite::SqliteOptions::default()).unwrap();
    (bus, store)
}

/// Copies of the files in a row, until two are alike.
const COPIES_MAX: usize = 1_000;

/// The files as they are at one moment, while everything still runs. A copy takes its time: what was written
/// meanwhile would be in one file and not in another, as no crash leaves them. Two copies that are alike are
/// what was there between them.
fn copied(from: &Folder, engine_under_test: TestEngine) -> Folder {
    let mut before = contents(from.dir.path());
    for _ in 0..COPIES_MAX {
        let now = contents(from.dir.path());
        if now == before {
            drop(engine_under_test);
            let to = tempfile::tempdir().unwrap();
            for (path, octets) in now {
                let target = to.path().join(path);
                std::fs::create_dir_all(target.parent().unwrap()).unwrap();
                std::fs::write(target, octets).unwrap();
            }
            return to.into();
        }
        before = now;
    }
    panic!("the files of an engine changed from copy to copy");
}

/// All files by their paths. One that goes while it is looked for is not there.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(of) = folders.pop() {
        for entry in std::fs::read_dir(of).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(octets) = std::fs::read(&path) {
                files.insert(path.strip_prefix(folder).unwrap().to_owned(), octets);
            }
        }
    }
    files
}
