//! The roster of an alert, in blocks.

use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, as_i64, as_limit, as_u64};
use crate::{FoldedBlock, StoreError};
use records::{AlertNo, AlertState, EndpointNo, RosterBlock, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks removed in one transaction; some have 100 KiB.
const REMOVED_BLOCKS_MAX: usize = 256;
/// Octets of blocks written in one transaction (one block at least).
const SLICE_OCTETS_MAX: usize = 2 * 1024 * 1024;
/// Bits of a place that are the endpoint's.
const ENDPOINT_BITS: u32 = 32;
const WRITE: &str = "INSERT INTO roster (place, account, block) \
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bytea[]) \
     ON CONFLICT (place) DO UPDATE SET block = excluded.block";
const LENGTHEN: &str = "UPDATE alerts SET roster_len = $2 WHERE no = $1 AND roster_len < $2";

/// What to do with the blocks that are there, and with the alert.
#[derive(Clone, Copy)]
pub(super) struct Put {
    pub(super) no: AlertNo,
    /// Remove what is there first.
    pub(super) first: bool,
    /// Move the alert with the last block.
    pub(super) then: Option<(AlertState, Timestamp)>,
}

struct Slice {
    put: Put,
    blocks: Arc<Vec<Encoded>>,
    from: usize,
    to: usize,
    tries: AtomicU32,
}

struct Encoded {
    first: EndpointNo,
    entries: usize,
    octets: Vec<u8>,
}

/// Writes the blocks in slices. One that was cut short is begun again with `first`.
pub(super) async fn put(store: &Postgres, put: Put, blocks: Vec<RosterBlock>) -> Result<(), StoreError> {
    let encode = |block: &RosterBlock| Encoded {
        first: block.first,
        entries: block.entries.len(),
        octets: block.encode(),
    };
    let encoded: Arc<Vec<Encoded>> = Arc::new(blocks.iter().map(encode).collect());
    drop(blocks);
    if put.first {
        loop {
            let clear = Work::new(put.no, |link, no| Box::pin(clear(link, *no))).again();
            if store.write(clear).await? {
                break;
            }
        }
    }
    let mut from = 0;
    loop {
        let mut to = from;
        let mut octets = 0;
        while to < encoded.len() && octets < SLICE_OCTETS_MAX {
            octets += encoded[to].octets.len();
            to += 1;
        }
        let slice = Slice { put, blocks: Arc::clone(&encoded), from, to, tries: AtomicU32::new(0) };
        store.write(Work::new(slice, |link, slice| Box::pin(write(link, slice))).again()).await?;
        from = to;
        if from == encoded.len() {
            return Ok(());
        }
    }
}

/// Removes some of what is there. True when nothing is left.
async fn clear(link: &PgLink, no: AlertNo) -> Result<bool, Trouble> {
    let (_, state) = alert(link, no).await?;
    being_solved(no, &state)?;
    if remove_some(link, as_i64(no.0)).await? {
        return Ok(false);
    }
    link.execute("UPDATE alerts SET roster_len = 0 WHERE no = $1", &[&as_i64(no.0)]).await?;
    Ok(true)
}

async fn write(link: &PgLink, slice: &Slice) -> Result<(), Trouble> {
    let Slice { put, blocks, from, to, tries } = slice;
    let then = put.then.filter(|_| *to == blocks.len());
    let (account, state) = alert(link, put.no).await?;
    // An earlier try may have been committed though its answer was lost.
    let is_again = tries.fetch_add(1, Ordering::Relaxed) > 0;
    if is_again && then.is_some_and(|(then, _)| then.name() == state) {
        return Ok(());
    }
    being_solved(put.no, &state)?;
    let blocks = &blocks[*from..*to];
    let places: Vec<i64> = blocks.iter().map(|block| place(put.no, block.first)).collect();
    let octets: Vec<&[u8]> = blocks.iter().map(|block| block.octets.as_slice()).collect();
    link.execute(WRITE, &[&places, &vec![account; blocks.len()], &octets]).await?;
    let ends = blocks.iter().map(|block| i64::from(block.first.0) + as_limit(block.entries));
    let no = as_i64(put.no.0);
    link.execute(LENGTHEN, &[&no, &ends.max().unwrap_or(0)]).await?;
    if let Some((state, now)) = then {
        let sql = "UPDATE alerts SET state = $2, final_at = $3 WHERE no = $1";
        link.execute(sql, &[&no, &state.name(), &state.is_final().then_some(now.0)]).await?;
    }
    Ok(())
}

/// Writes blocks that grow over what is there, each for an alert with its account, in the order of their
/// places.
pub(super) async fn overwrite(link: &PgLink, blocks: &[(&FoldedBlock, i32)]) -> Result<(), Trouble> {
    let places: Vec<i64> = blocks.iter().map(|(block, _)| place(block.alert, block.first)).collect();
    let accounts: Vec<i32> = blocks.iter().map(|(_, account)| *account).collect();
    let octets: Vec<&[u8]> = blocks.iter().map(|(block, _)| block.octets.as_slice()).collect();
    link.execute(WRITE, &[&places, &accounts, &octets]).await?;
    for alike in blocks.chunk_by(|a, b| a.0.alert == b.0.alert) {
        let ends = alike.iter().map(|(block, _)| i64::from(block.first.0) + i64::from(block.entries));
        link.execute(LENGTHEN, &[&as_i64(alike[0].0.alert.0), &ends.max().unwrap_or(0)]).await?;
    }
    Ok(())
}

/// How many of the blocks one transaction should write.
pub(super) fn slice_of(blocks: &[FoldedBlock]) -> usize {
    let mut octets = 0;
    let fits = |block: &&FoldedBlock| {
        let fits = octets < SLICE_OCTETS_MAX;
        octets += block.octets.len();
        fits
    };
    blocks.iter().take_while(fits).count()
}

/// The account and state of an alert, whose row is locked until the commit.
async fn alert(link: &PgLink, no: AlertNo) -> Result<(i32, String), Trouble> {
    let sql = "SELECT account, state FROM alerts WHERE no = $1 FOR NO KEY UPDATE";
    let row = link.one(sql, &[&as_i64(no.0)]).await?;
    let row = row.ok_or_else(|| StoreError::Conflict { why: format!("there is no alert {no}") })?;
    Ok((get(&row, 0)?, get(&row, 1)?))
}

fn being_solved(no: AlertNo, state: &str) -> Result<(), StoreError> {
    if [AlertState::Solving, AlertState::Accepted].map(AlertState::name).contains(&state) {
        Ok(())
    } else {
        Err(StoreError::Conflict { why: format!("alert {no} is {state}, not solving") })
    }
}

/// The block that holds endpoint `of`.
pub(super) async fn block(
    link: &PgLink,
    no: AlertNo,
    of: EndpointNo,
) -> Result<Option<RosterBlock>, Trouble> {
    let sql = "SELECT block FROM roster WHERE place <= $1 AND place >= $2 ORDER BY place DESC LIMIT 1";
    let Some(row) = link.one(sql, &[&place(no, of), &place(no, EndpointNo(0))]).await? else {
        return Ok(None);
    };
    let block = RosterBlock::decode(get(&row, 0)?)?;
    let holds = as_u64(as_limit(block.entries.len())) > u64::from(of.0.saturating_sub(block.first.0));
    Ok(holds.then_some(block))
}

/// Removes some blocks of an alert. False if there was none.
pub(super) async fn remove_some(link: &PgLink, no: i64) -> Result<bool, Trouble> {
    let no = AlertNo(as_u64(no));
    let sql = "DELETE FROM roster WHERE place IN \
         (SELECT place FROM roster WHERE place BETWEEN $1 AND $2 ORDER BY place LIMIT $3)";
    let (first, last) = (place(no, EndpointNo(0)), place(no, EndpointNo(u32::MAX)));
    Ok(link.execute(sql, &[&first, &last, &as_limit(REMOVED_BLOCKS_MAX)]).await? > 0)
}

pub(super) fn place(no: AlertNo, endpoint: EndpointNo) -> i64 {
    // Alert numbers are dense: 2^31 of them are out of reach.
    as_i64((no.0 << ENDPOINT_BITS) | u64::from(endpoint.0))
}
