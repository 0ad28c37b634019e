//! Tests of imports as jobs: from the file to the undo, and what is refused on the way.

use super::keeper;
use crate::http::tests::*;

async fn begin(server: &TestServer, query: &str, csv: &str) -> (StatusCode, Value) {
    let path = format!("/api/v1/recipients:import?dry_run=true{query}");
    said(server.call(Method::POST, &path).header("content-type", "text/csv").body(csv.to_owned())).await
}

async fn act(server: &TestServer, id: &str, verb: &str) -> (StatusCode, Value) {
    said(server.call(Method::POST, &format!("/api/v1/imports/{id}:{verb}"))).await
}

async fn name_of(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/api/v1/recipients/{id}")).await.1["name"].clone()
}

/// The time goes on.
fn pass(server: &TestServer, seconds: i64) {
    server.clock.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
}

#[tokio::test]
async fn an_import_is_looked_at_committed_and_undone() {
    let server = TestServer::open().await;
    server.people().await;
    let csv = "id,name,groups,sms\nann,Ann Ek,staff,+46701000001\nbo,Bo,,\ncy,Cy,staff,+46701000003\n";
    let response = server.call(Method::POST, "/api/v1/recipients:import?dry_run=true");
    let response = response.header("content-type", "text/csv").body(csv).send().await.unwrap();
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(response.status(), 202);
    let id = location.rsplit('/').next().unwrap();
    let job = server.compared(&server.admin, id).await;
    assert_eq!(job["state"], "ready", "{job}");
    let counts = json!({"new": 1, "changed": 2, "unchanged": 0, "gone": 0, "wrong": 0, "left_out": 0});
    assert_eq!(job["counts"], counts);
    assert_eq!(name_of(&server, "ann").await, "Ann", "nobody sees it yet");

    let (status, committed) = act(&server, id, "commit").await;
    assert_eq!((status.as_u16(), &committed["state"]), (200, &json!("committed")), "{committed}");
    assert_eq!(committed["undo_until"], "2026-11-19T06:26:40Z");
    assert_eq!((name_of(&server, "ann").await, name_of(&server, "cy").await), (json!("Ann Ek"), json!("Cy")));
    assert_eq!(act(&server, id, "commit").await.0, 409);
    assert_eq!(act(&server, id, "discard").await.0, 409);

    let (status, undone) = act(&server, id, "undo").await;
    assert_eq!((status.as_u16(), &undone["state"]), (200, &json!("undone")), "{undone}");
    assert_eq!((name_of(&server, "ann").await, name_of(&server, "cy").await), (json!("Ann"), Value::Null));
    assert_eq!(act(&server, id, "undo").await.0, 409);
    let (_, list) = server.get("/api/v1/imports").await;
    assert_eq!((list["items"][0]["id"].as_str(), list["items"].as_array().unwrap().len()), (Some(id), 1));
    server.close().await;
}

#[tokio::test]
async fn an_import_is_decided_by_the_version_that_was_seen() {
    let server = TestServer::open().await;
    let id = server.import_job(&server.admin, "id,name\nann,Ann\n").await;
    let path = format!("/api/v1/imports/{id}");
    let etag = server.call(Method::GET, &path).send().await.unwrap().headers()["etag"].clone();
    let with = |etag: &str| server.call(Method::POST, &format!("{path}:commit")).header("if-match", etag);
    let (status, problem) = said(with("\"1\"")).await;
    assert_eq!((status.as_u16(), slug(&problem)), (412, "version-changed"), "{problem}");
    assert_eq!(said(with(etag.to_str().unwrap())).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn rows_that_are_wrong_are_named_and_keep_the_import_from_its_commit_unless_left_out() {
    let server = TestServer::open().await;
    let csv = "id,name,Tel\nann,Ann,070 FLOWERS\nbo,Bo,\"=1+1\"\nbo,Bo,\ncy,Cy,+46701000003\n";
    let (status, begun) = begin(&server, "&mapping=Tel:sms", csv).await;
    assert_eq!(status, 202, "{begun}");
    let id = begun["id"].as_str().unwrap();
    let job = server.compared(&server.admin, id).await;
    assert_eq!((&job["counts"]["wrong"], &job["counts"]["new"]), (&json!(2), &json!(2)), "{job}");
    assert_eq!(job["columns"][2], json!({"column": "Tel", "field": "sms"}));
    let first = &job["problems"][0];
    assert_eq!(first["row"], 2);
    assert_eq!((&first["column"], &first["value"]), (&json!("Tel"), &json!("070 FLOWERS")));
    let file = server.call(Method::GET, &format!("/api/v1/imports/{id}/problems.csv")).send().await.unwrap();
    assert_eq!(file.headers()["content-type"], "text/csv; charset=utf-8");
    let file = file.text().await.unwrap();
    assert!(file.starts_with("row,column,value,reason\r\n2,Tel,070 FLOWERS,"), "{file}");
    assert!(file.contains("\r\n3,Tel,'=1+1,"), "a formula is marked: {file}");
    let (status, problem) = act(&server, id, "commit").await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"));
    assert!(problem["detail"].as_str().unwrap().starts_with("2 rows are wrong"), "{problem}");
    let (status, committed) = act(&server, id, "commit?on_problem=skip").await;
    assert_eq!((status.as_u16(), &committed["counts"]["left_out"]), (200, &json!(2)), "{committed}");
    assert_eq!(name_of(&server, "cy").await, "Cy");
    server.close().await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_fails_with_its_reason() {
    let server = TestServer::open().await;
    let (status, job) = begin(&server, "", "name,sms\nAnn,+46701000001\n").await;
    assert_eq!((status.as_u16(), &job["state"]), (202, &json!("failed")), "{job}");
    assert!(job["problems"][0]["reason"].as_str().unwrap().contains("no column is called id"), "{job}");
    assert_eq!(act(&server, job["id"].as_str().unwrap(), "commit").await.0, 409);
    for (query, field) in [("&mapping=Tel", "mapping"), ("&mapping=a:id&mapping=a:sms", "mapping")] {
        let (status, problem) = begin(&server, query, "id\n1\n").await;
        assert_eq!(status, 400, "{problem}");
        assert!(!reason(&problem, field).is_empty());
    }
    let lines = server.call(Method::POST, "/api/v1/recipients:import?dry_run=true&mapping=a:id");
    let (status, problem) = said(lines.header("content-type", "application/x-ndjson").body("{}")).await;
    assert_eq!(status, 400, "{problem}");
    server.close().await;
}

#[tokio::test]
async fn stops_of_a_file_are_noted_when_it_is_committed_and_stay_when_it_is_undone() {
    let server = TestServer::open().await;
    let csv = "id,name,sms,opted_out\nann,Ann,+46701000001,yes\n";
    let id = server.import_job(&server.admin, csv).await;
    assert_eq!(server.store.opt_outs("default").await.unwrap(), []);
    assert_eq!(act(&server, &id, "commit").await.0, 200);
    let stopped = [(channels::SMS, "+46701000001".to_owned())];
    assert_eq!(server.store.opt_outs("default").await.unwrap(), stopped);
    assert_eq!(act(&server, &id, "undo").await.0, 200);
    assert_eq!(server.store.opt_outs("default").await.unwrap(), stopped);
    server.close().await;
}

#[tokio::test]
async fn what_nobody_decides_is_discarded_and_old_jobs_go() {
    let server = TestServer::open().await;
    let waiting = server.import_job(&server.admin, "id,name\nann,Ann\n").await;
    let committed = server.import_job(&server.admin, "id,name\nbo,Bo\n").await;
    assert_eq!(act(&server, &committed, "commit").await.0, 200);
    pass(&server, 86_400);
    assert_eq!(act(&server, &committed, "undo").await.0, 409, "its day is over");
    pass(&server, 7 * 86_400);
    let app = server.app();
    keeper::look(&app).await.unwrap();
    let (_, job) = server.get(&format!("/api/v1/imports/{waiting}")).await;
    assert_eq!((&job["state"], &job["decided_by"]["id"]), (&json!("discarded"), &json!("server")), "{job}");
    pass(&server, 30 * 86_400);
    keeper::look(&app).await.unwrap();
    assert_eq!(server.get("/api/v1/imports").await.1["items"], json!([]));
    assert_eq!(name_of(&server, "bo").await, "Bo");
    server.close().await;
}

#[tokio::test]
async fn an_import_is_undone_within_its_day_and_not_a_microsecond_later() {
    let server = TestServer::open().await;
    for (passed_us, status) in [(86_400_000_000 - 1, 200), (86_400_000_000, 409)] {
        let id = server.import_job(&server.admin, "id,name\nann,Ann\n").await;
        assert_eq!(act(&server, &id, "commit").await.0, 200);
        server.clock.fetch_add(passed_us, Ordering::Relaxed);
        let (found, undone) = act(&server, &id, "undo").await;
        assert_eq!(found.as_u16(), status, "{undone}");
        if status == 409 {
            assert_eq!(slug(&undone), "wrong-state");
            assert!(undone["detail"].as_str().unwrap().contains("24 hours"), "{undone}");
            assert_eq!(name_of(&server, "ann").await, "Ann");
        }
    }
    server.close().await;
}
