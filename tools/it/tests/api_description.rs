//! Description of the API, as programs of others read it: clients generated from it work, and a tester finds
//! no difference between it and the server.

use crate::fixtures::{SOON, carrier, count, mail_server, number, phone_owner, phones_csv};
use it::{Api, OpenApiTools, Server, eventually, mail_route, platform, program, sms_route};
use serde_json::{Value, json};
use sim::webhook::{WebhookOptions, WebhookReceiver};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::Command;

/// People in the clients' file.
const PEOPLE: u64 = 40;

async fn people_and_server() -> (sim::smsc::Smsc, Server, tempfile::NamedTempFile) {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let mut people = tempfile::NamedTempFile::new().unwrap();
    people.write_all(&phones_csv(PEOPLE)).unwrap();
    (carrier, server, people)
}

/// What a client saw: everybody of its file, and the person it added by hand.
fn check_seen(seen: &Value, carrier: &sim::smsc::Smsc) {
    assert_eq!((seen["imported"].as_u64(), seen["state"].as_str()), (Some(PEOPLE), Some("done")), "{seen}");
    let everybody = PEOPLE + 1;
    assert_eq!(
        (count(seen, "endpoints"), seen["deliveries"].as_u64()),
        (everybody, Some(everybody)),
        "{seen}"
    );
    assert_eq!(count(seen, "accepted") + count(seen, "delivered"), everybody, "{seen}");
    assert_eq!(carrier.stats().messages, everybody);
}

#[tokio::test]
async fn a_client_generated_for_python_imports_people_sends_an_alert_and_reads_its_report() {
    let (carrier, server, people) = people_and_server().await;
    let seen = OpenApiTools::of(&server).await.python(&server, people.path()).await;
    check_seen(&seen, &carrier);
}

#[tokio::test]
async fn a_client_generated_for_typescript_imports_people_sends_an_alert_and_reads_its_report() {
    let (carrier, server, people) = people_and_server().await;
    let seen = OpenApiTools::of(&server).await.typescript(&server, people.path()).await;
    check_seen(&seen, &carrier);
}

#[tokio::test]
async fn the_program_prints_the_description_that_its_server_gives() {
    let server = Server::start("").await;
    let printed = Command::new(program()).arg("openapi").output().unwrap();
    assert!(printed.status.success());
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed, server.api().get("/openapi.json").await.expect(200));
}

/// A public message of an authority, with an end long from now.
fn cap_message() -> String {
    let now = jiff::Timestamp::now();
    let at = |seconds: i64| {
        (now + jiff::SignedDuration::from_secs(seconds)).strftime("%Y-%m-%dT%H:%M:%S-00:00").to_string()
    };
    format!(
        "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>1</identifier><sender>town</sender><sent>{}</sent>\
         <status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><category>Fire</category><event>Fire</event>\
         <urgency>Immediate</urgency><severity>Severe</severity><certainty>Observed</certainty><expires>{}</expires>\
         <description>Close your windows.</description><area><areaDesc>Town</areaDesc></area></info></alert>",
        at(-60),
        at(6 * 3_600)
    )
}

/// What is there before the tester comes: something of each noun, and of some enough to be removed.
struct Seeds {
    api: Api,
    seeds: BTreeMap<String, Vec<Value>>,
}

impl Seeds {
    /// Values of the parameters of a path.
    fn add(&mut self, path: &str, parameters: Value) {
        self.add_seed(path, json!({"path": parameters}));
    }

    /// Anything of a request: path, query, headers, body.
    fn add_seed(&mut self, path: &str, seed: Value) {
        self.seeds.entry(path.to_owned()).or_default().push(seed);
    }

    async fn people(&mut self) {
        let mut people: Vec<Value> = (0..9).map(|place| phone_owner(&format!("p{place}"), place)).collect();
        people[0]["devices"]
            .as_array_mut()
            .unwrap()
            .push(json!({"channel": "mail", "address": "ann@town.test"}));
        self.api.add_recipients(&json!(people)).await;
        self.add("/api/v1/recipients/{id}", json!({"id": "p1"}));
        self.add("/api/v1/groups/{id}", json!({"id": "staff"}));
        self.api.add_group(&json!({"id": "staff", "members": ["p1", "p2"]})).await;
        self.page("p2").await;
        for place in 3..9 {
            self.add("DELETE /api/v1/recipients/{id}", json!({"id": format!("p{place}")}));
            self.api.add_group(&json!({"id": format!("g{place}")})).await;
            self.add("DELETE /api/v1/groups/{id}", json!({"id": format!("g{place}")}));
        }
    }

    /// A person's own page, and a form of it.
    async fn page(&mut self, id: &str) {
        self.add("/api/v1/recipients/{id}:page-link", json!({"id": id}));
        let made = self.api.post(&format!("/api/v1/recipients/{id}:page-link"), &json!({})).await.expect(200);
        let link = made["url"].as_str().unwrap();
        let page = self.api.get(link).await.text;
        let form = page.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let form = json!({"form": form, "act": "language", "language": "sv"});
        let token = link.rsplit('/').next().unwrap();
        self.add_seed("/p/{token}", json!({"path": {"token": token}, "body": form}));
    }

    async fn alerts(&mut self) {
        let text = json!({"text": "x {{name}}", "headline": "H", "audience": ["recipient:p0"], "require_answer": true,
            "choices": [{"key": "1", "label": "Safe"}], "texts": {"sv": {"mail": {"subject": "S", "text": "y"}}},
            "callback": {"url": "https://nobody.example"}});
        let done = self.api.submit(&json!({"text": "x", "audience": ["group:staff"]})).await;
        let mail = json!({"text": "x", "channels": ["mail"], "texts": {"mail": {"html": "<p>x</p>"}}});
        let shown = self.api.post("/api/v1/alerts:preview", &mail).await.expect(200);
        let page = shown["texts"][0]["html"]["url"].as_str().unwrap();
        self.add("/api/v1/previews/{id}", json!({"id": page.rsplit('/').next()}));
        self.api.done(&done, SOON).await;
        let asked = self.api.submit_and_solve(&text).await;
        let message = cap_message();
        let cap = "/api/v1/cap?audience=all&mode=sync";
        let cap = self.api.post_as(cap, "application/cap+xml", message.clone()).await;
        let cap = cap.expect(201)["id"].as_str().unwrap().to_owned();
        self.add("/cap/{id}", json!({"id": cap}));
        for id in [&done, &asked, &cap] {
            for part in ["", "/deliveries", "/report", "/forecast", "/verdict", "/cap", "/observers"] {
                self.add(&format!("/api/v1/alerts/{{id}}{part}"), json!({"id": id}));
            }
        }
        self.add("/plain/alerts/{id}", json!({"id": done}));
        let answer = json!({"alert": asked, "recipient": "p0", "text": "1"});
        self.add_seed("POST /api/v1/answers", json!({"body": answer}));
        let recorded =
            json!({"path": {"id": asked, "recipient": "p0"}, "body": {"choice": "1", "note": "at the gate"}});
        self.add_seed("/api/v1/alerts/{id}/people/{recipient}:answer", recorded);
        let expires = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(72)).to_string();
        let extended = json!({"path": {"id": self.waiting_alert().await}, "body": {"expires": expires}});
        self.add_seed("/api/v1/alerts/{id}:extend", extended);
        self.add_seed("POST /api/v1/drills:replay", json!({"body": {"alert": done}}));
        let query = json!({"audience": "all", "mode": "async"});
        let headers = json!({"Content-Type": "application/cap+xml"});
        self.add_seed("POST /api/v1/cap", json!({"query": query, "body": message, "headers": headers}));
        // A stream of what is over ends.
        self.add("/api/v1/alerts/{id}/events", json!({"id": done}));
        self.add("/api/v1/alerts/{id}:retry-failed", json!({"id": done}));
        let verbs: [&[&str]; 3] = [&["cancel"], &["pause", "resume"], &["approve"]];
        for (place, verbs) in (0..6).zip(verbs.iter().cycle()) {
            let id = self.waiting_alert().await;
            for verb in *verbs {
                self.add(&format!("/api/v1/alerts/{{id}}:{verb}"), json!({"id": id}));
            }
            let observer = json!({"url": format!("https://nobody.example/{place}")});
            let made = self.api.post(&format!("/api/v1/alerts/{id}/observers"), &observer).await.expect(201);
            let removed = json!({"id": id, "observer": made["id"]});
            self.add("/api/v1/alerts/{id}/observers/{observer}", removed);
        }
    }

    /// Calls for help: one to be taken and noted, one to be resolved.
    async fn calls_for_help(&mut self) {
        let choices =
            json!([{"key": "1", "label": "Safe"}, {"key": "2", "label": "Help", "needs_help": true}]);
        let alert = json!({"text": "x", "audience": ["recipient:p1", "recipient:p2"], "choices": choices});
        let id = self.api.submit_and_solve(&alert).await;
        for recipient in ["p1", "p2"] {
            let answer = json!({"alert": id, "recipient": recipient, "text": "2"});
            self.api.post("/api/v1/answers", &answer).await.expect(204);
        }
        let cases = eventually("both calls are listed", SOON, async || {
            let listed = self.api.get("/api/v1/help-cases").await.json()["items"].as_array().cloned();
            listed.filter(|items| items.len() == 2).ok_or("not yet")
        })
        .await;
        self.add("/api/v1/help-cases/{id}:take", json!({"id": cases[0]["id"]}));
        let path = |place: usize| json!({"id": cases[place]["id"]});
        let note = json!({"path": path(0), "body": {"text": "an ambulance is on its way"}});
        self.add_seed("/api/v1/help-cases/{id}:note", note);
        let resolved = json!({"path": path(1), "body": {"text": "at hospital"}});
        self.add_seed("/api/v1/help-cases/{id}:resolve", resolved);
    }

    /// An alert that is sent long after the test.
    async fn waiting_alert(&self) -> String {
        let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let alert = json!({"text": "x", "audience": ["all"], "not_before": later.to_string()});
        self.api.submit_and_solve(&alert).await
    }

    /// Words that are perhaps a STOP, each for one decision.
    async fn stops(&mut self, carrier: &sim::smsc::Smsc) {
        const SENTENCES: u64 = 8;
        for place in 0..SENTENCES {
            let (from, to) = (number(30 + place), "71700".into());
            let text = format!("please do not stop this, {place}");
            let said = sim::smsc::Injection { from, to, text, account: None, long: None };
            carrier.inject(&said).unwrap();
        }
        let listed = eventually("the sentences are listed", SOON, async || {
            let listed = self.api.get("/api/v1/stops").await.json()["items"].as_array().cloned();
            listed.filter(|items| items.len() as u64 == SENTENCES).ok_or("not yet")
        })
        .await;
        for (item, verb) in listed.iter().zip(["confirm", "dismiss"].iter().cycle()) {
            self.add(&format!("/api/v1/stops/{{id}}:{verb}"), json!({"id": item["id"]}));
        }
    }

    /// Requests to join a group, each for one decision; who makes them is nobody else's example.
    async fn group_requests(&mut self, carrier: &sim::smsc::Smsc) {
        const REQUESTS: u64 = 8;
        let people: Vec<Value> =
            (0..REQUESTS).map(|place| phone_owner(&format!("j{place}"), 50 + place)).collect();
        self.api.add_recipients(&json!(people)).await;
        self.api.add_group(&json!({"id": "divers", "name": "Divers", "join": "approval"})).await;
        for place in 0..REQUESTS {
            let (from, to, text) = (number(50 + place), "71700".into(), "JOIN divers".to_owned());
            carrier.inject(&sim::smsc::Injection { from, to, text, account: None, long: None }).unwrap();
        }
        let listed = eventually("the requests are listed", SOON, async || {
            let listed = self.api.get("/api/v1/group-requests").await.json()["items"].as_array().cloned();
            listed.filter(|items| items.len() as u64 == REQUESTS).ok_or("not yet")
        })
        .await;
        for (item, verb) in listed.iter().zip(["approve", "reject"].iter().cycle()) {
            self.add(&format!("/api/v1/group-requests/{{id}}:{verb}"), json!({"id": item["id"]}));
        }
    }

    /// The signed URL at which a device reports, as its message names it.
    async fn device(&mut self, receiver: &WebhookReceiver) {
        let url = format!("webhook:http://{}/siren", receiver.address());
        self.api.submit(&json!({"text": "x", "audience": [url]})).await;
        let report = eventually("the device has its message", SOON, async || {
            receiver.hooks(1).first().and_then(|hook| hook.text_of("receipt_url")).ok_or("not yet")
        })
        .await;
        let token = report.rsplit('/').next().unwrap();
        self.add_seed("/w/{token}", json!({"path": {"token": token}, "body": {"state": "delivered"}}));
    }

    /// Routes, of which one is held and another tested; a person's device.
    async fn routes(&mut self) {
        for part in ["", "/history"] {
            self.add(&format!("/api/v1/routes/{{id}}{part}"), json!({"id": "carrier"}));
        }
        for verb in ["hold", "release"] {
            self.add(&format!("/api/v1/routes/{{id}}:{verb}"), json!({"id": "hooks"}));
        }
        let test = json!({"to": number(21)});
        let sent = self.api.post("/api/v1/routes/carrier:test", &test).await.expect(202);
        self.add("/api/v1/tests/{id}", json!({"id": sent["id"]}));
        let seed = json!({"path": {"id": "carrier"}, "body": test});
        self.add_seed("/api/v1/routes/{id}:test", seed);
        self.add("/api/v1/recipients/{id}/devices/{n}:test", json!({"id": "p0", "n": 1}));
    }

    /// Imports that wait and that were committed, several for each decision.
    async fn imports(&mut self) {
        let rule = json!({"rule": {"attribute": "floor", "is": "2"}});
        self.add_seed("POST /api/v1/groups:preview", json!({"body": rule}));
        for (place, verb) in (0..9).zip(["commit", "discard", "undo"].iter().cycle()) {
            let csv = format!("id,name,sms\ni{place},Ann,\nj{place},Bo,12\n");
            let path = "/api/v1/recipients:import?dry_run=true&on_problem=skip";
            let id = self.api.post_as(path, "text/csv", csv).await.expect(202)["id"].clone();
            let path = format!("/api/v1/imports/{}", id.as_str().unwrap());
            eventually("the import waits", SOON, async || {
                let job = self.api.get(&path).await.expect(200);
                if job["state"] == "ready" { Ok(()) } else { Err(job) }
            })
            .await;
            if *verb == "undo" {
                self.api.post(&format!("{path}:commit"), &json!({})).await.expect(200);
            }
            for part in ["", "/problems.csv"] {
                self.add(&format!("/api/v1/imports/{{id}}{part}"), json!({"id": id}));
            }
            self.add(&format!("/api/v1/imports/{{id}}:{verb}"), json!({"id": id}));
        }
        self.add("/api/v1/groups/{id}/people", json!({"id": "staff"}));
        self.add("/api/v1/directories/{id}:run", json!({"id": "away"}));
    }

    async fn the_rest(&mut self) {
        for role in ["viewer", "submit", "operator", "admin"] {
            let made = self.api.post("/api/v1/tokens", &json!({"role": role})).await.expect(201);
            self.add("/api/v1/tokens/{id}", json!({"id": made["id"]}));
        }
        let file = self.api.post_as("/api/v1/attachments", "text/plain", "a plan").await.expect(201);
        self.add("/api/v1/attachments/{id}", json!({"id": file["id"]}));
        for id in ["platform", "e164:46701740605"] {
            self.api.post("/api/v1/accounts", &json!({"id": id, "balance": 100_000})).await.expect(201);
            for part in ["", "/records", ":topup", ":block", ":unblock"] {
                self.add(&format!("/api/v1/accounts/{{id}}{part}"), json!({"id": id}));
            }
        }
        self.add_seed("GET /api/v1/credit-sessions", json!({"query": {"account": "platform"}}));
        self.add_seed("DELETE /api/v1/tariffs", json!({"headers": {"If-Match": "*"}}));
        let csv = json!({"Content-Type": "text/csv"});
        self.add_seed(
            "POST /api/v1/recipients:import",
            json!({"headers": csv, "body": "id,name\nimported,Ann\n"}),
        );
        self.imports().await;
        let message = json!({"username": "tester", "password": "secret", "to": number(20), "text": "x"});
        self.add_seed("/cgi-bin/sendsms", json!({"query": message}));
        self.add("/api/v1/clients/{id}", json!({"id": "tester"}));
        self.add_seed("POST /api/v1/config:check", json!({"body": {"text": "[http]"}}));
        for host in ["a", "b", "c"] {
            let rule = json!({"origin_host": host, "realm": "town.test"});
            let made = self.api.post("/api/v1/diameter-peers", &rule).await.expect(201);
            self.add("/api/v1/diameter-peers/{id}", json!({"id": made["id"]}));
        }
    }
}

/// The token of the answer link in the one mail that there is.
async fn link(mails: &sim::mailbox::Mailbox) -> String {
    eventually("a mail with a link has arrived", SOON, async || {
        let texts = mails.mails(10).into_iter().map(|mail| mail.words().text);
        let link = |text: String| text.split_once("/a/").map(|(_, rest)| rest.to_owned());
        let rest = texts.filter_map(link).next().ok_or("none")?;
        Ok::<_, &str>(rest.split_whitespace().next().unwrap_or_default().to_owned())
    })
    .await
}

/// The operations that were answered with success, and how many cases there were, of schemathesis's events.
fn reached(events: &str) -> (BTreeSet<String>, usize) {
    let (mut reached, mut cases) = (BTreeSet::new(), 0);
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let recorder = &event["ScenarioFinished"]["recorder"];
        let label = recorder["label"].as_str().unwrap_or_default();
        for interaction in recorder["interactions"].as_object().into_iter().flatten().map(|(_, one)| one) {
            cases += 1;
            if interaction["response"]["status_code"].as_u64().is_some_and(|status| status < 400) {
                reached.insert(label.to_owned());
            }
        }
    }
    (reached, cases)
}

#[tokio::test]
async fn schemathesis_reaches_the_operations_and_finds_no_difference_to_the_description() {
    let (carrier, mails) = (carrier().await, mail_server().await);
    let receiver = WebhookReceiver::start(WebhookOptions::default()).await.unwrap();
    let config = [
        "[[route]]\nname = \"hooks\"\nchannel = \"webhook\"\nmode = \"live\"\n".to_owned(),
        sms_route("carrier", carrier.address(), ""),
        mail_route("relay", mails.address(), ""),
        // It hears a number of its own: what people write to others is for the account of alerts.
        platform("tester", "numbers = [\"99999\"]"),
        "[charging]\nmode = \"ledger\"\ndefault_account = {balance = 1000000}\n".to_owned(),
        // Nobody listens there: a run is begun, and fails.
        "[[directory]]\nname = \"away\"\nurl = \"ldap://127.0.0.1:1\"\nbase = \"dc=x\"\n".to_owned(),
    ];
    let server = Server::start(&config.concat()).await;
    let mut seeds = Seeds { api: server.api(), seeds: BTreeMap::new() };
    seeds.people().await;
    seeds.alerts().await;
    seeds.calls_for_help().await;
    seeds.the_rest().await;
    seeds.stops(&carrier).await;
    seeds.group_requests(&carrier).await;
    seeds.device(&receiver).await;
    seeds.routes().await;
    let link = json!({"path": {"token": link(&mails).await}, "body": {"answer": "1"}});
    seeds.add_seed("/a/{token}", link);
    let events = OpenApiTools::of(&server).await.schemathesis(&server, &json!(seeds.seeds)).await;
    let (reached, cases) = reached(&events);
    assert!(cases > 1_000, "{cases} cases");
    let document = server.api().get("/openapi.json").await.expect(200);
    let mut missed = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let labels =
            operations.as_object().unwrap().keys().map(|method| format!("{} {path}", method.to_uppercase()));
        missed.extend(labels.filter(|label| !reached.contains(label)));
    }
    missed.retain(|label| !WITHOUT_SEED.contains(&label.as_str()));
    assert_eq!(missed, NOT_REACHED.map(str::to_owned).into(), "of {cases} cases");
}

/// Operations that need what the tester has not: a browser's cookie and a session of a person, a session of
/// credit control, a rule of approval, an SMPP client, a text topic, a map, a demonstration, the patience for
/// a stream that does not end. Answers of those of people are compared with the description by the unit tests
/// of the door.
const NOT_REACHED: [&str; 38] = [
    "DELETE /api/v1/credit-sessions/{id}",
    "DELETE /api/v1/me/passkeys/{id}",
    "DELETE /api/v1/me/sessions",
    "DELETE /api/v1/me/sessions/{session}",
    "DELETE /api/v1/me/totp",
    "DELETE /api/v1/users/{id}/sessions/{session}",
    "GET /api/v1/demo",
    "GET /api/v1/events",
    "GET /api/v1/map/outlines",
    "GET /api/v1/map/tiles/{z}/{x}/{y}",
    "GET /api/v1/me",
    "GET /api/v1/me/passkeys",
    "GET /api/v1/me/sessions",
    "GET /api/v1/session",
    "GET /api/v1/topics/{id}/messages",
    "GET /auth/link/{secret}",
    "GET /auth/oidc/callback",
    "GET /auth/oidc/start",
    "GET /plain/alerts/{id}",
    "POST /api/v1/alerts/{id}:approve",
    "POST /api/v1/alerts/{id}:reject",
    "POST /api/v1/alerts/{id}:return",
    "POST /api/v1/alerts/{id}:review",
    "POST /api/v1/alerts/{id}:send-alone",
    "POST /api/v1/clients/{id}:unbind",
    "POST /api/v1/demo/carriers/{id}",
    "POST /api/v1/invitations:accept",
    "POST /api/v1/me/passkeys",
    "POST /api/v1/me/passkeys:options",
    "POST /api/v1/me/recovery-codes",
    "POST /api/v1/me/totp",
    "POST /api/v1/session",
    "POST /api/v1/session:confirm",
    "POST /api/v1/session:second",
    "POST /login",
    "POST /logout",
    "PUT /api/v1/me/password",
    "PUT /api/v1/me/totp",
];

/// Operations that have no seed yet, or need another before them: chance decides whether a case reaches them.
const WITHOUT_SEED: [&str; 8] = [
    "DELETE /api/v1/profiles/{id}",
    "GET /api/v1/drafts/{id}/versions/{version}",
    "GET /api/v1/messages/{id}",
    "GET /api/v1/profiles/{id}",
    "POST /api/v1/drafts/{id}:submit",
    "POST /api/v1/routes/{id}:release",
    "POST /api/v1/schedules/{id}:run",
    "PUT /api/v1/profiles/{id}",
];
