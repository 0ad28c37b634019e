//! Charging records: read from the ledger's log, where each entry is one, off the way of requests. Whoever
//! reads them never makes an owner wait: blocks are never changed once they are written. Reading blocks the
//! thread.

mod ber;
mod blocks;
mod export;
#[cfg(test)]
mod tests;
mod text;

use std::io;

pub use blocks::Blocks;
pub use export::{Export, Format, Gone, Summary};

use crate::account::AccountNumber;
use crate::block;
use crate::entry::{Entry, EntryKind, ServiceEntry};
use crate::hash::Hash128;
use crate::log::FIRST_POSITION;
use crate::request::{MessageKey, ServiceContext, Units};
use crate::{KeyKind, Shard};

/// One charging record: one service of a request, or the whole where it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub shard: usize,
    /// The entry's position in the shard's log; with `part` it names the record for ever.
    pub position: u64,
    /// Which service of the entry.
    pub part: u32,
    pub time_us: u64,
    pub account: AccountNumber,
    pub account_kind: Option<KeyKind>,
    pub account_name: String,
    pub deed: EntryKind,
    pub result: u32,
    pub session: Hash128,
    pub number: u32,
    pub context: ServiceContext,
    pub class: u8,
    /// The digits of who was reached.
    pub destination: String,
    pub rating_group: Option<u32>,
    pub service_id: Option<u32>,
    pub used: Units,
    pub granted: Units,
    /// Minor units: above zero what the account was charged, below zero what it was given.
    pub charged: i64,
    /// Minor units that were used and could not be charged.
    pub shortfall: i64,
    /// Minor units that went to the debt of an emergency.
    pub owed: i64,
    pub tariff: u16,
    pub message: Option<MessageKey>,
    pub parts: u32,
}

impl Record {
    /// As one object of JSON, with the names that exports have.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(text::RecordRow::of(self)).unwrap_or_default()
    }
}

/// The name of an account, by its number.
pub trait Names {
    /// Its kind and its octets.
    fn name(&self, account: AccountNumber) -> Option<(KeyKind, Vec<u8>)>;
}

impl Names for Shard {
    fn name(&self, account: AccountNumber) -> Option<(KeyKind, Vec<u8>)> {
        let kind = self.account_of(account)?.key.kind();
        Some((kind, self.accounts().octets(account)))
    }
}

/// Which records are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// None: of all accounts.
    pub account: Option<AccountNumber>,
    /// From this time on, in microseconds of UTC.
    pub from_us: u64,
    /// Before this time.
    pub until_us: u64,
    /// Only what moved money or was reported, not enquiries and refusals.
    pub only_charges: bool,
}

impl Default for Search {
    fn default() -> Search {
        Search { account: None, from_us: 0, until_us: u64::MAX, only_charges: false }
    }
}

/// Some records, in the order of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub records: Vec<Record>,
    /// Where the next page begins. None: these were the last ones.
    pub next: Option<u64>,
}

/// A page is closed after so many records; those of one entry stay together.
pub const PAGE_RECORDS_MAX: usize = 100_000;

/// Reads a page of a shard's records, from a position that a page before gave (0: from the beginning).
///
/// # Errors
///
/// The log cannot be read.
pub fn page(
    log: &Blocks,
    shard: usize,
    search: &Search,
    from: u64,
    limit: usize,
    names: &dyn Names,
) -> io::Result<Page> {
    let mut page = Page::default();
    let limit = limit.clamp(1, PAGE_RECORDS_MAX);
    let mut reader = Reader { shard, search, names, limit, from, entry: Entry::default() };
    log.each(from, search.from_us, |octets, base| reader.segment(octets, base, &mut page))?;
    Ok(page)
}

struct Reader<'a> {
    shard: usize,
    search: &'a Search,
    names: &'a dyn Names,
    limit: usize,
    from: u64,
    entry: Entry,
}

impl Reader<'_> {
    /// Adds what a segment has. False: the page is full, or nothing later can belong to it.
    fn segment(&mut self, octets: &[u8], base: u64, page: &mut Page) -> bool {
        let mut offset = 0;
        while let Some((head, body)) =
            octets.get(offset..).and_then(|rest| block::read(rest, base + offset as u64))
        {
            if head.time_us >= self.search.until_us {
                return false;
            }
            let start = base + (offset + block::HEAD_OCTETS) as u64;
            offset += block::HEAD_OCTETS + body.len();
            let is_wanted = head.time_us >= self.search.from_us && base + offset as u64 > self.from;
            if is_wanted && !self.block(body, start, page) {
                return false;
            }
        }
        true
    }

    fn block(&mut self, body: &[u8], start: u64, page: &mut Page) -> bool {
        let mut at = 0;
        while let Some(len) =
            body.get(at..).filter(|rest| !rest.is_empty()).and_then(|rest| self.entry.decode(rest))
        {
            let position = start + at as u64;
            at += len;
            if position < self.from || !self.is_wanted() {
                continue;
            }
            if page.records.len() >= self.limit {
                page.next = Some(position);
                return false;
            }
            records_of(&self.entry, self.shard, position, self.names, &mut page.records);
        }
        true
    }

    fn is_wanted(&self) -> bool {
        let is_it = self.search.account.is_none_or(|account| self.entry.account == Some(account));
        is_it && (!self.search.only_charges || is_charge(&self.entry))
    }
}

/// Whether an entry is about money that moved, or about use that was reported.
fn is_charge(entry: &Entry) -> bool {
    let is_used = entry.services.iter().any(|service| !service.used.is_empty() || service.bundled > 0);
    entry.moved.posted != 0 || entry.moved.debt != 0 || is_used
}

/// The records of one entry.
fn records_of(entry: &Entry, shard: usize, position: u64, names: &dyn Names, into: &mut Vec<Record>) {
    let Some(account) = entry.account else {
        return;
    };
    let name = names.name(account);
    let is_priced_only = matches!(entry.deed, EntryKind::CheckBalance | EntryKind::PriceEnquiry);
    let nothing = [ServiceEntry { result: entry.result, ..ServiceEntry::default() }];
    let services = if entry.services.is_empty() { &nothing[..] } else { &entry.services[..] };
    for (part, service) in services.iter().enumerate() {
        // What a service still holds of a credit pool is no record: nothing of it was used.
        if service.is_part && service.used.is_empty() && service.bundled == 0 {
            continue;
        }
        let own = if is_priced_only || entry.deed == EntryKind::Refund { 0 } else { service.cost };
        let whole = match entry.deed {
            EntryKind::Refund | EntryKind::TopUp if part == 0 => -entry.cost,
            EntryKind::Settle => entry.cost,
            _ => 0,
        };
        into.push(Record {
            shard,
            position,
            part: part as u32,
            time_us: entry.time_us,
            account,
            account_kind: name.as_ref().map(|(kind, _)| *kind),
            account_name: name
                .as_ref()
                .map_or_else(String::new, |(_, name)| String::from_utf8_lossy(name).into_owned()),
            deed: entry.deed,
            result: service.result,
            session: entry.session,
            number: entry.number,
            context: entry.context,
            class: entry.class,
            destination: entry.destination.to_string(),
            rating_group: service.rating_group,
            service_id: service.service_id,
            used: service.used,
            granted: service.granted,
            charged: own.saturating_add(whole),
            shortfall: service.shortfall,
            owed: if part == 0 { entry.moved.debt } else { 0 },
            tariff: service.tariff,
            message: entry.message,
            parts: entry.parts,
        });
    }
}

/// The first position there can be.
pub const BEGIN: u64 = FIRST_POSITION;
