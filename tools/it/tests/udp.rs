//! Paced UDP and pushed files, by the commands that people use.

use it::{free_port, program};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// A command that runs beside the test, ended with it.
pub struct Beside {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Beside {
    fn start(arguments: &[&str]) -> Beside {
        Beside::of(command(arguments))
    }

    pub fn of(mut command: Command) -> Beside {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Beside { child, lines }
    }

    /// The next object it prints that has this field, and what is in it.
    pub fn next(&mut self, field: &str) -> Value {
        loop {
            let object = self.object().unwrap_or_else(|| panic!("it ended without `{field}`"));
            if let Some(found) = object.get(field) {
                return found.clone();
            }
        }
    }

    /// The next object it prints; nothing at its end.
    fn object(&mut self) -> Option<Value> {
        let mut line = String::new();
        let len = self.lines.read_line(&mut line).unwrap();
        (len > 0).then(|| serde_json::from_str(&line).unwrap())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.arg("udp").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn last(output: &Output, field: &str) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut objects = text.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
    objects.find_map(|object| object.get(field).cloned()).unwrap()
}

fn words(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn both_sides_of_a_paced_stream_count_alike() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let listen = ["receive", "--listen", "127.0.0.1:0", "--streams", "1", "--format", "json", "--out", out];
    let mut receiver = Beside::start(&listen);
    let address = receiver.next("listening")["address"].as_str().unwrap().to_owned();
    let sent = run(&[
        "send",
        &address,
        "--rate",
        "steps:0s=5M,0.3s=50M",
        "--seconds",
        "1",
        "--format",
        "json",
        "--out",
        out,
    ]);
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let (summary, stream) = (last(&sent, "summary"), receiver.next("stream"));
    let of = |value: &Value, field: &str| value[field].as_u64().unwrap();
    assert!(of(&summary, "sent") > 0);
    assert_eq!(of(&summary, "sent"), of(&stream, "sent"));
    assert_eq!(of(&summary, "received"), of(&stream, "packets"));
    assert_eq!(of(&summary, "asked"), of(&summary, "sent") + of(&summary, "not_sent"));
    let gaps = stream["gaps"].as_array().unwrap().iter().map(|bin| bin[2].as_u64().unwrap()).sum::<u64>();
    assert!(gaps > 0 && gaps < of(&stream, "packets"), "one less at each socket: {gaps}");
    for (file, part) in [
        ("udp-send.csv", "seconds,asked"),
        ("udp-send.svg", "<svg"),
        ("udp-send.html", "<pre>asked"),
        ("udp-receive-gaps.csv", "gap_from_ns"),
        ("udp-receive-gaps.svg", "<svg"),
        ("udp-receive.html", "within a fifth"),
    ] {
        assert!(std::fs::read_to_string(folder.path().join(file)).unwrap().contains(part), "{file}");
    }
}

#[test]
fn a_sender_is_steered_while_it_runs() {
    let mut receiver =
        Beside::start(&["receive", "--listen", "127.0.0.1:0", "--streams", "1", "--format", "json"]);
    let address = receiver.next("listening")["address"].as_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let control = folder.path().join("control");
    let control = control.to_str().unwrap();
    let mut sender = Beside::start(&[
        "send",
        &address,
        "--rate",
        "1M",
        "--ceiling",
        "1G",
        "--control",
        control,
        "--format",
        "json",
    ]);
    sender.next("view");
    assert!(run(&["set", "rate", "40M", "--control", control]).status.success());
    while sender.next("view")["asked"].as_f64().unwrap() < 39e6 {}
    assert!(words(&run(&["set", "rate", "2G", "--control", control])).contains("allows"));
    assert!(run(&["show", "--control", control]).status.success());
    Command::new("kill").args(["-INT", &sender.child.id().to_string()]).status().unwrap();
    assert!(sender.next("summary")["sent"].as_u64().unwrap() > 0, "an interrupt ends it in order");
    assert_eq!(receiver.next("stream")["ended"], "bye");
}

#[test]
fn threads_that_a_rate_needs_are_parked_when_it_falls() {
    let mut receiver = Beside::start(&["receive", "--listen", "127.0.0.1:0", "--format", "json"]);
    let address = receiver.next("listening")["address"].as_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let control = folder.path().join("control");
    let control = control.to_str().unwrap();
    // Four million packets of 64 octets a second, each by a call of its own: no thread can do that.
    let mut sender = Beside::start(&[
        "send",
        &address,
        "--rate",
        "2G",
        "--ceiling",
        "2G",
        "--mss",
        "64",
        "--rung",
        "send",
        "--control",
        control,
        "--format",
        "json",
    ]);
    let most = std::thread::available_parallelism().unwrap().get().min(2) as u64;
    while sender.next("view")["threads"].as_u64().unwrap() < most {}
    // A packet costs its sender up to 40 us in a virtual machine, since each wakes the receiver. At 10
    // Mbit/s, 20,000 packets a second, one thread would have no time to spare beside other work.
    assert!(run(&["set", "rate", "2M", "--control", control]).status.success());
    let (mut dropped, mut seen) = (None, 0.0);
    let threads = loop {
        let view = sender.next("view");
        let at = view["at_s"].as_f64().unwrap();
        if view["asked"].as_f64().unwrap() < 4e6 {
            seen = at - *dropped.get_or_insert(at);
        }
        let threads = view["threads"].as_u64().unwrap();
        if dropped.is_some() && threads == 1 || seen > 10.0 {
            break threads;
        }
    };
    assert_eq!(threads, 1, "{seen} s after the rate fell");
}

/// Two flows of two million packets of 64 octets a second, each by itself: no thread can take in so many.
/// Whether there is a processor for another one depends on the machine, and on what else it does.
#[test]
fn a_receiver_that_loses_packets_adds_a_socket_or_says_what_is_in_the_way_and_counts_each_once() {
    let listen = ["receive", "--listen", "127.0.0.1:0", "--streams", "2", "--no-gro", "--buffer", "1"];
    let mut receiver = Beside::start(&[&listen[..], &["--format", "json"]].concat());
    let address = receiver.next("listening")["address"].as_str().unwrap().to_owned();
    let flow = ["send", &address, "--mss", "64", "--rate", "1G", "--seconds", "3", "--format", "json"];
    let mut senders = [Beside::start(&flow), Beside::start(&flow)];
    let (mut dropping, mut overflowed, mut answered, mut streams) = (0, 0, false, Vec::new());
    while let Some(object) = receiver.object() {
        if let Some(view) = object.get("view") {
            let now = view["overflowed"].as_u64().unwrap();
            dropping = if now > overflowed { dropping + 1 } else { 0 };
            overflowed = now;
            let sockets = view["sockets"].as_array().unwrap();
            answered |= sockets.len() > 1 || view["ceiling"].is_string();
            assert!(answered || dropping < 6, "for half a second nothing was done or said: {view}");
            let reason = view["reason"].as_str().unwrap_or_default();
            assert!(!reason.contains("more sockets") || sockets.len() > 1, "{view}");
        }
        streams.extend(object.get("stream").cloned());
    }
    let count = |value: &Value, field: &str| value[field].as_u64().unwrap();
    let mut told = senders.each_mut().map(|sender| sender.next("summary"));
    told.sort_by_key(|summary| count(summary, "sent"));
    streams.sort_by_key(|stream| count(stream, "sent"));
    assert_eq!(streams.len(), 2);
    for (stream, summary) in streams.iter().zip(&told) {
        let packets = count(stream, "packets");
        assert_eq!((count(stream, "sent"), count(stream, "duplicates")), (count(summary, "sent"), 0));
        assert_eq!((packets, packets > 0), (count(summary, "received"), true));
        assert_eq!(
            packets + count(stream, "lost_socket") + count(stream, "lost_path"),
            count(stream, "sent")
        );
        if let Some(sockets) = stream["sockets"].as_array() {
            assert_eq!(sockets.iter().map(|socket| count(socket, "packets")).sum::<u64>(), packets);
        }
    }
}

#[test]
fn iperf3_is_measured_beside_ours() {
    servers::foreign::needs("iperf3");
    let output = Command::new(program())
        .args([
            "bench",
            "udp",
            "--rate",
            "20M",
            "--threads",
            "1",
            "--seconds",
            "1",
            "--iperf3",
            "--format",
            "json",
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "if iperf3 cannot be started run scripts/install-foreign: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [ours, theirs] = &lines[..] else { panic!("a line for each: {text}") };
    assert_eq!((&ours["params"]["sender"], &ours["errors"]), (&Value::from("campanile"), &Value::from(0)));
    assert!(theirs["params"]["sender"].as_str().unwrap().starts_with("iperf3 3."), "{theirs}");
    for line in [ours, theirs] {
        assert_eq!(
            (&line["params"]["rate"], &line["params"]["mss"]),
            (&Value::from("20M"), &Value::from(1_472))
        );
        for field in ["rate_per_s", "gbit_per_s", "packets_sent", "gap_p50_us", "worst_ms"] {
            assert!(line[field].as_f64().unwrap() > 0.0, "{field} of {line}");
        }
        assert!(line["cpu_s_per_million"]["server"].as_f64().unwrap() > 0.0, "{line}");
    }
    // Twice: what its own server counted, and what came to our socket.
    assert!(theirs["gbit_per_s_tapped"].as_f64().unwrap() > 0.0, "{theirs}");
}

#[test]
fn who_is_not_there_or_has_another_key_gets_nothing() {
    let dead = format!("127.0.0.1:{}", free_port());
    assert!(words(&run(&["send", &dead, "--seconds", "1"])).contains("nothing was sent"));
    assert!(words(&run(&["send", "192.0.2.1:4810", "--seconds", "1"])).contains("--key-file"));
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "a key that the receiver alone has").unwrap();
    let mut receiver = Beside::start(&[
        "receive",
        "--listen",
        "127.0.0.1:0",
        "--format",
        "json",
        "--key-file",
        key.to_str().unwrap(),
    ]);
    let address = receiver.next("listening")["address"].as_str().unwrap().to_owned();
    assert!(words(&run(&["send", &address, "--seconds", "1"])).contains("another key"));
}

#[test]
fn a_sender_stops_when_its_receiver_is_killed() {
    let mut receiver = Beside::start(&["receive", "--listen", "127.0.0.1:0", "--format", "json"]);
    let address = receiver.next("listening")["address"].as_str().unwrap().to_owned();
    let mut sender = Beside::start(&["send", &address, "--rate", "10M", "--format", "json"]);
    sender.next("view");
    receiver.child.kill().unwrap();
    // Its own limit is 2 s; without one this test would never end.
    assert_eq!(sender.child.wait().unwrap().code(), Some(1));
}

fn site(port: u16, folder: &Path) -> Beside {
    let listen = format!("127.0.0.1:{port}");
    let mut site = Beside::start(&[
        "receive",
        "--listen",
        &listen,
        "--into",
        folder.to_str().unwrap(),
        "--once",
        "--format",
        "json",
    ]);
    site.next("listening");
    site
}

#[test]
fn a_file_is_pushed_to_three_sites_and_the_one_that_was_killed_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tones");
    let whole: Vec<u8> = (0..12_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&file, &whole).unwrap();
    let folders: Vec<_> = (0..3).map(|at| folder.path().join(format!("site-{at}"))).collect();
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let ports: Vec<u16> = (0..3).map(|_| free_port()).collect();
    let mut sites: Vec<_> = ports.iter().zip(&folders).map(|(port, folder)| site(*port, folder)).collect();
    let to = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",");
    let mut push =
        Beside::start(&["push", file.to_str().unwrap(), "--to", &to, "--rate", "20M", "--format", "json"]);
    let half = |push: &mut Beside| loop {
        let going = push.next("going");
        if going["site"].as_str().unwrap().ends_with(&format!(":{}", ports[2]))
            && going["left"].as_u64().unwrap() * 2 < going["blocks"].as_u64().unwrap()
        {
            return;
        }
    };
    half(&mut push);
    // `Child::kill` is kill -9.
    sites[2].child.kill().unwrap();
    sites[2].child.wait().unwrap();
    sites[2] = site(ports[2], &folders[2]);
    for _ in 0..3 {
        assert_eq!(push.next("site")["state"], "done");
    }
    assert_eq!(push.child.wait().unwrap().code(), Some(0));
    for folder in &folders {
        assert!(std::fs::read(folder.join("tones")).unwrap() == whole, "{}", folder.display());
    }
    assert!(sites[2].next("coming")["has"].as_u64().unwrap() > 0, "it did not begin anew");
}

#[test]
fn a_site_that_is_not_there_is_named_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small");
    std::fs::write(&file, "a small file").unwrap();
    let (there, absent) = (free_port(), free_port());
    let into = folder.path().join("into");
    std::fs::create_dir(&into).unwrap();
    let _site = site(there, &into);
    let to = format!("here=127.0.0.1:{there},there=127.0.0.1:{absent}");
    let pushed = run(&["push", file.to_str().unwrap(), "--to", &to, "--give-up", "3"]);
    assert!(words(&pushed).contains("1 of 2 sites"));
    let said = String::from_utf8_lossy(&pushed.stdout);
    assert!(said.contains("here: done") && said.contains("there: away"), "{said}");
}
