//! Topics of the broker: subscriptions of clients, retained messages, and the way of a message to those who
//! listen.

use super::BrokerState;
use super::session::ClientQueue;
use mqtt::packet::{PublishPacket, Qos, TopicSubscription};
use mqtt::{MqttReason, Properties, Property, shared_subscription, topic_matches};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Clients, and messages that are kept for those to come.
#[derive(Default)]
pub(super) struct Router {
    clients: BTreeMap<String, RoutedClient>,
    retained: BTreeMap<String, RetainedMessage>,
    /// Turns of BrokerState Subscriptions.
    turn: usize,
}

struct RoutedClient {
    queue: Arc<ClientQueue>,
    subscriptions: Vec<TopicSubscription>,
}

struct RetainedMessage {
    packet: PublishPacket,
    /// It is of no use after this, microseconds since 1970.
    until_us: Option<u64>,
}

/// A client's queue, with the QoS of its subscription.
type Listener<'a> = (&'a Arc<ClientQueue>, Qos);

impl Router {
    /// A client is there; the one that had its name before has to go.
    pub(super) fn enter(&mut self, client_id: &str, queue: Arc<ClientQueue>) -> Option<Arc<ClientQueue>> {
        let client = RoutedClient { queue, subscriptions: Vec::new() };
        self.clients.insert(client_id.to_owned(), client).map(|before| before.queue)
    }

    /// A client is gone, unless another has its name by now.
    pub(super) fn leave(&mut self, client_id: &str, queue: &Arc<ClientQueue>) {
        if self.clients.get(client_id).is_some_and(|client| Arc::ptr_eq(&client.queue, queue)) {
            self.clients.remove(client_id);
        }
    }

    /// Subscribes, and sends what is retained; gives what is granted.
    pub(super) fn subscribe(
        &mut self,
        client_id: &str,
        wanted: TopicSubscription,
        now_us: u64,
    ) -> MqttReason {
        self.drop_expired(now_us);
        let Some(client) = self.clients.get_mut(client_id) else { return MqttReason::UNSPECIFIED_ERROR };
        let before = client.subscriptions.iter().position(|known| known.filter == wanted.filter);
        let is_new = before.is_none();
        before.map(|at| client.subscriptions.remove(at));
        let granted = wanted.qos.min(Qos::AtLeastOnce);
        let (group, filter) = shared_subscription(&wanted.filter);
        let sends = group.is_none() && (wanted.retain_handling == 0 || wanted.retain_handling == 1 && is_new);
        let matching = self.retained.values().filter(|kept| topic_matches(filter, &kept.packet.topic));
        for kept in matching.filter(|_| sends) {
            let packet = PublishPacket { retain: true, ..copy(&kept.packet, granted) };
            client.queue.push(with_rest(packet, kept.until_us, now_us));
        }
        client.subscriptions.push(TopicSubscription { qos: granted, ..wanted });
        MqttReason(granted as u8)
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&mut self, client_id: &str, filter: &str) -> MqttReason {
        let Some(client) = self.clients.get_mut(client_id) else { return MqttReason::UNSPECIFIED_ERROR };
        let before = client.subscriptions.len();
        client.subscriptions.retain(|known| known.filter != filter);
        match client.subscriptions.len() < before {
            true => MqttReason::SUCCESS,
            false => MqttReason::NO_SUBSCRIPTION_EXISTED,
        }
    }

    /// Sends a message to all who listen, and keeps it if it is to be retained; true if anybody listens.
    pub(super) fn publish(&mut self, from: &str, packet: &PublishPacket, now_us: u64) -> bool {
        let seconds = packet.properties.message_expiry_interval();
        let until_us = seconds.map(|seconds| now_us + u64::from(seconds) * 1_000_000);
        if packet.retain {
            match packet.payload.is_empty() {
                true => self.retained.remove(&packet.topic),
                false => self
                    .retained
                    .insert(packet.topic.clone(), RetainedMessage { packet: packet.clone(), until_us }),
            };
        }
        let mut groups: BTreeMap<(&str, &str), Vec<Listener<'_>>> = BTreeMap::new();
        let mut is_heard = false;
        for (client_id, client) in &self.clients {
            let mut own: Option<(Qos, bool)> = None;
            for subscription in &client.subscriptions {
                let (group, filter) = shared_subscription(&subscription.filter);
                if !topic_matches(filter, &packet.topic) || subscription.no_local && client_id == from {
                    continue;
                }
                let qos = subscription.qos.min(packet.qos);
                match group {
                    Some(group) => groups.entry((group, filter)).or_default().push((&client.queue, qos)),
                    None => {
                        let as_published = subscription.retain_as_published;
                        own = Some(own.map_or((qos, as_published), |(before, kept)| {
                            (before.max(qos), kept || as_published)
                        }));
                    }
                }
            }
            if let Some((qos, as_published)) = own {
                is_heard = true;
                let retain = as_published && packet.retain;
                client.queue.push(PublishPacket { retain, ..copy(packet, qos) });
            }
        }
        for members in groups.into_values() {
            is_heard = true;
            self.turn = self.turn.wrapping_add(1);
            let (queue, qos) = members[self.turn % members.len()];
            queue.push(PublishPacket { retain: false, ..copy(packet, qos) });
        }
        is_heard
    }

    /// The retained message of a topic.
    pub(super) fn retained(&mut self, topic: &str, now_us: u64) -> Option<PublishPacket> {
        self.drop_expired(now_us);
        self.retained.get(topic).map(|kept| kept.packet.clone())
    }

    /// Topics that have a retained message.
    pub(super) fn retained_count(&mut self, now_us: u64) -> u64 {
        self.drop_expired(now_us);
        self.retained.len() as u64
    }

    fn drop_expired(&mut self, now_us: u64) {
        self.retained.retain(|_, kept| kept.until_us.is_none_or(|until| until > now_us));
    }
}

fn copy(packet: &PublishPacket, qos: Qos) -> PublishPacket {
    PublishPacket { dup: false, qos, packet_id: 0, ..packet.clone() }
}

/// A message that has waited has so much less time left (MQTT-3.3.2-6).
fn with_rest(mut packet: PublishPacket, until_us: Option<u64>, now_us: u64) -> PublishPacket {
    let Some(until_us) = until_us else { return packet };
    let rest_s = (until_us.saturating_sub(now_us) / 1_000_000) as u32;
    packet.properties.retain(|property| !matches!(property, Property::MessageExpiryInterval(_)));
    let properties: Properties =
        packet.properties.iter().cloned().chain([Property::MessageExpiryInterval(rest_s)]).collect();
    PublishPacket { properties, ..packet }
}

/// The way of a message of a client or of a simulated device: counted, routed, and handed to the simulated
/// device of its topic. Gives the reason that the client is told.
pub(super) fn route(shared: &Arc<BrokerState>, from: &str, packet: &PublishPacket) -> MqttReason {
    let scene = shared.scene();
    let now_us = shared.clock.now_us();
    if let Some(reason) = super::device::refusal(&scene, packet) {
        shared.ledger.refused(reason.0);
        return reason;
    }
    shared.ledger.took(packet, now_us, (scene.keep, scene.count));
    let is_heard = shared.router().publish(from, packet, now_us);
    match super::device::listen(shared, &scene, packet) || is_heard {
        true => MqttReason::SUCCESS,
        false => {
            shared.ledger.count(|stats| stats.unheard += 1);
            MqttReason::NO_MATCHING_SUBSCRIBERS
        }
    }
}
