use super::alerts::accept;
use super::{ACCOUNT, alert};
use crate::{Accepted, Fold, FoldedBlock, OptOut, Store};
use records::{
    Alert, AlertNo, AlertState, EndpointNo, Origin, Priority, ROSTER_BLOCK_ENDPOINTS, RosterBlock,
    RosterEntry, Timestamp,
};

pub(crate) async fn standing_alerts_are_found_by_index_and_are_in_no_list(store: &dyn Store) {
    let sent = accept(store, 1).await;
    let routine = standing(store, 2, 0, Priority::Routine).await;
    let urgent = standing(store, 3, 5, Priority::Urgent).await;
    let next = standing(store, 4, 100, Priority::Routine).await;
    let found = async |account: &str, index| {
        let alerts = store.standing_alerts_of(account, index).await.unwrap();
        let mut numbers: Vec<AlertNo> = alerts.into_iter().map(|alert| alert.no).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(found(ACCOUNT, 4).await, [routine]);
    assert_eq!(found(ACCOUNT, 99).await, [routine, urgent]);
    assert_eq!(found(ACCOUNT, u64::MAX).await, [urgent, next]);
    assert_eq!(found("b", 99).await, []);
    let listed = store.alerts_before(ACCOUNT, None, 10).await.unwrap();
    assert_eq!(listed.into_iter().map(|alert| alert.no).collect::<Vec<_>>(), [sent]);
    assert_eq!(store.unfinished_alerts().await.unwrap().len(), 4);
    let read = store.alert_by_no(next).await.unwrap().unwrap();
    assert_eq!(read.origin, Origin::Standing { intake_from: 100 });
}

pub(crate) async fn a_roster_grows_by_folds_with_how_far_intake_is(store: &dyn Store) {
    const BLOCK: u32 = ROSTER_BLOCK_ENDPOINTS as u32;
    let no = standing(store, 1, 0, Priority::Routine).await;
    assert_eq!(store.intake_to().await.unwrap(), 0);
    for (entries, intake_to) in [(3, 7), (BLOCK, 700)] {
        let blocks = vec![block(no, 0, entries)];
        store
            .fold_all(Fold { blocks, folded_to: 4, intake_to: Some(intake_to), ..Fold::default() })
            .await
            .unwrap();
        assert_eq!(store.roster_len(no).await.unwrap(), entries);
        assert_eq!(store.intake_to().await.unwrap(), intake_to);
    }
    let blocks = vec![block(no, BLOCK, 2), block(no, 0, BLOCK)];
    store.fold_all(Fold { blocks, folded_to: 9, ..Fold::default() }).await.unwrap();
    assert_eq!((store.intake_to().await.unwrap(), store.folded_to().await.unwrap()), (700, 9));
    assert_eq!(store.roster_len(no).await.unwrap(), BLOCK + 2);
    let last = store.roster_block(no, EndpointNo(BLOCK + 1)).unwrap().unwrap();
    assert_eq!((last.first, last.entries.len()), (EndpointNo(BLOCK), 2));
    assert_eq!(store.roster_block(no, EndpointNo(BLOCK + 2)).unwrap(), None);
}

pub(crate) async fn blocks_beyond_one_transaction_are_all_there_before_the_positions(store: &dyn Store) {
    const BLOCK: u32 = ROSTER_BLOCK_ENDPOINTS as u32;
    let no = standing(store, 1, 0, Priority::Routine).await;
    let blocks: Vec<FoldedBlock> = (0..64).map(|n| block(no, n * BLOCK, BLOCK)).collect();
    let fold = Fold { blocks, folded_to: 5, intake_to: Some(6), ..Fold::default() };
    let (folded, noted) = futures_util::future::join(store.fold_all(fold), async {
        loop {
            if store.intake_to().await.unwrap() == 6 {
                return store.roster_len(no).await.unwrap();
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    folded.unwrap();
    assert_eq!(noted, 64 * BLOCK);
    for n in 0..64 {
        assert!(store.roster_block(no, EndpointNo(n * BLOCK)).unwrap().is_some(), "{n}");
    }
}

pub(crate) async fn a_standing_alert_goes_with_its_roster_and_nothing_is_folded_into_it(store: &dyn Store) {
    let no = standing(store, 1, 0, Priority::Routine).await;
    let fold = || Fold { blocks: vec![block(no, 0, 3)], folded_to: 1, intake_to: Some(3), ..Fold::default() };
    store.fold_all(fold()).await.unwrap();
    store.set_alert_state(no, AlertState::Done, 2, "", Timestamp(50)).await.unwrap();
    assert_eq!(store.remove_alerts_before(Timestamp(51), 10).await.unwrap(), [no]);
    store.fold_all(fold()).await.unwrap();
    assert_eq!(store.roster_block(no, EndpointNo(0)).unwrap(), None);
}

pub(crate) async fn an_opt_out_of_one_sender_leaves_the_others(store: &dyn Store) {
    let (sms, at) = (channels::SMS, Timestamp(5));
    let address = "+461";
    let out = |sender: Option<&str>, at| OptOut {
        channel: sms,
        address: address.to_owned(),
        sender: sender.map(str::to_owned),
        at,
    };
    store.set_sender_opt_out(ACCOUNT, sms, address, "71700", true, at).await.unwrap();
    store.set_sender_opt_out(ACCOUNT, sms, address, "71700", true, Timestamp(9)).await.unwrap();
    assert_eq!(store.opt_outs(ACCOUNT).await.unwrap(), []);
    assert_eq!(store.all_opt_outs(ACCOUNT).await.unwrap(), [out(Some("71700"), at)]);
    store.set_opt_out(ACCOUNT, sms, address, true, Timestamp(6)).await.unwrap();
    assert_eq!(store.all_opt_outs(ACCOUNT).await.unwrap(), [out(None, Timestamp(6)), out(Some("71700"), at)]);
    store.set_sender_opt_out(ACCOUNT, sms, address, "71700", false, at).await.unwrap();
    assert_eq!(store.all_opt_outs(ACCOUNT).await.unwrap(), [out(None, Timestamp(6))]);
    assert_eq!(store.all_opt_outs("b").await.unwrap(), []);
}

async fn standing(store: &dyn Store, n: u128, intake_from: u64, priority: Priority) -> AlertNo {
    let origin = Origin::Standing { intake_from };
    let mut alert = Alert { origin, state: AlertState::Running, ..alert(n) };
    alert.request.priority = priority;
    match store.accept_alert(alert, None).await.unwrap() {
        Accepted::New(alert) => alert.no,
        other => panic!("{other:?}"),
    }
}

fn block(alert: AlertNo, first: u32, entries: u32) -> FoldedBlock {
    let entry = |n: u32| RosterEntry {
        channel: Some(channels::SMS),
        address: format!("+46{n}"),
        persons: Vec::new(),
        language: None,
        values: Vec::new(),
        not_before: None,
        expires: None,
        rule: 0,
        excluded: None,
        message: None,
    };
    let all = (first..first + entries).map(entry).collect();
    let octets = RosterBlock { first: EndpointNo(first), entries: all, ..RosterBlock::default() }.encode();
    FoldedBlock { alert, first: EndpointNo(first), entries, octets }
}
