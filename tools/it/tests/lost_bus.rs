//! A data folder whose bus or secrets are lost: the start says so, and with `--without-bus` everybody who was
//! not sent to is, and nobody who was is sent to again.

use crate::fixtures::{assert_counts_add_up, carrier_that, count};
use it::{Server, eventually, sms_route};
use serde_json::{Value, json};
use sim::smsc::Smsc;
use std::fs;
use std::time::Duration;

const AT_LAST: Duration = Duration::from_secs(120);
const PEOPLE: u64 = 60;

/// An alert of which some are accepted and the rest wait.
async fn begun(on_unknown: &str, carrier: &Smsc) -> (Server, String) {
    let server =
        Server::start(&sms_route("carrier", carrier.address(), "rate = 8.0\nsessions = 1\nwindow = 2")).await;
    let audience: Vec<String> = (0..PEOPLE).map(|n| format!("sms:+467017406{n:02}")).collect();
    let alert = json!({"text": "The dam has burst", "audience": audience, "on_unknown": on_unknown});
    let id = server.api().submit(&alert).await;
    eventually("some are accepted", AT_LAST, async || match carrier.stats().accepted {
        0..24 => Err("few"),
        _ => Ok(()),
    })
    .await;
    (server, id)
}

async fn done(server: &Server, id: &str) -> Value {
    eventually("all is decided", AT_LAST, async || {
        let report = server.api().get(&format!("/api/v1/alerts/{id}/report")).await.expect(200);
        if report["state"] == "done" { Ok(report) } else { Err(report.to_string()) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_bus_a_database_is_refused_and_when_told_goes_on_with_another() {
    let carrier = carrier_that(|_| ()).await;
    let (mut server, id) = begun("hold", &carrier).await;
    assert!(server.stop().await.success());
    let before = carrier.stats().accepted;
    assert!(before < PEOPLE, "some are left");
    fs::remove_dir_all(server.data().join("bus")).unwrap();

    server.spawn_again();
    assert!(!server.ends().await.success());
    let log = server.log();
    for part in ["campanile.db", "/bus is empty", "--without-bus", "Put back"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    server.spawn_again_with(&["--without-bus"]);
    server.ready().await;
    let report = done(&server, &id).await;
    assert_eq!((reached(&report), carrier.stats().accepted), (PEOPLE, PEOPLE), "{report}");
    assert_counts_add_up(&report);
    assert!(report["note"].as_str().unwrap().contains("The bus was lost"), "{report}");

    // From now on the new bus is the database's.
    assert!(server.stop().await.success());
    server.restart().await;
    // A receipt may come after the end, or be one of those that are lost.
    let report = done(&server, &id).await;
    assert_eq!((reached(&report), carrier.stats().accepted), (PEOPLE, PEOPLE), "{report}");
}

/// Those whose message a carrier took.
fn reached(report: &Value) -> u64 {
    count(report, "accepted") + count(report, "delivered")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_kill_who_was_being_sent_to_is_unknown_and_everybody_is_accounted_for() {
    for on_unknown in ["hold", "resend"] {
        let carrier = carrier_that(|options| options.latency = "300ms".parse().unwrap()).await;
        let (mut server, id) = begun(on_unknown, &carrier).await;
        let before = carrier.stats().accepted;
        server.kill9();
        fs::remove_dir_all(server.data().join("bus")).unwrap();
        server.spawn_again_with(&["--without-bus"]);
        server.ready().await;
        let report = eventually("nobody waits", AT_LAST, async || {
            let report = server.api().get(&format!("/api/v1/alerts/{id}/report")).await.expect(200);
            if count(&report, "planned") + count(&report, "submitted") == 0 {
                Ok(report)
            } else {
                Err(report.to_string())
            }
        })
        .await;
        assert_counts_add_up(&report);
        let unknown = count(&report, "unknown") + count(&report, "held");
        assert_eq!(reached(&report) + unknown, PEOPLE, "{on_unknown}: {report}");
        assert!(on_unknown == "hold" || unknown == 0, "{report}");
        // Nobody of whom the database knew has a second copy: those who have are of its last second.
        let twice = carrier.stats().accepted.saturating_sub(PEOPLE - unknown);
        assert!(twice < before, "{on_unknown}: {twice} of {before} twice, {report}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_secrets_beside_a_database_in_use_are_a_warning() {
    let carrier = carrier_that(|_| ()).await;
    let (mut server, _) = begun("hold", &carrier).await;
    assert!(server.stop().await.success());
    assert!(!server.log().contains("new ones were made"));
    fs::remove_file(server.data().join("keys")).unwrap();
    server.restart().await;
    let log = server.log();
    assert!(log.contains("new ones were made") && log.contains("links for answers"), "{log}");
}
