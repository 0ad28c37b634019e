//! Path of the campanile executable whose server and simulators a bench starts.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The executable's file name.
const PROGRAM: &str = "campanile";
/// Names another one; `campanile bench` sets it to itself.
const NAMED: &str = "CAMPANILE_BIN";

/// The executable that CAMPANILE_BIN names, else the one beside this program, else the first on PATH.
///
/// # Errors
/// There is none, with the ways to get one.
pub(crate) fn campanile() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(NAMED) {
        return Ok(named.into());
    }
    let this = super::this_program()?;
    let beside = this.parent().unwrap_or(Path::new("/"));
    find(beside, env::var_os("PATH").as_deref()).ok_or_else(|| {
        format!(
            "a bench starts the program {PROGRAM}, which is neither in {} nor on PATH: \
             `cargo build -p campanile` makes it there, or install the package that has it, \
             or name one in {NAMED}",
            beside.display()
        )
    })
}

fn find(beside: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    // An empty or relative entry would run a file of whichever folder somebody happens to stand in.
    let on_path = path.into_iter().flat_map(env::split_paths).filter(|folder| folder.is_absolute());
    [beside.to_owned()].into_iter().chain(on_path).map(|folder| folder.join(PROGRAM)).find(|file| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_campanile_beside_the_bench_goes_before_those_on_path() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str, mode: Option<u32>| {
            let folder = root.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            if let Some(mode) = mode {
                std::fs::write(folder.join(PROGRAM), "").unwrap();
                std::fs::set_permissions(folder.join(PROGRAM), PermissionsExt::from_mode(mode)).unwrap();
            }
            folder
        };
        let (empty, text) = (folder("empty", None), folder("text", Some(0o644)));
        let (beside, on_path) = (folder("beside", Some(0o755)), folder("on-path", Some(0o755)));
        let path = env::join_paths([Path::new("."), &text, &on_path]).unwrap();
        assert_eq!(find(&beside, Some(&path)), Some(beside.join(PROGRAM)));
        assert_eq!(find(&empty, Some(&path)), Some(on_path.join(PROGRAM)));
        assert_eq!((find(&empty, Some(text.as_os_str())), find(&empty, None)), (None, None));
    }
}
