//! From octets to text: the encodings that real alerts declare.

use std::borrow::Cow;

use super::ReadError;

/// How far into the document its declaration may end.
const DECLARATION_OCTETS_MAX: usize = 256;

/// Windows-1252 from 0x80 to 0x9F; what is declared ISO-8859-1 and uses them means these.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];
/// Where ISO-8859-15 differs from ISO-8859-1.
const LATIN_9: [(u8, char); 8] =
    [(0xA4, '€'), (0xA6, 'Š'), (0xA8, 'š'), (0xB4, 'Ž'), (0xB8, 'ž'), (0xBC, 'Œ'), (0xBD, 'œ'), (0xBE, 'Ÿ')];

/// The document's text, and the name of its encoding where it is not UTF-8.
#[derive(Debug, PartialEq)]
pub(super) struct Decoded<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) foreign: Option<&'static str>,
}

/// Decodes by byte order mark, else by the transport's `charset` (RFC 7303, section 3.2), else by the XML
/// declaration, else as UTF-8.
pub(super) fn decode<'a>(octets: &'a [u8], charset: Option<&str>) -> Result<Decoded<'a>, ReadError> {
    let charset = charset.filter(|charset| !charset.trim().is_empty());
    let decoded = decode_as(octets, charset);
    // A client that says UTF-8 whatever it sends: the document knows better.
    if charset.is_some() && decoded.is_err() { decode_as(octets, None).or(decoded) } else { decoded }
}

fn decode_as<'a>(octets: &'a [u8], charset: Option<&str>) -> Result<Decoded<'a>, ReadError> {
    match octets {
        [0xEF, 0xBB, 0xBF, rest @ ..] => return utf8(rest),
        [0xFF, 0xFE, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        // `<` in two octets: UTF-16 without its mark.
        [b'<', 0, ..] => return utf16(octets, u16::from_le_bytes),
        [0, b'<', ..] => return utf16(octets, u16::from_be_bytes),
        _ => {}
    }
    let said = charset.or_else(|| declared_encoding(octets));
    let said = said.unwrap_or_default().trim().to_ascii_lowercase();
    match said.as_str() {
        "" | "utf-8" | "utf8" | "us-ascii" | "ascii" => utf8(octets),
        // Who declares this and begins with a single `<` has put the text of a string into octets, as UTF-8.
        "utf-16" | "utf16" | "utf-16le" | "utf-16be" | "ucs-2" | "iso-10646-ucs-2" | "unicode" => {
            utf8(octets)
        }
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "latin-1" | "l1" => {
            Ok(single_octets(octets, "ISO-8859-1", latin_1))
        }
        "windows-1252" | "cp1252" => Ok(single_octets(octets, "Windows-1252", latin_1)),
        "iso-8859-15" | "latin9" | "latin-9" => Ok(single_octets(octets, "ISO-8859-15", latin_9)),
        _ => Err(ReadError::Encoding(format!(
            "encoding {said:?} is not known here; send UTF-8 (also read: UTF-16, ISO-8859-1, ISO-8859-15, \
             Windows-1252)"
        ))),
    }
}

/// The text of a document, with a declaration that does not speak of another encoding than UTF-8.
pub(super) fn as_utf8(octets: &[u8], charset: Option<&str>) -> Result<String, ReadError> {
    let text = decode(octets, charset)?.text;
    let is_utf8 = |name: &str| name.eq_ignore_ascii_case("utf-8");
    let Some(name) = declared_encoding(text.as_bytes()).filter(|name| !is_utf8(name)) else {
        return Ok(text.into_owned());
    };
    let Some((start, end)) = text.find(name).map(|at| (at, at + name.len())) else {
        return Ok(text.into_owned());
    };
    Ok(format!("{}UTF-8{}", &text[..start], &text[end..]))
}

fn utf8(octets: &[u8]) -> Result<Decoded<'_>, ReadError> {
    match std::str::from_utf8(octets) {
        Ok(text) => Ok(Decoded { text: Cow::Borrowed(text), foreign: None }),
        Err(error) => Err(ReadError::Encoding(format!(
            "octet {} is not UTF-8, and no other encoding is declared",
            error.valid_up_to()
        ))),
    }
}

fn utf16(octets: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Decoded<'_>, ReadError> {
    let (pairs, rest) = octets.as_chunks::<2>();
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(|&pair| unit(pair))).collect();
    match text {
        Ok(text) if rest.is_empty() => Ok(Decoded { text: Cow::Owned(text), foreign: Some("UTF-16") }),
        _ => Err(ReadError::Encoding("the document begins as UTF-16 and is not".to_string())),
    }
}

fn single_octets(octets: &[u8], name: &'static str, map: fn(u8) -> char) -> Decoded<'static> {
    Decoded { text: Cow::Owned(octets.iter().map(|&octet| map(octet)).collect()), foreign: Some(name) }
}

fn latin_1(octet: u8) -> char {
    match octet {
        0x80..=0x9F => WINDOWS_1252[usize::from(octet - 0x80)],
        _ => char::from(octet),
    }
}

fn latin_9(octet: u8) -> char {
    LATIN_9.iter().find(|(from, _)| *from == octet).map_or_else(|| latin_1(octet), |(_, to)| *to)
}

/// The `encoding` of `<?xml version="1.0" encoding="…"?>`.
fn declared_encoding(octets: &[u8]) -> Option<&str> {
    let start = octets.trim_ascii_start();
    let declaration = start.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.len().min(DECLARATION_OCTETS_MAX)];
    let end = declaration.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(octets: &[u8]) -> String {
        decode(octets, None).unwrap().text.into_owned()
    }

    #[test]
    fn text_is_decoded_by_mark_or_declaration() {
        let with = |encoding: &str, octets: &[u8]| {
            [format!("<?xml version='1.0' encoding='{encoding}'?>").as_bytes(), octets].concat()
        };
        for (octets, expected, foreign) in [
            (b"\xEF\xBB\xBFa\xC3\xA4".to_vec(), "aä", None),
            (b"\xFF\xFEa\0\xE4\0".to_vec(), "aä", Some("UTF-16")),
            (b"\xFE\xFF\0a\0\xE4".to_vec(), "aä", Some("UTF-16")),
            (with("ISO-8859-1", b"\xE4\x80"), "ä€", Some("ISO-8859-1")),
            (with("iso-8859-15", b"\xE4\xA4"), "ä€", Some("ISO-8859-15")),
            (with("Windows-1252", b"\x96"), "–", Some("Windows-1252")),
            (with("UTF-8", "ä".as_bytes()), "ä", None),
            (b"<\0a\0\xE4\0".to_vec(), "aä", Some("UTF-16")),
            (b"\0<\0a\0\xE4".to_vec(), "aä", Some("UTF-16")),
            (with("utf-16", "ä".as_bytes()), "ä", None),
            ("<a>ä</a>".as_bytes().to_vec(), "<a>ä</a>", None),
        ] {
            let decoded = decode(&octets, None).unwrap();
            assert!(decoded.text.ends_with(expected), "{:?}", decoded.text);
            assert_eq!(decoded.foreign, foreign, "{expected}");
        }
        assert_eq!(text(b""), "");
    }

    #[test]
    fn what_cannot_be_decoded_is_refused_with_what_to_do() {
        for (octets, expected) in [
            (&b"abc\xFFdef"[..], "octet 3 is not UTF-8"),
            (b"\xFF\xFEa", "begins as UTF-16"),
            (b"\xFF\xFE\0\xD8", "begins as UTF-16"),
            (
                b"<?xml version='1.0' encoding='Shift_JIS'?><a/>",
                "\"shift_jis\" is not known here; send UTF-8",
            ),
        ] {
            let error = decode(octets, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_the_transport_says_outranks_the_declaration_and_the_mark_outranks_both() {
        let latin = b"<?xml version='1.0' encoding='UTF-8'?>\xE4";
        assert!(decode(latin, Some("ISO-8859-1")).unwrap().text.ends_with('ä'));
        let utf8 = "<?xml version='1.0' encoding='ISO-8859-1'?>ä";
        assert!(decode(utf8.as_bytes(), Some("utf-8")).unwrap().text.ends_with(">ä"));
        assert_eq!(decode(b"\xFF\xFEa\0", Some("utf-8")).unwrap().text, "a");
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?>\xE4";
        assert!(decode(latin, Some("utf-8")).unwrap().text.ends_with('ä'), "who says UTF-8 of everything");
    }

    #[test]
    fn a_text_in_utf_8_says_that_it_is() {
        for (octets, expected) in [
            (
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE4</a>".to_vec(),
                "<?xml version='1.0' encoding='UTF-8'?><a>ä</a>",
            ),
            (
                b"<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>".to_vec(),
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>",
            ),
            (b"<a>utf-16</a>".to_vec(), "<a>utf-16</a>"),
            (b"\xFF\xFE<\0a\0/\0>\0".to_vec(), "<a/>"),
        ] {
            let text = as_utf8(&octets, None).unwrap();
            assert_eq!(text, expected);
            assert_eq!(as_utf8(text.as_bytes(), None).unwrap(), expected);
        }
    }
}
