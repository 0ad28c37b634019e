use super::{PostgresOptions, PostgresServer, fresh, open};
use crate::{Appended, LedgerBlock, LedgerIdentity, LedgerLog, NewLedgerBlock, StoreError};
use std::sync::Arc;

const FIRST: u64 = 4_096;

fn fresh_log() -> Arc<dyn LedgerLog> {
    let log = fresh(&PostgresOptions::default()).ledger_log().unwrap();
    assert_eq!(log.identity(), Ok(None));
    log.identify(LedgerIdentity { key: [u64::MAX, 7], shards: 3 }, FIRST).unwrap();
    log
}

fn block(position: u64, mark: u128, octets: &[u8]) -> NewLedgerBlock {
    NewLedgerBlock { shard: 1, position, at_us: position * 10, mark, octets: octets.to_vec() }
}

fn there(position: u64, octets: &[u8]) -> LedgerBlock {
    LedgerBlock { position, octets: octets.to_vec() }
}

#[test]
fn the_first_process_draws_the_key_and_all_others_find_it() {
    let url = PostgresServer::shared().create_database();
    let (one, two) =
        (open(&url, &PostgresOptions::default()).unwrap(), open(&url, &PostgresOptions::default()).unwrap());
    let drawn = LedgerIdentity { key: [u64::MAX, 7], shards: 3 };
    assert_eq!(one.ledger_log().unwrap().identify(drawn, FIRST), Ok(drawn));
    let other = LedgerIdentity { key: [1, 2], shards: 5 };
    assert_eq!(two.ledger_log().unwrap().identify(other, 1), Ok(drawn));
    assert_eq!(two.ledger_log().unwrap().identity(), Ok(Some(drawn)));
    assert_eq!(
        (0..3).map(|shard| two.ledger_log().unwrap().head(shard).unwrap()).collect::<Vec<_>>(),
        [FIRST; 3]
    );
}

#[test]
fn a_block_goes_only_to_the_end_of_its_log_and_who_is_too_late_is_told_what_he_missed() {
    let log = fresh_log();
    assert_eq!(log.append(&block(FIRST, 1, b"one")), Ok(Appended::Done));
    assert_eq!(log.append(&block(FIRST, 2, b"two")), Ok(Appended::Missed(vec![there(FIRST, b"one")])));
    assert_eq!(log.append(&block(FIRST + 3, 2, b"two!")), Ok(Appended::Done));
    let missed = vec![there(FIRST, b"one"), there(FIRST + 3, b"two!")];
    assert_eq!(log.append(&block(FIRST, 3, b"x")), Ok(Appended::Missed(missed.clone())));
    assert_eq!((log.head(1), log.head(0)), (Ok(FIRST + 7), Ok(FIRST)));
    assert_eq!(log.read(1, 0, 0), Ok(missed.clone()));
    assert_eq!(
        log.read(1, FIRST + 2, 0),
        Ok(missed.clone()),
        "the block that has this position is the first"
    );
    assert_eq!(log.read(1, FIRST + 3, 0), Ok(missed[1..].to_vec()));
    assert_eq!(log.read(1, 0, (FIRST + 3) * 10), Ok(missed[1..].to_vec()));
    assert_eq!(log.read(1, FIRST + 7, 0), Ok(Vec::new()));
}

#[test]
fn a_block_whose_answer_was_lost_is_appended_once_however_often_it_is_tried() {
    let log = fresh_log();
    for _ in 0..3 {
        assert_eq!(log.append(&block(FIRST, 1, b"one")), Ok(Appended::Done));
    }
    log.append(&block(FIRST + 3, 2, b"two")).unwrap();
    assert_eq!(log.append(&block(FIRST, 1, b"one")), Ok(Appended::Done), "also when others went on after it");
    assert_eq!(log.head(1), Ok(FIRST + 6));
}

#[test]
fn a_log_that_is_behind_what_it_acknowledged_is_refused() {
    let log = fresh_log();
    assert!(matches!(log.append(&block(FIRST + 10, 1, b"one")), Err(StoreError::Damaged { .. })));
    assert_eq!(log.read(1, 0, 0), Ok(Vec::new()));
}

#[test]
fn of_many_that_append_at_once_each_place_is_given_once() {
    let log = fresh_log();
    std::thread::scope(|scope| {
        for writer in 0..4_u128 {
            let log = &log;
            scope.spawn(move || {
                let (mut position, mut done) = (FIRST, 0);
                while done < 25 {
                    match log.append(&block(position, writer << 64 | done, &[writer as u8; 5])).unwrap() {
                        Appended::Done => (position, done) = (position + 5, done + 1),
                        Appended::Missed(missed) => position += missed.len() as u64 * 5,
                    }
                }
            });
        }
    });
    let blocks = log.read(1, 0, 0).unwrap();
    assert_eq!(blocks.len(), 100);
    for writer in 0..4_u8 {
        assert_eq!(blocks.iter().filter(|block| block.octets[0] == writer).count(), 25);
    }
    assert!(blocks.windows(2).all(|pair| pair[1].position == pair[0].position + 5));
}

#[test]
fn who_holds_the_end_appends_there_and_who_lets_go_leaves_nothing() {
    let log = fresh_log();
    log.append(&block(FIRST, 1, b"one")).unwrap();
    let mut hold = log.hold(1, FIRST).unwrap();
    assert_eq!((hold.head(), hold.missed()), (FIRST + 3, vec![there(FIRST, b"one")]));
    let other = Arc::clone(&log);
    let late = std::thread::spawn(move || other.append(&block(FIRST + 3, 2, b"late")));
    assert_eq!(hold.read(FIRST + 3), Ok(Vec::new()));
    assert_eq!(hold.append(&block(FIRST + 3, 3, b"held")), Ok(Appended::Done));
    assert_eq!(late.join().unwrap(), Ok(Appended::Missed(vec![there(FIRST + 3, b"held")])));
    drop(log.hold(1, FIRST).unwrap());
    assert_eq!(log.append(&block(FIRST + 7, 4, b"on")), Ok(Appended::Done));
}

#[test]
fn of_snapshots_the_newest_is_kept_whole() {
    let log = fresh_log();
    assert_eq!(log.snapshot(1), Ok(None));
    let octets: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
    log.keep_snapshot(1, FIRST, vec![1]).unwrap();
    log.keep_snapshot(1, FIRST + 9, octets.clone()).unwrap();
    assert_eq!(log.snapshot_position(1), Ok(Some(FIRST + 9)));
    assert_eq!(log.snapshot(1), Ok(Some((FIRST + 9, octets))));
    assert_eq!(log.snapshot(0), Ok(None));
}
