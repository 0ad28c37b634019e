//! Replies of an SNPP server (RFC 1861 §4, §4.2): three digits and a text, read piece by piece, bounded.
//!
//! A line of code 214 is followed by others up to one of another code, which ends the reply (§4.2.1). A
//! hyphen behind the code is taken as a line that goes on, as in SMTP: servers that greet with several lines
//! write it so.

/// The server closes the connection (RFC 1861 §4.2.4).
pub const SERVICE_CLOSING: u16 = 421;
/// A line of help, followed by more (RFC 1861 §4.2.1).
pub const HELP_LINE: u16 = 214;
/// The command is unknown to the server (RFC 1861 §4.2.5).
pub const NOT_IMPLEMENTED: u16 = 500;
/// Something was already entered, or is incomplete (RFC 1861 §4.2.6, §4.3.4).
pub const OUT_OF_ORDER: u16 = 503;
/// A failure for an administrative reason, such as an unknown pager (RFC 1861 §4.2.7).
pub const ADMINISTRATIVE_FAILURE: u16 = 550;
/// A failure for a technical reason, such as a gateway that is down (RFC 1861 §4.2.7).
pub const TECHNICAL_FAILURE: u16 = 554;

/// Octets of a reply line at most, its end included. The standard names no limit.
pub const REPLY_LINE_OCTETS_MAX: usize = 2048;
/// Lines of a reply at most.
pub const REPLY_LINES_MAX: usize = 128;
/// Octets kept of a text for a report.
pub const REPLY_TEXT_OCTETS_MAX: usize = 1000;

/// One whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnppReply {
    /// 200 to 599 or 700 to 999: that of the last line.
    pub code: u16,
    /// Texts of the lines without their codes, joined by line feeds; what is not UTF-8 is replaced, controls
    /// are blanks.
    pub text: String,
}

/// Category of a reply by its first digit (RFC 1861 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyCategory {
    /// 2xx: successful.
    Successful,
    /// 3xx: the server waits for the lines of a message.
    Input,
    /// 4xx: failed, and the connection ends.
    Terminated,
    /// 5xx: failed, and the session goes on.
    Failed,
    /// 7xx: a two-way transaction failed, and the session goes on.
    TwoWayFailed,
    /// 8xx: a two-way transaction was successful.
    TwoWaySuccessful,
    /// 9xx: a two-way transaction is queued.
    TwoWayQueued,
}

/// Octets that are no reply of SNPP, or are over a limit, in words. The server is to blame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedReply(pub String);

impl SnppReply {
    /// Its category, by the first digit.
    pub fn category(&self) -> ReplyCategory {
        match self.code / 100 {
            2 => ReplyCategory::Successful,
            3 => ReplyCategory::Input,
            4 => ReplyCategory::Terminated,
            7 => ReplyCategory::TwoWayFailed,
            8 => ReplyCategory::TwoWaySuccessful,
            9 => ReplyCategory::TwoWayQueued,
            _ => ReplyCategory::Failed,
        }
    }

    /// Text of the last line.
    pub fn last_line(&self) -> &str {
        self.text.rsplit('\n').next().unwrap_or_default()
    }

    /// A stable code for records: `snpp:550`.
    pub fn stable_code(&self) -> String {
        format!("snpp:{}", self.code)
    }

    /// Code and text on one line for people, at most [`REPLY_TEXT_OCTETS_MAX`] octets.
    pub fn words(&self) -> String {
        cut(format!("{} {}", self.code, self.text.replace('\n', " ")).trim_end().to_owned())
    }
}

/// At most [`REPLY_TEXT_OCTETS_MAX`] octets of a text, cut at a character's boundary.
pub fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(REPLY_TEXT_OCTETS_MAX));
    text
}

/// Cuts the octets of a server into replies.
#[derive(Debug, Default)]
pub struct SnppReplyReader {
    buffer: Vec<u8>,
    /// Place of the first unread octet.
    start: usize,
    /// The reply that is being read: the code that its next line must have, if one, its lines, its text.
    partial: Option<PartialReply>,
}

#[derive(Debug, Default)]
struct PartialReply {
    code: Option<u16>,
    lines: usize,
    text: Vec<u8>,
}

impl SnppReplyReader {
    /// Takes octets of the server, in the order they came, cut anywhere. Memory is bounded as long as
    /// [`SnppReplyReader::next_reply`] is called until it has nothing more.
    pub fn push(&mut self, octets: &[u8]) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
        self.buffer.extend_from_slice(octets);
    }

    /// The next whole reply; `None` if more octets must come first.
    ///
    /// # Errors
    /// A line that is no reply line, one over [`REPLY_LINE_OCTETS_MAX`], a reply over [`REPLY_LINES_MAX`], or
    /// a line that goes on with another code. Nothing behind it can be read.
    pub fn next_reply(&mut self) -> Result<Option<SnppReply>, MalformedReply> {
        while let Some(length) = self.buffer[self.start..].iter().position(|&octet| octet == b'\n') {
            check_length(length + 1)?;
            let line = &self.buffer[self.start..self.start + length];
            self.start += length + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let (code, goes_on, text) = parse_line(line)?;
            if let Some(reply) = fold_line(&mut self.partial, code, goes_on, text)? {
                return Ok(Some(reply));
            }
        }
        check_length(self.buffer.len() - self.start)?;
        self.buffer.drain(..self.start);
        self.start = 0;
        Ok(None)
    }

    /// No octet is left unread and no reply is half read.
    pub fn is_empty(&self) -> bool {
        self.start == self.buffer.len() && self.partial.is_none()
    }
}

fn check_length(octets: usize) -> Result<(), MalformedReply> {
    if octets > REPLY_LINE_OCTETS_MAX {
        return Err(MalformedReply(format!(
            "a reply line is over the limit of {REPLY_LINE_OCTETS_MAX} octets"
        )));
    }
    Ok(())
}

/// Code, whether more lines follow, and text.
fn parse_line(line: &[u8]) -> Result<(u16, bool, &[u8]), MalformedReply> {
    let bad = || {
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        MalformedReply(format!("{shown:?} is not a reply line of SNPP"))
    };
    let (digits, rest) = line.split_at_checked(3).ok_or_else(bad)?;
    if !matches!(digits, [b'2'..=b'5' | b'7'..=b'9', b'0'..=b'9', b'0'..=b'9']) {
        return Err(bad());
    }
    let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit.wrapping_sub(b'0')));
    match rest.split_first() {
        None => Ok((code, code == HELP_LINE, rest)),
        Some((b' ', text)) => Ok((code, code == HELP_LINE, text)),
        Some((b'-', text)) => Ok((code, true, text)),
        Some(_) => Err(bad()),
    }
}

/// Adds a line to the reply that is being read; the whole reply if this was its last.
fn fold_line(
    partial: &mut Option<PartialReply>,
    code: u16,
    goes_on: bool,
    text: &[u8],
) -> Result<Option<SnppReply>, MalformedReply> {
    let so_far = partial.get_or_insert_default();
    if let Some(expected) = so_far.code.filter(|expected| *expected != code) {
        return Err(MalformedReply(format!("one reply has the codes {expected} and {code}")));
    }
    so_far.lines += 1;
    if so_far.lines > REPLY_LINES_MAX {
        return Err(MalformedReply(format!("a reply is over the limit of {REPLY_LINES_MAX} lines")));
    }
    if so_far.lines > 1 {
        so_far.text.push(b'\n');
    }
    so_far.text.extend_from_slice(text);
    // Help ends with another code: 250.
    so_far.code = (goes_on && code != HELP_LINE).then_some(code);
    if goes_on {
        return Ok(None);
    }
    let text = partial.take().unwrap_or_default().text;
    let text = String::from_utf8_lossy(&text);
    let text = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    Ok(Some(SnppReply { code, text }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Replies up to the end of the octets or the first error.
    fn read(octets: &[u8], piece: usize) -> (Vec<SnppReply>, Option<MalformedReply>) {
        let (mut reader, mut replies) = (SnppReplyReader::default(), Vec::new());
        for piece in octets.chunks(piece) {
            reader.push(piece);
            loop {
                match reader.next_reply() {
                    Ok(Some(reply)) => replies.push(reply),
                    Ok(None) => break,
                    Err(error) => return (replies, Some(error)),
                }
            }
        }
        (replies, None)
    }

    #[test]
    fn replies_are_read_however_they_are_cut() {
        let stream = b"220 SNPP Gateway Ready\r\n214 PAGEr <id>\r\n214\r\n214 SEND\r\n250 End of Help\r\n250\n\
            220-one\r\n220 two\r\n354 go\r\n860 00321 1234 Delivered\r\n750 off\r\n960 1 2 queued\r\n218 one line\r\n";
        let expected = [
            (220, "SNPP Gateway Ready"),
            (250, "PAGEr <id>\n\nSEND\nEnd of Help"),
            (250, ""),
            (220, "one\ntwo"),
            (354, "go"),
            (860, "00321 1234 Delivered"),
            (750, "off"),
            (960, "1 2 queued"),
            (218, "one line"),
        ];
        for piece in 1..=stream.len() {
            let (replies, end) = read(stream, piece);
            let seen: Vec<_> = replies.iter().map(|reply| (reply.code, reply.text.as_str())).collect();
            assert_eq!((seen, end), (expected.to_vec(), None), "pieces of {piece}");
        }
    }

    #[test]
    fn octets_that_are_no_reply_are_an_error_that_quotes_them() {
        for (octets, reason) in [
            (&b"hello\r\n"[..], "is not a reply line"),
            (b"\r\n", "is not a reply line"),
            (b"25\r\n", "is not a reply line"),
            (b"150 low\r\n", "is not a reply line"),
            (b"650 none\r\n", "is not a reply line"),
            (b"250+odd\r\n", "is not a reply line"),
            (b"2500 long\r\n", "is not a reply line"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "is not a reply line"),
            (b"220-one\r\n250 two\r\n", "codes 220 and 250"),
        ] {
            let (_, error) = read(octets, octets.len());
            assert!(error.as_ref().is_some_and(|error| error.0.contains(reason)), "{error:?}");
        }
    }

    #[test]
    fn limits_hold_for_a_line_and_for_a_reply_without_end() {
        let (_, error) = read(&[b'2'; REPLY_LINE_OCTETS_MAX + 1], 1_000);
        assert!(error.unwrap().0.contains("2048 octets"));
        let mut longest = b"250 ".to_vec();
        longest.resize(REPLY_LINE_OCTETS_MAX - 2, b'x');
        longest.extend_from_slice(b"\r\n");
        assert_eq!(read(&longest, 7).0.len(), 1, "a line of exactly the limit is taken");
        for line in [&b"214 x\r\n"[..], b"250-x\r\n"] {
            assert!(read(&line.repeat(REPLY_LINES_MAX + 1), 100).1.unwrap().0.contains("128 lines"));
        }
    }

    #[test]
    fn every_category_of_the_standard_is_told_by_the_first_digit() {
        use ReplyCategory::*;
        for (code, category) in [
            (250, Successful),
            (354, Input),
            (421, Terminated),
            (500, Failed),
            (750, TwoWayFailed),
            (860, TwoWaySuccessful),
            (960, TwoWayQueued),
        ] {
            assert_eq!(SnppReply { code, text: String::new() }.category(), category);
        }
    }

    #[test]
    fn words_for_people_have_one_line_no_controls_and_a_limit() {
        let (replies, _) = read(b"550-a\x1b[31m\xff\r\n550 b\r\n", 100);
        assert_eq!(replies[0].words(), "550 a [31m\u{fffd} b");
        assert_eq!((replies[0].last_line(), replies[0].stable_code().as_str()), ("b", "snpp:550"));
        let long = SnppReply { code: 250, text: "\u{e5}".repeat(REPLY_TEXT_OCTETS_MAX) };
        assert!(long.words().len() <= REPLY_TEXT_OCTETS_MAX);
    }

    proptest! {
        /// Any octets: replies and the error are the same however they are cut.
        #[test]
        fn any_octets_are_read_the_same_in_pieces_of_any_size(
            lines in prop::collection::vec(
                prop_oneof![
                    6 => "[2-57-9][0-9][0-9][- ][a-z0-9. <]{0,30}\r?\n".prop_map(String::into_bytes),
                    2 => "214 [a-z]{0,9}\r\n".prop_map(String::into_bytes),
                    1 => prop::collection::vec(any::<u8>(), 0..40),
                ],
                0..20,
            ),
            piece in 1_usize..50,
        ) {
            let octets = lines.concat();
            let whole = read(&octets, octets.len().max(1));
            prop_assert_eq!(&whole, &read(&octets, piece));
            for reply in whole.0 {
                prop_assert!((200..1000).contains(&reply.code) && !(600..700).contains(&reply.code));
                prop_assert!(!reply.words().contains('\n'));
            }
        }
    }
}
