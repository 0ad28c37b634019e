//! Stories of pushes that do not all go well, and of networks of IPv6.

use crate::disk_full::SmallDisk;
use crate::udp::Beside;
use it::{free_port, program};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Octets that do not shrink, 23 blocks of them.
fn file(folder: &Path) -> (PathBuf, Vec<u8>) {
    let octets: Vec<u8> =
        (0..12_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let path = folder.join("tones");
    std::fs::write(&path, &octets).unwrap();
    (path, octets)
}

fn udp(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.arg("udp").args(arguments).args(["--format", "json"]).stdin(Stdio::null());
    command
}

/// A site that goes on after a file, in a folder of its own.
struct Site {
    address: String,
    folder: PathBuf,
    beside: Beside,
}

impl Site {
    fn start(folder: PathBuf) -> Site {
        std::fs::create_dir_all(&folder).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let into = folder.to_str().unwrap();
        let mut beside =
            Beside::of(udp(&["receive", "--listen", &address, "--into", into, "--keep-free", "0"]));
        beside.next("listening");
        Site { address, folder, beside }
    }

    fn has(&self, octets: &[u8]) -> bool {
        std::fs::read(self.folder.join("tones")).is_ok_and(|there| there == octets)
    }
}

fn push(file: &Path, to: &[(&str, &str)], more: &[&str]) -> Command {
    let to: Vec<String> = to.iter().map(|(name, address)| format!("{name}={address}")).collect();
    let to = to.join(",");
    let mut arguments = vec!["push", file.to_str().unwrap(), "--to", &to];
    arguments.extend(more);
    udp(&arguments)
}

/// What the report at the end says of each site.
fn report(output: &Output) -> BTreeMap<String, Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let objects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sites = objects.filter_map(|object| object.get("site").cloned());
    sites.map(|site| (site["name"].as_str().unwrap().to_owned(), site)).collect()
}

#[test]
fn at_the_deadline_each_site_is_told_of_and_those_unfinished_make_the_push_fail() {
    let folder = tempfile::tempdir().unwrap();
    let (file, octets) = file(folder.path());
    let here = Site::start(folder.path().join("here"));
    let mut slow = Site::start(folder.path().join("slow"));
    let absent = format!("127.0.0.1:{}", free_port());
    let first = push(&file, &[("here", &here.address)], &["--rate", "500M"]).output().unwrap();
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    // One has the file. To another it takes 48 s at this rate, and the third is not there.
    let to = [("here", &here.address[..]), ("slow", &slow.address), ("absent", &absent)];
    let output = push(&file, &to, &["--rate", "2M", "--deadline", "5"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("2 of 3 sites do not have the file"), "{said}");
    let sites = report(&output);
    let state = |name: &str| sites[name]["state"].as_str().unwrap();
    assert_eq!(["here", "slow", "absent"].map(state), ["done", "late", "late"], "{sites:?}");
    let why = |name: &str| sites[name]["why"].as_str().unwrap_or_default();
    assert_eq!(why("slow"), "the deadline came first");
    assert_eq!(why("absent"), "it was not there until the deadline");
    let left = |name: &str| sites[name]["left"].as_u64().unwrap();
    assert_eq!((left("here"), left("absent"), &sites["slow"]["blocks"]), (0, 23, &Value::from(23)));
    // What came until then was not for nothing.
    slow.beside.next("coming");
    let again = push(&file, &[("slow", &slow.address)], &["--rate", "500M"]).output().unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let has = slow.beside.next("coming")["has"].as_u64().unwrap();
    assert!(has >= 23 - left("slow"), "{has} of 23, and {} lacked", left("slow"));
    assert!(here.has(&octets) && slow.has(&octets));
}

#[test]
fn a_site_without_room_is_refused_and_one_whose_disk_fills_up_later_has_its_room() {
    let folder = tempfile::tempdir().unwrap();
    let (file, octets) = file(folder.path());
    let disk = SmallDisk::new(16);
    let ample = Site::start(folder.path().join("ample"));
    let mut tight = Site::start(disk.path().join("tight"));
    disk.fill();
    let to = [("ample", &ample.address[..]), ("tight", &tight.address)];
    let output = push(&file, &to, &["--rate", "500M"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "one has no room");
    let sites = report(&output);
    assert_eq!((&sites["ample"]["state"], &sites["tight"]["state"]), (&"done".into(), &"refused".into()));
    let why = sites["tight"]["why"].as_str().unwrap();
    assert!(why.contains("octets free") || why.contains("No space left"), "{why}");
    assert!(ample.has(&octets));

    disk.make_room();
    let mut pushing = Beside::of(push(&file, &to, &["--rate", "20M"]));
    tight.beside.next("coming");
    disk.fill();
    for _ in to {
        assert_eq!(pushing.next("site")["state"], "done");
    }
    assert_eq!(pushing.child.wait().unwrap().code(), Some(0));
    assert!(tight.has(&octets), "its room was taken before anything was sent");
}

/// Two networks with a cable between them, apart from this machine's. They need root.
struct Networks {
    names: [String; 2],
}

impl Networks {
    fn new() -> Networks {
        let names = ["near", "far"].map(|end| format!("it-{end}-{}", std::process::id()));
        let networks = Networks { names };
        for name in &networks.names {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        let [near, far] = &networks.names;
        ip(&["link", "add", "cable", "netns", near, "type", "veth", "peer", "name", "cable", "netns", far]);
        for (name, address) in [(near, "fd00:4810::1/64"), (far, "fd00:4810::2/64")] {
            // Nobody else is there who might have the address.
            ip(&["-n", name, "address", "add", address, "dev", "cable", "nodad"]);
            ip(&["-n", name, "link", "set", "cable", "up"]);
        }
        networks
    }

    /// The same command, there.
    fn within(&self, end: usize, command: &Command) -> Command {
        let mut within = Command::new("ip");
        within.args(["netns", "exec", &self.names[end]]).arg(command.get_program()).args(command.get_args());
        within
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "networks of its own need root: ip {arguments:?}: {said}");
}

#[test]
fn one_stream_to_a_group_of_ipv6_reaches_the_sites_of_another_network() {
    let folder = tempfile::tempdir().unwrap();
    let (file, octets) = file(folder.path());
    let key = folder.path().join("key");
    std::fs::write(&key, "what both networks know").unwrap();
    let key = ["--key-file", key.to_str().unwrap(), "--interface", "cable"];
    let networks = Networks::new();
    let folders = ["north", "south"].map(|name| folder.path().join(name));
    let addresses = ["[fd00:4810::2]:4810", "[fd00:4810::2]:4820"];
    let mut sites = Vec::new();
    let to = [("north", addresses[0]), ("south", addresses[1])];
    for (folder, address) in folders.iter().zip(addresses) {
        std::fs::create_dir(folder).unwrap();
        let mut receive = udp(&["receive", "--listen", address, "--into", folder.to_str().unwrap()]);
        receive.args(["--keep-free", "0"]).args(key);
        let mut site = Beside::of(networks.within(1, &receive));
        site.next("listening");
        sites.push(site);
    }
    // One that routers may pass on, and one of the link alone.
    for (name, group) in [("first", "[ff15::4811]:4811"), ("second", "[ff02::4811]:4812")] {
        let mut pushed = push(&file, &to, &["--group", group, "--rate", "200M", "--name", name]);
        pushed.args(key);
        let output = networks.within(0, &pushed).output().unwrap();
        assert!(output.status.success(), "{group}: {}", String::from_utf8_lossy(&output.stderr));
        for folder in &folders {
            assert!(std::fs::read(folder.join(name)).unwrap() == octets, "{}", folder.display());
        }
    }
    // Its address says nothing of an interface of IPv6.
    let mut wrong = push(&file, &to, &["--group", "[ff15::4811]:4811", "--interface", "192.0.2.1"]);
    wrong.args(&key[..2]);
    let output = wrong.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("by name"), "{output:?}");
}
