//! Schedules as clients see them, and what the runner makes of their times.

use super::runner::look;
use crate::http::tests::*;
use store::{Document, DocumentKind, Expected, NewDocument};

struct Schedules {
    server: TestServer,
}

impl Schedules {
    async fn open() -> Schedules {
        let server = TestServer::open().await;
        server.people().await;
        Schedules { server }
    }

    /// Moves the clock, and looks after what is due.
    async fn at(&self, time: &str) {
        let time: jiff::Timestamp = time.parse().unwrap();
        self.server.clock.store(time.as_microsecond(), Ordering::Relaxed);
        look(&self.server.door.app()).await;
    }

    /// Alerts that schedules sent.
    async fn sent(&self) -> usize {
        let (_, list) = self.server.get("/api/v1/alerts").await;
        list["items"].as_array().unwrap().iter().filter(|alert| alert["origin"] == "schedule").count()
    }

    async fn put(&self, id: &str, body: Value) -> Value {
        let (status, put) =
            said(self.server.call(Method::PUT, &format!("/api/v1/schedules/{id}")).json(&body)).await;
        assert!(status.is_success(), "{put}");
        put
    }

    async fn show(&self, id: &str) -> Value {
        self.server.get(&format!("/api/v1/schedules/{id}")).await.1
    }

    async fn verb(&self, path: &str) -> (StatusCode, Value) {
        said(self.server.call(Method::POST, &format!("/api/v1/schedules/{path}"))).await
    }

    async fn stored(&self, id: &str) -> Document {
        self.server.store.document("default", DocumentKind::Schedule, id).await.unwrap().unwrap()
    }

    /// Results of its runs, the newest first, without those that were missed.
    async fn results(&self, id: &str) -> Vec<String> {
        let schedule = self.show(id).await;
        let results = schedule["runs"].as_array().unwrap().iter().map(|run| run["result"].as_str().unwrap());
        results.filter(|result| *result != "missed").map(str::to_owned).collect()
    }
}

fn schedule(start: &str, rule: &str) -> Value {
    json!({"name": "Test", "start": start, "time_zone": "Europe/Stockholm", "rule": rule,
        "request": {"text": "This is a test.", "audience": ["group:staff"], "channels": ["sms"]}})
}

#[tokio::test]
async fn each_time_is_sent_once_over_both_changes_of_the_clock() {
    let daily = "RRULE:FREQ=DAILY";
    for (start, steps) in [
        // 02:30 is in the gap of 28 March 2027, and happens when the clock shows 03:30.
        (
            "2026-12-01T02:30:00",
            &[
                ("2027-03-28T01:29:59Z", 0),
                ("2027-03-28T01:30:00Z", 1),
                ("2027-03-28T01:30:01Z", 1),
                ("2027-03-29T00:29:59Z", 1),
                ("2027-03-29T00:30:00Z", 2),
            ][..],
        ),
        // 02:30 comes twice on 31 October 2027, and happens the first time.
        (
            "2026-12-01T02:30:00",
            &[
                ("2027-10-31T00:29:59Z", 0),
                ("2027-10-31T00:30:00Z", 1),
                ("2027-10-31T01:30:00Z", 1),
                ("2027-11-01T01:29:59Z", 1),
                ("2027-11-01T01:30:00Z", 2),
            ],
        ),
    ] {
        let schedules = Schedules::open().await;
        schedules.put("test", schedule(start, daily)).await;
        for (time, expected) in steps {
            schedules.at(time).await;
            assert_eq!(schedules.sent().await, *expected, "{time}");
        }
        schedules.server.close().await;
    }
}

#[tokio::test]
async fn a_crash_between_the_alert_and_its_note_sends_nothing_twice() {
    let schedules = Schedules::open().await;
    schedules.put("test", schedule("2026-12-07T12:00:00", "RRULE:FREQ=WEEKLY")).await;
    let before = schedules.stored("test").await;
    schedules.at("2026-12-07T11:00:00Z").await;
    assert_eq!(schedules.sent().await, 1);
    let Document { id, due, body, .. } = before;
    let document = NewDocument { id, lookup: None, due, body };
    let store = &schedules.server.store;
    store.put_document("default", DocumentKind::Schedule, document, Expected::Any, NOW).await.unwrap();
    schedules.at("2026-12-07T11:00:05Z").await;
    assert_eq!(schedules.sent().await, 1);
    assert_eq!(schedules.results("test").await, ["sent"]);
    schedules.server.close().await;
}

#[tokio::test]
async fn after_a_downtime_the_last_time_within_the_grace_stands_for_the_others() {
    let schedules = Schedules::open().await;
    let mut body = schedule("2026-12-07T12:00:00", "RRULE:FREQ=DAILY");
    body["grace"] = "12h".into();
    schedules.put("test", body).await;
    schedules.at("2026-12-09T22:00:00Z").await;
    let shown = schedules.show("test").await;
    let runs: Vec<(&str, &str)> = shown["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["result"].as_str().unwrap(), run["occurrence"].as_str().unwrap()))
        .collect();
    let expected = [
        ("sent", "2026-12-09T11:00:00Z"),
        ("missed", "2026-12-08T11:00:00Z"),
        ("missed", "2026-12-07T11:00:00Z"),
    ];
    assert_eq!(runs, expected, "{shown}");
    schedules.at("2026-12-10T23:00:01Z").await;
    assert_eq!(schedules.sent().await, 1, "older than the grace by a second");
    schedules.server.close().await;
}

#[tokio::test]
async fn a_schedule_whose_author_is_gone_sends_nothing_and_says_so() {
    let schedules = Schedules::open().await;
    let server = &schedules.server;
    let token = server.token(Role::Operator).await;
    let body = schedule("2026-12-07T12:00:00", "RRULE:FREQ=DAILY");
    let put = server.anon(Method::PUT, "/api/v1/schedules/test").bearer_auth(&token).json(&body);
    let (_, made) = said(put).await;
    let author = made["author"]["id"].as_str().unwrap();
    assert_eq!(said(server.call(Method::DELETE, &format!("/api/v1/tokens/{author}"))).await.0, 204);
    schedules.at("2026-12-07T11:00:00Z").await;
    assert_eq!(schedules.sent().await, 0);
    assert_eq!(schedules.show("test").await["state"], "author_gone");
    assert_eq!(schedules.results("test").await, ["author_gone"]);
    let (_, trail) = server.get("/api/v1/audit?verb=schedule.author_gone").await;
    assert_eq!(trail["items"].as_array().unwrap().len(), 1, "{trail}");
    // Somebody else takes it over.
    schedules.put("test", body).await;
    schedules.at("2026-12-08T11:00:00Z").await;
    assert_eq!(schedules.sent().await, 1);
    assert_eq!(schedules.show("test").await["state"], "enabled");
    schedules.server.close().await;
}

#[tokio::test]
async fn the_next_time_may_be_left_out_and_a_disabled_schedule_makes_nothing_up() {
    let schedules = Schedules::open().await;
    schedules.put("test", schedule("2026-12-07T12:00:00", "RRULE:FREQ=DAILY")).await;
    for _ in 0..2 {
        let (status, shown) = schedules.verb("test:skip").await;
        assert_eq!(status, 200, "{shown}");
        let skipped: Vec<bool> =
            shown["next"].as_array().unwrap().iter().map(|next| next["skipped"].as_bool().unwrap()).collect();
        assert_eq!(skipped, [true, false, false, false, false]);
    }
    schedules.at("2026-12-07T11:00:00Z").await;
    assert_eq!((schedules.sent().await, schedules.results("test").await), (0, vec!["skipped".to_owned()]));
    schedules.at("2026-12-08T11:00:00Z").await;
    assert_eq!(schedules.sent().await, 1);
    let change =
        |body: Value| said(schedules.server.call(Method::PATCH, "/api/v1/schedules/test").json(&body));
    let (status, shown) = change(json!({"enabled": false})).await;
    assert_eq!((status.as_u16(), &shown["state"]), (200, &json!("disabled")), "{shown}");
    schedules.at("2026-12-09T11:00:00Z").await;
    let (_, shown) = change(json!({"enabled": true})).await;
    assert_eq!(shown["state"], "enabled");
    schedules.at("2026-12-09T11:00:10Z").await;
    assert_eq!(schedules.sent().await, 1, "the time of before is not made up for");
    let (_, shown) =
        change(json!({"rule": "DTSTART;TZID=Europe/London:20261210T090000\nRRULE:FREQ=WEEKLY"})).await;
    assert_eq!(
        (&shown["time_zone"], &shown["next_at"]),
        (&json!("Europe/London"), &json!("2026-12-10T09:00:00Z"))
    );
    schedules.server.close().await;
}

#[tokio::test]
async fn a_schedule_is_run_by_hand_once_under_a_key() {
    let schedules = Schedules::open().await;
    let server = &schedules.server;
    let template =
        json!({"id": "siren", "name": "Siren", "request": {"text": "Test", "audience": ["group:staff"]}});
    assert_eq!(server.post("/api/v1/templates", template).await.0, 201);
    let mut body = schedule("2026-12-07T12:00:00", "RRULE:FREQ=DAILY");
    body.as_object_mut().unwrap().remove("request");
    body["template"] = "siren".into();
    body["space"] = "drill".into();
    schedules.put("test", body).await;
    let run = || {
        let request = server.call(Method::POST, "/api/v1/schedules/test:run");
        said(request.header("idempotency-key", "now"))
    };
    let (first, second) = (run().await, run().await);
    assert_eq!((first.0.as_u16(), second.0.as_u16()), (202, 202), "{first:?}");
    assert_eq!(first.1["id"], second.1["id"]);
    assert_eq!((schedules.sent().await, schedules.results("test").await.len()), (1, 1));
    // A template that is gone is told when its time comes.
    assert_eq!(said(server.call(Method::DELETE, "/api/v1/templates/siren")).await.0, 204);
    schedules.at("2026-12-07T11:00:00Z").await;
    assert_eq!(schedules.results("test").await, ["failed", "sent"]);
    let shown = schedules.show("test").await;
    assert!(shown["runs"][0]["detail"].as_str().unwrap().contains("siren"), "{shown}");
    schedules.server.close().await;
}

#[tokio::test]
async fn the_next_five_times_are_shown_and_what_cannot_be_is_refused_by_name() {
    let schedules = Schedules::open().await;
    let shown = schedules.put("test", schedule("2027-10-29T02:30:00", "RRULE:FREQ=DAILY;COUNT=4")).await;
    let next: Vec<(&str, &str)> = shown["next"]
        .as_array()
        .unwrap()
        .iter()
        .map(|next| (next["at"].as_str().unwrap(), next["local"].as_str().unwrap()))
        .collect();
    let expected = [
        ("2027-10-29T00:30:00Z", "2027-10-29T02:30:00"),
        ("2027-10-30T00:30:00Z", "2027-10-30T02:30:00"),
        ("2027-10-31T00:30:00Z", "2027-10-31T02:30:00"),
        ("2027-11-01T01:30:00Z", "2027-11-01T02:30:00"),
    ];
    assert_eq!(next, expected, "{shown}");
    let with = |change: fn(&mut Value)| {
        let mut body = schedule("2026-12-07T12:00:00", "RRULE:FREQ=DAILY");
        change(&mut body);
        body
    };
    for (body, field, says) in [
        (with(|body| body["rule"] = "RRULE:FREQ=HOURLY".into()), "rule", "FREQ"),
        (with(|body| body["rule"] = "EXRULE:FREQ=DAILY".into()), "rule", "EXRULE"),
        (with(|body| body["time_zone"] = "Europe/Atlantis".into()), "rule", "Atlantis"),
        (with(|body| body["time_zone"] = Value::Null), "time_zone", "with start"),
        (with(|body| body["start"] = "noon".into()), "start", "local time"),
        (with(|body| body["grace"] = "13h".into()), "grace", "12h"),
        (
            with(|body| body["request"]["expires"] = "2027-01-01T00:00:00Z".into()),
            "request.expires",
            "valid_for",
        ),
        (with(|body| body["request"]["text"] = Value::Null), "request.text", "is needed"),
        (with(|body| body["template"] = "siren".into()), "template", "exactly one"),
        (
            with(|body| {
                body["request"] = Value::Null;
                body["directory"] = "ad".into();
                body["valid_for"] = "1h".into()
            }),
            "valid_for",
            "is for alerts",
        ),
        (
            with(|body| {
                body["request"] = Value::Null;
                body["template"] = "siren".into()
            }),
            "template",
            "no template",
        ),
        (
            with(|body| {
                body["request"] = Value::Null;
                body["directory"] = "ad".into()
            }),
            "directory",
            "no directory \"ad\"",
        ),
    ] {
        let (status, problem) = schedules.server.post("/api/v1/schedules", body).await;
        assert_eq!(status, 422, "{field}: {problem}");
        assert!(reason(&problem, field).contains(says), "{problem}");
    }
    schedules.server.close().await;
}

/// A directory of some people, imported each day at noon.
async fn of_directory(schedules: &Schedules, people: usize, dry_run: bool) {
    directory(schedules, people, dry_run);
    let mut body = schedule("2026-12-07T12:00:00", "RRULE:FREQ=DAILY");
    body.as_object_mut().unwrap().remove("request");
    body["directory"] = "hr".into();
    let put = schedules.put("people", body).await;
    assert_eq!((&put["directory"], &put["request"]), (&json!("hr"), &Value::Null), "{put}");
}

fn directory(schedules: &Schedules, people: usize, dry_run: bool) {
    let settings = DirectorySettings { dry_run, ..schedules.server.with_directory("hr").settings.clone() };
    let rows =
        (0..people).map(|n| json!({"id": format!("dir-{n}"), "name": format!("Person {n}")})).collect();
    let directory = TestDirectory { settings, rows: std::sync::Mutex::new(Ok(rows)) };
    schedules.server.policies.directories.store(Arc::new(vec![Arc::new(directory)]));
}

/// The import of the last run, once it is decided or waits for a person.
async fn imported(schedules: &Schedules, is_over: fn(&Value) -> bool) -> Value {
    let shown = schedules.show("people").await;
    let run = &shown["runs"][0];
    assert_eq!((&run["result"], &run["alert"]), (&json!("started"), &Value::Null), "{shown}");
    let id = run["import"].as_str().unwrap();
    loop {
        let job = schedules.server.compared(&schedules.server.admin, id).await;
        if is_over(&job) {
            return job;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_schedule_reads_a_directory_once_a_time_and_waits_for_a_person() {
    let schedules = Schedules::open().await;
    of_directory(&schedules, 3, true).await;
    schedules.at("2026-12-07T10:59:59Z").await;
    assert_eq!(schedules.results("people").await, Vec::<String>::new());
    let before = schedules.stored("people").await;
    schedules.at("2026-12-07T11:00:00Z").await;
    let job = imported(&schedules, |_| true).await;
    assert_eq!((&job["state"], &job["source"]), (&json!("ready"), &json!("directory:hr")), "{job}");
    let (_, tokens) = schedules.server.get("/api/v1/tokens").await;
    assert_eq!(job["by"]["id"], tokens["items"][0]["id"], "in the name of its author");
    assert_eq!(schedules.server.get("/api/v1/recipients/dir-0").await.0, 404, "nobody committed it");
    // The process ended before it noted the run.
    let Document { id, due, body, .. } = before;
    let document = NewDocument { id, lookup: None, due, body };
    let store = &schedules.server.store;
    store.put_document("default", DocumentKind::Schedule, document, Expected::Any, NOW).await.unwrap();
    schedules.at("2026-12-07T11:00:05Z").await;
    assert_eq!(imported(&schedules, |_| true).await["id"], job["id"]);
    let (_, imports) = schedules.server.get("/api/v1/imports").await;
    assert_eq!(imports["items"].as_array().unwrap().len(), 1, "{imports}");
    let commit = format!("imports/{}:commit", job["id"].as_str().unwrap());
    assert_eq!(schedules.server.post(&format!("/api/v1/{commit}"), json!({})).await.0, 200);
    assert_eq!(schedules.server.get("/api/v1/recipients/dir-0").await.0, 200);
    let (status, problem) = schedules.verb("people:run").await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"));
    assert!(problem["detail"].as_str().unwrap().contains("/api/v1/directories/hr:run"), "{problem}");
    schedules.server.close().await;
}

#[tokio::test]
async fn a_schedule_commits_what_changes_little_and_waits_where_too_much_would() {
    let schedules = Schedules::open().await;
    of_directory(&schedules, 10, false).await;
    schedules.at("2026-12-07T11:00:00Z").await;
    let is_decided = |job: &Value| job["state"] == "committed" || job["notes"] != json!([]);
    let first = imported(&schedules, is_decided).await;
    assert_eq!((&first["state"], &first["counts"]["new"]), (&json!("committed"), &json!(10)), "{first}");
    directory(&schedules, 4, false);
    schedules.at("2026-12-08T11:00:00Z").await;
    let fewer = imported(&schedules, is_decided).await;
    assert_eq!((&fewer["state"], &fewer["counts"]["gone"]), (&json!("ready"), &json!(6)), "{fewer}");
    assert!(fewer["notes"][0]["reason"].as_str().unwrap().starts_with("6 of 10 people would go"), "{fewer}");
    assert_eq!(schedules.server.get("/api/v1/recipients/dir-9").await.0, 200);
    schedules.server.close().await;
}

#[tokio::test]
async fn a_schedule_imports_in_the_name_of_somebody_who_may_import() {
    let schedules = Schedules::open().await;
    let server = &schedules.server;
    server.with_directory("hr");
    let mut body = schedule("2026-12-07T12:00:00", "RRULE:FREQ=DAILY");
    body.as_object_mut().unwrap().remove("request");
    body["directory"] = "hr".into();
    let spaces = json!(["live", "drill"]);
    let mut sends =
        server.signed_in("sends", json!({"roles": ["operator"], "spaces": spaces})).await.in_space("live");
    let (status, problem) = sends.put("/api/v1/schedules/people", body.clone()).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-role"), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("a user with the role directory"), "{problem}");
    let rights = json!({"roles": ["operator", "directory"], "spaces": spaces});
    let mut both = server.signed_in("both", rights).await.in_space("live");
    let (status, put) = both.put("/api/v1/schedules/people", body).await;
    assert_eq!(status, 201, "{put}");
    let path = format!("/api/v1/users/{}", both.user);
    assert_eq!(said(server.call(Method::PATCH, &path).json(&json!({"roles": ["operator"]}))).await.0, 200);
    schedules.at("2026-12-07T11:00:00Z").await;
    assert_eq!(schedules.show("people").await["state"], "author_gone");
    assert_eq!(server.get("/api/v1/imports").await.1["items"], json!([]));
    schedules.server.close().await;
}
