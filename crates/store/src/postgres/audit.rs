use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::{Postgres, Work, account, account_no, as_limit, kept};
use crate::{Act, Audit, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use tokio_postgres::Row;

/// The columns of an act, in the order `act` reads them.
macro_rules! acts {
    ($rest:literal) => {
        concat!(
            "SELECT acts.at, accounts.id, acts.token, acts.verb, acts.object, acts.detail \
             FROM acts JOIN accounts ON accounts.no = acts.account ",
            $rest
        )
    };
}

const NOTE: &str =
    "INSERT INTO acts (at, account, token, verb, object, detail) VALUES ($1, $2, $3, $4, $5, $6)";

impl Audit for Postgres {
    fn note_act(&self, act: Act) -> BoxFuture<'_, Result<(), StoreError>> {
        let note = Work::new(act, |link, act| {
            Box::pin(async move {
                let no = account(link, &act.account).await?;
                let (token, verb) = (kept(&act.token), kept(&act.verb));
                let (object, detail) = (kept(&act.object), kept(&act.detail));
                let params: Params<'_> = &[&act.at.0, &no, &token, &verb, &object, &detail];
                link.execute(NOTE, params).await?;
                Ok(())
            })
        });
        Box::pin(self.write(note))
    }

    fn acts<'a>(
        &'a self,
        account: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Act>, StoreError>> {
        let list = Work::new((account.map(str::to_owned), as_limit(limit)), |link, (account, limit)| {
            Box::pin(async move {
                let Some(account) = account else {
                    return many(link, acts!("ORDER BY acts.no DESC LIMIT $1"), &[limit]).await;
                };
                let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                let sql = acts!("WHERE account = $1 ORDER BY acts.no DESC LIMIT $2");
                many(link, sql, &[&no, limit]).await
            })
        });
        Box::pin(self.read(list))
    }
}

async fn many(link: &PgLink, sql: &'static str, params: Params<'_>) -> Result<Vec<Act>, Trouble> {
    link.all(sql, params).await?.iter().map(act).collect()
}

fn act(row: &Row) -> Result<Act, Trouble> {
    Ok(Act {
        at: Timestamp(get(row, 0)?),
        account: get(row, 1)?,
        token: get(row, 2)?,
        verb: get(row, 3)?,
        object: get(row, 4)?,
        detail: get(row, 5)?,
    })
}
