//! Room kept back for emergencies on a disk that is full: a file that is there only to be cut.

use super::lock::lock;
use super::shared::SharedLogs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wal::DiskFile;

/// So much is given at a time.
const STEP_OCTETS: u64 = 1024 * 1024;
/// Whether there is room again is looked at so often at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The file in the bus's folder.
const NAME: &str = "reserve";

/// The reserve. There is none before the first topic that may use it.
#[derive(Default)]
pub(super) struct Reserve {
    held: Mutex<ReserveFile>,
    /// Some of it was given: until it is whole again, only emergencies may write.
    is_given: AtomicBool,
}

#[derive(Default)]
struct ReserveFile {
    file: Option<Arc<dyn DiskFile>>,
    octets: u64,
    looked: Option<Instant>,
}

impl Reserve {
    /// Keeps room back from now on. On a disk that is full already it is what is left, until there is more.
    pub fn make(&self, shared: &SharedLogs) -> io::Result<()> {
        let mut held = lock(&self.held);
        if held.file.is_some() || shared.reserve_octets == 0 {
            return Ok(());
        }
        let path = shared.root.join(NAME);
        let file = match shared.disk.create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => shared.disk.open(&path),
            file => file,
        }?;
        held.octets = file.octets()?;
        held.file = Some(file);
        self.fill(&mut held, shared);
        Ok(())
    }

    /// There is room for others than emergencies, as far as the reserve is concerned.
    pub fn leaves_room(&self, shared: &SharedLogs) -> bool {
        if !self.is_given.load(Ordering::Acquire) {
            return true;
        }
        let mut held = lock(&self.held);
        let now = shared.clock.now();
        if held.looked.is_none_or(|looked| now.saturating_duration_since(looked) >= LOOK_EVERY) {
            held.looked = Some(now);
            self.fill(&mut held, shared);
        }
        !self.is_given.load(Ordering::Acquire)
    }

    /// Gives room for so many octets and some more; says whether there was any left.
    pub fn give(&self, octets: u64) -> bool {
        let mut held = lock(&self.held);
        let Some(file) = held.file.clone().filter(|_| held.octets > 0) else {
            return false;
        };
        let left = held.octets.saturating_sub(octets.next_multiple_of(STEP_OCTETS));
        if file.set_len(left).is_err() {
            return false;
        }
        tracing::warn!(
            octets = held.octets - left,
            left,
            "The disk is full: an emergency uses the space reserved for emergencies."
        );
        held.octets = left;
        self.is_given.store(true, Ordering::Release);
        true
    }

    fn fill(&self, held: &mut ReserveFile, shared: &SharedLogs) {
        let Some(file) = &held.file else { return };
        // In steps, so that a disk with less room leaves what it has to emergencies.
        let mut octets = held.octets.min(shared.reserve_octets);
        while octets < shared.reserve_octets {
            let next = (octets + STEP_OCTETS).min(shared.reserve_octets);
            match file.allocate(next) {
                Ok(()) => octets = next,
                Err(error) => {
                    tracing::warn!(%error, octets, "The disk has no room for the whole reserve for emergencies.");
                    break;
                }
            }
        }
        held.octets = octets;
        self.is_given.store(octets < shared.reserve_octets, Ordering::Release);
    }
}
