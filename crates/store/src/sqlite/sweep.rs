//! Removes, behind the readers' backs, versions that nobody sees any more.

use super::queue::WriterQueue;
use super::readers::Readers;
use super::recipients::{remove, versions};
use super::visible::{self, Visible};
use super::{JobStep, Lane, Tx};
use crate::StoreError;
use rusqlite::Connection;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Rows looked at in one snapshot.
const LOOK_ROWS: usize = 4_096;
/// Ids between two looks whether somebody has more haste.
const HURRY_IDS: usize = 32;
/// Ids swept in one transaction.
const SLICE_IDS_MAX: usize = 1_000;
/// After a pass that failed (a full disk), the next one waits so long.
const AGAIN: Duration = Duration::from_secs(10);

/// Wakes the sweep.
#[derive(Default)]
pub(super) struct Sweep {
    state: Mutex<SweepState>,
    wake: Condvar,
}

#[derive(Default)]
struct SweepState {
    wanted: bool,
    sweeping: bool,
    ended: bool,
}

impl Sweep {
    /// There may be something to do.
    pub(super) fn wake(&self) {
        self.lock().wanted = true;
        self.wake.notify_all();
    }

    /// Ends the thread after the slice it is at.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.wake.notify_all();
    }

    /// False at the end.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        state.sweeping = false;
        self.wake.notify_all();
        state = self
            .wake
            .wait_while(state, |state| !state.wanted && !state.ended)
            .unwrap_or_else(PoisonError::into_inner);
        state.wanted = false;
        state.sweeping = true;
        !state.ended
    }

    /// Waits until there is nothing more to do.
    #[cfg(test)]
    pub(super) fn wait_until_done(&self) {
        let _done = self.wake.wait_while(self.lock(), |state| state.wanted || state.sweeping).unwrap();
    }

    fn rest(&self, time: Duration) {
        let _ = self.wake.wait_timeout_while(self.lock(), time, |state| !state.ended);
    }

    fn has_ended(&self) -> bool {
        self.lock().ended
    }

    fn lock(&self) -> MutexGuard<'_, SweepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs until [`Sweep::end`].
pub(super) fn run(readers: &Readers, sweep: &Sweep, queue: &WriterQueue) {
    while sweep.wait() {
        match sweep_all(readers, sweep, queue) {
            Ok(()) | Err(StoreError::Closed) => {}
            Err(error) => {
                tracing::warn!(%error, "rows of unfinished imports could not be deleted");
                sweep.rest(AGAIN);
                sweep.wake();
            }
        }
    }
}

fn sweep_all(readers: &Readers, sweep: &Sweep, queue: &WriterQueue) -> Result<(), StoreError> {
    let accounts = readers.here(|connection| {
        let mut select = connection.prepare_cached("SELECT DISTINCT account FROM imports")?;
        let accounts = select.query_map([], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
        Ok(accounts)
    })?;
    for account in accounts {
        sweep_account(readers, sweep, queue, account)?;
    }
    Ok(())
}

/// One pass over an account's recipients for the imports that were published or given up before it; then they
/// need not be listed any more.
fn sweep_account(
    readers: &Readers,
    sweep: &Sweep,
    queue: &WriterQueue,
    account: i64,
) -> Result<(), StoreError> {
    let imports = readers.here(|connection| Ok(visible::load(connection, account)?.to_sweep()))?;
    if imports.is_empty() {
        return Ok(());
    }
    let mut after = String::new();
    loop {
        if sweep.has_ended() {
            return Err(StoreError::Closed);
        }
        let (ids, last) = readers.here(|connection| look(connection, account, &after))?;
        if !ids.is_empty() {
            sweep_ids(queue, account, ids)?;
        }
        match last {
            Some(last) => after = last,
            None => break,
        }
    }
    queue.submit_here(Lane::Later, move |tx| {
        for import in &imports {
            tx.prepare_cached("DELETE FROM imports WHERE generation = ?1")?.execute([import])?;
        }
        Ok(JobStep::Done(()))
    })
}

/// The ids after `after` that have more than one version, an abandoned one or one that takes somebody away,
/// and where to look next.
fn look(
    connection: &Connection,
    account: i64,
    after: &str,
) -> Result<(Vec<String>, Option<String>), StoreError> {
    let visible = visible::load(connection, account)?;
    let mut select = connection.prepare_cached(
        "SELECT id, generation, length(body) = 0 FROM recipients WHERE account = ?1 AND id > ?2 ORDER BY id, generation",
    )?;
    let mut rows = select.query((account, after))?;
    let mut ids: Vec<String> = Vec::new();
    let mut at: Option<String> = None;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        let id = visible::text(row, 0)?;
        let again = at.as_deref() == Some(id);
        if !again {
            if seen >= LOOK_ROWS {
                return Ok((ids, at));
            }
            at = Some(id.to_owned());
        }
        seen += 1;
        let is_odd = again || visible.is_abandoned(row.get(1)?) || row.get(2)?;
        if is_odd && ids.last().map(String::as_str) != Some(id) {
            ids.push(id.to_owned());
        }
    }
    Ok((ids, None))
}

fn sweep_ids(queue: &WriterQueue, account: i64, ids: Vec<String>) -> Result<(), StoreError> {
    let mut next = 0;
    queue.submit_here(Lane::Later, move |tx| {
        let visible = visible::load(tx, account)?;
        let begun = next;
        while next < ids.len() && next - begun < SLICE_IDS_MAX {
            sweep_id(tx, &visible, account, &ids[next])?;
            next += 1;
            if next.is_multiple_of(HURRY_IDS) && tx.hurry() {
                break;
            }
        }
        Ok(if next == ids.len() { JobStep::Done(()) } else { JobStep::More })
    })
}

fn sweep_id(tx: &Tx<'_>, visible: &Visible, account: i64, id: &str) -> Result<(), StoreError> {
    let versions = versions(tx, account, id)?;
    let best = versions.iter().filter_map(|version| visible.settled_rank(version.generation)).max();
    for version in &versions {
        let rank = visible.rank(version.generation);
        let superseded = rank.is_some_and(|rank| Some(rank) < best);
        // Below it there is nothing any more that it would have to hide.
        let is_over = version.is_gone && visible.settled_rank(version.generation).is_some();
        if superseded || is_over || visible.is_abandoned(version.generation) {
            remove(tx, account, id, version)?;
        }
    }
    Ok(())
}
