//! Alphabets of `data_coding` 5, 6, 7, 10, 13 and 14 (3.4 §5.2.19): Cyrillic, Hebrew, Japanese, Korean.

use super::{Charset, NotEncodable};
use encoding_rs::{EUC_JP, EUC_KR, Encoding, ISO_2022_JP, ISO_8859_5, ISO_8859_8, SHIFT_JIS};

/// Begins each change of alphabet in ISO-2022-JP.
const ESCAPE: u8 = 0x1B;

/// The encoding that an alphabet is written in; Latin for those that are not of this file.
fn written(charset: Charset) -> &'static Encoding {
    match charset {
        Charset::Cyrillic => ISO_8859_5,
        Charset::Hebrew => ISO_8859_8,
        Charset::Korean => EUC_KR,
        _ => SHIFT_JIS,
    }
}

/// The encoding of received octets. The three forms of Japanese exclude each other but for a text of
/// half-width katakana alone: ISO-2022-JP has escapes, and the octets of EUC-JP above 0x7F come in pairs that
/// are all above 0xA0.
fn received(charset: Charset, octets: &[u8]) -> &'static Encoding {
    if charset != Charset::Japanese {
        return written(charset);
    }
    if octets.contains(&ESCAPE) {
        return ISO_2022_JP;
    }
    let is_euc = EUC_JP.decode_without_bom_handling_and_without_replacement(octets).is_some();
    if is_euc { EUC_JP } else { SHIFT_JIS }
}

/// Appends the text; what is no character becomes U+FFFD.
pub(super) fn decode(charset: Charset, octets: &[u8], text: &mut String) {
    text.push_str(&received(charset, octets).decode_without_bom_handling(octets).0);
}

pub(super) fn can_encode(charset: Charset, text: &str) -> bool {
    !written(charset).encode(text).2
}

/// Appends the octets; `out` is as it was where the alphabet lacks a character.
pub(super) fn encode(charset: Charset, text: &str, out: &mut Vec<u8>) -> Result<(), NotEncodable> {
    let (octets, _, lossy) = written(charset).encode(text);
    if lossy {
        let lacks = |character: &char| !can_encode(charset, character.encode_utf8(&mut [0; 4]));
        let first = text.char_indices().find(|(_, character)| lacks(character));
        let (at, character) = first.unwrap_or((0, char::REPLACEMENT_CHARACTER));
        return Err(NotEncodable { character, at });
    }
    out.extend_from_slice(&octets);
    Ok(())
}
