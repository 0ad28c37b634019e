//! Imports of directories by schedule.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};

const NOT_BUILT: &str = "imports of directories by schedule are not built yet";

/// Whether a directory can be imported by schedule.
pub(super) fn check_directory(_name: &str) -> Result<(), String> {
    Err(NOT_BUILT.to_owned())
}

/// Imports a directory in the name of a schedule's author; says what came of it.
pub(super) async fn import(_app: &App, _caller: &Caller, _name: &str) -> HttpResult<String> {
    Err(HttpProblem::new(ProblemKind::NotBuilt, NOT_BUILT))
}
