use crate::credit::diameter_door;
use crate::{Api, Relay, Reply, Server, Setup, eventually, free_port};
use serde_json::Value;
use servers::{nats, postgres};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::block_in_place;

/// All processes are up after so long, on an empty database and beside other tests.
const UP_MAX: Duration = Duration::from_secs(180);
/// One process is asked for so long, then the next: it may stand still, or be cut off.
const ONE_ASKED_MAX: Duration = Duration::from_secs(15);
/// Between two looks at who leads.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Names of processes.
const NAMES: [&str; 3] = ["a", "b", "c"];
/// What names the bus's streams begin with.
const PREFIX: &str = "it";
/// The lease of the process that leads.
const LEADS: &str = "engine";

/// How many there are of each, and how they are set up.
pub struct Plan {
    /// Processes of `campanile serve`, at most three.
    pub processes: usize,
    /// Nodes of the JetStream cluster; each record is on all of them.
    pub servers: usize,
    /// After so long without a sign of life a process is taken to be gone.
    pub lease: Duration,
    /// What stands in every config: routes, clients.
    pub config: String,
    /// Where each process has a door of its own for platforms that speak SMPP.
    pub smpp: bool,
    /// Where each process has a credit-control server of its own.
    pub diameter: bool,
    /// Everything between a process and its servers can be cut.
    pub cuttable: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            processes: 3,
            servers: 3,
            lease: Duration::from_secs(10),
            config: String::new(),
            smpp: false,
            diameter: false,
            cuttable: false,
        }
    }
}

/// Several processes of `campanile serve` that share a JetStream cluster and a PostgreSQL.
pub struct Constellation {
    /// The processes.
    pub processes: Vec<Server>,
    /// The bus's servers.
    pub nats: nats::Cluster,
    /// The store's server.
    pub postgres: postgres::PostgresServer,
    /// Where each process's SMPP door listens, if it has one.
    pub smpp: Vec<u16>,
    /// Where each process's credit-control server listens, if it has one.
    pub diameter: Vec<u16>,
    database: String,
    token: String,
    /// Of each process: between it and each node of the cluster, then between it and PostgreSQL.
    relays: Vec<Vec<Relay>>,
    stamps: TempDir,
}

impl Constellation {
    /// Starts all of it, all processes at once on an empty database, and waits until they take alerts.
    ///
    /// # Panics
    /// Not exactly one of them made an admin token.
    pub async fn start(plan: Plan) -> Constellation {
        assert!((1..=NAMES.len()).contains(&plan.processes));
        let (nats, postgres) = block_in_place(|| {
            std::thread::scope(|scope| {
                let postgres = scope.spawn(postgres::PostgresServer::start);
                (nats::Cluster::start(plan.servers), postgres.join().unwrap())
            })
        });
        Constellation::over(plan, nats, postgres).await
    }

    /// The same over servers that run already.
    pub async fn over(plan: Plan, nats: nats::Cluster, postgres: postgres::PostgresServer) -> Constellation {
        let url = block_in_place(|| postgres.create_database());
        let database = url.rsplit_once('/').unwrap().1.to_owned();
        let stamps = tempfile::Builder::new().prefix("campanile-it-stamps-").tempdir().unwrap();
        let (processes, token) = (Vec::new(), String::new());
        let (smpp, diameter, relays) = (Vec::new(), Vec::new(), Vec::new());
        let mut all =
            Constellation { processes, nats, postgres, smpp, diameter, database, token, relays, stamps };
        for place in 0..plan.processes {
            let (bus, store) = all.ways(plan.cuttable).await;
            let setup = all.setup(&plan, place, &bus, &store);
            all.processes.push(Server::spawned(setup));
        }
        all.up().await;
        all
    }

    /// Where a process finds its servers: their own addresses, or those of relays.
    async fn ways(&mut self, cuttable: bool) -> (String, String) {
        if !cuttable {
            return (self.nats.url(), self.postgres.url(&self.database));
        }
        let mut relays = Vec::new();
        let ports: Vec<u16> = (0..self.nats.size()).map(|node| port_of(&self.nats.node_url(node))).collect();
        for port in ports.into_iter().chain([self.postgres.port()]) {
            relays.push(Relay::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await);
        }
        let addresses: Vec<String> = relays.iter().map(|relay| relay.address().to_string()).collect();
        let (store, bus) = addresses.split_last().unwrap();
        let own = format!("127.0.0.1:{}", self.postgres.port());
        let store = self.postgres.url(&self.database).replace(&own, store);
        let bus = format!("nats://{}", bus.join(","));
        self.relays.push(relays);
        (bus, store)
    }

    fn setup(&mut self, plan: &Plan, place: usize, bus: &str, store: &str) -> Setup {
        let port = free_port();
        let mut config = format!(
            "[node]\nname = \"{}\"\naddress = \"127.0.0.1:{port}\"\nlease = \"{}ms\"\n\
             [store]\nurl = \"{store}\"\n\
             [bus]\nurl = \"{bus}\"\nreplicas = {}\nprefix = \"{PREFIX}\"\n",
            NAMES[place],
            plan.lease.as_millis(),
            plan.servers,
        );
        if plan.smpp {
            let port = free_port();
            let _ = write!(config, "[smpp]\nlisten = \"127.0.0.1:{port}\"\n");
            self.smpp.push(port);
        }
        if plan.diameter {
            let port = free_port();
            config += &diameter_door(port, "");
            self.diameter.push(port);
        }
        config += &plan.config;
        let stamps = self.stamps_of(place).display().to_string();
        let environment = vec![("CAMPANILE_WRITE_STAMPS".to_owned(), stamps)];
        Setup { config, environment, port: Some(port), ..Setup::default() }
    }

    /// Waits until every process is up, and has said its token if it made one.
    async fn up(&mut self) {
        let processes = &mut self.processes;
        let said = eventually("all processes are up", UP_MAX, async || {
            let mut said = Vec::new();
            for process in processes.iter_mut() {
                assert!(process.is_alive(), "a process ended:\n{}", process.log());
                // Said last of all, behind the token.
                if !process.log().contains("campanile listens on") {
                    return Err(process.log());
                }
                said.extend(process.said());
            }
            // What was said may still be on its way to us.
            if said.is_empty() { Err("no process said a token".to_owned()) } else { Ok(said) }
        })
        .await;
        said[0].strip_prefix("admin token: ").unwrap().trim().clone_into(&mut self.token);
        for process in &mut self.processes {
            process.set_token(&self.token);
            process.ready().await;
        }
        let said: Vec<String> = self.processes.iter().flat_map(Server::said).collect();
        assert_eq!(said.len(), 1, "exactly one process makes the first token: {said:?}");
    }

    /// Puts an empty database in the place of the one that the processes share; they find it when they start
    /// again.
    pub fn another_database(&mut self) {
        let url = block_in_place(|| self.postgres.create_database());
        let old = std::mem::replace(&mut self.database, url.rsplit_once('/').unwrap().1.to_owned());
        for process in &self.processes {
            let config = std::fs::read_to_string(process.config()).unwrap();
            let config = config.replace(&format!("/{old}\""), &format!("/{}\"", self.database));
            std::fs::write(process.config(), config).unwrap();
        }
    }

    /// The administrator's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A client of one process.
    pub fn api(&self, place: usize) -> Api {
        self.processes[place].api()
    }

    /// Asks these processes one after another, until one answers with this status: who leads may just be
    /// changing.
    ///
    /// # Panics
    /// None does within `limit`.
    pub async fn ask(&self, among: &[usize], path: &str, status: u16, limit: Duration) -> Value {
        let apis: Vec<Api> = among.iter().map(|place| self.api(*place)).collect();
        let mut turn = 0;
        eventually(&format!("an answer to {path}"), limit, async || {
            let api = &apis[turn % apis.len()];
            turn += 1;
            match asked(api, path).await {
                Ok(reply) if reply.status == status => Ok(reply.json()),
                Ok(reply) => Err(format!("{} {}", reply.status, reply.text)),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// An alert's report, by one of these processes.
    pub async fn report(&self, among: &[usize], id: &str, limit: Duration) -> Value {
        self.ask(among, &format!("/api/v1/alerts/{id}/report"), 200, limit).await
    }

    /// All deliveries of an alert, each page by one of these processes.
    pub async fn deliveries(&self, among: &[usize], id: &str, limit: Duration) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/api/v1/alerts/{id}/deliveries?limit=1000{cursor}");
            let page = self.ask(among, &path, 200, limit).await;
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }

    /// Waits until nothing more will be sent of an alert, as these processes say.
    pub async fn done(&self, among: &[usize], id: &str, limit: Duration) -> Value {
        eventually("the alert is done", limit, async || {
            let report = self.report(among, id, limit).await;
            if report["state"] == "done" {
                return Ok(report);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            Err(report)
        })
        .await
    }

    /// The process that leads, by the database: it may be dead already. None while the lease is nobody's.
    pub fn leader(&self) -> Option<usize> {
        let sql = format!("SELECT address FROM leases WHERE name = '{LEADS}' AND ends > now()");
        let address = block_in_place(|| self.postgres.sql(&self.database, &sql));
        let port: u16 = address.rsplit_once(':')?.1.trim().parse().ok()?;
        self.processes.iter().position(|process| process.port() == port)
    }

    /// Waits until a process leads that is one of these.
    pub async fn leads(&self, among: &[usize], limit: Duration) -> usize {
        eventually("one of them leads", limit, async || match self.leader() {
            Some(place) if among.contains(&place) => Ok(place),
            other => {
                // Each look starts a program.
                tokio::time::sleep(LOOK_AGAIN).await;
                Err(format!("{other:?} of {among:?}"))
            }
        })
        .await
    }

    /// The node of the cluster that leads the stream of a topic.
    pub async fn leader_of(&self, topic: &str, limit: Duration) -> usize {
        let stream = format!("{PREFIX}-t-{topic}");
        eventually("the stream has a leader", limit, async || {
            block_in_place(|| self.nats.leader_of(&stream)).ok_or(&stream)
        })
        .await
    }

    /// Nothing passes between a process and its servers any more, nor is anybody told.
    pub fn cut(&self, place: usize) {
        self.relays[place].iter().for_each(Relay::cut);
    }

    /// All passes again.
    pub fn mend(&self, place: usize) {
        self.relays[place].iter().for_each(Relay::mend);
    }

    /// Each write of a process to carriers: nanoseconds since 1970 just after it, and how many messages it
    /// had.
    pub fn writes_of(&self, place: usize) -> Vec<(u64, u64)> {
        self.writes_by(place, |_| true)
    }

    /// Each write of a process by one route, as [`writes_of`](Constellation::writes_of) has them.
    pub fn writes_of_route(&self, place: usize, route: &str) -> Vec<(u64, u64)> {
        self.writes_by(place, |name| name == route)
    }

    fn writes_by(&self, place: usize, is_wanted: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
        let text = std::fs::read_to_string(self.stamps_of(place)).unwrap_or_default();
        // `ROUTE MESSAGES BEFORE AFTER`; the last line may be cut short by a kill.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let write = |line: &str| {
            let mut fields = line.split(' ');
            let route = fields.next()?;
            let messages = fields.next()?.parse().ok()?;
            Some((route.to_owned(), (fields.nth(1)?.parse().ok()?, messages)))
        };
        let writes = whole.lines().map(|line| write(line).unwrap_or_else(|| panic!("{line:?}")));
        writes.filter(|(route, _)| is_wanted(route)).map(|(_, write)| write).collect()
    }

    /// Of all processes, in the order of time.
    pub fn writes(&self) -> Vec<(u64, u64)> {
        let mut writes: Vec<(u64, u64)> =
            (0..self.processes.len()).flat_map(|place| self.writes_of(place)).collect();
        writes.sort_unstable();
        writes
    }

    /// Messages that a process has written so far.
    pub fn written(&self, place: usize) -> u64 {
        self.writes_of(place).iter().map(|(_, messages)| messages).sum()
    }

    fn stamps_of(&self, place: usize) -> PathBuf {
        self.stamps.path().join(NAMES[place])
    }
}

/// Asks one process, not for ever.
async fn asked(api: &Api, path: &str) -> Result<Reply, String> {
    let request = api.request(reqwest::Method::GET, path);
    match tokio::time::timeout(ONE_ASKED_MAX, api.try_send(request)).await {
        Ok(reply) => reply,
        Err(_) => Err(format!("{path}: no answer in {ONE_ASKED_MAX:?}")),
    }
}

fn port_of(url: &str) -> u16 {
    url.rsplit_once(':').unwrap().1.parse().unwrap()
}
