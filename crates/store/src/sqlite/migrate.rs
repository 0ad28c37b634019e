//! Brings a database to this program's form.

use crate::StoreError;
use rusqlite::Connection;

/// Numbered from 1, in order. A migration that was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_first.sql"),
    include_str!("../../migrations/sqlite/0002_messages.sql"),
    include_str!("../../migrations/sqlite/0003_house.sql"),
];
/// Marks a database file as ours: "cmpl".
const APPLICATION_ID: i64 = 0x636d_706c;

/// Runs the migrations the database has not had, each in a transaction of its own.
pub(super) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    let newest = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let had: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && (application != 0 || had != 0 || tables != 0) {
        return Err(StoreError::Conflict { why: "the database belongs to another program".to_owned() });
    }
    if had > newest {
        let why = format!(
            "the database {} was written by a newer version of campanile: its form is {had}, this one reads forms up to {newest}; \
             use the newer one",
            connection.path().unwrap_or_default()
        );
        return Err(StoreError::Conflict { why });
    }
    for (number, sql) in (1..).zip(MIGRATIONS) {
        if number > had {
            let whole = format!(
                "BEGIN IMMEDIATE;\n{sql}\nPRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};\nCOMMIT;"
            );
            connection.execute_batch(&whole).inspect_err(|_| {
                let _ = connection.execute_batch("ROLLBACK"); // there is none if BEGIN failed
            })?;
        }
    }
    Ok(())
}
