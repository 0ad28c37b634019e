use super::{Sqlite, Tx, account_no, as_u64};
use crate::{StoreError, Tokens};
use futures_util::future::BoxFuture;
use records::{Timestamp, Token};
use rusqlite::{Connection, Params, Row};

const COLUMNS: &str = "tokens.id, hash, role, accounts.id, name, created, revoked \
     FROM tokens JOIN accounts ON accounts.no = tokens.account";

impl Tokens for Sqlite {
    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write(move |tx| put(tx, &token)))
    }

    fn put_first_token(&self, token: Token) -> BoxFuture<'_, Result<bool, StoreError>> {
        let put_first = move |tx: &Tx<'_>| {
            let any: bool = tx.query_row("SELECT EXISTS (SELECT 1 FROM tokens)", [], |row| row.get(0))?;
            if !any {
                put(tx, &token)?;
            }
            Ok(!any)
        };
        Box::pin(self.write(put_first))
    }

    fn token_by_hash(&self, hash: [u8; 32]) -> BoxFuture<'_, Result<Option<Token>, StoreError>> {
        Box::pin(self.read(move |connection| {
            Ok(many(connection, "WHERE hash = ?1 AND revoked IS NULL", [hash])?.pop())
        }))
    }

    fn tokens<'a>(&'a self, account: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Token>, StoreError>> {
        Box::pin(async move {
            let account = account.map(str::to_owned);
            let list = move |connection: &Connection| {
                let Some(account) = account else {
                    return many(connection, "ORDER BY created, tokens.id", []);
                };
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                many(connection, "WHERE account = ?1 ORDER BY created, tokens.id", [account])
            };
            self.read(list).await
        })
    }

    fn revocations(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.read(|connection| {
            let mut count =
                connection.prepare_cached("SELECT count(*) FROM tokens WHERE revoked IS NOT NULL")?;
            Ok(as_u64(count.query_row([], |row| row.get(0))?))
        }))
    }

    fn revoked_of(&self, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(self.read(move |connection| {
            let sql = "SELECT 1 FROM tokens WHERE id = ?1 AND revoked IS NOT NULL";
            let mut select = connection.prepare_cached(sql)?;
            let mut revoked = Vec::new();
            for id in &ids {
                if select.exists([id])? {
                    revoked.push(id.clone());
                }
            }
            Ok(revoked)
        }))
    }

    fn revoke_token<'a>(&'a self, id: &'a str, now: Timestamp) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let id = id.to_owned();
            let revoke = move |tx: &Tx<'_>| {
                let mut update =
                    tx.prepare_cached("UPDATE tokens SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL")?;
                Ok(update.execute((&id, now.0))? > 0)
            };
            self.write(revoke).await
        })
    }
}

fn put(tx: &Tx<'_>, token: &Token) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO tokens (id, hash, account, role, name, created, revoked) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        &token.id,
        token.hash,
        tx.account(&token.account)?,
        token.role.name(),
        &token.name,
        token.created.0,
        token.revoked.map(|at| at.0),
    ))?;
    Ok(())
}

fn many(connection: &Connection, clause: &str, params: impl Params) -> Result<Vec<Token>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} {clause}"))?;
    let mut rows = select.query(params)?;
    let mut tokens = Vec::new();
    while let Some(row) = rows.next()? {
        tokens.push(token(row)?);
    }
    Ok(tokens)
}

fn token(row: &Row<'_>) -> Result<Token, StoreError> {
    let id: String = row.get(0)?;
    let role: String = row.get(2)?;
    Ok(Token {
        hash: row.get(1)?,
        role: role.parse().map_err(|why| StoreError::Damaged { what: format!("token {id}: {why}") })?,
        account: row.get(3)?,
        name: row.get(4)?,
        created: Timestamp(row.get(5)?),
        revoked: row.get::<_, Option<i64>>(6)?.map(Timestamp),
        id,
    })
}
