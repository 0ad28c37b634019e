use super::{Sqlite, Tx, as_i64, as_u64};
use crate::alerts::to_json;
use crate::{Observers, StoreError};
use futures_util::future::BoxFuture;
use records::{AlertNo, CallbackRequest};
use rusqlite::Connection;

impl Observers for Sqlite {
    fn put_observer(&self, no: AlertNo, request: CallbackRequest) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let body = to_json(&request)?;
            let put = move |tx: &Tx<'_>| {
                let added = tx
                    .prepare_cached(
                        "INSERT INTO observers (alert, account, request) SELECT no, account, ?2 FROM alerts WHERE no = ?1",
                    )?
                    .execute((as_i64(no.0), &body))?;
                if added == 0 {
                    return Err(StoreError::Conflict { why: format!("there is no alert {no}") });
                }
                Ok(as_u64(tx.last_insert_rowid()))
            };
            self.write(put).await
        })
    }

    fn observers(&self, no: AlertNo) -> BoxFuture<'_, Result<Vec<(u64, CallbackRequest)>, StoreError>> {
        let list = move |connection: &Connection| {
            let mut select = connection
                .prepare_cached("SELECT no, request FROM observers WHERE alert = ?1 ORDER BY no")?;
            let rows = select.query_map([as_i64(no.0)], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
            rows.map(|row| {
                let (id, body) = row?;
                let request = serde_json::from_str(&body)
                    .map_err(|error| StoreError::Damaged { what: format!("observer {id}: {error}") })?;
                Ok((as_u64(id), request))
            })
            .collect()
        };
        Box::pin(self.read(list))
    }

    fn delete_observer(&self, no: AlertNo, id: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        let delete = move |tx: &Tx<'_>| {
            let mut delete = tx.prepare_cached("DELETE FROM observers WHERE alert = ?1 AND no = ?2")?;
            Ok(delete.execute((as_i64(no.0), as_i64(id)))? > 0)
        };
        Box::pin(self.write(delete))
    }
}
