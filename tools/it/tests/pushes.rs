//! How a push ends when not all goes well.

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
