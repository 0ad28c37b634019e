//! Tests of directories: runs as import jobs, what is absent, what is refused.

use super::run_due;
use crate::http::tests::*;

async fn run(server: &TestServer, query: &str) -> Value {
    let path = format!("/api/v1/directories/hr:run{query}");
    let (status, job) = said(server.call(Method::POST, &path)).await;
    assert_eq!(status, 202, "{job}");
    server.compared(&server.admin, job["id"].as_str().unwrap()).await
}

async fn until_committed(server: &TestServer, id: &Value) -> Value {
    loop {
        let (_, job) = server.get(&format!("/api/v1/imports/{}", id.as_str().unwrap())).await;
        if job["state"] == "committed" || !job["notes"].as_array().unwrap().is_empty() {
            return job;
        }
        tokio::task::yield_now().await;
    }
}

fn people(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({"id": format!("dir-{n}"), "name": format!("Person {n}")})).collect()
}

#[tokio::test]
async fn a_directory_is_run_dry_then_committed_and_its_absent_people_go() {
    let server = TestServer::open().await;
    server.people().await;
    let directory = server.with_directory("hr");
    *directory.rows.lock().unwrap() = Ok(people(10));
    let job = run(&server, "").await;
    assert_eq!((&job["source"], &job["state"]), (&json!("directory:hr"), &json!("ready")), "{job}");
    assert_eq!(job["counts"]["new"], 10);
    let job = run(&server, "?dry_run=false").await;
    assert_eq!(until_committed(&server, &job["id"]).await["state"], "committed");
    let (_, first) = server.get("/api/v1/recipients/dir-0").await;
    assert_eq!(first["attributes"]["directory"], "hr");

    *directory.rows.lock().unwrap() = Ok(people(9));
    let job = run(&server, "?dry_run=false").await;
    let job = until_committed(&server, &job["id"]).await;
    assert_eq!((&job["counts"]["gone"], &job["counts"]["unchanged"]), (&json!(1), &json!(9)), "{job}");
    assert_eq!(server.get("/api/v1/recipients/dir-9").await.0, 404);
    assert_eq!(server.get("/api/v1/recipients/ann").await.0, 200, "not the directory's");
    let (_, list) = server.get("/api/v1/directories").await;
    assert_eq!((&list["items"][0]["name"], &list["items"][0]["last"]["import"]), (&json!("hr"), &job["id"]));
    server.close().await;
}

#[tokio::test]
async fn a_run_that_would_take_away_too_many_waits_for_a_person() {
    let server = TestServer::open().await;
    let directory = server.with_directory("hr");
    *directory.rows.lock().unwrap() = Ok(people(10));
    let job = run(&server, "?dry_run=false").await;
    until_committed(&server, &job["id"]).await;
    *directory.rows.lock().unwrap() = Ok(people(2));
    let job = run(&server, "?dry_run=false").await;
    let job = until_committed(&server, &job["id"]).await;
    assert_eq!(job["state"], "ready");
    let reason = job["notes"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("8 of 10 people would go, more than 20 %"), "{reason}");
    assert_eq!(server.get("/api/v1/recipients/dir-9").await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_run_that_would_change_too_many_waits_for_a_person() {
    let server = TestServer::open().await;
    let directory = server.with_directory("hr");
    *directory.rows.lock().unwrap() = Ok(people(10));
    let job = run(&server, "?dry_run=false").await;
    until_committed(&server, &job["id"]).await;
    let renamed = (0..10).map(|n| json!({"id": format!("dir-{n}"), "name": format!("Person {}", n.max(6))}));
    *directory.rows.lock().unwrap() = Ok(renamed.collect());
    let job = run(&server, "?dry_run=false").await;
    let job = until_committed(&server, &job["id"]).await;
    assert_eq!((&job["state"], &job["counts"]["changed"]), (&json!("ready"), &json!(6)), "{job}");
    let reason = job["notes"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("6 of 10 people would change, more than 50 %"), "{reason}");
    assert_eq!(server.get("/api/v1/recipients/dir-0").await.1["name"], "Person 0");
    server.close().await;
}

#[tokio::test]
async fn a_directory_that_cannot_be_read_changes_nothing() {
    let server = TestServer::open().await;
    let directory = server.with_directory("hr");
    *directory.rows.lock().unwrap() = Err("the server does not answer".to_owned());
    let job = run(&server, "?dry_run=false").await;
    assert_eq!(
        (&job["state"], &job["failure"]),
        (&json!("failed"), &json!("the server does not answer")),
        "{job}"
    );
    *directory.rows.lock().unwrap() =
        Ok(vec![json!({"id": "x", "name": "X", "sms": "070 FLOWERS"}), json!({"id": "y"})]);
    let job = run(&server, "").await;
    assert_eq!((&job["counts"]["wrong"], &job["counts"]["new"]), (&json!(1), &json!(1)), "{job}");
    assert_eq!(job["problems"][0]["value"], "uid=\"x\"");
    server.close().await;
}

#[tokio::test]
async fn a_directory_is_run_at_its_times() {
    let server = TestServer::open().await;
    server.with_directory("hr");
    let app = server.app();
    run_due(&app).await;
    assert_eq!(server.get("/api/v1/imports").await.1["items"], json!([]), "by hand alone");
    let settings = DirectorySettings {
        every: Some(Duration::from_secs(3_600)),
        dry_run: true,
        ..server.with_directory("hr").settings.clone()
    };
    let rows = std::sync::Mutex::new(Ok(people(1)));
    server.policies.directories.store(Arc::new(vec![Arc::new(TestDirectory { settings, rows })]));
    for (seconds, runs) in [(0, 1), (3_599, 1), (1, 2)] {
        server.clock.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
        run_due(&app).await;
        let (_, list) = server.get("/api/v1/imports").await;
        assert_eq!(list["items"].as_array().unwrap().len(), runs, "{list}");
        server.compared(&server.admin, list["items"][0]["id"].as_str().unwrap()).await;
    }
    server.close().await;
}
