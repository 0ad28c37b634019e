//! Revision of an account's directory: see [`crate::DirectoryRevision`]. Triggers count what imports, groups
//! and stops change; whoever changes a single person notes it here, in the same transaction.

use super::error::Trouble;
use super::link::{PgLink, get};
use super::{account_no, as_u64};
use crate::DirectoryRevision;

const OF: &str = "SELECT people, stops FROM directory_revisions WHERE account = $1";
const NOTE: &str = "INSERT INTO directory_revisions AS had (account, people, stops) VALUES ($1, 1, 0) \
     ON CONFLICT (account) DO UPDATE SET people = had.people + 1";

pub(super) async fn of(link: &PgLink, account: &str) -> Result<DirectoryRevision, Trouble> {
    let Some(no) = account_no(link, account).await? else { return Ok(DirectoryRevision::default()) };
    let Some(row) = link.one(OF, &[&no]).await? else { return Ok(DirectoryRevision::default()) };
    Ok(DirectoryRevision { people: as_u64(get(&row, 0)?), stops: as_u64(get(&row, 1)?) })
}

/// People of the account changed.
pub(super) async fn note_people(link: &PgLink, account: i32) -> Result<(), Trouble> {
    link.execute(NOTE, &[&account]).await?;
    Ok(())
}
