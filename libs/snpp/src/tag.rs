//! Message tags of two-way pages, and the states that a server reports of them (RFC 1861 §4.6.9, §4.6.10).

use crate::reply::{ReplyCategory, SnppReply, cut};
use std::fmt;

/// Octets of a message tag or a pass code at most. The standard names no limit.
pub const TAG_OCTETS_MAX: usize = 64;
/// Octets of a choice's code at most (RFC 1861 §4.6.7 speaks of two octets and shows four digits).
pub const CODE_OCTETS_MAX: usize = 15;

/// Names a two-way page at its server: the record's locator, and the code that allows to ask for it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MessageTag {
    tag: String,
    pass_code: String,
}

impl MessageTag {
    /// A tag; `None` unless both words have 1 to [`TAG_OCTETS_MAX`] visible ASCII characters.
    pub fn new(tag: &str, pass_code: &str) -> Option<MessageTag> {
        let fits = |word: &str| is_word(word.as_bytes(), TAG_OCTETS_MAX);
        (fits(tag) && fits(pass_code))
            .then(|| MessageTag { tag: tag.to_owned(), pass_code: pass_code.to_owned() })
    }

    /// The record's locator, for people and logs.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The code that allows to ask for it: a secret.
    pub fn pass_code(&self) -> &str {
        &self.pass_code
    }
}

/// Without the pass code.
impl fmt::Debug for MessageTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageTag({:?})", self.tag)
    }
}

/// 1 to `most` visible ASCII characters.
pub(crate) fn is_word(word: &[u8], most: usize) -> bool {
    (1..=most).contains(&word.len()) && word.iter().all(u8::is_ascii_graphic)
}

/// State of a two-way page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagState {
    /// 960: queued; the pager is not there yet.
    Queued,
    /// 860: the pager has it; it waits for being read.
    AwaitingRead,
    /// 861: the pager has it; it waits for a reply.
    AwaitingReply,
    /// 870: it was read, and waits for a reply.
    ReadAwaitingReply,
    /// 880: the pager has it, and nothing more will follow.
    Delivered,
    /// 881: it was read, and nothing more will follow.
    Read,
    /// 888: answered by a choice, with the choice's code.
    Choice(String),
    /// 889: answered in words.
    Text(String),
    /// 780 or 760: it expired before the pager had it (§4.6.10 and §4.6.3 name one code each).
    Expired,
}

impl TagState {
    /// The pager has the page.
    pub fn is_delivered(&self) -> bool {
        !matches!(self, TagState::Queued | TagState::Expired)
    }

    /// No other state will follow (88x and 78x).
    pub fn is_final(&self) -> bool {
        use TagState::{Choice, Delivered, Expired, Read, Text};
        matches!(self, Delivered | Read | Choice(_) | Text(_) | Expired)
    }

    /// The code by which a server reports it.
    pub fn code(&self) -> u16 {
        match self {
            TagState::Queued => 960,
            TagState::AwaitingRead => 860,
            TagState::AwaitingReply => 861,
            TagState::ReadAwaitingReply => 870,
            TagState::Delivered => 880,
            TagState::Read => 881,
            TagState::Choice(_) => 888,
            TagState::Text(_) => 889,
            TagState::Expired => 780,
        }
    }

    /// The state of a code, and of the words behind tag or date; `None` for a code that is no state. Codes of
    /// a known tier whose last digit is not in the standard count as the tier (§4.6.9: 86x, 87x, 88x, 96x).
    fn of(code: u16, words: &str) -> Option<TagState> {
        Some(match code {
            861 => TagState::AwaitingReply,
            860..=869 => TagState::AwaitingRead,
            870..=879 => TagState::ReadAwaitingReply,
            881 => TagState::Read,
            888 => {
                TagState::Choice(first_word(words).filter(|code| code.len() <= CODE_OCTETS_MAX)?.to_owned())
            }
            889 => TagState::Text(cut(words.trim().to_owned())),
            880..=889 => TagState::Delivered,
            960..=969 => TagState::Queued,
            760 | 780 => TagState::Expired,
            _ => return None,
        })
    }
}

fn first_word(words: &str) -> Option<&str> {
    words.split_whitespace().next()
}

/// Reply to MSTAtus that knows the tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagStatus {
    /// Rises with each change of the record; 0 where the server names none.
    pub sequence: u64,
    /// When it changed, as the server wrote it: `YYMMDDHHMMSS+GMT`; empty where it names none.
    pub at: String,
    /// The state.
    pub state: TagState,
    /// Code and words of the server, for a report.
    pub words: String,
}

/// Meaning of a reply to MSTAtus (RFC 1861 §4.6.10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusReply {
    /// The server knows the tag.
    Known(TagStatus),
    /// 550: it does not, or no longer.
    Unknown(String),
    /// 500: it has no such command.
    NotImplemented(String),
    /// 554 or anything else: not now.
    Failed(String),
}

impl StatusReply {
    /// The meaning of a reply: `<code> <Sequence> <Date&Time> …`. A date is a word that begins with twelve
    /// digits; servers that leave sequence and date out are understood too.
    pub fn read(reply: &SnppReply) -> StatusReply {
        let words = reply.words();
        match reply.code {
            crate::reply::ADMINISTRATIVE_FAILURE => return StatusReply::Unknown(words),
            crate::reply::NOT_IMPLEMENTED => return StatusReply::NotImplemented(words),
            _ => {}
        }
        let (sequence, at, rest) = split_status(reply.last_line());
        match TagState::of(reply.code, rest) {
            Some(state) => StatusReply::Known(TagStatus { sequence, at: at.to_owned(), state, words }),
            None => StatusReply::Failed(words),
        }
    }
}

/// Sequence, date and the rest of a status line.
fn split_status(line: &str) -> (u64, &str, &str) {
    let is_date = |word: &str| word.len() <= 32 && word.bytes().take_while(u8::is_ascii_digit).count() >= 12;
    let line = line.trim_start();
    let (first, behind) = line.split_once(' ').unwrap_or((line, ""));
    let behind = behind.trim_start();
    let (second, rest) = behind.split_once(' ').unwrap_or((behind, ""));
    match first.parse() {
        Ok(sequence) if is_date(second) => (sequence, second, rest),
        _ if is_date(first) => (0, first, behind),
        _ => (0, "", line),
    }
}

/// Meaning of a successful reply to SEND (RFC 1861 §4.3.4, §4.6.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendReceipt {
    /// 250, or the code of the state.
    pub code: u16,
    /// How a two-way page stands; `None` for a page of one way.
    pub state: Option<TagState>,
    /// By which it is asked for; `None` for a page of one way, and where the server names none that can be.
    pub tag: Option<MessageTag>,
    /// Code and words of the server without the pass code, for a report.
    pub words: String,
}

impl SendReceipt {
    /// The meaning of a reply: `250 …` or `<code> <Message_Tag> <Pass_Code> …`; `None` for a refusal.
    pub fn read(reply: &SnppReply) -> Option<SendReceipt> {
        match reply.category() {
            ReplyCategory::Successful => {
                Some(SendReceipt { code: reply.code, state: None, tag: None, words: reply.words() })
            }
            ReplyCategory::TwoWaySuccessful | ReplyCategory::TwoWayQueued => {
                let line = reply.last_line();
                let mut words = line.split_whitespace();
                let tag = words.next().zip(words.next()).and_then(|(tag, pass)| MessageTag::new(tag, pass));
                let rest = words.collect::<Vec<_>>().join(" ");
                let shown = match &tag {
                    Some(tag) => cut(format!("{} {} {rest}", reply.code, tag.tag()).trim_end().to_owned()),
                    None => reply.words(),
                };
                // A reply of the person cannot be there yet: such a code says no more than delivered.
                let state = match TagState::of(reply.code, "-")? {
                    TagState::Choice(_) | TagState::Text(_) => TagState::AwaitingReply,
                    TagState::Expired => return None,
                    state => state,
                };
                Some(SendReceipt { code: reply.code, state: Some(state), tag, words: shown })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(line: &str) -> SnppReply {
        let (code, text) = line.split_once(' ').unwrap_or((line, ""));
        SnppReply { code: code.parse().unwrap(), text: text.to_owned() }
    }

    fn status(line: &str) -> (u64, String, TagState) {
        match StatusReply::read(&reply(line)) {
            StatusReply::Known(status) => (status.sequence, status.at, status.state),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_state_of_the_standard_is_read_with_its_sequence_and_date() {
        let at = "950925143501+7";
        for (code, words, state) in [
            (860, "Delivered, Awaiting Read Confirmation", TagState::AwaitingRead),
            (861, "Delivered, Awaiting Reply (MCR)", TagState::AwaitingReply),
            (870, "Delivered, Read, Awaiting Reply (MCR)", TagState::ReadAwaitingReply),
            (880, "Message Delivered (No Reply Pending)", TagState::Delivered),
            (881, "Message Delivered and Read by Recipient", TagState::Read),
            (888, "0002 MCR Reply Received", TagState::Choice("0002".to_owned())),
            (889, "I am  on my way", TagState::Text("I am  on my way".to_owned())),
            (960, "Message Queued; Awaiting Delivery", TagState::Queued),
            (780, "MESSAGE EXPIRED Before Delivery!", TagState::Expired),
        ] {
            assert_eq!(status(&format!("{code} 7 {at} {words}")), (7, at.to_owned(), state.clone()));
            assert_eq!(state.code(), code);
        }
        assert_eq!(status("760 3 950925143501 gone").2, TagState::Expired);
        assert_eq!(status("889 no date here").2, TagState::Text("no date here".to_owned()));
        assert_eq!(status("889 2 hours from here").2, TagState::Text("2 hours from here".to_owned()));
        assert_eq!(status("865 1 950925143501 of a later version").2, TagState::AwaitingRead);
    }

    #[test]
    fn delivered_and_final_are_told_apart() {
        use TagState::*;
        let choice = || Choice("1".to_owned());
        let delivered =
            [AwaitingRead, AwaitingReply, ReadAwaitingReply, Delivered, Read, choice(), Text(String::new())];
        assert!(delivered.iter().all(TagState::is_delivered));
        assert!([Queued, Expired].iter().all(|state| !state.is_delivered()));
        assert!([Delivered, Read, choice(), Text(String::new()), Expired].iter().all(TagState::is_final));
        assert!(
            [Queued, AwaitingRead, AwaitingReply, ReadAwaitingReply].iter().all(|state| !state.is_final())
        );
    }

    #[test]
    fn a_tag_that_is_gone_and_a_server_that_cannot_tell_are_no_states() {
        assert!(matches!(StatusReply::read(&reply("550 Unknown or Illegal")), StatusReply::Unknown(_)));
        assert!(matches!(StatusReply::read(&reply("500 no")), StatusReply::NotImplemented(_)));
        for line in
            ["554 failed", "250 OK", "888", "888 1 950925143501", "888 1 950925143501 longerthanfifteen x"]
        {
            assert!(matches!(StatusReply::read(&reply(line)), StatusReply::Failed(_)), "{line}");
        }
    }

    #[test]
    fn a_receipt_of_send_has_tag_and_state_and_shows_no_pass_code() {
        let read = |line: &str| SendReceipt::read(&reply(line));
        let one_way = read("250 Message Sent Successfully").unwrap();
        assert_eq!((one_way.state, one_way.tag), (None, None));
        for (line, state) in [
            ("860 00321 1234 Delivered, Awaiting Read Ack", TagState::AwaitingRead),
            ("861 00321 1234 Delivered", TagState::AwaitingReply),
            ("880 00321 1234", TagState::Delivered),
            ("888 00321 1234 odd", TagState::AwaitingReply),
            ("960 00321 1234 OK, Message QUEUED for Delivery", TagState::Queued),
        ] {
            let receipt = read(line).unwrap();
            assert_eq!(receipt.state, Some(state));
            assert_eq!(receipt.tag, MessageTag::new("00321", "1234"));
            assert!(!format!("{receipt:?} {}", receipt.words).contains("1234"), "{receipt:?}");
        }
        assert_eq!(read("860 onlyone").unwrap().tag, None);
        assert_eq!(read(&format!("860 {} 1", "x".repeat(TAG_OCTETS_MAX + 1))).unwrap().tag, None);
        for line in ["550 no", "554 no", "780 1 2", "850 1 2", "421 bye", "354 go"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
