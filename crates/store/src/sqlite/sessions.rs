use super::{Sqlite, Tx, account_no};
use crate::sessions::OLD_SESSIONS_REMOVED;
use crate::{Sessions, StoreError, StoredSession};
use futures_util::future::BoxFuture;
use records::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

const REMOVE_OLD: &str =
    "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE until <= ?1 LIMIT ?2)";
const PUT: &str = "INSERT OR REPLACE INTO sessions (hash, account, user, used, until, body) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const FIND: &str = "SELECT hash, accounts.id, user, used, until, body FROM sessions \
     JOIN accounts ON accounts.no = sessions.account WHERE hash = ?1 AND until > ?2";
const OF_USER: &str = "SELECT hash, accounts.id, user, used, until, body FROM sessions \
     JOIN accounts ON accounts.no = sessions.account \
     WHERE account = ?1 AND user = ?2 AND until > ?3 ORDER BY used DESC";

impl Sessions for Sqlite {
    fn put_session(
        &self,
        session: StoredSession,
        instead_of: Option<[u8; 32]>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let put = move |tx: &Tx<'_>| {
            tx.prepare_cached(REMOVE_OLD)?.execute((now.0, OLD_SESSIONS_REMOVED))?;
            if let Some(ended) = instead_of {
                tx.prepare_cached("DELETE FROM sessions WHERE hash = ?1")?.execute([ended])?;
            }
            let account = tx.account(&session.account)?;
            tx.prepare_cached(PUT)?.execute((
                session.hash,
                account,
                &session.user,
                session.used.0,
                session.until.0,
                &session.body,
            ))?;
            Ok(())
        };
        Box::pin(self.write(put))
    }

    fn session(
        &self,
        hash: [u8; 32],
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<StoredSession>, StoreError>> {
        let find = move |connection: &Connection| {
            let mut select = connection.prepare_cached(FIND)?;
            Ok(select.query_row((hash, now.0), session).optional()?)
        };
        Box::pin(self.read(find))
    }

    fn update_session(&self, session: StoredSession) -> BoxFuture<'_, Result<bool, StoreError>> {
        let update = move |tx: &Tx<'_>| {
            let sql = "UPDATE sessions SET used = ?2, until = ?3, body = ?4 WHERE hash = ?1";
            let values = (session.hash, session.used.0, session.until.0, &session.body);
            Ok(tx.prepare_cached(sql)?.execute(values)? > 0)
        };
        Box::pin(self.write(update))
    }

    fn end_session(&self, hash: [u8; 32]) -> BoxFuture<'_, Result<bool, StoreError>> {
        let end = move |tx: &Tx<'_>| {
            Ok(tx.prepare_cached("DELETE FROM sessions WHERE hash = ?1")?.execute([hash])? > 0)
        };
        Box::pin(self.write(end))
    }

    fn end_sessions_of<'a>(
        &'a self,
        account: &'a str,
        user: &'a str,
        but: Option<[u8; 32]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let (account, user) = (account.to_owned(), user.to_owned());
        let end = move |tx: &Tx<'_>| {
            let Some(account) = account_no(tx, &account)? else { return Ok(0) };
            let sql = "DELETE FROM sessions WHERE account = ?1 AND user = ?2 AND hash IS NOT ?3";
            Ok(tx.prepare_cached(sql)?.execute((account, &user, but))? as u64)
        };
        Box::pin(self.write(end))
    }

    fn sessions_of<'a>(
        &'a self,
        account: &'a str,
        user: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<StoredSession>, StoreError>> {
        let (account, user) = (account.to_owned(), user.to_owned());
        let list = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            let mut select = connection.prepare_cached(OF_USER)?;
            let rows = select.query_map((account, &user, now.0), session)?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        };
        Box::pin(self.read(list))
    }

    fn live_sessions(
        &self,
        hashes: Vec<[u8; 32]>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<[u8; 32]>, StoreError>> {
        let find = move |connection: &Connection| {
            let sql = "SELECT 1 FROM sessions WHERE hash = ?1 AND until > ?2";
            let mut select = connection.prepare_cached(sql)?;
            let mut live = Vec::new();
            for hash in &hashes {
                if select.exists((hash, now.0))? {
                    live.push(*hash);
                }
            }
            Ok(live)
        };
        Box::pin(self.read(find))
    }
}

fn session(row: &Row<'_>) -> rusqlite::Result<StoredSession> {
    Ok(StoredSession {
        hash: row.get(0)?,
        account: row.get(1)?,
        user: row.get(2)?,
        used: Timestamp(row.get(3)?),
        until: Timestamp(row.get(4)?),
        body: row.get(5)?,
    })
}
