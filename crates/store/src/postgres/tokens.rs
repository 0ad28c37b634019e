use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::{Postgres, Work, account, account_no, as_u64};
use crate::{StoreError, Tokens};
use futures_util::future::BoxFuture;
use records::{Timestamp, Token};
use tokio_postgres::Row;

/// The columns of a token, in the order `token` reads them.
macro_rules! tokens {
    ($rest:literal) => {
        concat!(
            "SELECT tokens.id, hash, role, accounts.id, name, created, revoked \
             FROM tokens JOIN accounts ON accounts.no = tokens.account ",
            $rest
        )
    };
}

const PUT: &str = "INSERT INTO tokens (id, hash, account, role, name, created, revoked) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";
/// "tokn": of several that put the first one, one at a time looks. Freed with the transaction.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1953458030)";

impl Tokens for Postgres {
    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write(Work::new(token, |link, token| Box::pin(put(link, token)))))
    }

    fn put_first_token(&self, token: Token) -> BoxFuture<'_, Result<bool, StoreError>> {
        let put = Work::new(token, |link, token| {
            Box::pin(async move {
                link.execute(LOCK, &[]).await?;
                if link.one("SELECT FROM tokens LIMIT 1", &[]).await?.is_some() {
                    return Ok(false);
                }
                put(link, token).await.map(|()| true)
            })
        });
        Box::pin(self.write(put))
    }

    fn token_by_hash(&self, hash: [u8; 32]) -> BoxFuture<'_, Result<Option<Token>, StoreError>> {
        let find = Work::new(hash, |link, hash| {
            Box::pin(async move {
                let sql = tokens!("WHERE hash = $1 AND revoked IS NULL");
                Ok(many(link, sql, &[&hash.as_slice()]).await?.pop())
            })
        });
        Box::pin(self.read(find))
    }

    fn tokens<'a>(&'a self, account: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Token>, StoreError>> {
        let list = Work::new(account.map(str::to_owned), |link, account| {
            Box::pin(async move {
                let Some(account) = account else {
                    return many(link, tokens!("ORDER BY created, tokens.id"), &[]).await;
                };
                let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                many(link, tokens!("WHERE account = $1 ORDER BY created, tokens.id"), &[&no]).await
            })
        });
        Box::pin(self.read(list))
    }

    fn revocations(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        let count = Work::new((), |link, ()| {
            Box::pin(async move {
                let row = link.one("SELECT count(*) FROM tokens WHERE revoked IS NOT NULL", &[]).await?;
                let count: Option<i64> = row.map(|row| get(&row, 0)).transpose()?;
                Ok(as_u64(count.unwrap_or(0)))
            })
        });
        Box::pin(self.read(count))
    }

    fn revoked_of(&self, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        let find = Work::new(ids, |link, ids| {
            Box::pin(async move {
                let sql = "SELECT id FROM tokens WHERE id = ANY($1) AND revoked IS NOT NULL";
                link.all(sql, &[ids]).await?.iter().map(|row| get(row, 0)).collect()
            })
        });
        Box::pin(self.read(find))
    }

    fn revoke_token<'a>(&'a self, id: &'a str, now: Timestamp) -> BoxFuture<'a, Result<bool, StoreError>> {
        let revoke = Work::new((id.to_owned(), now.0), |link, (id, now)| {
            Box::pin(async move {
                let sql = "UPDATE tokens SET revoked = $2 WHERE id = $1 AND revoked IS NULL";
                Ok(link.execute(sql, &[id, now]).await? > 0)
            })
        });
        Box::pin(self.write(revoke))
    }
}

async fn put(link: &PgLink, token: &Token) -> Result<(), Trouble> {
    let no = account(link, &token.account).await?;
    let (hash, revoked) = (token.hash.as_slice(), token.revoked.map(|at| at.0));
    let params: Params<'_> =
        &[&token.id, &hash, &no, &token.role.name(), &token.name, &token.created.0, &revoked];
    link.execute(PUT, params).await?;
    Ok(())
}

async fn many(link: &PgLink, sql: &'static str, params: Params<'_>) -> Result<Vec<Token>, Trouble> {
    link.all(sql, params).await?.iter().map(token).collect()
}

fn token(row: &Row) -> Result<Token, Trouble> {
    let id: String = get(row, 0)?;
    let damaged = |why: &str| StoreError::Damaged { what: format!("token {id}: {why}") };
    let role: &str = get(row, 2)?;
    let hash: &[u8] = get(row, 1)?;
    Ok(Token {
        hash: hash.try_into().map_err(|_| damaged("its hash has another length"))?,
        role: role.parse().map_err(|why: String| damaged(&why))?,
        account: get(row, 3)?,
        name: get(row, 4)?,
        created: Timestamp(get(row, 5)?),
        revoked: get::<Option<i64>>(row, 6)?.map(Timestamp),
        id,
    })
}
