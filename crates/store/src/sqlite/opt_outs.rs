use super::{Sqlite, Tx, account_no, as_i64, as_limit, as_u64};
use crate::opt_outs::stored_forms;
use crate::{
    ForgottenStop, OptOut, OptOutSet, OptOuts, PERHAPS_STOPS_MAX, PerhapsStop, StopHash, StopHasher,
    StoreError,
};
use futures_util::future::BoxFuture;
use records::{ChannelNumber, Timestamp};
use rusqlite::{Connection, OptionalExtension};

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
                decided(tx, account, channel, &address)
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
                decided(tx, account, channel, &address)
            };
            self.write(set).await
        })
    }

    fn all_opt_outs<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Vec<OptOut>, StoreError>> {
        let account = account.to_owned();
        Box::pin(self.read(move |connection: &Connection| all(connection, &account)))
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
        Box::pin(self.read(move |connection: &Connection| forgotten(connection, &account)))
    }

    fn stop_hasher(&self) -> Option<StopHasher> {
        self.stops.get().cloned()
    }

    fn put_opt_outs<'a>(
        &'a self,
        account: &'a str,
        stops: Vec<(ChannelNumber, String)>,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let account = account.to_owned();
        let put = move |tx: &Tx<'_>| {
            let account = tx.account(&account)?;
            let mut insert = tx.prepare_cached(
                "INSERT OR IGNORE INTO opt_outs (account, channel, address, at) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (channel, address) in &stops {
                insert.execute((account, channel.0, address, now.0))?;
                decided(tx, account, *channel, address)?;
            }
            Ok(())
        };
        Box::pin(self.write(put))
    }

    fn stops_of<'a>(
        &'a self,
        account: &'a str,
        addresses: Vec<(ChannelNumber, String)>,
    ) -> BoxFuture<'a, Result<Vec<OptOut>, StoreError>> {
        let hasher = self.stop_hasher();
        let of = account.to_owned();
        let find = move |connection: &Connection| {
            let Some(account) = account_no(connection, &of)? else { return Ok(Vec::new()) };
            let mut found = Vec::new();
            for (channel, address) in addresses {
                for form in stored_forms(&address) {
                    stops_under(connection, account, channel, (&form, &address), &mut found)?;
                }
                if let Some(hash) = hasher.as_ref().map(|hasher| hasher.hash(&of, channel, &address)) {
                    forgotten_under(connection, account, &hash, (channel, &address), &mut found)?;
                }
            }
            Ok(found)
        };
        Box::pin(self.read(find))
    }

    fn note_perhaps_stop<'a>(
        &'a self,
        account: &'a str,
        perhaps: PerhapsStop,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let account = account.to_owned();
        let note = move |tx: &Tx<'_>| {
            let account = tx.account(&account)?;
            let PerhapsStop { channel, address, sender, text, at, .. } = &perhaps;
            decided(tx, account, *channel, address)?;
            tx.prepare_cached(
                "INSERT INTO perhaps_stops (account, channel, address, sender, text, at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((account, channel.0, address, sender, text, at.0))?;
            tx.prepare_cached(
                "DELETE FROM perhaps_stops WHERE account = ?1 AND no <= \
                 (SELECT no FROM perhaps_stops WHERE account = ?1 ORDER BY no DESC LIMIT 1 OFFSET ?2)",
            )?
            .execute((account, as_limit(PERHAPS_STOPS_MAX)))?;
            Ok(())
        };
        Box::pin(self.write(note))
    }

    fn perhaps_stops<'a>(
        &'a self,
        account: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PerhapsStop>, StoreError>> {
        let account = account.to_owned();
        let list = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            let mut select = connection.prepare_cached(
                "SELECT no, channel, address, sender, text, at FROM perhaps_stops \
                 WHERE account = ?1 AND no > ?2 ORDER BY no LIMIT ?3",
            )?;
            let rows = select.query_map((account, as_i64(after), as_limit(limit)), perhaps_of)?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        Box::pin(self.read(list))
    }

    fn remove_perhaps_stop<'a>(
        &'a self,
        account: &'a str,
        no: u64,
    ) -> BoxFuture<'a, Result<Option<PerhapsStop>, StoreError>> {
        let account = account.to_owned();
        let remove = move |tx: &Tx<'_>| {
            let account = tx.account(&account)?;
            let mut delete = tx.prepare_cached(
                "DELETE FROM perhaps_stops WHERE account = ?1 AND no = ?2 \
                 RETURNING no, channel, address, sender, text, at",
            )?;
            Ok(delete.query_row((account, as_i64(no)), perhaps_of).optional()?)
        };
        Box::pin(self.write(remove))
    }

    fn opt_out_set<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<OptOutSet, StoreError>> {
        let (of, hasher) = (account.to_owned(), self.stop_hasher());
        let read = move |connection: &Connection| {
            let stops = (all(connection, &of)?, forgotten(connection, &of)?);
            crate::stops::set_of(&of, stops, hasher)
        };
        Box::pin(self.read(read))
    }
}

fn all(connection: &Connection, account: &str) -> Result<Vec<OptOut>, StoreError> {
    let Some(account) = account_no(connection, account)? else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached(
        "SELECT channel, address, NULL, at FROM opt_outs WHERE account = ?1 \
         UNION ALL SELECT channel, address, sender, at FROM sender_opt_outs WHERE account = ?1",
    )?;
    let rows = select.query_map([account], |row| {
        Ok(OptOut {
            channel: ChannelNumber(row.get(0)?),
            address: row.get(1)?,
            sender: row.get(2)?,
            at: Timestamp(row.get(3)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn forgotten(connection: &Connection, account: &str) -> Result<Vec<ForgottenStop>, StoreError> {
    let Some(account) = account_no(connection, account)? else { return Ok(Vec::new()) };
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
}

fn perhaps_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<PerhapsStop> {
    Ok(PerhapsStop {
        no: as_u64(row.get(0)?),
        channel: ChannelNumber(row.get(1)?),
        address: row.get(2)?,
        sender: row.get(3)?,
        text: row.get(4)?,
        at: Timestamp(row.get(5)?),
    })
}

/// A clear word of theirs, or a person's decision, ends the question whether earlier ones were a stop.
pub(super) fn decided(
    tx: &Tx<'_>,
    account: i64,
    channel: ChannelNumber,
    address: &str,
) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM perhaps_stops WHERE account = ?1 AND channel = ?2 AND address = ?3")?
        .execute((account, channel.0, address))?;
    Ok(())
}

/// Adds the stops stored under a form of an address.
fn stops_under(
    connection: &Connection,
    account: i64,
    channel: ChannelNumber,
    (form, address): (&str, &str),
    found: &mut Vec<OptOut>,
) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT NULL, at FROM opt_outs WHERE account = ?1 AND channel = ?2 AND address = ?3 \
         UNION ALL SELECT sender, at FROM sender_opt_outs WHERE account = ?1 AND channel = ?2 AND address = ?3",
    )?;
    let mut rows = select.query((account, channel.0, form))?;
    while let Some(row) = rows.next()? {
        let (sender, at) = (row.get(0)?, Timestamp(row.get(1)?));
        found.push(OptOut { channel, address: address.to_owned(), sender, at });
    }
    Ok(())
}

/// Adds the stops that are known by the hash of an address alone.
fn forgotten_under(
    connection: &Connection,
    account: i64,
    hash: &StopHash,
    (channel, address): (ChannelNumber, &str),
    found: &mut Vec<OptOut>,
) -> Result<(), StoreError> {
    let mut select = connection
        .prepare_cached("SELECT sender, at FROM forgotten_opt_outs WHERE account = ?1 AND hash = ?2")?;
    let mut rows = select.query((account, hash))?;
    while let Some(row) = rows.next()? {
        let sender: String = row.get(0)?;
        let (sender, at) = ((!sender.is_empty()).then_some(sender), Timestamp(row.get(1)?));
        found.push(OptOut { channel, address: address.to_owned(), sender, at });
    }
    Ok(())
}

/// Who was forgotten after a stop wants messages again.
fn start_again(tx: &Tx<'_>, account: i64, hash: Option<&StopHash>, sender: &str) -> Result<(), StoreError> {
    let Some(hash) = hash else { return Ok(()) };
    tx.prepare_cached("DELETE FROM forgotten_opt_outs WHERE account = ?1 AND hash = ?2 AND sender = ?3")?
        .execute((account, hash, sender))?;
    Ok(())
}
