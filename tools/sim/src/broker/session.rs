//! One client of the broker.

use super::{BrokerState, router};
use mqtt::packet::{ConnectPacket, PublishPacket, SubscribePacket, UnsubscribePacket};
use mqtt::server::{MqttServer, MqttServerEvent, MqttServerOptions};
use mqtt::{ClosedBy, MqttReason};
use net::{Link, Stream, Worker};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};

/// Messages that wait for a slow client at most; then the oldest are let go of.
const QUEUE_MAX: usize = 100_000;

/// Messages for a client.
#[derive(Default)]
pub(super) struct ClientQueue {
    messages: Mutex<VecDeque<PublishPacket>>,
    news: Notify,
    /// Another client has its name.
    taken_over: AtomicBool,
}

impl ClientQueue {
    pub(super) fn push(&self, packet: PublishPacket) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() >= QUEUE_MAX {
            messages.pop_front();
        }
        messages.push_back(packet);
        self.news.notify_one();
    }

    fn take(&self) -> Option<PublishPacket> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn put_back(&self, packet: PublishPacket) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push_front(packet);
    }

    fn take_over(&self) {
        self.taken_over.store(true, Ordering::Relaxed);
        self.news.notify_one();
    }
}

/// An acknowledgement that waits for its moment.
struct DueAck {
    at: Instant,
    packet_id: u16,
    reason: MqttReason,
}

struct ClientWorker {
    shared: Arc<BrokerState>,
    queue: Arc<ClientQueue>,
    number: u64,
    client_id: Option<String>,
    asked: Option<Box<ConnectPacket>>,
    subscribes: VecDeque<SubscribePacket>,
    unsubscribes: VecDeque<UnsubscribePacket>,
    acks: VecDeque<DueAck>,
    messages: u64,
}

/// From the first octet to the end of the connection, or until the broker cuts it.
pub(super) async fn serve(
    shared: Arc<BrokerState>,
    number: u64,
    stream: TcpStream,
    mut stop: watch::Receiver<u64>,
) {
    shared.ledger.count(|stats| {
        stats.connections += 1;
        stats.sessions += 1;
    });
    let scene = shared.scene();
    let options = MqttServerOptions {
        receive_maximum: scene.receive_maximum,
        packet_octets_max: scene.packet_octets_max,
        ..MqttServerOptions::default()
    };
    let mut worker = ClientWorker {
        queue: Arc::default(),
        client_id: None,
        asked: None,
        subscribes: VecDeque::new(),
        unsubscribes: VecDeque::new(),
        acks: VecDeque::new(),
        messages: 0,
        number,
        shared,
    };
    if let Ok(stream) = Stream::plain(stream) {
        let mut link = Link::new(stream);
        let mut machine = MqttServer::new(options, Instant::now());
        tokio::select! {
            biased;
            _ = stop.changed() => {}
            end = net::drive(&mut link, &mut machine, &mut worker) => tracing::debug!(?end, "a client is gone"),
        }
    }
    worker.leave();
}

impl ClientWorker {
    fn leave(self) {
        if let Some(client_id) = &self.client_id {
            self.shared.router().leave(client_id, &self.queue);
        }
        self.shared.ledger.count(|stats| stats.sessions -= 1);
    }

    fn greet(&mut self, machine: &mut MqttServer, connect: &ConnectPacket, now: Instant) {
        let login = &self.shared.scene().login;
        let is_known = login.as_ref().is_none_or(|login| {
            connect.username.as_ref() == Some(&login.username)
                && connect.password.as_deref() == Some(login.password.as_bytes())
        });
        if !is_known {
            return machine.refuse(MqttReason::BAD_USER_NAME_OR_PASSWORD, None);
        }
        let assigned = connect.client_id.is_empty().then(|| format!("client-{}", self.number));
        let client_id = assigned.clone().unwrap_or_else(|| connect.client_id.clone());
        if let Some(before) = self.shared.router().enter(&client_id, Arc::clone(&self.queue)) {
            before.take_over();
        }
        self.client_id = Some(client_id);
        machine.accept(now, assigned);
    }

    fn message(&mut self, packet: PublishPacket, now: Instant) {
        self.messages += 1;
        let client_id = self.client_id.as_deref().unwrap_or_default();
        let reason = router::route(&self.shared, client_id, &packet);
        let scene = self.shared.scene();
        let mut chance = crate::chance::Chance::new(scene.seed, self.number << 40 | self.messages);
        let at = now + scene.latency.at(chance.unit());
        self.acks.push_back(DueAck { at, packet_id: packet.packet_id, reason });
    }

    fn answer_requests(&mut self, machine: &mut MqttServer) {
        let client_id = self.client_id.as_deref().unwrap_or_default();
        let now_us = self.shared.clock.now_us();
        while let Some(packet) = self.subscribes.pop_front() {
            let mut router = self.shared.router();
            let wanted = packet.subscriptions.into_iter();
            let reasons = wanted.map(|wanted| router.subscribe(client_id, wanted, now_us)).collect();
            machine.grant(packet.packet_id, reasons);
        }
        while let Some(packet) = self.unsubscribes.pop_front() {
            let mut router = self.shared.router();
            let reasons = packet.filters.iter().map(|filter| router.unsubscribe(client_id, filter)).collect();
            machine.grant_end(packet.packet_id, reasons);
        }
    }

    /// Acknowledges in the order in which messages came (MQTT-4.6.0-2).
    fn acknowledge(&mut self, machine: &mut MqttServer, now: Instant) {
        while let Some(ack) = self.acks.front().filter(|ack| ack.at <= now) {
            machine.acknowledge(now, ack.packet_id, ack.reason, None);
            self.acks.pop_front();
        }
    }

    fn deliver(&mut self, machine: &mut MqttServer, now: Instant) {
        while machine.room() > 0
            && let Some(packet) = self.queue.take()
        {
            match machine.publish(now, 0, packet.clone()) {
                Ok(true) => {}
                Ok(false) => return self.queue.put_back(packet),
                Err(error) => tracing::debug!(%error, "a message is not for this client"),
            }
        }
    }
}

impl Worker<MqttServer> for ClientWorker {
    fn handle(&mut self, event: MqttServerEvent, now: Instant) {
        match event {
            MqttServerEvent::Connect(packet) => self.asked = Some(packet),
            MqttServerEvent::Publish(packet) => self.message(packet, now),
            MqttServerEvent::Subscribe(packet) => self.subscribes.push_back(packet),
            MqttServerEvent::Unsubscribe(packet) => self.unsubscribes.push_back(packet),
            MqttServerEvent::Acknowledged { .. } => {}
            MqttServerEvent::Closed(end) if end.by == ClosedBy::Misbehaviour => {
                tracing::warn!(client = self.client_id, end.text, "a client is left");
            }
            MqttServerEvent::Closed(_) => {}
        }
    }

    fn fill(&mut self, machine: &mut MqttServer, now: Instant, writable: bool) {
        if let Some(connect) = self.asked.take() {
            self.greet(machine, &connect, now);
        }
        if self.queue.taken_over.load(Ordering::Relaxed) {
            return machine.disconnect(MqttReason::SESSION_TAKEN_OVER, None);
        }
        self.answer_requests(machine);
        self.acknowledge(machine, now);
        if writable {
            self.deliver(machine, now);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.acks.front().map(|ack| ack.at)
    }

    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        self.queue.news.notified()
    }

    fn wants_input(&self) -> bool {
        self.acks.len() < usize::from(u16::MAX)
    }
}
