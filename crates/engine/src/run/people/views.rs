//! People of an alert as operators read them: rows of deliveries, with names and addresses of the roster.

use super::pages::PersonRow;
use crate::api::{AnswerView, EngineError, PersonDevice, PersonOfAlert, ReasonView};
use crate::report::{reason_view, rfc3339};
use crate::run::actor::store_error;
use crate::run::views::shown_address;
use records::{AlertNo, Answer, Delivery, DeliveryState, EndpointNo, Person, RosterBlock, RosterEntry};
use rustc_hash::FxHashMap;

/// Blocks of a roster kept while a page is made.
const BLOCKS_MAX: usize = 64;

/// Reads the roster of an alert, a block at a time.
pub struct RosterReader<'a> {
    store: &'a dyn store::Store,
    no: AlertNo,
    blocks: FxHashMap<u32, RosterBlock>,
}

impl<'a> RosterReader<'a> {
    pub fn new(store: &'a dyn store::Store, no: AlertNo) -> RosterReader<'a> {
        RosterReader { store, no, blocks: FxHashMap::default() }
    }

    /// The entry of a device.
    pub fn entry(&mut self, of: EndpointNo) -> Result<Option<&RosterEntry>, EngineError> {
        let first = of.0 - of.0 % records::ROSTER_BLOCK_ENDPOINTS as u32;
        if !self.blocks.contains_key(&first) {
            let Some(block) = self.store.roster_block(self.no, of).map_err(store_error)? else {
                return Ok(None);
            };
            if self.blocks.len() >= BLOCKS_MAX {
                self.blocks.clear();
            }
            self.blocks.insert(first, block);
        }
        let block = self.blocks.get(&first);
        Ok(block.and_then(|block| block.entries.get((of.0 - first) as usize)))
    }
}

/// A person as operators read them.
pub fn view(roster: &mut RosterReader<'_>, row: PersonRow) -> Result<PersonOfAlert, EngineError> {
    let PersonRow { person, deliveries } = row;
    let entry = roster.entry(person.at.first)?;
    let credited = entry.and_then(|entry| match person.is_shared {
        true => entry.persons.get(person.at.place as usize),
        false => entry.persons.iter().find(|person| !person.recipient.is_empty()),
    });
    let (recipient, name) = credited.map(id_and_name).unwrap_or_default();
    let mut devices = Vec::with_capacity(deliveries.len());
    for delivery in &deliveries {
        if let Some(entry) = roster.entry(delivery.endpoint)? {
            devices.push(device(delivery, entry));
        }
    }
    let furthest = deliveries.iter().position(|delivery| delivery.state == person.state);
    let answer = deliveries.iter().filter_map(|delivery| delivery.answer.as_ref());
    let answer = answer.max_by_key(|answer| answer.at).map(answer_view);
    Ok(PersonOfAlert {
        recipient,
        name,
        state: person.state,
        reason: furthest.and_then(|at| devices.get(at)).and_then(|device| device.reason.clone()),
        tries: deliveries.iter().map(|delivery| u32::from(delivery.attempts)).sum(),
        devices,
        answer,
    })
}

fn id_and_name(person: &Person) -> (Option<String>, String) {
    (Some(person.recipient.clone()).filter(|id| !id.is_empty()), person.name.clone())
}

fn device(delivery: &Delivery, entry: &RosterEntry) -> PersonDevice {
    let channel = entry.channel.map(channels::name);
    PersonDevice {
        endpoint: delivery.endpoint.0,
        channel,
        address: shown_address(entry),
        state: delivery.state,
        reason: reason_of(delivery, channel),
        route: delivery.route.clone(),
        tries: delivery.attempts,
        submitted: delivery.submitted.map(rfc3339),
        accepted: delivery.accepted.map(rfc3339),
        delivered: delivery.delivered.map(rfc3339),
    }
}

/// Of a device that its person answered by there is nothing to explain.
fn reason_of(delivery: &Delivery, channel: Option<&'static str>) -> Option<ReasonView> {
    reason_view(delivery, channel).filter(|_| delivery.state != DeliveryState::Answered)
}

/// An answer as people read it.
pub fn answer_view(answer: &Answer) -> AnswerView {
    AnswerView {
        key: answer.key.clone(),
        text: answer.text.clone(),
        via: answer.via.clone(),
        at: rfc3339(answer.at),
    }
}

/// Whether a person's id, name or an address of theirs has these letters in it, whatever their case.
pub fn has_letters(person: &PersonOfAlert, letters: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(letters);
    person.recipient.as_deref().is_some_and(has)
        || has(&person.name)
        || person.devices.iter().any(|device| has(&device.address))
}
