use super::{ACCOUNT, alert};
use crate::{
    EVIDENCE_PAGE_LEAVES, EvidenceDraft, EvidenceHead, EvidenceKind, EvidenceLeaf, EvidencePage, FoldedBlock,
    NewEvidence, Store,
};
use records::{AlertNo, AlertState, Delivery, DeliveryState, EndpointNo, Reason, RosterBlock, Timestamp};

const LONG: Timestamp = Timestamp(i64::MAX);

/// An alert that has ended at this second.
async fn ended(store: &dyn Store, n: u128, at_s: i64) -> AlertNo {
    let mut alert = alert(n);
    alert.request.require_answer = true;
    let crate::Accepted::New(alert) = store.accept_alert(alert, None).await.unwrap() else {
        panic!("it is new")
    };
    let at = Timestamp(at_s * 1_000_000);
    store.set_alert_state(alert.no, AlertState::Done, 3, "", at).await.unwrap();
    alert.no
}

fn leaf(kind: EvidenceKind, endpoint: u32) -> EvidenceLeaf {
    let octet = endpoint as u8 | 1;
    EvidenceLeaf { kind, endpoint: EndpointNo(endpoint), salt: Some([octet; 16]), hash: [octet; 32] }
}

/// The alert's own leaf, and three leaves for each of so many endpoints.
fn leaves(endpoints: u32) -> Vec<EvidenceLeaf> {
    use EvidenceKind::{Alert, Answer, Intent, Outcome};
    let of = |endpoint| [Intent, Outcome, Answer].map(|kind| leaf(kind, endpoint));
    std::iter::once(leaf(Alert, 0)).chain((0..endpoints).flat_map(of)).collect()
}

async fn write(store: &dyn Store, draft: EvidenceDraft, endpoints: u32) {
    for (page, leaves) in (0..).zip(leaves(endpoints).chunks(EVIDENCE_PAGE_LEAVES)) {
        let page = EvidencePage { page, root: [page as u8; 32], leaves: leaves.to_vec() };
        store.put_evidence_page(draft, page).await.unwrap();
    }
}

async fn finish(store: &dyn Store, draft: EvidenceDraft) -> bool {
    let header = format!("{{\"version\":{}}}", draft.version);
    let made = Timestamp(i64::from(draft.version) * 1_000_000);
    store.finish_evidence(NewEvidence { draft, made, header, audit: 7 }).await.unwrap()
}

async fn made(store: &dyn Store, no: AlertNo, endpoints: u32) -> EvidenceDraft {
    let draft = store.begin_evidence(no).await.unwrap().unwrap();
    write(store, draft, endpoints).await;
    assert!(finish(store, draft).await);
    draft
}

async fn kept(store: &dyn Store, draft: EvidenceDraft, pages: u32) -> Vec<EvidenceLeaf> {
    let mut all = Vec::new();
    for page in 0..pages {
        let page = store.evidence_page(draft.alert, draft.version, page).await.unwrap();
        all.extend(page.unwrap().leaves);
    }
    all
}

fn changed(alert: AlertNo) -> Delivery {
    Delivery {
        alert,
        endpoint: EndpointNo(0),
        state: DeliveryState::Delivered,
        attempts: 1,
        last_attempt: 1,
        parts: 1,
        parts_accepted: 1,
        parts_delivered: 1,
        route: None,
        reason: Reason::None,
        detail: String::new(),
        submitted: None,
        accepted: None,
        delivered: None,
        due: None,
        answer: None,
    }
}

pub(crate) async fn evidence_is_read_as_it_was_written(store: &dyn Store) {
    assert_eq!(store.begin_evidence(AlertNo(9)).await.unwrap(), None);
    let no = ended(store, 1, 20).await;
    let draft = store.begin_evidence(no).await.unwrap().unwrap();
    assert_eq!(draft.version, 1);
    assert_eq!(store.evidence(no).await.unwrap(), None);
    write(store, draft, 200).await;
    assert!(finish(store, draft).await);
    let head = EvidenceHead {
        alert: no,
        version: 1,
        made: Timestamp(1_000_000),
        header: "{\"version\":1}".to_owned(),
        audit: 7,
        stamp: None,
    };
    assert_eq!(store.evidence(no).await.unwrap(), Some(head));
    assert_eq!(store.evidence_roots(no, 1).await.unwrap(), [[0; 32], [1; 32]]);
    assert_eq!(kept(store, draft, 2).await, leaves(200));
    assert_eq!(store.evidence_page(no, 1, 2).await.unwrap(), None);
    assert_eq!(store.evidence_page(no, 2, 0).await.unwrap(), None);
    // The next version takes its place, and nothing is left of the one before.
    let next = made(store, no, 200).await;
    assert_eq!(next.version, 2);
    assert!(store.sweep_evidence(no).await.unwrap());
    assert!(!store.sweep_evidence(no).await.unwrap());
    assert_eq!(store.evidence_roots(no, 1).await.unwrap().len(), 0);
    assert_eq!(kept(store, next, 2).await, leaves(200));
    store.remove_alerts_before(LONG, 9).await.unwrap();
    assert_eq!(store.evidence(no).await.unwrap(), None);
    assert_eq!(store.evidence_roots(no, 2).await.unwrap().len(), 0);
}

pub(crate) async fn an_alert_is_due_once_it_ended_and_again_when_it_changed(store: &dyn Store) {
    let (first, second) = (ended(store, 1, 30).await, ended(store, 2, 20).await);
    super::alerts::accept(store, 3).await;
    let due = async |from: i64, until: i64| {
        let (from, until) = (Timestamp(from * 1_000_000), Timestamp(until * 1_000_000));
        store.alerts_without_evidence(from, until, 9).await.unwrap()
    };
    assert_eq!(due(0, 99).await, [second, first]);
    assert_eq!((due(21, 99).await, due(0, 20).await), (vec![first], vec![second]));
    // What was begun and not finished is due.
    let draft = store.begin_evidence(first).await.unwrap().unwrap();
    assert_eq!(due(0, 99).await, [second, first]);
    // What comes while it is made is for the next version.
    store.fold(vec![changed(first)], 1).await.unwrap();
    write(store, draft, 1).await;
    assert!(finish(store, draft).await);
    assert_eq!(due(0, 99).await, [second]);
    let changed_until = async |s: i64| store.changed_evidence(Timestamp(s * 1_000_000), 9).await.unwrap();
    assert_eq!((changed_until(0).await, changed_until(1).await), (vec![], vec![first]));
    made(store, first, 1).await;
    assert_eq!(changed_until(99).await, []);
    store.fold(vec![changed(first), changed(second)], 2).await.unwrap();
    assert_eq!(changed_until(99).await, [first]);
}

pub(crate) async fn an_erasure_takes_salts_and_refuses_a_version_that_was_begun_before_it(store: &dyn Store) {
    let no = ended(store, 1, 20).await;
    let before = made(store, no, 200).await;
    let draft = store.begin_evidence(no).await.unwrap().unwrap();
    write(store, draft, 200).await;
    let octets = RosterBlock::default().encode();
    let block = FoldedBlock { alert: no, first: EndpointNo(0), entries: 200, octets };
    store.rewrite_block(block, vec![EndpointNo(0), EndpointNo(170)]).await.unwrap();
    let is_erased =
        |leaf: &EvidenceLeaf| leaf.kind != EvidenceKind::Alert && [0, 170].contains(&leaf.endpoint.0);
    for version in [before, draft] {
        let expected: Vec<EvidenceLeaf> = leaves(200)
            .into_iter()
            .map(|leaf| EvidenceLeaf { salt: leaf.salt.filter(|_| !is_erased(&leaf)), ..leaf })
            .collect();
        assert_eq!(kept(store, version, 2).await, expected);
    }
    assert!(!finish(store, draft).await, "salts of the erased could be in it");
    assert_eq!(store.evidence(no).await.unwrap().unwrap().version, 1);
    assert_eq!(made(store, no, 200).await.version, 2);
}

pub(crate) async fn answers_lose_their_salts_with_their_texts(store: &dyn Store) {
    let no = ended(store, 1, 20).await;
    let draft = made(store, no, 200).await;
    assert_eq!(store.forget_answers_before(Timestamp(62_000_000), 9).await.unwrap(), [no]);
    let salts = kept(store, draft, 2).await;
    assert!(salts.iter().all(|leaf| leaf.salt.is_none() == (leaf.kind == EvidenceKind::Answer)));
    assert_eq!(store.alerts_after(ACCOUNT, AlertNo(0), 9).await.unwrap().len(), 1);
}

pub(crate) async fn a_time_stamp_belongs_to_its_version(store: &dyn Store) {
    let no = ended(store, 1, 20).await;
    let since = |s: i64| Timestamp(s * 1_000_000);
    assert_eq!(store.unstamped_evidence(since(0), 9).await.unwrap(), []);
    made(store, no, 1).await;
    assert_eq!(store.unstamped_evidence(since(1), 9).await.unwrap()[0].version, 1);
    assert_eq!(store.unstamped_evidence(since(2), 9).await.unwrap(), []);
    store.stamp_evidence(no, 1, vec![5]).await.unwrap();
    assert_eq!(store.unstamped_evidence(since(0), 9).await.unwrap(), []);
    assert_eq!(store.evidence(no).await.unwrap().unwrap().stamp, Some(vec![5]));
    made(store, no, 1).await;
    store.stamp_evidence(no, 1, vec![6]).await.unwrap();
    assert_eq!(store.evidence(no).await.unwrap().unwrap().stamp, None);
}
