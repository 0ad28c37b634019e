//! Forgetting people and letting go by age, on PostgreSQL. What is erased is dead at once, and gone once the
//! server has vacuumed its table.

use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, account_no, alerts, as_i64, as_limit, as_u64, roster};
use crate::alerts::to_json;
use crate::{ErasedRecord, FoldedBlock, PendingErasure, Privacy, StopOf, StoreError};
use futures_util::future::BoxFuture;
use records::{Alert, AlertNo, AlertRequest, EndpointNo, Group, Recipient, Timestamp};

/// Answers whose texts are taken out in one transaction.
const ANSWERS_AT_ONCE: i64 = 5_000;

const ERASE: &str = "WITH gone AS (DELETE FROM recipients WHERE account = $1 AND id = $2 AND NOT EXISTS \
      (SELECT FROM imports WHERE imports.generation = recipients.generation AND imports.state NOT IN (1, 3)) \
      RETURNING id, generation, groups, body), \
     named AS (DELETE FROM memberships USING \
      (SELECT id, generation, unnest(groups) AS grp FROM gone) AS gone \
      WHERE memberships.account = $1 AND memberships.grp = gone.grp AND memberships.id = gone.id \
      AND memberships.generation = gone.generation) \
     SELECT body FROM gone WHERE octet_length(body) > 0";
const GROUPS: &str = "SELECT body FROM groups WHERE account = $1 AND position($2 IN body) > 0 FOR UPDATE";
const PUT_GROUP: &str =
    "UPDATE groups SET body = $3, version = nextval('versions') WHERE account = $1 AND id = $2";
const REMEMBER: &str = "INSERT INTO forgotten_opt_outs (account, hash, sender, at) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (account, hash, sender) DO NOTHING";
const STOPS: &str =
    "DELETE FROM opt_outs WHERE account = $1 AND channel = $2 AND address = $3 RETURNING sender, at";
const BLOCK: &str = "UPDATE roster SET block = $2 WHERE place = $1";
const WORDLESS: &str = "UPDATE deliveries SET detail = NULL, \
     answer = CASE WHEN answer IS NULL THEN NULL ELSE jsonb_set(answer::jsonb, '{text}', '\"\"')::text END \
     WHERE alert = $1 AND endpoint = ANY($2)";
const REQUEST: &str = "UPDATE alerts SET request = $2, \
     asks_until = CASE WHEN asks_until IS NULL THEN NULL ELSE $3::bigint END WHERE no = $1";
const PUT_ERASURE: &str = "INSERT INTO erasures (account, at, body) VALUES ($1, $2, $3) RETURNING no";
const ERASURES: &str = "SELECT erasures.no, accounts.id, at, body FROM erasures \
     JOIN accounts ON accounts.no = erasures.account ORDER BY erasures.no";
const REMOVE_ERASURE: &str = "DELETE FROM erasures WHERE no = $1";
const ANSWERED: &str =
    "SELECT no FROM alerts WHERE asks_until < $1 AND final_at < $1 ORDER BY asks_until, no LIMIT 1";
const FORGET_ANSWERS: &str = "UPDATE deliveries SET answer = jsonb_set(answer::jsonb, '{text}', '\"\"')::text \
     WHERE alert = $1 AND endpoint IN (SELECT endpoint FROM deliveries WHERE alert = $1 AND answer IS NOT NULL \
     AND answer::jsonb ->> 'text' <> '' LIMIT $2)";
const ANSWERS_FORGOTTEN: &str = "UPDATE alerts SET asks_until = NULL WHERE no = $1";

impl Privacy for Postgres {
    fn erase_recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ErasedRecord, StoreError>> {
        let args = (account.to_owned(), id.to_owned());
        Box::pin(self.write(Work::new(args, |link, (account, id)| Box::pin(erase(link, account, id)))))
    }

    fn forget_stops<'a>(
        &'a self,
        account: &'a str,
        stops: Vec<StopOf>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let args = (account.to_owned(), stops);
        let forget = Work::new(args, |link, (of, stops)| {
            Box::pin(async move {
                let no = super::account(link, of).await?;
                for stop in stops {
                    forget_stop(link, no, stop).await?;
                }
                Ok(())
            })
        });
        Box::pin(self.write(forget.again()))
    }

    fn alerts_after<'a>(
        &'a self,
        account: &'a str,
        after: AlertNo,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>> {
        let args = (account.to_owned(), as_i64(after.0), as_limit(limit));
        let page = Work::new(args, |link, (account, after, limit)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                alerts::many(link, alerts::OF_ACCOUNT, &[&no, after, limit]).await
            })
        });
        Box::pin(self.read(page))
    }

    fn rewrite_block(
        &self,
        block: FoldedBlock,
        wordless: Vec<EndpointNo>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let wordless: Vec<i64> = wordless.iter().map(|endpoint| i64::from(endpoint.0)).collect();
        let args = (roster::place(block.alert, block.first), as_i64(block.alert.0), block.octets, wordless);
        let rewrite = Work::new(args, |link, (place, alert, octets, wordless)| {
            Box::pin(async move {
                link.execute(BLOCK, &[place, octets]).await?;
                link.execute(WORDLESS, &[alert, wordless]).await?;
                super::evidence::forget(link, *alert, wordless).await
            })
        });
        Box::pin(self.write(rewrite.again()))
    }

    fn rewrite_request<'a>(
        &'a self,
        no: AlertNo,
        request: &'a AlertRequest,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let args = (as_i64(no.0), to_json(request)?, request.expires.0);
            let rewrite = Work::new(args, |link, (no, request, until)| {
                Box::pin(async move { Ok(_ = link.execute(REQUEST, &[no, request, until]).await?) })
            });
            self.write(rewrite.again()).await
        })
    }

    fn put_erasure<'a>(
        &'a self,
        account: &'a str,
        body: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let args = (account.to_owned(), body.to_owned(), now.0);
        let put = Work::new(args, |link, (of, body, now)| {
            Box::pin(async move {
                let no = super::account(link, of).await?;
                let row = link.one(PUT_ERASURE, &[&no, now, body]).await?;
                let none = || StoreError::Damaged { what: "a note has no number".to_owned() };
                Ok(as_u64(get(&row.ok_or_else(none)?, 0)?))
            })
        });
        // Noted twice is done twice, which changes nothing.
        Box::pin(self.write(put.again()))
    }

    fn erasures(&self) -> BoxFuture<'_, Result<Vec<PendingErasure>, StoreError>> {
        let list = Work::new((), |link, ()| {
            Box::pin(async move {
                let erasure = |row: &_| -> Result<PendingErasure, Trouble> {
                    let (no, at): (i64, i64) = (get(row, 0)?, get(row, 2)?);
                    let (no, at) = (as_u64(no), Timestamp(at));
                    Ok(PendingErasure { no, account: get(row, 1)?, at, body: get(row, 3)? })
                };
                link.all(ERASURES, &[]).await?.iter().map(erasure).collect()
            })
        });
        Box::pin(self.read(list))
    }

    fn remove_erasure(&self, no: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        let remove = Work::new(as_i64(no), |link, no| {
            Box::pin(async move { Ok(_ = link.execute(REMOVE_ERASURE, &[no]).await?) })
        });
        Box::pin(self.write(remove.again()))
    }

    fn forget_answers_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        Box::pin(async move {
            let mut done = Vec::new();
            while done.len() < limit {
                let slice = Work::new(before.0, |link, before| Box::pin(forget_some_answers(link, *before)));
                match self.write(slice.again()).await? {
                    Slice::More => {}
                    Slice::Done(no) => done.push(AlertNo(as_u64(no))),
                    Slice::Nothing => break,
                }
            }
            Ok(done)
        })
    }
}

async fn erase(link: &PgLink, account: &str, id: &str) -> Result<ErasedRecord, Trouble> {
    let mut erased = ErasedRecord::default();
    let Some(no) = account_no(link, account).await? else { return Ok(erased) };
    super::lock_account(link, no).await?;
    for row in &link.all(ERASE, &[&no, &id]).await? {
        erased.add(Recipient::decode(get(row, 0)?)?.devices);
    }
    super::revisions::note_people(link, no).await?;
    for row in &link.all(GROUPS, &[&no, &to_json(&id)?]).await? {
        let damaged = |error: serde_json::Error| StoreError::Damaged { what: format!("group: {error}") };
        let mut group: Group = serde_json::from_str(get(row, 0)?).map_err(damaged)?;
        let members = group.members.len();
        group.members.retain(|member| member != id);
        if group.members.len() < members {
            link.execute(PUT_GROUP, &[&no, &group.id, &to_json(&group)?]).await?;
            erased.groups.push(group.id);
        }
    }
    Ok(erased)
}

async fn forget_stop(link: &PgLink, account: i32, stop: &StopOf) -> Result<(), Trouble> {
    super::opt_outs::decided(link, account, stop.channel, &stop.address).await?;
    let hash = stop.hash.as_slice();
    let rows = link.all(STOPS, &[&account, &i16::from(stop.channel.0), &stop.address]).await?;
    for row in &rows {
        let (sender, at): (&str, i64) = (get(row, 0)?, get(row, 1)?);
        link.execute(REMEMBER, &[&account, &hash, &sender, &at]).await?;
    }
    if let Some(at) = stop.stopped {
        link.execute(REMEMBER, &[&account, &hash, &"", &at.0]).await?;
    }
    Ok(())
}

enum Slice {
    More,
    Done(i64),
    Nothing,
}

async fn forget_some_answers(link: &PgLink, before: i64) -> Result<Slice, Trouble> {
    let Some(row) = link.one(ANSWERED, &[&before]).await? else { return Ok(Slice::Nothing) };
    let no: i64 = get(&row, 0)?;
    let texts = link.execute(FORGET_ANSWERS, &[&no, &ANSWERS_AT_ONCE]).await?;
    if texts > 0 || super::evidence::forget_answers(link, no).await? {
        return Ok(Slice::More);
    }
    link.execute(ANSWERS_FORGOTTEN, &[&no]).await?;
    Ok(Slice::Done(no))
}
