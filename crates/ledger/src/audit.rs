//! The audit: for every account the sum of charging records equals the sum of balance moves, to the unit, and
//! both equal the balance that recovery makes. It reads what is on disk and asks nobody.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::account::AccountNumber;
use super::config::{Config, DuplicateLimits};
use super::entry::{Entry, EntryKind, Move};
use super::hash::HashKey;
use super::log::{self, FIRST_POSITION};
use super::recovery::{Refusal, Visit, read_log, recover};
use super::shard::Shard;
use super::shard_threads::{identity_of, shard_folder};
use super::snapshot;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    pub shards: usize,
    pub accounts: u64,
    pub entries: u64,
    /// Minor units, by the charging records.
    pub charged: i128,
    pub refunded: i128,
    pub paid_in: i128,
    /// What emergencies owe.
    pub owed: i128,
    /// Used and never paid.
    pub shortfall: i128,
    /// Sums of all accounts as recovery makes them.
    pub posted: i128,
    pub pending: i128,
    /// Octets that a crash left half written; nothing in them was ever answered for.
    pub torn_octets: u64,
    /// Shards whose first log segments are gone: audited from their oldest snapshot on.
    pub from_snapshot: usize,
    pub discrepancies: u64,
    /// The first of them, in words.
    pub examples: Vec<String>,
}

impl Report {
    /// Whether everything is equal.
    pub fn is_exact(&self) -> bool {
        self.discrepancies == 0
    }

    fn differ(&mut self, example: impl FnOnce() -> String) {
        self.discrepancies += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(example());
        }
    }
}

/// So many discrepancies are told in words; all are counted.
const EXAMPLES_MAX: usize = 100;

/// One account's sums.
#[derive(Clone, Debug, Default)]
struct Sums {
    /// By the charging records: what came in less what was charged.
    records: i128,
    posted: i128,
    pending: i128,
    limit: i128,
    debt: i128,
    debt_records: i128,
}

/// Adds up the entries of one shard.
#[derive(Default)]
pub struct Tally {
    accounts: HashMap<AccountNumber, Sums>,
    until: u64,
    report: Report,
}

/// What an entry's charging record says that the account gained, in minor units: below zero what was charged.
fn gain(entry: &Entry) -> i128 {
    let services: i128 = entry.services.iter().map(|service| i128::from(service.cost)).sum();
    match entry.deed {
        EntryKind::Debit | EntryKind::Initial | EntryKind::Update | EntryKind::Terminate => -services,
        EntryKind::Refund | EntryKind::TopUp => i128::from(entry.cost),
        // A message that was known already has no move; its entry only repeats the answer.
        EntryKind::Settle => -i128::from(entry.cost),
        _ => 0,
    }
}

impl Tally {
    /// Counts entries before this position only.
    pub fn until(position: u64) -> Tally {
        Tally { until: position, ..Tally::default() }
    }

    /// Begins with the state of a snapshot.
    fn begin_with(&mut self, shard: &Shard) {
        for (number, account) in shard.accounts().iter() {
            let sums = Sums {
                records: account.posted.into(),
                posted: account.posted.into(),
                pending: account.pending.into(),
                limit: account.limit.into(),
                debt: account.debt.into(),
                debt_records: account.debt.into(),
            };
            self.accounts.insert(number, sums);
        }
    }

    /// Adds one entry.
    pub fn add(&mut self, entry: &Entry, position: u64) {
        self.report.entries += 1;
        let gain = gain(entry);
        match entry.deed {
            EntryKind::Refund => self.report.refunded += gain,
            EntryKind::TopUp => self.report.paid_in += gain,
            _ => self.report.charged -= gain,
        }
        self.report.shortfall += entry.services.iter().map(|s| i128::from(s.shortfall)).sum::<i128>();
        let Some(number) = entry.account else {
            if entry.moved != Move::default() || gain != 0 {
                self.report.differ(|| format!("entry at {position}: money moves without an account"));
            }
            return;
        };
        let opened = entry.opened.as_ref().map_or((0, 0), |opened| (opened.balance, opened.limit));
        let owed = match entry.deed {
            EntryKind::Debt if entry.moved.debt != 0 => i128::from(entry.cost),
            // What was owed for a message that was not sent.
            EntryKind::Release => -i128::from(entry.cost),
            _ => 0,
        };
        self.report.paid_in += i128::from(opened.0);
        self.report.owed += owed;
        let sums = self.accounts.entry(number).or_default();
        sums.records += gain + i128::from(opened.0);
        sums.posted += i128::from(entry.moved.posted) + i128::from(opened.0);
        sums.pending += i128::from(entry.moved.pending);
        sums.limit += i128::from(entry.moved.limit) + i128::from(opened.1);
        sums.debt += i128::from(entry.moved.debt);
        sums.debt_records += owed;
        if gain != i128::from(entry.moved.posted) {
            let moved = entry.moved.posted;
            let deed = entry.deed;
            self.report.differ(|| {
                format!(
                    "entry at {position} ({deed:?}): its record says {gain}, the balance moves by {moved}"
                )
            });
        }
    }

    /// Compares the sums with the state that recovery makes, and closes the report.
    pub fn close(mut self, shard: &Shard) -> Report {
        let mut held: HashMap<AccountNumber, i128> = HashMap::new();
        for (_, session) in shard.sessions.iter() {
            *held.entry(session.account).or_default() += i128::from(session.reserved());
        }
        for (_, message) in shard.messages.iter() {
            *held.entry(message.account).or_default() += i128::from(message.pending());
        }
        let nothing = Sums::default();
        for (number, account) in shard.accounts().iter() {
            self.report.accounts += 1;
            self.report.posted += i128::from(account.posted);
            self.report.pending += i128::from(account.pending);
            let sums = self.accounts.get(&number).unwrap_or(&nothing);
            let pairs = [
                ("records and posted balance", sums.records, i128::from(account.posted)),
                ("moves and posted balance", sums.posted, i128::from(account.posted)),
                ("moves and pending balance", sums.pending, i128::from(account.pending)),
                (
                    "reservations and pending balance",
                    held.get(&number).copied().unwrap_or(0),
                    account.pending.into(),
                ),
                ("moves and limit", sums.limit, i128::from(account.limit)),
                ("moves and debt", sums.debt, i128::from(account.debt)),
                ("records and debt", sums.debt_records, i128::from(account.debt)),
            ];
            for (what, ours, theirs) in pairs.into_iter().filter(|(_, ours, theirs)| ours != theirs) {
                let name = account_name(shard, number);
                self.report.differ(|| format!("account {name}: {what} differ: {ours} and {theirs}"));
            }
        }
        if let Some(number) = self.accounts.keys().find(|number| shard.account_of(**number).is_none()) {
            self.report.differ(|| {
                format!("account number {number} has entries, but recovery knows no such account")
            });
        }
        self.report
    }
}

impl Visit for Tally {
    fn entry(&mut self, entry: &Entry, position: u64) -> Result<(), String> {
        if position < self.until {
            self.add(entry, position);
        }
        Ok(())
    }
}

/// An account as people know it.
pub fn account_name(shard: &Shard, number: AccountNumber) -> String {
    let kind = shard.account_of(number).map_or("?", |account| account.key.kind().name());
    format!("{kind}:{}", String::from_utf8_lossy(&shard.accounts().octets(number)))
}

/// Audits a ledger's folder. A running ledger may go on writing: what it appends meanwhile is left out.
///
/// # Errors
///
/// The files cannot be read, or are damaged so that the ledger would not start either.
pub fn audit(folder: &Path) -> Result<Report, Refusal> {
    let (key, shards) = identity_of(folder)?;
    let mut whole = Report { shards, ..Report::default() };
    for shard in 0..shards {
        add(&mut whole, audit_shard(&shard_folder(folder, shard), key)?);
    }
    Ok(whole)
}

fn audit_shard(folder: &Path, key: HashKey) -> Result<Report, Refusal> {
    let config = Arc::new(Config {
        duplicates: DuplicateLimits { octets_max: 0, ..DuplicateLimits::default() },
        ..Config::default()
    });
    let recovered = recover(folder, key, config.clone())?;
    let mut tally = Tally::until(recovered.end);
    tally.report.torn_octets = recovered.torn;
    let first = log::list(folder)?.first().map_or(FIRST_POSITION, |(base, _)| *base);
    let mut from = first;
    if first > FIRST_POSITION {
        tally.report.from_snapshot = 1;
        from = begin_at_snapshot(folder, key, &config, first, &mut tally)?;
    }
    read_log(folder, from, &mut tally)?;
    Ok(tally.close(&recovered.shard))
}

fn begin_at_snapshot(
    folder: &Path,
    key: HashKey,
    config: &Arc<Config>,
    first: u64,
    tally: &mut Tally,
) -> Result<u64, Refusal> {
    for (position, path) in snapshot::list(folder)?.iter().filter(|(position, _)| *position >= first) {
        if let Some(thawed) = snapshot::read(path, key, config.clone())? {
            tally.begin_with(&thawed.shard);
            return Ok(*position);
        }
    }
    Err(Refusal::Damaged(format!(
        "{}: the log begins at position {first}, and no whole snapshot after that tells what was before",
        folder.display()
    )))
}

pub(super) fn add(whole: &mut Report, part: Report) {
    whole.accounts += part.accounts;
    whole.entries += part.entries;
    whole.charged += part.charged;
    whole.refunded += part.refunded;
    whole.paid_in += part.paid_in;
    whole.owed += part.owed;
    whole.shortfall += part.shortfall;
    whole.posted += part.posted;
    whole.pending += part.pending;
    whole.torn_octets += part.torn_octets;
    whole.from_snapshot += part.from_snapshot;
    whole.discrepancies += part.discrepancies;
    whole.examples.extend(part.examples);
    whole.examples.truncate(EXAMPLES_MAX);
}
