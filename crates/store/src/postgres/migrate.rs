//! Brings a database to this program's form.

use super::error::Trouble;
use super::link::{PgLink, get};
use super::{attributes, search};
use crate::StoreError;

/// Numbered from 1, in order. A migration that was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_first.sql"),
    include_str!("../../migrations/postgres/0002_ledger.sql"),
    include_str!("../../migrations/postgres/0003_audit_chain.sql"),
    include_str!("../../migrations/postgres/0004_privacy.sql"),
    include_str!("../../migrations/postgres/0005_walls.sql"),
    include_str!("../../migrations/postgres/0006_pair.sql"),
    ATTRIBUTES,
    include_str!("../../migrations/postgres/0008_perhaps_stops.sql"),
    include_str!("../../migrations/postgres/0009_quiet_spans.sql"),
    include_str!("../../migrations/postgres/0010_cap_identity.sql"),
    include_str!("../../migrations/postgres/0011_people_who_sign_in.sql"),
    include_str!("../../migrations/postgres/0012_approval.sql"),
    include_str!("../../migrations/postgres/0013_import_jobs.sql"),
    SEARCH_TERMS,
    include_str!("../../migrations/postgres/0015_directory_revisions.sql"),
    include_str!("../../migrations/postgres/0016_evidence.sql"),
];
/// Its table is filled from the people there are.
const ATTRIBUTES: &str = include_str!("../../migrations/postgres/0007_attributes.sql");
/// So are memberships, with the terms by which people are found.
const SEARCH_TERMS: &str = include_str!("../../migrations/postgres/0014_search_terms.sql");
/// "cmpl": of several processes that start at once, one at a time looks. Freed with the transaction.
const LOCK: &str = "SET LOCAL lock_timeout = '5min'; SET LOCAL statement_timeout = '10min'; \
     SELECT pg_advisory_xact_lock(1668837484)";

/// Runs the migrations the database has not had, all in one transaction.
pub(super) async fn migrate(link: &PgLink) -> Result<(), Trouble> {
    link.simple(LOCK).await?;
    let encoding = link.one("SHOW server_encoding", &[]).await?;
    let encoding = encoding.map(|row| get::<String>(&row, 0)).transpose()?.unwrap_or_default();
    if encoding != "UTF8" {
        let why = format!("the database's encoding is {encoding}: create it again with ENCODING 'UTF8'");
        return Err(StoreError::Conflict { why }.into());
    }
    let had = form(link).await?;
    let newest = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    if had > newest {
        let why = format!(
            "the database was written by a newer version of campanile: its form is {had}, this one reads forms up to {newest}; \
             use the newer one"
        );
        return Err(StoreError::Conflict { why }.into());
    }
    for (number, sql) in (1..).zip(MIGRATIONS) {
        if number > had {
            link.simple(sql).await?;
            if *sql == ATTRIBUTES {
                attributes::fill(link).await?;
            }
            if *sql == SEARCH_TERMS {
                search::fill(link).await?;
            }
            link.simple(&format!("UPDATE campanile SET form = {number}")).await?;
        }
    }
    super::audit::begin_chain(link).await
}

/// How many migrations it has had. What is not empty and not ours is refused.
async fn form(link: &PgLink) -> Result<i32, Trouble> {
    let tables = link
        .all("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1", &[])
        .await?;
    let tables = tables.iter().map(|row| get::<String>(row, 0)).collect::<Result<Vec<_>, _>>()?;
    if tables.is_empty() {
        link.simple("CREATE TABLE campanile (form INTEGER NOT NULL); INSERT INTO campanile VALUES (0)")
            .await?;
        return Ok(0);
    }
    if !tables.iter().any(|table| table == "campanile") {
        let why = "the database belongs to another program: give campanile one of its own".to_owned();
        return Err(StoreError::Conflict { why }.into());
    }
    let form = link.one("SELECT form FROM campanile", &[]).await?;
    let damaged = || StoreError::Damaged { what: "the table campanile has no row".to_owned() };
    get(&form.ok_or_else(damaged)?, 0)
}
