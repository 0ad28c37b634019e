//! Stories of devices that show less than their channel carries: each gets its own text in one alert, and is
//! paid for as it was sent.

use crate::fixtures::{LATER, carrier, mail_server, number};
use crate::own_money::{client, comes_to};
use it::{Server, mail_route, sms_route};
use serde_json::{Value, json};

const CHARGING: &str = "[charging]\nmode = \"ledger\"\nshards = 2\n";
/// Two parts of a short message: it has a dash that no GSM alphabet has.
const TEXT: &str = "Hej alla!\nDet läcker gas norr om hamnen – räddningstjänsten är på plats. Lämna hamnen genom norra \
                    grinden.";
const ADAPTED: &str = "Lamna hamnen genom norra grinden...";

fn people() -> Value {
    let device = |channel: &str, address: &str, profile: Value| {
        let mut device = json!({"channel": channel, "address": address});
        if !profile.is_null() {
            device["profile"] = profile;
        }
        device
    };
    json!([
        {"id": "ann", "devices": [
            device("sms", &number(0), Value::Null), device("mail", "ann@town.test", Value::Null),
        ]},
        {"id": "bo", "prefers": "voice", "devices": [
            device("sms", &number(1), json!({"length": 40, "letters": "ascii"})),
            device("mail", "bo@town.test", json!({"html": false})),
        ]},
    ])
}

#[tokio::test]
async fn each_device_gets_what_it_can_show_and_is_paid_for_as_it_was_sent() {
    let (carrier, mails) = (carrier().await, mail_server().await);
    let routes = sms_route("carrier", carrier.address(), "") + &mail_route("relay", mails.address(), "");
    let server = Server::start(&format!("{CHARGING}{routes}")).await;
    let admin = server.api();
    let town = client(&admin, "town", 60).await;
    town.add_recipients(&people()).await;
    let alert = json!({"headline": "Gasläcka", "text": TEXT, "audience": ["all"],
        "texts": {"mail": {"html": "<p>Gasläcka</p>"}}});

    let forecast = town.post("/api/v1/alerts:forecast", &alert).await.expect(200);
    assert_eq!(forecast["routes"]["carrier"]["units"], 3, "{forecast}");
    let kinds = forecast["devices"].as_array().unwrap();
    let adapted = kinds.iter().find(|kind| kind["profile"]["length"] == 40).unwrap();
    assert_eq!((adapted["devices"].as_u64(), adapted["parts"].as_u64()), (Some(1), Some(1)), "{forecast}");
    assert_eq!((adapted["text"].as_str(), kinds.len()), (Some(ADAPTED), 4), "{forecast}");

    let id = town.submit(&alert).await;
    town.done(&id, LATER).await;
    let mut sms: Vec<_> = carrier.messages(10).into_iter().map(|it| (it.to, it.text, it.parts)).collect();
    sms.sort();
    let to = |place: u64| number(place).trim_start_matches('+').to_owned();
    for ((found, text, parts), expected) in sms.iter().zip([(0, TEXT, 2), (1, ADAPTED, 1)]) {
        assert_eq!(
            (found.trim_start_matches('+'), &**text, *parts),
            (&*to(expected.0), expected.1, expected.2)
        );
    }
    let mut words: Vec<_> = mails.mails(10).iter().map(|mail| mail.words()).collect();
    words.sort_by_key(|words| words.to.clone());
    let [ann, bo] = &words[..] else { panic!("{words:?}") };
    assert!(ann.html.is_some() && bo.html.is_none(), "{words:?}");
    assert_eq!(ann.text.trim(), bo.text.trim());
    let raw = mails.mails(10).into_iter().find(|mail| mail.to == ["bo@town.test"]).unwrap().raw;
    let raw = String::from_utf8_lossy(&raw).into_owned();
    assert!(raw.contains("text/plain") && !raw.contains("multipart"), "{raw}");
    // Three parts of short messages and two mails.
    comes_to(&admin, "town", [55, 0, 5, 0]).await;
    assert_eq!(carrier.stats().submits, 3);
}
