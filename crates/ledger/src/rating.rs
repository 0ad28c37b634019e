//! Rating: the rules and the time by which a shard decides, without its state.

use std::sync::Arc;

use super::config::Config;
use super::entry::{Entry, ServiceEntry};
use super::event::{refuse, units};
use super::request::{Service, Units, result};
use super::tariff::Target;

/// Rules that hold at a time. Sessions are decided by them in `credit` and `pool`, events in `event`.
pub(super) struct Rating {
    pub(super) config: Arc<Config>,
    /// Microseconds of UTC.
    pub(super) now_us: u64,
}

impl Rating {
    /// Rates one service of an event: appends it, and gives it back with its price in minor units for what no
    /// bundle pays. None: it cannot be rated, and the entry says so.
    #[inline]
    pub(super) fn rate<'e>(
        &self,
        service: &Service,
        target: &Target,
        bundled_max: u64,
        services: &'e mut Vec<ServiceEntry>,
    ) -> (&'e mut ServiceEntry, Option<i64>) {
        let units = units(service);
        let bundled = units.specific.min(bundled_max);
        let paid = Units { specific: units.specific - bundled, ..units };
        let found = self.config.tariffs.find(target, service.rating_group, self.now_us);
        let price = found.as_ref().and_then(|(_, rates)| rates.price(&rates.priced(&paid)));
        services.push(ServiceEntry {
            rating_group: service.rating_group,
            service_id: service.service_id,
            result: result::SUCCESS,
            granted: units,
            bundled,
            tariff: found.map_or(0, |(number, _)| number),
            ..ServiceEntry::default()
        });
        let entry = services.last_mut().expect("one was just pushed");
        if price.is_none() {
            refuse(entry, result::RATING_FAILED);
        }
        (entry, price)
    }

    /// The price of so many parts of a message.
    pub(super) fn price_of_parts(&self, parts: u32, entry: &Entry) -> Option<i64> {
        let (_, rates) = self.config.tariffs.find(&entry.target(), None, self.now_us)?;
        rates.price(&Units::specific(1))?.checked_mul(parts.into())
    }
}
