use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

/// So often it is tried.
const TRIES: usize = 101;
/// So much is written each time.
const OCTETS: usize = 4_096;

/// How long fdatasync takes in this folder, microseconds, the middle of 101 tries of 4 KiB: durable figures are compared
/// with it, for disks differ from machine to machine and from day to day.
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
}
