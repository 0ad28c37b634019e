//! `campanile bench`: replaces this process with the program campanile-bench, found beside it or on PATH.

use super::args::{Bench, Cli};
use super::{Failure, Outcome, print};
use clap::CommandFactory;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program's file name.
const PROGRAM: &str = "campanile-bench";
/// Names the campanile that is measured: the one that was called, whatever stands on PATH.
const MEASURED: &str = "CAMPANILE_BIN";

/// Runs it with these arguments in the place of this process: streams, signals and exit code are its own.
pub(super) fn run(bench: &Bench) -> Outcome {
    let this =
        env::current_exe().map_err(|error| format!("this program's own path is not known: {error}"))?;
    let beside = this.parent().unwrap_or(Path::new("/"));
    let Some(program) = find(beside, env::var_os("PATH").as_deref()) else {
        return absent(beside, &bench.arguments);
    };
    let error = Command::new(&program).args(&bench.arguments).env(MEASURED, &this).exec();
    Err(Failure::Failed(format!("cannot run {}: {error}", program.display())))
}

/// The program beside this one, or else in the first folder of PATH that has it.
fn find(beside: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let folders = path.into_iter().flat_map(env::split_paths);
    // An empty or relative entry would run a file of whichever folder somebody happens to stand in.
    let on_path = folders.filter(|folder| folder.is_absolute());
    [beside.to_owned()]
        .into_iter()
        .chain(on_path)
        .map(|folder| folder.join(PROGRAM))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Help is given all the same, by a short text; all else is refused.
fn absent(beside: &Path, arguments: &[OsString]) -> Outcome {
    let missing = format!(
        "`campanile bench` runs the program {PROGRAM}, which is neither in {} nor on PATH; \
         `cargo build -p bench` makes it there, or install the package that has it",
        beside.display()
    );
    if !arguments.iter().any(|word| word == "--help" || word == "-h") {
        return Err(Failure::Usage(missing));
    }
    let mut cli = Cli::command();
    // Gives the help its line of usage.
    cli.build();
    let about =
        cli.find_subcommand_mut("bench").map(|bench| bench.render_help().to_string()).unwrap_or_default();
    print(&format!("{about}\nNot installed: {missing}.\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with a file of the program's name and this mode.
    fn folder(root: &Path, name: &str, mode: u32) -> PathBuf {
        let folder = root.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(PROGRAM), "").unwrap();
        fs::set_permissions(folder.join(PROGRAM), fs::Permissions::from_mode(mode)).unwrap();
        folder
    }

    #[test]
    fn the_program_beside_goes_before_those_on_path_and_what_cannot_run_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let (beside, first) = (folder(root.path(), "beside", 0o755), folder(root.path(), "first", 0o755));
        let (text, empty) = (folder(root.path(), "text", 0o644), root.path().join("empty"));
        fs::create_dir_all(root.path().join("named").join(PROGRAM)).unwrap();
        let named = root.path().join("named");
        let path = |folders: &[&Path]| env::join_paths(folders).unwrap();
        for (at, folders, expected) in [
            (&beside, path(&[&first]), Some(&beside)),
            (&empty, path(&[&first, &beside]), Some(&first)),
            (&empty, path(&[&text, &named, &beside]), Some(&beside)),
            (&text, path(&[&empty]), None),
            (&empty, path(&[Path::new(""), Path::new("."), Path::new("first")]), None),
        ] {
            let found = find(at, Some(&folders));
            assert_eq!(found, expected.map(|folder| folder.join(PROGRAM)), "{at:?} {folders:?}");
        }
        assert_eq!(find(&empty, None), None);
    }

    #[test]
    fn without_the_program_help_is_a_short_text_and_all_else_says_how_to_get_it() {
        let beside = Path::new("/opt/campanile");
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        for help in ["--help", "-h", "smpp --help"] {
            assert_eq!(absent(beside, &words(help)), Ok(()), "{help}");
        }
        for line in ["", "alert --recipients 10"] {
            let Err(Failure::Usage(why)) = absent(beside, &words(line)) else { panic!("{line}") };
            assert!(why.contains("/opt/campanile") && why.contains("cargo build -p bench"), "{why}");
        }
    }
}
