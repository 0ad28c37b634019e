//! Approvals of alerts: changed by compare-and-set, and the alerts that wait for one.

use super::alerts::many;
use super::{Tx, account_no, as_i64, as_limit};
use crate::{ApprovalChange, SeenAlert, StoreError};
use records::{Alert, AlertNo, Timestamp};
use rusqlite::{Connection, OptionalExtension};

const CHANGE: &str = "UPDATE alerts SET state = ?2, version = ?3, note = ?4, approval = ?5, approval_revision = ?6, \
     final_at = CASE WHEN ?7 IS NULL THEN NULL ELSE coalesce(final_at, ?7) END \
     WHERE no = ?1 AND version = ?8 AND approval_revision = ?9";
const IS_DONE: &str = "SELECT 1 FROM alerts WHERE no = ?1 AND state = ?2 AND version = ?3 AND approval = ?4";

/// True if it is as wanted now.
pub(super) fn change(
    tx: &Tx<'_>,
    no: AlertNo,
    seen: SeenAlert,
    changed: &ApprovalChange,
    approval: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let (no, state) = (as_i64(no.0), changed.state.name());
    let done = tx.prepare_cached(CHANGE)?.execute((
        no,
        state,
        changed.version,
        &changed.note,
        approval,
        changed.approval.revision,
        changed.state.is_final().then_some(now.0),
        seen.version,
        seen.revision,
    ))?;
    if done == 1 {
        return Ok(true);
    }
    let mut is_done = tx.prepare_cached(IS_DONE)?;
    let found = is_done.query_row((no, state, changed.version, approval), |row| row.get::<_, i64>(0));
    Ok(found.optional()?.is_some())
}

/// Alerts that wait, of an account or of all.
pub(super) fn awaiting(
    connection: &Connection,
    account: Option<&str>,
    after: AlertNo,
    limit: usize,
) -> Result<Vec<Alert>, StoreError> {
    let (after, limit) = (as_i64(after.0), as_limit(limit));
    let Some(account) = account else {
        let clause = "WHERE state = 'awaiting_approval' AND no > ?1 ORDER BY no LIMIT ?2";
        return many(connection, clause, (after, limit));
    };
    let Some(account) = account_no(connection, account)? else { return Ok(Vec::new()) };
    let clause = "WHERE state = 'awaiting_approval' AND account = ?1 AND no > ?2 ORDER BY no LIMIT ?3";
    many(connection, clause, (account, after, limit))
}
