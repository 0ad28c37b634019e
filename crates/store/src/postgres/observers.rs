use super::link::get;
use super::{Postgres, Work, as_i64, as_u64};
use crate::alerts::to_json;
use crate::{Observers, StoreError};
use futures_util::future::BoxFuture;
use records::{AlertNo, CallbackRequest};

/// The alert's row is locked until the commit against being removed.
const PUT: &str = "INSERT INTO observers (alert, account, request) \
     SELECT no, account, $2 FROM alerts WHERE no = $1 FOR KEY SHARE RETURNING no";

impl Observers for Postgres {
    fn put_observer(&self, no: AlertNo, request: CallbackRequest) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let put = Work::new((no, to_json(&request)?), |link, (no, body)| {
                Box::pin(async move {
                    let row = link.one(PUT, &[&as_i64(no.0), body]).await?;
                    let absent = || StoreError::Conflict { why: format!("there is no alert {no}") };
                    Ok(as_u64(get(&row.ok_or_else(absent)?, 0)?))
                })
            });
            self.write(put).await
        })
    }

    fn observers(&self, no: AlertNo) -> BoxFuture<'_, Result<Vec<(u64, CallbackRequest)>, StoreError>> {
        let list = Work::new(as_i64(no.0), |link, no| {
            Box::pin(async move {
                let sql = "SELECT no, request FROM observers WHERE alert = $1 ORDER BY no";
                let rows = link.all(sql, &[no]).await?;
                let observer = |row| {
                    let (id, body): (i64, &str) = (get(row, 0)?, get(row, 1)?);
                    let damaged = |error| StoreError::Damaged { what: format!("observer {id}: {error}") };
                    Ok((as_u64(id), serde_json::from_str(body).map_err(damaged)?))
                };
                rows.iter().map(observer).collect()
            })
        });
        Box::pin(self.read(list))
    }

    fn delete_observer(&self, no: AlertNo, id: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        let delete = Work::new((as_i64(no.0), as_i64(id)), |link, (alert, no)| {
            Box::pin(async move {
                let sql = "DELETE FROM observers WHERE alert = $1 AND no = $2";
                Ok(link.execute(sql, &[alert, no]).await? > 0)
            })
        });
        Box::pin(self.write(delete))
    }
}
