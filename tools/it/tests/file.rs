//! Channel file of the real program: an alert is a line of JSON, also over kill -9.

use it::Server;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// What never takes so long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(120);
const ROUTE: &str = "[[route]]\nname = \"archive\"\nchannel = \"file\"\nmode = \"live\"\nfolder = \"kept\"\n";

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_to_a_file_is_a_line_of_json_once_and_is_accounted_for() {
    let mut server = Server::start(ROUTE).await;
    let api = server.api();
    api.add_recipients(&json!([{"id": "log", "name": "Log", "file": "archive"}])).await;
    let alert = json!({
        "headline": "Gas leak",
        "text": "Leave the harbour, {{name}}",
        "audience": ["recipient:log", "file:2026.11"],
    });
    let id = api.submit(&alert).await;
    let report = api.done(&id, PATIENCE).await;
    assert_eq!((&report["counts"]["endpoints"], &report["counts"]["accepted"]), (&json!(2), &json!(2)));
    server.kill9();
    server.restart().await;
    let second = server.api().submit(&alert).await;
    server.api().done(&second, PATIENCE).await;
    let kept = lines(&server.data().join("kept/archive.jsonl"));
    let texts: Vec<(&Value, &Value)> = kept.iter().map(|line| (&line["alert"], &line["text"])).collect();
    let text = json!("Leave the harbour, Log");
    assert_eq!(texts, [(&json!(id), &text), (&json!(second), &text)]);
    assert_eq!(lines(&server.data().join("kept/2026.11.jsonl")).len(), 2);
    let refused = server.api().post("/api/v1/alerts", &json!({"text": "x", "audience": ["file:../x"]})).await;
    assert_eq!(refused.status, 422, "{refused:?}");
}
