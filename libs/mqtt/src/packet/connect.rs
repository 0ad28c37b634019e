//! CONNECT and CONNACK (sections 3.1 and 3.2).

use super::Qos;
use crate::MqttReason;
use crate::error::{PacketEncodeError, PacketError};
use crate::property::{Properties, place};
use crate::topic::check_topic_name;
use crate::wire::{PacketReader, WireValue, put_string};
use std::fmt;

/// Section 3.1.2.1.
const PROTOCOL_NAME: &str = "MQTT";
/// Section 3.1.2.2.
const PROTOCOL_VERSION: u8 = 5;

/// Connect Flags (section 3.1.2.3).
const CLEAN_START: u8 = 0x02;
const WILL: u8 = 0x04;
const WILL_QOS_SHIFT: u8 = 3;
const WILL_RETAIN: u8 = 0x20;
const PASSWORD: u8 = 0x40;
const USER_NAME: u8 = 0x80;

/// A client asks for a connection. Its `Debug` form leaves the password out.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ConnectPacket {
    /// An earlier session of the same client is thrown away.
    pub clean_start: bool,
    /// Seconds between two packets of the client at most; 0: any number.
    pub keep_alive_s: u16,
    /// Session Expiry Interval, Receive Maximum, Maximum Packet Size and others.
    pub properties: Properties,
    /// The client's name; empty: the server gives it one.
    pub client_id: String,
    /// Published by the server when the connection ends without DISCONNECT.
    pub will: Option<WillMessage>,
    /// User Name.
    pub username: Option<String>,
    /// Password: any octets.
    pub password: Option<Vec<u8>>,
}

/// A message that the server publishes for a client that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WillMessage {
    /// Its QoS.
    pub qos: Qos,
    /// It is retained.
    pub retain: bool,
    /// Where.
    pub topic: String,
    /// What.
    pub payload: Vec<u8>,
    /// Will Properties (section 3.1.3.2).
    pub properties: Properties,
}

/// The server's answer to CONNECT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnAckPacket {
    /// The server has a session of this client.
    pub session_present: bool,
    /// 0x00, or a failure.
    pub reason: MqttReason,
    /// The server's limits and others.
    pub properties: Properties,
}

impl fmt::Debug for ConnectPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectPacket")
            .field("clean_start", &self.clean_start)
            .field("keep_alive_s", &self.keep_alive_s)
            .field("properties", &self.properties)
            .field("client_id", &self.client_id)
            .field("will", &self.will)
            .field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .finish()
    }
}

impl ConnectPacket {
    pub(super) fn read(reader: &mut PacketReader<'_>) -> Result<ConnectPacket, PacketError> {
        let flags = read_head(reader)?;
        let keep_alive_s = reader.value()?;
        let properties = Properties::read(reader, place::CONNECT)?;
        let client_id = reader.value()?;
        let will = match flags & WILL {
            0 => None,
            _ => Some(WillMessage::read(flags, reader)?),
        };
        let username = if flags & USER_NAME != 0 { Some(reader.value()?) } else { None };
        let password = if flags & PASSWORD != 0 { Some(reader.value()?) } else { None };
        let clean_start = flags & CLEAN_START != 0;
        Ok(ConnectPacket { clean_start, keep_alive_s, properties, client_id, will, username, password })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        put_string(PROTOCOL_NAME, out)?;
        let set = |is_set, flag| if is_set { flag } else { 0 };
        let will = self
            .will
            .as_ref()
            .map_or(0, |will| WILL | (will.qos as u8) << WILL_QOS_SHIFT | set(will.retain, WILL_RETAIN));
        let flags = set(self.clean_start, CLEAN_START)
            | will
            | set(self.username.is_some(), USER_NAME)
            | set(self.password.is_some(), PASSWORD);
        out.extend_from_slice(&[PROTOCOL_VERSION, flags]);
        self.keep_alive_s.write(out)?;
        self.properties.write(place::CONNECT, out)?;
        put_string(&self.client_id, out)?;
        if let Some(will) = &self.will {
            will.properties.write(place::WILL, out)?;
            put_string(&will.topic, out)?;
            will.payload.write(out)?;
        }
        if let Some(username) = &self.username {
            put_string(username, out)?;
        }
        match &self.password {
            Some(password) => password.write(out),
            None => Ok(()),
        }
    }
}

/// Protocol name, version and flags; gives the flags.
fn read_head(reader: &mut PacketReader<'_>) -> Result<u8, PacketError> {
    let unsupported = |why| PacketError { reason: MqttReason::UNSUPPORTED_PROTOCOL_VERSION, why };
    if reader.value::<String>()? != PROTOCOL_NAME {
        return Err(unsupported("the protocol's name is not MQTT"));
    }
    if reader.value::<u8>()? != PROTOCOL_VERSION {
        return Err(unsupported("the protocol's version is not 5"));
    }
    let flags: u8 = reader.value()?;
    if flags & 1 != 0 {
        return Err(PacketError::malformed("the reserved flag of CONNECT is set"));
    }
    if flags & WILL == 0 && flags & (WILL_RETAIN | 3 << WILL_QOS_SHIFT) != 0 {
        return Err(PacketError::malformed("CONNECT has flags of a will and no will"));
    }
    Ok(flags)
}

impl WillMessage {
    fn read(flags: u8, reader: &mut PacketReader<'_>) -> Result<WillMessage, PacketError> {
        let qos = Qos::of(flags >> WILL_QOS_SHIFT & 3)?;
        let properties = Properties::read(reader, place::WILL)?;
        let topic: String = reader.value()?;
        check_topic_name(&topic).map_err(PacketError::malformed)?;
        let payload = reader.value()?;
        Ok(WillMessage { qos, retain: flags & WILL_RETAIN != 0, topic, payload, properties })
    }
}

impl ConnAckPacket {
    pub(super) fn read(reader: &mut PacketReader<'_>) -> Result<ConnAckPacket, PacketError> {
        let flags: u8 = reader.value()?;
        if flags > 1 {
            return Err(PacketError::malformed("CONNACK has reserved flags"));
        }
        let packet = ConnAckPacket {
            session_present: flags == 1,
            reason: MqttReason(reader.value()?),
            properties: Properties::read(reader, place::CONNACK)?,
        };
        // MQTT-3.2.2-6.
        match packet.session_present && packet.reason != MqttReason::SUCCESS {
            true => Err(PacketError::protocol("CONNACK refuses and speaks of a session")),
            false => Ok(packet),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        out.extend_from_slice(&[u8::from(self.session_present), self.reason.0]);
        self.properties.write(place::CONNACK, out)
    }
}
