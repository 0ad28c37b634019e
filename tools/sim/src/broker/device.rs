//! Simulated devices: one on every topic that the scenario's filter matches. It confirms its messages and
//! answers them, as a phone of the town's people would.

use super::{BrokerOptions, BrokerState};
use crate::chance::{Chance, hash};
use crate::town::{Conduct, Habits};
use mqtt::packet::{PublishPacket, Qos};
use mqtt::{MqttReason, Properties, Property, topic_matches};
use std::sync::Arc;
use std::time::Duration;

/// Name of the devices where a message's sender is asked for.
const DEVICES: &str = "$devices";

/// A message of a device on its way.
pub(super) struct DeviceAnswer {
    topic: String,
    correlation: Option<Vec<u8>>,
    payload: String,
}

/// The reason for which a message is refused, if it is.
pub(super) fn refusal(scene: &BrokerOptions, packet: &PublishPacket) -> Option<MqttReason> {
    let draw = hash(hash(scene.seed, packet.topic.as_bytes()), &packet.payload);
    let is_hit = scene.refused > 0.0 && Chance::new(scene.seed, draw).hits(scene.refused);
    let by_device = || match conduct(scene.people.as_ref()?, packet) {
        Conduct::Refuses(_) => Some(MqttReason::NOT_AUTHORIZED),
        _ => None,
    };
    is_hit.then_some(MqttReason(scene.refused_with)).or_else(by_device)
}

/// Whether a device listens on the message's topic; it does as it does.
pub(super) fn listen(shared: &Arc<BrokerState>, scene: &BrokerOptions, packet: &PublishPacket) -> bool {
    let listens = scene.devices.as_deref().is_some_and(|filter| topic_matches(filter, &packet.topic));
    let Some(topic) = packet.properties.response_topic().filter(|_| listens) else { return listens };
    let correlation = packet.properties.correlation_data().map(<[u8]>::to_vec);
    let answer =
        |payload: String| DeviceAnswer { topic: topic.to_owned(), correlation: correlation.clone(), payload };
    let confirmed = || (Duration::ZERO, answer("{\"state\":\"delivered\"}".to_owned()));
    let said: Vec<(Duration, DeviceAnswer)> =
        match scene.people.as_ref().map(|people| conduct(people, packet)) {
            Some(Conduct::Refuses(_) | Conduct::Unheard) => Vec::new(),
            Some(Conduct::Lost) => {
                vec![(Duration::ZERO, answer("{\"state\":\"failed\",\"text\":\"no power\"}".to_owned()))]
            }
            Some(Conduct::Answers { text, after }) => {
                vec![confirmed(), (after, answer(serde_json::json!({ "answer": text }).to_string()))]
            }
            Some(Conduct::Silent | Conduct::Stops { .. } | Conduct::Away) | None => vec![confirmed()],
        };
    let now_us = shared.clock.now_us();
    shared.agenda.put(said.into_iter().map(|(after, answer)| (now_us + after.as_micros() as u64, answer)));
    true
}

fn conduct(people: &Habits, packet: &PublishPacket) -> Conduct {
    people.phone(&packet.topic)
}

/// Sends what devices have to say, as it becomes due, for as long as the broker runs.
pub(super) async fn run(shared: Arc<BrokerState>) {
    loop {
        for DeviceAnswer { topic, correlation, payload } in shared.agenda.ripe().await {
            let properties: Properties = correlation.map(Property::CorrelationData).into_iter().collect();
            let packet = PublishPacket {
                qos: Qos::AtLeastOnce,
                topic,
                properties,
                payload: payload.into_bytes(),
                ..PublishPacket::default()
            };
            shared.ledger.count(|stats| stats.answers += 1);
            shared.router().publish(DEVICES, &packet, shared.clock.now_us());
            tokio::task::yield_now().await;
        }
    }
}
