//! A byte stream cut into messages: the length is judged by its four octets, before anything is waited for or
//! allocated.

use crate::header::HEADER_OCTETS;
use crate::result_code;
use std::error::Error;
use std::fmt;

/// The framing of a stream is lost: answer with `result_code` if the header is there, then reset the
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameError {
    /// The length that the header says, in octets.
    pub length: u32,
    /// The greatest that is accepted.
    pub octets_max: u32,
}

impl FrameError {
    /// DIAMETER_INVALID_MESSAGE_LENGTH, 5015.
    pub const fn result_code(&self) -> u32 {
        result_code::INVALID_MESSAGE_LENGTH
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FrameError { length, octets_max } = self;
        if *length > *octets_max {
            write!(
                f,
                "the peer announced a message of {length} octets, more than the {octets_max} accepted here"
            )
        } else {
            write!(
                f,
                "the peer announced a message of {length} octets: it must be a multiple of 4 and at least 20"
            )
        }
    }
}

impl Error for FrameError {}

/// The first whole message of `input`, header included; the next begins right behind it. `None`: more octets
/// are needed.
///
/// `octets_max` is the greatest length to accept: a longer one is refused by its first four octets. The
/// version is not looked at here: a message of another version is answered (5011) and its framing goes on.
///
/// # Errors
/// A length under 20, over `octets_max` or not a multiple of four: nothing behind it can be found any more.
#[inline]
pub fn next_frame(input: &[u8], octets_max: u32) -> Result<Option<&[u8]>, FrameError> {
    let Some(&[_, a, b, c]) = input.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes([0, a, b, c]);
    if (length as usize) < HEADER_OCTETS || length > octets_max || !length.is_multiple_of(4) {
        return Err(FrameError { length, octets_max });
    }
    Ok(input.get(..length as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(octets: u8) -> Vec<u8> {
        [&[1, 0, 0, octets][..], &vec![octets; usize::from(octets) - 4]].concat()
    }

    #[test]
    fn a_stream_is_cut_where_the_lengths_say() {
        let stream = [message(20), message(32), message(20)].concat();
        assert_eq!(next_frame(&stream, 1000), Ok(Some(&stream[..20])));
        assert_eq!(next_frame(&stream[20..], 1000), Ok(Some(&stream[20..52])));
        assert_eq!(next_frame(&stream[52..], 1000), Ok(Some(&stream[52..])));
        for end in 0..20 {
            assert_eq!(next_frame(&stream[..end], 1000), Ok(None), "{end}");
        }
    }

    #[test]
    fn a_stream_that_comes_one_octet_at_a_time_is_cut_the_same() {
        let stream = [message(24), message(20), message(200)].concat();
        let (mut cut, mut begin) = (Vec::new(), 0);
        for end in 1..=stream.len() {
            while let Some(frame) = next_frame(&stream[begin..end], 1000).unwrap() {
                cut.push(frame.len());
                begin += frame.len();
            }
        }
        assert_eq!((cut, begin), (vec![24, 20, 200], stream.len()));
    }

    #[test]
    fn hostile_lengths_are_refused_by_four_octets() {
        for length in [0u32, 1, 7, 8, 16, 19, 21, 30, 1004, 0xFF_FFFC, 0xFF_FFFF] {
            let mut octets = length.to_be_bytes();
            octets[0] = 1;
            assert_eq!(next_frame(&octets, 1000), Err(FrameError { length, octets_max: 1000 }));
        }
        assert_eq!(next_frame(&[1, 0, 3, 0xE8], 1000), Ok(None), "the maximum itself is accepted");
        assert_eq!(FrameError { length: 7, octets_max: 9 }.result_code(), 5015);
    }

    #[test]
    fn another_version_keeps_the_framing() {
        let mut octets = message(20);
        octets[0] = 7;
        assert_eq!(next_frame(&octets, 1000), Ok(Some(&octets[..])));
    }
}
