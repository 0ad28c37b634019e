//! All open sessions of a shard. Each stands in a place that it keeps, so that a request finds it once and goes there again for nothing; those
//! of one account are a chain through their places, from a list by the account's number.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::account::AccountNumber;
use super::hash::Hash128;
use super::session::{Session, Taken};

/// Where a session stands, until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

/// Ends a chain.
const NOWHERE: u32 = u32::MAX;

/// Room for fewer is never given back.
const ROOM_KEPT: usize = 1_024;
/// It is given back when less than this part of it is used.
const ROOM_PART: usize = 8;

#[derive(Clone, Debug)]
struct Slot {
    id: Hash128,
    /// Neighbours in the chain of the account; of a vacant one `after` is the next vacant one.
    before: u32,
    after: u32,
    /// None: vacant.
    session: Option<Session>,
}

/// The sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    places: HashMap<Hash128, u32, BuildHasherDefault<Taken>>,
    slots: Vec<Slot>,
    vacant: u32,
    /// The first session of each account, by its number, as far as there was one.
    first_of: Vec<u32>,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions { places: HashMap::default(), slots: Vec::new(), vacant: NOWHERE, first_of: Vec::new() }
    }
}

impl Sessions {
    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Where a session stands.
    #[inline]
    pub(super) fn place(&self, id: &Hash128) -> Option<Place> {
        self.places.get(id).map(|place| Place(*place))
    }

    /// The session in a place.
    #[inline]
    pub(super) fn at(&self, place: Place) -> Option<&Session> {
        self.slots.get(place.0 as usize)?.session.as_ref()
    }

    /// The session in a place, to be changed; its account stays.
    #[inline]
    pub(super) fn at_mut(&mut self, place: Place) -> Option<&mut Session> {
        self.slots.get_mut(place.0 as usize)?.session.as_mut()
    }

    pub fn find(&self, id: &Hash128) -> Option<&Session> {
        self.at(self.place(id)?)
    }

    /// Adds a session, or another in its place.
    pub fn insert(&mut self, id: Hash128, session: Session) {
        self.insert_at(self.place(&id), id, session);
    }

    /// The same where the place is known: that of the session with this id, if there is one.
    pub(super) fn insert_at(&mut self, known: Option<Place>, id: Hash128, session: Session) -> Place {
        let account = session.account;
        let place = match known {
            Some(Place(place)) => {
                self.unchain(place);
                place
            }
            None => self.take_vacant(id),
        };
        self.slots[place as usize].session = Some(session);
        self.chain(place, account);
        Place(place)
    }

    fn take_vacant(&mut self, id: Hash128) -> u32 {
        let slot = Slot { id, before: NOWHERE, after: NOWHERE, session: None };
        let place = self.vacant;
        let place = match self.slots.get_mut(place as usize) {
            Some(vacant) => {
                self.vacant = vacant.after;
                *vacant = slot;
                place
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.places.insert(id, place);
        place
    }

    /// Puts it before the others of its account.
    fn chain(&mut self, place: u32, account: AccountNumber) {
        let account = account as usize;
        if self.first_of.len() <= account {
            self.first_of.resize(account + 1, NOWHERE);
        }
        let after = std::mem::replace(&mut self.first_of[account], place);
        let slot = &mut self.slots[place as usize];
        (slot.before, slot.after) = (NOWHERE, after);
        if let Some(after) = self.slots.get_mut(after as usize) {
            after.before = place;
        }
    }

    /// Takes it out of the chain of its account.
    fn unchain(&mut self, place: u32) {
        let Slot { before, after, session, .. } = &self.slots[place as usize];
        let (before, after, account) = (*before, *after, session.as_ref().map(|session| session.account));
        match self.slots.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => {
                if let Some(first) = account.and_then(|account| self.first_of.get_mut(account as usize)) {
                    *first = after;
                }
            }
        }
        if let Some(after) = self.slots.get_mut(after as usize) {
            after.before = before;
        }
    }

    /// The sessions of an account.
    pub fn of_account(&self, account: AccountNumber) -> impl Iterator<Item = (&Hash128, &Session)> {
        let slot = |place: u32| self.slots.get(place as usize);
        let first = self.first_of.get(account as usize).copied().and_then(slot);
        let chain = std::iter::successors(first, move |before| slot(before.after));
        chain.filter_map(|slot| Some((&slot.id, slot.session.as_ref()?)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Hash128, &Session)> {
        self.slots.iter().filter_map(|slot| Some((&slot.id, slot.session.as_ref()?)))
    }

    /// For how many sessions there is memory.
    pub fn room(&self) -> usize {
        self.places.capacity().max(self.slots.capacity())
    }

    /// Removes a session, and gives memory back when little of it is used.
    pub fn remove(&mut self, id: &Hash128) -> Option<Session> {
        let place = self.places.remove(id)?;
        self.unchain(place);
        let vacant = Slot { id: *id, before: NOWHERE, after: self.vacant, session: None };
        let removed = std::mem::replace(&mut self.slots[place as usize], vacant).session;
        self.vacant = place;
        if self.slots.len() > ROOM_KEPT && self.places.len() * ROOM_PART < self.slots.len() {
            self.move_together();
        }
        removed
    }

    /// Gives all sessions new places, one beside the other.
    fn move_together(&mut self) {
        let mut moved = Sessions::default();
        let room = (self.places.len() * 2).max(ROOM_KEPT / 2);
        moved.places.reserve(room);
        moved.slots.reserve(room);
        for slot in self.slots.drain(..) {
            if let Some(session) = slot.session {
                moved.insert(slot.id, session);
            }
        }
        *self = moved;
    }

    /// Reads where the session would be looked for; [`Sessions::touch_place`] reads on from there, so that the misses of a batch overlap.
    #[inline]
    pub(super) fn touch(&self, id: &Hash128) -> u32 {
        self.places.get(id).copied().unwrap_or(NOWHERE)
    }

    /// Reads the account of the session in the place that was found.
    #[inline]
    pub(super) fn touch_place(&self, place: u32) -> AccountNumber {
        self.slots.get(place as usize).and_then(|slot| slot.session.as_ref()).map_or(0, |found| found.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn session(account: AccountNumber, number: u32) -> Session {
        Session { account, number, ..Session::default() }
    }

    fn id(n: u64) -> Hash128 {
        super::super::hash::HashKey([1, 2]).words([n, 0])
    }

    proptest! {
        #[test]
        fn what_was_put_in_is_found_by_its_id_and_its_account(
            deeds in proptest::collection::vec((0_u64..40, 0_u32..6, any::<bool>()), 1..400),
        ) {
            let (mut sessions, mut model) = (Sessions::default(), BTreeMap::new());
            for (number, (n, account, begins)) in (0..).zip(deeds) {
                if begins {
                    sessions.insert(id(n), session(account, number));
                    model.insert(id(n), session(account, number));
                } else {
                    prop_assert_eq!(sessions.remove(&id(n)), model.remove(&id(n)));
                }
                prop_assert_eq!(sessions.len(), model.len());
                for account in 0..6 {
                    let found: BTreeSet<Hash128> = sessions.of_account(account).map(|(id, _)| *id).collect();
                    let expected = model.iter().filter(|(_, s)| s.account == account).map(|(id, _)| *id);
                    prop_assert_eq!(&found, &expected.collect::<BTreeSet<_>>());
                    prop_assert_eq!(sessions.of_account(account).count(), found.len());
                }
                let all: BTreeMap<_, _> = sessions.iter().map(|(id, s)| (*id, s.clone())).collect();
                prop_assert_eq!(&all, &model);
            }
        }
    }

    #[test]
    fn places_are_used_again_and_memory_is_given_back() {
        let mut sessions = Sessions::default();
        for round in 0..3 {
            (0..10_000).for_each(|n| sessions.insert(id(n), session(n as u32 % 7, round)));
            assert!(sessions.slots.len() == 10_000, "vacant places are taken first");
            (100..10_000).for_each(|n| drop(sessions.remove(&id(n))));
            assert!(sessions.room() <= 4 * ROOM_KEPT, "room for {}", sessions.room());
            assert!((0..100).all(|n| sessions.find(&id(n)) == Some(&session(n as u32 % 7, round))));
            assert_eq!((0..7).map(|account| sessions.of_account(account).count()).sum::<usize>(), 100);
        }
    }
}
