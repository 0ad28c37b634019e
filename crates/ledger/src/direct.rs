//! Octets on their way to the disk past the system's cache. Nobody reads what a log has just got, and pages
//! for it cost more than deciding what stands in them: on a virtual machine, where most had never been
//! touched, a fifth of the server's processor time.

use std::io;
use std::sync::Arc;

use wal::{DiskFile, read_full_at, write_all_at};

/// What disks take as a whole: a multiple of every disk's sector.
const PAGE_OCTETS: usize = 4_096;

/// Octets that begin where a page does.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    octets: Vec<u8>,
    begin: usize,
}

impl Aligned {
    /// So many, all zero.
    pub(super) fn zeros(len: usize) -> Aligned {
        let octets = vec![0; len + PAGE_OCTETS];
        let begin = octets.as_ptr().align_offset(PAGE_OCTETS).min(PAGE_OCTETS);
        Aligned { octets, begin }
    }

    pub(super) fn get(&self) -> &[u8] {
        &self.octets[self.begin..self.octets.len() + self.begin - PAGE_OCTETS]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        let end = self.octets.len() + self.begin - PAGE_OCTETS;
        &mut self.octets[self.begin..end]
    }
}

/// The end of a file that only grows. Only whole pages can be written: the last one's octets are kept, and
/// written again with what follows.
pub(super) struct FileTail {
    file: Arc<dyn DiskFile>,
    pages: Aligned,
    /// So many octets of the last page are written.
    kept: usize,
}

impl FileTail {
    /// Goes on at this offset; `read` has what is before it.
    ///
    /// # Errors
    ///
    /// The octets before it in its page cannot be read.
    pub(super) fn new(file: Arc<dyn DiskFile>, read: &dyn DiskFile, at: u64) -> io::Result<FileTail> {
        let kept = (at % PAGE_OCTETS as u64) as usize;
        let mut pages = Aligned::zeros(PAGE_OCTETS);
        if read_full_at(read, &mut pages.get_mut()[..kept], at - kept as u64)? < kept {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(FileTail { file, pages, kept })
    }

    /// Writes these octets at the end, which is at `at`, and zeros after them to the end of their page.
    ///
    /// # Errors
    ///
    /// Not all of it was written.
    pub(super) fn append(&mut self, octets: &[u8], at: u64) -> io::Result<()> {
        let kept = self.kept;
        let end = kept + octets.len();
        let whole = end.next_multiple_of(PAGE_OCTETS);
        if self.pages.get().len() < whole {
            let mut larger = Aligned::zeros(whole.next_power_of_two());
            larger.get_mut()[..kept].copy_from_slice(&self.pages.get()[..kept]);
            self.pages = larger;
        }
        let pages = &mut self.pages.get_mut()[..whole];
        pages[kept..end].copy_from_slice(octets);
        pages[end..].fill(0);
        write_all_at(&*self.file, pages, at - kept as u64)?;
        self.kept = end % PAGE_OCTETS;
        pages.copy_within(end - self.kept..end, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wal::{Disk, OsDisk};

    #[test]
    fn pages_begin_where_the_disk_wants_them() {
        for len in [PAGE_OCTETS, 5 * PAGE_OCTETS, 1 << 20] {
            let zeros = Aligned::zeros(len);
            assert_eq!((zeros.get().len(), zeros.get().as_ptr().addr() % PAGE_OCTETS), (len, 0));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases::times(32)))]
        #[test]
        fn what_is_appended_piece_by_piece_stands_in_the_file_as_one(
            before in 0_usize..9_000,
            pieces in proptest::collection::vec(1_usize..20_000, 1..8),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            let mut expected: Vec<u8> = (0..before).map(|at| at as u8 | 1).collect();
            std::fs::write(&path, &expected).unwrap();
            // Where there is no way past the cache the pages are the same.
            let file = OsDisk.open_direct(&path).unwrap_or_else(|| OsDisk.open(&path).unwrap());
            let mut tail = FileTail::new(file, &*OsDisk.open(&path).unwrap(), before as u64).unwrap();
            for (number, octets) in pieces.into_iter().enumerate() {
                let piece: Vec<u8> = (0..octets).map(|at| (at * 7 + number) as u8 | 1).collect();
                tail.append(&piece, expected.len() as u64).unwrap();
                expected.extend_from_slice(&piece);
                let found = std::fs::read(&path).unwrap();
                prop_assert_eq!(found.len() % PAGE_OCTETS, 0);
                let (octets, zeros) = found.split_at(expected.len());
                prop_assert!(octets == &expected[..] && zeros.iter().all(|zero| *zero == 0));
            }
        }
    }
}
