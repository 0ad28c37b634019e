//! Building of a version: rosters and deliveries are read page by page, hashed off the engine's task, and the
//! head is signed and noted in the audit trail before it stands.

use super::AlertEvidence;
use super::content::{kinds, of_alert, of_endpoint};
use crate::api::EngineError;
use crate::messages::untouched;
use crate::privacy::aside;
use crate::report::rfc3339;
use crate::run::store_error;
use evidence::merkle::TreeBuilder;
use evidence::{SALT_OCTETS, SigningKey, Statement, leaf_of};
use records::{Alert, AlertNo, Delivery, EndpointNo, ROSTER_BLOCK_ENDPOINTS, RosterBlock, Timestamp};
use ring::rand::{SecureRandom, SystemRandom};
use store::audit::SERVER;
use store::{
    Act, EVIDENCE_PAGE_LEAVES, EvidenceDraft, EvidenceKind, EvidenceLeaf, EvidencePage, NewEvidence,
};

/// An alert has ended for so long before its evidence is made: its last outcomes are in SQL by then.
const SETTLED_S: i64 = 3;
/// A version stands for so long before the next one takes in what came late.
const STANDS_S: i64 = 600;
/// Alerts looked for at once.
const AT_ONCE: usize = 50;
/// Ends of alerts are noted so much out of order, at most.
const OUT_OF_ORDER_S: i64 = 3_600;
const VERB: &str = "evidence.sign";

/// Leaves, gathered into pages.
struct Pages {
    random: SystemRandom,
    next: u32,
    leaves: Vec<EvidenceLeaf>,
    /// Over the heads of pages: a page is a full tree, so this has the head of all leaves.
    tree: TreeBuilder,
    size: u64,
    full: Vec<EvidencePage>,
}

impl Pages {
    fn new() -> Pages {
        Pages {
            random: SystemRandom::new(),
            next: 0,
            leaves: Vec::new(),
            tree: TreeBuilder::default(),
            size: 0,
            full: Vec::new(),
        }
    }

    fn push(&mut self, kind: EvidenceKind, endpoint: EndpointNo, content: &str) -> Result<(), EngineError> {
        let mut salt = [0; SALT_OCTETS];
        let no_salt = |_| EngineError::Internal("the operating system returned no random numbers".to_owned());
        self.random.fill(&mut salt).map_err(no_salt)?;
        let hash = leaf_of(&salt, content);
        self.leaves.push(EvidenceLeaf { kind, endpoint, salt: Some(salt), hash });
        self.size += 1;
        if self.leaves.len() == EVIDENCE_PAGE_LEAVES {
            self.end_page();
        }
        Ok(())
    }

    fn end_page(&mut self) {
        if self.leaves.is_empty() {
            return;
        }
        let mut tree = TreeBuilder::default();
        self.leaves.iter().for_each(|leaf| tree.push(leaf.hash));
        let (root, leaves) = (tree.root(), std::mem::take(&mut self.leaves));
        self.tree.push(root);
        self.full.push(EvidencePage { page: self.next, root, leaves });
        self.next += 1;
    }

    fn push_block(&mut self, block: &RosterBlock, rows: &[Delivery]) -> Result<(), EngineError> {
        let mut rows = rows.iter().peekable();
        for (place, entry) in (0..).zip(&block.entries) {
            let endpoint = EndpointNo(block.first.0 + place);
            let row = rows.next_if(|row| row.endpoint == endpoint).cloned();
            let delivery = row.unwrap_or_else(|| untouched(AlertNo(0), endpoint, entry));
            for kind in kinds(&delivery) {
                if let Some(content) = of_endpoint(kind, entry, &delivery) {
                    self.push(kind, endpoint, &content)?;
                }
            }
        }
        Ok(())
    }
}

impl AlertEvidence {
    /// Makes what is due: of alerts that ended since `from`, and of those that changed since theirs was made.
    /// Gives from when on to look the next time. Of several processes the leader does it.
    ///
    /// # Errors
    /// The store's, of any of them; what was made stands.
    pub async fn make_due(&self, key: &SigningKey, from: Timestamp) -> Result<Timestamp, EngineError> {
        let (store, now) = (self.engine.store(), self.engine.parts().now());
        let until = now.plus_s(-SETTLED_S);
        let ended = store.alerts_without_evidence(from, until, AT_ONCE).await.map_err(store_error)?;
        let changed = store.changed_evidence(now.plus_s(-STANDS_S), AT_ONCE).await.map_err(store_error)?;
        let is_all = ended.len() < AT_ONCE;
        let mut failed = None;
        for no in ended.into_iter().chain(changed) {
            // One that cannot be made, such as of a damaged row, does not keep the others.
            if let Err(error) = self.make(no, key).await {
                tracing::warn!(alert = no.0, %error, "the evidence of an alert could not be made");
                failed = Some(error);
            }
        }
        match failed {
            Some(error) => Err(error),
            None if is_all => Ok(from.max(until.plus_s(-OUT_OF_ORDER_S))),
            None => Ok(from),
        }
    }

    /// Makes the next version of an alert's evidence. False: somebody was erased meanwhile, and it is due
    /// still; or there is no such alert.
    ///
    /// # Errors
    /// The store's.
    pub async fn make(&self, no: AlertNo, key: &SigningKey) -> Result<bool, EngineError> {
        let store = self.engine.store();
        let Some(alert) = store.alert_by_no(no).await.map_err(store_error)? else { return Ok(false) };
        // Of a version that a crash cut short, no page is left that this one would not overwrite.
        self.sweep(no).await?;
        let Some(draft) = store.begin_evidence(no).await.map_err(store_error)? else { return Ok(false) };
        let pages = self.write_pages(&alert, draft).await?;
        let made = self.engine.parts().now();
        let statement = Statement {
            account: alert.account.clone(),
            alert: alert.id.to_string(),
            made: rfc3339(made),
            root: pages.tree.root(),
            size: pages.size,
            version: u64::from(draft.version),
        };
        let detail = format!("version {}, {} leaves", draft.version, pages.size);
        let header = statement.sign(key).to_text();
        let root = root_text(&header);
        let act = Act {
            at: made,
            account: alert.account.clone(),
            token: SERVER.to_owned(),
            verb: VERB.to_owned(),
            object: alert.id.to_string(),
            detail: format!("{detail}, root {root}"),
            ..Act::default()
        };
        let audit = store.note_act(act).await.map_err(store_error)?;
        let evidence = NewEvidence { draft, made, header, audit };
        let is_made = store.finish_evidence(evidence).await.map_err(store_error)?;
        self.sweep(no).await?;
        tracing::debug!(alert = %alert.id, version = draft.version, leaves = pages.size, is_made, "evidence");
        Ok(is_made)
    }

    async fn write_pages(&self, alert: &Alert, draft: EvidenceDraft) -> Result<Pages, EngineError> {
        let (store, no) = (self.engine.store(), alert.no);
        let mut pages = Pages::new();
        pages.push(EvidenceKind::Alert, EndpointNo(0), &of_alert(alert))?;
        let mut at = EndpointNo(0);
        loop {
            let blocks = store.clone();
            let block = aside(move || blocks.roster_block(no, at).map_err(store_error)).await?;
            let Some(block) = block else { break };
            let rows = store.deliveries_from(no, block.first, None, ROSTER_BLOCK_ENDPOINTS).await;
            let rows = rows.map_err(store_error)?;
            at = EndpointNo(block.first.0.saturating_add(ROSTER_BLOCK_ENDPOINTS as u32));
            pages = aside(move || pages.push_block(&block, &rows).map(|()| pages)).await?;
            self.write_full(&mut pages, draft).await?;
        }
        pages.end_page();
        self.write_full(&mut pages, draft).await?;
        Ok(pages)
    }

    async fn write_full(&self, pages: &mut Pages, draft: EvidenceDraft) -> Result<(), EngineError> {
        for page in std::mem::take(&mut pages.full) {
            self.engine.store().put_evidence_page(draft, page).await.map_err(store_error)?;
        }
        Ok(())
    }

    /// Pages of versions that do not stand.
    async fn sweep(&self, no: AlertNo) -> Result<(), EngineError> {
        while self.engine.store().sweep_evidence(no).await.map_err(store_error)? {}
        Ok(())
    }
}

/// The head of the tree, as the statement has it.
fn root_text(header: &str) -> String {
    let header: serde_json::Value = serde_json::from_str(header).unwrap_or_default();
    header["statement"]["root"].as_str().unwrap_or_default().to_owned()
}
