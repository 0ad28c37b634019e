//! OptOuts holds, by account, the addresses that are to get no message, so that intake need not read SQL.

use crate::api::OptOutRules;
use records::{ChannelNumber, Message, Mode, Timestamp};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use store::{StopHash, StopHasher, Store, StoreError};

/// Opt-outs and opt-ins kept of an account whose list was not read yet; the older ones are in SQL by then.
const PENDING_MAX: usize = 10_000;

/// See the module.
#[derive(Default)]
pub struct OptOuts {
    accounts: FxHashMap<String, AccountOptOuts>,
    rules: OptOutRules,
}

#[derive(Default)]
struct AccountOptOuts {
    /// Nothing: not read yet.
    list: Option<OptOutList>,
    /// Those that came before the list was read: SQL may not have had them then.
    pending: Vec<PendingOptOut>,
}

/// The address, the number or name of ours it holds for, and since when; nothing: not any more.
type PendingOptOut = (String, Option<String>, Option<Timestamp>);

/// Addresses that are to get nothing, with the number or name of ours it holds for (nothing: all), and since
/// when.
#[derive(Default)]
pub struct OptOutList {
    by_address: FxHashMap<String, Stops>,
    /// Of people who were forgotten, by the hashes of their addresses.
    forgotten: FxHashMap<StopHash, Stops>,
    account: String,
    hasher: Option<StopHasher>,
}

/// Stops of one address.
type Stops = Vec<(Option<String>, Timestamp)>;

impl OptOuts {
    /// By these rules, before any list was read.
    pub fn new(rules: OptOutRules) -> OptOuts {
        OptOuts { accounts: FxHashMap::default(), rules }
    }

    /// The rules changed.
    pub fn change(&mut self, rules: OptOutRules) {
        if self.rules.numbers != rules.numbers {
            let lists = self.accounts.values_mut().filter_map(|of| of.list.as_mut());
            lists.for_each(|list| list.bring_into_one_form(&rules));
        }
        self.rules = rules;
    }

    /// The one form of an address of a person.
    pub fn one_form<'t>(&self, channel: ChannelNumber, address: &'t str) -> Cow<'t, str> {
        channels::canonical(channel, address, &self.rules.numbers)
    }

    /// Had a message's addressee opted out before it was taken? A later opt-out does not hold for it, also
    /// when a start takes it again.
    pub fn excludes(&self, list: &OptOutList, message: &Message) -> bool {
        !list.is_empty() && list.excludes(message, &self.rules)
    }

    /// A person opted out (since when), or in again.
    pub fn note(&mut self, account: &str, address: &str, sender: Option<&str>, out: Option<Timestamp>) {
        let address = &*channels::canonical(channels::SMS, address, &self.rules.numbers);
        let of = self.accounts.entry(account.to_owned()).or_default();
        match &mut of.list {
            Some(list) => list.set(address, sender, out),
            None => {
                if of.pending.len() >= PENDING_MAX {
                    of.pending.drain(..PENDING_MAX / 2);
                }
                of.pending.push((address.to_owned(), sender.map(str::to_owned), out));
            }
        }
    }

    /// The list of an account was read from SQL.
    pub fn load(&mut self, account: &str, list: OptOutList) {
        let of = self.accounts.entry(account.to_owned()).or_default();
        if of.list.is_none() {
            let list = of.list.insert(list);
            list.bring_into_one_form(&self.rules);
            for (address, sender, out) in std::mem::take(&mut of.pending) {
                list.set(&address, sender.as_deref(), out);
            }
        }
    }

    /// The list of an account, once it was read.
    pub fn of(&self, account: &str) -> Option<&OptOutList> {
        self.accounts.get(account)?.list.as_ref()
    }
}

impl OptOutList {
    /// Reads those of an account.
    pub async fn read(store: &dyn Store, account: &str) -> Result<OptOutList, StoreError> {
        let mut list = OptOutList { account: account.to_owned(), ..OptOutList::default() };
        let all = store.all_opt_outs(account).await?;
        for one in all.into_iter().filter(|one| one.channel == channels::SMS) {
            list.by_address.entry(one.address).or_default().push((one.sender, one.at));
        }
        for stop in store.forgotten_stops(account).await? {
            list.forgotten.entry(stop.hash).or_default().push((stop.sender, stop.at));
        }
        list.hasher = store.stop_hasher();
        if list.hasher.is_none() && !list.forgotten.is_empty() {
            let why = "the store has no key for the stops of forgotten people".to_owned();
            return Err(StoreError::Conflict { why });
        }
        Ok(list)
    }

    fn is_empty(&self) -> bool {
        self.by_address.is_empty() && self.forgotten.is_empty()
    }

    /// Older versions stored addresses as networks gave them.
    fn bring_into_one_form(&mut self, rules: &OptOutRules) {
        for (address, stops) in std::mem::take(&mut self.by_address) {
            let address = channels::canonical(channels::SMS, &address, &rules.numbers).into_owned();
            self.by_address.entry(address).or_default().extend(stops);
        }
    }

    /// The hash of an address, where anybody was forgotten.
    fn hash(&self, address: &str) -> Option<StopHash> {
        let hasher = self.hasher.as_ref().filter(|_| !self.forgotten.is_empty())?;
        Some(hasher.hash(&self.account, channels::SMS, address))
    }

    fn set(&mut self, address: &str, sender: Option<&str>, out: Option<Timestamp>) {
        let list = self.by_address.entry(address.to_owned()).or_default();
        match out {
            Some(at) if !list.iter().any(|(of, _)| of.as_deref() == sender) => {
                list.push((sender.map(str::to_owned), at));
            }
            Some(_) => {}
            None => list.retain(|(of, _)| !same_sender(of.as_deref(), sender)),
        }
        let is_start = out.is_none();
        if list.is_empty() {
            self.by_address.remove(address);
        }
        if is_start && let Some(forgotten) = self.hash(address).and_then(|hash| self.forgotten.get_mut(&hash))
        {
            forgotten.retain(|(of, _)| !same_sender(of.as_deref(), sender));
        }
    }

    fn excludes(&self, message: &Message, rules: &OptOutRules) -> bool {
        let address = channels::canonical(channels::SMS, &message.to, &rules.numbers);
        let sender = &*message.short.source.addr;
        let forgotten = || self.forgotten.get(&self.hash(&address)?);
        let lists = [self.by_address.get(&*address), forgotten()];
        lists.into_iter().flatten().any(|list| {
            let holds =
                |of: &Option<String>| of.as_deref().is_none_or(|of| shows(of, sender, message.mode, rules));
            list.iter().any(|(of, at)| *at <= message.at && holds(of))
        })
    }
}

/// Whether a message shows this sender. One that names none shows its route's; where that is the carrier's
/// business, it may be any.
fn shows(of: &str, sender: &str, mode: Mode, rules: &OptOutRules) -> bool {
    if !sender.is_empty() {
        return same_number(of, sender);
    }
    let mut routes = rules.senders.iter().filter(|(of, _)| *of == mode).peekable();
    routes.peek().is_none() || routes.any(|(_, own)| own.is_empty() || same_number(of, own))
}

fn same_sender(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same_number(a, b),
        (a, b) => a == b,
    }
}

/// Numbers are the same with and without the plus.
pub fn same_number(a: &str, b: &str) -> bool {
    a.strip_prefix('+').unwrap_or(a) == b.strip_prefix('+').unwrap_or(b)
}
