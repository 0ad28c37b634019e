//! A text's octets into characters, by the name of its charset.

use encoding_rs::{Encoding, REPLACEMENT, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::borrow::Cow;

/// There is no known charset of this name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownCharset;

/// The characters of a text. Without a charset they are UTF-8 or, where they are not valid UTF-8,
/// windows-1252. Octets that are no characters become question marks, which every alphabet has.
pub(super) fn text<'a>(charset: Option<&[u8]>, octets: &'a [u8]) -> Result<Cow<'a, str>, UnknownCharset> {
    match charset.map(<[u8]>::trim_ascii).unwrap_or_default() {
        b"" => Ok(match std::str::from_utf8(octets) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => WINDOWS_1252.decode_without_bom_handling(octets).0,
        }),
        b"UTF-8" | b"utf-8" if octets.is_ascii() => Ok(String::from_utf8_lossy(octets)),
        label => decode(label, octets).map(question_marks),
    }
}

fn decode<'a>(label: &[u8], octets: &'a [u8]) -> Result<Cow<'a, str>, UnknownCharset> {
    let label = label.to_ascii_lowercase();
    match label.as_slice() {
        // The byte order is that of the byte order mark, or else that of the machines on which Kannel runs.
        b"utf-16" | b"utf16" | b"ucs-2" | b"ucs2" => Ok(UTF_16LE.decode(octets).0),
        b"ucs-2be" | b"utf16be" => Ok(UTF_16BE.decode_with_bom_removal(octets).0),
        b"ucs-2le" | b"utf16le" => Ok(UTF_16LE.decode_with_bom_removal(octets).0),
        label => {
            let known = Encoding::for_label(label).filter(|known| *known != REPLACEMENT);
            known.map(|known| known.decode_with_bom_removal(octets).0).ok_or(UnknownCharset)
        }
    }
}

fn question_marks(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return Cow::Owned(text.replace(char::REPLACEMENT_CHARACTER, "?"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charsets_are_known_by_their_usual_names() {
        let cases: [(&str, &[u8], &str); 13] = [
            ("", "grün €".as_bytes(), "grün €"),
            ("", b"gr\xFCn \x80", "grün €"),
            ("UTF-8", "grün".as_bytes(), "grün"),
            ("utf8", b"a\xFFb", "a?b"),
            ("ISO-8859-1", b"gr\xFCn", "grün"),
            ("latin1", b"\xFC", "ü"),
            ("windows-1252", b"\x80", "€"),
            ("CP1251", b"\xCF\xF0", "Пр"),
            ("UTF-16BE", b"\x00H\xD8\x3D\xDE\x42", "H🙂"),
            ("UTF-16LE", b"H\x00", "H"),
            ("UTF-16", b"\xFE\xFF\x00H", "H"),
            ("UCS-2", b"H\x00", "H"),
            ("UCS-2BE", b"\x00H", "H"),
        ];
        for (charset, octets, meant) in cases {
            let charset = (!charset.is_empty()).then_some(charset.as_bytes());
            assert_eq!(text(charset, octets).unwrap(), meant, "{charset:?}");
        }
    }

    #[test]
    fn an_unknown_charset_is_said_to_be_unknown() {
        for label in ["klingon", "GSM", "iso-2022-kr"] {
            assert_eq!(text(Some(label.as_bytes()), b"a"), Err(UnknownCharset), "{label}");
        }
    }
}
