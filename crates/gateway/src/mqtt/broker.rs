//! State shared by an MQTT route's connections, one after the other: its limit, its notes, and messages that
//! were lost with a connection.

use super::config::MqttRoute;
use super::retained::RetainedNotes;
use super::tag::CorrelationTags;
use crate::GatewayContext;
use crate::dispatcher::{ChannelEncoder, Job, RouteDispatcher, RouteLimit};
use crate::route_loop::RouteSettings;
use arc_swap::ArcSwap;
use bus::BusError;
use mqtt::client::MqttClientOptions;
use net::TlsClient;
use records::{AttemptRef, AttemptResult, Entry, Segment};
use rustc_hash::FxHashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A message with which the connection was lost so often is unknown.
const LOST_MAX: u8 = 3;
/// Longest time for the answer to any packet.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Devices' messages that may wait until they are on disk.
const RECEIVE_MAXIMUM: u16 = 1_000;
/// Octets of a device's message at most.
const PACKET_OCTETS_MAX: u32 = 64 * 1024;

/// There is nothing to make of a segment once.
pub(crate) struct MqttEncoder;

impl ChannelEncoder for MqttEncoder {
    type Prepared = ();

    /// A message has the same id whenever it is sent, and devices drop repeats by it.
    fn repeatable(&self) -> bool {
        true
    }

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

/// A message on its way.
pub(super) type MqttJob = Job<()>;

/// Where a connection goes, and how.
pub(super) struct BrokerPeer {
    pub(super) config: MqttRoute,
    pub(super) tls: Option<TlsClient>,
    pub(super) tags: CorrelationTags,
}

/// A broker at work.
pub(super) struct BrokerState {
    name: String,
    peer: ArcSwap<BrokerPeer>,
    /// Ends a client identifier that nobody set.
    suffix: u32,
    pub(super) context: GatewayContext,
    pub(super) dispatcher: Arc<RouteDispatcher<MqttEncoder>>,
    pub(super) limit: Arc<RouteLimit<MqttEncoder>>,
    pub(super) notes: Arc<RetainedNotes>,
    /// How often the connection was lost with a message that was not acknowledged.
    lost: Mutex<FxHashMap<AttemptRef, u8>>,
}

impl BrokerState {
    /// # Errors
    /// The bus's.
    pub(super) fn new(
        peer: BrokerPeer,
        context: GatewayContext,
        dispatcher: Arc<RouteDispatcher<MqttEncoder>>,
    ) -> Result<BrokerState, BusError> {
        let name = peer.config.name.clone();
        Ok(BrokerState {
            limit: RouteLimit::new(&dispatcher, peer.config.rate),
            notes: Arc::new(RetainedNotes::open(&context, &name)?),
            peer: ArcSwap::from_pointee(peer),
            suffix: RandomState::new().hash_one(0) as u32,
            lost: Mutex::default(),
            name,
            context,
            dispatcher,
        })
    }

    /// The route's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The settings as they are now.
    pub(super) fn peer(&self) -> Arc<BrokerPeer> {
        self.peer.load_full()
    }

    /// Other settings from now on.
    pub(super) fn change(&self, peer: BrokerPeer) {
        self.peer.store(Arc::new(peer));
    }

    /// Options of a connection by these settings.
    pub(super) fn options(&self, config: &MqttRoute) -> MqttClientOptions {
        MqttClientOptions {
            client_id: self.client_id(config),
            username: config.username.clone(),
            password: config.password.as_ref().map(|word| word.reveal().as_bytes().to_vec()),
            keep_alive_s: u16::try_from(config.keep_alive.as_secs()).unwrap_or(u16::MAX),
            receive_maximum: RECEIVE_MAXIMUM,
            packet_octets_max: PACKET_OCTETS_MAX,
            answer_within: ANSWER_WITHIN,
        }
    }

    /// Never the same for two processes: a broker ends the one connection when the other comes.
    fn client_id(&self, config: &MqttRoute) -> String {
        let Some(given) = &config.client_id else {
            return format!("campanile-{}-{:08x}", self.name, self.suffix);
        };
        match &self.context.shared {
            None => given.clone(),
            Some(shared) => {
                let mut hash = rustc_hash::FxHasher::default();
                shared.node.hash(&mut hash);
                format!("{given}-{:08x}", hash.finish() as u32)
            }
        }
    }

    /// Topic Filter of the answers, if there are any: where several processes have the route, each answer
    /// comes to one of them (MQTT 5, section 4.8.2).
    pub(super) fn answers_filter(&self, topic: &str, shares: bool) -> String {
        match self.context.shared.is_some() && shares {
            true => format!("$share/campanile-{}/{topic}", self.name),
            false => topic.to_owned(),
        }
    }

    /// The connection is gone, and a message was not acknowledged. One that was perhaps written may be
    /// written again, since a device knows it by its id; but not for ever.
    pub(super) fn lost(&self, job: MqttJob, written: bool) {
        let times = if written { self.count_loss(job.of(1)) } else { 0 };
        if times < LOST_MAX {
            return self.dispatcher.put_back(job);
        }
        self.settle(&job, &super::outcome::lost(times));
    }

    /// What became of a message.
    pub(super) fn settle(&self, job: &MqttJob, result: &AttemptResult) {
        self.dispatcher.whole(job, result);
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if !lost.is_empty() {
            lost.remove(&job.of(1));
        }
    }

    fn count_loss(&self, of: AttemptRef) -> u8 {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        // What went back and was then cancelled stays: rarely, and not for ever.
        if lost.len() > self.peer.load().config.slots() as usize * 2 {
            lost.clear();
        }
        let times = lost.entry(of).or_default();
        *times += 1;
        *times
    }
}
