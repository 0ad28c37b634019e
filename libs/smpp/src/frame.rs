//! Splitting a byte stream into PDUs: the length is judged before anything is waited for or allocated.

use crate::error::{DecodeError, ParameterProblem};
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
        let problem = ParameterProblem::BadLength { octets };
        return Err(DecodeError { status: Status::RINVCMDLEN, field: "command_length", problem });
    }
    Ok(match bytes.get(..length) {
        Some(pdu) => Split::Pdu(pdu),
        None => Split::Need(length),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PDU_OCTETS_MAX;

    #[test]
    fn a_stream_is_cut_where_the_lengths_say() {
        let pdu = |octets: u8| [&[0, 0, 0, octets][..], &vec![octets; usize::from(octets) - 4]].concat();
        let stream = [pdu(16), pdu(20), pdu(16)].concat();
        assert_eq!(split(&stream, PDU_OCTETS_MAX), Ok(Split::Pdu(&stream[..16])));
        assert_eq!(split(&stream[16..], PDU_OCTETS_MAX), Ok(Split::Pdu(&stream[16..36])));
        for end in 0..16 {
            assert_eq!(split(&stream[..end], PDU_OCTETS_MAX), Ok(Split::Need(16)), "{end}");
        }
        for end in 20..36 {
            assert_eq!(split(&stream[16..end], PDU_OCTETS_MAX), Ok(Split::Need(20)), "{end}");
        }
    }

    #[test]
    fn lengths_outside_the_limits_are_refused_by_their_four_octets() {
        for octets in [0u32, 4, 15, 70_001, 100_000_000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] {
            let error = split(&octets.to_be_bytes(), PDU_OCTETS_MAX).unwrap_err();
            assert_eq!(
                (error.status, error.problem),
                (Status::RINVCMDLEN, ParameterProblem::BadLength { octets })
            );
        }
        assert_eq!(split(&70_000u32.to_be_bytes(), PDU_OCTETS_MAX), Ok(Split::Need(70_000)));
    }
}
