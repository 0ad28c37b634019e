//! `campanile bench`: the program that it runs, and the table of message sizes measured by it.

use it::program;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Tells its name, the campanile that is measured, its arguments and its input, and ends with 7.
const STAND_IN: &str = "#!/bin/sh\necho \"NAME, $CAMPANILE_BIN, $#: $*\"\ncat\necho complaint >&2\nexit 7\n";

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// A folder with a campanile of its own. On the same file system, since a link costs nothing.
fn folder() -> (TempDir, PathBuf) {
    let program = program();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let campanile = folder.path().join("campanile");
    fs::hard_link(program, &campanile).unwrap();
    (folder, campanile)
}

/// Puts a stand-in for campanile-bench there. A process of its own writes it: a file that this one has open
/// for writing may still be open in a child of another test, and then the system does not run it.
fn stand_in(folder: &Path, name: &str) {
    fs::create_dir_all(folder).unwrap();
    let mut writing = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(folder.join("campanile-bench"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writing.stdin.take().unwrap().write_all(STAND_IN.replace("NAME", name).as_bytes()).unwrap();
    assert!(writing.wait().unwrap().success());
}

fn run(campanile: &Path, path: &Path, arguments: &[&str]) -> Output {
    let mut child = Command::new(campanile)
        .arg("bench")
        .args(arguments)
        .env("PATH", format!("{}:/usr/bin:/bin", path.display()))
        .env_remove("CAMPANILE_BIN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // What refuses its arguments reads no input.
    let _ = child.stdin.take().unwrap().write_all(b"input\n");
    child.wait_with_output().unwrap()
}

#[test]
fn the_bench_beside_campanile_is_run_else_the_one_on_path_with_all_it_was_given() {
    let (folder, campanile) = folder();
    let on_path = folder.path().join("path");
    stand_in(&on_path, "on path");
    for name in ["on path", "beside"] {
        if name == "beside" {
            stand_in(folder.path(), name);
        }
        for arguments in [&["alert", "--out", "a b", "-x"][..], &["--help"], &["smpp", "--help"], &[]] {
            let output = run(&campanile, &on_path, arguments);
            let expected = format!(
                "{name}, {}, {}: {}\ninput\n",
                campanile.display(),
                arguments.len(),
                arguments.join(" ")
            );
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), expected));
            assert_eq!(text(&output.stderr), "complaint\n");
        }
    }
}

#[test]
fn without_the_bench_campanile_says_how_to_get_it() {
    let (folder, campanile) = folder();
    for arguments in [&["alert", "--recipients", "10"][..], &[]] {
        let output = run(&campanile, folder.path(), arguments);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("campanile-bench") && said.contains("cargo build -p bench"), "{said}");
    }
    let output = run(&campanile, folder.path(), &["--help"]);
    let (help, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{help}");
    assert!(help.contains("campanile bench alert") && help.contains("cargo build -p bench"), "{help}");
}

#[test]
fn the_bench_without_a_campanile_says_how_to_get_it() {
    let folder = tempfile::tempdir_in(program().parent().unwrap()).unwrap();
    let alone = folder.path().join("campanile-bench");
    fs::hard_link(program().with_file_name("campanile-bench"), &alone).unwrap();
    let run = |arguments: &[&str]| {
        let mut bench = Command::new(&alone);
        bench.args(arguments).env("PATH", folder.path()).env_remove("CAMPANILE_BIN").output().unwrap()
    };
    let output = run(&["http", "--sizes"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cargo build -p campanile"), "{said}");
    assert_eq!(run(&["http", "--help"]).status.code(), Some(0));
}

#[test]
fn help_and_wrong_usage_are_the_bench_s_own() {
    let said = |arguments: &[&str]| {
        let output = Command::new(program()).arg("bench").args(arguments).output().unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, help) = said(&["--help"]);
    assert_eq!(code, Some(0), "{help}");
    for scenario in ["alert", "http", "sign-in", "events", "smpp", "topics", "diameter", "udp"] {
        assert!(help.contains(&format!("\n  {scenario} ")), "{scenario}:\n{help}");
        let (code, help) = said(&[scenario, "--help"]);
        assert_eq!(code, Some(0), "{help}");
        assert!(help.contains(&format!("campanile bench {scenario}")), "{help}");
    }
    for wrong in [&["bananas"][..], &["smpp"], &["udp", "--mss", "63"], &[]] {
        assert_eq!(said(wrong).0, Some(2), "{wrong:?}");
    }
}

#[test]
fn the_server_takes_an_audience_of_the_published_sizes_in_each_form() {
    let figures = tempfile::tempdir().unwrap();
    let output = Command::new(program())
        .args(["bench", "http", "--sizes", "--format", "json", "--out"])
        .arg(figures.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let published = [(32, 49_362), (128, 191_281), (512, 764_920), (2_048, 3_071_499)];
    assert_eq!(lines.len(), published.len());
    for (line, (endpoints, octets)) in lines.iter().zip(published) {
        let of = |name: &str| line[name].as_u64().unwrap();
        assert_eq!((&line["scenario"], &line["errors"]), (&Value::from("http-paper-sizes"), &Value::from(0)));
        assert_eq!((&line["params"]["endpoints"], of("octets_published")), (&Value::from(endpoints), octets));
        let (listed, gzip, zstd) = (of("octets_listed"), of("octets_gzip"), of("octets_zstd"));
        assert!(gzip < listed && zstd < listed && listed < octets, "{line}");
        assert!(of("octets_group") < 200, "{line}");
        assert!(line["rate_per_s"].as_f64().unwrap() > 0.0 && line["fdatasync_p50_us"].is_u64(), "{line}");
    }
    for file in ["http-paper-sizes.csv", "http-paper-sizes.svg"] {
        assert!(figures.path().join(file).exists(), "{file}");
    }
}
