//! Devices beyond SMS and mail over two processes, one of which dies.

use super::AT_LAST;
use crate::fixtures::{assert_counts_add_up, count};
use it::{Constellation, Plan, PythonReceiver, WEBHOOK_SECRET, eventually};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const DEVICES: usize = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_leader_dies_in_mid_alert_and_each_webhook_has_one_message_by_its_id() {
    let receiver = PythonReceiver::start().await;
    let config = format!(
        "[[route]]\nname = \"hooks\"\nchannel = \"webhook\"\nmode = \"live\"\nsecret = \"{WEBHOOK_SECRET}\"\n\
         rate = 30.0\nconnections = 8\n"
    );
    let lease = Duration::from_secs(5);
    let plan = Plan { processes: 2, servers: 1, lease, config, ..Plan::default() };
    let mut all = Constellation::start(plan).await;
    let leader = all.leads(&[0, 1], AT_LAST).await;
    let other = 1 - leader;
    let people: Vec<Value> = (0..DEVICES)
        .map(|number| json!({"id": format!("d{number}"), "webhook": receiver.url(&format!("/quiet/{number}"))}))
        .collect();
    all.api(other).add_recipients(&json!(people)).await;
    let id = all.api(other).submit(&json!({"text": "Leave", "audience": ["all"]})).await;
    eventually("messages arrive", AT_LAST, async || match receiver.hooks().len() {
        arrived if arrived >= DEVICES / 3 => Ok(()),
        arrived => Err(format!("{arrived} of {DEVICES}")),
    })
    .await;
    all.processes[leader].kill9();
    all.leads(&[other], AT_LAST).await;
    let report = all.done(&[other], &id, AT_LAST).await;
    assert_counts_add_up(&report);
    assert_eq!((count(&report, "accepted"), count(&report, "unknown")), (DEVICES as u64, 0), "{report}");
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for hook in receiver.hooks() {
        let text = |name: &str| hook[name].as_str().unwrap().to_owned();
        ids.entry(text("path")).or_default().insert(text("id"));
    }
    assert_eq!(ids.len(), DEVICES, "nobody is left out");
    let twice: Vec<_> = ids.iter().filter(|(_, ids)| ids.len() > 1).collect();
    assert!(twice.is_empty(), "what came twice came with another id: {twice:?}");
    all.processes[leader].spawn_again();
}
