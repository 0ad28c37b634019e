//! Drafts as clients see them: saves, versions, conflicts, and one alert of a submission whatever happens.

use super::record::{DraftRecord, Submitting};
use super::submission::reopen;
use crate::http::tests::*;
use records::AlertId;
use store::{Document, DocumentKind, Expected, NewDocument};

const FIRE: &str = "Fire in hall 2. Leave the building.";

struct Drafts {
    server: TestServer,
}

impl Drafts {
    async fn open() -> Drafts {
        let server = TestServer::open().await;
        server.people().await;
        Drafts { server }
    }

    async fn made(&self, body: Value) -> String {
        let (status, made) = self.server.post("/api/v1/drafts", body).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    async fn save(&self, method: Method, id: &str, version: u64, body: Value) -> (StatusCode, Value) {
        let request = self.server.call(method, &format!("/api/v1/drafts/{id}"));
        said(request.header("if-match", format!("\"{version}\"")).json(&body)).await
    }

    async fn submit(&self, id: &str) -> (StatusCode, Value) {
        said(self.server.call(Method::POST, &format!("/api/v1/drafts/{id}:submit"))).await
    }

    async fn show(&self, id: &str) -> Value {
        let (status, draft) = self.server.get(&format!("/api/v1/drafts/{id}")).await;
        assert_eq!(status, 200, "{draft}");
        draft
    }

    async fn alerts(&self) -> usize {
        self.server.get("/api/v1/alerts").await.1["items"].as_array().unwrap().len()
    }

    async fn stored(&self, id: &str) -> (Document, DraftRecord) {
        let found = self.server.store.document("default", DocumentKind::Draft, id).await.unwrap().unwrap();
        let record = serde_json::from_str(&found.body).unwrap();
        (found, record)
    }

    /// Puts the draft back to where a crash would have left it.
    async fn rewind(&self, id: &str, change: impl FnOnce(&mut DraftRecord)) {
        let (_, mut record) = self.stored(id).await;
        change(&mut record);
        let body = serde_json::to_string(&record).unwrap();
        let document = NewDocument { id: id.into(), lookup: None, due: None, body };
        let written =
            self.server.store.put_document("default", DocumentKind::Draft, document, Expected::Any, NOW);
        written.await.unwrap();
    }
}

fn whole() -> Value {
    json!({"text": FIRE, "audience": ["group:staff"], "channels": ["sms"]})
}

#[tokio::test]
async fn a_draft_may_lack_members_and_says_which_and_what_is_odd() {
    let drafts = Drafts::open().await;
    let id = drafts.made(json!({"headline": "Fire", "audience": ["sms:+46"]})).await;
    let draft = drafts.show(&id).await;
    let fields: Vec<&str> =
        draft["problems"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["text", "audience[0]"], "{draft}");
    assert_eq!((&draft["space"], &draft["state"]), (&json!("live"), &json!("open")));
    let (status, problem) = drafts.server.post("/api/v1/drafts", json!({"txt": "x"})).await;
    assert_eq!(status, 422);
    assert!(reason(&problem, "txt").contains("did you mean \"text\""));
    let id = drafts
        .made(json!({"text": "THE ALARM IS ON IN ALL HALLS", "audience": ["all"], "mode": "drill"}))
        .await;
    let draft = drafts.show(&id).await;
    let codes: Vec<&str> =
        draft["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["no_instruction", "no_place", "all_capitals"], "{draft}");
    assert_eq!((&draft["space"], &draft["request"]["mode"]), (&json!("drill"), &json!("drill")));
    drafts.server.close().await;
}

#[tokio::test]
async fn a_conflict_tells_whose_change_it_was_and_both_versions() {
    let drafts = Drafts::open().await;
    let id = drafts.made(whole()).await;
    let (status, saved) = drafts.save(Method::PATCH, &id, 1, json!({"text": "Two", "headline": "H"})).await;
    assert_eq!((status.as_u16(), &saved["version"]), (200, &json!(2)), "{saved}");
    let (status, problem) = drafts.save(Method::PUT, &id, 1, json!({"text": "Mine"})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (412, "version-changed"), "{problem}");
    assert_eq!(problem["current"]["request"]["text"], "Two");
    assert_eq!(problem["yours"]["text"], "Mine");
    assert_eq!(problem["changed_by"]["name"], "first admin token");
    // The same again changes nothing.
    let (status, same) = drafts.save(Method::PATCH, &id, 2, json!({"text": "Two"})).await;
    assert_eq!((status.as_u16(), &same["version"]), (200, &json!(2)));
    let (_, removed) = drafts.save(Method::PATCH, &id, 2, json!({"headline": null})).await;
    assert!(removed["request"].get("headline").is_none(), "{removed}");
    let (status, problem) = drafts.save(Method::PATCH, &id, 3, json!({"mode": "drill"})).await;
    assert_eq!(status, 422);
    assert!(reason(&problem, "mode").contains(":copy?space=drill"));
    drafts.server.close().await;
}

#[tokio::test]
async fn versions_are_kept_minute_by_minute_and_read_one_by_one() {
    let drafts = Drafts::open().await;
    let id = drafts.made(whole()).await;
    for version in 1..=10_u64 {
        drafts.server.clock.fetch_add(20_000_000, Ordering::Relaxed);
        let (status, _) =
            drafts.save(Method::PATCH, &id, version, json!({"text": format!("{version}")})).await;
        assert_eq!(status, 200);
    }
    let (_, list) = drafts.server.get(&format!("/api/v1/drafts/{id}/versions")).await;
    let kept: Vec<u64> =
        list["items"].as_array().unwrap().iter().map(|one| one["version"].as_u64().unwrap()).collect();
    assert_eq!(kept, [11, 10, 7, 4, 1], "{list}");
    let (_, four) = drafts.server.get(&format!("/api/v1/drafts/{id}/versions/4")).await;
    assert_eq!(four["request"]["text"], "3");
    for lost in ["5", "12", "x"] {
        let (status, _) = drafts.server.get(&format!("/api/v1/drafts/{id}/versions/{lost}")).await;
        assert_eq!(status, 404, "{lost}");
    }
    let delete = drafts.server.call(Method::DELETE, &format!("/api/v1/drafts/{id}"));
    assert_eq!(said(delete).await.0, 204);
    let left = drafts.server.store.count_documents("default", DocumentKind::DraftVersion).await.unwrap();
    assert_eq!(left, 0);
    drafts.server.close().await;
}

#[tokio::test]
async fn submitted_twice_it_is_one_alert_and_takes_no_change_any_more() {
    let drafts = Drafts::open().await;
    let id = drafts.made(whole()).await;
    let (status, first) = drafts.submit(&id).await;
    assert_eq!(status, 202, "{first}");
    let by_version = drafts.server.call(Method::POST, &format!("/api/v1/drafts/{id}:submit"));
    let again = by_version.header("if-match", "\"1\"").send().await.unwrap();
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert_eq!(again.json::<Value>().await.unwrap()["id"], first["id"]);
    assert_eq!(drafts.alerts().await, 1);
    let draft = drafts.show(&id).await;
    assert_eq!((&draft["state"], &draft["submitted"]["alert"]), (&json!("submitted"), &first["id"]));
    let version = draft["version"].as_u64().unwrap();
    let (status, problem) = drafts.save(Method::PATCH, &id, version, json!({"text": "Two"})).await;
    assert_eq!(status, 409);
    assert!(problem["detail"].as_str().unwrap().contains(":copy"), "{problem}");
    let (_, open) = drafts.server.get("/api/v1/drafts").await;
    assert_eq!(open["items"], json!([]));
    let (_, done) = drafts.server.get("/api/v1/drafts?state=submitted").await;
    assert_eq!(done["items"][0]["id"], json!(id));
    drafts.server.close().await;
}

#[tokio::test]
async fn a_crash_between_the_steps_of_a_submission_makes_no_second_alert() {
    let drafts = Drafts::open().await;
    let submitting = Some(Submitting { version: 1, at: NOW });
    // Before the alert was accepted.
    let id = drafts.made(whole()).await;
    drafts.rewind(&id, |record| record.submitting.clone_from(&submitting)).await;
    let (status, problem) = drafts.save(Method::PATCH, &id, 2, json!({"text": "Two"})).await;
    assert_eq!(status, 409);
    assert!(problem["detail"].as_str().unwrap().contains(":submit finishes"), "{problem}");
    let (status, first) = drafts.submit(&id).await;
    assert_eq!(status, 202, "{first}");
    // After it was accepted, before the draft named it.
    drafts
        .rewind(&id, |record| {
            record.submitted = None;
            record.submitting.clone_from(&submitting);
        })
        .await;
    let (status, second) = drafts.submit(&id).await;
    assert_eq!((status.as_u16(), &second["id"]), (202, &first["id"]));
    assert_eq!(drafts.alerts().await, 1);
    // So late that the key is perhaps forgotten.
    drafts
        .rewind(&id, |record| {
            record.submitted = None;
            record.submitting = Some(Submitting { version: 1, at: NOW.plus_s(-24 * 3_600) });
        })
        .await;
    let (status, problem) = drafts.submit(&id).await;
    assert_eq!(status, 409);
    assert!(problem["detail"].as_str().unwrap().contains("look in GET"), "{problem}");
    drafts.server.close().await;
}

#[tokio::test]
async fn what_is_refused_leaves_the_draft_open() {
    let drafts = Drafts::open().await;
    for (body, field) in [
        (json!({"text": FIRE}), "audience"),
        (json!({"text": FIRE, "audience": ["group:nobody"]}), "audience[0]"),
        (json!({"text": FIRE, "audience": ["area:nowhere"]}), "audience[0]"),
    ] {
        let id = drafts.made(body).await;
        let (status, problem) = drafts.submit(&id).await;
        assert_eq!(status, 422, "{problem}");
        assert!(!reason(&problem, field).is_empty());
        assert_eq!(drafts.show(&id).await["state"], "open");
        assert_eq!(drafts.save(Method::PUT, &id, 1, whole()).await.0, 200);
        assert_eq!(drafts.submit(&id).await.0, 202);
    }
    drafts.server.close().await;
}

#[tokio::test]
async fn a_draft_that_is_returned_is_open_again_with_the_reason() {
    let drafts = Drafts::open().await;
    let id = drafts.made(whole()).await;
    let alert = drafts.submit(&id).await.1["id"].as_str().unwrap().to_owned();
    let alert: AlertId = alert.parse().unwrap();
    let store = &drafts.server.store;
    let opened = reopen(store, "default", alert, "Which hall?", "Maria Ek", NOW).await.unwrap();
    assert_eq!(opened.as_deref(), Some(id.as_str()));
    assert_eq!(reopen(store, "default", alert, "again", "Maria Ek", NOW).await.unwrap(), None);
    let draft = drafts.show(&id).await;
    assert_eq!((&draft["state"], &draft["returned"]["reason"]), (&json!("open"), &json!("Which hall?")));
    let version = draft["version"].as_u64().unwrap();
    let (status, saved) = drafts.save(Method::PATCH, &id, version, json!({"text": "Fire in hall 3."})).await;
    assert_eq!(status, 200, "{saved}");
    let (status, second) = drafts.submit(&id).await;
    assert_eq!(status, 202);
    assert_ne!(second["id"], json!(alert.to_string()));
    assert_eq!(drafts.show(&id).await["returned"], Value::Null);
    drafts.server.close().await;
}

#[tokio::test]
async fn a_copy_is_a_drill_where_that_is_wanted() {
    let drafts = Drafts::open().await;
    let id = drafts.made(whole()).await;
    let copy = drafts.server.call(Method::POST, &format!("/api/v1/drafts/{id}:copy?space=drill"));
    let (status, copy) = said(copy).await;
    assert_eq!((status.as_u16(), &copy["space"]), (201, &json!("drill")), "{copy}");
    let (status, submitted) = drafts.submit(copy["id"].as_str().unwrap()).await;
    assert_eq!(status, 202);
    let (_, alert) =
        drafts.server.get(&format!("/api/v1/alerts/{}", submitted["id"].as_str().unwrap())).await;
    assert_eq!(alert["request"]["mode"], "drill");
    let (_, of_drills) = drafts.server.get("/api/v1/drafts?space=live").await;
    assert_eq!(of_drills["items"].as_array().unwrap().len(), 1);
    assert_eq!(drafts.server.get("/api/v1/drafts?space=moon").await.0, 400);
    let unknown = drafts.server.call(Method::POST, &format!("/api/v1/drafts/{id}:send"));
    assert_eq!(said(unknown).await.0, 404);
    drafts.server.close().await;
}

#[tokio::test]
async fn submitted_drafts_are_removed_after_their_time_and_open_ones_stay() {
    let drafts = Drafts::open().await;
    let (open, submitted) = (drafts.made(whole()).await, drafts.made(whole()).await);
    assert_eq!(drafts.submit(&submitted).await.0, 202);
    for (days, expected) in [(40, 200), (42, 404)] {
        drafts.server.clock.store(NOW.plus_s(days * 86_400).0, Ordering::Relaxed);
        super::submission::remove_past(&drafts.server.door.app()).await.unwrap();
        assert_eq!(drafts.server.get(&format!("/api/v1/drafts/{submitted}")).await.0, expected, "{days}");
    }
    assert_eq!(drafts.server.get(&format!("/api/v1/drafts/{open}")).await.0, 200);
    drafts.server.close().await;
}
