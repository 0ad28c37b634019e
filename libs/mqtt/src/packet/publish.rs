//! PUBLISH (section 3.3).

use super::packet_id;
use crate::error::{PacketEncodeError, PacketError};
use crate::property::{Properties, place};
use crate::topic::check_topic_name;
use crate::wire::{PacketReader, WireValue, put_string};

/// Flags of the fixed header (section 3.3.1).
const RETAIN: u8 = 0x01;
const QOS_SHIFT: u8 = 1;
const DUP: u8 = 0x08;

/// Quality of Service (section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Qos {
    /// QoS 0: at most once, without an answer.
    #[default]
    AtMostOnce = 0,
    /// QoS 1: at least once, answered by PUBACK.
    AtLeastOnce = 1,
    /// QoS 2: exactly once. It is read, and refused by the machines.
    ExactlyOnce = 2,
}

impl Qos {
    /// From two bits.
    pub(crate) fn of(bits: u8) -> Result<Qos, PacketError> {
        match bits {
            0 => Ok(Qos::AtMostOnce),
            1 => Ok(Qos::AtLeastOnce),
            2 => Ok(Qos::ExactlyOnce),
            _ => Err(PacketError::malformed("a QoS is 3")),
        }
    }
}

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishPacket {
    /// It may have been sent before.
    pub dup: bool,
    /// Its QoS.
    pub qos: Qos,
    /// To the server: keep it for subscribers to come. To a client: it was kept.
    pub retain: bool,
    /// Where. Empty where a Topic Alias stands for it.
    pub topic: String,
    /// Of QoS 1 and 2, never 0; of QoS 0 it is 0 and not on the wire.
    pub packet_id: u16,
    /// Message Expiry Interval, Response Topic and others.
    pub properties: Properties,
    /// What.
    pub payload: Vec<u8>,
}

impl PublishPacket {
    pub(super) fn read(flags: u8, reader: &mut PacketReader<'_>) -> Result<PublishPacket, PacketError> {
        let qos = Qos::of(flags >> QOS_SHIFT & 3)?;
        let dup = flags & DUP != 0;
        if dup && qos == Qos::AtMostOnce {
            return Err(PacketError::malformed("a message of QoS 0 has the flag DUP"));
        }
        let topic: String = reader.value()?;
        let packet_id = if qos == Qos::AtMostOnce { 0 } else { packet_id(reader)? };
        let properties = Properties::read(reader, place::PUBLISH)?;
        match properties.topic_alias() {
            None if topic.is_empty() => {
                return Err(PacketError::protocol("a message has neither a topic nor a Topic Alias"));
            }
            Some(_) if topic.is_empty() => {}
            _ => check_topic_name(&topic).map_err(PacketError::malformed)?,
        }
        // MQTT-3.3.2-14.
        if let Some(response) = properties.response_topic() {
            check_topic_name(response)
                .map_err(|_| PacketError::protocol("a Response Topic is no topic name"))?;
        }
        let payload = reader.rest().to_vec();
        Ok(PublishPacket { dup, qos, retain: flags & RETAIN != 0, topic, packet_id, properties, payload })
    }

    /// Writes what stands behind the fixed header; gives that one's flags.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<u8, PacketEncodeError> {
        put_string(&self.topic, out)?;
        if self.qos != Qos::AtMostOnce {
            self.packet_id.write(out)?;
        }
        self.properties.write(place::PUBLISH, out)?;
        out.extend_from_slice(&self.payload);
        let set = |is_set, flag| if is_set { flag } else { 0 };
        Ok(set(self.dup, DUP) | (self.qos as u8) << QOS_SHIFT | set(self.retain, RETAIN))
    }
}
