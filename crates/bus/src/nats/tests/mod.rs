use super::*;
use crate::conformance::{PATIENCE, TestBus};
use servers::nats::{Cluster, NatsServer};

mod away;
mod cluster;
mod credentials;
mod filling;
mod old_servers;

mod conformance {
    crate::conformance::conform!(super::OneServer::new());
}

/// Longer than a machine stands still, and short enough to be waited for where a member dies.
const TEST_LEASE: Duration = Duration::from_secs(40);

fn options(replicas: usize) -> NatsOptions {
    NatsOptions { replicas, lease: TEST_LEASE, connected_within: PATIENCE, ..NatsOptions::default() }
}

/// A server of a test's own; every bus is another connection, as of another process.
struct OneServer {
    server: Mutex<NatsServer>,
    /// They live as long as their processes.
    buses: Mutex<Vec<Arc<dyn Bus>>>,
}

impl OneServer {
    fn new() -> OneServer {
        OneServer { server: Mutex::new(NatsServer::start()), buses: Mutex::default() }
    }
}

impl TestBus for OneServer {
    fn bus(&self) -> Arc<dyn Bus> {
        let bus = open(&lock(&self.server).url(), options(1)).expect("a bus");
        lock(&self.buses).push(bus.clone());
        bus
    }

    fn crash(&self) {
        let mut server = lock(&self.server);
        // A server alone writes acknowledgements a moment after it has confirmed them, and nothing tells that
        // it has: on a busy machine that moment may be long.
        std::thread::sleep(Duration::from_secs(2));
        server.kill();
        // Without a word: nobody hears it any more.
        lock(&self.buses).clear();
        server.restart();
    }

    fn knows_gaps(&self) -> bool {
        false
    }
}
