use super::alerts::accept;
use super::{ACCOUNT, alert, person};
use crate::{Fence, Holder, LeaseTaken, SharedStore, Store, StoreError};
use records::{Alert, AlertState, Group, Timestamp};
use std::time::Duration;

const NAME: &str = "engine";
/// Outlasts any test.
const LONG: Duration = Duration::from_secs(3_600);
/// Is over at once.
const SHORT: Duration = Duration::from_micros(1);

pub(crate) fn holder(name: &str) -> Holder {
    Holder { name: name.to_owned(), address: format!("{name}.example:8080") }
}

async fn take(store: &dyn Store, name: &str, lasts: Duration) -> LeaseTaken {
    store.take_lease(NAME, &holder(name), lasts).await.unwrap()
}

/// The epoch at which it is taken, which it must be.
async fn taken(store: &dyn Store, name: &str, lasts: Duration) -> u64 {
    match take(store, name, lasts).await {
        LeaseTaken::Ours { epoch } => epoch,
        LeaseTaken::Theirs(held) => panic!("{held:?}"),
    }
}

/// Takes it as soon as whoever has it has it no longer.
pub(crate) async fn taken_when_over(store: &dyn Store, name: &str) -> u64 {
    loop {
        if let LeaseTaken::Ours { epoch } = take(store, name, LONG).await {
            return epoch;
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn a_lease_is_one_holders_until_it_lets_go(store: &dyn Store) {
    assert_eq!(store.lease_holder(NAME).await.unwrap(), None);
    let first = taken(store, "a", LONG).await;
    let LeaseTaken::Theirs(held) = take(store, "b", LONG).await else { panic!("two hold it") };
    assert_eq!((held.holder.clone(), held.epoch), (holder("a"), first));
    assert!(held.remaining <= LONG && held.remaining > LONG / 2, "{held:?}");
    let seen = store.lease_holder(NAME).await.unwrap().unwrap();
    assert_eq!((seen.holder, seen.epoch), (held.holder, held.epoch));
    assert_eq!(taken(store, "a", LONG).await, first, "renewing changes no hands");
    assert!(!store.release_lease(NAME, first + 1).await.unwrap());
    assert!(store.release_lease(NAME, first).await.unwrap());
    assert!(!store.release_lease(NAME, first).await.unwrap());
    assert_eq!(store.lease_holder(NAME).await.unwrap(), None);
    assert!(taken(store, "b", LONG).await > first);
    let other = store.take_lease("shares", &holder("a"), LONG).await.unwrap();
    assert!(matches!(other, LeaseTaken::Ours { .. }), "another lease is another matter: {other:?}");
}

pub(crate) async fn a_lease_that_ran_out_is_the_next_ones(store: &dyn Store) {
    let first = taken(store, "a", SHORT).await;
    let second = taken_when_over(store, "b").await;
    assert!(second > first);
    assert!(matches!(take(store, "a", LONG).await, LeaseTaken::Theirs(held) if held.holder == holder("b")));
    assert!(!store.release_lease(NAME, first).await.unwrap());
}

pub(crate) async fn a_lease_that_ran_out_and_nobody_took_is_renewed_at_its_epoch(store: &dyn Store) {
    let first = taken(store, "a", SHORT).await;
    while store.lease_holder(NAME).await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(taken(store, "a", LONG).await, first);
    assert!(store.release_lease(NAME, first).await.unwrap());
    assert!(taken(store, "a", LONG).await > first, "what was let go is taken anew");
}

pub(crate) async fn of_many_who_take_a_lease_at_once_one_has_it(store: &dyn Store) {
    for round in 1..=5 {
        let names: Vec<Holder> = (0..20).map(|n| holder(&format!("{round}-{n}"))).collect();
        let all = names.iter().map(|holder| store.take_lease(NAME, holder, LONG));
        let all = futures_util::future::join_all(all).await;
        let ours: Vec<u64> = all
            .iter()
            .filter_map(|taken| match taken.as_ref().unwrap() {
                LeaseTaken::Ours { epoch } => Some(*epoch),
                LeaseTaken::Theirs(_) => None,
            })
            .collect();
        assert_eq!(ours.len(), 1, "{all:?}");
        assert!(store.release_lease(NAME, ours[0]).await.unwrap());
    }
}

pub(crate) async fn a_fenced_store_writes_while_its_lease_is_held(store: &dyn Store) {
    let epoch = taken(store, "a", LONG).await;
    let fenced = store.fenced(Fence { lease: NAME.to_owned(), epoch });
    let no = accept(&*fenced, 1).await;
    fenced.set_alert_state(no, AlertState::Running, 2, "", Timestamp(1)).await.unwrap();
    fenced.fold(super::deliveries::some(no, 0..10), 4).await.unwrap();
    let import = fenced.begin_import(ACCOUNT, Timestamp(1)).await.unwrap();
    fenced.stage(import, vec![person("1", "")]).await.unwrap();
    assert_eq!(fenced.publish_import(import).await.unwrap(), 1);
    assert_eq!(store.folded_to().await.unwrap(), 4);
    assert_eq!(fenced.alert_by_no(no).await.unwrap(), store.alert_by_no(no).await.unwrap());
}

pub(crate) async fn a_fenced_store_changes_nothing_once_its_lease_is_anothers(store: &dyn Store) {
    let epoch = taken(store, "a", SHORT).await;
    let fenced = store.fenced(Fence { lease: NAME.to_owned(), epoch });
    let no = accept(&*fenced, 1).await;
    let solving = super::solving(&*fenced, 2).await;
    let import = fenced.begin_import(ACCOUNT, Timestamp(1)).await.unwrap();
    fenced.stage(import, vec![person("1", "")]).await.unwrap();
    let later = taken_when_over(store, "b").await;
    refused_all(&fenced, no, solving, import).await;
    assert_eq!(store.alert_by_no(no).await.unwrap().unwrap().state, AlertState::Accepted);
    assert_eq!(store.alerts_before(ACCOUNT, None, 10).await.unwrap().len(), 2);
    assert_eq!((store.folded_to().await.unwrap(), store.roster_len(solving).await.unwrap()), (0, 0));
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 0);
    assert_eq!(store.groups_after(ACCOUNT, "", 9).await.unwrap(), []);
    // What is read may be read by anybody; and who holds the lease now writes.
    assert_eq!(fenced.folded_to().await.unwrap(), 0);
    let theirs = store.fenced(Fence { lease: NAME.to_owned(), epoch: later });
    theirs.fold(super::deliveries::some(no, 0..10), 4).await.unwrap();
}

async fn refused_all(
    fenced: &SharedStore,
    no: records::AlertNo,
    solving: records::AlertNo,
    import: crate::ImportNo,
) {
    let now = Timestamp(9);
    let block = records::RosterBlock::default();
    let many = (0..600).map(|n| person(&n.to_string(), "")).collect();
    let refused = [
        fenced.accept_alert(Alert { ..alert(3) }, None).await.map(|_| ()),
        fenced.set_alert_state(no, AlertState::Running, 2, "", now).await,
        fenced.put_roster(solving, vec![block], AlertState::Running, now).await,
        fenced.fold(super::deliveries::some(no, 0..10), 4).await,
        fenced.tie_cap(no, ACCOUNT, "s", "i", "").await,
        fenced.put_recipients(ACCOUNT, vec![person("1", "")]).await.map(|_| ()),
        fenced.put_recipients(ACCOUNT, many).await.map(|_| ()),
        fenced.put_group(ACCOUNT, Group { id: "g".to_owned(), ..Group::default() }).await.map(|_| ()),
        fenced.set_opt_out(ACCOUNT, channels::SMS, "+461", true, now).await,
        fenced.publish_import(import).await.map(|_| ()),
        fenced.begin_import(ACCOUNT, now).await.map(|_| ()),
    ];
    for (n, refused) in refused.into_iter().enumerate() {
        assert_eq!(refused, Err(StoreError::Fenced { lease: NAME.to_owned() }), "{n}");
    }
}

pub(crate) async fn a_lease_that_was_let_go_fences_off_its_holder(store: &dyn Store) {
    let epoch = taken(store, "a", LONG).await;
    let fenced = store.fenced(Fence { lease: NAME.to_owned(), epoch });
    let never = store.fenced(Fence { lease: "never taken".to_owned(), epoch: 1 });
    accept(&*fenced, 1).await;
    store.release_lease(NAME, epoch).await.unwrap();
    for store in [fenced, never] {
        let refused = store.accept_alert(alert(2), None).await;
        assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    }
}

pub(crate) async fn a_house_is_the_same_whoever_asks(store: &dyn Store) {
    let house = store.house().await.unwrap();
    assert_eq!(house.get_version_num(), 4, "{house}");
    assert_eq!(store.house().await.unwrap(), house);
    let fenced = store.fenced(Fence { lease: NAME.to_owned(), epoch: 1 });
    assert_eq!(fenced.house().await.unwrap(), house);
}

pub(crate) async fn a_pair_has_no_id_until_it_is_given_one_and_may_get_another(store: &dyn Store) {
    assert_eq!(store.pair().await.unwrap(), None);
    for id in [uuid::Uuid::from_u128(7), uuid::Uuid::from_u128(7), uuid::Uuid::from_u128(u128::MAX)] {
        store.set_pair(id).await.unwrap();
        assert_eq!(store.pair().await.unwrap(), Some(id));
    }
}

pub(crate) async fn of_many_first_tokens_one_is_put(store: &dyn Store) {
    let all = (1..=20_u8).map(|n| store.put_first_token(super::others::token(&n.to_string(), n, ACCOUNT)));
    let all = futures_util::future::join_all(all).await;
    assert_eq!(all.iter().filter(|put| **put == Ok(true)).count(), 1, "{all:?}");
    assert_eq!(all.iter().filter(|put| **put == Ok(false)).count(), 19, "{all:?}");
    assert_eq!(store.tokens(None).await.unwrap().len(), 1);
    let id = store.tokens(None).await.unwrap()[0].id.clone();
    store.revoke_token(&id, Timestamp(9)).await.unwrap();
    assert!(!store.put_first_token(super::others::token("x", 99, "b")).await.unwrap());
}
