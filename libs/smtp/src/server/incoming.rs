//! A mail on its way in: dots taken off, its end found (RFC 5321 §4.5.2).

/// What came of a mail so far.
#[derive(Debug)]
pub struct Incoming {
    /// Without the dots that were put before others; empty once it is too large.
    pub octets: Vec<u8>,
    /// It is over the limit, and only its end is still looked for.
    pub too_large: bool,
    octets_max: usize,
    line_start: bool,
}

impl Incoming {
    /// A mail of which at most so many octets are kept.
    pub fn new(octets_max: usize) -> Incoming {
        Incoming { octets: Vec::new(), too_large: false, octets_max, line_start: true }
    }

    /// Takes octets off the beginning of `rest`: how many, and whether the mail ended there. Nothing: more must come
    /// first. A line ends with CRLF and nothing else, so that no two servers see different ends of one mail
    /// (RFC 5321 §4.1.1.4).
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
            self.keep(&rest[..end + 2]);
            self.line_start = true;
            return Some((end + 2, false));
        }
        // A CR at the end may be half of a line end.
        let whole = rest.len() - usize::from(rest.ends_with(b"\r"));
        self.keep(&rest[..whole]);
        (whole > 0).then_some((whole, false))
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.too_large || self.octets.len() + piece.len() > self.octets_max {
            self.too_large = true;
            self.octets = Vec::new();
        } else {
            self.octets.extend_from_slice(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read when the octets come in pieces of this size, and what is left behind the end.
    fn read(octets: &[u8], piece: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut incoming = Incoming::new(1_000);
        let mut waiting = Vec::new();
        let mut pieces = octets.chunks(piece);
        loop {
            match incoming.take(&waiting) {
                Some((taken, over)) => {
                    waiting.drain(..taken);
                    if over {
                        let rest = waiting.into_iter().chain(pieces.flatten().copied()).collect();
                        return Some((incoming.octets, rest));
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
    fn what_is_over_the_limit_is_not_kept_and_its_end_is_found() {
        const OCTETS_MAX: usize = 10_000;
        let mut incoming = Incoming::new(OCTETS_MAX);
        let line = [vec![b'x'; 1000], b"\r\n".to_vec()].concat();
        for _ in 0..=OCTETS_MAX / line.len() {
            assert_eq!(incoming.take(&line), Some((line.len(), false)));
        }
        assert!(incoming.too_large && incoming.octets.is_empty());
        assert_eq!(incoming.take(b".\r\n"), Some((3, true)));
    }
}
