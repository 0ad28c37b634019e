//! The client's side of one connection: connects, publishes with QoS 0 and 1 within the server's Receive
//! Maximum, subscribes, keeps the connection alive.
//!
//! Each connection is a session of its own: Clean Start 1 without a Session Expiry Interval. What is not
//! acknowledged when it ends is given back by [`MqttClientEvent::Lost`], and is the caller's to send again.

mod options;
mod receive;
#[cfg(test)]
mod tests;

pub use options::{MqttClientOptions, MqttMessage, ServerLimits};

use crate::MqttReason;
use crate::closing::MqttClosed;
use crate::error::PacketEncodeError;
use crate::packet::{
    AckPacket, ConnectPacket, MqttPacket, PacketBuffer, PublishPacket, Qos, ReasonPacket, SubscribePacket,
    TopicSubscription,
};
use crate::property::{Properties, Property};
use crate::window::SendWindow;
use crate::wire::VARIABLE_BYTE_INTEGER_MAX;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

/// While more octets wait to be written, nothing more is read.
const OUTPUT_OCTETS_MAX: usize = 1 << 20;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MqttClientEvent {
    /// The server took the connection: messages may be published.
    Connected(ServerLimits),
    /// The answer to [`MqttClient::subscribe`]: a reason for each filter, in their order.
    Subscribed {
        /// That of the request.
        packet_id: u16,
        /// 0x00 and 0x01: granted; 0x80 and above: refused.
        reasons: Vec<MqttReason>,
        /// The server's words.
        words: Option<String>,
    },
    /// The server answered a message of QoS 1. It was taken, unless the reason is a failure.
    Acknowledged {
        /// The message's token.
        token: u64,
        /// What became of it.
        reason: MqttReason,
        /// The server's words.
        words: Option<String>,
    },
    /// A message came. One of QoS 1 has a Packet Identifier and waits for [`MqttClient::acknowledge`].
    Message(PublishPacket),
    /// The connection is gone, and this message of QoS 1 was not acknowledged.
    Lost {
        /// The message's token.
        token: u64,
        /// It was perhaps written; else surely not.
        written: bool,
    },
    /// Nothing more will happen.
    Closed(MqttClosed),
}

/// The reason why a message cannot be published now. Nothing of it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishRefusal {
    /// There is no connection, or no more.
    NotConnected,
    /// As many messages as the server allows are not acknowledged.
    NoRoom,
    /// The server takes messages of QoS 0 alone.
    QosNotSupported,
    /// QoS 2 is not spoken here.
    QosTwo,
    /// The server retains nothing.
    RetainNotSupported,
    /// It has no form on the wire, or is over the server's Maximum Packet Size.
    Encode(PacketEncodeError),
}

impl fmt::Display for PublishRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishRefusal::NotConnected => f.write_str("there is no connection"),
            PublishRefusal::NoRoom => f.write_str("the server's Receive Maximum is reached"),
            PublishRefusal::QosNotSupported => f.write_str("the server takes messages of QoS 0 alone"),
            PublishRefusal::QosTwo => f.write_str("QoS 2 is not spoken here: use QoS 1"),
            PublishRefusal::RetainNotSupported => f.write_str("the server retains no messages"),
            PublishRefusal::Encode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PublishRefusal {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientState {
    /// CONNECT is written or about to be.
    Connecting,
    Connected,
    Closed,
}

#[derive(Debug)]
struct ClientTimers {
    /// CONNACK must be there.
    connect_by: Instant,
    /// Something was handed to the connection.
    last_sent: Instant,
    /// The longest time without a packet of ours; nothing: any.
    keep_alive: Option<Duration>,
    /// PINGRESP must be there.
    ping_by: Option<Instant>,
}

/// The machine. It never reads a clock and owns no socket.
#[derive(Debug)]
pub struct MqttClient {
    options: MqttClientOptions,
    state: ClientState,
    limits: ServerLimits,
    input: PacketBuffer,
    output: Vec<u8>,
    events: VecDeque<MqttClientEvent>,
    window: SendWindow,
    timers: ClientTimers,
    /// Packet Identifiers of the server's messages that we have not acknowledged.
    unacknowledged: HashSet<u16>,
    /// [`MqttClient::poll_transmit`] must note the moment, which it is not told.
    now: Instant,
}

impl MqttClient {
    /// For a connection that was just made: CONNECT is the first that waits to be written.
    ///
    /// # Errors
    /// Options that have no form on the wire, such as a client identifier of more than 65,535 octets.
    pub fn new(options: MqttClientOptions, now: Instant) -> Result<MqttClient, PacketEncodeError> {
        let mut output = Vec::new();
        connect_packet(&options).encode(VARIABLE_BYTE_INTEGER_MAX, &mut output)?;
        let timers = ClientTimers {
            connect_by: now + options.answer_within,
            last_sent: now,
            keep_alive: None,
            ping_by: None,
        };
        Ok(MqttClient {
            input: PacketBuffer::new(options.packet_octets_max),
            limits: ServerLimits::default(),
            window: SendWindow::new(0),
            state: ClientState::Connecting,
            events: VecDeque::new(),
            unacknowledged: HashSet::new(),
            options,
            output,
            timers,
            now,
        })
    }

    /// The server took the connection, and it has not ended.
    pub fn is_connected(&self) -> bool {
        self.state == ClientState::Connected
    }

    /// Messages of QoS 1 that may be published now: what is left of the server's Receive Maximum, and none
    /// while more than a megabyte waits to be written.
    pub fn room(&self) -> usize {
        if self.is_connected() && self.output.len() < OUTPUT_OCTETS_MAX { self.window.room() } else { 0 }
    }

    /// Messages of QoS 1 that are not acknowledged.
    pub fn in_flight(&self) -> usize {
        self.window.len()
    }

    /// Publishes a message. One of QoS 1 ends in [`MqttClientEvent::Acknowledged`] or
    /// [`MqttClientEvent::Lost`], once; of QoS 0 nothing is heard.
    ///
    /// # Errors
    /// The reason why it cannot be published; nothing of it was written.
    pub fn publish(&mut self, now: Instant, message: MqttMessage) -> Result<(), PublishRefusal> {
        self.now = now;
        self.check(&message)?;
        let packet_id = match message.qos {
            Qos::AtMostOnce => 0,
            _ => {
                let due = now + self.options.answer_within;
                self.window.begin(message.token, due).ok_or(PublishRefusal::NoRoom)?
            }
        };
        let packet = MqttPacket::Publish(PublishPacket {
            dup: false,
            qos: message.qos,
            retain: message.retain,
            topic: message.topic,
            packet_id,
            properties: message.properties,
            payload: message.payload,
        });
        packet.encode(self.limits.packet_octets_max, &mut self.output).map_err(|error| {
            if packet_id != 0 {
                self.window.undo(packet_id);
            }
            PublishRefusal::Encode(error)
        })
    }

    fn check(&self, message: &MqttMessage) -> Result<(), PublishRefusal> {
        if !self.is_connected() {
            return Err(PublishRefusal::NotConnected);
        }
        match message.qos {
            Qos::ExactlyOnce => return Err(PublishRefusal::QosTwo),
            Qos::AtLeastOnce if !self.limits.takes_qos_1 => return Err(PublishRefusal::QosNotSupported),
            _ => {}
        }
        match message.retain && !self.limits.retains {
            true => Err(PublishRefusal::RetainNotSupported),
            false => Ok(()),
        }
    }

    /// Subscribes; the answer is [`MqttClientEvent::Subscribed`] with the Packet Identifier that this gives.
    ///
    /// # Errors
    /// [`PublishRefusal::NotConnected`], [`PublishRefusal::NoRoom`] (more than 16 requests without an
    /// answer), [`PublishRefusal::QosTwo`], [`PublishRefusal::Encode`].
    pub fn subscribe(
        &mut self,
        now: Instant,
        subscriptions: Vec<TopicSubscription>,
    ) -> Result<u16, PublishRefusal> {
        self.now = now;
        if !self.is_connected() {
            return Err(PublishRefusal::NotConnected);
        }
        if subscriptions.iter().any(|subscription| subscription.qos == Qos::ExactlyOnce) {
            return Err(PublishRefusal::QosTwo);
        }
        let due = now + self.options.answer_within;
        let packet_id = self.window.begin_request(due).ok_or(PublishRefusal::NoRoom)?;
        let packet = MqttPacket::Subscribe(SubscribePacket {
            packet_id,
            properties: Properties::new(),
            subscriptions,
        });
        match packet.encode(self.limits.packet_octets_max, &mut self.output) {
            Ok(()) => Ok(packet_id),
            Err(error) => {
                self.window.end_request(packet_id);
                Err(PublishRefusal::Encode(error))
            }
        }
    }

    /// Acknowledges a message of QoS 1 that came. One that is not under way any more is passed over.
    pub fn acknowledge(&mut self, now: Instant, packet_id: u16, reason: MqttReason) {
        self.now = now;
        if self.is_connected() && self.unacknowledged.remove(&packet_id) {
            self.write(&MqttPacket::PubAck(AckPacket { packet_id, reason, properties: Properties::new() }));
        }
    }

    /// Ends the connection by DISCONNECT. Messages that are not acknowledged are lost: wait for them first.
    pub fn disconnect(&mut self, now: Instant, reason: MqttReason) {
        self.now = now;
        if self.is_connected() {
            self.write(&MqttPacket::Disconnect(ReasonPacket::new(reason)));
        }
        self.close(MqttClosed::ourselves(reason));
    }

    /// Octets from the server, in the order in which they came.
    pub fn handle_input(&mut self, now: Instant, input: &[u8]) {
        self.now = now;
        if self.state == ClientState::Closed {
            return;
        }
        self.input.push(input);
        while self.state != ClientState::Closed {
            match self.input.next_packet() {
                Ok(None) => return,
                Ok(Some(packet)) => {
                    if let Err(error) = self.receive(packet) {
                        self.fail(error);
                    }
                }
                Err(error) => self.fail(error),
            }
        }
    }

    /// The moment of [`poll_timeout`](MqttClient::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        match self.state {
            ClientState::Closed => {}
            ClientState::Connecting if self.timers.connect_by <= now => {
                self.close(MqttClosed::silence("the server did not answer CONNECT in time"));
            }
            ClientState::Connecting => {}
            ClientState::Connected if is_due(self.timers.ping_by) => {
                self.give_up("the server did not answer PINGREQ in time");
            }
            ClientState::Connected if is_due(self.window.due()) => {
                self.give_up("the server did not acknowledge a packet in time");
            }
            ClientState::Connected if is_due(self.ping_at()) => {
                self.write(&MqttPacket::PingReq);
                self.timers.ping_by = Some(now + self.options.answer_within);
            }
            ClientState::Connected => {}
        }
    }

    /// The connection has ended: nothing more comes, and nothing more reaches the server.
    pub fn handle_eof(&mut self, now: Instant) {
        self.now = now;
        self.close(MqttClosed::transport("the server"));
    }

    /// Appends the octets that wait for the server. They count as written from now on.
    pub fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        if !self.output.is_empty() {
            output.append(&mut self.output);
            self.timers.last_sent = self.now;
            self.window.transmitted();
        }
    }

    /// When to call [`handle_timeout`](MqttClient::handle_timeout). May change with any other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            ClientState::Closed => None,
            ClientState::Connecting => Some(self.timers.connect_by),
            ClientState::Connected => {
                [self.timers.ping_by, self.ping_at(), self.window.due()].into_iter().flatten().min()
            }
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<MqttClientEvent> {
        self.events.pop_front()
    }

    /// Whether to read from the server: not while too much waits to be written.
    pub fn wants_input(&self) -> bool {
        self.output.len() < OUTPUT_OCTETS_MAX
    }

    /// Nothing more will be said: once what waits is written the connection ends.
    pub fn is_finished(&self) -> bool {
        self.state == ClientState::Closed
    }

    /// When the next PINGREQ is due: at three quarters of the Keep Alive after the last packet, so that it is
    /// there in time (section 3.1.2.10). None while one is not answered.
    fn ping_at(&self) -> Option<Instant> {
        let keep_alive = self.timers.keep_alive.filter(|_| self.timers.ping_by.is_none())?;
        Some(self.timers.last_sent + keep_alive * 3 / 4)
    }

    /// Writes a packet of ours that always has a form.
    fn write(&mut self, packet: &MqttPacket) {
        let written = packet.encode(VARIABLE_BYTE_INTEGER_MAX, &mut self.output);
        debug_assert_eq!(written, Ok(()), "a packet without a value of the caller's");
    }

    fn give_up(&mut self, why: &str) {
        self.write(&MqttPacket::Disconnect(ReasonPacket::new(MqttReason::UNSPECIFIED_ERROR)));
        self.close(MqttClosed::silence(why));
    }

    fn close(&mut self, end: MqttClosed) {
        if self.state == ClientState::Closed {
            return;
        }
        self.state = ClientState::Closed;
        let lost = self.window.drain().into_iter();
        self.events.extend(lost.map(|(token, written)| MqttClientEvent::Lost { token, written }));
        self.events.push_back(MqttClientEvent::Closed(end));
    }
}

/// CONNECT of these options (section 3.1).
fn connect_packet(options: &MqttClientOptions) -> MqttPacket {
    let properties = Properties::new()
        .with(Property::ReceiveMaximum(options.receive_maximum.max(1)))
        .with(Property::MaximumPacketSize(options.packet_octets_max.max(1)));
    MqttPacket::Connect(Box::new(ConnectPacket {
        clean_start: true,
        keep_alive_s: options.keep_alive_s,
        properties,
        client_id: options.client_id.clone(),
        will: None,
        username: options.username.clone(),
        password: options.password.clone(),
    }))
}
