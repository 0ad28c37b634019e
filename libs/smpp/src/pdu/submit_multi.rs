//! submit_multi and submit_multi_resp (3.4 §4.5): one text to many destinations.

use super::{Address, Body, Command, Version, check};
use crate::error::{DecodeError, EncodeError, ParameterProblem};
use crate::limits::{
    DESTINATION_ADDR, DESTINATIONS_MAX_V5, DL_NAME, MESSAGE_ID, SCHEDULE_DELIVERY_TIME, SERVICE_TYPE,
    SOURCE_ADDR, VALIDITY_PERIOD,
};
use crate::status::Status;
use crate::tlv::{Tag, Tlvs};
use crate::wire::{BodyReader, BodyWriter};
use std::fmt;

/// `dest_flag` of a phone's address.
const FLAG_SME: u8 = 1;
/// `dest_flag` of a distribution list.
const FLAG_LIST: u8 = 2;

/// One destination of a submit_multi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'a> {
    /// A phone.
    Sme(Address<'a>),
    /// A distribution list kept by the SMSC, at most 20 octets.
    List(&'a [u8]),
}

impl<'a> Destination<'a> {
    fn decode(body: &mut BodyReader<'a>) -> Result<Self, DecodeError> {
        match body.u8("dest_flag")? {
            FLAG_SME => Ok(Destination::Sme(Address::decode(body, &DESTINATION_ADDR)?)),
            FLAG_LIST => Ok(Destination::List(body.cstring(&DL_NAME)?)),
            _ => {
                let (status, problem) = (Status::RINVDESTFLAG, ParameterProblem::BadValue);
                Err(DecodeError { status, field: "dest_flag", problem })
            }
        }
    }

    fn encode(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        match self {
            Destination::Sme(address) => {
                out.u8(FLAG_SME);
                address.encode(out, &DESTINATION_ADDR)
            }
            Destination::List(name) => {
                out.u8(FLAG_LIST);
                out.cstring(name, &DL_NAME)
            }
        }
    }
}

/// The destinations where the peer put them: known to be well formed, read on demand.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Destinations<'a> {
    count: u8,
    bytes: &'a [u8],
}

impl<'a> Destinations<'a> {
    /// How many, at most 255 (254 before 5.0).
    #[must_use]
    pub fn count(self) -> usize {
        usize::from(self.count)
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Destination<'a>> {
        let mut body = BodyReader::new(self.bytes);
        (0..self.count).map_while(move |_| Destination::decode(&mut body).ok())
    }

    fn decode(body: &mut BodyReader<'a>) -> Result<Self, DecodeError> {
        let count = body.u8("number_of_dests")?;
        let all = body.rest();
        for _ in 0..count {
            Destination::decode(body)?;
        }
        Ok(Destinations { count, bytes: &all[..all.len() - body.rest().len()] })
    }
}

impl fmt::Debug for Destinations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Destinations to be sent.
#[derive(Clone, Debug, Default)]
pub struct DestinationBuf {
    count: u8,
    bytes: Vec<u8>,
}

impl DestinationBuf {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        DestinationBuf::default()
    }

    /// Appends one.
    ///
    /// # Errors
    /// The 256th, or an address or name over its size.
    pub fn push(&mut self, destination: Destination<'_>) -> Result<(), EncodeError> {
        let Some(count) = self.count.checked_add(1) else {
            let problem = ParameterProblem::TooMany { limit: DESTINATIONS_MAX_V5 };
            return Err(EncodeError { field: "number_of_dests", problem });
        };
        let start = self.bytes.len();
        if let Err(error) = destination.encode(&mut BodyWriter::new(&mut self.bytes, Version::V5_0)) {
            self.bytes.truncate(start);
            return Err(error);
        }
        self.count = count;
        Ok(())
    }

    /// What was pushed, to put into a PDU.
    #[must_use]
    pub fn as_destinations(&self) -> Destinations<'_> {
        Destinations { count: self.count, bytes: &self.bytes }
    }
}

/// One short message to many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmitMulti<'a> {
    /// At most 5 octets.
    pub service_type: &'a [u8],
    /// The sender.
    pub source: Address<'a>,
    /// The phones and lists.
    pub destinations: Destinations<'a>,
    /// Mode, type and features, see [`super::esm_class`].
    pub esm_class: u8,
    /// TP-PID.
    pub protocol_id: u8,
    /// 0 lowest to 3, in 5.0 to 4.
    pub priority_flag: u8,
    /// When to send: 16 characters, or empty for now.
    pub schedule_delivery_time: &'a [u8],
    /// How long to try: 16 characters, or empty for the SMSC's default.
    pub validity_period: &'a [u8],
    /// Receipt wanted, see [`super::registered_delivery`].
    pub registered_delivery: u8,
    /// Not allowed here; read and kept.
    pub replace_if_present_flag: u8,
    /// The alphabet of the message.
    pub data_coding: u8,
    /// A message stored at the SMSC, or 0.
    pub sm_default_msg_id: u8,
    /// At most 254 octets (255 in 5.0); empty when `message_payload` carries it.
    pub short_message: &'a [u8],
    /// Optional parameters.
    pub tlvs: Tlvs<'a>,
}

impl<'a> SubmitMulti<'a> {
    /// The octets of the message, from wherever they are.
    #[must_use]
    pub fn message(&self) -> &'a [u8] {
        if self.short_message.is_empty() {
            self.tlvs.find(Tag::MESSAGE_PAYLOAD).unwrap_or(b"")
        } else {
            self.short_message
        }
    }

    /// Whether the message begins with a user data header.
    #[must_use]
    pub fn has_udh(&self) -> bool {
        self.esm_class & super::esm_class::UDHI != 0
    }

    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad parameter, with the status to answer. A bad single destination is not one: it belongs
    /// into the response's list.
    pub fn check(&self) -> Result<(), DecodeError> {
        self.source.check_source()?;
        if self.destinations.count() == 0 {
            let (status, field) = (Status::RINVNUMDESTS, "number_of_dests");
            return Err(DecodeError { status, field, problem: ParameterProblem::Missing });
        }
        check::priority(self.priority_flag)?;
        check::time(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        check::time(self.validity_period, &VALIDITY_PERIOD)?;
        check::registered_delivery(self.registered_delivery)?;
        self.tlvs.check()?;
        check::one_message(self.short_message, self.tlvs)?;
        check::header(self.has_udh(), self.message())
    }
}

impl<'a> Body<'a> for SubmitMulti<'a> {
    fn command(&self) -> Command {
        Command::SUBMIT_MULTI
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.service_type, &SERVICE_TYPE)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        out.destination_count(self.destinations.count)?;
        out.raw(self.destinations.bytes);
        out.raw(&[self.esm_class, self.protocol_id, self.priority_flag]);
        out.cstring(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        out.cstring(self.validity_period, &VALIDITY_PERIOD)?;
        out.raw(&[
            self.registered_delivery,
            self.replace_if_present_flag,
            self.data_coding,
            self.sm_default_msg_id,
        ]);
        out.short_message(self.short_message)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(SubmitMulti {
            service_type: body.cstring(&SERVICE_TYPE)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            destinations: Destinations::decode(&mut body)?,
            esm_class: body.u8("esm_class")?,
            protocol_id: body.u8("protocol_id")?,
            priority_flag: body.u8("priority_flag")?,
            schedule_delivery_time: body.cstring(&SCHEDULE_DELIVERY_TIME)?,
            validity_period: body.cstring(&VALIDITY_PERIOD)?,
            registered_delivery: body.u8("registered_delivery")?,
            replace_if_present_flag: body.u8("replace_if_present_flag")?,
            data_coding: body.u8("data_coding")?,
            sm_default_msg_id: body.u8("sm_default_msg_id")?,
            short_message: {
                let length = body.u8("sm_length")?;
                body.octets(usize::from(length), "short_message", Status::RINVMSGLEN)?
            },
            tlvs: body.tlvs()?,
        })
    }
}

/// One destination that was refused, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<'a> {
    /// Whom.
    pub destination: Address<'a>,
    /// Why.
    pub status: Status,
}

impl<'a> Refused<'a> {
    fn decode(body: &mut BodyReader<'a>) -> Result<Self, DecodeError> {
        let destination = Address::decode(body, &DESTINATION_ADDR)?;
        Ok(Refused { destination, status: Status(body.u32("error_status_code")?) })
    }
}

/// The `unsuccess_sme` list where the peer put it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedList<'a> {
    count: u8,
    bytes: &'a [u8],
}

impl<'a> RefusedList<'a> {
    /// How many.
    #[must_use]
    pub fn count(self) -> usize {
        usize::from(self.count)
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Refused<'a>> {
        let mut body = BodyReader::new(self.bytes);
        (0..self.count).map_while(move |_| Refused::decode(&mut body).ok())
    }
}

impl fmt::Debug for RefusedList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Refusals to be sent.
#[derive(Clone, Debug, Default)]
pub struct RefusedBuf {
    count: u8,
    bytes: Vec<u8>,
}

impl RefusedBuf {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        RefusedBuf::default()
    }

    /// Appends one.
    ///
    /// # Errors
    /// The 256th, or an address over its size.
    pub fn push(&mut self, refused: Refused<'_>) -> Result<(), EncodeError> {
        let Some(count) = self.count.checked_add(1) else {
            let problem = ParameterProblem::TooMany { limit: DESTINATIONS_MAX_V5 };
            return Err(EncodeError { field: "no_unsuccess", problem });
        };
        let start = self.bytes.len();
        let mut out = BodyWriter::new(&mut self.bytes, Version::V5_0);
        if let Err(error) = refused.destination.encode(&mut out, &DESTINATION_ADDR) {
            self.bytes.truncate(start);
            return Err(error);
        }
        out.u32(refused.status.0);
        self.count = count;
        Ok(())
    }

    /// What was pushed, to put into a response.
    #[must_use]
    pub fn as_list(&self) -> RefusedList<'_> {
        RefusedList { count: self.count, bytes: &self.bytes }
    }
}

/// The answer to a submit_multi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmitMultiResp<'a> {
    /// The SMSC's name for the message.
    pub message_id: &'a [u8],
    /// Who will not get it.
    pub refused: RefusedList<'a>,
    /// 5.0's.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for SubmitMultiResp<'a> {
    fn command(&self) -> Command {
        Command::SUBMIT_MULTI_RESP
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.message_id(self.message_id)?;
        out.u8(self.refused.count);
        out.raw(self.refused.bytes);
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        let message_id = body.cstring(&MESSAGE_ID)?;
        let count = body.u8("no_unsuccess")?;
        let all = body.rest();
        for _ in 0..count {
            Refused::decode(&mut body)?;
        }
        let refused = RefusedList { count, bytes: &all[..all.len() - body.rest().len()] };
        Ok(SubmitMultiResp { message_id, refused, tlvs: body.tlvs()? })
    }
}
