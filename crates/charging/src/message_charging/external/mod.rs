//! Our own messages, paid at credit-control servers of others (RFC 8506): reserved before they are written,
//! settled by their outcomes.
//!
//! **Each attempt at a message is a session of its own**, and its Session-Id is made of the alert, the
//! endpoint and the attempt's number (`ChargeId`). The segment names all three and so does the outcome:
//! nothing more has to be kept to say the same again after a crash, and a server that knows its duplicates
//! answers it once.
//!
//! - **Before the write** an INITIAL_REQUEST reserves the parts (`reserve`). What the server does not grant
//!   is refused with its reason, and the rest goes out. One that may have been sent before (its segment was
//!   made before this process began) bears the T bit.
//! - **Accepted** ends the session with the parts in Used-Service-Unit; **refused, or not tried**, with none
//!   used (`terminate`). An outcome is acknowledged when the server has answered, so that a crash makes it
//!   say so again: with the T bit, the same Session-Id and the same CC-Request-Number. A server that answers
//!   5002 then has heard it before.
//! - A server that answers 5002 to what it was certainly never told before has no reservation: it was written
//!   without one (an emergency, CONTINUE), or that was over. Then its price is debited by an event. So
//!   nothing is charged twice, whatever is lost; what is lost in a crash at that moment is not charged.
//! - **Unknown** keeps its session until a receipt says more, or the server ends it (Tcc). A yes of another
//!   attempt frees it. Both outlive the process (`open_sessions`).
//! - **An emergency** is written after [`EMERGENCY_WAITS`](super::EMERGENCY_WAITS) in any case.
//!
//! **Several processes** are one client. Their requests have one Origin-Host and the same Session-Ids, so
//! that a server knows a message whoever asks for it; each process connects under a name of its own
//! ([`connection_name`]), as an agent of that client, which Route-Record tells. Whoever has a segment
//! reserves, with the T bit where another had it before; who leads ends the sessions, and none else: what
//! becomes of a message is told in several records, and one process must see them all. A record is under a
//! lease: before anything is asked it is looked at whether it is still ours, and who takes it next says so
//! with the T bit. Their end-to-end identifiers differ ([`EndToEnd::among`]). What an end finds at no server
//! may be about to begin, as an emergency's session: it is said once more after Tx (`terminate`).
//!
//! **A server that asks by itself** is heard (`asr_rar`, `sessions`). A Re-Auth-Request brings an
//! UPDATE_REQUEST, the only one there is: a message is decided in seconds, and what is not is unknown. An
//! Abort-Session-Request before the grant keeps the message back; after it, what is under way ends its
//! session with its outcome, and an unknown one ends it at once with none used. Of several processes any is
//! asked, and all hear of it, and whichever comes after them (`asr_rar_topic`). What is known of messages
//! that are not settled outlives who leads (`open_sessions`).
//!
//! Servers are asked in their order; one that is silent (RFC 3539) or gone is passed over, and what it may
//! have received goes to the next with the T bit (RFC 6733, section 5.5.4). Whether a message waits, goes or
//! is refused when none answers within Tx is said by Credit-Control-Failure-Handling.

mod asr_rar;
mod asr_rar_topic;
mod open_sessions;
mod request;
mod reserve;
mod sessions;
mod settle;
mod terminate;
#[cfg(test)]
mod tests;

use crate::server::{Asker, ChargingServers};
use bus::{Bus, BusError};
use diameter::credit::FailureHandling;
use diameter::credit::client::TX_DEFAULT;
use diameter::peer::EndToEnd;
use records::{Bill, Funding, OUTCOMES};
use sessions::Sessions;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::SharedStore;
use tokio::sync::watch;

/// Where what tells this house from others is kept on the bus.
const IDENTITY: &str = "charging";
/// Its key there.
const HOUSE: &str = "house";
/// The topic whose records are the names of processes, each once: the place of its name tells a process from
/// others.
const NODES: &str = "charging-nodes";
/// So often it is tried to put a name there while others do.
const TRIES_MAX: usize = 64;
/// Names that are looked at.
const NAMES_MAX: usize = 4_096;

/// How others' servers are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Our DiameterIdentity.
    pub origin_host: String,
    /// Our realm.
    pub origin_realm: String,
    /// Tx: how long a message waits for an answer.
    pub tx: Duration,
    /// CCFH: what becomes of a message without one.
    pub failure_handling: FailureHandling,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            origin_host: String::new(),
            origin_realm: String::new(),
            tx: TX_DEFAULT,
            failure_handling: FailureHandling::Terminate,
        }
    }
}

/// One of several processes that pay for the messages of one house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// In every Session-Id of this installation, whichever process writes it.
    pub installation: u64,
    /// This process: none of those that run has the same.
    pub name: String,
}

/// Under which DiameterIdentity one of several processes connects to servers: theirs is the name of requests,
/// and a server lets in only one connection of each name.
pub fn connection_name(name: &str, origin_host: &str) -> String {
    format!("{name}.{origin_host}")
}

/// Others' credit-control servers, as our own messages see them.
#[derive(Clone)]
pub struct External(Arc<Inner>);

struct Inner {
    settings: Settings,
    /// In every Session-Id: another house of the same name, or a new one, has other messages under the same
    /// numbers.
    installation: u64,
    /// Others pay for messages of this house too.
    is_shared: bool,
    /// Where the topic of outcomes ended when this process began: what was said before, was perhaps said to a
    /// server too.
    born_at: u64,
    store: SharedStore,
    servers: OnceLock<ChargingServers>,
    /// Whether they are there.
    is_attached: watch::Sender<bool>,
    identifiers: Mutex<EndToEnd>,
    sessions: Mutex<Sessions>,
    aborts: OnceLock<asr_rar::Aborts>,
    /// To the other processes, and to the next.
    telling: asr_rar_topic::AsrRarPublisher,
}

impl External {
    /// Of this house; `member` where it has several processes. May ask the bus's servers on the thread that
    /// calls.
    ///
    /// # Errors
    /// The bus's.
    pub async fn open(
        settings: Settings,
        member: Option<Member>,
        bus: &dyn Bus,
        store: SharedStore,
    ) -> Result<External, BusError> {
        let (started, random) = (now_s(), chance() as u32);
        let is_shared = member.is_some();
        let (installation, identifiers) = match &member {
            None => (house_alone(bus).await?, EndToEnd::new(started, random)),
            Some(member) => {
                (member.installation, EndToEnd::among(slot(bus, &member.name).await?, started, random))
            }
        };
        let born_at = bus.topic(OUTCOMES)?.latest().await?;
        let (telling, hearing) = asr_rar_topic::open(bus).await?;
        let inner = Arc::new(Inner {
            settings,
            installation,
            is_shared,
            born_at,
            store,
            servers: OnceLock::new(),
            is_attached: watch::Sender::new(false),
            identifiers: Mutex::new(identifiers),
            sessions: Mutex::new(Sessions::new(is_shared, Instant::now())),
            aborts: OnceLock::new(),
            telling,
        });
        hearing.start(&inner);
        Ok(External(inner))
    }

    /// From now on these can be asked. Said once, when the Diameter node is open; until then everybody waits.
    pub fn attach(&self, servers: ChargingServers) {
        servers.tell(asr_rar::ear(&self.0));
        // A second node of one process there is not.
        let _ = self.0.servers.set(servers);
        self.0.is_attached.send_replace(true);
    }

    /// Waits until it is known who can be asked, at most until then.
    async fn until_attached(&self, until: Instant) {
        let mut is_attached = self.0.is_attached.subscribe();
        // What it comes to is seen by who is there.
        let _ = tokio::time::timeout_at(until.into(), is_attached.wait_for(|attached| *attached)).await;
    }

    /// Whether each of these messages may be written, in their order: what the others cost is reserved. Takes
    /// until the servers have answered or Tx is over; for an emergency no longer than that can wait. Safe to
    /// drop, and to ask again.
    pub async fn pay(&self, bill: &Bill) -> Vec<Funding> {
        let (this, asked) = (self.clone(), bill.clone());
        let begun = async move {
            let each = asked.items.iter().map(|item| this.begin(&asked, item));
            futures_util::future::join_all(each).await
        };
        if !bill.is_emergency {
            return begun.await;
        }
        // It goes on after this has returned.
        let begun = tokio::spawn(begun);
        if tokio::time::timeout(super::EMERGENCY_WAITS, begun).await.is_err() {
            tracing::error!(alert = %bill.alert, "an emergency is sent before a charging server has what it costs");
        }
        vec![Funding::Paid; bill.items.len()]
    }

    /// The servers in their order.
    fn servers(&self) -> Vec<Arc<Asker>> {
        self.0.servers.get().map(ChargingServers::list).unwrap_or_default()
    }

    /// The first that can be asked now and is none of these.
    fn usable(&self, but: &[Arc<str>]) -> Option<Arc<Asker>> {
        let is_new = |server: &Arc<Asker>| !but.iter().any(|host| **host == *server.host);
        self.servers().into_iter().find(|server| is_new(server) && *server.usable().borrow())
    }

    fn end_to_end(&self) -> u32 {
        self.0.identifiers.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether an outcome at this place may have been told by an earlier process.
    fn is_old(&self, at: u64) -> bool {
        at < self.0.born_at
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells a house from others that has one process, as its first start left it.
async fn house_alone(bus: &dyn Bus) -> Result<u64, BusError> {
    let kept = bus.retained(IDENTITY)?;
    if let Some(value) = kept.value(HOUSE) {
        let octets = records::behind_form("value of the topic charging", &value)
            .map_err(|error| BusError::Damaged { what: error.to_string() })?;
        if let Ok(octets) = octets.try_into() {
            return Ok(u64::from_be_bytes(octets));
        }
    }
    let installation = chance();
    kept.set(HOUSE, &records::with_form(&installation.to_be_bytes())).await?;
    Ok(installation)
}

/// The place of a process's name among those of all that ever were: the same at every start.
async fn slot(bus: &dyn Bus, name: &str) -> Result<u32, BusError> {
    let topic = bus.topic(NODES)?;
    let record = records::with_form(name.as_bytes());
    let mut tried = 0;
    loop {
        let names = topic.fetch(0, NAMES_MAX, usize::MAX).await?;
        if let Some(known) = names.iter().find(|known| *known.octets == *record) {
            if known.index >= EndToEnd::SLOTS.into() {
                tracing::warn!(
                    name,
                    names = names.len(),
                    "more processes had names than end-to-end identifiers can tell apart: give those that run the names of those that do not any more"
                );
            }
            return Ok((known.index % u64::from(EndToEnd::SLOTS)) as u32);
        }
        let head = names.last().map_or(0, |last| last.index + 1);
        match topic.append_at(head, &[&record]).await {
            // Read again: it is ours only if it stands there first.
            Ok(_) | Err(BusError::Moved { .. }) if tried < TRIES_MAX => tried += 1,
            Ok(_) => return Ok((head % u64::from(EndToEnd::SLOTS)) as u32),
            Err(error) => return Err(error),
        }
    }
}

/// Waits until a server can be asked, at most until then. Whether it can.
async fn until_usable(server: &Asker, until: Instant) -> bool {
    let mut usable = server.usable();
    let waited = tokio::time::timeout_at(until.into(), usable.wait_for(|usable| *usable)).await;
    matches!(waited, Ok(Ok(_)))
}

/// A number of chance.
fn chance() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// The wall clock in seconds since 1970.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
