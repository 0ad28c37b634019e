//! Bundles of messages: specific units that are used before money, until they expire.

use std::collections::HashMap;

use super::account::AccountNumber;
use super::request::ServiceContext;

/// One bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    pub units: u64,
    /// For which service; zero: for any.
    pub context: ServiceContext,
    pub expires_s: u32,
}

/// The bundles of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountBundles {
    /// Those that expire first stand first.
    pub list: Vec<Bundle>,
    /// Units reserved for sessions.
    pub pending: u64,
}

/// An account has no more bundles than this.
pub const BUNDLES_MAX: usize = 64;

impl AccountBundles {
    /// Units that can be taken or reserved now for this service.
    pub fn available(&self, context: ServiceContext, now_s: u64) -> u64 {
        let of = self.list.iter().filter(|b| b.is_for(context) && u64::from(b.expires_s) > now_s);
        of.fold(0_u64, |sum, b| sum.saturating_add(b.units)).saturating_sub(self.pending)
    }

    /// Takes units, from what expires first. As many as there are.
    pub fn take(&mut self, mut units: u64, context: ServiceContext, now_s: u64) {
        for bundle in &mut self.list {
            if bundle.is_for(context) && u64::from(bundle.expires_s) > now_s {
                let taken = bundle.units.min(units);
                bundle.units -= taken;
                units -= taken;
            }
        }
        self.list.retain(|bundle| bundle.units > 0);
    }
}

impl Bundle {
    fn is_for(&self, context: ServiceContext) -> bool {
        self.context == ServiceContext::default() || self.context == context
    }
}

/// The bundles of those accounts that have any.
pub type Bundles = HashMap<AccountNumber, AccountBundles>;

/// Units that an account's bundles have now for this service.
pub(super) fn available(
    bundles: &Bundles,
    account: Option<AccountNumber>,
    context: ServiceContext,
    now_us: u64,
) -> u64 {
    let bundles = account.and_then(|number| bundles.get(&number));
    bundles.map_or(0, |bundles| bundles.available(context, now_us / 1_000_000))
}
