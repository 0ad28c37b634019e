//! The roster of an alert, in blocks.

use super::{JobStep, Lane, Sqlite, Tx, as_i64, as_limit, as_u64};
use crate::{FoldedBlock, StoreError};
use records::{AlertNo, AlertState, EndpointNo, RosterBlock, Timestamp};
use rusqlite::{Connection, OptionalExtension};

/// Blocks removed in one transaction; some have 100 KiB.
const REMOVED_BLOCKS_MAX: usize = 16;
/// Octets of blocks written in one transaction (one block at least).
const SLICE_OCTETS_MAX: usize = 512 * 1024;
/// Bits of a place that are the endpoint's.
const ENDPOINT_BITS: u32 = 32;

/// What to do with the blocks that are there, and with the alert.
pub(super) struct Put {
    pub(super) no: AlertNo,
    /// Remove what is there first.
    pub(super) first: bool,
    /// Move the alert with the last block.
    pub(super) then: Option<(AlertState, Timestamp)>,
}

/// Writes the blocks in slices. One that was cut short is begun again with `first`.
pub(super) async fn put(store: &Sqlite, put: Put, blocks: Vec<RosterBlock>) -> Result<(), StoreError> {
    let encode = |block: &RosterBlock| Encoded {
        first: block.first,
        entries: block.entries.len(),
        block: block.encode(),
    };
    let encoded: Vec<Encoded> = blocks.iter().map(encode).collect();
    drop(blocks);
    let mut next = 0;
    let mut cleared = !put.first;
    let slice = move |tx: &Tx<'_>| {
        let account = being_solved(tx, put.no)?;
        if !cleared {
            if remove_some(tx, as_i64(put.no.0))? {
                return Ok(JobStep::More);
            }
            add_to_len(tx, put.no, None)?;
            cleared = true;
        }
        let begun = next;
        let mut octets = 0;
        while next < encoded.len() && octets < SLICE_OCTETS_MAX {
            let Encoded { first, block, .. } = &encoded[next];
            tx.prepare_cached("INSERT INTO roster (place, account, block) VALUES (?1, ?2, ?3)")?
                .execute((place(put.no, *first), account, block))?;
            octets += block.len();
            next += 1;
            if tx.hurry() {
                break;
            }
        }
        add_to_len(tx, put.no, Some(encoded[begun..next].iter().map(|block| block.entries).sum()))?;
        if next < encoded.len() {
            return Ok(JobStep::More);
        }
        if let Some((state, now)) = put.then {
            tx.prepare_cached("UPDATE alerts SET state = ?2, final_at = ?3 WHERE no = ?1")?.execute((
                as_i64(put.no.0),
                state.name(),
                state.is_final().then_some(now.0),
            ))?;
        }
        Ok(JobStep::Done(()))
    };
    store.write_slices(Lane::Soon, slice).await
}

struct Encoded {
    first: EndpointNo,
    entries: usize,
    block: Vec<u8>,
}

/// Writes blocks that grow over what is there, as many as one transaction should; answers with how many.
pub(super) fn overwrite(tx: &Tx<'_>, blocks: &[FoldedBlock]) -> Result<usize, StoreError> {
    let mut octets = 0;
    let mut written = 0;
    for block in blocks {
        if octets >= SLICE_OCTETS_MAX {
            break;
        }
        written += 1;
        let Some(account) = super::deliveries::account_of(tx, block.alert)? else {
            continue; // the alert was removed for its age
        };
        tx.prepare_cached("INSERT OR REPLACE INTO roster (place, account, block) VALUES (?1, ?2, ?3)")?
            .execute((place(block.alert, block.first), account, &block.octets))?;
        tx.prepare_cached("UPDATE alerts SET roster_len = max(roster_len, ?2) WHERE no = ?1")?
            .execute((as_i64(block.alert.0), block.first.0 + block.entries))?;
        octets += block.octets.len();
    }
    Ok(written)
}

/// Adds to the roster's length, or sets it to nothing.
fn add_to_len(tx: &Tx<'_>, no: AlertNo, entries: Option<usize>) -> Result<(), StoreError> {
    let mut update = tx.prepare_cached(
        "UPDATE alerts SET roster_len = CASE WHEN ?2 IS NULL THEN 0 ELSE roster_len + ?2 END WHERE no = ?1",
    )?;
    update.execute((as_i64(no.0), entries.map(as_limit)))?;
    Ok(())
}

/// The account of an alert that is being solved.
fn being_solved(tx: &Tx<'_>, no: AlertNo) -> Result<i64, StoreError> {
    let found: Option<(i64, String)> = tx
        .prepare_cached("SELECT account, state FROM alerts WHERE no = ?1")?
        .query_row([as_i64(no.0)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((account, state))
            if [AlertState::Solving, AlertState::Accepted].map(AlertState::name).contains(&&*state) =>
        {
            Ok(account)
        }
        Some((_, state)) => Err(StoreError::Conflict { why: format!("alert {no} is {state}, not solving") }),
        None => Err(StoreError::Conflict { why: format!("there is no alert {no}") }),
    }
}

/// The block that holds endpoint `of`.
pub(super) fn block(
    connection: &Connection,
    no: AlertNo,
    of: EndpointNo,
) -> Result<Option<RosterBlock>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT block FROM roster WHERE place <= ?1 AND place >= ?2 ORDER BY place DESC LIMIT 1",
    )?;
    let mut rows = select.query((place(no, of), place(no, EndpointNo(0))))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let block = RosterBlock::decode(super::visible::blob(row, 0)?)?;
    let holds = as_u64(as_limit(block.entries.len())) > u64::from(of.0.saturating_sub(block.first.0));
    Ok(holds.then_some(block))
}

/// Removes some blocks of an alert. False if there was none.
pub(super) fn remove_some(tx: &Tx<'_>, no: i64) -> Result<bool, StoreError> {
    let no = AlertNo(as_u64(no));
    let removed = tx
        .prepare_cached(
            "DELETE FROM roster WHERE place IN \
             (SELECT place FROM roster WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3)",
        )?
        .execute((place(no, EndpointNo(0)), place(no, EndpointNo(u32::MAX)), as_limit(REMOVED_BLOCKS_MAX)))?;
    Ok(removed > 0)
}

pub(super) fn place(no: AlertNo, endpoint: EndpointNo) -> i64 {
    // Alert numbers are dense: 2^31 of them are out of reach.
    as_i64((no.0 << ENDPOINT_BITS) | u64::from(endpoint.0))
}
