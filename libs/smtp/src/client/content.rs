//! A message's octets on the wire: line ends made canonical, leading dots doubled, the end marked
//! (RFC 5321 §2.3.8, §4.5.2).

/// Ends a message after `DATA`; the line end before the dot is the message's own last one.
pub const END_OF_DATA: &[u8] = b".\r\n";

/// Appends `message` for `DATA`: every line ends with CRLF, a lone CR or LF is a line end (so that no server can see
/// an end of data where we saw none), a line's leading dot is doubled, and the last line has its end.
pub fn push_stuffed(out: &mut Vec<u8>, message: &[u8]) {
    out.reserve(message.len() + message.len() / 64 + END_OF_DATA.len() + 2);
    each_line(message, |line| {
        if line.first() == Some(&b'.') {
            out.push(b'.');
        }
        out.extend_from_slice(line);
        out.extend_from_slice(b"\r\n");
    });
}

/// Appends `message` for `BDAT` (RFC 3030): line ends as in [`push_stuffed`], dots untouched.
pub fn push_canonical(out: &mut Vec<u8>, message: &[u8]) {
    out.reserve(message.len() + 2);
    each_line(message, |line| {
        out.extend_from_slice(line);
        out.extend_from_slice(b"\r\n");
    });
}

/// Calls `each` for every line without its end. CRLF, LF and CR each end one.
fn each_line(message: &[u8], mut each: impl FnMut(&[u8])) {
    let mut rest = message;
    while !rest.is_empty() {
        let (line, after) = match rest.iter().position(|&octet| octet == b'\n') {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, &rest[rest.len()..]),
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.contains(&b'\r') {
            line.split(|&octet| octet == b'\r').for_each(&mut each);
        } else {
            each(line);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_made_canonical_and_leading_dots_doubled() {
        for (message, stuffed, canonical) in [
            (&b""[..], &b""[..], &b""[..]),
            (b"a", b"a\r\n", b"a\r\n"),
            (b"a\r\n", b"a\r\n", b"a\r\n"),
            (b".\r\n", b"..\r\n", b".\r\n"),
            (b"a\n.\nb\r\n", b"a\r\n..\r\nb\r\n", b"a\r\n.\r\nb\r\n"),
            (b"a\r.\rb", b"a\r\n..\r\nb\r\n", b"a\r\n.\r\nb\r\n"),
            (b"a\r\r\n.b\r\n", b"a\r\n\r\n..b\r\n", b"a\r\n\r\n.b\r\n"),
            (b"\r\n\r\n", b"\r\n\r\n", b"\r\n\r\n"),
            (b"..x\r\n", b"...x\r\n", b"..x\r\n"),
            (b"a.b.\r\n", b"a.b.\r\n", b"a.b.\r\n"),
        ] {
            let (mut out, mut plain) = (Vec::new(), Vec::new());
            push_stuffed(&mut out, message);
            push_canonical(&mut plain, message);
            assert_eq!(
                (out.as_slice(), plain.as_slice()),
                (stuffed, canonical),
                "{:?}",
                String::from_utf8_lossy(message)
            );
        }
    }

    proptest! {
        /// Any octets at all: the end of data stands nowhere in them, and removing the dots gives the lines back.
        #[test]
        fn no_message_can_end_its_transaction_early(message in prop::collection::vec(prop::sample::select(b"a.\r\n".to_vec()), 0..200)) {
            let (mut stuffed, mut canonical) = (b"\r\n".to_vec(), b"\r\n".to_vec());
            push_stuffed(&mut stuffed, &message);
            push_canonical(&mut canonical, &message);
            for end in [&b"\r\n.\r\n"[..], b"\n.\n", b"\r.\r", b"\n.\r", b"\r.\n"] {
                prop_assert!(!stuffed.windows(end.len()).any(|window| window == end));
            }
            let text = String::from_utf8(stuffed).unwrap().replace("\r\n.", "\r\n");
            prop_assert_eq!(text.as_bytes(), canonical.as_slice());
        }
    }
}
