//! Real runs of a ledger and of its log, and a power cut at each of their moments: each debit that was
//! answered is there, once, and no start is refused.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use power_cut::{Dice, Op, RecordedDisk, Replay, root};
use wal::Disk;

use super::bench::{KEY, SECOND, asks, plain};
use super::disk::{debit, options, push_debit};
use crate::batch::Batch;
use crate::config::{Config, DefaultAccount, DuplicateLimits};
use crate::log::{FIRST_POSITION, Log, list};
use crate::recovery::recover;
use crate::retire::retire;
use crate::shard::{Shard, Turn};
use crate::shard_threads::{identity, identity_of, shard_folder};
use crate::{Kind, Ledger, Options, Receiver, Request, Units, audit, block};

fn small_duplicates(octets_max: usize) -> DuplicateLimits {
    DuplicateLimits { octets_max, ..DuplicateLimits::default() }
}

/// What the run was told, in its order among the writes.
enum Promise {
    /// These are asked for.
    Asked(Range<u32>),
    /// So many were answered.
    Answered(u32),
}

/// Puts on record when a batch is answered.
struct Recorder {
    disk: RecordedDisk<Promise>,
    answered: Mutex<Sender<()>>,
}

impl Receiver for Recorder {
    fn answered(&self, _: usize, batch: Batch) {
        assert!(batch.answers().all(|(_, answer, _)| (answer.result, answer.is_duplicate) == (2001, false)));
        self.disk.promise(Promise::Answered(batch.len() as u32));
        self.answered.lock().unwrap().send(()).unwrap();
    }
}

/// What every account begins with.
const BALANCE: i64 = 1_000_000;

fn small(folder: &Path) -> Options {
    let options = options(folder);
    let config = Config { duplicates: small_duplicates(1 << 18), ..options.config.clone() };
    Options {
        segment_octets: 8 << 10,
        snapshot_octets: 24 << 10,
        keep_records: Some(Duration::ZERO),
        config,
        ..options
    }
}

/// Debits in few large and many small batches, several under way at once.
fn run(folder: &Path) -> Vec<Op<Promise>> {
    identity(folder, 1).unwrap();
    let disk = RecordedDisk::new(folder, root());
    disk.adopt().unwrap();
    let ledger = Ledger::open_on(&(Arc::new(disk.clone()) as Arc<dyn Disk>), &small(folder)).unwrap();
    let (answered, answers) = channel();
    let to: Arc<dyn Receiver> = Arc::new(Recorder { disk: disk.clone(), answered: Mutex::new(answered) });
    let mut next = 0;
    for batch in [[7, 1, 20], [3, 3, 3], [300, 300, 300], [9, 2, 40], [1, 1, 1]].iter().cycle().take(20) {
        for requests in batch {
            let numbers = next..next + requests;
            next = numbers.end;
            disk.promise(Promise::Asked(numbers.clone()));
            let mut batches = [Batch::default()];
            numbers.for_each(|number| push_debit(&ledger, &mut batches, number));
            let [batch] = batches;
            ledger.try_submit(0, batch, &to).expect("there is room");
        }
        batch.iter().for_each(|_| answers.recv_timeout(Duration::from_secs(60)).unwrap());
    }
    ledger.stop();
    disk.take()
}

/// How much was debited.
fn debited(shard: &Shard) -> i64 {
    shard.accounts().iter().map(|(_, account)| BALANCE - account.posted).sum()
}

#[test]
fn at_every_moment_of_a_real_run_a_power_cut_takes_no_debit_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let ops = run(folder.path());
    for seed in cases::seeds(1) {
        let (mut dice, mut replay) = (Dice(seed), Replay::default());
        let (mut asked, mut answered) = (0, 0);
        for (at, op) in ops.iter().enumerate() {
            replay.step(op);
            match op {
                Op::Promise(Promise::Asked(numbers)) => asked = numbers.end,
                Op::Promise(Promise::Answered(count)) => answered += count,
                _ => {}
            }
            if at < adopted(&ops) {
                continue;
            }
            let left = tempfile::tempdir().unwrap();
            replay.disk.power_cut(&mut dice).write_to(left.path()).unwrap();
            let place = format!("seed {seed}, step {at} of {}", ops.len());
            check(left.path(), answered..asked, &place);
            if dice.one_in(16) {
                check_retries(left.path(), asked, &place);
            }
        }
        assert_eq!((asked, answered), (3_964, 3_964));
    }
}

/// Reads what a power cut left: between so many debits that were answered and so many that were asked for.
fn check(folder: &Path, debits: Range<u32>, place: &str) {
    let (key, _) = identity_of(folder).unwrap();
    let shard = shard_folder(folder, 0);
    std::fs::create_dir_all(&shard).unwrap();
    let config = Arc::new(small(folder).config.of_one_shard(1));
    let recovered = recover(&shard, key, config).unwrap_or_else(|refusal| panic!("{place}: {refusal}"));
    let found = debited(&recovered.shard);
    let is_there = i64::from(debits.start) <= found && found <= i64::from(debits.end);
    assert!(is_there, "{place}: {found} debits, and {debits:?} were answered and asked for");
    let report = audit(folder).unwrap_or_else(|refusal| panic!("{place}: {refusal}"));
    assert!(report.is_exact(), "{place}: {report:#?}");
}

/// Whoever was not answered asks again, and whoever was too: in the end each debit counts once.
fn check_retries(folder: &Path, asked: u32, place: &str) {
    let ledger = Ledger::open(&small(folder)).unwrap_or_else(|refusal| panic!("{place}: {refusal}"));
    assert!(debit(&ledger, 0..asked).iter().all(|(_, answer)| answer.result == 2001), "{place}");
    let (to, found) = channel();
    ledger.ask(0, move |shard| to.send(debited(shard)).unwrap());
    assert_eq!(found.recv_timeout(Duration::from_secs(60)).unwrap(), i64::from(asked), "{place}");
    ledger.stop();
}

/// A log and its shard, as a process of a life between two ends has them.
struct Life {
    shard: Shard,
    log: Log,
}

fn config() -> Arc<Config> {
    let default_account = Some(DefaultAccount { balance: BALANCE, limit: 0 });
    Arc::new(Config { default_account, duplicates: small_duplicates(1 << 16), ..Config::default() })
}

impl Life {
    fn begin(disk: &Arc<dyn Disk>, folder: &Path) -> Life {
        let recovered = recover(folder, KEY, config()).unwrap();
        let log = Log::open_on(disk.clone(), folder, 700, recovered.end).unwrap();
        Life { shard: recovered.shard, log }
    }

    /// Writes a block with two debits, a minute after the last one, and notes it before.
    fn write(&mut self, number: u32, recorded: &RecordedDisk<Note>) {
        let position = self.log.next_position().unwrap();
        let now_us = (1_000 + 60 * u64::from(number)) * SECOND;
        let (mut buffer, mut answers) = (Vec::new(), Vec::new());
        block::begin(&mut buffer);
        self.shard.begin_block(position, now_us);
        for half in 0..2 {
            let session = super::ShardUnderTest::session(&format!("{}", number * 2 + half));
            let services = [asks(Units::specific(3))];
            let request = Request { session, services: &services, ..plain(Kind::Debit) };
            let past = &self.log.segments();
            let mut turn = Turn { now_us, log: &mut buffer, services: &mut answers, past };
            self.shard.apply(&request, request.account.hash(KEY), &mut turn);
        }
        block::seal(&mut buffer, position, self.log.synced(), now_us);
        recorded.promise(Note::Written(position + buffer.len() as u64, debited(&self.shard)));
        self.log.append(&buffer).unwrap();
    }
}

/// Where blocks end, and what is debited by then; how far the log was promised.
#[derive(Clone)]
struct Ends {
    debited: BTreeMap<u64, i64>,
    promised: u64,
}

impl Ends {
    /// Reads what a power cut left.
    fn check(&self, folder: &Path, place: &str) {
        let recovered = recover(folder, KEY, config()).unwrap_or_else(|refusal| panic!("{place}: {refusal}"));
        let end = recovered.end;
        assert!(end >= self.promised, "{place}: {end}, and {} was promised", self.promised);
        assert_eq!(self.debited.get(&end), Some(&debited(&recovered.shard)), "{place}: at {end}");
    }
}

/// What is known from here on.
enum Note {
    /// A block is about to be written: where it ends, and what is debited by then.
    Written(u64, i64),
    /// Answers were given for all before it.
    Promised(u64),
}

/// Some processes one after the other, each of which dies without a word: what they did.
fn lives(folder: &Path, dice: &mut Dice, number: &mut u32) -> Vec<Op<Note>> {
    let recorded = RecordedDisk::new(folder, root());
    recorded.adopt().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(recorded.clone());
    for _ in 0..1 + dice.roll(3) {
        let mut life = Life::begin(&disk, folder);
        // From here on requests that are found are answered again, whether their blocks were synced or not.
        recorded.promise(Note::Promised(life.log.end()));
        for _ in 0..dice.roll(8) {
            *number += 1;
            life.write(*number, &recorded);
            if dice.one_in(3) {
                life.log.sync().unwrap();
                recorded.promise(Note::Promised(life.log.end()));
            }
        }
    }
    recorded.take()
}

#[test]
fn after_any_power_cut_and_any_kill_the_log_ends_where_it_was_promised_or_later() {
    for seed in cases::seeds(8) {
        let (mut dice, mut number) = (Dice(seed), 0);
        let mut folder = tempfile::tempdir().unwrap();
        let mut ends = Ends { debited: [(FIRST_POSITION, 0)].into(), promised: FIRST_POSITION };
        for cut in 0..3 {
            let ops = lives(folder.path(), &mut dice, &mut number);
            let (mut replay, goes_on_at) = (Replay::default(), dice.roll(ops.len() as u64) as usize);
            let mut after = None;
            for (at, op) in ops.iter().enumerate() {
                replay.step(op);
                match op {
                    Op::Promise(Note::Written(end, debited)) => drop(ends.debited.insert(*end, *debited)),
                    Op::Promise(Note::Promised(end)) => ends.promised = *end,
                    _ => {}
                }
                if at < adopted(&ops) {
                    continue;
                }
                let left = tempfile::tempdir().unwrap();
                replay.disk.power_cut(&mut dice).write_to(left.path()).unwrap();
                ends.check(left.path(), &format!("seed {seed}, cut {cut}, step {at} of {}", ops.len()));
                if at >= goes_on_at && after.is_none() {
                    after = Some((left, ends.clone()));
                }
            }
            (folder, ends) = after.expect("a run has steps after what was adopted");
        }
    }
}

/// Where the run begins: what was there before is on record until its root folder is synced.
fn adopted<P>(ops: &[Op<P>]) -> usize {
    let is_root = |op: &Op<P>| matches!(op, Op::SyncFolder(folder) if *folder == root());
    ops.iter().position(is_root).map_or(0, |at| at + 1)
}

#[test]
fn a_power_cut_while_old_segments_go_leaves_no_gap_between_those_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let recorded = RecordedDisk::new(folder, root());
    let mut life = Life::begin(&(Arc::new(recorded.clone()) as Arc<dyn Disk>), folder);
    for number in 1..=300 {
        life.write(number, &recorded);
        life.log.sync().unwrap();
        if number >= 299 {
            life.shard.freeze(life.log.end()).write(&recorded, folder).unwrap();
        }
    }
    let before: Vec<u64> = list(folder).unwrap().into_iter().map(|(base, _)| base).collect();
    recorded.promise(Note::Promised(life.log.end()));
    let removed = retire(&recorded, folder, &life.log.segments(), u64::MAX).unwrap();
    assert!(removed > 3 && removed < before.len(), "{removed} of {}", before.len());
    drop(life);
    let ops = recorded.take();
    for seed in cases::seeds(4) {
        let (mut dice, mut replay, mut has_begun) = (Dice(seed), Replay::default(), false);
        for op in &ops {
            replay.step(op);
            has_begun |= matches!(op, Op::Promise(Note::Promised(_)));
            if has_begun {
                let left = tempfile::tempdir().unwrap();
                replay.disk.power_cut(&mut dice).write_to(left.path()).unwrap();
                let after: Vec<u64> = list(left.path()).unwrap().into_iter().map(|(base, _)| base).collect();
                assert!(before.ends_with(&after), "seed {seed}: {after:?} of {before:?}");
            }
        }
    }
}
