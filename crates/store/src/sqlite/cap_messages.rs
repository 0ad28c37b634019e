use super::{Sqlite, Tx, account_no};
use crate::cap_messages::{CAP_ENDS_MAX, OLD_CAP_REMOVED};
use crate::{CapEnd, CapMessages, CapTold, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use rusqlite::{Connection, Row};

impl CapMessages for Sqlite {
    fn note_cap_told<'a>(
        &'a self,
        account: &'a str,
        told: CapTold,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let account = account.to_owned();
        let note = move |tx: &Tx<'_>| {
            tx.prepare_cached(
                "DELETE FROM cap_told WHERE (account, sender, identifier, sent, told) IN \
                 (SELECT account, sender, identifier, sent, told FROM cap_told WHERE until <= ?1 LIMIT ?2)",
            )?
            .execute((now.0, OLD_CAP_REMOVED))?;
            tx.prepare_cached(
                "INSERT OR IGNORE INTO cap_told (account, sender, identifier, sent, told, alert, content, until) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute((
                tx.account(&account)?,
                &told.sender,
                &told.identifier,
                &told.sent,
                &told.told,
                told.alert.to_string(),
                &told.content,
                told.until.0,
            ))?;
            Ok(())
        };
        Box::pin(self.write(note))
    }

    fn cap_told<'a>(
        &'a self,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
    ) -> BoxFuture<'a, Result<Vec<CapTold>, StoreError>> {
        let (account, sender, identifier) = (account.to_owned(), sender.to_owned(), identifier.to_owned());
        let find = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            let mut select = connection.prepare_cached(
                "SELECT sender, identifier, sent, told, alert, content, until FROM cap_told \
                 WHERE account = ?1 AND sender = ?2 AND identifier = ?3",
            )?;
            let rows = select.query_and_then((account, &sender, &identifier), told)?;
            rows.collect()
        };
        Box::pin(self.read(find))
    }

    fn note_cap_end<'a>(
        &'a self,
        account: &'a str,
        end: CapEnd,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let account = account.to_owned();
        let note = move |tx: &Tx<'_>| {
            tx.prepare_cached(
                "DELETE FROM cap_ends WHERE (account, sender, identifier, sent, token) IN \
                 (SELECT account, sender, identifier, sent, token FROM cap_ends WHERE until <= ?1 LIMIT ?2)",
            )?
            .execute((now.0, OLD_CAP_REMOVED))?;
            tx.prepare_cached(
                "INSERT INTO cap_ends (account, sender, identifier, sent, token, ended, until) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (account, sender, identifier, sent, token) \
                 DO UPDATE SET ended = max(ended, excluded.ended), until = max(until, excluded.until)",
            )?
            .execute((
                tx.account(&account)?,
                &end.sender,
                &end.identifier,
                &end.sent,
                &end.token,
                end.ended.0,
                end.until.0,
            ))?;
            Ok(())
        };
        Box::pin(self.write(note))
    }

    fn cap_ends<'a>(
        &'a self,
        account: &'a str,
        of: Option<(&'a str, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<CapEnd>, StoreError>> {
        let account = account.to_owned();
        let (sender, identifier) = of.map(|(sender, id)| (sender.to_owned(), id.to_owned())).unzip();
        let find = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            let mut select = connection.prepare_cached(
                "SELECT sender, identifier, sent, token, ended, until FROM cap_ends \
                 WHERE account = ?1 AND sender = coalesce(?2, sender) AND identifier = coalesce(?3, identifier) \
                 ORDER BY until DESC LIMIT ?4",
            )?;
            let rows = select.query_map((account, &sender, &identifier, CAP_ENDS_MAX), end)?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        };
        Box::pin(self.read(find))
    }
}

fn told(row: &Row<'_>) -> Result<CapTold, StoreError> {
    let alert: String = row.get(4)?;
    Ok(CapTold {
        sender: row.get(0)?,
        identifier: row.get(1)?,
        sent: row.get(2)?,
        told: row.get(3)?,
        alert: alert.parse().map_err(|what| StoreError::Damaged { what })?,
        content: row.get(5)?,
        until: Timestamp(row.get(6)?),
    })
}

fn end(row: &Row<'_>) -> rusqlite::Result<CapEnd> {
    Ok(CapEnd {
        sender: row.get(0)?,
        identifier: row.get(1)?,
        sent: row.get(2)?,
        token: row.get(3)?,
        ended: Timestamp(row.get(4)?),
        until: Timestamp(row.get(5)?),
    })
}
