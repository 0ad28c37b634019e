//! The alphabets of short messages, read and written by the simulator's own tables, so that a mistake in the
//! library under test does not hide behind the same mistake here.

use std::borrow::Cow;

/// GSM 03.38's default alphabet (3GPP TS 23.038 §6.2.1), in the order of its codes; 0x1B is the escape.
const GSM: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u{1B}ÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?\
                   ¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
/// Its extension table: code behind the escape, character.
const EXTENSION: [(u8, char); 10] = [
    (0x0A, '\u{0C}'),
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
const ESCAPE: u8 = 0x1B;

/// `data_coding` of UCS-2.
pub(super) const UCS2: u8 = 8;

/// Reads a message's octets by its `data_coding`; binary messages are shown in hexadecimal.
pub(super) fn read(data_coding: u8, octets: &[u8]) -> Cow<'_, str> {
    match alphabet(data_coding) {
        Alphabet::Gsm => match std::str::from_utf8(octets) {
            Ok(text) if octets.iter().all(|&octet| is_same_in_ascii(octet)) => Cow::Borrowed(text),
            _ => Cow::Owned(read_gsm(octets)),
        },
        Alphabet::Latin1 => Cow::Owned(octets.iter().map(|&octet| char::from(octet)).collect()),
        Alphabet::Ucs2 => {
            let (pairs, _) = octets.as_chunks::<2>();
            let units = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
            Cow::Owned(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
        }
        Alphabet::Binary => Cow::Owned(octets.iter().map(|octet| format!("{octet:02x}")).collect()),
    }
}

enum Alphabet {
    Gsm,
    Latin1,
    Ucs2,
    Binary,
}

/// 3.4 §5.2.19: the low values are alphabets; from 0xF0 on, and from 0x10, GSM's data coding with a message
/// class.
fn alphabet(data_coding: u8) -> Alphabet {
    match data_coding {
        0x00 | 0x01 => Alphabet::Gsm,
        0x03 => Alphabet::Latin1,
        UCS2 => Alphabet::Ucs2,
        0x10..=0x1F | 0xF0..=0xFF => match (data_coding & 0xF0, data_coding & 0x0C) {
            (0x10, 0x08) => Alphabet::Ucs2,
            (0x10, 0x04) | (0xF0, 0x04 | 0x0C) => Alphabet::Binary,
            _ => Alphabet::Gsm,
        },
        _ => Alphabet::Binary,
    }
}

fn is_same_in_ascii(octet: u8) -> bool {
    matches!(octet, b' '..=b'#' | b'%'..=b'?' | b'A'..=b'Z' | b'a'..=b'z' | b'\n' | b'\r')
}

fn read_gsm(octets: &[u8]) -> String {
    let table: Vec<char> = GSM.chars().collect();
    let mut text = String::with_capacity(octets.len());
    let mut octets = octets.iter();
    while let Some(&octet) = octets.next() {
        let code = octet & 0x7F;
        if code != ESCAPE {
            text.push(table[usize::from(code)]);
            continue;
        }
        let extended = octets.next().and_then(|after| EXTENSION.iter().find(|(code, _)| code == after));
        text.push(extended.map_or(' ', |(_, c)| *c));
    }
    text
}

/// Writes a text as a phone would: GSM's alphabet where that has all of it, else UCS-2. Returns the
/// `data_coding`.
pub(super) fn write(text: &str) -> (u8, Vec<u8>) {
    match write_gsm(text) {
        Some(octets) => (0, octets),
        None => (UCS2, text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    }
}

/// Cuts what [`write`] wrote into pieces of so many octets at most, behind no escape and within no surrogate
/// pair.
pub(super) fn cut(data_coding: u8, mut octets: &[u8], octets_max: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while octets.len() > octets_max {
        let mut end = octets_max;
        if data_coding == UCS2 {
            end -= end % 2;
            // A high surrogate has its other half behind it.
            if octets[end - 2] & 0xFC == 0xD8 {
                end -= 2;
            }
        } else if octets[end - 1] == ESCAPE {
            end -= 1;
        }
        let (piece, rest) = octets.split_at(end);
        pieces.push(piece);
        octets = rest;
    }
    pieces.push(octets);
    pieces
}

fn write_gsm(text: &str) -> Option<Vec<u8>> {
    let mut octets = Vec::with_capacity(text.len());
    for c in text.chars() {
        if let Some((code, _)) = EXTENSION.iter().find(|(_, extended)| *extended == c) {
            octets.extend([ESCAPE, *code]);
        } else {
            let code = GSM.chars().position(|known| known == c && known != '\u{1B}')?;
            octets.push(code as u8);
        }
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_128_places() {
        let table: Vec<char> = GSM.chars().collect();
        assert_eq!(table.len(), 128);
        for (code, c) in
            [(0x00, '@'), (0x10, 'Δ'), (0x1F, 'É'), (0x20, ' '), (0x40, '¡'), (0x5F, '§'), (0x7F, 'à')]
        {
            assert_eq!(table[code], c, "{code:#x}");
        }
    }

    #[test]
    fn texts_read_as_they_were_written() {
        for (text, coding) in [
            ("plain text, 7 bits", 0),
            ("@£$ {curly} [square] €100 ~ ^ \\ |", 0),
            ("Åsa är på Öland", 0),
            ("Łódź", UCS2),
            ("👍 done", UCS2),
            ("", 0),
        ] {
            let (data_coding, octets) = write(text);
            assert_eq!((data_coding, read(data_coding, &octets).as_ref()), (coding, text));
        }
    }

    #[test]
    fn every_data_coding_is_read_somehow() {
        assert_eq!(read(3, &[0xE5, 0x41]), "åA");
        assert_eq!(read(4, &[0x00, 0xFF]), "00ff");
        assert_eq!(read(0xF0, b"flash"), "flash");
        assert_eq!(read(0x18, &[0x26, 0x3A]), "☺");
        assert_eq!(read(0, &[0x1B]), " ");
        assert_eq!(read(8, &[0xD8, 0x00, 0x41]), "\u{FFFD}");
        for coding in 0..=255 {
            read(coding, &[0x1B, 0xFF, 0x80]);
        }
    }
}
