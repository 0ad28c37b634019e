//! Replies of an SMTP server (RFC 5321 §4.2): read piece by piece, bounded, tolerant where servers are known
//! to stray.

/// Reply code by which a server closes the channel (RFC 5321 §3.8, §4.2.3): it carries out nothing more.
pub const SERVICE_CLOSING: u16 = 421;
/// Octets of a reply line at most, its end included. RFC 5321 §4.5.3.1.5 says 512; servers that add advice
/// and links go beyond, so four times that is taken.
pub const REPLY_LINE_OCTETS_MAX: usize = 2048;
/// Lines of a reply at most; EHLO of the richest servers has about 30.
pub const REPLY_LINES_MAX: usize = 128;
/// Octets kept of a reply's text for a report.
pub const REPLY_TEXT_OCTETS_MAX: usize = 1000;

/// One whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// 200 to 559.
    pub code: u16,
    /// The lines' text without code and separator, joined by line feeds; what is not UTF-8 is replaced.
    pub text: String,
}

/// Class of a reply by its first digit (RFC 5321 §4.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// 2xx, positive completion.
    Completion,
    /// 3xx, positive intermediate: the server waits for more.
    Intermediate,
    /// 4xx, transient negative completion: a later try may succeed.
    Transient,
    /// 5xx, permanent negative completion: the same again would be refused again.
    Permanent,
}

/// Octets that are not a reply of SMTP, or are over a limit: in words that quote or name it. The peer is to
/// blame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError(pub String);

impl Reply {
    /// Its class, by the first digit.
    pub fn class(&self) -> Class {
        match self.code / 100 {
            2 => Class::Completion,
            3 => Class::Intermediate,
            4 => Class::Transient,
            _ => Class::Permanent,
        }
    }

    /// The enhanced status code at the text's beginning, if there is one and its class is the code's (RFC
    /// 2034 §4, RFC 3463 §2).
    pub fn enhanced(&self) -> Option<&str> {
        let first = self.text.split([' ', '\n']).next()?;
        let mut parts = first.split('.');
        let class = parts.next()?;
        let digits = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
        };
        let whole = digits(parts.next()?, 3) && digits(parts.next()?, 3) && parts.next().is_none();
        (whole && class.len() == 1 && class.parse() == Ok(self.code / 100)).then_some(first)
    }

    /// A stable code for records: `smtp:550 5.1.1`, or `smtp:550` without an enhanced one.
    pub fn stable_code(&self) -> String {
        match self.enhanced() {
            Some(enhanced) => format!("smtp:{} {enhanced}", self.code),
            None => format!("smtp:{}", self.code),
        }
    }

    /// Code and text on one line, for people.
    pub fn words(&self) -> String {
        let mut words = format!("{} {}", self.code, self.text.replace('\n', " "));
        words.truncate(words.trim_end().len());
        words
    }

    /// Id of the accepted message as the server logs it; empty where no known form is found.
    pub fn queue_id(&self) -> &str {
        let text = self.text.lines().next().unwrap_or_default();
        let text = self
            .enhanced()
            .map_or(text, |code| text[code.len().min(text.len())..].trim_start_matches([':', ' ']));
        let lower = text.to_ascii_lowercase();
        // Postfix "Ok: queued as 4Xy", qmail "ok 1699 qp 12", Exim "OK id=1r0-00-1", Exchange "<id>
        // [InternalId=7] Queued"
        for mark in ["queued as ", "id=", " qp ", "queued ", "queue id "] {
            if let Some(at) = lower.find(mark) {
                let id = word(&text[at + mark.len()..]);
                if !id.is_empty() && !id.eq_ignore_ascii_case("mail") {
                    return id;
                }
            }
        }
        // OpenSMTPD and Sendmail: "1a2b3c4d Message accepted for delivery"
        match lower.find(" message accepted") {
            Some(at) => word(text[..at].rsplit(' ').next().unwrap_or_default()),
            None => "",
        }
    }
}

/// The first word, without the punctuation around it.
fn word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default().trim_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// Cuts a stream into replies.
#[derive(Debug, Default)]
pub struct ReplyReader {
    buffer: Vec<u8>,
    /// Where the first unread octet is.
    start: usize,
    /// The reply being read: its code, its lines so far, its text so far.
    partial: Option<(u16, usize, Vec<u8>)>,
}

impl ReplyReader {
    /// Takes octets of the peer, in the order they came, cut anywhere. Memory is bounded as long as
    /// [`ReplyReader::next_reply`] is called until it has nothing more.
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
    /// A line that is no reply line, one over [`REPLY_LINE_OCTETS_MAX`], a reply over [`REPLY_LINES_MAX`] or
    /// with two codes. Nothing behind it can be read.
    pub fn next_reply(&mut self) -> Result<Option<Reply>, ReplyError> {
        while let Some(length) = self.buffer[self.start..].iter().position(|&octet| octet == b'\n') {
            let line = &self.buffer[self.start..self.start + length];
            check_length(line.len() + 1)?;
            self.start += length + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let (code, last, text) = parse_line(line)?;
            if let Some(reply) = fold_line(&mut self.partial, code, last, text)? {
                return Ok(Some(reply));
            }
        }
        let rest = self.buffer.len() - self.start;
        check_length(rest)?;
        self.buffer.drain(..self.start);
        self.start = 0;
        Ok(None)
    }

    /// No octet is left unread and no reply is half read.
    pub fn is_empty(&self) -> bool {
        self.start == self.buffer.len() && self.partial.is_none()
    }
}

fn check_length(octets: usize) -> Result<(), ReplyError> {
    if octets > REPLY_LINE_OCTETS_MAX {
        return Err(ReplyError(format!("a reply line is over the limit of {REPLY_LINE_OCTETS_MAX} octets")));
    }
    Ok(())
}

/// `Reply-line = Reply-code ("-" / SP) [textstring]` (RFC 5321 §4.2); a bare code is a last line without
/// text.
fn parse_line(line: &[u8]) -> Result<(u16, bool, &[u8]), ReplyError> {
    let bad = || {
        ReplyError(format!(
            "{:?} is not a reply line of SMTP",
            String::from_utf8_lossy(&line[..line.len().min(80)])
        ))
    };
    let (digits, rest) = line.split_at_checked(3).ok_or_else(bad)?;
    let valid = matches!(digits, [b'2'..=b'5', b'0'..=b'5', b'0'..=b'9']);
    let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit.wrapping_sub(b'0')));
    match rest.split_first() {
        _ if !valid => Err(bad()),
        None => Ok((code, true, rest)),
        Some((b' ', text)) => Ok((code, true, text)),
        Some((b'-', text)) => Ok((code, false, text)),
        Some(_) => Err(bad()),
    }
}

/// Adds a line to the reply being read; the whole reply if this was its last.
fn fold_line(
    partial: &mut Option<(u16, usize, Vec<u8>)>,
    code: u16,
    last: bool,
    text: &[u8],
) -> Result<Option<Reply>, ReplyError> {
    let (first_code, lines, so_far) = match partial.as_mut() {
        Some(partial) => {
            partial.2.push(b'\n');
            partial
        }
        None => partial.insert((code, 0, Vec::with_capacity(text.len()))),
    };
    if *first_code != code {
        return Err(ReplyError(format!("one reply has the codes {first_code} and {code}")));
    }
    *lines += 1;
    if *lines > REPLY_LINES_MAX {
        return Err(ReplyError(format!("a reply is over the limit of {REPLY_LINES_MAX} lines")));
    }
    so_far.extend_from_slice(text);
    if !last {
        return Ok(None);
    }
    let text = partial.take().map(|(_, _, text)| text).unwrap_or_default();
    Ok(Some(Reply { code, text: readable(&text) }))
}

/// Server's octets as text for people: UTF-8 or replaced, without control characters but the line feed.
/// EHLO's lines are short of the kept length many times over in practice: they are read before the text is
/// cut for records.
fn readable(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

/// At most [`REPLY_TEXT_OCTETS_MAX`] octets, cut at a character's boundary.
pub fn cut(mut text: String) -> String {
    if text.len() > REPLY_TEXT_OCTETS_MAX {
        let at = (0..=REPLY_TEXT_OCTETS_MAX).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_all(octets: &[u8], piece: usize) -> Result<Vec<Reply>, ReplyError> {
        let mut reader = ReplyReader::default();
        let (replies, end) = read(&mut reader, octets, piece);
        end?;
        assert!(reader.is_empty(), "octets are left");
        Ok(replies)
    }

    /// Replies up to the end of the octets or the first error.
    fn read(reader: &mut ReplyReader, octets: &[u8], piece: usize) -> (Vec<Reply>, Result<(), ReplyError>) {
        let mut replies = Vec::new();
        for piece in octets.chunks(piece) {
            reader.push(piece);
            loop {
                match reader.next_reply() {
                    Ok(Some(reply)) => replies.push(reply),
                    Ok(None) => break,
                    Err(error) => return (replies, Err(error)),
                }
            }
        }
        (replies, Ok(()))
    }

    #[test]
    fn replies_are_read_however_they_are_cut() {
        let stream = b"220 mx ESMTP\r\n250-mx hello\r\n250-PIPELINING\r\n250 SIZE 100\r\n250\r\n354 go\n550-5.1.1 no\r\n550 5.1.1 such user\r\n";
        let expected = [
            (220, "mx ESMTP"),
            (250, "mx hello\nPIPELINING\nSIZE 100"),
            (250, ""),
            (354, "go"),
            (550, "5.1.1 no\n5.1.1 such user"),
        ];
        for piece in 1..=stream.len() {
            let replies = read_all(stream, piece).unwrap();
            let seen: Vec<_> = replies.iter().map(|r| (r.code, r.text.as_str())).collect();
            assert_eq!(seen, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn what_is_not_a_reply_is_an_error_that_quotes_it() {
        for (octets, reason) in [
            (&b"hello\r\n"[..], "is not a reply line"),
            (b"25\r\n", "is not a reply line"),
            (b"\r\n", "is not a reply line"),
            (b"150 too low\r\n", "is not a reply line"),
            (b"600 too high\r\n", "is not a reply line"),
            (b"260 second digit\r\n", "is not a reply line"),
            (b"250+odd\r\n", "is not a reply line"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "is not a reply line"),
            (b"250-one\r\n251 other\r\n", "codes 250 and 251"),
        ] {
            let ReplyError(why) = read_all(octets, octets.len()).unwrap_err();
            assert!(why.contains(reason), "{why:?} for {octets:?}");
        }
    }

    #[test]
    fn limits_hold_for_a_line_without_end_and_for_a_reply_without_end() {
        let mut reader = ReplyReader::default();
        reader.push(&vec![b'2'; REPLY_LINE_OCTETS_MAX + 1]);
        assert!(reader.next_reply().unwrap_err().0.contains("2048 octets"));

        let mut long = b"250 ".to_vec();
        long.resize(REPLY_LINE_OCTETS_MAX - 2, b'x');
        long.extend_from_slice(b"\r\n");
        assert_eq!(read_all(&long, 7).unwrap().len(), 1, "a line of exactly the limit is taken");

        let lines = b"250-x\r\n".repeat(REPLY_LINES_MAX + 1);
        assert!(read_all(&lines, 100).unwrap_err().0.contains("128 lines"));
    }

    #[test]
    fn codes_and_queue_ids_are_found_in_the_words_of_known_servers() {
        for (code, text, stable, id) in [
            (250, "2.0.0 Ok: queued as 4XyZ12abc", "smtp:250 2.0.0", "4XyZ12abc"),
            (250, "2.0.0 9f3c01ab Message accepted for delivery", "smtp:250 2.0.0", "9f3c01ab"),
            (250, "2.0.0: 9f3c01ab Message accepted for delivery", "smtp:250", "9f3c01ab"),
            (250, "OK id=1r0abc-0000Xy-1Z", "smtp:250", "1r0abc-0000Xy-1Z"),
            (250, "ok 1699999999 qp 1234", "smtp:250", "1234"),
            (250, "2.6.0 <a@b> [InternalId=77, Hostname=x] Queued mail for delivery", "smtp:250 2.6.0", "77"),
            (250, "2.0.0 OK  1699 a1-b2.3 - gsmtp", "smtp:250 2.0.0", ""),
            (250, "Ok", "smtp:250", ""),
            (550, "5.1.1 <x@y>: no such user", "smtp:550 5.1.1", ""),
            (550, "4.1.1 class of another code", "smtp:550", ""),
            (451, "4.7.1\nGreylisted", "smtp:451 4.7.1", ""),
            (550, "5.1 no", "smtp:550", ""),
            (550, "5.1.1.1 no", "smtp:550", ""),
            (550, "5.1111.1 no", "smtp:550", ""),
            (550, "", "smtp:550", ""),
        ] {
            let reply = Reply { code, text: text.to_owned() };
            assert_eq!((reply.stable_code().as_str(), reply.queue_id()), (stable, id), "{text:?}");
        }
    }

    #[test]
    fn text_for_people_has_no_controls_and_is_cut_at_a_character() {
        let replies = read_all(b"550 a\x1b[31m\xffb\r\n", 100).unwrap();
        assert_eq!(replies[0].words(), "550 a [31m\u{fffd}b");
        let text = cut("å".repeat(REPLY_TEXT_OCTETS_MAX));
        assert_eq!(text.len(), REPLY_TEXT_OCTETS_MAX);
        assert_eq!(cut("åx".repeat(400)).len(), 999);
    }
    proptest! {
        /// Any octets: replies and the error are the same however they are cut, within their limits, and
        /// their words are found without a fault.
        #[test]
        fn any_octets_are_read_the_same_in_pieces_of_any_size(
            lines in prop::collection::vec(
                prop_oneof![
                    8 => "[2-5][0-5][0-9][- ][a-z0-9. =<]{0,30}\r?\n".prop_map(String::into_bytes),
                    1 => prop::collection::vec(any::<u8>(), 0..40),
                ],
                0..20,
            ),
            piece in 1_usize..50,
        ) {
            let octets = lines.concat();
            let whole = read(&mut ReplyReader::default(), &octets, octets.len().max(1));
            prop_assert_eq!(&whole, &read(&mut ReplyReader::default(), &octets, piece));
            for reply in whole.0 {
                prop_assert!((200..560).contains(&reply.code));
                prop_assert!(reply.text.contains(reply.queue_id()) && !reply.words().contains('\n'));
                let code = format!("smtp:{}", reply.code);
                prop_assert!(reply.stable_code().starts_with(&code));
            }
        }
    }
}
