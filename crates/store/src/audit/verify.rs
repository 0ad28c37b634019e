//! Verification of an audit trail: every link, every field that is left, and the head, read from the store
//! while others append.

use super::chain::{AuditKey, AuditLink, ChainHead, FIRST, Hash, SaltedField};
use super::{Audit, GENESIS};
use crate::StoreError;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

/// Links read at once.
const SLICE: usize = 1_000;
/// Problems that are told one by one.
const PROBLEMS_MAX: usize = 20;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditVerdict {
    /// Links that are there.
    pub links: u64,
    /// Number of the first; 0: there is none.
    pub first: u64,
    /// Number and hash of the last link, as [`ChainHead::text`] writes them.
    pub head: String,
    /// Fields that are there and are what their links commit to.
    pub fields: u64,
    /// Fields that were erased, each named by a later link.
    pub erased: u64,
    /// Links that retention dropped.
    pub dropped: u64,
    /// Whether a head that was noted earlier is in the chain; nothing: none was asked for, or it is older
    /// than what retention dropped.
    pub anchor_found: Option<bool>,
    /// What does not hold, in words: the first of them.
    pub problems: Vec<String>,
    /// How many there are.
    pub problem_count: u64,
}

impl AuditVerdict {
    /// Whether the chain holds, to its last link.
    pub fn holds(&self) -> bool {
        self.problem_count == 0
    }

    /// An object as API and command line show it: `ok`, and the fields by their names.
    pub fn to_json(&self) -> Value {
        json!({
            "ok": self.holds(),
            "links": self.links,
            "first": self.first,
            "head": self.head,
            "fields": self.fields,
            "erased": self.erased,
            "dropped": self.dropped,
            "anchor_found": self.anchor_found,
            "problems": self.problems,
            "problem_count": self.problem_count,
        })
    }
}

/// Walks the chain of a store. `key` checks what retention signed; `anchor` is a head that was noted earlier,
/// and must be in the chain.
///
/// # Errors
/// The store's. A chain that does not hold is a verdict.
pub async fn verify<A: Audit + ?Sized>(
    store: &A,
    key: &AuditKey,
    anchor: Option<ChainHead>,
) -> Result<AuditVerdict, StoreError> {
    let mut walk = ChainWalk::new(*key, anchor);
    let mut head = ChainHead::EMPTY;
    loop {
        let slice = store.audit_links(walk.last.seq, SLICE).await?;
        if slice.is_empty() {
            // What was appended since the last slice is behind a head that has moved.
            let now = store.audit_head().await?;
            if now.seq <= walk.last.seq || now == head {
                head = now;
                break;
            }
            head = now;
            continue;
        }
        for (link, fields) in &slice {
            walk.take(link, fields);
        }
    }
    let strays = store.stray_audit_fields().await?;
    Ok(walk.end(&head, strays))
}

/// A walk along a chain, from its oldest link on.
#[derive(Debug)]
pub struct ChainWalk {
    key: AuditKey,
    anchor: Option<ChainHead>,
    verdict: AuditVerdict,
    last: ChainHead,
    /// Fields that are gone and were not yet named.
    gone: BTreeSet<(u64, u16)>,
    /// Where a link does not follow the one before it: what should be there, by the number.
    breaks: HashMap<u64, Hash>,
    /// What was dropped, by number, as signed links say.
    dropped: HashMap<u64, Hash>,
}

impl ChainWalk {
    /// At the beginning.
    pub fn new(key: AuditKey, anchor: Option<ChainHead>) -> ChainWalk {
        let verdict = AuditVerdict { anchor_found: anchor.map(|_| false), ..AuditVerdict::default() };
        ChainWalk {
            key,
            anchor,
            verdict,
            last: ChainHead::EMPTY,
            gone: BTreeSet::new(),
            breaks: HashMap::new(),
            dropped: HashMap::new(),
        }
    }

    /// The next link, with its fields.
    pub fn take(&mut self, link: &AuditLink, fields: &[SaltedField]) {
        self.verdict.links += 1;
        if self.verdict.first == 0 {
            self.verdict.first = link.seq;
        }
        let follows = link.seq == self.last.seq + 1 && link.previous == self.last.hash;
        if !follows {
            self.breaks.insert(link.seq, link.previous);
        }
        if link.seq == FIRST && link.verb != GENESIS {
            self.problem(format!("link {FIRST}: is {:?}, not the beginning of a chain", link.verb));
        }
        if link.computed() != link.hash {
            self.problem(format!("link {}: was changed: its hash is another than its content's", link.seq));
        }
        self.take_fields(link, fields);
        for (seq, number) in link.forgotten() {
            self.verdict.erased += u64::from(self.gone.remove(&(seq, number)));
        }
        if let Some(dropped) = link.dropped() {
            if link.is_signed(&self.key) {
                self.dropped.insert(dropped.seq, dropped.hash);
            } else {
                let problem = format!(
                    "link {}: says that links up to {} were dropped, and is not signed with this server's key",
                    link.seq, dropped.seq
                );
                self.problem(problem);
            }
        }
        self.last = ChainHead { seq: link.seq, hash: link.hash };
        if self.anchor == Some(self.last) {
            self.verdict.anchor_found = Some(true);
        }
    }

    fn take_fields(&mut self, link: &AuditLink, fields: &[SaltedField]) {
        let committed: HashMap<u16, Hash> = link.committed().collect();
        for field in fields {
            match committed.get(&field.number) {
                Some(hash) if *hash == field.commitment() => self.verdict.fields += 1,
                Some(_) => {
                    self.problem(format!("link {}: its field {} was changed", link.seq, name(field.number)))
                }
                None => self.problem(format!(
                    "link {}: has a field {} that it does not commit to",
                    link.seq,
                    name(field.number)
                )),
            }
        }
        let is_gone = |number: &&u16| !fields.iter().any(|field| field.number == **number);
        self.gone.extend(committed.keys().filter(is_gone).map(|number| (link.seq, *number)));
    }

    /// After the last link: `head` is kept beside the chain, `strays` are fields of no link.
    pub fn end(mut self, head: &ChainHead, strays: u64) -> AuditVerdict {
        self.judge_breaks();
        let gone = std::mem::take(&mut self.gone);
        for (seq, number) in gone {
            let name = name(number);
            self.problem(format!("link {seq}: its field {name} is gone, and no erasure names it"));
        }
        if *head != self.last {
            self.problem(format!(
                "the head kept beside the chain is link {}, and the chain ends with link {}: links at its end were \
                 removed or put in",
                head.seq, self.last.seq
            ));
        }
        if strays > 0 {
            self.problem(format!("{strays} fields belong to no link"));
        }
        self.judge_anchor();
        self.verdict.head = self.last.text();
        self.verdict
    }

    /// A head that was noted earlier is a link's, or that of a link that retention dropped.
    fn judge_anchor(&mut self) {
        let Some(anchor) = self.anchor.filter(|_| self.verdict.anchor_found == Some(false)) else { return };
        match self.dropped.get(&anchor.seq) {
            Some(hash) if *hash == anchor.hash => self.verdict.anchor_found = Some(true),
            // What it was is not known any more.
            None if anchor.seq <= self.verdict.dropped => self.verdict.anchor_found = None,
            _ => {
                let text = anchor.text();
                self.problem(format!("the head {text} is not in the chain: it was cut or rewritten since"));
            }
        }
    }

    /// A link that follows none is right where a signed link says that those before it were dropped.
    fn judge_breaks(&mut self) {
        let mut breaks: Vec<(u64, Hash)> = self.breaks.drain().collect();
        breaks.sort_unstable();
        for (seq, previous) in breaks {
            let before = seq.saturating_sub(1);
            if self.dropped.get(&before) == Some(&previous) {
                self.verdict.dropped = self.verdict.dropped.max(before);
            } else {
                self.problem(format!(
                    "link {seq}: does not follow link {before}: links were removed or changed"
                ));
            }
        }
        if self.verdict.links == 0 {
            self.problem("there is no link: every chain has one".to_owned());
        }
    }

    fn problem(&mut self, problem: String) {
        self.verdict.problem_count += 1;
        if self.verdict.problems.len() < PROBLEMS_MAX {
            self.verdict.problems.push(problem);
        }
    }
}

fn name(number: u16) -> String {
    super::AuditField::numbered(number).map_or_else(|| number.to_string(), |field| field.name().to_owned())
}
