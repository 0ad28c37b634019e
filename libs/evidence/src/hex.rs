//! Octets as lower-case hexadecimal digits.

use std::fmt::Write as _;

pub(crate) fn text(octets: &[u8]) -> String {
    octets.iter().fold(String::with_capacity(octets.len() * 2), |mut text, octet| {
        let _ = write!(text, "{octet:02x}"); // a String takes all
        text
    })
}

/// Exactly so many octets, in lower case.
pub(crate) fn array<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut octets = [0; N];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        *octet = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(octets)
}

fn digit(octet: u8) -> Option<u8> {
    match octet {
        b'0'..=b'9' => Some(octet - b'0'),
        b'a'..=b'f' => Some(octet - b'a' + 10),
        _ => None,
    }
}
