//! Visibility of a recipient's versions: see [`crate::visible`].

use crate::StoreError;
use crate::visible::ListedImport;
pub(super) use crate::visible::{ABANDONED, HELD, PUBLISHED, STAGING, Visible};
use rusqlite::{Connection, OptionalExtension, Row};

/// What must be known of an account's imports.
pub(super) fn load(connection: &Connection, account: i64) -> Result<Visible, StoreError> {
    let mut listed = connection.prepare_cached(
        "SELECT generation, state, rank, undo_until IS NOT NULL FROM imports WHERE account = ?1",
    )?;
    let rows = listed.query_map([account], |row| {
        let (generation, state, rank) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(ListedImport { generation, state, rank, is_undoable: row.get(3)? })
    })?;
    Ok(Visible::new(rows.collect::<Result<_, _>>()?))
}

/// A recipient as found.
pub(super) struct FoundVersion<'a> {
    pub(super) id: &'a str,
    pub(super) version: i64,
    pub(super) body: &'a [u8],
}

/// Calls `each` with every recipient after `after` in key order, until it returns false.
pub(super) fn walk(
    connection: &Connection,
    account: i64,
    after: &str,
    each: &mut dyn FnMut(FoundVersion<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let visible = load(connection, account)?;
    let mut select = connection.prepare_cached(
        "SELECT id, generation, version, body FROM recipients WHERE account = ?1 AND id > ?2 ORDER BY id, generation",
    )?;
    let mut rows = select.query((account, after))?;
    if visible.is_plain() {
        while let Some(row) = rows.next()? {
            if !each(found(row)?)? {
                return Ok(());
            }
        }
        return Ok(());
    }
    let mut best = Best::default();
    while let Some(row) = rows.next()? {
        let id = text(row, 0)?;
        if best.rank.is_some() && best.id != id && !best.give(each)? {
            return Ok(());
        }
        if let Some(rank) = visible.rank(row.get(1)?)
            && best.rank < Some(rank)
        {
            best.take(rank, &found(row)?);
        }
    }
    if best.rank.is_some() {
        best.give(each)?;
    }
    Ok(())
}

/// The recipient with this id: its version and body.
pub(super) fn find(
    connection: &Connection,
    visible: &Visible,
    account: i64,
    id: &str,
) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
    let Some(generation) = winner(connection, visible, account, id)? else { return Ok(None) };
    let mut select = connection.prepare_cached(
        "SELECT version, body FROM recipients WHERE account = ?1 AND id = ?2 AND generation = ?3",
    )?;
    let found: Option<(i64, Vec<u8>)> =
        select.query_row((account, id, generation), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(found.filter(|(_, body)| !body.is_empty()))
}

/// The version of this id that is seen.
pub(super) fn winner(
    connection: &Connection,
    visible: &Visible,
    account: i64,
    id: &str,
) -> Result<Option<i64>, StoreError> {
    let mut select =
        connection.prepare_cached("SELECT generation FROM recipients WHERE account = ?1 AND id = ?2")?;
    let mut rows = select.query((account, id))?;
    let mut best: Option<(i64, i64)> = None;
    while let Some(row) = rows.next()? {
        let generation = row.get(0)?;
        if let Some(rank) = visible.rank(generation)
            && best.is_none_or(|(before, _)| before < rank)
        {
            best = Some((rank, generation));
        }
    }
    Ok(best.map(|(_, generation)| generation))
}

/// The best version so far of the id at hand.
#[derive(Default)]
struct Best {
    rank: Option<i64>,
    id: String,
    version: i64,
    body: Vec<u8>,
}

impl Best {
    fn take(&mut self, rank: i64, found: &FoundVersion<'_>) {
        self.rank = Some(rank);
        self.version = found.version;
        self.id.clear();
        self.id.push_str(found.id);
        self.body.clear();
        self.body.extend_from_slice(found.body);
    }

    fn give(
        &mut self,
        each: &mut dyn FnMut(FoundVersion<'_>) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        self.rank = None;
        if self.body.is_empty() {
            return Ok(true); // an import took this person away
        }
        each(FoundVersion { id: &self.id, version: self.version, body: &self.body })
    }
}

fn found<'a>(row: &'a Row<'_>) -> Result<FoundVersion<'a>, StoreError> {
    Ok(FoundVersion { id: text(row, 0)?, version: row.get(2)?, body: blob(row, 3)? })
}

pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|error| StoreError::Damaged { what: error.to_string() })
}

pub(super) fn blob<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a [u8], StoreError> {
    row.get_ref(column)?.as_blob().map_err(|error| StoreError::Damaged { what: error.to_string() })
}
