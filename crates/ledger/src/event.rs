//! One-time events (RFC 8506 6), and operations on the account itself.

use super::account::AccountNumber;
use super::answered::LogView;
use super::bundle::Bundle;
use super::config::Unreferenced;
use super::entry::{BundleEntry, Entry, EntryKind, ServiceEntry};
use super::hash::Hash128;
use super::rating::Rating;
use super::request::{Request, Service, Units, result};
use super::shard::{Funds, Shard, has_room};

impl Rating {
    /// DIRECT_DEBITING: each service in whole, or not at all.
    pub(super) fn decide_debit(
        &self,
        request: &Request<'_>,
        mut funds: Funds,
        mut bundled: u64,
        entry: &mut Entry,
    ) {
        if funds.is_blocked {
            entry.result = result::END_USER_SERVICE_DENIED;
            return;
        }
        let target = entry.target();
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
    pub(super) fn decide_enquiry(
        &self,
        request: &Request<'_>,
        funds: Funds,
        bundled: u64,
        entry: &mut Entry,
    ) {
        let target = entry.target();
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
}

impl Shard {
    /// REFUND_ACCOUNT: what was debited by a named event at most, over all its refunds; without a name what
    /// the rules allow.
    pub(super) fn decide_refund(
        &self,
        request: &Request<'_>,
        of: Option<Hash128>,
        reading: &LogView<'_>,
        entry: &mut Entry,
    ) {
        let target = entry.target();
        let mut sum = Some(0_i64);
        for service in services(request) {
            let (_, price) = self.rating.rate(service, &target, 0, &mut entry.services);
            sum = sum.zip(price).and_then(|(sum, price)| sum.checked_add(price));
        }
        conclude(entry);
        let Some(sum) = sum else {
            return entry.result = result::RATING_FAILED;
        };
        let most = match (of, self.rating.config.unreferenced_refund) {
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

    /// What can still be refunded of an event of this account.
    fn refundable(&self, of: &Hash128, account: Option<AccountNumber>, log: &LogView<'_>) -> Option<i64> {
        let entry = self.answered.debit(of, log)?;
        let debited = entry.services.iter().fold(0_i64, |sum, service| sum.saturating_add(service.cost));
        let refunded = self.refunds.get(of).map_or(0, |(refunded, _)| *refunded);
        (entry.account == account).then_some(debited.saturating_sub(refunded).max(0))
    }

    pub(super) fn decide_bundle(&self, bundle: Bundle, entry: &mut Entry) {
        let is_over = u64::from(bundle.expires_s) <= self.now_us() / 1_000_000;
        let bundles = entry.account.and_then(|number| self.bundles.get(&number));
        if is_over || bundle.units == 0 || bundle.units > UNITS_MAX || !has_room(bundles) {
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        let Bundle { units, context, expires_s } = bundle;
        entry.bundle = Some(BundleEntry { units, context, expires_s });
    }
}

/// No bundle has more units.
const UNITS_MAX: u64 = 1 << 48;

/// A service that is not given, and takes nothing.
pub(super) fn refuse(service: &mut ServiceEntry, result: u32) {
    (service.granted, service.bundled, service.result) = (Units::default(), 0, result);
}

const ONE: &[Service] =
    &[Service { rating_group: None, service_id: None, requested: None, used: None, is_before_change: false }];

/// What a service of an event asks for: one unit where it leaves that open.
#[inline]
pub(super) fn units(service: &Service) -> Units {
    service.requested.or(service.used).filter(|units| !units.is_empty()).unwrap_or(Units::specific(1))
}

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
