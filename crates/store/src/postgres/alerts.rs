use super::approvals;
use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::roster::{self, Put};
use super::{Postgres, Work, account, account_no, as_i64, as_limit, as_u64, kept};
use crate::alerts::{KEY_KEPT_S, OLD_KEYS_REMOVED, approval_of, class, state_named, to_json};
use crate::{Accepted, Act, Alerts, ApprovalChange, IdempotencyKey, SeenAlert, StoreError};
use futures_util::future::BoxFuture;
use records::{Alert, AlertId, AlertNo, AlertState, EndpointNo, Origin, RosterBlock, Timestamp};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_postgres::Row;
use uuid::Uuid;

/// The columns of an alert, in the order `alert` reads them, of those that the rest names.
macro_rules! alerts {
    ($rest:literal) => {
        concat!(
            "SELECT alerts.no, alerts.id, accounts.id, token, created, state, version, request, origin, note, approval \
             FROM alerts JOIN accounts ON accounts.no = alerts.account ",
            $rest
        )
    };
}

/// For [`super::privacy`].
pub(super) const OF_ACCOUNT: &str =
    alerts!("WHERE alerts.account = $1 AND alerts.no > $2 ORDER BY alerts.no LIMIT $3");
pub(super) const AWAITING: &str =
    alerts!("WHERE state = 'awaiting_approval' AND alerts.no > $1 ORDER BY alerts.no LIMIT $2");
pub(super) const AWAITING_OF_ACCOUNT: &str = alerts!(
    "WHERE state = 'awaiting_approval' AND alerts.account = $1 AND alerts.no > $2 ORDER BY alerts.no LIMIT $3"
);
const BY_ID: &str = alerts!("WHERE alerts.id = $1");
/// Keys that are kept too long by now give way; nothing: it is taken.
const CLAIM_KEY: &str = "INSERT INTO idempotency_keys AS had (account, token, key, body_hash, alert, created) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (account, token, key) \
     DO UPDATE SET body_hash = $4, alert = $5, created = $6 WHERE had.created <= $7 \
     RETURNING 1";
const KEY: &str =
    "SELECT alert, body_hash FROM idempotency_keys WHERE account = $1 AND token = $2 AND key = $3";
const REPLACE_KEY: &str = "UPDATE idempotency_keys SET body_hash = $4, alert = $5, created = $6 \
     WHERE account = $1 AND token = $2 AND key = $3";
const REMOVE_KEYS: &str = "DELETE FROM idempotency_keys WHERE (account, token, key) IN \
     (SELECT account, token, key FROM idempotency_keys WHERE created <= $1 ORDER BY created LIMIT $2 FOR UPDATE SKIP LOCKED)";
/// The counter's row is locked from here to the commit, so numbers have no gaps and rise in the order of
/// commits.
const INSERT: &str = "WITH counter AS (UPDATE counters SET value = value + 1 WHERE name = 'alert' RETURNING value) \
     INSERT INTO alerts (no, id, account, token, created, state, version, note, final_at, asks_until, request, \
     origin, class, intake_from, approval, approval_revision) \
     SELECT value, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 FROM counter RETURNING no";
const SET_STATE: &str = "UPDATE alerts SET state = $2, version = $3, note = $4, \
     final_at = CASE WHEN $5::bigint IS NULL THEN NULL ELSE coalesce(final_at, $5) END \
     WHERE no = $1 AND version <= $3";

impl Alerts for Postgres {
    fn accept_alert<'a>(
        &'a self,
        alert: Alert,
        key: Option<IdempotencyKey>,
    ) -> BoxFuture<'a, Result<Accepted, StoreError>> {
        Box::pin(async move {
            let request = to_json(&alert.request)?;
            let origin = to_json(&alert.origin)?;
            let kept_s = self.named_kept_s.load(Ordering::Relaxed);
            let args = Accept { alert, request, origin, key, act: None, kept_s, tries: AtomicU32::new(0) };
            self.write(Work::new(args, |link, args| Box::pin(accept(link, args))).again()).await
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
            let act = Some(Act { object: alert.id.to_string(), ..act });
            let kept_s = self.named_kept_s.load(Ordering::Relaxed);
            let args = Accept { alert, request, origin, key, act, kept_s, tries: AtomicU32::new(0) };
            self.write(Work::new(args, |link, args| Box::pin(accept(link, args))).again()).await
        })
    }

    fn alert<'a>(
        &'a self,
        account: &'a str,
        id: AlertId,
    ) -> BoxFuture<'a, Result<Option<Alert>, StoreError>> {
        Box::pin(async move {
            let find = Work::new(id.0, |link, id| Box::pin(one(link, BY_ID, id)));
            let found = self.read(find).await?;
            Ok(found.filter(|alert| alert.account == account))
        })
    }

    fn alert_by_no(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<Alert>, StoreError>> {
        let find = Work::new(as_i64(no.0), |link, no| {
            Box::pin(async move { Ok(many(link, alerts!("WHERE alerts.no = $1"), &[no]).await?.pop()) })
        });
        Box::pin(self.read(find))
    }

    fn alerts_before<'a>(
        &'a self,
        account: &'a str,
        before: Option<AlertNo>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        let before = before.map_or(i64::MAX, |no| as_i64(no.0));
        let page =
            Work::new((account.to_owned(), before, as_limit(limit)), |link, (account, before, limit)| {
                Box::pin(async move {
                    let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
                    let sql = alerts!(
                        "WHERE alerts.account = $1 AND alerts.no < $2 AND intake_from IS NULL \
                     ORDER BY alerts.no DESC LIMIT $3"
                    );
                    many(link, sql, &[&account, before, limit]).await
                })
            });
        Box::pin(self.read(page))
    }

    fn standing_alerts_of<'a>(
        &'a self,
        account: &'a str,
        index: u64,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        let find = Work::new((account.to_owned(), as_i64(index)), |link, (account, index)| {
            Box::pin(async move {
                let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
                // Classes are few and dense: one look into the index for each.
                let sql = alerts!(
                    "WHERE alerts.no IN (SELECT newest.no FROM generate_series(0, 5) AS wanted, \
                     LATERAL (SELECT no FROM alerts WHERE account = $1 AND class = wanted::smallint \
                     AND intake_from <= $2 ORDER BY intake_from DESC LIMIT 1) AS newest) ORDER BY class"
                );
                many(link, sql, &[&account, index]).await
            })
        });
        Box::pin(self.read(find))
    }

    fn unfinished_alerts(&self) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>> {
        let find = Work::new((), |link, ()| {
            Box::pin(many(link, alerts!("WHERE final_at IS NULL ORDER BY alerts.no"), &[]))
        });
        Box::pin(self.read(find))
    }

    fn asking_alerts(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>> {
        let find = Work::new(now.0, |link, now| {
            Box::pin(
                async move { many(link, alerts!("WHERE asks_until > $1 ORDER BY alerts.no"), &[now]).await },
            )
        });
        Box::pin(self.read(find))
    }

    fn alert_ended(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        let find = Work::new(as_i64(no.0), |link, no| {
            Box::pin(async move {
                let rows = link.all("SELECT final_at FROM alerts WHERE no = $1", &[no]).await?;
                let found: Option<i64> = rows.first().map(|row| get(row, 0)).transpose()?.flatten();
                Ok(found.map(Timestamp))
            })
        });
        Box::pin(self.read(find))
    }

    fn set_alert_state<'a>(
        &'a self,
        no: AlertNo,
        state: AlertState,
        version: u32,
        note: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let final_at = state.is_final().then_some(now.0);
        let args = (as_i64(no.0), state.name(), i64::from(version), kept(note), final_at);
        let set = Work::new(args, |link, (no, state, version, note, final_at)| {
            Box::pin(async move {
                if link.execute(SET_STATE, &[no, state, version, note, final_at]).await? == 1 {
                    return Ok(());
                }
                let stored = link.one("SELECT version FROM alerts WHERE no = $1", &[no]).await?;
                let stored: Option<i64> = stored.map(|row| get(&row, 0)).transpose()?;
                let why = match stored {
                    Some(stored) => {
                        format!("alert {no} has version {stored} by now, which is later than {version}")
                    }
                    None => format!("there is no alert {no}"),
                };
                Err(StoreError::Conflict { why }.into())
            })
        });
        Box::pin(self.write(set.again()))
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
            let args = (no, seen, changed, approval, now);
            let change = Work::new(args, |link, (no, seen, changed, approval, now)| {
                Box::pin(approvals::change(link, *no, *seen, changed, approval, *now))
            });
            self.write(change.again()).await
        })
    }

    fn alerts_awaiting_approval<'a>(
        &'a self,
        account: Option<&'a str>,
        after: AlertNo,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        let args = (account.map(str::to_owned), after, as_limit(limit));
        let find = Work::new(args, |link, (account, after, limit)| {
            Box::pin(approvals::awaiting(link, account.as_deref(), *after, *limit))
        });
        Box::pin(self.read(find))
    }

    fn put_roster(
        &self,
        no: AlertNo,
        blocks: Vec<RosterBlock>,
        then: AlertState,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(roster::put(self, Put { no, first: true, then: Some((then, now)) }, blocks))
    }

    fn add_roster_blocks(
        &self,
        no: AlertNo,
        first: bool,
        blocks: Vec<RosterBlock>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(roster::put(self, Put { no, first, then: None }, blocks))
    }

    fn roster_block(&self, no: AlertNo, of: EndpointNo) -> Result<Option<RosterBlock>, StoreError> {
        let work = Work::new((no, of), |link, (no, of)| Box::pin(roster::block(link, *no, *of)));
        self.block_on(|base| async move { base.look(&work).await })
    }

    fn roster_len(&self, no: AlertNo) -> BoxFuture<'_, Result<u32, StoreError>> {
        let len = Work::new(as_i64(no.0), |link, no| {
            Box::pin(async move {
                let row = link.one("SELECT roster_len FROM alerts WHERE no = $1", &[no]).await?;
                let len: i64 = row.map(|row| get(&row, 0)).transpose()?.unwrap_or(0);
                Ok(u32::try_from(len).unwrap_or(u32::MAX))
            })
        });
        Box::pin(self.read(len))
    }

    fn remove_alerts_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        Box::pin(async move {
            let numbers = Work::new((before.0, as_limit(limit)), |link, (before, limit)| {
                Box::pin(async move {
                    let sql = "SELECT no FROM alerts WHERE final_at < $1 ORDER BY final_at, no LIMIT $2";
                    let rows = link.all(sql, &[before, limit]).await?;
                    rows.iter().map(|row| get(row, 0)).collect::<Result<Vec<i64>, _>>()
                })
            });
            let mut removed = Vec::new();
            for no in self.read(numbers).await? {
                loop {
                    let slice = Work::new(no, |link, no| Box::pin(remove_slice(link, *no))).again();
                    if self.write(slice).await? {
                        break;
                    }
                }
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
        let page = Work::new((before.0, as_limit(limit)), |link, (before, limit)| {
            Box::pin(async move {
                let sql = alerts!("WHERE final_at < $1 ORDER BY final_at, alerts.no LIMIT $2");
                many(link, sql, &[before, limit]).await
            })
        });
        Box::pin(self.read(page))
    }

    fn alerts_of_cap<'a>(
        &'a self,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        let args = (account.to_owned(), kept(sender), kept(identifier));
        let find = Work::new(args, |link, (account, sender, identifier)| {
            Box::pin(async move {
                let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
                let sql = alerts!(
                    "WHERE alerts.no IN (SELECT alert FROM cap_messages \
                     WHERE account = $1 AND sender = $2 AND identifier = $3) ORDER BY alerts.no DESC"
                );
                many(link, sql, &[&account, sender, identifier]).await
            })
        });
        Box::pin(self.read(find))
    }

    fn tie_cap<'a>(
        &'a self,
        no: AlertNo,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
        sent: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let args = (as_i64(no.0), account.to_owned(), kept(sender), kept(identifier), kept(sent));
        let tie = Work::new(args, |link, (no, id, sender, identifier, sent)| {
            Box::pin(async move {
                let account = super::account(link, id).await?;
                let sql = "INSERT INTO cap_messages (account, sender, identifier, alert, sent) \
                     VALUES ($1, $2, $3, $4, $5) \
                     ON CONFLICT (account, sender, identifier, alert) DO UPDATE SET sent = $5";
                link.execute(sql, &[&account, sender, identifier, no, sent]).await?;
                Ok(())
            })
        });
        Box::pin(self.write(tie.again()))
    }
}

struct Accept {
    alert: Alert,
    request: String,
    origin: String,
    key: Option<IdempotencyKey>,
    /// Noted with the alert.
    act: Option<Act>,
    /// How long the files are kept that the alert names.
    kept_s: i64,
    tries: AtomicU32,
}

async fn accept(link: &PgLink, args: &Accept) -> Result<Accepted, Trouble> {
    let alert = &args.alert;
    // An earlier try may have been committed though its answer was lost. Its id is in no other alert.
    if args.tries.fetch_add(1, Ordering::Relaxed) > 0
        && let Some(ours) = one(link, BY_ID, &alert.id.0).await?
        && ours.account == alert.account
        && ours.created == alert.created
    {
        return Ok(Accepted::New(ours));
    }
    let account = account(link, &alert.account).await?;
    if let Some(key) = &args.key
        && let Some(earlier) = claim(link, account, key, alert).await?
    {
        return Ok(earlier);
    }
    let intake_from = match alert.origin {
        Origin::Standing { intake_from } => Some(intake_from),
        // No message is in it; lists leave it out as they do message streams.
        _ => alert.origin.is_internal().then_some(0),
    };
    let approval = alert.approval.as_ref().map(to_json).transpose()?;
    let class =
        alert.is_stream().then(|| i16::from(class(alert.request.mode, alert.request.priority.into())));
    let params: Params<'_> = &[
        &alert.id.0,
        &account,
        &alert.token,
        &alert.created.0,
        &alert.state.name(),
        &i64::from(alert.version),
        &kept(&alert.note),
        &alert.state.is_final().then_some(alert.created.0),
        &alert.request.require_answer.then_some(alert.request.expires.0),
        &args.request,
        &args.origin,
        &class,
        &intake_from.map(as_i64),
        &approval,
        &i64::from(SeenAlert::of(alert).revision),
    ];
    let row = link.one(INSERT, params).await?;
    let uncounted = || StoreError::Damaged { what: "the counter of alerts is gone".to_owned() };
    let no: i64 = get(&row.ok_or_else(uncounted)?, 0)?;
    super::attachments::name(link, account, alert, args.kept_s).await?;
    if let Some(act) = &args.act {
        super::audit::note(link, act).await?;
    }
    Ok(Accepted::New(Alert { no: AlertNo(as_u64(no)), ..alert.clone() }))
}

/// Takes the key for this alert, or says what came before under it. Who comes at the same moment waits until
/// this is decided.
async fn claim(
    link: &PgLink,
    account: i32,
    key: &IdempotencyKey,
    alert: &Alert,
) -> Result<Option<Accepted>, Trouble> {
    let (hash, now, name) = (key.body_hash.as_slice(), alert.created.0, kept(&key.key));
    let token = key.token(alert);
    let too_old = alert.created.plus_s(-KEY_KEPT_S).0;
    let id = alert.id.0;
    if link.one(CLAIM_KEY, &[&account, &token, &name, &hash, &id, &now, &too_old]).await?.is_some() {
        link.execute(REMOVE_KEYS, &[&too_old, &OLD_KEYS_REMOVED]).await?;
        return Ok(None);
    }
    let Some(known) = link.one(KEY, &[&account, &token, &name]).await? else {
        return Err(Trouble::Undone("an idempotency key was removed meanwhile".to_owned()));
    };
    if get::<&[u8]>(&known, 1)? != hash {
        return Ok(Some(Accepted::KeyTaken));
    }
    if let Some(before) = one(link, BY_ID, &get::<Uuid>(&known, 0)?).await? {
        return Ok(Some(Accepted::Before(before)));
    }
    link.execute(REPLACE_KEY, &[&account, &token, &name, &hash, &id, &now]).await?;
    Ok(None)
}

/// Children first, the alert itself last: what is interrupted is found again. True when it is gone. Folds
/// into the alert wait meanwhile.
async fn remove_slice(link: &PgLink, no: i64) -> Result<bool, Trouble> {
    link.execute("SELECT FROM alerts WHERE no = $1 FOR UPDATE", &[&no]).await?;
    if roster::remove_some(link, no).await? || super::deliveries::remove_some(link, no).await? {
        return Ok(false);
    }
    if super::evidence::remove_some(link, no, None).await? {
        return Ok(false);
    }
    for delete in [
        "DELETE FROM evidence WHERE alert = $1",
        "DELETE FROM observers WHERE alert = $1",
        "DELETE FROM cap_messages WHERE alert = $1",
        "DELETE FROM alerts WHERE no = $1",
    ] {
        link.execute(delete, &[&no]).await?;
    }
    Ok(true)
}

async fn one(link: &PgLink, sql: &'static str, id: &Uuid) -> Result<Option<Alert>, Trouble> {
    Ok(many(link, sql, &[id]).await?.pop())
}

pub(super) async fn many(
    link: &PgLink,
    sql: &'static str,
    params: Params<'_>,
) -> Result<Vec<Alert>, Trouble> {
    link.all(sql, params).await?.iter().map(alert).collect()
}

fn alert(row: &Row) -> Result<Alert, Trouble> {
    let no: i64 = get(row, 0)?;
    let damaged = |why: String| StoreError::Damaged { what: format!("alert {no}: {why}") };
    let state: &str = get(row, 5)?;
    let version: i64 = get(row, 6)?;
    Ok(Alert {
        no: AlertNo(as_u64(no)),
        id: AlertId(get(row, 1)?),
        account: get(row, 2)?,
        token: get(row, 3)?,
        created: Timestamp(get(row, 4)?),
        state: state_named(state).ok_or_else(|| damaged(format!("state {state:?} is unknown")))?,
        version: u32::try_from(version).map_err(|error| damaged(error.to_string()))?,
        request: serde_json::from_str(get(row, 7)?).map_err(|error| damaged(error.to_string()))?,
        origin: serde_json::from_str(get(row, 8)?).map_err(|error| damaged(error.to_string()))?,
        note: get(row, 9)?,
        approval: approval_of(get(row, 10)?).map_err(damaged)?,
    })
}
