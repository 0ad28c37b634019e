//! A message against its command's grammar and the rules of its AVPs, in one walk with nothing on the heap.
//!
//! [`check`] says where each AVP of the command stands ([`Found`]), so that who reads the message need not
//! look for it again, or what is wrong ([`Fault`]), which knows how it is answered: [`Fault::answer`] writes
//! the result code and the Failed-AVP that RFC 6733, sections 7.1 and 7.5, ask for.
//!
//! Where the standard leaves a choice:
//! - An AVP that is not known is passed over, or with its `M` bit refused (5001), at the top and within
//!   groups alike. What an unknown group without `M` holds is not looked at.
//! - Flags: a missing `M`, or a `V` without a vendor, is 3009; an `M` where it must not be is 5016. Reserved
//!   bits and `P` are ignored.
//! - The first fault in the message's order is told; what is missing, when the group or the message ends.
//! - What a Failed-AVP holds is no fault of who sends it: it is not looked at.

mod answer;
mod explain;
#[cfg(test)]
mod tests;

pub use answer::{Origin, answer_broken_frame};
pub use explain::Explanation;

use crate::avp::{Avp, AvpError, AvpFlags, AvpName, AvpProblem, Avps};
use crate::dictionary::{self, AvpRule, Grammar, Kind, Mandatory, NO_SLOT, avp};
use crate::message::Message;
use crate::result_code;
use std::error::Error;
use std::fmt;

/// How closely a message is held to the standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// To the letter.
    #[default]
    Strict,
    /// Passed over, since there are gateways that send it: an AVP with the `V` bit and the vendor 0, which is
    /// read as the IETF's; several Vendor-Ids in Vendor-Specific-Application-Id (RFC 3588 allowed them);
    /// unknown AVPs with the `M` bit within Service-Information of 3GPP, whose releases add some.
    Lenient,
}

/// AVPs in one message, those in groups included. More are refused with 5012.
pub const AVPS_MAX: u32 = 4_096;
/// Members of the longest grammar that may occur: what must not has its slots behind them, and no position.
const PLACES_MAX: usize = 40;

/// What is wrong with a message, and what the answer's Failed-AVP shows. The peer is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Result-Code of the answer.
    pub result_code: u32,
    /// What Failed-AVP holds.
    pub failed: FailedAvp,
}

/// What a Failed-AVP holds. Positions are octets from the message's first; where the AVP stands in groups,
/// they come along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedAvp {
    /// There is none.
    Nothing,
    /// A copy of the AVP at this position.
    Copy {
        /// Where it begins.
        position: u32,
    },
    /// Copies of two AVPs that contradict each other.
    Pair {
        /// Where the one begins.
        first: u32,
        /// Where the other begins.
        second: u32,
    },
    /// The header of an AVP whose length is wrong, in front of as many zeros as its type has at least.
    Header {
        /// Where it begins.
        position: u32,
        /// As much of its name as can be read.
        name: AvpName,
        /// Its flags.
        flags: AvpFlags,
    },
    /// An example of an AVP that is missing: zeros, as few as its type allows.
    Missing {
        /// What is missing.
        name: AvpName,
        /// The group that it is missing in, or 0.
        group: u32,
    },
}

impl Fault {
    /// A fault without Failed-AVP, such as 3001 or 3004.
    pub const fn new(result_code: u32) -> Fault {
        Fault { result_code, failed: FailedAvp::Nothing }
    }

    /// A fault that an AVP of the message is guilty of; the answer shows a copy.
    pub fn of(result_code: u32, message: &Message<'_>, avp: &Avp<'_>) -> Fault {
        Fault { result_code, failed: FailedAvp::Copy { position: message.position(avp) } }
    }

    /// Two AVPs of the message contradict each other (5007); the answer shows both.
    pub fn contradiction(message: &Message<'_>, first: &Avp<'_>, second: &Avp<'_>) -> Fault {
        let failed = FailedAvp::Pair { first: message.position(first), second: message.position(second) };
        Fault { result_code: result_code::CONTRADICTING_AVPS, failed }
    }

    /// An AVP is missing at the top of the message (5005).
    pub const fn missing(name: AvpName) -> Fault {
        Fault { result_code: result_code::MISSING_AVP, failed: FailedAvp::Missing { name, group: 0 } }
    }

    /// What an [`AvpError`] means for the message; `position` is where the AVP begins.
    #[cold]
    pub fn unreadable(error: AvpError, position: u32) -> Fault {
        let failed = match error.problem {
            AvpProblem::Header | AvpProblem::Length { .. } | AvpProblem::Size { .. } => {
                FailedAvp::Header { position, name: error.name, flags: error.flags }
            }
            AvpProblem::Text | AvpProblem::Value => FailedAvp::Copy { position },
            AvpProblem::TooDeep => FailedAvp::Nothing,
        };
        Fault { result_code: error.result_code(), failed }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer's message is answered with {}", self.result_code)?;
        match self.failed {
            FailedAvp::Nothing => Ok(()),
            FailedAvp::Copy { position } => write!(f, " for the avp at octet {position}"),
            FailedAvp::Pair { first, second } => write!(f, " for the avps at octets {first} and {second}"),
            FailedAvp::Header { position, name, .. } => {
                write!(f, " for the length of {name} at octet {position}")
            }
            FailedAvp::Missing { name, .. } => write!(f, ": {name} is missing"),
        }
    }
}

impl Error for Fault {}

/// A checked message: where the AVPs of its grammar stand.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    message: Message<'a>,
    grammar: &'static Grammar,
    /// Slots that are there; positions of the others mean nothing.
    seen: u64,
    first: [u32; PLACES_MAX],
    last: [u32; PLACES_MAX],
}

impl fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found")
            .field("grammar", &self.grammar.text)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl<'a> Found<'a> {
    /// The message.
    #[inline]
    pub fn message(&self) -> Message<'a> {
        self.message
    }

    /// The grammar that it keeps.
    pub fn grammar(&self) -> &'static Grammar {
        self.grammar
    }

    #[inline]
    fn slot(&self, name: AvpName) -> Option<usize> {
        let slot = usize::from(self.grammar.slot(dictionary::number(name)));
        (slot < PLACES_MAX && self.seen >> slot & 1 == 1).then_some(slot)
    }

    /// The first AVP at the top with this name, which must be one that the grammar names: others are not
    /// kept.
    #[inline]
    pub fn find(&self, name: AvpName) -> Option<Avp<'a>> {
        self.message.avp_at(self.first[self.slot(name)?])
    }

    /// All AVPs at the top with this name, in their order. The grammar must name it.
    #[inline]
    pub fn all(&self, name: AvpName) -> All<'a> {
        let octets = self.slot(name).and_then(|slot| {
            let (first, last) = (self.first[slot] as usize, self.last[slot] as usize);
            let length = self.message.avp_at(self.last[slot])?.octets.len();
            self.message.octets().get(first..(last + length + 3) & !3)
        });
        All { name, avps: Avps::new(octets.unwrap_or_default()) }
    }
}

/// The AVPs of one name.
#[derive(Clone, Copy, Debug)]
pub struct All<'a> {
    name: AvpName,
    avps: Avps<'a>,
}

impl<'a> All<'a> {
    /// The AVPs of one name in a group that was checked.
    pub fn within(group: &Avp<'a>, name: AvpName) -> All<'a> {
        All { name, avps: group.group() }
    }
}

impl<'a> Iterator for All<'a> {
    type Item = Avp<'a>;

    #[inline]
    fn next(&mut self) -> Option<Avp<'a>> {
        loop {
            let avp = self.avps.next()?.ok()?;
            if avp.name == self.name {
                return Some(avp);
            }
        }
    }
}

/// Checks a request, or an answer, against everything the dictionary knows. The application is the caller's
/// to check (3007).
///
/// # Errors
/// What is wrong first, with the result code to answer.
pub fn check<'a>(message: &Message<'a>) -> Result<Found<'a>, Fault> {
    check_as(message, Strictness::Strict)
}

/// The same, held to the standard so closely.
///
/// # Errors
/// As [`check`].
pub fn check_as<'a>(message: &Message<'a>, strictness: Strictness) -> Result<Found<'a>, Fault> {
    let mut found = Found::nothing_yet(message)?;
    found.walk_avps(strictness)?;
    found.complete_but(None)?;
    Ok(found)
}

impl<'a> Found<'a> {
    /// The grammar that a message must keep, and nothing found of it.
    #[inline]
    pub(crate) fn nothing_yet(message: &Message<'a>) -> Result<Found<'a>, Fault> {
        let flags = message.header.flags;
        // Section 3: an error is never a request.
        if flags.is_request() && flags.is_error() {
            return Err(Fault::new(result_code::INVALID_HDR_BITS));
        }
        let grammar = match dictionary::command_rule(message.header.command, flags.is_request()) {
            Some(_) if flags.is_error() => dictionary::answer_message(),
            Some(rule) => rule.grammar(),
            None => return Err(Fault::new(result_code::COMMAND_UNSUPPORTED)),
        };
        Ok(Found { message: *message, grammar, seen: 0, first: [0; PLACES_MAX], last: [0; PLACES_MAX] })
    }

    /// Whether all that must be there was found, but for the AVP of this name.
    pub(crate) fn complete_but(&self, excused: Option<AvpName>) -> Result<(), Fault> {
        let slot = excused.map(|name| self.grammar.slot(dictionary::number(name)));
        let excused = slot.and_then(|slot| 1u64.checked_shl(slot.into())).unwrap_or(0);
        complete(self.grammar, self.seen | excused, 0)
    }

    /// Checks what is there, and finds; what is missing [`Found::complete_but`] tells.
    pub(crate) fn walk_avps(&mut self, strictness: Strictness) -> Result<(), Fault> {
        let mut walk = Walk::new(self.message, strictness);
        let mut avps = self.message.avps();
        while let Some((avp, position)) = walk.step(&mut avps)? {
            let Some((number, rule)) = walk.known(&avp, position)? else { continue };
            let slot = match count(self.grammar, number, self.seen) {
                Ok(slot) => usize::from(slot),
                Err(code) => return Err(copy(code, position)),
            };
            // NO_SLOT is behind them all.
            if let (Some(first), Some(last)) = (self.first.get_mut(slot), self.last.get_mut(slot)) {
                *last = position;
                if self.seen >> slot & 1 == 0 {
                    *first = position;
                }
                self.seen |= 1 << slot;
            }
            walk.value(&avp, rule, position)?;
        }
        Ok(())
    }
}

const fn copy(result_code: u32, position: u32) -> Fault {
    Fault { result_code, failed: FailedAvp::Copy { position } }
}

/// Whether a known AVP keeps its own rules, whatever stands around it.
fn is_sound<'a>(message: &Message<'a>, avp: &Avp<'a>) -> bool {
    let position = message.position(avp);
    let mut walk = Walk::new(*message, Strictness::Strict);
    match walk.known(avp, position) {
        Ok(Some((_, rule))) => walk.value(avp, rule, position).is_ok(),
        Ok(None) | Err(_) => false,
    }
}

/// The slot of an AVP in its grammar, if it may stand there once more.
#[inline]
fn count(grammar: &Grammar, rule: u16, seen: u64) -> Result<u8, u32> {
    let slot = grammar.slot(rule);
    if slot == NO_SLOT {
        return if grammar.is_open { Ok(NO_SLOT) } else { Err(result_code::AVP_NOT_ALLOWED) };
    }
    let bit = 1u64 << slot;
    if grammar.banned & bit != 0 {
        return Err(result_code::AVP_NOT_ALLOWED);
    }
    if seen & grammar.single & bit != 0 {
        return Err(result_code::AVP_OCCURS_TOO_MANY_TIMES);
    }
    Ok(slot)
}

/// Whether all that must be there was seen.
#[inline]
fn complete(grammar: &Grammar, seen: u64, group: u32) -> Result<(), Fault> {
    let missing = grammar.required & !seen;
    if missing == 0 {
        return Ok(());
    }
    let name = grammar.member(missing.trailing_zeros()).map_or(AvpName::ietf(0), |rule| rule.name);
    Err(Fault { result_code: result_code::MISSING_AVP, failed: FailedAvp::Missing { name, group } })
}

/// What a walk keeps over all groups.
struct Walk<'a> {
    message: Message<'a>,
    avps: u32,
    is_lenient: bool,
    is_in_service_information: bool,
}

impl<'a> Walk<'a> {
    fn new(message: Message<'a>, strictness: Strictness) -> Walk<'a> {
        let is_lenient = strictness == Strictness::Lenient;
        Walk { message, avps: 0, is_lenient, is_in_service_information: false }
    }

    /// Whether a member of a group may stand there all the same, though it was there already.
    fn may_recur(&self, group: AvpName, member: AvpName) -> bool {
        self.is_lenient && group == avp::VENDOR_SPECIFIC_APPLICATION_ID && member == avp::VENDOR_ID
    }

    /// The next AVP and where it begins.
    #[inline]
    fn step(&mut self, avps: &mut Avps<'a>) -> Result<Option<(Avp<'a>, u32)>, Fault> {
        let begin = avps.rest().as_ptr() as usize;
        let position = begin.wrapping_sub(self.message.octets().as_ptr() as usize) as u32;
        match avps.next() {
            None => Ok(None),
            Some(Ok(avp)) => {
                self.avps += 1;
                if self.avps > AVPS_MAX {
                    return Err(Fault::new(result_code::UNABLE_TO_COMPLY));
                }
                Ok(Some((avp, position)))
            }
            Some(Err(error)) => Err(Fault::unreadable(error, position)),
        }
    }

    /// The rule of an AVP, its flags checked; `None` for one that may be passed over.
    #[inline]
    fn known(&self, avp: &Avp<'a>, position: u32) -> Result<Option<(u16, &'static AvpRule)>, Fault> {
        // Section 4.1: the vendor 0 is never on the wire.
        if avp.flags.is_vendor() && avp.name.vendor == 0 && !self.is_lenient {
            return Err(copy(result_code::INVALID_AVP_BITS, position));
        }
        let Some((number, rule)) = dictionary::lookup_numbered(avp.name) else {
            let is_passed_over = self.is_lenient && self.is_in_service_information;
            return if avp.flags.is_mandatory() && !is_passed_over {
                Err(copy(result_code::AVP_UNSUPPORTED, position))
            } else {
                Ok(None)
            };
        };
        match (rule.mandatory, avp.flags.is_mandatory()) {
            (Mandatory::Must, false) => Err(copy(result_code::INVALID_AVP_BITS, position)),
            (Mandatory::MustNot, true) => Err(copy(result_code::INVALID_AVP_BIT_COMBO, position)),
            _ => Ok(Some((number, rule))),
        }
    }

    /// Whether the data is what its type allows. Most are plain numbers: their size is all.
    #[inline]
    fn value(&mut self, avp: &Avp<'a>, rule: &'static AvpRule, position: u32) -> Result<(), Fault> {
        if avp.data.len() == usize::from(rule.octets) && rule.octets != 0 {
            return Ok(());
        }
        self.value_of_kind(avp, rule, position)
    }

    #[inline(never)]
    fn value_of_kind(&mut self, avp: &Avp<'a>, rule: &'static AvpRule, position: u32) -> Result<(), Fault> {
        let checked = match rule.kind {
            Kind::OctetString | Kind::IPFilterRule | Kind::QoSFilterRule => Ok(()),
            Kind::Integer32 | Kind::Unsigned32 | Kind::Float32 | Kind::Time => avp.u32().map(drop),
            Kind::Integer64 | Kind::Unsigned64 | Kind::Float64 => avp.u64().map(drop),
            Kind::UTF8String => avp.check_utf8(),
            Kind::DiameterIdentity | Kind::DiameterURI => avp.check_identity(),
            Kind::Address => avp.address().map(drop),
            Kind::Enumerated => avp.i32().and_then(|value| match rule.values {
                Some((first, last)) if value < first || value > last => Err(avp.error(AvpProblem::Value)),
                _ => Ok(()),
            }),
            Kind::Grouped => return self.group(avp, rule, position),
        };
        match checked {
            Ok(()) => Ok(()),
            Err(error) => Err(Fault::unreadable(error, position)),
        }
    }

    /// The members of a group. The recursion ends where [`Avps`] refuse to go deeper: `DEPTH_MAX`.
    #[inline(never)]
    fn group(&mut self, group: &Avp<'a>, rule: &'static AvpRule, position: u32) -> Result<(), Fault> {
        if rule.name == avp::FAILED_AVP {
            return Ok(());
        }
        let around = self.is_in_service_information;
        self.is_in_service_information |= rule.name == avp::SERVICE_INFORMATION;
        let members = self.members(group, rule, position);
        self.is_in_service_information = around;
        members
    }

    fn members(&mut self, group: &Avp<'a>, rule: &'static AvpRule, position: u32) -> Result<(), Fault> {
        let grammar = rule.grammar();
        let mut seen = 0;
        let mut avps = group.group();
        while let Some((avp, at)) = self.step(&mut avps)? {
            let Some((number, member)) = self.known(&avp, at)? else { continue };
            if let Some(grammar) = grammar {
                match count(grammar, number, seen) {
                    Ok(NO_SLOT) => {}
                    Ok(slot) => seen |= 1 << slot,
                    Err(_) if self.may_recur(rule.name, avp.name) => {}
                    Err(code) => return Err(copy(code, at)),
                }
            }
            self.value(&avp, member, at)?;
        }
        grammar.map_or(Ok(()), |grammar| complete(grammar, seen, position))
    }
}
