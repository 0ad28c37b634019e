//! Commands of SNPP (RFC 1861 §4.3 to §4.6): written by a client, read by a server. The first four
//! characters of a command's word count, in any case.

use crate::message::is_line_octet;
use crate::tag::{CODE_OCTETS_MAX, MessageTag, is_word};

/// Octets of a command line at most, its end included. The standard names no limit.
pub const COMMAND_OCTETS_MAX: usize = 1024;
/// Octets of a pager's id, a PIN, a login or its password, a coverage area at most.
pub const WORD_OCTETS_MAX: usize = 128;
/// Octets of a choice's text at most.
pub const CHOICE_OCTETS_MAX: usize = 128;
/// Service levels of LEVEl (RFC 1861 §4.5.3): 0 is priority, 1 normal.
pub const LEVEL_MAX: u8 = 11;
/// Hours of EXPTag at most: four weeks.
pub const EXPIRY_HOURS_MAX: u16 = 672;

/// Type of reply that a two-way page permits (RFC 1861 §4.6.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyType {
    /// None: the default.
    None,
    /// Yes or no.
    YesNo,
    /// Those of the provider's own.
    Simple,
    /// The page's own choices.
    MultipleChoice,
    /// Any text.
    Text,
}

/// Words of the types, by which they stand in commands.
const REPLY_TYPES: [(&str, ReplyType); 5] = [
    ("NONE", ReplyType::None),
    ("YESNO", ReplyType::YesNo),
    ("SIMREPLY", ReplyType::Simple),
    ("MULTICHOICE", ReplyType::MultipleChoice),
    ("TEXT", ReplyType::Text),
];

/// A command with its arguments. Words are visible ASCII; texts are octets without controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnppCommand {
    /// PAGEr: whom to page (§4.3.1, §4.5.2).
    Page {
        /// The pager's id.
        pager: String,
        /// Its password or PIN.
        pin: Option<String>,
    },
    /// MESSage: the text on one line (§4.3.2).
    Message(Vec<u8>),
    /// DATA: the text's lines follow (§4.4.1).
    Data,
    /// SEND (§4.3.4).
    Send,
    /// RESEt (§4.3.3).
    Reset,
    /// QUIT (§4.3.5).
    Quit,
    /// HELP (§4.3.6).
    Help,
    /// LOGIn (§4.5.1).
    Login {
        /// Who.
        id: String,
        /// The password.
        password: Option<String>,
    },
    /// LEVEl: service level of the next pager, 0 to [`LEVEL_MAX`] (§4.5.3).
    Level(u8),
    /// ALERt: whether the next pager makes itself heard (§4.5.4).
    Alert(bool),
    /// COVErage: alternate area of the next pager (§4.5.5).
    Coverage(String),
    /// HOLDuntil (§4.5.6).
    Hold {
        /// `YYMMDDHHMMSS`; 14 digits with a year of four are taken too.
        until: String,
        /// Offset from GMT, such as `-0600`; `None`: the server's local time.
        zone: Option<String>,
    },
    /// CALLerid (§4.5.7).
    CallerId(Vec<u8>),
    /// SUBJect (§4.5.8).
    Subject(Vec<u8>),
    /// 2WAY: begins a two-way transaction (§4.6.1).
    TwoWay,
    /// PING: finds a pager (§4.6.2).
    Ping(String),
    /// EXPTag: hours after which a queued page is given up, 1 to [`EXPIRY_HOURS_MAX`] (§4.6.3).
    ExpireTag(u16),
    /// NOQUEUEing (§4.6.4).
    NoQueue,
    /// ACKRead: whether reading is reported (§4.6.5).
    AckRead(bool),
    /// RTYPe (§4.6.6).
    ReplyType(ReplyType),
    /// MCREsponse: a choice (§4.6.7).
    Choice {
        /// 1 to [`CODE_OCTETS_MAX`] letters and digits.
        code: String,
        /// 1 to [`CHOICE_OCTETS_MAX`] octets.
        text: Vec<u8>,
    },
    /// MSTAtus (§4.6.10).
    Status(MessageTag),
    /// KTAG: the tag is no longer needed (§4.6.10).
    Kill(MessageTag),
}

/// A command that cannot be: a whole reply for its client, or words for the caller that wants it written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedCommand(pub &'static str);

const NO_COMMAND: RefusedCommand = RefusedCommand("500 Command Not Implemented, Try Again");
const NO_PAGER: RefusedCommand = RefusedCommand("550 Error, Invalid Pager ID");
const NO_MESSAGE: RefusedCommand = RefusedCommand("550 Error, Invalid Message");
const NO_LOGIN: RefusedCommand = RefusedCommand("550 Error, Invalid LoginID or Password");
const NO_LEVEL: RefusedCommand = RefusedCommand("550 Error, Invalid Service Level Specified");
const NO_ALERT: RefusedCommand = RefusedCommand("550 Error, Invalid Alert Parameter");
const NO_AREA: RefusedCommand = RefusedCommand("550 Error, Invalid Alternate Region");
const NO_HOLD: RefusedCommand = RefusedCommand("550 Error, Invalid Delivery Date/Time");
const NO_CALLER: RefusedCommand = RefusedCommand("550 Error, Invalid Caller ID");
const NO_SUBJECT: RefusedCommand = RefusedCommand("550 Error, Invalid Subject Option");
const NO_EXPIRY: RefusedCommand = RefusedCommand("550 Cannot Change Expiry Time");
const NO_ACKNOWLEDGEMENT: RefusedCommand = RefusedCommand("550 Cannot modify Read Acknowledgment");
const NO_REPLY_TYPE: RefusedCommand = RefusedCommand("550 Illegal Reply Type");
const NO_CHOICE: RefusedCommand = RefusedCommand("550 Invalid MCResponse Code");
const NO_TAG: RefusedCommand = RefusedCommand("550 Unknown or Illegal Message_Tag or Pass_Code");

impl SnppCommand {
    /// Appends the command's line.
    ///
    /// # Errors
    /// An argument that cannot be carried, or a line over [`COMMAND_OCTETS_MAX`]: nothing is appended then.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), RefusedCommand> {
        self.check()?;
        let before = out.len();
        let (word, arguments) = self.parts();
        out.extend_from_slice(word.as_bytes());
        for argument in arguments.into_iter().flatten() {
            out.push(b' ');
            out.extend_from_slice(argument);
        }
        out.extend_from_slice(b"\r\n");
        if out.len() - before > COMMAND_OCTETS_MAX {
            out.truncate(before);
            return Err(NO_MESSAGE);
        }
        Ok(())
    }

    /// Its word and up to two arguments.
    fn parts(&self) -> (&'static str, [Option<&[u8]>; 2]) {
        fn two<'a>(one: &'a str, other: &'a Option<String>) -> [Option<&'a [u8]>; 2] {
            [Some(one.as_bytes()), other.as_ref().map(String::as_bytes)]
        }
        fn tag(tag: &MessageTag) -> [Option<&[u8]>; 2] {
            [Some(tag.tag().as_bytes()), Some(tag.pass_code().as_bytes())]
        }
        let flag = |on: &bool| [Some(if *on { &b"1"[..] } else { b"0" }), None];
        let none = [None, None];
        match self {
            SnppCommand::Page { pager, pin } => ("PAGE", two(pager, pin)),
            SnppCommand::Message(text) => ("MESS", [Some(text), None]),
            SnppCommand::Data => ("DATA", none),
            SnppCommand::Send => ("SEND", none),
            SnppCommand::Reset => ("RESE", none),
            SnppCommand::Quit => ("QUIT", none),
            SnppCommand::Help => ("HELP", none),
            SnppCommand::Login { id, password } => ("LOGI", two(id, password)),
            SnppCommand::Level(level) => ("LEVE", [LEVELS.get(usize::from(*level)).copied(), None]),
            SnppCommand::Alert(on) => ("ALER", flag(on)),
            SnppCommand::Coverage(area) => ("COVE", [Some(area.as_bytes()), None]),
            SnppCommand::Hold { until, zone } => ("HOLD", two(until, zone)),
            SnppCommand::CallerId(caller) => ("CALL", [Some(caller), None]),
            SnppCommand::Subject(subject) => ("SUBJ", [Some(subject), None]),
            SnppCommand::TwoWay => ("2WAY", none),
            SnppCommand::Ping(pager) => ("PING", [Some(pager.as_bytes()), None]),
            SnppCommand::ExpireTag(hours) => ("EXPT", [hour(*hours), None]),
            SnppCommand::NoQueue => ("NOQU", none),
            SnppCommand::AckRead(on) => ("ACKR", flag(on)),
            SnppCommand::ReplyType(kind) => ("RTYP", [Some(kind.word().as_bytes()), None]),
            SnppCommand::Choice { code, text } => ("MCRE", [Some(code.as_bytes()), Some(text)]),
            SnppCommand::Status(of) => ("MSTA", tag(of)),
            SnppCommand::Kill(of) => ("KTAG", tag(of)),
        }
    }

    fn check(&self) -> Result<(), RefusedCommand> {
        let word = |text: &str| is_word(text.as_bytes(), WORD_OCTETS_MAX);
        let words = |one: &str, other: &Option<String>| word(one) && other.as_deref().is_none_or(word);
        let (fits, otherwise) = match self {
            SnppCommand::Page { pager, pin } => (words(pager, pin), NO_PAGER),
            SnppCommand::Message(text) => (is_text(text, COMMAND_OCTETS_MAX), NO_MESSAGE),
            SnppCommand::Login { id, password } => (words(id, password), NO_LOGIN),
            SnppCommand::Level(level) => (*level <= LEVEL_MAX, NO_LEVEL),
            SnppCommand::Coverage(area) => (word(area), NO_AREA),
            SnppCommand::Hold { until, zone } => (is_hold(until, zone.as_deref()), NO_HOLD),
            SnppCommand::CallerId(caller) => (is_text(caller, WORD_OCTETS_MAX), NO_CALLER),
            SnppCommand::Subject(subject) => (is_text(subject, COMMAND_OCTETS_MAX), NO_SUBJECT),
            SnppCommand::Ping(pager) => (word(pager), NO_PAGER),
            SnppCommand::ExpireTag(hours) => ((1..=EXPIRY_HOURS_MAX).contains(hours), NO_EXPIRY),
            SnppCommand::Choice { code, text } => {
                (is_code(code) && is_text(text, CHOICE_OCTETS_MAX), NO_CHOICE)
            }
            _ => (true, NO_COMMAND),
        };
        if fits { Ok(()) } else { Err(otherwise) }
    }

    /// Reads a line without its end.
    ///
    /// # Errors
    /// The reply for a word that is no command, or for arguments that cannot be.
    pub fn parse(line: &[u8]) -> Result<SnppCommand, RefusedCommand> {
        let line = line.trim_ascii_start();
        let end = line.iter().position(|octet| *octet == b' ' || *octet == b'\t').unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        let word = word.get(..4).ok_or(NO_COMMAND)?.to_ascii_uppercase();
        let command = with_arguments(&word, rest.trim_ascii())?;
        command.check()?;
        Ok(command)
    }
}

/// The command of a word with these arguments.
fn with_arguments(word: &[u8], rest: &[u8]) -> Result<SnppCommand, RefusedCommand> {
    Ok(match word {
        b"PAGE" => {
            let (pager, pin) = one_or_two(rest).ok_or(NO_PAGER)?;
            SnppCommand::Page { pager, pin }
        }
        b"MESS" => SnppCommand::Message(rest.to_vec()),
        b"DATA" => SnppCommand::Data,
        b"SEND" => SnppCommand::Send,
        b"RESE" => SnppCommand::Reset,
        b"QUIT" => SnppCommand::Quit,
        b"HELP" => SnppCommand::Help,
        b"LOGI" => {
            let (id, password) = one_or_two(rest).ok_or(NO_LOGIN)?;
            SnppCommand::Login { id, password }
        }
        b"LEVE" => SnppCommand::Level(number(rest).ok_or(NO_LEVEL)?),
        b"ALER" => SnppCommand::Alert(flag(rest).ok_or(NO_ALERT)?),
        b"COVE" => SnppCommand::Coverage(text_of(rest).ok_or(NO_AREA)?),
        b"HOLD" => {
            let (until, zone) = one_or_two(rest).ok_or(NO_HOLD)?;
            SnppCommand::Hold { until, zone }
        }
        b"CALL" => SnppCommand::CallerId(rest.to_vec()),
        b"SUBJ" => SnppCommand::Subject(rest.to_vec()),
        b"2WAY" => SnppCommand::TwoWay,
        b"PING" => SnppCommand::Ping(text_of(rest).ok_or(NO_PAGER)?),
        b"EXPT" => SnppCommand::ExpireTag(number(rest).ok_or(NO_EXPIRY)?),
        b"NOQU" => SnppCommand::NoQueue,
        b"ACKR" => SnppCommand::AckRead(flag(rest).ok_or(NO_ACKNOWLEDGEMENT)?),
        b"RTYP" => SnppCommand::ReplyType(ReplyType::of(rest).ok_or(NO_REPLY_TYPE)?),
        b"MCRE" => {
            let end = rest.iter().position(|octet| *octet == b' ').ok_or(NO_CHOICE)?;
            let (code, text) = rest.split_at(end);
            SnppCommand::Choice { code: text_of(code).ok_or(NO_CHOICE)?, text: text.trim_ascii().to_vec() }
        }
        b"MSTA" => SnppCommand::Status(tag_of(rest).ok_or(NO_TAG)?),
        b"KTAG" => SnppCommand::Kill(tag_of(rest).ok_or(NO_TAG)?),
        _ => return Err(NO_COMMAND),
    })
}

impl ReplyType {
    /// As it stands in RTYPe.
    pub fn word(self) -> &'static str {
        REPLY_TYPES.iter().find(|(_, kind)| *kind == self).map_or("NONE", |(word, _)| word)
    }

    fn of(word: &[u8]) -> Option<ReplyType> {
        REPLY_TYPES.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word)).map(|(_, kind)| *kind)
    }
}

/// Levels as they are written.
const LEVELS: [&[u8]; 12] = [b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"10", b"11"];

/// Hours as they are written: a table of digits, since an argument is borrowed.
fn hour(hours: u16) -> Option<&'static [u8]> {
    static HOURS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    let all = HOURS.get_or_init(|| (0..=EXPIRY_HOURS_MAX).map(|hours| hours.to_string()).collect());
    all.get(usize::from(hours)).map(String::as_bytes)
}

/// 1 to `most` octets without controls and without blanks around.
fn is_text(text: &[u8], most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.iter().all(|o| is_line_octet(*o)) && text.trim_ascii() == text
}

fn is_code(code: &str) -> bool {
    (1..=CODE_OCTETS_MAX).contains(&code.len()) && code.bytes().all(|octet| octet.is_ascii_alphanumeric())
}

fn is_hold(until: &str, zone: Option<&str>) -> bool {
    let digits = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    let is_zone = |zone: &str| {
        zone.strip_prefix(['+', '-']).is_some_and(|rest| (1..=4).contains(&rest.len()) && digits(rest))
    };
    matches!(until.len(), 12 | 14) && digits(until) && zone.is_none_or(is_zone)
}

fn text_of(octets: &[u8]) -> Option<String> {
    std::str::from_utf8(octets).ok().map(str::to_owned)
}

fn one_or_two(rest: &[u8]) -> Option<(String, Option<String>)> {
    let text = std::str::from_utf8(rest).ok()?;
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?.to_owned();
    Some((first, words.next().map(str::to_owned)))
}

fn number<N: std::str::FromStr>(rest: &[u8]) -> Option<N> {
    let text = std::str::from_utf8(rest).ok()?;
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok())?
}

fn flag(rest: &[u8]) -> Option<bool> {
    match rest {
        b"0" => Some(false),
        b"1" => Some(true),
        _ => None,
    }
}

fn tag_of(rest: &[u8]) -> Option<MessageTag> {
    let (tag, pass_code) = one_or_two(rest)?;
    MessageTag::new(&tag, &pass_code?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(pager: &str, pin: Option<&str>) -> SnppCommand {
        SnppCommand::Page { pager: pager.to_owned(), pin: pin.map(str::to_owned) }
    }

    #[test]
    fn commands_of_the_standard_are_written_and_read() {
        let tag = || MessageTag::new("00321", "1234").unwrap();
        let text = |text: &str| text.as_bytes().to_vec();
        let choice = SnppCommand::Choice { code: "1E2C".to_owned(), text: text("Here is one response") };
        let hold = |zone: Option<&str>| SnppCommand::Hold {
            until: "940115230000".to_owned(),
            zone: zone.map(str::to_owned),
        };
        let login = |password: Option<&str>| SnppCommand::Login {
            id: "city".to_owned(),
            password: password.map(str::to_owned),
        };
        for (line, command) in [
            ("PAGE 5551212", page("5551212", None)),
            ("PAGE 5551212 FOOBAR", page("5551212", Some("FOOBAR"))),
            ("MESS Your network is hosed", SnppCommand::Message(text("Your network is hosed"))),
            ("DATA", SnppCommand::Data),
            ("SEND", SnppCommand::Send),
            ("RESE", SnppCommand::Reset),
            ("QUIT", SnppCommand::Quit),
            ("HELP", SnppCommand::Help),
            ("LOGI city", login(None)),
            ("LOGI city word", login(Some("word"))),
            ("LEVE 11", SnppCommand::Level(11)),
            ("ALER 1", SnppCommand::Alert(true)),
            ("COVE 2", SnppCommand::Coverage("2".to_owned())),
            ("HOLD 940115230000 -0600", hold(Some("-0600"))),
            ("HOLD 940115230000", hold(None)),
            ("CALL City of X", SnppCommand::CallerId(text("City of X"))),
            ("SUBJ Seattle Meeting", SnppCommand::Subject(text("Seattle Meeting"))),
            ("2WAY", SnppCommand::TwoWay),
            ("PING SHIRLEY", SnppCommand::Ping("SHIRLEY".to_owned())),
            ("EXPT 24", SnppCommand::ExpireTag(24)),
            ("NOQU", SnppCommand::NoQueue),
            ("ACKR 0", SnppCommand::AckRead(false)),
            ("RTYP MULTICHOICE", SnppCommand::ReplyType(ReplyType::MultipleChoice)),
            ("MCRE 1E2C Here is one response", choice),
            ("MSTA 00321 1234", SnppCommand::Status(tag())),
            ("KTAG 00321 1234", SnppCommand::Kill(tag())),
        ] {
            let mut out = Vec::new();
            command.write(&mut out).unwrap();
            assert_eq!(out, format!("{line}\r\n").as_bytes());
            assert_eq!(SnppCommand::parse(line.as_bytes()), Ok(command));
        }
    }

    #[test]
    fn four_characters_count_in_any_case() {
        for line in
            ["PAGER shirley", "pager shirley", "Page  shirley ", "PAGE\tshirley", "pagesomebody shirley"]
        {
            assert_eq!(SnppCommand::parse(line.as_bytes()), Ok(page("shirley", None)), "{line}");
        }
        assert_eq!(SnppCommand::parse(b"NOQUEUE"), Ok(SnppCommand::NoQueue));
        let code = |line: &[u8]| match SnppCommand::parse(line) {
            Ok(SnppCommand::Choice { code, .. }) => code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(b"MCRESP 01 In the West Pasture"), "01");
    }

    #[test]
    fn hostile_lines_get_the_standards_reply() {
        let long = format!("PAGE {}", "5".repeat(WORD_OCTETS_MAX + 1));
        let long_code = format!("MCRE {} x", "1".repeat(CODE_OCTETS_MAX + 1));
        for (line, reply) in [
            (&b""[..], NO_COMMAND),
            (b"PAG", NO_COMMAND),
            (b"EHLO x", NO_COMMAND),
            (b"\xff\xff\xff\xff", NO_COMMAND),
            (b"PAGE", NO_PAGER),
            (b"PAGE \xff", NO_PAGER),
            (b"PAGE a\x01b", NO_PAGER),
            (long.as_bytes(), NO_PAGER),
            (b"MESS", NO_MESSAGE),
            (b"MESS a\x00b", NO_MESSAGE),
            (b"LEVE 12", NO_LEVEL),
            (b"LEVE -1", NO_LEVEL),
            (b"LEVE 99999999999999999999", NO_LEVEL),
            (b"ALER 2", NO_ALERT),
            (b"HOLD 99", NO_HOLD),
            (b"HOLD 940115230000 x", NO_HOLD),
            (b"EXPT 0", NO_EXPIRY),
            (b"EXPT 673", NO_EXPIRY),
            (b"ACKR yes", NO_ACKNOWLEDGEMENT),
            (b"RTYP EVERYTHING", NO_REPLY_TYPE),
            (b"MCRE 01", NO_CHOICE),
            (b"MCRE 0;1 x", NO_CHOICE),
            (long_code.as_bytes(), NO_CHOICE),
            (b"MSTA 1", NO_TAG),
            (b"KTAG", NO_TAG),
            (b"LOGI", NO_LOGIN),
        ] {
            assert_eq!(SnppCommand::parse(line), Err(reply), "{:?}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn an_argument_that_would_end_the_line_is_not_written() {
        let mut out = Vec::new();
        for command in [
            page("1\r\nSEND", None),
            page("1", Some("a b")),
            page("", None),
            SnppCommand::Message(b"a\r\nQUIT".to_vec()),
            SnppCommand::Message(vec![b'x'; COMMAND_OCTETS_MAX]),
            SnppCommand::Subject(b" a".to_vec()),
            SnppCommand::Level(12),
            SnppCommand::Choice { code: "1 2".to_owned(), text: b"x".to_vec() },
            SnppCommand::Choice { code: "1".to_owned(), text: b"x\n".to_vec() },
        ] {
            assert!(command.write(&mut out).is_err(), "{command:?}");
            assert!(out.is_empty());
        }
    }

    proptest! {
        /// Any line: what is read is written as one line, and reads the same again.
        #[test]
        fn what_is_read_writes_the_same_command(
            word in prop_oneof![
                Just("PAGE"), Just("MESS"), Just("LOGI"), Just("LEVE"), Just("HOLD"), Just("EXPT"), Just("MCRE"),
                Just("MSTA"), Just("RTYP"), Just("CALL"), Just("SEND"),
            ],
            rest in prop_oneof!["[ -~]{0,40}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..30)],
        ) {
            let line = [word.as_bytes(), b" ", &rest].concat();
            if let Ok(command) = SnppCommand::parse(&line) {
                let mut out = Vec::new();
                prop_assert_eq!(command.write(&mut out), Ok(()));
                prop_assert!(out.ends_with(b"\r\n") && !out[..out.len() - 2].contains(&b'\n'));
                prop_assert_eq!(SnppCommand::parse(&out[..out.len() - 2]), Ok(command));
            }
        }
    }
}
