//! Forgetting people and letting go by age, on SQLite. What is erased is overwritten in the file.

use super::deliveries::account_of;
use super::{
    JobStep, Lane, Sqlite, Tx, account_no, alerts, as_i64, as_limit, as_u64, recipients, revisions, roster,
};
use crate::alerts::to_json;
use crate::{ErasedRecord, FoldedBlock, PendingErasure, Privacy, StopOf, StoreError};
use futures_util::future::BoxFuture;
use records::{Alert, AlertNo, AlertRequest, EndpointNo, Group, Recipient, Timestamp};
use rusqlite::{Connection, OptionalExtension};

/// Answers whose texts are taken out in one transaction.
const ANSWERS_AT_ONCE: usize = 2_000;

impl Privacy for Sqlite {
    fn erase_recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ErasedRecord, StoreError>> {
        let (account, id) = (account.to_owned(), id.to_owned());
        Box::pin(self.write(move |tx| overwriting(tx, || erase(tx, &account, &id))))
    }

    fn forget_stops<'a>(
        &'a self,
        account: &'a str,
        stops: Vec<StopOf>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let account = account.to_owned();
        let forget = move |tx: &Tx<'_>| {
            let account = tx.account(&account)?;
            overwriting(tx, || stops.iter().try_for_each(|stop| forget_stop(tx, account, stop)))
        };
        Box::pin(self.write(forget))
    }

    fn alerts_after<'a>(
        &'a self,
        account: &'a str,
        after: AlertNo,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        let account = account.to_owned();
        let page = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            let clause = "WHERE account = ?1 AND no > ?2 ORDER BY no LIMIT ?3";
            alerts::many(connection, clause, (account, as_i64(after.0), as_limit(limit)))
        };
        Box::pin(self.read(page))
    }

    fn rewrite_block(
        &self,
        block: FoldedBlock,
        wordless: Vec<EndpointNo>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write(move |tx| overwriting(tx, || rewrite(tx, &block, &wordless))))
    }

    fn rewrite_request<'a>(
        &'a self,
        no: AlertNo,
        request: &'a AlertRequest,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (request, until) = (to_json(request)?, request.expires.0);
            let rewrite = move |tx: &Tx<'_>| {
                overwriting(tx, || {
                    let update = "UPDATE alerts SET request = ?2, \
                         asks_until = CASE WHEN asks_until IS NULL THEN NULL ELSE ?3 END WHERE no = ?1";
                    tx.prepare_cached(update)?.execute((as_i64(no.0), &request, until))?;
                    Ok(())
                })
            };
            self.write(rewrite).await
        })
    }

    fn put_erasure<'a>(
        &'a self,
        account: &'a str,
        body: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let (account, body) = (account.to_owned(), body.to_owned());
        let put = move |tx: &Tx<'_>| {
            let account = tx.account(&account)?;
            tx.prepare_cached("INSERT INTO erasures (account, at, body) VALUES (?1, ?2, ?3)")?
                .execute((account, now.0, &body))?;
            Ok(as_u64(tx.last_insert_rowid()))
        };
        Box::pin(self.write(put))
    }

    fn erasures(&self) -> BoxFuture<'_, Result<Vec<PendingErasure>, StoreError>> {
        let list = |connection: &Connection| {
            let mut select = connection.prepare_cached(
                "SELECT erasures.no, accounts.id, at, body FROM erasures \
                 JOIN accounts ON accounts.no = erasures.account ORDER BY erasures.no",
            )?;
            let rows = select.query_map([], |row| {
                Ok(PendingErasure {
                    no: as_u64(row.get(0)?),
                    account: row.get(1)?,
                    at: Timestamp(row.get(2)?),
                    body: row.get(3)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        Box::pin(self.read(list))
    }

    fn remove_erasure(&self, no: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        let remove = move |tx: &Tx<'_>| {
            overwriting(tx, || {
                tx.prepare_cached("DELETE FROM erasures WHERE no = ?1")?.execute([as_i64(no)])?;
                Ok(())
            })
        };
        Box::pin(self.write(remove))
    }

    fn forget_answers_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        let mut done = Vec::new();
        let slice = move |tx: &Tx<'_>| {
            let Some(no) = answered_before(tx, before)?.filter(|_| done.len() < limit) else {
                return Ok(JobStep::Done(std::mem::take(&mut done)));
            };
            if overwriting(tx, || forget_some_answers(tx, no))? {
                return Ok(JobStep::More);
            }
            tx.prepare_cached("UPDATE alerts SET asks_until = NULL WHERE no = ?1")?.execute([no])?;
            done.push(AlertNo(as_u64(no)));
            Ok(JobStep::More)
        };
        Box::pin(self.write_slices(Lane::Soon, slice))
    }
}

/// What is deleted or replaced meanwhile is overwritten with zeros in the pages that become free, too.
pub(super) fn overwriting<T>(
    tx: &Tx<'_>,
    run: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let set = |value: &str| {
        tx.query_row(&format!("PRAGMA secure_delete = {value}"), [], |_| Ok(())).map_err(StoreError::from)
    };
    set("ON")?;
    let result = run();
    set("FAST")?;
    result
}

fn erase(tx: &Tx<'_>, account: &str, id: &str) -> Result<ErasedRecord, StoreError> {
    let mut erased = ErasedRecord::default();
    let Some(account) = account_no(tx, account)? else { return Ok(erased) };
    let visible = super::visible::load(tx, account)?;
    let mut select =
        tx.prepare_cached("SELECT generation, body FROM recipients WHERE account = ?1 AND id = ?2")?;
    let rows =
        select.query_map((account, id), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
    for (generation, body) in rows.collect::<Result<Vec<_>, _>>()? {
        // Of an import that is being staged: it will be published later than this. One that is held may wait
        // for days: it forgets the person too.
        if visible.rank(generation).is_none() && !visible.is_held(generation) {
            continue;
        }
        recipients::remove(tx, account, id, &recipients::StoredVersion::read(generation, &body)?)?;
        if !body.is_empty() {
            erased.add(Recipient::decode(&body)?.devices);
        }
    }
    revisions::note_people(tx, account)?;
    erased.groups = leave_groups(tx, account, id)?;
    Ok(erased)
}

/// Takes the id out of the members of groups. A search of the text finds few that do not have it.
fn leave_groups(tx: &Tx<'_>, account: i64, id: &str) -> Result<Vec<String>, StoreError> {
    let quoted = to_json(&id)?;
    let mut select =
        tx.prepare_cached("SELECT body FROM groups WHERE account = ?1 AND instr(body, ?2) > 0")?;
    let bodies = select.query_map((account, &quoted), |row| row.get::<_, String>(0))?;
    let mut left = Vec::new();
    for body in bodies.collect::<Result<Vec<_>, _>>()? {
        let damaged = |error: serde_json::Error| StoreError::Damaged { what: format!("group: {error}") };
        let mut group: Group = serde_json::from_str(&body).map_err(damaged)?;
        let members = group.members.len();
        group.members.retain(|member| member != id);
        if group.members.len() < members {
            let version = tx.raise_version(1)?;
            tx.prepare_cached("UPDATE groups SET body = ?3, version = ?4 WHERE account = ?1 AND id = ?2")?
                .execute((account, &group.id, to_json(&group)?, version))?;
            left.push(group.id);
        }
    }
    Ok(left)
}

fn forget_stop(tx: &Tx<'_>, account: i64, stop: &StopOf) -> Result<(), StoreError> {
    let mut remember = tx.prepare_cached(
        "INSERT OR IGNORE INTO forgotten_opt_outs (account, hash, sender, at) VALUES (?1, ?2, ?3, ?4)",
    )?;
    super::opt_outs::decided(tx, account, stop.channel, &stop.address)?;
    let of = (account, stop.channel.0, &stop.address);
    let all: Option<i64> = tx
        .prepare_cached(
            "DELETE FROM opt_outs WHERE account = ?1 AND channel = ?2 AND address = ?3 RETURNING at",
        )?
        .query_row(of, |row| row.get(0))
        .optional()?;
    if let Some(at) = all.or(stop.stopped.map(|at| at.0)) {
        remember.execute((account, stop.hash, "", at))?;
    }
    let mut delete = tx.prepare_cached(
        "DELETE FROM sender_opt_outs WHERE account = ?1 AND channel = ?2 AND address = ?3 RETURNING sender, at",
    )?;
    let rows = delete.query_map(of, |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    for (sender, at) in rows.collect::<Result<Vec<_>, _>>()? {
        remember.execute((account, stop.hash, sender, at))?;
    }
    Ok(())
}

fn rewrite(tx: &Tx<'_>, block: &FoldedBlock, wordless: &[EndpointNo]) -> Result<(), StoreError> {
    if account_of(tx, block.alert)?.is_none() {
        return Ok(()); // the alert was removed for its age
    }
    tx.prepare_cached("UPDATE roster SET block = ?2 WHERE place = ?1")?
        .execute((roster::place(block.alert, block.first), &block.octets))?;
    let mut forget = tx.prepare_cached(
        "UPDATE deliveries SET detail = NULL, \
         answer = CASE WHEN answer IS NULL THEN NULL ELSE json_set(answer, '$.text', '') END \
         WHERE alert = ?1 AND endpoint = ?2",
    )?;
    for endpoint in wordless {
        forget.execute((as_i64(block.alert.0), endpoint.0))?;
    }
    super::evidence::forget(tx, block.alert, wordless)
}

/// The oldest alert whose answers are all of before `before`, and were not gone through.
fn answered_before(tx: &Tx<'_>, before: Timestamp) -> Result<Option<i64>, StoreError> {
    let mut find = tx.prepare_cached(
        "SELECT no FROM alerts WHERE asks_until < ?1 AND final_at < ?1 ORDER BY asks_until, no LIMIT 1",
    )?;
    Ok(find.query_row([before.0], |row| row.get(0)).optional()?)
}

/// False if there was none left.
fn forget_some_answers(tx: &Tx<'_>, no: i64) -> Result<bool, StoreError> {
    let changed = tx
        .prepare_cached(
            "UPDATE deliveries SET answer = json_set(answer, '$.text', '') WHERE alert = ?1 AND endpoint IN \
             (SELECT endpoint FROM deliveries WHERE alert = ?1 AND answer IS NOT NULL \
              AND json_extract(answer, '$.text') <> '' LIMIT ?2)",
        )?
        .execute((no, as_limit(ANSWERS_AT_ONCE)))?;
    Ok(changed > 0 || super::evidence::forget_answers(tx, no)?)
}
