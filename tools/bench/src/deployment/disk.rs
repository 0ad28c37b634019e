use crate::measured::Measured;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So often it is tried.
const TRIES: usize = 101;
/// So much is written each time.
const OCTETS: usize = 4_096;

/// How long fdatasync takes in this folder, microseconds, the middle of 101 tries of 4 KiB: durable figures
/// are compared with it, for disks differ from machine to machine and from day to day.
///
/// # Errors
/// The folder takes no file.
pub(crate) fn fdatasync_p50_us(folder: &Path) -> io::Result<u64> {
    let path = folder.join("fdatasync");
    let mut file = File::create(&path)?;
    let block = vec![0x5A; OCTETS];
    let mut times = Vec::with_capacity(TRIES);
    for _ in 0..TRIES {
        file.write_all(&block)?;
        let begin = Instant::now();
        file.sync_data()?;
        times.push(begin.elapsed().as_micros() as u64);
    }
    drop(file);
    std::fs::remove_file(&path)?;
    times.sort_unstable();
    Ok(times[TRIES / 2])
}

/// What the disk takes for one sync where nothing else is done, and beside a run: one that sleeps in between
/// may take its time to wake up.
pub(crate) struct Syncs {
    pub(crate) alone_us: u64,
    pub(crate) beside_us: u64,
}

impl Syncs {
    /// The figures of a line: so many requests a second where so many are in flight, as shares of what they
    /// were if a sync carried them all and nothing else took time.
    pub(crate) fn tell(&self, mut line: Measured, waiting: usize) -> Measured {
        let share = |us: u64| (us > 0).then(|| line.rate_per_s / (waiting as f64 / (us as f64 / 1e6)));
        let (alone, beside) = (share(self.alone_us), share(self.beside_us));
        line.fdatasync_p50_us = Some(self.beside_us);
        line.and("fdatasync_alone_us", self.alone_us)
            .and("of_waiting_over_sync", beside)
            .and("of_waiting_over_sync_alone", alone)
    }
}

/// While something else uses the disk, it is tried this often.
const PROBE_EVERY: Duration = Duration::from_millis(20);

/// Tries fdatasync again and again beside a run: the disk of that run, not of the moment before it.
pub(crate) struct Probe {
    alone_us: u64,
    stop: Sender<()>,
    thread: JoinHandle<io::Result<Vec<u64>>>,
}

impl Probe {
    /// # Errors
    /// The folder takes no file.
    pub(crate) fn start(folder: &Path) -> io::Result<Probe> {
        let alone_us = fdatasync_p50_us(folder)?;
        let path = folder.join("fdatasync-beside");
        let mut file = File::create(&path)?;
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("fdatasync".to_owned()).spawn(move || {
            let (block, mut times) = (vec![0x5A; OCTETS], Vec::new());
            loop {
                file.write_all(&block)?;
                let begin = Instant::now();
                file.sync_data()?;
                times.push(begin.elapsed().as_micros() as u64);
                if stopped.recv_timeout(PROBE_EVERY) != Err(RecvTimeoutError::Timeout) {
                    std::fs::remove_file(&path)?;
                    return Ok(times);
                }
            }
        })?;
        Ok(Probe { alone_us, stop, thread })
    }

    /// The middle of all tries beside the run, and that of those before it.
    ///
    /// # Errors
    /// As [`Probe::p50_us`].
    pub(crate) fn syncs(self) -> io::Result<Syncs> {
        Ok(Syncs { alone_us: self.alone_us, beside_us: self.p50_us()? })
    }

    /// The middle of all tries beside the run, microseconds.
    ///
    /// # Errors
    /// The disk did not take one of them.
    pub(crate) fn p50_us(self) -> io::Result<u64> {
        // It may have ended by an error, which is told below.
        let _ = self.stop.send(());
        let ended = self.thread.join().map_err(|_| io::Error::other("the thread panicked"))?;
        let mut times = ended?;
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_asked_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        fdatasync_p50_us(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(fdatasync_p50_us(&folder.path().join("nowhere")).is_err());
    }

    #[test]
    fn the_disk_is_asked_beside_a_run_at_least_once() {
        let folder = tempfile::tempdir().unwrap();
        Probe::start(folder.path()).unwrap().p50_us().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Probe::start(&folder.path().join("nowhere")).is_err());
    }
}
