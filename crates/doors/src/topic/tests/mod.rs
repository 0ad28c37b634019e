//! The door over a bus on disk, spoken to over real sockets.

mod client;
mod limits;
mod people;
mod table;

use super::*;
use bus::embedded::{self, Options};
use client::Client;
use net::Cores;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What never takes so long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A bus in a folder, and the door over it. Ends with the test.
struct TestDoor {
    running: Option<TopicsRunning>,
    bus: Option<Arc<dyn Bus>>,
    live: Arc<LiveTokens>,
    people: Option<PeopleDeps>,
    runtime: Runtime,
    folder: TempDir,
}

fn open_bus(folder: &Path) -> Arc<dyn Bus> {
    embedded::open(folder, Options::default()).unwrap()
}

fn config() -> TopicsConfig {
    TopicsConfig { listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))), ..TopicsConfig::default() }
}

/// Who may come in: the token is the role's name, and its id.
fn token_check(live: Arc<LiveTokens>) -> TokenCheck {
    Arc::new(move |token| {
        let live = live.clone();
        Box::pin(async move { token.parse().ok().map(|role| TopicToken { role, hold: live.hold(&token) }) })
    })
}

impl TestDoor {
    fn open() -> TestDoor {
        TestDoor::open_with(config())
    }

    fn open_with(config: TopicsConfig) -> TestDoor {
        TestDoor::open_for(config, None)
    }

    fn open_for(config: TopicsConfig, people: Option<PeopleDeps>) -> TestDoor {
        let folder = tempfile::tempdir().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let live = Arc::default();
        let mut test_door = TestDoor { running: None, bus: None, live, people, runtime, folder };
        test_door.begin(config);
        test_door
    }

    fn begin(&mut self, config: TopicsConfig) {
        let bus = open_bus(&self.folder.path().join("bus"));
        let deps = TopicsDeps {
            bus: Arc::clone(&bus),
            token_check: token_check(self.live.clone()),
            cores: Arc::new(Cores::new(2).unwrap()),
            gatekeeper: Gatekeeper::default(),
            people: self.people.clone(),
        };
        self.running = Some(self.runtime.block_on(start(config, deps)).unwrap());
        self.bus = Some(bus);
    }

    fn end(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop());
        }
        self.bus = None;
    }

    fn address(&self) -> SocketAddr {
        let address = self.running.as_ref().and_then(TopicsRunning::address).unwrap();
        SocketAddr::from(([127, 0, 0, 1], address.port()))
    }

    fn client(&self) -> Client {
        Client::connect(self.address())
    }
}

impl Drop for TestDoor {
    fn drop(&mut self) {
        self.end();
    }
}
