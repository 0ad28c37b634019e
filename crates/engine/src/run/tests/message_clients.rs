//! Tests of messages from people to platforms, keywords, and opt-outs.

use super::backend::{TestBackend, over_both};
use super::messages::{PARTY, accept, message, told, until};
use super::test_engine::{PATIENCE, START, TestEngine, accepted};
use crate::api::{Keyword, KeywordAction, Keywords, MessageClientSettings};
use records::{
    Account, ClientEvent, DlrState, Inbound, Message, MessageClient, Mode, Notice, Outcome, encode_outcomes,
};
use std::time::Duration;

pub fn party(party: MessageClient, numbers: &[&str]) -> MessageClientSettings {
    MessageClientSettings {
        client: party,
        account: Account::DEFAULT.into(),
        mode: Mode::Live,
        numbers: numbers.iter().map(|number| (*number).to_owned()).collect(),
        routes: Vec::new(),
        callback: Some("http://platform/mo?from=%p&to=%P&text=%a&word=%k&id=%I".into()),
        replies: true,
    }
}

fn keywords() -> Keywords {
    let keyword = |action, words: &[&str], senders: &[&str], language: &str, reply: &str| Keyword {
        action,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        senders: senders.iter().map(|sender| (*sender).to_owned()).collect(),
        language: Some(language.into()),
        reply: Some(reply.into()),
        url: None,
    };
    Keywords {
        list: vec![
            keyword(KeywordAction::Stop, &["stop"], &[], "en", "You get no more messages"),
            keyword(KeywordAction::Stop, &["stopp"], &[], "sv", "Du får inga fler meddelanden"),
            keyword(KeywordAction::Stop, &["STOP"], &["72000"], "en", "No more from 72000"),
            keyword(KeywordAction::Start, &["start"], &[], "en", "Welcome back"),
            keyword(KeywordAction::Help, &["help"], &[], "en", "Call 112"),
        ],
        confirm_every_s: 86_400,
        opt_out: Default::default(),
        services: Default::default(),
    }
}

pub async fn says(engine_under_test: &TestEngine, from: &str, to: &str, text: &str) {
    let inbound = Inbound {
        channel: channels::SMS,
        route: "sms".into(),
        from: from.into(),
        to: to.into(),
        text: text.into(),
        octets: None,
        of: None,
        at: engine_under_test.now(),
    };
    let topic = engine_under_test.bus.topic(records::OUTCOMES).unwrap();
    topic.append(&[&encode_outcomes(&[Outcome::Inbound(inbound)])]).await.unwrap();
}

/// Waits for the `n`-th record of a topic.
async fn record(engine_under_test: &TestEngine, topic: &str, n: u64) -> Vec<u8> {
    let topic = engine_under_test.bus.topic(topic).unwrap();
    tokio::time::timeout(PATIENCE, topic.readable(n)).await.unwrap();
    topic.fetch(n, 1, 1 << 20).await.unwrap().pop().unwrap().octets.to_vec()
}

async fn what_people_say_goes_to_who_hears_that_number_most_exactly(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let parties = vec![
        party(MessageClient::Smpp("any".into()), &[]),
        party(MessageClient::Smpp("range".into()), &["717"]),
        party(MessageClient::Platform("exact".into()), &["+71700"]),
        party(MessageClient::Smpp(PARTY.into()), &[]),
    ];
    engine_under_test.engine.change_clients(parties, Keywords::default()).await.unwrap();
    let _carrier = engine_under_test.carrier(accepted);
    says(&engine_under_test, "+461", "71700", "Hello  there å").await;
    let notice = Notice::decode(&record(&engine_under_test, records::NOTICES, 0).await).unwrap();
    assert_eq!(
        notice.url,
        "http://platform/mo?from=%2B461&to=71700&text=Hello+there+%C3%A5&word=Hello&id=in-0-1"
    );
    says(&engine_under_test, "+461", "71755", "to the range").await;
    says(&engine_under_test, "+461", "5", "to any").await;
    // Who sent to that person last goes before the first.
    let ids = accept(&engine_under_test, &[message("+461")]).await;
    until(&engine_under_test, ids[0], DlrState::Accepted).await;
    says(&engine_under_test, "+461", "5", "an answer").await;
    let heard = |told: ClientEvent| match told {
        ClientEvent::Inbound(inbound) => inbound.text,
        ClientEvent::Status(_) | ClientEvent::Receipt(_) => panic!("no fate was asked for"),
    };
    for (party, text, n) in [("range", "to the range", 0), ("any", "to any", 0)] {
        let octets = record(&engine_under_test, &records::client_topic(party), n).await;
        assert_eq!(heard(ClientEvent::decode(&octets).unwrap()), text);
    }
    loop {
        let inbound = told(&engine_under_test, PARTY)
            .await
            .into_iter()
            .find(|told| matches!(told, ClientEvent::Inbound(_)));
        if let Some(inbound) = inbound {
            assert_eq!(heard(inbound), "an answer");
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn stop_is_confirmed_once_and_honoured_until_start(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let parties = vec![party(MessageClient::Smpp(PARTY.into()), &[])];
    engine_under_test.engine.change_clients(parties, keywords()).await.unwrap();
    let carrier = engine_under_test.carrier(accepted);
    let first = accept(&engine_under_test, &[message("+461")]).await;
    until(&engine_under_test, first[0], DlrState::Accepted).await;
    engine_under_test.pass_s(1);
    says(&engine_under_test, "+461", "71700", " Stopp! ").await;
    says(&engine_under_test, "+461", "71700", "STOPP").await;
    // The confirmation is a message of our own, in the class of urgent ones.
    let confirmation = records::MessageId(first[0].0 + 1);
    let confirmation = until(&engine_under_test, confirmation, DlrState::Accepted).await;
    assert_eq!((confirmation.message.party, confirmation.to.as_str()), (MessageClient::House, "+461"));
    engine_under_test.pass_s(1);
    let later = |to: &str| Message { at: engine_under_test.now(), ..message(to) };
    let ids = accept(&engine_under_test, &[later("+461"), later("+462")]).await;
    until(&engine_under_test, ids[0], DlrState::Rejected).await;
    until(&engine_under_test, ids[1], DlrState::Accepted).await;
    engine_under_test.pass_s(1);
    says(&engine_under_test, "+461", "71700", "start").await;
    until(&engine_under_test, records::MessageId(ids[1].0 + 1), DlrState::Accepted).await;
    engine_under_test.pass_s(1);
    let again =
        accept(&engine_under_test, &[Message { at: engine_under_test.now(), ..message("+461") }]).await;
    until(&engine_under_test, again[0], DlrState::Accepted).await;
    let said: Vec<String> = carrier.sent.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
    let text = |text: &str| format!("Text {{ text: {text:?}, class: None }}");
    let expected = ["to +461", "Du får inga fler meddelanden", "to +462", "Welcome back", "to +461"];
    assert_eq!(said, expected.map(text));
    // The store has it from a task beside the actor.
    let withdrawn = async {
        while !engine_under_test.store.opt_outs(Account::DEFAULT).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, withdrawn).await.expect("START withdraws the opt-out");
}

async fn a_stop_to_one_number_holds_for_that_number_alone(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test
        .engine
        .change_clients(vec![party(MessageClient::Smpp(PARTY.into()), &[])], keywords())
        .await
        .unwrap();
    let _carrier = engine_under_test.carrier(accepted);
    says(&engine_under_test, "+461", "+72000", "stop").await;
    until(&engine_under_test, records::MessageId(1), DlrState::Accepted).await;
    engine_under_test.pass_s(1);
    let from = |sender: &str| {
        let mut message = Message { at: engine_under_test.now(), ..message("+461") };
        message.short.source.addr = sender.into();
        message
    };
    let ids = accept(&engine_under_test, &[from("72000"), from("71700")]).await;
    until(&engine_under_test, ids[0], DlrState::Rejected).await;
    until(&engine_under_test, ids[1], DlrState::Accepted).await;
    // Alerts have no sender of their own to compare: they still reach the person.
    assert!(engine_under_test.store.opt_outs(Account::DEFAULT).await.unwrap().is_empty());
    assert_eq!(
        engine_under_test.store.all_opt_outs(Account::DEFAULT).await.unwrap()[0].sender.as_deref(),
        Some("+72000")
    );
    says(&engine_under_test, "+461", "71700", "HELP").await;
    let help = until(&engine_under_test, records::MessageId(ids[1].0 + 1), DlrState::Accepted).await;
    assert_eq!(help.message.at, START.plus_s(1));
}

over_both!(
    what_people_say_goes_to_who_hears_that_number_most_exactly,
    stop_is_confirmed_once_and_honoured_until_start,
    a_stop_to_one_number_holds_for_that_number_alone,
);
