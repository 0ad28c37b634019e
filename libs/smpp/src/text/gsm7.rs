//! The GSM 7-bit default alphabet and its extension table (TS 23.038 §6.2.1), one septet per octet as SMPP
//! carries it.

use super::NotEncodable;

/// Announces a character of the extension table.
pub const ESCAPE: u8 = 0x1B;
/// What stands for a character that has no code.
pub(super) const REPLACEMENT: u8 = b'?';
/// Octet value of a character without a code in the tables below.
const NONE: u8 = 0xFF;
/// Set in [`LATIN`] for characters of the extension table.
const EXTENDED: u8 = 0x80;

/// The default alphabet; ESCAPE stands at its own place.
pub(super) const BASIC: [char; 128] = [
    '@', '£', '$', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', '\n', 'Ø', 'ø', '\r', 'Å', 'å', 'Δ', '_', 'Φ', 'Γ',
    'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', '\u{1b}', 'Æ', 'æ', 'ß', 'É', ' ', '!', '"', '#', '¤', '%', '&', '\'',
    '(', ')', '*', '+', ',', '-', '.', '/', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<',
    '=', '>', '?', '¡', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q',
    'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§', '¿', 'a', 'b', 'c', 'd', 'e', 'f',
    'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä',
    'ö', 'ñ', 'ü', 'à',
];

/// The extension table: code behind the escape, and character.
pub(super) const EXTENSION: [(u8, char); 10] = [
    (0x0A, '\u{c}'),
    (0x14, '^'),
    (0x28, '{'),
    (0x29, '}'),
    (0x2F, '\\'),
    (0x3C, '['),
    (0x3D, '~'),
    (0x3E, ']'),
    (0x40, '|'),
    (0x65, '€'),
];

/// Codes of U+0000 to U+00FF; the others (Greek, €) are looked up.
const LATIN: [u8; 256] = {
    let mut table = [NONE; 256];
    let mut code = 0;
    while code < BASIC.len() {
        let character = BASIC[code] as usize;
        if character < table.len() && code != ESCAPE as usize {
            table[character] = code as u8;
        }
        code += 1;
    }
    let mut row = 0;
    while row < EXTENSION.len() {
        let (code, character) = EXTENSION[row];
        if (character as usize) < table.len() {
            table[character as usize] = code | EXTENDED;
        }
        row += 1;
    }
    table
};

/// A character's code: its septet, and whether it comes behind an escape. `None` when it has none.
#[inline]
pub(super) fn code(character: char) -> Option<(u8, bool)> {
    if let Some(&code) = LATIN.get(character as usize) {
        return (code != NONE).then_some((code & !EXTENDED, code & EXTENDED != 0));
    }
    if character == '€' {
        return Some((0x65, true));
    }
    let greek = BASIC[0x10..0x1B].iter().position(|&basic| basic == character)?;
    Some((0x10 + greek as u8, false))
}

/// Septets of a character: 1, 2 behind an escape; `None` when it has no code.
#[inline]
#[must_use]
pub fn septets(character: char) -> Option<usize> {
    code(character).map(|(_, extended)| if extended { 2 } else { 1 })
}

/// Whether every character has a code.
#[must_use]
pub fn can_encode(text: &str) -> bool {
    text.chars().all(|character| code(character).is_some())
}

/// Appends the septets of `text`, one per octet.
///
/// # Errors
/// The first character without a code; `out` is then as it was.
pub fn encode(text: &str, out: &mut Vec<u8>) -> Result<(), NotEncodable> {
    let start = out.len();
    out.reserve(text.len());
    for (at, character) in text.char_indices() {
        let Some((septet, extended)) = code(character) else {
            out.truncate(start);
            return Err(NotEncodable { character, at });
        };
        if extended {
            out.push(ESCAPE);
        }
        out.push(septet);
    }
    Ok(())
}

/// Appends the text of `septets` to `out`. An escape before a code that the extension table lacks shows the
/// default alphabet's character (TS 23.038 §6.2.1.1); two escapes, or one at the end, show a space.
pub fn decode(septets: &[u8], out: &mut String) {
    let mut septets = septets.iter().map(|octet| octet & 0x7F);
    while let Some(septet) = septets.next() {
        if septet != ESCAPE {
            out.push(BASIC[usize::from(septet)]);
            continue;
        }
        match septets.next() {
            None | Some(ESCAPE) => out.push(' '),
            Some(code) => {
                let extended =
                    EXTENSION.iter().find(|(row, _)| *row == code).map(|(_, character)| *character);
                out.push(extended.unwrap_or(BASIC[usize::from(code)]));
            }
        }
    }
}

/// Packs septets eight into seven octets (TS 23.038 §6.1.2.1), after `fill_bits` (0 to 6) zero bits, as
/// behind a user data header that does not end on a septet.
pub fn pack(septets: &[u8], fill_bits: u32, out: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0u32, fill_bits % 7);
    for &septet in septets {
        pending |= u32::from(septet & 0x7F) << bits;
        bits += 7;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

/// Unpacks `count` septets (fewer when the octets end) that begin after `fill_bits` (0 to 6).
pub fn unpack(octets: &[u8], fill_bits: u32, count: usize, out: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0u32, 0u32);
    let mut skip = fill_bits % 7;
    let mut left = count;
    for &octet in octets {
        pending |= u32::from(octet) << bits;
        bits += 8;
        let skipped = skip.min(bits);
        (pending, bits, skip) = (pending >> skipped, bits - skipped, skip - skipped);
        while bits >= 7 && left > 0 {
            out.push((pending & 0x7F) as u8);
            (pending, bits, left) = (pending >> 7, bits - 7, left - 1);
        }
    }
}
