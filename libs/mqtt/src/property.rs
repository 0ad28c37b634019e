//! Properties (section 2.2.2): the standard's table 2-4 as data, with the type, the packets and the values of
//! each.

use crate::error::{PacketEncodeError, PacketError};
use crate::wire::{PacketReader, VariableByteInteger, WireValue, put_variable_byte_integer};

/// Places of properties, a bit each.
pub(crate) mod place {
    pub(crate) const CONNECT: u16 = 1;
    pub(crate) const WILL: u16 = 2;
    pub(crate) const CONNACK: u16 = 4;
    pub(crate) const PUBLISH: u16 = 8;
    pub(crate) const PUBACK: u16 = 16;
    pub(crate) const SUBSCRIBE: u16 = 32;
    pub(crate) const SUBACK: u16 = 64;
    pub(crate) const UNSUBSCRIBE: u16 = 128;
    pub(crate) const UNSUBACK: u16 = 256;
    pub(crate) const DISCONNECT: u16 = 512;
    pub(crate) const AUTH: u16 = 1024;
    pub(crate) const ALL: u16 = 2047;
    pub(crate) const ANSWERS: u16 = CONNACK | PUBACK | SUBACK | UNSUBACK | DISCONNECT | AUTH;
}
use place::{ALL, ANSWERS, AUTH, CONNACK, CONNECT, DISCONNECT, PUBLISH, SUBSCRIBE, WILL};

/// What the value of a property may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueRule {
    Any,
    /// 0 or 1.
    Flag,
    NotZero,
}
use ValueRule::{Any, Flag, NotZero};

macro_rules! properties {
    ($($variant:ident($type:ty) = $id:literal, $name:literal, $rule:expr, $places:expr;)*) => {
        /// One property: its identifier, and a value of its type.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Property {
            $(
                #[doc = concat!($name, " (", stringify!($id), ").")]
                $variant($type),
            )*
        }

        impl Property {
            /// Its identifier (table 2-4).
            pub fn id(&self) -> u8 {
                match self { $(Property::$variant(_) => $id,)* }
            }

            /// Its name in the standard.
            pub fn name(&self) -> &'static str {
                match self { $(Property::$variant(_) => $name,)* }
            }

            fn places(&self) -> u16 {
                match self { $(Property::$variant(_) => $places,)* }
            }

            fn is_allowed_value(&self) -> bool {
                let (number, rule) = match self { $(Property::$variant(value) => (value.number(), $rule),)* };
                match (rule, number) {
                    (Any, _) | (_, None) => true,
                    (Flag, Some(number)) => number <= 1,
                    (NotZero, Some(number)) => number > 0,
                }
            }

            fn read(reader: &mut PacketReader<'_>) -> Result<Property, PacketError> {
                match reader.variable_byte_integer()? {
                    $($id => Ok(Property::$variant(reader.value()?)),)*
                    _ => Err(PacketError::malformed("a property has an identifier that does not exist")),
                }
            }

            fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
                out.push(self.id());
                match self { $(Property::$variant(value) => value.write(out),)* }
            }
        }
    };
}

properties! {
    PayloadFormatIndicator(u8) = 0x01, "Payload Format Indicator", Flag, PUBLISH | WILL;
    MessageExpiryInterval(u32) = 0x02, "Message Expiry Interval", Any, PUBLISH | WILL;
    ContentType(String) = 0x03, "Content Type", Any, PUBLISH | WILL;
    ResponseTopic(String) = 0x08, "Response Topic", Any, PUBLISH | WILL;
    CorrelationData(Vec<u8>) = 0x09, "Correlation Data", Any, PUBLISH | WILL;
    SubscriptionIdentifier(VariableByteInteger) = 0x0B, "Subscription Identifier", NotZero, PUBLISH | SUBSCRIBE;
    SessionExpiryInterval(u32) = 0x11, "Session Expiry Interval", Any, CONNECT | CONNACK | DISCONNECT;
    AssignedClientIdentifier(String) = 0x12, "Assigned Client Identifier", Any, CONNACK;
    ServerKeepAlive(u16) = 0x13, "Server Keep Alive", Any, CONNACK;
    AuthenticationMethod(String) = 0x15, "Authentication Method", Any, CONNECT | CONNACK | AUTH;
    AuthenticationData(Vec<u8>) = 0x16, "Authentication Data", Any, CONNECT | CONNACK | AUTH;
    RequestProblemInformation(u8) = 0x17, "Request Problem Information", Flag, CONNECT;
    WillDelayInterval(u32) = 0x18, "Will Delay Interval", Any, WILL;
    RequestResponseInformation(u8) = 0x19, "Request Response Information", Flag, CONNECT;
    ResponseInformation(String) = 0x1A, "Response Information", Any, CONNACK;
    ServerReference(String) = 0x1C, "Server Reference", Any, CONNACK | DISCONNECT;
    ReasonString(String) = 0x1F, "Reason String", Any, ANSWERS;
    ReceiveMaximum(u16) = 0x21, "Receive Maximum", NotZero, CONNECT | CONNACK;
    TopicAliasMaximum(u16) = 0x22, "Topic Alias Maximum", Any, CONNECT | CONNACK;
    TopicAlias(u16) = 0x23, "Topic Alias", NotZero, PUBLISH;
    MaximumQos(u8) = 0x24, "Maximum QoS", Flag, CONNACK;
    RetainAvailable(u8) = 0x25, "Retain Available", Flag, CONNACK;
    UserProperty((String, String)) = 0x26, "User Property", Any, ALL;
    MaximumPacketSize(u32) = 0x27, "Maximum Packet Size", NotZero, CONNECT | CONNACK;
    WildcardSubscriptionAvailable(u8) = 0x28, "Wildcard Subscription Available", Flag, CONNACK;
    SubscriptionIdentifierAvailable(u8) = 0x29, "Subscription Identifiers Available", Flag, CONNACK;
    SharedSubscriptionAvailable(u8) = 0x2A, "Shared Subscription Available", Flag, CONNACK;
}

impl Property {
    /// May stand more than once in a packet of this place (sections 3.3.2.3.7 and 3.3.2.3.8).
    fn may_repeat(&self, place: u16) -> bool {
        match self {
            Property::UserProperty(_) => true,
            Property::SubscriptionIdentifier(_) => place == PUBLISH,
            _ => false,
        }
    }
}

/// The properties of one packet, in the order in which they stand there. Their octets are bounded by the
/// packet's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties(Vec<Property>);

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $type:ty;)*) => {
        impl Properties {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> Option<$type> {
                    self.0.iter().find_map(|property| match property {
                        Property::$variant(value) => Some(value.borrowed()),
                        _ => None,
                    })
                }
            )*
        }
    };
}

/// Numbers are copied, everything else is lent.
trait Borrowed<'a> {
    type As;
    fn borrowed(&'a self) -> Self::As;
}

impl Borrowed<'_> for u8 {
    type As = u8;
    fn borrowed(&self) -> u8 {
        *self
    }
}
impl Borrowed<'_> for u16 {
    type As = u16;
    fn borrowed(&self) -> u16 {
        *self
    }
}
impl Borrowed<'_> for u32 {
    type As = u32;
    fn borrowed(&self) -> u32 {
        *self
    }
}
impl<'a> Borrowed<'a> for String {
    type As = &'a str;
    fn borrowed(&'a self) -> &'a str {
        self
    }
}
impl<'a> Borrowed<'a> for Vec<u8> {
    type As = &'a [u8];
    fn borrowed(&'a self) -> &'a [u8] {
        self
    }
}

values! {
    /// 1: the payload is UTF-8 (section 3.3.2.3.2).
    payload_format_indicator: PayloadFormatIndicator -> u8;
    /// Seconds after which the message is of no use any more (section 3.3.2.3.3).
    message_expiry_interval: MessageExpiryInterval -> u32;
    /// MIME type of the payload (section 3.3.2.3.9).
    content_type: ContentType -> &str;
    /// Topic for answers (section 3.3.2.3.5).
    response_topic: ResponseTopic -> &str;
    /// Repeated in an answer (section 3.3.2.3.6).
    correlation_data: CorrelationData -> &[u8];
    /// Seconds for which the server keeps the session (section 3.1.2.11.2).
    session_expiry_interval: SessionExpiryInterval -> u32;
    /// The client's name, where it had none (section 3.2.2.3.7).
    assigned_client_identifier: AssignedClientIdentifier -> &str;
    /// Seconds in place of the client's Keep Alive (section 3.2.2.3.14).
    server_keep_alive: ServerKeepAlive -> u16;
    /// Name of an authentication by AUTH (section 4.12).
    authentication_method: AuthenticationMethod -> &str;
    /// Another server to be used (section 4.11).
    server_reference: ServerReference -> &str;
    /// The reason in the peer's words (section 3.2.2.3.9).
    reason_string: ReasonString -> &str;
    /// QoS 1 and 2 messages that may be unacknowledged (section 3.1.2.11.3).
    receive_maximum: ReceiveMaximum -> u16;
    /// Topic Aliases that may be used (section 3.1.2.11.5).
    topic_alias_maximum: TopicAliasMaximum -> u16;
    /// A number in place of the topic (section 3.3.2.3.4).
    topic_alias: TopicAlias -> u16;
    /// The highest QoS of a message: 0 or 1; absent: 2 (section 3.2.2.3.4).
    maximum_qos: MaximumQos -> u8;
    /// 0: nothing is retained (section 3.2.2.3.5).
    retain_available: RetainAvailable -> u8;
    /// Octets of a packet (section 3.1.2.11.4).
    maximum_packet_size: MaximumPacketSize -> u32;
    /// 0: Shared Subscriptions are refused (section 3.2.2.3.13).
    shared_subscription_available: SharedSubscriptionAvailable -> u8;
}

impl Properties {
    /// None.
    pub fn new() -> Properties {
        Properties::default()
    }

    /// The same with one more at the end. Whether it may stand there is checked when the packet is written.
    #[must_use]
    pub fn with(mut self, property: Property) -> Properties {
        self.0.push(property);
        self
    }

    /// All, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Property> {
        self.0.iter()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps those for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&Property) -> bool) {
        self.0.retain(keep);
    }

    /// The value of the first User Property of this name (section 3.1.2.11.8).
    pub fn user_property(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|property| match property {
            Property::UserProperty((key, value)) if key == name => Some(value.as_str()),
            _ => None,
        })
    }

    /// Section 2.2.2.2: an identifier of another packet is a Malformed Packet; one that stands twice, or
    /// has a value it cannot have, is a Protocol Error.
    pub(crate) fn read(reader: &mut PacketReader<'_>, place: u16) -> Result<Properties, PacketError> {
        let octets = reader.variable_byte_integer()?;
        let mut reader = PacketReader::new(reader.take(octets as usize)?);
        let (mut properties, mut seen) = (Vec::new(), 0_u64);
        while !reader.is_empty() {
            let property = Property::read(&mut reader)?;
            if property.places() & place == 0 {
                return Err(PacketError::malformed("a property stands in a packet that cannot have it"));
            }
            if !property.is_allowed_value() {
                return Err(wrong_value(&property));
            }
            let bit = 1 << property.id();
            if seen & bit != 0 && !property.may_repeat(place) {
                return Err(PacketError::protocol("a property stands in a packet twice"));
            }
            seen |= bit;
            properties.push(property);
        }
        Ok(Properties(properties))
    }

    pub(crate) fn write(&self, place: u16, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        let (mut octets, mut seen) = (Vec::new(), 0_u64);
        for property in &self.0 {
            let bit = 1 << property.id();
            let is_twice = seen & bit != 0 && !property.may_repeat(place);
            if property.places() & place == 0 || !property.is_allowed_value() || is_twice {
                return Err(PacketEncodeError::Property { name: property.name() });
            }
            seen |= bit;
            property.write(&mut octets)?;
        }
        let length = u32::try_from(octets.len()).map_err(|_| PacketEncodeError::NumberTooLarge)?;
        put_variable_byte_integer(length, out)?;
        out.extend_from_slice(&octets);
        Ok(())
    }
}

fn wrong_value(property: &Property) -> PacketError {
    match property {
        Property::TopicAlias(_) => {
            PacketError { reason: crate::MqttReason::TOPIC_ALIAS_INVALID, why: "a Topic Alias is 0" }
        }
        _ => PacketError::protocol("a property has a value that it cannot have"),
    }
}

impl FromIterator<Property> for Properties {
    fn from_iter<I: IntoIterator<Item = Property>>(properties: I) -> Properties {
        Properties(properties.into_iter().collect())
    }
}
