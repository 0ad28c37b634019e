//! Imports: spooled here, put in key order, copied unseen, published at one stroke.
//!
//! What is staged is in this process alone until it is published, so an import ends with its process. While
//! it lives the process says so every minute; rows of one whose process has been silent for long are swept up
//! by any other.

use super::error::Trouble;
use super::link::{PgLink, get};
use super::recipients::{Person, copy, copy_memberships, page};
use super::{Base, Postgres, Work, account, as_i64, as_u64, lock_account};
use crate::attributes::FoundAttributes;
use crate::import_jobs::{AbsentPeople, ImportCounts};
use crate::import_merge::{ImportMerge, PAGE_ROWS};
use crate::spool::{Spool, SpoolPair};
use crate::staged::{Staged, not_staged};
use crate::{Fence, ImportNo, StoreError, search};
use records::{Recipient, Timestamp};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Rows of one slice, one transaction.
const SLICE_ROWS_MAX: usize = 5_000;
/// Slices that wait to be written.
const SLICES_AHEAD: usize = 2;
/// Imports of so many rows have the server count anew what it plans by.
const ANALYZE_ROWS: u64 = 10_000;
/// Between a group and an id in a key; ids have no control characters.
const KEY_SEPARATOR: u8 = 0;
/// A process says so often that its imports live.
const SAID_EVERY: Duration = Duration::from_secs(60);

const BEGIN: &str = "INSERT INTO imports (account, state, rank, version, rows, begun) \
     VALUES ($1, 0, 0, nextval('versions'), 0, $2) RETURNING generation";
/// Locked until the commit against being given up: rows that came after that would be swept up by nobody.
const STAGED: &str = "SELECT account, version FROM imports WHERE generation = $1 AND state = 0 FOR SHARE";
const FLIP: &str = "UPDATE imports SET state = 1, rank = nextval('versions'), rows = $2 \
     WHERE generation = $1 AND state = 0 RETURNING version";
const FLIPPED: &str = "SELECT version FROM imports WHERE generation = $1 AND state = 1";
const GIVE_UP: &str = "UPDATE imports SET state = 2 WHERE generation = $1 AND state = 0";
const SAY: &str = "UPDATE imports SET seen = clock_timestamp() WHERE generation = ANY($1) AND state = 0";

pub(super) async fn begin(store: &Postgres, id: &str, now: Timestamp) -> Result<ImportNo, StoreError> {
    for import in store.staging.forgotten(now)? {
        tracing::warn!(import = import.0, "an import that was never ended is cancelled to make room");
        abandon(store, import).await?;
    }
    let begin = Work::new((id.to_owned(), now.0), |link, (id, now)| {
        Box::pin(async move {
            let account = account(link, id).await?;
            let row = link.one(BEGIN, &[&account, now]).await?;
            let unnumbered = || StoreError::Damaged { what: "an import got no number".to_owned() };
            Ok(ImportNo(as_u64(get(&row.ok_or_else(unnumbered)?, 0)?)))
        })
    });
    let import = store.write(begin.again()).await?;
    store.staging.add(import, now);
    Ok(import)
}

pub(super) async fn stage(
    store: &Postgres,
    import: ImportNo,
    recipients: Vec<Recipient>,
) -> Result<(), StoreError> {
    let staged = store.staging.find(import)?;
    store.on_runtime(|_| off_thread(move || staged.push(import, &recipients))).await
}

/// Resolves to the rows it has and the version they got. If it fails, the import is given up.
pub(super) async fn publish(store: &Postgres, import: ImportNo) -> Result<(u64, u64), StoreError> {
    let staged = store.staging.find(import)?;
    let fence = store.fence.clone();
    let publish = |base: Arc<Base>| async move {
        let spool = staged.take(import)?;
        let published = base.publish(import, spool, &staged, fence.as_ref()).await;
        if published.is_err() {
            // Unseen either way; if this fails too, it is swept up for its silence.
            let _ = base.change(&giving_up(import)).await;
        }
        base.staging.remove(import);
        base.sweep.notify_one();
        published
    };
    store.on_runtime(publish).await
}

/// Writes it all but the flip. If it fails, the import is given up.
pub(super) async fn prepare(
    store: &Postgres,
    import: ImportNo,
    absent: Option<AbsentPeople>,
) -> Result<ImportCounts, StoreError> {
    let staged = store.staging.find(import)?;
    let fence = store.fence.clone();
    let prepare = |base: Arc<Base>| async move {
        let spool = staged.take(import)?;
        let prepared = base.prepare(import, spool, absent, &staged, fence.as_ref()).await;
        if prepared.is_err() {
            // Unseen either way; if this fails too, it is swept up for its silence.
            let _ = base.change(&giving_up(import)).await;
            base.staging.remove(import);
            base.sweep.notify_one();
        }
        prepared
    };
    store.on_runtime(prepare).await
}

pub(super) async fn abandon(store: &Postgres, import: ImportNo) -> Result<(), StoreError> {
    store.write(giving_up(import)).await?;
    store.staging.remove(import);
    store.sweep.notify_one();
    Ok(())
}

/// A put too big for one small transaction: all or none, by way of an import.
pub(super) async fn put_many(
    store: &Postgres,
    account: &str,
    recipients: Vec<Recipient>,
) -> Result<Vec<u64>, StoreError> {
    let count = recipients.len();
    let import = begin(store, account, Timestamp::default()).await?;
    if let Err(error) = stage(store, import, recipients).await {
        // Unseen either way; if this fails too, it is swept up for its silence.
        let _ = abandon(store, import).await;
        return Err(error);
    }
    let (_, version) = publish(store, import).await?;
    Ok(vec![version; count])
}

/// Says every minute which imports live. Ends with the store.
pub(super) async fn keep(base: Arc<Base>) {
    while base.go_on().is_ok() {
        tokio::time::sleep(SAID_EVERY).await;
        let imports: Vec<i64> = base.staging.all().into_iter().map(|import| as_i64(import.0)).collect();
        if imports.is_empty() {
            continue;
        }
        let say = Work::new(imports, |link, imports| {
            Box::pin(async move { link.execute(SAY, &[imports]).await.map(|_| ()) })
        });
        if let Err(error) = base.change(&say.again()).await {
            tracing::warn!(%error, "running imports could not be marked as alive: other processes may cancel them");
        }
    }
}

/// What is written in one transaction.
enum Slice {
    People(Vec<Person>),
    /// Group and id of each.
    Memberships(Vec<(String, String)>),
    /// Names of attributes, with a recipient of each.
    Attributes(Vec<(String, String)>),
}

struct Write {
    import: ImportNo,
    slice: Slice,
}

struct Flip {
    import: ImportNo,
    rows: u64,
    tries: AtomicU32,
}

impl Base {
    async fn publish(
        &self,
        import: ImportNo,
        spool: Spool,
        staged: &Staged,
        fence: Option<&Fence>,
    ) -> Result<(u64, u64), StoreError> {
        let memberships = self.staging.file(import, "groups");
        let sorting = move |slices: &mpsc::Sender<Slice>| {
            let mut merge = spool.merge()?;
            sort(&mut || merge.next(), memberships, slices)
        };
        let (rows, ()) = self.write_sorted(import, sorting, staged, fence).await?;
        let flip = Work::new(Flip { import, rows, tries: AtomicU32::new(0) }, |link, args| {
            Box::pin(flip(link, args))
        });
        self.change(&flip.again().behind(fence.cloned())).await
    }

    async fn prepare(
        self: &Arc<Base>,
        import: ImportNo,
        spool: Spool,
        absent: Option<AbsentPeople>,
        staged: &Staged,
        fence: Option<&Fence>,
    ) -> Result<ImportCounts, StoreError> {
        let memberships = self.staging.file(import, "groups");
        let base = Arc::clone(self);
        let sorting = move |slices: &mpsc::Sender<Slice>| {
            let page = Box::new(|after: &str| base.handle.block_on(base.people_after(import, after)));
            let mut merge = ImportMerge::new(spool.merge()?, page, absent)?;
            sort(&mut || merge.next(), memberships, slices)?;
            Ok(merge.counts())
        };
        Ok(self.write_sorted(import, sorting, staged, fence).await?.1)
    }

    /// People of the account of an import, in the order of their ids.
    async fn people_after(&self, import: ImportNo, after: &str) -> Result<Vec<Recipient>, StoreError> {
        let page = Work::new((as_i64(import.0), after.to_owned()), |link, (generation, after)| {
            Box::pin(async move {
                let account =
                    link.one("SELECT account FROM imports WHERE generation = $1", &[generation]).await?;
                let Some(account) = account else { return Ok(Vec::new()) };
                page(link, get(&account, 0)?, after, PAGE_ROWS).await
            })
        });
        self.look_at_once(&page).await
    }

    /// Writes rows as they are sorted, and counts the people among them.
    async fn write_sorted<T: Send + 'static>(
        &self,
        import: ImportNo,
        sorting: impl FnOnce(&mpsc::Sender<Slice>) -> Result<T, StoreError> + Send + 'static,
        staged: &Staged,
        fence: Option<&Fence>,
    ) -> Result<(u64, T), StoreError> {
        let _bulk = self.bulk.acquire().await.map_err(|_| StoreError::Closed)?;
        let (slices, mut sorted) = mpsc::channel(SLICES_AHEAD);
        let sorting = tokio::task::spawn_blocking(move || sorting(&slices));
        let mut rows = 0;
        while let Some(slice) = sorted.recv().await {
            self.go_on()?;
            let written = match &slice {
                Slice::People(people) => {
                    rows += people.len() as u64;
                    people.len()
                }
                Slice::Memberships(rows) | Slice::Attributes(rows) => rows.len(),
            };
            let write = Work::new(Write { import, slice }, |link, args| Box::pin(write(link, args)));
            self.change(&write.behind(fence.cloned())).await?;
            staged.written.fetch_add(written as u64, Ordering::Relaxed);
        }
        let sorted = sorting.await.unwrap_or(Err(StoreError::Closed))?;
        if rows >= ANALYZE_ROWS {
            let analyze = Work::new((), |link, ()| Box::pin(link.simple("ANALYZE recipients, memberships")));
            if let Err(error) = self.look(&analyze).await {
                tracing::debug!(%error, "the database's statistics of recipients stay as they were");
            }
        }
        Ok((rows, sorted))
    }
}

/// On a thread that may wait for the disk: the people in key order, then the memberships in theirs.
fn sort(
    next: &mut dyn FnMut() -> Result<Option<SpoolPair>, StoreError>,
    memberships: PathBuf,
    slices: &mpsc::Sender<Slice>,
) -> Result<(), StoreError> {
    let mut spooled = Spool::new(memberships);
    let mut people = Vec::with_capacity(SLICE_ROWS_MAX);
    let mut attributes = FoundAttributes::default();
    while let Some((id, body)) = next()? {
        let mut names = Vec::new();
        if !body.is_empty() {
            let person = Recipient::decode(&body)?;
            if attributes.take(&person) {
                give(slices, Slice::Attributes(attributes.drain()))?;
            }
            names = search::names(&person);
        }
        for name in &names {
            spooled.push(&[name.as_bytes(), &[KEY_SEPARATOR], &id].concat(), &[])?;
        }
        people.push(Person { id: text(id)?, names, body });
        if people.len() == SLICE_ROWS_MAX {
            give(slices, Slice::People(std::mem::take(&mut people)))?;
        }
    }
    give(slices, Slice::People(people))?;
    give(slices, Slice::Attributes(attributes.drain()))?;
    let mut named = Vec::with_capacity(SLICE_ROWS_MAX);
    let mut merge = spooled.merge()?;
    while let Some((key, _)) = merge.next()? {
        let key = text(key)?;
        let (group, id) = key.split_once(char::from(KEY_SEPARATOR)).unwrap_or((&key, ""));
        named.push((group.to_owned(), id.to_owned()));
        if named.len() == SLICE_ROWS_MAX {
            give(slices, Slice::Memberships(std::mem::take(&mut named)))?;
        }
    }
    give(slices, Slice::Memberships(named))
}

/// Whoever writes may have given up.
fn give(slices: &mpsc::Sender<Slice>, slice: Slice) -> Result<(), StoreError> {
    slices.blocking_send(slice).map_err(|_| StoreError::Closed)
}

async fn write(link: &PgLink, args: &Write) -> Result<(), Trouble> {
    let generation = as_i64(args.import.0);
    let staged = link.one(STAGED, &[&generation]).await?.ok_or_else(|| not_staged(args.import))?;
    let (account, version): (i32, i64) = (get(&staged, 0)?, get(&staged, 1)?);
    match &args.slice {
        Slice::People(people) => {
            let rows: Vec<(&Person, i64)> = people.iter().map(|person| (person, version)).collect();
            copy(link, account, generation, &rows).await
        }
        Slice::Memberships(named) => {
            let named: Vec<(&String, &String)> = named.iter().map(|(group, id)| (group, id)).collect();
            copy_memberships(link, account, generation, &named).await
        }
        Slice::Attributes(noted) => super::attributes::note(link, account, noted).await,
    }
}

/// The one stroke. Puts and deletes in the account come before it or after it.
async fn flip(link: &PgLink, args: &Flip) -> Result<(u64, u64), Trouble> {
    let generation = as_i64(args.import.0);
    if args.tries.fetch_add(1, Ordering::Relaxed) > 0
        && let Some(row) = link.one(FLIPPED, &[&generation]).await?
    {
        return Ok((args.rows, as_u64(get(&row, 0)?))); // an earlier try, whose answer was lost
    }
    let staged = link.one(STAGED, &[&generation]).await?.ok_or_else(|| not_staged(args.import))?;
    lock_account(link, get(&staged, 0)?).await?;
    let row = link.one(FLIP, &[&generation, &as_i64(args.rows)]).await?;
    Ok((args.rows, as_u64(get(&row.ok_or_else(|| not_staged(args.import))?, 0)?)))
}

fn giving_up(import: ImportNo) -> Work<ImportNo, ()> {
    Work::new(import, |link, import| {
        Box::pin(async move {
            match link.execute(GIVE_UP, &[&as_i64(import.0)]).await? {
                0 => Err(not_staged(*import).into()),
                _ => Ok(()),
            }
        })
    })
}

fn text(octets: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(octets)
        .map_err(|_| StoreError::Damaged { what: "a spooled key is not UTF-8".to_owned() })
}

/// Sorting and encoding are no work for a thread that serves many.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Closed))
}
