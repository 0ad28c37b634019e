//! Values that a server refuses though their size is right.

use crate::error::{DecodeError, ParameterProblem};
use crate::limits::Field;
use crate::status::Status;
use crate::text::udh::Udh;
use crate::time::SmppTime;
use crate::tlv::{Tag, Tlvs};

/// Greatest `priority_flag`: 3 in 3.4, 4 in 5.0.
const PRIORITY_MAX: u8 = 4;
/// Bits of `registered_delivery` that mean something (3.4 §5.2.17).
const REGISTERED_DELIVERY_BITS: u8 = 0x1F;

pub(super) fn priority(flag: u8) -> Result<(), DecodeError> {
    refuse_if(flag > PRIORITY_MAX, Status::RINVPRTFLG, "priority_flag")
}

pub(super) fn registered_delivery(flag: u8) -> Result<(), DecodeError> {
    refuse_if(flag & !REGISTERED_DELIVERY_BITS != 0, Status::RINVREGDLVFLG, "registered_delivery")
}

pub(super) fn replace_flag(flag: u8) -> Result<(), DecodeError> {
    refuse_if(flag > 1, Status::RINVREPFLAG, "replace_if_present_flag")
}

pub(super) fn time(text: &[u8], field: &Field) -> Result<(), DecodeError> {
    refuse_if(!text.is_empty() && SmppTime::parse(text).is_none(), field.status, field.name)
}

/// `short_message` and `message_payload` exclude each other (3.4 §5.3.2.32).
pub(super) fn one_message(short_message: &[u8], tlvs: Tlvs<'_>) -> Result<(), DecodeError> {
    let both = !short_message.is_empty() && tlvs.find(Tag::MESSAGE_PAYLOAD).is_some();
    if !both {
        return Ok(());
    }
    let (status, field) = (Status::ROPTPARNOTALLWD, "message_payload");
    Err(DecodeError { status, field, problem: ParameterProblem::NotAllowed })
}

/// A user data header that `esm_class` announces must lie within the message: phones and SMSCs cut the text
/// by it.
pub(super) fn header(announced: bool, message: &[u8]) -> Result<(), DecodeError> {
    refuse_if(announced && Udh::split(message).is_err(), Status::RINVESMCLASS, "user data header")
}

/// A message must be named when nothing else says which one is meant.
pub(super) fn message_id(id: &[u8]) -> Result<(), DecodeError> {
    if !id.is_empty() {
        return Ok(());
    }
    let (status, field) = (Status::RINVMSGID, "message_id");
    Err(DecodeError { status, field, problem: ParameterProblem::Missing })
}

fn refuse_if(bad: bool, status: Status, field: &'static str) -> Result<(), DecodeError> {
    if bad { Err(DecodeError { status, field, problem: ParameterProblem::BadValue }) } else { Ok(()) }
}
