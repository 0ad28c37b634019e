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
/// What a file is called while it is removed.
const GOING: &str = ".going-";
/// What came to no end is removed after so long.
const UNFINISHED_KEPT: Duration = Duration::from_secs(86_400);

/// A folder of files. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    folder: PathBuf,
}

/// A file that is coming. Dropped before [`Writing::place`], it is forgotten.
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

    /// Octets of a file, if it is there.
    ///
    /// # Errors
    /// The disk's.
    pub fn size(&self, id: &str) -> io::Result<Option<u64>> {
        let Some(path) = self.path(id) else { return Ok(None) };
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Octets that are free on the disk of the folder, for who is not its administrator.
    ///
    /// # Errors
    /// The disk's.
    pub fn free(&self) -> io::Result<u64> {
        // Until the first file comes there may be no folder, but there is one above it.
        let there = self.folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        let disk = rustix::fs::statvfs(there)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Files that came before `before`: those that are whole, and those that came to no end within a day.
    ///
    /// # Errors
    /// The disk's.
    pub fn older(&self, before: SystemTime) -> io::Result<OldFiles> {
        let mut old = OldFiles::default();
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(old),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_unfinished = name.starts_with(UNFINISHED) || name.starts_with(GOING);
            if !is_unfinished && self.path(name).is_none() {
                // Not ours.
                continue;
            }
            let limit = if is_unfinished { before.max(SystemTime::now() - UNFINISHED_KEPT) } else { before };
            if entry.metadata()?.modified()? < limit {
                let list = if is_unfinished { &mut old.unfinished } else { &mut old.whole };
                list.push(name.to_owned());
            }
        }
        Ok(old)
    }

    /// Takes a file away, so that [`Going::remove`] or [`Going::restore`] can follow once it is known whether
    /// anybody has it: who brings it again meanwhile finds it in its place, or brings it there. Nothing if
    /// there is no such file.
    ///
    /// # Errors
    /// The disk's.
    pub fn take_away(&self, id: &str) -> io::Result<Option<Going>> {
        let Some(path) = self.path(id) else { return Ok(None) };
        let aside = self.folder.join(format!("{GOING}{}", uuid::Uuid::now_v7()));
        match fs::rename(&path, &aside) {
            Ok(()) => Ok(Some(Going { path, aside })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes a file that came to no end.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove_unfinished(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(name)) {
            // Another process was quicker.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// Names of files that [`Media::older`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OldFiles {
    /// Ids of whole files.
    pub whole: Vec<String>,
    /// Names of files that came to no end.
    pub unfinished: Vec<String>,
}

/// A file that is about to be removed.
#[derive(Debug)]
pub struct Going {
    path: PathBuf,
    aside: PathBuf,
}

impl Going {
    /// For good.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(self.aside)
    }

    /// Somebody has it after all.
    ///
    /// # Errors
    /// The disk's.
    pub fn restore(self) -> io::Result<()> {
        // Over the same octets, if they were brought again.
        fs::rename(self.aside, self.path)
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

    /// The id that the file will have, if nothing more is written to it.
    pub fn id(&self) -> String {
        self.hash.finalize().to_hex().to_string()
    }

    /// The file is whole, and its octets are on disk when this is answered; it has no place yet.
    ///
    /// # Errors
    /// The disk's; then the file is lost.
    pub async fn end(&mut self) -> io::Result<Stored> {
        self.file.flush().await?;
        self.file.sync_all().await?;
        Ok(Stored { id: self.hash.finalize().to_hex().to_string(), size: self.size })
    }

    /// Gives a file that was [ended](Writing::end) its place: it is on disk, under its id, when this is
    /// answered.
    ///
    /// # Errors
    /// The disk's; then the file is lost.
    pub async fn place(mut self, stored: &Stored) -> io::Result<()> {
        // Over the same octets, if they were there.
        tokio::fs::rename(&self.path, self.folder.join(&stored.id)).await?;
        self.is_over = true;
        File::open(&self.folder).await?.sync_all().await
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

    async fn put(media: &Media, octets: &[u8]) -> Stored {
        let mut writing = media.begin().await.unwrap();
        for octet in octets.chunks(2) {
            writing.write(octet).await.unwrap();
        }
        let stored = writing.end().await.unwrap();
        writing.place(&stored).await.unwrap();
        stored
    }

    #[tokio::test]
    async fn the_same_file_is_there_once_and_what_broke_off_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let media = Media::at(&folder.path().join("media"));
        assert!(media.free().unwrap() > 0, "the folder is not there yet, its disk is");
        for _ in 0..2 {
            let stored = put(&media, b"tone").await;
            assert_eq!(stored, Stored { id: blake3::hash(b"tone").to_hex().to_string(), size: 4 });
            assert_eq!(media.size(&stored.id).unwrap(), Some(4));
            assert_eq!(fs::read(media.path(&stored.id).unwrap()).unwrap(), b"tone");
        }
        let mut broken = media.begin().await.unwrap();
        broken.write(b"ton").await.unwrap();
        drop(broken);
        assert_eq!(names(&media.folder).len(), 1);
        assert_eq!(media.size(&"0".repeat(64)).unwrap(), None);
        for odd in ["", "x", "../keys", &"A".repeat(64)] {
            assert_eq!(media.path(odd), None, "{odd:?}");
        }
    }

    #[tokio::test]
    async fn old_files_are_found_and_those_of_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let media = Media::at(folder.path());
        let ids = [put(&media, b"old").await.id, put(&media, b"new").await.id];
        let unfinished = [format!("{UNFINISHED}1"), format!("{GOING}2"), format!("{UNFINISHED}3")];
        for name in unfinished.iter().map(String::as_str).chain(["others"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let age = |name: &str, s: u64| {
            let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(s)).unwrap();
        };
        for (name, s) in
            [(&*ids[0], 1_000), ("others", 1_000), (&*unfinished[0], 90_000), (&*unfinished[1], 90_000)]
        {
            age(name, s);
        }
        let mut old = media.older(SystemTime::now() - Duration::from_secs(500)).unwrap();
        old.unfinished.sort();
        assert_eq!(old.whole, [ids[0].clone()]);
        assert_eq!(old.unfinished, unfinished[..2]);
        assert_eq!(
            Media::at(&folder.path().join("none")).older(SystemTime::now()).unwrap(),
            OldFiles::default()
        );
    }

    #[tokio::test]
    async fn a_file_that_comes_again_while_it_is_removed_is_there_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let media = Media::at(folder.path());
        let id = put(&media, b"tone").await.id;
        let going = media.take_away(&id).unwrap().unwrap();
        assert!(media.take_away(&id).unwrap().is_none() && media.size(&id).unwrap().is_none());
        put(&media, b"tone").await;
        going.remove().unwrap();
        assert_eq!(media.size(&id).unwrap(), Some(4), "the new one stays");
        media.take_away(&id).unwrap().unwrap().restore().unwrap();
        assert_eq!((media.size(&id).unwrap(), names(folder.path()).len()), (Some(4), 1));
    }
}
