//! People from an LDAP directory: Debian's slapd, read in pages by STARTTLS, dry, committed, with who is
//! absent, over a restart, and when it is away.

use crate::fixtures::LATER;
use it::{Api, Server, Slapd, eventually};
use serde_json::{Value, json};

fn config(slapd: &Slapd, more: &str) -> String {
    format!(
        "[[directory]]\nname = \"ad\"\nurl = \"{}\"\nstarttls = true\nca_file = \"{}\"\nbind_dn = \"{}\"\n\
         password = \"{}\"\nbase = \"ou=people,dc=example,dc=org\"\nfilter = \"(objectClass=inetOrgPerson)\"\npage = 7\n\
         remove = \"absent\"\ngone_percent_max = 20\n\
         attributes = [\"uid:id\", \"cn:name\", \"mobile:sms\", \"mail:mail\", \"departmentNumber:department\"]\n{more}",
        slapd.url(),
        slapd.certificate().display(),
        it::SLAPD_READER,
        it::SLAPD_PASSWORD,
    )
}

fn people(count: usize) -> Vec<(String, String, String)> {
    (0..count).map(|n| (format!("p{n:03}"), format!("Person {n}"), format!("+467010{n:05}"))).collect()
}

fn borrowed(people: &[(String, String, String)]) -> Vec<(&str, &str, &str)> {
    people.iter().map(|(uid, name, number)| (uid.as_str(), name.as_str(), number.as_str())).collect()
}

async fn run(api: &Api, query: &str) -> Value {
    let begun = api.post(&format!("/api/v1/directories/ad:run{query}"), &json!({})).await.expect(202);
    let id = begun["id"].as_str().unwrap().to_owned();
    eventually("the run has ended", LATER, async || {
        let job = api.get(&format!("/api/v1/imports/{id}")).await.expect(200);
        let is_over = match job["state"].as_str() {
            Some("reading" | "comparing") => false,
            // It is committed, or a note says why not.
            Some("ready") => {
                !query.contains("false") || job["notes"].as_array().is_some_and(|notes| !notes.is_empty())
            }
            _ => true,
        };
        if is_over { Ok(job) } else { Err(job) }
    })
    .await
}

#[tokio::test]
async fn a_directory_is_read_in_pages_committed_and_followed() {
    let all = people(40);
    let mut slapd = Slapd::start(&borrowed(&all)).await;
    let mut server = Server::start(&config(&slapd, "")).await;
    let dry = run(&server.api(), "").await;
    assert_eq!((&dry["state"], &dry["counts"]["new"]), (&json!("ready"), &json!(40)), "{dry}");
    assert_eq!(server.api().get("/api/v1/recipients/p000").await.status, 404);

    // It waits over a crash too.
    server.kill9();
    server.restart().await;
    let id = dry["id"].as_str().unwrap();
    let committed = server.api().post(&format!("/api/v1/imports/{id}:commit"), &json!({})).await.expect(200);
    assert_eq!(committed["state"], "committed");
    let person = server.api().get("/api/v1/recipients/p007").await.expect(200);
    assert_eq!(
        (&person["attributes"]["department"], &person["attributes"]["directory"]),
        (&json!("harbour"), &json!("ad"))
    );

    slapd.replace(&borrowed(&all[..36])).await;
    let fewer = run(&server.api(), "?dry_run=false").await;
    assert_eq!((&fewer["state"], &fewer["counts"]["gone"]), (&json!("committed"), &json!(4)), "{fewer}");
    assert_eq!(server.api().get("/api/v1/recipients/p039").await.status, 404);
    let undone = server
        .api()
        .post(&format!("/api/v1/imports/{}:undo", fewer["id"].as_str().unwrap()), &json!({}))
        .await;
    undone.expect(200);
    server.api().get("/api/v1/recipients/p039").await.expect(200);

    slapd.replace(&borrowed(&all[..3])).await;
    let refused = run(&server.api(), "?dry_run=false").await;
    assert_eq!((&refused["state"], &refused["counts"]["gone"]), (&json!("ready"), &json!(37)), "{refused}");
    assert!(refused["notes"][0]["reason"].as_str().unwrap().contains("more than 20 %"), "{refused}");

    slapd.stop();
    let away = run(&server.api(), "?dry_run=false").await;
    assert_eq!(away["state"], "failed", "{away}");
    server.api().get("/api/v1/recipients/p039").await.expect(200);
    assert!(!server.whole_log().contains(it::SLAPD_PASSWORD), "the log has the password");
}

#[tokio::test]
async fn a_directory_that_does_not_admit_us_fails_in_words_without_the_password() {
    let all = people(3);
    let slapd = Slapd::start(&borrowed(&all)).await;
    let config = config(&slapd, "").replace(it::SLAPD_PASSWORD, "wrong-471147");
    let server = Server::start(&config).await;
    let failed = run(&server.api(), "").await;
    let reason = failed["failure"].as_str().unwrap();
    assert!(reason.contains("does not admit") && !reason.contains("wrong-471147"), "{failed}");
}

#[tokio::test]
async fn a_schedule_reads_it_and_waits_for_a_person() {
    let all = people(5);
    let slapd = Slapd::start(&borrowed(&all)).await;
    let server = Server::start(&config(&slapd, "every = \"1h\"\n")).await;
    let api = server.api();
    let job = eventually("the schedule has run", LATER, async || {
        let list = api.get("/api/v1/imports").await.expect(200);
        let first = list["items"][0].clone();
        if first["state"] == "ready" { Ok(first) } else { Err(list) }
    })
    .await;
    assert_eq!((&job["source"], &job["by"]["id"]), (&json!("directory:ad"), &json!("directory:ad")), "{job}");
}

/// Has a schedule read the directory in a moment; the import once it is committed, or waits with a reason.
async fn scheduled(api: &Api, id: &str) -> Value {
    let start = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
    let body = json!({"name": "People", "start": start.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        "time_zone": "Etc/UTC", "rule": "RRULE:FREQ=DAILY", "directory": "ad"});
    api.put(&format!("/api/v1/schedules/{id}"), &body).await.expect(201);
    eventually("the schedule's run is decided", LATER, async || {
        let schedule = api.get(&format!("/api/v1/schedules/{id}")).await.expect(200);
        let Some(import) = schedule["runs"][0]["import"].as_str() else { return Err(schedule) };
        let job = api.get(&format!("/api/v1/imports/{import}")).await.expect(200);
        let waits = job["notes"].as_array().is_some_and(|notes| !notes.is_empty());
        if job["state"] == "committed" || waits { Ok(job) } else { Err(job) }
    })
    .await
}

#[tokio::test]
async fn a_schedule_of_the_api_commits_it_unless_too_many_would_go() {
    let all = people(10);
    let mut slapd = Slapd::start(&borrowed(&all)).await;
    let server = Server::start(&config(&slapd, "dry_run = false\n")).await;
    let api = server.api();
    let first = scheduled(&api, "first").await;
    assert_eq!((&first["state"], &first["counts"]["new"]), (&json!("committed"), &json!(10)), "{first}");
    assert_ne!(first["by"]["id"], "directory:ad", "it acts in its author's name");
    slapd.replace(&borrowed(&all[..3])).await;
    let fewer = scheduled(&api, "second").await;
    assert_eq!((&fewer["state"], &fewer["counts"]["gone"]), (&json!("ready"), &json!(7)), "{fewer}");
    assert!(fewer["notes"][0]["reason"].as_str().unwrap().contains("more than 20 %"), "{fewer}");
    api.get("/api/v1/recipients/p009").await.expect(200);
}
