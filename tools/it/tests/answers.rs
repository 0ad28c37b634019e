//! Answers: by the page behind the link, by mail, by API; and people who say stop.

use crate::fixtures::{
    SOON, carrier_that, carrier_with, count, everybody_answers, mail_server, mail_server_that, number,
    phone_owner,
};
use it::{Api, Server, Setup, eventually, free_port, mail_route, sms_route};
use reqwest::Method;
use serde_json::{Value, json};
use sim::smsc::ReceiptOn;
use sim::town::Habits;
use std::time::Duration;

const CHOICES: &str = r#"[{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help <now>"}]"#;

fn question(audience: &str) -> Value {
    let choices: Value = serde_json::from_str(CHOICES).unwrap();
    json!({"headline": "Flood", "text": "Are you safe?", "audience": [audience], "require_answer": true, "choices": choices})
}

/// The answer link of the one mail that the mail server has.
async fn link(mails: &sim::mailbox::Mailbox) -> String {
    let mail = eventually("the mail has arrived", SOON, async || mails.mails(1).pop().ok_or("none")).await;
    let text = mail.words().text;
    let word = text.split_whitespace().find(|word| word.contains("/a/"));
    word.unwrap_or_else(|| panic!("no link in {text:?}")).to_owned()
}

#[tokio::test]
async fn the_answer_page_needs_no_script_and_only_its_post_records() {
    let mails = mail_server().await;
    let server = Server::start(&mail_route("relay", mails.address(), "")).await;
    let api = server.api();
    let id = api.submit(&question("mail:ann@town.test")).await;
    let link = link(&mails).await;
    assert!(link.starts_with(&server.url()), "{link}");
    let anybody = Api::new(&server.url(), "");

    // Scanners open every link, some more than once.
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let page = anybody.send(anybody.request(method, &link)).await;
        assert_eq!(page.status, 200);
        assert!(!page.text.contains("<script"), "{}", page.text);
        assert!(
            page.header("content-security-policy")
                .is_some_and(|policy| policy.contains("default-src 'none'"))
        );
    }
    let page = anybody.get(&link).await.text;
    assert!(page.contains("Are you safe?") && page.contains("I am safe"), "{page}");
    assert!(page.contains("&#60;now&#62;") || page.contains("&lt;now&gt;"), "labels are text: {page}");
    assert_eq!(count(&api.report(&id).await, "answered"), 0, "looking records nothing");

    let post = anybody.post_as(&link, "application/x-www-form-urlencoded", "answer=2").await;
    assert_eq!(post.status, 200, "{}", post.text);
    api.until(&id, "it is answered", SOON, |report| count(report, "answered") == 1).await;
    let delivery = &api.deliveries(&id).await[0];
    assert_eq!(
        (&delivery["answer"]["key"], &delivery["answer"]["via"]),
        (&json!("2"), &json!("link")),
        "{delivery}"
    );

    for wrong in ["x", "", "AAAA", &link[link.len() - 8..]] {
        let page = anybody.get(&format!("{}/a/{wrong}", server.url())).await;
        assert_eq!(page.status, 404, "{wrong:?}");
    }
    let last = link.chars().last().unwrap();
    let forged = format!("{}{}", &link[..link.len() - 1], if last == 'A' { 'B' } else { 'A' });
    assert_eq!(anybody.get(&forged).await.status, 404, "a link with one letter changed leads nowhere");
}

#[tokio::test]
async fn a_link_made_before_a_kill_still_leads_to_its_question() {
    let mails = mail_server().await;
    let mut server = Server::start(&mail_route("relay", mails.address(), "")).await;
    let id = server.api().submit(&question("mail:ann@town.test")).await;
    let link = link(&mails).await;
    server.kill9();
    server.restart().await;
    let anybody = Api::new(&server.url(), "");
    let post = anybody.post_as(&link, "application/x-www-form-urlencoded", "answer=1").await;
    assert_eq!(post.status, 200, "{}", post.text);
    server.kill9();
    server.restart().await;
    let report =
        server.api().until(&id, "it is answered", SOON, |report| count(report, "answered") == 1).await;
    assert_eq!(report["answers"]["1"], 1, "{report}");
}

#[tokio::test]
async fn replies_by_mail_are_answers_bounces_are_failures_and_machines_say_nothing() {
    let door = free_port();
    let people = |change: fn(&mut sim::town::MailHabits)| {
        let mut habits = everybody_answers("1");
        habits.mail.answering = 0.0;
        change(&mut habits.mail);
        Some(habits)
    };
    let cases: [(&str, Option<Habits>, &str); 3] = [
        ("answered", people(|mail| mail.answering = 1.0), "1"),
        ("failed", people(|mail| mail.lost = 1.0), ""),
        ("accepted", people(|mail| mail.away = 1.0), ""),
    ];
    let mails = mail_server_that(|options| options.door = Some(format!("127.0.0.1:{door}"))).await;
    let config = format!(
        "[smtp]\nlisten = \"127.0.0.1:{door}\"\ndomain = \"in.city.test\"\n{}",
        mail_route("relay", mails.address(), "")
    );
    let server = Server::start(&config).await;
    let api = server.api();
    for (state, people, key) in cases {
        let options = sim::mailbox::MailboxOptions {
            people,
            door: Some(format!("127.0.0.1:{door}")),
            ..Default::default()
        };
        mails.change(options).unwrap();
        let letters = mails.stats().letters;
        let id = api.submit(&question(&format!("mail:{state}@town.test"))).await;
        eventually("a letter came back", SOON, async || {
            let now = mails.stats().letters;
            if now != letters && now.waiting == 0 { Ok(()) } else { Err(format!("{now:?}")) }
        })
        .await;
        let report = api.until(&id, state, SOON, |report| count(report, state) == 1).await;
        if !key.is_empty() {
            assert_eq!(report["answers"][key], 1, "{report}");
            assert_eq!(api.deliveries(&id).await[0]["answer"]["via"], "mail");
        }
    }
}

#[tokio::test]
async fn whoever_says_stop_is_left_out_of_the_next_alert_and_told_why() {
    let mut people = Habits::silent(1);
    people.sms.stopping = 1.0;
    people.answer_after = "50ms".parse().unwrap();
    let carrier = carrier_with(people).await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    api.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let first = api.submit(&json!({"text": "one", "audience": ["all"]})).await;
    api.done(&first, SOON).await;
    let text = json!({"text": "two", "audience": ["all"]});
    let forecast = eventually("the stop was heard", SOON, async || {
        let forecast = api.post("/api/v1/alerts:forecast", &text).await.json();
        if forecast["endpoints"] == 0 { Ok(forecast) } else { Err(forecast) }
    })
    .await;
    assert!(forecast["excluded"].to_string().contains("opted out"), "{forecast}");
    let second = api.submit(&text).await;
    let report = api.done(&second, SOON).await;
    assert_eq!((count(&report, "excluded"), count(&report, "accepted")), (1, 0), "{report}");
    assert_eq!(api.deliveries(&second).await[0]["reason_code"], "opted_out");
    assert_eq!(carrier.stats().messages, 1);
}

#[tokio::test]
async fn an_answer_by_api_counts_and_the_same_words_by_phone_belong_to_the_last_alert_that_asked() {
    let carrier = carrier_with(Habits::silent(1)).await;
    let server =
        Server::start_with(Setup { config: sms_route("carrier", carrier.address(), ""), ..Setup::default() })
            .await;
    let api = server.api();
    api.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let first = api.submit(&question("recipient:ann")).await;
    api.until(&first, "it is delivered", SOON, |report| count(report, "delivered") == 1).await;
    let answer = json!({"alert": first, "recipient": "ann", "text": "2"});
    assert_eq!(api.post("/api/v1/answers", &answer).await.status, 204);
    let report = api.until(&first, "it is answered", SOON, |report| count(report, "answered") == 1).await;
    assert_eq!(report["answers"]["2"], 1, "{report}");

    // Now people answer by phone.
    let options = sim::smsc::SmscOptions { people: Some(everybody_answers("1")), ..Default::default() };
    carrier.change(options).unwrap();
    let second = api.submit(&question("recipient:ann")).await;
    let report = api.until(&second, "it is answered", SOON, |report| count(report, "answered") == 1).await;
    assert_eq!(report["answers"]["1"], 1, "{report}");
    let report = api.report(&first).await;
    assert_eq!(report["answers"], json!({"2": 1}), "the first alert's answer stands");

    let nobody = json!({"alert": first, "address": number(9), "text": "1"});
    let status = api.post("/api/v1/answers", &nobody).await.status;
    assert!(matches!(status, 404 | 422), "{status}");
}

#[tokio::test]
async fn answers_and_receipts_after_the_end_still_count_also_over_a_kill_and_out_of_memory() {
    // With receipts, which bring the alert back into memory before the answer comes, and without.
    for receipts in [ReceiptOn::Requested, ReceiptOn::Never] {
        let mut people = everybody_answers("1");
        people.answer_after = "4s".parse().unwrap();
        let carrier = carrier_that(|options| {
            options.people = Some(people);
            options.receipts.on = receipts;
            options.receipts.delay = "3s".parse().unwrap();
        })
        .await;
        // Finished alerts leave memory at once.
        let config = format!("[engine]\nlinger = \"1s\"\n{}", sms_route("carrier", carrier.address(), ""));
        for kills in [false, true] {
            let mut server = Server::start(&config).await;
            let api = server.api();
            let id = api.submit(&question(&format!("sms:{}", number(u64::from(kills))))).await;
            let report = api.done(&id, SOON).await;
            assert_eq!(count(&report, "accepted"), 1, "what it had to reach is the carrier: {report}");
            if kills {
                // Its end is in the database after a second: the start has nothing to do for it.
                tokio::time::sleep(Duration::from_secs(2)).await;
                server.kill9();
                server.restart().await;
            }
            let what = format!("it is answered, {receipts:?}, kills: {kills}");
            let report = api.until(&id, &what, SOON, |report| count(report, "answered") == 1).await;
            assert_eq!((&report["state"], &report["answers"]["1"]), (&json!("done"), &json!(1)), "{report}");
        }
    }
}

/// A phone writes to the number of the carrier's client.
fn writes(carrier: &sim::smsc::Smsc, phone: u64, text: &str) {
    let from = number(phone).trim_start_matches('+').to_owned();
    let injection =
        sim::smsc::Injection { from, to: "71700".into(), text: text.into(), account: None, long: None };
    carrier.inject(&injection).unwrap();
}

#[tokio::test]
async fn an_answer_is_a_key_only_when_it_says_so_and_other_words_are_counted_as_other() {
    let carrier = carrier_with(Habits::silent(1)).await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    let texts = ["1 person injured, send help", "２", "2 - we are trapped", "1 or 2?"];
    let people: Vec<Value> = (0..4).map(|n| phone_owner(&format!("p{n}"), n)).collect();
    api.add_recipients(&json!(people)).await;
    let id = api.submit(&question("all")).await;
    api.until(&id, "all have it", SOON, |report| count(report, "delivered") == 4).await;
    for (phone, text) in (0..).zip(texts) {
        writes(&carrier, phone, text);
    }
    let report = api.until(&id, "all have answered", SOON, |report| count(report, "answered") == 4).await;
    assert_eq!(report["answers"], json!({"2": 2, "other": 2}), "{report}");
}

#[tokio::test]
async fn a_stop_in_any_form_is_seen_in_the_record_and_a_sentence_with_stop_waits_for_a_person() {
    let carrier = carrier_with(Habits::silent(1)).await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    let people: Vec<Value> = (0..3).map(|n| phone_owner(&format!("p{n}"), n)).collect();
    api.add_recipients(&json!(people)).await;
    let first = api.submit(&json!({"text": "one", "audience": ["all"]})).await;
    api.done(&first, SOON).await;
    writes(&carrier, 0, "Arrêt, merci!");
    writes(&carrier, 1, "do not stop these, please");
    let out = async |id: &str| {
        let person = api.get(&format!("/api/v1/recipients/{id}")).await.json();
        person["devices"][0]["opted_out"] == true
    };
    eventually("the stop is seen", SOON, async || if out("p0").await { Ok(()) } else { Err("not yet") })
        .await;
    let listed = eventually("the sentence is listed", SOON, async || {
        let listed = api.get("/api/v1/stops").await.json();
        if listed["items"][0].is_object() { Ok(listed) } else { Err(listed) }
    })
    .await;
    assert_eq!(listed["items"][0]["address"], number(1), "{listed}");
    assert!(!out("p1").await, "nothing is decided yet");
    let confirm = format!("/api/v1/stops/{}:confirm", listed["items"][0]["id"].as_str().unwrap());
    assert_eq!(api.post(&confirm, &json!({})).await.status, 204);
    assert!(out("p1").await);
    let second = api.submit(&json!({"text": "two", "audience": ["all"]})).await;
    let report = api.done(&second, SOON).await;
    assert_eq!((count(&report, "excluded"), count(&report, "accepted")), (2, 1), "{report}");
}
