//! A page as it comes in: the draft that commands fill, and the whole of it.

use super::replies;
use crate::command::{ReplyType, SnppCommand};

/// A whole page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedPage {
    /// At least one; one of a two-way page.
    pub pagers: Vec<ReceivedPager>,
    /// The text, in lines parted by line feeds, without controls.
    pub text: Vec<u8>,
    /// CALLerid.
    pub caller: Option<Vec<u8>>,
    /// SUBJect.
    pub subject: Option<Vec<u8>>,
    /// What a two-way page asks for; `None`: it is of one way.
    pub two_way: Option<ReceivedTwoWay>,
}

/// Whom a page is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedPager {
    /// The pager's id.
    pub pager: String,
    /// Its password or PIN.
    pub pin: Option<String>,
    /// Its own options.
    pub options: PagerOptions,
}

/// Options of one pager (RFC 1861 §4.5.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PagerOptions {
    /// LEVEl.
    pub level: Option<u8>,
    /// ALERt.
    pub alert: Option<bool>,
    /// COVErage.
    pub coverage: Option<String>,
    /// HOLDuntil: date and offset.
    pub hold: Option<(String, Option<String>)>,
}

/// What a two-way page asks for (RFC 1861 §4.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedTwoWay {
    /// EXPTag.
    pub expires_h: Option<u16>,
    /// NOQUEUEing.
    pub no_queue: bool,
    /// ACKRead.
    pub ack_read: bool,
    /// RTYPe.
    pub reply: ReplyType,
    /// Codes and texts of MCREsponse.
    pub choices: Vec<(String, Vec<u8>)>,
}

/// A page that is being entered.
#[derive(Debug, Default)]
pub(super) struct DraftPage {
    pub(super) pagers: Vec<ReceivedPager>,
    /// Of the next pager.
    pub(super) options: PagerOptions,
    pub(super) text: Option<Vec<u8>>,
    caller: Option<Vec<u8>>,
    subject: Option<Vec<u8>>,
    pub(super) two_way: Option<ReceivedTwoWay>,
}

impl DraftPage {
    pub(super) fn is_two_way(&self) -> bool {
        self.two_way.is_some()
    }

    /// Something of a transaction was entered.
    pub(super) fn is_begun(&self) -> bool {
        !self.pagers.is_empty() || self.text.is_some() || self.two_way.is_some()
    }

    pub(super) fn page(&self) -> ReceivedPage {
        ReceivedPage {
            pagers: self.pagers.clone(),
            text: self.text.clone().unwrap_or_default(),
            caller: self.caller.clone(),
            subject: self.subject.clone(),
            two_way: self.two_way.clone(),
        }
    }

    /// Takes a command that is an option in; the reply either way.
    pub(super) fn take_option(
        &mut self,
        option: SnppCommand,
        choices_max: usize,
    ) -> Result<&'static str, &'static str> {
        match option {
            SnppCommand::Level(level) => self.options.level = Some(level),
            SnppCommand::Alert(on) => self.options.alert = Some(on),
            SnppCommand::Coverage(area) => self.options.coverage = Some(area),
            SnppCommand::Hold { until, zone } => self.options.hold = Some((until, zone)),
            SnppCommand::CallerId(caller) => self.caller = Some(caller),
            SnppCommand::Subject(subject) => self.subject = Some(subject),
            other => return self.take_two_way(other, choices_max),
        }
        Ok(replies::OPTION_OK)
    }

    fn take_two_way(
        &mut self,
        option: SnppCommand,
        choices_max: usize,
    ) -> Result<&'static str, &'static str> {
        let two_way = self.two_way.as_mut().ok_or(replies::NOT_IN_TWO_WAY)?;
        match option {
            SnppCommand::ExpireTag(hours) => two_way.expires_h = Some(hours),
            SnppCommand::NoQueue if !self.pagers.is_empty() => return Err(replies::NO_QUEUE_LATE),
            SnppCommand::NoQueue => two_way.no_queue = true,
            SnppCommand::AckRead(on) => two_way.ack_read = on,
            SnppCommand::ReplyType(kind) => two_way.reply = kind,
            SnppCommand::Choice { code, text } => {
                if two_way.choices.iter().any(|(other, _)| *other == code) {
                    return Err(replies::CHOICE_TWICE);
                }
                if two_way.choices.len() >= choices_max {
                    return Err(replies::TOO_MANY_CHOICES);
                }
                two_way.choices.push((code, text));
            }
            _ => return Err(replies::NOT_IMPLEMENTED),
        }
        Ok(replies::OPTION_OK)
    }
}
