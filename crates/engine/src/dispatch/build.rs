//! One segment: the next ready endpoints of a class, rendered, as many as fit.

use super::wording::Rendering;
use crate::api::{Links, UnitsEstimator};
use crate::plan::Cut;
use crate::record::LiveAlert;
use crate::record::delivery_cell::offset;
use crate::solve::{expires_of, spans_until};
use records::{
    Body, Content, DeliveryState, DeviceProfile, EndpointNo, Entry, ROSTER_BLOCK_ENDPOINTS, Reason,
    RosterBlock, RosterEntry, Route, Segment, Timestamp,
};
use std::sync::Arc;

/// Octets of an entry beside its address and its own body.
const ENTRY_OCTETS: usize = 16;

/// What building needs beside the alert.
pub struct Builder<'a> {
    /// The route it goes by.
    pub route: &'a Route,
    /// The route's number.
    pub route_no: u16,
    /// Units the route and lane have room for.
    pub room: u64,
    /// Knows what a rendering costs.
    pub weigher: &'a dyn UnitsEstimator,
    /// Makes answer links.
    pub links: &'a dyn Links,
    /// Where the topic of outcomes ends.
    pub outcomes_from: u64,
    /// The moment.
    pub now: Timestamp,
    /// Reads a block of the roster.
    pub blocks: &'a mut dyn FnMut(EndpointNo) -> Option<Arc<RosterBlock>>,
}

/// Bodies so far, with their weights.
struct Bodies {
    list: Vec<Arc<Body>>,
    units: Vec<u64>,
}

impl Builder<'_> {
    /// Takes ready endpoints of `class` out of the alert; nothing if there is none that can be sent.
    pub fn build(mut self, live: &mut LiveAlert, class: u16) -> Option<Segment> {
        let mut cut = Cut::new(self.route, self.room);
        let mut bodies = Bodies { list: Vec::new(), units: Vec::new() };
        let mut entries: Vec<Entry> = Vec::new();
        let mut expires = None;
        let mut block: Option<Arc<RosterBlock>> = None;
        while let Some(endpoint) = live.next_ready(class) {
            let Some(current) = self.block(&mut block, endpoint) else { break };
            let Some(known) = entry_of(&current, endpoint) else { break };
            if known.address.is_empty() {
                // Its person was forgotten, and what failed is tried again.
                give_up(live, endpoint, Reason::InvalidAddress, self.now);
                continue;
            }
            if let Some(quiet_until) = spans_until(current.quiet_of(endpoint), self.now) {
                // It was not yet quiet when the alert was solved.
                hold(live, endpoint, quiet_until, self.now);
                continue;
            }
            let until =
                expires_of(&live.alert.request, known.rule).min(known.expires.unwrap_or(Timestamp(i64::MAX)));
            if until <= self.now {
                give_up(live, endpoint, Reason::Expired, self.now);
                continue;
            }
            if expires.is_some_and(|expires| expires != until) {
                break;
            }
            let profile = current.profile_of(endpoint);
            let placed = bodies.list.len();
            let Some(mut entry) = self.entry(live, endpoint, known, profile, &mut bodies) else { continue };
            let units = self.units(&entry, &bodies);
            // Texts of the alert are few; those that were adapted to devices may be many.
            let adapted = bodies.list[placed..].iter().filter(|_| profile.is_some());
            let adapted: usize = adapted.filter_map(|body| body.content()).map(Content::octets).sum();
            if !cut.takes(units, ENTRY_OCTETS + entry.address.len() + own_octets(&entry) + adapted) {
                bodies.list.truncate(placed);
                bodies.units.truncate(placed);
                break;
            }
            expires = Some(until);
            entry.attempt = live.dispatched(endpoint, self.route_no, self.now);
            entries.push(entry);
            if cut.is_full() {
                break;
            }
        }
        Some(self.segment(live, entries, bodies.list, expires?))
    }

    fn block(
        &mut self,
        held: &mut Option<Arc<RosterBlock>>,
        endpoint: EndpointNo,
    ) -> Option<Arc<RosterBlock>> {
        let first = endpoint.0 - endpoint.0 % ROSTER_BLOCK_ENDPOINTS as u32;
        if held.as_ref().is_none_or(|block| block.first.0 != first) {
            *held = (self.blocks)(endpoint);
        }
        held.clone()
    }

    /// The entry, with its body chosen; nothing if it cannot be said to this endpoint.
    fn entry(
        &self,
        live: &mut LiveAlert,
        endpoint: EndpointNo,
        known: &RosterEntry,
        profile: Option<DeviceProfile>,
        bodies: &mut Bodies,
    ) -> Option<Entry> {
        let wording = live.wording.clone();
        let language = known.language.as_deref();
        let rendered = wording.render_for(self.route.channel, language, &known.values, profile);
        let (body, own) = match rendered {
            Ok(Rendering::Shared(body)) => (self.place(bodies, body), None),
            Ok(Rendering::Own(own)) => (0, Some(own)),
            Err(_) => {
                give_up(live, endpoint, Reason::NotRendered, self.now);
                return None;
            }
        };
        let shows_link = profile.is_none_or(|profile| profile.links != Some(false));
        let has_link = channels::traits(self.route.channel).reply_link && shows_link;
        let wants_link = live.alert.request.require_answer && has_link;
        let link = if wants_link { self.links.link(live.alert.no, endpoint) } else { None };
        Some(Entry { endpoint, attempt: 0, address: known.address.clone(), body, own, expires: None, link })
    }

    fn place(&self, bodies: &mut Bodies, body: Arc<Body>) -> u16 {
        let known = bodies.list.iter().position(|have| Arc::ptr_eq(have, &body));
        known.unwrap_or_else(|| {
            bodies.units.push(u64::from(self.weigher.units(self.route, &body).max(1)));
            bodies.list.push(body);
            bodies.list.len() - 1
        }) as u16
    }

    fn units(&self, entry: &Entry, bodies: &Bodies) -> u64 {
        match &entry.own {
            Some(own) => u64::from(self.weigher.units(self.route, own).max(1)),
            None => bodies.units.get(usize::from(entry.body)).copied().unwrap_or(1),
        }
    }

    fn segment(
        &self,
        live: &LiveAlert,
        entries: Vec<Entry>,
        bodies: Vec<Arc<Body>>,
        expires: Timestamp,
    ) -> Segment {
        let request = &live.alert.request;
        Segment {
            alert: live.alert.no,
            alert_id: live.alert.id,
            account: live.alert.account.clone(),
            route: self.route.name.clone(),
            lane: live.lane(),
            outcomes_from: self.outcomes_from,
            expires,
            sender: request.sender.clone(),
            flash: request.flash,
            receipt: self.route.receipts,
            answer: request.require_answer,
            choices: request.choices.clone(),
            emergency: request.priority == records::Priority::Emergency,
            bodies,
            entries,
        }
    }
}

fn entry_of(block: &RosterBlock, endpoint: EndpointNo) -> Option<&RosterEntry> {
    block.entries.get(endpoint.0.checked_sub(block.first.0)? as usize)
}

fn own_octets(entry: &Entry) -> usize {
    // Platforms' messages are never rendered here.
    let own = entry.own.as_deref().and_then(Body::content).map_or(0, Content::octets);
    own + entry.link.as_ref().map_or(0, String::len)
}

fn hold(live: &mut LiveAlert, endpoint: EndpointNo, until: Timestamp, now: Timestamp) {
    let due = offset(live.alert.created, until);
    live.edit(endpoint, now, |cell| {
        cell.state = DeliveryState::Held;
        cell.reason = Reason::QuietHours;
        cell.due = due;
    });
}

fn give_up(live: &mut LiveAlert, endpoint: EndpointNo, reason: Reason, now: Timestamp) {
    live.edit(endpoint, now, |cell| {
        cell.state = DeliveryState::Failed;
        cell.reason = reason;
    });
}
