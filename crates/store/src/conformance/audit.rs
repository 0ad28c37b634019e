use super::{ACCOUNT, alert};
use crate::audit::{AuditField, GENESIS, RETENTION, verify};
use crate::{Accepted, Act, AuditEntry, AuditKey, AuditSearch, IdempotencyKey, KeyOwner, Store};
use records::Timestamp;

pub(crate) const KEY: AuditKey = AuditKey([7; 32]);
const EARLY: Timestamp = Timestamp(1_000);
/// Later than any chain of a test began.
const LATE: Timestamp = Timestamp(i64::MAX - 1);

pub(crate) fn act(n: i64, account: &str) -> Act {
    Act {
        at: Timestamp(n),
        account: account.to_owned(),
        token: "t_1".to_owned(),
        token_name: "Ann's laptop".to_owned(),
        from: "192.0.2.7".to_owned(),
        verb: "alert.cancel".to_owned(),
        object: n.to_string(),
        ..Act::default()
    }
}

fn about(n: i64, person: &str) -> Act {
    let person = person.to_owned();
    Act { verb: "recipient.put".into(), object: person.clone(), person: Some(person), ..act(n, ACCOUNT) }
}

async fn newest(store: &dyn Store, account: Option<&str>, limit: usize) -> Vec<AuditEntry> {
    store.audit_entries(AuditSearch::newest(account, limit)).await.unwrap()
}

fn acts(entries: Vec<AuditEntry>) -> Vec<Act> {
    entries.into_iter().map(|entry| entry.act).collect()
}

/// That the chain holds, and how many fields it lost.
async fn erased(store: &dyn Store) -> u64 {
    let verdict = verify(store, &KEY, None).await.unwrap();
    assert!(verdict.holds(), "{verdict:?}");
    verdict.erased
}

pub(crate) async fn a_chain_begins_with_its_genesis(store: &dyn Store) {
    let first = newest(store, None, 10).await;
    assert_eq!(first.len(), 1);
    assert_eq!((first[0].link.seq, first[0].act.verb.as_str()), (1, GENESIS));
    let head = store.audit_head().await.unwrap();
    assert_eq!((head.seq, head.hash), (1, first[0].link.hash));
    assert_eq!(erased(store).await, 0);
}

pub(crate) async fn acts_are_listed_by_page_time_and_what_they_say(store: &dyn Store) {
    for (n, account) in [(1, "a"), (2, "b"), (3, "a"), (4, "a")] {
        let seq = store.note_act(act(n, account)).await.unwrap();
        assert_eq!(seq, n as u64 + 1, "behind the genesis");
    }
    assert_eq!(acts(newest(store, None, 2).await), [act(4, "a"), act(3, "a")]);
    assert_eq!(acts(newest(store, Some("a"), 10).await), [act(4, "a"), act(3, "a"), act(1, "a")]);
    assert_eq!(newest(store, Some("c"), 10).await, []);
    let all = || AuditSearch { limit: 10, ..AuditSearch::default() };
    for (search, expected) in [
        (AuditSearch { place: Some(4), ..all() }, vec![2, 1]),
        (AuditSearch { place: Some(4), oldest_first: true, ..all() }, vec![4]),
        (AuditSearch { oldest_first: true, limit: 2, place: Some(1), ..all() }, vec![1, 2]),
        (AuditSearch { until: Some(Timestamp(4)), ..all() }, vec![3, 2, 1]),
        (AuditSearch { until: Some(Timestamp(4)), from: Some(Timestamp(2)), ..all() }, vec![3, 2]),
        (AuditSearch { object: Some("3".into()), ..all() }, vec![3]),
        (AuditSearch { verb: Some("alert.pause".into()), ..all() }, vec![]),
        (AuditSearch { token: Some("t_1".into()), account: Some("b".into()), ..all() }, vec![2]),
        (AuditSearch { token: Some("t_2".into()), ..all() }, vec![]),
    ] {
        let found = acts(store.audit_entries(search.clone()).await.unwrap());
        let times: Vec<i64> = found.iter().filter(|act| act.verb != GENESIS).map(|act| act.at.0).collect();
        assert_eq!(times, expected, "{search:?}");
    }
}

pub(crate) async fn an_act_has_all_it_was_noted_with(store: &dyn Store) {
    let whole = Act {
        detail: "state running\0".to_owned(),
        failed: Some(9),
        count: Some(u64::MAX),
        ..act(5, ACCOUNT)
    };
    store.note_acts(vec![whole.clone(), Act { detail: "å".repeat(9_000), ..act(6, ACCOUNT) }]).await.unwrap();
    let mut found = acts(newest(store, None, 2).await);
    assert_eq!(found.pop(), Some(Act { detail: "state running\u{fffd}".to_owned(), ..whole }));
    assert_eq!(found[0].detail, "å".repeat(2_000), "the rest of a long text is left out");
    assert_eq!(erased(store).await, 0);
}

pub(crate) async fn an_accepted_alert_is_noted_once(store: &dyn Store) {
    let key = IdempotencyKey { key: "k".to_owned(), body_hash: [1; 32], of: KeyOwner::Token };
    let note = Act { verb: "alert.submit".to_owned(), ..act(1, ACCOUNT) };
    let accept = |n| store.accept_noted_alert(alert(n), Some(key.clone()), note.clone());
    let Accepted::New(first) = accept(1).await.unwrap() else { panic!() };
    assert!(matches!(accept(2).await.unwrap(), Accepted::Before(before) if before == first));
    let taken = store.accept_noted_alert(alert(1), None, note.clone()).await;
    assert!(taken.is_err(), "its id is taken: {taken:?}");
    let noted = acts(newest(store, Some(ACCOUNT), 10).await);
    assert_eq!(noted, [Act { object: first.id.to_string(), ..note }]);
    assert_eq!(erased(store).await, 0);
}

pub(crate) async fn a_person_is_forgotten_and_the_chain_holds(store: &dyn Store) {
    for one in [about(1, "ann"), about(2, "bo"), act(3, ACCOUNT), about(4, "ann")] {
        store.note_act(one).await.unwrap();
    }
    let answer =
        Act { verb: "answer".into(), object: "alert".into(), detail: "ann".into(), ..about(5, "ann") };
    store.note_act(answer).await.unwrap();
    assert_eq!(store.forget_person("b", "ann", EARLY).await.unwrap(), 0, "another account's");
    assert_eq!(store.forget_person(ACCOUNT, "cy", EARLY).await.unwrap(), 0);
    assert_eq!(store.forget_person(ACCOUNT, "ann", EARLY).await.unwrap(), 4);
    assert_eq!(store.forget_person(ACCOUNT, "ann", EARLY).await.unwrap(), 0);
    assert_eq!(erased(store).await, 4);
    let left = newest(store, Some(ACCOUNT), 10).await;
    assert!(!format!("{left:?}").contains("ann\""), "{left:?}");
    assert_eq!(left[1].erased, [AuditField::Object, AuditField::Detail]);
    assert_eq!((left[1].act.token_name.as_str(), left[4].act.object.as_str()), ("Ann's laptop", "bo"));
}

pub(crate) async fn a_very_busy_person_is_forgotten_by_several_links(store: &dyn Store) {
    let count = crate::audit::FORGOTTEN_MAX as i64 + 500;
    store.note_acts((0..count).map(|n| about(n, "ann")).collect()).await.unwrap();
    assert_eq!(store.forget_person(ACCOUNT, "ann", EARLY).await.unwrap(), count as u64);
    assert_eq!(erased(store).await, count as u64);
    assert_eq!(store.audit_head().await.unwrap().seq, 1 + count as u64 + 2);
}

pub(crate) async fn what_retention_dropped_is_vouched_for(store: &dyn Store) {
    store.note_acts((1..=6).map(|n| about(n, "ann")).collect()).await.unwrap();
    store.forget_person(ACCOUNT, "ann", EARLY).await.unwrap();
    let middle = store.audit_head().await.unwrap();
    store.note_act(act(LATE.0, ACCOUNT)).await.unwrap();
    assert_eq!(store.retain_acts(EARLY, EARLY, KEY).await.unwrap(), 0, "the genesis is not old enough");
    assert_eq!(store.retain_acts(LATE, EARLY, KEY).await.unwrap(), 8);
    assert_eq!(erased(store).await, 0, "the erased fields' links are gone too");
    let verdict = verify(store, &KEY, Some(middle)).await.unwrap();
    assert_eq!((verdict.first, verdict.dropped, verdict.anchor_found), (9, 8, Some(true)), "{verdict:?}");
    assert!(verdict.holds());
    let found = newest(store, None, 10).await;
    assert_eq!((found.len(), found[0].act.verb.as_str()), (2, RETENTION));
    let other = verify(store, &AuditKey([8; 32]), None).await.unwrap();
    assert!(!other.holds(), "another key did not sign it");
    assert_eq!(store.retain_acts(LATE, EARLY, KEY).await.unwrap(), 0, "what is not older stops it");
}

pub(crate) async fn many_who_append_at_once_make_one_chain(store: &dyn Store) {
    let noting = (0..200).map(|n| store.note_act(act(n, ACCOUNT)));
    let mut seqs: Vec<u64> =
        futures_util::future::join_all(noting).await.into_iter().collect::<Result<_, _>>().unwrap();
    seqs.sort_unstable();
    assert_eq!(seqs, (2..=201).collect::<Vec<u64>>());
    assert_eq!(erased(store).await, 0);
}
