use super::approvals;
use super::{JobStep, Lane, Sqlite, Tx, account_no, as_i64, as_limit, as_u64, roster};
use crate::alerts::{KEY_KEPT_S, OLD_KEYS_REMOVED, approval_of, class, state_named, to_json};
use crate::{Accepted, Act, Alerts, ApprovalChange, IdempotencyKey, SeenAlert, StoreError};
use futures_util::future::BoxFuture;
use records::{Alert, AlertId, AlertNo, AlertState, EndpointNo, Mode, Origin, RosterBlock, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row};
use std::sync::atomic::Ordering;

/// Columns of an alert, in the order `alert` reads them.
const COLUMNS: &str = "alerts.no, alerts.id, (SELECT accounts.id FROM accounts WHERE accounts.no = alerts.account), \
     token, created, state, version, request, origin, note, approval";

impl Alerts for Sqlite {
    fn accept_alert<'a>(
        &'a self,
        alert: Alert,
        key: Option<IdempotencyKey>,
    ) -> BoxFuture<'a, Result<Accepted, StoreError>> {
        Box::pin(async move {
            let request = to_json(&alert.request)?;
            let origin = to_json(&alert.origin)?;
            let kept_s = self.named_kept_s.load(Ordering::Relaxed);
            self.write(move |tx| accept(tx, (&alert, kept_s), &request, &origin, key.as_ref())).await
        })
    }

    fn accept_noted_alert<'a>(
        &'a self,
        alert: Alert,
        key: Option<IdempotencyKey>,
        act: Act,
    ) -> BoxFuture<'a, Result<Accepted, StoreError>> {
        Box::pin(async move {
            let request = to_json(&alert.request)?;
            let origin = to_json(&alert.origin)?;
            let kept_s = self.named_kept_s.load(Ordering::Relaxed);
            let act = Act { object: alert.id.to_string(), ..act };
            let both = move |tx: &Tx<'_>| {
                let accepted = accept(tx, (&alert, kept_s), &request, &origin, key.as_ref())?;
                if let Accepted::New(_) = &accepted {
                    super::audit::note(tx, &act)?;
                }
                Ok(accepted)
            };
            self.write(both).await
        })
    }

    fn alert<'a>(
        &'a self,
        account: &'a str,
        id: AlertId,
    ) -> BoxFuture<'a, Result<Option<Alert>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let find = move |connection: &Connection| {
                let found = one(connection, "WHERE id = ?1", [id.0.as_bytes()])?;
                Ok(found.filter(|alert| alert.account == account))
            };
            self.read(find).await
        })
    }

    fn alert_by_no(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<Alert>, StoreError>> {
        Box::pin(self.read(move |connection| by_no(connection, as_i64(no.0))))
    }

    fn alerts_before<'a>(
        &'a self,
        account: &'a str,
        before: Option<AlertNo>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let before = before.map_or(i64::MAX, |no| as_i64(no.0));
            let page = move |connection: &Connection| {
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let clause =
                    "WHERE account = ?1 AND no < ?2 AND intake_from IS NULL ORDER BY no DESC LIMIT ?3";
                many(connection, clause, (account, before, as_limit(limit)))
            };
            self.read(page).await
        })
    }

    fn standing_alerts_of<'a>(
        &'a self,
        account: &'a str,
        index: u64,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let find = move |connection: &Connection| {
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let mut found = Vec::new();
                for mode in [Mode::Live, Mode::Drill] {
                    for lane in records::Lane::ALL {
                        let clause = "WHERE account = ?1 AND class = ?2 AND intake_from <= ?3 \
                             ORDER BY intake_from DESC LIMIT 1";
                        let params = (account, class(mode, lane), as_i64(index));
                        found.extend(one(connection, clause, params)?);
                    }
                }
                Ok(found)
            };
            self.read(find).await
        })
    }

    fn unfinished_alerts(&self) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>> {
        Box::pin(self.read(|connection| many(connection, "WHERE final_at IS NULL ORDER BY no", [])))
    }

    fn asking_alerts(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>> {
        Box::pin(self.read(move |connection| many(connection, "WHERE asks_until > ?1 ORDER BY no", [now.0])))
    }

    fn alert_ended(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        Box::pin(self.read(move |connection| {
            let mut select = connection.prepare_cached("SELECT final_at FROM alerts WHERE no = ?1")?;
            let found = select.query_row([as_i64(no.0)], |row| row.get::<_, Option<i64>>(0)).optional()?;
            Ok(found.flatten().map(Timestamp))
        }))
    }

    fn set_alert_state<'a>(
        &'a self,
        no: AlertNo,
        state: AlertState,
        version: u32,
        note: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let note = note.to_owned();
            let final_at = state.is_final().then_some(now.0);
            let set = move |tx: &Tx<'_>| {
                let changed = tx
                    .prepare_cached(
                        "UPDATE alerts SET state = ?2, version = ?3, note = ?4, \
                         final_at = CASE WHEN ?5 IS NULL THEN NULL ELSE coalesce(final_at, ?5) END \
                         WHERE no = ?1 AND version <= ?3",
                    )?
                    .execute((as_i64(no.0), state.name(), version, &note, final_at))?;
                if changed == 1 { Ok(()) } else { Err(state_refused(tx, no, version)?) }
            };
            self.write(set).await
        })
    }

    fn change_approval(
        &self,
        no: AlertNo,
        seen: SeenAlert,
        changed: ApprovalChange,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let approval = to_json(&changed.approval)?;
            self.write(move |tx| approvals::change(tx, no, seen, &changed, &approval, now)).await
        })
    }

    fn alerts_awaiting_approval<'a>(
        &'a self,
        account: Option<&'a str>,
        after: AlertNo,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        let account = account.map(str::to_owned);
        Box::pin(
            self.read(move |connection| approvals::awaiting(connection, account.as_deref(), after, limit)),
        )
    }

    fn put_roster(
        &self,
        no: AlertNo,
        blocks: Vec<RosterBlock>,
        then: AlertState,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(roster::put(self, roster::Put { no, first: true, then: Some((then, now)) }, blocks))
    }

    fn add_roster_blocks(
        &self,
        no: AlertNo,
        first: bool,
        blocks: Vec<RosterBlock>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(roster::put(self, roster::Put { no, first, then: None }, blocks))
    }

    fn roster_block(&self, no: AlertNo, of: EndpointNo) -> Result<Option<RosterBlock>, StoreError> {
        self.readers.here(|connection| roster::block(connection, no, of))
    }

    fn roster_len(&self, no: AlertNo) -> BoxFuture<'_, Result<u32, StoreError>> {
        let len = move |connection: &Connection| {
            let mut select = connection.prepare_cached("SELECT roster_len FROM alerts WHERE no = ?1")?;
            Ok(select.query_row([as_i64(no.0)], |row| row.get(0)).optional()?.unwrap_or(0))
        };
        Box::pin(self.read(len))
    }

    fn remove_alerts_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        Box::pin(async move {
            let numbers = move |connection: &Connection| {
                let mut select = connection.prepare_cached(
                    "SELECT no FROM alerts WHERE final_at < ?1 ORDER BY final_at, no LIMIT ?2",
                )?;
                let rows = select.query_map((before.0, as_limit(limit)), |row| row.get(0))?;
                Ok(rows.collect::<Result<Vec<i64>, _>>()?)
            };
            let mut removed = Vec::new();
            for no in self.read(numbers).await? {
                self.write_slices(Lane::Later, move |tx| remove_slice(tx, no)).await?;
                removed.push(AlertNo(as_u64(no)));
            }
            Ok(removed)
        })
    }

    fn final_alerts_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>> {
        let page = move |connection: &Connection| {
            let clause = "WHERE final_at < ?1 ORDER BY final_at, no LIMIT ?2";
            many(connection, clause, (before.0, as_limit(limit)))
        };
        Box::pin(self.read(page))
    }

    fn alerts_of_cap<'a>(
        &'a self,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        Box::pin(async move {
            let (account, sender, identifier) =
                (account.to_owned(), sender.to_owned(), identifier.to_owned());
            let find = move |connection: &Connection| {
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let clause = "WHERE no IN (SELECT alert FROM cap_messages \
                     WHERE account = ?1 AND sender = ?2 AND identifier = ?3) ORDER BY no DESC";
                many(connection, clause, (account, sender, identifier))
            };
            self.read(find).await
        })
    }

    fn tie_cap<'a>(
        &'a self,
        no: AlertNo,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
        sent: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let (sender, identifier, sent) = (sender.to_owned(), identifier.to_owned(), sent.to_owned());
            let tie = move |tx: &Tx<'_>| {
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO cap_messages (account, sender, identifier, alert, sent) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute((
                    tx.account(&account)?,
                    &sender,
                    &identifier,
                    as_i64(no.0),
                    &sent,
                ))?;
                Ok(())
            };
            self.write(tie).await
        })
    }
}

/// `kept_s`: how long the files are kept that it names.
fn accept(
    tx: &Tx<'_>,
    (alert, kept_s): (&Alert, i64),
    request: &str,
    origin: &str,
    key: Option<&IdempotencyKey>,
) -> Result<Accepted, StoreError> {
    let account = tx.account(&alert.account)?;
    if let Some(key) = key
        && let Some(earlier) = earlier(tx, account, key, alert)?
    {
        return Ok(earlier);
    }
    let intake_from = match alert.origin {
        Origin::Standing { intake_from } => Some(intake_from),
        // No message is in it; lists leave it out as they do message streams.
        _ => alert.origin.is_internal().then_some(0),
    };
    let approval = alert.approval.as_ref().map(to_json).transpose()?;
    tx.prepare_cached(
        "INSERT INTO alerts (id, account, token, created, state, version, note, final_at, asks_until, request, \
         origin, class, intake_from, approval, approval_revision) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?
    .execute((
        alert.id.0.as_bytes(),
        account,
        &alert.token,
        alert.created.0,
        alert.state.name(),
        alert.version,
        &alert.note,
        alert.state.is_final().then_some(alert.created.0),
        alert.request.require_answer.then_some(alert.request.expires.0),
        request,
        origin,
        alert.is_stream().then(|| class(alert.request.mode, alert.request.priority.into())),
        intake_from.map(as_i64),
        approval,
        SeenAlert::of(alert).revision,
    ))?;
    let no = tx.last_insert_rowid();
    if let Some(key) = key {
        keep_key(tx, account, key, no, alert)?;
    }
    super::attachments::name(tx, account, alert, kept_s)?;
    Ok(Accepted::New(Alert { no: AlertNo(as_u64(no)), ..alert.clone() }))
}

fn earlier(
    tx: &Tx<'_>,
    account: i64,
    key: &IdempotencyKey,
    alert: &Alert,
) -> Result<Option<Accepted>, StoreError> {
    let known = tx
        .prepare_cached(
            "SELECT alert, body_hash FROM idempotency_keys \
             WHERE account = ?1 AND token = ?2 AND key = ?3 AND created > ?4",
        )?
        .query_row((account, key.token(alert), &key.key, alert.created.plus_s(-KEY_KEPT_S).0), |row| {
            Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .optional()?;
    let Some((no, body_hash)) = known else { return Ok(None) };
    if body_hash != key.body_hash {
        return Ok(Some(Accepted::KeyTaken));
    }
    Ok(by_no(tx, no)?.map(Accepted::Before))
}

fn keep_key(
    tx: &Tx<'_>,
    account: i64,
    key: &IdempotencyKey,
    no: i64,
    alert: &Alert,
) -> Result<(), StoreError> {
    tx.prepare_cached(
        "DELETE FROM idempotency_keys WHERE (account, token, key) IN \
         (SELECT account, token, key FROM idempotency_keys WHERE created <= ?1 ORDER BY created LIMIT ?2)",
    )?
    .execute((alert.created.plus_s(-KEY_KEPT_S).0, OLD_KEYS_REMOVED))?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO idempotency_keys (account, token, key, body_hash, alert, created) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((account, key.token(alert), &key.key, key.body_hash, no, alert.created.0))?;
    Ok(())
}

fn state_refused(tx: &Tx<'_>, no: AlertNo, version: u32) -> Result<StoreError, StoreError> {
    let stored: Option<i64> = tx
        .prepare_cached("SELECT version FROM alerts WHERE no = ?1")?
        .query_row([as_i64(no.0)], |row| row.get(0))
        .optional()?;
    let why = match stored {
        Some(stored) => format!("alert {no} has version {stored} by now, which is later than {version}"),
        None => format!("there is no alert {no}"),
    };
    Ok(StoreError::Conflict { why })
}

/// Children first, the alert itself last: what is interrupted is found again.
fn remove_slice(tx: &Tx<'_>, no: i64) -> Result<JobStep<()>, StoreError> {
    let roster = super::privacy::overwriting(tx, || roster::remove_some(tx, no))?;
    if roster || super::deliveries::remove_some(tx, no)? {
        return Ok(JobStep::More);
    }
    if super::privacy::overwriting(tx, || super::evidence::remove_some(tx, no, None))? {
        return Ok(JobStep::More);
    }
    for delete in [
        "DELETE FROM evidence WHERE alert = ?1",
        "DELETE FROM observers WHERE alert = ?1",
        "DELETE FROM cap_messages WHERE alert = ?1",
        "DELETE FROM alerts WHERE no = ?1",
    ] {
        tx.prepare_cached(delete)?.execute([no])?;
    }
    Ok(JobStep::Done(()))
}

fn by_no(connection: &Connection, no: i64) -> Result<Option<Alert>, StoreError> {
    one(connection, "WHERE no = ?1", [no])
}

fn one(connection: &Connection, clause: &str, params: impl Params) -> Result<Option<Alert>, StoreError> {
    Ok(many(connection, clause, params)?.pop())
}

pub(super) fn many(
    connection: &Connection,
    clause: &str,
    params: impl Params,
) -> Result<Vec<Alert>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM alerts {clause}"))?;
    let mut rows = select.query(params)?;
    let mut alerts = Vec::new();
    while let Some(row) = rows.next()? {
        alerts.push(alert(row)?);
    }
    Ok(alerts)
}

fn alert(row: &Row<'_>) -> Result<Alert, StoreError> {
    let no: i64 = row.get(0)?;
    let damaged = |why: String| StoreError::Damaged { what: format!("alert {no}: {why}") };
    let id: [u8; 16] = row.get(1)?;
    let state: String = row.get(5)?;
    let request: String = row.get(7)?;
    let origin: String = row.get(8)?;
    Ok(Alert {
        no: AlertNo(as_u64(no)),
        id: AlertId(uuid::Uuid::from_bytes(id)),
        account: row.get(2)?,
        token: row.get(3)?,
        created: Timestamp(row.get(4)?),
        state: state_named(&state).ok_or_else(|| damaged(format!("state {state:?} is unknown")))?,
        version: row.get(6)?,
        request: serde_json::from_str(&request).map_err(|error| damaged(error.to_string()))?,
        origin: serde_json::from_str(&origin).map_err(|error| damaged(error.to_string()))?,
        note: row.get(9)?,
        approval: approval_of(row.get::<_, Option<String>>(10)?.as_deref()).map_err(damaged)?,
    })
}
