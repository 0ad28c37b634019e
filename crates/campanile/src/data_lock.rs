//! Lock of a data folder: one server at a time has it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file in the data folder; its content says who has it.
const FILE: &str = "lock";
/// Octets of it that are shown.
const SHOWN_OCTETS: u64 = 200;

/// A folder that is this process's own until this is dropped, or the process ends.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

/// Takes the folder.
///
/// # Errors
/// In words: another server has it, or the file cannot be made.
pub fn take(data: &Path) -> Result<DataLock, String> {
    let path = data.join(FILE);
    let fails = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(fails)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(data, &file)),
        Err(TryLockError::Error(error)) => return Err(fails(error)),
    }
    // Who finds it taken reads who has it: worth a try, no more.
    let since = format!("{:.0}", jiff::Timestamp::now());
    let words = format!("process {} since {since}\n", std::process::id());
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(words.as_bytes()));
    Ok(DataLock { _file: file })
}

fn in_use(data: &Path, file: &File) -> String {
    let mut who = String::new();
    let _ = file.take(SHOWN_OCTETS).read_to_string(&mut who);
    let who = who.trim().chars().filter(|c| !c.is_control()).collect::<String>();
    let who = if who.is_empty() { "another process".to_owned() } else { who };
    format!(
        "the data folder {} is in use by a server that runs already ({who}): stop that one first, or give this one \
         a folder of its own by --data DIR and other addresses to listen on",
        data.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_servers_and_another_is_told_whose() {
        let data = tempfile::tempdir().unwrap();
        let held = take(data.path()).unwrap();
        let refused = take(data.path()).unwrap_err();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(
            refused.contains("--data") && refused.contains(&data.path().display().to_string()),
            "{refused}"
        );
        drop(held);
        take(data.path()).unwrap();
    }
}
