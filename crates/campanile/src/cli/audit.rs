//! `campanile audit`: the trail listed by a server, and verified by a server or where it is kept.

use super::audit_args::{ListAudit, VerifyAudit};
use super::client::{ApiClient, encoded};
use super::{Failure, Outcome, print, table};
use crate::config;
use crate::setup::StoragePlace;
use serde_json::Value;
use store::audit::ChainHead;

/// Entries of a page at most.
const PAGE_MAX: u64 = 1_000;

pub(super) async fn list(list: ListAudit) -> Outcome {
    let client = ApiClient::new(&list.server)?;
    let order = if list.oldest { "oldest" } else { "newest" };
    let filters = [
        ("who", list.who),
        ("verb", list.verb),
        ("object", list.object),
        ("account", list.account),
        ("from", list.from),
        ("until", list.until),
        ("order", Some(order.to_owned())),
    ];
    let filters: Vec<(&str, String)> =
        filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let mut items: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = filters.clone();
        query.push(("limit", (list.limit.limit - items.len() as u64).min(PAGE_MAX).to_string()));
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let mut page = client.get(&format!("/api/v1/audit?{}", encoded(&query))).await?;
        items.extend(page["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
        match page["next"].as_str() {
            Some(next) if (items.len() as u64) < list.limit.limit => cursor = Some(next.to_owned()),
            _ => break,
        }
    }
    if list.format.is_json() {
        return items.iter().try_for_each(|entry| print(&format!("{entry}\n")));
    }
    let header = ["#seq", "at", "account", "who", "from", "verb", "object", "detail"];
    print(&table::columns(header, items.iter().map(row)))
}

fn row(entry: &Value) -> [String; 8] {
    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let erased = |key: &str| {
        let names = entry["erased"].as_array().map(Vec::as_slice).unwrap_or_default();
        if names.iter().any(|name| name == key) { "(erased)".to_owned() } else { text(key) }
    };
    let who = if text("token_name").is_empty() { text("token") } else { text("token_name") };
    let count = entry["count"].as_u64().map(|count| format!("{count} times ")).unwrap_or_default();
    let failed = entry["failed"].as_u64().map(|seq| format!("{seq} failed: ")).unwrap_or_default();
    [
        entry["seq"].to_string(),
        text("at"),
        text("account"),
        who,
        erased("from"),
        text("verb"),
        erased("object"),
        format!("{count}{failed}{}", erased("detail")),
    ]
}

pub(super) async fn verify(verify: VerifyAudit) -> Outcome {
    let wrong = || {
        Failure::Usage(
            "--head: NUMBER:HASH is needed, as an earlier verification or the log printed it".to_owned(),
        )
    };
    let anchor = verify.head.as_deref().map(|text| ChainHead::parse(text).ok_or_else(wrong)).transpose()?;
    let verdict = match verify.data.is_some() || verify.config.is_some() {
        true => offline(&verify, anchor).await?,
        false => {
            let query: Vec<(&str, String)> = anchor.map(|head| ("head", head.text())).into_iter().collect();
            let path = format!("/api/v1/audit:verify?{}", encoded(&query));
            ApiClient::new(&verify.server)?.get(&path).await?
        }
    };
    print(&if verify.format.is_json() { format!("{verdict}\n") } else { words(&verdict) })?;
    match verdict["ok"].as_bool() {
        Some(true) => Ok(()),
        _ => Err(Failure::Failed("the audit trail does not hold".to_owned())),
    }
}

/// Where the trail is kept, while no server runs there.
async fn offline(verify: &VerifyAudit, anchor: Option<ChainHead>) -> Result<Value, Failure> {
    let data = verify.data.clone().unwrap_or_else(|| "./data".into());
    let config = config::load(verify.config.as_deref(), &data)
        .map_err(|problems| Failure::Failed(problems.to_string()))?;
    let setup = config.setup(&data)?;
    if let StoragePlace::Here { database, .. } = &setup.kept
        && !data.join(database).exists()
    {
        let place = data.join(database);
        return Err(Failure::Failed(format!(
            "there is no database {}: --data names the server's data folder",
            place.display()
        )));
    }
    let (store, keys) = crate::storage::for_audit(&setup).await.map_err(|why| {
        Failure::Failed(format!(
            "{why}. While a server runs, leave --data and --config out: it verifies by itself"
        ))
    })?;
    let verdict = store::audit::verify(&*store, &keys.audit(), anchor).await;
    let verdict = verdict.map_err(|error| Failure::Failed(error.to_string()))?;
    store.close().await.map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(verdict.to_json())
}

/// For people.
fn words(verdict: &Value) -> String {
    let mut text = format!(
        "{} links from {} on, {} fields\n{} fields erased\n",
        verdict["links"], verdict["first"], verdict["fields"], verdict["erased"]
    );
    if verdict["dropped"].as_u64().is_some_and(|dropped| dropped > 0) {
        text += &format!("links up to {} were dropped by retention\n", verdict["dropped"]);
    }
    if verdict["anchor_found"] == true {
        text += "the head that was given is in the chain\n";
    }
    let problems = verdict["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    for problem in problems {
        text += &format!("{}\n", problem.as_str().unwrap_or_default());
    }
    let more = verdict["problem_count"].as_u64().unwrap_or(0).saturating_sub(problems.len() as u64);
    if more > 0 {
        text += &format!("and {more} problems more\n");
    }
    text += &format!("head: {}\n", verdict["head"].as_str().unwrap_or_default());
    text + if verdict["ok"] == true { "the chain holds, to its last link\n" } else { "" }
}
