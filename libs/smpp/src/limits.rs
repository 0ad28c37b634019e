//! The sizes of the specification as named constants (SMPP 3.4 §5.2, 5.0 §4.7), each with the status that
//! answers a field over its size.

use crate::status::Status;

/// A named C-octet string: its greatest size in octets *with* the terminating NUL, and the status for a bad
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The specification's name of the parameter.
    pub name: &'static str,
    /// Greatest size in octets, the NUL counted.
    pub octets_max: usize,
    /// What a request with a bad value is answered with.
    pub status: Status,
}

const fn field(name: &'static str, octets_max: usize, status: Status) -> Field {
    Field { name, octets_max, status }
}

/// `system_id` of bind, bind_resp and outbind.
pub const SYSTEM_ID: Field = field("system_id", 16, Status::RINVSYSID);
/// `password` of bind and outbind. The specification has 9 octets; carriers hand out longer ones, with which
/// their SMSCs expect to be bound.
pub const PASSWORD: Field = field("password", 65, Status::RINVPASWD);
/// Octets of a `password` by the specification (3.4 §5.2.2), without its NUL.
pub const PASSWORD_SPECIFIED_OCTETS: usize = 8;
/// `system_type` of bind.
pub const SYSTEM_TYPE: Field = field("system_type", 13, Status::RINVSYSTYP);
/// `address_range` of bind.
pub const ADDRESS_RANGE: Field = field("address_range", 41, Status::RBINDFAIL);
/// `service_type`.
pub const SERVICE_TYPE: Field = field("service_type", 6, Status::RINVSERTYP);
/// `source_addr` everywhere but in data_sm and alert_notification.
pub const SOURCE_ADDR: Field = field("source_addr", 21, Status::RINVSRCADR);
/// `destination_addr` everywhere but in data_sm.
pub const DESTINATION_ADDR: Field = field("destination_addr", 21, Status::RINVDSTADR);
/// `source_addr` of data_sm and alert_notification.
pub const LONG_SOURCE_ADDR: Field = field("source_addr", 65, Status::RINVSRCADR);
/// `destination_addr` of data_sm, `esme_addr` of alert_notification.
pub const LONG_DESTINATION_ADDR: Field = field("destination_addr", 65, Status::RINVDSTADR);
/// `message_id`.
pub const MESSAGE_ID: Field = field("message_id", 65, Status::RINVMSGID);
/// `schedule_delivery_time`: 16 characters and NUL, or NUL alone.
pub const SCHEDULE_DELIVERY_TIME: Field = field("schedule_delivery_time", 17, Status::RINVSCHED);
/// `validity_period`: 16 characters and NUL, or NUL alone.
pub const VALIDITY_PERIOD: Field = field("validity_period", 17, Status::RINVEXPIRY);
/// `final_date` of query_sm_resp: 16 characters and NUL, or NUL alone.
pub const FINAL_DATE: Field = field("final_date", 17, Status::RQUERYFAIL);
/// `dl_name` of submit_multi.
pub const DL_NAME: Field = field("dl_name", 21, Status::RINVDLNAME);

/// Octets of a PDU header.
pub const HEADER_OCTETS: usize = 16;
/// The default greatest `command_length`, in octets: a 64 KB payload with everything around it.
pub const PDU_OCTETS_MAX: usize = 70_000;
/// `short_message` before 5.0, in octets.
pub const SHORT_MESSAGE_OCTETS_MAX: usize = 254;
/// `short_message` in 5.0, in octets.
pub const SHORT_MESSAGE_OCTETS_MAX_V5: usize = 255;
/// The value of any one TLV (`message_payload` is the one that needs it), in octets.
pub const TLV_OCTETS_MAX: usize = 65_535;
/// Destinations of one submit_multi before 5.0.
pub const DESTINATIONS_MAX: usize = 254;
/// Destinations of one submit_multi in 5.0.
pub const DESTINATIONS_MAX_V5: usize = 255;
/// Greatest sequence number.
pub const SEQUENCE_MAX: u32 = 0x7FFF_FFFF;
/// Message ids to a peer of version 3.3: hexadecimal digits, without the NUL.
pub const MESSAGE_ID_V33_OCTETS_MAX: usize = 8;
