//! From text to the octets of submit_sm: once for each body of a segment; a platform's own message once, when
//! it is written, and without a copy where its octets go as they are.

mod address;
mod coded;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use records::{Body, Entry, Segment, Short, TextEncoding};
use smpp::pdu::esm_class;
use smpp::text::national::{Language, Shift};
use smpp::text::{Charset, Coding, Concat, PARTS_MAX, Part};
use smpp::{TlvBuf, Tlvs};

use super::config::{SmsRoute, Source};
use crate::dispatcher::ChannelEncoder;
use address::sender_of;
pub(super) use address::{announced_source, digits, source_of};
use coded::{Coded, Script};

/// A text as octets, and how they are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Encoded {
    octets: Vec<u8>,
    /// Where each part ends.
    ends: Vec<u32>,
    coding: Coding,
    /// The tables its septets are of: each part says them.
    shift: Shift,
    cut: SplitMode,
    /// The user data header it brings, without the length octet in front.
    udh: Box<[u8]>,
}

/// How a long message is made of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SplitMode {
    /// By the route's way.
    By(Concat),
    /// Not at all: it brings a header of its own, and may be a part itself.
    Never,
}

/// Why a body cannot be sent by this route, ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsendable {
    /// Stable.
    pub(super) code: &'static str,
    /// In words.
    pub(super) text: String,
}

/// What is made of a segment once.
#[derive(Debug, Default)]
pub struct Prepared {
    bodies: Vec<Result<Encoded, Unsendable>>,
    /// Where the segment names one that can be shown.
    pub(super) sender: Option<Source>,
}

/// What the route knows of segments.
#[derive(Debug, Clone)]
pub struct SmsEncoder {
    charset: Charset,
    concat: Concat,
    languages: Box<[Language]>,
}

/// What a submit_sm says, addresses and orders apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wording<'a> {
    pub(super) esm_class: u8,
    pub(super) data_coding: u8,
    pub(super) short_message: &'a [u8],
    pub(super) tlvs: Tlvs<'a>,
}

/// Where a session puts messages together: kept, so that nothing is allocated for each.
#[derive(Default)]
pub(super) struct Scratch {
    octets: Vec<u8>,
    short_message: Vec<u8>,
    tlvs: TlvBuf,
}

/// How many submit_sm a text makes on this route; at least 1.
pub fn parts(route: &SmsRoute, text: &str) -> u32 {
    coded::parts_of_text(text, None, Script::of(route)) as u32
}

/// How many submit_sm one message may be on this route: what a reference to its parts can count.
pub fn parts_max(route: &SmsRoute) -> u32 {
    if route.long == Concat::Payload { 1 } else { PARTS_MAX as u32 }
}

/// How a body is written on this route; nothing for one that cannot be sent by it.
pub fn encoding(route: &SmsRoute, body: &Body, flash: bool) -> Option<TextEncoding> {
    coded::encoding(body, flash, Script::of(route))
}

/// How many submit_sm a platform's message makes on this route; at least 1.
pub fn parts_of_short(route: &SmsRoute, short: &Short) -> u32 {
    coded::parts_of_short(short, false, Script::of(route)) as u32
}

impl SmsEncoder {
    pub(super) fn new(route: &SmsRoute) -> SmsEncoder {
        SmsEncoder {
            charset: route.charset,
            concat: route.long,
            languages: route.languages.as_slice().into(),
        }
    }

    fn script(&self) -> Script<'_> {
        Script { charset: self.charset, concat: self.concat, languages: &self.languages }
    }

    /// What a part of an entry says; `which` is its number and the message's reference. `kept`: what was made
    /// of an own body of several parts when its first one was written.
    pub(super) fn wording<'a>(
        &self,
        segment: &'a Segment,
        prepared: &'a Prepared,
        entry: &'a Entry,
        kept: Option<&'a Encoded>,
        which: (u8, u16),
        scratch: &'a mut Scratch,
    ) -> Result<Wording<'a>, Unsendable> {
        let short = match segment.body(entry) {
            Some(Body::Short(short)) => Some(&**short),
            _ => None,
        };
        let more = short.map_or(&[][..], |short| &short.tlvs);
        let Scratch { octets, short_message, tlvs } = scratch;
        let mut wording = match (kept, &entry.own) {
            (Some(encoded), _) => encoded.wording(which, more, short_message, tlvs)?,
            (None, Some(own)) => {
                let coded = Coded::new(own, segment.flash, self.script(), octets)?;
                coded.alone(more, short_message, tlvs)?
            }
            (None, None) => match prepared.bodies.get(usize::from(entry.body)) {
                Some(Ok(encoded)) => encoded.wording(which, more, short_message, tlvs)?,
                Some(Err(why)) => return Err(why.clone()),
                None => return Err(no_body(entry)),
            },
        };
        if let Some(short) = short {
            wording.esm_class |= short.esm_class & !esm_class::UDHI;
        }
        Ok(wording)
    }

    /// An own body of several parts, made once for all of them.
    pub(super) fn keep(&self, segment: &Segment, own: &Body) -> Result<Arc<Encoded>, Unsendable> {
        self.encode(own, segment.flash).map(Arc::new)
    }

    fn encode(&self, body: &Body, flash: bool) -> Result<Encoded, Unsendable> {
        let mut octets = Vec::new();
        Coded::new(body, flash, self.script(), &mut octets)?.encoded()
    }
}

impl ChannelEncoder for SmsEncoder {
    type Prepared = Prepared;

    fn prepare(&self, segment: &Segment) -> Prepared {
        Prepared {
            bodies: segment.bodies.iter().map(|body| self.encode(body, segment.flash)).collect(),
            sender: segment.sender.as_deref().and_then(sender_of),
        }
    }

    fn units(&self, segment: &Segment, prepared: &Prepared, entry: &Entry) -> u8 {
        let parts = match entry.own.as_deref() {
            None => match prepared.bodies.get(usize::from(entry.body)) {
                Some(Ok(encoded)) => encoded.ends.len(),
                _ => 1,
            },
            Some(Body::Content(content) | Body::Translated(_, content)) => {
                coded::parts_of_text(&content.text, segment.flash.then_some(0), self.script())
            }
            Some(Body::Short(short)) => coded::parts_of_short(short, segment.flash, self.script()),
        };
        // What has more cannot be sent, and is refused as a whole.
        u8::try_from(parts).ok().filter(|&parts| usize::from(parts) <= PARTS_MAX).unwrap_or(1)
    }
}

impl Encoded {
    /// What a part says, from 1. `more` are TLVs that go with each.
    fn wording<'a>(
        &'a self,
        (part, reference): (u8, u16),
        more: &'a [u8],
        short_message: &'a mut Vec<u8>,
        tlvs: &'a mut TlvBuf,
    ) -> Result<Wording<'a>, Unsendable> {
        let SplitMode::By(concat) = self.cut else { return self.coded().alone(more, short_message, tlvs) };
        if self.ends.len() == 1 {
            return self.coded().alone(more, short_message, tlvs);
        }
        let part = self.part(part, reference, concat);
        coded::of_part(&part, self.coding, more, short_message, tlvs)
    }

    fn coded(&self) -> Coded<'_> {
        let Encoded { octets, coding, shift, cut, udh, .. } = self;
        Coded { octets, coding: *coding, shift: *shift, cut: *cut, udh }
    }

    /// A part, from 1.
    fn part(&self, number: u8, reference: u16, concat: Concat) -> Part<'_> {
        let total = self.ends.len() as u8; // the cutter makes no more than 255
        let at = usize::from(number).clamp(1, self.ends.len()) - 1;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let payload = &self.octets[start..self.ends[at] as usize];
        Part { payload, shift: self.shift, concat, reference, total, number }
    }
}

fn no_body(entry: &Entry) -> Unsendable {
    Unsendable { code: "sms:body", text: format!("the segment has no body {}", entry.body) }
}
