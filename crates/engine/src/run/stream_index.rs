//! StreamIndex finds the message streams in memory: by account, class, and the index of intake from which
//! each holds messages.

use records::{Alert, AlertNo, Lane, Mode, Origin};
use rustc_hash::FxHashMap;

/// Modes times lanes.
const CLASSES: usize = 2 * Lane::ALL.len();

/// See the module.
#[derive(Default)]
pub struct StreamIndex {
    accounts: FxHashMap<String, AccountStreams>,
}

/// By class: where each begins, in order.
#[derive(Default)]
pub struct AccountStreams([Vec<(u64, AlertNo)>; CLASSES]);

impl StreamIndex {
    /// An alert came into memory; only a message stream is noted.
    pub fn insert(&mut self, alert: &Alert) {
        let Origin::Standing { intake_from } = alert.origin else { return };
        let class = class(alert.request.mode, alert.request.priority.into());
        let list = &mut self.accounts.entry(alert.account.clone()).or_default().0[class];
        if let Err(place) = list.binary_search(&(intake_from, alert.no)) {
            list.insert(place, (intake_from, alert.no));
        }
    }

    /// An alert left memory.
    pub fn remove(&mut self, alert: &Alert) {
        let class = class(alert.request.mode, alert.request.priority.into());
        if let Some(streams) = self.accounts.get_mut(&alert.account) {
            streams.0[class].retain(|(_, no)| *no != alert.no);
        }
    }

    pub fn of(&self, account: &str) -> Option<&AccountStreams> {
        self.accounts.get(account)
    }

    /// Message streams of one account, or of all, that may hold the message with this index.
    pub fn candidates(&self, account: Option<&str>, index: u64) -> Vec<AlertNo> {
        let of = |streams: &AccountStreams| -> Vec<AlertNo> {
            streams.0.iter().filter_map(|list| at(list, index)).collect()
        };
        match account {
            Some(account) => self.accounts.get(account).map_or_else(Vec::new, of),
            None => self.accounts.values().flat_map(of).collect(),
        }
    }

    /// Every message stream but the last of each class.
    pub fn closed(&self) -> Vec<AlertNo> {
        let lists = self.accounts.values().flat_map(|streams| &streams.0);
        lists.flat_map(|list| list.iter().rev().skip(1)).map(|(_, no)| *no).collect()
    }

    /// All message streams.
    pub fn all(&self) -> Vec<AlertNo> {
        self.accounts.values().flat_map(|streams| streams.0.iter().flatten()).map(|(_, no)| *no).collect()
    }

    /// All message streams of an account.
    pub fn all_of(&self, account: &str) -> Vec<AlertNo> {
        let all = self.accounts.get(account).map(|streams| streams.0.iter().flatten());
        all.map_or_else(Vec::new, |all| all.map(|(_, no)| *no).collect())
    }
}

impl AccountStreams {
    /// The message stream of a class that holds the message with this index, and whether it is the last.
    pub fn holding(&self, class: usize, index: u64) -> Option<(AlertNo, bool)> {
        let no = at(&self.0[class], index)?;
        Some((no, self.last(class) == Some(no)))
    }

    /// The last of a class.
    pub fn last(&self, class: usize) -> Option<AlertNo> {
        self.0[class].last().map(|(_, no)| *no)
    }
}

/// The class of a message stream.
pub fn class(mode: Mode, lane: Lane) -> usize {
    mode as usize * Lane::ALL.len() + lane as usize
}

/// The one with the greatest beginning up to this index.
fn at(list: &[(u64, AlertNo)], index: u64) -> Option<AlertNo> {
    let after = list.partition_point(|(from, _)| *from <= index);
    after.checked_sub(1).map(|place| list[place].1)
}
