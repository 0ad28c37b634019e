//! Packets of the server.

use super::{ClientState, MqttClient, MqttClientEvent, ServerLimits};
use crate::MqttReason;
use crate::closing::MqttClosed;
use crate::error::PacketError;
use crate::packet::{AckPacket, ConnAckPacket, MqttPacket, PublishPacket, Qos, ReasonPacket, SubAckPacket};
use crate::property::Properties;
use crate::wire::VARIABLE_BYTE_INTEGER_MAX;
use std::time::Duration;

impl MqttClient {
    pub(super) fn receive(&mut self, packet: MqttPacket) -> Result<(), PacketError> {
        match (self.state, packet) {
            (ClientState::Connecting, MqttPacket::ConnAck(packet)) => self.connected(packet),
            (ClientState::Connecting, _) => {
                Err(PacketError::protocol("the first packet of the server is not CONNACK"))
            }
            (_, MqttPacket::Publish(packet)) => self.message(packet),
            (_, MqttPacket::PubAck(packet)) => self.acknowledged(&packet),
            (_, MqttPacket::SubAck(packet)) => self.subscribed(packet),
            (_, MqttPacket::PingResp) => {
                self.timers.ping_by = None;
                Ok(())
            }
            (_, MqttPacket::Disconnect(ReasonPacket { reason, properties })) => {
                self.close(MqttClosed::peer("the server ended the connection", reason, &properties));
                Ok(())
            }
            (_, MqttPacket::ConnAck(_)) => Err(PacketError::protocol("CONNACK came twice")),
            (_, MqttPacket::UnsubAck(_)) => Err(PacketError::protocol("UNSUBACK answers no request of ours")),
            (_, MqttPacket::Auth(_)) => {
                Err(PacketError::protocol("AUTH came, and CONNECT had no Authentication Method"))
            }
            _ => Err(PacketError::protocol("the server sent a packet of clients")),
        }
    }

    fn connected(&mut self, packet: ConnAckPacket) -> Result<(), PacketError> {
        let ConnAckPacket { session_present, reason, properties } = packet;
        if reason != MqttReason::SUCCESS {
            self.close(MqttClosed::peer("the server refused the connection", reason, &properties));
            return Ok(());
        }
        // MQTT-3.2.2-2.
        if session_present {
            return Err(PacketError::protocol("the server speaks of a session, and Clean Start was 1"));
        }
        if properties.authentication_method().is_some() {
            return Err(PacketError::protocol("CONNACK has an Authentication Method, and CONNECT had none"));
        }
        self.limits = limits(&properties, self.options.keep_alive_s);
        self.window.set_limit(self.limits.receive_maximum);
        let keep_alive = self.limits.keep_alive_s;
        self.timers.keep_alive = (keep_alive > 0).then(|| Duration::from_secs(u64::from(keep_alive)));
        self.state = ClientState::Connected;
        self.events.push_back(MqttClientEvent::Connected(self.limits.clone()));
        Ok(())
    }

    fn message(&mut self, packet: PublishPacket) -> Result<(), PacketError> {
        let refused = |reason, why| Err(PacketError { reason, why });
        if packet.properties.topic_alias().is_some() {
            return refused(MqttReason::TOPIC_ALIAS_INVALID, "a Topic Alias came, and we allow none");
        }
        match packet.qos {
            Qos::ExactlyOnce => {
                return refused(
                    MqttReason::QOS_NOT_SUPPORTED,
                    "a message of QoS 2 came, and QoS 1 was asked for",
                );
            }
            Qos::AtLeastOnce => {
                let is_new = self.unacknowledged.insert(packet.packet_id);
                if !is_new && !packet.dup {
                    return Err(PacketError::protocol("a Packet Identifier is used for two messages"));
                }
                if self.unacknowledged.len() > usize::from(self.options.receive_maximum.max(1)) {
                    return refused(
                        MqttReason::RECEIVE_MAXIMUM_EXCEEDED,
                        "more messages than our Receive Maximum are not acknowledged",
                    );
                }
            }
            Qos::AtMostOnce => {}
        }
        self.events.push_back(MqttClientEvent::Message(packet));
        Ok(())
    }

    fn acknowledged(&mut self, packet: &AckPacket) -> Result<(), PacketError> {
        let token = self
            .window
            .end(packet.packet_id)
            .ok_or(PacketError::protocol("PUBACK is of a message that is not under way"))?;
        let words = words(&packet.properties);
        self.events.push_back(MqttClientEvent::Acknowledged { token, reason: packet.reason, words });
        Ok(())
    }

    fn subscribed(&mut self, packet: SubAckPacket) -> Result<(), PacketError> {
        if !self.window.end_request(packet.packet_id) {
            return Err(PacketError::protocol("SUBACK answers no request of ours"));
        }
        let words = words(&packet.properties);
        let SubAckPacket { packet_id, reasons, .. } = packet;
        self.events.push_back(MqttClientEvent::Subscribed { packet_id, reasons, words });
        Ok(())
    }

    /// The server broke the protocol: it is told, where there is a connection (section 4.13).
    pub(super) fn fail(&mut self, error: PacketError) {
        if self.state == ClientState::Connected {
            self.write(&MqttPacket::Disconnect(ReasonPacket::new(error.reason)));
        }
        self.close(MqttClosed::misbehaviour("the server", error));
    }
}

fn words(properties: &Properties) -> Option<String> {
    properties.reason_string().map(str::to_owned)
}

fn limits(properties: &Properties, keep_alive_s: u16) -> ServerLimits {
    let is_on = |flag: Option<u8>| flag != Some(0);
    ServerLimits {
        receive_maximum: properties.receive_maximum().unwrap_or(u16::MAX),
        packet_octets_max: properties.maximum_packet_size().unwrap_or(VARIABLE_BYTE_INTEGER_MAX),
        takes_qos_1: is_on(properties.maximum_qos()),
        retains: is_on(properties.retain_available()),
        shares_subscriptions: is_on(properties.shared_subscription_available()),
        keep_alive_s: properties.server_keep_alive().unwrap_or(keep_alive_s),
        assigned_client_id: properties.assigned_client_identifier().map(str::to_owned),
    }
}
