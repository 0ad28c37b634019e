//! Evidence of an alert: exported, verified by the command line without a server, and by openssl.

use crate::fixtures::{LATER, SOON, carrier_with, count, everybody_answers, number, phone_owner};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use it::{Api, Server, TimestampAuthority, eventually, openssl, program, sms_route};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const PEOPLE: u64 = 20;
/// Evidence is made some seconds after the end of an alert; an authority that failed is asked again later.
const STAMPED_MAX: Duration = Duration::from_secs(90);

/// `campanile verify`, which sees no server.
fn verify(file: &Path, key: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.env_remove("CAMPANILE_URL").env_remove("CAMPANILE_TOKEN");
    command.arg("verify").arg(file).arg("--key").arg(key).args(more).output().unwrap()
}

#[track_caller]
fn holds(file: &Path, key: &Path, more: &[&str]) -> Value {
    let output = verify(file, key, &[more, &["--format", "json"]].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn fails(file: &Path, key: &Path, more: &[&str], words: &str) {
    let output = verify(file, key, more);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(words), "{words}: {said}");
}

/// Files of a story.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

/// An alert to twenty people, who answer; its id once its evidence is made.
async fn alerted(api: &Api) -> String {
    let people: Vec<Value> = (0..PEOPLE).map(|n| phone_owner(&format!("p{n}"), n)).collect();
    api.add_recipients(&json!(people)).await;
    let choices = json!([{"key": "1", "label": "I am safe"}]);
    let request = json!({"text": "Leave the building", "audience": ["all"], "terminal": "answered",
        "require_answer": true, "choices": choices});
    let alert = api.submit(&request).await;
    let report = api.done(&alert, LATER).await;
    assert_eq!(count(&report, "answered"), PEOPLE);
    eventually("evidence is made", SOON, async || evidence(api, &alert).await.ok_or("none")).await;
    alert
}

async fn evidence(api: &Api, alert: &str) -> Option<Value> {
    let reply = api.get(&format!("/api/v1/alerts/{alert}/evidence")).await;
    (reply.status == 200).then(|| reply.json())
}

async fn exported(api: &Api, alert: &str) -> String {
    let reply = api.get(&format!("/api/v1/alerts/{alert}/evidence/export")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

async fn key_of(api: &Api, files: &Files) -> PathBuf {
    let key = api.get("/api/v1/evidence-key").await.expect(200);
    files.write("key.pem", key["pem"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_verified_offline_a_changed_octet_fails_and_an_erased_person_does_not() {
    let carrier = carrier_with(everybody_answers("1")).await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let (api, files) = (server.api(), Files { folder: tempfile::tempdir().unwrap() });
    let alert = alerted(&api).await;
    let key = key_of(&api, &files).await;
    let text = exported(&api, &alert).await;
    let file = files.write("export", &text);
    let said = holds(&file, &key, &[]);
    // The alert; and what was sent, what became of it and the answer of each.
    let leaves = 1 + 3 * PEOPLE;
    assert_eq!((&said["checked"], &said["erased"]), (&json!(leaves), &json!(0)), "{said}");
    assert_eq!((&said["alert"], &said["timestamp"]), (&json!(alert), &Value::Null));

    let lines: Vec<&str> = text.lines().collect();
    let theirs = |line: &&&str| line.contains(&number(7)) && line.contains("\"kind\":\"answer\"");
    let line = *lines.iter().find(theirs).unwrap();
    let index = serde_json::from_str::<Value>(line).unwrap()["index"].to_string();
    let alone = files.write("alone", format!("{}\n{line}\n", lines[0]));
    assert_eq!(holds(&alone, &key, &["--line", &index])["checked"], 1);
    fails(&alone, &key, &[], "--line");
    fails(&alone, &key, &["--line", "999999"], "missing");

    let (safe, other) = (number(7), number(8));
    for (from, to, words) in [
        (safe.as_str(), other.as_str(), "not in the tree"),
        ("Leave the building", "Leave the buildinh", "not in the tree"),
        ("\"salt\":\"", "\"salt\":\"g", "salt"),
        ("\"proof\":[\"", "\"proof\":[\"g", "proof"),
        ("\"state\":\"answered\"", "\"state\":\"answereD\"", "not in the tree"),
        ("\"index\":5,", "\"index\":6,", "index 6 where 5"),
        ("\"size\":", "\"size\":1", "signature"),
        ("\"version\":1", "\"version\":2", "signature"),
        ("{\"content\"", "{ \"content\"", "canonical"),
    ] {
        assert!(text.contains(from), "{from}");
        fails(&files.write("changed", text.replacen(from, to, 1)), &key, &[], words);
    }
    let cut = files.write("cut", lines[..lines.len() - 1].join("\n"));
    fails(&cut, &key, &[], "missing");
    let other = files.write("other.pem", PEM_OF_NOBODY);
    fails(&file, &other, &[], "signed with the key");

    let head = evidence(&api, &alert).await.unwrap();
    api.post("/api/v1/recipients/p7:erase", &json!({})).await.expect(200);
    let after = exported(&api, &alert).await;
    assert!(!after.contains(&safe) && !after.contains("\"p7\""), "{after}");
    let said = holds(&files.write("after", &after), &key, &[]);
    assert_eq!((&said["checked"], &said["erased"]), (&json!(leaves), &json!(3)), "{said}");
    assert_eq!(evidence(&api, &alert).await.unwrap()["root"], head["root"]);
    assert_eq!(after.lines().next(), text.lines().next(), "the same statement, signed once");
}

/// The public key of RFC 8032, section 7.1, test 1.
const PEM_OF_NOBODY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evidence_is_time_stamped_once_its_authority_answers_and_verified_by_openssl() {
    let authority = TimestampAuthority::start().await;
    let carrier = carrier_with(everybody_answers("1")).await;
    let (url, root) = (authority.url(), authority.root());
    let timestamp = format!("[timestamp]\nurl = \"{url}\"\nca_file = \"{}\"\n", root.display());
    let config = format!("{timestamp}{}", sms_route("carrier", carrier.address(), ""));
    let server = Server::start(&config).await;
    let (api, files) = (server.api(), Files { folder: tempfile::tempdir().unwrap() });
    // While the authority fails, evidence is made all the same.
    let alert = alerted(&api).await;
    assert_eq!(evidence(&api, &alert).await.unwrap()["timestamp"], Value::Null);
    eventually("its failure is said", SOON, async || {
        if server.log().contains("the time-stamping authority failed") { Ok(()) } else { Err("not yet") }
    })
    .await;
    authority.open();
    let head = eventually("it is time-stamped", STAMPED_MAX, async || {
        let head = evidence(&api, &alert).await.unwrap();
        if head["timestamp"].is_null() { Err("not yet") } else { Ok(head) }
    })
    .await;

    let key = key_of(&api, &files).await;
    let text = exported(&api, &alert).await;
    let file = files.write("export", &text);
    let root = root.display().to_string();
    let said = holds(&file, &key, &["--timestamp-ca", &root]);
    assert_eq!(said["timestamp"], json!({"at": head["timestamp"]["at"], "trusted": true}));
    assert_eq!(holds(&file, &key, &[])["timestamp"]["trusted"], false);
    let token = STANDARD.decode(head["timestamp"]["token"].as_str().unwrap()).unwrap();
    let mut changed = token.clone();
    *changed.last_mut().unwrap() ^= 1;
    let changed = text.replace(&STANDARD.encode(&token), &STANDARD.encode(&changed));
    fails(&files.write("changed", changed), &key, &[], "time stamp");

    files.write("statement", head["statement"].as_str().unwrap());
    files.write("signature", STANDARD.decode(head["signature"].as_str().unwrap()).unwrap());
    files.write("token", token);
    let request = authority.last_request().display().to_string();
    let folder = files.folder.path();
    for arguments in [
        format!("ts -query -in {request} -text"),
        format!("ts -verify -queryfile {request} -in token -token_in -CAfile {root}"),
        format!("ts -verify -data statement -in token -token_in -CAfile {root}"),
        "pkeyutl -verify -rawin -pubin -inkey key.pem -in statement -sigfile signature".to_owned(),
    ] {
        let output = openssl(folder, &arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
