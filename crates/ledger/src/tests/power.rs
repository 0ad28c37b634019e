//! Tests of power cuts, torn writes and damaged disks, on real files.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wal::OsDisk;

use super::bench::{KEY, SECOND, asks, plain};
use super::disk::{debit, options};
use crate::config::{Config, DefaultAccount, DuplicateLimits};
use crate::log::{FIRST_POSITION, Log, list};
use crate::recovery::{Refusal, recover};
use crate::retire::retire;
use crate::shard::{Shard, Turn};
use crate::{Kind, Ledger, Options, Request, Units, audit, block, snapshot};

fn config() -> Arc<Config> {
    let default_account = Some(DefaultAccount { balance: 1_000, limit: 0 });
    let duplicates = DuplicateLimits { octets_max: 1 << 16, ..DuplicateLimits::default() };
    Arc::new(Config { default_account, duplicates, ..Config::default() })
}

/// A log of so many blocks of two debits each: where each block ends, and what is left then.
fn written(folder: &Path, blocks: u32, segment_octets: u64) -> Vec<(u64, i64)> {
    let mut shard = Shard::new(KEY, config());
    let mut log = Log::open(folder, segment_octets, FIRST_POSITION).unwrap();
    let mut ends = vec![(FIRST_POSITION, 0)];
    let services = [asks(Units::specific(3))];
    for number in 0..blocks {
        let position = log.next_position().unwrap();
        let now_us = (1_000 + u64::from(number)) * SECOND;
        let (mut buffer, mut answers) = (Vec::new(), Vec::new());
        block::begin(&mut buffer);
        shard.begin_block(position, now_us);
        for half in 0..2 {
            let session = session(number * 2 + half);
            let request = Request { session, services: &services, ..plain(Kind::Debit) };
            let mut turn = Turn { now_us, log: &mut buffer, services: &mut answers, past: &log.segments() };
            shard.apply(&request, request.account.hash(KEY), &mut turn);
        }
        block::seal(&mut buffer, position, log.synced(), now_us);
        log.append(&buffer).unwrap();
        log.sync().unwrap();
        ends.push((log.end(), 1_000 - 6 * i64::from(number + 1)));
    }
    ends
}

fn session(number: u32) -> [u64; 2] {
    super::ShardUnderTest::session(&number.to_string())
}

fn posted(shard: &Shard) -> i64 {
    shard.accounts().iter().map(|(_, account)| account.posted).sum()
}

fn last_segment(folder: &Path) -> (u64, PathBuf) {
    list(folder).unwrap().pop().unwrap()
}

#[test]
fn every_prefix_of_the_log_recovers_to_what_was_acknowledged_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let ends = written(folder.path(), 12, 1 << 16);
    let (base, path) = last_segment(folder.path());
    let whole = fs::read(&path).unwrap();
    for cut in 0..=(ends.last().unwrap().0 - base) {
        fs::write(&path, &whole[..cut as usize]).unwrap();
        let recovered = recover(folder.path(), KEY, config()).unwrap();
        let &(end, left) = ends.iter().rev().find(|(end, _)| *end <= base + cut).unwrap();
        assert_eq!((recovered.end, posted(&recovered.shard)), (end, left), "cut at {cut}");
        assert_eq!(recovered.torn > 0, cut + base > end, "cut at {cut}");
    }
}

#[test]
fn a_torn_end_is_cut_off_and_the_log_goes_on_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let ends = written(folder.path(), 5, 1 << 16);
    let (base, path) = last_segment(folder.path());
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    // The last block lost a sector of its middle.
    file.write_all_at(&[0; 16], ends[4].0 + 20 - base).unwrap();
    let recovered = recover(folder.path(), KEY, config()).unwrap();
    assert_eq!((recovered.end, posted(&recovered.shard)), (ends[4].0, ends[4].1));
    drop(Log::open(folder.path(), 1 << 16, recovered.end).unwrap());
    let again = recover(folder.path(), KEY, config()).unwrap();
    assert_eq!((again.end, again.torn), (ends[4].0, 0));
}

#[test]
fn damage_before_what_was_synced_is_refused_with_its_place() {
    for segment_octets in [1 << 16, 600] {
        let folder = tempfile::tempdir().unwrap();
        let ends = written(folder.path(), 12, segment_octets);
        let (base, path) = list(folder.path()).unwrap().remove(0);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0xff], ends[1].0 + 60 - base).unwrap();
        let Err(Refusal::Damaged(why)) = recover(folder.path(), KEY, config()) else {
            panic!("the damage is not seen")
        };
        assert!(why.contains(&format!("damaged at position {}", ends[1].0)), "{why}");
    }
}

#[test]
fn a_missing_segment_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), 12, 600);
    let segments = list(folder.path()).unwrap();
    assert!(segments.len() > 2);
    fs::remove_file(&segments[1].1).unwrap();
    assert!(matches!(recover(folder.path(), KEY, config()), Err(Refusal::Damaged(_))));
}

#[test]
fn blocks_that_were_never_synced_may_be_lost_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let ends = written(folder.path(), 3, 1 << 16);
    let (base, path) = last_segment(folder.path());
    // The system wrote the third block before the second, as nobody asked it to sync: then the power went.
    let whole = fs::read(&path).unwrap();
    let mut third = whole[(ends[2].0 - base) as usize..(ends[3].0 - base) as usize].to_vec();
    block::seal(&mut third, ends[2].0, ends[1].0, 0);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&vec![0; (ends[2].0 - ends[1].0) as usize], ends[1].0 - base).unwrap();
    file.write_all_at(&third, ends[2].0 - base).unwrap();
    let recovered = recover(folder.path(), KEY, config()).unwrap();
    assert_eq!((recovered.end, posted(&recovered.shard)), (ends[1].0, ends[1].1));
    drop(Log::open(folder.path(), 1 << 16, recovered.end).unwrap());
    assert_eq!(recover(folder.path(), KEY, config()).unwrap().end, ends[1].0);
}

/// A ledger that ran, with several snapshots.
fn with_snapshots(folder: &Path) -> (Options, PathBuf) {
    let options = Options { snapshot_octets: 50_000, ..options(folder) };
    let ledger = Ledger::open(&options).unwrap();
    for round in 0..20 {
        debit(&ledger, round * 200..round * 200 + 200);
    }
    ledger.stop();
    let shard = crate::shard_threads::shard_folder(folder, 0);
    (options, shard)
}

#[test]
fn a_start_from_a_snapshot_knows_the_same_balances_and_requests() {
    let folder = tempfile::tempdir().unwrap();
    let (options, shard) = with_snapshots(folder.path());
    let snapshots = snapshot::list(&shard).unwrap();
    assert!(!snapshots.is_empty() && snapshots.len() <= 2, "{snapshots:?}");
    let report = audit(folder.path()).unwrap();
    assert!(report.is_exact(), "{report:#?}");
    assert_eq!(
        (report.accounts, report.entries, report.charged, report.posted),
        (100, 4_000, 4_000, 100_000_000 - 4_000)
    );
    let ledger = Ledger::open(&options).unwrap();
    assert!(debit(&ledger, 0..4_000).iter().all(|(_, answer)| answer.is_duplicate && answer.result == 2001));
    ledger.stop();
    // Without any snapshot the log alone says the same.
    for (_, path) in snapshot::list(&shard).unwrap() {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(audit(folder.path()).unwrap(), report);
}

#[test]
fn a_damaged_snapshot_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let (_, shard) = with_snapshots(folder.path());
    let before = audit(folder.path()).unwrap();
    for (_, path) in snapshot::list(&shard).unwrap() {
        let mut octets = fs::read(&path).unwrap();
        let middle = octets.len() / 2;
        octets[middle] ^= 1;
        fs::write(&path, octets).unwrap();
        assert_eq!(audit(folder.path()).unwrap(), before);
    }
}

#[test]
fn a_log_that_ends_before_its_snapshot_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (options, shard) = with_snapshots(folder.path());
    let (position, _) = snapshot::list(&shard).unwrap().pop().unwrap();
    for (base, path) in list(&shard).unwrap() {
        if base >= position - 1_000 {
            fs::remove_file(path).unwrap();
        } else {
            let octets = fs::read(&path).unwrap();
            fs::write(&path, &octets[..octets.len().min((position - 1_000 - base) as usize)]).unwrap();
        }
    }
    assert!(matches!(Ledger::open(&options), Err(Refusal::Damaged(_))));
}

#[test]
fn the_audit_finds_a_balance_that_its_records_do_not_make() {
    let folder = tempfile::tempdir().unwrap();
    let (_, shard) = with_snapshots(folder.path());
    // A snapshot with a whole checksum, but with one unit that no record knows of.
    let (_, path) = snapshot::list(&shard).unwrap().pop().unwrap();
    let (key, _) = crate::shard_threads::identity_of(folder.path()).unwrap();
    let mut thawed = snapshot::read(&path, key, config()).unwrap().unwrap();
    thawed.shard.accounts.account_mut(7).unwrap().posted += 1;
    let mut frozen = thawed.shard.freeze(thawed.position);
    frozen.floor = thawed.floor;
    frozen.write(&OsDisk, &shard).unwrap();
    let report = audit(folder.path()).unwrap();
    assert!(!report.is_exact() && report.examples[0].contains("account e164:4670"), "{report:#?}");
}

#[test]
fn records_that_are_old_enough_go_with_whole_segments_and_a_start_misses_nothing() {
    let (folder, config) = (tempfile::tempdir().unwrap(), config());
    let folder = folder.path();
    let mut shard = Shard::new(KEY, config.clone());
    let mut log = Log::open(folder, 2_048, FIRST_POSITION).unwrap();
    // A debit each minute for five hours, and a snapshot each hour.
    let at = |minute: u32| u64::from(minute) * 60 * SECOND;
    for minute in 1..=300 {
        let position = log.next_position().unwrap();
        let mut buffer = Vec::new();
        block::begin(&mut buffer);
        shard.begin_block(position, at(minute));
        let services = [asks(Units::specific(1))];
        let request = Request { session: session(minute), services: &services, ..plain(Kind::Debit) };
        let (hash, past) = (request.account.hash(KEY), log.segments());
        let mut turn = Turn { now_us: at(minute), log: &mut buffer, services: &mut Vec::new(), past: &past };
        assert_eq!(shard.apply(&request, hash, &mut turn).result, 2001);
        block::seal(&mut buffer, position, log.synced(), at(minute));
        log.append(&buffer).unwrap();
        log.sync().unwrap();
        if minute == 60 {
            shard.freeze(log.end()).write(&OsDisk, folder).unwrap();
            assert_eq!(
                retire(&OsDisk, folder, &log.segments(), u64::MAX).unwrap(),
                0,
                "one snapshot is not enough"
            );
        } else if minute % 60 == 0 {
            shard.freeze(log.end()).write(&OsDisk, folder).unwrap();
        }
    }
    let all = list(folder).unwrap().len();
    assert_eq!(retire(&OsDisk, folder, &log.segments(), at(1)).unwrap(), 0, "nothing is so old");
    let by_age = retire(&OsDisk, folder, &log.segments(), at(60)).unwrap();
    assert!(by_age > 0 && by_age < all / 3, "{by_age} of {all}");
    let covered = retire(&OsDisk, folder, &log.segments(), u64::MAX).unwrap();
    let (snapshots, segments) = (snapshot::list(folder).unwrap(), list(folder).unwrap());
    assert!(covered > 0 && segments[0].0 <= snapshots[0].0 && segments[1].0 > FIRST_POSITION);
    // Also from the older snapshot; what is known again is known still.
    for _ in 0..2 {
        let recovered = recover(folder, KEY, config.clone()).unwrap();
        assert_eq!((posted(&recovered.shard), recovered.end), (posted(&shard), log.end()));
        let newest = &snapshot::list(folder).unwrap();
        if newest.len() == 2 {
            fs::remove_file(&newest[1].1).unwrap();
        }
    }
}
