//! Optional parameters (3.4 §5.3, 5.0 §4.8): read in place, written once, unknown ones kept and passed
//! through.

use crate::error::{DecodeError, EncodeError, ParameterProblem};
use crate::limits::TLV_OCTETS_MAX;
use crate::status::Status;
use std::fmt;

/// Octets of a TLV before its value: tag and length.
const TLV_HEADER_OCTETS: usize = 4;
/// NULs in front of TLVs that [`Tlvs::parse_whole`] leaves out: fewer than a parameter's tag and length.
const STRAY_OCTETS_MAX: usize = 3;

/// The tag of an optional parameter. Any value is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u16);

macro_rules! tags {
    ($($name:ident = $tag:literal, $text:literal, $min:literal..=$max:literal;)*) => {
        impl Tag {
            $(#[doc = concat!("`", $text, "`")] pub const $name: Tag = Tag($tag);)*

            /// Every tag with a name, in rising order.
            pub const ALL: &'static [Tag] = &[$(Tag::$name),*];

            /// The specification's name, or `None` for a tag it does not know.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($tag => Some($text),)*
                    _ => None,
                }
            }

            /// The sizes a value may have, in octets; anything for an unknown tag.
            #[must_use]
            pub fn octets_allowed(self) -> std::ops::RangeInclusive<usize> {
                match self.0 {
                    $($tag => $min..=$max,)*
                    _ => 0..=TLV_OCTETS_MAX,
                }
            }
        }
    };
}

tags! {
    DEST_ADDR_SUBUNIT = 0x0005, "dest_addr_subunit", 1..=1;
    DEST_NETWORK_TYPE = 0x0006, "dest_network_type", 1..=1;
    DEST_BEARER_TYPE = 0x0007, "dest_bearer_type", 1..=1;
    DEST_TELEMATICS_ID = 0x0008, "dest_telematics_id", 2..=2;
    SOURCE_ADDR_SUBUNIT = 0x000D, "source_addr_subunit", 1..=1;
    SOURCE_NETWORK_TYPE = 0x000E, "source_network_type", 1..=1;
    SOURCE_BEARER_TYPE = 0x000F, "source_bearer_type", 1..=1;
    SOURCE_TELEMATICS_ID = 0x0010, "source_telematics_id", 1..=2;
    QOS_TIME_TO_LIVE = 0x0017, "qos_time_to_live", 4..=4;
    PAYLOAD_TYPE = 0x0019, "payload_type", 1..=1;
    ADDITIONAL_STATUS_INFO_TEXT = 0x001D, "additional_status_info_text", 1..=256;
    RECEIPTED_MESSAGE_ID = 0x001E, "receipted_message_id", 1..=65;
    MS_MSG_WAIT_FACILITIES = 0x0030, "ms_msg_wait_facilities", 1..=1;
    PRIVACY_INDICATOR = 0x0201, "privacy_indicator", 1..=1;
    SOURCE_SUBADDRESS = 0x0202, "source_subaddress", 2..=23;
    DEST_SUBADDRESS = 0x0203, "dest_subaddress", 2..=23;
    USER_MESSAGE_REFERENCE = 0x0204, "user_message_reference", 2..=2;
    USER_RESPONSE_CODE = 0x0205, "user_response_code", 1..=1;
    SOURCE_PORT = 0x020A, "source_port", 2..=2;
    DEST_PORT = 0x020B, "dest_port", 2..=2;
    SAR_MSG_REF_NUM = 0x020C, "sar_msg_ref_num", 2..=2;
    LANGUAGE_INDICATOR = 0x020D, "language_indicator", 1..=1;
    SAR_TOTAL_SEGMENTS = 0x020E, "sar_total_segments", 1..=1;
    SAR_SEGMENT_SEQNUM = 0x020F, "sar_segment_seqnum", 1..=1;
    SC_INTERFACE_VERSION = 0x0210, "sc_interface_version", 1..=1;
    CALLBACK_NUM_PRES_IND = 0x0302, "callback_num_pres_ind", 1..=1;
    CALLBACK_NUM_ATAG = 0x0303, "callback_num_atag", 0..=65;
    NUMBER_OF_MESSAGES = 0x0304, "number_of_messages", 1..=1;
    CALLBACK_NUM = 0x0381, "callback_num", 4..=19;
    DPF_RESULT = 0x0420, "dpf_result", 1..=1;
    SET_DPF = 0x0421, "set_dpf", 1..=1;
    MS_AVAILABILITY_STATUS = 0x0422, "ms_availability_status", 1..=1;
    NETWORK_ERROR_CODE = 0x0423, "network_error_code", 3..=3;
    MESSAGE_PAYLOAD = 0x0424, "message_payload", 0..=65_535;
    DELIVERY_FAILURE_REASON = 0x0425, "delivery_failure_reason", 1..=1;
    MORE_MESSAGES_TO_SEND = 0x0426, "more_messages_to_send", 1..=1;
    MESSAGE_STATE = 0x0427, "message_state", 1..=1;
    CONGESTION_STATE = 0x0428, "congestion_state", 1..=1;
    USSD_SERVICE_OP = 0x0501, "ussd_service_op", 1..=1;
    BROADCAST_CHANNEL_INDICATOR = 0x0600, "broadcast_channel_indicator", 1..=1;
    BROADCAST_CONTENT_TYPE = 0x0601, "broadcast_content_type", 3..=3;
    BROADCAST_CONTENT_TYPE_INFO = 0x0602, "broadcast_content_type_info", 1..=255;
    BROADCAST_MESSAGE_CLASS = 0x0603, "broadcast_message_class", 1..=1;
    BROADCAST_REP_NUM = 0x0604, "broadcast_rep_num", 2..=2;
    BROADCAST_FREQUENCY_INTERVAL = 0x0605, "broadcast_frequency_interval", 3..=3;
    BROADCAST_AREA_IDENTIFIER = 0x0606, "broadcast_area_identifier", 1..=101;
    BROADCAST_ERROR_STATUS = 0x0607, "broadcast_error_status", 4..=4;
    BROADCAST_AREA_SUCCESS = 0x0608, "broadcast_area_success", 1..=1;
    BROADCAST_END_TIME = 0x0609, "broadcast_end_time", 16..=17;
    BROADCAST_SERVICE_GROUP = 0x060A, "broadcast_service_group", 1..=255;
    BILLING_IDENTIFICATION = 0x060B, "billing_identification", 1..=1024;
    SOURCE_NETWORK_ID = 0x060D, "source_network_id", 7..=65;
    DEST_NETWORK_ID = 0x060E, "dest_network_id", 7..=65;
    SOURCE_NODE_ID = 0x060F, "source_node_id", 6..=6;
    DEST_NODE_ID = 0x0610, "dest_node_id", 6..=6;
    DEST_ADDR_NP_RESOLUTION = 0x0611, "dest_addr_np_resolution", 1..=1;
    DEST_ADDR_NP_INFORMATION = 0x0612, "dest_addr_np_information", 10..=10;
    DEST_ADDR_NP_COUNTRY = 0x0613, "dest_addr_np_country", 1..=5;
    DISPLAY_TIME = 0x1201, "display_time", 1..=1;
    SMS_SIGNAL = 0x1203, "sms_signal", 2..=2;
    MS_VALIDITY = 0x1204, "ms_validity", 1..=4;
    ALERT_ON_MESSAGE_DELIVERY = 0x130C, "alert_on_message_delivery", 0..=1;
    ITS_REPLY_TYPE = 0x1380, "its_reply_type", 1..=1;
    ITS_SESSION_INFO = 0x1383, "its_session_info", 2..=2;
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Tag(0x{:04X})", self.0),
        }
    }
}

/// One optional parameter, its value where the peer put it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Which parameter.
    pub tag: Tag,
    /// Its value, at most 65,535 octets.
    pub value: &'a [u8],
}

/// Whether it begins with the tag 0, which no parameter has (3.4 §5.3.2).
fn is_reserved(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0, 0])
}

/// The optional part of a body: known to be well formed, read on demand, in the order it came.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Tlvs<'a> {
    bytes: &'a [u8],
}

impl<'a> Tlvs<'a> {
    /// None at all.
    pub const NONE: Tlvs<'static> = Tlvs { bytes: &[] };

    /// Checks that `bytes` is whole TLVs, and nothing after them.
    ///
    /// # Errors
    /// `RINVOPTPARSTREAM` when a TLV runs over the end or stray octets are left.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some((tlv, after)) = split_first(rest) else {
                let (status, problem) = (Status::RINVOPTPARSTREAM, ParameterProblem::Truncated);
                return Err(DecodeError { status, field: "optional parameters", problem });
            };
            let _: Tlv<'_> = tlv;
            rest = after;
        }
        Ok(Tlvs { bytes })
    }

    /// The TLVs in `bytes` as far as they are whole, for messages of carriers: some put octets behind a
    /// message that are no parameters, and refusing a receipt over them would lose it. Up to
    /// [`STRAY_OCTETS_MAX`] NULs in front of whole TLVs are left out, and whatever follows the last whole
    /// one. What begins with the reserved tag 0 is none, so that its octets are read the same wherever they
    /// are passed on.
    #[must_use]
    pub fn parse_whole(bytes: &'a [u8]) -> Self {
        let nuls = bytes.iter().take(STRAY_OCTETS_MAX).take_while(|octet| **octet == 0).count();
        let whole = (0..=nuls).filter_map(|stray| Tlvs::parse(&bytes[stray..]).ok());
        if let Some(tlvs) = whole.into_iter().find(|tlvs| !tlvs.is_empty() && !is_reserved(tlvs.bytes)) {
            return tlvs;
        }
        if is_reserved(bytes) {
            return Tlvs::NONE;
        }
        let mut rest = bytes;
        while let Some((_, after)) = split_first(rest) {
            rest = after;
        }
        Tlvs { bytes: &bytes[..bytes.len() - rest.len()] }
    }

    /// The octets as they go on the wire.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Tlv<'a>> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let (tlv, after) = split_first(rest)?;
            rest = after;
            Some(tlv)
        })
    }

    /// The value of the first one with this tag: of duplicates the first counts.
    #[must_use]
    pub fn find(self, tag: Tag) -> Option<&'a [u8]> {
        self.iter().find(|tlv| tlv.tag == tag).map(|tlv| tlv.value)
    }

    /// The values of all with this tag, in order: `broadcast_area_identifier` and the like may come many
    /// times.
    pub fn find_all(self, tag: Tag) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |tlv| tlv.tag == tag).map(|tlv| tlv.value)
    }

    /// The value of a one-octet parameter; `None` also when the value is empty.
    #[must_use]
    pub fn find_u8(self, tag: Tag) -> Option<u8> {
        self.find(tag)?.first().copied()
    }

    /// The value of a two-octet parameter; `None` also when its size is another.
    #[must_use]
    pub fn find_u16(self, tag: Tag) -> Option<u16> {
        Some(u16::from_be_bytes(self.find(tag)?.try_into().ok()?))
    }

    /// The value of a four-octet parameter; `None` also when its size is another.
    #[must_use]
    pub fn find_u32(self, tag: Tag) -> Option<u32> {
        Some(u32::from_be_bytes(self.find(tag)?.try_into().ok()?))
    }

    /// The value of a C-octet string parameter, cut at its NUL, which some peers leave out.
    #[must_use]
    pub fn find_cstring(self, tag: Tag) -> Option<&'a [u8]> {
        let value = self.find(tag)?;
        let end = value.iter().position(|&octet| octet == 0).unwrap_or(value.len());
        Some(&value[..end])
    }

    /// Checks every known parameter against the sizes of its table row; unknown ones pass.
    ///
    /// # Errors
    /// `RINVPARLEN`, naming the parameter.
    #[inline]
    pub fn check(self) -> Result<(), DecodeError> {
        for tlv in self.iter() {
            let allowed = tlv.tag.octets_allowed();
            if !allowed.contains(&tlv.value.len()) {
                let field = tlv.tag.name().unwrap_or("optional parameter");
                let problem = ParameterProblem::TooLong { octets_max: *allowed.end() };
                let problem =
                    if tlv.value.len() < *allowed.start() { ParameterProblem::Truncated } else { problem };
                return Err(DecodeError { status: Status::RINVPARLEN, field, problem });
            }
        }
        Ok(())
    }
}

fn split_first(bytes: &[u8]) -> Option<(Tlv<'_>, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<TLV_HEADER_OCTETS>()?;
    let tag = Tag(u16::from_be_bytes([head[0], head[1]]));
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let (value, after) = rest.split_at_checked(length)?;
    Some((Tlv { tag, value }, after))
}

impl fmt::Debug for Tlvs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// TLVs to be sent: written once, lent to any number of PDUs with [`TlvBuf::as_tlvs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlvBuf {
    bytes: Vec<u8>,
}

impl TlvBuf {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        TlvBuf::default()
    }

    /// Appends a parameter.
    ///
    /// # Errors
    /// A value over 65,535 octets.
    pub fn push(&mut self, tag: Tag, value: &[u8]) -> Result<&mut Self, EncodeError> {
        self.push_joined(tag, &[value])
    }

    /// Appends a parameter whose value comes in pieces.
    ///
    /// # Errors
    /// Pieces of over 65,535 octets together.
    pub fn push_joined(&mut self, tag: Tag, pieces: &[&[u8]]) -> Result<&mut Self, EncodeError> {
        let octets: usize = pieces.iter().map(|piece| piece.len()).sum();
        let Ok(length) = u16::try_from(octets) else {
            let problem = ParameterProblem::TooLong { octets_max: TLV_OCTETS_MAX };
            return Err(EncodeError { field: tag.name().unwrap_or("optional parameter"), problem });
        };
        self.bytes.extend_from_slice(&tag.0.to_be_bytes());
        self.bytes.extend_from_slice(&length.to_be_bytes());
        pieces.iter().for_each(|piece| self.bytes.extend_from_slice(piece));
        Ok(self)
    }

    /// Appends a one-octet parameter.
    pub fn push_u8(&mut self, tag: Tag, value: u8) -> &mut Self {
        self.push_fixed(tag, &[value])
    }

    /// Appends a two-octet parameter.
    pub fn push_u16(&mut self, tag: Tag, value: u16) -> &mut Self {
        self.push_fixed(tag, &value.to_be_bytes())
    }

    /// Appends a four-octet parameter.
    pub fn push_u32(&mut self, tag: Tag, value: u32) -> &mut Self {
        self.push_fixed(tag, &value.to_be_bytes())
    }

    fn push_fixed<const N: usize>(&mut self, tag: Tag, value: &[u8; N]) -> &mut Self {
        self.bytes.extend_from_slice(&tag.0.to_be_bytes());
        self.bytes.extend_from_slice(&[0, N as u8]);
        self.bytes.extend_from_slice(value);
        self
    }

    /// Appends a C-octet string parameter with its NUL.
    ///
    /// # Errors
    /// A value over 65,534 octets.
    pub fn push_cstring(&mut self, tag: Tag, text: &[u8]) -> Result<&mut Self, EncodeError> {
        let Some(length) = text.len().checked_add(1).and_then(|octets| u16::try_from(octets).ok()) else {
            let problem = ParameterProblem::TooLong { octets_max: TLV_OCTETS_MAX };
            return Err(EncodeError { field: tag.name().unwrap_or("optional parameter"), problem });
        };
        self.bytes.extend_from_slice(&tag.0.to_be_bytes());
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        Ok(self)
    }

    /// What was pushed, to put into a PDU.
    #[must_use]
    pub fn as_tlvs(&self) -> Tlvs<'_> {
        Tlvs { bytes: &self.bytes }
    }

    /// Forgets all of it, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}
