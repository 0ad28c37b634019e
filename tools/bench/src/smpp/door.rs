//! The production SMPP door in a process of its own: what it acknowledges is on a bus, as durable as the
//! bus's `fsync` says. What the whole program does with it afterwards is left out.

use super::record::number_of;
use super::sink::Totals;
use bus::{Bus, Topic};
use doors::MessageIntake;
use doors::smpp::{ClientPassword, Clients, MessageControl, SmppClient, SmppConfig, SmppDeps, SmppRunning};
use engine::{EngineError, MessageView, Steered, Unroutable};
use futures_util::future::{BoxFuture, FutureExt, ready};
use net::Cores;
use records::{INTAKE, Message, MessageClient, MessageId, Mode, Short, ShortText, Timestamp};
use smpp::session::WINDOW_MAX;
use std::net::SocketAddr;
use std::sync::Arc;

/// Connections of the one client, and of the door.
const CONNECTIONS_MAX: u32 = 1_000;
/// Read at a time when all is checked.
const RECORDS_MAX: usize = 100_000;
const READ_OCTETS: usize = 64 << 20;

/// A running door.
pub(super) struct Door {
    address: SocketAddr,
    topic: Arc<dyn Topic>,
    _running: SmppRunning,
}

impl Door {
    /// Starts it over a bus; `who` may bind, with that name as the password too.
    ///
    /// # Errors
    /// What did not work, in words.
    pub(super) async fn start(bus: Arc<dyn Bus>, cores: Arc<Cores>, who: &str) -> Result<Door, String> {
        let topic = bus.topic(INTAKE).map_err(|error| error.to_string())?;
        let client = SmppClient {
            system_id: who.to_owned(),
            password: ClientPassword::from(who),
            account: who.to_owned(),
            window: WINDOW_MAX,
            connections: CONNECTIONS_MAX,
            ..SmppClient::default()
        };
        let clients = Clients::new(vec![client])
            .map_err(|problems| problems.iter().map(|problem| format!("{problem:?}")).collect::<String>())?;
        let config = SmppConfig { listen: Some("127.0.0.1:0".to_owned()), ..SmppConfig::default() };
        let deps = SmppDeps {
            intake: Arc::new(OnBus(Arc::clone(&topic))),
            clients: Arc::new(clients),
            bus,
            clock: Arc::new(|| Timestamp(crate::deployment::now_us() as i64)),
            cores,
            gatekeeper: doors::Gatekeeper::default(),
        };
        let running = doors::smpp::start(config, deps).await.map_err(|error| error.to_string())?;
        let address = running.address().ok_or("the SMPP door listens nowhere")?;
        Ok(Door { address, topic, _running: running })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What lies on the bus.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn totals(&self) -> Result<Totals, String> {
        let (mut totals, mut from) = (Totals::default(), 0);
        loop {
            let records =
                self.topic.read(from, RECORDS_MAX, READ_OCTETS).map_err(|error| error.to_string())?;
            let Some(last) = records.last() else { return Ok(totals) };
            from = last.index + 1;
            for record in &records {
                match records::Intake::decode(&record.octets) {
                    Ok(records::Intake::Message(message)) => take(&mut totals, &message),
                    _ => totals.unreadable += 1,
                }
            }
        }
    }
}

fn take(totals: &mut Totals, message: &Message) {
    let text = match &message.short.text {
        ShortText::Text { text, .. } => text.as_bytes(),
        ShortText::Octets { octets, .. } => octets,
    };
    match number_of(message.to.as_bytes(), text) {
        Some(number) => totals.sums.add(number),
        None => totals.unreadable += 1,
    }
}

/// Takes messages in, and knows nothing of them afterwards.
struct OnBus(Arc<dyn Topic>);

impl MessageIntake for OnBus {
    fn routable(&self, _: Mode, _: &str, _: &str, _: &str, _: Option<&str>) -> Result<(), Unroutable> {
        Ok(())
    }

    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        let appended = self.0.append(records);
        appended
            .map(|first| first.map(MessageId).map_err(|error| EngineError::Internal(error.to_string())))
            .boxed()
    }

    fn is_behind(&self) -> bool {
        false
    }
}

impl MessageControl for OnBus {
    fn message<'a>(
        &'a self,
        _: &'a str,
        _: MessageId,
    ) -> BoxFuture<'a, Result<Option<MessageView>, EngineError>> {
        ready(Ok(None)).boxed()
    }

    fn cancel<'a>(&'a self, _: &'a str, _: MessageId) -> BoxFuture<'a, Result<Steered, EngineError>> {
        ready(Ok(Steered::NotFound)).boxed()
    }

    fn cancel_all<'a>(
        &'a self,
        _: &'a str,
        _: &'a MessageClient,
        _: &'a str,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<u64, EngineError>> {
        ready(Ok(0)).boxed()
    }

    fn replace<'a>(
        &'a self,
        _: &'a str,
        _: MessageId,
        _: Short,
        _: Option<Timestamp>,
        _: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<Steered, EngineError>> {
        ready(Ok(Steered::NotFound)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Amount;
    use super::super::generator::{Load, run};
    use super::*;
    use bus::embedded::{Fsync, Options};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_the_door_acknowledges_lies_on_the_bus() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(folder.path().join("bus"), options).unwrap();
        let cores = Arc::new(Cores::from_handles(Vec::new()));
        let door = Door::start(bus, cores, "bench").await.unwrap();
        let load = Load {
            address: door.address().to_string(),
            system_id: "bench".to_owned(),
            password: "bench".to_owned(),
            connections: 2,
            window: 10,
            amount: Amount::Of(500),
            echoes: false,
        };
        let mut seen = tokio::task::spawn_blocking(move || run(&load, || ())).await.unwrap().unwrap();
        let totals = door.totals().unwrap();
        assert_eq!((seen.sums.count, seen.refused, seen.mismatches), (500, 0, 0));
        assert_eq!((seen.sums.differs(&totals.sums), totals.unreadable, seen.repeated_ids()), (0, 0, 0));
    }
}
