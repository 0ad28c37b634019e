//! Sessions of credit control: what is reserved for each of their services (RFC 8506 5.2 to 5.7).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::account::AccountNumber;
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

    /// Minor units reserved for all its services.
    pub fn reserved(&self) -> i64 {
        self.reservations().fold(0, |sum, r| sum.saturating_add(r.reserved))
    }

    /// Units of bundles reserved for all its services.
    pub fn bundle_reserved(&self) -> u64 {
        self.reservations().fold(0, |sum, r| sum.saturating_add(r.bundle_reserved))
    }
}

/// All open sessions of a shard.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    open: HashMap<Hash128, Session, BuildHasherDefault<Taken>>,
}

/// Room for fewer is never given back.
const ROOM_KEPT: usize = 1_024;

impl Sessions {
    pub fn len(&self) -> usize {
        self.open.len()
    }
    pub fn find(&self, session: &Hash128) -> Option<&Session> {
        self.open.get(session)
    }
    pub fn find_mut(&mut self, session: &Hash128) -> Option<&mut Session> {
        self.open.get_mut(session)
    }
    pub fn insert(&mut self, session: Hash128, state: Session) {
        self.open.insert(session, state);
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
        }
        Some(removed)
    }
}
