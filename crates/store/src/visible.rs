//! Visibility of a recipient's versions.
//!
//! Rows of an import that is staged, held or abandoned are not there. Among the others of one id, the one
//! whose import was published last is the recipient; those whose import is no longer listed (or that were put
//! one by one) rank 0, and there is at most one of them: a put removes all others that are visible, and so
//! does the sweep before it takes a published import off the list. If the recipient's body is empty, the
//! import took it away, and nobody is there.
//!
//! A published import that can be undone is listed until it no longer can; the sweep keeps what such imports
//! superseded, down to the best version of all the others.

/// States of an import, as stored.
pub(crate) const STAGING: i64 = 0;
pub(crate) const PUBLISHED: i64 = 1;
pub(crate) const ABANDONED: i64 = 2;
pub(crate) const HELD: i64 = 3;

/// An import on the list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedImport {
    pub(crate) generation: i64,
    pub(crate) state: i64,
    pub(crate) rank: i64,
    /// It can be undone.
    pub(crate) is_undoable: bool,
}

/// What must be known of an account's imports to read its recipients; of the same snapshot as the rows.
#[derive(Clone)]
pub(crate) struct Visible {
    imports: Vec<ListedImport>,
}

impl Visible {
    /// From the account's imports.
    pub(crate) fn new(imports: Vec<ListedImport>) -> Visible {
        Visible { imports }
    }

    fn listed(&self, generation: i64) -> Option<&ListedImport> {
        self.imports.iter().find(|import| import.generation == generation)
    }

    /// The rank of a version, or nothing if nobody sees it.
    pub(crate) fn rank(&self, generation: i64) -> Option<i64> {
        match self.listed(generation) {
            Some(import) if import.state == PUBLISHED => Some(import.rank),
            Some(_) => None,
            None => Some(0),
        }
    }

    /// The rank of a version that stays, whatever is undone.
    pub(crate) fn settled_rank(&self, generation: i64) -> Option<i64> {
        let is_undoable = self.listed(generation).is_some_and(|import| import.is_undoable);
        self.rank(generation).filter(|_| !is_undoable)
    }

    /// Rows of it are to be removed.
    pub(crate) fn is_abandoned(&self, generation: i64) -> bool {
        self.listed(generation).is_some_and(|import| import.state == ABANDONED)
    }

    /// It waits for a decision: its rows are all written, and may be published.
    pub(crate) fn is_held(&self, generation: i64) -> bool {
        self.listed(generation).is_some_and(|import| import.state == HELD)
    }

    /// Each id has one version, and it is seen.
    pub(crate) fn is_plain(&self) -> bool {
        self.imports.is_empty()
    }

    /// The imports on the list whose rows the sweep has to look at.
    pub(crate) fn to_sweep(&self) -> Vec<i64> {
        let is_over = |import: &&ListedImport| {
            import.state == ABANDONED || (import.state == PUBLISHED && !import.is_undoable)
        };
        self.imports.iter().filter(is_over).map(|import| import.generation).collect()
    }
}
