//! Keys of a route of channel `mqtt`, and its settings made of them.

use super::MqttRoute;
use crate::mail::TlsMode;
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use crate::tls_words::TlsWords;
use records::Mode;
use settings::{Secret, section};
use std::path::PathBuf;
use std::time::Duration;

section! {
    /// An MQTT 5 broker: sirens, signs, devices. An alert to `mqtt:site/7` is published as JSON with QoS 1 to
    /// the topic that `topic` makes of the address. [MQTT](mqtt.md) describes it.
    MqttKeys {
        /// Topic of a message; `{address}` in it, once, stands for the endpoint's address.
        #[manual(example = "alerts/{address}")]
        topic: String = MqttRoute::default().topic,
        /// The broker retains each message: a device that connects later gets it, until the alert's end. An
        /// empty message removes it then, or as soon as the alert is cancelled.
        #[manual(example = true)]
        retain: bool = MqttRoute::default().retain,
        /// Topic to which devices confirm and answer; `""`: they cannot, and no delivery waits for it.
        #[manual(default = "campanile/ROUTE/answers", example = "answers/campanile")]
        response_topic: Option<String> = None,
        /// `"none"`, or `"tls"` from the first octet. MQTT has no STARTTLS.
        #[manual(example = "tls")]
        tls: TlsMode as TlsWords = MqttRoute::default().tls,
        /// With `tls`: certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "tls/broker.pem")]
        ca_file: Option<PathBuf> = MqttRoute::default().ca_file,
        /// With `tls`: name in the broker's certificate.
        #[manual(default = "the host of `address`", example = "broker.example")]
        server_name: Option<String> = MqttRoute::default().server_name,
        /// User name at the broker.
        #[manual(example = "campanile")]
        username: Option<String> = MqttRoute::default().username,
        /// Password of `username`.
        #[manual(example = "secret")]
        password: Option<Secret> = MqttRoute::default().password,
        /// Client identifier at the broker, which ends another connection with the same one. Where several
        /// processes have the route, each adds a word of its own.
        #[manual(default = "campanile-ROUTE- and eight digits that change with each start", example = "campanile-1")]
        client_id: Option<String> = MqttRoute::default().client_id,
        /// Longest time without a packet to the broker, 5s to 18h; the broker may set another.
        keep_alive: Duration = MqttRoute::default().keep_alive,
        /// Messages without an acknowledgement, 1 to 1,000; the broker's Receive Maximum may be less.
        window: usize = MqttRoute::default().window,
    }
}

impl MqttKeys {
    /// Topic of answers of a route of this name; nothing if there are none.
    fn answers_at(&self, route: &str) -> Option<String> {
        match &self.response_topic {
            None => Some(format!("campanile/{route}/answers")),
            Some(topic) if topic.is_empty() => None,
            Some(topic) => Some(topic.clone()),
        }
    }

    /// Whether devices can confirm.
    pub(super) fn has_answers(&self) -> bool {
        self.response_topic.as_ref().is_none_or(|topic| !topic.is_empty())
    }

    /// Settings of a route with these keys.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> MqttRoute {
        MqttRoute {
            name: common.name.clone(),
            address: common.peer(),
            tls: self.tls,
            ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
            server_name: self.server_name.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            client_id: self.client_id.clone(),
            topic: self.topic.clone(),
            retain: self.retain,
            response_topic: self.answers_at(&common.name),
            keep_alive: self.keep_alive,
            window: self.window,
            rate: common.rate,
            drill: common.mode == Some(Mode::Drill),
        }
    }
}
