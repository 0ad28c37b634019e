//! Leases in a file that one process has open.
//!
//! Others cannot hold one, so a lease ends with the process at the latest: opening the file ends all that it
//! finds. The clock is this process's monotonic one, which nobody sets.

use super::{JobStep, Sqlite, Tx, as_i64, as_u64};
use crate::{Fence, HeldLease, Holder, LeaseTaken, Leases, StoreError};
use futures_util::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension};
use std::time::{Duration, Instant};

impl Leases for Sqlite {
    fn take_lease<'a>(
        &'a self,
        name: &'a str,
        holder: &'a Holder,
        lasts: Duration,
    ) -> BoxFuture<'a, Result<LeaseTaken, StoreError>> {
        Box::pin(async move {
            let (name, holder, opened) = (name.to_owned(), holder.clone(), self.opened);
            self.write_unfenced(move |tx| take(tx, &name, &holder, lasts, opened)).await
        })
    }

    fn release_lease<'a>(&'a self, name: &'a str, epoch: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let name = name.to_owned();
            let release = move |tx: &Tx<'_>| {
                let mut update = tx.prepare_cached(
                    "UPDATE leases SET until = NULL WHERE name = ?1 AND epoch = ?2 AND until IS NOT NULL",
                )?;
                Ok(update.execute((&name, as_i64(epoch)))? > 0)
            };
            self.write_unfenced(release).await
        })
    }

    fn lease_holder<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<HeldLease>, StoreError>> {
        Box::pin(async move {
            let (name, opened) = (name.to_owned(), self.opened);
            let find = move |connection: &Connection| {
                let now = micros(opened.elapsed());
                Ok(row(connection, &name)?.and_then(|row| row.held(now)))
            };
            self.read(find).await
        })
    }
}

/// A lease as stored.
struct LeaseRow {
    epoch: i64,
    holder: Holder,
    until: Option<i64>,
}

impl LeaseRow {
    /// In whose hands it is now.
    fn held(self, now: i64) -> Option<HeldLease> {
        let left = self.until?.saturating_sub(now);
        let remaining = Duration::from_micros(as_u64(left));
        (left > 0).then_some(HeldLease { holder: self.holder, epoch: as_u64(self.epoch), remaining })
    }
}

fn row(connection: &Connection, name: &str) -> Result<Option<LeaseRow>, StoreError> {
    let mut select =
        connection.prepare_cached("SELECT epoch, holder, address, until FROM leases WHERE name = ?1")?;
    let found = select.query_row([name], |row| {
        let holder = Holder { name: row.get(1)?, address: row.get(2)? };
        Ok(LeaseRow { epoch: row.get(0)?, holder, until: row.get(3)? })
    });
    Ok(found.optional()?)
}

fn take(
    tx: &Tx<'_>,
    name: &str,
    holder: &Holder,
    lasts: Duration,
    opened: Instant,
) -> Result<LeaseTaken, StoreError> {
    let now = micros(opened.elapsed());
    let epoch = match row(tx, name)? {
        None => 1,
        // One's own that ran out, and that nobody took, is still one's own.
        Some(row) if row.until.is_some() && row.holder.name == holder.name => row.epoch,
        Some(row) => {
            let epoch = row.epoch + 1;
            if let Some(held) = row.held(now) {
                return Ok(LeaseTaken::Theirs(held));
            }
            epoch
        }
    };
    tx.prepare_cached(
        "INSERT OR REPLACE INTO leases (name, epoch, holder, address, until) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((name, epoch, &holder.name, &holder.address, now.saturating_add(micros(lasts))))?;
    Ok(LeaseTaken::Ours { epoch: as_u64(epoch) })
}

/// Refuses a writer whose lease is another's by now.
pub(super) fn check(tx: &Tx<'_>, fence: &Fence) -> Result<(), StoreError> {
    match row(tx, &fence.lease)? {
        Some(row) if row.until.is_some() && as_u64(row.epoch) == fence.epoch => Ok(()),
        _ => Err(StoreError::Fenced { lease: fence.lease.clone() }),
    }
}

/// Whoever held a lease when the file was last open is gone.
pub(super) fn end_all(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE leases SET until = NULL", [])?;
    Ok(())
}

/// The slice of a job, once its writer was found to be the one who may.
pub(super) fn behind<T>(
    fence: Option<Fence>,
    mut run: impl FnMut(&Tx<'_>) -> Result<JobStep<T>, StoreError>,
) -> impl FnMut(&Tx<'_>) -> Result<JobStep<T>, StoreError> {
    move |tx| {
        if let Some(fence) = &fence {
            check(tx, fence)?;
        }
        run(tx)
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
