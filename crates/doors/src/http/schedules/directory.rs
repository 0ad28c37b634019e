//! Imports of directories by schedule: who may have them, and the run that one time begins.
//!
//! A run is an import job as one by hand is. It waits for a person where the directory has `dry_run`, and
//! where too much would change; else it is committed.

use super::record::ScheduledAction;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::directories;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::role_matrix::{Reach, RequiredRole};

/// Whether somebody may have a schedule do this, as their roles are now.
pub(super) fn may(caller: &Caller, action: &ScheduledAction) -> bool {
    match action {
        ScheduledAction::Alert(_) => true,
        ScheduledAction::Directory(_) => caller.reach_with(RequiredRole::Directory) > Reach::Nothing,
    }
}

/// Refuses the schedule of somebody who may import nobody.
pub(super) fn check_role(caller: &Caller, action: &ScheduledAction) -> HttpResult<()> {
    if may(caller, action) {
        return Ok(());
    }
    let (need, of_users) = (RequiredRole::Directory.words(), RequiredRole::Directory.user_words());
    let detail = format!(
        "a schedule that imports a directory does so in your name: this needs a token of the role {need}, or {of_users}"
    );
    Err(HttpProblem::new(ProblemKind::WrongRole, detail))
}

/// Refuses a name that no directory of the account has.
pub(super) fn check_name(app: &App, caller: &Caller, name: &str) -> Result<(), String> {
    match directories::named(app, caller.account(), name) {
        Some(_) => Ok(()),
        None => Err(format!("there is no directory {name:?}: GET /api/v1/directories lists them")),
    }
}
