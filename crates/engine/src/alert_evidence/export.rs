//! Export: the header, and a line for each leaf with its proof, page by page.

use super::AlertEvidence;
use super::content::{of_alert, of_endpoint};
use crate::api::EngineError;
use crate::messages::untouched;
use crate::privacy::aside;
use crate::run::store_error;
use evidence::merkle::Tree;
use evidence::{EvidenceHeader, Leaf, Line, leaf_of};
use records::{Alert, Delivery, EndpointNo, ROSTER_BLOCK_ENDPOINTS, RosterBlock, RosterEntry};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use store::{EVIDENCE_PAGE_LEAVES, EvidenceHead, EvidenceKind, EvidenceLeaf, EvidencePage, SharedStore};

/// The evidence of an alert, page by page.
#[derive(Clone)]
pub struct EvidenceExport {
    store: SharedStore,
    alert: Arc<Alert>,
    version: u32,
    header: String,
    pages: u32,
    /// Over the heads of pages.
    tree: Arc<Tree>,
}

/// What endpoints of a page are now.
type Endpoints = FxHashMap<EndpointNo, (RosterEntry, Delivery)>;

impl AlertEvidence {
    /// The alert's newest evidence; nothing: it is not made.
    ///
    /// # Errors
    /// The store's.
    pub async fn head(&self, alert: &Alert) -> Result<Option<EvidenceHead>, EngineError> {
        self.engine.store().evidence(alert.no).await.map_err(store_error)
    }

    /// An export of it.
    ///
    /// # Errors
    /// The store's; damaged rows.
    pub async fn export(&self, alert: Alert, head: &EvidenceHead) -> Result<EvidenceExport, EngineError> {
        let store = self.engine.store();
        let roots = store.evidence_roots(alert.no, head.version).await.map_err(store_error)?;
        let damaged = |error: evidence::EvidenceError| EngineError::Internal(error.to_string());
        let header = EvidenceHeader {
            timestamp: head.stamp.clone(),
            ..EvidenceHeader::parse(&head.header).map_err(damaged)?
        };
        Ok(EvidenceExport {
            store,
            alert: Arc::new(alert),
            version: head.version,
            header: header.to_text(),
            pages: u32::try_from(roots.len()).unwrap_or(u32::MAX),
            tree: Arc::new(Tree::new(roots)),
        })
    }
}

impl EvidenceExport {
    /// The first line, with its end.
    pub fn header(&self) -> String {
        format!("{}\n", self.header)
    }

    /// How many pages there are.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The lines of a page, each with its end.
    ///
    /// # Errors
    /// The store's; a newer version took the place of this one.
    pub async fn page(&self, number: u32) -> Result<String, EngineError> {
        let page = self.store.evidence_page(self.alert.no, self.version, number).await;
        let page = page.map_err(store_error)?.ok_or_else(|| {
            EngineError::Internal("a newer version of the evidence was made meanwhile".to_owned())
        })?;
        let endpoints = self.endpoints(&page).await?;
        let (alert, tree) = (self.alert.clone(), self.tree.clone());
        aside(move || Ok(lines(&alert, &tree, &page, &endpoints))).await
    }

    async fn endpoints(&self, page: &EvidencePage) -> Result<Endpoints, EngineError> {
        let numbers = || page.leaves.iter().map(|leaf| leaf.endpoint.0);
        let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
            return Ok(Endpoints::default());
        };
        let (no, mut at) = (self.alert.no, first);
        let mut found = Endpoints::default();
        while at <= last {
            let store = self.store.clone();
            let block = aside(move || store.roster_block(no, EndpointNo(at)).map_err(store_error)).await?;
            let Some(block) = block else { break };
            let rows = self.store.deliveries_from(no, block.first, None, ROSTER_BLOCK_ENDPOINTS).await;
            at = block.first.0.saturating_add(ROSTER_BLOCK_ENDPOINTS as u32);
            add(&mut found, block, rows.map_err(store_error)?);
        }
        Ok(found)
    }
}

fn add(found: &mut Endpoints, block: RosterBlock, rows: Vec<Delivery>) {
    let mut rows = rows.into_iter().peekable();
    for (place, entry) in (block.first.0..).zip(block.entries) {
        let endpoint = EndpointNo(place);
        let row = rows.next_if(|row| row.endpoint == endpoint);
        let delivery = row.unwrap_or_else(|| untouched(records::AlertNo(0), endpoint, &entry));
        found.insert(endpoint, (entry, delivery));
    }
}

fn lines(alert: &Alert, whole: &Tree, page: &EvidencePage, endpoints: &Endpoints) -> String {
    let tree = Tree::new(page.leaves.iter().map(|leaf| leaf.hash).collect());
    let above = whole.proof(page.page as usize).unwrap_or_default();
    let first = u64::from(page.page) * EVIDENCE_PAGE_LEAVES as u64;
    let mut text = String::new();
    for (place, leaf) in page.leaves.iter().enumerate() {
        let mut proof = tree.proof(place).unwrap_or_default();
        proof.extend(&above);
        let index = first + place as u64;
        let line = Line { index, leaf: shown(alert, leaf, endpoints), proof };
        text.push_str(&line.to_text());
        text.push('\n');
    }
    text
}

/// A leaf with its content, if that is as it was.
fn shown(alert: &Alert, leaf: &EvidenceLeaf, endpoints: &Endpoints) -> Leaf {
    let content = match leaf.kind {
        EvidenceKind::Alert => Some(of_alert(alert)),
        kind => {
            endpoints.get(&leaf.endpoint).and_then(|(entry, delivery)| of_endpoint(kind, entry, delivery))
        }
    };
    match leaf.salt.zip(content) {
        Some((salt, content)) if leaf_of(&salt, &content) == leaf.hash => Leaf::Content { salt, content },
        _ => Leaf::Erased(leaf.hash),
    }
}
