//! Our own messages, paid at credit-control servers of others (RFC 8506): reserved before they are written, settled by what becomes of them.
//!
//! **Each attempt at a message is a session of its own**, and its Session-Id is made of the alert, the endpoint and the attempt's number
//! ([`MessageId`]). The segment names all three and so does the outcome: nothing has to be kept on our disk to say the same again after a
//! crash, and a server that knows its duplicates answers it once.
//!
//! - **Before the write** an INITIAL_REQUEST reserves the parts (`begin`). What the server does not grant is refused with its reason, and the
//!   rest goes out. One that may have been sent before (its segment was made before this process began) bears the T bit.
//! - **Accepted** ends the session with the parts in Used-Service-Unit; **refused, or not tried**, with none used (`end`). An outcome is
//!   acknowledged when the server has answered, so that a crash makes it say so again: with the T bit, the same Session-Id and the same
//!   CC-Request-Number. A server that answers 5002 then has heard it before.
//! - A server that answers 5002 to what it was certainly never told before has no reservation: it was written without one (an emergency,
//!   CONTINUE), or that was over. Then its price is debited by an event. So nothing is charged twice, whatever is lost; what is lost in a
//!   crash at that moment is not charged.
//! - **Unknown** keeps its session until a receipt says more, or the server ends it (Tcc). A yes of another attempt frees it.
//! - **An emergency** is written after [`EMERGENCY_WAITS`](super::EMERGENCY_WAITS) in any case.
//!
//! No UPDATE_REQUEST is sent: a message is decided in seconds, and what is not is unknown. Servers are asked in their order; one that
//! is silent (RFC 3539) or gone is passed over, and what it may have received goes to the next with the T bit (RFC 6733, section 5.5.4). Whether
//! a message waits, goes or is refused when none answers within Tx is said by Credit-Control-Failure-Handling.

mod begin;
mod end;
mod request;
pub mod settle;
#[cfg(test)]
mod tests;

use crate::server::{Asker, ChargingServers};
use bus::{Bus, BusError, Topic};
use diameter::credit::FailureHandling;
use diameter::credit::client::TX_DEFAULT;
use diameter::peer::EndToEnd;
use records::{AlertNo, Bill, EndpointNo, Funding, OUTCOMES};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where what tells this house from others is kept on the bus.
const IDENTITY: &str = "charging";
/// Its key there.
const HOUSE: &str = "house";
/// Sessions whose server and account are remembered; beyond, all servers are asked which of them knows one.
const SESSIONS_MAX: usize = 262_144;

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

/// One attempt at one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MessageId {
    pub(crate) alert: AlertNo,
    pub(crate) endpoint: EndpointNo,
    pub(crate) attempt: u8,
}

/// What is remembered of a session.
#[derive(Debug, Clone)]
struct Open {
    account: Arc<str>,
    /// The server that granted, if one did.
    host: Option<Arc<str>>,
}

/// Others' credit-control servers, as our own messages see them.
#[derive(Clone)]
pub struct External(Arc<Inner>);

struct Inner {
    settings: Settings,
    /// In every Session-Id: another house of the same name, or a new one, has other messages under the same numbers.
    house: u64,
    /// Where the topic of outcomes ended when this process began: what was said before, was perhaps said to a server too.
    born_at: u64,
    servers: OnceLock<ChargingServers>,
    identifiers: Mutex<EndToEnd>,
    open: Mutex<HashMap<MessageId, Open>>,
}

impl External {
    /// Of this house.
    ///
    /// # Errors
    /// The bus's.
    pub async fn open(settings: Settings, bus: &dyn Bus) -> Result<External, BusError> {
        let kept = bus.retained(IDENTITY)?;
        let known =
            kept.value(HOUSE).and_then(|octets| Some(u64::from_be_bytes(octets.as_ref().try_into().ok()?)));
        let house = match known {
            Some(house) => house,
            None => {
                let house = chance();
                kept.set(HOUSE, &house.to_be_bytes()).await?;
                house
            }
        };
        let outcomes: Arc<dyn Topic> = bus.topic(OUTCOMES)?;
        let born_at = outcomes.latest().await?;
        let started = now_s();
        Ok(External(Arc::new(Inner {
            settings,
            house,
            born_at,
            servers: OnceLock::new(),
            identifiers: Mutex::new(EndToEnd::new(started, chance() as u32)),
            open: Mutex::default(),
        })))
    }

    /// From now on these can be asked. Said once, when the Diameter node is open; until then everybody waits.
    pub fn attach(&self, servers: ChargingServers) {
        // A second node of one process there is not.
        let _ = self.0.servers.set(servers);
    }

    /// Whether each of these messages may be written, in their order: what the others cost is reserved. Takes until the servers have answered
    /// or Tx is over; for an emergency no longer than that can wait. Safe to drop, and to ask again.
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

    fn remember(&self, id: MessageId, open: Open) {
        let mut all = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < SESSIONS_MAX || all.contains_key(&id) {
            all.insert(id, open);
        }
    }

    fn known(&self, id: &MessageId) -> Option<Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn forget(&self, id: &MessageId) {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
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
