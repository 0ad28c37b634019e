//! Status events for clients: of their messages as they asked, and messages from people. It is on the bus
//! before SQL has what it speaks of, so that a crash may repeat it but not lose it.

use super::actor::{BackgroundResult, EngineActor};
use super::context::LeaderGuard;
use crate::record::MessageEvent;
use crate::report::{Values, expand};
use records::{
    AlertNo, ClientEvent, EndpointNo, MessageClient, MessageId, MessageStatus, Notice, NoticeVerb,
    RosterEntry, ShortText, Timestamp, client_topic,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Words that wait for the bus at most; beyond, outcomes and intake wait.
const WAITING_MAX: u64 = 200_000;
/// Words of one append: what any bus takes as one.
const AT_ONCE: usize = 1_000;
/// After a failure (a full disk) the next try waits so long, in microseconds.
const PAUSE_US: i64 = 1_000_000;
/// A platform is told for so long, in seconds.
const TOLD_S: i64 = 24 * 3600;
/// Words of the last run that are looked at after a crash, over all clients.
const REMEMBERED_MAX: u64 = 2_000_000;
/// Octets of them read in one go.
const READ_OCTETS: usize = 4 * 1024 * 1024;
/// Topics of clients of the SMPP server.
const TOLD_PREFIX: &str = "told/";
/// Characters of a message that a receipt repeats (SMPP 3.4, appendix B).
const BEGINNING_CHARACTERS: usize = 20;

/// What waits to be told.
#[derive(Default)]
pub struct StatusEvents {
    queues: FxHashMap<Option<String>, Vec<Vec<u8>>>,
    topics: FxHashMap<Option<String>, Arc<dyn bus::Topic>>,
    /// Words that were said, and those of them that are on the bus.
    pub said: u64,
    pub written: u64,
    under_way: bool,
    paused_until: Option<Timestamp>,
    /// What the last run said after the fold that this one began with, by its hash: it is said once.
    before: FxHashSet<u64>,
}

/// Words for one topic: a client's (by its `system_id`), or notices.
pub struct EventBatch {
    to: Option<String>,
    topic: Arc<dyn bus::Topic>,
    records: Vec<Vec<u8>>,
}

/// Words are on the bus; the rest is not.
pub struct EventsPublished {
    written: usize,
    left: Vec<EventBatch>,
    error: Option<bus::BusError>,
}

impl StatusEvents {
    fn say(&mut self, to: Option<String>, record: Vec<u8>) {
        if !self.before.is_empty() && self.before.remove(&hash(to.as_deref(), &record)) {
            return;
        }
        self.said += 1;
        self.queues.entry(to).or_default().push(record);
    }

    /// Reads what the last run said last, before anything is replayed: the same words come of it again.
    pub fn remember(&mut self, bus: &dyn bus::Bus) -> Result<(), bus::BusError> {
        let mut left = REMEMBERED_MAX;
        for name in &topics_of_words(bus)? {
            let topic = bus.topic(name)?;
            let mut from = topic.low().max(topic.head().saturating_sub(records::TOLD_TAIL.min(left)));
            while from < topic.head() && left > 0 {
                for record in topic.read(from, AT_ONCE, READ_OCTETS)? {
                    from = record.index + 1;
                    left = left.saturating_sub(1);
                    self.before.insert(hash_in(name, &record.octets));
                }
            }
        }
        Ok(())
    }

    /// SQL has what the last run spoke of.
    pub fn forget(&mut self) {
        self.before = FxHashSet::default();
    }

    /// More waits than should.
    pub fn is_full(&self) -> bool {
        self.said - self.written > WAITING_MAX
    }

    /// Everything is on the bus.
    pub fn is_empty(&self) -> bool {
        self.said == self.written
    }
}

/// Where clients are told.
pub fn topics_of_words(bus: &dyn bus::Bus) -> Result<Vec<String>, bus::BusError> {
    let mut topics = bus.topics(TOLD_PREFIX)?;
    topics.push(records::NOTICES.to_owned());
    Ok(topics)
}

impl EngineActor {
    /// Tells what happened to messages of these alerts and was not told yet.
    pub fn tell_what_happened(&mut self) {
        let touched: Vec<AlertNo> = self.alerts.touched.iter().copied().collect();
        for no in touched {
            self.tell_fates(no, "", "");
        }
    }

    /// Tells what happened to messages of an alert, with the network's words and id where there are any.
    pub fn tell_fates(&mut self, no: AlertNo, text: &str, carrier_id: &str) {
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        let Some(metas) = live.metas.as_mut().filter(|metas| !metas.happened.is_empty()) else { return };
        for happened in std::mem::take(&mut metas.happened) {
            let Some(entry) = self.alerts.entry(no, happened.endpoint) else { continue };
            let route = self.route_of(no, happened.endpoint);
            self.tell_fate(&happened, entry, route, text, carrier_id);
        }
    }

    fn route_of(&self, no: AlertNo, endpoint: EndpointNo) -> String {
        let cell = self.alerts.live.get(&no).and_then(|live| live.cell(endpoint));
        cell.and_then(|cell| self.alerts.strings.route(cell.route)).unwrap_or_default().to_owned()
    }

    fn tell_fate(
        &mut self,
        happened: &MessageEvent,
        entry: RosterEntry,
        route: String,
        text: &str,
        carrier_id: &str,
    ) {
        let Some(message) = entry.message else { return };
        self.meter.note_told(happened.event);
        match message.party {
            MessageClient::Smpp(system_id) => {
                let status = MessageStatus {
                    id: message.id,
                    event: happened.event,
                    state: happened.state,
                    beginning: beginning(&message.short.text),
                    source: message.short.source,
                    to: entry.address,
                    dest: message.short.dest,
                    text: text.to_owned(),
                    carrier_id: carrier_id.to_owned(),
                    route,
                    submitted: message.at,
                    at: happened.at,
                    tell: message.tell,
                };
                self.status_events.say(Some(system_id), ClientEvent::Status(Box::new(status)).encode());
            }
            MessageClient::Platform(username) => {
                let Some(url) = &message.tell.url else { return };
                let id = message_id(message.id);
                let beginning = beginning(&message.short.text);
                let values = Values {
                    text: text.as_bytes().into(),
                    person: &entry.address,
                    ours: &message.short.source.addr,
                    at: Some(happened.at),
                    id: &id,
                    route: &route,
                    service: &username,
                    event: Some(happened.event),
                    submitted: Some(message.at),
                    beginning: &beginning,
                    url,
                    carrier_id,
                    given: &message.tell.values,
                    ..Values::default()
                };
                let stable = format!("{id}-{}", happened.event);
                self.fetch(stable, expand(url, &values), happened.at);
            }
            MessageClient::House => {}
        }
    }

    /// A platform is told by a call of its address; `id` is the same if it has to be said again.
    pub fn fetch(&mut self, id: String, url: String, at: Timestamp) {
        let notice = Notice {
            id,
            alert: None,
            verb: NoticeVerb::Fetch,
            url,
            content_type: String::new(),
            body: String::new(),
            at,
            expires: at.plus_s(TOLD_S),
        };
        self.status_events.say(None, notice.encode());
    }

    /// A client of our SMPP server is told.
    pub fn tell_client(&mut self, system_id: &str, told: &ClientEvent) {
        self.status_events.say(Some(system_id.to_owned()), told.encode());
    }

    /// Puts on the bus what waits, one append after the other, so that each client hears in order.
    pub fn flush_fates(&mut self, now: Timestamp) {
        let paused = self.status_events.paused_until.is_some_and(|until| now < until);
        if self.status_events.under_way || self.status_events.queues.is_empty() || paused {
            return;
        }
        let mut batches = Vec::with_capacity(self.status_events.queues.len());
        for (to, records) in std::mem::take(&mut self.status_events.queues) {
            match self.client_topic(&to) {
                Ok(topic) => batches.push(EventBatch { to, topic, records }),
                Err(error) => {
                    tracing::error!(?to, %error, "a party cannot be told; what it was to hear is dropped");
                    self.status_events.written += records.len() as u64;
                }
            }
        }
        self.status_events.under_way = true;
        let guard = self.context.guard();
        self.context
            .background
            .push(Box::pin(async move { BackgroundResult::EventsPublished(write(batches, guard).await) }));
    }

    fn client_topic(&mut self, to: &Option<String>) -> Result<Arc<dyn bus::Topic>, bus::BusError> {
        if let Some(topic) = self.status_events.topics.get(to) {
            return Ok(topic.clone());
        }
        let name =
            to.as_ref().map_or_else(|| records::NOTICES.to_owned(), |system_id| client_topic(system_id));
        let topic = self.context.parts.bus.topic(&name)?;
        self.status_events.topics.insert(to.clone(), topic.clone());
        Ok(topic)
    }

    /// Words are on the bus, or some could not be put there.
    pub fn told(&mut self, told: EventsPublished) {
        self.status_events.under_way = false;
        self.status_events.written += told.written as u64;
        if let Some(error) = told.error {
            tracing::error!(%error, "parties cannot be told now; it will be tried again");
            self.status_events.paused_until = Some(self.context.now().plus_us(PAUSE_US));
        }
        for batch in told.left {
            // What was said meanwhile comes behind.
            let queue = self.status_events.queues.entry(batch.to).or_default();
            let later = std::mem::replace(queue, batch.records);
            queue.extend(later);
        }
        if self.context.is_stopping() && self.status_events.paused_until.is_some() {
            // The next start tells it: SQL does not have what it speaks of.
            self.status_events.queues.clear();
            self.status_events.written = self.status_events.said;
        }
    }
}

fn hash(to: Option<&str>, record: &[u8]) -> u64 {
    match to {
        Some(system_id) => hash_in(&client_topic(system_id), record),
        None => hash_in(records::NOTICES, record),
    }
}

/// What was said in a topic. Two words that share a hash among millions are less likely than a disk that
/// lies.
fn hash_in(topic: &str, record: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (topic, record).hash(&mut hasher);
    hasher.finish()
}

async fn write(batches: Vec<EventBatch>, guard: LeaderGuard) -> EventsPublished {
    let mut written = 0;
    let mut left = Vec::new();
    let mut error = None;
    for mut batch in batches {
        while !batch.records.is_empty() && error.is_none() {
            if !guard.holds() {
                error = Some(LeaderGuard::passed());
                break;
            }
            let count = batch.records.len().min(AT_ONCE);
            let slices: Vec<&[u8]> = batch.records[..count].iter().map(Vec::as_slice).collect();
            match batch.topic.append(&slices).await {
                Ok(_) => {
                    written += count;
                    batch.records.drain(..count);
                }
                Err(failed) => error = Some(failed),
            }
        }
        if !batch.records.is_empty() {
            left.push(batch);
        }
    }
    EventsPublished { written, left, error }
}

/// A message's id as it is told outside.
pub fn message_id(id: MessageId) -> String {
    format!("{:016x}", id.0)
}

/// The first characters of a message, as far as they can be read without the carrier's alphabet.
fn beginning(text: &ShortText) -> String {
    match text {
        ShortText::Text { text, .. } => text.chars().take(BEGINNING_CHARACTERS).collect(),
        ShortText::Octets { data_coding: 8, octets } => {
            let units = octets.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
            let characters = char::decode_utf16(units).map(|c| c.unwrap_or('?'));
            characters.take(BEGINNING_CHARACTERS).collect()
        }
        ShortText::Octets { octets, .. } => {
            let readable = |octet: &u8| if (0x20..0x7f).contains(octet) { char::from(*octet) } else { '.' };
            octets.iter().take(BEGINNING_CHARACTERS).map(readable).collect()
        }
    }
}
