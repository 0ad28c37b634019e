use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, account_locked, account_no, as_i64, as_limit, as_u64, recipients};
use crate::alerts::to_json;
use crate::{Groups, StoreError};
use futures_util::future::BoxFuture;
use records::Group;

const PUT: &str = "INSERT INTO groups (account, id, version, body) VALUES ($1, $2, nextval('versions'), $3) \
     ON CONFLICT (account, id) DO UPDATE SET version = excluded.version, body = excluded.body RETURNING version";
const FIND: &str = "SELECT body, version FROM groups WHERE account = $1 AND id = $2";
const PAGE: &str = "SELECT body FROM groups WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3";

impl Groups for Postgres {
    fn put_group<'a>(&'a self, account: &'a str, group: Group) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let args = (account.to_owned(), to_json(&group)?, group.id);
            let put = Work::new(args, |link, (account, body, id)| {
                Box::pin(async move {
                    let no = account_locked(link, account).await?;
                    put(link, no, id, body).await
                })
            });
            self.write(put.again()).await
        })
    }

    fn replace_group<'a>(
        &'a self,
        account: &'a str,
        group: Group,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            let args = (account.to_owned(), to_json(&group)?, group.id, as_i64(version));
            let replace = Work::new(args, |link, (account, body, id, version)| {
                Box::pin(async move {
                    let no = account_locked(link, account).await?;
                    let now = link.one(FIND, &[&no, id]).await?;
                    let now: Option<i64> = now.map(|row| get(&row, 1)).transpose()?;
                    if now == Some(*version) { put(link, no, id, body).await.map(Some) } else { Ok(None) }
                })
            });
            self.write(replace).await
        })
    }

    fn group<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(Group, u64)>, StoreError>> {
        let find = Work::new((account.to_owned(), id.to_owned()), |link, (account, id)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(None) };
                let Some(row) = link.one(FIND, &[&no, id]).await? else { return Ok(None) };
                Ok(Some((group(get(&row, 0)?)?, as_u64(get(&row, 1)?))))
            })
        });
        Box::pin(self.read(find))
    }

    fn groups_after<'a>(
        &'a self,
        account: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Group>, StoreError>> {
        let args = (account.to_owned(), after.to_owned(), as_limit(limit));
        let page = Work::new(args, |link, (account, after, limit)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                let rows = link.all(PAGE, &[&no, after, limit]).await?;
                rows.iter().map(|row| Ok(group(get(row, 0)?)?)).collect()
            })
        });
        Box::pin(self.read(page))
    }

    fn delete_group<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let delete = Work::new((account.to_owned(), id.to_owned()), |link, (account, id)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(false) };
                let sql = "DELETE FROM groups WHERE account = $1 AND id = $2";
                Ok(link.execute(sql, &[&no, id]).await? > 0)
            })
        });
        Box::pin(self.write(delete))
    }

    fn group_exists<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let exists = Work::new((account.to_owned(), id.to_owned()), |link, (account, id)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(false) };
                if link.one(FIND, &[&no, id]).await?.is_some() {
                    return Ok(true);
                }
                let named = std::slice::from_ref(id);
                Ok(!recipients::members(link, no, named, "", 1).await?.is_empty())
            })
        });
        Box::pin(self.read(exists))
    }
}

async fn put(link: &PgLink, account: i32, id: &String, body: &String) -> Result<u64, Trouble> {
    let row = link.one(PUT, &[&account, id, body]).await?;
    let unversioned = || StoreError::Damaged { what: format!("group {id} got no version") };
    Ok(as_u64(get(&row.ok_or_else(unversioned)?, 0)?))
}

fn group(body: &str) -> Result<Group, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::Damaged { what: format!("group: {error}") })
}
