//! Options of a client, its messages, and the server's limits.

use crate::packet::Qos;
use crate::property::Properties;
use crate::wire::VARIABLE_BYTE_INTEGER_MAX;
use std::fmt;
use std::time::Duration;

/// Options of a connection. Their `Debug` form leaves the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct MqttClientOptions {
    /// Client Identifier; empty: the server gives one.
    pub client_id: String,
    /// User Name.
    pub username: Option<String>,
    /// Password: any octets.
    pub password: Option<Vec<u8>>,
    /// Keep Alive, seconds; 0: none. The server's Server Keep Alive goes before it.
    pub keep_alive_s: u16,
    /// Messages of QoS 1 that the server may have unacknowledged at us, at least 1.
    pub receive_maximum: u16,
    /// Octets of a packet that we take, at least 1.
    pub packet_octets_max: u32,
    /// Longest time for CONNACK, PUBACK, SUBACK and PINGRESP.
    pub answer_within: Duration,
}

impl Default for MqttClientOptions {
    /// Keep Alive 60 s, 100 messages unacknowledged, packets of 256 KiB, answers within 30 s.
    fn default() -> Self {
        MqttClientOptions {
            client_id: String::new(),
            username: None,
            password: None,
            keep_alive_s: 60,
            receive_maximum: 100,
            packet_octets_max: 256 * 1024,
            answer_within: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for MqttClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MqttClientOptions")
            .field("client_id", &self.client_id)
            .field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("keep_alive_s", &self.keep_alive_s)
            .field("receive_maximum", &self.receive_maximum)
            .field("packet_octets_max", &self.packet_octets_max)
            .field("answer_within", &self.answer_within)
            .finish()
    }
}

/// A message to be published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MqttMessage {
    /// The caller's own name for it, repeated in events; any number.
    pub token: u64,
    /// QoS 0 or 1.
    pub qos: Qos,
    /// The server is to keep it for subscribers to come. An empty one removes what was kept.
    pub retain: bool,
    /// Topic Name.
    pub topic: String,
    /// Properties of the message.
    pub properties: Properties,
    /// The message.
    pub payload: Vec<u8>,
}

/// Limits of the server, from its CONNACK (section 3.2.2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimits {
    /// Receive Maximum: messages of QoS 1 that may be unacknowledged.
    pub receive_maximum: u16,
    /// Maximum Packet Size, octets.
    pub packet_octets_max: u32,
    /// It takes messages of QoS 1.
    pub takes_qos_1: bool,
    /// It retains messages.
    pub retains: bool,
    /// It has Shared Subscriptions.
    pub shares_subscriptions: bool,
    /// Keep Alive in force, seconds; 0: none.
    pub keep_alive_s: u16,
    /// The Client Identifier that it gave.
    pub assigned_client_id: Option<String>,
}

impl Default for ServerLimits {
    /// Those of a server that names none.
    fn default() -> Self {
        ServerLimits {
            receive_maximum: u16::MAX,
            packet_octets_max: VARIABLE_BYTE_INTEGER_MAX,
            takes_qos_1: true,
            retains: true,
            shares_subscriptions: true,
            keep_alive_s: 0,
            assigned_client_id: None,
        }
    }
}
