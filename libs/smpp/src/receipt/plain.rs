//! The text of a receipt in ASCII, whatever the coding it came in.

use super::text::parse;
use crate::text::{Charset, Coding};
use std::borrow::Cow;

/// The octets of a receipt's text, read by its `data_coding`: some carriers send receipts as UCS-2. `text` is
/// the message behind its header. A carrier's word on the coding is only believed where a receipt comes out:
/// some announce UCS-2 and write ASCII, or the reverse.
#[must_use]
pub fn plain_text(text: &[u8], data_coding: u8) -> Cow<'_, [u8]> {
    let is_wide = Coding::of(data_coding, Charset::Ascii).charset == Charset::Ucs2;
    if !is_wide && is_receipt(text) {
        return Cow::Borrowed(text);
    }
    // An octet of zero is in every character of a receipt in UTF-16, and in none of another.
    if !text.contains(&0) {
        return Cow::Borrowed(text);
    }
    let forms = [u16::from_be_bytes, u16::from_le_bytes].map(|order| narrow(text, order));
    match forms.into_iter().find(|form| is_receipt(form)) {
        Some(form) => Cow::Owned(form),
        None => Cow::Borrowed(text),
    }
}

fn is_receipt(text: &[u8]) -> bool {
    let receipt = parse(text);
    !receipt.text_id.is_empty() || receipt.state.is_some()
}

/// UTF-16 as UTF-8.
fn narrow(text: &[u8], order: fn([u8; 2]) -> u16) -> Vec<u8> {
    let units = text.as_chunks::<2>().0.iter().map(|pair| order(*pair));
    let characters = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
    characters.collect::<String>().into_bytes()
}
