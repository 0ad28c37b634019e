//! People of an earlier alert: who got it or may have got it, who did not answer, who was not reached, once
//! nothing of it is under way.

use super::actor::store_error;
use super::alerts::Alerts;
use super::starting;
use crate::api::{EngineError, Parts};
use crate::plan::Classifier;
use crate::record::delivery_cell::{DeliveryCell, IN_SEGMENT};
use crate::record::{FoundPerson, LiveAlert, OTHER, PersonPlace, StringTable};
use crate::solve::Solver;
use crate::solve::audience::{EarlierPeople, To};
use records::{Alert, AlertNo, DeliveryState, EndpointNo, Recipient, RosterBlock, RosterEntry, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tokio::runtime::Handle;

/// What gateways have begun is waited for so long, in seconds; what is under way after that may have arrived.
const WAIT_S: i64 = 20;

/// People of earlier alerts that were in memory, by the entries of the audience that name them.
#[derive(Default)]
pub struct ToldBefore(Vec<(To, EarlierDevices)>);

/// People of an earlier alert.
enum EarlierDevices {
    /// By the devices that got it.
    Got(Vec<EndpointNo>),
    /// By themselves: where each stands, and whether they share their first device.
    People(Vec<(PersonPlace, bool)>),
}

/// An alert to people of earlier ones, which waits until nothing of those is under way.
pub struct Settling {
    alert: Box<Alert>,
    earlier: Vec<To>,
    until: Timestamp,
}

impl Settling {
    /// Gives the alert back if it names no earlier one.
    pub fn of(alert: Box<Alert>, now: Timestamp) -> Result<Settling, Box<Alert>> {
        let named = alert.request.audience.iter().filter(|entry| entry.to.starts_with("alert:"));
        let named = named.filter_map(|entry| entry.to.parse::<To>().ok());
        let earlier: Vec<To> = named.filter(|to| to.earlier().is_some()).collect();
        if earlier.is_empty() {
            return Err(alert);
        }
        Ok(Settling { alert, earlier, until: now.plus_s(WAIT_S) })
    }

    /// Is it known of every device whether it got them? Of an alert that goes on it is never known; it is
    /// asked who got it so far.
    pub fn is_settled(&self, alerts: &Alerts, now: Timestamp) -> bool {
        let is_under_way = |live: &LiveAlert| {
            live.alert.state.is_final() && live.each().any(|(_, cell)| is_with_a_gateway(cell))
        };
        now >= self.until || !self.earlier.iter().filter_map(|to| find(alerts, to)).any(is_under_way)
    }

    /// The alert, with the people of those that are in memory.
    pub fn into_told(self, alerts: &Alerts) -> (Box<Alert>, ToldBefore) {
        let told = self.earlier.into_iter().filter_map(|to| {
            let devices = meant(find(alerts, &to)?, &to);
            Some((to, devices))
        });
        (self.alert, ToldBefore(told.collect()))
    }
}

impl ToldBefore {
    /// Shows a solver the people of an earlier alert whom an entry of the audience, with its place, names. On
    /// the calling thread.
    pub fn show(
        &self,
        (parts, account): (&Parts, &str),
        (to, place): (&To, u32),
        solver: &mut Solver<'_>,
        runtime: &Handle,
    ) -> Result<(), EngineError> {
        let Some(id) = to.earlier() else { return Ok(()) };
        let Some(alert) = runtime.block_on(parts.store.alert(account, id)).map_err(store_error)? else {
            return Ok(());
        };
        let no = alert.no;
        let read;
        let devices = match self.0.iter().find(|(known, _)| known == to) {
            Some((_, devices)) => devices,
            None => {
                let (mut words, now) = (StringTable::default(), (parts.clock)());
                let classifier = Arc::new(Classifier::new(Vec::new()));
                read = meant(&starting::load(parts, &classifier, &mut words, alert, now)?, to);
                &read
            }
        };
        match devices {
            EarlierDevices::Got(got) => show_devices((parts, account, no), (got, place), solver, runtime),
            EarlierDevices::People(people) => {
                show_people((parts, account, no), (people, place), solver, runtime)
            }
        }
    }
}

/// The devices that got an alert, with the people behind them.
fn show_devices(
    (parts, account, no): (&Parts, &str, AlertNo),
    (got, place): (&[EndpointNo], u32),
    solver: &mut Solver<'_>,
    runtime: &Handle,
) -> Result<(), EngineError> {
    let store = &parts.store;
    let mut rest = got;
    while let Some(first) = rest.first() {
        let Some(block) = store.roster_block(no, *first).map_err(store_error)? else { break };
        let end = block.first.0 + block.entries.len() as u32;
        let (here, behind) = rest.split_at(rest.partition_point(|endpoint| endpoint.0 < end).max(1));
        let entries: Vec<&RosterEntry> = here.iter().filter_map(|at| entry(&block, *at)).collect();
        let ids: Vec<String> = entries
            .iter()
            .flat_map(|entry| entry.persons.iter().map(|person| person.recipient.clone()))
            .filter(|id| !id.is_empty())
            .collect();
        let people = runtime.block_on(store.recipients_by_ids(account, &ids)).map_err(store_error)?;
        let people: FxHashMap<String, Recipient> =
            people.into_iter().map(|person| (person.id.clone(), person)).collect();
        entries.into_iter().for_each(|entry| solver.told_before(entry, &people, place));
        rest = behind;
    }
    Ok(())
}

/// People of an alert by the devices that they have now; who is no longer known is not told.
fn show_people(
    (parts, account, no): (&Parts, &str, AlertNo),
    (people, place): (&[(PersonPlace, bool)], u32),
    solver: &mut Solver<'_>,
    runtime: &Handle,
) -> Result<(), EngineError> {
    let store = &parts.store;
    let mut rest = people;
    while let Some((first, _)) = rest.first() {
        let Some(block) = store.roster_block(no, first.first).map_err(store_error)? else { break };
        let end = block.first.0 + block.entries.len() as u32;
        let (here, behind) = rest.split_at(rest.partition_point(|(at, _)| at.first.0 < end).max(1));
        let mut ids = Vec::with_capacity(here.len());
        for (at, is_shared) in here {
            let Some(entry) = entry(&block, at.first) else { continue };
            let person = match is_shared {
                true => entry.persons.get(at.place as usize),
                false => entry.persons.iter().find(|person| !person.recipient.is_empty()),
            };
            match person {
                Some(person) => ids.push(person.recipient.clone()),
                None => solver.earlier_address(entry),
            }
        }
        let known = runtime.block_on(store.recipients_by_ids(account, &ids)).map_err(store_error)?;
        solver.show_earlier(&known, place);
        rest = behind;
    }
    Ok(())
}

fn entry(block: &RosterBlock, endpoint: EndpointNo) -> Option<&RosterEntry> {
    block.entries.get(endpoint.0.checked_sub(block.first.0)? as usize)
}

fn find<'a>(alerts: &'a Alerts, to: &To) -> Option<&'a LiveAlert> {
    let id = to.earlier()?;
    alerts.live.values().find(|live| live.alert.id == id)
}

/// The people of an alert whom an entry names.
fn meant(live: &LiveAlert, to: &To) -> EarlierDevices {
    let To::Earlier(_, which) = to else { return EarlierDevices::Got(who_got(live)) };
    let mut people = Vec::new();
    live.people_from(PersonPlace::default(), |person| {
        if is_meant(live, &person, which) {
            people.push((person.at, person.is_shared));
        }
        true
    });
    EarlierDevices::People(people)
}

fn is_meant(live: &LiveAlert, person: &FoundPerson, which: &EarlierPeople) -> bool {
    match which {
        EarlierPeople::NotAnswered => {
            !matches!(person.state, DeliveryState::Answered | DeliveryState::Excluded)
        }
        EarlierPeople::NotReached => {
            matches!(person.state, DeliveryState::Failed | DeliveryState::Unknown)
        }
        EarlierPeople::Answer(key) => {
            let cells = person.devices.iter().filter_map(|at| live.cell(*at));
            let mut answers = cells.filter_map(|cell| live.answers.of(cell.answer));
            answers.any(|answer| answer.key.as_deref().unwrap_or(OTHER) == key)
        }
    }
}

fn is_with_a_gateway(cell: &DeliveryCell) -> bool {
    cell.state == DeliveryState::Submitted || cell.flags & IN_SEGMENT != 0
}

fn who_got(live: &LiveAlert) -> Vec<EndpointNo> {
    live.each().filter(|(_, cell)| got(cell)).map(|(endpoint, _)| endpoint).collect()
}

/// A device has it, or nobody can say that it has not. What waits in a segment may be on its way.
fn got(cell: &DeliveryCell) -> bool {
    match cell.state {
        DeliveryState::Submitted
        | DeliveryState::Unknown
        | DeliveryState::Accepted
        | DeliveryState::Delivered
        | DeliveryState::Answered => true,
        DeliveryState::Planned | DeliveryState::Held => {
            cell.flags & IN_SEGMENT != 0 || cell.reason == records::Reason::Resent
        }
        // A long message of which the carrier took some parts.
        DeliveryState::Failed => cell.accepted == 0 && cell.parts_accepted != 0,
        DeliveryState::Excluded => false,
    }
}
