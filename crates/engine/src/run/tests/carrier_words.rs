//! Tests of receipts in the carrier's own words, and of what becomes of messages that no receipt is about.

use super::backend::{TestBackend, over_both};
use super::messages::{PARTY, accept, message, told, until, until_told, view};
use super::test_engine::{PATIENCE, START, TestEngine, accepted, key, unknown};
use crate::api::{Keywords, MessageClientSettings};
use records::{
    Account, CarrierReceipt, CarrierReport, ClientEvent, ClientReceipt, DlrState, Entry, Inbound, Message,
    MessageClient, MessageId, Mode, Notice, NoticeVerb, Outcome, Receipt, ReceiptState, Segment, ShortText,
    Timestamp, encode_outcomes,
};
use std::time::Duration;

fn client(client: MessageClient) -> MessageClientSettings {
    MessageClientSettings {
        client,
        account: Account::DEFAULT.into(),
        mode: Mode::Live,
        numbers: Vec::new(),
        routes: Vec::new(),
        callback: Some("http://platform/mo?text=%b&c=%c&C=%C&m=%m".into()),
        replies: true,
    }
}

fn receipt_of(keys: Vec<u64>, report: CarrierReport, otherwise: Option<Inbound>) -> Outcome {
    let state = match report.state {
        Some(DlrState::Delivered) => ReceiptState::Delivered,
        Some(DlrState::Expired) => ReceiptState::Expired,
        _ => ReceiptState::Failed,
    };
    let word = report.state.map_or(String::new(), |state| format!("{state:?}").to_uppercase());
    let text = format!("{word} err:{}", report.error);
    let receipt = Receipt { route: "sms".into(), keys, id: "id".into(), state, text, at: START.plus_s(9) };
    Outcome::CarrierReceipt(Box::new(CarrierReceipt { receipt, report, otherwise: otherwise.map(Box::new) }))
}

fn said(text: &str) -> Inbound {
    Inbound {
        channel: channels::SMS,
        route: "sms".into(),
        from: "+461".into(),
        to: "71700".into(),
        text: text.into(),
        octets: None,
        of: None,
        at: START.plus_s(9),
    }
}

/// The first event of this client that `wanted` takes.
async fn event<T>(engine_under_test: &TestEngine, wanted: impl Fn(ClientEvent) -> Option<T>) -> T {
    let look = async {
        loop {
            let found = told(engine_under_test, PARTY).await.into_iter().find_map(&wanted);
            if let Some(found) = found {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("the client is told")
}

async fn final_receipt(engine_under_test: &TestEngine, id: MessageId) -> ClientReceipt {
    event(engine_under_test, |told| match told {
        ClientEvent::Receipt(of) if of.status.id == id => Some(*of),
        _ => None,
    })
    .await
}

async fn a_client_is_told_the_carriers_own_state_error_and_time(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let states = [DlrState::Rejected, DlrState::Deleted, DlrState::Unknown, DlrState::Expired];
    // Two hours ahead of UTC, to the minute.
    let carriers = |at: Timestamp| at.plus_s(7_200);
    let _carrier = engine_under_test.carrier(move |segment: &Segment, entry: &Entry| {
        let place: usize = entry.address[3..].parse().unwrap();
        let report = CarrierReport {
            state: Some(states[place]),
            error: format!("{place}1F").into(),
            network_error: Some((8, 7)),
            submitted: Some(carriers(START)),
            done: Some(carriers(START.plus_s(120))),
            ..CarrierReport::default()
        };
        let mut out = accepted(segment, entry);
        out.push(receipt_of(vec![key(segment, entry)], report, None));
        out
    });
    let messages: Vec<Message> = (0..4).map(|place| message(&format!("+46{place}"))).collect();
    let ids = accept(&engine_under_test, &messages).await;
    for (place, (id, state)) in ids.iter().zip(states).enumerate() {
        let of = final_receipt(&engine_under_test, *id).await;
        let (error, network_error) = (of.error.to_string(), of.network_error);
        assert_eq!((of.status.state, error, network_error), (state, format!("{place}1F"), Some((8, 7))));
        assert_eq!(of.done, Some(START.plus_s(120)), "in UTC");
        let view = until(&engine_under_test, *id, state).await;
        assert!(view.is_final && view.at == Some(START.plus_s(9)), "{view:?}");
    }
}

async fn a_text_is_a_receipt_where_its_id_is_known_and_else_a_persons_message(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let clients = vec![client(MessageClient::Smpp(PARTY.into()))];
    engine_under_test.engine.change_clients(clients, Keywords::default()).await.unwrap();
    let delivered = CarrierReport { state: Some(DlrState::Delivered), ..CarrierReport::default() };
    let _carrier = engine_under_test.carrier(move |segment: &Segment, entry: &Entry| {
        let mut out = accepted(segment, entry);
        let keys = vec![key(segment, entry)];
        out.push(receipt_of(keys, delivered.clone(), Some(said("id:7 stat:DELIVRD"))));
        out.push(receipt_of(vec![u64::MAX], delivered.clone(), Some(said("id:8 stat:DELIVRD"))));
        out
    });
    let ids = accept(&engine_under_test, &[message("+461")]).await;
    until(&engine_under_test, ids[0], DlrState::Delivered).await;
    let person = event(&engine_under_test, |told| match told {
        ClientEvent::Inbound(inbound) => Some(inbound.text),
        _ => None,
    });
    assert_eq!(person.await, "id:8 stat:DELIVRD", "the other is no message of a person");
}

async fn a_client_is_told_of_a_message_that_nobody_knows_anything_of(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let _carrier = engine_under_test.carrier(unknown);
    let silent = Message { tell: records::DlrRequest::default(), ..message("+462") };
    let ids = accept(&engine_under_test, &[message("+461"), silent]).await;
    assert_eq!(until_told(&engine_under_test, 1).await, [(ids[0], records::DlrRequest::FAILED)]);
    let state = event(&engine_under_test, |told| match told {
        ClientEvent::Status(status) => Some((status.state, status.text)),
        _ => None,
    });
    assert_eq!(state.await, (DlrState::Unknown, String::new()));
    let view = until(&engine_under_test, ids[1], DlrState::Unknown).await;
    assert!(!view.is_final && view.at.is_none(), "{view:?}");
}

async fn no_message_has_the_id_0(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let _carrier = engine_under_test.carrier(accepted);
    let ids = accept(&engine_under_test, &[message("+461")]).await;
    assert_eq!(ids, [MessageId(1)]);
    until(&engine_under_test, ids[0], DlrState::Accepted).await;
    assert!(view(&engine_under_test, MessageId(0)).await.is_none());
}

async fn a_message_that_replaces_one_that_waits_is_sent_in_its_place(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let carrier = engine_under_test.carrier(accepted);
    let later = |text: &str, replaces: bool| {
        let mut later = Message { not_before: Some(START.plus_s(60)), ..message("+461") };
        later.short.text = ShortText::Text { text: text.into(), class: None };
        later.short.replace_if_present = replaces;
        later
    };
    let mut of_other = later("of another sender", false);
    of_other.short.source.addr = "71701".into();
    let first = accept(&engine_under_test, &[later("old", false), of_other]).await;
    until(&engine_under_test, first[1], DlrState::Enroute).await;
    let second = accept(&engine_under_test, &[later("newer", true)]).await;
    until(&engine_under_test, first[0], DlrState::Deleted).await;
    // Found without looking at everything again, and one that comes with it.
    let third = accept(&engine_under_test, &[later("new", true)]).await;
    until(&engine_under_test, second[0], DlrState::Deleted).await;
    engine_under_test.pass_s(61);
    until(&engine_under_test, third[0], DlrState::Accepted).await;
    until(&engine_under_test, first[1], DlrState::Accepted).await;
    let mut sent: Vec<String> = carrier.sent.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
    sent.sort_unstable();
    let text = |text: &str| format!("Text {{ text: {text:?}, class: None }}");
    assert_eq!(sent, [text("new"), text("of another sender")]);
}

async fn a_platform_may_answer_the_callback_with_a_reply_and_gets_octets_as_they_are(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let platform = client(MessageClient::Platform("plat".into()));
    engine_under_test.engine.change_clients(vec![platform], Keywords::default()).await.unwrap();
    let octets = |data_coding, octets: &[u8]| {
        Some(Box::new(records::InboundOctets { data_coding, udh: Vec::new(), octets: octets.to_vec() }))
    };
    let messages = [
        said("Hello"),
        Inbound { octets: octets(4, &[1, 255]), ..said("") },
        Inbound { octets: octets(0x12, b"hi"), ..said("hi") },
    ];
    let topic = engine_under_test.bus.topic(records::OUTCOMES).unwrap();
    for inbound in messages {
        topic.append(&[&encode_outcomes(&[Outcome::Inbound(inbound)])]).await.unwrap();
    }
    let notices = engine_under_test.bus.topic(records::NOTICES).unwrap();
    let all = async {
        loop {
            let records = notices.fetch(0, 3, 1 << 20).await.unwrap();
            if records.len() == 3 {
                return records;
            }
            notices.readable(records.len() as u64).await;
        }
    };
    let records = tokio::time::timeout(PATIENCE, all).await.unwrap();
    let notices: Vec<Notice> = records.iter().map(|record| Notice::decode(&record.octets).unwrap()).collect();
    let urls: Vec<&str> = notices.iter().map(|notice| notice.url.as_str()).collect();
    let expected = ["Hello&c=0&C=UTF-8&m=-1", "%01%FF&c=1&C=8-BIT&m=-1", "hi&c=0&C=UTF-8&m=2"];
    assert_eq!(urls, expected.map(|query| format!("http://platform/mo?text={query}")));
    let NoticeVerb::FetchReply(reply) = &notices[0].verb else { panic!("{:?}", notices[0].verb) };
    assert_eq!((reply.to.as_str(), &*reply.short.source.addr), ("+461", "71700"));
    assert_eq!(reply.party, MessageClient::Platform("plat".into()));
    assert_eq!(reply.route.as_deref(), Some("sms"));
}

over_both!(
    a_client_is_told_the_carriers_own_state_error_and_time,
    a_text_is_a_receipt_where_its_id_is_known_and_else_a_persons_message,
    a_client_is_told_of_a_message_that_nobody_knows_anything_of,
    no_message_has_the_id_0,
    a_message_that_replaces_one_that_waits_is_sent_in_its_place,
    a_platform_may_answer_the_callback_with_a_reply_and_gets_octets_as_they_are,
);
