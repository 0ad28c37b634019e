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

#[test]
fn systemd_takes_the_unit() {
    let unit = std::fs::read_to_string(deploy().join("systemd/campanile.service")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("campanile.service");
    // It looks whether the program is there.
    std::fs::write(&file, unit.replace("/usr/bin/campanile", &program().display().to_string())).unwrap();
    let output = Command::new("systemd-analyze").arg("verify").arg(&file).output();
    let output = output.unwrap_or_else(|error| panic!("run scripts/install-foreign systemd: {error}"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.is_empty(), "{words}");
}

/// The config that getting-started.md tells to write.
fn config_of_the_guide() -> String {
    let guide = std::fs::read_to_string(deploy().join("../docs/getting-started.md")).unwrap();
    guide.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

#[test]
fn the_guides_config_is_good_and_the_unit_lets_it_listen_where_it_wants() {
    let (config, folder) = (config_of_the_guide(), tempfile::tempdir().unwrap());
    let file = folder.path().join("campanile.toml");
    std::fs::write(&file, &config).unwrap();
    let output = Command::new(program()).arg("check").arg("--config").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ports = config.lines().filter_map(|line| {
        line.strip_prefix("listen = \"")?.split('"').next()?.rsplit(':').next()?.parse::<u16>().ok()
    });
    assert!(ports.min().unwrap() < 1024, "the guide's mail door listens on 25");
    let unit = std::fs::read_to_string(deploy().join("systemd/campanile.service")).unwrap();
    for line in ["AmbientCapabilities=CAP_NET_BIND_SERVICE", "CapabilityBoundingSet=CAP_NET_BIND_SERVICE"] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    // In a user namespace of its own the capability would be good for nothing.
    assert!(!unit.lines().any(|found| found == "PrivateUsers=yes"));
}
