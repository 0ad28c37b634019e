//! Brings a database to this program's form.

use super::{attributes, recipients};
use crate::StoreError;
use rusqlite::Connection;

/// Numbered from 1, in order. A migration that was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_first.sql"),
    include_str!("../../migrations/sqlite/0002_messages.sql"),
    include_str!("../../migrations/sqlite/0003_house.sql"),
    include_str!("../../migrations/sqlite/0004_audit_chain.sql"),
    include_str!("../../migrations/sqlite/0005_privacy.sql"),
    include_str!("../../migrations/sqlite/0006_walls.sql"),
    include_str!("../../migrations/sqlite/0007_pair.sql"),
    ATTRIBUTES,
    include_str!("../../migrations/sqlite/0009_perhaps_stops.sql"),
    include_str!("../../migrations/sqlite/0010_quiet_spans.sql"),
    include_str!("../../migrations/sqlite/0011_cap_identity.sql"),
    include_str!("../../migrations/sqlite/0012_people_who_sign_in.sql"),
    include_str!("../../migrations/sqlite/0013_approval.sql"),
    include_str!("../../migrations/sqlite/0014_import_jobs.sql"),
    SEARCH_TERMS,
    include_str!("../../migrations/sqlite/0016_directory_revisions.sql"),
    include_str!("../../migrations/sqlite/0017_evidence.sql"),
];
/// Its table is filled from the people there are.
const ATTRIBUTES: &str = include_str!("../../migrations/sqlite/0008_attributes.sql");
/// So are memberships, with the terms by which people are found.
const SEARCH_TERMS: &str = include_str!("../../migrations/sqlite/0015_search_terms.sql");
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
            step(connection, number, sql).inspect_err(|_| {
                let _ = connection.execute_batch("ROLLBACK"); // there is none if BEGIN failed
            })?;
        }
    }
    super::audit::begin_chain(connection)
}

fn step(connection: &Connection, number: i64, sql: &str) -> Result<(), StoreError> {
    connection.execute_batch(&format!("BEGIN IMMEDIATE;\n{sql}"))?;
    if sql == ATTRIBUTES {
        attributes::fill(connection)?;
    }
    if sql == SEARCH_TERMS {
        recipients::fill_terms(connection)?;
    }
    connection.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};\nCOMMIT;"
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::person;
    use records::Recipient;

    #[test]
    fn a_database_of_an_older_form_knows_the_attributes_of_its_people() {
        let connection = Connection::open_in_memory().unwrap();
        let older = MIGRATIONS.iter().position(|sql| *sql == ATTRIBUTES).unwrap();
        for (number, sql) in (1..).zip(&MIGRATIONS[..older]) {
            step(&connection, number, sql).unwrap();
        }
        let put = "INSERT INTO recipients (account, id, generation, version, body) VALUES (?1, ?2, 0, 1, ?3)";
        for (account, id, name) in [(1, "a", "ward"), (1, "b", "floor"), (2, "c", "ward")] {
            let attributes = [(name.to_owned(), "7".to_owned())].into();
            let body = Recipient { attributes, ..person(id, "") }.encode();
            connection.execute(put, (account, id, body)).unwrap();
        }
        migrate(&connection).unwrap();
        let select = "SELECT account || name || witness FROM attribute_names ORDER BY 1";
        let mut select = connection.prepare(select).unwrap();
        let noted: Vec<String> =
            select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(noted, ["1floorb", "1warda", "2wardc"]);
    }
}
