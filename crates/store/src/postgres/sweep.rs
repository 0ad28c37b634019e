//! Removes, behind the readers' backs, versions that nobody sees any more. Any process may, one slice at a
//! time.

use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Base, Work, as_limit, lock_account};
use crate::StoreError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Rows of one slice, one transaction.
const SLICE_ROWS: usize = 4_096;
/// After a pass that failed the next one waits so long.
const AGAIN: Duration = Duration::from_secs(10);
/// Another process may have left something behind.
const EVERY: Duration = Duration::from_secs(300);

/// An import whose process has been silent for long is nobody's.
const ORPHANS: &str =
    "UPDATE imports SET state = 2 WHERE state = 0 AND seen < clock_timestamp() - interval '10 minutes'";
const LISTED: &str = "SELECT account, generation FROM imports \
     WHERE state = 2 OR (state = 1 AND undo_until IS NULL) ORDER BY account, generation";
/// "swep": not two processes at a time, which would wait for each other.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(1937204592)";
const END: &str = "SELECT id FROM recipients WHERE account = $1 AND id > $2 ORDER BY id OFFSET $3 LIMIT 1";

/// Removes what is abandoned or superseded in a part of an account, and what says that somebody went: below
/// it there is nothing any more. What can be undone supersedes nothing.
macro_rules! sweep {
    ($part:literal) => {
        concat!(
            "WITH ranked AS (SELECT recipients.id, recipients.generation, coalesce(imports.state, 1) AS state, \
              coalesce(imports.rank, 0) AS rank, undo_until, octet_length(recipients.body) AS octets, \
              max(coalesce(imports.rank, 0)) \
              FILTER (WHERE coalesce(imports.state, 1) = 1 AND undo_until IS NULL) OVER (PARTITION BY recipients.id) AS best \
              FROM recipients LEFT JOIN imports ON imports.generation = recipients.generation \
              WHERE recipients.account = $1 AND recipients.id > $2 ",
            $part,
            "), gone AS (DELETE FROM recipients USING ranked \
              WHERE recipients.account = $1 AND recipients.id = ranked.id \
              AND recipients.generation = ranked.generation \
              AND (ranked.state = 2 OR ranked.state = 1 AND (ranked.rank < ranked.best \
               OR ranked.octets = 0 AND ranked.undo_until IS NULL)) \
              RETURNING recipients.id, recipients.generation, recipients.groups) \
             DELETE FROM memberships USING (SELECT id, generation, unnest(groups) AS grp FROM gone) AS gone \
              WHERE memberships.account = $1 AND memberships.grp = gone.grp AND memberships.id = gone.id \
              AND memberships.generation = gone.generation"
        )
    };
}

/// Where the next slice begins.
enum SweepNext {
    After(String),
    /// That was the last.
    Done,
    /// Another process sweeps.
    Busy,
}

/// Runs until the store closes.
pub(super) async fn run(base: Arc<Base>) {
    while base.go_on().is_ok() {
        let wait = match sweep_all(&base).await {
            Ok(()) => EVERY,
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "rows of unfinished imports could not be deleted");
                AGAIN
            }
        };
        let _ = timeout(wait, base.sweep.notified()).await; // or somebody has something for it
    }
}

async fn sweep_all(base: &Base) -> Result<(), StoreError> {
    let orphans = Work::new((), |link, ()| Box::pin(link.execute(ORPHANS, &[])));
    base.change(&orphans.again()).await?;
    let listed = Work::new((), |link, ()| {
        Box::pin(async move {
            let rows = link.all(LISTED, &[]).await?;
            rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect::<Result<Vec<(i32, i64)>, _>>()
        })
    });
    let listed = base.look(&listed).await?;
    for imports in listed.chunk_by(|a, b| a.0 == b.0) {
        let generations = imports.iter().map(|(_, generation)| *generation).collect();
        sweep_account(base, imports[0].0, generations).await?;
    }
    Ok(())
}

/// One pass over an account's recipients for the imports that were published or given up before it; then they
/// need not be listed any more.
async fn sweep_account(base: &Base, account: i32, imports: Vec<i64>) -> Result<(), StoreError> {
    let mut after = String::new();
    loop {
        base.go_on()?;
        let _bulk = base.bulk.acquire().await.map_err(|_| StoreError::Closed)?;
        let slice = Work::new((account, after), |link, (account, after)| {
            Box::pin(sweep_slice(link, *account, after))
        });
        match base.change(&slice.again()).await? {
            SweepNext::After(next) => after = next,
            SweepNext::Done => break,
            SweepNext::Busy => return Ok(()),
        }
    }
    let forget = Work::new((account, imports), |link, (account, imports)| {
        Box::pin(async move {
            lock_account(link, *account).await?;
            link.execute("DELETE FROM imports WHERE generation = ANY($1)", &[imports]).await
        })
    });
    base.change(&forget.again()).await?;
    Ok(())
}

async fn sweep_slice(link: &PgLink, account: i32, after: &String) -> Result<SweepNext, Trouble> {
    let locked = link.one(LOCK, &[]).await?.map(|row| get(&row, 0)).transpose()?;
    if locked != Some(true) {
        return Ok(SweepNext::Busy);
    }
    lock_account(link, account).await?;
    let end = link.one(END, &[&account, after, &as_limit(SLICE_ROWS)]).await?;
    match end.map(|row| get::<String>(&row, 0)).transpose()? {
        Some(end) => {
            link.execute(sweep!("AND recipients.id <= $3"), &[&account, after, &end]).await?;
            Ok(SweepNext::After(end))
        }
        None => {
            link.execute(sweep!(""), &[&account, after]).await?;
            Ok(SweepNext::Done)
        }
    }
}
