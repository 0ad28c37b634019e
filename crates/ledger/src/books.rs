//! Accounts one at a time, for people and programs: opened, looked at, topped up, blocked.

mod sessions;

pub use sessions::{Ended, SessionPlace, SessionView};

use crate::account::AccountNumber;
use crate::key::KEY_OCTETS_MAX;
use crate::records::{self, Blocks, Names, Search};
use crate::request::{Destination, ServiceContext, result};
use crate::session::Session;
use crate::session_clients::{NoClients, RequestKind, SessionClients};
use crate::shard_threads::{once, shard_folder};
use crate::{Answer, Batch, KeyKind, Kind, Ledger, NewRequest, Refused};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Accounts of one page.
pub const PAGE_MAX: usize = 1_000;

/// Which account: a kind and what it is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountId {
    kind: KeyKind,
    octets: Vec<u8>,
}

impl AccountId {
    /// The account of a client of ours.
    pub fn named(name: &str) -> AccountId {
        AccountId { kind: KeyKind::Name, octets: name.as_bytes().to_vec() }
    }

    /// `e164:46701234567`, `imsi:…`, `sip:…`, `nai:…`, `private:…`; anything else is the name of a client of
    /// ours.
    ///
    /// # Errors
    /// It is empty, or has more than 255 octets.
    pub fn parse(text: &str) -> Result<AccountId, String> {
        let kinds =
            [KeyKind::E164, KeyKind::Imsi, KeyKind::Sip, KeyKind::Nai, KeyKind::Private, KeyKind::Name];
        let known = text.split_once(':').and_then(|(kind, rest)| {
            kinds.into_iter().find(|known| known.name() == kind).map(|kind| (kind, rest))
        });
        let (kind, name) = known.unwrap_or((KeyKind::Name, text));
        match name.len() {
            0 => Err("is empty".to_owned()),
            1..=KEY_OCTETS_MAX => Ok(AccountId { kind, octets: name.as_bytes().to_vec() }),
            octets => Err(format!("has {octets} octets, and {KEY_OCTETS_MAX} are the limit")),
        }
    }
}

impl AccountId {
    /// The name, if it is the account of a client of ours.
    pub fn name(&self) -> Option<&str> {
        match self.kind {
            KeyKind::Name => std::str::from_utf8(&self.octets).ok(),
            _ => None,
        }
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = String::from_utf8_lossy(&self.octets);
        match self.kind {
            KeyKind::Name => write!(f, "{name}"),
            kind => write!(f, "{}:{name}", kind.name()),
        }
    }
}

/// An account's money, in minor units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountView {
    /// Which.
    pub id: AccountId,
    /// What was paid in, less what was used.
    pub balance: i64,
    /// Of it, what is held for what goes on.
    pub reserved: i64,
    /// What was taken for good, less refunds.
    pub used: i64,
    /// What emergencies cost, apart from the balance.
    pub debt: i64,
    /// How far below zero the balance may go.
    pub limit: i64,
    /// It is refused everything but what is due.
    pub is_blocked: bool,
}

/// Why something about an account was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BooksError {
    /// There is no such account.
    Unknown,
    /// There is one already.
    Exists,
    /// The ledger refused it with this Result-Code.
    Refused(u32),
    /// Too much waits: try again.
    Busy,
    /// The ledger's disk failed, or it ends.
    Stopped,
}

impl fmt::Display for BooksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BooksError::Unknown => f.write_str("there is no such account"),
            BooksError::Exists => f.write_str("there is an account of this id already"),
            BooksError::Refused(code) => write!(f, "the ledger refused it (Result-Code {code})"),
            BooksError::Busy => f.write_str("the ledger has too much to do: try again"),
            BooksError::Stopped => f.write_str("the ledger has stopped: look at its disk, then start again"),
        }
    }
}
impl std::error::Error for BooksError {}

/// A ledger, seen an account at a time.
#[derive(Clone)]
pub struct Books {
    ledger: Ledger,
    kept: LedgerPlace,
    clients: Arc<dyn SessionClients>,
}

/// Where a ledger's logs are.
#[derive(Clone)]
pub enum LedgerPlace {
    /// In this folder.
    Folder(Arc<Path>),
    /// In the database that processes share.
    Shared(Arc<dyn store::LedgerLog>),
}

impl LedgerPlace {
    /// The log of one of its shards.
    pub fn blocks(&self, shard: usize) -> Blocks {
        match self {
            LedgerPlace::Folder(folder) => Blocks::Folder(shard_folder(folder, shard)),
            LedgerPlace::Shared(log) => Blocks::Shared(log.clone(), u32::try_from(shard).unwrap_or(u32::MAX)),
        }
    }
}

/// One account's name: no other is asked for.
struct Just(AccountId);

impl Names for Just {
    fn name(&self, _account: AccountNumber) -> Option<(KeyKind, Vec<u8>)> {
        Some((self.0.kind, self.0.octets.clone()))
    }
}

impl Books {
    /// Of this ledger, which is kept in this folder.
    pub fn new(ledger: Ledger, folder: &Path) -> Books {
        Books::kept(ledger, LedgerPlace::Folder(folder.into()))
    }

    /// Of this ledger, whose logs are there.
    pub fn kept(ledger: Ledger, kept: LedgerPlace) -> Books {
        Books { ledger, kept, clients: Arc::new(NoClients) }
    }

    /// The same, whose sessions have these clients.
    pub fn with_clients(self, clients: Arc<dyn SessionClients>) -> Books {
        Books { clients, ..self }
    }

    /// Charging records of an account within a time, in their order, from a place that an earlier page told.
    ///
    /// # Errors
    /// There is no such account, or the log cannot be read.
    pub async fn records(
        &self,
        id: &AccountId,
        search: Search,
        from: u64,
        count: usize,
    ) -> Result<records::Page, BooksError> {
        let (packed, hash) = self.ledger.account_hash(id.kind, &id.octets);
        let shard = self.ledger.shard_of(hash);
        let (tell, told) = oneshot::channel();
        self.ledger.ask(shard, move |state| {
            let _ = tell.send(state.find(&packed));
        });
        let number = told.await.map_err(|_| BooksError::Stopped)?.ok_or(BooksError::Unknown)?;
        let (log, names) = (self.kept.blocks(shard), Just(id.clone()));
        let search = Search { account: Some(number), ..search };
        let read = move || records::page(&log, shard, &search, from, count.clamp(1, PAGE_MAX), &names);
        let page = tokio::task::spawn_blocking(read).await.map_err(|_| BooksError::Stopped)?;
        page.map_err(|error| {
            tracing::error!(%error, "the ledger's log cannot be read");
            BooksError::Stopped
        })
    }

    /// The ledger behind them: its prices and rules.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Opens an account with so much in it.
    ///
    /// # Errors
    /// There is one already, or the ledger cannot.
    pub async fn open(&self, id: &AccountId, balance: i64, limit: i64) -> Result<AccountView, BooksError> {
        if self.find(id).await?.is_some() {
            return Err(BooksError::Exists);
        }
        self.carry_out(id, Kind::Create { balance, limit }).await?;
        self.account(id).await
    }

    /// One account.
    ///
    /// # Errors
    /// There is none, or the ledger has stopped.
    pub async fn account(&self, id: &AccountId) -> Result<AccountView, BooksError> {
        self.find(id).await?.ok_or(BooksError::Unknown)
    }

    /// Pays in so many minor units. Clients whose sessions had less than they asked for are asked to come
    /// again.
    ///
    /// # Errors
    /// There is no such account, the sum does not fit, or the ledger cannot.
    pub async fn top_up(&self, id: &AccountId, amount: i64) -> Result<AccountView, BooksError> {
        let account = self.change(id, Kind::TopUp { amount }).await?;
        self.ask_clients(id, RequestKind::ReAuth, Session::is_starved);
        Ok(account)
    }

    /// How far below zero it may go.
    ///
    /// # Errors
    /// There is no such account, or the ledger cannot.
    pub async fn set_limit(&self, id: &AccountId, limit: i64) -> Result<AccountView, BooksError> {
        let account = self.change(id, Kind::SetLimit { limit }).await?;
        self.ask_clients(id, RequestKind::ReAuth, Session::is_starved);
        Ok(account)
    }

    /// Blocks it, and asks the clients of its sessions to end them; or lets it go on.
    ///
    /// # Errors
    /// There is no such account, or the ledger cannot.
    pub async fn block(&self, id: &AccountId, blocked: bool) -> Result<AccountView, BooksError> {
        let account = self.change(id, Kind::Block { blocked }).await?;
        if blocked {
            self.ask_clients(id, RequestKind::Abort, |_| true);
        }
        Ok(account)
    }

    /// So many messages that are used before money, until they expire (seconds since 1970).
    ///
    /// # Errors
    /// There is no such account, or the ledger cannot.
    pub async fn add_bundle(
        &self,
        id: &AccountId,
        units: u64,
        expires_s: u32,
    ) -> Result<AccountView, BooksError> {
        self.change(id, Kind::AddBundle { units, context: ServiceContext::SMS, expires_s }).await
    }

    async fn change(&self, id: &AccountId, kind: Kind) -> Result<AccountView, BooksError> {
        // Else the ledger would open it.
        self.account(id).await?;
        self.carry_out(id, kind).await?;
        self.account(id).await
    }

    /// Up to so many accounts, in the order in which each shard opened them, from a place that an earlier
    /// page told.
    ///
    /// # Errors
    /// The ledger has stopped.
    pub async fn page(&self, from: u64, count: usize) -> Result<(Vec<AccountView>, Option<u64>), BooksError> {
        let count = count.clamp(1, PAGE_MAX);
        let (mut shard, mut number) = ((from >> 32) as usize, from as u32);
        let mut page = Vec::new();
        while shard < self.ledger.shards() && page.len() < count {
            let wanted = count - page.len();
            let (tell, told) = oneshot::channel();
            self.ledger.ask(shard, move |state| {
                let accounts = state.accounts();
                let some: Vec<AccountView> =
                    (number..).take(wanted).map_while(|number| view(accounts, number)).collect();
                // Who asked may have gone.
                let _ = tell.send(some);
            });
            let some = told.await.map_err(|_| BooksError::Stopped)?;
            number += some.len() as u32;
            if some.len() < wanted {
                (shard, number) = (shard + 1, 0);
            }
            page.extend(some);
        }
        let next = (shard < self.ledger.shards()).then_some((shard as u64) << 32 | u64::from(number));
        Ok((page, next))
    }

    async fn find(&self, id: &AccountId) -> Result<Option<AccountView>, BooksError> {
        let (packed, hash) = self.ledger.account_hash(id.kind, &id.octets);
        let (tell, told) = oneshot::channel();
        self.ledger.ask(self.ledger.shard_of(hash), move |state| {
            let found = state.find(&packed).and_then(|number| view(state.accounts(), number));
            let _ = tell.send(found);
        });
        told.await.map_err(|_| BooksError::Stopped)
    }

    async fn carry_out(&self, id: &AccountId, kind: Kind) -> Result<Answer, BooksError> {
        let request = NewRequest {
            kind,
            account_kind: id.kind,
            account: &id.octets,
            session: [0, 0],
            number: 0,
            context: ServiceContext::default(),
            class: 0,
            destination: Destination::default(),
            services: &[],
            opener: None,
            tag: 0,
        };
        let (packed, hash) = self.ledger.account_hash(id.kind, &id.octets);
        let mut batch = Batch::default();
        batch.push(packed, hash, &request);
        let (to, told) = once();
        match self.ledger.try_submit(self.ledger.shard_of(hash), batch, &to) {
            Ok(()) => {}
            Err(Refused::Busy(_)) => return Err(BooksError::Busy),
            Err(Refused::Stopped(_)) => return Err(BooksError::Stopped),
        }
        let batch = told.await.map_err(|_| BooksError::Stopped)?;
        let answer = batch.answers().next().map(|(_, answer, _)| *answer).ok_or(BooksError::Stopped)?;
        match answer.result {
            result::SUCCESS => Ok(answer),
            result::USER_UNKNOWN => Err(BooksError::Unknown),
            result::UNABLE_TO_COMPLY => Err(BooksError::Stopped),
            other => Err(BooksError::Refused(other)),
        }
    }
}

fn view(accounts: &crate::account::Accounts, number: u32) -> Option<AccountView> {
    let account = accounts.account(number)?;
    Some(AccountView {
        id: AccountId { kind: account.key.kind(), octets: accounts.octets(number) },
        balance: account.posted,
        reserved: account.pending,
        used: account.used,
        debt: account.debt,
        limit: account.limit,
        is_blocked: account.is_blocked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    #[test]
    fn an_account_is_told_as_it_was_read() {
        for (text, told) in [
            ("e164:46701234567", "e164:46701234567"),
            ("city", "city"),
            ("name:city", "city"),
            ("other:x", "other:x"),
        ] {
            assert_eq!(AccountId::parse(text).unwrap().to_string(), told);
        }
        assert!(AccountId::parse("").is_err() && AccountId::parse("imsi:").is_err());
        assert!(AccountId::parse(&"x".repeat(256)).is_err());
    }

    #[tokio::test]
    async fn an_account_is_opened_once_topped_up_and_listed() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { shards: 3, ..Options::new(folder.path()) };
        let ledger = Ledger::open(&options).unwrap();
        let books = Books::new(ledger.clone(), folder.path());
        let id = |n: u32| AccountId::parse(&format!("e164:4670{n:07}")).unwrap();
        assert_eq!(books.account(&id(0)).await, Err(BooksError::Unknown));
        assert_eq!(books.top_up(&id(0), 5).await, Err(BooksError::Unknown), "a top-up opens nothing");
        for n in 0..50 {
            assert_eq!(books.open(&id(n), 100, 10).await.unwrap().balance, 100);
        }
        assert_eq!(books.open(&id(7), 1, 0).await, Err(BooksError::Exists));
        let topped = books.top_up(&id(7), 23).await.unwrap();
        assert_eq!(
            (topped.balance, topped.reserved, topped.used, topped.debt, topped.limit),
            (123, 0, 0, 0, 10)
        );
        let found = books.records(&id(7), Search::default(), 0, 10).await.unwrap().records;
        assert_eq!(found.len(), 2, "it was opened and topped up: {found:?}");
        assert!(found.iter().all(|record| record.account_name == "46700000007"));
        let none = Search { until_us: 1, ..Search::default() };
        assert!(books.records(&id(7), none, 0, 10).await.unwrap().records.is_empty());
        assert!(books.block(&id(7), true).await.unwrap().is_blocked);
        let (mut seen, mut from) = (Vec::new(), Some(0));
        while let Some(place) = from {
            let (page, next) = books.page(place, 7).await.unwrap();
            assert!(page.len() <= 7);
            seen.extend(page.into_iter().map(|account| account.id));
            from = next;
        }
        seen.sort();
        assert_eq!(seen, (0..50).map(id).collect::<Vec<_>>());
        ledger.stop();
        assert_eq!(books.top_up(&id(7), 1).await, Err(BooksError::Stopped));
    }
}
