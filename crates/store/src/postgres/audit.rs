use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::{Postgres, Work, account, account_no, as_i64, as_limit, as_u64};
use crate::audit::chain::{NewLink, forgetting, genesis, link_of, retaining, stored_hash};
use crate::audit::{self, AuditEntry, AuditKey, AuditSearch, ChainHead, DROPPED_MAX, FORGOTTEN_MAX, noted};
use crate::audit::{AuditLink, LinkWithFields, SaltedField};
use crate::{Act, Audit, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use rustc_hash::FxHashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_postgres::Row;
use uuid::Uuid;

/// The columns of a link, in the order `link` reads them.
macro_rules! links {
    ($rest:expr) => {
        concat!(
            "SELECT seq, version, algorithm, previous, at, accounts.id, verb, token, extras, commitments, hash \
             FROM audit_links JOIN accounts ON accounts.no = audit_links.account ",
            $rest
        )
    };
}

/// A page of a search.
macro_rules! searched {
    ($account:literal, $order:literal) => {
        links!(concat!(
            "WHERE ",
            $account,
            " AND seq > $2 AND seq < $3 AND at >= $4 AND at < $5 \
             AND ($6::text IS NULL OR verb = $6) AND ($7::text IS NULL OR token = $7) \
             AND ($8::text IS NULL OR EXISTS (SELECT FROM audit_fields WHERE link = seq AND number = 3 AND value = $8)) \
             ORDER BY seq ",
            $order,
            " LIMIT $9"
        ))
    };
}

/// Whoever appends holds this row until the end of its transaction. It is locked last of all.
const LOCKED_HEAD: &str = "SELECT seq, hash FROM audit_head FOR UPDATE";
const APPEND: &str = "INSERT INTO audit_links (seq, version, algorithm, previous, at, account, verb, token, extras, \
     commitments, hash) SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::smallint[], $4::bytea[], $5::bigint[], \
     $6::integer[], $7::text[], $8::text[], $9::bytea[], $10::bytea[], $11::bytea[])";
const APPEND_FIELDS: &str = "INSERT INTO audit_fields (link, number, account, salt, value, person) \
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bytea[], $5::text[], $6::text[])";
/// Links of acts of earlier forms that are written at once.
const EARLIER_AT_ONCE: i64 = 1_000;

impl Audit for Postgres {
    fn note_act(&self, act: Act) -> BoxFuture<'_, Result<u64, StoreError>> {
        let note = Work::new(act, |link, act| Box::pin(note(link, act)));
        Box::pin(async move { noted(self.on_runtime(|base| async move { base.change(&note).await }).await) })
    }

    fn note_acts(&self, acts: Vec<Act>) -> BoxFuture<'_, Result<(), StoreError>> {
        let note = Work::new(acts, |link, acts| {
            Box::pin(async move {
                for act in acts {
                    note(link, act).await?;
                }
                Ok(())
            })
        });
        Box::pin(async move { noted(self.on_runtime(|base| async move { base.change(&note).await }).await) })
    }

    fn audit_entries(&self, search: AuditSearch) -> BoxFuture<'_, Result<Vec<AuditEntry>, StoreError>> {
        let list = Work::new(search, |link, search| Box::pin(entries(link, search)));
        Box::pin(self.read(list))
    }

    fn audit_links(
        &self,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<LinkWithFields>, StoreError>> {
        let list = Work::new((as_i64(after), as_limit(limit)), |link, (after, limit)| {
            let sql = links!("WHERE seq > $1 ORDER BY seq LIMIT $2");
            Box::pin(async move { many(link, sql, &[after, limit]).await })
        });
        Box::pin(self.read(list))
    }

    fn audit_head(&self) -> BoxFuture<'_, Result<ChainHead, StoreError>> {
        let find = Work::new((), |link, ()| {
            Box::pin(async move {
                let found = head(link, "SELECT seq, hash FROM audit_head").await?;
                Ok(found.unwrap_or(ChainHead::EMPTY))
            })
        });
        Box::pin(self.read(find))
    }

    fn stray_audit_fields(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        let count = Work::new((), |link, ()| {
            Box::pin(async move {
                let sql = "SELECT count(*) FROM audit_fields \
                     WHERE NOT EXISTS (SELECT FROM audit_links WHERE seq = audit_fields.link)";
                let row = link.one(sql, &[]).await?;
                row.map_or(Ok(0), |row| Ok(as_u64(get(&row, 0)?)))
            })
        });
        Box::pin(self.read(count))
    }

    fn forget_person<'a>(
        &'a self,
        account: &'a str,
        recipient_id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let mut erased = 0;
            loop {
                let args = (account.to_owned(), super::kept(recipient_id), now);
                let some = Work::new(args, |link, args| Box::pin(forget_some(link, args)));
                let some = self.write(some).await?;
                erased += some;
                if some < FORGOTTEN_MAX as u64 {
                    return Ok(erased);
                }
            }
        })
    }

    fn retain_acts(
        &self,
        before: Timestamp,
        now: Timestamp,
        key: AuditKey,
    ) -> BoxFuture<'_, Result<u64, StoreError>> {
        let retain = Work::new((before, now, key), |link, args| Box::pin(retain(link, args)));
        Box::pin(self.write(retain))
    }
}

/// Appends the link of an act, in the transaction of what it notes, at its end: the head is locked last.
pub(super) async fn note(link: &PgLink, act: &Act) -> Result<u64, Trouble> {
    let no = account(link, &audit::chain::kept(&act.account)).await?;
    let new = link_of(&locked_head(link).await?, act)?;
    let seq = new.link.seq;
    append(link, &[(no, new)]).await.map_err(not_noted)?;
    Ok(seq)
}

/// The server's refusal, as one of the note.
fn not_noted(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Refused(error) => Trouble::Refused(audit::not_noted(error)),
        other => other,
    }
}

async fn locked_head(link: &PgLink) -> Result<ChainHead, Trouble> {
    let absent =
        || StoreError::NotNoted { why: "the head of the audit trail is gone: start again".to_owned() };
    Ok(head(link, LOCKED_HEAD).await?.ok_or_else(absent)?)
}

async fn head(link: &PgLink, sql: &'static str) -> Result<Option<ChainHead>, Trouble> {
    link.one(sql, &[]).await?.map(|row| head_of(&row, 0)).transpose()
}

/// Number and hash, from this column on.
fn head_of(row: &Row, column: usize) -> Result<ChainHead, Trouble> {
    let seq: i64 = get(row, column)?;
    Ok(ChainHead { seq: as_u64(seq), hash: stored_hash(get(row, column + 1)?, seq)? })
}

/// Appends links that follow each other, and moves the head.
async fn append(link: &PgLink, new: &[(i32, NewLink)]) -> Result<(), Trouble> {
    let Some((_, last)) = new.last() else { return Ok(()) };
    let all = || new.iter().map(|(_, new)| &new.link);
    let seqs: Vec<i64> = all().map(|link| as_i64(link.seq)).collect();
    let versions: Vec<i16> = all().map(|link| link.version.into()).collect();
    let algorithms: Vec<i16> = all().map(|link| link.algorithm.into()).collect();
    let previous: Vec<&[u8]> = all().map(|link| &link.previous[..]).collect();
    let times: Vec<i64> = all().map(|link| link.at.0).collect();
    let accounts: Vec<i32> = new.iter().map(|(no, _)| *no).collect();
    let verbs: Vec<&str> = all().map(|link| link.verb.as_str()).collect();
    let tokens: Vec<&str> = all().map(|link| link.token.as_str()).collect();
    let extras: Vec<&[u8]> = all().map(|link| &link.extras[..]).collect();
    let commitments: Vec<&[u8]> = all().map(|link| &link.commitments[..]).collect();
    let hashes: Vec<&[u8]> = all().map(|link| &link.hash[..]).collect();
    let params: Params<'_> = &[
        &seqs,
        &versions,
        &algorithms,
        &previous,
        &times,
        &accounts,
        &verbs,
        &tokens,
        &extras,
        &commitments,
        &hashes,
    ];
    link.execute(APPEND, params).await?;
    append_fields(link, new).await?;
    let head = last.head();
    let sql = "INSERT INTO audit_head (one, seq, hash) VALUES (true, $1, $2) \
         ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash";
    link.execute(sql, &[&as_i64(head.seq), &&head.hash[..]]).await?;
    Ok(())
}

async fn append_fields(link: &PgLink, new: &[(i32, NewLink)]) -> Result<(), Trouble> {
    let all = || new.iter().flat_map(|(no, new)| new.fields.iter().map(move |field| (*no, new, field)));
    let links: Vec<i64> = all().map(|(_, new, _)| as_i64(new.link.seq)).collect();
    if links.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i32> = all().map(|(_, _, field)| field.number.into()).collect();
    let accounts: Vec<i32> = all().map(|(no, _, _)| no).collect();
    let salts: Vec<&[u8]> = all().map(|(_, _, field)| &field.salt[..]).collect();
    let values: Vec<&str> = all().map(|(_, _, field)| field.value.as_str()).collect();
    let persons: Vec<Option<&str>> = all().map(|(_, new, field)| new.person_of(field.number)).collect();
    link.execute(APPEND_FIELDS, &[&links, &numbers, &accounts, &salts, &values, &persons]).await?;
    Ok(())
}

/// Erases as many fields as one link names.
async fn forget_some(link: &PgLink, (id, person, now): &(String, String, Timestamp)) -> Result<u64, Trouble> {
    let Some(no) = account_no(link, id).await? else { return Ok(0) };
    // First of all, so that two who erase the same do it one behind the other.
    let head = locked_head(link).await?;
    let sql = "SELECT link, number FROM audit_fields WHERE account = $1 AND person = $2 ORDER BY link, number LIMIT $3";
    let rows = link.all(sql, &[&no, person, &as_limit(FORGOTTEN_MAX)]).await?;
    let (mut links, mut numbers, mut erased) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        let (seq, number): (i64, i32) = (get(row, 0)?, get(row, 1)?);
        links.push(seq);
        numbers.push(number);
        erased.push((as_u64(seq), u16::try_from(number).unwrap_or(u16::MAX)));
    }
    if erased.is_empty() {
        return Ok(0);
    }
    let sql = "DELETE FROM audit_fields WHERE (link, number) IN (SELECT * FROM unnest($1::bigint[], $2::integer[]))";
    link.execute(sql, &[&links, &numbers]).await?;
    append(link, &[(no, forgetting(&head, id, &erased, *now)?)]).await?;
    Ok(erased.len() as u64)
}

/// Drops the oldest links, and appends the one that stands for them.
async fn retain(
    link: &PgLink,
    (before, now, key): &(Timestamp, Timestamp, AuditKey),
) -> Result<u64, Trouble> {
    let no = account(link, records::Account::DEFAULT).await?;
    let head = locked_head(link).await?;
    let sql = "SELECT seq, hash, at FROM audit_links ORDER BY seq LIMIT $1";
    let rows = link.all(sql, &[&as_i64(DROPPED_MAX)]).await?;
    let mut dropped = None;
    let mut count = 0;
    for row in &rows {
        if get::<i64>(row, 2)? >= before.0 {
            break;
        }
        dropped = Some(head_of(row, 0)?);
        count += 1;
    }
    let Some(dropped) = dropped else { return Ok(0) };
    let seq = as_i64(dropped.seq);
    link.execute("DELETE FROM audit_fields WHERE link <= $1", &[&seq]).await?;
    link.execute("DELETE FROM audit_links WHERE seq <= $1", &[&seq]).await?;
    append(link, &[(no, retaining(&head, &dropped, key, *now)?)]).await?;
    Ok(count)
}

/// Begins the chain of a database that has none, with the acts of earlier forms as its first links; in the
/// transaction of the migrations.
pub(super) async fn begin_chain(link: &PgLink) -> Result<(), Trouble> {
    if head(link, LOCKED_HEAD).await?.is_some() {
        return Ok(());
    }
    let newest = "SELECT seq, hash FROM audit_links ORDER BY seq DESC LIMIT 1";
    if let Some(newest) = head(link, newest).await? {
        let seq = newest.seq;
        tracing::error!(
            seq,
            "the head of the audit trail was removed; it is the newest link again: verify the trail"
        );
        let sql = "INSERT INTO audit_head (seq, hash) VALUES ($1, $2)";
        link.execute(sql, &[&as_i64(seq), &&newest.hash[..]]).await?;
        return Ok(());
    }
    let absent = |what: &str| StoreError::Damaged { what: what.to_owned() };
    let count = link.one("SELECT count(*) FROM acts", &[]).await?;
    let earlier: i64 = get(&count.ok_or_else(|| absent("there are no acts to count"))?, 0)?;
    let house = link.one("SELECT id FROM house", &[]).await?;
    let house: Uuid = get(&house.ok_or_else(|| absent("the house has no id"))?, 0)?;
    let new = genesis(house.as_bytes(), as_u64(earlier), now())?;
    let mut head = new.head();
    append(link, &[(account(link, &new.link.account).await?, new)]).await?;
    let mut after = 0;
    loop {
        let (links, last) = earlier_links(link, &mut head, after).await?;
        let Some(last) = last else { break };
        append(link, &links).await?;
        after = last;
    }
    link.simple("DROP TABLE acts").await
}

/// Links of the acts behind a number, and the number of the last.
async fn earlier_links(
    link: &PgLink,
    head: &mut ChainHead,
    after: i64,
) -> Result<(Vec<(i32, NewLink)>, Option<i64>), Trouble> {
    let sql = "SELECT acts.at, accounts.id, acts.token, acts.verb, acts.object, acts.detail, acts.account, acts.no \
         FROM acts JOIN accounts ON accounts.no = acts.account WHERE acts.no > $1 ORDER BY acts.no LIMIT $2";
    let mut links = Vec::new();
    let mut last = None;
    for row in &link.all(sql, &[&after, &EARLIER_AT_ONCE]).await? {
        let act = Act {
            at: Timestamp(get(row, 0)?),
            account: get(row, 1)?,
            token: get(row, 2)?,
            verb: get(row, 3)?,
            object: get(row, 4)?,
            detail: get(row, 5)?,
            ..Act::default()
        };
        let new = link_of(head, &audit::of_person(act))?;
        *head = new.head();
        links.push((get(row, 6)?, new));
        last = Some(get(row, 7)?);
    }
    Ok((links, last))
}

/// When the chain began. The one time that no caller names.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

async fn entries(link: &PgLink, search: &AuditSearch) -> Result<Vec<AuditEntry>, Trouble> {
    let ((above, below), (from, until)) = (search.between(), search.times());
    let limit = as_limit(search.limit);
    let no = match &search.account {
        None => None,
        Some(id) => match account_no(link, id).await? {
            None => return Ok(Vec::new()),
            no => no,
        },
    };
    let sql = match (no.is_some(), search.oldest_first) {
        (false, false) => searched!("$1::integer IS NULL", "DESC"),
        (false, true) => searched!("$1::integer IS NULL", "ASC"),
        (true, false) => searched!("audit_links.account = $1::integer", "DESC"),
        (true, true) => searched!("audit_links.account = $1::integer", "ASC"),
    };
    let params: Params<'_> =
        &[&no, &above, &below, &from, &until, &search.verb, &search.token, &search.object, &limit];
    let found = many(link, sql, params).await?;
    Ok(found.into_iter().map(|(link, fields)| link.entry(fields)).collect())
}

/// Links with their fields.
async fn many(link: &PgLink, sql: &'static str, params: Params<'_>) -> Result<Vec<LinkWithFields>, Trouble> {
    let links: Vec<AuditLink> =
        link.all(sql, params).await?.iter().map(stored_link).collect::<Result<_, _>>()?;
    let numbers: Vec<i64> = links.iter().map(|link| as_i64(link.seq)).collect();
    let sql = "SELECT link, number, salt, value FROM audit_fields WHERE link = ANY($1::bigint[]) ORDER BY link, number";
    let mut fields: FxHashMap<u64, Vec<SaltedField>> = FxHashMap::default();
    for row in &link.all(sql, &[&numbers]).await? {
        let number = u16::try_from(get::<i32>(row, 1)?).unwrap_or(u16::MAX);
        let field = SaltedField { number, salt: get(row, 2)?, value: get(row, 3)? };
        fields.entry(as_u64(get(row, 0)?)).or_default().push(field);
    }
    let with_fields = |link: AuditLink| {
        let fields = fields.remove(&link.seq).unwrap_or_default();
        (link, fields)
    };
    Ok(links.into_iter().map(with_fields).collect())
}

fn stored_link(row: &Row) -> Result<AuditLink, Trouble> {
    let seq: i64 = get(row, 0)?;
    Ok(AuditLink {
        seq: as_u64(seq),
        version: u8::try_from(get::<i16>(row, 1)?).unwrap_or(u8::MAX),
        algorithm: u8::try_from(get::<i16>(row, 2)?).unwrap_or(u8::MAX),
        previous: stored_hash(get(row, 3)?, seq)?,
        at: Timestamp(get(row, 4)?),
        account: get(row, 5)?,
        verb: get(row, 6)?,
        token: get(row, 7)?,
        extras: get(row, 8)?,
        commitments: get(row, 9)?,
        hash: stored_hash(get(row, 10)?, seq)?,
    })
}
