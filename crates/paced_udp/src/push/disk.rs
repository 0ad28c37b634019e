//! Part file of a push beside its final place, and a journal of the blocks that are in it.
//!
//! The journal is a hint, no more: what it says is there is read and hashed again before it is believed, so
//! no order of writes has to be kept, and any crash costs only the blocks that were in memory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::message::PushReason;

/// Why a file cannot grow here.
#[derive(Debug)]
pub struct Trouble {
    /// For the sender's report.
    pub reason: PushReason,
    /// In words.
    pub words: String,
}

fn trouble<T>(reason: PushReason, words: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble { reason, words: words.into() })
}

fn failed(what: &str, error: &io::Error) -> Trouble {
    Trouble { reason: PushReason::Disk, words: format!("{what}: {error}") }
}

/// A file that is growing. One process at a time has it, by a lock on the part file.
#[derive(Debug)]
pub struct Growing {
    part: File,
    journal: File,
    part_path: PathBuf,
    journal_path: PathBuf,
    place: PathBuf,
}

/// What is in a folder of a file that is offered.
#[derive(Debug)]
pub enum FoundPart {
    /// The very file is there.
    Whole,
    /// It can grow, and these blocks are there.
    Part(Growing, Vec<bool>),
}

impl Growing {
    /// Makes or finds the part file in `folder`, with room for the whole file and `keep_free` octets beyond.
    pub fn open(
        folder: &Path,
        manifest: &Manifest,
        overwrite: bool,
        keep_free: u64,
    ) -> Result<FoundPart, Trouble> {
        let place = folder.join(&manifest.name);
        if !overwrite && place.exists() {
            return match same(&place, manifest) {
                true => Ok(FoundPart::Whole),
                false => trouble(PushReason::Exists, "another file of that name is there"),
            };
        }
        let part_path = folder.join(format!(".{}.part", manifest.name));
        let journal_path = folder.join(format!(".{}.journal", manifest.name));
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).to_owned();
        let part = options.open(&part_path).map_err(|error| failed("cannot make the file", &error))?;
        if part.try_lock().is_err() {
            return trouble(PushReason::Busy, "another push of that name is under way");
        }
        let journal =
            options.open(&journal_path).map_err(|error| failed("cannot make the journal", &error))?;
        let mut growing = Self { part, journal, part_path, journal_path, place };
        let has = growing.resume(manifest).map_err(|error| failed("cannot read what is there", &error))?;
        growing.reserve(folder, manifest, keep_free)?;
        Ok(FoundPart::Part(growing, has))
    }

    /// Finds the blocks that are there, or starts anew when the journal is of another push.
    fn resume(&mut self, manifest: &Manifest) -> io::Result<Vec<bool>> {
        let blocks = manifest.layout.blocks();
        let mut has = vec![false; blocks as usize];
        let name = *blake3::hash(&manifest.write()).as_bytes();
        let mut journal = Vec::new();
        let most = 32 + 4 * u64::from(blocks) * 2;
        (&self.journal).take(most).read_to_end(&mut journal)?;
        if journal.get(..32) != Some(&name) {
            self.journal.set_len(0)?;
            self.part.set_len(0)?;
            self.journal.write_all_at(&name, 0)?;
            io::Seek::seek(&mut self.journal, io::SeekFrom::End(0))?;
            return Ok(has);
        }
        let mut octets = vec![0; manifest.layout.block_size() as usize];
        for entry in journal[32..].chunks_exact(4) {
            let block = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]);
            if block < blocks && !has[block as usize] {
                let octets = &mut octets[..manifest.layout.block_len(block)];
                has[block as usize] = self.part.read_exact_at(octets, manifest.layout.offset(block)).is_ok()
                    && manifest.holds(block, octets);
            }
        }
        // A torn last entry would shift those after it.
        let whole = journal.len() - (journal.len() - 32) % 4;
        self.journal.set_len(whole as u64)?;
        io::Seek::seek(&mut self.journal, io::SeekFrom::End(0))?;
        Ok(has)
    }

    /// Takes the room before anything is sent for nothing.
    fn reserve(&self, folder: &Path, manifest: &Manifest, keep_free: u64) -> Result<(), Trouble> {
        use std::os::unix::fs::MetadataExt;
        let size = manifest.layout.size();
        let state =
            rustix::fs::statvfs(folder).map_err(|error| failed("cannot ask for room", &error.into()))?;
        let free = state.f_bavail.saturating_mul(state.f_frsize);
        let taken = self.part.metadata().map_or(0, |data| data.blocks() * 512);
        let wanted = size.saturating_sub(taken);
        if wanted.saturating_add(keep_free) > free {
            let words =
                format!("the disk has {free} octets free, {wanted} are wanted and {keep_free} kept free");
            return trouble(PushReason::Disk, words);
        }
        if size == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(&self.part, rustix::fs::FallocateFlags::empty(), 0, size) {
            // Not every file system can take room beforehand; then ENOSPC may come while writing.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                self.part.set_len(size).map_err(|error| failed("cannot make the file", &error))
            }
            other => other.map_err(|error| failed("cannot take the room", &error.into())),
        }
    }

    /// Writes a block that was checked, and notes it.
    pub fn write(&mut self, offset: u64, block: u32, octets: &[u8]) -> Result<(), Trouble> {
        let written = self
            .part
            .write_all_at(octets, offset)
            .and_then(|()| self.journal.write_all(&block.to_be_bytes()));
        written.map_err(|error| failed("cannot write", &error))
    }

    /// Puts the whole file into its place, durably if `sync`, and says where that is.
    pub fn finish(self, folder: &Path, sync: bool) -> Result<PathBuf, Trouble> {
        let done = || {
            if sync {
                self.part.sync_all()?;
            }
            fs::rename(&self.part_path, &self.place)?;
            fs::remove_file(&self.journal_path)?;
            if sync { File::open(folder)?.sync_all() } else { Ok(()) }
        };
        done().map_err(|error| failed("cannot finish the file", &error))?;
        Ok(self.place)
    }
}

/// Whether the file at `place` is what the manifest describes.
fn same(place: &Path, manifest: &Manifest) -> bool {
    let hash = |file: File| {
        if file.metadata()?.len() != manifest.layout.size() {
            return Ok(false);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        io::Result::Ok(*hasher.finalize().as_bytes() == manifest.whole)
    };
    File::open(place).and_then(hash).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;

    fn offered(size: usize) -> (Vec<u8>, Manifest) {
        let octets: Vec<u8> = (0..size).map(|at| (at * 31 % 253) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&octets).unwrap();
        file.rewind().unwrap();
        (octets, Manifest::of(&mut file, "file".into(), usize::MAX).unwrap())
    }

    fn part(found: Result<FoundPart, Trouble>) -> (Growing, Vec<bool>) {
        match found {
            Ok(FoundPart::Part(growing, has)) => (growing, has),
            other => panic!("{other:?}"),
        }
    }

    fn write(growing: &mut Growing, manifest: &Manifest, octets: &[u8], block: u32) {
        let from = manifest.layout.offset(block) as usize;
        growing.write(from as u64, block, &octets[from..from + manifest.layout.block_len(block)]).unwrap();
    }

    #[test]
    fn what_was_written_is_there_after_a_restart_and_what_was_changed_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (octets, manifest) = offered(2_000_000);
        let (mut growing, has) = part(Growing::open(folder.path(), &manifest, false, 0));
        assert_eq!(has, [false; 4]);
        write(&mut growing, &manifest, &octets, 3);
        write(&mut growing, &manifest, &octets, 1);
        assert_eq!(Growing::open(folder.path(), &manifest, false, 0).unwrap_err().reason, PushReason::Busy);
        growing.part.write_all_at(b"x", manifest.layout.offset(3) + 5).unwrap();
        growing.journal.write_all(&[0, 0]).unwrap();
        drop(growing);
        let (mut growing, has) = part(Growing::open(folder.path(), &manifest, false, 0));
        assert_eq!(has, [false, true, false, false]);
        [0, 2, 3].into_iter().for_each(|block| write(&mut growing, &manifest, &octets, block));
        drop(growing);
        let (growing, has) = part(Growing::open(folder.path(), &manifest, false, 0));
        assert_eq!(has, [true; 4]);
        growing.finish(folder.path(), true).unwrap();
        assert_eq!(fs::read(folder.path().join("file")).unwrap(), octets);
        assert!(matches!(Growing::open(folder.path(), &manifest, false, 0), Ok(FoundPart::Whole)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_file_of_the_name_is_kept_unless_overwriting_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "mine").unwrap();
        let (_, manifest) = offered(1000);
        assert_eq!(Growing::open(folder.path(), &manifest, false, 0).unwrap_err().reason, PushReason::Exists);
        part(Growing::open(folder.path(), &manifest, true, 0));
    }

    #[test]
    fn a_disk_without_room_is_told_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let (_, manifest) = offered(1000);
        let refused = Growing::open(folder.path(), &manifest, false, u64::MAX / 2).unwrap_err();
        assert_eq!(refused.reason, PushReason::Disk);
        assert!(refused.words.contains("octets free"), "{}", refused.words);
    }

    #[test]
    fn writing_to_a_full_disk_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (octets, manifest) = offered(1000);
        let (mut growing, _) = part(Growing::open(folder.path(), &manifest, false, 0));
        growing.part = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let told = growing.write(0, 0, &octets).unwrap_err();
        assert_eq!(told.reason, PushReason::Disk);
        assert!(told.words.contains("No space left"), "{}", told.words);
    }
}
