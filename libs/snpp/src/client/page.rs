//! A page to be sent, the steps of its transaction, and its verdict.

use crate::command::{CHOICE_OCTETS_MAX, ReplyType, SnppCommand};
use crate::message::{is_message, one_line};
use crate::tag::SendReceipt;
use std::collections::VecDeque;

/// Choices of a two-way page at most.
pub const CHOICES_MAX: usize = 32;

/// One page for one pager.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingPage {
    /// The caller's number for it.
    pub id: u64,
    /// Pager's id: 1 to 128 visible ASCII characters.
    pub pager: String,
    /// The pager's password or PIN.
    pub pin: Option<String>,
    /// The text: see [`is_message`]. One line goes by MESSage, several by DATA.
    pub text: Vec<u8>,
    /// Service level, 0 to 11 (RFC 1861 §4.5.3).
    pub level: Option<u8>,
    /// Alternate coverage area (§4.5.5).
    pub coverage: Option<String>,
    /// Whether the pager makes itself heard (§4.5.4).
    pub alert: Option<bool>,
    /// Who pages (§4.5.7), without controls.
    pub caller: Option<Vec<u8>>,
    /// Level 3, where it is asked for. A server or a pager that cannot gets the page by level 2.
    pub two_way: Option<TwoWay>,
}

/// What a two-way page asks for (RFC 1861 §4.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoWay {
    /// Hours after which a queued page is given up.
    pub expires_h: Option<u16>,
    /// The page is refused where the pager is not there.
    pub no_queue: bool,
    /// Reading is reported.
    pub ack_read: bool,
    /// The type of reply that is permitted.
    pub reply: ReplyType,
    /// Codes and texts of the choices, at most [`CHOICES_MAX`].
    pub choices: Vec<(String, Vec<u8>)>,
}

/// What became of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageVerdict {
    /// The server took it.
    Accepted {
        /// Its reply to SEND.
        receipt: SendReceipt,
        /// Commands that the server refused and the page went without, such as `MCRE` or `2WAY`.
        without: Vec<&'static str>,
    },
    /// The server refused it, or it can be carried by no server.
    Refused {
        /// Trying again would get the same refusal.
        permanent: bool,
        /// Stable: `snpp:550`, `local:page`.
        code: String,
        /// The command, and the server's words or the client's.
        text: String,
    },
    /// SEND was written, at least in part, and got no reply.
    Unknown {
        /// Why, in words.
        text: String,
    },
    /// SEND was surely not written.
    NotTried {
        /// Why, in words.
        text: String,
    },
}

/// One step of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageStep {
    /// A command whose refusal ends the transaction.
    Required(SnppCommand),
    /// A command whose refusal the page goes without.
    Optional(SnppCommand),
    /// The lines behind DATA.
    Lines,
}

impl PageStep {
    /// The command's word for people.
    pub(super) fn word(&self) -> &'static str {
        match self {
            PageStep::Lines => "the text",
            PageStep::Required(command) | PageStep::Optional(command) => word_of(command),
        }
    }
}

fn word_of(command: &SnppCommand) -> &'static str {
    match command {
        SnppCommand::Page { .. } => "PAGE",
        SnppCommand::Message(_) => "MESS",
        SnppCommand::Data => "DATA",
        SnppCommand::Send => "SEND",
        SnppCommand::Level(_) => "LEVE",
        SnppCommand::Alert(_) => "ALER",
        SnppCommand::Coverage(_) => "COVE",
        SnppCommand::CallerId(_) => "CALL",
        SnppCommand::TwoWay => "2WAY",
        SnppCommand::ExpireTag(_) => "EXPT",
        SnppCommand::NoQueue => "NOQU",
        SnppCommand::AckRead(_) => "ACKR",
        SnppCommand::ReplyType(_) => "RTYP",
        SnppCommand::Choice { .. } => "MCRE",
        SnppCommand::Status(_) => "MSTA",
        SnppCommand::Kill(_) => "KTAG",
        SnppCommand::Login { .. } => "LOGI",
        _ => "the command",
    }
}

impl OutgoingPage {
    /// Why no server could take it; `None`: it can be written.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if !is_message(&self.text) || self.text.trim_ascii().is_empty() {
            return Some("the text is empty, has controls, or is too long");
        }
        if self.two_way.as_ref().is_some_and(|two_way| two_way.choices.len() > CHOICES_MAX) {
            return Some("there are too many choices");
        }
        let is_wrong = |step: &PageStep| match step {
            PageStep::Required(command) | PageStep::Optional(command) => {
                command.write(&mut Vec::new()).is_err()
            }
            PageStep::Lines => false,
        };
        self.steps(self.two_way.is_some()).iter().any(is_wrong).then_some("a field cannot be carried by SNPP")
    }

    /// The transaction, in the order of the standard's example (§4.1.3): options of the next pager before
    /// PAGEr (§4.5.2), what belongs to the message behind it.
    pub(super) fn steps(&self, two_way: bool) -> VecDeque<PageStep> {
        let two_way = self.two_way.as_ref().filter(|_| two_way);
        let mut steps = VecDeque::new();
        if let Some(two_way) = two_way {
            steps.push_back(PageStep::Required(SnppCommand::TwoWay));
            steps.extend(two_way.expires_h.map(|hours| PageStep::Optional(SnppCommand::ExpireTag(hours))));
            steps.extend(two_way.no_queue.then_some(PageStep::Optional(SnppCommand::NoQueue)));
        }
        steps.extend(self.level.map(|level| PageStep::Optional(SnppCommand::Level(level))));
        steps.extend(self.coverage.clone().map(|area| PageStep::Optional(SnppCommand::Coverage(area))));
        steps.extend(self.alert.map(|on| PageStep::Optional(SnppCommand::Alert(on))));
        let (pager, pin) = (self.pager.clone(), self.pin.clone());
        steps.push_back(PageStep::Required(SnppCommand::Page { pager, pin }));
        if two_way.is_some_and(|two_way| two_way.ack_read) {
            steps.push_back(PageStep::Optional(SnppCommand::AckRead(true)));
        }
        steps.extend(self.caller.clone().map(|caller| PageStep::Optional(SnppCommand::CallerId(caller))));
        if self.text.contains(&b'\n') {
            steps.extend([PageStep::Required(SnppCommand::Data), PageStep::Lines]);
        } else {
            steps.push_back(self.on_one_line());
        }
        if let Some(two_way) = two_way {
            two_way.push_replies(&mut steps);
        }
        steps.push_back(PageStep::Required(SnppCommand::Send));
        steps
    }

    /// The text by MESSage, also of a text with several lines.
    pub(super) fn on_one_line(&self) -> PageStep {
        PageStep::Required(SnppCommand::Message(one_line(&self.text).trim_ascii().to_vec()))
    }
}

impl TwoWay {
    fn push_replies(&self, steps: &mut VecDeque<PageStep>) {
        if self.reply != ReplyType::None {
            steps.push_back(PageStep::Optional(SnppCommand::ReplyType(self.reply)));
        }
        if self.reply != ReplyType::MultipleChoice {
            return;
        }
        for (code, text) in &self.choices {
            let mut text = one_line(text).trim_ascii().to_vec();
            text.truncate(CHOICE_OCTETS_MAX);
            let text = text.trim_ascii_end().to_vec();
            steps.push_back(PageStep::Optional(SnppCommand::Choice { code: code.clone(), text }));
        }
    }
}
