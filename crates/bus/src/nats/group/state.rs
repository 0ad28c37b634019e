//! State machine of one member of a group, apart from the servers it asks: an instant in, orders to the
//! servers out.
//!
//! The servers give a record to one member at a time and count `ack_wait` from the last sign of life. What a
//! member says of its lease is therefore never more than what the servers have confirmed: a record whose sign
//! of life was not confirmed in time is not held.

use crate::{Leased, Record};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What was acknowledged and is not known to have reached the servers is at most so many records.
const ACKED_MAX: usize = 131_072;
/// A record that nobody here asked for goes back to the servers after so long, for others.
const UNWANTED_AFTER: Duration = Duration::from_secs(5);

/// What the servers are to be told of a record. With the reply subject that it came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// It is done.
    Ack(String),
    /// It is held: the index, to confirm it by.
    Alive(u64, String),
    /// Another may have it.
    GiveBack(String),
}

/// A record that was given out too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// Its place.
    pub index: u64,
    /// How often it was given out.
    pub deliveries: u32,
    /// The record.
    pub octets: Bytes,
}

#[derive(Debug)]
struct MemberEntry {
    octets: Bytes,
    reply: String,
    /// How often it was given out, here and as the servers count.
    given: u32,
    /// The last sign of life that the servers have surely seen; they count from then or later.
    alive: Instant,
    /// A sign of life is under way since then.
    asked: Option<Instant>,
    /// Since when it lies here, given to nobody.
    since: Instant,
    holder: LeaseHolder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaseHolder {
    Nobody,
    /// Until its lease ends.
    Member(Instant),
    /// On its way to the dead letters.
    Grave,
}

#[derive(Debug)]
struct Acked {
    /// How to tell it. Nothing: it never came, or the servers have confirmed it.
    reply: Option<String>,
    /// When it was last told.
    told: Instant,
}

/// A member's view of a group.
#[derive(Debug)]
pub struct MemberState {
    entries: BTreeMap<u64, MemberEntry>,
    /// Acknowledged here, at or above `floor`.
    acked: BTreeMap<u64, Acked>,
    /// The servers know that everything below was acknowledged.
    floor: u64,
    /// Everything below was acknowledged or let go of, as far as is known here.
    low: u64,
    ack_wait: Duration,
    /// See [`crate::GroupSettings`].
    pub out_of_order_max: usize,
    /// See [`crate::GroupSettings`]. 0: never.
    pub deliveries_max: u32,
}

impl MemberState {
    /// Of a group whose consumer waits so long for a sign of life.
    pub fn new(floor: u64, ack_wait: Duration) -> MemberState {
        MemberState {
            entries: BTreeMap::new(),
            acked: BTreeMap::new(),
            floor,
            low: floor,
            ack_wait,
            out_of_order_max: usize::MAX,
            deliveries_max: 0,
        }
    }

    /// A record came. `deliveries` as the servers count, with this one; they did not send it before `sent`.
    pub fn arrive(
        &mut self,
        index: u64,
        octets: Bytes,
        reply: String,
        deliveries: u32,
        sent: Instant,
        now: Instant,
    ) -> Option<Order> {
        if index < self.floor || self.acked.contains_key(&index) {
            // Told before; it got lost on its way.
            if let Some(known) = self.acked.get_mut(&index) {
                *known = Acked { reply: Some(reply.clone()), told: now };
            }
            return Some(Order::Ack(reply));
        }
        let before = deliveries.saturating_sub(1);
        let entry = self.entries.entry(index).or_insert_with(|| MemberEntry {
            octets,
            reply: String::new(),
            given: 0,
            alive: sent,
            asked: None,
            since: now,
            holder: LeaseHolder::Nobody,
        });
        // Again, although it is here: the servers waited in vain for a sign of life. It is still nobody
        // else's.
        entry.reply = reply;
        entry.given = entry.given.max(before);
        entry.alive = entry.alive.max(sent);
        None
    }

    /// Takes up to `max` records, lowest index first.
    pub fn take(&mut self, max: usize, lease: Duration, now: Instant) -> Vec<Leased> {
        self.expire(now);
        let mut taken = Vec::new();
        let mut room = self.out_of_order_room();
        let lowest = self.low;
        for (&index, entry) in &mut self.entries {
            if taken.len() == max {
                break;
            }
            if entry.holder != LeaseHolder::Nobody || index < lowest {
                continue;
            }
            if index > lowest && room == 0 {
                break;
            }
            room = room.saturating_sub(usize::from(index > lowest));
            entry.holder = LeaseHolder::Member(now + lease);
            let record = Record { index, octets: entry.octets.clone() };
            taken.push(Leased { record, redelivered: entry.given });
            entry.given = entry.given.saturating_add(1);
        }
        taken
    }

    /// Sets aside what nobody holds and was given out too often: it is to be put away, and then acknowledged.
    pub fn dead(&mut self, now: Instant) -> Vec<Dead> {
        self.expire(now);
        if self.deliveries_max == 0 {
            return Vec::new();
        }
        let mut dead = Vec::new();
        for (&index, entry) in &mut self.entries {
            if entry.holder == LeaseHolder::Nobody && entry.given >= self.deliveries_max {
                entry.holder = LeaseHolder::Grave;
                dead.push(Dead { index, deliveries: entry.given, octets: entry.octets.clone() });
            }
        }
        dead
    }

    /// How many records may still be acknowledged above the lowest that is not.
    fn out_of_order_room(&self) -> usize {
        let ahead = self.acked.range(self.low..).count();
        let held = self
            .entries
            .range(self.low + 1..)
            .filter(|(_, entry)| entry.holder != LeaseHolder::Nobody)
            .count();
        self.out_of_order_max.saturating_sub(ahead + held)
    }

    /// Done with it. Nothing if the servers cannot be told (yet): they are when it comes.
    pub fn ack(&mut self, index: u64, now: Instant) -> Option<Order> {
        if index < self.floor || self.acked.contains_key(&index) {
            return None;
        }
        let reply = self.entries.remove(&index).map(|entry| entry.reply);
        if self.acked.len() >= ACKED_MAX {
            // The oldest was told long ago; should that be lost, it comes again, which a group may do.
            self.acked.pop_first();
        }
        self.acked.insert(index, Acked { reply: reply.clone(), told: now });
        self.advance();
        reply.map(Order::Ack)
    }

    /// Keeps it for another `lease`; false if it is not held.
    pub fn renew(&mut self, index: u64, lease: Duration, now: Instant) -> bool {
        self.expire(now);
        match self.entries.get_mut(&index) {
            Some(entry) if matches!(entry.holder, LeaseHolder::Member(_)) => {
                entry.holder = LeaseHolder::Member(now + lease);
                true
            }
            _ => false,
        }
    }

    /// Gives it back, to whoever takes next; false if it is not held.
    pub fn release(&mut self, index: u64, now: Instant) -> bool {
        self.expire(now);
        match self.entries.get_mut(&index) {
            Some(entry) if matches!(entry.holder, LeaseHolder::Member(_)) => {
                entry.holder = LeaseHolder::Nobody;
                entry.since = now;
                true
            }
            _ => false,
        }
    }

    /// Ends what has ended. True if something may be taken that could not be before.
    pub fn expire(&mut self, now: Instant) -> bool {
        let mut rings = false;
        let ack_wait = self.ack_wait;
        // Without a sign of life for so long the servers may have given it to another.
        self.entries.retain(|_, entry| now.saturating_duration_since(entry.alive) < ack_wait);
        for entry in self.entries.values_mut() {
            if matches!(entry.holder, LeaseHolder::Member(until) if until <= now) {
                entry.holder = LeaseHolder::Nobody;
                entry.since = now;
                rings = true;
            }
        }
        rings
    }

    /// What is due to be told. `is_wanted`: somebody here takes records.
    pub fn orders(&mut self, is_wanted: bool, now: Instant) -> Vec<Order> {
        self.expire(now);
        let mut orders = Vec::new();
        let (third, half) = (self.ack_wait / 3, self.ack_wait / 2);
        let unwanted = UNWANTED_AFTER.min(half);
        let low = self.low;
        let mut gone = Vec::new();
        for (&index, entry) in &mut self.entries {
            let quiet = now.saturating_duration_since(entry.alive);
            if entry.holder == LeaseHolder::Nobody {
                let lain = now.saturating_duration_since(entry.since);
                if index < low || lain >= if is_wanted { half } else { unwanted } {
                    gone.push(index);
                    orders.push(if index < low {
                        Order::Ack(entry.reply.clone())
                    } else {
                        Order::GiveBack(entry.reply.clone())
                    });
                    continue;
                }
            }
            let is_asked = entry.asked.is_some_and(|asked| now.saturating_duration_since(asked) < third);
            if quiet >= third && !is_asked {
                entry.asked = Some(now);
                orders.push(Order::Alive(index, entry.reply.clone()));
            }
        }
        for index in gone {
            self.entries.remove(&index);
        }
        orders
    }

    /// The servers have seen a sign of life that was sent at `sent`; nothing: they have not.
    pub fn confirmed(&mut self, index: u64, sent: Option<Instant>) {
        if let Some(entry) = self.entries.get_mut(&index) {
            entry.asked = None;
            if let Some(sent) = sent {
                entry.alive = entry.alive.max(sent);
            }
        }
    }

    /// A dead record could not be put away: it is tried again.
    pub fn not_buried(&mut self, index: u64) {
        if let Some(entry) = self.entries.get_mut(&index)
            && entry.holder == LeaseHolder::Grave
        {
            entry.holder = LeaseHolder::Nobody;
        }
    }

    /// The servers know that everything below was acknowledged.
    pub fn reached(&mut self, floor: u64) {
        if floor > self.floor {
            self.floor = floor;
            self.acked = self.acked.split_off(&floor);
            self.entries = self.entries.split_off(&floor);
            self.skip_to(floor);
        }
    }

    /// Below there is nothing more to be done: the topic let go of it.
    pub fn skip_to(&mut self, low: u64) {
        self.low = self.low.max(low);
        self.advance();
    }

    fn advance(&mut self) {
        while self.acked.contains_key(&self.low) {
            self.low += 1;
        }
    }

    /// What the servers may not have heard, told no later than `before`, at most `max`; each by its index. It
    /// counts as told now.
    pub fn told_again(&mut self, before: Instant, max: usize, now: Instant) -> Vec<(u64, String)> {
        let mut again = Vec::new();
        for (index, acked) in &mut self.acked {
            if again.len() == max {
                break;
            }
            if let Some(reply) = &acked.reply
                && acked.told <= before
            {
                again.push((*index, reply.clone()));
                acked.told = now;
            }
        }
        again
    }

    /// The servers have confirmed that it is done.
    pub fn ack_confirmed(&mut self, index: u64) {
        if let Some(acked) = self.acked.get_mut(&index) {
            acked.reply = None;
        }
    }

    /// Something was acknowledged that the servers are not known to have noted.
    pub fn is_ahead(&self) -> bool {
        !self.acked.is_empty()
    }

    /// Everything below was acknowledged.
    pub fn low_water(&self) -> u64 {
        self.low
    }

    /// Indexes that are not known to be acknowledged.
    pub fn unacknowledged(&self, max: usize, head: u64) -> Vec<u64> {
        (self.low..head).filter(|index| !self.acked.contains_key(index)).take(max).collect()
    }

    /// How many records can be taken now.
    pub fn at_hand(&mut self, now: Instant) -> usize {
        self.expire(now);
        let room = self.out_of_order_room();
        let free = self.entries.range(self.low..).filter(|(_, entry)| entry.holder == LeaseHolder::Nobody);
        free.filter(|(index, _)| **index <= self.low || room > 0).count()
    }

    /// When there is something to do at latest.
    pub fn next_due(&self, is_wanted: bool, now: Instant) -> Option<Instant> {
        let (third, half) = (self.ack_wait / 3, self.ack_wait / 2);
        let unwanted = UNWANTED_AFTER.min(half);
        let due = |entry: &MemberEntry| {
            let alive = entry.asked.map_or(entry.alive, |asked| asked.max(entry.alive)) + third;
            match entry.holder {
                LeaseHolder::Nobody => alive.min(entry.since + if is_wanted { half } else { unwanted }),
                LeaseHolder::Member(until) => alive.min(until),
                LeaseHolder::Grave => alive,
            }
        };
        // Never at once again and again.
        let soonest = now + Duration::from_millis(5);
        self.entries.values().map(due).min().map(|due| due.max(soonest))
    }

    /// What lies here and is held by nobody goes back; for the end.
    pub fn hand_in(&mut self) -> Vec<Order> {
        let orders = self.entries.values().map(|entry| Order::GiveBack(entry.reply.clone())).collect();
        self.entries.clear();
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(30);
    const LEASE: Duration = Duration::from_secs(300);

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn filled(count: u64, now: Instant) -> MemberState {
        let mut state = MemberState::new(0, WAIT);
        for index in 0..count {
            assert_eq!(state.arrive(index, Bytes::from_static(b"x"), format!("r{index}"), 1, now, now), None);
        }
        state
    }

    fn indexes(taken: &[Leased]) -> Vec<u64> {
        taken.iter().map(|leased| leased.record.index).collect()
    }

    #[test]
    fn what_is_given_back_or_has_ended_is_given_out_first_and_counted() {
        let now = Instant::now();
        let mut state = filled(4, now);
        assert_eq!(indexes(&state.take(2, seconds(3), now)), [0, 1]);
        assert!(state.release(1, now) && !state.release(1, now));
        let again = state.take(1, LEASE, now);
        assert_eq!((indexes(&again), again[0].redelivered), (vec![1], 1));
        assert!(state.expire(now + seconds(3)), "the lease of 0 has ended");
        assert!(!state.renew(0, LEASE, now + seconds(3)));
        assert_eq!(indexes(&state.take(9, LEASE, now + seconds(3))), [0, 2, 3]);
    }

    #[test]
    fn what_the_servers_did_not_hear_of_in_time_is_not_held_any_more() {
        let now = Instant::now();
        let mut state = filled(2, now);
        state.take(2, LEASE, now);
        let asked = state.orders(true, now + seconds(10));
        assert_eq!(asked, [Order::Alive(0, "r0".into()), Order::Alive(1, "r1".into())]);
        assert_eq!(state.orders(true, now + seconds(11)), [], "asked already");
        state.confirmed(0, Some(now + seconds(10)));
        state.confirmed(1, None);
        assert!(state.renew(1, LEASE, now + seconds(29)));
        assert!(!state.renew(1, LEASE, now + seconds(30)), "another may have it");
        assert!(state.renew(0, LEASE, now + seconds(39)));
        assert!(!state.renew(0, LEASE, now + seconds(40)));
    }

    #[test]
    fn what_was_sent_long_before_it_came_counts_from_then() {
        let now = Instant::now();
        let mut state = MemberState::new(0, WAIT);
        state.arrive(0, Bytes::new(), "r".into(), 1, now, now + seconds(31));
        assert_eq!(indexes(&state.take(1, LEASE, now + seconds(31))), Vec::<u64>::new());
    }

    #[test]
    fn what_nobody_here_wants_goes_back_and_what_is_wanted_stays() {
        let now = Instant::now();
        let mut state = filled(1, now);
        assert_eq!(state.orders(true, now + seconds(5)), []);
        assert_eq!(state.orders(false, now + seconds(5)), [Order::GiveBack("r0".into())]);
        assert_eq!(state.at_hand(now + seconds(5)), 0);
    }

    #[test]
    fn an_acknowledgement_that_got_lost_is_told_again_and_nothing_is_given_out_twice() {
        let now = Instant::now();
        let mut state = filled(3, now);
        state.take(3, LEASE, now);
        assert_eq!(state.ack(1, now), Some(Order::Ack("r1".into())));
        assert_eq!(state.ack(1, now), None);
        assert_eq!((state.low_water(), state.unacknowledged(9, 5)), (0, vec![0, 2, 3, 4]));
        let again = state.arrive(1, Bytes::new(), "again".into(), 2, now, now);
        assert_eq!(again, Some(Order::Ack("again".into())));
        assert_eq!(state.told_again(now, 9, now), [(1, "again".to_owned())]);
        state.ack_confirmed(1);
        assert_eq!(state.told_again(now, 9, now), []);
        assert!(state.is_ahead(), "until the servers say so of all before it");
        state.ack(0, now);
        assert_eq!(state.low_water(), 2);
        state.reached(2);
        assert!(!state.is_ahead());
        // Acknowledged before it came: when it comes.
        assert_eq!(state.ack(4, now), None);
        assert_eq!(state.arrive(4, Bytes::new(), "r4".into(), 1, now, now), Some(Order::Ack("r4".into())));
    }

    #[test]
    fn nothing_new_is_given_out_beyond_the_bound_of_what_is_out_of_order() {
        let now = Instant::now();
        let mut state = filled(6, now);
        state.out_of_order_max = 2;
        assert_eq!(indexes(&state.take(9, LEASE, now)), [0, 1, 2]);
        state.ack(1, now);
        state.ack(2, now);
        assert_eq!((indexes(&state.take(9, LEASE, now)), state.at_hand(now)), (vec![], 0));
        state.ack(0, now);
        assert_eq!(indexes(&state.take(9, LEASE, now)), [3, 4, 5]);
    }

    #[test]
    fn a_record_given_out_too_often_is_dead_until_it_is_buried() {
        let now = Instant::now();
        let mut state = filled(1, now);
        state.deliveries_max = 2;
        for _ in 0..2 {
            assert_eq!(state.dead(now), []);
            assert_eq!(state.take(1, LEASE, now).len(), 1);
            assert_eq!(state.dead(now), [], "it is held");
            assert!(state.release(0, now));
        }
        assert_eq!(state.dead(now), [Dead { index: 0, deliveries: 2, octets: Bytes::from_static(b"x") }]);
        assert!(state.take(1, LEASE, now).is_empty() && state.dead(now).is_empty(), "on its way");
        state.not_buried(0);
        assert_eq!(state.dead(now).len(), 1);
        assert_eq!(state.ack(0, now), Some(Order::Ack("r0".into())));
    }

    #[test]
    fn the_servers_count_of_deliveries_is_told_on() {
        let now = Instant::now();
        let mut state = MemberState::new(0, WAIT);
        state.arrive(0, Bytes::new(), "r".into(), 4, now, now);
        assert_eq!(state.take(1, LEASE, now)[0].redelivered, 3);
    }
}
