//! Topics of a migration: each goes on at the index at which it stood, with the records that somebody still
//! needs.

use super::progress::Progress;
use super::source::{MigrationSource, SEGMENTS, in_bus};
use super::wait;
use bus::Topic;
use bus::embedded::listing;
use bus::nats::Filling;
use records::{ACCEPTED, ASKS, CONTROL, INTAKE, OUTCOMES, ROUTES};
use tokio::runtime::Runtime;

/// Topics between processes, or of one process's life: they begin anew.
const LEFT_OUT: [&str; 5] = ["house", "pair", ACCEPTED, ASKS, "charging-nodes"];
const LEFT_OUT_BELOW: [&str; 3] = [SEGMENTS, "answers/", "rates/"];
/// Topics whose every record is in SQL: only their index goes on.
const IN_SQL: [&str; 2] = [OUTCOMES, INTAKE];
/// Retained topics of a server's life: alerts that have ended, routes that are bound, one process's identity.
const RETAINED_LEFT_OUT: [&str; 3] = [CONTROL, ROUTES, "charging"];
/// Records of one append, and octets about.
const RECORDS_AT_ONCE: usize = 200;
const OCTETS_AT_ONCE: usize = 512 * 1024;

/// Copies all. Gives how many topics there are.
pub(super) fn copy(
    runtime: &Runtime,
    source: &MigrationSource,
    filling: &Filling,
    progress: &mut Progress,
) -> Result<u64, String> {
    let mut copied = 0;
    for name in source.bus.topics("").map_err(in_bus)? {
        let is_left_out =
            LEFT_OUT.contains(&&*name) || LEFT_OUT_BELOW.iter().any(|below| name.starts_with(below));
        if !is_left_out && copy_topic(runtime, source, filling, &name, progress)? {
            copied += 1;
        }
    }
    for name in listing::retained_names(&source.folder).map_err(|error| error.to_string())? {
        if !RETAINED_LEFT_OUT.contains(&&*name) {
            copy_retained(runtime, source, filling, &name, progress)?;
        }
    }
    Ok(copied)
}

/// False: nothing was ever in it.
fn copy_topic(
    runtime: &Runtime,
    source: &MigrationSource,
    filling: &Filling,
    name: &str,
    progress: &mut Progress,
) -> Result<bool, String> {
    let from = source.bus.topic(name).map_err(in_bus)?;
    let head = from.head();
    if head == 0 {
        return Ok(false);
    }
    let needed = match IN_SQL.contains(&name) {
        true => head,
        false => source.taken(name)?.unwrap_or(0).max(from.low()),
    };
    filling.begin_at(name, needed).map_err(super::in_bus)?;
    let to = filling.bus().topic(name).map_err(super::in_bus)?;
    let mut next = needed;
    while next < head {
        next = wait(runtime, copy_some(&*from, &*to, next))?;
        progress.tell(name, next - needed);
    }
    let there = wait(runtime, to.latest()).map_err(super::in_bus)?;
    if there != head {
        return Err(format!("[bus]: topic {name} ends at {there} instead of {head}"));
    }
    Ok(true)
}

/// Copies the next records; gives where to go on.
async fn copy_some(from: &dyn Topic, to: &dyn Topic, next: u64) -> Result<u64, String> {
    let records = from.fetch(next, RECORDS_AT_ONCE, OCTETS_AT_ONCE).await.map_err(in_bus)?;
    let Some(last) = records.last() else {
        return Err(format!("the folder's bus: record {next} of a topic cannot be read"));
    };
    let octets: Vec<&[u8]> = records.iter().map(|record| &*record.octets).collect();
    to.append_at(next, &octets).await.map_err(super::in_bus)?;
    Ok(last.index + 1)
}

fn copy_retained(
    runtime: &Runtime,
    source: &MigrationSource,
    filling: &Filling,
    name: &str,
    progress: &mut Progress,
) -> Result<(), String> {
    let all = source.bus.retained(name).map_err(in_bus)?.all();
    if all.is_empty() {
        return Ok(());
    }
    let to = filling.bus().retained(name).map_err(super::in_bus)?;
    for (done, (key, value)) in (1..).zip(&all) {
        wait(runtime, to.set(key, value)).map_err(super::in_bus)?;
        progress.tell(name, done);
    }
    Ok(())
}
