//! MQTT 5 (OASIS standard, 7 March 2019) without IO: the packet codec, the client machine, a server machine.
//!
//! The crate never opens a socket, never reads a clock and never sleeps. Octets and an instant go in; octets,
//! events and a deadline come out. Sections in the documentation are those of the standard.
//!
//! - [`packet`]: Control Packets, read with the standard's checks and written.
//! - [`client`]: one [`MqttClient`](client::MqttClient) per connection.
//! - [`server`]: one [`MqttServer`](server::MqttServer) per connection, for a broker that keeps topics,
//!   subscriptions and retained messages itself.
//! - [`Property`] and [`Properties`]: the standard's table of properties. [`MqttReason`]: its Reason Codes.
//! - [`check_topic_name`], [`check_topic_filter`], [`topic_matches`]: topics.
//!
//! QoS 0 and 1 are written; QoS 2 is refused by name in both roles.
//!
//! # The five verbs
//!
//! ```
//! use mqtt::client::{MqttClient, MqttClientEvent, MqttClientOptions, MqttMessage};
//! use mqtt::packet::Qos;
//! use mqtt::server::{MqttServer, MqttServerEvent, MqttServerOptions};
//! use mqtt::MqttReason;
//! use std::time::Instant;
//!
//! let now = Instant::now();
//! let mut client = MqttClient::new(MqttClientOptions::default(), now)?;
//! let mut server = MqttServer::new(MqttServerOptions::default(), now);
//! let mut wire = Vec::new();
//! let reason = loop {
//!     wire.clear();
//!     client.poll_transmit(&mut wire);
//!     server.handle_input(now, &wire);
//!     match server.poll_event() {
//!         Some(MqttServerEvent::Connect(_)) => server.accept(now, Some("c1".to_owned())),
//!         Some(MqttServerEvent::Publish(packet)) => {
//!             assert_eq!((packet.topic.as_str(), &*packet.payload), ("sirens/7", &b"on"[..]));
//!             server.acknowledge(now, packet.packet_id, MqttReason::NO_MATCHING_SUBSCRIBERS, None);
//!         }
//!         _ => {}
//!     }
//!     wire.clear();
//!     server.poll_transmit(&mut wire);
//!     client.handle_input(now, &wire);
//!     match client.poll_event() {
//!         Some(MqttClientEvent::Connected(_)) => client.publish(now, MqttMessage {
//!             token: 7,
//!             qos: Qos::AtLeastOnce,
//!             topic: "sirens/7".to_owned(),
//!             payload: b"on".to_vec(),
//!             ..MqttMessage::default()
//!         })?,
//!         Some(MqttClientEvent::Acknowledged { token: 7, reason, .. }) => break reason,
//!         _ => {}
//!     }
//! };
//! assert_eq!(reason.to_string(), "No matching subscribers (0x10)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Blame
//!
//! A [`PacketError`] is the peer's fault and ends the connection with its Reason Code; a
//! [`PacketEncodeError`] and a [`PublishRefusal`](client::PublishRefusal) are the caller's, and nothing was
//! written; [`MqttClosed`] says which side ended a connection.
//!
//! # What is bounded
//!
//! Octets of a packet both ways (Maximum Packet Size), messages without an acknowledgement both ways (Receive
//! Maximum), requests without an answer, octets that wait to be written, the time of every answer.

pub mod client;
mod closing;
mod error;
pub mod packet;
mod property;
mod reason;
pub mod server;
#[cfg(test)]
mod tests;
mod topic;
mod window;
mod wire;

pub use closing::{ClosedBy, MqttClosed};
pub use error::{PacketEncodeError, PacketError};
pub use property::{Properties, Property};
pub use reason::MqttReason;
pub use topic::{TOPIC_OCTETS_MAX, check_topic_filter, check_topic_name, shared_subscription, topic_matches};
pub use wire::{VARIABLE_BYTE_INTEGER_MAX, VariableByteInteger};
