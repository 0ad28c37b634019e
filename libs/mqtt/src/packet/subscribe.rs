//! SUBSCRIBE and UNSUBSCRIBE (sections 3.8 and 3.10).

use super::{Qos, packet_id};
use crate::error::{PacketEncodeError, PacketError};
use crate::property::{Properties, place};
use crate::topic::check_topic_filter;
use crate::wire::{PacketReader, WireValue, put_string};

/// Subscription Options (section 3.8.3.1).
const NO_LOCAL: u8 = 0x04;
const RETAIN_AS_PUBLISHED: u8 = 0x08;
const RETAIN_HANDLING_SHIFT: u8 = 4;
const RESERVED: u8 = 0xC0;

/// A client subscribes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscribePacket {
    /// Never 0.
    pub packet_id: u16,
    /// Subscription Identifier and User Properties.
    pub properties: Properties,
    /// At least one.
    pub subscriptions: Vec<TopicSubscription>,
}

/// A filter, and how its messages are to come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicSubscription {
    /// Topic Filter.
    pub filter: String,
    /// The highest QoS of its messages.
    pub qos: Qos,
    /// Not the client's own messages.
    pub no_local: bool,
    /// The flag RETAIN stays as it was published.
    pub retain_as_published: bool,
    /// 0: retained messages come at once, 1: only if the subscription is new, 2: never.
    pub retain_handling: u8,
}

/// A client ends subscriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsubscribePacket {
    /// Never 0.
    pub packet_id: u16,
    /// User Properties.
    pub properties: Properties,
    /// At least one.
    pub filters: Vec<String>,
}

impl TopicSubscription {
    fn read(reader: &mut PacketReader<'_>) -> Result<TopicSubscription, PacketError> {
        let filter: String = reader.value()?;
        check_topic_filter(&filter).map_err(PacketError::malformed)?;
        let options: u8 = reader.value()?;
        if options & RESERVED != 0 {
            return Err(PacketError::malformed("a subscription has reserved options"));
        }
        let subscription = TopicSubscription {
            qos: Qos::of(options & 3)?,
            no_local: options & NO_LOCAL != 0,
            retain_as_published: options & RETAIN_AS_PUBLISHED != 0,
            retain_handling: options >> RETAIN_HANDLING_SHIFT & 3,
            filter,
        };
        if subscription.retain_handling == 3 {
            return Err(PacketError::protocol("a subscription has the Retain Handling 3"));
        }
        // MQTT-3.8.3-4.
        match subscription.no_local && subscription.filter.starts_with("$share/") {
            true => Err(PacketError::protocol("a Shared Subscription has No Local")),
            false => Ok(subscription),
        }
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        put_string(&self.filter, out)?;
        let set = |is_set, flag| if is_set { flag } else { 0 };
        out.push(
            self.qos as u8
                | set(self.no_local, NO_LOCAL)
                | set(self.retain_as_published, RETAIN_AS_PUBLISHED)
                | self.retain_handling << RETAIN_HANDLING_SHIFT,
        );
        Ok(())
    }
}

impl SubscribePacket {
    pub(super) fn read(reader: &mut PacketReader<'_>) -> Result<SubscribePacket, PacketError> {
        let packet_id = packet_id(reader)?;
        let properties = Properties::read(reader, place::SUBSCRIBE)?;
        let mut subscriptions = Vec::new();
        while !reader.is_empty() {
            subscriptions.push(TopicSubscription::read(reader)?);
        }
        match subscriptions.is_empty() {
            true => Err(PacketError::protocol("SUBSCRIBE has no filter")),
            false => Ok(SubscribePacket { packet_id, properties, subscriptions }),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        self.packet_id.write(out)?;
        self.properties.write(place::SUBSCRIBE, out)?;
        self.subscriptions.iter().try_for_each(|subscription| subscription.write(out))
    }
}

impl UnsubscribePacket {
    pub(super) fn read(reader: &mut PacketReader<'_>) -> Result<UnsubscribePacket, PacketError> {
        let packet_id = packet_id(reader)?;
        let properties = Properties::read(reader, place::UNSUBSCRIBE)?;
        let mut filters = Vec::new();
        while !reader.is_empty() {
            let filter: String = reader.value()?;
            check_topic_filter(&filter).map_err(PacketError::malformed)?;
            filters.push(filter);
        }
        match filters.is_empty() {
            true => Err(PacketError::protocol("UNSUBSCRIBE has no filter")),
            false => Ok(UnsubscribePacket { packet_id, properties, filters }),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        self.packet_id.write(out)?;
        self.properties.write(place::UNSUBSCRIBE, out)?;
        self.filters.iter().try_for_each(|filter| put_string(filter, out))
    }
}
