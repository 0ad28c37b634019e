//! Imports: staged unseen, published at one stroke.

use super::recipients::{Row, insert, remove, versions};
use super::visible::{ABANDONED, PUBLISHED, STAGING};
use super::{Lane, Sqlite, Step, Tx, as_i64, as_limit, as_u64};
use crate::{ImportNo, Recipients, StoreError};
use records::{Recipient, Timestamp};
use rusqlite::{Connection, OptionalExtension};

/// Rows of one slice, one transaction.
const SLICE_ROWS_MAX: usize = 2_000;
/// Rows between two looks whether somebody has more haste.
const HURRY_ROWS: usize = 32;

/// Imports that were staged when the process ended are nobody's. They are swept up like those given up.
pub(super) fn abandon_orphans(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE imports SET state = ?1 WHERE state = ?2", (ABANDONED, STAGING))?;
    Ok(())
}

pub(super) async fn begin(store: &Sqlite, account: &str, now: Timestamp) -> Result<ImportNo, StoreError> {
    let account = account.to_owned();
    let begin = move |tx: &Tx<'_>| {
        let no = tx.account(&account)?;
        let version = tx.raise_version(1)?;
        tx.prepare_cached(
            "INSERT INTO imports (account, state, rank, version, rows, begun) VALUES (?1, ?2, 0, ?3, 0, ?4)",
        )?
        .execute((no, STAGING, version, now.0))?;
        Ok(ImportNo(as_u64(tx.last_insert_rowid())))
    };
    store.write(begin).await
}

/// Rows are put in key order within the call; of two with one id the later stays.
pub(super) async fn stage(
    store: &Sqlite,
    import: ImportNo,
    recipients: Vec<Recipient>,
) -> Result<(), StoreError> {
    let mut rows: Vec<Row> = recipients.iter().map(Row::of).collect();
    drop(recipients);
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    let mut next = 0;
    let stage = move |tx: &Tx<'_>| {
        let (account, version) = staged(tx, import)?;
        let begun = next;
        let mut added = 0;
        while next < rows.len() && next - begun < SLICE_ROWS_MAX {
            added += usize::from(stage_row(tx, account, import, version, &rows[next])?);
            next += 1;
            if next.is_multiple_of(HURRY_ROWS) && tx.hurry() {
                break;
            }
        }
        tx.prepare_cached("UPDATE imports SET rows = rows + ?2 WHERE generation = ?1")?
            .execute((as_i64(import.0), as_limit(added)))?;
        Ok(if next == rows.len() { Step::Done(()) } else { Step::More })
    };
    store.write_slices(Lane::Later, stage).await
}

/// True if the id is new to the import.
fn stage_row(
    tx: &Tx<'_>,
    account: i64,
    import: ImportNo,
    version: i64,
    row: &Row,
) -> Result<bool, StoreError> {
    let generation = as_i64(import.0);
    match insert(tx, account, generation, version, row) {
        Err(StoreError::Conflict { .. }) => {
            for (before, groups) in versions(tx, account, &row.id)? {
                if before == generation {
                    remove(tx, account, &row.id, generation, &groups)?;
                }
            }
            insert(tx, account, generation, version, row)?;
            Ok(false)
        }
        other => other.map(|()| true),
    }
}

/// The account and version of an import that is being staged.
fn staged(tx: &Tx<'_>, import: ImportNo) -> Result<(i64, i64), StoreError> {
    let found = tx
        .prepare_cached("SELECT account, version FROM imports WHERE generation = ?1 AND state = ?2")?
        .query_row((as_i64(import.0), STAGING), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    found.ok_or_else(|| StoreError::Conflict { why: format!("import {} is not being staged", import.0) })
}

/// Resolves to the rows it has and the version they got.
pub(super) async fn publish(store: &Sqlite, import: ImportNo) -> Result<(u64, u64), StoreError> {
    let publish = move |tx: &Tx<'_>| {
        staged(tx, import)?;
        let rank = tx.raise_version(1)?;
        let (rows, version) = tx
            .prepare_cached(
                "UPDATE imports SET state = ?2, rank = ?3 WHERE generation = ?1 RETURNING rows, version",
            )?
            .query_row((as_i64(import.0), PUBLISHED, rank), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((as_u64(rows), as_u64(version)))
    };
    let published = store.write(publish).await?;
    store.sweep.wake();
    Ok(published)
}

pub(super) async fn abandon(store: &Sqlite, import: ImportNo) -> Result<(), StoreError> {
    let abandon = move |tx: &Tx<'_>| {
        staged(tx, import)?;
        tx.prepare_cached("UPDATE imports SET state = ?2 WHERE generation = ?1")?
            .execute((as_i64(import.0), ABANDONED))?;
        Ok(())
    };
    store.write(abandon).await?;
    store.sweep.wake();
    Ok(())
}

/// A put too big for one small transaction: all or none, by way of an import.
pub(super) async fn put_many(
    store: &Sqlite,
    account: &str,
    recipients: Vec<Recipient>,
) -> Result<Vec<u64>, StoreError> {
    let count = recipients.len();
    let import = begin(store, account, Timestamp::default()).await?;
    let staged = stage(store, import, recipients).await;
    if let Err(error) = staged {
        // Unseen either way; if this fails too, the next start sweeps it up.
        let _ = store.abandon_import(import).await;
        return Err(error);
    }
    let (_, version) = publish(store, import).await?;
    Ok(vec![version; count])
}
