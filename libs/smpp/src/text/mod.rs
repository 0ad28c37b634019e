//! The text of messages: which alphabet, how many parts, and the octets.
//!
//! ```
//! use smpp::text::{Charset, Concat, choose, parts, split};
//!
//! let text = "Sirens test at noon. Costs 5 €.";
//! let coding = choose(text, Charset::Gsm7);
//! assert_eq!((coding.charset, coding.data_coding), (Charset::Gsm7, 0));
//! assert_eq!(parts(text, coding.charset, Concat::Udh8), 1);
//!
//! let (mut octets, mut short_message) = (Vec::new(), Vec::new());
//! coding.charset.encode(text, &mut octets)?;
//! for part in split(&octets, coding.charset, Concat::Udh8, 7)? {
//!     short_message.clear();
//!     part.write_short_message(&mut short_message);
//!     // … SubmitSm { esm_class: part.esm_class(), short_message: &short_message, .. }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod gsm7;
pub mod join;
pub mod national;
mod regional;
mod split;
pub mod udh;

#[cfg(test)]
mod tests;

pub use split::{Concat, PARTS_MAX, Part, Parts, TooManyParts, parts, parts_shifted, split, split_shifted};

use std::fmt;

/// How characters become octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// GSM 7-bit default alphabet with its extension, one septet per octet.
    Gsm7,
    /// ASCII (IA5), one character per octet; travels the air as GSM 7-bit.
    Ascii,
    /// ISO 8859-1.
    Latin1,
    /// UCS-2 as everyone sends it: UTF-16, big endian.
    Ucs2,
    /// ISO 8859-5, Cyrillic.
    Cyrillic,
    /// ISO 8859-8, Hebrew, in the order in which it is read.
    Hebrew,
    /// Japanese: written as Shift_JIS; read as ISO-2022-JP, EUC-JP or Shift_JIS, whichever the octets are.
    Japanese,
    /// KS C 5601, Korean, in the form EUC-KR.
    Korean,
    /// Octets that are not text; characters are encoded as in ISO 8859-1.
    Binary,
}

/// An alphabet and the `data_coding` that announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coding {
    /// How characters become octets.
    pub charset: Charset,
    /// The octet in the PDU.
    pub data_coding: u8,
}

/// A character that an alphabet does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEncodable {
    /// The character.
    pub character: char,
    /// Where it begins in the text, in octets of UTF-8.
    pub at: usize,
}

impl fmt::Display for NotEncodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {:?} at octet {} is not in the alphabet", self.character, self.at)
    }
}

impl std::error::Error for NotEncodable {}

/// The cheapest coding that loses nothing: the carrier's default alphabet (`data_coding` 0) if it has every
/// character, else UCS-2 (8).
#[must_use]
pub fn choose(text: &str, carrier_default: Charset) -> Coding {
    if carrier_default.can_encode(text) {
        Coding { charset: carrier_default, data_coding: 0 }
    } else {
        Coding::UCS2
    }
}

/// Like [`choose`] for a class 0 message (flash: shown at once, not stored): GSM 7-bit 0x10, or UCS-2 0x18
/// (TS 23.038 §4). The carrier's default alphabet plays no part there.
#[must_use]
pub fn choose_flash(text: &str) -> Coding {
    if gsm7::can_encode(text) {
        Coding { charset: Charset::Gsm7, data_coding: 0x10 }
    } else {
        Coding { charset: Charset::Ucs2, data_coding: 0x18 }
    }
}

impl Coding {
    /// ISO 8859-1, `data_coding` 3.
    pub const LATIN1: Coding = Coding { charset: Charset::Latin1, data_coding: 3 };
    /// 8-bit binary, `data_coding` 4.
    pub const BINARY: Coding = Coding { charset: Charset::Binary, data_coding: 4 };
    /// UCS-2, `data_coding` 8.
    pub const UCS2: Coding = Coding { charset: Charset::Ucs2, data_coding: 8 };

    /// What a received `data_coding` announces: values up to 0x0F by SMPP's table (3.4 §5.2.19), those above
    /// by TS 23.038 §4. Octets are 8-bit data, what is compressed, pictograms, and SMPP's reserved values;
    /// the reserved codings of TS 23.038 are the GSM alphabet, as it says.
    #[must_use]
    pub fn of(data_coding: u8, carrier_default: Charset) -> Coding {
        let charset = match data_coding {
            0 => carrier_default,
            1 => Charset::Ascii,
            3 => Charset::Latin1,
            // JIS (X 0208-1990), ISO-2022-JP, extended kanji JIS (X 0212-1990): carriers mean any of the
            // three.
            0x05 | 0x0A | 0x0D => Charset::Japanese,
            6 => Charset::Cyrillic,
            7 => Charset::Hebrew,
            8 => Charset::Ucs2,
            0x0E => Charset::Korean,
            0x02 | 0x04 | 0x09 | 0x0B | 0x0C | 0x0F => Charset::Binary,
            // General data coding and automatic deletion: bit 5 is compression, bits 3 and 2 the alphabet.
            0x10..=0x7F if data_coding & 0x20 != 0 => Charset::Binary,
            0x10..=0x7F => match data_coding & 0x0C {
                0x04 => Charset::Binary,
                0x08 => Charset::Ucs2,
                _ => Charset::Gsm7,
            },
            // Reserved.
            0x80..=0xBF => Charset::Gsm7,
            // Message waiting with GSM 7-bit, then with UCS-2.
            0xC0..=0xDF => Charset::Gsm7,
            0xE0..=0xEF => Charset::Ucs2,
            // Data coding and message class: bit 2 is the alphabet.
            0xF0..=0xFF if data_coding & 0x04 == 0 => Charset::Gsm7,
            _ => Charset::Binary,
        };
        Coding { charset, data_coding }
    }

    /// The message class, 0 (flash) to 3, if the coding announces one (TS 23.038 §4).
    #[must_use]
    pub fn class(self) -> Option<u8> {
        let has_class =
            matches!(self.data_coding, 0x10..=0x1F | 0x30..=0x3F | 0x50..=0x5F | 0x70..=0x7F | 0xF0..=0xFF);
        has_class.then_some(self.data_coding & 0x03)
    }
}

impl Charset {
    /// Whether the alphabet has every character of `text`.
    #[must_use]
    pub fn can_encode(self, text: &str) -> bool {
        match self {
            Charset::Gsm7 => gsm7::can_encode(text),
            Charset::Ascii => text.is_ascii(),
            Charset::Latin1 | Charset::Binary => text.chars().all(|character| character as u32 <= 0xFF),
            Charset::Ucs2 => true,
            Charset::Cyrillic | Charset::Hebrew | Charset::Japanese | Charset::Korean => {
                regional::can_encode(self, text)
            }
        }
    }

    /// Appends the octets of `text`.
    ///
    /// # Errors
    /// The first character that the alphabet lacks; `out` is then as it was.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), NotEncodable> {
        let octet_max = match self {
            Charset::Gsm7 => return gsm7::encode(text, out),
            Charset::Ucs2 => {
                encode_ucs2(text, out);
                return Ok(());
            }
            Charset::Cyrillic | Charset::Hebrew | Charset::Japanese | Charset::Korean => {
                return regional::encode(self, text, out);
            }
            Charset::Ascii => 0x7F,
            Charset::Latin1 | Charset::Binary => 0xFF,
        };
        let start = out.len();
        for (at, character) in text.char_indices() {
            if character as u32 > octet_max {
                out.truncate(start);
                return Err(NotEncodable { character, at });
            }
            out.push(character as u8);
        }
        Ok(())
    }

    /// Appends the octets of `text`, `?` for every character that the alphabet lacks, and says how many those
    /// were.
    pub fn encode_lossy(self, text: &str, out: &mut Vec<u8>) -> usize {
        let mut lost = 0;
        let mut utf8 = [0; 4];
        for character in text.chars() {
            if self.encode(character.encode_utf8(&mut utf8), out).is_err() {
                out.push(gsm7::REPLACEMENT);
                lost += 1;
            }
        }
        lost
    }

    /// The text of `octets`. What is no character (half a surrogate pair, an odd octet) becomes U+FFFD.
    #[must_use]
    pub fn decode(self, octets: &[u8]) -> String {
        let mut text = String::with_capacity(octets.len());
        match self {
            Charset::Gsm7 => gsm7::decode(octets, &mut text),
            Charset::Ucs2 => decode_ucs2(octets, &mut text),
            Charset::Cyrillic | Charset::Hebrew | Charset::Japanese | Charset::Korean => {
                regional::decode(self, octets, &mut text);
            }
            Charset::Ascii | Charset::Latin1 | Charset::Binary => {
                text.extend(octets.iter().map(|&octet| char::from(octet)))
            }
        }
        text
    }

    /// Octets of one unit that is counted against a part's limit.
    #[must_use]
    pub fn unit_octets(self) -> usize {
        if self == Charset::Ucs2 { 2 } else { 1 }
    }
}

fn encode_ucs2(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() * 2);
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_be_bytes());
    }
}

fn decode_ucs2(octets: &[u8], out: &mut String) {
    let pairs = octets.chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    out.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    if odd {
        out.push(char::REPLACEMENT_CHARACTER);
    }
}
