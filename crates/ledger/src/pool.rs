//! Services that share what is granted (credit pool, RFC 8506, section 5.1.2): a client adds up what it was
//! granted for each of them, weighed by G-S-U-Pool-Reference, and each may use the sum.
//!
//! So what a service used may be more than was reserved for it. All that the services named by a request hold
//! pays for what all of them used, before anything new is granted; if that and the account are not enough, so
//! does what the services of the pool hold that the request does not name.

use super::credit::{Left, Rated, carry, charge, named};
use super::entry::{Entry, SERVICES_MAX, ServiceEntry};
use super::rating::Rating;
use super::request::{Request, Service, Units, Weights, result};
use super::session::{Reservation, Session, paid};

/// A service whose use is taken, and that may be granted more.
struct Charged<'r> {
    service: &'r Service,
    /// Its place in the entry.
    place: usize,
    rated: Rated<'r>,
    totals: Units,
}

impl Rating {
    /// What is told of the pool with a grant. Whoever has no rating group is alone in its session; units from
    /// a bundle are no money, and what may be used under either of two tariffs has no one weight.
    pub(super) fn pool(&self, rated: &Rated<'_>, decided: &ServiceEntry, bundled: u64) -> Weights {
        let is_pooled = self.config.credit_pool
            && decided.rating_group.is_some()
            && bundled == 0
            && rated.change.is_none();
        let weights = is_pooled.then(|| rated.rates.weights(&rated.rates.priced(&decided.granted))).flatten();
        weights.unwrap_or_default()
    }

    /// The services of a session that has a pool.
    pub(super) fn decide_pooled(
        &self,
        request: &Request<'_>,
        session: &Session,
        left: &mut Left,
        entry: &mut Entry,
    ) {
        for held in session.reservations().filter(|held| is_named(request, held)) {
            left.money = left.money.saturating_add(held.reserved);
            left.bundled = left.bundled.saturating_add(held.bundle_reserved);
            entry.moved.pending -= held.reserved;
        }
        let charged = self.charge_pooled(request, session, left, entry);
        if left.money <= 0 {
            draw(request, session, entry);
        }
        for Charged { service, place, rated, totals } in charged {
            let decided = &mut entry.services[place];
            let totals = paid(&totals, decided.shortfall);
            self.give(service, &totals, &rated, left, decided);
            entry.moved.pending += decided.reserved;
        }
        entry.moved.posted -= entry.services.iter().map(|service| service.cost).sum::<i64>();
    }

    fn charge_pooled<'r>(
        &'r self,
        request: &Request<'r>,
        session: &Session,
        left: &mut Left,
        entry: &mut Entry,
    ) -> Vec<Charged<'r>> {
        let mut carried: Option<Reservation> = None;
        let mut all = Vec::with_capacity(request.services.len());
        for service in request.services {
            let carried_here = carried.take();
            let reserved = || session.find(service.rating_group, service.service_id);
            let before = carried_here.as_ref().or_else(reserved).unwrap_or(&Reservation::NONE);
            let Some(rated) = self.rated(service, before, left) else {
                entry.services.push(ServiceEntry { result: result::RATING_FAILED, ..named(service) });
                continue;
            };
            let place = entry.services.len();
            let decided = entry.services.push_mut(named(service));
            let totals = charge(service, before, &rated, left, decided);
            if service.is_before_change {
                carried = Some(carry(before, decided));
            } else if decided.result == result::SUCCESS {
                all.push(Charged { service, place, rated, totals });
            }
        }
        all
    }
}

pub(super) fn is_named(request: &Request<'_>, held: &Reservation) -> bool {
    let key = (held.rating_group, held.service_id);
    request.services.iter().any(|service| (service.rating_group, service.service_id) == key)
}

/// Pays what was used and could not be paid with what the rest of the pool holds. What each of it still holds
/// stands in the entry.
fn draw(request: &Request<'_>, session: &Session, entry: &mut Entry) {
    let owed = entry.services.iter().map(|service| service.shortfall).sum::<i64>();
    let mut drawn = 0;
    for held in session.reservations().filter(|held| held.is_pooled && !is_named(request, held)) {
        let part = held.reserved.min(owed - drawn);
        if part <= 0 || entry.services.len() >= SERVICES_MAX {
            continue;
        }
        drawn += part;
        entry.moved.pending -= part;
        entry.services.push(ServiceEntry {
            rating_group: held.rating_group,
            service_id: held.service_id,
            result: result::SUCCESS,
            tariff: held.tariff,
            reserved: held.reserved - part,
            bundle_reserved: held.bundle_reserved,
            is_part: true,
            ..ServiceEntry::default()
        });
    }
    for service in &mut entry.services {
        let part = service.shortfall.min(drawn);
        service.shortfall -= part;
        service.cost += part;
        drawn -= part;
    }
}
