//! Several ledgers over one log: in memory with answers that get lost, and in a PostgreSQL.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ::store::{
    Appended, LedgerBlock, LedgerHold, LedgerIdentity, LedgerLog, NewLedgerBlock, StoreError, postgres,
};

use super::{Options, read};
use crate::books::{AccountId, Books, LedgerPlace};
use crate::config::{Config, DefaultAccount};
use crate::records::Search;
use crate::request::{Destination, ServiceContext};
use crate::shard_threads::once;
use crate::{Answer, Batch, KeyKind, Kind, Ledger, NewRequest, Refused, Service, Units};

/// What all who share a log in memory have in common.
#[derive(Default)]
struct Logs {
    identity: Option<LedgerIdentity>,
    blocks: HashMap<u32, Vec<(u128, LedgerBlock)>>,
    first: u64,
    snapshots: HashMap<u32, (u64, Vec<u8>)>,
}

/// A log in memory. Of `lossy` calls that append, one gets no answer: by turns it was done, and it was not.
#[derive(Clone, Default)]
struct Memory {
    logs: Arc<Mutex<Logs>>,
    lossy: Option<u64>,
    appends: Arc<AtomicU64>,
    /// Held while somebody holds the end.
    end: Arc<Mutex<()>>,
}

fn lost() -> StoreError {
    StoreError::Unreachable { why: "the answer got lost".to_owned() }
}

impl Memory {
    fn logs(&self) -> MutexGuard<'_, Logs> {
        self.logs.lock().unwrap()
    }

    fn append_now(&self, block: &NewLedgerBlock) -> Appended {
        let mut logs = self.logs();
        let first = logs.first;
        let blocks = logs.blocks.entry(block.shard).or_default();
        let head = blocks.last().map_or(first, |(_, last)| last.position + last.octets.len() as u64);
        if head == block.position {
            let new = LedgerBlock { position: block.position, octets: block.octets.clone() };
            blocks.push((block.mark, new));
            return Appended::Done;
        }
        let since: Vec<_> = blocks.iter().filter(|(_, there)| there.position >= block.position).collect();
        if since[0].0 == block.mark {
            return Appended::Done;
        }
        Appended::Missed(since.into_iter().take(3).map(|(_, block)| block.clone()).collect())
    }

    fn append_lossy(&self, block: &NewLedgerBlock) -> Result<Appended, StoreError> {
        let append = self.appends.fetch_add(1, Ordering::Relaxed);
        match self.lossy {
            Some(lossy) if append % lossy == 1 => Err(lost()),
            Some(lossy) if append % lossy == 2 => {
                self.append_now(block);
                Err(lost())
            }
            _ => Ok(self.append_now(block)),
        }
    }
}

/// The end is held by a thread that waits to be told to let go.
struct MemoryHold {
    memory: Memory,
    shard: u32,
    from: u64,
    letting_go: Option<std::sync::mpsc::Sender<()>>,
}

impl LedgerHold for MemoryHold {
    fn head(&self) -> u64 {
        self.memory.head(self.shard).unwrap()
    }
    fn missed(&mut self) -> Vec<LedgerBlock> {
        self.memory.read(self.shard, self.from, 0).unwrap()
    }
    fn read(&mut self, from: u64) -> Result<Vec<LedgerBlock>, StoreError> {
        self.memory.read(self.shard, from, 0)
    }
    fn append(mut self: Box<Self>, block: &NewLedgerBlock) -> Result<Appended, StoreError> {
        let appended = self.memory.append_lossy(block);
        self.letting_go.take();
        appended
    }
}

impl LedgerLog for Memory {
    fn identify(&self, new: LedgerIdentity, first: u64) -> Result<LedgerIdentity, StoreError> {
        let mut logs = self.logs();
        logs.first = first;
        Ok(*logs.identity.get_or_insert(new))
    }
    fn identity(&self) -> Result<Option<LedgerIdentity>, StoreError> {
        Ok(self.logs().identity)
    }
    fn append(&self, block: &NewLedgerBlock) -> Result<Appended, StoreError> {
        let _end = self.end.lock().unwrap();
        self.append_lossy(block)
    }
    fn hold(&self, shard: u32, from: u64) -> Result<Box<dyn LedgerHold>, StoreError> {
        let (letting_go, let_go) = std::sync::mpsc::channel::<()>();
        let (held, is_held) = std::sync::mpsc::channel();
        let end = self.end.clone();
        std::thread::spawn(move || {
            let _end = end.lock().unwrap();
            held.send(()).unwrap();
            // An error: it was dropped.
            let _ = let_go.recv();
        });
        is_held.recv().unwrap();
        Ok(Box::new(MemoryHold { memory: self.clone(), shard, from, letting_go: Some(letting_go) }))
    }
    fn read(&self, shard: u32, from: u64, _: u64) -> Result<Vec<LedgerBlock>, StoreError> {
        let mut logs = self.logs();
        let blocks = logs.blocks.entry(shard).or_default();
        let behind = |block: &LedgerBlock| block.position + block.octets.len() as u64 > from;
        Ok(blocks.iter().map(|(_, block)| block).filter(|block| behind(block)).take(5).cloned().collect())
    }
    fn head(&self, shard: u32) -> Result<u64, StoreError> {
        let mut logs = self.logs();
        let first = logs.first;
        let last = logs.blocks.entry(shard).or_default().last();
        Ok(last.map_or(first, |(_, last)| last.position + last.octets.len() as u64))
    }
    fn snapshot(&self, shard: u32) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        Ok(self.logs().snapshots.get(&shard).cloned())
    }
    fn snapshot_position(&self, shard: u32) -> Result<Option<u64>, StoreError> {
        Ok(self.snapshot(shard)?.map(|(position, _)| position))
    }
    fn keep_snapshot(&self, shard: u32, position: u64, octets: Vec<u8>) -> Result<(), StoreError> {
        self.logs().snapshots.insert(shard, (position, octets));
        Ok(())
    }
}

/// Runs each test over a log in memory, and over one in a database.
macro_rules! over_both {
    ($($name:ident),* $(,)?) => {
        mod in_memory {
            $(
                #[test]
                fn $name() {
                    super::$name(super::in_memory(None));
                }
            )*
        }
        mod over_postgresql {
            $(
                #[test]
                fn $name() {
                    super::$name(super::in_postgres());
                }
            )*

            #[test]
            fn two_processes_with_one_log_take_each_debit_once_and_never_more_than_there_is() {
                super::hammer(&super::in_postgres(), 60);
            }
        }
    };
}

/// A log in a database of its own, and as another process sees it.
fn in_postgres() -> [Arc<dyn LedgerLog>; 2] {
    let url = servers::postgres::PostgresServer::shared().create_database();
    let open = || postgres::open(&url, &postgres::PostgresOptions::default()).unwrap().ledger_log().unwrap();
    [open(), open()]
}

fn in_memory(lossy: Option<u64>) -> [Arc<dyn LedgerLog>; 2] {
    let memory = Memory { lossy, ..Memory::default() };
    [Arc::new(memory.clone()), Arc::new(memory)]
}

const OPENING: i64 = 1_000;

fn open(log: &Arc<dyn LedgerLog>) -> Ledger {
    let default_account = Some(DefaultAccount { balance: OPENING, limit: 0 });
    let config = Config { default_account, ..Config::default() };
    Ledger::open_shared(&Options { shards: 2, config, ..Options::new(log.clone()) }).unwrap()
}

/// One request and its answer.
struct Asked<'a> {
    kind: Kind,
    account: &'a str,
    session: u64,
    number: u32,
    units: u64,
}

fn ask(ledger: &Ledger, asked: &Asked<'_>) -> Answer {
    let units = Some(Units::specific(asked.units));
    let is_update = matches!(asked.kind, Kind::Update | Kind::Terminate);
    let service = match is_update {
        true => Service { used: units, ..Service::default() },
        false => Service { requested: units, ..Service::default() },
    };
    let services = [service];
    let request = NewRequest {
        kind: asked.kind,
        account_kind: KeyKind::E164,
        account: asked.account.as_bytes(),
        session: [7, asked.session],
        number: asked.number,
        context: ServiceContext::SMS,
        class: 0,
        destination: Destination::default(),
        services: &services,
        tag: 0,
        opener: None,
    };
    let mut batches = [Batch::default(), Batch::default()];
    let shard = ledger.push(&mut batches, &request);
    let mut batch = std::mem::take(&mut batches[shard]);
    loop {
        let (to, told) = once();
        match ledger.try_submit(shard, batch, &to) {
            Ok(()) => return *told.blocking_recv().unwrap().answers().next().unwrap().1,
            Err(Refused::Busy(back)) => batch = back,
            Err(Refused::Stopped(_)) => panic!("{:?}", ledger.failure()),
        }
        std::thread::yield_now();
    }
}

fn debit(ledger: &Ledger, account: &str, session: u64, units: u64) -> Answer {
    ask(ledger, &Asked { kind: Kind::Debit, account, session, number: 0, units })
}

fn exact(log: &Arc<dyn LedgerLog>) -> crate::audit::Report {
    let report = read::audit(log).unwrap();
    assert!(report.is_exact(), "{report:#?}");
    report
}

fn waits<T>(asks: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(asks)
}

fn a_duplicate_gets_the_first_answer_by_whichever_process_and_after_all_of_them_began_again(
    logs: [Arc<dyn LedgerLog>; 2],
) {
    let both = [open(&logs[0]), open(&logs[1])];
    for turn in 0..6_u64 {
        let first = debit(&both[turn as usize % 2], "467001", turn, turn + 1);
        assert_eq!((first.result, first.is_duplicate, first.cost), (2001, false, turn as i64 + 1));
        let again = debit(&both[(turn as usize + 1) % 2], "467001", turn, turn + 1);
        assert_eq!(again, Answer { is_duplicate: true, services_from: again.services_from, ..first });
    }
    both.iter().for_each(Ledger::stop);
    let anew = open(&logs[1]);
    let again = debit(&anew, "467001", 3, 4);
    assert_eq!((again.is_duplicate, again.cost), (true, 4));
    anew.stop();
    assert_eq!(exact(&logs[0]).charged, 21);
}

fn a_session_goes_on_at_another_process_than_where_it_began(logs: [Arc<dyn LedgerLog>; 2]) {
    let both = [open(&logs[0]), open(&logs[1])];
    for session in 100..110 {
        let say = |place: usize, kind, number, units| {
            ask(&both[place], &Asked { kind, account: "467002", session, number, units }).result
        };
        assert_eq!(say(0, Kind::Initial, 0, 5), 2001);
        assert_eq!(say(1, Kind::Update, 1, 3), 2001);
        assert_eq!(say(0, Kind::Terminate, 2, 1), 2001);
        assert_eq!(say(1, Kind::Update, 3, 1), 5002);
    }
    both.iter().for_each(Ledger::stop);
    let report = exact(&logs[0]);
    assert_eq!((report.charged, report.pending), (40, 0));
}

fn what_one_process_did_to_an_account_the_other_tells_at_once(logs: [Arc<dyn LedgerLog>; 2]) {
    let both = [open(&logs[0]), open(&logs[1])];
    let books =
        [0, 1].map(|place| Books::kept(both[place].clone(), LedgerPlace::Shared(logs[place].clone())));
    let id = AccountId::parse("e164:467003").unwrap();
    assert_eq!(waits(books[0].open(&id, 10, 0)).unwrap().balance, 10);
    assert_eq!(waits(books[1].top_up(&id, 5)).unwrap().balance, 15);
    assert!(waits(books[0].block(&id, true)).unwrap().is_blocked);
    assert!(waits(books[1].account(&id)).unwrap().is_blocked);
    assert_eq!(debit(&both[1], "467003", 1, 1).result, 4010);
    let page = waits(books[0].records(&id, Search::default(), 0, 2)).unwrap();
    assert_eq!(page.records.len(), 2);
    let rest = waits(books[1].records(&id, Search::default(), page.next.unwrap(), 100)).unwrap();
    assert_eq!((rest.records.len(), rest.next), (2, None), "{rest:?}");
    both.iter().for_each(Ledger::stop);
}

/// Threads ask both processes for the same debits, each sent to both, of accounts that cannot pay all of
/// them.
fn hammer(logs: &[Arc<dyn LedgerLog>; 2], debits: u64) {
    const ACCOUNTS: u64 = 5;
    const THREADS: u64 = 4;
    let both = [open(&logs[0]), open(&logs[1])];
    let taken: Vec<AtomicU64> = (0..ACCOUNTS).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (both, taken) = (&both, &taken);
            scope.spawn(move || {
                for n in 0..debits {
                    let session = thread << 32 | n;
                    let account = (n * 7 + thread) % ACCOUNTS;
                    let name = format!("46800{account}");
                    let place = ((n + thread) % 2) as usize;
                    let units = OPENING as u64 / 40 + n % 3;
                    let first = debit(&both[place], &name, session, units);
                    let again = debit(&both[1 - place], &name, session, units);
                    assert!(!first.is_duplicate && again.is_duplicate, "{first:?} {again:?}");
                    assert_eq!((first.result, first.cost), (again.result, again.cost));
                    assert!([2001, 4012].contains(&first.result), "{first:?}");
                    taken[account as usize].fetch_add(first.cost as u64, Ordering::Relaxed);
                }
            });
        }
    });
    both.iter().for_each(Ledger::stop);
    let report = exact(&logs[0]);
    let taken: Vec<u64> = taken.iter().map(|taken| taken.load(Ordering::Relaxed)).collect();
    assert_eq!(report.charged, i128::from(taken.iter().sum::<u64>()));
    assert_eq!(report.posted, i128::from(OPENING) * i128::from(ACCOUNTS) - report.charged);
    assert!(taken.iter().all(|taken| *taken <= OPENING as u64), "{taken:?}");
    assert_eq!(report.accounts, ACCOUNTS);
}

#[test]
fn two_processes_with_one_log_take_each_debit_once_and_never_more_than_there_is() {
    hammer(&in_memory(None), 300);
}

#[test]
fn answers_of_the_database_that_get_lost_lose_no_debit_and_repeat_none() {
    for lossy in [3, 4, 7] {
        hammer(&in_memory(Some(lossy)), 12);
    }
}

fn a_start_reads_the_newest_snapshot_and_what_came_after(logs: [Arc<dyn LedgerLog>; 2]) {
    let ledger = Ledger::open_shared(&Options {
        shards: 1,
        snapshot_octets: 2_000,
        config: Config {
            default_account: Some(DefaultAccount { balance: OPENING, limit: 0 }),
            ..Config::default()
        },
        ..Options::new(logs[0].clone())
    })
    .unwrap();
    for session in 0..120 {
        debit(&ledger, &format!("4690{}", session % 7), session, 1);
    }
    ledger.stop();
    assert!(logs[1].snapshot_position(0).unwrap().is_some(), "one was written");
    let anew = open(&logs[1]);
    assert!(debit(&anew, "46900", 0, 1).is_duplicate, "also what came before the snapshot is known again");
    assert!(debit(&anew, "46901", 8, 1).is_duplicate);
    assert_eq!(debit(&anew, "46901", 1_000, 1).result, 2001);
    anew.stop();
    assert_eq!(exact(&logs[0]).charged, 121);
}

#[test]
fn an_entry_that_memory_has_no_more_is_read_from_the_log() {
    use crate::shard::Past;
    let [log, _] = in_memory(None);
    let ledger = open(&log);
    (0..10).for_each(|session| assert_eq!(debit(&ledger, "467004", session, 1).result, 2001));
    ledger.stop();
    for shard in 0..2 {
        let blocks = log.read(shard, 0, 0).unwrap();
        let mut past = super::log_cache::LogCache::new(log.clone(), shard);
        let Some(last) = blocks.last() else { continue };
        past.push(last.clone());
        for block in &blocks {
            let mut octets = Vec::new();
            let first = block.position + crate::block::HEAD_OCTETS as u64;
            assert!(past.read(first, &mut octets) && block.octets.ends_with(&octets));
            assert!(!past.read(block.position, &mut octets), "a head is no entry");
        }
    }
}

over_both!(
    a_duplicate_gets_the_first_answer_by_whichever_process_and_after_all_of_them_began_again,
    a_session_goes_on_at_another_process_than_where_it_began,
    what_one_process_did_to_an_account_the_other_tells_at_once,
    a_start_reads_the_newest_snapshot_and_what_came_after,
);
