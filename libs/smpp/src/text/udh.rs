//! The user data header in front of a message (TS 23.040 §9.2.3.24).

use super::national::Shift;
use super::{Charset, Coding};
use crate::pdu::{DataSm, DeliverSm, SubmitSm};
use crate::tlv::{Tag, Tlvs};
use std::fmt;

/// Concatenated message, 8-bit reference.
const IE_CONCAT8: u8 = 0x00;
/// Application port addressing, 16-bit.
const IE_PORTS16: u8 = 0x05;
/// Concatenated message, 16-bit reference.
const IE_CONCAT16: u8 = 0x08;
/// National language single shift.
const IE_SINGLE_SHIFT: u8 = 0x24;
/// National language locking shift.
const IE_LOCKING_SHIFT: u8 = 0x25;

/// The header of part `number` of `total`, 8-bit reference.
#[must_use]
pub fn concat8(reference: u8, total: u8, number: u8) -> [u8; 6] {
    [5, IE_CONCAT8, 3, reference, total, number]
}

/// The header of part `number` of `total`, 16-bit reference.
#[must_use]
pub fn concat16(reference: u16, total: u8, number: u8) -> [u8; 7] {
    let [high, low] = reference.to_be_bytes();
    [6, IE_CONCAT16, 4, high, low, total, number]
}

/// The element that says the single shift table.
#[must_use]
pub fn single_shift(language: u8) -> [u8; 3] {
    [IE_SINGLE_SHIFT, 1, language]
}

/// The element that says the locking shift table.
#[must_use]
pub fn locking_shift(language: u8) -> [u8; 3] {
    [IE_LOCKING_SHIFT, 1, language]
}

/// A user data header that is longer than its message, or whose elements are longer than it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadUdh;

impl fmt::Display for BadUdh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("user data header runs over its message")
    }
}

impl std::error::Error for BadUdh {}

/// One information element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Which.
    pub id: u8,
    /// Its octets.
    pub data: &'a [u8],
}

/// A user data header, known to be well formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Udh<'a> {
    elements: &'a [u8],
}

/// Which part of which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Concatenation {
    /// What the parts have in common.
    pub reference: u16,
    /// How many parts, 1 to 255.
    pub total: u8,
    /// Which one, 1 to `total`.
    pub number: u8,
    /// Whether the reference has 16 bits: an 8-bit one of the same value is another.
    pub wide: bool,
}

impl Concatenation {
    fn checked(self) -> Option<Self> {
        // TS 23.040 §9.2.3.24.1: other values, ignore the whole element.
        let sound = self.total > 0 && self.number > 0 && self.number <= self.total;
        sound.then_some(self)
    }
}

impl<'a> Udh<'a> {
    /// Splits `message` into its header and the text behind it.
    ///
    /// # Errors
    /// The header's length, or an element's, runs over.
    pub fn split(message: &'a [u8]) -> Result<(Udh<'a>, &'a [u8]), BadUdh> {
        let (&length, rest) = message.split_first().ok_or(BadUdh)?;
        let (elements, text) = rest.split_at_checked(usize::from(length)).ok_or(BadUdh)?;
        let mut left = elements;
        while !left.is_empty() {
            left = split_element(left).ok_or(BadUdh)?.1;
        }
        Ok((Udh { elements }, text))
    }

    /// All elements, in order.
    pub fn elements(self) -> impl Iterator<Item = Element<'a>> {
        let mut left = self.elements;
        std::iter::from_fn(move || {
            let (element, rest) = split_element(left)?;
            left = rest;
            Some(element)
        })
    }

    /// The data of the last element with this id: where one comes twice, the last counts (TS 23.040
    /// §9.2.3.24).
    #[must_use]
    pub fn find(self, id: u8) -> Option<&'a [u8]> {
        self.elements().filter(|element| element.id == id).last().map(|element| element.data)
    }

    /// Which part of which message this is, if it is one.
    #[must_use]
    pub fn concatenation(self) -> Option<Concatenation> {
        if let Some(&[high, low, total, number]) = self.find(IE_CONCAT16) {
            let reference = u16::from_be_bytes([high, low]);
            return Concatenation { reference, total, number, wide: true }.checked();
        }
        let &[reference, total, number] = self.find(IE_CONCAT8)? else {
            return None;
        };
        Concatenation { reference: u16::from(reference), total, number, wide: false }.checked()
    }

    /// Destination and source port.
    #[must_use]
    pub fn ports(self) -> Option<(u16, u16)> {
        let &[a, b, c, d] = self.find(IE_PORTS16)? else {
            return None;
        };
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// The language of the locking shift table (TS 23.038 §6.2.1.2.4).
    #[must_use]
    pub fn locking_shift(self) -> Option<u8> {
        self.find(IE_LOCKING_SHIFT)?.first().copied()
    }

    /// The language of the single shift table (TS 23.038 §6.2.1.2.4).
    #[must_use]
    pub fn single_shift(self) -> Option<u8> {
        self.find(IE_SINGLE_SHIFT)?.first().copied()
    }
}

fn split_element(octets: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&[id, length], rest) = octets.split_first_chunk::<2>()?;
    let (data, rest) = rest.split_at_checked(usize::from(length))?;
    Some((Element { id, data }, rest))
}

/// A received message taken apart: header, place in a longer one, text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserData<'a> {
    /// The header; empty if there is none.
    pub udh: Udh<'a>,
    /// Which part this is, by the header or by the SAR parameters.
    pub concatenation: Option<Concatenation>,
    /// The octets of the text.
    pub text: &'a [u8],
}

impl<'a> UserData<'a> {
    /// Takes a message apart.
    ///
    /// # Errors
    /// The header runs over its message.
    pub fn new(message: &'a [u8], has_udh: bool, tlvs: Tlvs<'a>) -> Result<Self, BadUdh> {
        let (udh, text) = if has_udh { Udh::split(message)? } else { (Udh::default(), message) };
        Ok(UserData { udh, concatenation: udh.concatenation().or_else(|| sar(tlvs)), text })
    }

    /// The text in words: by `data_coding`, 0 being the carrier's default alphabet, and in GSM 7-bit by the
    /// national tables that the header names. What is no character becomes U+FFFD or a space; never fails.
    #[must_use]
    pub fn decode(&self, data_coding: u8, carrier_default: Charset) -> String {
        match Coding::of(data_coding, carrier_default).charset {
            Charset::Gsm7 => Shift::of(self.udh).decode(self.text),
            other => other.decode(self.text),
        }
    }

    /// A deliver_sm's.
    ///
    /// # Errors
    /// The header runs over its message.
    pub fn of_deliver(pdu: &DeliverSm<'a>) -> Result<Self, BadUdh> {
        UserData::new(pdu.message(), pdu.has_udh(), pdu.tlvs)
    }

    /// A submit_sm's.
    ///
    /// # Errors
    /// The header runs over its message.
    pub fn of_submit(pdu: &SubmitSm<'a>) -> Result<Self, BadUdh> {
        UserData::new(pdu.message(), pdu.has_udh(), pdu.tlvs)
    }

    /// A data_sm's.
    ///
    /// # Errors
    /// The header runs over its message.
    pub fn of_data(pdu: &DataSm<'a>) -> Result<Self, BadUdh> {
        UserData::new(pdu.message(), pdu.has_udh(), pdu.tlvs)
    }
}

/// The SAR parameters; all three or none (3.4 §5.3.2.22).
fn sar(tlvs: Tlvs<'_>) -> Option<Concatenation> {
    if tlvs.is_empty() {
        return None;
    }
    let reference = tlvs.find_u16(Tag::SAR_MSG_REF_NUM)?;
    let total = tlvs.find_u8(Tag::SAR_TOTAL_SEGMENTS)?;
    let number = tlvs.find_u8(Tag::SAR_SEGMENT_SEQNUM)?;
    Concatenation { reference, total, number, wide: true }.checked()
}
