use super::visible;
use super::{Sqlite, Tx, account_no, as_limit, as_u64, recipients};
use crate::alerts::to_json;
use crate::{Groups, StoreError};
use futures_util::future::BoxFuture;
use records::Group;
use rusqlite::{Connection, OptionalExtension};

impl Groups for Sqlite {
    fn put_group<'a>(&'a self, account: &'a str, group: Group) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let body = to_json(&group)?;
            self.write(move |tx| put(tx, &account, &group.id, &body)).await
        })
    }

    fn replace_group<'a>(
        &'a self,
        account: &'a str,
        group: Group,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let body = to_json(&group)?;
            let replace = move |tx: &Tx<'_>| match find(tx, &account, &group.id)? {
                Some((_, now)) if now == version => put(tx, &account, &group.id, &body).map(Some),
                _ => Ok(None),
            };
            self.write(replace).await
        })
    }

    fn group<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(Group, u64)>, StoreError>> {
        Box::pin(async move {
            let (account, id) = (account.to_owned(), id.to_owned());
            self.read(move |connection| {
                let found = find(connection, &account, &id)?;
                found.map(|(body, version)| Ok((group(&body)?, version))).transpose()
            })
            .await
        })
    }

    fn groups_after<'a>(
        &'a self,
        account: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Group>, StoreError>> {
        Box::pin(async move {
            let (account, after) = (account.to_owned(), after.to_owned());
            let page = move |connection: &Connection| {
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let mut select = connection.prepare_cached(
                    "SELECT body FROM groups WHERE account = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
                )?;
                let bodies =
                    select.query_map((account, after, as_limit(limit)), |row| row.get::<_, String>(0))?;
                bodies.map(|body| group(&body?)).collect()
            };
            self.read(page).await
        })
    }

    fn delete_group<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let (account, id) = (account.to_owned(), id.to_owned());
            let delete = move |tx: &Tx<'_>| {
                let Some(account) = account_no(tx, &account)? else { return Ok(false) };
                let mut delete = tx.prepare_cached("DELETE FROM groups WHERE account = ?1 AND id = ?2")?;
                Ok(delete.execute((account, &id))? > 0)
            };
            self.write(delete).await
        })
    }

    fn group_exists<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let (account, id) = (account.to_owned(), id.to_owned());
            let exists = move |connection: &Connection| {
                if find(connection, &account, &id)?.is_some() {
                    return Ok(true);
                }
                let Some(account) = account_no(connection, &account)? else { return Ok(false) };
                let visible = visible::load(connection, account)?;
                let mut members = Vec::new();
                recipients::members(connection, &visible, account, &id, "", 1, &mut members)?;
                Ok(!members.is_empty())
            };
            self.read(exists).await
        })
    }
}

fn put(tx: &Tx<'_>, account: &str, id: &str, body: &str) -> Result<u64, StoreError> {
    let account = tx.account(account)?;
    let version = tx.raise_version(1)?;
    tx.prepare_cached("INSERT OR REPLACE INTO groups (account, id, version, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute((account, id, version, body))?;
    Ok(as_u64(version))
}

fn find(connection: &Connection, account: &str, id: &str) -> Result<Option<(String, u64)>, StoreError> {
    let Some(account) = account_no(connection, account)? else { return Ok(None) };
    let mut select =
        connection.prepare_cached("SELECT body, version FROM groups WHERE account = ?1 AND id = ?2")?;
    let found = select.query_row((account, id), |row| Ok((row.get(0)?, as_u64(row.get(1)?)))).optional()?;
    Ok(found)
}

fn group(body: &str) -> Result<Group, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::Damaged { what: format!("group: {error}") })
}
