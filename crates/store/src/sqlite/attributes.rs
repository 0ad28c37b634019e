//! Names of attributes with their witnesses: see [`crate::unused_attributes`].

use super::visible::blob;
use super::{Tx, account_no, as_limit};
use crate::StoreError;
use crate::attributes::FoundAttributes;
use records::Recipient;
use rusqlite::{Connection, OptionalExtension};

/// Notes a name with its witness, unless it has one.
pub(super) fn note(
    connection: &Connection,
    account: i64,
    (name, witness): &(String, String),
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO attribute_names (account, name, witness) VALUES (?1, ?2, ?3)")?
        .execute((account, name, witness))?;
    Ok(())
}

/// Notes other witnesses.
pub(super) fn replace(tx: &Tx<'_>, account: &str, witnesses: &[(String, String)]) -> Result<(), StoreError> {
    let Some(account) = account_no(tx, account)? else { return Ok(()) };
    let mut update = tx.prepare_cached(
        "INSERT OR REPLACE INTO attribute_names (account, name, witness) VALUES (?1, ?2, ?3)",
    )?;
    for (name, witness) in witnesses {
        update.execute((account, name, witness))?;
    }
    Ok(())
}

pub(super) fn witnesses(
    connection: &Connection,
    account: &str,
    names: Vec<String>,
) -> Result<Vec<(String, String)>, StoreError> {
    let Some(account) = account_no(connection, account)? else { return Ok(Vec::new()) };
    let mut select =
        connection.prepare_cached("SELECT witness FROM attribute_names WHERE account = ?1 AND name = ?2")?;
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        if let Some(witness) = select.query_row((account, &name), |row| row.get(0)).optional()? {
            found.push((name, witness));
        }
    }
    Ok(found)
}

pub(super) fn names(connection: &Connection, account: &str, limit: usize) -> Result<Vec<String>, StoreError> {
    let Some(account) = account_no(connection, account)? else { return Ok(Vec::new()) };
    let mut select = connection
        .prepare_cached("SELECT name FROM attribute_names WHERE account = ?1 ORDER BY name LIMIT ?2")?;
    let names = select.query_map((account, as_limit(limit)), |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Notes the names of all who are there, of whatever version, in the transaction of the migration.
pub(super) fn fill(connection: &Connection) -> Result<(), StoreError> {
    let mut select = connection.prepare("SELECT account, body FROM recipients ORDER BY account")?;
    let mut rows = select.query([])?;
    let (mut found, mut at) = (FoundAttributes::default(), 0);
    let write = |found: &mut FoundAttributes, account| {
        found.drain().iter().try_for_each(|noted| note(connection, account, noted))
    };
    while let Some(row) = rows.next()? {
        let account: i64 = row.get(0)?;
        if account != at {
            write(&mut found, at)?;
            at = account;
        }
        if found.take(&Recipient::decode(blob(row, 1)?)?) {
            write(&mut found, at)?;
        }
    }
    write(&mut found, at)
}
