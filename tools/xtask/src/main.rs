//! Program of the workspace checks its rules (`tidy`), runs its tests (`check`, `test`, `story`,
//! `console`) and writes files that are made of others (`dictionary`, `walks`).

mod dictionary;
mod edges;
mod groups;
mod run;
mod scan;
mod tidy;
mod walks;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask check
       cargo xtask test [--all | GROUP...]
       cargo xtask story PATTERN
       cargo xtask console [--all]
       cargo xtask fuzz [LIBRARY...]
       cargo xtask tidy
       cargo xtask dictionary
       cargo xtask walks

  check   format, tidy, clippy, and all tests that need no foreign software
  test    the same and all other tests; dear groups of stories only after changes of what they depend on, or with
          --all. With names of groups: those alone
  story   builds the program and runs the stories whose path contains the pattern, with all they print
  console builds the web console and the program with it, checks it, and runs its stories in a browser; with --all
          those that take long as well
  fuzz    all fuzz targets, or those of some libraries: ten minutes where the library has changed since they last ran
          so long, else two
  tidy    compares the crates' dependencies with the allowed edges, and checks lengths, bans, names and docstrings
  dictionary  compiles libs/diameter/dictionary into the library's tables
  walks   writes into docs/dev/walks.md the lines where its functions stand
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["dictionary"] => written(dictionary::GENERATED, dictionary::run(&root())),
        ["walks"] => written(walks::FILE, walks::run(&root())),
        ["check"] => code(run::check()),
        ["test"] => code(run::test(false)),
        ["test", "--all"] => code(run::test(true)),
        ["test", ref groups @ ..] if groups.iter().all(|name| !name.starts_with('-')) => {
            code(run::groups(groups))
        }
        ["fuzz", ref libraries @ ..] => code(run::fuzz(libraries)),
        ["console"] => code(run::console(false)),
        ["console", "--all"] => code(run::console(true)),
        ["story", pattern] => code(run::story(pattern)),
        ["--help" | "-h" | "help"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn code(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Two floors above tools/xtask.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file that was written, or was as it should be.
fn written(file: &str, changed: Result<bool, String>) -> ExitCode {
    match changed {
        Ok(changed) => {
            println!("{file}: {}", if changed { "written" } else { "fresh already" });
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_tidy() -> ExitCode {
    let root = root();
    match tidy::run(&root) {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            let lines: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
            // Whoever closes our output early has read enough.
            let _ = std::io::stdout().write_all(lines.as_bytes());
            eprintln!("tidy: {} findings", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}
