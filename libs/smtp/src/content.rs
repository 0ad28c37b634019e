//! Message content on the wire: line ends made canonical, leading dots doubled and undoubled, the end of data
//! marked and found (RFC 5321 §2.3.8, §4.1.1.4, §4.5.2).

/// End of data after `DATA`. The CRLF before the dot is that of the message's last line.
pub const END_OF_DATA: &[u8] = b".\r\n";

/// Appends `message` to `out` for `DATA`, without [`END_OF_DATA`]: every line ends with CRLF, a lone CR or LF
/// is a line end (so that no server can see an end of data that the client did not), a line's leading dot is
/// doubled, and the last line gets its CRLF (RFC 5321 §4.5.2). An empty message stays empty.
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

/// Appends `message` to `out` for `BDAT` (RFC 3030 §2): line ends as in [`push_stuffed`], dots untouched.
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

/// Message after `DATA`, read piece by piece: stuffed dots removed, the end of data found.
#[derive(Debug)]
pub struct DataReader {
    /// Octets read so far, without the stuffed dots; empty once the message is over the limit.
    pub octets: Vec<u8>,
    /// The message is over the limit: no octet of it is kept, only its end is searched.
    pub too_large: bool,
    /// A CR or LF stood alone. Other servers may take it for a line end, and then for the end of the message.
    pub has_bare_line_end: bool,
    octets_max: usize,
    kept_max: usize,
    /// Octets so far, without the stuffed dots, also of what was not kept.
    read: usize,
    /// Octets of the lines at the end that are nothing but base64.
    encoded: usize,
    is_full: bool,
    /// A piece of the line came before this one.
    in_line: bool,
    line_start: bool,
}

/// Octets that are kept of one run of lines in base64 (RFC 2045, 6.8): of a picture or another file. The rest
/// of it is left out, so that a text behind it is read too.
pub const ENCODED_KEPT_MAX: usize = 256 * 1024;

impl DataReader {
    /// A reader that keeps at most `octets_max` octets of a message, CRLF of its last line included.
    pub fn new(octets_max: usize) -> DataReader {
        DataReader::keeping(octets_max, octets_max)
    }

    /// A reader of messages of at most `octets_max` octets, that keeps `kept_max` of them at most: the
    /// beginning, less what is over [`ENCODED_KEPT_MAX`] of each run of lines in base64.
    pub fn keeping(octets_max: usize, kept_max: usize) -> DataReader {
        DataReader {
            octets: Vec::new(),
            too_large: false,
            has_bare_line_end: false,
            octets_max,
            kept_max,
            read: 0,
            encoded: 0,
            is_full: false,
            in_line: false,
            line_start: true,
        }
    }

    /// Takes octets off the front of `rest`, the input not yet taken: their number, and whether the end of
    /// data is the last of them. `None`: nothing can be taken before more input is appended to `rest`, of
    /// which at most 2 octets wait. A line ends with CRLF and nothing else, so that no two servers see
    /// different ends of one message (RFC 5321 §4.1.1.4).
    pub fn take(&mut self, rest: &[u8]) -> Option<(usize, bool)> {
        if self.line_start {
            match rest {
                [] | [b'.'] | [b'.', b'\r'] => return None,
                [b'.', b'\r', b'\n', ..] => return Some((3, true)),
                _ => self.line_start = false,
            }
            if rest[0] == b'.' {
                return Some((1, false));
            }
        }
        if let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
            self.note_line_ends(&rest[..end]);
            self.keep(&rest[..end + 2]);
            self.line_start = true;
            return Some((end + 2, false));
        }
        // A CR at the end may be half of a line end.
        let whole = rest.len() - usize::from(rest.ends_with(b"\r"));
        self.note_line_ends(&rest[..whole]);
        self.keep(&rest[..whole]);
        (whole > 0).then_some((whole, false))
    }

    /// Of a piece without the CRLF at its end.
    fn note_line_ends(&mut self, piece: &[u8]) {
        self.has_bare_line_end |= piece.iter().any(|octet| matches!(octet, b'\r' | b'\n'));
    }

    fn keep(&mut self, piece: &[u8]) {
        // Nothing of a line is no end of a run.
        if piece.is_empty() {
            return;
        }
        self.read += piece.len();
        if self.too_large || self.read > self.octets_max {
            self.too_large = true;
            self.octets = Vec::new();
            return;
        }
        let ends_line = std::mem::replace(&mut self.in_line, !piece.ends_with(b"\r\n")) && piece == b"\r\n";
        self.encoded = if ends_line || is_encoded(piece) { self.encoded } else { 0 };
        self.encoded += if self.encoded > 0 || is_encoded(piece) { piece.len() } else { 0 };
        if self.encoded > ENCODED_KEPT_MAX {
            return;
        }
        self.is_full |= self.octets.len() + piece.len() > self.kept_max;
        if !self.is_full {
            self.octets.extend_from_slice(piece);
        }
    }
}

/// A line, or a part of one, of nothing but base64. An empty line ends a run of them.
fn is_encoded(piece: &[u8]) -> bool {
    let line = piece.strip_suffix(b"\r\n").unwrap_or(piece);
    let is_digit = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'/' | b'=');
    !line.is_empty() && line.iter().all(is_digit)
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

    /// What is read when the octets come in pieces of this size, and what is left behind the end.
    fn read(octets: &[u8], piece: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut reader = DataReader::new(1_000);
        let mut waiting = Vec::new();
        let mut pieces = octets.chunks(piece);
        loop {
            match reader.take(&waiting) {
                Some((taken, over)) => {
                    waiting.drain(..taken);
                    if over {
                        let rest = waiting.into_iter().chain(pieces.flatten().copied()).collect();
                        return Some((reader.octets, rest));
                    }
                }
                None => waiting.extend_from_slice(pieces.next()?),
            }
        }
    }

    #[test]
    fn a_mail_is_read_the_same_in_pieces_of_any_size() {
        for (octets, mail, rest) in [
            (&b".\r\nQUIT\r\n"[..], &b""[..], &b"QUIT\r\n"[..]),
            (b"a\r\n.\r\n", b"a\r\n", b""),
            (b"..\r\n...\r\n.x\r\n.\r\n", b".\r\n..\r\nx\r\n", b""),
            (b"a\n.\nb\r\n.\r\nx", b"a\n.\nb\r\n", b"x"),
            (b"a\r.\rb\r\n.\r\n", b"a\r.\rb\r\n", b""),
            (b"a\n.\r\nb\r\n.\r\n", b"a\n.\r\nb\r\n", b""),
            (b".\rx\r\n.\r\n", b"\rx\r\n", b""),
            (b"a\r\r\n.\r\n", b"a\r\r\n", b""),
            (b"\r\n.\r\n", b"\r\n", b""),
        ] {
            for piece in 1..=octets.len() {
                let read = read(octets, piece);
                assert_eq!(
                    read,
                    Some((mail.to_vec(), rest.to_vec())),
                    "{:?} in {piece}",
                    String::from_utf8_lossy(octets)
                );
            }
        }
    }

    #[test]
    fn a_cr_or_lf_that_stands_alone_is_noted_in_pieces_of_any_size() {
        for (octets, expected) in [
            (&b"a\r\n..\r\n\r\n.\r\n"[..], false),
            (b"a\n.\r\nb\r\n.\r\n", true),
            (b"a\n.\nb\r\n.\r\n", true),
            (b"a\r.\rb\r\n.\r\n", true),
            (b".\rx\r\n.\r\n", true),
            (b".\nx\r\n.\r\n", true),
            (b"a\r\r\n.\r\n", true),
            (b"a\n\r\n.\r\n", true),
        ] {
            for piece in 1..=octets.len() {
                let (mut reader, mut waiting) = (DataReader::new(1_000), Vec::new());
                for piece in octets.chunks(piece) {
                    waiting.extend_from_slice(piece);
                    while let Some((taken, _)) = reader.take(&waiting) {
                        waiting.drain(..taken);
                    }
                }
                let text = String::from_utf8_lossy(octets);
                assert_eq!(reader.has_bare_line_end, expected, "{text:?} in {piece}");
            }
        }
    }

    #[test]
    fn a_text_before_or_behind_a_large_file_is_kept_and_the_file_is_cut() {
        let file = [&b"A".repeat(76)[..], b"\r\n"].concat();
        for piece in [1, 50, 1_000_000] {
            let mut reader = DataReader::keeping(8 * 1024 * 1024, 512 * 1024);
            let mut wire = b"before\r\n\r\n".to_vec();
            (0..20_000).for_each(|_| wire.extend_from_slice(&file));
            wire.extend_from_slice(b"--b\r\n\r\nbehind it\r\n.\r\n");
            let (mut from, mut until) = (0, 0);
            loop {
                match reader.take(&wire[from..until]) {
                    Some((_, true)) => break,
                    Some((taken, false)) => from += taken,
                    None => until = (until + piece).min(wire.len()),
                }
            }
            assert!(
                reader.octets.starts_with(b"before\r\n") && reader.octets.ends_with(b"\r\nbehind it\r\n")
            );
            assert!(!reader.too_large && reader.octets.len() < ENCODED_KEPT_MAX + 100, "{piece}");
        }
        // What is no file is kept from its beginning.
        let mut reader = DataReader::keeping(1_000_000, 1_000);
        let line = [&b"some words ".repeat(10)[..], b"\r\n"].concat();
        for _ in 0..100 {
            assert_eq!(reader.take(&line), Some((line.len(), false)));
        }
        assert!(!reader.too_large && (800..=1_000).contains(&reader.octets.len()));
    }

    #[test]
    fn what_is_over_the_limit_is_not_kept_and_its_end_is_found() {
        const OCTETS_MAX: usize = 10_000;
        let mut reader = DataReader::new(OCTETS_MAX);
        let line = [vec![b'x'; 1000], b"\r\n".to_vec()].concat();
        for _ in 0..=OCTETS_MAX / line.len() {
            assert_eq!(reader.take(&line), Some((line.len(), false)));
        }
        assert!(reader.too_large && reader.octets.is_empty());
        assert_eq!(reader.take(b".\r\n"), Some((3, true)));
    }

    proptest! {
        /// Any octets at all: the end of data stands nowhere in them, and removing the dots gives the lines
        /// back.
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

        /// What a client stuffs a server reads back, in pieces of any size, and what follows the end is left
        /// alone.
        #[test]
        fn a_stuffed_message_is_read_back_as_its_canonical_form(
            message in prop::collection::vec(prop::sample::select(b"ab.\r\n".to_vec()), 0..200),
            piece in 1_usize..20,
        ) {
            let (mut wire, mut canonical) = (Vec::new(), Vec::new());
            push_stuffed(&mut wire, &message);
            push_canonical(&mut canonical, &message);
            wire.extend_from_slice(END_OF_DATA);
            wire.extend_from_slice(b"MAIL");
            prop_assert_eq!(read(&wire, piece), Some((canonical, b"MAIL".to_vec())));
        }

        /// Any octets: every call takes some or leaves at most the two that may begin an end of data, and the
        /// message never grows beyond its limit.
        #[test]
        fn any_octets_after_data_are_taken_within_the_limit(
            octets in prop::collection::vec(prop::sample::select(b"ab.\r\n\x00\xff".to_vec()), 0..300),
            piece in 1_usize..20,
            octets_max in 0_usize..100,
        ) {
            let mut reader = DataReader::new(octets_max);
            let mut waiting = Vec::new();
            'pieces: for piece in octets.chunks(piece) {
                waiting.extend_from_slice(piece);
                while let Some((taken, over)) = reader.take(&waiting) {
                    prop_assert!(0 < taken && taken <= waiting.len());
                    waiting.drain(..taken);
                    prop_assert!(reader.octets.len() <= octets_max);
                    prop_assert!(!reader.too_large || reader.octets.is_empty());
                    if over {
                        break 'pieces;
                    }
                }
                prop_assert!(waiting.len() <= 2);
            }
        }
    }
}
