//! Names of attributes with their witnesses: see [`crate::unused_attributes`].

use super::error::Trouble;
use super::link::{PgLink, get};
use super::{account_no, as_limit};
use crate::attributes::FoundAttributes;
use records::Recipient;

/// Names come sorted: two that note the same ones do not wait for each other in a circle.
const NOTE: &str = "INSERT INTO attribute_names (account, name, witness) \
     SELECT $1, * FROM unnest($2::text[], $3::text[]) ON CONFLICT DO NOTHING";
const REPLACE: &str = "INSERT INTO attribute_names (account, name, witness) \
     SELECT $1, * FROM unnest($2::text[], $3::text[]) \
     ON CONFLICT (account, name) DO UPDATE SET witness = excluded.witness";
const WITNESSES: &str = "SELECT name, witness FROM attribute_names WHERE account = $1 AND name = ANY($2)";
const NAMES: &str = "SELECT name FROM attribute_names WHERE account = $1 ORDER BY name LIMIT $2";
/// Rows read at a time when the table is filled.
const FILL_ROWS: i64 = 2_048;
const PAGE: &str = "SELECT account, id, generation, body FROM recipients \
     WHERE (account, id, generation) > ($1, $2, $3) ORDER BY account, id, generation LIMIT $4";

/// Notes names with their witnesses, but for those that have one.
pub(super) async fn note(link: &PgLink, account: i32, noted: &[(String, String)]) -> Result<(), Trouble> {
    write(link, NOTE, account, noted).await
}

/// Notes other witnesses.
pub(super) async fn replace(link: &PgLink, account: &str, noted: &[(String, String)]) -> Result<(), Trouble> {
    let Some(account) = account_no(link, account).await? else { return Ok(()) };
    write(link, REPLACE, account, noted).await
}

async fn write(
    link: &PgLink,
    sql: &'static str,
    account: i32,
    noted: &[(String, String)],
) -> Result<(), Trouble> {
    if noted.is_empty() {
        return Ok(());
    }
    let (names, witnesses): (Vec<&str>, Vec<&str>) =
        noted.iter().map(|(name, witness)| (name.as_str(), witness.as_str())).unzip();
    link.execute(sql, &[&account, &names, &witnesses]).await?;
    Ok(())
}

pub(super) async fn witnesses(
    link: &PgLink,
    account: &str,
    names: &[String],
) -> Result<Vec<(String, String)>, Trouble> {
    let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
    let rows = link.all(WITNESSES, &[&account, &names]).await?;
    rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect()
}

pub(super) async fn names(link: &PgLink, account: &str, limit: usize) -> Result<Vec<String>, Trouble> {
    let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
    link.all(NAMES, &[&account, &as_limit(limit)]).await?.iter().map(|row| get(row, 0)).collect()
}

/// Notes the names of all who are there, of whatever version, in the transaction of the migration.
pub(super) async fn fill(link: &PgLink) -> Result<(), Trouble> {
    let mut found = FoundAttributes::default();
    let (mut account, mut id, mut generation) = (i32::MIN, String::new(), i64::MIN);
    loop {
        let rows = link.all(PAGE, &[&account, &id, &generation, &FILL_ROWS]).await?;
        let Some(last) = rows.last() else { break };
        for row in &rows {
            let of: i32 = get(row, 0)?;
            if of != account {
                note(link, account, &found.drain()).await?;
                account = of;
            }
            if found.take(&Recipient::decode(get(row, 3)?)?) {
                note(link, account, &found.drain()).await?;
            }
        }
        (id, generation) = (get(last, 1)?, get(last, 2)?);
    }
    note(link, account, &found.drain()).await
}
