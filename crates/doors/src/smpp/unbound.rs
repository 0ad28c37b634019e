//! Unbound connections: those that never bind are closed to make room for others.

use net::network_of;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Connections from one network that are not bound; at most a quarter of all.
const UNBOUND_OF_NETWORK_MAX: usize = 256;
/// Connections that are not bound; at most half of all.
const UNBOUND_MAX: usize = 1_024;

/// Connections that are not bound yet. The oldest makes room for one too many, so that a client that binds at
/// once is admitted.
pub(super) struct UnboundConnections {
    inner: Mutex<UnboundConnection>,
    max: usize,
    of_network_max: usize,
}

#[derive(Default)]
struct UnboundConnection {
    next: u64,
    /// In the order they came.
    all: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    of: HashMap<IpAddr, usize>,
}

impl UnboundConnections {
    /// For a door of so many connections.
    pub(super) fn new(connections_max: usize) -> UnboundConnections {
        UnboundConnections {
            inner: Mutex::default(),
            max: (connections_max / 2).clamp(1, UNBOUND_MAX),
            of_network_max: (connections_max / 4).clamp(1, UNBOUND_OF_NETWORK_MAX),
        }
    }

    /// A place among the unbound connections; the oldest ends if there are too many.
    pub(super) fn enter(self: &Arc<Self>, ip: IpAddr) -> UnboundPlace {
        let ip = network_of(ip);
        let sent_out = Arc::new(Notify::new());
        let mut inner = lock(&self.inner);
        let crowded = inner.of.get(&ip).is_some_and(|count| *count >= self.of_network_max);
        if crowded || inner.all.len() >= self.max {
            let oldest =
                inner.all.iter().find(|(_, (of, _))| !crowded || *of == ip).map(|(number, _)| *number);
            if let Some((_, notify)) = oldest.and_then(|number| inner.remove(number)) {
                notify.notify_one();
            }
        }
        let number = inner.next;
        inner.next += 1;
        inner.all.insert(number, (ip, Arc::clone(&sent_out)));
        *inner.of.entry(ip).or_insert(0) += 1;
        UnboundPlace { unbound: Arc::clone(self), number, sent_out }
    }
}

impl UnboundConnection {
    fn remove(&mut self, number: u64) -> Option<(IpAddr, Arc<Notify>)> {
        let (ip, notify) = self.all.remove(&number)?;
        if let Some(count) = self.of.get_mut(&ip) {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&ip);
            }
        }
        Some((ip, notify))
    }
}

/// A connection's place among the unbound ones, until it is dropped.
pub(super) struct UnboundPlace {
    unbound: Arc<UnboundConnections>,
    number: u64,
    sent_out: Arc<Notify>,
}

impl UnboundPlace {
    /// Resolves when the connection has to make room.
    pub(super) async fn sent_out(&self) {
        self.sent_out.notified().await;
    }
}

impl Drop for UnboundPlace {
    fn drop(&mut self) {
        lock(&self.unbound.inner).remove(self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn ip(last: u32) -> IpAddr {
        IpAddr::V4((0x0A00_0000 + last).into())
    }

    #[test]
    fn the_oldest_of_a_crowd_makes_room_and_nobody_elses() {
        let unbound = Arc::new(UnboundConnections::new(4_000));
        let other = unbound.enter(ip(2));
        let crowd: Vec<UnboundPlace> = (0..UNBOUND_OF_NETWORK_MAX).map(|_| unbound.enter(ip(1))).collect();
        assert!(crowd.iter().all(|place| place.sent_out().now_or_never().is_none()));
        let _late = unbound.enter(ip(1));
        let sent: Vec<bool> = crowd.iter().map(|place| place.sent_out().now_or_never().is_some()).collect();
        assert_eq!((sent[0], sent.iter().filter(|sent| **sent).count()), (true, 1));
        assert!(other.sent_out().now_or_never().is_none());
        drop(crowd);
        assert_eq!(lock(&unbound.inner).all.len(), 2);
        assert_eq!(lock(&unbound.inner).of.len(), 2);
    }

    #[test]
    fn no_more_than_so_many_wait_in_all() {
        let unbound = Arc::new(UnboundConnections::new(4_000));
        let all: Vec<UnboundPlace> =
            (0..UNBOUND_MAX as u32 + 5).map(|last| unbound.enter(ip(last))).collect();
        assert_eq!(lock(&unbound.inner).all.len(), UNBOUND_MAX);
        assert!(all[..5].iter().all(|place| place.sent_out().now_or_never().is_some()));
        assert!(all[5].sent_out().now_or_never().is_none());
    }
}
