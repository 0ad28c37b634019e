//! One connection to the broker: messages out, acknowledgements and answers in.

use super::broker::{BrokerPeer, BrokerState};
use super::notes_queue::{NotedJob, NotesQueue};
use super::retained::DueRemoval;
use super::{outcome, payload};
use crate::context::Stop;
use crate::journal::Ticket;
use mqtt::client::{MqttClient, MqttClientEvent, ServerLimits};
use mqtt::packet::{PublishPacket, Qos, TopicSubscription};
use mqtt::{ClosedBy, MqttReason};
use net::Worker;
use records::{AttemptResult, Redacted, Timestamp, channel_key};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long what is under way may take when the route stops.
const DRAIN: Duration = Duration::from_secs(10);
/// Answers of devices that wait for the disk: the broker is not read from over that.
const ANSWERS_MAX: usize = 4_000;

/// How a connection ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BrokerEnding {
    /// It was open: messages could be sent.
    pub(super) open: bool,
    /// Messages that were acknowledged.
    pub(super) acknowledged: u64,
    /// Why it ended, unless we ended it in order.
    pub(super) trouble: Option<String>,
    /// We ended it.
    in_order: bool,
}

impl BrokerEnding {
    /// It never came to anything.
    pub(super) fn of_trouble(why: String) -> BrokerEnding {
        BrokerEnding { trouble: Some(why), ..BrokerEnding::default() }
    }
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BrokerPhase {
    /// CONNACK is awaited.
    Connecting,
    /// The answer to our subscription is awaited, with this Packet Identifier.
    Subscribing(u16),
    Open,
}

/// A message of ours that is not acknowledged.
enum Outgoing {
    Alert(Box<NotedJob>),
    Removal(DueRemoval),
}

/// Messages written since the system took the last ones.
#[derive(Default)]
struct Unwritten {
    count: usize,
    /// An instant before the first of them.
    since: Option<Instant>,
}

/// A connection's worker.
pub(super) struct BrokerConnection {
    broker: Arc<BrokerState>,
    /// The settings it was connected by.
    peer: Arc<BrokerPeer>,
    stop: Stop,
    listener: Arc<Notify>,
    phase: BrokerPhase,
    limits: ServerLimits,
    /// Messages whose notes are being written.
    noting: NotesQueue,
    outgoing: FxHashMap<u64, Outgoing>,
    next_token: u64,
    unwritten: Unwritten,
    next_grant: Option<Instant>,
    /// Devices' messages by Packet Identifier, acknowledged once they are on disk.
    answers: VecDeque<(Option<Ticket>, u16)>,
    drain_by: Option<Instant>,
    end: BrokerEnding,
}

impl BrokerConnection {
    pub(super) fn new(broker: &Arc<BrokerState>, peer: &Arc<BrokerPeer>, stop: Stop) -> BrokerConnection {
        BrokerConnection {
            listener: broker.dispatcher.listen(),
            noting: NotesQueue::new(Arc::clone(&broker.notes)),
            broker: Arc::clone(broker),
            peer: Arc::clone(peer),
            stop,
            phase: BrokerPhase::Connecting,
            limits: ServerLimits::default(),
            outgoing: FxHashMap::default(),
            next_token: 0,
            unwritten: Unwritten::default(),
            next_grant: None,
            answers: VecDeque::new(),
            drain_by: None,
            end: BrokerEnding::default(),
        }
    }

    /// The connection is gone, and all events are handled; `broken`: the system's words, if it broke.
    pub(super) async fn leave(mut self, broken: Option<String>) -> BrokerEnding {
        // What is not known to be unwritten counts as written.
        self.tell_written(Instant::now());
        let noting = std::mem::replace(&mut self.noting, NotesQueue::new(Arc::clone(&self.broker.notes)));
        let (unwritten, refused) = noting.close(self.now()).await;
        for noted in unwritten {
            self.broker.limit.unused();
            self.broker.dispatcher.put_back(noted.job);
        }
        for (job, result) in refused {
            self.broker.limit.unused();
            self.broker.settle(&job, &result);
        }
        if self.end.trouble.is_none() && !self.end.in_order {
            let silent = || "the broker closed the connection without a word".to_owned();
            self.end.trouble = Some(broken.unwrap_or_else(silent));
        }
        if self.end.open {
            match &self.end.trouble {
                Some(trouble) if !self.stop.is_set() => self.broker.dispatcher.session_down(trouble),
                _ => self.broker.dispatcher.session_rests(),
            }
        }
        self.end
    }

    /// Ends a connection that is of no use, and says why.
    fn refuse(&mut self, client: &mut MqttClient, now: Instant, why: &str) {
        self.end.trouble = Some(why.to_owned());
        client.disconnect(now, MqttReason::SUCCESS);
    }

    /// Subscribes to the answers, once connected.
    fn open(&mut self, client: &mut MqttClient, now: Instant) {
        let config = &self.peer.config;
        if !self.limits.takes_qos_1 {
            return self.refuse(client, now, "the broker takes messages of QoS 0 alone: QoS 1 is needed");
        }
        if config.retain && !self.limits.retains {
            return self.refuse(client, now, "the broker retains no messages: set retain = false");
        }
        let Some(topic) = &config.response_topic else { return self.opened() };
        let filter = self.broker.answers_filter(topic, self.limits.shares_subscriptions);
        let wanted = TopicSubscription {
            qos: Qos::AtLeastOnce,
            no_local: !filter.starts_with("$share/"),
            filter,
            ..TopicSubscription::default()
        };
        match client.subscribe(now, vec![wanted]) {
            Ok(packet_id) => self.phase = BrokerPhase::Subscribing(packet_id),
            Err(why) => self.refuse(client, now, &format!("cannot subscribe to {topic:?}: {why}")),
        }
    }

    fn opened(&mut self) {
        tracing::info!(
            route = self.broker.name(),
            receive_maximum = self.limits.receive_maximum,
            "connected"
        );
        self.phase = BrokerPhase::Open;
        self.end.open = true;
        self.broker.dispatcher.session_up();
    }

    /// A broker that lets nobody answer can still carry alerts.
    fn subscribed(&mut self, reason: MqttReason, words: Option<&str>) {
        if reason.is_error() {
            let topic = self.peer.config.response_topic.as_deref();
            tracing::warn!(
                route = self.broker.name(),
                topic,
                %reason,
                words,
                "the broker refuses the subscription to the response topic: nobody can confirm or answer"
            );
        }
        self.opened();
    }

    fn acknowledged(&mut self, token: u64, reason: MqttReason, words: Option<&str>) {
        match self.outgoing.remove(&token) {
            Some(Outgoing::Alert(noted)) => {
                self.end.acknowledged += 1;
                self.settle(*noted, reason, words);
            }
            Some(Outgoing::Removal(removal)) => self.emptied(removal, reason),
            None => {}
        }
    }

    fn settle(&mut self, noted: NotedJob, reason: MqttReason, words: Option<&str>) {
        if outcome::slows(reason) {
            let rate = self.broker.limit.refused_for_now(true, Instant::now());
            tracing::debug!(
                route = self.broker.name(),
                rate,
                "the broker has too much to do: the route is slowed down"
            );
        }
        let (alert, entry) = (noted.job.leased.segment.alert, noted.job.entry());
        let keys = vec![channel_key(channels::MQTT, alert, entry.endpoint)];
        let topic = self.peer.config.topic_of(&entry.address);
        let result = outcome::acknowledged(reason, words, (keys, &topic, noted.note.is_some()));
        self.broker.settle(&noted.job, &result);
        if !matches!(result, AttemptResult::Accepted { .. }) {
            self.noting.take_back(&noted);
        }
    }

    /// The broker answered the empty message that ends a retained one.
    fn emptied(&mut self, removal: DueRemoval, reason: MqttReason) {
        if reason.is_error() {
            let is_over = self.broker.notes.failed(&removal, self.now());
            tracing::warn!(
                route = self.broker.name(),
                topic = %Redacted::Address(&removal.topic),
                %reason,
                is_over,
                "the broker does not let go of a retained message whose alert is over"
            );
            if !is_over {
                return;
            }
        }
        self.noting.removed(removal);
    }

    fn lost(&mut self, token: u64, written: bool) {
        match self.outgoing.remove(&token) {
            Some(Outgoing::Alert(noted)) => {
                if !written {
                    self.unwritten.count = self.unwritten.count.saturating_sub(1);
                    self.broker.limit.unused();
                    self.noting.take_back(&noted);
                }
                self.broker.lost(noted.job, written);
            }
            Some(Outgoing::Removal(removal)) => self.broker.notes.interrupted(&removal, self.now()),
            None => {}
        }
    }

    /// A device confirms or answers. What is not signed by us is nobody's: it is acknowledged and passed
    /// over.
    fn heard(&mut self, packet: &PublishPacket) {
        let delivery = packet.properties.correlation_data().and_then(|tag| self.peer.tags.read(tag));
        let outcomes = match &delivery {
            Some(delivery) => outcome::of_device(delivery, packet, self.broker.name(), self.now()),
            None => Vec::new(),
        };
        if outcomes.is_empty() {
            tracing::debug!(
                route = self.broker.name(),
                topic = packet.topic,
                is_signed = delivery.is_some(),
                "a message on the response topic says nothing of a delivery"
            );
        }
        let tickets: Vec<Ticket> =
            outcomes.iter().map(|outcome| self.broker.dispatcher.note(outcome)).collect();
        if packet.qos != Qos::AtMostOnce {
            // The last one is durable after all others.
            self.answers.push_back((tickets.last().copied(), packet.packet_id));
        }
    }

    /// Acknowledges what is on disk.
    fn acknowledge_durable(&mut self, client: &mut MqttClient, now: Instant) {
        while let Some((ticket, packet_id)) = self.answers.front() {
            if ticket.is_some_and(|ticket| !self.broker.dispatcher.is_durable(ticket)) {
                return;
            }
            client.acknowledge(now, *packet_id, MqttReason::SUCCESS);
            self.answers.pop_front();
        }
    }

    /// Whether to end in order: told to stop, and nothing is under way, or it took too long.
    fn is_over(&mut self, now: Instant) -> bool {
        if !self.stop.is_set() {
            return false;
        }
        let drain_by = *self.drain_by.get_or_insert(now + DRAIN);
        for noted in self.noting.take_waiting() {
            self.give_back(noted);
        }
        let is_idle = self.outgoing.is_empty() && self.noting.is_empty() && self.answers.is_empty();
        is_idle || drain_by <= now
    }

    /// Surely nothing of it was written.
    fn give_back(&mut self, noted: NotedJob) {
        self.broker.limit.unused();
        self.noting.take_back(&noted);
        self.broker.dispatcher.put_back(noted.job);
    }

    /// Sends as much as window and limit allow: first what ends, then what was noted, then what is new.
    fn send(&mut self, client: &mut MqttClient, now: Instant) {
        while client.room() > 0
            && let Some(removal) = self.broker.notes.next_due(self.now())
        {
            self.empty(client, now, removal);
        }
        while client.room() > 0
            && let Some(noted) = self.noting.next_ready()
        {
            self.publish_noted(client, now, noted);
        }
        self.take_new(client, now);
    }

    fn empty(&mut self, client: &mut MqttClient, now: Instant, removal: DueRemoval) {
        let token = self.token();
        match client.publish(now, payload::removal(removal.topic.clone(), token)) {
            Ok(()) => {
                self.outgoing.insert(token, Outgoing::Removal(removal));
            }
            Err(error) => {
                self.broker.notes.failed(&removal, self.now());
                tracing::warn!(route = self.broker.name(), topic = %Redacted::Address(&removal.topic), %error, "a retained message cannot be removed");
            }
        }
    }

    fn take_new(&mut self, client: &mut MqttClient, now: Instant) {
        let retain = self.peer.config.retain;
        if retain && self.noting.is_busy() {
            return;
        }
        let window = self.broker.peer().config.window;
        let mut batch = Vec::new();
        let mut room = client.room().min(window.saturating_sub(self.outgoing.len() + self.noting.len()));
        while room > 0 {
            if !self.broker.limit.grant(now) {
                self.next_grant = self.broker.limit.next(now);
                break;
            }
            let Some(job) = self.broker.dispatcher.next() else {
                self.broker.limit.unused();
                break;
            };
            room -= 1;
            match retain {
                true => batch.push(job),
                false => self.publish_noted(client, now, NotedJob { job, note: None }),
            }
        }
        self.noting.begin(batch, &self.peer.config);
    }

    /// Publishes a message, unless it may not be any more.
    fn publish_noted(&mut self, client: &mut MqttClient, now: Instant, noted: NotedJob) {
        if let Some(why) = self.broker.dispatcher.refusal(&noted.job) {
            return self.end_unwritten(noted, &AttemptResult::NotTried { why });
        }
        let token = self.token();
        let entry = (&noted.job.leased.segment, noted.job.entry());
        let message = payload::message(&self.peer.config, &self.peer.tags, entry, token, self.now());
        let Some(message) = message else { return self.end_unwritten(noted, &outcome::without_text()) };
        match client.publish(now, message) {
            Ok(()) => {
                self.outgoing.insert(token, Outgoing::Alert(Box::new(noted)));
                self.unwritten.count += 1;
                self.unwritten.since.get_or_insert(now);
            }
            Err(why) => match outcome::unwritable(&why) {
                Some(result) => self.end_unwritten(noted, &result),
                None => self.give_back(noted),
            },
        }
    }

    /// Nothing of it was written, and nothing will be.
    fn end_unwritten(&mut self, noted: NotedJob, result: &AttemptResult) {
        self.broker.limit.unused();
        self.noting.take_back(&noted);
        self.broker.settle(&noted.job, result);
    }

    fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    fn now(&self) -> Timestamp {
        self.broker.context.now()
    }

    fn tell_written(&mut self, now: Instant) {
        let Unwritten { count, since } = std::mem::take(&mut self.unwritten);
        if count > 0 {
            self.broker.limit.wrote(count, since.unwrap_or(now), now);
        }
    }

    /// The instant of a moment of the wall clock.
    fn instant_of(&self, at: Timestamp) -> Instant {
        let micros = at.us_since(self.now()).max(0) as u64;
        Instant::now() + Duration::from_micros(micros).min(MOMENT_MAX)
    }
}

/// A moment further away is looked at again by then.
const MOMENT_MAX: Duration = Duration::from_secs(3_600);

impl Worker<MqttClient> for BrokerConnection {
    fn handle(&mut self, event: MqttClientEvent, _now: Instant) {
        match event {
            MqttClientEvent::Connected(limits) => self.limits = limits,
            MqttClientEvent::Subscribed { packet_id, reasons, words } => {
                if self.phase == BrokerPhase::Subscribing(packet_id) {
                    let reason = reasons.first().copied().unwrap_or(MqttReason::UNSPECIFIED_ERROR);
                    self.subscribed(reason, words.as_deref());
                }
            }
            MqttClientEvent::Acknowledged { token, reason, words } => {
                self.acknowledged(token, reason, words.as_deref());
            }
            MqttClientEvent::Message(packet) => self.heard(&packet),
            MqttClientEvent::Lost { token, written } => self.lost(token, written),
            MqttClientEvent::Closed(end) => {
                self.end.in_order = end.by == ClosedBy::Ourselves;
                // Of a connection that broke the system has more to say.
                if !matches!(end.by, ClosedBy::Ourselves | ClosedBy::Transport) {
                    self.end.trouble.get_or_insert(end.text);
                }
            }
        }
    }

    fn fill(&mut self, client: &mut MqttClient, now: Instant, writable: bool) {
        self.next_grant = None;
        if !client.is_connected() {
            if self.stop.is_set() {
                client.disconnect(now, MqttReason::SUCCESS);
            }
            return;
        }
        if self.phase == BrokerPhase::Connecting {
            self.open(client, now);
        }
        self.acknowledge_durable(client, now);
        while let Some((job, result)) = self.noting.next_refused() {
            self.broker.limit.unused();
            self.broker.settle(&job, &result);
        }
        if self.is_over(now) {
            client.disconnect(now, MqttReason::SUCCESS);
        } else if writable && self.phase == BrokerPhase::Open && self.drain_by.is_none() {
            self.send(client, now);
        }
    }

    fn wrote(&mut self, now: Instant) {
        self.tell_written(now);
    }

    fn deadline(&self) -> Option<Instant> {
        let now = self.now();
        let removal = match self.phase {
            // What is due and cannot be written yet is written when something is acknowledged.
            BrokerPhase::Open => {
                self.broker.notes.due_at(now).map(|at| self.instant_of(at.max(now.plus_s(1))))
            }
            _ => None,
        };
        [self.next_grant, removal, self.drain_by].into_iter().flatten().min()
    }

    async fn woken(&mut self) {
        tokio::select! {
            () = self.listener.notified() => {}
            () = self.noting.progress() => {}
            () = self.broker.notes.steered() => {}
            () = self.stop.wait(), if self.drain_by.is_none() => {}
        }
    }

    fn wants_input(&self) -> bool {
        self.answers.len() < ANSWERS_MAX
    }
}
