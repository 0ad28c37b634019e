//! Reason Codes (section 2.4), with the standard's names.

use std::fmt;

/// A Reason Code: one octet; 0x80 and above is a failure. A number that the standard does not name is kept as
/// it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MqttReason(pub u8);

macro_rules! reasons {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl MqttReason {
            $(
                #[doc = concat!($name, ".")]
                pub const $constant: MqttReason = MqttReason($number);
            )*
            /// All that the standard names, by number.
            pub const ALL: &'static [MqttReason] = &[$(MqttReason($number)),*];

            /// The standard's name; nothing for a number without one. Of 0x00 it is `Success`, whatever the
            /// packet calls it.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

reasons! {
    SUCCESS = 0x00, "Success";
    GRANTED_QOS_1 = 0x01, "Granted QoS 1";
    GRANTED_QOS_2 = 0x02, "Granted QoS 2";
    DISCONNECT_WITH_WILL = 0x04, "Disconnect with Will Message";
    NO_MATCHING_SUBSCRIBERS = 0x10, "No matching subscribers";
    NO_SUBSCRIPTION_EXISTED = 0x11, "No subscription existed";
    CONTINUE_AUTHENTICATION = 0x18, "Continue authentication";
    RE_AUTHENTICATE = 0x19, "Re-authenticate";
    UNSPECIFIED_ERROR = 0x80, "Unspecified error";
    MALFORMED_PACKET = 0x81, "Malformed Packet";
    PROTOCOL_ERROR = 0x82, "Protocol Error";
    IMPLEMENTATION_SPECIFIC_ERROR = 0x83, "Implementation specific error";
    UNSUPPORTED_PROTOCOL_VERSION = 0x84, "Unsupported Protocol Version";
    CLIENT_IDENTIFIER_NOT_VALID = 0x85, "Client Identifier not valid";
    BAD_USER_NAME_OR_PASSWORD = 0x86, "Bad User Name or Password";
    NOT_AUTHORIZED = 0x87, "Not authorized";
    SERVER_UNAVAILABLE = 0x88, "Server unavailable";
    SERVER_BUSY = 0x89, "Server busy";
    BANNED = 0x8A, "Banned";
    SERVER_SHUTTING_DOWN = 0x8B, "Server shutting down";
    BAD_AUTHENTICATION_METHOD = 0x8C, "Bad authentication method";
    KEEP_ALIVE_TIMEOUT = 0x8D, "Keep Alive timeout";
    SESSION_TAKEN_OVER = 0x8E, "Session taken over";
    TOPIC_FILTER_INVALID = 0x8F, "Topic Filter invalid";
    TOPIC_NAME_INVALID = 0x90, "Topic Name invalid";
    PACKET_IDENTIFIER_IN_USE = 0x91, "Packet Identifier in use";
    PACKET_IDENTIFIER_NOT_FOUND = 0x92, "Packet Identifier not found";
    RECEIVE_MAXIMUM_EXCEEDED = 0x93, "Receive Maximum exceeded";
    TOPIC_ALIAS_INVALID = 0x94, "Topic Alias invalid";
    PACKET_TOO_LARGE = 0x95, "Packet too large";
    MESSAGE_RATE_TOO_HIGH = 0x96, "Message rate too high";
    QUOTA_EXCEEDED = 0x97, "Quota exceeded";
    ADMINISTRATIVE_ACTION = 0x98, "Administrative action";
    PAYLOAD_FORMAT_INVALID = 0x99, "Payload format invalid";
    RETAIN_NOT_SUPPORTED = 0x9A, "Retain not supported";
    QOS_NOT_SUPPORTED = 0x9B, "QoS not supported";
    USE_ANOTHER_SERVER = 0x9C, "Use another server";
    SERVER_MOVED = 0x9D, "Server moved";
    SHARED_SUBSCRIPTIONS_NOT_SUPPORTED = 0x9E, "Shared Subscriptions not supported";
    CONNECTION_RATE_EXCEEDED = 0x9F, "Connection rate exceeded";
    MAXIMUM_CONNECT_TIME = 0xA0, "Maximum connect time";
    SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED = 0xA1, "Subscription Identifiers not supported";
    WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED = 0xA2, "Wildcard Subscriptions not supported";
}

impl MqttReason {
    /// Whether it is a failure: 0x80 and above (section 2.4).
    pub fn is_error(self) -> bool {
        self.0 >= 0x80
    }
}

impl fmt::Display for MqttReason {
    /// The name with the number, such as `Not authorized (0x87)`; of a number without a name `reason 0xF0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} (0x{:02X})", self.0),
            None => write!(f, "reason 0x{:02X}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_standards_names_and_are_failures_from_0x80_on() {
        assert_eq!(MqttReason::ALL.len(), 43);
        assert!(MqttReason::ALL.is_sorted());
        for reason in MqttReason::ALL {
            assert!(reason.name().is_some());
            assert_eq!(reason.is_error(), reason.0 >= 0x80);
        }
        assert_eq!(MqttReason(0x87).to_string(), "Not authorized (0x87)");
        assert_eq!(MqttReason(0xF0).to_string(), "reason 0xF0");
    }
}
