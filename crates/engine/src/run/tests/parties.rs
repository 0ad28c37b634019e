//! What people say to platforms, keywords, and opt-outs.

use super::ground::{Ground, over_both};
use super::house::{House, PATIENCE, START, accepted};
use super::messages::{PARTY, accept, message, told, until};
use crate::api::{Keyword, KeywordAction, Keywords, PartySettings};
use records::{Account, FateState, Inbound, Message, Mode, Notice, Outcome, Party, Told, encode_outcomes};
use std::time::Duration;

fn party(party: Party, numbers: &[&str]) -> PartySettings {
    PartySettings {
        party,
        account: Account::DEFAULT.into(),
        mode: Mode::Live,
        numbers: numbers.iter().map(|number| (*number).to_owned()).collect(),
        routes: Vec::new(),
        callback: Some("http://platform/mo?from=%p&to=%P&text=%a&word=%k&id=%I".into()),
    }
}

fn keywords() -> Keywords {
    let keyword = |action, words: &[&str], senders: &[&str], language: &str, reply: &str| Keyword {
        action,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        senders: senders.iter().map(|sender| (*sender).to_owned()).collect(),
        language: Some(language.into()),
        reply: Some(reply.into()),
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
    }
}

async fn says(house: &House, from: &str, to: &str, text: &str) {
    let inbound = Inbound {
        channel: channels::SMS,
        route: "sms".into(),
        from: from.into(),
        to: to.into(),
        text: text.into(),
        octets: None,
        of: None,
        at: house.now(),
    };
    let topic = house.bus.topic(records::OUTCOMES).unwrap();
    topic.append(&[&encode_outcomes(&[Outcome::Inbound(inbound)])]).await.unwrap();
}

/// Waits for the `n`-th record of a topic.
async fn record(house: &House, topic: &str, n: u64) -> Vec<u8> {
    let topic = house.bus.topic(topic).unwrap();
    tokio::time::timeout(PATIENCE, topic.readable(n)).await.unwrap();
    topic.fetch(n, 1, 1 << 20).await.unwrap().pop().unwrap().octets.to_vec()
}

async fn what_people_say_goes_to_who_hears_that_number_most_exactly(ground: Ground) {
    let house = ground.house().await;
    let parties = vec![
        party(Party::Smpp("any".into()), &[]),
        party(Party::Smpp("range".into()), &["717"]),
        party(Party::Platform("exact".into()), &["+71700"]),
        party(Party::Smpp(PARTY.into()), &[]),
    ];
    house.engine.change_parties(parties, Keywords::default()).await.unwrap();
    let _carrier = house.carrier(accepted);
    says(&house, "+461", "71700", "Hello  there å").await;
    let notice = Notice::decode(&record(&house, records::NOTICES, 0).await).unwrap();
    assert_eq!(
        notice.url,
        "http://platform/mo?from=%2B461&to=71700&text=Hello+there+%C3%A5&word=Hello&id=in-0-1"
    );
    says(&house, "+461", "71755", "to the range").await;
    says(&house, "+461", "5", "to any").await;
    // Who sent to that person last goes before the first.
    let ids = accept(&house, &[message("+461")]).await;
    until(&house, ids[0], FateState::Accepted).await;
    says(&house, "+461", "5", "an answer").await;
    let heard = |told: Told| match told {
        Told::Inbound(inbound) => inbound.text,
        Told::Fate(_) => panic!("no fate was asked for"),
    };
    for (party, text, n) in [("range", "to the range", 0), ("any", "to any", 0)] {
        let octets = record(&house, &records::told_topic(party), n).await;
        assert_eq!(heard(Told::decode(&octets).unwrap()), text);
    }
    loop {
        let inbound = told(&house, PARTY).await.into_iter().find(|told| matches!(told, Told::Inbound(_)));
        if let Some(inbound) = inbound {
            assert_eq!(heard(inbound), "an answer");
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn stop_is_confirmed_once_and_honoured_until_start(ground: Ground) {
    let house = ground.house().await;
    let parties = vec![party(Party::Smpp(PARTY.into()), &[])];
    house.engine.change_parties(parties, keywords()).await.unwrap();
    let carrier = house.carrier(accepted);
    let first = accept(&house, &[message("+461")]).await;
    until(&house, first[0], FateState::Accepted).await;
    house.pass_s(1);
    says(&house, "+461", "71700", " Stopp! ").await;
    says(&house, "+461", "71700", "STOPP").await;
    // The confirmation is a message of our own, in the class of urgent ones.
    let confirmation = until(&house, records::MessageId(1), FateState::Accepted).await;
    assert_eq!((confirmation.message.party, confirmation.to.as_str()), (Party::House, "+461"));
    house.pass_s(1);
    let later = |to: &str| Message { at: house.now(), ..message(to) };
    let ids = accept(&house, &[later("+461"), later("+462")]).await;
    until(&house, ids[0], FateState::Rejected).await;
    until(&house, ids[1], FateState::Accepted).await;
    house.pass_s(1);
    says(&house, "+461", "71700", "start").await;
    until(&house, records::MessageId(ids[1].0 + 1), FateState::Accepted).await;
    house.pass_s(1);
    let again = accept(&house, &[Message { at: house.now(), ..message("+461") }]).await;
    until(&house, again[0], FateState::Accepted).await;
    let said: Vec<String> = carrier.sent.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
    let text = |text: &str| format!("Text {{ text: {text:?}, class: None }}");
    let expected = ["to +461", "Du får inga fler meddelanden", "to +462", "Welcome back", "to +461"];
    assert_eq!(said, expected.map(text));
    assert!(house.store.opt_outs(Account::DEFAULT).await.unwrap().is_empty());
}

async fn a_stop_to_one_number_holds_for_that_number_alone(ground: Ground) {
    let house = ground.house().await;
    house.engine.change_parties(vec![party(Party::Smpp(PARTY.into()), &[])], keywords()).await.unwrap();
    let _carrier = house.carrier(accepted);
    says(&house, "+461", "+72000", "stop").await;
    until(&house, records::MessageId(0), FateState::Accepted).await;
    house.pass_s(1);
    let from = |sender: &str| {
        let mut message = Message { at: house.now(), ..message("+461") };
        message.short.source.addr = sender.into();
        message
    };
    let ids = accept(&house, &[from("72000"), from("71700")]).await;
    until(&house, ids[0], FateState::Rejected).await;
    until(&house, ids[1], FateState::Accepted).await;
    // Alerts have no sender of their own to compare: they still reach the person.
    assert!(house.store.opt_outs(Account::DEFAULT).await.unwrap().is_empty());
    assert_eq!(
        house.store.all_opt_outs(Account::DEFAULT).await.unwrap()[0].sender.as_deref(),
        Some("+72000")
    );
    says(&house, "+461", "71700", "HELP").await;
    let help = until(&house, records::MessageId(ids[1].0 + 1), FateState::Accepted).await;
    assert_eq!(help.message.at, START.plus_s(1));
}

over_both!(
    what_people_say_goes_to_who_hears_that_number_most_exactly,
    stop_is_confirmed_once_and_honoured_until_start,
    a_stop_to_one_number_holds_for_that_number_alone,
);
