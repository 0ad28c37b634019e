//! Changes of accounts that no service is for: opened, topped up, limited.

use super::account::{AccountNumber, Accounts};
use super::entry::{Entry, Opened};
use super::key::KEY_OCTETS_MAX;
use super::request::{Request, result};
use super::shard::Funds;

/// Balances stay within this, so that no sum of a few of them leaves 64 bits.
const MONEY_MAX: i64 = 1 << 60;

impl Accounts {
    /// An account that the rules open for its first request, unless there are too many.
    pub(super) fn decide_open(
        &self,
        request: &Request<'_>,
        (balance, limit): (i64, i64),
        accounts_max: usize,
        entry: &mut Entry,
    ) -> Option<Funds> {
        if self.len() >= accounts_max || request.account_octets.len() > KEY_OCTETS_MAX {
            return None;
        }
        let octets = if request.account.is_hashed() { request.account_octets.to_vec() } else { Vec::new() };
        entry.account = Some(self.len() as AccountNumber);
        entry.opened = Some(Opened { key: request.account, octets, balance, limit });
        Some(Funds { available: balance.saturating_add(limit).max(0), is_blocked: false, has_bundles: false })
    }

    /// A balance of money grows.
    pub(super) fn decide_top_up(&self, amount: i64, entry: &mut Entry) {
        let account = entry.account.and_then(|number| self.account(number));
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
        (balance, limit): (i64, i64),
        accounts_max: usize,
        entry: &mut Entry,
    ) {
        let is_known = self.find(hash, &request.account).is_some();
        let is_too_long = request.account_octets.len() > KEY_OCTETS_MAX;
        if is_known || is_too_long || limit < 0 || !fits(balance, limit) {
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        if self.len() >= accounts_max {
            entry.result = result::UNABLE_TO_COMPLY;
            return;
        }
        let octets = if request.account.is_hashed() { request.account_octets.to_vec() } else { Vec::new() };
        entry.account = Some(self.len() as AccountNumber);
        entry.opened = Some(Opened { key: request.account, octets, balance, limit });
    }

    pub(super) fn decide_limit(&self, limit: i64, entry: &mut Entry) {
        let account = entry.account.and_then(|number| self.account(number));
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
}

fn fits(balance: i64, more: i64) -> bool {
    balance.checked_add(more).is_some_and(|sum| (-MONEY_MAX..=MONEY_MAX).contains(&sum))
        && (-MONEY_MAX..=MONEY_MAX).contains(&more)
        && (-MONEY_MAX..=MONEY_MAX).contains(&balance)
}
