//! The names and rules of AVPs, groups, commands and applications: RFC 6733, RFC 8506, TS 32.299 and what
//! they lean on.
//!
//! The data stands in `libs/diameter/dictionary`, in the RFC's own ABNF; `cargo xtask dictionary` compiles it
//! into tables. An AVP is found by its vendor and code with two loads. The vendor is part of the key: an AVP
//! of a vendor that is not known here is never taken for the IETF's of the same code.

#[rustfmt::skip]
mod generated;
mod rule;
#[cfg(test)]
mod tests;

pub use generated::{application, avp, command, vendor};
pub use rule::{AvpRule, CommandRule, Grammar, Kind, Mandatory};

use crate::avp::{AvpFlags, AvpName};
pub(crate) use rule::NO_SLOT;

/// What the dictionary says about an AVP.
#[inline]
pub fn lookup(name: AvpName) -> Option<&'static AvpRule> {
    generated::RULES.get(usize::from(generated::index(name)))
}

/// The rule with its number, by which grammars know it.
#[inline]
pub(crate) fn lookup_numbered(name: AvpName) -> Option<(u16, &'static AvpRule)> {
    let number = generated::index(name);
    Some((number, generated::RULES.get(usize::from(number))?))
}

/// The number of an AVP's rule, by which grammars know it.
#[inline]
pub(crate) fn number(name: AvpName) -> u16 {
    generated::index(name)
}

/// The flags an AVP is sent with; one that the dictionary does not have, without `M`.
#[inline]
pub fn flags_sent(name: AvpName) -> AvpFlags {
    match lookup(name) {
        Some(rule) => rule.flags_sent(),
        None if name.vendor == 0 => AvpFlags::NONE,
        None => AvpFlags::VENDOR,
    }
}

/// The rule of a command's request or answer.
#[inline]
pub fn command_rule(code: u32, is_request: bool) -> Option<&'static CommandRule> {
    generated::COMMANDS.iter().find(|command| command.code == code && command.is_request == is_request)
}

/// All AVPs that the dictionary has.
pub fn rules() -> &'static [AvpRule] {
    &generated::RULES
}

/// All commands that the dictionary has.
pub fn commands() -> &'static [CommandRule] {
    &generated::COMMANDS
}

/// How every answer with the `E` bit looks (RFC 6733, section 7.2).
pub fn answer_message() -> &'static Grammar {
    &generated::GRAMMARS[usize::from(generated::ANSWER_MESSAGE)]
}

impl CommandRule {
    /// Its grammar.
    #[inline]
    pub fn grammar(&self) -> &'static Grammar {
        &generated::GRAMMARS[usize::from(self.grammar)]
    }
}

impl AvpRule {
    /// The grammar of a group, where one is known.
    #[inline]
    pub fn grammar(&self) -> Option<&'static Grammar> {
        generated::GRAMMARS.get(usize::from(self.grammar))
    }
}

impl Grammar {
    /// The AVP of a slot.
    pub(crate) fn member(&self, slot: u32) -> Option<&'static AvpRule> {
        let rule = self.members.get(slot as usize)?;
        generated::RULES.get(usize::from(*rule))
    }
}
