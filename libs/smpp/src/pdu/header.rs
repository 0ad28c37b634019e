//! The 16 octets in front of every PDU (3.4 §5.1), command ids and versions.

use crate::limits::HEADER_OCTETS;
use crate::status::Status;
use std::fmt;

/// Bit that turns a request's command id into its response's.
const RESPONSE_BIT: u32 = 0x8000_0000;

/// A `command_id`. Any value is kept, so that an unknown one can be named in an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Command(pub u32);

macro_rules! commands {
    ($($name:ident = $id:literal, $text:literal;)*) => {
        impl Command {
            $(#[doc = concat!("`", $text, "`")] pub const $name: Command = Command($id);)*

            /// Every command there is.
            pub const ALL: &'static [Command] = &[$(Command::$name),*];

            /// The specification's name, or `None` for an unknown command.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($id => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    BIND_RECEIVER = 0x001, "bind_receiver";
    BIND_TRANSMITTER = 0x002, "bind_transmitter";
    QUERY_SM = 0x003, "query_sm";
    SUBMIT_SM = 0x004, "submit_sm";
    DELIVER_SM = 0x005, "deliver_sm";
    UNBIND = 0x006, "unbind";
    REPLACE_SM = 0x007, "replace_sm";
    CANCEL_SM = 0x008, "cancel_sm";
    BIND_TRANSCEIVER = 0x009, "bind_transceiver";
    OUTBIND = 0x00B, "outbind";
    ENQUIRE_LINK = 0x015, "enquire_link";
    SUBMIT_MULTI = 0x021, "submit_multi";
    ALERT_NOTIFICATION = 0x102, "alert_notification";
    DATA_SM = 0x103, "data_sm";
    BROADCAST_SM = 0x111, "broadcast_sm";
    QUERY_BROADCAST_SM = 0x112, "query_broadcast_sm";
    CANCEL_BROADCAST_SM = 0x113, "cancel_broadcast_sm";
    GENERIC_NACK = 0x8000_0000, "generic_nack";
    BIND_RECEIVER_RESP = 0x8000_0001, "bind_receiver_resp";
    BIND_TRANSMITTER_RESP = 0x8000_0002, "bind_transmitter_resp";
    QUERY_SM_RESP = 0x8000_0003, "query_sm_resp";
    SUBMIT_SM_RESP = 0x8000_0004, "submit_sm_resp";
    DELIVER_SM_RESP = 0x8000_0005, "deliver_sm_resp";
    UNBIND_RESP = 0x8000_0006, "unbind_resp";
    REPLACE_SM_RESP = 0x8000_0007, "replace_sm_resp";
    CANCEL_SM_RESP = 0x8000_0008, "cancel_sm_resp";
    BIND_TRANSCEIVER_RESP = 0x8000_0009, "bind_transceiver_resp";
    ENQUIRE_LINK_RESP = 0x8000_0015, "enquire_link_resp";
    SUBMIT_MULTI_RESP = 0x8000_0021, "submit_multi_resp";
    DATA_SM_RESP = 0x8000_0103, "data_sm_resp";
    BROADCAST_SM_RESP = 0x8000_0111, "broadcast_sm_resp";
    QUERY_BROADCAST_SM_RESP = 0x8000_0112, "query_broadcast_sm_resp";
    CANCEL_BROADCAST_SM_RESP = 0x8000_0113, "cancel_broadcast_sm_resp";
}

impl Command {
    /// Whether this answers a request; true for generic_nack and for responses to unknown commands.
    #[must_use]
    pub fn is_response(self) -> bool {
        self.0 & RESPONSE_BIT != 0
    }

    /// The response to this request.
    #[must_use]
    pub fn response(self) -> Command {
        Command(self.0 | RESPONSE_BIT)
    }

    /// The request this response answers.
    #[must_use]
    pub fn request(self) -> Command {
        Command(self.0 & !RESPONSE_BIT)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "command 0x{:08X}", self.0),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `interface_version`: 0x33, 0x34 or 0x50. Values of 0x00 to 0x32 count as 3.3 or older.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u8);

impl Version {
    /// SMPP 3.3.
    pub const V3_3: Version = Version(0x33);
    /// SMPP 3.4.
    pub const V3_4: Version = Version(0x34);
    /// SMPP 5.0.
    pub const V5_0: Version = Version(0x50);

    /// Whether a peer of this version reads optional parameters.
    #[must_use]
    pub fn has_tlvs(self) -> bool {
        self >= Version::V3_4
    }

    /// The nearest version we speak at or below this one; 3.3 for all before it.
    #[must_use]
    pub fn known(self) -> Version {
        match self.0 {
            0x50.. => Version::V5_0,
            0x34..0x50 => Version::V3_4,
            _ => Version::V3_3,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 >> 4, self.0 & 0xF)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A PDU's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// `command_length`: octets of the whole PDU, these 16 included.
    pub length: u32,
    /// `command_id`.
    pub command: Command,
    /// `command_status`: zero in requests.
    pub status: Status,
    /// `sequence_number`.
    pub sequence: u32,
}

impl Header {
    /// Reads a header from the front of `bytes`; `None` when there are fewer than 16 octets.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let octets = bytes.first_chunk::<HEADER_OCTETS>()?;
        let word =
            |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        let (command, status) = (Command(word(4)), Status(word(8)));
        Some(Header { length: word(0), command, status, sequence: word(12) })
    }

    /// The 16 octets.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER_OCTETS] {
        let mut bytes = [0; HEADER_OCTETS];
        bytes[..4].copy_from_slice(&self.length.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.command.0.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.status.0.to_be_bytes());
        bytes[12..].copy_from_slice(&self.sequence.to_be_bytes());
        bytes
    }
}
