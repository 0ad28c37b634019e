//! People of an earlier alert: who got it or may have got it, once nothing of it is under way.

use super::actor::store_error;
use super::alerts::Alerts;
use super::starting;
use crate::api::{EngineError, Parts};
use crate::plan::Classifier;
use crate::record::delivery_cell::{DeliveryCell, IN_SEGMENT};
use crate::record::{LiveAlert, StringTable};
use crate::solve::Solver;
use crate::solve::audience::To;
use records::{Alert, AlertId, DeliveryState, EndpointNo, Recipient, RosterBlock, RosterEntry, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tokio::runtime::Handle;

/// What gateways have begun is waited for so long, in seconds; what is under way after that may have arrived.
const WAIT_S: i64 = 20;

/// The endpoints of earlier alerts that got them, of those that were in memory.
#[derive(Default)]
pub struct ToldBefore(FxHashMap<AlertId, Vec<EndpointNo>>);

/// An alert to whoever got earlier ones, which waits until nothing of those is under way.
pub struct Settling {
    alert: Box<Alert>,
    earlier: Vec<AlertId>,
    until: Timestamp,
}

impl Settling {
    /// Gives the alert back if it names no earlier one.
    pub fn of(alert: Box<Alert>, now: Timestamp) -> Result<Settling, Box<Alert>> {
        let received = |to: &str| match to.parse() {
            Ok(To::Received(id)) => Some(id),
            _ => None,
        };
        let named = alert.request.audience.iter().filter(|entry| entry.to.starts_with("alert:"));
        let earlier: Vec<AlertId> = named.filter_map(|entry| received(&entry.to)).collect();
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
        now >= self.until || !self.earlier.iter().filter_map(|id| find(alerts, *id)).any(is_under_way)
    }

    /// The alert, with who got those that are in memory.
    pub fn into_told(self, alerts: &Alerts) -> (Box<Alert>, ToldBefore) {
        let in_memory = self.earlier.iter().filter_map(|id| Some((*id, find(alerts, *id)?)));
        let told = in_memory.map(|(id, live)| (id, who_got(live))).collect();
        (self.alert, ToldBefore(told))
    }
}

impl ToldBefore {
    /// Shows a solver the devices of an alert, which an entry of this place names. On the calling thread.
    pub fn show(
        &self,
        parts: &Parts,
        account: &str,
        (id, place): (AlertId, u32),
        solver: &mut Solver<'_>,
        runtime: &Handle,
    ) -> Result<(), EngineError> {
        let store = &parts.store;
        let Some(alert) = runtime.block_on(store.alert(account, id)).map_err(store_error)? else {
            return Ok(());
        };
        let no = alert.no;
        let read;
        let got: &[EndpointNo] = match self.0.get(&id) {
            Some(got) => got,
            None => {
                let (mut words, now) = (StringTable::default(), (parts.clock)());
                let classifier = Arc::new(Classifier::new(Vec::new()));
                read = who_got(&starting::load(parts, &classifier, &mut words, alert, now)?);
                &read
            }
        };
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
}

fn entry(block: &RosterBlock, endpoint: EndpointNo) -> Option<&RosterEntry> {
    block.entries.get(endpoint.0.checked_sub(block.first.0)? as usize)
}

fn find(alerts: &Alerts, id: AlertId) -> Option<&LiveAlert> {
    alerts.live.values().find(|live| live.alert.id == id)
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
