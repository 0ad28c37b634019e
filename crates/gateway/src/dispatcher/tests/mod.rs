mod asked;
mod flow;
mod paid;
mod repeated;
mod send_queue;
mod several;

use std::sync::Arc;

use records::{
    AlertId, AlertNo, AttemptRef, AttemptResult, Body, EndpointNo, Entry, Intent, Lane, Outcome, Segment,
    Timestamp,
};

use super::{ChannelEncoder, LeasedSegment};

pub(crate) const ROUTE: &str = "route";
pub(crate) const NOW: Timestamp = Timestamp(1_000_000_000);

/// An entry costs as many units as its address says.
#[derive(Debug, Clone)]
struct ByAddress;

impl ChannelEncoder for ByAddress {
    type Prepared = ();
    fn prepare(&self, _segment: &Segment) {}
    fn units(&self, _segment: &Segment, _prepared: &(), entry: &Entry) -> u8 {
        entry.address.parse().unwrap()
    }
}

/// A segment whose entries cost these units; endpoints are numbered from `first` on.
pub(crate) fn segment(alert: u64, lane: Lane, first: u32, units: &[u8]) -> Segment {
    let entries = (first..).zip(units).map(|(endpoint, units)| Entry {
        expires: None,
        endpoint: EndpointNo(endpoint),
        attempt: 1,
        address: units.to_string(),
        body: 0,
        own: None,
        link: None,
    });
    Segment {
        alert: AlertNo(alert),
        alert_id: AlertId(uuid::Uuid::nil()),
        account: String::new(),
        route: ROUTE.to_owned(),
        lane,
        outcomes_from: 0,
        expires: Timestamp(i64::MAX),
        sender: None,
        flash: false,
        receipt: false,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(Body::of_text(""))],
        entries: entries.collect(),
    }
}

fn leased(index: u64, segment: Segment) -> Arc<LeasedSegment<()>> {
    Arc::new(LeasedSegment::new(index, 0, segment.lane, segment, ()))
}

pub(crate) fn intent(segment: &Segment, index: u64, from: u32, to: u32) -> Outcome {
    let entries = &segment.entries[from as usize..to as usize];
    Outcome::Intent(Intent {
        route: segment.route.clone(),
        lane: segment.lane,
        segment: index,
        alert: segment.alert,
        from,
        attempts: entries.iter().map(|entry| (entry.endpoint, entry.attempt)).collect(),
        at: NOW,
    })
}

pub(crate) fn attempt(
    segment: &Segment,
    place: usize,
    part: u8,
    parts: u8,
    result: AttemptResult,
) -> Outcome {
    let entry = &segment.entries[place];
    let of =
        AttemptRef { alert: segment.alert, endpoint: entry.endpoint, attempt: entry.attempt, part, parts };
    Outcome::Attempt { of, route: segment.route.clone(), at: NOW, result }
}

pub(crate) fn accepted() -> AttemptResult {
    AttemptResult::Accepted { keys: vec![1], id: "1".to_owned() }
}
