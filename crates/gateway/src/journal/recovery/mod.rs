//! Recovery after a crash: finds the intents on the topic of outcomes that no outcome follows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bus::{Bus, BusError};
use records::{
    AlertNo, AttemptRef, AttemptResult, EndpointNo, Entry, Intent, Lane, OUTCOMES, Outcome, Segment,
    Timestamp, Unpaid, decode_outcomes, segment_topic,
};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::Mutex;

use crate::context::SEGMENT_GROUP;

/// Segments that were begun are among the first so many unacknowledged ones: acknowledgements are made
/// durable before more of them can be lost.
const BEGUN_MAX: usize = 8_192;
/// Or among the first so many octets.
const BEGUN_OCTETS_MAX: usize = 64 * 1024 * 1024;
/// An earlier process that said nothing for so long, in microseconds, wrote nothing of late: longer than a
/// write can hang, and than what is intended waits on a route of one message in ten seconds.
const QUIET_US: i64 = 60_000_000;
/// Outcomes are read in pieces of so many octets.
const READ_OCTETS: usize = 4 * 1024 * 1024;
/// And so many records.
const READ_RECORDS: usize = 10_000;

/// How far a segment got.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SegmentProgress {
    /// Entries below this place were (perhaps) written.
    pub(crate) intended_to: u32,
    /// Places below that without a complete outcome, and which of their parts have one.
    pub(crate) unresolved: Vec<(u32, PartSet)>,
}

/// A set of part numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PartSet([u64; 4]);

impl PartSet {
    pub(crate) fn has(self, part: u8) -> bool {
        self.0[usize::from(part) / 64] & (1 << (part % 64)) != 0
    }
    pub(crate) fn add(&mut self, part: u8) {
        self.0[usize::from(part) / 64] |= 1 << (part % 64);
    }
    pub(crate) fn has_all(self, parts: u8) -> bool {
        (1..=parts).all(|part| self.has(part))
    }
}

/// What one route has to go on with.
#[derive(Debug, Default)]
pub(crate) struct RouteProgress {
    segments: HashMap<(Lane, u64), SegmentProgress>,
    given_back: Arc<GivenBack>,
    /// Nothing of it can have been written within the last second.
    pub(crate) quiet: bool,
}

/// An attempt.
type Key = (AlertNo, EndpointNo, u8);
/// Attempts that were given back, or that nobody paid for, without an intent, and the last record that says
/// so.
type GivenBack = FxHashMap<Key, u64>;

impl RouteProgress {
    /// How far a segment got; nothing if nobody began it. Each is asked for once.
    pub(crate) fn take(&mut self, lane: Lane, index: u64) -> Option<SegmentProgress> {
        self.segments.remove(&(lane, index))
    }

    /// Whether an entry of this very segment was given back. If it was planned again, then into a segment
    /// that was made after record had read so, and whose outcomes begin after it.
    pub(crate) fn gave_back(&self, segment: &Segment, entry: &Entry) -> bool {
        let key = (segment.alert, entry.endpoint, entry.attempt);
        self.given_back.get(&key).is_some_and(|&at| at >= segment.outcomes_from)
    }
}

/// Looks once for all routes that start together, and again for one that starts a second time.
pub(crate) struct Recovery {
    bus: Arc<dyn Bus>,
    found: Mutex<Option<RecoveredIntents>>,
}

/// What the first look found.
struct RecoveredIntents {
    progress: HashMap<String, RouteProgress>,
    /// No earlier process has written anything of late.
    quiet: bool,
    /// Routes that this process has opened.
    opened: HashSet<String>,
}

impl Recovery {
    pub(crate) fn new(bus: Arc<dyn Bus>) -> Recovery {
        Recovery { bus, found: Mutex::new(None) }
    }

    /// What a route has to go on with. Nothing of the route may be running, in whatever process.
    pub(crate) async fn of(&self, route: &str, now: Timestamp) -> Result<RouteProgress, BusError> {
        let mut found = self.found.lock().await;
        let found = match &mut *found {
            Some(found) => found,
            nothing => {
                let quiet = is_quiet(&*self.bus, now)?;
                let progress = scan_aside(Arc::clone(&self.bus), None).await?;
                nothing.insert(RecoveredIntents { progress, quiet, opened: HashSet::new() })
            }
        };
        let mut progress = match found.progress.remove(route) {
            Some(progress) => progress,
            None => {
                let mut scanned = scan_aside(Arc::clone(&self.bus), Some(route.to_owned())).await?;
                scanned.remove(route).unwrap_or_default()
            }
        };
        progress.quiet = found.quiet && found.opened.insert(route.to_owned());
        Ok(progress)
    }
}

/// Whether the last outcome of an earlier process is so old that nothing it wrote can be of the last second:
/// what it intended last was written, or refused, long before.
fn is_quiet(bus: &dyn Bus, now: Timestamp) -> Result<bool, BusError> {
    let outcomes = bus.topic(OUTCOMES)?;
    let Some(last) = outcomes.head().checked_sub(1) else { return Ok(true) };
    let records = outcomes.read(last, 1, 1)?;
    let Some(Ok(outcomes)) = records.first().map(|record| decode_outcomes(&record.octets)) else {
        return Ok(false);
    };
    let at = |outcome: &Outcome| match outcome {
        Outcome::Intent(intent) => Some(intent.at),
        Outcome::Attempt { at, .. } | Outcome::Answer { at, .. } => Some(*at),
        Outcome::Receipt(receipt) => Some(receipt.at),
        Outcome::CarrierReceipt(of) => Some(of.receipt.at),
        Outcome::Inbound(inbound) => Some(inbound.at),
        Outcome::Reply(reply) => Some(reply.inbound.at),
        Outcome::Unproven(inbound) => Some(inbound.at),
        Outcome::Claim(claim) => Some(claim.at),
        Outcome::By { .. } => None,
    };
    // A clock that was set back says nothing.
    Ok(outcomes.iter().filter_map(at).max().is_some_and(|at| now.us_since(at) > QUIET_US))
}

/// Reading may take a while: not on a core.
async fn scan_aside(
    bus: Arc<dyn Bus>,
    route: Option<String>,
) -> Result<HashMap<String, RouteProgress>, BusError> {
    let scan = tokio::task::spawn_blocking(move || scan(&*bus, route.as_deref()));
    scan.await.unwrap_or(Err(BusError::Closed))
}

/// It was not written, and is not in hand any more.
fn is_said_without_intent(result: &AttemptResult) -> bool {
    match result {
        AttemptResult::NotTried { .. } => true,
        AttemptResult::Refused { code, .. } => code.starts_with(Unpaid::CODES),
        AttemptResult::Accepted { .. } | AttemptResult::Unknown { .. } => false,
    }
}

/// A route, a lane of it, and an index there.
type SegmentPosition = (u32, Lane, u64);

fn scan(bus: &dyn Bus, only: Option<&str>) -> Result<HashMap<String, RouteProgress>, BusError> {
    let routes = routes_of(bus, only)?;
    let mut scan = Scan::new(&routes);
    let outcomes = bus.topic(OUTCOMES)?;
    let mut from = outcomes.head();
    for (number, route) in routes.iter().enumerate() {
        for lane in Lane::ALL {
            from = from.min(scan.open_lane(bus, number as u32, route, lane, outcomes.low())?);
        }
    }
    while from < outcomes.head() {
        let records = outcomes.read(from, READ_RECORDS, READ_OCTETS)?;
        let Some(last) = records.last() else { break };
        from = last.index + 1;
        for record in records {
            match decode_outcomes(&record.octets) {
                Ok(outcomes) => outcomes.iter().for_each(|outcome| scan.see(record.index, outcome)),
                Err(error) => {
                    return Err(BusError::Damaged { what: format!("{OUTCOMES} {}: {error}", record.index) });
                }
            }
        }
    }
    let found = scan.finish(routes.len());
    Ok(routes.into_iter().zip(found).collect())
}

/// Routes that have topics of segments.
fn routes_of(bus: &dyn Bus, only: Option<&str>) -> Result<Vec<String>, BusError> {
    if let Some(route) = only {
        return Ok(vec![route.to_owned()]);
    }
    let mut routes: Vec<String> = bus
        .topics("segments/")?
        .iter()
        .filter_map(|topic| topic.strip_prefix("segments/")?.rsplit_once('/'))
        .map(|(route, _)| route.to_owned())
        .collect();
    routes.sort();
    routes.dedup();
    Ok(routes)
}

struct Scan<'a> {
    numbers: HashMap<&'a str, u32>,
    /// Segments that may have been begun.
    segments: FxHashMap<SegmentPosition, SegmentProgress>,
    /// Intended, and not yet seen to be over.
    open: FxHashMap<Key, (SegmentPosition, u32, PartSet)>,
    /// Alerts of those segments.
    alerts: FxHashSet<AlertNo>,
    given_back: GivenBack,
}

impl<'a> Scan<'a> {
    fn new(routes: &'a [String]) -> Scan<'a> {
        let numbers =
            routes.iter().enumerate().map(|(number, route)| (route.as_str(), number as u32)).collect();
        Scan {
            numbers,
            segments: FxHashMap::default(),
            open: FxHashMap::default(),
            alerts: FxHashSet::default(),
            given_back: GivenBack::default(),
        }
    }

    /// Finds the lane's segments that may have been begun, and from where on the topic of outcomes speaks of
    /// them.
    fn open_lane(
        &mut self,
        bus: &dyn Bus,
        number: u32,
        route: &str,
        lane: Lane,
        low: u64,
    ) -> Result<u64, BusError> {
        let name = segment_topic(route, lane);
        let (topic, group) = (bus.topic(&name)?, bus.group(&name, SEGMENT_GROUP)?);
        let (mut from, mut octets) = (u64::MAX, 0);
        for index in group.unacknowledged(BEGUN_MAX) {
            let Some(record) = topic.read(index, 1, 1)?.into_iter().find(|record| record.index == index)
            else {
                continue;
            };
            let Ok(segment) = Segment::decode(&record.octets) else { continue };
            let place = (number, lane, index);
            self.segments.insert(place, SegmentProgress::default());
            self.alerts.insert(segment.alert);
            if segment.outcomes_from < low {
                self.presume_written(place, &segment);
            }
            from = from.min(segment.outcomes_from);
            octets += record.octets.len();
            if octets > BEGUN_OCTETS_MAX {
                break;
            }
        }
        Ok(from)
    }

    /// What was said of this segment may be gone from the topic: what has no outcome in the rest of it is
    /// unknown. To send it again might make a second copy; of what is over already, record hears nothing new.
    fn presume_written(&mut self, place: SegmentPosition, segment: &Segment) {
        tracing::warn!(alert = %segment.alert, route = segment.route, "outcomes of an unfinished segment were trimmed from the bus: its entries are reported as unknown");
        if let Some(progress) = self.segments.get_mut(&place) {
            progress.intended_to = segment.entries.len() as u32;
        }
        for (at, entry) in segment.entries.iter().enumerate() {
            let key = (segment.alert, entry.endpoint, entry.attempt);
            self.open.insert(key, (place, at as u32, PartSet::default()));
        }
    }

    fn see(&mut self, index: u64, outcome: &Outcome) {
        match outcome {
            Outcome::Intent(intent) => self.intended(intent),
            Outcome::Attempt { of, result, .. } => self.ended(index, of, result),
            Outcome::Receipt(_)
            | Outcome::CarrierReceipt(_)
            | Outcome::Inbound(_)
            | Outcome::Reply(_)
            | Outcome::Unproven(_)
            | Outcome::Answer { .. } => {}
            // Of several processes, of which this bus has none any more.
            Outcome::Claim(_) | Outcome::By { .. } => {}
        }
    }

    fn intended(&mut self, intent: &Intent) {
        let Some(&number) = self.numbers.get(intent.route.as_str()) else { return };
        let place = (number, intent.lane, intent.segment);
        let Some(progress) = self.segments.get_mut(&place) else { return };
        let to = intent.from + intent.attempts.len() as u32;
        progress.intended_to = progress.intended_to.max(to);
        for (at, (endpoint, attempt)) in (intent.from..to).zip(&intent.attempts) {
            self.open.entry((intent.alert, *endpoint, *attempt)).or_insert((place, at, PartSet::default()));
        }
    }

    fn ended(&mut self, index: u64, of: &AttemptRef, result: &AttemptResult) {
        let key = (of.alert, of.endpoint, of.attempt);
        let Some((_, _, seen)) = self.open.get_mut(&key) else {
            if is_said_without_intent(result) && self.alerts.contains(&of.alert) {
                self.given_back.insert(key, index);
            }
            return;
        };
        seen.add(of.part);
        if seen.has_all(of.parts) {
            self.open.remove(&key);
        }
    }

    fn finish(mut self, routes: usize) -> Vec<RouteProgress> {
        // In order of their places, for who reads the outcomes.
        let open: BTreeMap<(SegmentPosition, u32), PartSet> =
            self.open.into_values().map(|(place, at, seen)| ((place, at), seen)).collect();
        for ((place, at), seen) in open {
            if let Some(progress) = self.segments.get_mut(&place) {
                progress.unresolved.push((at, seen));
            }
        }
        let given_back = Arc::new(self.given_back);
        let progress =
            || RouteProgress { segments: HashMap::new(), given_back: Arc::clone(&given_back), quiet: false };
        let mut found: Vec<RouteProgress> = (0..routes).map(|_| progress()).collect();
        for ((number, lane, index), progress) in self.segments {
            if progress != SegmentProgress::default()
                && let Some(route) = found.get_mut(number as usize)
            {
                route.segments.insert((lane, index), progress);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
