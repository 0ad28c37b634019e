//! One whole message: its header, and its AVPs walked in place.

use crate::avp::{Avp, AvpName, Avps};
use crate::header::{HEADER_OCTETS, Header};
use crate::result_code;
use std::error::Error;
use std::fmt;

/// Why a frame is not a message. The peer is to blame; its connection goes on while the framing is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// Fewer octets than a header has.
    Truncated {
        /// How many there are.
        octets: usize,
    },
    /// Not version 1.
    Version {
        /// The version said.
        version: u8,
    },
    /// A length under 20, not a multiple of four, or not that of the frame.
    Length {
        /// The length said.
        length: u32,
        /// Octets of the frame.
        octets: usize,
    },
}

impl MessageError {
    /// What to answer: 5011 for another version, else 5015.
    pub const fn result_code(&self) -> u32 {
        match self {
            MessageError::Version { .. } => result_code::UNSUPPORTED_VERSION,
            MessageError::Truncated { .. } | MessageError::Length { .. } => {
                result_code::INVALID_MESSAGE_LENGTH
            }
        }
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageError::Truncated { octets } => {
                write!(f, "{octets} octets are too few for a message: the header alone has {HEADER_OCTETS}")
            }
            MessageError::Version { version } => {
                write!(f, "the peer uses version {version} of Diameter; only version 1 exists")
            }
            MessageError::Length { length, octets } => {
                write!(f, "the message's length field is {length}, its frame has {octets} octets")
            }
        }
    }
}

impl Error for MessageError {}

/// A message, pointing into the frame it was read from. Copies are free; nothing of it is on the heap.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its header.
    pub header: Header,
    octets: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads one whole frame, as [`next_frame`](crate::frame::next_frame) cuts it. The AVPs are judged as
    /// they are walked.
    ///
    /// # Errors
    /// Another version, or a length that is not the frame's.
    #[inline]
    pub fn read(frame: &'a [u8]) -> Result<Message<'a>, MessageError> {
        let header = Header::read(frame)?;
        if header.length as usize != frame.len() {
            return Err(MessageError::Length { length: header.length, octets: frame.len() });
        }
        Ok(Message { header, octets: frame })
    }

    /// The AVPs at the top, in their order.
    #[inline]
    pub fn avps(&self) -> Avps<'a> {
        Avps::new(self.octets.get(HEADER_OCTETS..).unwrap_or_default())
    }

    /// The first AVP at the top with this name. What is malformed behind it is not looked at; in front of it,
    /// it ends the search.
    pub fn find(&self, name: AvpName) -> Option<Avp<'a>> {
        self.avps().map_while(Result::ok).find(|avp| avp.name == name)
    }

    /// The whole message, header included.
    #[inline]
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Where an AVP of this message begins, in octets from the message's first.
    #[inline]
    pub fn position(&self, avp: &Avp<'a>) -> u32 {
        // Both point into one frame of under 2^24 octets.
        (avp.octets.as_ptr() as usize).wrapping_sub(self.octets.as_ptr() as usize) as u32
    }

    /// The AVP that begins at a [`position`](Self::position), whichever group it stands in. It must be one
    /// that was walked.
    #[inline]
    pub fn avp_at(&self, position: u32) -> Option<Avp<'a>> {
        Avps::new(self.octets.get(position as usize..)?).next()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::avp;
    use crate::header::CommandFlags;
    use crate::write::Writer;

    fn watchdog() -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::request(&mut out, 280, 0, CommandFlags::REQUEST, 1, 2);
        writer.identity(avp::ORIGIN_HOST, "a.example");
        writer.identity(avp::ORIGIN_REALM, "example");
        writer.u32(avp::ORIGIN_STATE_ID, 77);
        writer.finish();
        out
    }

    #[test]
    fn avps_are_found_by_name_and_by_position() {
        let octets = watchdog();
        let message = Message::read(&octets).unwrap();
        assert_eq!((message.header.command, message.header.length as usize), (280, octets.len()));
        let state = message.find(avp::ORIGIN_STATE_ID).unwrap();
        assert_eq!(state.u32(), Ok(77));
        assert_eq!(message.avp_at(message.position(&state)), Some(state));
        assert_eq!(message.find(avp::SESSION_ID), None);
        let other_vendor = AvpName { vendor: 10415, ..avp::ORIGIN_STATE_ID };
        assert_eq!(message.find(other_vendor), None, "the vendor is part of the name");
    }

    #[test]
    fn a_frame_of_another_length_than_it_says_is_refused() {
        let mut octets = watchdog();
        octets.extend([0; 4]);
        let length = octets.len() as u32 - 4;
        let error = Message::read(&octets).unwrap_err();
        assert_eq!(error, MessageError::Length { length, octets: octets.len() });
        assert_eq!(error.result_code(), 5015);
        octets[0] = 2;
        assert_eq!(Message::read(&octets).unwrap_err().result_code(), 5011);
        assert!(Message::read(&octets[..10]).is_err());
    }
}
