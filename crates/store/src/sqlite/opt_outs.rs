use super::{Sqlite, Tx, account_no};
use crate::{ForgottenStop, OptOut, OptOutSet, OptOuts, StopHash, StopHasher, StoreError};
use futures_util::future::BoxFuture;
use records::{ChannelNumber, Timestamp};
use rusqlite::Connection;

impl OptOuts for Sqlite {
    fn set_opt_out<'a>(
        &'a self,
        account: &'a str,
        channel: ChannelNumber,
        address: &'a str,
        out: bool,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let hash = self.stop_hasher().map(|hasher| hasher.hash(account, channel, address));
            let (account, address) = (account.to_owned(), address.to_owned());
            let set = move |tx: &Tx<'_>| {
                let account = tx.account(&account)?;
                if out {
                    tx.prepare_cached(
                        "INSERT OR IGNORE INTO opt_outs (account, channel, address, at) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute((account, channel.0, &address, now.0))?;
                } else {
                    tx.prepare_cached(
                        "DELETE FROM opt_outs WHERE account = ?1 AND channel = ?2 AND address = ?3",
                    )?
                    .execute((account, channel.0, &address))?;
                    start_again(tx, account, hash.as_ref(), "")?;
                }
                Ok(())
            };
            self.write(set).await
        })
    }

    fn set_sender_opt_out<'a>(
        &'a self,
        account: &'a str,
        channel: ChannelNumber,
        address: &'a str,
        sender: &'a str,
        out: bool,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let hash = self.stop_hasher().map(|hasher| hasher.hash(account, channel, address));
            let (account, address, sender) = (account.to_owned(), address.to_owned(), sender.to_owned());
            let set = move |tx: &Tx<'_>| {
                let account = tx.account(&account)?;
                if out {
                    tx.prepare_cached(
                        "INSERT OR IGNORE INTO sender_opt_outs (account, channel, address, sender, at) \
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute((account, channel.0, &address, &sender, now.0))?;
                } else {
                    tx.prepare_cached(
                        "DELETE FROM sender_opt_outs \
                         WHERE account = ?1 AND channel = ?2 AND address = ?3 AND sender = ?4",
                    )?
                    .execute((account, channel.0, &address, &sender))?;
                    start_again(tx, account, hash.as_ref(), &sender)?;
                }
                Ok(())
            };
            self.write(set).await
        })
    }

    fn all_opt_outs<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Vec<OptOut>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let list = move |connection: &Connection| {
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let mut select = connection.prepare_cached(
                    "SELECT channel, address, NULL, at FROM opt_outs WHERE account = ?1 \
                     UNION ALL SELECT channel, address, sender, at FROM sender_opt_outs WHERE account = ?1",
                )?;
                let mut rows = select.query([account])?;
                let mut found = Vec::new();
                while let Some(row) = rows.next()? {
                    found.push(OptOut {
                        channel: ChannelNumber(row.get(0)?),
                        address: row.get(1)?,
                        sender: row.get(2)?,
                        at: Timestamp(row.get(3)?),
                    });
                }
                Ok(found)
            };
            self.read(list).await
        })
    }

    fn opt_outs<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(ChannelNumber, String)>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let list = move |connection: &Connection| {
                let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let mut select = connection.prepare_cached(
                    "SELECT channel, address FROM opt_outs WHERE account = ?1 ORDER BY channel, address",
                )?;
                let rows = select.query_map([account], |row| Ok((row.get::<_, u8>(0)?, row.get(1)?)))?;
                rows.map(|row| {
                    let (channel, address) = row?;
                    Ok((ChannelNumber(channel), address))
                })
                .collect()
            };
            self.read(list).await
        })
    }

    fn forgotten_stops<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ForgottenStop>, StoreError>> {
        let account = account.to_owned();
        let list = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            let mut select = connection.prepare_cached(
                "SELECT hash, sender, at FROM forgotten_opt_outs WHERE account = ?1 ORDER BY hash, sender",
            )?;
            let rows = select.query_map([account], |row| {
                let sender: String = row.get(1)?;
                Ok(ForgottenStop {
                    hash: row.get(0)?,
                    sender: (!sender.is_empty()).then_some(sender),
                    at: Timestamp(row.get(2)?),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        Box::pin(self.read(list))
    }

    fn stop_hasher(&self) -> Option<StopHasher> {
        self.stops.get().cloned()
    }

    fn opt_out_set<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<OptOutSet, StoreError>> {
        Box::pin(crate::stops::set_of(self, account))
    }
}

/// Who was forgotten after a stop wants messages again.
fn start_again(tx: &Tx<'_>, account: i64, hash: Option<&StopHash>, sender: &str) -> Result<(), StoreError> {
    let Some(hash) = hash else { return Ok(()) };
    tx.prepare_cached("DELETE FROM forgotten_opt_outs WHERE account = ?1 AND hash = ?2 AND sender = ?3")?
        .execute((account, hash, sender))?;
    Ok(())
}
