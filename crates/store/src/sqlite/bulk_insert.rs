//! Inserts of many rows: one statement for many of them, so that each does not open the tree anew and look
//! for its place from the root. Rows come in the order of the table's key.

use super::Tx;
use crate::StoreError;
use rusqlite::{CachedStatement, ToSql};

/// Rows of one statement. The rest of a slice goes in statements of one row.
const STATEMENT_ROWS: usize = 64;

/// Where the rows of an import stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImportPlace {
    pub account: i64,
    pub generation: i64,
    pub version: i64,
}

/// A table, with the values of its rows.
pub(super) struct BulkInsert<R> {
    /// The statement up to its values.
    into: &'static str,
    columns: usize,
    bind: fn(&mut Binding<'_, '_>, ImportPlace, &R) -> rusqlite::Result<()>,
}

/// Versions of recipients: id and body.
pub(super) const RECIPIENTS: BulkInsert<(String, Vec<u8>)> = BulkInsert {
    into: "INSERT INTO recipients (account, id, generation, version, body) VALUES ",
    columns: 5,
    bind: |to, place, (id, body)| {
        to.next(place.account)?;
        to.next(id)?;
        to.next(place.generation)?;
        to.next(place.version)?;
        to.next(body)
    },
};

/// Groups and search terms, each with an id.
pub(super) const MEMBERSHIPS: BulkInsert<(String, String)> = BulkInsert {
    into: "INSERT OR IGNORE INTO memberships (account, grp, id, generation) VALUES ",
    columns: 4,
    bind: |to, place, (group, id)| {
        to.next(place.account)?;
        to.next(group)?;
        to.next(id)?;
        to.next(place.generation)
    },
};

/// Parameters of a statement, one after the other.
struct Binding<'s, 'c> {
    statement: &'s mut CachedStatement<'c>,
    at: usize,
}

impl Binding<'_, '_> {
    fn next(&mut self, value: impl ToSql) -> rusqlite::Result<()> {
        self.at += 1;
        self.statement.raw_bind_parameter(self.at, value)
    }
}

impl<R> BulkInsert<R> {
    pub(super) fn write(&self, tx: &Tx<'_>, place: ImportPlace, rows: &[R]) -> Result<(), StoreError> {
        let (many, one) = rows.as_chunks::<STATEMENT_ROWS>();
        if !many.is_empty() {
            let mut insert = tx.prepare_cached(&self.statement(STATEMENT_ROWS))?;
            many.iter().try_for_each(|rows| self.carry_out(&mut insert, place, rows))?;
        }
        if !one.is_empty() {
            let mut insert = tx.prepare_cached(&self.statement(1))?;
            one.iter().try_for_each(|row| self.carry_out(&mut insert, place, std::slice::from_ref(row)))?;
        }
        Ok(())
    }

    fn carry_out(
        &self,
        insert: &mut CachedStatement<'_>,
        place: ImportPlace,
        rows: &[R],
    ) -> Result<(), StoreError> {
        let mut binding = Binding { statement: insert, at: 0 };
        rows.iter().try_for_each(|row| (self.bind)(&mut binding, place, row))?;
        insert.raw_execute()?;
        Ok(())
    }

    fn statement(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns].join(", "));
        format!("{}{}", self.into, vec![row.as_str(); rows].join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_a_place_for_each_value() {
        let expected = "INSERT OR IGNORE INTO memberships (account, grp, id, generation) VALUES (?, ?, ?, ?), (?, ?, ?, ?)";
        assert_eq!(MEMBERSHIPS.statement(2), expected);
        assert_eq!(RECIPIENTS.statement(1).matches('?').count(), RECIPIENTS.columns);
    }
}
