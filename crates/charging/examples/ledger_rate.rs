//! How fast the ledger is: events a second and CPU seconds for a million of them, of the state machine alone and with its log on disk.
//!
//! `cargo run --release -p charging --example ledger_rate -- [FOLDER] [EVENTS] [ACCOUNTS]`, with `-` for no disk at all.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use charging::ledger::config::DefaultAccount;
use charging::ledger::request::{Destination, ServiceContext};
use charging::ledger::shard::{Past, Shard};
use charging::ledger::{
    Batch, Config, Fsync, HashKey, KeyKind, Kind, Ledger, NewRequest, Options, Receiver, Service, Units,
};

const KEY: HashKey = HashKey([1, 2]);
/// Requests in a batch: what one connection's wake-up brings.
const BATCH: u32 = 64;
/// Simulated time of a turn of the state machine alone: a million events in the window of duplicates.
const TURN_US: u64 = 192_000;
/// Requests in flight: fifty connections with a window of 64.
const IN_FLIGHT: u32 = 50 * 64;

fn config() -> Config {
    Config { default_account: Some(DefaultAccount { balance: 1 << 40, limit: 0 }), ..Config::default() }
}

/// Nanoseconds of CPU of all threads.
fn cpu_ns() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("schedstat")).ok();
    tasks
        .filter_map(|task| of(task.ok()?))
        .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
        .sum()
}

struct Events {
    next: u32,
    accounts: u32,
    hosts: [String; 50],
}

impl Events {
    fn new(accounts: u32) -> Events {
        Events { next: 0, accounts, hosts: std::array::from_fn(|i| format!("client{i}.example.net")) }
    }

    /// A request of its own session for any of the accounts.
    fn with<T>(&mut self, key: HashKey, take: impl FnOnce(&NewRequest<'_>) -> T) -> T {
        let number = self.next;
        self.next += 1;
        let account = number.wrapping_mul(2_654_435_761) % self.accounts;
        let mut digits = *b"46700000000";
        let mut rest = account;
        for digit in digits[3..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        // A batch is of one connection, which counts its end-to-end ids up.
        let connection = number / BATCH % 50;
        let end_to_end = number / (50 * BATCH) * BATCH + number % BATCH;
        let host = &self.hosts[connection as usize];
        let mut session = [b'x'; 40];
        session[..host.len()].copy_from_slice(host.as_bytes());
        session[36..].copy_from_slice(&number.to_le_bytes());
        take(&NewRequest {
            kind: Kind::Debit,
            account_kind: KeyKind::E164,
            account: &digits,
            session: key.octets(&session),
            number: 0,
            origin: key.origin_host(host.as_bytes()).request(end_to_end),
            context: ServiceContext::SMS,
            class: 0,
            destination: Destination::parse(b"46709876543"),
            services: &[Service { requested: Some(Units::specific(1)), ..Service::default() }],
            opener: None,
            tag: u64::from(number),
        })
    }
}

struct Nothing;

impl Past for Nothing {
    fn read(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// The state machine alone, in turns as an owner has them.
fn alone(accounts: u32, events: u32) {
    let mut shard = Shard::new(KEY, Arc::new(config()));
    let mut source = Events::new(accounts);
    let mut log = Vec::new();
    let mut position = 4_096;
    let (mut turns_ns, mut octets, mut done) = (Vec::new(), 0, 0);
    let mut batches: Vec<Batch> = (0..IN_FLIGHT / BATCH).map(|_| Batch::default()).collect();
    let mut turn = 0;
    while done < events + accounts {
        for batch in &mut batches {
            batch.clear();
            for _ in 0..BATCH {
                source.with(KEY, |request| {
                    let (packed, hash) =
                        charging::ledger::batch::account_hash(KEY, request.account_kind, request.account);
                    batch.push(packed, hash, request);
                });
            }
        }
        let started = Instant::now();
        turn += 1;
        let now_us = 1_000_000_000_000 + turn * TURN_US;
        log.clear();
        shard.begin_block(position, now_us);
        for batch in &mut batches {
            batch.apply(&mut shard, now_us, &mut log, &Nothing);
        }
        done += IN_FLIGHT;
        if done > accounts {
            turns_ns.push(started.elapsed().as_nanos() as u64);
            octets += log.len();
        }
        position += log.len() as u64;
        assert!(batches.iter().all(|batch| batch.answers().all(|(_, answer, _)| answer.result == 2001)));
    }
    let counted = f64::from(done - accounts);
    // The fastest tenth: in the others another program had the processor for a while.
    turns_ns.sort_unstable();
    let ns = turns_ns[turns_ns.len() / 10] as f64 / f64::from(IN_FLIGHT);
    let entry = octets as f64 / counted;
    snapshot(&shard, accounts);
    println!(
        "apply alone   {accounts:>9} accounts  {ns:>6.0} ns/event (fastest tenth of turns)  {entry:>5.1} octets/entry  {} opened",
        shard.accounts().len()
    );
}

/// How long an owner stands still for a snapshot, and how long it takes to read one back.
fn snapshot(shard: &Shard, accounts: u32) {
    let folder = std::env::temp_dir().join(format!("ledger-rate-snapshot-{accounts}"));
    std::fs::create_dir_all(&folder).expect("the folder is writable");
    let started = Instant::now();
    let frozen = shard.freeze(4_096);
    let stood = started.elapsed();
    let path = frozen.write(&folder).expect("the folder is writable");
    let started = Instant::now();
    let thawed = charging::ledger::snapshot::read(&path, KEY, Arc::new(config()))
        .expect("it is there")
        .expect("it is whole");
    assert_eq!(thawed.shard.accounts().len(), shard.accounts().len());
    println!("snapshot      {accounts:>9} accounts  {stood:.1?} to copy, {:.1?} to read", started.elapsed());
    let _ = std::fs::remove_dir_all(&folder);
}

struct Letterbox(Mutex<Sender<Batch>>);

impl Receiver for Letterbox {
    fn answered(&self, _: usize, batch: Batch) {
        // Nobody listens at the end.
        let _ = self.0.lock().expect("no thread panics here").send(batch);
    }
}

/// With the log on disk, synced before each answer.
fn on_disk(folder: &Path, accounts: u32, events: u32) {
    let folder = folder.join(format!("ledger-rate-{accounts}"));
    let _ = std::fs::remove_dir_all(&folder);
    let options = Options { fsync: Fsync::Always, config: config(), ..Options::new(&folder) };
    let ledger = Ledger::open(&options).expect("the folder is writable");
    let (sender, inbox) = channel();
    let to: Arc<dyn Receiver> = Arc::new(Letterbox(Mutex::new(sender)));
    let mut source = Events::new(accounts);
    let mut spare: Vec<Batch> = (0..IN_FLIGHT / BATCH).map(|_| Batch::default()).collect();
    let (mut sent, mut answered) = (0, 0);
    let (mut started, mut cpu, mut warm) = (Instant::now(), cpu_ns(), false);
    let key = ledger.key();
    while answered < events + accounts {
        while let Some(mut batch) = spare.pop() {
            batch.clear();
            for _ in 0..BATCH {
                source.with(key, |request| ledger.push(std::slice::from_mut(&mut batch), request));
            }
            sent += BATCH;
            ledger.try_submit(0, batch, &to).expect("the queue has room");
        }
        let batch = inbox.recv().expect("the owner answers");
        assert!(batch.answers().all(|(_, answer, _)| answer.result == 2001));
        answered += batch.len() as u32;
        spare.push(batch);
        spare.extend(inbox.try_iter().inspect(|batch| answered += batch.len() as u32));
        if !warm && answered >= accounts {
            (started, cpu, warm) = (Instant::now(), cpu_ns(), true);
            (sent, answered) = (sent - answered + accounts, accounts);
        }
    }
    let counted = f64::from(answered - accounts);
    let seconds = started.elapsed().as_secs_f64();
    let cpu_s = (cpu_ns() - cpu) as f64 / 1e9;
    println!(
        "log on disk   {accounts:>9} accounts  {:>9.0} events/s  {:.2} CPU s per million, with who asks",
        counted / seconds,
        cpu_s / counted * 1e6
    );
    ledger.stop();
    let started = Instant::now();
    let ledger = Ledger::open(&options).expect("what was written is read back");
    println!("recovery      {accounts:>9} accounts  {:.2} s", started.elapsed().as_secs_f64());
    ledger.stop();
    let _ = std::fs::remove_dir_all(&folder);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let events = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3_000_000);
    let accounts = arguments.next().and_then(|text| text.parse().ok());
    let sizes = accounts.map_or(vec![1, 100_000, 1_000_000], |accounts| vec![accounts]);
    for &accounts in &sizes {
        alone(accounts, events);
    }
    if folder.as_os_str() == "-" {
        return;
    }
    for &accounts in &sizes {
        on_disk(&folder, accounts, events);
    }
}
