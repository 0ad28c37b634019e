//! Rules of the dictionary's tables.

use crate::avp::{AvpFlags, AvpName};

/// An AVP without a grammar of its own.
pub(super) const NO_GRAMMAR: u16 = u16::MAX;
/// An AVP that the dictionary does not have.
pub(super) const NO_RULE: u16 = u16::MAX;
/// An AVP that a grammar does not name.
pub(crate) const NO_SLOT: u8 = u8::MAX;

/// The type of an AVP's data (RFC 6733, sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    OctetString,
    Integer32,
    Integer64,
    Unsigned32,
    Unsigned64,
    Float32,
    Float64,
    Grouped,
    Address,
    Time,
    UTF8String,
    DiameterIdentity,
    DiameterURI,
    Enumerated,
    IPFilterRule,
    QoSFilterRule,
}

impl Kind {
    /// The fewest octets that data of this type can have; of numbers, the only size.
    pub const fn octets_min(self) -> usize {
        match self {
            Kind::Integer32 | Kind::Unsigned32 | Kind::Float32 | Kind::Time | Kind::Enumerated => 4,
            Kind::Integer64 | Kind::Unsigned64 | Kind::Float64 => 8,
            Kind::Address => 2,
            Kind::DiameterIdentity | Kind::DiameterURI => 1,
            Kind::OctetString
            | Kind::Grouped
            | Kind::UTF8String
            | Kind::IPFilterRule
            | Kind::QoSFilterRule => 0,
        }
    }
}

/// The flag rule of the `M` bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mandatory {
    /// It must be set.
    Must,
    /// It must not be set.
    MustNot,
    /// It is sent set, and accepted either way.
    Sent,
    /// It is sent clear, and accepted either way.
    NotSent,
}

/// What the dictionary says about an AVP.
#[derive(Debug)]
pub struct AvpRule {
    /// Code and vendor.
    pub name: AvpName,
    /// What the standard calls it, such as `Session-Id`.
    pub text: &'static str,
    /// The type of its data.
    pub kind: Kind,
    /// The rule of its `M` bit.
    pub mandatory: Mandatory,
    /// Of an Enumerated whose values are checked, the first and the last.
    pub values: Option<(i32, i32)>,
    pub(super) grammar: u16,
    /// Octets of data where nothing else about them is checked: of plain numbers. 0 for all others.
    pub(crate) octets: u8,
}

impl AvpRule {
    /// The flags it is sent with.
    #[inline]
    pub const fn flags_sent(&self) -> AvpFlags {
        let vendor = if self.name.vendor == 0 { 0 } else { AvpFlags::VENDOR.0 };
        match self.mandatory {
            Mandatory::Must | Mandatory::Sent => AvpFlags(vendor | AvpFlags::MANDATORY.0),
            Mandatory::MustNot | Mandatory::NotSent => AvpFlags(vendor),
        }
    }
}

/// A line of the table, short.
pub(super) const fn rule(
    code: u32,
    vendor: u32,
    text: &'static str,
    kind: Kind,
    mandatory: Mandatory,
    grammar: u16,
    values: Option<(i32, i32)>,
) -> AvpRule {
    let is_number = kind.octets_min() >= 4 && values.is_none();
    let octets = if is_number { kind.octets_min() as u8 } else { 0 };
    AvpRule { name: AvpName { code, vendor }, text, kind, mandatory, values, grammar, octets }
}

/// The grammar of a command or a group. A member is a bit: its slot.
#[derive(Debug)]
pub struct Grammar {
    /// What the standard calls it, such as `Credit-Control-Request`.
    pub text: &'static str,
    /// Ends with `*[ AVP ]`: what it does not name is allowed.
    pub is_open: bool,
    /// Those that must be there.
    pub(crate) required: u64,
    /// Those of which there is at most one.
    pub(crate) single: u64,
    /// Those that must not be there.
    pub(crate) banned: u64,
    /// The rule of each slot.
    pub(super) members: &'static [u16],
    /// The slot of each rule that some grammar names.
    pub(super) slots: &'static [u8],
}

impl Grammar {
    /// The slot of a rule, or [`NO_SLOT`].
    #[inline]
    pub(crate) fn slot(&self, rule: u16) -> u8 {
        self.slots.get(usize::from(rule)).copied().unwrap_or(NO_SLOT)
    }
}

/// A command's grammar.
#[derive(Debug)]
pub struct CommandRule {
    /// Command code.
    pub code: u32,
    /// Its abbreviation, such as `CCR`.
    pub text: &'static str,
    /// A request, not an answer.
    pub is_request: bool,
    /// Has the `P` bit.
    pub is_proxiable: bool,
    pub(super) grammar: u16,
}
