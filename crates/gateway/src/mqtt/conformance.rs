//! Far end of MQTT routes for the conformance checks: the simulated broker with a device on every topic.

use super::MqttRoute;
use crate::AnyRoute;
use crate::conformance::{FarEnd, Manner, Message};
use crate::registry::ANY_PORT;
use mqtt::MqttReason;
use sim::broker::{Broker, BrokerOptions, TakenMessage};

/// Messages that are kept to be looked at: more than any check sends.
const KEPT: usize = 10_000;

/// A broker with devices.
pub(super) struct Devices(Broker);

impl Devices {
    pub(super) async fn start() -> Devices {
        Devices(Broker::start(options()).await.unwrap())
    }
}

fn options() -> BrokerOptions {
    BrokerOptions {
        listen: ANY_PORT.to_owned(),
        devices: Some("city/#".to_owned()),
        keep: KEPT,
        ..BrokerOptions::default()
    }
}

impl FarEnd for Devices {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(MqttRoute {
            name: name.to_owned(),
            address: self.0.address().to_string(),
            topic: "city/{address}".to_owned(),
            response_topic: Some("answers".to_owned()),
            rate,
            ..MqttRoute::default()
        })
    }

    fn address(&self, person: u32) -> String {
        format!("site/{person}")
    }

    /// A broker that is silent leaves nothing unknown: its messages are sent again.
    fn set_manner(&self, manner: Manner) -> bool {
        let (refused, reason) = match manner {
            Manner::Accept => (0.0, MqttReason::QUOTA_EXCEEDED),
            Manner::Silent => return false,
            Manner::RefuseForGood => (1.0, MqttReason::NOT_AUTHORIZED),
            Manner::RefuseForNow => (1.0, MqttReason::QUOTA_EXCEEDED),
        };
        self.0.change(BrokerOptions { refused, refused_with: reason.0, ..options() }).unwrap();
        true
    }

    fn cut(&self) -> bool {
        self.0.disconnect();
        true
    }

    fn arrived(&self) -> Vec<Message> {
        self.0.messages(KEPT).iter().map(message).collect()
    }
}

/// A device drops a message whose id it knows.
fn message(taken: &TakenMessage) -> Message {
    let payload: serde_json::Value = serde_json::from_slice(&taken.packet.payload).unwrap();
    Message {
        address: taken.packet.topic.trim_start_matches("city/").to_owned(),
        text: payload["text"].as_str().unwrap().to_owned(),
        identity: taken.id(),
    }
}
