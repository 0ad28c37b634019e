//! Messages in a stream (RFC 3261 section 18.3), and the keep-alives between them (RFC 5626 section 3.5.1).

use super::{SipMessage, head_end};
use crate::error::SipParseError;
use crate::limits::{BODY_OCTETS_MAX, HEAD_OCTETS_MAX};

/// One thing that a stream brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFrame {
    /// A whole message, for [`SipMessage::parse`].
    Message(Vec<u8>),
    /// CRLF CRLF: the peer wants a pong, which is CRLF.
    Ping,
    /// CRLF: the answer to a ping of ours.
    Pong,
}

/// Assembles the messages of one connection. Content-Length is held to [`BODY_OCTETS_MAX`] before it is
/// believed; no more than a head and a body wait here.
#[derive(Debug, Default)]
pub struct StreamFramer {
    buffer: Vec<u8>,
    /// Octets of the message that the buffer begins with, once its head is there.
    whole: Option<usize>,
    /// Octets in which no end of a head was found.
    searched: usize,
}

impl StreamFramer {
    /// Takes octets in, in pieces of any size. Read them by [`StreamFramer::next_frame`] before more come.
    pub fn push(&mut self, octets: &[u8]) {
        self.buffer.extend_from_slice(octets);
    }

    /// The next frame, or nothing until more octets come. `awaits_pong` says whether a ping of ours is not
    /// answered: only then a lone CRLF is a pong, and else perhaps the first half of a ping.
    ///
    /// # Errors
    /// The stream cannot be read on: a head or body over its limit, no Content-Length. Close the connection.
    pub fn next_frame(&mut self, awaits_pong: bool) -> Result<Option<StreamFrame>, SipParseError> {
        if self.whole.is_none() {
            if let Some(frame) = self.take_keep_alive(awaits_pong) {
                return Ok(Some(frame));
            }
            self.measure()?;
        }
        let Some(whole) = self.whole.filter(|whole| *whole <= self.buffer.len()) else {
            return Ok(None);
        };
        self.whole = None;
        self.searched = 0;
        Ok(Some(StreamFrame::Message(self.take(whole))))
    }

    /// Octets that wait for the rest of their message.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(count);
        std::mem::replace(&mut self.buffer, rest)
    }

    fn take_keep_alive(&mut self, awaits_pong: bool) -> Option<StreamFrame> {
        loop {
            match self.buffer.as_slice() {
                [b'\r', b'\n', b'\r', b'\n', ..] => {
                    self.take(4);
                    return Some(StreamFrame::Ping);
                }
                [b'\r', b'\n', ..] if awaits_pong => {
                    self.take(2);
                    return Some(StreamFrame::Pong);
                }
                // Perhaps half a ping.
                [] | [b'\r'] | [b'\r', b'\n'] | [b'\r', b'\n', b'\r'] => return None,
                [b'\r', b'\n', ..] => drop(self.take(2)),
                [b'\r' | b'\n', ..] => drop(self.take(1)),
                _ => return None,
            }
        }
    }

    fn measure(&mut self) -> Result<(), SipParseError> {
        let too_long = SipParseError::TooLong { part: "octets of the head", max: HEAD_OCTETS_MAX };
        if self.buffer.first().is_none_or(|octet| b"\r\n".contains(octet)) {
            return Ok(());
        }
        // The end may begin up to three octets before what is new.
        let from = self.searched.saturating_sub(3);
        let unread = &self.buffer[from..];
        let has_end =
            unread.windows(2).any(|pair| pair == b"\n\n") || unread.windows(3).any(|w| w == b"\n\r\n");
        let end = if has_end { head_end(&self.buffer) } else { None };
        let Some(end) = end else {
            self.searched = self.buffer.len();
            return if self.buffer.len() > HEAD_OCTETS_MAX { Err(too_long) } else { Ok(()) };
        };
        if end > HEAD_OCTETS_MAX {
            return Err(too_long);
        }
        let head = SipMessage::parse_head(&self.buffer[..end])?;
        let length = head.content_length()?.ok_or(SipParseError::Missing("Content-Length"))?;
        if length > BODY_OCTETS_MAX {
            return Err(SipParseError::TooLong { part: "octets of the body", max: BODY_OCTETS_MAX });
        }
        self.whole = Some(end + length);
        Ok(())
    }
}
