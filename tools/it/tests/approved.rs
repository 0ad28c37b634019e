//! Story of an alert that others have to approve, told by three people who signed in: written, submitted,
//! returned, edited, submitted again, approved, sent, corrected, and all clear, with the server killed
//! between any two steps, and in the middle of some. Nothing is lost, nobody is told twice, and nothing is
//! sent that nobody approved.

use crate::crash::seed;
use crate::fixtures::{LATER, assert_counts_add_up, carrier_that, count, number};
use it::{Api, Browser, Reply, Server, eventually, new_user, program, sms_route};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sim::smsc::{Counting, Receipts, Smsc};
use std::collections::HashMap;
use std::process::Command;

/// People of the town, beside the three at work.
const PEOPLE: u64 = 80;
/// The first number of theirs.
const FIRST: u64 = 10;
/// Submissions without an answer on the one session of a process.
pub const WINDOW: u64 = 4;
/// Submissions on their way that the kills of one message leave unknown, at most: two kills come while it is
/// sent.
const UNKNOWN_MAX: u64 = 2 * WINDOW;
const RETURNED: &str = "Water is unsafe in the harbour. Boil it.";
const APPROVED: &str = "Water is unsafe in the north. Boil it for a minute.";
const CORRECTION: &str = "Correction: boil the water for three minutes.";
const ALL_CLEAR: &str = "All clear: the water in the north is safe again.";

/// What is killed: a server, or whoever leads of several processes.
pub trait Ground {
    /// Kills it, and returns when somebody takes requests.
    async fn kill(&mut self);

    /// Whoever takes requests.
    fn api(&self) -> Api;
}

/// A carrier that takes everything and counts each text to each number.
pub async fn town_carrier(seed: u64) -> Smsc {
    carrier_that(|options| {
        options.receipts = Receipts { delay: "50ms..500ms".parse().unwrap(), ..Receipts::default() };
        options.latency = "5ms..40ms".parse().unwrap();
        options.count = Counting::Texts;
        options.seed = seed;
    })
    .await
}

/// What stands in the config: the way to the carrier, and that somebody else approves what a user sends.
pub fn config(carrier: &Smsc) -> String {
    let keys = format!("rate = 200.0\nsessions = 1\nwindow = {WINDOW}");
    let rule = "[[approval]]\nmode = \"live\"\norigin = [\"console\"]\nneeds = \"one\"\nremind = \"1d\"\n";
    sms_route("carrier", carrier.address(), &keys) + rule
}

/// Three people at work.
pub struct Office<'c, G> {
    ground: G,
    carrier: &'c Smsc,
    /// Writes.
    alva: Browser,
    /// Writes and sends, and approves what others wrote.
    jonas: Browser,
    /// Approves.
    mia: Browser,
    chance: StdRng,
    kills: usize,
    /// How many kills there had been when each alert was submitted.
    submitted: HashMap<String, usize>,
}

impl<'c, G: Ground> Office<'c, G> {
    pub async fn open(ground: G, carrier: &'c Smsc, seed: u64) -> Office<'c, G> {
        let api = ground.api();
        let person = |id: &str, place: u64, groups: Value| {
            json!({"id": id, "name": id, "language": "en", "groups": groups,
                "devices": [{"channel": "sms", "address": number(place)}]})
        };
        let mut people: Vec<Value> =
            (0..PEOPLE).map(|n| person(&format!("p{n}"), FIRST + n, json!(["north"]))).collect();
        people.push(person("mia", 0, json!([])));
        api.add_recipients(&json!(people)).await;
        for (name, roles) in [
            ("alva", json!(["author"])),
            ("jonas", json!(["author", "operator", "approver"])),
            ("mia", json!(["approver"])),
        ] {
            let user = json!({"name": name, "full_name": name, "person": name, "roles": roles,
                "spaces": ["live", "drill"]});
            new_user(&api, &user).await;
        }
        let alva = Browser::signed_in(&api, "alva", "live").await;
        let jonas = Browser::signed_in(&api, "jonas", "live").await;
        let mia = Browser::signed_in(&api, "mia", "live").await;
        Office {
            ground,
            carrier,
            alva,
            jonas,
            mia,
            chance: StdRng::seed_from_u64(seed),
            kills: 0,
            submitted: HashMap::new(),
        }
    }

    /// All of it. Between any two steps there is a kill, where the next one does not begin with its own.
    pub async fn work(mut self) {
        let draft = self.compose().await;
        self.kill().await;
        self.write(&draft, RETURNED).await;
        let first = self.submit(&draft).await;
        self.kill().await;
        self.give_back(&draft, &first).await;
        self.kill().await;
        self.write(&draft, APPROVED).await;
        let second = self.submit(&draft).await;
        assert_ne!(second, first, "what was returned stays returned");
        self.approve(&second).await;
        self.is_sent(&second, APPROVED).await;
        let correction = self.follow_up(&second, ("correction", CORRECTION)).await;
        let all_clear = self.follow_up(&second, ("all-clear", ALL_CLEAR)).await;
        self.kill().await;
        self.is_true_at_the_end([&first, &second, &correction, &all_clear]).await;
    }

    async fn kill(&mut self) {
        self.ground.kill().await;
        self.kills += 1;
        let api = self.ground.api();
        for browser in [&mut self.alva, &mut self.jonas, &mut self.mia] {
            browser.go_to(&api);
        }
    }

    async fn compose(&self) -> String {
        let body = json!({"headline": "Unsafe water", "audience": ["group:north"], "channels": ["sms"],
            "terminal": "delivered", "on_unknown": "hold", "text": "Water"});
        let made =
            patiently(&self.alva, |alva| alva.request(Method::POST, "/api/v1/drafts").json(&body)).await;
        made.expect(201)["id"].as_str().unwrap().to_owned()
    }

    /// Saves another text of the draft, which is as it was left.
    async fn write(&self, draft: &str, text: &str) {
        let path = format!("/api/v1/drafts/{draft}");
        let shown = patiently(&self.alva, |alva| alva.request(Method::GET, &path)).await.expect(200);
        assert_eq!(shown["request"]["audience"], json!(["group:north"]), "nothing is lost: {shown}");
        assert_eq!(shown["state"], "open", "{shown}");
        let version = format!("\"{}\"", shown["version"]);
        let save = |alva: &Browser| {
            alva.request(Method::PATCH, &path).header("if-match", &version).json(&json!({"text": text}))
        };
        let saved = patiently(&self.alva, save).await.expect(200);
        assert_eq!(saved["request"]["text"], text, "{saved}");
    }

    /// Submits the draft, and is killed in the middle of it; the alert waits, and nothing of it was sent.
    async fn submit(&mut self, draft: &str) -> String {
        let path = format!("/api/v1/drafts/{draft}:submit");
        let kills = self.kills;
        let refused = patiently(&self.alva, |alva| alva.request(Method::POST, &path)).await;
        assert_eq!(refused.status, 403, "who writes alone does not submit: {}", refused.text);
        self.killed_during(|jonas, _| jonas.request(Method::POST, &path)).await;
        let submitted = patiently(&self.jonas, |jonas| jonas.request(Method::POST, &path)).await.expect(202);
        let id = submitted["id"].as_str().unwrap().to_owned();
        let waits = self.waits(&id).await;
        let authors: Vec<&str> = waits["approval"]["authors"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|it| it["name"].as_str())
            .collect();
        assert_eq!(authors, ["jonas", "alva"], "{waits}");
        assert_eq!(waits["approval"]["people"], PEOPLE, "{waits}");
        self.mia_is_told(&id).await;
        self.submitted.insert(id.clone(), kills);
        id
    }

    /// The alert once it waits for approval.
    async fn waits(&self, id: &str) -> Value {
        let path = format!("/api/v1/alerts/{id}");
        eventually("the alert waits for approval", LATER, async || {
            let shown = self.jonas.try_send(self.jonas.request(Method::GET, &path)).await?;
            match shown.status == 200 && shown.json()["state"] == "awaiting_approval" {
                true => Ok(shown.json()),
                false => Err(shown.text),
            }
        })
        .await
    }

    /// Her own telephone says who asks for approval, and of what.
    async fn mia_is_told(&self, id: &str) {
        eventually("the approver is told", LATER, async || {
            let notices = self.notices(id);
            if notices == 0 { Err("no notice yet") } else { Ok(()) }
        })
        .await;
    }

    fn notices(&self, id: &str) -> usize {
        let messages = self.carrier.messages(10_000);
        messages.iter().filter(|it| it.text.contains("asks you to approve") && it.text.contains(id)).count()
    }

    /// Who submitted it does not approve it, and who may returns it: its draft is open.
    async fn give_back(&self, draft: &str, alert: &str) {
        let path = format!("/api/v1/alerts/{alert}");
        self.waits(alert).await;
        let reason = json!({"reason": "It is the north, not the harbour"});
        let returning = |mia: &Browser| mia.request(Method::POST, &format!("{path}:return")).json(&reason);
        let returned = patiently(&self.mia, returning).await.expect(200);
        assert_eq!(
            (&returned["state"], &returned["ended_by"]["kind"]),
            (&json!("cancelled"), &json!("returned")),
            "{returned}"
        );
        let drafts = format!("/api/v1/drafts/{draft}");
        let shown = patiently(&self.alva, |alva| alva.request(Method::GET, &drafts)).await.expect(200);
        assert_eq!(
            (&shown["state"], &shown["returned"]["reason"], &shown["returned"]["alert"]),
            (&json!("open"), &reason["reason"], &json!(alert)),
            "{shown}"
        );
        assert_eq!(self.sent(RETURNED), 0, "nothing is sent without approval");
    }

    /// Its author does not approve it; somebody else does, and the kill comes in the middle of that.
    async fn approve(&mut self, alert: &str) {
        let path = format!("/api/v1/alerts/{alert}");
        let version = format!("\"{}\"", self.waits(alert).await["version"]);
        let approve = |browser: &Browser| {
            browser.request(Method::POST, &format!("{path}:approve")).header("if-match", &version)
        };
        let own = patiently(&self.jonas, approve).await.expect(403);
        assert_eq!(own["type"], "urn:campanile:problem:another-person", "{own}");
        assert_eq!(self.sent(APPROVED), 0, "nothing is sent without approval");
        self.killed_during(|_, mia| approve(mia)).await;
        // It counts, or it is given again.
        let again = patiently(&self.mia, approve).await;
        assert!([200, 409, 412].contains(&again.status), "{}", again.text);
        let shown = patiently(&self.jonas, |jonas| jonas.request(Method::GET, &path)).await.expect(200);
        assert_eq!(shown["approval"]["approvals"][0]["by"]["person"], "mia", "{shown}");
        assert_eq!(shown["approval"]["approvals"].as_array().unwrap().len(), 1, "{shown}");
    }

    /// A message to those who got the alert needs nobody's approval.
    async fn follow_up(&mut self, alert: &str, (key, text): (&str, &str)) -> String {
        let body = json!({"headline": "Unsafe water", "text": text, "audience": [format!("alert:{alert}/received")],
            "channels": ["sms"], "terminal": "delivered", "on_unknown": "hold"});
        let send = |jonas: &Browser| {
            jonas.request(Method::POST, "/api/v1/alerts").header("idempotency-key", key).json(&body)
        };
        self.killed_during(|jonas, _| send(jonas)).await;
        let sent = patiently(&self.jonas, send).await.expect(202);
        let id = sent["id"].as_str().unwrap().to_owned();
        self.is_sent(&id, text).await;
        id
    }

    /// Kills while a request is on its way, at whatever step.
    async fn killed_during(&mut self, ask: impl FnOnce(&Browser, &Browser) -> RequestBuilder) {
        let request = ask(&self.jonas, &self.mia);
        let asking = tokio::spawn(request.send());
        for _ in 0..self.chance.random_range(0..20) {
            tokio::task::yield_now().await;
        }
        self.kill().await;
        // An answer, or the end of the connection.
        let _ = asking.await.unwrap();
    }

    /// Kills in the middle of the sending, and waits until nothing more happens: each has it once, but for
    /// those of whom nobody knows.
    async fn is_sent(&mut self, id: &str, text: &str) {
        let wanted = self.chance.random_range(1..PEOPLE / 2);
        eventually("messages go out", LATER, async || {
            let sent = self.sent(text);
            if sent >= wanted { Ok(()) } else { Err(format!("{sent} of {wanted}")) }
        })
        .await;
        self.kill().await;
        let report = self.rest(id).await;
        assert_counts_add_up(&report);
        let unknown = count(&report, "unknown");
        println!("{text}: {} delivered, {unknown} unknown", count(&report, "delivered"));
        assert_eq!(count(&report, "endpoints"), PEOPLE, "{report}");
        assert_eq!(count(&report, "delivered") + unknown, PEOPLE, "{report}");
        assert!(unknown <= UNKNOWN_MAX, "{report}");
        self.came_once(text, unknown);
    }

    /// An alert's report once all is decided, and every receipt was brought.
    async fn rest(&self, id: &str) -> Value {
        let path = format!("/api/v1/alerts/{id}/report");
        eventually("all is decided", LATER, async || {
            let reply = self.jonas.try_send(self.jonas.request(Method::GET, &path)).await?;
            if reply.status != 200 {
                return Err(reply.text);
            }
            let report = reply.json();
            let open: u64 =
                ["planned", "held", "submitted", "accepted"].map(|it| count(&report, it)).iter().sum();
            let waiting = self.carrier.stats().letters.waiting;
            if open == 0 && waiting == 0 {
                Ok(report)
            } else {
                Err(format!("{waiting} receipts wait; {report}"))
            }
        })
        .await
    }

    /// Copies of a text that the carrier took for the town.
    fn sent(&self, text: &str) -> u64 {
        (FIRST..FIRST + PEOPLE).map(|place| u64::from(self.carrier.accepted(&number(place), text))).sum()
    }

    /// Nobody has a text twice, and at most so many have it not at all.
    fn came_once(&self, text: &str, missing_max: u64) {
        let copies = (FIRST..FIRST + PEOPLE).map(|place| self.carrier.accepted(&number(place), text));
        let (mut missing, mut twice) = (0, 0);
        for copies in copies {
            missing += u64::from(copies == 0);
            twice += u64::from(copies > 1);
        }
        assert_eq!(twice, 0, "people who got it twice: {text}");
        assert!(missing <= missing_max, "{missing} of {missing_max} did not get it: {text}");
    }

    async fn is_true_at_the_end(&self, [first, second, correction, all_clear]: [&str; 4]) {
        assert_eq!(self.sent(RETURNED), 0, "what was returned is never sent");
        for text in [APPROVED, CORRECTION, ALL_CLEAR] {
            self.came_once(text, UNKNOWN_MAX);
        }
        let list = patiently(&self.mia, |mia| mia.request(Method::GET, "/api/v1/alerts")).await.expect(200);
        let listed: Vec<&str> =
            list["items"].as_array().unwrap().iter().map(|alert| alert["id"].as_str().unwrap()).collect();
        assert_eq!(listed, [all_clear, correction, second, first], "each was made once: {list}");
        for id in [first, second] {
            // One that is sent again was under way when the server was killed: once more for each kill.
            let (notices, most) = (self.notices(id), 1 + self.kills - self.submitted[id]);
            assert!((1..=most).contains(&notices), "{notices} notices, at most {most}");
        }
        self.trail_is_whole(first, second).await;
    }

    /// Who did what is in the audit trail, and its chain holds.
    async fn trail_is_whole(&self, first: &str, second: &str) {
        let api = self.ground.api();
        for (id, verb, detail) in
            [(first, "alert.return", "It is the north, not the harbour"), (second, "alert.approve", "")]
        {
            let trail =
                api.get(&format!("/api/v1/audit?object={id}&verb={verb}&limit=100")).await.expect(200);
            let acts = trail["items"].as_array().unwrap();
            let mias = acts.iter().filter(|act| act["token_name"] == "mia").count();
            assert!(mias >= 1, "{verb}: {trail}");
            assert!(acts.iter().any(|act| act["detail"] == detail), "{verb}: {trail}");
        }
        let mut verify = Command::new(program());
        verify.args(["audit", "verify", "--url", api.url()]).env("CAMPANILE_TOKEN", api.token());
        let output = tokio::task::block_in_place(|| verify.output().unwrap());
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
}

/// Asks until somebody answers who can: after a kill another process may not lead yet.
async fn patiently(browser: &Browser, ask: impl Fn(&Browser) -> RequestBuilder) -> Reply {
    eventually("somebody answers", LATER, async || match browser.try_send(ask(browser)).await {
        Ok(reply) if reply.status >= 500 => Err(reply.text),
        other => other,
    })
    .await
}

/// One server.
struct One(Server);

impl Ground for One {
    async fn kill(&mut self) {
        self.0.kill9();
        self.0.restart().await;
    }

    fn api(&self) -> Api {
        self.0.api()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_is_returned_approved_corrected_and_over_with_the_server_killed_between_any_two_steps() {
    let seed = seed();
    println!("IT_SEED={seed}");
    let carrier = town_carrier(seed).await;
    let server = Server::start(&config(&carrier)).await;
    Office::open(One(server), &carrier, seed).await.work().await;
}
