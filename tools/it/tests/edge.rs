//! Alerts to edge sites, by the real program on both ends.

use crate::disk_full::SmallDisk;
use base64::Engine as _;
use it::{Server, Setup, eventually, free_port, program};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// What never takes so long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(120);
const WORDS: &str = "what the sites and the server know";

/// A site's receiver, killed with the test.
struct Site {
    child: Child,
    lines: BufReader<ChildStdout>,
    into: PathBuf,
}

impl Site {
    fn start(folder: &Path, name: &str, port: u16) -> Site {
        let (into, key) = (folder.join(name), folder.join("site.key"));
        std::fs::create_dir_all(&into).unwrap();
        std::fs::write(&key, WORDS).unwrap();
        let mut child = Command::new(program())
            .args(["udp", "receive", "--unpack", "--keep-free", "0", "--format", "json"])
            .args(["--interface", "127.0.0.1"])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .arg("--into")
            .arg(&into)
            .arg("--key-file")
            .arg(&key)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut site = Site { child, lines, into };
        site.next("listening");
        site
    }

    /// The next object it prints that has this field, and what is in it.
    fn next(&mut self, field: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "it ended without `{field}`");
            let object: Value = serde_json::from_str(&line).unwrap();
            if let Some(found) = object.get(field) {
                return found.clone();
            }
        }
    }

    /// Resolves when it has a part of an archive on disk.
    async fn has_a_block(&self) {
        let journal = || {
            let mut files = std::fs::read_dir(&self.into).unwrap().map(|entry| entry.unwrap().path());
            files.find(|path| path.extension().is_some_and(|end| end == "journal"))
        };
        // A name, and four octets for each block that is written.
        eventually("a block is written", PATIENCE, async || {
            let octets = journal().map_or(0, |path| path.metadata().map_or(0, |about| about.len()));
            if octets >= 36 { Ok(()) } else { Err(format!("{octets} octets of journal")) }
        })
        .await;
    }

    /// The folder of its only archive, unpacked.
    fn archive(&self) -> PathBuf {
        let names = std::fs::read_dir(&self.into).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names.len(), 2, "an archive and its folder: {names:?}");
        assert_eq!(names[1], format!("{}.tar", names[0]));
        self.into.join(&names[0])
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A route of channel edge, with these sites on these ports.
fn config(folder: &Path, route: &str, sites: &[(&str, u16)]) -> String {
    let key = folder.join("server.key");
    std::fs::write(&key, format!("{WORDS}\n")).unwrap();
    let mut config = format!(
        "[[route]]\nname = \"sites\"\nchannel = \"edge\"\nmode = \"live\"\n{route}\n[edge]\nkey_file = {key:?}\n"
    );
    for (name, port) in sites {
        config += &format!("[[edge.site]]\nname = \"{name}\"\naddress = \"127.0.0.1:{port}\"\n");
    }
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_reaches_a_site_that_is_there_and_one_that_comes_late() {
    let folder = tempfile::tempdir().unwrap();
    let (north_port, east_port) = (free_port(), free_port());
    let mut north = Site::start(folder.path(), "north", north_port);
    let sites = [("north", north_port), ("east", east_port)];
    let server = Server::start(&config(folder.path(), "bandwidth = \"50M\"", &sites)).await;
    let api = server.api();
    let alert = json!({"headline": "Flood", "text": "Leave by the north gate.", "priority": "emergency",
        "terminal": "delivered", "audience": ["edge:north", "edge:east"]});
    let id = api.submit(&alert).await;
    north.next("finished");
    api.until(&id, "the site that is there has it", PATIENCE, |report| report["counts"]["delivered"] == 1)
        .await;
    let mut east = Site::start(folder.path(), "east", east_port);
    east.next("finished");
    let report = api.until(&id, "both have it", PATIENCE, |report| report["state"] == "done").await;
    assert_eq!(report["counts"]["delivered"], 2, "{report}");
    for site in [&north, &east] {
        let read = |name: &str| std::fs::read_to_string(site.archive().join(name)).unwrap();
        assert_eq!(read("alert.txt"), "Leave by the north gate.\n");
        let manifest: Value = serde_json::from_str(&read("manifest.json")).unwrap();
        assert_eq!((&manifest["alert"], &manifest["priority"]), (&json!(id), &json!("emergency")));
        let cap = api.get(&format!("/api/v1/alerts/{id}/cap")).await.text;
        assert_eq!(read("alert.xml"), cap);
    }
}

/// Octets that do not shrink.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let octet = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(octet).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_reach_sites_that_come_late_or_are_killed_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let ports = [free_port(), free_port(), free_port()];
    let sites: Vec<(&str, u16)> = ["north", "east", "south"].into_iter().zip(ports).collect();
    let mut north = Site::start(folder.path(), "north", ports[0]);
    let mut south = Site::start(folder.path(), "south", ports[2]);
    let server = Server::start(&config(folder.path(), "bandwidth = \"6M\"", &sites)).await;
    let api = server.api();
    let tone = noise(3_000_000);
    let stored =
        api.post_as("/api/v1/attachments", "application/octet-stream", tone.clone()).await.expect(201);
    let alert = json!({"text": "Leave.", "priority": "urgent", "terminal": "delivered",
        "audience": ["edge:north", "edge:east", "edge:south"],
        "attachments": [{"id": stored["id"], "name": "tone.wav", "type": "audio/wav"}]});
    let id = api.submit(&alert).await;
    south.next("coming");
    south.has_a_block().await;
    drop(south);
    let mut south = Site::start(folder.path(), "south", ports[2]);
    let again = south.next("coming");
    assert!(again["has"].as_u64().unwrap() >= 1, "it goes on from what it had: {again}");
    north.next("finished");
    let mut east = Site::start(folder.path(), "east", ports[1]);
    for site in [&mut south, &mut east] {
        site.next("finished");
    }
    let report = api.until(&id, "all have it", PATIENCE, |report| report["state"] == "done").await;
    assert_eq!(report["counts"]["delivered"], 3, "{report}");
    for site in [&north, &east, &south] {
        assert!(
            std::fs::read(site.archive().join("attachments/tone.wav")).unwrap() == tone,
            "the tone differs"
        );
    }
    let cap = std::fs::read_to_string(north.archive().join("alert.xml")).unwrap();
    assert!(cap.contains("<uri>attachments/tone.wav</uri>"), "{cap}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_goes_on_after_the_server_was_killed_and_leaves_one_copy() {
    let folder = tempfile::tempdir().unwrap();
    let ports = [free_port(), free_port()];
    let sites: Vec<(&str, u16)> = ["north", "east"].into_iter().zip(ports).collect();
    let mut north = Site::start(folder.path(), "north", ports[0]);
    let mut server = Server::start(&config(folder.path(), "bandwidth = \"6M\"", &sites)).await;
    let api = server.api();
    let tone = noise(3_000_000);
    let stored =
        api.post_as("/api/v1/attachments", "application/octet-stream", tone.clone()).await.expect(201);
    // Where nobody knows whether a copy arrived, this alert asks for no second one.
    let alert = json!({"text": "Leave.", "priority": "urgent", "terminal": "delivered", "on_unknown": "hold",
        "audience": ["edge:north", "edge:east"],
        "attachments": [{"id": stored["id"], "name": "tone.wav", "type": "audio/wav"}]});
    let id = api.submit(&alert).await;
    north.next("coming");
    north.has_a_block().await;
    server.kill9();
    server.restart().await;
    let again = north.next("coming");
    assert!(again["has"].as_u64().unwrap() >= 1, "it goes on from what it had: {again}");
    north.next("finished");
    // Killed again, it is there for one that comes late.
    server.kill9();
    server.restart().await;
    let mut east = Site::start(folder.path(), "east", ports[1]);
    east.next("finished");
    let report = server.api().until(&id, "both have it", PATIENCE, |report| report["state"] == "done").await;
    let counts = &report["counts"];
    assert_eq!((&counts["endpoints"], &counts["delivered"]), (&json!(2), &json!(2)), "{report}");
    assert_eq!(counts["unknown"].as_u64().unwrap_or(0), 0, "{report}");
    for site in [&north, &east] {
        assert_eq!(std::fs::read_to_string(site.archive().join("alert.txt")).unwrap(), "Leave.\n");
        let copy = std::fs::read(site.archive().join("attachments/tone.wav")).unwrap();
        assert!(copy == tone, "the tone differs");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_with_a_full_disk_has_its_bundle_once_there_is_room_and_one_with_too_small_a_disk_fails() {
    let folder = tempfile::tempdir().unwrap();
    let ports = [free_port(), free_port()];
    let sites: Vec<(&str, u16)> = ["north", "east"].into_iter().zip(ports).collect();
    // The second one has room for the archive of three megabytes, and not for what is in it beside it.
    let (full, small) = (SmallDisk::new(16), SmallDisk::new(5));
    let mut north = Site::start(full.path(), "north", ports[0]);
    let mut east = Site::start(small.path(), "east", ports[1]);
    full.fill();
    let retries = "[engine]\nretry_after = [\"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\"]";
    let config = format!("{}{retries}\n", config(folder.path(), "bandwidth = \"50M\"", &sites));
    let server = Server::start(&config).await;
    let api = server.api();
    let tone = noise(3_000_000);
    let stored =
        api.post_as("/api/v1/attachments", "application/octet-stream", tone.clone()).await.expect(201);
    let alert = json!({"text": "Leave.", "priority": "urgent", "terminal": "delivered",
        "audience": ["edge:north", "edge:east"],
        "attachments": [{"id": stored["id"], "name": "tone.wav", "type": "audio/wav"}]});
    let id = api.submit(&alert).await;
    let why = north.next("ended")["why"].as_str().unwrap().to_owned();
    assert!(why.contains("octets free") || why.contains("No space left"), "{why}");
    let why = east.next("ended")["why"].as_str().unwrap().to_owned();
    assert!(why.contains("No space left"), "{why}");
    full.make_room();
    north.next("finished");
    let report = api.until(&id, "both have ended", PATIENCE, |report| report["state"] == "done").await;
    let counts = &report["counts"];
    assert_eq!((&counts["delivered"], &counts["failed"]), (&json!(1), &json!(1)), "{report}");
    let deliveries = api.deliveries(&id).await;
    let failed = deliveries.iter().find(|delivery| delivery["state"] == "failed").unwrap();
    assert_eq!((&failed["address"], &failed["reason_code"]), (&json!("east"), &json!("attempts_used_up")));
    let reason = failed["reason"].as_str().unwrap();
    assert!(reason.contains("edge:disk") && reason.contains("cannot be unpacked"), "{reason}");
    let copy = std::fs::read(north.archive().join("attachments/tone.wav")).unwrap();
    assert!(copy == tone, "the tone differs");
}

/// Hears what is sent to a group on loopback, as each of its sites does.
fn listener(group: SocketAddrV4) -> UdpSocket {
    use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt::set_socket_reuseaddr};
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &group).unwrap();
    let socket = UdpSocket::from(socket);
    socket.join_multicast_v4(group.ip(), &Ipv4Addr::LOCALHOST).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_stream_to_a_group_reaches_all_its_sites_and_one_that_comes_late() {
    let folder = tempfile::tempdir().unwrap();
    let ports = [free_port(), free_port(), free_port()];
    let sites: Vec<(&str, u16)> = ["north", "east", "south"].into_iter().zip(ports).collect();
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, 3), free_port());
    let ear = listener(group);
    let mut there =
        [("north", ports[0]), ("east", ports[1])].map(|(name, port)| Site::start(folder.path(), name, port));
    let route = format!("bandwidth = \"20M\"\ngroup = \"{group}\"\ninterface = \"127.0.0.1\"");
    let server = Server::start(&config(folder.path(), &route, &sites)).await;
    let api = server.api();
    let tone = noise(1_500_000);
    let stored =
        api.post_as("/api/v1/attachments", "application/octet-stream", tone.clone()).await.expect(201);
    let alert = json!({"text": "Leave.", "priority": "emergency", "terminal": "delivered",
        "audience": ["edge:north", "edge:east", "edge:south"],
        "attachments": [{"id": stored["id"], "name": "tone.wav", "type": "audio/wav"}]});
    let id = api.submit(&alert).await;
    let symbols = ear.recv(&mut [0; 2_048]).unwrap();
    assert!(symbols > 1_000, "{symbols} octets of the stream");
    there.iter_mut().for_each(|site| drop(site.next("finished")));
    api.until(&id, "those that are there have it", PATIENCE, |report| report["counts"]["delivered"] == 2)
        .await;
    let mut south = Site::start(folder.path(), "south", ports[2]);
    south.next("finished");
    let report = api.until(&id, "all have it", PATIENCE, |report| report["state"] == "done").await;
    assert_eq!(report["counts"]["delivered"], 3, "{report}");
    for site in there.iter().chain([&south]) {
        let copy = std::fs::read(site.archive().join("attachments/tone.wav")).unwrap();
        assert!(copy == tone, "the tone differs");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_message_brings_its_sound_and_what_cannot_be_attached_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut north = Site::start(folder.path(), "north", port);
    let config = config(folder.path(), "bandwidth = \"50M\"", &[("north", port)]);
    let http = "attachment_octets_max = 1000".to_owned();
    let server = Server::start_with(Setup { config, http, ..Setup::default() }).await;
    let api = server.api();
    let too_large = api.post_as("/api/v1/attachments", "audio/wav", noise(1_001)).await;
    assert_eq!(too_large.status, 413, "{}", too_large.text);
    let alert =
        |attachments: Value| json!({"text": "x", "audience": ["edge:north"], "attachments": attachments});
    let absent = "0".repeat(64);
    for (attachments, field) in [
        (json!([{"id": absent, "name": "a"}]), "attachments[0].id"),
        (json!([{"id": absent, "name": "../a"}]), "attachments[0].name"),
        (json!([{"id": absent, "name": "a", "type": "wav"}]), "attachments[0].type"),
        (json!([{"id": absent, "name": "a"}, {"id": absent, "name": "a"}]), "attachments[1].name"),
        (json!([{"id": absent, "name": "a", "size": 1}]), "attachments[0].size"),
    ] {
        api.post("/api/v1/alerts", &alert(attachments)).await.expect_problem(422, field);
    }
    api.post("/api/v1/alerts", &json!({"text": "x", "audience": ["edge:a/b"]}))
        .await
        .expect_problem(422, "audience");
    let tone = noise(700);
    let content = base64::engine::general_purpose::STANDARD.encode(&tone);
    let cap = format!(
        "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>1</identifier><sender>s</sender>\
         <sent>2026-01-01T00:00:00-00:00</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>\
         <info><category>Met</category><event>Flood</event><urgency>Immediate</urgency><severity>Severe</severity>\
         <certainty>Observed</certainty><headline>Flood</headline><resource><resourceDesc>a tone</resourceDesc>\
         <mimeType>audio/wav</mimeType><uri>tone.wav</uri><derefUri>{content}</derefUri></resource></info></alert>"
    );
    let reply = api.post_as("/api/v1/cap?audience=edge:north", "application/cap+xml", cap).await.expect(202);
    north.next("finished");
    assert_eq!(std::fs::read(north.archive().join("attachments/tone.wav")).unwrap(), tone);
    let shown = api.get(&format!("/api/v1/alerts/{}", reply["id"].as_str().unwrap())).await.expect(200);
    let attached = &shown["request"]["attachments"][0];
    let attached = if attached.is_null() { &shown["attachments"][0] } else { attached };
    assert_eq!((&attached["name"], &attached["size"]), (&json!("tone.wav"), &json!(700)), "{shown}");
    let file = api.get(&format!("/api/v1/attachments/{}", attached["id"].as_str().unwrap())).await;
    assert_eq!((file.status, file.header("content-length")), (200, Some("700")));
}
