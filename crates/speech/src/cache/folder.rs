//! Folder of sounds: files written, read, checked, and removed by their last use.

use super::Key;
use std::collections::{HashMap, HashSet};
use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// End of the name of a sound: behind its octets there is their hash, which players of WAV files pass over.
const SOUND: &str = ".wav";
/// End of the name of a file that is being written.
const PART: &str = ".part";
/// Nobody writes a file for so long: its process has died.
const PART_AGE_MAX: Duration = Duration::from_secs(3_600);
/// Octets of a hash.
const HASH_OCTETS: usize = blake3::OUT_LEN;
/// Room is made until this part of the limit is free.
const FREE_PART: u64 = 8;

/// The folder.
#[derive(Debug)]
pub(super) struct SoundFolder {
    path: PathBuf,
    file_octets_max: usize,
    parts: AtomicU64,
}

/// Files that are left.
pub(super) struct Left {
    /// Octets of all.
    pub octets: u64,
    /// Their keys.
    pub keys: HashSet<Key>,
}

/// A file of the folder.
struct SoundFile {
    path: PathBuf,
    key: Key,
    octets: u64,
    used: SystemTime,
}

impl SoundFolder {
    /// Makes the folder where it is missing.
    pub fn open(path: PathBuf, file_octets_max: usize) -> io::Result<SoundFolder> {
        fs::create_dir_all(&path)?;
        Ok(SoundFolder { path, file_octets_max, parts: AtomicU64::new(0) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn of(&self, key: &Key) -> PathBuf {
        self.path.join(format!("{}{SOUND}", key.to_hex()))
    }

    /// A sound, and `now` as its last use. A damaged file is removed, and there is none.
    pub fn read(&self, key: &Key, now: Option<SystemTime>) -> io::Result<Option<Vec<u8>>> {
        let path = self.of(key);
        let file = match File::options().read(true).write(now.is_some()).open(&path) {
            Ok(file) => file,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(why),
        };
        let limit = (self.file_octets_max + HASH_OCTETS) as u64;
        let mut octets = Vec::new();
        (&file).take(limit + 1).read_to_end(&mut octets)?;
        let Some(length) = octets.len().checked_sub(HASH_OCTETS).filter(|_| octets.len() as u64 <= limit)
        else {
            return removed(&path).map(|()| None);
        };
        if blake3::hash(&octets[..length]).as_bytes()[..] != octets[length..] {
            return removed(&path).map(|()| None);
        }
        if let Some(now) = now {
            file.set_modified(now)?;
        }
        octets.truncate(length);
        Ok(Some(octets))
    }

    /// Writes a sound under another name and renames it: no process sees half of it.
    pub fn write(&self, key: &Key, sound: &[u8]) -> io::Result<()> {
        let number = self.parts.fetch_add(1, Ordering::Relaxed);
        let part = self.path.join(format!("{}.{}.{number}{PART}", key.to_hex(), std::process::id()));
        let written = File::create(&part).and_then(|mut file| {
            file.write_all(sound)?;
            file.write_all(blake3::hash(sound).as_bytes())
        });
        written.and_then(|()| fs::rename(&part, self.of(key))).inspect_err(|_| {
            // The first error is the one that counts.
            let _ = fs::remove_file(&part);
        })
    }

    /// Removes files that were not used for longest until there is room, and what dead processes left. `uses`
    /// are those of this process, perhaps newer than on disk.
    pub fn make_room(&self, octets_max: u64, uses: &HashMap<Key, SystemTime>) -> io::Result<Left> {
        let mut entries = self.sound_files()?;
        for entry in &mut entries {
            entry.used = uses.get(&entry.key).map_or(entry.used, |used| entry.used.max(*used));
        }
        let mut octets: u64 = entries.iter().map(|entry| entry.octets).sum();
        if octets > octets_max {
            entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
            while let Some(oldest) = entries.pop_if(|_| octets > octets_max - octets_max / FREE_PART) {
                removed(&oldest.path)?;
                octets -= oldest.octets;
            }
        }
        Ok(Left { octets, keys: entries.into_iter().map(|entry| entry.key).collect() })
    }

    fn sound_files(&self) -> io::Result<Vec<SoundFile>> {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for file in fs::read_dir(&self.path)? {
            match sound_file(&file?, now) {
                Ok(entry) => entries.extend(entry),
                // Another process has removed it.
                Err(why) if why.kind() == ErrorKind::NotFound => {}
                Err(why) => return Err(why),
            }
        }
        Ok(entries)
    }
}

/// A sound of the folder. An old part is removed; what has another name is somebody else's.
fn sound_file(file: &DirEntry, now: SystemTime) -> io::Result<Option<SoundFile>> {
    let name = file.file_name();
    let Some(name) = name.to_str() else { return Ok(None) };
    if name.ends_with(PART) {
        let is_old = now.duration_since(file.metadata()?.modified()?).is_ok_and(|age| age > PART_AGE_MAX);
        return if is_old { removed(&file.path()).map(|()| None) } else { Ok(None) };
    }
    let key = name.strip_suffix(SOUND).and_then(|hex| Key::from_hex(hex).ok());
    let Some(key) = key else { return Ok(None) };
    let metadata = file.metadata()?;
    Ok(Some(SoundFile { path: file.path(), key, octets: metadata.len(), used: metadata.modified()? }))
}

/// Removes a file that another process may have removed.
fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}
