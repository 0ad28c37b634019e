//! The server's side of one connection, for a broker that keeps topics, subscriptions and retained messages
//! itself: it checks packets and times, answers pings, and holds the client's limits.

#[cfg(test)]
mod tests;

use crate::closing::MqttClosed;
use crate::error::PacketError;
use crate::packet::{
    AckPacket, ConnAckPacket, ConnectPacket, MqttPacket, PacketBuffer, PublishPacket, Qos, ReasonPacket,
    SubAckPacket, SubscribePacket, UnsubscribePacket,
};
use crate::property::{Properties, Property};
use crate::window::SendWindow;
use crate::wire::VARIABLE_BYTE_INTEGER_MAX;
use crate::{MqttReason, PacketEncodeError};
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

/// While more octets wait to be written, nothing more is read.
const OUTPUT_OCTETS_MAX: usize = 1 << 20;

/// Options of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MqttServerOptions {
    /// Receive Maximum: messages of QoS 1 that a client may have unacknowledged at us, at least 1.
    pub receive_maximum: u16,
    /// Maximum Packet Size: octets of a packet that we take, at least 1.
    pub packet_octets_max: u32,
    /// Server Keep Alive in place of every client's, seconds.
    pub server_keep_alive_s: Option<u16>,
    /// Messages may be retained.
    pub retains: bool,
    /// Messages of QoS 1 are taken.
    pub takes_qos_1: bool,
    /// Longest time for CONNECT, and for PUBACK of a message.
    pub answer_within: Duration,
}

impl Default for MqttServerOptions {
    /// 1,000 messages unacknowledged, packets of 256 KiB, answers within 30 s, everything allowed but QoS 2.
    fn default() -> Self {
        MqttServerOptions {
            receive_maximum: 1_000,
            packet_octets_max: 256 * 1024,
            server_keep_alive_s: None,
            retains: true,
            takes_qos_1: true,
            answer_within: Duration::from_secs(30),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MqttServerEvent {
    /// A client asks for a connection: [`MqttServer::accept`] or [`MqttServer::refuse`] answers it.
    Connect(Box<ConnectPacket>),
    /// A message. One of QoS 1 is answered by [`MqttServer::acknowledge`].
    Publish(PublishPacket),
    /// The client acknowledged a message of [`MqttServer::publish`].
    Acknowledged {
        /// The message's token.
        token: u64,
        /// What became of it.
        reason: MqttReason,
    },
    /// The client subscribes: [`MqttServer::grant`] answers it.
    Subscribe(SubscribePacket),
    /// The client ends subscriptions: [`MqttServer::grant_end`] answers it.
    Unsubscribe(UnsubscribePacket),
    /// Nothing more will happen.
    Closed(MqttClosed),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerState {
    /// CONNECT has to come.
    Awaiting,
    /// CONNECT waits for an answer.
    Asked,
    Connected,
    Closed,
}

/// The machine. It never reads a clock and owns no socket.
#[derive(Debug)]
pub struct MqttServer {
    options: MqttServerOptions,
    state: ServerState,
    input: PacketBuffer,
    output: Vec<u8>,
    events: VecDeque<MqttServerEvent>,
    window: SendWindow,
    /// The client's Maximum Packet Size.
    packet_octets_max: u32,
    /// Its Keep Alive, one and a half times (section 3.1.2.10).
    keep_alive: Option<Duration>,
    /// A packet must be there.
    due: Option<Instant>,
    unacknowledged: HashSet<u16>,
}

impl MqttServer {
    /// For a connection that was just accepted.
    pub fn new(options: MqttServerOptions, now: Instant) -> MqttServer {
        MqttServer {
            input: PacketBuffer::new(options.packet_octets_max),
            state: ServerState::Awaiting,
            output: Vec::new(),
            events: VecDeque::new(),
            window: SendWindow::new(0),
            packet_octets_max: VARIABLE_BYTE_INTEGER_MAX,
            keep_alive: None,
            due: Some(now + options.answer_within),
            unacknowledged: HashSet::new(),
            options,
        }
    }

    /// The client has its CONNACK, and the connection has not ended.
    pub fn is_connected(&self) -> bool {
        self.state == ServerState::Connected
    }

    /// Messages of QoS 1 that may be published to the client now; none while more than a megabyte waits to be
    /// written.
    pub fn room(&self) -> usize {
        if self.is_connected() && self.output.len() < OUTPUT_OCTETS_MAX { self.window.room() } else { 0 }
    }

    /// Takes the connection, with a name for a client that had none.
    pub fn accept(&mut self, now: Instant, assigned_client_id: Option<String>) {
        if self.state != ServerState::Asked {
            return;
        }
        let options = &self.options;
        let mut properties = Properties::new()
            .with(Property::ReceiveMaximum(options.receive_maximum.max(1)))
            .with(Property::MaximumQos(u8::from(options.takes_qos_1)))
            .with(Property::MaximumPacketSize(options.packet_octets_max.max(1)));
        if !options.retains {
            properties = properties.with(Property::RetainAvailable(0));
        }
        if let Some(seconds) = options.server_keep_alive_s {
            properties = properties.with(Property::ServerKeepAlive(seconds));
        }
        if let Some(id) = assigned_client_id {
            properties = properties.with(Property::AssignedClientIdentifier(id));
        }
        self.state = ServerState::Connected;
        self.due = self.keep_alive.map(|keep_alive| now + keep_alive);
        self.write(&MqttPacket::ConnAck(ConnAckPacket {
            session_present: false,
            reason: MqttReason::SUCCESS,
            properties,
        }));
    }

    /// Refuses the connection, which ends.
    pub fn refuse(&mut self, reason: MqttReason, words: Option<&str>) {
        if self.state != ServerState::Asked {
            return;
        }
        let properties = in_words(words);
        self.write(&MqttPacket::ConnAck(ConnAckPacket { session_present: false, reason, properties }));
        self.close(MqttClosed::ourselves(reason));
    }

    /// Publishes a message to the client. Its Packet Identifier is given here; one of QoS 1 ends in
    /// [`MqttServerEvent::Acknowledged`] unless the connection does before. False, and nothing is written:
    /// there is no room ([`MqttServer::room`]).
    ///
    /// # Errors
    /// It has no form on the wire, or is over the client's Maximum Packet Size: it is not for this client
    /// (MQTT-3.1.2-25).
    pub fn publish(
        &mut self,
        now: Instant,
        token: u64,
        mut packet: PublishPacket,
    ) -> Result<bool, PacketEncodeError> {
        if !self.is_connected() || packet.qos == Qos::ExactlyOnce {
            return Ok(false);
        }
        packet.packet_id = match packet.qos {
            Qos::AtMostOnce => 0,
            _ => match self.window.begin(token, now + self.options.answer_within) {
                Some(id) => id,
                None => return Ok(false),
            },
        };
        let packet_id = packet.packet_id;
        let written = MqttPacket::Publish(packet).encode(self.packet_octets_max, &mut self.output);
        if written.is_err() && packet_id != 0 {
            self.window.undo(packet_id);
        }
        written.map(|()| true)
    }

    /// Answers a message of QoS 1. One that is not under way is passed over.
    pub fn acknowledge(&mut self, _now: Instant, packet_id: u16, reason: MqttReason, words: Option<&str>) {
        if self.is_connected() && self.unacknowledged.remove(&packet_id) {
            self.write(&MqttPacket::PubAck(AckPacket { packet_id, reason, properties: in_words(words) }));
        }
    }

    /// Answers a SUBSCRIBE: a reason for each filter, in their order.
    pub fn grant(&mut self, packet_id: u16, reasons: Vec<MqttReason>) {
        let properties = Properties::new();
        self.answer(MqttPacket::SubAck(SubAckPacket { packet_id, properties, reasons }));
    }

    /// Answers an UNSUBSCRIBE: a reason for each filter, in their order.
    pub fn grant_end(&mut self, packet_id: u16, reasons: Vec<MqttReason>) {
        let properties = Properties::new();
        self.answer(MqttPacket::UnsubAck(SubAckPacket { packet_id, properties, reasons }));
    }

    /// Ends the connection by DISCONNECT.
    pub fn disconnect(&mut self, reason: MqttReason, words: Option<&str>) {
        self.answer(MqttPacket::Disconnect(ReasonPacket { reason, properties: in_words(words) }));
        self.close(MqttClosed::ourselves(reason));
    }

    /// Octets from the client, in the order in which they came.
    pub fn handle_input(&mut self, now: Instant, input: &[u8]) {
        if self.state == ServerState::Closed {
            return;
        }
        self.input.push(input);
        while self.state != ServerState::Closed {
            let received = match self.input.next_packet() {
                Ok(None) => return,
                Ok(Some(packet)) => self.receive(now, packet),
                Err(error) => Err(error),
            };
            if let Err(error) = received {
                self.fail(error);
            }
        }
    }

    /// The moment of [`poll_timeout`](MqttServer::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if self.state == ServerState::Closed {
            return;
        }
        if is_due(self.due) {
            self.answer(MqttPacket::Disconnect(ReasonPacket::new(MqttReason::KEEP_ALIVE_TIMEOUT)));
            self.close(MqttClosed::silence("the client sent nothing in time"));
        } else if is_due(self.window.due()) {
            self.answer(MqttPacket::Disconnect(ReasonPacket::new(MqttReason::UNSPECIFIED_ERROR)));
            self.close(MqttClosed::silence("the client did not acknowledge a message in time"));
        }
    }

    /// The connection has ended.
    pub fn handle_eof(&mut self) {
        self.close(MqttClosed::transport("the client"));
    }

    /// Appends the octets that wait for the client.
    pub fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }

    /// When to call [`handle_timeout`](MqttServer::handle_timeout). May change with any other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            ServerState::Closed => None,
            _ => [self.due, self.window.due()].into_iter().flatten().min(),
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<MqttServerEvent> {
        self.events.pop_front()
    }

    /// Whether to read from the client: not while too much waits to be written.
    pub fn wants_input(&self) -> bool {
        self.output.len() < OUTPUT_OCTETS_MAX
    }

    /// Nothing more will be said: once what waits is written the connection ends.
    pub fn is_finished(&self) -> bool {
        self.state == ServerState::Closed
    }

    fn receive(&mut self, now: Instant, packet: MqttPacket) -> Result<(), PacketError> {
        if let (ServerState::Asked | ServerState::Connected, Some(keep_alive)) = (self.state, self.keep_alive)
        {
            self.due = Some(now + keep_alive);
        }
        match (self.state, packet) {
            (ServerState::Awaiting, MqttPacket::Connect(packet)) => self.asked(packet),
            (ServerState::Awaiting, _) => {
                Err(PacketError::protocol("the first packet of the client is not CONNECT"))
            }
            (_, MqttPacket::Connect(_)) => Err(PacketError::protocol("CONNECT came twice")),
            (_, MqttPacket::Disconnect(ReasonPacket { reason, properties })) => {
                self.close(MqttClosed::peer("the client ended the connection", reason, &properties));
                Ok(())
            }
            (_, MqttPacket::Publish(packet)) => self.message(packet),
            (_, MqttPacket::PubAck(packet)) => {
                let token = self.window.end(packet.packet_id);
                let token =
                    token.ok_or(PacketError::protocol("PUBACK is of a message that is not under way"))?;
                self.events.push_back(MqttServerEvent::Acknowledged { token, reason: packet.reason });
                Ok(())
            }
            (_, MqttPacket::Subscribe(packet)) => {
                self.events.push_back(MqttServerEvent::Subscribe(packet));
                Ok(())
            }
            (_, MqttPacket::Unsubscribe(packet)) => {
                self.events.push_back(MqttServerEvent::Unsubscribe(packet));
                Ok(())
            }
            (_, MqttPacket::PingReq) => {
                self.answer(MqttPacket::PingResp);
                Ok(())
            }
            (_, MqttPacket::Auth(_)) => {
                Err(PacketError::protocol("AUTH came, and CONNECT had no Authentication Method"))
            }
            _ => Err(PacketError::protocol("the client sent a packet of servers")),
        }
    }

    fn asked(&mut self, packet: Box<ConnectPacket>) -> Result<(), PacketError> {
        if packet.properties.authentication_method().is_some() {
            let reason = MqttReason::BAD_AUTHENTICATION_METHOD;
            return Err(PacketError { reason, why: "an authentication by AUTH is not spoken" });
        }
        if packet.will.as_ref().is_some_and(|will| will.qos == Qos::ExactlyOnce) {
            return Err(PacketError { reason: MqttReason::QOS_NOT_SUPPORTED, why: "QoS 2 is not spoken" });
        }
        let properties = &packet.properties;
        self.window.set_limit(properties.receive_maximum().unwrap_or(u16::MAX));
        self.packet_octets_max = properties.maximum_packet_size().unwrap_or(VARIABLE_BYTE_INTEGER_MAX);
        let seconds = self.options.server_keep_alive_s.unwrap_or(packet.keep_alive_s);
        self.keep_alive = (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)) * 3 / 2);
        self.state = ServerState::Asked;
        self.due = None;
        self.events.push_back(MqttServerEvent::Connect(packet));
        Ok(())
    }

    fn message(&mut self, packet: PublishPacket) -> Result<(), PacketError> {
        let refused = |reason, why| Err(PacketError { reason, why });
        if packet.properties.topic_alias().is_some() {
            return refused(MqttReason::TOPIC_ALIAS_INVALID, "a Topic Alias came, and we allow none");
        }
        if packet.qos == Qos::ExactlyOnce || packet.qos == Qos::AtLeastOnce && !self.options.takes_qos_1 {
            return refused(MqttReason::QOS_NOT_SUPPORTED, "a message has a QoS over our Maximum QoS");
        }
        if packet.retain && !self.options.retains {
            return refused(MqttReason::RETAIN_NOT_SUPPORTED, "a message is to be retained, and none is");
        }
        if packet.qos == Qos::AtLeastOnce {
            self.unacknowledged.insert(packet.packet_id);
            if self.unacknowledged.len() > usize::from(self.options.receive_maximum.max(1)) {
                let why = "more messages than our Receive Maximum are not acknowledged";
                return refused(MqttReason::RECEIVE_MAXIMUM_EXCEEDED, why);
            }
        }
        self.events.push_back(MqttServerEvent::Publish(packet));
        Ok(())
    }

    /// The client broke the protocol: it is told by CONNACK or DISCONNECT (section 4.13).
    fn fail(&mut self, error: PacketError) {
        match self.state {
            ServerState::Awaiting => self.write(&MqttPacket::ConnAck(ConnAckPacket {
                session_present: false,
                reason: error.reason,
                properties: Properties::new(),
            })),
            _ => self.answer(MqttPacket::Disconnect(ReasonPacket::new(error.reason))),
        }
        self.close(MqttClosed::misbehaviour("the client", error));
    }

    /// Writes a packet that only a connected client gets.
    fn answer(&mut self, packet: MqttPacket) {
        if self.is_connected() {
            self.write(&packet);
        }
    }

    /// Words of the caller's that have no form on the wire, or no room at the client, are left out.
    fn write(&mut self, packet: &MqttPacket) {
        let written = packet.encode(self.packet_octets_max, &mut self.output);
        if let (Err(_), MqttPacket::PubAck(AckPacket { packet_id, reason, .. })) = (written, packet) {
            let bare = AckPacket { packet_id: *packet_id, reason: *reason, properties: Properties::new() };
            let _ = MqttPacket::PubAck(bare).encode(VARIABLE_BYTE_INTEGER_MAX, &mut self.output);
        }
    }

    fn close(&mut self, end: MqttClosed) {
        if self.state == ServerState::Closed {
            return;
        }
        self.state = ServerState::Closed;
        self.window.drain();
        self.events.push_back(MqttServerEvent::Closed(end));
    }
}

fn in_words(words: Option<&str>) -> Properties {
    words.map(|words| Property::ReasonString(words.to_owned())).into_iter().collect()
}
