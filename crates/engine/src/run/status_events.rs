//! StatusEvents publishes to clients the status of their messages as they requested, and messages from
//! people. An event is on the bus before SQL has the change it reports, so that a crash may repeat it but not
//! lose it.

use super::actor::BackgroundResult;
use super::alerts::Alerts;
use super::context::{Context, LeaderGuard};
use super::meter::EventMeter;
use crate::record::MessageEvent;
use crate::report::{ReportValues, Values, expand};
use records::{
    AlertNo, CarrierReport, ClientEvent, ClientReceipt, DlrRequest, Message, MessageClient, MessageId,
    MessageStatus, Notice, NoticeVerb, RosterEntry, ShortText, Timestamp, client_topic,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Events that wait for the bus at most; beyond, outcomes and intake wait.
const WAITING_MAX: u64 = 200_000;
/// Events of one append: as many as any bus takes as one.
const AT_ONCE: usize = 1_000;
/// After a failure (a full disk) the next try waits so long, in microseconds.
const PAUSE_US: i64 = 1_000_000;
/// A request to a platform is tried for so long, in seconds.
const NOTICE_TRIED_S: i64 = 24 * 3600;
/// Events of the last run that are read after a crash, over all clients.
const REMEMBERED_MAX: u64 = 2_000_000;
/// Octets of them read in one go.
const READ_OCTETS: usize = 4 * 1024 * 1024;
/// Topics of clients of the SMPP server.
const CLIENT_TOPICS: &str = "told/";
/// Events that come about by a receipt.
const OF_RECEIPTS: u8 = DlrRequest::DELIVERED | DlrRequest::FAILED | DlrRequest::BUFFERED;
/// Characters of a message that a receipt repeats (SMPP 3.4, appendix B).
const BEGINNING_CHARACTERS: usize = 20;

/// See the module.
pub struct StatusEvents {
    queues: FxHashMap<Option<String>, Vec<Vec<u8>>>,
    topics: FxHashMap<Option<String>, Arc<dyn bus::Topic>>,
    /// Events that were queued since the start, and those of them that are on the bus.
    queued: u64,
    published: u64,
    under_way: bool,
    paused_until: Option<Timestamp>,
    /// Events the last run published after the fold that this one began with, by hash: each is published
    /// once.
    before: FxHashSet<u64>,
    meter: EventMeter,
}

/// Events for one topic: a client's (by its `system_id`), or notices.
pub struct EventBatch {
    to: Option<String>,
    topic: Arc<dyn bus::Topic>,
    records: Vec<Vec<u8>>,
}

/// Events are on the bus; the rest is not.
pub struct EventsPublished {
    written: usize,
    left: Vec<EventBatch>,
    error: Option<bus::BusError>,
}

/// The network's text and id that come with an event; empty where there are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct FromNetwork<'a> {
    pub text: &'a str,
    pub carrier_id: &'a str,
    /// Of a receipt: the carrier's own words.
    pub report: Option<&'a CarrierReport>,
    /// Of a receipt: when it came about, by the carrier.
    pub done: Option<Timestamp>,
}

impl StatusEvents {
    pub fn new() -> StatusEvents {
        StatusEvents {
            queues: FxHashMap::default(),
            topics: FxHashMap::default(),
            queued: 0,
            published: 0,
            under_way: false,
            paused_until: None,
            before: FxHashSet::default(),
            meter: EventMeter::new(),
        }
    }

    fn queue(&mut self, to: Option<String>, record: Vec<u8>) {
        if !self.before.is_empty() && self.before.remove(&hash(to.as_deref(), &record)) {
            return;
        }
        self.queued += 1;
        self.queues.entry(to).or_default().push(record);
    }

    /// Reads the last events of the last run, before anything is replayed: the replay gives the same ones
    /// again.
    pub fn remember(&mut self, bus: &dyn bus::Bus) -> Result<(), bus::BusError> {
        let mut left = REMEMBERED_MAX;
        for name in &topics(bus)? {
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

    /// SQL has the changes the last run reported.
    pub fn forget(&mut self) {
        self.before = FxHashSet::default();
    }

    /// More waits than should.
    pub fn is_full(&self) -> bool {
        self.queued - self.published > WAITING_MAX
    }

    /// Everything is on the bus.
    pub fn is_empty(&self) -> bool {
        self.queued == self.published
    }

    /// The number of the last event, for [`StatusEvents::is_published`].
    pub fn last(&self) -> u64 {
        self.queued
    }

    /// Are all events up to this number on the bus?
    pub fn is_published(&self, last: u64) -> bool {
        last <= self.published
    }

    /// Publishes the events of messages of the alerts touched, as far as that was not done.
    pub fn publish_touched(&mut self, alerts: &mut Alerts) {
        let touched: Vec<AlertNo> = alerts.touched.iter().copied().collect();
        for no in touched {
            self.publish(no, alerts, FromNetwork::default());
        }
    }

    /// Publishes the events of messages of an alert.
    pub fn publish(&mut self, no: AlertNo, alerts: &mut Alerts, from_network: FromNetwork<'_>) {
        let Some(live) = alerts.live.get_mut(&no) else { return };
        let Some(metas) = live.metas.as_mut().filter(|metas| !metas.events.is_empty()) else { return };
        for event in std::mem::take(&mut metas.events) {
            let Some(entry) = alerts.entry(no, event.endpoint) else { continue };
            let cell = alerts.live.get(&no).and_then(|live| live.cell(event.endpoint));
            let route = cell.and_then(|cell| alerts.strings.route(cell.route)).unwrap_or_default();
            self.publish_one(&event, entry, route, from_network);
        }
    }

    fn publish_one(
        &mut self,
        event: &MessageEvent,
        entry: RosterEntry,
        route: &str,
        from_network: FromNetwork<'_>,
    ) {
        let FromNetwork { text, carrier_id, done, .. } = from_network;
        // What another event of the same receipt's alert says is not this carrier's word.
        let report = from_network.report.filter(|_| event.event & OF_RECEIPTS != 0);
        let Some(message) = entry.message else { return };
        self.meter.note_published(event.event);
        match message.party {
            MessageClient::Smpp(system_id) => {
                let status = MessageStatus {
                    id: message.id,
                    event: event.event,
                    state: event.state,
                    beginning: beginning(&message.short.text),
                    source: message.short.source,
                    to: entry.address,
                    dest: message.short.dest,
                    text: text.to_owned(),
                    carrier_id: carrier_id.to_owned(),
                    route: route.to_owned(),
                    submitted: message.at,
                    at: event.at,
                    tell: message.tell,
                };
                self.queue(Some(system_id), client_event(status, report, done).encode());
            }
            MessageClient::Platform(username) => {
                let Some(url) = &message.tell.url else { return };
                let id = message_id(message.id);
                let beginning = beginning(&message.short.text);
                let values = Values {
                    text: text.as_bytes().into(),
                    person: &entry.address,
                    ours: &message.short.source.addr,
                    at: Some(event.at),
                    id: &id,
                    route,
                    service: &username,
                    event: Some(event.event),
                    report: ReportValues {
                        state: Some(event.state),
                        done: report.and(done),
                        submitted: Some(message.at),
                        beginning: &beginning,
                    },
                    url,
                    carrier_id,
                    given: &message.tell.values,
                    ..Values::default()
                };
                let stable = format!("{id}-{}", event.event);
                self.request(stable, expand(url, &values), NoticeVerb::Fetch, event.at);
            }
            MessageClient::House => {}
        }
    }

    /// Requests a platform's address with a message of a person; a text in the answer becomes `reply`. `id`
    /// is the same if the event has to be repeated.
    pub fn request_with_reply(&mut self, id: String, url: String, reply: Message, at: Timestamp) {
        self.request(id, url, NoticeVerb::FetchReply(Box::new(reply)), at);
    }

    /// Requests a platform's address; `id` is the same if the event has to be repeated.
    pub fn request(&mut self, id: String, url: String, verb: NoticeVerb, at: Timestamp) {
        let notice = Notice {
            id,
            alert: None,
            verb,
            url,
            content_type: String::new(),
            body: String::new(),
            at,
            expires: at.plus_s(NOTICE_TRIED_S),
        };
        self.queue(None, notice.encode());
    }

    /// Publishes an event to a client of our SMPP server.
    pub fn publish_to_client(&mut self, system_id: &str, event: &ClientEvent) {
        self.queue(Some(system_id.to_owned()), event.encode());
    }

    /// Puts the queues on the bus, one append after the other, so that each client gets events in order.
    pub fn flush(&mut self, context: &Context, now: Timestamp) {
        let paused = self.paused_until.is_some_and(|until| now < until);
        if self.under_way || self.queues.is_empty() || paused {
            return;
        }
        let mut batches = Vec::with_capacity(self.queues.len());
        for (to, records) in std::mem::take(&mut self.queues) {
            match self.topic(&to, &*context.parts.bus) {
                Ok(topic) => batches.push(EventBatch { to, topic, records }),
                Err(error) => {
                    tracing::error!(?to, %error, "a client's topic cannot be opened; its events are dropped");
                    self.published += records.len() as u64;
                }
            }
        }
        self.under_way = true;
        let guard = context.guard();
        context.spawn(async move { BackgroundResult::EventsPublished(append(batches, guard).await) });
    }

    fn topic(
        &mut self,
        to: &Option<String>,
        bus: &dyn bus::Bus,
    ) -> Result<Arc<dyn bus::Topic>, bus::BusError> {
        if let Some(topic) = self.topics.get(to) {
            return Ok(topic.clone());
        }
        let name =
            to.as_ref().map_or_else(|| records::NOTICES.to_owned(), |system_id| client_topic(system_id));
        let topic = bus.topic(&name)?;
        self.topics.insert(to.clone(), topic.clone());
        Ok(topic)
    }

    /// Events are on the bus, or some could not be put there.
    pub fn flushed(&mut self, flushed: EventsPublished, context: &Context) {
        self.under_way = false;
        self.published += flushed.written as u64;
        if let Some(error) = flushed.error {
            tracing::error!(%error, "events cannot be published to clients now; it will be tried again");
            self.paused_until = Some(context.now().plus_us(PAUSE_US));
        }
        for batch in flushed.left {
            // Later events come behind.
            let queue = self.queues.entry(batch.to).or_default();
            let later = std::mem::replace(queue, batch.records);
            queue.extend(later);
        }
        if context.is_stopping() && self.paused_until.is_some() {
            // The next start publishes them: SQL does not have the changes they report.
            self.queues.clear();
            self.published = self.queued;
        }
    }
}

fn client_event(
    status: MessageStatus,
    report: Option<&CarrierReport>,
    done: Option<Timestamp>,
) -> ClientEvent {
    let Some(report) = report else { return ClientEvent::Status(Box::new(status)) };
    let (error, network_error) = (report.error.clone(), report.network_error);
    ClientEvent::Receipt(Box::new(ClientReceipt { status, error, network_error, done }))
}

/// The topics that events are published to.
pub fn topics(bus: &dyn bus::Bus) -> Result<Vec<String>, bus::BusError> {
    let mut topics = bus.topics(CLIENT_TOPICS)?;
    topics.push(records::NOTICES.to_owned());
    Ok(topics)
}

fn hash(to: Option<&str>, record: &[u8]) -> u64 {
    match to {
        Some(system_id) => hash_in(&client_topic(system_id), record),
        None => hash_in(records::NOTICES, record),
    }
}

/// An event in a topic. Two events that share a hash among millions are less likely than a disk that lies.
fn hash_in(topic: &str, record: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (topic, record).hash(&mut hasher);
    hasher.finish()
}

async fn append(batches: Vec<EventBatch>, guard: LeaderGuard) -> EventsPublished {
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

/// A message's id as it is published outside.
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
