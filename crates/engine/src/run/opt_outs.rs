//! OptOuts holds, by account, the addresses that are to get no message, so that intake need not read SQL.

use records::{Message, Timestamp};
use rustc_hash::FxHashMap;

/// Opt-outs and opt-ins kept of an account whose list was not read yet; the older ones are in SQL by then.
const PENDING_MAX: usize = 10_000;

/// See the module.
#[derive(Default)]
pub struct OptOuts {
    accounts: FxHashMap<String, AccountOptOuts>,
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
    by_address: FxHashMap<String, Vec<(Option<String>, Timestamp)>>,
}

impl OptOuts {
    /// A person opted out (since when), or in again.
    pub fn note(&mut self, account: &str, address: &str, sender: Option<&str>, out: Option<Timestamp>) {
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
    pub fn new(all: Vec<store::OptOut>) -> OptOutList {
        let mut list = OptOutList::default();
        for one in all.into_iter().filter(|one| one.channel == channels::SMS) {
            list.by_address.entry(one.address).or_default().push((one.sender, one.at));
        }
        list
    }

    fn set(&mut self, address: &str, sender: Option<&str>, out: Option<Timestamp>) {
        let list = self.by_address.entry(address.to_owned()).or_default();
        match out {
            Some(at) if !list.iter().any(|(of, _)| of.as_deref() == sender) => {
                list.push((sender.map(str::to_owned), at));
            }
            Some(_) => {}
            None => list.retain(|(of, _)| of.as_deref() != sender),
        }
        if list.is_empty() {
            self.by_address.remove(address);
        }
    }

    /// Had its addressee opted out before this message was taken? A later opt-out does not hold for it, also
    /// when a start takes it again.
    pub fn excludes(&self, message: &Message) -> bool {
        let sender = &*message.short.source.addr;
        self.by_address.get(&message.to).is_some_and(|list| {
            let holds = |of: &Option<String>| of.as_deref().is_none_or(|of| same_number(of, sender));
            list.iter().any(|(of, at)| *at <= message.at && holds(of))
        })
    }
}

/// Numbers are the same with and without the plus.
pub fn same_number(a: &str, b: &str) -> bool {
    a.strip_prefix('+').unwrap_or(a) == b.strip_prefix('+').unwrap_or(b)
}
