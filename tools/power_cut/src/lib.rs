//! Power cuts for tests of any log over `wal::Disk`: a run on the real disk is recorded, played step by step
//! on a disk in memory, and cut there after every step, where what was not synced is then there or not,
//! sector by sector and entry by entry, as a seed decides.

mod recorded;
mod simulated;

pub use recorded::{Op, RecordedDisk, Replay};
pub use simulated::{Dice, Faults, SimulatedDisk, SimulatedFile, root};
