//! Disk under a write-ahead log: everything that the logs of bus and ledger ask of a file system.
//!
//! Both logs reach their files through [`Disk`] and [`DiskFile`] alone, so that one harness (`tools/power_cut`)
//! fills either's disk, fails it, and cuts its power. What else the two have in common in name differs in
//! substance: docs/dev/why-not.md, *One write-ahead log*.

mod disk;
mod os;

pub use disk::{
    AppendedFile, Disk, DiskFile, FolderEntry, Synced, create_empty, is_full, read_full_at, write_all_at,
};
pub use os::OsDisk;
