//! Files that alerts carry, in a folder: each under the BLAKE3 of what is in it, so that the same file is
//! there once.
//!
//! Several processes share the folder where they share the store: an attachment is looked for wherever its
//! alert is sent from.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// Hexadecimal digits of an id.
const ID_CHARS: usize = 64;
/// What a file is called until it is whole.
const UNFINISHED: &str = ".coming-";
/// What came to no end is removed after so long.
const UNFINISHED_KEPT: Duration = Duration::from_secs(86_400);

/// A folder of files. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    folder: PathBuf,
}

/// A file that is coming. Dropped before [`Writing::finish`], it is forgotten.
#[derive(Debug)]
pub struct Writing {
    file: File,
    path: PathBuf,
    folder: PathBuf,
    hash: blake3::Hasher,
    size: u64,
    is_over: bool,
}

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// BLAKE3, in hexadecimal digits.
    pub id: String,
    /// Octets.
    pub size: u64,
}

impl Media {
    /// A folder, made when the first file comes.
    pub fn at(folder: &Path) -> Media {
        Media { folder: folder.to_owned() }
    }

    /// Begins a file.
    ///
    /// # Errors
    /// The disk's.
    pub async fn begin(&self) -> io::Result<Writing> {
        /// Tells files of one process apart.
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        tokio::fs::create_dir_all(&self.folder).await?;
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        // Processes on other machines may share the folder, and have the same number.
        let name = format!("{UNFINISHED}{}-{number}", uuid::Uuid::now_v7());
        let path = self.folder.join(name);
        let file = File::create_new(&path).await?;
        let folder = self.folder.clone();
        Ok(Writing { file, path, folder, hash: blake3::Hasher::new(), size: 0, is_over: false })
    }

    /// Where the file of an id is, if it is an id.
    pub fn path(&self, id: &str) -> Option<PathBuf> {
        let is_id =
            id.len() == ID_CHARS && id.bytes().all(|octet| matches!(octet, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| self.folder.join(id))
    }

    /// Octets of a file that is about to be used, if it is there: from now on it is kept as if it came now.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep(&self, id: &str) -> io::Result<Option<u64>> {
        let Some(path) = self.path(id) else { return Ok(None) };
        match fs::File::options().write(true).open(path) {
            Ok(file) => {
                file.set_modified(SystemTime::now())?;
                Ok(Some(file.metadata()?.len()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes what came, and was [kept](Media::keep), before `before`; says how many files.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove_before(&self, before: SystemTime) -> io::Result<usize> {
        let mut removed = 0;
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let limit = if name.starts_with(UNFINISHED) {
                before.max(SystemTime::now() - UNFINISHED_KEPT)
            } else if self.path(name).is_some() {
                before
            } else {
                // Not ours.
                continue;
            };
            if entry.metadata()?.modified()? < limit {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Writing {
    /// Adds octets.
    ///
    /// # Errors
    /// The disk's; then the file is lost.
    pub async fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.hash.update(octets);
        self.size += octets.len() as u64;
        self.file.write_all(octets).await
    }

    /// Octets so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file is whole: it is on disk, under its id, when this is answered.
    ///
    /// # Errors
    /// The disk's; then the file is lost.
    pub async fn finish(mut self) -> io::Result<Stored> {
        self.file.flush().await?;
        self.file.sync_all().await?;
        let stored = Stored { id: self.hash.finalize().to_hex().to_string(), size: self.size };
        // Over the same octets, if they were there.
        tokio::fs::rename(&self.path, self.folder.join(&stored.id)).await?;
        self.is_over = true;
        File::open(&self.folder).await?.sync_all().await?;
        Ok(stored)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.is_over {
            // What stays is removed by age.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[tokio::test]
    async fn the_same_file_is_there_once_and_what_broke_off_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let media = Media::at(&folder.path().join("media"));
        for _ in 0..2 {
            let mut writing = media.begin().await.unwrap();
            writing.write(b"to").await.unwrap();
            writing.write(b"ne").await.unwrap();
            let stored = writing.finish().await.unwrap();
            assert_eq!(stored, Stored { id: blake3::hash(b"tone").to_hex().to_string(), size: 4 });
            assert_eq!(media.keep(&stored.id).unwrap(), Some(4));
            assert_eq!(fs::read(media.path(&stored.id).unwrap()).unwrap(), b"tone");
        }
        let mut broken = media.begin().await.unwrap();
        broken.write(b"ton").await.unwrap();
        drop(broken);
        assert_eq!(names(&media.folder).len(), 1);
        assert_eq!(media.keep(&"0".repeat(64)).unwrap(), None);
        for odd in ["", "x", "../keys", &"A".repeat(64)] {
            assert_eq!(media.path(odd), None, "{odd:?}");
        }
    }

    #[tokio::test]
    async fn what_nobody_used_for_long_goes() {
        let folder = tempfile::tempdir().unwrap();
        let media = Media::at(folder.path());
        let mut ids = Vec::new();
        for octets in [b"old", b"new"] {
            let mut writing = media.begin().await.unwrap();
            writing.write(octets).await.unwrap();
            ids.push(writing.finish().await.unwrap().id);
        }
        fs::write(folder.path().join("others"), "").unwrap();
        let age = |name: &str| {
            let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(1_000)).unwrap();
        };
        ids.iter().for_each(|id| age(id));
        age("others");
        media.keep(&ids[1]).unwrap();
        assert_eq!(media.remove_before(SystemTime::now() - Duration::from_secs(500)).unwrap(), 1);
        assert_eq!((media.keep(&ids[0]).unwrap(), media.keep(&ids[1]).unwrap()), (None, Some(3)));
        assert!(folder.path().join("others").exists());
    }
}
