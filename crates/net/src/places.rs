//! Places of a door bound its connections, in all and by network. Where there is none left, a network's own
//! oldest waiting connection makes room for its next one.
//!
//! A connection *waits* while it has no whole request here, or does not read what it is sent; else it is
//! *busy*, and nobody takes its place. So one network fills its own share at most, and its silent, half and
//! never-reading connections end by themselves as soon as it wants another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// After none of a network's connections was found waiting, they are not looked through again for so long.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Network of an address: itself, and in version 6 its first 64 bits, which one subscriber has for itself.
pub fn network_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from(u128::from(ip) >> 64 << 64)),
        ip => ip,
    }
}

/// Descriptors that all doors together may use for connections, so that the rest is there for carriers, store
/// and bus. When they are used up, a waiting connection of the largest crowd at any door makes room.
#[derive(Debug)]
pub struct DescriptorBudget {
    open: AtomicUsize,
    max: usize,
    doors: Mutex<Vec<Weak<Places>>>,
}

impl DescriptorBudget {
    /// A budget of `max` connections.
    pub fn new(max: usize) -> Arc<DescriptorBudget> {
        Arc::new(DescriptorBudget { open: AtomicUsize::new(0), max, doors: Mutex::default() })
    }

    /// A budget that is never used up.
    pub fn unlimited() -> Arc<DescriptorBudget> {
        DescriptorBudget::new(usize::MAX)
    }

    /// Has a waiting connection make room if the descriptors are used up; false if none waits at any door.
    /// Locks one door at a time, so that doors never wait for each other.
    fn has_room(&self, now: Instant) -> bool {
        if self.open.load(Ordering::Relaxed) < self.max {
            return true;
        }
        let doors: Vec<Arc<Places>> = self.doors().iter().filter_map(Weak::upgrade).collect();
        let mut crowds: Vec<(usize, IpAddr, &Arc<Places>)> = doors
            .iter()
            .filter_map(|door| door.lock().largest().map(|(network, size)| (size, network, door)))
            .collect();
        crowds.sort_by_key(|(size, ..)| std::cmp::Reverse(*size));
        crowds.into_iter().any(|(_, network, door)| door.lock().send_out(network, now))
    }

    fn doors(&self) -> MutexGuard<'_, Vec<Weak<Places>>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enlist(&self, door: &Arc<Places>) {
        let mut doors = self.doors();
        doors.retain(|door| door.strong_count() > 0);
        doors.push(Arc::downgrade(door));
    }
}

/// No place is free, and no waiting connection could make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// The network has all that it may have, and all are busy.
    OfNetwork,
    /// The door, or all doors together, have all that there is.
    OfDoor,
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoPlace::OfNetwork => "its network has as many connections as it may have",
            NoPlace::OfDoor => "there are as many connections as there may be",
        })
    }
}

impl std::error::Error for NoPlace {}

/// Places of one door.
#[derive(Debug)]
pub struct Places {
    inner: Mutex<Occupancy>,
    max: usize,
    of_network_max: usize,
    descriptors: Arc<DescriptorBudget>,
}

#[derive(Debug, Default)]
struct Occupancy {
    next: u64,
    by_number: BTreeMap<u64, Arc<State>>,
    networks: HashMap<IpAddr, NetworkPlaces>,
}

#[derive(Debug, Default)]
struct NetworkPlaces {
    numbers: BTreeSet<u64>,
    /// All of them were busy at this time.
    all_busy: Option<Instant>,
    /// A balancer, for which the bound of a network does not hold.
    is_balancer: bool,
}

/// What a connection and its door both see.
#[derive(Debug, Default)]
struct State {
    is_waiting: AtomicBool,
    is_sent_out: AtomicBool,
    sent_out: Notify,
}

impl Places {
    /// At most `max` connections, and at most `of_network_max` of one network, which is never more than three
    /// quarters of what the descriptors allow; both at least one.
    pub fn new(max: usize, of_network_max: usize, descriptors: Arc<DescriptorBudget>) -> Arc<Places> {
        let of_descriptors = descriptors.max / 4 * 3;
        let places = Arc::new(Places {
            inner: Mutex::default(),
            max: max.max(1),
            of_network_max: of_network_max.min(max).min(of_descriptors).max(1),
            descriptors,
        });
        places.descriptors.enlist(&places);
        places
    }

    /// Takes a place, in which the connection waits at first. Another's connection is sent out if it has to
    /// make room.
    ///
    /// # Errors
    /// There is no place, and none of those that may make room waits.
    pub fn enter(self: &Arc<Places>, ip: IpAddr, now: Instant) -> Result<ConnectionPlace, NoPlace> {
        self.take(network_of(ip), false, now)
    }

    /// Takes a place for a balancer's connection, until its client is known: see
    /// [`ConnectionPlace::move_to`].
    ///
    /// # Errors
    /// There is no place, and no connection waits.
    pub fn enter_balancer(self: &Arc<Places>, ip: IpAddr, now: Instant) -> Result<ConnectionPlace, NoPlace> {
        self.take(network_of(ip), true, now)
    }

    /// Connections that have a place.
    pub fn taken(&self) -> usize {
        self.lock().by_number.len()
    }

    fn take(
        self: &Arc<Places>,
        network: IpAddr,
        is_balancer: bool,
        now: Instant,
    ) -> Result<ConnectionPlace, NoPlace> {
        if !self.descriptors.has_room(now) && !self.lock().send_out(network, now) {
            return Err(NoPlace::OfDoor);
        }
        let mut inner = self.lock();
        self.make_room(&mut inner, network, is_balancer, now)?;
        let number = inner.next;
        inner.next += 1;
        let state = Arc::new(State::default());
        state.is_waiting.store(true, Ordering::Relaxed);
        inner.by_number.insert(number, Arc::clone(&state));
        let places = inner.networks.entry(network).or_default();
        places.is_balancer |= is_balancer;
        places.numbers.insert(number);
        self.descriptors.open.fetch_add(1, Ordering::Relaxed);
        Ok(ConnectionPlace { places: Arc::clone(self), number, network: Mutex::new(network), state })
    }

    fn make_room(
        &self,
        inner: &mut Occupancy,
        network: IpAddr,
        is_balancer: bool,
        now: Instant,
    ) -> Result<(), NoPlace> {
        let own = inner.networks.get(&network);
        let is_crowded = !is_balancer
            && own.is_some_and(|own| !own.is_balancer && own.numbers.len() >= self.of_network_max);
        if is_crowded {
            return if inner.send_out(network, now) { Ok(()) } else { Err(NoPlace::OfNetwork) };
        }
        if inner.by_number.len() < self.max {
            return Ok(());
        }
        let largest = inner.largest();
        let has_room =
            largest.is_some_and(|(largest, _)| inner.send_out(largest, now)) || inner.send_out(network, now);
        if has_room { Ok(()) } else { Err(NoPlace::OfDoor) }
    }

    fn lock(&self) -> MutexGuard<'_, Occupancy> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Occupancy {
    /// Of all networks the one with the most connections, and how many those are.
    fn largest(&self) -> Option<(IpAddr, usize)> {
        let sizes = self.networks.iter().map(|(network, of)| (*network, of.numbers.len()));
        sizes.max_by_key(|(_, size)| *size)
    }

    /// Sends out a network's oldest connection that waits.
    fn send_out(&mut self, network: IpAddr, now: Instant) -> bool {
        let Some(places) = self.networks.get_mut(&network) else { return false };
        if places.all_busy.is_some_and(|at| now.saturating_duration_since(at) < LOOK_AGAIN) {
            return false;
        }
        let waits = |number: &&u64| {
            self.by_number.get(number).is_some_and(|one| one.is_waiting.load(Ordering::Relaxed))
        };
        let Some(oldest) = places.numbers.iter().find(waits).copied() else {
            places.all_busy = Some(now);
            return false;
        };
        if let Some(state) = self.by_number.get(&oldest) {
            state.is_sent_out.store(true, Ordering::Relaxed);
            state.sent_out.notify_one();
        }
        self.leave(oldest, network);
        true
    }

    fn leave(&mut self, number: u64, network: IpAddr) {
        self.by_number.remove(&number);
        if let Some(places) = self.networks.get_mut(&network) {
            places.numbers.remove(&number);
            if places.numbers.is_empty() {
                self.networks.remove(&network);
            }
        }
    }
}

/// ConnectionPlace of one connection, until it is dropped.
#[derive(Debug)]
pub struct ConnectionPlace {
    places: Arc<Places>,
    number: u64,
    network: Mutex<IpAddr>,
    state: Arc<State>,
}

impl ConnectionPlace {
    /// The connection has a whole request here, and reads what it is sent: its place is its own.
    pub fn set_busy(&self) {
        self.state.is_waiting.store(false, Ordering::Relaxed);
    }

    /// The connection has no whole request here, or does not read.
    pub fn set_waiting(&self) {
        self.state.is_waiting.store(true, Ordering::Relaxed);
    }

    /// Resolves when the connection has to make room for another: it is to be closed.
    pub async fn sent_out(&self) {
        self.state.sent_out.notified().await;
    }

    /// The connection has to make room, for who looks instead of waiting.
    pub fn is_sent_out(&self) -> bool {
        self.state.is_sent_out.load(Ordering::Relaxed)
    }

    /// Counts the connection for the client that a balancer named.
    ///
    /// # Errors
    /// The client's network has all that it may have, and all are busy.
    pub fn move_to(&self, ip: IpAddr, now: Instant) -> Result<(), NoPlace> {
        let to = network_of(ip);
        let mut inner = self.places.lock();
        let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let own = inner.networks.get(&to).map_or(0, |own| own.numbers.len());
        if own >= self.places.of_network_max && !inner.send_out(to, now) {
            return Err(NoPlace::OfNetwork);
        }
        // It may have been sent out meanwhile.
        let Some(state) = inner.by_number.get(&self.number).cloned() else { return Ok(()) };
        inner.leave(self.number, *network);
        inner.by_number.insert(self.number, state);
        inner.networks.entry(to).or_default().numbers.insert(self.number);
        *network = to;
        Ok(())
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let network = *self.network.lock().unwrap_or_else(PoisonError::into_inner);
        self.places.lock().leave(self.number, network);
        self.places.descriptors.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn ip(last: u32) -> IpAddr {
        IpAddr::V4((0x0A00_0000 + last).into())
    }

    fn is_sent_out(place: &ConnectionPlace) -> bool {
        place.sent_out().now_or_never().is_some()
    }

    #[test]
    fn a_networks_own_oldest_waiting_connection_makes_room_for_its_next_one() {
        let (places, now) = (Places::new(100, 3, DescriptorBudget::unlimited()), Instant::now());
        let other = places.enter(ip(2), now).unwrap();
        let crowd: Vec<ConnectionPlace> = (0..3).map(|_| places.enter(ip(1), now).unwrap()).collect();
        crowd[0].set_busy();
        let next = places.enter(ip(1), now).unwrap();
        assert_eq!(crowd.iter().map(is_sent_out).collect::<Vec<_>>(), [false, true, false]);
        assert!(!is_sent_out(&other) && !is_sent_out(&next));
        assert_eq!(places.taken(), 4);
        drop((crowd, next));
        assert_eq!(places.taken(), 1);
    }

    #[test]
    fn busy_connections_keep_their_places_and_the_next_one_is_refused() {
        let (places, now) = (Places::new(4, 2, DescriptorBudget::unlimited()), Instant::now());
        let enter = |last| {
            let place = places.enter(ip(last), now).unwrap();
            place.set_busy();
            place
        };
        let first = [enter(1), enter(1)];
        assert_eq!(places.enter(ip(1), now).unwrap_err(), NoPlace::OfNetwork);
        let others = [enter(2), enter(3)];
        assert_eq!(places.enter(ip(4), now).unwrap_err(), NoPlace::OfDoor);
        first[1].set_waiting();
        let later = now + LOOK_AGAIN;
        assert!(places.enter(ip(1), later).is_ok(), "it stopped reading and made room");
        assert!(is_sent_out(&first[1]) && !is_sent_out(&first[0]) && !others.iter().any(is_sent_out));
    }

    #[test]
    fn a_full_door_takes_the_place_from_the_largest_crowd() {
        let (places, now) = (Places::new(4, 3, DescriptorBudget::unlimited()), Instant::now());
        let crowd: Vec<ConnectionPlace> = (0..3).map(|_| places.enter(ip(1), now).unwrap()).collect();
        let other = places.enter(ip(2), now).unwrap();
        let _new = places.enter(ip(3), now).unwrap();
        assert!(is_sent_out(&crowd[0]) && !is_sent_out(&other));
    }

    #[test]
    fn the_doors_together_keep_within_the_descriptors_that_there_are() {
        let (budget, now) = (DescriptorBudget::new(2), Instant::now());
        // Of two descriptors one network has one at a door.
        let doors = [(); 2].map(|()| Places::new(10, 10, Arc::clone(&budget)));
        let first = doors[0].enter(ip(1), now).unwrap();
        let second = doors[1].enter(ip(1), now).unwrap();
        second.set_busy();
        let third = doors[1].enter(ip(2), now).unwrap();
        assert!(first.is_sent_out() && is_sent_out(&first), "what waits at one door makes room for another");
        third.set_busy();
        assert_eq!(doors[0].enter(ip(2), now).unwrap_err(), NoPlace::OfDoor, "nobody waits at any door");
        drop((first, second, third));
        assert_eq!(budget.open.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_balancers_connections_count_for_the_clients_it_names() {
        let (places, now) = (Places::new(100, 2, DescriptorBudget::unlimited()), Instant::now());
        let enter = || places.enter_balancer(ip(9), now).unwrap();
        let many: Vec<ConnectionPlace> = (0..10).map(|_| enter()).collect();
        for (last, place) in (0..).zip(&many) {
            place.move_to(ip(last / 2), now).unwrap();
            place.set_busy();
        }
        let one_more = enter();
        assert_eq!(one_more.move_to(ip(0), now), Err(NoPlace::OfNetwork));
        many[0].set_waiting();
        assert_eq!(one_more.move_to(ip(0), now + LOOK_AGAIN), Ok(()));
        assert!(is_sent_out(&many[0]));
        drop((many, one_more));
        let inner = places.lock();
        assert!(inner.by_number.is_empty() && inner.networks.is_empty());
    }

    #[test]
    fn version_6_counts_by_its_first_64_bits() {
        let same = ["2001:db8::1", "2001:db8::ffff:1"].map(|ip| network_of(ip.parse().unwrap()));
        assert_eq!(same[0], same[1]);
        assert_ne!(same[0], network_of("2001:db8:0:1::1".parse().unwrap()));
        assert_eq!(network_of("::ffff:10.0.0.1".parse().unwrap()), ip(1));
    }
}
