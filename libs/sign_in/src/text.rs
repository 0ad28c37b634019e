//! Text forms of octets in URLs, forms and JSON: percent escapes, base64url, base32.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Escapes all but the unreserved characters (RFC 3986 §2.3). It is right in a path, a query and a form.
pub(crate) fn percent_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for octet in text.bytes() {
        if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) {
            out.push(char::from(octet));
        } else {
            out.push('%');
            out.push(hex_digit(octet >> 4));
            out.push(hex_digit(octet & 0xf));
        }
    }
    out
}

fn hex_digit(nibble: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(nibble & 0xf)])
}

/// Reads a value of a form or query (WHATWG URL §5.1); nothing if an escape is broken or it is not UTF-8.
pub(crate) fn form_unescape(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'+' => b' ',
            b'%' => {
                let mut nibble = || char::from(rest.next()?).to_digit(16);
                u8::try_from(nibble()? << 4 | nibble()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(octets).ok()
}

/// A form's body or a query of names and values.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    let pairs =
        pairs.iter().map(|(name, value)| format!("{}={}", percent_escape(name), percent_escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// base64url without padding (RFC 4648 §5).
pub(crate) fn base64url(octets: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(octets)
}

/// Octets of a base64url text; nothing if it has padding, another letter, or bits left over.
pub(crate) fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Base32 without padding (RFC 4648 §6).
pub(crate) fn base32(octets: &[u8]) -> String {
    let mut out = String::with_capacity(octets.len().div_ceil(5) * 8);
    for chunk in octets.chunks(5) {
        let mut group = [0; 8];
        group[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(group);
        for at in 0..(chunk.len() * 8).div_ceil(5) {
            out.push(char::from(BASE32[(bits >> (35 - 5 * at) & 31) as usize]));
        }
    }
    out
}

/// Octets of a base32 text in any case, with spaces and padding or without.
pub(crate) fn from_base32(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u16, 0);
    let letters = text.trim_end_matches('=').bytes().filter(|octet| *octet != b' ');
    for letter in letters {
        let value = BASE32.iter().position(|known| *known == letter.to_ascii_uppercase())?;
        bits = bits << 5 | u16::try_from(value).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (count < 5 && bits == 0).then_some(out)
}

/// A text from elsewhere as it may stand in an error or a log: without controls, and at most so long.
pub(crate) fn shown(text: &str, characters_max: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(characters_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base32_is_that_of_rfc_4648_section_10() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(plain.as_bytes()), encoded);
            assert_eq!(from_base32(encoded).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(from_base32("mzxw 6ytb oi======").as_deref(), Some(b"foobar".as_slice()));
        for wrong in ["A", "M0", "MZ1", "MZ", "MZXW6YQ8"] {
            assert_eq!(from_base32(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_broken_escape_is_no_text() {
        assert_eq!(form_unescape("a+b%20%C3%B6%2b").as_deref(), Some("a b ö+"));
        for wrong in ["%", "%4", "%zz", "%ff", "%+1"] {
            assert_eq!(form_unescape(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_text_survives_its_escapes(text: String) {
            let escaped = percent_escape(&text);
            prop_assert!(escaped.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
            prop_assert_eq!(form_unescape(&escaped), Some(text));
        }

        #[test]
        fn all_octets_survive_base32_and_base64url(octets: Vec<u8>) {
            prop_assert_eq!(from_base32(&base32(&octets)), Some(octets.clone()));
            prop_assert_eq!(from_base64url(&base64url(&octets)), Some(octets));
        }
    }
}
