//! Tests of what people do on a page of their own.

use super::backend::{TestBackend, over_both};
use super::test_engine::{Carrier, PATIENCE, TestEngine, accepted, person};
use crate::api::PAGE_LINK_S;
use crate::services::{CodeResult, GroupStanding, JoinResult, OwnPage, PageNotes, RefusedDevice};
use crate::{Joining, Privacy};
use records::{Account, Group, JoinRule, Recipient};
use std::time::Duration;

const OWN: &str = Account::DEFAULT;
const ANN: &str = "+46701740001";
const MAIL: &str = "ann@x.se";

fn page(of: &TestEngine) -> OwnPage<'_> {
    OwnPage::of(&of.engine, OWN, "ann", "192.0.2.1".to_owned())
}

async fn ann(of: &TestEngine) -> Recipient {
    of.store.recipient(OWN, "ann").await.unwrap().unwrap().0
}

/// The code that an address got.
async fn code(carrier: &Carrier, address: &str) -> String {
    let found = || {
        let sent = carrier.sent.lock().unwrap();
        let text = sent.iter().rev().find(|(to, _)| to == address).map(|(_, text)| text.clone());
        text.and_then(|text| text.split_once("Code ").map(|(_, rest)| rest[..6].to_owned()))
    };
    let comes = async {
        loop {
            match found() {
                Some(code) => return code,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, comes).await.expect("a code comes")
}

async fn a_device_gets_alerts_once_its_code_was_typed(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}")])]).await;
    let carrier = of.carrier(accepted);
    assert_eq!(page(&of).offer(channels::MAIL, MAIL).await.unwrap(), Ok(()));
    let code = code(&carrier, MAIL).await;
    let waiting = page(&of).view().await.unwrap().waiting;
    assert_eq!((waiting.len(), waiting[0].address.as_str()), (1, MAIL));
    let before = of.submit(|_| {}).await.alert;
    assert_eq!(of.until(&before, |report| report.state == "done").await.counts.endpoints, 1);
    assert_eq!(page(&of).confirm((channels::MAIL, MAIL), "no").await.unwrap(), CodeResult::Wrong);
    assert_eq!(page(&of).confirm((channels::MAIL, MAIL), &code).await.unwrap(), CodeResult::Added);
    assert!(page(&of).view().await.unwrap().waiting.is_empty());
    let devices = ann(&of).await.devices;
    assert!(devices.len() == 2 && devices[1].verified && devices[1].address == MAIL);
    let known = page(&of).offer(channels::MAIL, "ann@X.se").await.unwrap();
    assert_eq!(known, Err(RefusedDevice::Known), "however it is written");
    let after = of.submit(|_| {}).await.alert;
    assert_eq!(of.until(&after, |report| report.state == "done").await.counts.endpoints, 2);
    let acts = of.store.audit_entries(store::AuditSearch::newest(Some(OWN), 20)).await.unwrap();
    let offer = acts.iter().find(|entry| entry.act.verb == "page.device_offer").unwrap();
    assert_eq!((offer.act.object.as_str(), offer.act.from.as_str()), ("ann", "192.0.2.1"));
    assert!(acts.iter().all(|entry| !entry.act.detail.contains(&code)), "no code stands in the trail");
    let kept = of.bus.retained("person-page").unwrap().all();
    assert!(kept.iter().all(|(key, _)| !key.contains("ann")), "no name stands in the keys");
}

async fn an_erased_person_has_no_links_and_nothing_that_waits(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    of.store.set_stop_key([7; 32]);
    of.people(vec![person("ann", &[&format!("sms:{ANN}")])]).await;
    let carrier = of.carrier(accepted);
    let made = of.now();
    assert!(page(&of).is_link_good(made).await.unwrap());
    assert_eq!(page(&of).offer(channels::MAIL, MAIL).await.unwrap(), Ok(()));
    let code = code(&carrier, MAIL).await;
    Privacy::of(&of.engine).erase(OWN, "ann", None).await.unwrap();
    assert!(!page(&of).is_link_good(made).await.unwrap());
    of.pass_s(1);
    of.people(vec![person("ann", &[&format!("sms:{ANN}")])]).await;
    assert!(!page(&of).is_link_good(made).await.unwrap(), "it was of somebody else");
    assert!(page(&of).is_link_good(of.now()).await.unwrap());
    assert_eq!(page(&of).confirm((channels::MAIL, MAIL), &code).await.unwrap(), CodeResult::Over);
    of.pass_s(PAGE_LINK_S + 1);
    PageNotes::of(&of.engine).forget_old(of.now()).await.unwrap();
    assert!(of.bus.retained("person-page").unwrap().all().is_empty(), "nothing is kept for ever");
}

async fn groups_are_joined_as_by_a_word(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}")])]).await;
    for (id, join) in
        [("board", JoinRule::Closed), ("divers", JoinRule::Approval), ("harbour", JoinRule::Open)]
    {
        of.store.put_group(OWN, Group { id: id.into(), join, ..Group::default() }).await.unwrap();
    }
    let carrier = of.carrier(accepted);
    let standings = async || {
        let groups = page(&of).view().await.unwrap().groups;
        groups.into_iter().map(|group| (group.id, group.standing)).collect::<Vec<_>>()
    };
    let shown = |divers, harbour| vec![("divers".to_owned(), divers), ("harbour".to_owned(), harbour)];
    assert_eq!(standings().await, shown(GroupStanding::OnRequest, GroupStanding::Open));
    assert_eq!(page(&of).join("harbour").await.unwrap(), JoinResult::Done);
    assert_eq!(page(&of).join("divers").await.unwrap(), JoinResult::Asked);
    assert_eq!(page(&of).join("board").await.unwrap(), JoinResult::Changed);
    assert_eq!(standings().await, shown(GroupStanding::Asked, GroupStanding::Member));
    let joining = Joining::of(&of.engine);
    let waiting = joining.waiting(OWN).unwrap();
    joining.decide(OWN, &waiting[0].id(), true).await.unwrap();
    let told = async {
        while carrier.sent.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("they are told by their first device");
    assert_eq!(carrier.addresses(), [ANN]);
    assert_eq!(page(&of).leave("harbour").await.unwrap(), JoinResult::Done);
    assert_eq!(ann(&of).await.groups, ["divers"]);
}

async fn a_stop_and_a_start_of_one_device_hold_for_the_next_alert(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    of.people(vec![person("ann", &[&format!("sms:{ANN}"), &format!("mail:{MAIL}")])]).await;
    let _carrier = of.carrier(accepted);
    let endpoints = async || {
        let alert = of.submit(|_| {}).await.alert;
        let counts = of.until(&alert, |report| report.state == "done").await.counts;
        counts.endpoints - counts.excluded
    };
    assert!(page(&of).stop((channels::SMS, ANN), true).await.unwrap());
    assert_eq!(endpoints().await, 1);
    assert!(page(&of).view().await.unwrap().person.devices[0].opted_out);
    assert!(page(&of).stop((channels::SMS, ANN), false).await.unwrap());
    assert_eq!(endpoints().await, 2);
    assert!(!page(&of).stop((channels::SMS, "+46701740009"), true).await.unwrap(), "it is not theirs");
}

over_both!(
    a_device_gets_alerts_once_its_code_was_typed,
    an_erased_person_has_no_links_and_nothing_that_waits,
    groups_are_joined_as_by_a_word,
    a_stop_and_a_start_of_one_device_hold_for_the_next_alert,
);
