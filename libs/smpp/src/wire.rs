//! Reading and writing of the specification's basic types (§3.1): integers, C-octet strings, octet strings.

use crate::error::{DecodeError, EncodeError, ParameterProblem};
use crate::limits::{
    DESTINATIONS_MAX, DESTINATIONS_MAX_V5, Field, MESSAGE_ID, MESSAGE_ID_V33_OCTETS_MAX,
    SHORT_MESSAGE_OCTETS_MAX, SHORT_MESSAGE_OCTETS_MAX_V5,
};
use crate::pdu::Version;
use crate::status::Status;
use crate::tlv::{Tag, Tlvs};

/// A cursor over a body. Every length is checked against what is there.
pub(crate) struct BodyReader<'a> {
    rest: &'a [u8],
}

impl<'a> BodyReader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        BodyReader { rest: body }
    }

    #[inline]
    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        let (&first, rest) = self.rest.split_first().ok_or(truncated(field))?;
        self.rest = rest;
        Ok(first)
    }

    #[inline]
    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        let (octets, rest) = self.rest.split_first_chunk::<4>().ok_or(truncated(field))?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*octets))
    }

    /// A C-octet string, without its NUL.
    #[inline]
    pub(crate) fn cstring(&mut self, field: &Field) -> Result<&'a [u8], DecodeError> {
        // Most are empty.
        if let Some((&0, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(b"");
        }
        self.filled_cstring(field)
    }

    #[inline]
    fn filled_cstring(&mut self, field: &Field) -> Result<&'a [u8], DecodeError> {
        let window = &self.rest[..self.rest.len().min(field.octets_max)];
        if let Some(end) = nul_at(window) {
            let text = &window[..end];
            self.rest = &self.rest[end + 1..];
            return Ok(text);
        }
        if self.rest.len() >= field.octets_max {
            let problem = ParameterProblem::TooLong { octets_max: field.octets_max };
            return Err(DecodeError { status: field.status, field: field.name, problem });
        }
        let problem =
            if self.rest.is_empty() { ParameterProblem::Truncated } else { ParameterProblem::Unterminated };
        Err(DecodeError { status: Status::RINVCMDLEN, field: field.name, problem })
    }

    /// A C-octet string of a response: some peers leave out the NUL at the body's end, or the whole string.
    pub(crate) fn cstring_of_response(&mut self, field: &Field) -> Result<&'a [u8], DecodeError> {
        if self.rest.len() < field.octets_max && nul_at(self.rest).is_none() {
            return Ok(std::mem::take(&mut self.rest));
        }
        self.cstring(field)
    }

    #[inline]
    pub(crate) fn octets(
        &mut self,
        count: usize,
        field: &'static str,
        status: Status,
    ) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(DecodeError {
            status,
            field,
            problem: ParameterProblem::Truncated,
        })?;
        self.rest = rest;
        Ok(head)
    }

    /// What is left of the body, as TLVs.
    #[inline]
    pub(crate) fn tlvs(self) -> Result<Tlvs<'a>, DecodeError> {
        Tlvs::parse(self.rest)
    }

    /// What is left of a carrier's body, as TLVs as far as it is some: see [`Tlvs::parse_whole`].
    pub(crate) fn whole_tlvs(self) -> Tlvs<'a> {
        Tlvs::parse_whole(self.rest)
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// Where the first NUL is. Eight octets at a time: this is most of what reading and writing a short PDU
/// costs.
#[inline]
fn nul_at(octets: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (mut at, mut rest) = (0, octets);
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        // The lowest bit set is that of the first zero octet; those above it may lie.
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        (at, rest) = (at + 8, after);
    }
    rest.iter().position(|&octet| octet == 0).map(|place| at + place)
}

fn truncated(field: &'static str) -> DecodeError {
    DecodeError { status: Status::RINVCMDLEN, field, problem: ParameterProblem::Truncated }
}

/// Writes a body at the end of the caller's buffer.
pub struct BodyWriter<'o> {
    out: &'o mut Vec<u8>,
    version: Version,
}

impl<'o> BodyWriter<'o> {
    /// A writer to a peer of this version.
    #[inline]
    pub(crate) fn new(out: &'o mut Vec<u8>, version: Version) -> Self {
        BodyWriter { out, version }
    }

    #[inline]
    pub(crate) fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    #[inline]
    pub(crate) fn raw(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    #[inline]
    pub(crate) fn cstring(&mut self, text: &[u8], field: &Field) -> Result<(), EncodeError> {
        if text.is_empty() {
            self.out.push(0);
            return Ok(());
        }
        self.filled_cstring(text, field)
    }

    fn filled_cstring(&mut self, text: &[u8], field: &Field) -> Result<(), EncodeError> {
        if text.len() >= field.octets_max {
            let problem = ParameterProblem::TooLong { octets_max: field.octets_max };
            return Err(EncodeError { field: field.name, problem });
        }
        if nul_at(text).is_some() {
            return Err(EncodeError { field: field.name, problem: ParameterProblem::InnerNul });
        }
        self.out.extend_from_slice(text);
        self.out.push(0);
        Ok(())
    }

    /// The `message_id` of a response: to a peer of 3.3 at most 8 hexadecimal digits.
    #[inline]
    pub(crate) fn message_id(&mut self, id: &[u8]) -> Result<(), EncodeError> {
        if !self.version.has_tlvs() {
            let field = MESSAGE_ID.name;
            if id.len() > MESSAGE_ID_V33_OCTETS_MAX {
                let problem = ParameterProblem::TooLong { octets_max: MESSAGE_ID_V33_OCTETS_MAX };
                return Err(EncodeError { field, problem });
            }
            if !id.iter().all(u8::is_ascii_hexdigit) {
                return Err(EncodeError { field, problem: ParameterProblem::BadValue });
            }
        }
        self.cstring(id, &MESSAGE_ID)
    }

    /// The short message behind its length octet: at most 254 octets, 255 in 5.0.
    #[inline]
    pub(crate) fn short_message(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        let v5 = self.version >= Version::V5_0;
        let octets_max = if v5 { SHORT_MESSAGE_OCTETS_MAX_V5 } else { SHORT_MESSAGE_OCTETS_MAX };
        if text.len() > octets_max {
            return Err(EncodeError {
                field: "short_message",
                problem: ParameterProblem::TooLong { octets_max },
            });
        }
        self.out.push(text.len() as u8);
        self.out.extend_from_slice(text);
        Ok(())
    }

    /// How many destinations follow: at most 254, 255 in 5.0.
    pub(crate) fn destination_count(&mut self, count: u8) -> Result<(), EncodeError> {
        let limit = if self.version >= Version::V5_0 { DESTINATIONS_MAX_V5 } else { DESTINATIONS_MAX };
        if usize::from(count) > limit {
            return Err(EncodeError {
                field: "number_of_dests",
                problem: ParameterProblem::TooMany { limit },
            });
        }
        self.out.push(count);
        Ok(())
    }

    /// The TLVs, or nothing to a peer below 3.4; a payload that such a peer would silently lose is an error.
    #[inline]
    pub(crate) fn tlvs(&mut self, tlvs: Tlvs<'_>) -> Result<(), EncodeError> {
        if self.version.has_tlvs() {
            self.out.extend_from_slice(tlvs.as_bytes());
        } else if tlvs.find(Tag::MESSAGE_PAYLOAD).is_some() {
            return Err(EncodeError { field: "message_payload", problem: ParameterProblem::NotAllowed });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Random;

    #[test]
    fn a_nul_is_found_where_it_is() {
        let seed = 0x5EED_0003;
        let mut random = Random(seed);
        for length in 0..40 {
            for round in 0..200 {
                // Octets near 0 and 0x80 are what the arithmetic could stumble over.
                let octets: Vec<u8> =
                    (0..length).map(|_| [0, 1, 2, 0x7F, 0x80, 0x81, 0xFF][random.below(7)]).collect();
                let octets = if round % 2 == 0 { octets } else { octets.iter().map(|o| o | 1).collect() };
                let expected = octets.iter().position(|&octet| octet == 0);
                assert_eq!(nul_at(&octets), expected, "seed {seed:#x}: {octets:?}");
            }
        }
    }
}
