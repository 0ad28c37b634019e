//! CBOR items (RFC 8949), read within bounds: what WebAuthn writes, of definite and indefinite lengths.
//!
//! Tags and simple values but `false`, `true`, `null` and `undefined` are refused, as is a key that stands
//! twice in a map. A length is believed only as far as there are octets.

use std::fmt;

/// Octets of one item with all that is in it.
pub const OCTETS_MAX: usize = 64 * 1_024;
/// Arrays and maps within each other; an item beside them has depth 0 (CTAP 2.1 §8 allows four).
pub const DEPTH_MAX: usize = 4;
/// Items altogether, with those in arrays and maps and the chunks of strings.
pub const ITEMS_MAX: usize = 4_096;

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub enum CborValue {
    /// Major type 0.
    Unsigned(u64),
    /// Major type 1: -1 less this.
    Negative(u64),
    /// Major type 2.
    Octets(Vec<u8>),
    /// Major type 3.
    Text(String),
    /// Major type 4.
    Array(Vec<CborValue>),
    /// Major type 5, in the order of the octets; no key stands twice.
    Map(Vec<(CborValue, CborValue)>),
    /// `false` and `true`.
    Bool(bool),
    /// `null`.
    Null,
    /// `undefined`.
    Undefined,
    /// A float of 16, 32 or 64 bits.
    Float(f64),
}

/// Octets are no item that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CborError {
    /// Over [`OCTETS_MAX`].
    TooLong,
    /// The octets end within an item.
    Cut,
    /// Octets follow the item.
    Trailing,
    /// Arrays and maps are deeper than [`DEPTH_MAX`].
    TooDeep,
    /// Over [`ITEMS_MAX`].
    TooMany,
    /// The initial octet is reserved, or a break stands where none may.
    Initial(u8),
    /// A tag (major type 6).
    Tag,
    /// A text that is not UTF-8.
    Utf8,
    /// A chunk of a string is no definite string of the same type.
    Chunk,
    /// A key stands twice in a map.
    DuplicateKey,
}

impl fmt::Display for CborError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CborError::TooLong => write!(f, "CBOR of more than {OCTETS_MAX} octets"),
            CborError::Cut => f.write_str("CBOR that ends within an item"),
            CborError::Trailing => f.write_str("octets after the CBOR item"),
            CborError::TooDeep => write!(f, "CBOR arrays and maps deeper than {DEPTH_MAX}"),
            CborError::TooMany => write!(f, "CBOR of more than {ITEMS_MAX} items"),
            CborError::Initial(octet) => {
                write!(f, "CBOR with the initial octet 0x{octet:02x}, which is not read here")
            }
            CborError::Tag => f.write_str("CBOR with a tag, which is not read here"),
            CborError::Utf8 => f.write_str("a CBOR text that is not UTF-8"),
            CborError::Chunk => f.write_str("a CBOR string with a chunk of another type"),
            CborError::DuplicateKey => f.write_str("a CBOR map with a key that stands twice"),
        }
    }
}

impl std::error::Error for CborError {}

impl CborValue {
    /// An integer within `i64`.
    pub fn integer(&self) -> Option<i64> {
        match self {
            CborValue::Unsigned(value) => i64::try_from(*value).ok(),
            CborValue::Negative(value) => i64::try_from(*value).ok().map(|value| -1 - value),
            _ => None,
        }
    }

    /// The octets of a byte string.
    pub fn octets(&self) -> Option<&[u8]> {
        if let CborValue::Octets(octets) = self { Some(octets) } else { None }
    }

    /// The text of a text string.
    pub fn text(&self) -> Option<&str> {
        if let CborValue::Text(text) = self { Some(text) } else { None }
    }

    /// The value of an integer key of a map.
    pub fn at(&self, label: i64) -> Option<&CborValue> {
        self.entries()?.iter().find(|(key, _)| key.integer() == Some(label)).map(|(_, value)| value)
    }

    /// The value of a text key of a map.
    pub fn named(&self, name: &str) -> Option<&CborValue> {
        self.entries()?.iter().find(|(key, _)| key.text() == Some(name)).map(|(_, value)| value)
    }

    fn entries(&self) -> Option<&[(CborValue, CborValue)]> {
        if let CborValue::Map(entries) = self { Some(entries) } else { None }
    }
}

/// Reads octets that are one item.
///
/// # Errors
/// They are no item, more than one, or beyond a bound.
pub fn read(octets: &[u8]) -> Result<CborValue, CborError> {
    let (value, used) = read_first(octets)?;
    if used < octets.len() { Err(CborError::Trailing) } else { Ok(value) }
}

/// Reads the item that octets begin with, and says how many it takes.
///
/// # Errors
/// They begin with no item, or one beyond a bound.
pub fn read_first(octets: &[u8]) -> Result<(CborValue, usize), CborError> {
    if octets.len() > OCTETS_MAX {
        return Err(CborError::TooLong);
    }
    let mut reader = CborReader { rest: octets, items_left: ITEMS_MAX };
    let value = reader.item(0)?;
    Ok((value, octets.len() - reader.rest.len()))
}

/// Begin of an item.
enum CborHead {
    /// Its major type and its argument.
    Definite(u8, u64),
    /// A string, array or map until a break.
    Indefinite(u8),
    /// Whole items of major type 7.
    Simple(CborValue),
    Break,
}

struct CborReader<'a> {
    rest: &'a [u8],
    items_left: usize,
}

impl<'a> CborReader<'a> {
    fn item(&mut self, depth: usize) -> Result<CborValue, CborError> {
        let head = self.head()?;
        self.item_of(head, depth)
    }

    /// An item, or nothing at a break.
    fn item_or_break(&mut self, depth: usize) -> Result<Option<CborValue>, CborError> {
        match self.head()? {
            CborHead::Break => Ok(None),
            head => self.item_of(head, depth).map(Some),
        }
    }

    fn item_of(&mut self, head: CborHead, depth: usize) -> Result<CborValue, CborError> {
        let inner = depth + 1;
        if matches!(head, CborHead::Definite(4 | 5, _) | CborHead::Indefinite(4 | 5)) && inner > DEPTH_MAX {
            return Err(CborError::TooDeep);
        }
        match head {
            CborHead::Definite(0, value) => Ok(CborValue::Unsigned(value)),
            CborHead::Definite(1, value) => Ok(CborValue::Negative(value)),
            CborHead::Definite(2, length) => Ok(CborValue::Octets(self.take(length)?.to_vec())),
            CborHead::Definite(3, length) => self.text(length).map(CborValue::Text),
            CborHead::Definite(4, count) => {
                // Not reserved: an item has an octet at least, and those may not be there.
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(self.item(inner)?);
                }
                Ok(CborValue::Array(items))
            }
            CborHead::Definite(5, count) => {
                let mut entries = Vec::new();
                for _ in 0..count {
                    let key = self.item(inner)?;
                    self.insert(&mut entries, key, inner)?;
                }
                Ok(CborValue::Map(entries))
            }
            CborHead::Definite(..) => Err(CborError::Tag),
            CborHead::Indefinite(major) => self.indefinite(major, inner),
            CborHead::Simple(value) => Ok(value),
            CborHead::Break => Err(CborError::Initial(0xff)),
        }
    }

    fn indefinite(&mut self, major: u8, inner: usize) -> Result<CborValue, CborError> {
        match major {
            2 => self.chunks(2, |reader, length| Ok(reader.take(length)?.to_vec())).map(CborValue::Octets),
            3 => {
                // Each chunk is whole UTF-8 by itself (RFC 8949 §3.2.3).
                let octets = self.chunks(3, |reader, length| reader.text(length).map(String::into_bytes))?;
                String::from_utf8(octets).map(CborValue::Text).map_err(|_| CborError::Utf8)
            }
            4 => {
                let mut items = Vec::new();
                while let Some(item) = self.item_or_break(inner)? {
                    items.push(item);
                }
                Ok(CborValue::Array(items))
            }
            _ => {
                let mut entries = Vec::new();
                while let Some(key) = self.item_or_break(inner)? {
                    self.insert(&mut entries, key, inner)?;
                }
                Ok(CborValue::Map(entries))
            }
        }
    }

    fn chunks(
        &mut self,
        major: u8,
        read: impl Fn(&mut Self, u64) -> Result<Vec<u8>, CborError>,
    ) -> Result<Vec<u8>, CborError> {
        let mut all = Vec::new();
        loop {
            match self.head()? {
                CborHead::Break => return Ok(all),
                CborHead::Definite(of, length) if of == major => all.append(&mut read(self, length)?),
                _ => return Err(CborError::Chunk),
            }
        }
    }

    fn insert(
        &mut self,
        entries: &mut Vec<(CborValue, CborValue)>,
        key: CborValue,
        inner: usize,
    ) -> Result<(), CborError> {
        if entries.iter().any(|(known, _)| *known == key) {
            return Err(CborError::DuplicateKey);
        }
        let value = self.item(inner)?;
        entries.push((key, value));
        Ok(())
    }

    fn text(&mut self, length: u64) -> Result<String, CborError> {
        let octets = self.take(length)?;
        std::str::from_utf8(octets).map(str::to_owned).map_err(|_| CborError::Utf8)
    }

    fn head(&mut self) -> Result<CborHead, CborError> {
        self.items_left = self.items_left.checked_sub(1).ok_or(CborError::TooMany)?;
        let initial = self.number(1)? as u8;
        let (major, additional) = (initial >> 5, initial & 0x1f);
        if major == 7 {
            return self.simple(initial, additional);
        }
        match additional {
            0..24 => Ok(CborHead::Definite(major, u64::from(additional))),
            24..28 => Ok(CborHead::Definite(major, self.number(1 << (additional - 24))?)),
            31 if (2..=5).contains(&major) => Ok(CborHead::Indefinite(major)),
            _ => Err(CborError::Initial(initial)),
        }
    }

    fn simple(&mut self, initial: u8, additional: u8) -> Result<CborHead, CborError> {
        Ok(CborHead::Simple(match additional {
            20 => CborValue::Bool(false),
            21 => CborValue::Bool(true),
            22 => CborValue::Null,
            23 => CborValue::Undefined,
            25 => CborValue::Float(half(self.number(2)? as u16)),
            26 => CborValue::Float(f64::from(f32::from_bits(self.number(4)? as u32))),
            27 => CborValue::Float(f64::from_bits(self.number(8)?)),
            31 => return Ok(CborHead::Break),
            _ => return Err(CborError::Initial(initial)),
        }))
    }

    /// A number of one to eight octets, the highest first.
    fn number(&mut self, octets: u64) -> Result<u64, CborError> {
        Ok(self.take(octets)?.iter().fold(0, |value, octet| value << 8 | u64::from(*octet)))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], CborError> {
        let length = usize::try_from(length).map_err(|_| CborError::Cut)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CborError::Cut)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// A float of 16 bits (RFC 8949 Appendix D).
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => mantissa * 2_f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (mantissa + 1_024.0) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Writes an item: lengths definite and as short as they can be, floats of 64 bits, maps in their order.
pub fn write(value: &CborValue, out: &mut Vec<u8>) {
    match value {
        CborValue::Unsigned(value) => head(0, *value, out),
        CborValue::Negative(value) => head(1, *value, out),
        CborValue::Octets(octets) => {
            head(2, octets.len() as u64, out);
            out.extend_from_slice(octets);
        }
        CborValue::Text(text) => {
            head(3, text.len() as u64, out);
            out.extend_from_slice(text.as_bytes());
        }
        CborValue::Array(items) => {
            head(4, items.len() as u64, out);
            items.iter().for_each(|item| write(item, out));
        }
        CborValue::Map(entries) => {
            head(5, entries.len() as u64, out);
            for (key, value) in entries {
                write(key, out);
                write(value, out);
            }
        }
        CborValue::Bool(value) => out.push(0xf4 + u8::from(*value)),
        CborValue::Null => out.push(0xf6),
        CborValue::Undefined => out.push(0xf7),
        CborValue::Float(value) => {
            out.push(0xfb);
            out.extend_from_slice(&value.to_bits().to_be_bytes());
        }
    }
}

fn head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let octets = argument.to_be_bytes();
    let (additional, count) = match argument {
        0..24 => (argument as u8, 0),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    out.push(major << 5 | additional);
    out.extend_from_slice(&octets[8 - count..]);
}
