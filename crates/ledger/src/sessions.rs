//! All open sessions of a shard. Each stands in a place that it keeps, so that a request finds it once and
//! goes there again for nothing; those of one account are a chain through their places, from a list by the
//! account's number.
//!
//! So are the places whose session may be over (Tcc) at one second. A place stays in its chain when its
//! session ends, and serves the next one that stands there: how much is remembered depends on how many
//! sessions are open at once, and not on how many there were within Tcc.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use super::account::AccountNumber;
use super::client::ClientNumber;
use super::hash::Hash128;
use super::session::{KeyedHasher, Session};
use super::tariff::Target;

/// Where a session stands, until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionIndex(u32);

/// A session that begins.
pub(super) struct Begun<'a> {
    pub account: AccountNumber,
    pub session_id: &'a [u8],
    pub client: Option<ClientNumber>,
    /// When Tcc runs out.
    pub until_us: u64,
}

/// Ends a chain.
const NOWHERE: u32 = u32::MAX;

/// Room for fewer is never given back.
const ROOM_KEPT: usize = 1_024;
/// It is given back when less than this part of it is used.
const ROOM_PART: usize = 8;

#[derive(Clone, Debug)]
struct SessionSlot {
    id: Hash128,
    /// Neighbours in the chain of the account; of a vacant one `after` is the next vacant one.
    before: u32,
    after: u32,
    /// The second at which it is looked at, and the next place of that chain; 0: it is in none.
    due_s: u64,
    due_after: u32,
    is_open: bool,
    /// Where it is vacant, what it was: its lists keep their room for the next one.
    session: Session,
}

impl SessionSlot {
    fn open(&self) -> Option<&Session> {
        self.is_open.then_some(&self.session)
    }
}

/// The sessions.
#[derive(Clone, Debug)]
pub struct SessionTable {
    places: HashMap<Hash128, u32, BuildHasherDefault<KeyedHasher>>,
    slots: Vec<SessionSlot>,
    vacant: u32,
    /// The first session of each account, by its number, as far as there was one.
    first_of: Vec<u32>,
    /// The first place that is looked at in each second.
    due: BTreeMap<u64, u32>,
    /// Sessions that end before their place is looked at: Tcc was made shorter.
    due_before: BTreeMap<u64, Vec<Hash128>>,
}

impl Default for SessionTable {
    fn default() -> SessionTable {
        SessionTable {
            places: HashMap::default(),
            slots: Vec::new(),
            vacant: NOWHERE,
            first_of: Vec::new(),
            due: BTreeMap::new(),
            due_before: BTreeMap::new(),
        }
    }
}

impl SessionTable {
    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Where a session stands.
    #[inline]
    pub(super) fn place(&self, id: &Hash128) -> Option<SessionIndex> {
        self.places.get(id).map(|place| SessionIndex(*place))
    }

    /// The session in a place.
    #[inline]
    pub(super) fn at(&self, place: SessionIndex) -> Option<&Session> {
        self.slots.get(place.0 as usize)?.open()
    }

    /// The session in a place, to be changed; its account stays.
    #[inline]
    pub(super) fn at_mut(&mut self, place: SessionIndex) -> Option<&mut Session> {
        let slot = self.slots.get_mut(place.0 as usize)?;
        slot.is_open.then_some(&mut slot.session)
    }

    pub fn find(&self, id: &Hash128) -> Option<&Session> {
        self.at(self.place(id)?)
    }

    /// Adds a session, or another in its place.
    pub fn insert(&mut self, id: Hash128, session: Session) {
        let (account, until_us) = (session.account, session.until_us);
        let place = self.open_slot(self.place(&id), id);
        self.slots[place as usize].session = session;
        self.chain(place, account);
        self.watch(SessionIndex(place), until_us);
    }

    /// Begins a session, or begins it anew where one has this id: `known` is its place then. Nothing is
    /// reserved for it.
    pub(super) fn begin(
        &mut self,
        known: Option<SessionIndex>,
        id: Hash128,
        begun: &Begun<'_>,
    ) -> SessionIndex {
        let place = self.open_slot(known, id);
        let session = &mut self.slots[place as usize].session;
        let Begun { account, client, until_us, .. } = *begun;
        (session.account, session.client, session.until_us) = (account, client, until_us);
        session.begin(0);
        session.target = Target::default();
        session.id.clear();
        session.id.extend_from_slice(begun.session_id);
        session.reservations.clear();
        self.chain(place, account);
        self.watch(SessionIndex(place), until_us);
        SessionIndex(place)
    }

    /// Sees that the session in a place is looked at once this time has passed, or sooner.
    pub(super) fn watch(&mut self, place: SessionIndex, at_us: u64) {
        let Some(slot) = self.slots.get_mut(place.0 as usize) else { return };
        // No second is 0, which says that the place is in no chain.
        let second = at_us.div_ceil(1_000_000).max(1);
        if slot.due_s == 0 {
            slot.due_s = second;
            slot.due_after = self.due.insert(second, place.0).unwrap_or(NOWHERE);
        } else if second < slot.due_s {
            let id = slot.id;
            self.due_before.entry(second).or_default().push(id);
        }
    }

    /// The next session that is to be looked at by now: once, unless it is watched again.
    pub(super) fn pop_due(&mut self, now_us: u64) -> Option<Hash128> {
        let now_s = now_us / 1_000_000;
        loop {
            if let Some(id) = self.pop_due_before(now_s) {
                return Some(id);
            }
            let mut first = self.due.first_entry().filter(|first| *first.key() <= now_s)?;
            let slot = &mut self.slots[*first.get() as usize];
            let after = std::mem::replace(&mut slot.due_after, NOWHERE);
            slot.due_s = 0;
            let found = slot.is_open.then_some(slot.id);
            match after {
                NOWHERE => drop(first.remove()),
                after => *first.get_mut() = after,
            }
            if found.is_some() {
                return found;
            }
        }
    }

    fn pop_due_before(&mut self, now_s: u64) -> Option<Hash128> {
        let mut first = self.due_before.first_entry().filter(|first| *first.key() <= now_s)?;
        let id = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        id
    }

    /// When there is a session to look at.
    pub(super) fn next_due_us(&self) -> Option<u64> {
        let first = self.due.keys().next().into_iter().chain(self.due_before.keys().next()).min()?;
        Some(first * 1_000_000)
    }

    /// A slot for this id, in no chain.
    fn open_slot(&mut self, known: Option<SessionIndex>, id: Hash128) -> u32 {
        if let Some(SessionIndex(place)) = known {
            self.unchain(place);
            return place;
        }
        let place = match self.slots.get_mut(self.vacant as usize) {
            Some(slot) => {
                let place = std::mem::replace(&mut self.vacant, slot.after);
                (slot.id, slot.is_open) = (id, true);
                place
            }
            None => {
                let session = Session::default();
                let (before, after, due_after) = (NOWHERE, NOWHERE, NOWHERE);
                self.slots.push(SessionSlot {
                    id,
                    before,
                    after,
                    due_s: 0,
                    due_after,
                    is_open: true,
                    session,
                });
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
        let SessionSlot { before, after, session, .. } = &self.slots[place as usize];
        let (before, after, account) = (*before, *after, session.account as usize);
        match self.slots.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => self.first_of.get_mut(account).into_iter().for_each(|first| *first = after),
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
        chain.filter_map(|slot| Some((&slot.id, slot.open()?)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Hash128, &Session)> {
        self.slots.iter().filter_map(|slot| Some((&slot.id, slot.open()?)))
    }

    /// For how many sessions there is memory.
    pub fn room(&self) -> usize {
        self.places.capacity().max(self.slots.capacity())
    }

    /// Removes a session, and gives memory back when little of it is used. Says who opened it; None: there is
    /// no such session.
    pub fn remove(&mut self, id: &Hash128) -> Option<Option<ClientNumber>> {
        let place = self.places.remove(id)?;
        self.unchain(place);
        let slot = &mut self.slots[place as usize];
        (slot.is_open, slot.after) = (false, self.vacant);
        let client = slot.session.client;
        self.vacant = place;
        if self.slots.len() > ROOM_KEPT && self.places.len() * ROOM_PART < self.slots.len() {
            self.move_together();
        }
        Some(client)
    }

    /// Gives all sessions new places, one beside the other.
    fn move_together(&mut self) {
        let mut moved = SessionTable::default();
        let room = (self.places.len() * 2).max(ROOM_KEPT / 2);
        moved.places.reserve(room);
        moved.slots.reserve(room);
        for slot in self.slots.drain(..) {
            if slot.is_open {
                moved.insert(slot.id, slot.session);
            }
        }
        // Their places are others, so each is looked at when it ends.
        *self = moved;
    }

    /// Reads where the session would be looked for; [`SessionTable::touch_place`] reads on from there, so
    /// that the misses of a batch overlap.
    #[inline]
    pub(super) fn touch(&self, id: &Hash128) -> u32 {
        self.places.get(id).copied().unwrap_or(NOWHERE)
    }

    /// Reads the session in the place that was found, and where the first one of an account stands.
    #[inline]
    pub(super) fn touch_place(&self, place: u32, account: AccountNumber) -> u32 {
        let session = self.slots.get(place as usize).map_or(0, |slot| slot.session.account);
        session ^ self.first_of.get(account as usize).copied().unwrap_or(NOWHERE)
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
            let (mut sessions, mut model) = (SessionTable::default(), BTreeMap::new());
            for (number, (n, account, begins)) in (0..).zip(deeds) {
                if begins && number % 2 == 0 {
                    // What was reserved before must not be there any more.
                    let mut begun = session(account, number);
                    begun.reservation(Some(number), None).reserved = 5;
                    begun.reservation(None, Some(number)).reserved = 7;
                    sessions.insert(id(n), begun.clone());
                    model.insert(id(n), begun);
                } else if begins {
                    let (session_id, client) = (number.to_le_bytes(), Some(number));
                    let begun = Begun { account, session_id: &session_id, client, until_us: 9 };
                    sessions.begin(sessions.place(&id(n)), id(n), &begun);
                    let session = Session { client, id: session_id.to_vec(), until_us: 9, ..session(account, 0) };
                    model.insert(id(n), session);
                } else {
                    prop_assert_eq!(sessions.remove(&id(n)), model.remove(&id(n)).map(|session| session.client));
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
        let mut sessions = SessionTable::default();
        for round in 0..3 {
            (0..10_000).for_each(|n| sessions.insert(id(n), session(n as u32 % 7, round)));
            assert!(sessions.slots.len() == 10_000, "vacant places are taken first");
            assert!((100..10_000).all(|n| sessions.remove(&id(n)).is_some()));
            assert!(sessions.room() <= 4 * ROOM_KEPT, "room for {}", sessions.room());
            assert!((0..100).all(|n| sessions.find(&id(n)) == Some(&session(n as u32 % 7, round))));
            assert_eq!((0..7).map(|account| sessions.of_account(account).count()).sum::<usize>(), 100);
        }
    }

    /// Ends whatever is looked at and over by now; what is not is watched on, as the shard does it.
    fn expire(sessions: &mut SessionTable, now_us: u64) -> BTreeSet<Hash128> {
        let mut ended = BTreeSet::new();
        while let Some(id) = sessions.pop_due(now_us) {
            let place = sessions.place(&id);
            let until_us = place.and_then(|place| sessions.at(place)).map(|session| session.until_us);
            match (place, until_us) {
                (Some(place), Some(until_us)) if until_us > now_us => sessions.watch(place, until_us),
                _ if sessions.remove(&id).is_some() => drop(ended.insert(id)),
                _ => {}
            }
        }
        ended
    }

    proptest! {
        #[test]
        fn every_session_is_looked_at_in_the_second_in_which_it_is_over_whatever_stood_in_its_place(
            deeds in proptest::collection::vec((0_u64..30, 0_u8..4, 1_u64..9), 1..300),
        ) {
            let (mut sessions, mut model, mut now_us) = (SessionTable::default(), BTreeMap::new(), 5_000_000);
            for (n, deed, seconds) in deeds {
                let until_us = now_us + seconds * 1_000_000;
                match deed {
                    0 => {
                        let begun = Begun { account: 0, session_id: b"", client: None, until_us };
                        sessions.begin(sessions.place(&id(n)), id(n), &begun);
                        model.insert(id(n), until_us);
                    }
                    1 => {
                        // It goes on: its time is another.
                        if let Some(place) = sessions.place(&id(n)) {
                            sessions.at_mut(place).unwrap().until_us = until_us.max(model[&id(n)]);
                            model.entry(id(n)).and_modify(|until| *until = until_us.max(*until));
                        }
                    }
                    2 => prop_assert_eq!(sessions.remove(&id(n)).is_some(), model.remove(&id(n)).is_some()),
                    _ => {
                        now_us += seconds * 300_000;
                        let ended = expire(&mut sessions, now_us);
                        // One that was looked at for another's sake may end before its second is over.
                        prop_assert!(ended.iter().all(|id| model[id] <= now_us));
                        model.retain(|id, _| !ended.contains(id));
                        prop_assert!(model.values().all(|until| until.div_ceil(1_000_000) > now_us / 1_000_000));
                    }
                }
                let seconds = model.values().map(|until| until.div_ceil(1_000_000) * 1_000_000);
                let due_us = sessions.next_due_us();
                prop_assert!(seconds.min().is_none_or(|second| due_us.is_some_and(|due| due <= second)));
            }
        }
    }

    #[test]
    fn sessions_that_come_and_go_leave_nothing_to_be_looked_at_later() {
        let mut sessions = SessionTable::default();
        for n in 0..100_000 {
            let begun =
                Begun { account: 1, session_id: b"", client: None, until_us: (7_200 + n / 100) * 1_000_000 };
            sessions.begin(None, id(n), &begun);
            if n >= 10 {
                sessions.remove(&id(n - 10)).unwrap();
            }
        }
        assert_eq!(
            (sessions.due.len(), sessions.due_before.len()),
            (1, 0),
            "all began within the first second"
        );
        assert_eq!(expire(&mut sessions, 8_198 * 1_000_000).len(), 0);
        assert_eq!(expire(&mut sessions, 8_199 * 1_000_000).len(), 10);
        assert_eq!(sessions.next_due_us(), None);
    }
}
