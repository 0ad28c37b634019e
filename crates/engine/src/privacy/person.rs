//! ForgottenPerson tells whether an entry of a roster or of an audience is a certain person's, and takes them
//! out of it. Pure.

use crate::solve::audience::To;
use records::{AlertRequest, ChannelNumber, EndpointNo, RosterBlock, RosterEntry, ShortText};
use rustc_hash::FxHashSet;

/// What stands in an audience in place of somebody who was forgotten.
const ERASED: &str = "erased";

/// Somebody who is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForgottenPerson {
    /// Whose.
    pub account: String,
    /// The recipient's id.
    pub id: String,
    /// Addresses that are theirs alone.
    pub addresses: FxHashSet<(ChannelNumber, String)>,
}

impl ForgottenPerson {
    /// Is this address theirs alone?
    pub fn has(&self, channel: ChannelNumber, address: &str) -> bool {
        !self.addresses.is_empty() && self.addresses.contains(&(channel, address.to_owned()))
    }

    /// Is this endpoint theirs, alone or with others?
    pub fn is_in(&self, entry: &RosterEntry) -> bool {
        entry.persons.iter().any(|person| person.recipient == self.id) || self.is_reached_by(entry)
    }

    fn is_reached_by(&self, entry: &RosterEntry) -> bool {
        entry.channel.is_some_and(|channel| self.has(channel, &entry.address))
    }

    /// The address of an entry behind which nobody else is.
    pub fn sole_address(&self, entry: &RosterEntry) -> Option<(ChannelNumber, String)> {
        let alone = !entry.persons.is_empty() && entry.persons.iter().all(|one| one.recipient == self.id);
        let channel = entry.channel.filter(|_| alone && !entry.address.is_empty())?;
        Some((channel, entry.address.clone()))
    }

    /// Takes the person out of an entry. False if they are not in it.
    pub fn leave(&self, entry: &mut RosterEntry) -> bool {
        if !self.is_in(entry) {
            return false;
        }
        for person in entry.persons.iter_mut().filter(|person| person.recipient == self.id) {
            person.recipient.clear();
            person.name.clear();
        }
        entry.values.clear();
        if entry.persons.iter().any(|person| !person.recipient.is_empty()) {
            return true; // the address is others' too
        }
        entry.address.clear();
        if let Some(message) = &mut entry.message {
            message.short.text = ShortText::default();
            message.short.udh = Box::default();
            message.short.tlvs = Box::default();
            message.tell.url = None;
            message.tell.values.clear();
        }
        true
    }

    /// The same for a block. Gives the endpoints that were changed.
    pub fn leave_block(&self, block: &mut RosterBlock) -> Vec<EndpointNo> {
        let first = block.first.0;
        let entries = block.entries.iter_mut().enumerate();
        entries.filter_map(|(i, entry)| self.leave(entry).then_some(EndpointNo(first + i as u32))).collect()
    }

    /// Takes the person out of what an alert asked for: entries keep their places. Nothing if they were not
    /// named.
    pub fn left(&self, request: &AlertRequest) -> Option<AlertRequest> {
        let mut request = request.clone();
        let named = |text: &str| match text.parse::<To>() {
            Ok(To::Recipient(id)) => id == self.id,
            Ok(To::Address(channel, address)) => self.has(channel, &address),
            _ => false,
        };
        let wanted = request.audience.iter_mut().map(|entry| &mut entry.to);
        let mut any = false;
        for to in wanted.chain(request.exclude.iter_mut()).filter(|to| named(to)) {
            ERASED.clone_into(to);
            any = true;
        }
        any.then_some(request)
    }
}
