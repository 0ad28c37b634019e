//! Commands of later versions are refused by name.

use super::Failure;

/// The refusal: wrong usage, for now.
pub(super) fn refused(what: &str) -> Failure {
    Failure::Usage(format!("{what} is not built yet"))
}
