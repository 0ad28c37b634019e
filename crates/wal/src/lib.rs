//! Disk under a write-ahead log: the operations of a file system that the logs of bus and ledger use.
//!
//! Both logs reach their files through [`Disk`] and [`DiskFile`] alone, so that one harness
//! (`tools/power_cut`) fills either's disk, fails it, and cuts its power. The rest of both logs is alike in
//! name only: docs/dev/why-not.md, *One write-ahead log*.

mod disk;
mod os;

pub use disk::{
    AppendedFile, Disk, DiskFile, FolderEntry, Synced, create_empty, is_full, read_full_at, write_all_at,
};
pub use os::OsDisk;
