//! Approvals of alerts: changed by compare-and-set, and the alerts that wait for one.

use super::alerts::{AWAITING, AWAITING_OF_ACCOUNT, many};
use super::error::Trouble;
use super::link::{Params, PgLink};
use super::{account_no, as_i64, kept};
use crate::{ApprovalChange, SeenAlert};
use records::{Alert, AlertNo, Timestamp};

const CHANGE: &str = "UPDATE alerts SET state = $2, version = $3, note = $4, approval = $5, approval_revision = $6, \
     final_at = CASE WHEN $7::bigint IS NULL THEN NULL ELSE coalesce(final_at, $7) END \
     WHERE no = $1 AND version = $8 AND approval_revision = $9";
const IS_DONE: &str = "SELECT 1 FROM alerts WHERE no = $1 AND state = $2 AND version = $3 AND approval = $4";

/// True if it is as wanted now. An earlier try may have been committed though its answer was lost.
pub(super) async fn change(
    link: &PgLink,
    no: AlertNo,
    seen: SeenAlert,
    changed: &ApprovalChange,
    approval: &str,
    now: Timestamp,
) -> Result<bool, Trouble> {
    let (no, state, version) = (as_i64(no.0), changed.state.name(), i64::from(changed.version));
    // PostgreSQL keeps no NUL in a text; JSON escapes it.
    let params: Params<'_> = &[
        &no,
        &state,
        &version,
        &kept(&changed.note),
        &approval,
        &i64::from(changed.approval.revision),
        &changed.state.is_final().then_some(now.0),
        &i64::from(seen.version),
        &i64::from(seen.revision),
    ];
    if link.execute(CHANGE, params).await? == 1 {
        return Ok(true);
    }
    Ok(link.one(IS_DONE, &[&no, &state, &version, &approval]).await?.is_some())
}

/// Alerts that wait, of an account or of all.
pub(super) async fn awaiting(
    link: &PgLink,
    account: Option<&str>,
    after: AlertNo,
    limit: i64,
) -> Result<Vec<Alert>, Trouble> {
    let after = as_i64(after.0);
    let Some(account) = account else { return many(link, AWAITING, &[&after, &limit]).await };
    let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
    many(link, AWAITING_OF_ACCOUNT, &[&account, &after, &limit]).await
}
