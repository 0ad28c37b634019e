use super::{Sqlite, Tx, account_no, as_limit};
use crate::{Act, Audit, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use rusqlite::{Connection, Params};

const COLUMNS: &str = "acts.at, accounts.id, acts.token, acts.verb, acts.object, acts.detail \
     FROM acts JOIN accounts ON accounts.no = acts.account";

impl Audit for Sqlite {
    fn note_act(&self, act: Act) -> BoxFuture<'_, Result<(), StoreError>> {
        let note =
            move |tx: &Tx<'_>| {
                tx.prepare_cached(
                "INSERT INTO acts (at, account, token, verb, object, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((act.at.0, tx.account(&act.account)?, &act.token, &act.verb, &act.object, &act.detail))?;
                Ok(())
            };
        Box::pin(self.write(note))
    }

    fn acts<'a>(
        &'a self,
        account: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Act>, StoreError>> {
        Box::pin(async move {
            let account = account.map(str::to_owned);
            let list = move |connection: &Connection| {
                let Some(account) = account else {
                    return many(connection, "ORDER BY acts.no DESC LIMIT ?1", [as_limit(limit)]);
                };
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                many(
                    connection,
                    "WHERE account = ?1 ORDER BY acts.no DESC LIMIT ?2",
                    (account, as_limit(limit)),
                )
            };
            self.read(list).await
        })
    }
}

fn many(connection: &Connection, clause: &str, params: impl Params) -> Result<Vec<Act>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} {clause}"))?;
    let rows = select.query_map(params, |row| {
        Ok(Act {
            at: Timestamp(row.get(0)?),
            account: row.get(1)?,
            token: row.get(2)?,
            verb: row.get(3)?,
            object: row.get(4)?,
            detail: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
