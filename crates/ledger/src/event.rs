//! One-time events (RFC 8506 6), and operations on the account itself.

use super::bundle::{AccountBundles, Bundle};
use super::config::Unreferenced;
use super::entry::{BundleEntry, Entry, EntryKind, Opened, ServiceEntry};
use super::hash::Hash128;
use super::request::{Request, Service, Units, result};
use super::shard::{Funds, LogView, Shard, has_room};
use super::tariff::Target;

impl Shard {
    /// Rates one service of an event: appends it, and gives it back with its price in minor units for what no
    /// bundle pays. None: it cannot be rated, and the entry says so.
    #[inline]
    fn rate<'e>(
        &self,
        service: &Service,
        target: &Target,
        bundled_max: u64,
        services: &'e mut Vec<ServiceEntry>,
    ) -> (&'e mut ServiceEntry, Option<i64>) {
        let units = match service.requested.or(service.used) {
            Some(units) if !units.is_empty() => units,
            _ => Units::specific(1),
        };
        let bundled = units.specific.min(bundled_max);
        let paid = Units { specific: units.specific - bundled, ..units };
        let found = self.config.tariffs.find(target, service.rating_group, self.now_us);
        let price = found.as_ref().and_then(|(_, rates)| rates.price(&paid));
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

    fn bundled_available(&self, entry: &Entry, funds: &Funds, target: &Target) -> u64 {
        if !funds.has_bundles {
            return 0;
        }
        let bundles = entry.account.and_then(|number| self.bundles.get(&number));
        bundles
            .map_or(0, |bundles: &AccountBundles| bundles.available(target.context, self.now_us / 1_000_000))
    }

    /// DIRECT_DEBITING: each service in whole, or not at all.
    pub(super) fn decide_debit(&self, request: &Request<'_>, mut funds: Funds, entry: &mut Entry) {
        if funds.is_blocked {
            entry.result = result::END_USER_SERVICE_DENIED;
            return;
        }
        let target = Shard::target(entry);
        let mut bundled = self.bundled_available(entry, &funds, &target);
        for service in services(request) {
            let (service, price) = self.rate(service, &target, bundled, &mut entry.services);
            match price {
                Some(price) if price <= funds.available => {
                    funds.available -= price;
                    entry.moved.posted -= price;
                    bundled -= service.bundled;
                    service.cost = price;
                }
                Some(_) => refuse(service, result::CREDIT_LIMIT_REACHED),
                None => {}
            }
        }
        conclude(entry);
    }

    /// CHECK_BALANCE and PRICE_ENQUIRY: what it would cost, and whether there is enough.
    pub(super) fn decide_enquiry(&self, request: &Request<'_>, funds: Funds, entry: &mut Entry) {
        let target = Shard::target(entry);
        let bundled = self.bundled_available(entry, &funds, &target);
        let mut sum = Some(0_i64);
        for service in services(request) {
            let (service, price) = self.rate(service, &target, bundled, &mut entry.services);
            sum = sum.zip(price).and_then(|(sum, price)| sum.checked_add(price));
            (service.granted, service.bundled, service.cost) = (Units::default(), 0, price.unwrap_or(0));
        }
        if entry.deed == EntryKind::CheckBalance {
            let is_enough = sum.is_some_and(|sum| sum <= funds.available) && !funds.is_blocked;
            entry.enough_credit = Some(is_enough);
        }
        conclude(entry);
    }

    /// REFUND_ACCOUNT: what was debited by a named event at most, over all its refunds; without a name what
    /// the rules allow.
    pub(super) fn decide_refund(
        &self,
        request: &Request<'_>,
        of: Option<Hash128>,
        reading: &LogView<'_>,
        entry: &mut Entry,
    ) {
        let target = Shard::target(entry);
        let mut sum = Some(0_i64);
        for service in services(request) {
            let (_, price) = self.rate(service, &target, 0, &mut entry.services);
            sum = sum.zip(price).and_then(|(sum, price)| sum.checked_add(price));
        }
        conclude(entry);
        let Some(sum) = sum else {
            return entry.result = result::RATING_FAILED;
        };
        let most = match (of, self.config.unreferenced_refund) {
            (Some(of), _) => self.refundable(&of, entry.account, reading).unwrap_or(0),
            (None, Unreferenced::UpTo(most)) => most,
            (None, Unreferenced::Refuse) => 0,
        };
        let posted = entry.account.and_then(|number| self.accounts.account(number)).map_or(0, |a| a.posted);
        if sum > most || posted.checked_add(sum).is_none() {
            entry.services.clear();
            entry.result = result::END_USER_SERVICE_DENIED;
            return;
        }
        entry.refund_of = of;
        entry.moved.posted = sum;
        entry.cost = sum;
    }

    /// A balance of money grows.
    pub(super) fn decide_top_up(&self, amount: i64, entry: &mut Entry) {
        let account = entry.account.and_then(|number| self.accounts.account(number));
        let posted = match (account, &entry.opened) {
            (Some(account), _) => account.posted,
            (None, Some(opened)) => opened.balance,
            (None, None) => 0,
        };
        if amount < 0 || !fits(posted, amount) {
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        entry.moved.posted = amount;
        entry.cost = amount;
    }

    pub(super) fn decide_create(
        &self,
        request: &Request<'_>,
        hash: u64,
        balance: i64,
        limit: i64,
        entry: &mut Entry,
    ) {
        let is_known = self.accounts.find(hash, &request.account).is_some();
        let is_too_long = request.account_octets.len() > super::key::KEY_OCTETS_MAX;
        if is_known || is_too_long || limit < 0 || !fits(balance, limit) {
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        if self.accounts.len() >= self.config.accounts_max {
            entry.result = result::UNABLE_TO_COMPLY;
            return;
        }
        let octets = if request.account.is_hashed() { request.account_octets.to_vec() } else { Vec::new() };
        entry.account = Some(self.accounts.len() as u32);
        entry.opened = Some(Opened { key: request.account, octets, balance, limit });
    }

    pub(super) fn decide_limit(&self, limit: i64, entry: &mut Entry) {
        let account = entry.account.and_then(|number| self.accounts.account(number));
        let (before, posted) = match (account, &entry.opened) {
            (Some(account), _) => (account.limit, account.posted),
            (None, Some(opened)) => (opened.limit, opened.balance),
            (None, None) => (0, 0),
        };
        if limit < 0 || !fits(posted, limit) {
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        entry.moved.limit = limit - before;
    }

    pub(super) fn decide_bundle(&self, bundle: Bundle, entry: &mut Entry) {
        let is_over = u64::from(bundle.expires_s) <= self.now_us / 1_000_000;
        let bundles = entry.account.and_then(|number| self.bundles.get(&number));
        if is_over || bundle.units == 0 || bundle.units > UNITS_MAX || !has_room(bundles) {
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        let Bundle { units, context, expires_s } = bundle;
        entry.bundle = Some(BundleEntry { units, context, expires_s });
    }
}

/// Balances stay within this, so that no sum of a few of them leaves 64 bits.
const MONEY_MAX: i64 = 1 << 60;
/// No bundle has more units.
const UNITS_MAX: u64 = 1 << 48;

fn fits(balance: i64, more: i64) -> bool {
    balance.checked_add(more).is_some_and(|sum| (-MONEY_MAX..=MONEY_MAX).contains(&sum))
        && (-MONEY_MAX..=MONEY_MAX).contains(&more)
        && (-MONEY_MAX..=MONEY_MAX).contains(&balance)
}

/// A service that is not given, and takes nothing.
fn refuse(service: &mut ServiceEntry, result: u32) {
    (service.granted, service.bundled, service.result) = (Units::default(), 0, result);
}

const ONE: &[Service] =
    &[Service { rating_group: None, service_id: None, requested: None, used: None, is_before_change: false }];

/// The services of a request; one unit of one service where it names none.
pub(super) fn services<'a>(request: &Request<'a>) -> &'a [Service] {
    if request.services.is_empty() { ONE } else { request.services }
}

/// The result of the whole: a request without Multiple-Services-Credit-Control has that of its only service
/// (RFC 8506 8.16: with them each has its own, beside a success).
pub(super) fn conclude(entry: &mut Entry) {
    let mut whole = entry.services.iter().filter(|service| !service.is_part);
    if let (Some(service), None) = (whole.next(), whole.next())
        && service.rating_group.is_none()
        && service.service_id.is_none()
    {
        entry.result = service.result;
    }
}
