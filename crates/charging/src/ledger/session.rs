//! Sessions of credit control: what is reserved for each of their services (RFC 8506 5.2 to 5.7).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::account::AccountNumber;
use super::client::ClientNumber;
use super::hash::Hash128;
use super::request::Units;
use super::tariff::Target;

/// Hashes of keys that are keyed hashes already: their last word.
#[derive(Clone, Copy, Default)]
pub struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = self.0.rotate_left(8) ^ u64::from(*octet);
        }
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
    /// Numbers that were given in their order: spread over all bits.
    fn write_u32(&mut self, word: u32) {
        self.0 = u64::from(word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// What is reserved for one service of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    pub rating_group: Option<u32>,
    pub service_id: Option<u32>,
    pub reserved: i64,
    pub bundle_reserved: u64,
    /// Under which tariff `totals` were used.
    pub tariff: u16,
    /// All that was used under that tariff, so that prices are rounded once.
    pub totals: Units,
    /// It got less than it asked for: with money it would get more.
    pub is_starved: bool,
    /// What is granted belongs to the session's credit pool.
    pub is_pooled: bool,
}

/// One open session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub account: AccountNumber,
    /// The highest CC-Request-Number so far.
    pub number: u32,
    /// When Tcc runs out.
    pub until_us: u64,
    pub target: Target,
    /// Session-Id as it came; empty: nobody can be asked about the session.
    pub id: Box<[u8]>,
    /// Who opened it.
    pub client: Option<ClientNumber>,
    /// Most sessions have one service: it needs no room of its own.
    pub first: Option<Reservation>,
    pub more: Vec<Reservation>,
}

impl Session {
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.first.iter().chain(&self.more)
    }

    pub fn find(&self, rating_group: Option<u32>, service_id: Option<u32>) -> Option<&Reservation> {
        self.reservations().find(|r| r.rating_group == rating_group && r.service_id == service_id)
    }

    /// The reservation of a service, a new one where there is none.
    pub fn reservation(&mut self, rating_group: Option<u32>, service_id: Option<u32>) -> &mut Reservation {
        let new = Reservation { rating_group, service_id, ..Reservation::default() };
        let is_it = |r: &Reservation| r.rating_group == rating_group && r.service_id == service_id;
        if self.first.is_none() || self.first.as_ref().is_some_and(is_it) {
            return self.first.get_or_insert(new);
        }
        let at = self.more.iter().position(is_it).unwrap_or_else(|| {
            self.more.push(new);
            self.more.len() - 1
        });
        &mut self.more[at]
    }

    /// Whether a service of it would get more if there were money.
    pub fn is_starved(&self) -> bool {
        self.reservations().any(|reservation| reservation.is_starved)
    }

    /// Whether services of it share a credit pool.
    pub fn has_pool(&self) -> bool {
        self.reservations().any(|reservation| reservation.is_pooled)
    }

    /// Minor units reserved for all its services.
    pub fn reserved(&self) -> i64 {
        self.reservations().fold(0, |sum, r| sum.saturating_add(r.reserved))
    }

    /// Units of bundles reserved for all its services.
    pub fn bundle_reserved(&self) -> u64 {
        self.reservations().fold(0, |sum, r| sum.saturating_add(r.bundle_reserved))
    }
}

/// The open sessions of one account: nearly always one.
#[derive(Clone, Debug)]
enum OfAccount {
    One(Hash128),
    Many(HashSet<Hash128, BuildHasherDefault<Taken>>),
}

/// All open sessions of a shard.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    open: HashMap<Hash128, Session, BuildHasherDefault<Taken>>,
    by_account: HashMap<AccountNumber, OfAccount, BuildHasherDefault<Taken>>,
}

/// Room for fewer is never given back.
const ROOM_KEPT: usize = 1_024;

impl Sessions {
    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
    pub fn find(&self, session: &Hash128) -> Option<&Session> {
        self.open.get(session)
    }
    pub fn find_mut(&mut self, session: &Hash128) -> Option<&mut Session> {
        self.open.get_mut(session)
    }
    /// Adds a session, or another in its place.
    pub fn insert(&mut self, session: Hash128, state: Session) {
        let account = state.account;
        match self.open.insert(session, state) {
            Some(before) if before.account == account => return,
            Some(before) => self.forget(before.account, &session),
            None => {}
        }
        let of_account = self.by_account.entry(account).or_insert(OfAccount::One(session));
        match of_account {
            OfAccount::One(one) if *one == session => {}
            OfAccount::One(one) => *of_account = OfAccount::Many([*one, session].into_iter().collect()),
            OfAccount::Many(many) => {
                many.insert(session);
            }
        }
    }

    /// The sessions of an account.
    pub fn of_account(&self, account: AccountNumber) -> impl Iterator<Item = (&Hash128, &Session)> {
        let (one, many) = match self.by_account.get(&account) {
            Some(OfAccount::One(one)) => (Some(one), None),
            Some(OfAccount::Many(many)) => (None, Some(many)),
            None => (None, None),
        };
        let ids = one.into_iter().chain(many.into_iter().flatten());
        ids.filter_map(|id| Some((id, self.open.get(id)?)))
    }

    fn forget(&mut self, account: AccountNumber, session: &Hash128) {
        if let Some(OfAccount::Many(many)) = self.by_account.get_mut(&account) {
            many.remove(session);
            if !many.is_empty() {
                return;
            }
        }
        self.by_account.remove(&account);
    }
    pub fn iter(&self) -> impl Iterator<Item = (&Hash128, &Session)> {
        self.open.iter()
    }
    /// For how many sessions there is memory.
    pub fn room(&self) -> usize {
        self.open.capacity()
    }

    /// Removes a session, and gives memory back when little of it is used.
    pub fn remove(&mut self, session: &Hash128) -> Option<Session> {
        let removed = self.open.remove(session)?;
        if self.open.capacity() > ROOM_KEPT && self.open.len() * 8 < self.open.capacity() {
            self.open.shrink_to((self.open.len() * 2).max(ROOM_KEPT / 2));
            self.by_account.shrink_to(self.open.len() * 2);
        }
        self.forget(removed.account, session);
        Some(removed)
    }
}
