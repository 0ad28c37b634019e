//! DerReader of DER (X.690): values with definite lengths, walked in place.

/// Tags that are read here.
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const CONTEXT_0: u8 = 0xa0;
const BOOLEAN: u8 = 0x01;
const NULL: [u8; 2] = [0x05, 0x00];

/// A value with its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value<'a> {
    pub tag: u8,
    pub content: &'a [u8],
    /// With tag and length.
    pub whole: &'a [u8],
}

/// Values one behind the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct DerReader<'a>(&'a [u8]);

impl<'a> DerReader<'a> {
    pub(super) fn new(octets: &'a [u8]) -> DerReader<'a> {
        DerReader(octets)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next value.
    pub(super) fn any(&mut self) -> Result<Value<'a>, String> {
        let (tag, length, head) = header(self.0).ok_or("it is no DER")?;
        let end = head.checked_add(length).filter(|end| *end <= self.0.len()).ok_or("it is cut off")?;
        let (whole, rest) = self.0.split_at(end);
        self.0 = rest;
        Ok(Value { tag, content: &whole[head..], whole })
    }

    /// The next value, which has this tag.
    pub(super) fn value(&mut self, tag: u8) -> Result<Value<'a>, String> {
        match self.any()? {
            value if value.tag == tag => Ok(value),
            other => Err(format!("a value has the tag {:#04x} where {tag:#04x} should be", other.tag)),
        }
    }

    /// The next value, if it has this tag.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<Value<'a>>, String> {
        match self.0.first() {
            Some(next) if *next == tag => self.any().map(Some),
            _ => Ok(None),
        }
    }

    /// What is in the next value, which has this tag.
    pub(super) fn within(&mut self, tag: u8) -> Result<DerReader<'a>, String> {
        Ok(DerReader(self.value(tag)?.content))
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), String> {
        if self.is_empty() { Ok(()) } else { Err("something follows it".to_owned()) }
    }
}

/// Tag, length of the content, octets of both.
fn header(octets: &[u8]) -> Option<(u8, usize, usize)> {
    let (tag, first) = (*octets.first()?, *octets.get(1)?);
    if tag & 0x1f == 0x1f {
        return None; // tags of several octets occur nowhere here
    }
    if first < 0x80 {
        return Some((tag, usize::from(first), 2));
    }
    let count = usize::from(first & 0x7f);
    if !(1..=4).contains(&count) {
        return None;
    }
    let digits = octets.get(2..2 + count)?;
    let length = digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit));
    let is_shortest = digits[0] != 0 && (count > 1 || length >= 0x80);
    is_shortest.then_some((tag, length, 2 + count))
}

/// A value of these contents.
pub(super) fn value(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let length: usize = contents.iter().map(|content| content.len()).sum();
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let digits = length.to_be_bytes();
            let from = digits.iter().position(|digit| *digit != 0).unwrap_or(0);
            out.push(0x80 | (digits.len() - from) as u8);
            out.extend(&digits[from..]);
        }
    }
    contents.iter().for_each(|content| out.extend(*content));
    out
}

/// An integer from 0 on.
pub(super) fn unsigned(number: u64) -> Vec<u8> {
    let mut octets = vec![0];
    octets.extend(number.to_be_bytes());
    let from = octets.windows(2).position(|pair| pair[0] != 0 || pair[1] >= 0x80);
    value(INTEGER, &[&octets[from.unwrap_or(octets.len() - 1)..]])
}

pub(super) fn truth() -> Vec<u8> {
    value(BOOLEAN, &[&[0xff]])
}

/// AlgorithmIdentifier without parameters.
pub(super) fn algorithm(oid: &[u8]) -> Vec<u8> {
    value(SEQUENCE, &[&value(OID, &[oid]), &NULL])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_lengths_have_their_shortest_form() {
        for (number, expected) in [
            (0, &[2, 1, 0][..]),
            (127, &[2, 1, 127]),
            (128, &[2, 2, 0, 128]),
            (256, &[2, 2, 1, 0]),
            (u64::MAX, &[2, 9, 0, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            assert_eq!(unsigned(number), expected, "{number}");
        }
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let octets = value(OCTET_STRING, &[&vec![7; length]]);
            let read = DerReader::new(&octets).value(OCTET_STRING).unwrap();
            assert_eq!((read.content.len(), read.whole.len()), (length, octets.len()));
        }
    }

    #[test]
    fn what_is_no_der_is_refused() {
        for octets in [
            &[][..],
            &[0x30],
            &[0x30, 1],
            &[0x30, 0x80, 0, 0],
            &[0x30, 0x81, 0x05, 1, 2, 3, 4, 5],
            &[0x30, 0x82, 0x00, 0x80],
            &[0x30, 0x85, 1, 1, 1, 1, 1],
            &[0x1f, 0x81, 0],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert!(DerReader::new(octets).any().is_err(), "{octets:?}");
        }
    }
}
