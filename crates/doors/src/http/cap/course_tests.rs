//! The course of CAP messages: the same one again, ends before their beginnings, envelopes, encodings.

use super::tests::{info, message};
use crate::http::tests::*;

const SENT: &str = "2026-11-18T07:00:00+01:00";

async fn alerts(server: &TestServer) -> usize {
    server.get("/api/v1/alerts").await.1["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn the_same_message_is_told_once_to_each_audience_for_as_long_as_it_holds() {
    let server = TestServer::open().await;
    server.people().await;
    let week = info("Heat").replace("2026-11-19", "2026-11-25");
    let heat = message("h", "Actual", "Alert", "", &week);
    let (_, first) = server.cap("?audience=group:staff", heat.clone()).await;
    let (status, other) = server.cap("?audience=all", heat.clone()).await;
    assert!(status == 202 && other["id"] != first["id"], "{other}");
    server.clock.fetch_add(3 * 86_400 * 1_000_000, Ordering::Relaxed);
    let spaced = heat.replace("><", ">\n  <");
    for (query, id) in [("?audience=group:staff", &first["id"]), ("?audience=all", &other["id"])] {
        let (status, again) = server.cap(query, spaced.clone()).await;
        assert_eq!((status.as_u16(), &again["id"]), (202, id), "three days later: {again}");
    }
    assert_eq!(alerts(&server).await, 2);
    let (status, problem) = server.cap("?audience=recipient:bo", heat.replace("Heat", "Cold")).await;
    assert_eq!((status.as_u16(), slug(&problem)), (422, "key-taken"), "another message under the same name");
    let (status, _) =
        server.cap("?audience=all", heat.replace("Heat", "Cold").replace("T07:00:00", "T07:05:00")).await;
    assert_eq!(status, 202, "another time is another message");
    server.close().await;
}

#[tokio::test]
async fn what_was_ended_before_it_came_is_not_told() {
    let server = TestServer::open().await;
    server.people().await;
    let refers = |identifier: &str| format!("town@example.org,{identifier},{SENT}");
    let later = |text: String| text.replace("T07:00:00+01:00</sent>", "T07:30:00+01:00</sent>");
    let (status, said) = server.cap("", later(message("c", "Actual", "Cancel", &refers("a"), ""))).await;
    assert!(status == 200 && said["id"].is_null(), "{said}");
    let update = later(message("u", "Actual", "Update", &refers("b"), &info("New word")));
    assert_eq!(server.cap("?audience=all", update).await.0, 202);
    for identifier in ["a", "b"] {
        let (status, said) =
            server.cap("?audience=all", message(identifier, "Actual", "Alert", "", &info("Old word"))).await;
        assert_eq!(
            (status.as_u16(), &said["id"], &said["state"]),
            (200, &json!(null), &json!("cancelled")),
            "{said}"
        );
        assert!(said["problems"].to_string().contains("superseded"), "{said}");
    }
    assert_eq!(alerts(&server).await, 1);
    let newer = later(message("a", "Actual", "Alert", "", &info("Another"))).replace("T07:30", "T08:00");
    assert_eq!(server.cap("?audience=all", newer).await.0, 202, "it is later than the Cancel");
    server.close().await;
}

#[tokio::test]
async fn an_envelope_is_taken_whole_or_refused_whole() {
    let server = TestServer::open().await;
    server.people().await;
    let one = |n: usize, headline: &str| message(&format!("e{n}"), "Actual", "Alert", "", &info(headline));
    let envelope = |alerts: &[String]| format!("<alerts>{}</alerts>", alerts.concat());
    let bad = envelope(&[one(1, "One"), message("e2", "Draft", "Alert", "", &info("Two"))]);
    let (status, problem) = server.cap("?audience=all", bad).await;
    assert_eq!(status, 422, "{problem}");
    assert!(reason(&problem, "alert[2]/status").contains("never sent"), "{problem}");
    assert_eq!(alerts(&server).await, 0, "nothing of it was told");
    let over = one(3, "Three").replace("2026-11-19", "2026-11-17");
    let (status, said) = server.cap("?audience=all", envelope(&[one(1, "One"), one(2, "Two"), over])).await;
    assert_eq!((status.as_u16(), said["alerts"].as_array().map(Vec::len)), (202, Some(3)), "{said}");
    assert!(said["problems"].to_string().contains("alert[3]/info/expires"), "{said}");
    assert_eq!(alerts(&server).await, 2);
    let id = said["alerts"][1]["id"].as_str().unwrap();
    let out = server.call(Method::GET, &format!("/api/v1/alerts/{id}/cap")).send().await.unwrap();
    assert_eq!(
        ::cap::read(&out.bytes().await.unwrap()).unwrap().alert.identifier,
        "e2",
        "each is its own message"
    );
    server.close().await;
}

#[tokio::test]
async fn a_message_goes_out_as_it_came_whatever_its_encoding_and_its_holes() {
    let server = TestServer::open().await;
    server.people().await;
    let holes = info("Köln")
        .replace("<headline>", "<parameter><valueName>x</valueName><value/></parameter><headline>");
    let text = |identifier: &str, encoding: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"{encoding}\"?>{}",
            message(identifier, "Actual", "Alert", "", &holes)
        )
    };
    let utf16 = |text: String| -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let latin1 = |text: String| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
    for (identifier, octets) in [
        ("u16", utf16(text("u16", "utf-16"))),
        ("l1", latin1(text("l1", "ISO-8859-1"))),
        ("said", text("said", "utf-16").into_bytes()),
    ] {
        let (status, said) = server.cap("?audience=all", octets).await;
        assert_eq!(status, 202, "{identifier}: {said}");
        let path = format!("/api/v1/alerts/{}/cap", said["id"].as_str().unwrap());
        let out = server.call(Method::GET, &path).send().await.unwrap().bytes().await.unwrap();
        let out = ::cap::read(&out).unwrap();
        assert_eq!(out.problems, []);
        assert_eq!(
            (out.alert.identifier.as_str(), out.alert.sender.as_str()),
            (identifier, "town@example.org")
        );
        assert_eq!(out.alert.infos[0].headline.as_deref(), Some("Köln"));
    }
    server.close().await;
}

#[tokio::test]
async fn what_is_cancelled_leaves_the_feed() {
    let server = TestServer::open().await;
    server.people().await;
    let feed =
        || async { server.anon(Method::GET, "/cap/feed.atom").send().await.unwrap().text().await.unwrap() };
    server.cap("?audience=group:staff", message("f", "Actual", "Alert", "", &info("Gas leak"))).await;
    server.cap("?audience=all", message("f", "Actual", "Alert", "", &info("Gas leak"))).await;
    assert_eq!(feed().await.matches("Gas leak").count(), 1, "one message, however many it was told to");
    let refers = format!("town@example.org,f,{SENT}");
    assert_eq!(server.cap("", message("g", "Actual", "Cancel", &refers, "")).await.0, 200);
    assert!(!feed().await.contains("Gas leak"));
    server.close().await;
}

#[tokio::test]
async fn our_word_after_another_is_an_update_that_refers_to_it() {
    let server = TestServer::open().await;
    server.people().await;
    let first =
        server.submit(json!({"headline": "Fire", "text": "Leave.", "audience": ["group:staff"]})).await;
    // Nobody got the first one: the second is accepted, and ends without anybody.
    let body = json!({"headline": "All clear", "text": "It is over.", "audience": [format!("alert:{first}/received")]});
    let (status, said) = server.post("/api/v1/alerts", body).await;
    assert_eq!(status, 202, "{said}");
    let second = said["id"].as_str().unwrap();
    let out = server.call(Method::GET, &format!("/api/v1/alerts/{second}/cap")).send().await.unwrap();
    let reading = ::cap::read(&out.bytes().await.unwrap()).unwrap();
    assert_eq!(reading.problems, []);
    let alert = reading.alert;
    assert_eq!(alert.msg_type, Some(::cap::MsgType::Update));
    assert_eq!(alert.references[0].identifier, first);
    assert_eq!(alert.infos[0].response_types, [::cap::ResponseType::AllClear]);
    server.close().await;
}

#[tokio::test]
async fn who_refers_to_more_messages_than_are_ended_is_told_so() {
    let server = TestServer::open().await;
    server.people().await;
    let references: Vec<String> = (0..101).map(|n| format!("town@example.org,r{n},{SENT}")).collect();
    let later = |text: String| text.replace("T07:00:00+01:00</sent>", "T07:30:00+01:00</sent>");
    for (count, is_told) in [(100, false), (101, true)] {
        let refers = references[..count].join(" ");
        let update = later(message(&format!("u{count}"), "Actual", "Update", &refers, &info("Now")));
        let (status, said) = server.cap("?audience=all", update).await;
        assert_eq!(status, 202, "{said}");
        assert_eq!(said["problems"].to_string().contains("too-many"), is_told, "{said}");
    }
    server.close().await;
}
