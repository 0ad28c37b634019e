//! Text of a page as octets (RFC 1861 §4.3.2, §4.4.1): what may be in it, and the lines behind DATA.

/// Octets of a page's text at most.
pub const MESSAGE_OCTETS_MAX: usize = 8 * 1024;
/// The end of the lines behind DATA.
pub const END_OF_DATA: &[u8] = b".\r\n";

/// Whether a text can be carried: octets of any character set without controls, in lines parted by line
/// feeds, not empty, at most [`MESSAGE_OCTETS_MAX`].
pub fn is_message(text: &[u8]) -> bool {
    let fits = |octet: &u8| *octet == b'\n' || is_line_octet(*octet);
    (1..=MESSAGE_OCTETS_MAX).contains(&text.len()) && text.iter().all(fits)
}

/// No control of ASCII.
pub(crate) fn is_line_octet(octet: u8) -> bool {
    octet >= b' ' && octet != 0x7f
}

/// Appends a text's lines as they stand behind DATA, with the end: a dot at the beginning of a line gets
/// another one.
pub fn push_stuffed(out: &mut Vec<u8>, text: &[u8]) {
    for line in text.split(|octet| *octet == b'\n') {
        if line.starts_with(b".") {
            out.push(b'.');
        }
        out.extend_from_slice(line);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(END_OF_DATA);
}

/// A text on one line: its lines joined by blanks.
pub fn one_line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|octet| if *octet == b'\n' { b' ' } else { *octet }).collect()
}

/// Reads the lines behind DATA, without stuffed dots.
#[derive(Debug, Default)]
pub struct MessageReader {
    text: Vec<u8>,
    lines: usize,
    /// It was over [`MESSAGE_OCTETS_MAX`]; what is over is left out.
    pub is_too_large: bool,
}

impl MessageReader {
    /// Takes one line without its end; true if it was the last.
    pub fn take_line(&mut self, line: &[u8]) -> bool {
        if line == b"." {
            return true;
        }
        let line = line.strip_prefix(b".").unwrap_or(line);
        if self.text.len() + line.len() + 1 > MESSAGE_OCTETS_MAX {
            self.is_too_large = true;
            return false;
        }
        if self.lines > 0 {
            self.text.push(b'\n');
        }
        self.lines += 1;
        self.text.extend(line.iter().map(|octet| if is_line_octet(*octet) { *octet } else { b' ' }));
        false
    }

    /// The text so far.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(wire: &[u8]) -> (Vec<u8>, usize) {
        let mut reader = MessageReader::default();
        let mut from = 0;
        while let Some(at) = wire[from..].iter().position(|octet| *octet == b'\n') {
            let line = &wire[from..from + at];
            from += at + 1;
            if reader.take_line(line.strip_suffix(b"\r").unwrap_or(line)) {
                break;
            }
        }
        (reader.into_text(), from)
    }

    #[test]
    fn dots_are_stuffed_and_the_end_stands_nowhere_else() {
        for (text, wire) in [
            (&b"one"[..], &b"one\r\n.\r\n"[..]),
            (b".", b"..\r\n.\r\n"),
            (b"a\n.b\n..\n", b"a\r\n..b\r\n...\r\n\r\n.\r\n"),
        ] {
            let mut out = Vec::new();
            push_stuffed(&mut out, text);
            assert_eq!(out, wire);
            assert_eq!(read(wire), (text.to_vec(), wire.len()));
        }
    }

    #[test]
    fn a_text_with_controls_nothing_or_too_much_is_none() {
        for text in [&b""[..], b"a\r", b"a\x00", b"\x7f", b"a\tb", &[b'x'; MESSAGE_OCTETS_MAX + 1]] {
            assert!(!is_message(text), "{:?}", &text[..text.len().min(9)]);
        }
        assert!(is_message(b"a\n\xe5\xff") && is_message(&[b'x'; MESSAGE_OCTETS_MAX]));
        assert_eq!(one_line(b"a\nb\n"), b"a b ");
    }

    #[test]
    fn lines_beyond_the_limit_are_left_out() {
        let mut reader = MessageReader::default();
        for _ in 0..100 {
            assert!(!reader.take_line(&[b'x'; 1_000]));
        }
        assert!(reader.take_line(b".") && reader.is_too_large);
        assert!(reader.into_text().len() <= MESSAGE_OCTETS_MAX);
    }

    proptest! {
        /// Any text that may be carried reads back as it was, and all of the wire is taken.
        #[test]
        fn what_is_stuffed_reads_back(text in "[.a\n\u{e5} ]{1,80}") {
            let mut wire = Vec::new();
            push_stuffed(&mut wire, text.as_bytes());
            let length = wire.len();
            wire.extend_from_slice(b"SEND\r\n");
            prop_assert_eq!(read(&wire), (text.into_bytes(), length));
        }
    }
}
