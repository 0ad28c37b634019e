//! Alerts to edge sites, by the real program on both ends.

use it::{Server, free_port, program};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
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

    /// The folder of its only bundle, unpacked.
    fn bundle(&self) -> PathBuf {
        let names = std::fs::read_dir(&self.into).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names.len(), 2, "a bundle and its folder: {names:?}");
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
        let read = |name: &str| std::fs::read_to_string(site.bundle().join(name)).unwrap();
        assert_eq!(read("alert.txt"), "Leave by the north gate.\n");
        let manifest: Value = serde_json::from_str(&read("manifest.json")).unwrap();
        assert_eq!((&manifest["alert"], &manifest["priority"]), (&json!(id), &json!("emergency")));
        let cap = api.get(&format!("/api/v1/alerts/{id}/cap")).await.text;
        assert_eq!(read("alert.xml"), cap);
    }
}
