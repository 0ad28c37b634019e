//! Revision of an account's directory: see [`crate::DirectoryRevision`]. Triggers count what imports, groups
//! and stops change; whoever changes a single person notes it here, in the same transaction.

use super::{Tx, account_no, as_u64};
use crate::{DirectoryRevision, StoreError};
use rusqlite::{Connection, OptionalExtension};

pub(super) fn of(connection: &Connection, account: &str) -> Result<DirectoryRevision, StoreError> {
    let Some(no) = account_no(connection, account)? else { return Ok(DirectoryRevision::default()) };
    let mut select =
        connection.prepare_cached("SELECT people, stops FROM directory_revisions WHERE account = ?1")?;
    let found = select.query_row([no], |row| {
        Ok(DirectoryRevision { people: as_u64(row.get(0)?), stops: as_u64(row.get(1)?) })
    });
    Ok(found.optional()?.unwrap_or_default())
}

/// People of the account changed.
pub(super) fn note_people(tx: &Tx<'_>, account: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO directory_revisions (account, people, stops) VALUES (?1, 1, 0) \
         ON CONFLICT (account) DO UPDATE SET people = people + 1",
    )?
    .execute([account])?;
    Ok(())
}
