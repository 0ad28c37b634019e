//! The logs of a ledger that several processes share.
//!
//! A block is appended by one statement: it moves the log's head from where the block begins to where it
//! ends, and inserts the block if that moved. Of several who try at the same place one commits; the others
//! wait for that commit and then find nothing to move. Beside it, in the same round trip, the blocks from
//! that place on are read: they tell who was too late what he missed, and who asks a second time, since the
//! first answer was lost, that his block is there.

use super::error::Trouble;
use super::link::{Links, PgLink, get, lend};
use super::work::{Work, undo};
use super::{Base, Postgres, as_i64, as_u64};
use crate::{Appended, LedgerBlock, LedgerHold, LedgerIdentity, LedgerLog, NewLedgerBlock, StoreError};
use deadpool::managed::Object;
use futures_util::future;
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// Connections for the ledger: one for each shard that is at work, and some for who reads.
pub(super) const CONNECTIONS: usize = 40;
/// Octets of a part of a snapshot.
const PART_OCTETS: usize = 1 << 20;

const IDENTITY: &str = "SELECT key_0, key_1, shards FROM ledger";
const DRAW: &str =
    "INSERT INTO ledger (key_0, key_1, shards) VALUES ($1, $2, $3) ON CONFLICT (one) DO NOTHING";
const SHARDS: &str = "INSERT INTO ledger_shards (shard, head) SELECT shard, $1 FROM ledger, generate_series(0, shards - 1) AS shard \
     ON CONFLICT (shard) DO NOTHING";
const APPEND: &str = "WITH moved AS (UPDATE ledger_shards SET head = $2::bigint + octet_length($5::bytea) \
     WHERE shard = $1 AND head = $2::bigint RETURNING shard) \
     INSERT INTO ledger_blocks (shard, position, at, mark, octets) SELECT shard, $2::bigint, $3::bigint, $4::uuid, $5::bytea FROM moved";
/// At most a page, and one's own block without its octets.
const SINCE: &str = "SELECT position, mark, CASE WHEN mark = $3 THEN ''::bytea ELSE octets END FROM ( \
     SELECT position, mark, octets, sum(octet_length(octets)) OVER (ORDER BY position) - octet_length(octets) AS before FROM ( \
     SELECT position, mark, octets FROM ledger_blocks WHERE shard = $1 AND position >= $2 ORDER BY position LIMIT 256) AS page) AS counted \
     WHERE before < 4194304 ORDER BY position";
const READ: &str = "SELECT position, octets FROM ( \
     SELECT position, octets, sum(octet_length(octets)) OVER (ORDER BY position) - octet_length(octets) AS before FROM ( \
     SELECT position, octets FROM ledger_blocks WHERE shard = $1 AND position >= coalesce( \
     (SELECT max(position) FROM ledger_blocks WHERE shard = $1 AND position <= $2), $2) ORDER BY position LIMIT 1024) AS page) AS counted \
     WHERE before < 4194304 ORDER BY position";
/// Where the first block of a time begins: times only grow.
const AT: &str = "SELECT min(position) FROM ledger_blocks WHERE shard = $1 AND at >= $2";
const HEAD: &str = "SELECT head FROM ledger_shards WHERE shard = $1";
const HOLD: &str = "SELECT head FROM ledger_shards WHERE shard = $1 FOR UPDATE";
const NEWEST: &str = "SELECT max(position) FROM ledger_snapshots WHERE shard = $1";
const PARTS: &str = "SELECT octets FROM ledger_snapshots WHERE shard = $1 AND position = $2 ORDER BY part";
const PART: &str = "INSERT INTO ledger_snapshots (shard, position, part, octets) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
const OLDER: &str = "DELETE FROM ledger_snapshots WHERE shard = $1 AND position < $2";

/// Nobody's mark.
const NOBODY: Uuid = Uuid::nil();

fn as_shard(shard: u32) -> i32 {
    i32::try_from(shard).unwrap_or(i32::MAX)
}

fn identity(row: &Row) -> Result<LedgerIdentity, Trouble> {
    let key = [get::<i64>(row, 0)?.cast_unsigned(), get::<i64>(row, 1)?.cast_unsigned()];
    Ok(LedgerIdentity { key, shards: get::<i32>(row, 2)?.unsigned_abs() })
}

/// Appends in one round trip, outside or inside a transaction.
async fn append(link: &PgLink, block: &NewLedgerBlock) -> Result<Appended, Trouble> {
    let (shard, position) = (as_shard(block.shard), as_i64(block.position));
    let (at, mark) = (as_i64(block.at_us), Uuid::from_u128(block.mark));
    link.prepare(&[APPEND, SINCE]).await?;
    let params: super::link::Params<'_> = &[&shard, &position, &at, &mark, &block.octets];
    let since: super::link::Params<'_> = &[&shard, &position, &mark];
    let (appended, since) = future::join(link.execute(APPEND, params), link.all(SINCE, since)).await;
    let (appended, since) = (appended?, since?);
    if appended == 1 {
        return Ok(Appended::Done);
    }
    let Some(first) = since.first().filter(|row| get::<i64>(row, 0).is_ok_and(|at| at == position)) else {
        let what = format!(
            "shard {shard} of the ledger does not go on at position {position}, where it was: the database lost what it had committed, or \
             is another one"
        );
        return Err(StoreError::Damaged { what }.into());
    };
    if get::<Uuid>(first, 1)? == mark {
        return Ok(Appended::Done);
    }
    Ok(Appended::Missed(blocks(&since, 2)?))
}

fn blocks(rows: &[Row], octets: usize) -> Result<Vec<LedgerBlock>, Trouble> {
    let block = |row: &Row| -> Result<LedgerBlock, Trouble> {
        Ok(LedgerBlock { position: as_u64(get(row, 0)?), octets: get(row, octets)? })
    };
    rows.iter().map(block).collect()
}

async fn read(link: &PgLink, shard: u32, from: u64, from_us: u64) -> Result<Vec<LedgerBlock>, Trouble> {
    let (shard, mut from) = (as_shard(shard), as_i64(from));
    if from_us > 0 {
        let first = link.one(AT, &[&shard, &as_i64(from_us)]).await?;
        let first: Option<i64> = first.map(|row| get(&row, 0)).transpose()?.flatten();
        let Some(first) = first else { return Ok(Vec::new()) };
        from = from.max(first);
    }
    let rows = link.all(READ, &[&shard, &from]).await?;
    let read = blocks(&rows, 1)?;
    // The block before the place may end there.
    let goes_on = |block: &LedgerBlock| block.position + block.octets.len() as u64 > as_u64(from);
    Ok(read.into_iter().filter(goes_on).collect())
}

impl LedgerLog for Postgres {
    fn identify(&self, new: LedgerIdentity, first: u64) -> Result<LedgerIdentity, StoreError> {
        let args = (new.key.map(u64::cast_signed), as_shard(new.shards), as_i64(first));
        let work = Work::new(args, |link, (key, shards, first)| {
            Box::pin(async move {
                link.execute(DRAW, &[&key[0], &key[1], shards]).await?;
                link.execute(SHARDS, &[first]).await?;
                let row = link.one(IDENTITY, &[]).await?;
                identity(
                    &row.ok_or_else(|| StoreError::Damaged { what: "the ledger has no key".to_owned() })?,
                )
            })
        });
        let work = work.again();
        self.block_on(|base| async move { base.change(&work).await })
    }

    fn identity(&self) -> Result<Option<LedgerIdentity>, StoreError> {
        let work = Work::new((), |link, ()| {
            Box::pin(async move { link.one(IDENTITY, &[]).await?.map(|row| identity(&row)).transpose() })
        });
        self.block_on(|base| async move { base.look(&work).await })
    }

    fn append(&self, block: &NewLedgerBlock) -> Result<Appended, StoreError> {
        let work = Work::new(block.clone(), |link, block| Box::pin(append(link, block))).again();
        self.block_on(|base| async move { base.ledger(&work).await })
    }

    fn hold(&self, shard: u32, from: u64) -> Result<Box<dyn LedgerHold>, StoreError> {
        let held = self.block_on(|base| async move { hold(base, shard, from).await })?;
        Ok(Box::new(Hold { held, shard, store: Postgres { parts: Arc::clone(&self.parts), fence: None } }))
    }

    fn read(&self, shard: u32, from: u64, from_us: u64) -> Result<Vec<LedgerBlock>, StoreError> {
        let work = Work::new((shard, from, from_us), |link, (shard, from, from_us)| {
            Box::pin(read(link, *shard, *from, *from_us))
        });
        self.block_on(|base| async move { base.ledger(&work).await })
    }

    fn head(&self, shard: u32) -> Result<u64, StoreError> {
        let work = Work::new(as_shard(shard), |link, shard| {
            Box::pin(async move {
                let row = link.one(HEAD, &[shard]).await?;
                let absent = || StoreError::Damaged { what: format!("the ledger has no shard {shard}") };
                Ok(as_u64(get(&row.ok_or_else(absent)?, 0)?))
            })
        });
        self.block_on(|base| async move { base.ledger(&work).await })
    }

    fn snapshot(&self, shard: u32) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let work = Work::new(as_shard(shard), |link, shard| {
            Box::pin(async move {
                let newest = link.one(NEWEST, &[shard]).await?;
                let newest: Option<i64> = newest.map(|row| get(&row, 0)).transpose()?.flatten();
                let Some(position) = newest else { return Ok(None) };
                let parts = link.all(PARTS, &[shard, &position]).await?;
                let mut octets = Vec::new();
                for part in &parts {
                    octets.extend_from_slice(get::<&[u8]>(part, 0)?);
                }
                Ok(Some((as_u64(position), octets)))
            })
        });
        self.block_on(|base| async move { base.look_at_once(&work).await })
    }

    fn snapshot_position(&self, shard: u32) -> Result<Option<u64>, StoreError> {
        let work = Work::new(as_shard(shard), |link, shard| {
            Box::pin(async move {
                let newest = link.one(NEWEST, &[shard]).await?;
                let newest: Option<i64> = newest.map(|row| get(&row, 0)).transpose()?.flatten();
                Ok(newest.map(as_u64))
            })
        });
        self.block_on(|base| async move { base.ledger(&work).await })
    }

    fn keep_snapshot(&self, shard: u32, position: u64, octets: Vec<u8>) -> Result<(), StoreError> {
        let args = (as_shard(shard), as_i64(position), octets);
        let work = Work::new(args, |link, (shard, position, octets)| {
            Box::pin(async move {
                for (part, octets) in (0_i32..).zip(octets.chunks(PART_OCTETS)) {
                    link.execute(PART, &[shard, position, &part, &octets]).await?;
                }
                link.execute(OLDER, &[shard, position]).await?;
                Ok(())
            })
        });
        let work = work.again();
        self.block_on(|base| async move { base.change(&work).await })
    }
}

/// What is held, on whose connection.
struct HeldShard {
    link: Option<Object<Links>>,
    head: u64,
    missed: Vec<LedgerBlock>,
}

struct Hold {
    held: HeldShard,
    shard: u32,
    store: Postgres,
}

/// Begins, locks and reads in one round trip. What was read is what the lock was waited for.
async fn hold(base: Arc<Base>, shard: u32, from: u64) -> Result<HeldShard, StoreError> {
    let held = async {
        let link = lend(&base.pools.ledger).await?;
        let locked = base.bounded(&link, begin(&link, shard, from)).await;
        match locked {
            Ok((head, missed)) => Ok(HeldShard { link: Some(link), head, missed }),
            Err(trouble) => {
                undo(&link, &trouble).await;
                Err(trouble)
            }
        }
    };
    held.await.map_err(refused)
}

async fn begin(link: &PgLink, shard: u32, from: u64) -> Result<(u64, Vec<LedgerBlock>), Trouble> {
    let (shard, from) = (as_shard(shard), as_i64(from));
    link.prepare(&[HOLD, SINCE]).await?;
    let lock: super::link::Params<'_> = &[&shard];
    let since: super::link::Params<'_> = &[&shard, &from, &NOBODY];
    let (begun, locked, missed) =
        future::join3(link.simple("BEGIN"), link.one(HOLD, lock), link.all(SINCE, since)).await;
    begun?;
    let absent = || StoreError::Damaged { what: format!("the ledger has no shard {shard}") };
    let head = as_u64(get(&locked?.ok_or_else(absent)?, 0)?);
    Ok((head, blocks(&missed?, 2)?))
}

fn refused(trouble: Trouble) -> StoreError {
    match trouble {
        Trouble::Refused(error) => error,
        Trouble::Lost(why) | Trouble::Undone(why) => StoreError::Unreachable { why },
    }
}

impl LedgerHold for Hold {
    fn head(&self) -> u64 {
        self.held.head
    }

    fn missed(&mut self) -> Vec<LedgerBlock> {
        std::mem::take(&mut self.held.missed)
    }

    fn read(&mut self, from: u64) -> Result<Vec<LedgerBlock>, StoreError> {
        let Some(link) = self.held.link.take() else { return Err(StoreError::Closed) };
        let shard = self.shard;
        let (link, read) = self.store.block_on(|base| async move {
            let read = base.bounded(&link, read(&link, shard, from, 0)).await;
            Ok((link, read))
        })?;
        self.held.link = Some(link);
        read.map_err(refused)
    }

    fn append(mut self: Box<Self>, block: &NewLedgerBlock) -> Result<Appended, StoreError> {
        let Some(link) = self.held.link.take() else { return Err(StoreError::Closed) };
        let block = block.clone();
        self.store.block_on(|base| async move {
            let both = async {
                link.prepare(&[APPEND, SINCE]).await?;
                let (appended, committed) = future::join(append(&link, &block), link.simple("COMMIT")).await;
                let appended = appended?;
                committed?;
                Ok(appended)
            };
            let done = base.bounded(&link, both).await;
            if done.is_err() {
                // Whatever the server made of it: this connection tells no more.
                link.spend();
            }
            done.map_err(refused)
        })
    }
}

impl Drop for HeldShard {
    fn drop(&mut self) {
        // The server undoes what was begun on it.
        if let Some(link) = &self.link {
            link.spend();
        }
    }
}
