//! What a program can check of the house: `cargo xtask tidy` its rules, `cargo xtask test` its tests. And what it can write:
//! `cargo xtask dictionary` the tables of Diameter.

mod again;
mod dictionary;
mod edges;
mod scan;
mod tidy;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask tidy
       cargo xtask test [ARGUMENTS]
       cargo xtask dictionary

  tidy    compares the crates' dependencies with the allowed edges, and checks lengths, bans, names and docstrings
  test    cargo test with these arguments; of the tests that fail, a few are run once more, alone, and named
  dictionary  compiles libs/diameter/dictionary into the library's tables
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["dictionary"] => run_dictionary(),
        ["test", ref arguments @ ..] => run_test(arguments),
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

fn run_test(arguments: &[&str]) -> ExitCode {
    match again::run(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("test: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Two floors above tools/xtask.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run_dictionary() -> ExitCode {
    match dictionary::run(&root()) {
        Ok(changed) => {
            println!("{}: {}", dictionary::GENERATED, if changed { "written" } else { "fresh already" });
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dictionary: {error}");
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
