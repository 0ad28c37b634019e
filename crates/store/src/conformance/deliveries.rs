use super::alerts::accept;
use crate::Store;
use records::{AlertNo, Answer, Delivery, DeliveryState, EndpointNo, Reason, Timestamp};
use std::ops::Range;

pub(crate) async fn folded_deliveries_are_read_in_key_order(store: &dyn Store) {
    let (first, second) = (accept(store, 1).await, accept(store, 2).await);
    let mut all = some(second, 0..10);
    all.extend(some(first, 0..10));
    all.reverse();
    store.fold(all, 42).await.unwrap();
    assert_eq!(store.folded_to().await.unwrap(), 42);
    assert_eq!(scan(store, first), some(first, 0..10));
    let page = store.deliveries_from(second, EndpointNo(4), None, 3).await.unwrap();
    assert_eq!(page, some(second, 4..7));
    assert_eq!(store.deliveries_from(second, EndpointNo(4), None, 0).await.unwrap(), []);
}

pub(crate) async fn a_later_fold_replaces(store: &dyn Store) {
    let no = accept(store, 1).await;
    store.fold(some(no, 0..3), 1).await.unwrap();
    let changed = full(no, 1);
    let stale = Delivery { detail: "stale".to_owned(), ..changed.clone() };
    store.fold(vec![stale, changed.clone()], 2).await.unwrap();
    assert_eq!(store.deliveries_from(no, EndpointNo(1), None, 1).await.unwrap(), [changed]);
    assert_eq!(scan(store, no).len(), 3);
    assert_eq!(store.folded_to().await.unwrap(), 2);
}

pub(crate) async fn deliveries_are_found_by_state(store: &dyn Store) {
    let no = accept(store, 1).await;
    store.fold(some(no, 0..20), 1).await.unwrap();
    for state in DeliveryState::ALL {
        let expected: Vec<Delivery> =
            some(no, 5..20).into_iter().filter(|delivery| delivery.state == state).collect();
        assert_eq!(
            store.deliveries_from(no, EndpointNo(5), Some(state), 50).await.unwrap(),
            expected,
            "{state:?}"
        );
    }
}

pub(crate) async fn a_large_fold_is_whole_before_it_is_noted(store: &dyn Store) {
    let no = accept(store, 1).await;
    let (fold, noted) = futures_util::future::join(store.fold(some(no, 0..20_000), 9), async {
        loop {
            if store.folded_to().await.unwrap() == 9 {
                return store.deliveries_from(no, EndpointNo(0), None, 50_000).await.unwrap().len();
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    fold.unwrap();
    assert_eq!(noted, 20_000);
}

pub(crate) async fn what_belongs_to_no_alert_is_left_out(store: &dyn Store) {
    let no = accept(store, 1).await;
    let mut all = some(AlertNo(no.0 + 1), 0..3);
    all.extend(some(no, 0..3));
    store.fold(all, 5).await.unwrap();
    assert_eq!((scan(store, no).len(), scan(store, AlertNo(no.0 + 1)).len()), (3, 0));
    assert_eq!(store.folded_to().await.unwrap(), 5);
}

pub(crate) async fn nothing_is_folded_at_first(store: &dyn Store) {
    assert_eq!(store.folded_to().await.unwrap(), 0);
    store.fold(Vec::new(), 3).await.unwrap();
    assert_eq!(store.folded_to().await.unwrap(), 3);
}

pub(crate) fn some(alert: AlertNo, endpoints: Range<u32>) -> Vec<Delivery> {
    let delivery = |n: u32| Delivery {
        alert,
        endpoint: EndpointNo(n),
        state: DeliveryState::ALL[n as usize % DeliveryState::ALL.len()],
        attempts: 1,
        last_attempt: 1,
        parts: 1,
        parts_accepted: 1,
        parts_delivered: 0,
        route: Some(format!("carrier-{}", n % 3)),
        reason: Reason::None,
        detail: String::new(),
        submitted: Some(Timestamp(1_800_000_000_000_000 + i64::from(n))),
        accepted: Some(Timestamp(1_800_000_000_100_000 + i64::from(n))),
        delivered: None,
        due: None,
        answer: None,
    };
    endpoints.map(delivery).collect()
}

fn full(alert: AlertNo, n: u32) -> Delivery {
    Delivery {
        state: DeliveryState::Answered,
        attempts: 255,
        last_attempt: 254,
        parts: 253,
        parts_accepted: u16::MAX,
        parts_delivered: 0x8001,
        reason: Reason::Resent,
        detail: "550 5.1.1 unknown å".to_owned(),
        delivered: Some(Timestamp(-1)),
        due: Some(Timestamp(i64::MAX)),
        answer: Some(Answer {
            key: Some("1".to_owned()),
            text: "I am safe".to_owned(),
            via: "sms".to_owned(),
            at: Timestamp(3),
        }),
        ..some(alert, n..n + 1).remove(0)
    }
}

pub(crate) fn scan(store: &dyn Store, alert: AlertNo) -> Vec<Delivery> {
    let mut all = Vec::new();
    store
        .scan_deliveries(alert, &mut |slice| {
            all.extend_from_slice(slice);
            true
        })
        .unwrap();
    all
}
