//! State shared by all logs of one bus.

use super::clock::MonotonicClock;
use super::handles::Handles;
use super::recent_batches::TailCache;
use super::reserve::Reserve;
use super::sync::SyncPool;
use super::timer::Timer;
use super::unsynced::Unsynced;
use super::{Fsync, Options};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wal::Disk;

pub(super) struct SharedLogs {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn MonotonicClock>,
    pub handles: Handles,
    pub cache: TailCache,
    pub pool: SyncPool,
    pub timer: Timer,
    pub unsynced: Unsynced,
    pub reserve: Reserve,
    pub fsync: Fsync,
    pub file_octets_max: u64,
    pub reserve_octets: u64,
    /// What memory topics may hold together.
    pub memory_octets_max: usize,
    /// What they hold.
    pub memory_octets: AtomicUsize,
    /// The bus's folder: it exists, and no folder above it is ever made.
    pub root: PathBuf,
    logs: AtomicU64,
}

impl SharedLogs {
    pub fn new(
        root: PathBuf,
        options: &Options,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn MonotonicClock>,
    ) -> SharedLogs {
        SharedLogs {
            disk,
            clock,
            handles: Handles::new(options.open_files_max),
            cache: TailCache::new(options.cache_octets_max),
            pool: SyncPool::default(),
            timer: Timer::default(),
            unsynced: Unsynced::default(),
            reserve: Reserve::default(),
            fsync: options.fsync,
            file_octets_max: options.file_octets_max,
            reserve_octets: options.reserve_octets,
            memory_octets_max: options.memory_octets_max,
            memory_octets: AtomicUsize::new(0),
            root,
            logs: AtomicU64::new(0),
        }
    }

    /// A number for a log that is opened.
    pub fn log_number(&self) -> u64 {
        self.logs.fetch_add(1, Ordering::Relaxed)
    }
}
