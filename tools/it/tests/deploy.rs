//! The files of `deploy/` are good: for the program that reads them.

use it::program;
use std::path::{Path, PathBuf};
use std::process::Command;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// What systemd reads from `node.env`.
fn environment() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(deploy().join("systemd/node.env")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let pairs: Vec<_> = lines.filter_map(pair).collect();
    assert_eq!(pairs.len(), 2, "{pairs:?}");
    pairs
}

#[test]
fn the_examples_of_one_machine_of_three_and_of_compose_are_configs_without_a_problem() {
    for name in ["one-machine", "three-nodes", "compose"] {
        let mut check = Command::new(program());
        check.arg("check").arg("--config").arg(deploy().join(name).join("campanile.toml"));
        if name != "one-machine" {
            check.envs(environment());
        }
        let output = check.output().unwrap();
        let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}: {said}{why}");
    }
}

#[test]
fn the_servers_configs_are_good_for_nats_server() {
    for name in ["three-nodes", "compose"] {
        let mut test = Command::new(servers::nats::program());
        test.env("NATS_NAME", "a").arg("-t").arg("-c").arg(deploy().join(name).join("nats.conf"));
        let output = test.output().unwrap_or_else(|error| panic!("run scripts/install-foreign: {error}"));
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && why.contains("is valid"), "{name}: {why}");
    }
}
