//! Evidence of alerts: made once they have ended, exported, and the same tree after somebody is erased.

use super::backend::{TestBackend, over_both};
use super::test_engine::{TestEngine, accepted, crowd};
use crate::{AlertEvidence, Privacy};
use evidence::{CheckedExport, Checker, SigningKey};
use records::{Account, Alert, Timestamp};

const OWN: &str = Account::DEFAULT;
/// More than two pages of leaves.
const PEOPLE: usize = 600;

fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32]).unwrap()
}

async fn engine_of(ground: &TestBackend) -> TestEngine {
    let of = ground.engine_under_test().await;
    of.store.set_stop_key([7; 32]);
    of
}

/// An alert that has ended, with all that became of it in SQL.
async fn ended(ground: TestBackend) -> (TestBackend, TestEngine, Alert) {
    let of = engine_of(&ground).await;
    of.people(crowd(PEOPLE)).await;
    let _carrier = of.carrier(accepted);
    let alert = of.submit(|_| {}).await.alert;
    of.until(&alert, |report| report.state == "done").await;
    let ground = ground.ended(of).await;
    let of = engine_of(&ground).await;
    of.pass_s(60);
    (ground, of, alert)
}

async fn exported(of: &TestEngine, alert: &Alert) -> String {
    let evidence = AlertEvidence::of(&of.engine);
    let head = evidence.head(alert).await.unwrap().unwrap();
    let stored = of.store.alert_by_no(alert.no).await.unwrap().unwrap();
    let export = evidence.export(stored, &head).await.unwrap();
    let mut text = export.header();
    for page in 0..export.pages() {
        text += &export.page(page).await.unwrap();
    }
    text
}

fn checked(text: &str) -> CheckedExport {
    let mut lines = text.lines();
    let mut checker = Checker::new(lines.next().unwrap(), &key().public(), None).unwrap();
    lines.try_for_each(|line| checker.line(line)).unwrap();
    checker.end().unwrap()
}

async fn evidence_of_an_ended_alert_holds_and_holds_again_when_a_person_is_erased(ground: TestBackend) {
    let (_ground, of, alert) = ended(ground).await;
    let evidence = AlertEvidence::of(&of.engine);
    assert_eq!(evidence.head(&alert).await.unwrap(), None);
    evidence.make_due(&key(), Timestamp(0)).await.unwrap();
    let before = exported(&of, &alert).await;
    let export = checked(&before);
    // The alert, and what was sent and what became of it for each.
    assert_eq!((export.checked, export.erased), (1 + 2 * PEOPLE as u64, 0));
    let recipient = of.store.recipients_after(OWN, "", 1).await.unwrap().remove(0);
    let (id, address) = (format!("\"{}\"", recipient.id), recipient.devices[0].address.clone());
    assert!(before.contains(&id) && before.contains(&address));
    Privacy::of(&of.engine).erase(OWN, &recipient.id, None).await.unwrap();
    let after = exported(&of, &alert).await;
    assert!(!after.contains(&id) && !after.contains(&address));
    let erased = checked(&after);
    assert_eq!((erased.checked, erased.erased, &erased.header), (export.checked, 2, &export.header));
    // The next version has them as nobody.
    assert!(evidence.make(alert.no, &key()).await.unwrap());
    let next = checked(&exported(&of, &alert).await);
    assert_eq!((next.checked, next.erased, next.header.statement.version), (export.checked, 0, 2));
    assert_ne!(next.header.statement.root, export.header.statement.root);
}

over_both! {
    evidence_of_an_ended_alert_holds_and_holds_again_when_a_person_is_erased,
}
