//! Leases by the server's clock.
//!
//! Who writes under a lease locks its row FOR KEY SHARE until the commit. Renewing changes no column of a
//! key, so it does not wait for that; a change of hands locks the row FOR UPDATE, so it does: after it
//! nothing is committed under the epoch before.

use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, as_i64, as_u64};
use crate::{HeldLease, Holder, LeaseTaken, Leases, StoreError};
use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio_postgres::Row;

/// Is this lease still in these hands?
pub(super) const FENCE: &str =
    "SELECT 1 FROM leases WHERE name = $1 AND epoch = $2 AND ends IS NOT NULL FOR KEY SHARE";
/// Renews one's own, also after it ran out if nobody took it.
const RENEW: &str = "UPDATE leases SET ends = clock_timestamp() + make_interval(secs => $3), address = $4 \
     WHERE name = $1 AND holder = $2 AND ends IS NOT NULL RETURNING epoch";
/// Who has it, for how many microseconds more (nothing: nobody). Waits for those who write under it if it is
/// to change hands.
const LOOK: &str = "SELECT epoch, holder, address, \
     (extract(epoch FROM ends - clock_timestamp()) * 1000000)::bigint FROM leases WHERE name = $1";
const ENTER: &str =
    "INSERT INTO leases (name, epoch, holder, address) VALUES ($1, 0, '', '') ON CONFLICT (name) DO NOTHING";
const LOCK: &str = "SELECT FROM leases WHERE name = $1 FOR UPDATE";
const TAKE: &str = "UPDATE leases SET epoch = epoch + 1, holder = $2, address = $4, \
     ends = clock_timestamp() + make_interval(secs => $3) \
     WHERE name = $1 AND (ends IS NULL OR ends <= clock_timestamp()) RETURNING epoch";
const RELEASE: &str = "UPDATE leases SET ends = NULL WHERE name = $1 AND epoch = $2 AND ends IS NOT NULL";

struct Take {
    name: String,
    holder: Holder,
    lasts_s: f64,
}

impl Leases for Postgres {
    fn take_lease<'a>(
        &'a self,
        name: &'a str,
        holder: &'a Holder,
        lasts: Duration,
    ) -> BoxFuture<'a, Result<LeaseTaken, StoreError>> {
        let args = Take { name: name.to_owned(), holder: holder.clone(), lasts_s: lasts.as_secs_f64() };
        let work = Work::new(args, |link, args| Box::pin(take(link, args))).again();
        Box::pin(self.on_runtime(|base| async move { base.change_lease(&work).await }))
    }

    fn release_lease<'a>(&'a self, name: &'a str, epoch: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        let work = Work::new((name.to_owned(), as_i64(epoch)), |link, (name, epoch)| {
            Box::pin(async move {
                link.execute(LOCK, &[name]).await?;
                Ok(link.execute(RELEASE, &[name, epoch]).await? > 0)
            })
        });
        let work = work.again();
        Box::pin(self.on_runtime(|base| async move { base.change_lease(&work).await }))
    }

    fn lease_holder<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<HeldLease>, StoreError>> {
        let work = Work::new(name.to_owned(), |link, name| {
            Box::pin(async move {
                let found = link.one(LOOK, &[name]).await?;
                Ok(found.map(|row| held(&row)).transpose()?.flatten())
            })
        });
        Box::pin(self.on_runtime(|base| async move { base.change_lease(&work).await }))
    }
}

async fn take(link: &PgLink, args: &Take) -> Result<LeaseTaken, Trouble> {
    let Take { name, holder, lasts_s } = args;
    if let Some(row) = link.one(RENEW, &[name, &holder.name, lasts_s, &holder.address]).await? {
        return Ok(LeaseTaken::Ours { epoch: as_u64(get(&row, 0)?) });
    }
    if let Some(row) = link.one(LOOK, &[name]).await?
        && let Some(held) = held(&row)?
    {
        return Ok(LeaseTaken::Theirs(held));
    }
    link.execute(ENTER, &[name]).await?;
    link.execute(LOCK, &[name]).await?;
    if let Some(row) = link.one(TAKE, &[name, &holder.name, lasts_s, &holder.address]).await? {
        return Ok(LeaseTaken::Ours { epoch: as_u64(get(&row, 0)?) });
    }
    let theirs = link.one(LOOK, &[name]).await?.map(|row| held(&row)).transpose()?.flatten();
    // Somebody else was faster, and has let go again since: the next try will tell.
    theirs.map(LeaseTaken::Theirs).ok_or_else(|| Trouble::Undone(format!("the lease {name:?} changes hands")))
}

/// In whose hands it is now.
fn held(row: &Row) -> Result<Option<HeldLease>, Trouble> {
    let left: Option<i64> = get(row, 3)?;
    let Some(left) = left.filter(|left| *left > 0) else { return Ok(None) };
    let holder = Holder { name: get(row, 1)?, address: get(row, 2)? };
    Ok(Some(HeldLease {
        holder,
        epoch: as_u64(get(row, 0)?),
        remaining: Duration::from_micros(as_u64(left)),
    }))
}
