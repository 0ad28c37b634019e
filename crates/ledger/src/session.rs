//! Sessions of credit control: what is reserved for each of their services (RFC 8506 5.2 to 5.7).

use std::hash::Hasher;

use super::account::AccountNumber;
use super::client::ClientNumber;
use super::entry::ServiceEntry;
use super::request::{Units, Weights, result};
use super::tariff::Target;

/// Hashes of keys that are keyed hashes already: their last word.
#[derive(Clone, Copy, Default)]
pub struct KeyedHasher(u64);

impl Hasher for KeyedHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, octets: &[u8]) {
        match octets.last_chunk() {
            Some(word) => self.0 = u64::from_le_bytes(*word),
            None => octets.iter().for_each(|octet| self.0 = self.0.rotate_left(8) ^ u64::from(*octet)),
        }
    }
    /// How many words there are says nothing: all keys have as many.
    fn write_usize(&mut self, _: usize) {}
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
    /// Of which kinds the units are that were granted last; 0: none were, or nobody remembers.
    pub granted: u8,
    /// Under which tariff `totals` were used.
    pub tariff: u16,
    /// All that was used and paid under that tariff, so that prices are rounded once.
    pub totals: Units,
    /// It got less than it asked for: with money it would get more.
    pub is_starved: bool,
    /// What is granted belongs to the session's credit pool.
    pub is_pooled: bool,
}

impl Reservation {
    pub const NONE: Reservation = Reservation {
        rating_group: None,
        service_id: None,
        reserved: 0,
        bundle_reserved: 0,
        granted: 0,
        tariff: 0,
        totals: Units { present: 0, time_s: 0, octets: 0, specific: 0, money: 0 },
        is_starved: false,
        is_pooled: false,
    };

    /// Of what is reported as used, what counts: units of the kinds that were granted. Gateways report time
    /// beside the volume that they have a grant of.
    pub fn counted(&self, used: &Units) -> Units {
        if self.granted == 0 { *used } else { used.only(self.granted) }
    }

    /// All that was used and paid under a tariff when this is reported too. None: it does not fit.
    pub fn totals_with(&self, tariff: u16, counted: &Units) -> Option<Units> {
        let before = if self.tariff == tariff { self.totals } else { Units::default() };
        before.plus(counted)
    }

    /// What an entry makes of it.
    pub fn update(&mut self, service: &ServiceEntry) {
        (self.reserved, self.bundle_reserved) = (service.reserved, service.bundle_reserved);
        let before = if self.tariff == service.tariff { self.totals } else { Units::default() };
        let totals = self.totals_with(service.tariff, &self.counted(&service.used)).unwrap_or(before);
        self.totals = paid(&totals, service.shortfall);
        self.tariff = service.tariff;
        if !service.is_part {
            self.is_starved = service.is_final || service.result == result::CREDIT_LIMIT_REACHED;
            self.is_pooled = service.terms.pool != Weights::default();
            if !service.granted.is_empty() {
                self.granted = service.granted.present;
            }
        }
    }
}

/// Totals after a report of which so much could not be paid: a step that nobody paid is not begun, so the
/// next unit begins a step of its own.
pub fn paid(totals: &Units, shortfall: i64) -> Units {
    if shortfall > 0 { Units::default() } else { *totals }
}

/// Most sessions have one service or two: those need no room of their own.
const FEW: usize = 2;

/// What is reserved for the services of a session, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    few: [Reservation; FEW],
    few_len: u8,
    /// All after those.
    more: Vec<Reservation>,
}

impl PartialEq for Reservations {
    fn eq(&self, other: &Reservations) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Reservations {}

impl Reservations {
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Reservation> {
        self.few[..usize::from(self.few_len).min(FEW)].iter().chain(&self.more)
    }

    /// The one in a place, of which `iter` says that it is there.
    fn at_mut(&mut self, place: usize) -> &mut Reservation {
        match place.checked_sub(usize::from(self.few_len)) {
            Some(place) => &mut self.more[place],
            None => &mut self.few[place],
        }
    }

    /// None is there any more; the memory stays.
    pub fn clear(&mut self) {
        self.few_len = 0;
        self.more.clear();
    }

    fn push(&mut self, new: Reservation) -> &mut Reservation {
        match self.few.get_mut(usize::from(self.few_len)) {
            Some(place) => {
                self.few_len += 1;
                *place = new;
                place
            }
            None => self.more.push_mut(new),
        }
    }
}

/// One open session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub account: AccountNumber,
    /// The highest CC-Request-Number so far.
    pub number: u32,
    /// Bit n: the number n + 1 below the highest was passed over, and may still come.
    pub passed_over: u64,
    /// When Tcc runs out.
    pub until_us: u64,
    pub target: Target,
    /// Session-Id as it came; empty: nobody can be asked about the session.
    pub id: Vec<u8>,
    /// Who opened it.
    pub client: Option<ClientNumber>,
    pub reservations: Reservations,
}

impl Session {
    /// Whether a request of this number may come: a higher one, or one that others have overtaken.
    pub fn awaits(&self, number: u32) -> bool {
        match self.number.checked_sub(number) {
            None => true,
            Some(0) => false,
            Some(below) => below <= u64::BITS && self.passed_over >> (below - 1) & 1 == 1,
        }
    }

    /// A request of this number was there.
    pub fn note(&mut self, number: u32) {
        if let Some(below) = self.number.checked_sub(number) {
            if let Some(place) = below.checked_sub(1).filter(|place| *place < u64::BITS) {
                self.passed_over &= !(1 << place);
            }
            return;
        }
        let ahead = number - self.number;
        // The last one was there; those between it and this one were not.
        let between = if ahead > u64::BITS { u64::MAX } else { (1 << (ahead - 1)) - 1 };
        self.passed_over = self.passed_over.checked_shl(ahead).unwrap_or(0) | between;
        self.number = number;
    }

    /// It begins with this number: no lower one is awaited.
    pub fn begin(&mut self, number: u32) {
        (self.number, self.passed_over) = (number, 0);
    }

    #[inline]
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.iter()
    }

    pub fn find(&self, rating_group: Option<u32>, service_id: Option<u32>) -> Option<&Reservation> {
        self.reservations().find(|r| r.rating_group == rating_group && r.service_id == service_id)
    }

    /// The reservation of a service, a new one where there is none.
    pub fn reservation(&mut self, rating_group: Option<u32>, service_id: Option<u32>) -> &mut Reservation {
        let is_it = |r: &Reservation| r.rating_group == rating_group && r.service_id == service_id;
        let known = self.reservations.iter().position(is_it);
        match known {
            Some(place) => self.reservations.at_mut(place),
            None => self.reservations.push(Reservation { rating_group, service_id, ..Reservation::NONE }),
        }
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
