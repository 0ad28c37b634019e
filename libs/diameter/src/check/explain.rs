//! A fault in words: for logs, and for Error-Message.

use super::{FailedAvp, Fault};
use crate::avp::AvpName;
use crate::message::Message;
use crate::result_code;
use std::fmt;

/// What is wrong with a message, in a sentence that names the AVP.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a> {
    fault: Fault,
    message: Message<'a>,
}

impl Fault {
    /// This fault of a message in words.
    pub fn explain<'a>(&self, message: &Message<'a>) -> Explanation<'a> {
        Explanation { fault: *self, message: *message }
    }
}

impl Explanation<'_> {
    fn name_at(&self, position: u32) -> AvpName {
        self.message.avp_at(position).map_or(AvpName::ietf(0), |avp| avp.name)
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault.failed {
            FailedAvp::Nothing => f.write_str(about_message(self.fault.result_code)),
            FailedAvp::Copy { position } => {
                write!(f, "{} {}", self.name_at(position), about_avp(self.fault.result_code))
            }
            FailedAvp::Pair { first, second } => {
                write!(f, "{} and {} contradict each other", self.name_at(first), self.name_at(second))
            }
            FailedAvp::Header { name, .. } => write!(f, "{name} has a length that it cannot have"),
            FailedAvp::Missing { name, group: 0 } => write!(f, "{name} is missing"),
            FailedAvp::Missing { name, group } => write!(f, "{name} is missing in {}", self.name_at(group)),
        }
    }
}

fn about_avp(result_code: u32) -> &'static str {
    match result_code {
        result_code::INVALID_AVP_BITS => "has an M or V bit that its definition does not allow",
        result_code::INVALID_AVP_BIT_COMBO => "must not have the M bit",
        result_code::AVP_UNSUPPORTED => "has the M bit and is not known here",
        result_code::INVALID_AVP_VALUE => "has a value that it cannot have",
        result_code::AVP_NOT_ALLOWED => "must not occur here",
        result_code::AVP_OCCURS_TOO_MANY_TIMES => "occurs too many times",
        _ => "cannot be accepted",
    }
}

fn about_message(result_code: u32) -> &'static str {
    match result_code {
        result_code::COMMAND_UNSUPPORTED => "this command is not served here",
        result_code::UNABLE_TO_DELIVER => "the destination host is not reached from here",
        result_code::REALM_NOT_SERVED => "the destination realm is not served here",
        result_code::TOO_BUSY => "too busy, come again later",
        result_code::LOOP_DETECTED => "the message was here before",
        result_code::APPLICATION_UNSUPPORTED => "this application is not served here",
        result_code::INVALID_HDR_BITS => "a request must not have the E bit",
        result_code::UNABLE_TO_COMPLY => "the message is over a limit of this node, or cannot be served",
        result_code::UNKNOWN_SESSION_ID => "there is no such session",
        _ => "the message cannot be accepted",
    }
}
