//! Tests of people who come and go: the next device while they are away, their own when they come, and how
//! they log in.

use super::backend::{TestBackend, over_both};
use super::test_engine::{PATIENCE, TestEngine, accepted, person, receipt, refused};
use crate::run::ActorCommand;
use crate::services::Logins;
use crate::testing::route;
use records::{Account, ReceiptState, Strategy};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PHONE: &str = "+46701740001";

/// An engine with a route into sessions, and Ann, who has one and a telephone.
async fn with_sessions(ground: &TestBackend) -> TestEngine {
    let mut of = ground.engine_under_test().await;
    of.add_route(route("line", channels::LINE, |_| {})).await;
    of.people(vec![person("ann", &["line:ann", &format!("sms:{PHONE}")])]).await;
    of
}

async fn comes(of: &TestEngine, id: &str) {
    let present = ActorCommand::Present { channel: channels::LINE, address: id.to_owned() };
    of.engine.send(present).await.unwrap();
}

async fn who_is_away_gets_the_next_device_at_once_and_their_own_when_they_come(ground: TestBackend) {
    let of = with_sessions(&ground).await;
    let is_there = Arc::<AtomicBool>::default();
    let there = is_there.clone();
    let carrier = of.carrier(move |segment, entry| match segment.route == "line" {
        true if !there.load(Ordering::SeqCst) => refused(segment, entry, false),
        _ => accepted(segment, entry),
    });
    let submitted = of.submit(|request| request.strategy = Strategy::FirstReachable).await;
    of.until(&submitted.alert, |report| report.counts.held == 1 && report.counts.accepted == 1).await;
    assert_eq!(carrier.addresses(), ["ann", PHONE]);
    comes(&of, "bo").await;
    is_there.store(true, Ordering::SeqCst);
    comes(&of, "ann").await;
    of.until(&submitted.alert, |report| report.counts.accepted == 2).await;
    assert_eq!(carrier.addresses(), ["ann", PHONE, "ann"]);
}

async fn who_is_reached_by_a_later_device_is_not_waited_for(ground: TestBackend) {
    let of = with_sessions(&ground).await;
    let _carrier = of.carrier(|segment, entry| match segment.route == "line" {
        true => refused(segment, entry, false),
        false => {
            let mut outcomes = accepted(segment, entry);
            outcomes.push(receipt(segment, entry, ReceiptState::Delivered));
            outcomes
        }
    });
    let submitted = of.submit(|request| request.strategy = Strategy::FirstReachable).await;
    let report = of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.delivered, report.counts.excluded), (1, 1));
}

async fn who_is_away_is_tried_as_long_as_the_alert_lasts(ground: TestBackend) {
    let of = with_sessions(&ground).await;
    let carrier = of.carrier(|segment, entry| refused(segment, entry, false));
    let submitted = of
        .submit(|request| {
            request.audience[0].to = "line:ann".into();
            request.expires = request.expires.plus_s(86_400);
        })
        .await;
    for tries in 1..=12 {
        let enough = async {
            while carrier.addresses().len() < tries {
                of.pass_s(60);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, enough).await.unwrap();
    }
    of.until(&submitted.alert, |report| report.counts.held == 1).await;
}

async fn a_code_goes_to_another_device_of_who_has_the_id_and_the_login_is_noted(ground: TestBackend) {
    let of = with_sessions(&ground).await;
    let people =
        vec![person("bo", &["line:bo"]), person("eve", &["line:desk", "sms:+46701740002", "mail:eve@x.se"])];
    of.people(people).await;
    of.store.set_opt_out(Account::DEFAULT, channels::SMS, "+46701740002", true, of.now()).await.unwrap();
    let carrier = of.carrier(accepted);
    let logins = Logins::of(&of.engine, channels::LINE);
    assert_eq!(logins.devices("bo").await.unwrap(), [], "a code never goes to the session itself");
    assert_eq!(logins.devices("nobody").await.unwrap(), []);
    let of_eve = logins.devices("desk").await.unwrap();
    assert_eq!(of_eve[0].address, "eve@x.se", "the telephone said stop");
    let of_ann = logins.devices("ann").await.unwrap();
    assert_eq!((of_ann.len(), of_ann[0].address.as_str()), (1, PHONE));
    logins.send_code(&of_ann[0], "ann", "123456").await.unwrap();
    let sent = async {
        while carrier.sent.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, sent).await.unwrap();
    let (address, text) = carrier.sent.lock().unwrap()[0].clone();
    assert!(
        address == PHONE && text.starts_with("123456 is the code to log in as ann."),
        "{address}: {text}"
    );
    assert_eq!(
        of.store.alerts_before(Account::DEFAULT, None, 10).await.unwrap().len(),
        0,
        "it is in no list"
    );
    logins.logged_in("ann", IpAddr::from(Ipv4Addr::LOCALHOST), "by code").await.unwrap();
    let acts = of.store.audit_entries(store::AuditSearch::newest(Some(Account::DEFAULT), 20)).await.unwrap();
    let login = acts.iter().find(|entry| entry.act.verb == "line.login").unwrap();
    assert_eq!((login.act.object.as_str(), login.act.from.as_str()), ("ann", "127.0.0.1"));
}

over_both!(
    who_is_away_gets_the_next_device_at_once_and_their_own_when_they_come,
    who_is_reached_by_a_later_device_is_not_waited_for,
    who_is_away_is_tried_as_long_as_the_alert_lasts,
    a_code_goes_to_another_device_of_who_has_the_id_and_the_login_is_noted,
);
