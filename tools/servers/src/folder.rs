//! Temporary folders that go with the process that made them, also when it was killed: each has a lock file
//! beside it, and who makes the next folder removes those whose lock nobody holds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A folder of a server, removed when dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lock_path: PathBuf,
    // Held as long as this lives: the kernel lets go of it when the process ends, however it ends.
    _lock: File,
}

impl Folder {
    /// Makes an empty folder whose name begins with `name`.
    ///
    /// # Panics
    /// If the folder for temporary files cannot be written.
    pub fn new(name: &str) -> Folder {
        let root = root();
        make(&root, name).unwrap_or_else(|error| {
            panic!(
                "no folder can be made below {}: {error}; set TMPDIR to one that can be written",
                root.display()
            )
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process that makes a folder.
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// Where all folders stand: one place for each user of the machine, since nobody may remove another's.
fn root() -> PathBuf {
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    #[allow(unsafe_code)]
    let user = unsafe { libc::geteuid() };
    std::env::temp_dir().join(format!("campanile-servers-{user}"))
}

fn make(root: &Path, name: &str) -> io::Result<Folder> {
    fs::create_dir_all(root)?;
    // A server may run as another user than its test (PostgreSQL refuses to run as root), who must reach its
    // folder.
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(root, fs::Permissions::from_mode(0o755))?;
    // One at a time makes or removes: so a lock file is never seen between its making and its locking.
    let turn = File::options().create(true).truncate(false).write(true).open(root.join("turn"))?;
    turn.lock()?;
    sweep(root);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = root.join(format!("{name}-{}-{number}", std::process::id()));
    let lock_path = path.with_extension("lock");
    let lock = File::options().create(true).truncate(false).write(true).open(&lock_path)?;
    lock.lock()?;
    fs::create_dir_all(&path)?;
    Ok(Folder { path, lock_path, _lock: lock })
}

/// Removes the folders whose process is gone. What cannot be removed is left: it hurts nobody.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let lock_path = entry.path();
        if lock_path.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        let Ok(lock) = File::options().write(true).open(&lock_path) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(lock_path.with_extension(""));
            let _ = fs::remove_file(&lock_path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_when_dropped_and_what_a_dead_process_left_goes_with_the_next() {
        let temp = tempfile::tempdir().expect("a folder");
        let left = temp.path().join("server-1-0");
        fs::create_dir_all(left.join("inside")).expect("left behind");
        fs::write(left.with_extension("lock"), "").expect("its lock, held by nobody");

        let folder = make(temp.path(), "server").expect("made");
        assert!(folder.path().is_dir());
        assert!(!left.exists(), "what nobody holds is removed");
        let other = make(temp.path(), "server").expect("made");
        assert!(folder.path().is_dir(), "what somebody holds is not");

        let path = folder.path().to_path_buf();
        drop(folder);
        assert!(!path.exists());
        assert!(other.path().is_dir());
    }
}
