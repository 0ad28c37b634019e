//! Segment topics: a route's lanes on the bus. They lease segments to this process, renew and release them,
//! and make acknowledgements durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bus::{BusError, Group, Leased};
use futures_util::future::BoxFuture;
use records::{Lane, segment_topic};

use crate::GatewayContext;
use crate::cluster::{Cluster, SegmentLease};
use crate::context::SEGMENT_GROUP;

/// A segment is ours for so long without a word, where there is one process.
const LEASE: Duration = Duration::from_secs(30);
/// So often in its time a lease is renewed, and where there are other processes how the route is.
const RENEWALS: u32 = 3;
/// Acknowledgements are made durable this often.
pub(super) const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Acknowledgements are made durable at the latest after so many octets of segments: recovery looks at what
/// was not.
const ACKED_OCTETS_MAX: u64 = 16 * 1024 * 1024;
/// And after so many segments.
const ACKED_MAX: u64 = 2_048;

pub(super) struct SegmentTopics {
    route: String,
    cluster: Option<Arc<Cluster>>,
    lanes: [Arc<dyn Group>; 3],
    /// Acknowledged segments since that was last made durable.
    acked: AtomicU64,
    acked_octets: AtomicU64,
}

impl SegmentTopics {
    pub(super) fn open(context: &GatewayContext, route: &str) -> Result<SegmentTopics, BusError> {
        let group = |lane| context.bus.group(&segment_topic(route, lane), SEGMENT_GROUP);
        Ok(SegmentTopics {
            route: route.to_owned(),
            cluster: context.shared.clone(),
            lanes: [group(Lane::Emergency)?, group(Lane::Urgent)?, group(Lane::Routine)?],
            acked: AtomicU64::new(0),
            acked_octets: AtomicU64::new(0),
        })
    }

    fn lease(&self) -> Duration {
        self.cluster.as_ref().map_or(LEASE, |cluster| cluster.lease)
    }

    pub(super) fn renew_every(&self) -> Duration {
        self.lease() / RENEWALS
    }

    /// Resolves when a lane may have a segment.
    pub(super) fn ready(&self, lane: Lane) -> BoxFuture<'static, ()> {
        self.lanes[lane as usize].ready()
    }

    /// Leases the next segment of a lane.
    pub(super) fn take(&self, lane: Lane) -> Option<Leased> {
        match self.lanes[lane as usize].take(1, self.lease()) {
            Ok(leased) => leased.into_iter().next(),
            Err(error) => {
                tracing::error!(route = self.route, lane = lane.name(), %error, "no segments can be taken");
                None
            }
        }
    }

    /// Renews a lease, unless it is lost.
    pub(super) fn renew(&self, lane: Lane, index: u64, segment_lease: Option<&SegmentLease>) {
        let before = Instant::now();
        if segment_lease.is_some_and(|segment_lease| segment_lease.is_lost(before)) {
            return;
        }
        match (self.lanes[lane as usize].renew(index, self.lease()), segment_lease) {
            (Ok(()), Some(segment_lease)) => segment_lease.renewed(before, self.lease()),
            (Ok(()), None) => {}
            (Err(error), segment_lease) => {
                tracing::warn!(route = self.route, lane = lane.name(), index, %error, "a lease was not renewed");
                if let (BusError::NotLeased { .. }, Some(segment_lease)) = (error, segment_lease) {
                    segment_lease.end();
                }
            }
        }
    }

    /// Releases a segment to whichever process takes it next.
    pub(super) fn release(&self, lane: Lane, index: u64) -> Result<(), BusError> {
        self.forget_claim(lane, index);
        self.lanes[lane as usize].release(index)
    }

    /// The reader of claims need not watch a segment any more.
    pub(super) fn forget_claim(&self, lane: Lane, index: u64) {
        if let Some(cluster) = &self.cluster {
            cluster.follower.let_go(&self.route, lane, index);
        }
    }

    /// Acknowledges a segment whose outcomes are durable.
    pub(super) fn acknowledge(&self, lane: Lane, index: u64, octets: u32) {
        if let Err(error) = self.lanes[lane as usize].ack(index) {
            tracing::warn!(route = self.route, index, %error, "a segment was not acknowledged");
        }
        self.forget_claim(lane, index);
        self.acked.fetch_add(1, Ordering::Relaxed);
        self.acked_octets.fetch_add(u64::from(octets), Ordering::Relaxed);
    }

    /// Acknowledges a record that only moved the topic's head.
    pub(super) fn acknowledge_fencing_record(&self, lane: Lane, index: u64) {
        if let Err(error) = self.lanes[lane as usize].ack(index) {
            tracing::warn!(route = self.route, lane = lane.name(), index, %error, "a seat was not acknowledged");
        }
        self.acked.fetch_add(1, Ordering::Relaxed);
    }

    /// There are acknowledgements that are not durable.
    pub(super) fn needs_flush(&self) -> bool {
        self.acked.load(Ordering::Relaxed) > 0
    }

    /// Acknowledgements are to be made durable now, which they were at `flushed`.
    pub(super) fn is_flush_due(&self, flushed: Instant) -> bool {
        let acked = self.acked.load(Ordering::Relaxed);
        let octets = self.acked_octets.load(Ordering::Relaxed);
        acked > 0 && (flushed.elapsed() >= FLUSH_EVERY || acked >= ACKED_MAX || octets >= ACKED_OCTETS_MAX)
    }

    /// Makes acknowledgements durable.
    pub(super) async fn flush(&self) {
        self.acked.store(0, Ordering::Relaxed);
        self.acked_octets.store(0, Ordering::Relaxed);
        for lane in &self.lanes {
            if let Err(error) = lane.flush().await {
                tracing::warn!(route = self.route, %error, "acknowledgements were not made durable");
            }
        }
    }
}
