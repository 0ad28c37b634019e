//! Visibility of a recipient's versions.
//!
//! Rows of an import that is staged or abandoned are not there. Among the others of one id, the one whose
//! import was published last is the recipient; those whose import is no longer listed (or that were put one
//! by one) rank 0, and there is at most one of them: a put removes all others that are visible, and so does
//! the sweep before it takes a published import off the list.

/// States of an import, as stored.
pub(crate) const STAGING: i64 = 0;
pub(crate) const PUBLISHED: i64 = 1;
pub(crate) const ABANDONED: i64 = 2;

/// What must be known of an account's imports to read its recipients; of the same snapshot as the rows.
#[derive(Clone)]
pub(crate) struct Visible {
    imports: Vec<(i64, i64, i64)>,
}

impl Visible {
    /// From the account's imports: generation, state, rank.
    pub(crate) fn new(imports: Vec<(i64, i64, i64)>) -> Visible {
        Visible { imports }
    }

    /// The rank of a version, or nothing if nobody sees it.
    pub(crate) fn rank(&self, generation: i64) -> Option<i64> {
        match self.imports.iter().find(|(listed, ..)| *listed == generation) {
            Some((_, PUBLISHED, rank)) => Some(*rank),
            Some(_) => None,
            None => Some(0),
        }
    }

    /// Rows of it are to be removed.
    pub(crate) fn is_abandoned(&self, generation: i64) -> bool {
        self.imports.iter().any(|(listed, state, _)| *listed == generation && *state == ABANDONED)
    }

    /// Each id has one version, and it is seen.
    pub(crate) fn is_plain(&self) -> bool {
        self.imports.is_empty()
    }

    /// The imports on the list whose rows the sweep has to look at.
    pub(crate) fn to_sweep(&self) -> Vec<i64> {
        self.imports
            .iter()
            .filter(|(_, state, _)| *state != STAGING)
            .map(|(generation, ..)| *generation)
            .collect()
    }
}
