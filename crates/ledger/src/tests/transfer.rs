//! A folder read block by block for another place.

use ::store::postgres::transfer::LedgerSource;

use super::disk::{debit, options};
use crate::block;
use crate::log::{FIRST_POSITION, list};
use crate::recovery::recover;
use crate::shard_threads::shard_folder;
use crate::transfer::FolderSource;
use crate::{Ledger, Options};

#[test]
fn every_block_of_every_segment_comes_once_in_its_place_and_only_when_no_server_writes() {
    let folder = tempfile::tempdir().unwrap();
    assert!(FolderSource::open(&folder.path().join("none")).unwrap().is_none());
    let ledger = Ledger::open(&Options { shards: 2, ..options(folder.path()) }).unwrap();
    for round in 0..20 {
        debit(&ledger, round * 200..(round + 1) * 200);
    }
    let refused = FolderSource::open(folder.path()).err().unwrap().to_string();
    assert!(refused.contains("another process"), "{refused}");
    ledger.stop();
    let mut source = FolderSource::open(folder.path()).unwrap().unwrap();
    for shard in 0..source.identity().shards {
        let path = shard_folder(folder.path(), shard as usize);
        assert!(list(&path).unwrap().len() > 1, "there are several segments");
        let mut end = FIRST_POSITION;
        loop {
            let blocks = source.next(shard, 10_000).unwrap();
            if blocks.is_empty() {
                break;
            }
            for one in blocks {
                assert_eq!((one.shard, one.position), (shard, end));
                let (head, _) = block::read(&one.octets, end).unwrap();
                assert_eq!(head.time_us, one.at_us);
                end += one.octets.len() as u64;
            }
        }
        let key = crate::HashKey(source.identity().key);
        assert_eq!(recover(&path, key, std::sync::Arc::default()).unwrap().end, end);
    }
}

#[test]
fn a_ledger_whose_oldest_records_were_removed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&Options { shards: 1, ..options(folder.path()) }).unwrap();
    for round in 0..20 {
        debit(&ledger, round * 200..(round + 1) * 200);
    }
    ledger.stop();
    let (_, first) = list(&shard_folder(folder.path(), 0)).unwrap().swap_remove(0);
    std::fs::remove_file(first).unwrap();
    let refused = FolderSource::open(folder.path()).err().unwrap().to_string();
    assert!(refused.contains("keep_records") && refused.contains("--without-ledger"), "{refused}");
}
