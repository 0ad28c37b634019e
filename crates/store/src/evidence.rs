//! Evidence of alerts as it is kept: the head of each tree, and pages of salts and hashes of its leaves. The
//! lines themselves are not kept a second time: rosters and deliveries have what they say.

use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{AlertNo, EndpointNo, Timestamp};

/// Leaves of a page; all but the last have so many. A power of two, so that a page is a whole tree of its
/// own.
pub const EVIDENCE_PAGE_LEAVES: usize = 512;
/// Pages removed in one transaction.
pub(crate) const PAGES_REMOVED: usize = 64;
/// Pages whose answers are forgotten in one transaction.
pub(crate) const PAGES_FORGOTTEN: usize = 64;
const SALT_OCTETS: usize = 16;
const HASH_OCTETS: usize = 32;
/// Octets of a leaf: kind, endpoint, salt, hash.
const LEAF_OCTETS: usize = 1 + 4 + SALT_OCTETS + HASH_OCTETS;
/// A salt that was forgotten.
const FORGOTTEN: [u8; SALT_OCTETS] = [0; SALT_OCTETS];

/// What a leaf speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EvidenceKind {
    /// The alert itself; of no endpoint.
    Alert = 0,
    /// What was sent to an endpoint.
    Intent = 1,
    /// What became of it.
    Outcome = 2,
    /// What was answered.
    Answer = 3,
}

impl EvidenceKind {
    fn numbered(number: u8) -> Option<EvidenceKind> {
        use EvidenceKind::{Alert, Answer, Intent, Outcome};
        [Alert, Intent, Outcome, Answer].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// A leaf of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceLeaf {
    /// What it speaks of.
    pub kind: EvidenceKind,
    /// Whose; 0 for the alert itself.
    pub endpoint: EndpointNo,
    /// Its salt; nothing: it was forgotten.
    pub salt: Option<[u8; SALT_OCTETS]>,
    /// Its hash.
    pub hash: [u8; HASH_OCTETS],
}

/// Leaves one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidencePage {
    /// Its number, from 0 on.
    pub page: u32,
    /// Head of the tree of its leaves.
    pub root: [u8; HASH_OCTETS],
    /// At most [`EVIDENCE_PAGE_LEAVES`].
    pub leaves: Vec<EvidenceLeaf>,
}

impl EvidencePage {
    /// The first and the last endpoint.
    pub(crate) fn endpoints(&self) -> (u32, u32) {
        let endpoints = || self.leaves.iter().map(|leaf| leaf.endpoint.0);
        (endpoints().min().unwrap_or(0), endpoints().max().unwrap_or(0))
    }

    pub(crate) fn has_answers(&self) -> bool {
        self.leaves.iter().any(|leaf| leaf.kind == EvidenceKind::Answer && leaf.salt.is_some())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(self.leaves.len() * LEAF_OCTETS);
        for leaf in &self.leaves {
            octets.push(leaf.kind as u8);
            octets.extend(leaf.endpoint.0.to_be_bytes());
            octets.extend(leaf.salt.unwrap_or(FORGOTTEN));
            octets.extend(leaf.hash);
        }
        octets
    }

    pub(crate) fn decode(page: u32, root: &[u8], octets: &[u8]) -> Result<EvidencePage, StoreError> {
        let damaged = || StoreError::Damaged { what: format!("page {page} of evidence") };
        let (leaves, rest) = octets.as_chunks::<LEAF_OCTETS>();
        let root = root.try_into().map_err(|_| damaged())?;
        let leaves: Option<Vec<EvidenceLeaf>> = leaves.iter().map(leaf).collect();
        match leaves.filter(|_| rest.is_empty()) {
            Some(leaves) => Ok(EvidencePage { page, root, leaves }),
            None => Err(damaged()),
        }
    }

    /// Forgets the salts of these leaves.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(&EvidenceLeaf) -> bool) {
        self.leaves.iter_mut().filter(|leaf| is_forgotten(leaf)).for_each(|leaf| leaf.salt = None);
    }
}

fn leaf(octets: &[u8; LEAF_OCTETS]) -> Option<EvidenceLeaf> {
    let (kind, rest) = octets.split_first()?;
    let (endpoint, rest) = rest.split_first_chunk::<4>()?;
    let (salt, hash) = rest.split_first_chunk::<SALT_OCTETS>()?;
    Some(EvidenceLeaf {
        kind: EvidenceKind::numbered(*kind)?,
        endpoint: EndpointNo(u32::from_be_bytes(*endpoint)),
        salt: Some(*salt).filter(|salt| *salt != FORGOTTEN),
        hash: hash.try_into().ok()?,
    })
}

/// A version that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceDraft {
    /// The alert.
    pub alert: AlertNo,
    /// The version that it will be.
    pub version: u32,
    /// Erasures in the alert when it was begun: one more, and it is refused.
    pub erased: u64,
    /// Folds into the alert when it was begun.
    pub changed: u64,
}

/// What becomes of a draft whose pages are all written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvidence {
    /// As it was begun.
    pub draft: EvidenceDraft,
    /// When.
    pub made: Timestamp,
    /// The signed statement.
    pub header: String,
    /// The entry of the audit trail that has the head.
    pub audit: u64,
}

/// The newest version of an alert's evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceHead {
    /// The alert.
    pub alert: AlertNo,
    /// From 1 on.
    pub version: u32,
    /// When it was made.
    pub made: Timestamp,
    /// The signed statement.
    pub header: String,
    /// The entry of the audit trail that has the head.
    pub audit: u64,
    /// The time stamp's token; nothing: there is none yet.
    pub stamp: Option<Vec<u8>>,
}

/// Evidence of alerts.
pub trait Evidence {
    /// Alerts that ended between these times, both included, and have no evidence, in the order of their
    /// ends. Message streams are none.
    fn alerts_without_evidence(
        &self,
        from: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>>;
    /// Alerts that changed since their evidence was made, of what was made up to then.
    fn changed_evidence(
        &self,
        made_until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>>;
    /// Begins the next version of an alert that has ended; nothing: there is no such alert. Pages of a
    /// version that was begun before are overwritten.
    fn begin_evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<EvidenceDraft>, StoreError>>;
    /// Writes a page of a draft.
    fn put_evidence_page(
        &self,
        draft: EvidenceDraft,
        page: EvidencePage,
    ) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Makes a draft the alert's evidence. False: somebody was erased meanwhile, or another version was made:
    /// it has to be begun again.
    fn finish_evidence(&self, evidence: NewEvidence) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// Removes some pages of versions that are not the alert's evidence; false: there was none.
    fn sweep_evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// The alert's evidence; nothing: it is not made.
    fn evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<EvidenceHead>, StoreError>>;
    /// The heads of all pages of a version, in order.
    fn evidence_roots(&self, no: AlertNo, version: u32) -> BoxFuture<'_, Result<Vec<[u8; 32]>, StoreError>>;
    /// A page of a version.
    fn evidence_page(
        &self,
        no: AlertNo,
        version: u32,
        page: u32,
    ) -> BoxFuture<'_, Result<Option<EvidencePage>, StoreError>>;
    /// Evidence without a time stamp, made since then, the oldest first.
    fn unstamped_evidence(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<EvidenceHead>, StoreError>>;
    /// Adds the time stamp of a version. Another version has one of its own.
    fn stamp_evidence(
        &self,
        no: AlertNo,
        version: u32,
        token: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;
}
