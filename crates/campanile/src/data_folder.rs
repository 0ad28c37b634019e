//! The data folder: nobody but its owner reads it, whatever the umask and whatever it was before.

use crate::setup::{Setup, StoragePlace};
use rustix::fs::Mode;
use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What others must not have.
const OTHERS: u32 = 0o077;
/// Of a folder.
const FOLDER_MODE: u32 = 0o700;
/// Of a file; one that its owner may not write or run stays so.
const FILE_MODE_MAX: u32 = 0o700;
/// Of a folder in which everybody makes files.
const STICKY: u32 = 0o1000;
/// What a start leaves in its data folder, whatever the config.
const MARKS: [&str; 2] = ["form", "keys"];
/// What the server keeps there beside database and bus.
const OWN_ENTRIES: [&str; 9] =
    ["edge", "edge-signing.key", "form", "keys", "ledger", "lock", "media", "migrated", "outbox"];
/// Folders in each other at most; the server makes a few.
const DEPTH_MAX: usize = 32;

/// From now on this process makes files and folders that its owner alone reads. Called before any thread
/// begins: it holds for the whole process.
pub fn keep_private() {
    rustix::process::umask(Mode::from_raw_mode(OTHERS));
}

/// Makes the data folder if it is not there, and takes from others what an earlier version, a copy or a
/// restored backup let them read: the folder, and in it what is the server's. Anything else in it is left as
/// it is, and so is a folder that was somebody's before the first start, such as `.`.
///
/// # Errors
/// In words: it cannot be made, or is none.
pub fn prepare(setup: &Setup) -> Result<(), String> {
    let data = &setup.data;
    let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(data);
    made.map_err(|error| format!("the data folder {} cannot be made: {error}", data.display()))?;
    let mut mended = Mended::default();
    if is_ours(data) {
        mended.itself(data);
    }
    for entry in kept(setup) {
        mended.all(&entry);
    }
    mended.log(data);
    Ok(())
}

/// Whether nobody else has anything in the folder: it is empty, or a start before left its marks.
fn is_ours(data: &Path) -> bool {
    let has_mark = MARKS.iter().any(|mark| data.join(mark).exists());
    has_mark || fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_none())
}

/// Files and folders of the server, wherever the config puts them. Attachments beyond the data folder may
/// belong to several machines, and are left to their operator.
fn kept(setup: &Setup) -> Vec<PathBuf> {
    let data = &setup.data;
    let mut kept: Vec<PathBuf> = OWN_ENTRIES.iter().map(|entry| data.join(entry)).collect();
    kept.extend(
        setup
            .retention
            .export_dir
            .iter()
            .map(|folder| data.join(folder))
            .filter(|folder| folder.starts_with(data)),
    );
    if let StoragePlace::Here { database, bus, .. } = &setup.kept {
        let database = data.join(database);
        kept.extend(["", "-wal", "-shm", ".lock"].map(|end| {
            let mut file = database.clone().into_os_string();
            file.push(end);
            PathBuf::from(file)
        }));
        kept.push(data.join(bus));
    }
    kept
}

#[derive(Default)]
struct Mended {
    count: u64,
    failures: u64,
    first_failure: Option<(PathBuf, io::Error)>,
}

impl Mended {
    /// A file, or a folder and what is in it; one that is not there needs none, and what a link leads to is
    /// not ours to change.
    fn all(&mut self, path: &Path) {
        self.below(path, 0);
    }

    /// The data folder's own mode. Where it is a link, that of the folder.
    fn itself(&mut self, data: &Path) {
        match fs::metadata(data) {
            // Everybody's, such as /tmp.
            Ok(found) if found.mode() & STICKY != 0 => {}
            Ok(found) => drop(self.close(data, &found)),
            Err(error) => self.failed(data, &error),
        }
    }

    /// True: others could read it.
    fn close(&mut self, path: &Path, found: &Metadata) -> bool {
        let mode = found.mode() & 0o7777;
        if mode & OTHERS == 0 {
            return false;
        }
        let mode = if found.is_dir() { FOLDER_MODE } else { mode & FILE_MODE_MAX };
        match fs::set_permissions(path, fs::Permissions::from_mode(mode)) {
            Ok(()) => self.count += 1,
            Err(error) => self.failed(path, &error),
        }
        true
    }

    fn entry(&mut self, path: &Path, found: &Metadata, depth: usize) {
        let was_open = self.close(path, found);
        // Below a folder that was closed nobody else came; its own entries are looked at in any case.
        if !found.is_dir() || depth > 0 && !was_open || depth == DEPTH_MAX {
            return;
        }
        match fs::read_dir(path) {
            Ok(entries) => entries.flatten().for_each(|entry| self.below(&entry.path(), depth + 1)),
            Err(error) => self.failed(path, &error),
        }
    }

    fn below(&mut self, path: &Path, depth: usize) {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {}
            Ok(found) => self.entry(path, &found, depth),
            // Gone meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.failed(path, &error),
        }
    }

    fn failed(&mut self, path: &Path, error: &io::Error) {
        self.failures += 1;
        let first = || (path.to_owned(), io::Error::new(error.kind(), error.to_string()));
        self.first_failure.get_or_insert_with(first);
    }

    fn log(self, data: &Path) {
        if self.count > 0 {
            tracing::warn!(
                data = %data.display(),
                entries = self.count,
                "others could read the server's data: its folders are 0700 and its files 0600 now"
            );
        }
        if let Some((path, error)) = self.first_failure {
            tracing::warn!(
                path = %path.display(),
                %error,
                failed = self.failures,
                "others can read the server's data, and the modes cannot be changed: give the files to the server's user"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn setup(data: &Path) -> Setup {
        let config = crate::config::parse("", "no config", data, &Default::default());
        config.unwrap_or_else(|problems| panic!("{problems}")).setup(data).unwrap()
    }

    fn write(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        set(path, mode);
    }

    #[test]
    fn a_folder_that_others_could_read_is_closed_with_all_of_the_servers_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let (data, outside) = (dir.path().join("data"), dir.path().join("outside"));
        write(&outside, 0o644);
        let files = [
            ("campanile.db", 0o644, 0o600),
            ("campanile.db-wal", 0o644, 0o600),
            ("form", 0o666, 0o600),
            ("keys", 0o640, 0o600),
            ("bus/topics/a/00001.log", 0o644, 0o600),
            ("bus/lock", 0o444, 0o400),
            ("media/a", 0o604, 0o600),
            ("campanile.toml", 0o644, 0o644),
            ("certificates/chain.pem", 0o644, 0o644),
        ];
        files.iter().for_each(|(file, before, _)| write(&data.join(file), *before));
        std::os::unix::fs::symlink(&outside, data.join("bus/link")).unwrap();
        let folders = ["", "bus", "bus/topics", "bus/topics/a", "media"];
        folders.iter().for_each(|folder| set(&data.join(folder), 0o755));
        prepare(&setup(&data)).unwrap();
        for (file, _, after) in files {
            assert_eq!(mode(&data.join(file)), after, "{file}");
        }
        for folder in folders {
            assert_eq!(mode(&data.join(folder)), 0o700, "{folder}");
        }
        assert_eq!(mode(&outside), 0o644, "what a link leads to is left alone");
    }

    #[test]
    fn a_folder_is_closed_that_is_new_empty_or_the_servers_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let cases: [(&str, &[&str], u32, u32); 5] = [
            ("new/and/deep", &[], 0, 0o700),
            ("empty", &[], 0o755, 0o700),
            ("ours", &["form", "x"], 0o755, 0o700),
            ("somebodys", &["x"], 0o755, 0o755),
            ("everybodys", &["keys"], 0o1777, 0o1777),
        ];
        for (name, files, before, after) in cases {
            let data = dir.path().join(name);
            if before != 0 {
                fs::create_dir(&data).unwrap();
                files.iter().for_each(|file| write(&data.join(file), 0o600));
                set(&data, before);
            }
            prepare(&setup(&data)).unwrap();
            assert_eq!(mode(&data), after, "{name}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("file"), 0o600);
        let refused = prepare(&setup(&dir.path().join("file/data"))).unwrap_err();
        assert!(refused.contains("file/data"), "{refused}");
    }
}
