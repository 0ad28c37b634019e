//! Data folders of releases: this version opens each, finds all that was in it, and goes on.

use crate::fixtures::LATER;
use crate::own_money::{client, comes_to, money};
use it::{Api, SendSms, Server, Setup};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder has so many people,
const PEOPLE: u64 = 2_000;
/// and is kept in at most so many octets.
const KEPT_MAX: u64 = 1_000_000;
/// The configuration of all kept folders: routes that need nobody, and money that is counted here.
const CONFIG: &str = r#"
[charging]
mode = "ledger"
shards = 2

[[route]]
name = "carrier"
channel = "sms"
mode = "live"
sim = true

[[route]]
name = "archive"
channel = "file"
mode = "live"
folder = "kept"

[[platform]]
username = "pump"
password = "secret"
account = "pump"
"#;

/// Where archives are kept: one a release, `VERSION.tar.gz`.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kept")
}

/// Packs a folder's data and what is known of it, or unpacks them.
fn tar(mode: &str, archive: &Path, folder: &Path, names: &[&str]) {
    let mut tar = Command::new("tar");
    let output = tar.arg(mode).arg(archive).arg("-C").arg(folder).args(names).output().unwrap();
    assert!(output.status.success(), "tar: {output:?}");
}

/// What a folder holds, as users see it.
async fn facts(admin: &Api, town: &Api, alert: &str) -> Value {
    let people = town.pages("/api/v1/recipients?limit=1000").await;
    let report = town.report(alert).await;
    let mut deliveries: Vec<[Value; 3]> = town
        .deliveries(alert)
        .await
        .iter()
        .map(|it| [it["address"].clone(), it["state"].clone(), it["recipients"][0]["id"].clone()])
        .collect();
    deliveries.sort_by_key(|it| it[0].to_string());
    json!({
        "people": people.len(),
        "person": town.get("/api/v1/recipients/p7").await.expect(200),
        "group": town.get("/api/v1/groups/upstairs").await.expect(200),
        "alert": {"state": report["state"], "counts": report["counts"], "headline": report["headline"]},
        "deliveries": deliveries,
        "money": [money(admin, "town").await, money(admin, "pump").await],
    })
}

/// An alert to every fifth person, and to the archive: the town's first, second … alert. Waits until all
/// receipts are there and all is paid for.
async fn alert(admin: &Api, town: &Api, alerts: i64) -> String {
    let alert = json!({
        "headline": "Water main",
        "text": "Boil water, {{name}}",
        "audience": ["group:upstairs", "file:archive"],
    });
    let id = town.submit(&alert).await;
    let reached = PEOPLE / 5 + 1;
    let reached_all =
        |report: &Value| report["counts"]["delivered"].as_u64().unwrap_or_default() + 1 == reached;
    town.until(&id, "every receipt is there", LATER, reached_all).await;
    let used = reached.cast_signed() * alerts;
    comes_to(admin, "town", [10_000 - used, 0, used, 0]).await;
    id
}

/// The platform's first, second … message; waits until it is paid for.
async fn message(server: &Server, messages: i64) {
    let pump = SendSms::new(&format!("{}/cgi-bin/sendsms", server.url()), "pump");
    let (status, words) = pump.get(&format!("to=%2B46709000001&text=Pump+{messages}+stopped")).await;
    assert_eq!((status, words.as_str()), (202, "0: Accepted for delivery"));
    comes_to(&server.api(), "pump", [10 - messages, 0, messages, 0]).await;
}

/// Makes a folder with this version, and packs it.
async fn pack(archive: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let config = CONFIG.to_owned();
    let mut server = Server::start_with(Setup { config, data: Some(data), ..Setup::default() }).await;
    let admin = server.api();
    let town = client(&admin, "town", 10_000).await;
    let rows = (0..PEOPLE).map(|place| format!("p{place},Åsa {place},sv,+46709{place:06},{}\n", place % 5));
    town.import_csv(format!("id,name,language,sms,floor\n{}", rows.collect::<String>())).await;
    town.add_group(&json!({"id": "upstairs", "rule": {"attribute": "floor", "at_least": 4}})).await;
    let id = alert(&admin, &town, 1).await;
    client(&admin, "pump", 10).await;
    message(&server, 1).await;
    let about = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "tokens": {"admin": server.token(), "town": town.token()},
        "alert": id,
        "facts": facts(&admin, &town, &id).await,
    });
    assert!(server.stop().await.success());
    fs::write(folder.path().join("about.json"), serde_json::to_vec_pretty(&about).unwrap()).unwrap();
    tar("-czf", archive, folder.path(), &["data", "about.json"]);
    let length = fs::metadata(archive).unwrap().len();
    assert!(length < KEPT_MAX, "{length} octets");
}

/// Without the members that a later version added.
fn as_before(now: Value, before: &Value) -> Value {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => now
            .into_iter()
            .filter_map(|(name, value)| before.get(&name).map(|was| (name.clone(), as_before(value, was))))
            .collect(),
        (Value::Array(now), Value::Array(before)) if now.len() == before.len() => {
            now.into_iter().zip(before).map(|(value, was)| as_before(value, was)).collect()
        }
        (now, _) => now,
    }
}

/// Opens what is packed there: all is as it was, and one more alert goes out and is paid for.
async fn opens(archive: &Path) {
    let folder = tempfile::tempdir().unwrap();
    tar("-xzf", archive, folder.path(), &[]);
    let about: Value = serde_json::from_slice(&fs::read(folder.path().join("about.json")).unwrap()).unwrap();
    let token = |name: &str| about["tokens"][name].as_str().unwrap().to_owned();
    let (config, data) = (CONFIG.to_owned(), Some(folder.path().join("data")));
    let mut server = Server::spawned(Setup { config, data, ..Setup::default() });
    server.set_token(&token("admin"));
    server.ready().await;
    let (admin, id) = (server.api(), about["alert"].as_str().unwrap());
    let town = admin.with_token(&token("town"));
    let found = as_before(facts(&admin, &town, id).await, &about["facts"]);
    assert_eq!(found, about["facts"], "{}", archive.display());
    let more = alert(&admin, &town, 2).await;
    message(&server, 2).await;
    assert_ne!(more, id);
    assert_eq!(
        facts(&admin, &town, id).await["deliveries"],
        about["facts"]["deliveries"],
        "{}",
        archive.display()
    );
    let lines = fs::read_to_string(server.data().join("kept/archive.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_of_this_version_is_packed_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    // To keep the folder of a release: see docs/dev/compatibility.md.
    let archive = if std::env::var_os("KEEP_DATA").is_some() {
        fs::create_dir_all(kept()).unwrap();
        kept().join(format!("{}.tar.gz", env!("CARGO_PKG_VERSION")))
    } else {
        folder.path().join("this.tar.gz")
    };
    pack(&archive).await;
    opens(&archive).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_folders_of_all_releases_since_0_2_0_are_opened() {
    let mut archives: Vec<PathBuf> =
        fs::read_dir(kept()).unwrap().map(|entry| entry.unwrap().path()).collect();
    archives.sort();
    assert!(archives[0].ends_with("0.2.0.tar.gz"), "{archives:?}");
    for archive in archives {
        opens(&archive).await;
    }
}
