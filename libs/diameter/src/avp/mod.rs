//! AVPs read in place (RFC 6733, section 4): a walk over octets, no tree, nothing on the heap.
//!
//! Padding follows the RFC to the letter: every AVP is padded to a multiple of four octets, the last of a
//! group too, since the length of a Grouped AVP counts the padding of its members (section 4.2). Only what
//! the padding octets hold is free.

mod value;

pub use value::{Address, time_octets};

use crate::result_code;
use std::error::Error;
use std::fmt;

/// Octets of an AVP's header without a vendor.
pub const AVP_HEADER_OCTETS: usize = 8;
/// Octets of an AVP's header with a vendor.
pub const VENDOR_HEADER_OCTETS: usize = 12;
/// The greatest length the 24 bits of an AVP's header can say.
pub const AVP_OCTETS_MAX: usize = 0xFF_FFFF;
/// How many groups may stand in one another.
pub const DEPTH_MAX: u8 = 16;

/// What an AVP is called: the code alone says nothing, the vendor is part of the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AvpName {
    /// AVP Code.
    pub code: u32,
    /// Vendor-ID, 0 for the IETF's own, which have none on the wire.
    pub vendor: u32,
}

impl AvpName {
    /// One of the IETF's.
    pub const fn ietf(code: u32) -> AvpName {
        AvpName { code, vendor: 0 }
    }
}

/// As the dictionary calls it, else as `vendor:code`.
impl fmt::Display for AvpName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::dictionary::lookup(*self) {
            Some(rule) => f.write_str(rule.text),
            None => write!(f, "{}:{}", self.vendor, self.code),
        }
    }
}

impl fmt::Debug for AvpName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AvpName({}:{} {self})", self.vendor, self.code)
    }
}

/// The flags of an AVP. Reserved bits and `P` are kept as they came and mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AvpFlags(pub u8);

impl AvpFlags {
    /// None of them.
    pub const NONE: AvpFlags = AvpFlags(0);
    /// `V`: a Vendor-ID follows.
    pub const VENDOR: AvpFlags = AvpFlags(0x80);
    /// `M`: who does not know it must refuse the message.
    pub const MANDATORY: AvpFlags = AvpFlags(0x40);
    /// `P`: of an end-to-end security that was never made; ignored.
    pub const PROTECTED: AvpFlags = AvpFlags(0x20);

    /// Whether all of these bits are set.
    #[inline]
    pub const fn contains(self, other: AvpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// `V` is set.
    #[inline]
    pub const fn is_vendor(self) -> bool {
        self.contains(Self::VENDOR)
    }

    /// `M` is set.
    #[inline]
    pub const fn is_mandatory(self) -> bool {
        self.contains(Self::MANDATORY)
    }
}

/// What is wrong with an AVP. The peer is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvpProblem {
    /// Fewer octets are left than its header has.
    Header,
    /// Its length is below its header's, or with its padding runs past the end of what it stands in.
    Length {
        /// The length said.
        length: u32,
    },
    /// Its data is not of a size that its type can have.
    Size {
        /// Octets of data.
        octets: u32,
    },
    /// Its data is not UTF-8, or no identity.
    Text,
    /// Its value is none that its type can have.
    Value,
    /// It is a group inside [`DEPTH_MAX`] groups.
    TooDeep,
}

/// An AVP that cannot be read, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvpError {
    /// Which; as much of its name as there was, the rest zeros.
    pub name: AvpName,
    /// Its flags.
    pub flags: AvpFlags,
    /// What is wrong.
    pub problem: AvpProblem,
}

impl AvpError {
    /// What to answer: 5014 for lengths, 5004 for values (RFC 6733, section 7.1.5), 5012 for what is over a
    /// limit of ours.
    pub const fn result_code(&self) -> u32 {
        match self.problem {
            AvpProblem::Header | AvpProblem::Length { .. } | AvpProblem::Size { .. } => {
                result_code::INVALID_AVP_LENGTH
            }
            AvpProblem::Text | AvpProblem::Value => result_code::INVALID_AVP_VALUE,
            AvpProblem::TooDeep => result_code::UNABLE_TO_COMPLY,
        }
    }
}

impl fmt::Display for AvpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.problem {
            AvpProblem::Header => write!(f, "the header of {name} is cut off"),
            AvpProblem::Length { length } => {
                write!(f, "the length field of {name} is {length}, which does not fit its group or message")
            }
            AvpProblem::Size { octets } => {
                write!(f, "{name} has {octets} octets of data, which its type cannot have")
            }
            AvpProblem::Text => write!(f, "{name} holds no text that its type allows"),
            AvpProblem::Value => write!(f, "{name} has a value that its type cannot have"),
            AvpProblem::TooDeep => write!(f, "{name} stands in more than {DEPTH_MAX} groups"),
        }
    }
}

impl Error for AvpError {}

/// One AVP, pointing into the message. Copies are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avp<'a> {
    /// What it is called.
    pub name: AvpName,
    /// Its flags, as they came.
    pub flags: AvpFlags,
    /// In how many groups the walk that found it was already.
    depth: u8,
    /// Its data, without padding.
    pub data: &'a [u8],
    /// The whole of it: header and data, without padding.
    pub octets: &'a [u8],
}

impl<'a> Avp<'a> {
    /// An error about this AVP.
    #[cold]
    pub(crate) fn error(&self, problem: AvpProblem) -> AvpError {
        AvpError { name: self.name, flags: self.flags, problem }
    }

    /// The AVPs of a group. Inside [`DEPTH_MAX`] groups it yields one error, so that who recurses cannot be
    /// made to without end.
    #[inline]
    pub fn group(&self) -> Avps<'a> {
        Avps { rest: self.data, depth: self.depth + 1, refused: self.depth >= DEPTH_MAX, of: self.name }
    }
}

/// A walk over AVPs in place. After an error it ends: what is behind it cannot be found any more.
#[derive(Clone, Copy, Debug)]
pub struct Avps<'a> {
    rest: &'a [u8],
    depth: u8,
    refused: bool,
    of: AvpName,
}

impl<'a> Avps<'a> {
    /// Over the octets behind a message's header.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Avps<'a> {
        Avps { rest: octets, depth: 0, refused: false, of: AvpName::ietf(0) }
    }

    /// The octets not walked yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The first AVP from here on with this name, in front of what is malformed.
    #[inline]
    pub fn find_name(self, name: AvpName) -> Option<Avp<'a>> {
        self.map_while(Result::ok).find(|avp| avp.name == name)
    }

    #[inline]
    fn read(&mut self) -> Result<Avp<'a>, AvpError> {
        let rest = self.rest;
        let Some(&[c0, c1, c2, c3, flags, l0, l1, l2]) = rest.first_chunk::<AVP_HEADER_OCTETS>() else {
            return Err(self.cut_off());
        };
        let code = u32::from_be_bytes([c0, c1, c2, c3]);
        let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
        let flags = AvpFlags(flags);
        let (vendor, header) = if flags.is_vendor() {
            let Some(&[_, _, _, _, _, _, _, _, v0, v1, v2, v3]) = rest.first_chunk::<VENDOR_HEADER_OCTETS>()
            else {
                return Err(self.cut_off());
            };
            (u32::from_be_bytes([v0, v1, v2, v3]), VENDOR_HEADER_OCTETS)
        } else {
            (0, AVP_HEADER_OCTETS)
        };
        let name = AvpName { code, vendor };
        let padded = (length + 3) & !3;
        // Padded fits, so does the length; the data begins behind a header that is there.
        let (Some(octets), Some(data), Some(behind)) =
            (rest.get(..length), rest.get(header..length), rest.get(padded..))
        else {
            return Err(AvpError { name, flags, problem: AvpProblem::Length { length: length as u32 } });
        };
        self.rest = behind;
        Ok(Avp { name, flags, depth: self.depth, data, octets })
    }

    /// The header as far as it goes, the rest zeros.
    #[cold]
    fn cut_off(&self) -> AvpError {
        let mut header = [0; VENDOR_HEADER_OCTETS];
        for (to, from) in header.iter_mut().zip(self.rest) {
            *to = *from;
        }
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let flags = AvpFlags(header[4]);
        let vendor = if flags.is_vendor() { word(8) } else { 0 };
        AvpError { name: AvpName { code: word(0), vendor }, flags, problem: AvpProblem::Header }
    }

    #[cold]
    fn refuse(&mut self) -> AvpError {
        self.rest = &[];
        self.refused = false;
        AvpError { name: self.of, flags: AvpFlags::NONE, problem: AvpProblem::TooDeep }
    }
}

impl<'a> Iterator for Avps<'a> {
    type Item = Result<Avp<'a>, AvpError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.refused {
            return Some(Err(self.refuse()));
        }
        if self.rest.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.rest = &[];
        }
        Some(read)
    }
}

impl std::iter::FusedIterator for Avps<'_> {}

#[cfg(test)]
mod tests;
