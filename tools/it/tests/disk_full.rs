//! A full disk: an error in words, nothing lost, and a server that works again once there is room.

use crate::fixtures::{LATER, SOON, assert_counts_add_up, carrier, count, number, phones_csv};
use it::{Server, Setup, eventually, sms_route};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A file system of its own, so that it alone is full. It needs root.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    pub fn new(megabytes: u32) -> SmallDisk {
        let folder = tempfile::Builder::new().prefix("campanile-it-disk-").tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.path())
            .status()
            .unwrap();
        assert!(status.success(), "a small file system needs root");
        SmallDisk { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Takes all the room there is.
    pub fn fill(&self) {
        let mut file = std::fs::File::create(self.filler()).unwrap();
        let octets = vec![0_u8; 64 * 1024];
        for size in [octets.len(), 4_096, 1] {
            while file.write_all(&octets[..size]).is_ok() {}
        }
    }

    pub fn make_room(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

#[tokio::test]
async fn a_full_disk_is_an_error_nothing_is_lost_and_all_goes_on_once_there_is_room() {
    const PEOPLE: u64 = 1_500;
    let disk = SmallDisk::new(192);
    let carrier = carrier().await;
    let config = sms_route("carrier", carrier.address(), "rate = 250.0");
    let setup = Setup { config, data: Some(disk.path().join("data")), ..Setup::default() };
    let mut server = Server::start_with(setup).await;
    let api = server.api();
    api.import_csv(phones_csv(PEOPLE)).await;
    let id = api.submit(&json!({"text": "hello", "audience": ["all"], "terminal": "delivered"})).await;
    eventually("some of it is sent", SOON, async || {
        let accepted = carrier.stats().accepted;
        if accepted >= 200 { Ok(()) } else { Err(accepted) }
    })
    .await;

    disk.fill();
    let large = json!({"text": "x", "texts": {"mail": "x".repeat(90_000)}, "audience": [format!("sms:{}", number(0))]});
    let refused = eventually("the disk is full", SOON, async || {
        let reply = api.post("/api/v1/alerts", &large).await;
        disk.fill();
        if reply.status == 507 { Ok(reply) } else { Err(format!("{} {}", reply.status, reply.text)) }
    })
    .await;
    assert!(refused.json()["detail"].as_str().unwrap().contains("disk is full"), "{}", refused.text);
    assert_eq!(api.post_as("/api/v1/recipients:import", "text/csv", phones_csv(20_000)).await.status, 507);
    assert_eq!(api.get("/healthz").await.status, 200, "it goes on");
    assert_eq!(api.report(&id).await["id"], json!(id), "and can be asked");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(server.is_alive());

    disk.make_room();
    let report =
        api.until(&id, "all are delivered", LATER, |report| count(report, "delivered") == PEOPLE).await;
    assert_counts_add_up(&report);
    let stats = carrier.stats();
    assert!(stats.messages >= PEOPLE, "{stats:?}");
    assert_eq!(carrier.accepted(&number(0), "hello"), 1);
    assert_eq!(stats.repeats, 0, "{stats:?}");
    let after = api.submit(&json!({"text": "after", "audience": [format!("sms:{}", number(0))]})).await;
    api.done(&after, SOON).await;

    server.kill9();
    server.restart().await;
    let again = api.report(&id).await;
    assert_eq!(again["counts"], report["counts"], "the same after a kill");
    assert_eq!(carrier.accepted(&number(0), "after"), 1);
}
