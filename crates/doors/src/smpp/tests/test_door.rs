//! A door with a bus, and an engine that only remembers.

use super::super::*;
use super::client::Esme;
use crate::MessageIntake;
use ::smpp::pdu::{Bind, BindMode};
use ::smpp::session::Config;
use bus::Topic;
use bus::embedded::{Fsync, Options};
use engine::{EngineError, MessageView, Steered, Unroutable};
use futures_util::future::BoxFuture;
use records::{
    ClientEvent, Intake as Record, Message, MessageClient, MessageId, Mode, Short, Timestamp, client_topic,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// 2026-11-21T23:49:36.5Z: the clock stands still.
pub(super) const AT: Timestamp = Timestamp(1_795_304_976_500_000);
/// Longer than anything here takes.
pub(super) const LONG: Duration = Duration::from_secs(20);

/// Takes everything but numbers in `+99`, and remembers it.
#[derive(Default)]
pub(super) struct MemoryIntake {
    records: Mutex<Vec<Record>>,
    batches: Mutex<Vec<usize>>,
    /// Nothing is durable while this is set.
    pub(super) slow: AtomicBool,
    durable: Notify,
    pub(super) behind: AtomicBool,
    pub(super) full: AtomicBool,
    pub(super) views: Mutex<HashMap<u64, MessageView>>,
    pub(super) steered: Mutex<Vec<String>>,
}

impl MemoryIntake {
    pub(super) fn messages(&self) -> Vec<Message> {
        let records = self.records.lock().unwrap();
        let message = |record: &Record| match record {
            Record::Message(message) => (**message).clone(),
            other => panic!("{other:?}"),
        };
        records.iter().map(message).collect()
    }

    /// How many records each append had.
    pub(super) fn batches(&self) -> Vec<usize> {
        self.batches.lock().unwrap().clone()
    }

    pub(super) fn become_durable(&self) {
        self.slow.store(false, Ordering::SeqCst);
        self.durable.notify_waiters();
    }
}

impl MessageIntake for MemoryIntake {
    fn routable(&self, _: Mode, to: &str, _: &str, _: &str, _: Option<&str>) -> Result<(), Unroutable> {
        if to.starts_with("+99") { Err(Unroutable::NoRoute) } else { Ok(()) }
    }
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        Box::pin(async move {
            if self.full.load(Ordering::SeqCst) {
                return Err(EngineError::DiskFull);
            }
            let first = {
                let mut all = self.records.lock().unwrap();
                let first = all.len();
                all.extend(records.iter().map(|octets| Record::decode(octets).unwrap()));
                first
            };
            self.batches.lock().unwrap().push(records.len());
            loop {
                let durable = self.durable.notified();
                if !self.slow.load(Ordering::SeqCst) {
                    return Ok(MessageId(first as u64));
                }
                durable.await;
            }
        })
    }
    fn is_behind(&self) -> bool {
        self.behind.load(Ordering::SeqCst)
    }
}

impl MessageControl for MemoryIntake {
    fn message<'a>(
        &'a self,
        account: &'a str,
        id: MessageId,
    ) -> BoxFuture<'a, Result<Option<MessageView>, EngineError>> {
        let view = self.views.lock().unwrap().get(&id.0).filter(|_| account == "account-a").cloned();
        Box::pin(async move { Ok(view) })
    }
    fn cancel<'a>(&'a self, _: &'a str, id: MessageId) -> BoxFuture<'a, Result<Steered, EngineError>> {
        self.steered.lock().unwrap().push(format!("cancel {}", id.0));
        let steered = if id.0 == 2 { Steered::TooLate } else { Steered::Done };
        Box::pin(async move { Ok(steered) })
    }
    fn cancel_all<'a>(
        &'a self,
        _: &'a str,
        party: &'a MessageClient,
        service_type: &'a str,
        source: &'a str,
        to: &'a str,
    ) -> BoxFuture<'a, Result<u64, EngineError>> {
        let wish = format!("cancel all {party:?} {service_type:?} {source} {to}");
        self.steered.lock().unwrap().push(wish);
        Box::pin(async move { Ok(u64::from(to != "+46700000000")) })
    }
    fn replace<'a>(
        &'a self,
        _: &'a str,
        id: MessageId,
        short: Short,
        expires: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<Steered, EngineError>> {
        let wish = format!("replace {} {:?} {expires:?} {not_before:?}", id.0, short.text);
        self.steered.lock().unwrap().push(wish);
        Box::pin(async move { Ok(if id.0 == 2 { Steered::TooLate } else { Steered::Done }) })
    }
}

/// An open door.
pub(super) struct TestDoor {
    _dir: tempfile::TempDir,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) memory: Arc<MemoryIntake>,
    pub(super) clients: Arc<Clients>,
    pub(super) gatekeeper: crate::Gatekeeper,
    pub(super) running: SmppRunning,
}

/// `client-a`, and how it differs.
pub(super) fn client_a() -> SmppClient {
    SmppClient {
        system_id: "client-a".into(),
        password: "secret-a".into(),
        account: "account-a".into(),
        ..SmppClient::default()
    }
}

pub(super) fn quick() -> SmppConfig {
    SmppConfig { listen: Some("127.0.0.1:0".into()), ..SmppConfig::default() }
}

impl TestDoor {
    pub(super) async fn new() -> TestDoor {
        TestDoor::with(quick(), vec![client_a()]).await
    }

    pub(super) async fn of(client: SmppClient) -> TestDoor {
        TestDoor::with(quick(), vec![client]).await
    }

    pub(super) async fn with(config: SmppConfig, clients: Vec<SmppClient>) -> TestDoor {
        let dir = tempfile::tempdir().unwrap();
        let bus =
            bus::embedded::open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
        let (memory, clients) = (Arc::new(MemoryIntake::default()), Arc::new(Clients::new(clients).unwrap()));
        let gatekeeper = crate::Gatekeeper::default();
        let deps = SmppDeps {
            intake: Arc::clone(&memory) as Arc<dyn MessageControl>,
            clients: Arc::clone(&clients),
            bus: Arc::clone(&bus),
            clock: Arc::new(|| AT),
            cores: Arc::new(Cores::new(2).unwrap()),
            gatekeeper: gatekeeper.clone(),
        };
        let running = start(config, deps).await.unwrap();
        TestDoor { _dir: dir, bus, memory, clients, gatekeeper, running }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.running.address().unwrap()
    }

    /// A session of `client-a`.
    pub(super) async fn bound(&self, mode: BindMode) -> Esme {
        self.bound_as(mode, "client-a", Config::default()).await
    }

    pub(super) async fn bound_as(&self, mode: BindMode, system_id: &str, config: Config) -> Esme {
        let mut esme = Esme::connect(self.address(), config).await;
        let password = system_id.replace("client", "secret");
        let bind =
            Bind { mode, system_id: system_id.as_bytes(), password: password.as_bytes(), ..Bind::default() };
        esme.bind(&bind).await.unwrap();
        esme
    }

    pub(super) fn told(&self, system_id: &str) -> Arc<dyn Topic> {
        self.bus.topic(&client_topic(system_id)).unwrap()
    }

    /// Tells a client something.
    pub(super) async fn tell(&self, system_id: &str, told: &ClientEvent) {
        self.told(system_id).append(&[&told.encode()]).await.unwrap();
    }

    /// Resolves once the client's topic is ticked off up to `index`.
    pub(super) async fn ticked_off(&self, system_id: &str, index: u64) {
        let group = self.bus.group(&client_topic(system_id), "smpp").unwrap();
        until(|| group.low_water() >= index).await;
    }

    /// Resolves when so many sessions of all clients are bound.
    pub(super) async fn sessions(&self, count: u32) {
        until(|| self.clients.sessions().iter().map(|(_, sessions)| sessions).sum::<u32>() == count).await;
    }
}

/// Waits for something that has no event to wait for.
pub(super) async fn until(mut done: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + LONG;
    while !done() {
        assert!(tokio::time::Instant::now() < deadline, "not in time");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
