//! Instant messages of the real program: against Synapse, against a bot API that nobody here wrote, and
//! against the simulated networks where faults are wanted.

use crate::fixtures::{LATER, SOON, count};
use it::{Api, MatrixUser, Server, Synapse, TelegramServer, eventually};
use serde_json::{Value, json};
use sim::im::{ImOptions, Messengers};
use std::time::Duration;

fn matrix_route(url: &str, token: &str) -> String {
    format!(
        "[[route]]\nname = \"matrix\"\nchannel = \"im\"\nprotocol = \"matrix\"\nmode = \"live\"\n\
         homeserver = \"{url}\"\naccess_token = \"{token}\"\n"
    )
}

fn telegram_route(url: &str) -> String {
    format!(
        "[[route]]\nname = \"telegram\"\nchannel = \"im\"\nprotocol = \"telegram\"\nmode = \"live\"\n\
         address = \"{url}\"\ntoken = \"666:secret-of-the-bot\"\n"
    )
}

fn asking(audience: Value) -> Value {
    json!({
        "text": "Leave by the north gate", "audience": audience, "require_answer": true,
        "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}],
        "terminal": "answered",
    })
}

/// The delivery to an address, once it is in a state.
async fn until_state(server: &Server, alert: &str, address: &str, state: &str) -> Value {
    eventually(&format!("{address} is {state}"), LATER, async || {
        let deliveries = server.api().deliveries(alert).await;
        let found = deliveries.iter().find(|delivery| delivery["address"] == address).cloned();
        match found {
            Some(delivery) if delivery["state"] == state => Ok(delivery),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}

fn address(user: &MatrixUser) -> String {
    format!("matrix:{}", user.id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn synapse_delivers_by_receipts_alone_and_answers_come_by_reply_and_reaction() {
    let synapse = Synapse::start("").await;
    let (alerts, ann, ben) =
        (synapse.user("alerts").await, synapse.user("ann").await, synapse.user("ben").await);
    let mut server = Server::start(&matrix_route(&synapse.url(), &alerts.token)).await;
    let (to_ann, to_ben) = (address(&ann), address(&ben));
    server.api().add_recipients(&json!([{"id": "ann", "name": "Ann", "im": to_ann}])).await;
    let id = server.api().submit(&asking(json!(["recipient:ann", to_ben]))).await;
    let (room_of_ann, room_of_ben) = (ann.join_invited(LATER).await, ben.join_invited(LATER).await);
    let (text, event) = ann.texts(&room_of_ann, 1, SOON).await.remove(0);
    assert!(text.starts_with("Leave by the north gate") && text.contains("1 = I am safe"), "{text}");
    until_state(&server, &id, &to_ann, "accepted").await;
    until_state(&server, &id, &to_ben, "accepted").await;

    ann.read(&room_of_ann, &event).await;
    until_state(&server, &id, &to_ann, "delivered").await;
    until_state(&server, &id, &to_ben, "accepted").await;

    // Killed in between, it hears what was said while it was gone.
    server.kill9();
    let relates = json!({"m.in_reply_to": {"event_id": event}});
    let reply = json!({"msgtype": "m.text", "body": "2", "m.relates_to": relates});
    ann.send(&room_of_ann, "m.room.message", "t1", &reply).await;
    let of_ben = ben.texts(&room_of_ben, 1, SOON).await.remove(0).1;
    let relates = json!({"rel_type": "m.annotation", "event_id": of_ben, "key": "1\u{fe0f}\u{20e3}"});
    ben.send(&room_of_ben, "m.reaction", "t1", &json!({"m.relates_to": relates})).await;
    server.restart().await;
    let answered = until_state(&server, &id, &to_ann, "answered").await;
    assert_eq!(answered["answer"]["key"], "2", "{answered}");
    let answered = until_state(&server, &id, &to_ben, "answered").await;
    assert_eq!(answered["answer"]["key"], "1", "{answered}");

    // A second alert goes to the same rooms; one receipt covers what stands before it.
    let second = server.api().submit(&json!({"text": "All clear", "audience": [to_ann]})).await;
    let third = server.api().submit(&json!({"text": "Go home", "audience": [to_ann]})).await;
    let events = ann.texts(&room_of_ann, 3, SOON).await;
    ann.read(&room_of_ann, &events[2].1).await;
    until_state(&server, &second, &to_ann, "delivered").await;
    until_state(&server, &third, &to_ann, "delivered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn synapse_an_encrypted_room_is_refused_in_words_and_a_stranger_in_the_servers() {
    let synapse = Synapse::start("encryption_enabled_by_default_for_room_type: invite\n").await;
    let (alerts, ann) = (synapse.user("alerts").await, synapse.user("ann").await);
    let server = Server::start(&matrix_route(&synapse.url(), &alerts.token)).await;
    let nowhere = "matrix:#nowhere:town.test";
    let id = server.api().submit(&json!({"text": "Fire", "audience": [address(&ann), nowhere]})).await;
    let report = server.api().done(&id, LATER).await;
    assert_eq!(count(&report, "failed"), 2, "{report}");
    let refused = until_state(&server, &id, &address(&ann), "failed").await;
    assert!(refused["reason"].as_str().unwrap().contains("end-to-end encrypted"), "{refused}");
    let refused = until_state(&server, &id, nowhere, "failed").await;
    assert!(refused["reason"].as_str().unwrap().contains("not found"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_test_api_buttons_and_replies_are_answers_and_nothing_claims_delivery() {
    let telegram = TelegramServer::start("666:secret-of-the-bot").await;
    let server = Server::start(&telegram_route(&telegram.url())).await;
    let id = server.api().submit(&asking(json!(["telegram:7", "telegram:8"]))).await;
    let messages = eventually("both have it", LATER, async || {
        let messages = telegram.messages();
        if messages.len() == 2 { Ok(messages) } else { Err(format!("{messages:?}")) }
    })
    .await;
    let of = |chat: &str| messages.iter().find(|message| message["chat"] == chat).unwrap();
    until_state(&server, &id, "telegram:7", "accepted").await;
    telegram.press("7", of("7")["buttons"]["I need help"].as_str().unwrap());
    telegram.press("8", of("7")["buttons"]["I need help"].as_str().unwrap().replace(".2", ".1").as_str());
    telegram.reply("8", of("8")["id"].as_str().unwrap(), "1");
    let answered = until_state(&server, &id, "telegram:7", "answered").await;
    assert_eq!(answered["answer"]["key"], "2", "{answered}");
    let answered = until_state(&server, &id, "telegram:8", "answered").await;
    assert_eq!(answered["answer"]["key"], "1", "{answered}");
}

/// What the link to the bot carries, on a person's own page.
async fn start_payload(server: &Server, person: &str) -> String {
    let link =
        server.api().post(&format!("/api/v1/recipients/{person}:page-link"), &json!({})).await.expect(200);
    let page = Api::new(&server.url(), "").get(link["url"].as_str().unwrap()).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let behind = page.text.split("https://t.me/city_alerts_bot?start=").nth(1);
    let behind = behind.unwrap_or_else(|| panic!("no link to the bot: {}", page.text));
    behind.split('"').next().unwrap().to_owned()
}

/// Texts that a chat got from the bot.
fn texts_to(telegram: &TelegramServer, chat: &str) -> Vec<String> {
    let messages = telegram.messages().into_iter().filter(|message| message["chat"] == chat);
    messages.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

async fn hears(telegram: &TelegramServer, chat: &str, words: &str) {
    eventually(&format!("chat {chat} hears {words:?}"), LATER, async || {
        let texts = texts_to(telegram, chat);
        if texts.iter().any(|text| text.contains(words)) { Ok(()) } else { Err(format!("{texts:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_test_api_start_by_the_link_of_a_persons_page_makes_the_chat_their_device() {
    let telegram = TelegramServer::start("666:secret-of-the-bot").await;
    let route = format!("{}bot = \"city_alerts_bot\"\n", telegram_route(&telegram.url()));
    let server = Server::start(&route).await;
    let api = server.api();
    for (id, name) in [("ann", "Ann"), ("ben", "Ben")] {
        api.post("/api/v1/recipients", &json!({"id": id, "name": name, "devices": []})).await.expect(201);
    }
    let (of_ann, of_ben) = (start_payload(&server, "ann").await, start_payload(&server, "ben").await);

    // What was not signed here is refused, once.
    let forged = of_ann.chars().rev().collect::<String>();
    telegram.say("9", &format!("/start {forged}"));
    hears(&telegram, "9", "This link is wrong").await;
    telegram.say("9", &format!("/start {forged}"));

    telegram.say("7", &format!("/start {of_ann}"));
    hears(&telegram, "7", "Alerts come to this chat").await;
    let ann = api.get("/api/v1/recipients/ann").await.expect(200);
    let device = &ann["devices"][0];
    assert_eq!((&device["channel"], &device["address"]), (&json!("im"), &json!("telegram:7")), "{ann}");
    assert_eq!(device["verified"], true, "{ann}");

    // The link of one person serves one chat, and a chat one person.
    telegram.say("8", &format!("/start {of_ann}"));
    hears(&telegram, "8", "too old or was used").await;
    telegram.say("7", &format!("/start {of_ben}"));
    hears(&telegram, "7", "the device of somebody else").await;
    let ben = api.get("/api/v1/recipients/ben").await.expect(200);
    assert_eq!(ben["devices"], json!([]), "{ben}");

    let alert = api.submit(&json!({"text": "Leave by the north gate", "audience": ["recipient:ann"]})).await;
    until_state(&server, &alert, "telegram:7", "accepted").await;
    hears(&telegram, "7", "Leave by the north gate").await;
    let trail = api.get("/api/v1/audit?limit=100").await.json();
    let added = trail["items"].as_array().unwrap().iter().find(|act| act["verb"] == "service.device_add");
    assert_eq!(added.unwrap()["object"], "ann", "{trail}");
    assert_eq!(texts_to(&telegram, "9").len(), 1, "a wrong link is told of once");
    assert_eq!(telegram.messages().len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_was_blocked_fails_in_its_words_a_limit_holds_and_no_log_has_the_token() {
    let networks = Messengers::start(ImOptions::default()).await.unwrap();
    networks.block("telegram:7");
    networks.throttle(3, Duration::from_secs(1));
    let server = Server::start(&telegram_route(&format!("http://{}", networks.address()))).await;
    let id = server
        .api()
        .submit(&json!({"text": "Fire", "audience": ["telegram:7", "telegram:8", "telegram:-9"]}))
        .await;
    let report = server.api().done(&id, LATER).await;
    assert_eq!((count(&report, "accepted"), count(&report, "failed")), (2, 1), "{report}");
    let refused = until_state(&server, &id, "telegram:7", "failed").await;
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("Forbidden: bot was blocked by the user"), "{reason}");
    assert_eq!(networks.stats().throttled, 3);
    assert!(!server.log().contains("secret-of-the-bot"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn matrix_killed_in_an_alert_leaves_nobody_out_and_no_second_copy() {
    const PEOPLE: usize = 300;
    let networks = Messengers::start(ImOptions { keep: 10_000, ..ImOptions::default() }).await.unwrap();
    let route = matrix_route(&format!("http://{}", networks.address()), "token");
    let mut server = Server::start(&format!("{route}rate = 100.0\n")).await;
    let audience: Vec<String> = (0..PEOPLE).map(|person| format!("matrix:@p{person}:sim.example")).collect();
    let id =
        server.api().submit(&json!({"text": "Fire", "audience": audience, "terminal": "delivered"})).await;
    for part in [1, 2] {
        eventually("a part is out", LATER, async || {
            let accepted = networks.stats().accepted;
            if accepted >= part * 80 { Ok(()) } else { Err(accepted) }
        })
        .await;
        server.kill9();
        server.restart().await;
    }
    let report = server.api().done(&id, LATER).await;
    assert_eq!(count(&report, "delivered"), PEOPLE as u64, "{report}");
    let stats = networks.stats();
    assert_eq!((stats.accepted, stats.repeats), (PEOPLE as u64, 0), "{stats:?}");
}
