use super::{ACCOUNT, alert};
use crate::{
    Accepted, ApprovalChange, CapEnd, CapTold, IdempotencyKey, KeyOwner, SeenAlert, Store, StoreError,
};
use records::{Alert, AlertId, AlertNo, AlertState, Approval, ApprovalNeed, ApprovalPerson, Timestamp};

pub(crate) async fn an_accepted_alert_is_found_as_it_was(store: &dyn Store) {
    let Accepted::New(accepted) = store.accept_alert(alert(1), None).await.unwrap() else { panic!() };
    assert_eq!(accepted, Alert { no: accepted.no, ..alert(1) });
    assert_eq!(store.alert(ACCOUNT, accepted.id).await.unwrap(), Some(accepted.clone()));
    assert_eq!(store.alert_by_no(accepted.no).await.unwrap(), Some(accepted.clone()));
    assert_eq!(store.alert("b", accepted.id).await.unwrap(), None);
    assert_eq!(store.alert(ACCOUNT, alert(2).id).await.unwrap(), None);
    assert_eq!(store.alert_by_no(AlertNo(accepted.no.0 + 1)).await.unwrap(), None);
}

pub(crate) async fn numbers_are_dense_and_never_reused(store: &dyn Store) {
    let first = accept(store, 1).await;
    assert_eq!(accept(store, 2).await.0, first.0 + 1);
    let refused = store.accept_alert(alert(2), None).await; // the outside id is taken
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    let third = accept(store, 3).await;
    assert_eq!(third.0, first.0 + 2);
    store.set_alert_state(third, AlertState::Done, 2, "", Timestamp(5)).await.unwrap();
    assert_eq!(store.remove_alerts_before(Timestamp(6), 10).await.unwrap(), [third]);
    assert_eq!(accept(store, 4).await.0, first.0 + 3);
}

pub(crate) async fn alerts_are_listed_newest_first(store: &dyn Store) {
    let mut numbers = Vec::new();
    for n in 1..=5 {
        numbers.push(accept(store, n).await);
    }
    let other = Alert { account: "b".to_owned(), ..alert(9) };
    store.accept_alert(other, None).await.unwrap();
    let page = store.alerts_before(ACCOUNT, None, 2).await.unwrap();
    assert_eq!(nos(&page), [numbers[4], numbers[3]]);
    let page = store.alerts_before(ACCOUNT, Some(numbers[3]), 10).await.unwrap();
    assert_eq!(nos(&page), [numbers[2], numbers[1], numbers[0]]);
}

pub(crate) async fn states_move_and_final_ones_are_not_unfinished(store: &dyn Store) {
    let (first, second) = (accept(store, 1).await, accept(store, 2).await);
    store.set_alert_state(first, AlertState::Running, 2, "", Timestamp(10)).await.unwrap();
    store.set_alert_state(second, AlertState::Cancelled, 2, "by ann", Timestamp(20)).await.unwrap();
    let found = store.alert_by_no(second).await.unwrap().unwrap();
    assert_eq!((found.state, found.version, found.note.as_str()), (AlertState::Cancelled, 2, "by ann"));
    assert_eq!(nos(&store.unfinished_alerts().await.unwrap()), [first]);
    for (no, ended) in [(first, None), (second, Some(Timestamp(20))), (AlertNo(99), None)] {
        assert_eq!(store.alert_ended(no).await.unwrap(), ended);
    }
    assert_eq!(nos(&store.final_alerts_before(Timestamp(21), 10).await.unwrap()), [second]);
    assert_eq!(store.final_alerts_before(Timestamp(20), 10).await.unwrap(), []);
}

pub(crate) async fn who_asks_is_known_until_its_time_is_over(store: &dyn Store) {
    let asking = |n| {
        let mut asking = alert(n);
        asking.request.require_answer = true;
        asking
    };
    let mut numbers = Vec::new();
    for alert in [asking(1), alert(2), asking(3)] {
        let Accepted::New(accepted) = store.accept_alert(alert, None).await.unwrap() else { panic!() };
        numbers.push(accepted.no);
    }
    store.set_alert_state(numbers[0], AlertState::Done, 2, "", Timestamp(20)).await.unwrap();
    let end = alert(1).request.expires;
    assert_eq!(nos(&store.asking_alerts(Timestamp(0)).await.unwrap()), [numbers[0], numbers[2]]);
    assert_eq!(nos(&store.asking_alerts(end).await.unwrap()), [numbers[2]]);
}

pub(crate) async fn an_older_version_does_not_overwrite_a_newer(store: &dyn Store) {
    let no = accept(store, 1).await;
    store.set_alert_state(no, AlertState::Cancelled, 3, "", Timestamp(1)).await.unwrap();
    for refused in [
        store.set_alert_state(no, AlertState::Running, 2, "", Timestamp(2)).await,
        store.set_alert_state(AlertNo(99), AlertState::Running, 9, "", Timestamp(2)).await,
    ] {
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    }
    assert_eq!(store.alert_by_no(no).await.unwrap().unwrap().state, AlertState::Cancelled);
}

fn approval(revision: u32) -> Approval {
    let author =
        ApprovalPerson { user: "user:1".into(), name: "Jonas å".into(), person: Some("jonas".into()) };
    let approval = Approval::of(vec![author], Timestamp(1), Timestamp(9));
    Approval { revision, needs: ApprovalNeed::Two, ..approval }
}

fn waiting(revision: u32) -> ApprovalChange {
    let (state, note) = (AlertState::AwaitingApproval, String::new());
    ApprovalChange { state, version: 2, note, approval: approval(revision) }
}

pub(crate) async fn an_approval_changes_as_it_was_seen_alone(store: &dyn Store) {
    let written = Alert { approval: Some(Box::new(approval(0))), ..alert(1) };
    let Accepted::New(first) = store.accept_alert(written, None).await.unwrap() else { panic!() };
    assert_eq!(store.alert_by_no(first.no).await.unwrap().unwrap(), first);
    let seen = SeenAlert::of(&first);
    let change =
        async |seen, changed| store.change_approval(first.no, seen, changed, Timestamp(5)).await.unwrap();
    assert!(change(seen, waiting(1)).await);
    assert!(change(seen, waiting(1)).await, "the same a second time is done already");
    assert!(!change(seen, waiting(2)).await, "it has changed since");
    let found = store.alert_by_no(first.no).await.unwrap().unwrap();
    assert_eq!((found.state, found.version), (AlertState::AwaitingApproval, 2));
    assert_eq!(found.approval.as_deref(), Some(&approval(1)));
    assert_eq!(SeenAlert::of(&found), SeenAlert { version: 2, revision: 1 });
    let older = SeenAlert { version: 1, revision: 1 };
    assert!(!change(older, waiting(2)).await, "the version counts too");
    let ended = ApprovalChange {
        state: AlertState::Cancelled,
        version: 3,
        note: "returned".into(),
        approval: approval(2),
    };
    assert!(change(SeenAlert::of(&found), ended).await);
    assert_eq!(store.alert_ended(first.no).await.unwrap(), Some(Timestamp(5)));
    let nobodys = store.change_approval(AlertNo(99), seen, waiting(1), Timestamp(5)).await.unwrap();
    assert!(!nobodys);
}

pub(crate) async fn alerts_that_wait_are_listed_oldest_first_by_account(store: &dyn Store) {
    let mut numbers = Vec::new();
    for (n, account) in [(1, ACCOUNT), (2, "b"), (3, ACCOUNT), (4, ACCOUNT)] {
        let Accepted::New(alert) =
            store.accept_alert(Alert { account: account.to_owned(), ..alert(n) }, None).await.unwrap()
        else {
            panic!()
        };
        if n != 4 {
            assert!(
                store
                    .change_approval(alert.no, SeenAlert::of(&alert), waiting(1), Timestamp(5))
                    .await
                    .unwrap()
            );
        }
        numbers.push(alert.no);
    }
    let all = store.alerts_awaiting_approval(None, AlertNo(0), 10).await.unwrap();
    assert_eq!(nos(&all), numbers[..3]);
    let own = store.alerts_awaiting_approval(Some(ACCOUNT), AlertNo(0), 1).await.unwrap();
    assert_eq!(nos(&own), [numbers[0]]);
    let own = store.alerts_awaiting_approval(Some(ACCOUNT), numbers[0], 10).await.unwrap();
    assert_eq!(nos(&own), [numbers[2]]);
    assert_eq!(store.alerts_awaiting_approval(Some("c"), AlertNo(0), 10).await.unwrap(), []);
}

pub(crate) async fn the_same_key_and_body_give_the_earlier_alert(store: &dyn Store) {
    let Accepted::New(first) = store.accept_alert(alert(1), key("k", 1)).await.unwrap() else { panic!() };
    assert_eq!(store.accept_alert(alert(2), key("k", 1)).await.unwrap(), Accepted::Before(first.clone()));
    assert_eq!(store.accept_alert(alert(3), key("k", 2)).await.unwrap(), Accepted::KeyTaken);
    assert!(matches!(store.accept_alert(alert(4), key("l", 1)).await.unwrap(), Accepted::New(_)));
    let other = Alert { account: "b".to_owned(), ..alert(5) };
    assert!(matches!(store.accept_alert(other, key("k", 2)).await.unwrap(), Accepted::New(_)));
    assert_eq!(store.alerts_before(ACCOUNT, None, 10).await.unwrap().len(), 2);
}

pub(crate) async fn a_key_is_its_tokens_unless_it_is_the_accounts(store: &dyn Store) {
    let of = |n: u128, token: &str| Alert { token: token.to_owned(), ..alert(n) };
    assert!(matches!(store.accept_alert(of(1, "t1"), key("k", 1)).await.unwrap(), Accepted::New(_)));
    assert!(matches!(store.accept_alert(of(2, "t2"), key("k", 2)).await.unwrap(), Accepted::New(_)));
    let accounts = || key("cap 1", 1).map(|key| IdempotencyKey { of: KeyOwner::Account, ..key });
    let Accepted::New(first) = store.accept_alert(of(3, "t1"), accounts()).await.unwrap() else { panic!() };
    assert_eq!(store.accept_alert(of(4, "t2"), accounts()).await.unwrap(), Accepted::Before(first));
    assert!(matches!(store.accept_alert(of(5, "t2"), key("cap 1", 2)).await.unwrap(), Accepted::New(_)));
}

pub(crate) async fn a_key_is_free_again_after_a_day(store: &dyn Store) {
    const DAY_S: i64 = 24 * 60 * 60;
    let Accepted::New(first) = store.accept_alert(alert(1), key("k", 1)).await.unwrap() else { panic!() };
    let at = |s: i64, n: u128| Alert { created: first.created.plus_s(s), ..alert(n) };
    assert_eq!(
        store.accept_alert(at(DAY_S - 1, 2), key("k", 1)).await.unwrap(),
        Accepted::Before(first.clone())
    );
    let Accepted::New(second) = store.accept_alert(at(DAY_S, 3), key("k", 2)).await.unwrap() else {
        panic!()
    };
    assert_eq!(store.accept_alert(at(DAY_S + 1, 4), key("k", 2)).await.unwrap(), Accepted::Before(second));
}

pub(crate) async fn many_at_once_with_one_key_make_one_alert(store: &dyn Store) {
    let all = (1..=50).map(|n| store.accept_alert(alert(n), key("k", 1)));
    let answers = futures_util::future::join_all(all).await;
    let new = answers.iter().filter(|answer| matches!(answer, Ok(Accepted::New(_)))).count();
    let before = answers.iter().filter(|answer| matches!(answer, Ok(Accepted::Before(_)))).count();
    assert_eq!((new, before), (1, 49));
}

pub(crate) async fn a_cap_message_names_its_alerts(store: &dyn Store) {
    let (first, second) = (accept(store, 1).await, accept(store, 2).await);
    for no in [first, second, second] {
        store.tie_cap(no, ACCOUNT, "s@x", "id-1", "2026-01-01T00:00:00-00:00").await.unwrap();
    }
    assert_eq!(nos(&store.alerts_of_cap(ACCOUNT, "s@x", "id-1").await.unwrap()), [second, first]);
    assert_eq!(store.alerts_of_cap(ACCOUNT, "s@x", "id-2").await.unwrap(), []);
    assert_eq!(store.alerts_of_cap("b", "s@x", "id-1").await.unwrap(), []);
}

pub(crate) async fn a_cap_message_is_known_by_its_identity_and_whom_it_was_told(store: &dyn Store) {
    let told = |told: &str, until: i64| CapTold {
        sender: "s@x".to_owned(),
        identifier: "id-1".to_owned(),
        sent: "t1".to_owned(),
        told: told.to_owned(),
        alert: AlertId(uuid::Uuid::from_u128(7)),
        content: "c".to_owned(),
        until: Timestamp(until),
    };
    for one in
        [told("north", 50), told("south", 90), CapTold { content: "other".to_owned(), ..told("south", 99) }]
    {
        store.note_cap_told(ACCOUNT, one, Timestamp(10)).await.unwrap();
    }
    let mut known = store.cap_told(ACCOUNT, "s@x", "id-1").await.unwrap();
    known.sort_by(|a, b| a.told.cmp(&b.told));
    assert_eq!(known, [told("north", 50), told("south", 90)], "what was noted first stays");
    assert_eq!(store.cap_told("b", "s@x", "id-1").await.unwrap(), []);
    store.note_cap_told(ACCOUNT, told("west", 99), Timestamp(50)).await.unwrap();
    let known = store.cap_told(ACCOUNT, "s@x", "id-1").await.unwrap();
    assert!(
        known.iter().all(|one| one.told != "north") && known.len() == 2,
        "nothing of it holds: {known:?}"
    );
}

pub(crate) async fn an_end_of_a_cap_message_is_kept_until_its_time(store: &dyn Store) {
    let end = |identifier: &str, ended: i64, until: i64| CapEnd {
        sender: "s@x".to_owned(),
        identifier: identifier.to_owned(),
        sent: "t1".to_owned(),
        token: String::new(),
        ended: Timestamp(ended),
        until: Timestamp(until),
    };
    for one in [end("a", 5, 90), end("a", 9, 80), end("b", 7, 40)] {
        store.note_cap_end(ACCOUNT, one, Timestamp(10)).await.unwrap();
    }
    assert_eq!(
        store.cap_ends(ACCOUNT, Some(("s@x", "a"))).await.unwrap(),
        [end("a", 9, 90)],
        "the latest of each"
    );
    assert_eq!(store.cap_ends(ACCOUNT, None).await.unwrap(), [end("a", 9, 90), end("b", 7, 40)]);
    assert_eq!(store.cap_ends("b", None).await.unwrap(), []);
    store.note_cap_end(ACCOUNT, end("c", 8, 99), Timestamp(40)).await.unwrap();
    assert_eq!(store.cap_ends(ACCOUNT, None).await.unwrap(), [end("c", 8, 99), end("a", 9, 90)]);
}

pub(crate) async fn old_alerts_go_with_all_they_have(store: &dyn Store) {
    let old = super::solving(store, 1).await;
    let new = accept(store, 2).await;
    super::rosters::put(store, old, 1_500).await;
    store.fold(super::deliveries::some(old, 0..5_000), 7).await.unwrap();
    store.fold(super::deliveries::some(new, 0..3), 8).await.unwrap();
    store.tie_cap(old, ACCOUNT, "s", "i", "").await.unwrap();
    store.set_alert_state(old, AlertState::Expired, 2, "", Timestamp(100)).await.unwrap();
    assert_eq!(store.remove_alerts_before(Timestamp(100), 10).await.unwrap(), []);
    assert_eq!(store.remove_alerts_before(Timestamp(101), 10).await.unwrap(), [old]);
    assert_eq!(store.alert_by_no(old).await.unwrap(), None);
    assert_eq!(store.roster_block(old, records::EndpointNo(0)).unwrap(), None);
    assert_eq!(super::deliveries::scan(store, old), []);
    assert_eq!(store.alerts_of_cap(ACCOUNT, "s", "i").await.unwrap(), []);
    assert_eq!(super::deliveries::scan(store, new).len(), 3);
    assert_eq!(store.folded_to().await.unwrap(), 8);
}

fn key(key: &str, body: u8) -> Option<IdempotencyKey> {
    Some(IdempotencyKey { key: key.to_owned(), body_hash: [body; 32], of: KeyOwner::Token })
}

pub(crate) async fn accept(store: &dyn Store, n: u128) -> AlertNo {
    match store.accept_alert(alert(n), None).await.unwrap() {
        Accepted::New(alert) => alert.no,
        other => panic!("{other:?}"),
    }
}

fn nos(alerts: &[Alert]) -> Vec<AlertNo> {
    alerts.iter().map(|alert| alert.no).collect()
}
