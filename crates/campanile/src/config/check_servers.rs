//! Rules for `[store]`, `[bus]` and `[node]`: where what outlives the process is kept, and who else uses it.

use super::check::Check;
use super::sections::{Bus, Node, Store};
use std::collections::BTreeSet;
use std::time::Duration;

/// Copies a stream of JetStream can have.
const REPLICAS: [u32; 3] = [1, 3, 5];
/// Connections to PostgreSQL at least: one writes, one writes bulk, one reads.
const CONNECTIONS_MIN: u32 = 3;
const CONNECTIONS_MAX: u32 = 100;
/// A lease shorter than this passes with every hiccup; a longer one leaves people waiting.
const LEASE_MIN: Duration = Duration::from_secs(2);
const LEASE_MAX: Duration = Duration::from_secs(120);
/// Of a node's name and of the prefix of streams.
const NAME_CHARS_MAX: usize = 40;

const TOGETHER: &str = "PostgreSQL and NATS belong together: one process keeps both on its own disk (sqlite:FILE, file:FOLDER), \
    several share both (postgres://…, nats://…)";

/// What a URL leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// On this machine's disk.
    Here,
    /// On servers that others use too.
    Shared,
}

/// Where a store's URL leads; nothing: it is none.
pub(super) fn store_kept(url: &str) -> Option<Where> {
    match url.split_once(':')? {
        ("sqlite", file) => (!file.is_empty()).then_some(Where::Here),
        ("postgres" | "postgresql", rest) => {
            (rest.len() > 2 && rest.starts_with("//")).then_some(Where::Shared)
        }
        _ => None,
    }
}

/// Where a bus's URL leads; nothing: it is none.
pub(super) fn bus_kept(url: &str) -> Option<Where> {
    match url.split_once(':')? {
        ("file", folder) => (!folder.is_empty()).then_some(Where::Here),
        ("nats" | "tls", rest) => (rest.len() > 2 && rest.starts_with("//")).then_some(Where::Shared),
        _ => None,
    }
}

impl Check<'_> {
    pub(super) fn servers(&mut self) {
        let config = self.config;
        let (store, bus) = (store_kept(config.store.url.reveal()), bus_kept(&config.bus.url));
        // The whole might hold a password.
        self.check(
            "store.url",
            store.is_none().then_some("must be sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE"),
        );
        self.check("bus.url", bus.is_none().then_some("must be file:FOLDER or nats://HOST:PORT"));
        if let (Some(store), Some(bus)) = (store, bus)
            && store != bus
        {
            self.add(if store == Where::Shared { "store.url" } else { "bus.url" }, TOGETHER);
        }
        self.store(&config.store);
        self.bus(&config.bus, bus == Some(Where::Shared));
        self.node(&config.node, store == Some(Where::Shared));
    }

    fn store(&mut self, store: &Store) {
        let (least, most) = (CONNECTIONS_MIN, CONNECTIONS_MAX);
        let wrong = !(least..=most).contains(&store.connections);
        self.check(
            "store.connections",
            wrong.then(|| format!("{} is not {least} to {most}", store.connections)),
        );
    }

    fn bus(&mut self, bus: &Bus, is_nats: bool) {
        let wrong = !REPLICAS.contains(&bus.replicas);
        self.check("bus.replicas", wrong.then(|| format!("{} is none of 1, 3, 5", bus.replicas)));
        self.check("bus.prefix", wrong_name(&bus.prefix));
        for key in ["replicas", "prefix", "username", "password", "token", "credentials", "tls", "ca_file"] {
            let path = format!("bus.{key}");
            let alone = !is_nats && self.places.contains_key(&path);
            self.check(&path, alone.then_some("has no effect without bus.url = \"nats://…\""));
        }
        let pair = bus.username.is_some() == bus.password.is_some();
        self.check("bus.username", (!pair).then_some("username and password belong together"));
        let ways = [bus.username.is_some(), bus.token.is_some(), bus.credentials.is_some()];
        let many = ways.iter().filter(|way| **way).count() > 1;
        self.check("bus.token", many.then_some("username, token and credentials exclude each other"));
    }

    fn node(&mut self, node: &Node, is_shared: bool) {
        for key in ["name", "address", "lease", "engine", "doors", "gateways"] {
            let path = format!("node.{key}");
            let alone = !is_shared && self.places.contains_key(&path);
            self.check(
                &path,
                alone.then_some("has no effect in a process without a shared PostgreSQL and NATS"),
            );
        }
        self.check("node.name", node.name.as_deref().and_then(wrong_name));
        let address = node.address.as_deref();
        let wrong = address.filter(|address| {
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            port.is_none_or(|port| port == 0)
        });
        self.check("node.address", wrong.map(|address| format!("{address:?} is not host:port")));
        let wrong = !(LEASE_MIN..=LEASE_MAX).contains(&node.lease);
        self.check("node.lease", wrong.then(|| format!("{:?} is not 2s to 2m", node.lease)));
        let names: BTreeSet<&str> =
            self.config.route.iter().map(|route| route.common.name.as_str()).collect();
        for (n, name) in node.gateways.iter().enumerate() {
            let unknown = name != "*" && !names.contains(name.as_str());
            self.check(
                &format!("node.gateways[{n}]"),
                unknown.then(|| format!("there is no route {name:?}")),
            );
        }
    }
}

fn wrong_name(name: &str) -> Option<String> {
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let count = name.chars().count();
    (!fits || count == 0 || count > NAME_CHARS_MAX).then(|| {
        format!("{name:?} is not a valid name: use letters, digits, - and _, at most {NAME_CHARS_MAX}")
    })
}
