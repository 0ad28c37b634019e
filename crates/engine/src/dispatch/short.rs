//! One segment of platforms' messages: each says its own, and each has its own end.

use crate::api::UnitsEstimator;
use crate::plan::Cut;
use crate::record::LiveAlert;
use records::{
    Body, DeliveryState, EndpointNo, Entry, Reason, RosterEntry, Route, Segment, Short, ShortText, Timestamp,
};

/// Octets of an entry beside its address and its body.
const ENTRY_OCTETS: usize = 24;
/// Octets of a short message beside what is of variable length.
const SHORT_OCTETS: usize = 24;

/// What building needs beside the alert.
pub struct ShortBuilder<'a> {
    /// The route it goes by.
    pub route: &'a Route,
    /// The route's number.
    pub route_no: u16,
    /// Units the route and lane have room for.
    pub room: u64,
    /// Knows what a message costs.
    pub weigher: &'a dyn UnitsEstimator,
    /// Where the topic of outcomes ends.
    pub outcomes_from: u64,
    /// The moment.
    pub now: Timestamp,
    /// Reads a message.
    pub entry: &'a mut dyn FnMut(EndpointNo) -> Option<RosterEntry>,
}

impl ShortBuilder<'_> {
    /// Takes ready messages of `class` out of the alert; nothing if there is none that can be sent. Answers
    /// with the units they cost.
    pub fn build(self, live: &mut LiveAlert, class: u16) -> Option<(Segment, u64)> {
        let mut cut = Cut::new(self.route, self.room);
        let mut entries: Vec<Entry> = Vec::new();
        let mut latest = self.now;
        let mut total = 0;
        while let Some(endpoint) = live.next_ready(class) {
            let Some(entry) = (self.entry)(endpoint) else { break };
            let Some(message) = entry.message else { break };
            let expires = entry.expires.unwrap_or(live.alert.request.expires).min(live.alert.request.expires);
            if expires <= self.now {
                live.edit(endpoint, self.now, |cell| {
                    cell.state = DeliveryState::Failed;
                    cell.reason = Reason::Expired;
                });
                continue;
            }
            let octets = ENTRY_OCTETS + entry.address.len() + short_octets(&message.short);
            let body = Box::new(Body::Short(Box::new(message.short)));
            let units = self.units(&body);
            if !cut.takes(units, octets) {
                break;
            }
            total += units;
            latest = latest.max(expires);
            let attempt = live.dispatched(endpoint, self.route_no, self.now);
            live.set_units(endpoint, units);
            entries.push(Entry {
                endpoint,
                attempt,
                address: entry.address,
                body: 0,
                own: Some(body),
                expires: Some(expires),
                link: None,
            });
            if cut.is_full() {
                break;
            }
        }
        if entries.is_empty() { None } else { Some((self.segment(live, entries, latest), total)) }
    }

    fn units(&self, body: &Body) -> u64 {
        if self.route.rate <= 0.0 {
            return 1;
        }
        u64::from(self.weigher.units(self.route, body).max(1))
    }

    fn segment(&self, live: &LiveAlert, entries: Vec<Entry>, expires: Timestamp) -> Segment {
        Segment {
            alert: live.alert.no,
            alert_id: live.alert.id,
            account: live.alert.account.clone(),
            route: self.route.name.clone(),
            lane: live.lane(),
            outcomes_from: self.outcomes_from,
            expires,
            sender: None,
            flash: false,
            receipt: self.route.receipts,
            answer: false,
            choices: Vec::new(),
            emergency: live.alert.request.priority == records::Priority::Emergency,
            bodies: Vec::new(),
            entries,
        }
    }
}

/// What a message takes in a segment.
fn short_octets(short: &Short) -> usize {
    let text = match &short.text {
        ShortText::Text { text, .. } => text.len(),
        ShortText::Octets { octets, .. } => octets.len(),
    };
    SHORT_OCTETS
        + text
        + short.udh.len()
        + short.tlvs.len()
        + short.source.addr.len()
        + short.service_type.len()
}
