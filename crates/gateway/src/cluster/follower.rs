//! Reads the topic of outcomes as it grows, whoever writes to it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bus::{Bus, BusError, Record, Topic};
use net::Cores;
use records::{Lane, OUTCOMES, Segment, decode_outcomes};
use tokio::sync::watch;

use super::claims::{Claimed, Claims, SegmentKey};
use super::segment_lease::SegmentLease;
use crate::context::SEGMENT_GROUP;
use crate::context::Stop;

/// Records read at a time.
const READ_RECORDS: usize = 1_000;
/// And octets of them.
const READ_OCTETS: usize = 1024 * 1024;
/// After a failure it reads again after so long.
const READ_PAUSE: Duration = Duration::from_millis(500);
/// The first so many unacknowledged segments of a lane say from where on outcomes matter.
const FIRST_SEGMENTS: usize = 16;
/// Or so many octets of them.
const FIRST_OCTETS: usize = 4 * 1024 * 1024;

/// See the module.
pub(crate) struct Follower {
    topic: Arc<dyn Topic>,
    claims: Arc<Mutex<Claims>>,
    passed: watch::Receiver<u64>,
    stop: watch::Sender<bool>,
}

impl Follower {
    /// Begins to read, from where what is not over yet began.
    pub(super) fn start(bus: &Arc<dyn Bus>, cores: &Cores, node: &str) -> Result<Follower, BusError> {
        let topic = bus.topic(OUTCOMES)?;
        let began = begin(&**bus, &*topic)?;
        let claims = Arc::new(Mutex::new(Claims::new(node, began)));
        let (tell, passed) = watch::channel(began);
        let (stop, stopping) = Stop::pair();
        cores.spawn_on(cores.next(), follow(Arc::clone(&topic), Arc::clone(&claims), tell, stopping));
        Ok(Follower { topic, claims, passed, stop })
    }

    pub(super) fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// A claim is about to be written.
    pub(crate) fn expect(&self, route: &str, lane: Lane, index: u64, segment_lease: Arc<SegmentLease>) {
        let mut claims = self.claims();
        let place = claims.place(route, lane, index);
        claims.expect(place, segment_lease);
    }

    /// Nothing is to be done with a segment any more.
    pub(crate) fn let_go(&self, route: &str, lane: Lane, index: u64) {
        let mut claims = self.claims();
        let place = claims.place(route, lane, index);
        claims.let_go(&place);
    }

    /// Places of a segment of ours that another has given back before we came to them.
    pub(crate) fn given_back(&self, route: &str, lane: Lane, index: u64) -> BTreeSet<u32> {
        let mut claims = self.claims();
        let place = claims.place(route, lane, index);
        claims.given_back(&place)
    }

    /// Whether somebody claimed a segment before we did, or may have.
    pub(crate) fn was_claimed(&self, segment: &Segment, lane: Lane, index: u64) -> bool {
        let mut claims = self.claims();
        let place = claims.place(&segment.route, lane, index);
        claims.was_claimed(&place, segment.outcomes_from)
    }

    /// Resolves when a record, and all before it, are known. False: it reads no more.
    pub(crate) async fn pass(&self, record: u64) -> bool {
        self.passed.clone().wait_for(|passed| *passed > record).await.is_ok()
    }

    /// What our claim by a record came to, which was passed.
    pub(crate) async fn settle(&self, segment: &Segment, lane: Lane, index: u64, record: u64) -> Claimed {
        let (place, began, claimed) = {
            let mut claims = self.claims();
            let place = claims.place(&segment.route, lane, index);
            let claimed = claims.settle(&place, record);
            (place, claims.began, claimed)
        };
        if segment.outcomes_from >= began || !matches!(claimed, Claimed::Ours(_)) {
            return claimed;
        }
        // It was made before what we have read: rarely, since reading began at the first that was not over.
        let older = Older {
            node: self.claims().node().to_owned(),
            topic: Arc::clone(&self.topic),
            place: place.clone(),
            segment: segment.clone(),
            record,
        };
        match tokio::task::spawn_blocking(move || older.read()).await {
            Ok(Ok((claimed, given_back))) => {
                self.claims().give_back(&place, given_back);
                claimed
            }
            Ok(Err(error)) => {
                tracing::error!(route = segment.route, index, %error, "a segment is not sent: its earlier outcomes cannot be read");
                Claimed::Lost
            }
            Err(_) => Claimed::Lost,
        }
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From which record on something is said of segments that are not over.
fn begin(bus: &dyn Bus, outcomes: &dyn Topic) -> Result<u64, BusError> {
    let mut from = outcomes.head();
    for name in bus.topics("segments/")? {
        let (topic, group) = (bus.topic(&name)?, bus.group(&name, SEGMENT_GROUP)?);
        let first = topic.read(group.low_water(), FIRST_SEGMENTS, FIRST_OCTETS)?;
        for segment in first.iter().filter_map(|record| Segment::decode(&record.octets).ok()) {
            from = from.min(segment.outcomes_from);
        }
    }
    Ok(from.max(outcomes.low()))
}

async fn follow(
    topic: Arc<dyn Topic>,
    claims: Arc<Mutex<Claims>>,
    passed: watch::Sender<u64>,
    mut stop: Stop,
) {
    let mut next = *passed.borrow();
    let mut failed = false;
    loop {
        let read = tokio::select! {
            read = topic.fetch(next, READ_RECORDS, READ_OCTETS) => read,
            () = stop.wait() => return,
        };
        match read {
            Ok(records) if records.is_empty() => tokio::select! {
                () = topic.readable(next) => {}
                () = stop.wait() => return,
            },
            Ok(records) => {
                failed = false;
                next = take(&claims, &records).max(next);
                passed.send_replace(next);
            }
            Err(BusError::Closed) => return,
            Err(error) => {
                if !std::mem::replace(&mut failed, true) {
                    tracing::warn!(%error, "outcomes cannot be read: nothing new is sent until they can");
                }
                tokio::select! {
                    () = tokio::time::sleep(READ_PAUSE) => {}
                    () = stop.wait() => return,
                }
            }
        }
    }
}

/// The place after the last of them.
fn take(claims: &Mutex<Claims>, records: &[Record]) -> u64 {
    let mut next = 0;
    for record in records {
        next = record.index + 1;
        match decode_outcomes(&record.octets) {
            Ok(outcomes) => {
                claims.lock().unwrap_or_else(PoisonError::into_inner).see(record.index, &outcomes);
            }
            Err(error) => {
                tracing::error!(index = record.index, %error, "a record of outcomes cannot be decoded and is skipped")
            }
        }
    }
    next
}

/// A segment of which more was said than was read.
struct Older {
    node: String,
    topic: Arc<dyn Topic>,
    place: SegmentKey,
    segment: Segment,
    /// Our claim.
    record: u64,
}

impl Older {
    /// What the claim came to, and what others gave back behind it.
    fn read(&self) -> Result<(Claimed, BTreeSet<u32>), BusError> {
        let low = self.topic.low();
        let mut claims = Claims::new(&self.node, low);
        let place = claims.place(&self.place.0, self.place.1, self.place.2);
        if self.segment.outcomes_from < low {
            tracing::warn!(alert = %self.segment.alert, route = self.segment.route, "outcomes of an unfinished segment were trimmed from the bus: its entries are reported as unknown");
            claims.presume_written(&place, &self.segment);
        }
        let mut from = self.segment.outcomes_from.max(low);
        while from <= self.record {
            let records = self.topic.read(from, READ_RECORDS, READ_OCTETS)?;
            let Some(last) = records.last() else { break };
            from = last.index + 1;
            for record in records.iter().filter(|record| record.index <= self.record) {
                if let Ok(outcomes) = decode_outcomes(&record.octets) {
                    claims.see(record.index, &outcomes);
                }
            }
        }
        Ok((claims.settle(&place, self.record), claims.given_back(&place)))
    }
}
