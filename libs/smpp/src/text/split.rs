//! Cutting a long message into parts that the air interface carries, 140 octets each (TS 23.040 §9.2.3.24.1).

use super::gsm7::ESCAPE;
use super::national::Shift;
use super::{Charset, udh};
use crate::error::EncodeError;
use crate::limits::TLV_OCTETS_MAX;
use crate::pdu::esm_class;
use crate::tlv::{Tag, TlvBuf};
use std::fmt;

/// Parts of one message: the reference element counts them in an octet.
pub const PARTS_MAX: usize = 255;
/// User data of one message on the air interface, header included, in octets.
const AIR_OCTETS_MAX: usize = 140;
/// The concatenation element with an 8-bit reference, in octets.
const CONCAT8_OCTETS: usize = 5;
/// The concatenation element with a 16-bit reference, in octets.
const CONCAT16_OCTETS: usize = 6;
/// The longest header made here: length, 16-bit concatenation, two shifts.
const HEADER_OCTETS_MAX: usize = 1 + CONCAT16_OCTETS + 3 + 3;

/// How the parts of a message say that they belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Concat {
    /// A user data header with an 8-bit reference: understood everywhere.
    #[default]
    Udh8,
    /// A user data header with a 16-bit reference: fewer mix-ups, one octet dearer.
    Udh16,
    /// `sar_msg_ref_num`, `sar_total_segments`, `sar_segment_seqnum`: the SMSC makes the header. Its
    /// reference has 16 bits, so the parts leave room for that.
    Sar,
    /// One PDU with the whole message in `message_payload`: the SMSC does the cutting.
    Payload,
}

impl Concat {
    /// How many units (septets, octets, UTF-16 units) a message may have alone, and each part of a longer
    /// one.
    #[must_use]
    pub fn limits(self, charset: Charset) -> (usize, usize) {
        self.limits_shifted(charset, Shift::NONE)
    }

    /// Like [`Concat::limits`], with a header that says the national language tables of GSM 7-bit.
    #[must_use]
    pub fn limits_shifted(self, charset: Charset, shift: Shift) -> (usize, usize) {
        let alone = header_octets(shift.octets());
        if self == Concat::Payload {
            let units = (TLV_OCTETS_MAX - alone) / charset.unit_octets();
            return (units, units);
        }
        let element = if self == Concat::Udh8 { CONCAT8_OCTETS } else { CONCAT16_OCTETS };
        let room = |header: usize| {
            let octets = AIR_OCTETS_MAX - header;
            match charset {
                Charset::Gsm7 | Charset::Ascii => octets * 8 / 7,
                Charset::Ucs2 => octets / 2,
                Charset::Latin1
                | Charset::Cyrillic
                | Charset::Hebrew
                | Charset::Japanese
                | Charset::Korean
                | Charset::Binary => octets,
            }
        };
        (room(alone), room(header_octets(element + shift.octets())))
    }
}

/// Octets of a user data header with elements of so many: none, or its length octet and them.
fn header_octets(elements: usize) -> usize {
    if elements == 0 { 0 } else { 1 + elements }
}

/// How many parts `text` makes, without making them; at least 1. Characters that the alphabet lacks count as
/// the `?` that [`Charset::encode_lossy`] puts there. The answer may be over [`PARTS_MAX`].
#[must_use]
pub fn parts(text: &str, charset: Charset, concat: Concat) -> usize {
    parts_shifted(text, charset, Shift::NONE, concat)
}

/// Like [`parts`], with the national language tables of GSM 7-bit; other alphabets have none.
#[must_use]
pub fn parts_shifted(text: &str, charset: Charset, shift: Shift, concat: Concat) -> usize {
    let (single, part) = concat.limits_shifted(charset, shift);
    // Every character costs at most twice its octets of UTF-8.
    if text.len() * 2 <= single {
        return 1;
    }
    let cost = |character: char| match charset {
        Charset::Gsm7 => shift.septets(character).unwrap_or(1),
        Charset::Ucs2 => character.len_utf16(),
        Charset::Japanese | Charset::Korean => {
            if character.is_ascii() {
                1
            } else {
                2
            }
        }
        Charset::Ascii | Charset::Latin1 | Charset::Cyrillic | Charset::Hebrew | Charset::Binary => 1,
    };
    let (mut total, mut parts, mut used) = (0, 1, 0);
    for units in text.chars().map(cost) {
        total += units;
        used += units;
        if used > part {
            parts += 1;
            used = units;
        }
    }
    if total <= single { 1 } else { parts }
}

/// More parts than a reference element can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyParts {
    /// How many it would have been.
    pub parts: usize,
}

impl fmt::Display for TooManyParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message makes {} parts, over the limit of {PARTS_MAX}", self.parts)
    }
}

impl std::error::Error for TooManyParts {}

/// Cuts `octets`, as [`Charset::encode`] made them, into parts that point into it. `reference` ties the parts
/// together; its low octet counts for [`Concat::Udh8`].
///
/// # Errors
/// More than [`PARTS_MAX`] parts; more than one for [`Concat::Payload`].
pub fn split(
    octets: &[u8],
    charset: Charset,
    concat: Concat,
    reference: u16,
) -> Result<Parts<'_>, TooManyParts> {
    split_shifted(octets, charset, Shift::NONE, concat, reference)
}

/// Like [`split`], for septets that [`Shift::encode`] made: each part has a header that says the tables.
///
/// # Errors
/// As [`split`].
pub fn split_shifted(
    octets: &[u8],
    charset: Charset,
    shift: Shift,
    concat: Concat,
    reference: u16,
) -> Result<Parts<'_>, TooManyParts> {
    let (single, part) = concat.limits_shifted(charset, shift);
    let unit = charset.unit_octets();
    let whole = octets.len() <= single * unit;
    if !whole && concat == Concat::Payload {
        return Err(TooManyParts { parts: octets.len().div_ceil(single * unit) });
    }
    let part_octets = if whole { single * unit } else { part * unit };
    let mut total = 0;
    let mut rest = octets;
    while !rest.is_empty() || total == 0 {
        rest = &rest[cut(rest, charset, part_octets)..];
        total += 1;
        if total > PARTS_MAX {
            let parts = total + rest.len().div_ceil(part_octets);
            return Err(TooManyParts { parts });
        }
    }
    Ok(Parts { rest: octets, charset, shift, concat, reference, part_octets, total: total as u8, number: 0 })
}

/// Where the first part of `octets` ends: at its limit, or one unit before it where that would split a pair.
fn cut(octets: &[u8], charset: Charset, part_octets: usize) -> usize {
    if octets.len() <= part_octets {
        return octets.len();
    }
    let splits_pair = match charset {
        Charset::Gsm7 => ends_in_escape(&octets[..part_octets]),
        // A high surrogate, 0xD800 to 0xDBFF, has its other half in the next part.
        Charset::Ucs2 => octets[part_octets - 2] & 0xFC == 0xD8,
        Charset::Ascii
        | Charset::Latin1
        | Charset::Cyrillic
        | Charset::Hebrew
        | Charset::Japanese
        | Charset::Korean
        | Charset::Binary => false,
    };
    if splits_pair { part_octets - charset.unit_octets() } else { part_octets }
}

/// Whether the last septet is an escape that belongs to the next one. An escape may itself be escaped: of a
/// run of them, the last one is open only when their number is odd.
fn ends_in_escape(septets: &[u8]) -> bool {
    septets.iter().rev().take_while(|&&septet| septet == ESCAPE).count() % 2 == 1
}

/// The parts of a message, in order.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    rest: &'a [u8],
    charset: Charset,
    shift: Shift,
    concat: Concat,
    reference: u16,
    part_octets: usize,
    total: u8,
    number: u8,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if self.number == self.total {
            return None;
        }
        self.number += 1;
        let (payload, rest) = self.rest.split_at(cut(self.rest, self.charset, self.part_octets));
        self.rest = rest;
        let (shift, concat, reference) = (self.shift, self.concat, self.reference);
        Some(Part { payload, shift, concat, reference, total: self.total, number: self.number })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.total - self.number);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Parts<'_> {}

/// One part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its text, without a header.
    pub payload: &'a [u8],
    /// The tables its septets are of, said in its header.
    pub shift: Shift,
    /// How it is tied to the others.
    pub concat: Concat,
    /// What all parts of the message have in common.
    pub reference: u16,
    /// How many parts there are, 1 to 255.
    pub total: u8,
    /// Which one this is, 1 to `total`.
    pub number: u8,
}

impl Part<'_> {
    /// The bits to set in `esm_class`: UDHI when the part has a user data header.
    #[must_use]
    pub fn esm_class(&self) -> u8 {
        if self.header().is_empty() { 0 } else { esm_class::UDHI }
    }

    /// Appends what goes into `short_message`: the user data header, if any, and the text. Nothing for
    /// [`Concat::Payload`].
    pub fn write_short_message(&self, out: &mut Vec<u8>) {
        if self.concat == Concat::Payload {
            return;
        }
        out.extend_from_slice(&self.header());
        out.extend_from_slice(self.payload);
    }

    /// Appends what goes into the TLVs: SAR parameters, or the payload with its header. Nothing for the user
    /// data headers.
    ///
    /// # Errors
    /// A payload over 65,535 octets, which [`split`] does not make.
    pub fn write_tlvs(&self, out: &mut TlvBuf) -> Result<(), EncodeError> {
        if self.concat == Concat::Payload {
            out.push_joined(Tag::MESSAGE_PAYLOAD, &[&self.header(), self.payload])?;
        }
        if self.concat == Concat::Sar && self.total > 1 {
            out.push_u16(Tag::SAR_MSG_REF_NUM, self.reference);
            out.push_u8(Tag::SAR_TOTAL_SEGMENTS, self.total);
            out.push_u8(Tag::SAR_SEGMENT_SEQNUM, self.number);
        }
        Ok(())
    }

    /// The user data header with its length octet; empty without elements.
    fn header(&self) -> UdhHeader {
        let mut header = UdhHeader::default();
        if self.total > 1 {
            match self.concat {
                Concat::Udh8 => {
                    header.push(&udh::concat8(self.reference as u8, self.total, self.number)[1..])
                }
                Concat::Udh16 => header.push(&udh::concat16(self.reference, self.total, self.number)[1..]),
                Concat::Sar | Concat::Payload => {}
            }
        }
        if let Some(language) = self.shift.single {
            header.push(&udh::single_shift(language.code()));
        }
        if let Some(language) = self.shift.locking {
            header.push(&udh::locking_shift(language.code()));
        }
        header
    }
}

/// A user data header on the stack.
#[derive(Default)]
struct UdhHeader {
    octets: [u8; HEADER_OCTETS_MAX],
    /// Octets of the elements.
    len: usize,
}

impl UdhHeader {
    fn push(&mut self, element: &[u8]) {
        let start = 1 + self.len;
        self.octets[start..start + element.len()].copy_from_slice(element);
        self.len += element.len();
        self.octets[0] = self.len as u8;
    }
}

impl std::ops::Deref for UdhHeader {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..header_octets(self.len)]
    }
}
