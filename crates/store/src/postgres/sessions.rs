use super::error::Trouble;
use super::link::{Params, get};
use super::{Postgres, Work, account, account_no, kept};
use crate::sessions::OLD_SESSIONS_REMOVED;
use crate::{Sessions, StoreError, StoredSession};
use futures_util::future::BoxFuture;
use records::Timestamp;
use tokio_postgres::Row;

const REMOVE_OLD: &str = "DELETE FROM sessions WHERE hash IN \
     (SELECT hash FROM sessions WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)";
const PUT: &str = "INSERT INTO sessions (hash, account, \"user\", used, until, body) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (hash) DO UPDATE SET account = excluded.account, \
     \"user\" = excluded.\"user\", used = excluded.used, until = excluded.until, body = excluded.body";
const FIND: &str = "SELECT hash, accounts.id, \"user\", used, until, body FROM sessions \
     JOIN accounts ON accounts.no = sessions.account WHERE hash = $1 AND until > $2";
const OF_USER: &str = "SELECT hash, accounts.id, \"user\", used, until, body FROM sessions \
     JOIN accounts ON accounts.no = sessions.account \
     WHERE account = $1 AND \"user\" = $2 AND until > $3 ORDER BY used DESC";

impl Sessions for Postgres {
    fn put_session(
        &self,
        session: StoredSession,
        instead_of: Option<[u8; 32]>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let put = Work::new((session, instead_of, now.0), |link, (session, instead_of, now)| {
            Box::pin(async move {
                link.execute(REMOVE_OLD, &[now, &OLD_SESSIONS_REMOVED]).await?;
                if let Some(ended) = instead_of {
                    link.execute("DELETE FROM sessions WHERE hash = $1", &[&ended.as_slice()]).await?;
                }
                let no = account(link, &session.account).await?;
                let (hash, user) = (session.hash.as_slice(), kept(&session.user));
                let body = kept(&session.body);
                let params: Params<'_> = &[&hash, &no, &user, &session.used.0, &session.until.0, &body];
                link.execute(PUT, params).await?;
                Ok(())
            })
        });
        Box::pin(self.write(put.again()))
    }

    fn session(
        &self,
        hash: [u8; 32],
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<StoredSession>, StoreError>> {
        let find = Work::new((hash, now.0), |link, (hash, now)| {
            Box::pin(async move {
                let row = link.one(FIND, &[&hash.as_slice(), now]).await?;
                row.as_ref().map(session).transpose()
            })
        });
        Box::pin(self.read(find))
    }

    fn update_session(&self, session: StoredSession) -> BoxFuture<'_, Result<bool, StoreError>> {
        let update = Work::new(session, |link, session| {
            Box::pin(async move {
                let sql = "UPDATE sessions SET used = $2, until = $3, body = $4 WHERE hash = $1";
                let (hash, body) = (session.hash.as_slice(), kept(&session.body));
                Ok(link.execute(sql, &[&hash, &session.used.0, &session.until.0, &body]).await? > 0)
            })
        });
        Box::pin(self.write(update.again()))
    }

    fn end_session(&self, hash: [u8; 32]) -> BoxFuture<'_, Result<bool, StoreError>> {
        let end = Work::new(hash, |link, hash| {
            Box::pin(async move {
                Ok(link.execute("DELETE FROM sessions WHERE hash = $1", &[&hash.as_slice()]).await? > 0)
            })
        });
        Box::pin(self.write(end))
    }

    fn end_sessions_of<'a>(
        &'a self,
        account: &'a str,
        user: &'a str,
        but: Option<[u8; 32]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let args = (account.to_owned(), kept(user), but.map(|hash| hash.to_vec()));
        let end = Work::new(args, |link, (account, user, but)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(0) };
                let sql = "DELETE FROM sessions WHERE account = $1 AND \"user\" = $2 \
                           AND hash IS DISTINCT FROM $3";
                link.execute(sql, &[&no, user, but]).await
            })
        });
        Box::pin(self.write(end))
    }

    fn sessions_of<'a>(
        &'a self,
        account: &'a str,
        user: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<StoredSession>, StoreError>> {
        let list = Work::new((account.to_owned(), kept(user), now.0), |link, (account, user, now)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                link.all(OF_USER, &[&no, user, now]).await?.iter().map(session).collect()
            })
        });
        Box::pin(self.read(list))
    }

    fn live_sessions(
        &self,
        hashes: Vec<[u8; 32]>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<[u8; 32]>, StoreError>> {
        let hashes: Vec<Vec<u8>> = hashes.iter().map(|hash| hash.to_vec()).collect();
        let find = Work::new((hashes, now.0), |link, (hashes, now)| {
            Box::pin(async move {
                let sql = "SELECT hash FROM sessions WHERE hash = ANY($1) AND until > $2";
                link.all(sql, &[hashes, now]).await?.iter().map(hash).collect()
            })
        });
        Box::pin(self.read(find))
    }
}

fn hash(row: &Row) -> Result<[u8; 32], Trouble> {
    let hash: &[u8] = get(row, 0)?;
    let damaged = || StoreError::Damaged { what: "a session's hash has another length".to_owned() };
    Ok(hash.try_into().map_err(|_| damaged())?)
}

fn session(row: &Row) -> Result<StoredSession, Trouble> {
    Ok(StoredSession {
        hash: hash(row)?,
        account: get(row, 1)?,
        user: get(row, 2)?,
        used: Timestamp(get(row, 3)?),
        until: Timestamp(get(row, 4)?),
        body: get(row, 5)?,
    })
}
