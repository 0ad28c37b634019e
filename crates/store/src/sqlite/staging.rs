//! Imports: spooled, put in key order, published at one stroke.
//!
//! Rows come in the order of somebody's file. Written as they come, each would touch a page of its own
//! (measured: a million in no order made 9.6 GB of log and took three minutes); in key order a page is
//! written about once. So staged rows wait in a spool; publishing first writes them, unseen, in key order,
//! then the memberships in theirs, and then flips one row. An import that is looked at first is prepared: the
//! same, without the flip ([`super::import_jobs`]).

use super::bulk_insert::{ImportPlace, MEMBERSHIPS, RECIPIENTS};
use super::queue::PendingJob;
use super::readers::Readers;
use super::visible::{self, ABANDONED, PUBLISHED, STAGING};
use super::{JobStep, Lane, Sqlite, Tx, WriterQueue, as_i64, as_u64, leases};
use crate::attributes::FoundAttributes;
use crate::import_jobs::{AbsentPeople, ImportCounts};
use crate::import_merge::{ImportMerge, PAGE_ROWS};
use crate::spool::{Merge, Spool, SpoolPair};
use crate::staged::not_staged;
use crate::{Fence, ImportNo, Recipients, StoreError, search};
use records::{Recipient, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of one slice, one transaction: whole statements.
const SLICE_ROWS_MAX: usize = 2_048;
/// Rows between two looks whether somebody has more haste: some 4 ms, as long as a commit may take.
const HURRY_ROWS: usize = 512;
/// Between a group and an id in a key; ids have no control characters.
const KEY_SEPARATOR: u8 = 0;

/// Imports that were staged when the process ended are nobody's. They are swept up like those given up.
pub(super) fn abandon_orphans(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE imports SET state = ?1 WHERE state = ?2", (ABANDONED, STAGING))?;
    Ok(())
}

pub(super) async fn begin(store: &Sqlite, account: &str, now: Timestamp) -> Result<ImportNo, StoreError> {
    for import in store.staging.forgotten(now)? {
        tracing::warn!(import = import.0, "an import that was never ended is cancelled to make room");
        abandon(store, import).await?;
    }
    let account = account.to_owned();
    let begin = move |tx: &Tx<'_>| {
        let no = tx.account(&account)?;
        let version = tx.raise_version(1)?;
        tx.prepare_cached(
            "INSERT INTO imports (account, state, rank, version, rows, begun) VALUES (?1, ?2, 0, ?3, 0, ?4)",
        )?
        .execute((no, STAGING, version, now.0))?;
        Ok(ImportNo(as_u64(tx.last_insert_rowid())))
    };
    let import = store.write(begin).await?;
    store.staging.add(import, now);
    Ok(import)
}

pub(super) async fn stage(
    store: &Sqlite,
    import: ImportNo,
    recipients: Vec<Recipient>,
) -> Result<(), StoreError> {
    let staged = store.staging.find(import)?;
    off_thread(move || staged.push(import, &recipients)).await
}

/// Resolves to the rows it has and the version they got. If it fails, the import is given up.
pub(super) async fn publish(store: &Sqlite, import: ImportNo) -> Result<(u64, u64), StoreError> {
    let staged = store.staging.find(import)?;
    let (queue, memberships) = (Arc::clone(&store.queue), store.staging.file(import, "groups"));
    let (sweep, fence) = (Arc::clone(&store.sweep), store.fence.clone());
    let published = off_thread(move || {
        let spool = staged.take(import)?;
        let mut writing = Writing { queue: &queue, fence, import, written: &staged.written, pending: None };
        let published = writing.publish(spool, memberships);
        if published.is_err() {
            // Unseen either way; if this fails too, the next start sweeps it up.
            let _ = queue.submit_here(Lane::Now, move |tx| give_up(tx, import).map(JobStep::Done));
        }
        sweep.wake();
        published
    });
    let published = published.await;
    store.staging.remove(import);
    published
}

/// Writes it all but the flip. If it fails, the import is given up.
pub(super) async fn prepare(
    store: &Sqlite,
    import: ImportNo,
    absent: Option<AbsentPeople>,
) -> Result<ImportCounts, StoreError> {
    let staged = store.staging.find(import)?;
    let (queue, memberships) = (Arc::clone(&store.queue), store.staging.file(import, "groups"));
    let (readers, sweep, fence) = (Arc::clone(&store.readers), Arc::clone(&store.sweep), store.fence.clone());
    let prepared = off_thread(move || {
        let spool = staged.take(import)?;
        let mut writing = Writing { queue: &queue, fence, import, written: &staged.written, pending: None };
        let prepared = writing.prepare(&readers, spool, memberships, absent);
        if prepared.is_err() {
            // Unseen either way; if this fails too, the next start sweeps it up.
            let _ = queue.submit_here(Lane::Now, move |tx| give_up(tx, import).map(JobStep::Done));
            sweep.wake();
        }
        prepared
    });
    let prepared = prepared.await;
    if prepared.is_err() {
        store.staging.remove(import);
    }
    prepared
}

/// People of the account of an import, in the order of their ids.
fn people_after(readers: &Readers, import: ImportNo, after: &str) -> Result<Vec<Recipient>, StoreError> {
    readers.here(|connection| {
        let account: i64 = connection
            .prepare_cached("SELECT account FROM imports WHERE generation = ?1")?
            .query_row([as_i64(import.0)], |row| row.get(0))?;
        let mut page = Vec::with_capacity(PAGE_ROWS);
        visible::walk(connection, account, after, &mut |found| {
            page.push(Recipient::decode(found.body)?);
            Ok(page.len() < PAGE_ROWS)
        })?;
        Ok(page)
    })
}

pub(super) async fn abandon(store: &Sqlite, import: ImportNo) -> Result<(), StoreError> {
    store.write(move |tx| give_up(tx, import)).await?;
    store.staging.remove(import);
    store.sweep.wake();
    Ok(())
}

/// A put too big for one small transaction: all or none, by way of an import.
pub(super) async fn put_many(
    store: &Sqlite,
    account: &str,
    recipients: Vec<Recipient>,
) -> Result<Vec<u64>, StoreError> {
    let count = recipients.len();
    let import = begin(store, account, Timestamp::default()).await?;
    if let Err(error) = stage(store, import, recipients).await {
        // Unseen either way; if this fails too, the next start sweeps it up.
        let _ = store.abandon_import(import).await;
        return Err(error);
    }
    let (_, version) = publish(store, import).await?;
    Ok(vec![version; count])
}

/// Gives the rows of an import in the order of ids: id and body.
type NextRow<'a> = &'a mut dyn FnMut() -> Result<Option<SpoolPair>, StoreError>;

/// What writes an import, on a thread that may wait for the writer. It makes a slice while the writer has the
/// one before.
struct Writing<'a> {
    queue: &'a WriterQueue,
    fence: Option<Fence>,
    import: ImportNo,
    written: &'a AtomicU64,
    /// The slice that the writer has, and its rows.
    pending: Option<(PendingJob<()>, u64)>,
}

impl Writing<'_> {
    fn publish(&mut self, spool: Spool, memberships: PathBuf) -> Result<(u64, u64), StoreError> {
        let mut memberships = Spool::new(memberships);
        let mut merge = spool.merge()?;
        let rows = self.recipients(&mut || merge.next(), &mut memberships)?;
        self.memberships(memberships.merge()?)?;
        let import = self.import;
        let flip = leases::behind(self.fence.clone(), move |tx| flip(tx, import, rows).map(JobStep::Done));
        self.queue.submit_here(Lane::Now, flip)
    }

    fn prepare(
        &mut self,
        readers: &Readers,
        spool: Spool,
        memberships: PathBuf,
        absent: Option<AbsentPeople>,
    ) -> Result<ImportCounts, StoreError> {
        let mut memberships = Spool::new(memberships);
        let import = self.import;
        let page = Box::new(move |after: &str| people_after(readers, import, after));
        let mut merge = ImportMerge::new(spool.merge()?, page, absent)?;
        self.recipients(&mut || merge.next(), &mut memberships)?;
        self.memberships(memberships.merge()?)?;
        Ok(merge.counts())
    }

    /// Writes the recipients in slices, and spools the groups they name and their search terms. How many they
    /// were.
    fn recipients(&mut self, next: NextRow<'_>, memberships: &mut Spool) -> Result<u64, StoreError> {
        let mut rows: Vec<(String, Vec<u8>)> = Vec::with_capacity(SLICE_ROWS_MAX);
        let mut attributes = FoundAttributes::default();
        let (mut count, mut key) = (0, Vec::new());
        loop {
            let next = next()?;
            if rows.len() == SLICE_ROWS_MAX || next.is_none() {
                count += rows.len();
                self.slice(std::mem::take(&mut rows), |tx, place, rows| RECIPIENTS.write(tx, place, rows))?;
            }
            let Some((id, body)) = next else {
                self.attributes(attributes.drain())?;
                self.settle()?;
                return Ok(count as u64);
            };
            if !body.is_empty() {
                let person = Recipient::decode(&body)?;
                if attributes.take(&person) {
                    self.attributes(attributes.drain())?;
                }
                for name in search::names(&person) {
                    key.clear();
                    key.extend_from_slice(name.as_bytes());
                    key.push(KEY_SEPARATOR);
                    key.extend_from_slice(&id);
                    memberships.push(&key, &[])?;
                }
            }
            rows.push((text(id)?, body));
        }
    }

    fn attributes(&mut self, noted: Vec<(String, String)>) -> Result<(), StoreError> {
        self.slice(noted, |tx, place, noted| {
            noted.iter().try_for_each(|noted| super::attributes::note(tx, place.account, noted))
        })
    }

    fn memberships(&mut self, mut merge: Merge) -> Result<(), StoreError> {
        let mut rows: Vec<(String, String)> = Vec::with_capacity(SLICE_ROWS_MAX);
        loop {
            let next = merge.next()?;
            if rows.len() == SLICE_ROWS_MAX || next.is_none() {
                self.slice(std::mem::take(&mut rows), |tx, place, rows| MEMBERSHIPS.write(tx, place, rows))?;
            }
            let Some((key, _)) = next else { return self.settle() };
            let mut group = text(key)?;
            let id = match group.find(char::from(KEY_SEPARATOR)) {
                Some(at) => {
                    let id = group[at + 1..].to_owned();
                    group.truncate(at);
                    id
                }
                None => String::new(),
            };
            rows.push((group, id));
        }
    }

    /// Hands rows to the writer, in as many transactions as others' haste makes of them.
    fn slice<R: Send + 'static>(
        &mut self,
        rows: Vec<R>,
        write: impl Fn(&Tx<'_>, ImportPlace, &[R]) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let (import, mut next, count) = (self.import, 0, rows.len() as u64);
        let slice = leases::behind(self.fence.clone(), move |tx| {
            let place = staged(tx, import)?;
            while next < rows.len() {
                let until = rows.len().min(next + HURRY_ROWS);
                write(tx, place, &rows[next..until])?;
                next = until;
                if tx.hurry() {
                    break;
                }
            }
            Ok(if next == rows.len() { JobStep::Done(()) } else { JobStep::More })
        });
        self.settle()?;
        self.pending = Some((self.queue.begin_here(Lane::Later, slice), count));
        Ok(())
    }

    /// Waits for the slice that the writer has.
    fn settle(&mut self) -> Result<(), StoreError> {
        if let Some((slice, count)) = self.pending.take() {
            slice.wait()?;
            self.written.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Where an import that is being staged stands.
fn staged(tx: &Tx<'_>, import: ImportNo) -> Result<ImportPlace, StoreError> {
    let generation = as_i64(import.0);
    let found = tx
        .prepare_cached("SELECT account, version FROM imports WHERE generation = ?1 AND state = ?2")?
        .query_row((generation, STAGING), |row| {
            Ok(ImportPlace { account: row.get(0)?, generation, version: row.get(1)? })
        })
        .optional()?;
    found.ok_or_else(|| not_staged(import))
}

/// The one stroke.
fn flip(tx: &Tx<'_>, import: ImportNo, rows: u64) -> Result<(u64, u64), StoreError> {
    let version = staged(tx, import)?.version;
    let rank = tx.raise_version(1)?;
    tx.prepare_cached("UPDATE imports SET state = ?2, rank = ?3, rows = ?4 WHERE generation = ?1")?
        .execute((as_i64(import.0), PUBLISHED, rank, as_i64(rows)))?;
    Ok((rows, as_u64(version)))
}

fn give_up(tx: &Tx<'_>, import: ImportNo) -> Result<(), StoreError> {
    staged(tx, import)?;
    tx.prepare_cached("UPDATE imports SET state = ?2 WHERE generation = ?1")?
        .execute((as_i64(import.0), ABANDONED))?;
    Ok(())
}

fn text(octets: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(octets)
        .map_err(|_| StoreError::Damaged { what: "a spooled key is not UTF-8".to_owned() })
}

/// Sorting, encoding and waiting for the writer are no work for a thread that serves many.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Closed))
}
