//! Tests of services that people use from their devices.

use super::backend::{TestBackend, over_both};
use super::test_engine::{Carrier, PATIENCE, TestEngine, accepted, person};
use crate::api::Keywords;
use crate::services::{ChatBot, Joining, OwnPage, PreparedAlert, ServiceRules};
use crate::testing::route;
use records::{
    Account, Choice, Group, Inbound, JoinRule, OUTCOMES, Outcome, Recipient, Timestamp, encode_outcomes,
};
use std::sync::Arc;
use std::time::Duration;

const OWN: &str = Account::DEFAULT;
const ANN: &str = "+46701740001";
const OURS: &str = "71700";

async fn with_services(of: &TestEngine, change: impl FnOnce(&mut ServiceRules)) {
    let mut rules = ServiceRules { enabled: true, ..ServiceRules::default() };
    change(&mut rules);
    let keywords = Keywords { services: Arc::new(rules), ..Keywords::default() };
    of.engine.change_clients(Vec::new(), keywords).await.unwrap();
}

fn said(from: &str, text: &str, at: Timestamp) -> Inbound {
    Inbound {
        channel: channels::SMS,
        route: "sms".into(),
        from: from.into(),
        to: OURS.into(),
        text: text.into(),
        octets: None,
        of: None,
        at,
    }
}

async fn comes(of: &TestEngine, inbound: Inbound) {
    happens(of, Outcome::Inbound(inbound)).await;
}

async fn happens(of: &TestEngine, outcome: Outcome) {
    let record = encode_outcomes(&[outcome]);
    of.bus.topic(OUTCOMES).unwrap().append(&[&record]).await.unwrap();
}

/// A person writes, a moment after the message before.
async fn writes(of: &TestEngine, from: &str, text: &str) {
    of.pass_s(1);
    comes(of, said(from, text, of.now())).await;
}

/// The texts that an address got, once there are so many.
async fn got(carrier: &Carrier, address: &str, count: usize) -> Vec<String> {
    let all = || -> Vec<String> {
        let sent = carrier.sent.lock().unwrap();
        sent.iter().filter(|(to, _)| to == address).map(|(_, text)| text.clone()).collect()
    };
    let enough = async {
        while all().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, enough).await.unwrap_or_else(|_| panic!("{count}: {:?}", all()));
    all()
}

async fn ann(of: &TestEngine) -> Recipient {
    of.store.recipient(OWN, "ann").await.unwrap().unwrap().0
}

async fn group(of: &TestEngine, id: &str, join: JoinRule) {
    of.store.put_group(OWN, Group { id: id.into(), join, ..Group::default() }).await.unwrap();
}

async fn a_person_joins_and_leaves_and_says_how_they_want_to_be_told(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_services(&of, |_| {}).await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}"), "mail:ann@x.se"])]).await;
    group(&of, "harbour", JoinRule::Open).await;
    group(&of, "board", JoinRule::Closed).await;
    let carrier = of.carrier(accepted);
    for (n, (text, reply)) in [
        ("GROUPS", "Groups: harbour."),
        ("join Harbour", "Now in the group harbour."),
        ("JOIN harbour", "Already in the group harbour."),
        ("join board", "No group that can be joined is called “board”"),
        ("LANG sv", "på svenska"),
        ("TYST 22-7", "från 22:00 till 07:00"),
        ("STATUS", "Grupper: harbour. Enheter: sms …0001, mail …x.se. Språk: sv. Tysta timmar: 22:00-07:00."),
        ("subscribe flood", "flood"),
        ("lämna harbour", "Inte längre med i gruppen harbour"),
        ("PAGE", "ingen offentlig adress"),
        ("HELP", "GÅ MED namn"),
    ]
    .into_iter()
    .enumerate()
    {
        writes(&of, ANN, text).await;
        let texts = got(&carrier, ANN, n + 1).await;
        assert!(texts[n].contains(reply), "{text}: {:?}", texts[n]);
    }
    let ann = ann(&of).await;
    assert_eq!((ann.language.as_deref(), ann.groups.as_slice()), (Some("sv"), &[][..]));
    assert_eq!(ann.quiet_hours.map(|quiet| quiet.to_string()).as_deref(), Some("22:00-07:00"));
    assert_eq!(ann.attributes["subscriptions"], "flood");
    let acts = of.store.audit_entries(store::AuditSearch::newest(Some(OWN), 20)).await.unwrap();
    let join = acts.iter().find(|entry| entry.act.verb == "service.join").unwrap();
    assert_eq!((join.act.object.as_str(), join.act.from.as_str()), ("ann", "sms:+46701740001"));
    let flood = of
        .submit(|request| {
            request.text = Some("Flood at the harbour".into());
            request.audience[0].to = "subscribers".into();
        })
        .await;
    of.pass_s(1);
    let report = of.until(&flood.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.endpoints, 2, "Ann subscribed to the word");
}

async fn an_unknown_sender_gets_no_reply_and_a_message_taken_twice_one(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_services(&of, |_| {}).await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}")])]).await;
    let carrier = of.carrier(accepted);
    writes(&of, "+46701740009", "STATUS").await;
    of.pass_s(1);
    let twice = said(ANN, "STATUS", of.now());
    comes(&of, twice.clone()).await;
    comes(&of, twice).await;
    writes(&of, ANN, "what is this").await;
    writes(&of, ANN, "and that").await;
    writes(&of, ANN, "GROUPS").await;
    let texts = got(&carrier, ANN, 3).await;
    assert!(texts[0].contains("ANN. Groups: none"), "{texts:?}");
    assert!(texts[1].contains("You can write"), "words that nobody understands: {texts:?}");
    assert!(texts[2].contains("no group that can be joined"), "once a day: {texts:?}");
    assert!(carrier.addresses().iter().all(|address| address == ANN));
    let kept = of.bus.topic(records::INBOUND).unwrap();
    tokio::time::timeout(PATIENCE, kept.readable(2)).await.expect("what was for nobody is kept");
}

async fn a_choice_of_an_open_alert_goes_before_a_service_word(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_services(&of, |_| {}).await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}")])]).await;
    let carrier = of.carrier(accepted);
    let choice = |key: &str, label: &str| Choice { key: key.into(), label: label.into() };
    let asked = of
        .submit(|request| {
            request.require_answer = true;
            request.choices = vec![choice("1", "Status"), choice("2", "Groups")];
        })
        .await;
    got(&carrier, ANN, 1).await;
    of.until(&asked.alert, |report| report.counts.accepted == 1).await;
    writes(&of, ANN, "JOIN nothing").await;
    let texts = got(&carrier, ANN, 2).await;
    assert!(texts[1].contains("No group"), "{texts:?}");
    assert_eq!(of.until(&asked.alert, |_| true).await.counts.answered, 0, "a service word is no answer");
    writes(&of, ANN, "STATUS").await;
    of.until(&asked.alert, |report| report.counts.answered == 1).await;
}

async fn an_operator_decides_who_joins_on_request(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_services(&of, |_| {}).await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}")])]).await;
    group(&of, "divers", JoinRule::Approval).await;
    let carrier = of.carrier(accepted);
    writes(&of, ANN, "JOIN divers").await;
    got(&carrier, ANN, 1).await;
    let joining = Joining::of(&of.engine);
    let waiting = joining.waiting(OWN).unwrap();
    assert_eq!((waiting.len(), waiting[0].recipient.as_str()), (1, "ann"));
    assert!(ann(&of).await.groups.is_empty());
    joining.decide(OWN, &waiting[0].id(), true).await.unwrap();
    let texts = got(&carrier, ANN, 2).await;
    assert!(texts[1].contains("Now in the group divers"), "{texts:?}");
    assert_eq!(ann(&of).await.groups, ["divers"]);
    assert!(joining.decide(OWN, &waiting[0].id(), true).await.is_err(), "decided before");
}

async fn an_alert_is_sent_by_who_may_with_the_pin_once_it_is_read_back(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    let mut request = crate::testing::request("Leave the building");
    request.audience[0].to = "recipient:bo".into();
    let evac = PreparedAlert {
        name: "evac".into(),
        who: vec!["recipient:ann".into()],
        pin: "471147".into(),
        request,
        tried_s: 3_600,
    };
    with_services(&of, |rules| rules.prepared = vec![evac]).await;
    let bo = "+46701740002";
    of.people(vec![person("ann", &[&format!("sms:{ANN}")]), person("bo", &[&format!("sms:{bo}")])]).await;
    let carrier = of.carrier(accepted);
    writes(&of, ANN, "SEND evac 1234").await;
    let texts = got(&carrier, ANN, 1).await;
    assert!(texts[0].contains("PIN is wrong"), "{texts:?}");
    writes(&of, bo, "SEND evac 471147").await;
    assert!(got(&carrier, bo, 1).await[0].contains("not known here"), "he may not");
    writes(&of, ANN, "send EVAC 471147").await;
    let texts = got(&carrier, ANN, 2).await;
    assert!(texts[1].contains("“Leave the building” goes to 1 people (sms)"), "{texts:?}");
    let code: String = texts[1].split("YES ").nth(1).unwrap().chars().take(6).collect();
    writes(&of, ANN, "YES 000000x").await;
    got(&carrier, ANN, 3).await;
    assert_eq!(got(&carrier, bo, 1).await.len(), 1, "a wrong code sends nothing");
    writes(&of, ANN, &format!("yes {code}")).await;
    let texts = got(&carrier, bo, 2).await;
    assert!(texts[1].contains("Leave the building"), "{texts:?}");
    writes(&of, ANN, &format!("YES {code}")).await;
    let texts = got(&carrier, ANN, 5).await;
    assert!(texts[4].contains("Nothing waits for that code"), "a code holds once: {texts:?}");
}

async fn a_mail_that_may_be_of_anybody_answers_its_alert_and_changes_nothing(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_services(&of, |_| {}).await;
    of.people(vec![person("ann", &["mail:ann@x.se"])]).await;
    group(&of, "harbour", JoinRule::Open).await;
    let carrier = of.carrier(accepted);
    let choice = |key: &str, label: &str| Choice { key: key.into(), label: label.into() };
    let asked = of
        .submit(|request| {
            request.require_answer = true;
            request.choices = vec![choice("1", "I am safe"), choice("2", "I need help")];
        })
        .await
        .alert;
    got(&carrier, "ann@x.se", 1).await;
    of.until(&asked, |report| report.counts.accepted == 1).await;
    let mail = |text: &str, tagged: bool| {
        of.pass_s(1);
        Inbound {
            channel: channels::MAIL,
            route: String::new(),
            from: "ann@X.se".into(),
            of: tagged.then_some((asked.no, records::EndpointNo(0))),
            ..said("", text, of.now())
        }
    };
    for (n, (text, tagged)) in
        [("JOIN harbour", false), ("JOIN harbour", true), ("STOP", false), ("START", true)]
            .into_iter()
            .enumerate()
    {
        happens(&of, Outcome::Unproven(Box::new(mail(text, tagged)))).await;
        let texts = got(&carrier, "ann@x.se", n + 2).await;
        assert!(texts[n + 1].contains("There is no page"), "{text}: {texts:?}");
    }
    assert!(ann(&of).await.groups.is_empty(), "anybody can write such a mail");
    assert!(of.store.all_opt_outs(OWN).await.unwrap().is_empty(), "nor does it stop anything");
    let perhaps = of.store.perhaps_stops(OWN, 0, 10).await.unwrap();
    assert_eq!(perhaps.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["STOP"]);
    happens(&of, Outcome::Unproven(Box::new(mail("2", false)))).await;
    happens(&of, Outcome::Unproven(Box::new(mail("what is this", false)))).await;
    comes(&of, mail("JOIN harbour", false)).await;
    let texts = got(&carrier, "ann@x.se", 6).await;
    assert!(texts[5].contains("Now in the group harbour"), "a relay vouches for it: {texts:?}");
    assert_eq!(
        of.until(&asked, |_| true).await.counts.answered,
        0,
        "nobody vouches for an answer without a tag"
    );
    happens(&of, Outcome::Unproven(Box::new(mail("2", true)))).await;
    of.until(&asked, |report| report.counts.answered == 1).await;
    let listed = of.store.alerts_before(OWN, None, 10).await.unwrap();
    assert_eq!(listed.len(), 1, "a reply is in no list");
}

async fn a_chat_is_the_device_of_whom_its_link_was_made_for(ground: TestBackend) {
    let mut of = ground.engine_under_test().await;
    of.add_route(route("telegram", channels::IM, |_| {})).await;
    of.add_route(route("other", channels::IM, |route| route.accounts = vec!["north".into()])).await;
    let bot = |route: &str, name: &str| ChatBot { route: route.into(), name: name.into() };
    with_services(&of, |rules| rules.bots = vec![bot("telegram", "city_bot"), bot("other", "north_bot")])
        .await;
    of.people(vec![person("ann", &[]), person("bo", &[])]).await;
    let (of, carrier) = (&of, of.carrier(accepted));
    let payload = async |id: &str| {
        let chats = OwnPage::of(&of.engine, OWN, id, String::new()).view().await.unwrap().chats;
        assert_eq!(chats.len(), 1, "the other bot is of another account: {chats:?}");
        chats[0].url.strip_prefix("https://t.me/city_bot?start=").unwrap().to_owned()
    };
    let start = async |chat: u32, route: &str, payload: &str| {
        of.pass_s(1);
        let text = format!("start {payload}");
        let inbound = said(&format!("telegram:{chat}"), &text, of.now());
        comes(of, Inbound { channel: channels::IM, route: route.into(), ..inbound }).await;
    };
    let hears = async |chat: u32, count: usize, words: &str| {
        let texts = got(&carrier, &format!("telegram:{chat}"), count).await;
        assert!(texts[count - 1].contains(words), "{texts:?}");
    };
    let old = payload("ann").await;
    of.pass_s(3_600);
    start(1, "telegram", &old).await;
    hears(1, 1, "too old").await;
    start(1, "telegram", &old).await;
    let new = payload("ann").await;
    start(2, "other", &new).await;
    hears(2, 1, "link is wrong").await;
    start(3, "telegram", &new).await;
    hears(3, 1, "Alerts come to this chat").await;
    let devices = ann(of).await.devices;
    assert!(devices.len() == 1 && devices[0].verified && devices[0].address == "telegram:3", "{devices:?}");
    start(3, "telegram", &new).await;
    hears(3, 2, "is connected").await;
    start(4, "telegram", &new).await;
    hears(4, 1, "was used").await;
    start(3, "telegram", &payload("bo").await).await;
    hears(3, 3, "somebody else").await;
    let acts = of.store.audit_entries(store::AuditSearch::newest(Some(OWN), 20)).await.unwrap();
    let added: Vec<_> = acts.iter().filter(|entry| entry.act.verb == "service.device_add").collect();
    assert_eq!((added.len(), added[0].act.object.as_str()), (1, "ann"));
    assert_eq!(ann(of).await.devices.len(), 1);
    assert!(of.store.recipient(OWN, "bo").await.unwrap().unwrap().0.devices.is_empty());
    hears(1, 1, "too old").await;
    assert_eq!(carrier.sent.lock().unwrap().iter().filter(|(to, _)| to == "telegram:1").count(), 1);
}

async fn a_two_way_pager_uses_services_by_what_it_replies_to_a_page(ground: TestBackend) {
    const PAGER: &str = "5551239";
    let mut of = ground.engine_under_test().await;
    of.add_route(route("pagers", channels::PAGER, |_| {})).await;
    with_services(&of, |_| {}).await;
    of.people(vec![person("ann", &[&format!("pager:{PAGER}")])]).await;
    group(&of, "harbour", JoinRule::Open).await;
    let carrier = of.carrier(accepted);
    let asked = of.submit(|request| request.require_answer = true).await.alert;
    got(&carrier, PAGER, 1).await;
    of.until(&asked, |report| report.counts.accepted == 1).await;
    of.pass_s(1);
    let page = Inbound {
        channel: channels::PAGER,
        route: "pagers".into(),
        of: Some((asked.no, records::EndpointNo(0))),
        ..said(PAGER, "JOIN harbour", of.now())
    };
    comes(&of, page).await;
    let texts = got(&carrier, PAGER, 2).await;
    assert!(texts[1].contains("Now in the group harbour"), "{texts:?}");
    assert_eq!(ann(&of).await.groups, ["harbour"]);
    assert_eq!(of.until(&asked, |_| true).await.counts.answered, 0, "a service word is no answer");
}

async fn who_asks_more_than_a_person_does_gets_no_more_replies(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_services(&of, |_| {}).await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}")]), person("bo", &["sms:+46701740002"])]).await;
    let carrier = of.carrier(accepted);
    for _ in 0..25 {
        writes(&of, ANN, "STATUS").await;
    }
    writes(&of, "+46701740002", "STATUS").await;
    got(&carrier, "+46701740002", 1).await;
    assert_eq!(got(&carrier, ANN, 20).await.len(), 20);
}

over_both!(
    a_person_joins_and_leaves_and_says_how_they_want_to_be_told,
    an_unknown_sender_gets_no_reply_and_a_message_taken_twice_one,
    a_choice_of_an_open_alert_goes_before_a_service_word,
    an_operator_decides_who_joins_on_request,
    an_alert_is_sent_by_who_may_with_the_pin_once_it_is_read_back,
    a_mail_that_may_be_of_anybody_answers_its_alert_and_changes_nothing,
    a_chat_is_the_device_of_whom_its_link_was_made_for,
    a_two_way_pager_uses_services_by_what_it_replies_to_a_page,
    who_asks_more_than_a_person_does_gets_no_more_replies,
);
