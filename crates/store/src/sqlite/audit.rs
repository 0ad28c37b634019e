use super::{JobStep, Lane, Sqlite, Tx, account_no, as_i64, as_limit, as_u64};
use crate::audit::chain::{NewLink, forgetting, genesis, link_of, retaining, stored_hash};
use crate::audit::{self, AuditEntry, AuditKey, AuditSearch, ChainHead, DROPPED_MAX, FORGOTTEN_MAX, noted};
use crate::audit::{AuditLink, LinkWithFields, SaltedField};
use crate::{Act, Audit, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, Row};
use std::time::{SystemTime, UNIX_EPOCH};

/// Columns of a link, in the order `link` reads them.
const COLUMNS: &str = "seq, version, algorithm, previous, at, accounts.id, verb, token, extras, commitments, hash \
     FROM audit_links JOIN accounts ON accounts.no = audit_links.account";
/// Conditions of a search, beside the account.
const SEARCHED: &str = "seq > ?1 AND seq < ?2 AND at >= ?3 AND at < ?4 AND (?5 IS NULL OR verb = ?5) \
     AND (?6 IS NULL OR token = ?6) AND (?7 IS NULL OR EXISTS (SELECT 1 FROM audit_fields \
     WHERE link = seq AND number = 3 AND value = ?7))";

impl Audit for Sqlite {
    fn note_act(&self, act: Act) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { noted(self.write_unfenced(move |tx| note(tx, &act)).await) })
    }

    fn note_acts(&self, acts: Vec<Act>) -> BoxFuture<'_, Result<(), StoreError>> {
        let all = move |tx: &Tx<'_>| acts.iter().try_for_each(|act| note(tx, act).map(drop));
        Box::pin(async move { noted(self.write_unfenced(all).await) })
    }

    fn audit_entries(&self, search: AuditSearch) -> BoxFuture<'_, Result<Vec<AuditEntry>, StoreError>> {
        Box::pin(self.read(move |connection| entries(connection, &search)))
    }

    fn audit_links(
        &self,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<LinkWithFields>, StoreError>> {
        Box::pin(self.read(move |connection| {
            let clause = "WHERE seq > ?1 ORDER BY seq LIMIT ?2";
            links(connection, clause, (as_i64(after), as_limit(limit)))
        }))
    }

    fn audit_head(&self) -> BoxFuture<'_, Result<ChainHead, StoreError>> {
        Box::pin(self.read(|connection| Ok(head(connection)?.unwrap_or(ChainHead::EMPTY))))
    }

    fn stray_audit_fields(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.read(|connection| {
            let sql = "SELECT count(*) FROM audit_fields \
                 WHERE NOT EXISTS (SELECT 1 FROM audit_links WHERE seq = audit_fields.link)";
            Ok(as_u64(connection.query_row(sql, [], |row| row.get(0))?))
        }))
    }

    fn forget_person<'a>(
        &'a self,
        account: &'a str,
        recipient_id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let (account, person) = (account.to_owned(), recipient_id.to_owned());
            let mut erased = 0;
            let forget = move |tx: &Tx<'_>| {
                let some = forget_some(tx, &account, &person, now)?;
                erased += some;
                Ok(if some < FORGOTTEN_MAX as u64 { JobStep::Done(erased) } else { JobStep::More })
            };
            self.write_slices(Lane::Soon, forget).await
        })
    }

    fn retain_acts(
        &self,
        before: Timestamp,
        now: Timestamp,
        key: AuditKey,
    ) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.write(move |tx| retain(tx, before, now, &key)))
    }
}

/// Appends the link of an act, in the transaction of what it notes.
pub(super) fn note(tx: &Tx<'_>, act: &Act) -> Result<u64, StoreError> {
    let appended = locked_head(tx).and_then(|head| {
        let new = link_of(&head, act)?;
        append(tx, tx.account(&new.link.account)?, &new)?;
        Ok(new.link.seq)
    });
    noted(appended)
}

/// Nobody else writes inside a transaction that does.
fn locked_head(connection: &Connection) -> Result<ChainHead, StoreError> {
    let absent =
        || StoreError::Damaged { what: "the head of the audit trail is gone: start again".to_owned() };
    head(connection)?.ok_or_else(absent)
}

fn head(connection: &Connection) -> Result<Option<ChainHead>, StoreError> {
    let mut select = connection.prepare_cached("SELECT seq, hash FROM audit_head")?;
    let row = select.query_row([], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?))).optional()?;
    row.map(|(seq, hash)| head_of(seq, &hash)).transpose()
}

fn head_of(seq: i64, hash: &[u8]) -> Result<ChainHead, StoreError> {
    Ok(ChainHead { seq: as_u64(seq), hash: stored_hash(hash, seq)? })
}

fn append(connection: &Connection, account: i64, new: &NewLink) -> Result<(), StoreError> {
    let (link, seq) = (&new.link, as_i64(new.link.seq));
    let mut insert = connection.prepare_cached(
        "INSERT INTO audit_links (seq, version, algorithm, previous, at, account, verb, token, extras, commitments, \
         hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    insert.execute((
        seq,
        link.version,
        link.algorithm,
        link.previous,
        link.at.0,
        account,
        &link.verb,
        &link.token,
        &link.extras,
        &link.commitments,
        link.hash,
    ))?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO audit_fields (link, number, account, salt, value, person) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for field in &new.fields {
        let person = new.person_of(field.number);
        insert.execute((seq, field.number, account, &field.salt, &field.value, person))?;
    }
    let mut move_head =
        connection.prepare_cached("INSERT OR REPLACE INTO audit_head (one, seq, hash) VALUES (1, ?1, ?2)")?;
    move_head.execute((seq, link.hash))?;
    Ok(())
}

/// Erases as many fields as one link names.
fn forget_some(tx: &Tx<'_>, account: &str, person: &str, now: Timestamp) -> Result<u64, StoreError> {
    let Some(no) = account_no(tx, account)? else { return Ok(0) };
    let mut select = tx.prepare_cached(
        "SELECT link, number FROM audit_fields WHERE account = ?1 AND person = ?2 ORDER BY link, number LIMIT ?3",
    )?;
    let found = select.query_map((no, person, as_limit(FORGOTTEN_MAX)), |row| {
        Ok((as_u64(row.get(0)?), row.get::<_, u16>(1)?))
    })?;
    let erased: Vec<(u64, u16)> = found.collect::<Result<_, _>>()?;
    if erased.is_empty() {
        return Ok(0);
    }
    // The pages they stood on are overwritten: a salt that can be found is not erased.
    tx.pragma_update(None, "secure_delete", true)?;
    let mut delete = tx.prepare_cached("DELETE FROM audit_fields WHERE link = ?1 AND number = ?2")?;
    let deleted =
        erased.iter().try_for_each(|(seq, number)| delete.execute((as_i64(*seq), number)).map(drop));
    tx.pragma_update(None, "secure_delete", false)?;
    deleted?;
    append(tx, no, &forgetting(&locked_head(tx)?, account, &erased, now)?)?;
    Ok(erased.len() as u64)
}

/// Drops the oldest links, and appends the one that stands for them.
fn retain(tx: &Tx<'_>, before: Timestamp, now: Timestamp, key: &AuditKey) -> Result<u64, StoreError> {
    let sql = "SELECT seq, at, hash FROM audit_links ORDER BY seq LIMIT ?1";
    let mut select = tx.prepare_cached(sql)?;
    let mut rows = select.query([as_i64(DROPPED_MAX)])?;
    let mut dropped = None;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? >= before.0 {
            break;
        }
        dropped = Some(head_of(row.get(0)?, &row.get::<_, Vec<u8>>(2)?)?);
        count += 1;
    }
    let head = locked_head(tx)?;
    let Some(dropped) = dropped else { return Ok(0) };
    tx.prepare_cached("DELETE FROM audit_fields WHERE link <= ?1")?.execute([as_i64(dropped.seq)])?;
    tx.prepare_cached("DELETE FROM audit_links WHERE seq <= ?1")?.execute([as_i64(dropped.seq)])?;
    let new = retaining(&head, &dropped, key, now)?;
    append(tx, tx.account(&new.link.account)?, &new)?;
    Ok(count)
}

/// Begins the chain of a database that has none, with the acts of earlier forms as its first links.
pub(super) fn begin_chain(connection: &Connection) -> Result<(), StoreError> {
    if head(connection)?.is_some() {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let begun = begin(connection).and_then(|()| Ok(connection.execute_batch("COMMIT")?));
    if begun.is_err() {
        let _ = connection.execute_batch("ROLLBACK"); // there is none if COMMIT failed
    }
    begun
}

fn begin(connection: &Connection) -> Result<(), StoreError> {
    let newest = "SELECT seq, hash FROM audit_links ORDER BY seq DESC LIMIT 1";
    let newest =
        connection.query_row(newest, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)));
    if let Some((seq, hash)) = newest.optional()? {
        tracing::error!(
            seq,
            "the head of the audit trail was removed; it is the newest link again: verify the trail"
        );
        let sql = "INSERT INTO audit_head (one, seq, hash) VALUES (1, ?1, ?2)";
        connection.execute(sql, (seq, hash))?;
        return Ok(());
    }
    let earlier: i64 = connection.query_row("SELECT count(*) FROM acts", [], |row| row.get(0))?;
    let database: [u8; 16] = connection.query_row("SELECT id FROM house", [], |row| row.get(0))?;
    let new = genesis(&database, as_u64(earlier), now())?;
    append(connection, account(connection, &new.link.account)?, &new)?;
    link_earlier(connection, new.head())?;
    Ok(connection.execute_batch("DROP TABLE acts")?)
}

/// Links the acts of earlier forms.
fn link_earlier(connection: &Connection, mut head: ChainHead) -> Result<(), StoreError> {
    let mut select = connection.prepare(
        "SELECT acts.at, accounts.id, acts.token, acts.verb, acts.object, acts.detail, accounts.no \
         FROM acts JOIN accounts ON accounts.no = acts.account ORDER BY acts.no",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let act = Act {
            at: Timestamp(row.get(0)?),
            account: row.get(1)?,
            token: row.get(2)?,
            verb: row.get(3)?,
            object: row.get(4)?,
            detail: row.get(5)?,
            ..Act::default()
        };
        let new = link_of(&head, &audit::of_person(act))?;
        append(connection, row.get(6)?, &new)?;
        head = new.head();
    }
    Ok(())
}

fn account(connection: &Connection, id: &str) -> Result<i64, StoreError> {
    connection.execute("INSERT OR IGNORE INTO accounts (id) VALUES (?1)", [id])?;
    Ok(connection.query_row("SELECT no FROM accounts WHERE id = ?1", [id], |row| row.get(0))?)
}

/// When the chain began. The one time that no caller names.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn entries(connection: &Connection, search: &AuditSearch) -> Result<Vec<AuditEntry>, StoreError> {
    let ((above, below), (from, until)) = (search.between(), search.times());
    let order = if search.oldest_first { "ASC" } else { "DESC" };
    let limit = as_limit(search.limit);
    let (verb, token, object) = (&search.verb, &search.token, &search.object);
    let found = match &search.account {
        None => {
            let clause = format!("WHERE {SEARCHED} ORDER BY seq {order} LIMIT ?8");
            links(connection, &clause, (above, below, from, until, verb, token, object, limit))?
        }
        Some(account) => {
            let Some(no) = account_no(connection, account)? else { return Ok(Vec::new()) };
            let clause =
                format!("WHERE audit_links.account = ?9 AND {SEARCHED} ORDER BY seq {order} LIMIT ?8");
            links(connection, &clause, (above, below, from, until, verb, token, object, limit, no))?
        }
    };
    Ok(found.into_iter().map(|(link, fields)| link.entry(fields)).collect())
}

fn links(
    connection: &Connection,
    clause: &str,
    params: impl Params,
) -> Result<Vec<LinkWithFields>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} {clause}"))?;
    let mut rows = select.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let link = link(row)?;
        let fields = fields(connection, link.seq)?;
        found.push((link, fields));
    }
    Ok(found)
}

fn link(row: &Row<'_>) -> Result<AuditLink, StoreError> {
    let seq: i64 = row.get(0)?;
    Ok(AuditLink {
        seq: as_u64(seq),
        version: row.get(1)?,
        algorithm: row.get(2)?,
        previous: stored_hash(&row.get::<_, Vec<u8>>(3)?, seq)?,
        at: Timestamp(row.get(4)?),
        account: row.get(5)?,
        verb: row.get(6)?,
        token: row.get(7)?,
        extras: row.get(8)?,
        commitments: row.get(9)?,
        hash: stored_hash(&row.get::<_, Vec<u8>>(10)?, seq)?,
    })
}

fn fields(connection: &Connection, seq: u64) -> Result<Vec<SaltedField>, StoreError> {
    let sql = "SELECT number, salt, value FROM audit_fields WHERE link = ?1 ORDER BY number";
    let mut select = connection.prepare_cached(sql)?;
    let found = select.query_map([as_i64(seq)], |row| {
        Ok(SaltedField { number: row.get(0)?, salt: row.get(1)?, value: row.get(2)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}
