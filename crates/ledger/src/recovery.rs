//! From what is on disk back to the state in memory.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::block;
use super::config::Config;
use super::entry::Entry;
use super::hash::HashKey;
use super::log::{FIRST_POSITION, list};
use super::shard::Shard;
use super::snapshot;

/// Why a ledger does not start.
#[derive(Debug)]
pub enum Refusal {
    /// A file cannot be read.
    Io(io::Error),
    /// The ledger must not be opened as it is: the words say why and what to do.
    Damaged(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Io(error) => write!(f, "the ledger's files cannot be read: {error}"),
            Refusal::Damaged(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Io(error)
    }
}

/// What was found on disk.
pub struct Recovered {
    pub shard: Shard,
    /// Where the log ends.
    pub end: u64,
    pub entries: u64,
    /// Octets after the end that a crash left half written.
    pub torn: u64,
}

/// What reads a log in its order.
pub trait Visit {
    /// A block begins.
    fn block(&mut self, _: &block::Head) {}

    /// An entry at its position.
    ///
    /// # Errors
    ///
    /// A sentence why the entry cannot stand there.
    fn entry(&mut self, entry: &Entry, position: u64) -> Result<(), String>;
}

/// Reads a shard's log from a position on, and says where it ends, and how many octets after that are torn.
///
/// # Errors
///
/// `Refusal::Damaged` where blocks are missing or damaged before others that were written when these were
/// synced.
pub fn read_log(folder: &Path, from: u64, visit: &mut dyn Visit) -> Result<(u64, u64), Refusal> {
    let segments = list(folder)?;
    let mut end = from;
    let mut entry = Entry::default();
    for (at, (base, path)) in segments.iter().enumerate() {
        let next = segments.get(at + 1).map(|(next, _)| *next);
        if next.is_some_and(|next| next <= from) {
            continue;
        }
        if *base > end {
            return Err(Refusal::Damaged(format!(
                "{}: the log has nothing from position {end} to {base}: a segment is missing; restore it from a copy",
                folder.display()
            )));
        }
        let octets = fs::read(path)?;
        let mut offset = (end - base) as usize;
        while let Some((head, body)) =
            octets.get(offset..).and_then(|rest| block::read(rest, base + offset as u64))
        {
            visit.block(&head);
            read_block(body, base + (offset + block::HEAD_OCTETS) as u64, &mut entry, visit)
                .map_err(|why| Refusal::Damaged(format!("{}: {why}", path.display())))?;
            offset += block::HEAD_OCTETS + head.octets as usize;
        }
        end = base + offset as u64;
        if next == Some(end) {
            continue;
        }
        let torn =
            torn_octets(&octets, offset, *base, end).map_err(|position| damage(path, end, position))?;
        for (base, path) in &segments[at + 1..] {
            let octets = fs::read(path)?;
            torn_octets(&octets, 0, *base, end).map_err(|position| damage(path, end, position))?;
        }
        return Ok((end, torn));
    }
    Ok((end, 0))
}

fn damage(path: &Path, end: u64, later: u64) -> Refusal {
    Refusal::Damaged(format!(
        "{}: the log is damaged at position {end}, but the block at {later} was written when that was synced. Answers were given for \
         what is lost, so the ledger does not start; restore the file from a copy",
        path.display()
    ))
}

/// Octets after the end that are not zero. Err: the position of a block that says that the end was synced
/// further.
fn torn_octets(octets: &[u8], offset: usize, base: u64, end: u64) -> Result<u64, u64> {
    let torn = zeros_from(octets.get(offset..).unwrap_or_default());
    let mut from = offset;
    while let Some((at, head)) = block::find_next(octets, from..offset + torn, base) {
        if head.synced > end {
            return Err(head.position);
        }
        from = at + 1;
    }
    Ok(torn as u64)
}

/// From where on there are only zeros: most of the last segment, which was allocated in advance.
fn zeros_from(octets: &[u8]) -> usize {
    const ZEROS: [u8; 4_096] = [0; 4_096];
    let are_zeros = |chunk: &&[u8]| **chunk == ZEROS[..chunk.len()];
    let zeros: usize = octets.rchunks(ZEROS.len()).take_while(are_zeros).map(<[u8]>::len).sum();
    octets[..octets.len() - zeros].iter().rposition(|octet| *octet != 0).map_or(0, |at| at + 1)
}

fn read_block(body: &[u8], position: u64, entry: &mut Entry, visit: &mut dyn Visit) -> Result<(), String> {
    let mut at = 0;
    while at < body.len() {
        let here = position + at as u64;
        let len = entry
            .decode(&body[at..])
            .ok_or_else(|| format!("no entry of this version at position {here}"))?;
        visit.entry(entry, here).map_err(|why| format!("entry at position {here}: {why}"))?;
        at += len;
    }
    Ok(())
}

struct Replay {
    shard: Shard,
    /// Entries before it are in the state already; they only tell which requests there were.
    position: u64,
    entries: u64,
}

impl Visit for Replay {
    fn block(&mut self, head: &block::Head) {
        self.shard.begin_block(head.position, head.time_us);
    }

    fn entry(&mut self, entry: &Entry, position: u64) -> Result<(), String> {
        self.entries += 1;
        if position < self.position {
            self.shard.replay_identity(entry, position);
            return Ok(());
        }
        self.shard.replay(entry, position).map_err(|unfit| unfit.0.to_owned())
    }
}

/// Makes the state of a shard from its folder: the newest snapshot that is whole, and the log after it.
///
/// # Errors
///
/// The log is damaged, or cannot be read.
pub fn recover(folder: &Path, key: HashKey, config: Arc<Config>) -> Result<Recovered, Refusal> {
    let first = list(folder)?.first().map_or(FIRST_POSITION, |(base, _)| *base);
    let mut replay = Replay { shard: Shard::new(key, config.clone()), position: FIRST_POSITION, entries: 0 };
    let mut from = FIRST_POSITION;
    for (_, path) in snapshot::list(folder)?.iter().rev() {
        if let Some(thawed) = snapshot::read(path, key, config.clone())? {
            replay = Replay { shard: thawed.shard, position: thawed.position, entries: 0 };
            from = thawed.floor.max(first);
            break;
        }
        tracing::warn!(path = %path.display(), "a snapshot of the ledger is damaged or of another version; the one before it is taken");
    }
    let (end, torn) = read_log(folder, from, &mut replay)?;
    if end < replay.position {
        return Err(Refusal::Damaged(format!(
            "{}: the log ends at position {end}, before the snapshot at {}; restore the log from a copy",
            folder.display(),
            replay.position
        )));
    }
    Ok(Recovered { shard: replay.shard, end, entries: replay.entries, torn })
}
