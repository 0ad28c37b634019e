//! A data folder moved to PostgreSQL and NATS: people, reports, tokens, keys, topics and money are what they
//! were.

use super::AT_LAST;
use crate::fixtures::{SOON, carrier, phones_csv};
use crate::own_money::client;
use it::{Api, Server, Setup, eventually, free_port, program, sms_route};
use reqwest::Method;
use serde_json::{Value, json};
use servers::nats::NatsServer;
use servers::postgres::PostgresServer;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tokio::task::block_in_place;

/// People that are moved; `MIGRATED_PEOPLE` says another number.
fn people() -> u64 {
    std::env::var("MIGRATED_PEOPLE").map_or(2_000, |people| people.parse().unwrap())
}

fn migrate(data: &Path, config: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.arg("migrate").arg("--data").arg(data).arg("--config").arg(config).args(more);
    command.stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn refused(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(words), "{words:?} is not in {said}");
}

/// One request to the topic door.
async fn ask_topics(port: u16, request: &str) -> String {
    let mut stream = eventually("the topic door opens", AT_LAST, async || {
        TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())
    })
    .await;
    stream.write_all(format!("{request}\0").as_bytes()).unwrap();
    let (mut reply, mut octet) = (Vec::new(), [0]);
    while stream.read_exact(&mut octet).is_ok() && octet[0] != 0 {
        reply.push(octet[0]);
    }
    String::from_utf8(reply).unwrap()
}

/// What must be the same afterwards.
async fn kept(api: &Api, alert: &str) -> Value {
    let csv =
        api.request(Method::GET, &format!("/api/v1/alerts/{alert}/report")).header("accept", "text/csv");
    let mut report = api.report(alert).await;
    report["at"] = Value::Null;
    let mut export = api.get(&format!("/api/v1/recipients/{}/export", first(api).await)).await.expect(200);
    export["at"] = Value::Null;
    json!({
        "report": report,
        "deliveries": api.send(csv).await.text,
        "people": api.get("/api/v1/recipients:export").await.text,
        "export": export,
        "groups": api.get("/api/v1/groups").await.expect(200),
        "tokens": api.get("/api/v1/tokens").await.expect(200),
        "alerts": api.get("/api/v1/alerts").await.expect(200),
        "money": api.get("/api/v1/accounts/shop").await.expect(200),
    })
}

async fn first(api: &Api) -> String {
    let page = api.get("/api/v1/recipients?limit=1").await.expect(200);
    page["items"][0]["id"].as_str().unwrap().to_owned()
}

/// The same request under one key is the same alert, before and after.
async fn under_key(api: &Api) -> Value {
    let request = api.request(Method::POST, "/api/v1/alerts").header("idempotency-key", "k-1");
    let body = json!({"text": "once", "audience": ["sms:+46701999999"]});
    api.send(request.json(&body)).await.expect(202)["id"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_folder_is_migrated_with_reports_tokens_keys_topics_and_money() {
    let carrier = carrier().await;
    let topics = free_port();
    let rest = format!(
        "{}[topics]\nlisten = \"127.0.0.1:{topics}\"\ndurability = \"disk\"\n[charging]\nmode = \"ledger\"\nshards = 2\n\
         default_account = {{balance = 100000000}}\n",
        sms_route("carrier", carrier.address(), "")
    );
    let mut old = Server::start(&rest).await;
    let api = old.api();
    api.import_csv(phones_csv(people())).await;
    api.add_group(&json!({"id": "desk", "members": [first(&api).await]})).await;
    pays_and_posts(&api, topics).await;
    let alert = api.submit(&json!({"text": "All out", "audience": ["all"]})).await;
    api.done(&alert, AT_LAST).await;
    let once = under_key(&api).await;
    api.done(once.as_str().unwrap(), AT_LAST).await;

    let (nats, postgres) = block_in_place(|| (NatsServer::start(), PostgresServer::start()));
    let database = block_in_place(|| postgres.create_database());
    let servers = format!(
        "[node]\nname = \"a\"\naddress = \"127.0.0.1:{}\"\n[store]\nurl = \"{database}\"\n[bus]\nurl = \"{}\"\n",
        old.port(),
        nats.url()
    );
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("several.toml");
    std::fs::write(&config, format!("[http]\nlisten = \"127.0.0.1:{}\"\n{servers}{rest}", old.port()))
        .unwrap();
    refused(&migrate(old.data(), &config, &[]), "stop it first");
    let at = |seconds| (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds)).to_string();
    let later = json!({"text": "later", "audience": ["all"], "not_before": at(3_600), "expires": at(7_200)});
    let later = api.submit(&later).await;
    old.stop().await;
    refused(&migrate(old.data(), &config, &[]), "have not ended");
    old.restart().await;
    api.steer(&later, "cancel").await;
    // From SQL, as it will be shown afterwards.
    old.stop().await;
    old.restart().await;
    let before = kept(&api, &alert).await;
    old.stop().await;

    assert!(migrate(old.data(), &config, &["--check"]).status.success());
    let begun = std::time::Instant::now();
    all_came(&migrate(old.data(), &config, &["--format", "json"]), begun.elapsed());
    refused(&migrate(old.data(), &config, &[]), "not empty");
    is_closed(&old);
    let setup = Setup {
        config: format!("{servers}{rest}"),
        data: Some(old.data().to_owned()),
        port: Some(old.port()),
        ..Setup::default()
    };
    let mut new = Server::spawned(setup);
    new.set_token(old.token());
    new.ready().await;
    let api = new.api();
    leads(&api, &alert).await;
    let after = kept(&api, &alert).await;
    for (what, was) in before.as_object().unwrap() {
        assert_eq!(after[what], *was, "{what}");
    }
    assert_eq!(under_key(&api).await, once);
    goes_on(&api, topics, &config).await;
}

/// An account pays for a message, and a topic has two.
async fn pays_and_posts(api: &Api, topics: u16) {
    let shop = client(api, "shop", 1_000).await;
    let sold = shop.submit(&json!({"text": "paid", "audience": ["sms:+46701888888"]})).await;
    shop.done(&sold, SOON).await;
    for (index, text) in ["zero", "one"].iter().enumerate() {
        assert_eq!(ask_topics(topics, &format!("POST@board#{text}")).await, index.to_string());
    }
}

/// Every table has its rows on both sides.
fn all_came(migrated: &Output, took: Duration) {
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
    let told: Value = serde_json::from_slice(&migrated.stdout).unwrap();
    println!("{} people were migrated in {took:?}: {told}", people());
    for count in told["tables"].as_array().unwrap() {
        assert_eq!(count["from"], count["to"], "{count}");
    }
}

/// No server starts on a folder that was migrated.
fn is_closed(old: &Server) {
    let again = Command::new(program()).args(["serve", "--data"]).arg(old.data()).output().unwrap();
    refused(&again, "was migrated to PostgreSQL");
}

/// Topics, alerts and money take more, where they were.
async fn goes_on(api: &Api, topics: u16, config: &Path) {
    assert_eq!(ask_topics(topics, "READ@board#1").await, "one");
    assert_eq!(ask_topics(topics, "POST@board#two").await, "2");
    let next =
        api.submit(&json!({"text": "and on", "audience": [format!("recipient:{}", first(api).await)]})).await;
    api.done(&next, AT_LAST).await;
    let audit = Command::new(program()).args(["ledger", "audit", "--config"]).arg(config).output().unwrap();
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
}

/// Waits until the one process there is leads: until then reports are to be had later.
async fn leads(api: &Api, alert: &str) {
    eventually("the process leads", AT_LAST, async || {
        match api.try_send(api.request(Method::GET, &format!("/api/v1/alerts/{alert}/report"))).await {
            Ok(reply) if reply.status == 200 => Ok(()),
            Ok(reply) => Err(reply.text),
            Err(error) => Err(error),
        }
    })
    .await;
}
