use super::{ACCOUNT, solving};
use crate::{Store, StoreError};
use records::{
    AlertNo, AlertState, DeviceProfile, EndpointNo, Person, PlacedProfile, QuietSpan, ROSTER_BLOCK_ENDPOINTS,
    RosterBlock, RosterEntry, Timestamp,
};

pub(crate) async fn a_roster_is_read_by_block(store: &dyn Store) {
    let (no, other) = (solving(store, 1).await, solving(store, 2).await);
    put(store, other, 10).await;
    put(store, no, 1_500).await;
    assert_eq!(store.roster_len(no).await.unwrap(), 1_500);
    for (of, first) in [(0, 0), (511, 0), (512, 512), (1_499, 1_024)] {
        let block = store.roster_block(no, EndpointNo(of)).unwrap().unwrap();
        assert_eq!(block, blocks(1_500)[first / ROSTER_BLOCK_ENDPOINTS], "{of}");
    }
    for absent in [1_500, 5_000, u32::MAX] {
        assert_eq!(store.roster_block(no, EndpointNo(absent)).unwrap(), None, "{absent}");
    }
    assert_eq!(store.alert_by_no(no).await.unwrap().unwrap().state, AlertState::Running);
    assert_eq!(store.roster_len(AlertNo(77)).await.unwrap(), 0);
}

pub(crate) async fn the_blocks_of_an_interrupted_solve_are_replaced(store: &dyn Store) {
    let no = solving(store, 1).await;
    store.add_roster_blocks(no, true, blocks(40_000)).await.unwrap();
    store.add_roster_blocks(no, false, shifted(40_000, 100)).await.unwrap();
    assert_eq!(store.roster_len(no).await.unwrap(), 40_100);
    assert!(store.roster_block(no, EndpointNo(40_099)).unwrap().is_some());
    put(store, no, 600).await;
    assert_eq!(store.roster_len(no).await.unwrap(), 600);
    assert_eq!(store.roster_block(no, EndpointNo(601)).unwrap(), None);
    assert_eq!(store.roster_block(no, EndpointNo(30_000)).unwrap(), None);
}

pub(crate) async fn a_roster_is_refused_when_the_alert_is_not_being_solved(store: &dyn Store) {
    let no = solving(store, 1).await;
    store.set_alert_state(no, AlertState::Cancelled, 2, "", Timestamp(1)).await.unwrap();
    let refused = store.put_roster(no, blocks(3), AlertState::Running, Timestamp(2)).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(store.alert(ACCOUNT, super::alert(1).id).await.unwrap().unwrap().state, AlertState::Cancelled);
}

pub(crate) async fn an_empty_roster_can_end_an_alert(store: &dyn Store) {
    let no = solving(store, 1).await;
    store.put_roster(no, Vec::new(), AlertState::Done, Timestamp(2)).await.unwrap();
    assert_eq!(store.unfinished_alerts().await.unwrap(), []);
    assert_eq!(store.final_alerts_before(Timestamp(3), 1).await.unwrap().len(), 1);
}

pub(crate) async fn put(store: &dyn Store, no: AlertNo, endpoints: usize) {
    store.put_roster(no, blocks(endpoints), AlertState::Running, Timestamp(1)).await.unwrap();
}

fn blocks(endpoints: usize) -> Vec<RosterBlock> {
    shifted(0, endpoints)
}

fn shifted(from: usize, endpoints: usize) -> Vec<RosterBlock> {
    let numbers: Vec<usize> = (from..from + endpoints).collect();
    // Of every other block somebody has quiet hours: it is written in another form.
    let quiet = |numbers: &[usize]| match (numbers[0] / records::ROSTER_BLOCK_ENDPOINTS) % 2 {
        0 => vec![QuietSpan { place: 0, from: 1320, to: 420, zone: "Europe/Stockholm".to_owned() }],
        _ => Vec::new(),
    };
    // Of every third one somebody's device has a profile: another form again.
    let profiles = |numbers: &[usize]| match (numbers[0] / records::ROSTER_BLOCK_ENDPOINTS) % 3 {
        0 => vec![PlacedProfile {
            place: 0,
            profile: DeviceProfile { length: Some(20), ..DeviceProfile::default() },
        }],
        _ => Vec::new(),
    };
    let block = |numbers: &[usize]| RosterBlock {
        first: EndpointNo(u32::try_from(numbers[0]).unwrap()),
        entries: numbers.iter().map(|n| entry(*n)).collect(),
        quiet: quiet(numbers),
        profiles: profiles(numbers),
    };
    numbers.chunks(ROSTER_BLOCK_ENDPOINTS).map(block).collect()
}

fn entry(n: usize) -> RosterEntry {
    RosterEntry {
        channel: Some(channels::SMS),
        address: format!("+4670{n:07}"),
        persons: vec![Person { recipient: format!("p{n}"), name: "Ann".to_owned(), step: 0 }],
        language: None,
        values: Vec::new(),
        not_before: None,
        expires: None,
        rule: 0,
        excluded: None,
        message: None,
    }
}
