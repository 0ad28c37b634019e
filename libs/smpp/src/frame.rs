//! Splitting a byte stream into PDUs: the length is judged before anything is waited for or allocated.

use crate::error::{DecodeError, Problem};
use crate::limits::HEADER_OCTETS;
use crate::status::Status;

/// What the front of a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// One whole PDU, header included; the next begins right behind it.
    Pdu(&'a [u8]),
    /// Not a whole PDU yet: come again when there are this many octets in all.
    Need(usize),
}

/// Looks at the front of `bytes`. `octets_max` is the greatest `command_length` to accept.
///
/// # Errors
/// `RINVCMDLEN` when `command_length` is under 16 or over `octets_max`: framing is lost, so answer with a
/// generic_nack of sequence 0 and close.
pub fn split(bytes: &[u8], octets_max: usize) -> Result<Split<'_>, DecodeError> {
    let Some(prefix) = bytes.first_chunk::<4>() else {
        return Ok(Split::Need(HEADER_OCTETS));
    };
    let octets = u32::from_be_bytes(*prefix);
    let length = octets as usize;
    if length < HEADER_OCTETS || length > octets_max {
        let problem = Problem::BadLength { octets };
        return Err(DecodeError { status: Status::RINVCMDLEN, field: "command_length", problem });
    }
    Ok(match bytes.get(..length) {
        Some(pdu) => Split::Pdu(pdu),
        None => Split::Need(length),
    })
}
