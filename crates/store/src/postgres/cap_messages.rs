use super::error::Trouble;
use super::link::get;
use super::{Postgres, Work, account, account_no, kept};
use crate::cap_messages::{CAP_ENDS_MAX, OLD_CAP_REMOVED};
use crate::{CapEnd, CapMessages, CapTold, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use tokio_postgres::Row;

const REMOVE_TOLD: &str = "DELETE FROM cap_told WHERE (account, sender, identifier, sent, told) IN \
     (SELECT account, sender, identifier, sent, told FROM cap_told WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)";
const NOTE_TOLD: &str = "INSERT INTO cap_told (account, sender, identifier, sent, told, alert, content, until) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (account, sender, identifier, sent, told) DO NOTHING";
const TOLD: &str = "SELECT sender, identifier, sent, told, alert, content, until FROM cap_told \
     WHERE account = $1 AND sender = $2 AND identifier = $3";
const REMOVE_ENDS: &str = "DELETE FROM cap_ends WHERE (account, sender, identifier, sent, token) IN \
     (SELECT account, sender, identifier, sent, token FROM cap_ends WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)";
const NOTE_END: &str = "INSERT INTO cap_ends AS had (account, sender, identifier, sent, token, ended, until) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (account, sender, identifier, sent, token) \
     DO UPDATE SET ended = greatest(had.ended, $6), until = greatest(had.until, $7)";
const ENDS: &str = "SELECT sender, identifier, sent, token, ended, until FROM cap_ends \
     WHERE account = $1 AND sender = $2 AND identifier = $3 ORDER BY until DESC LIMIT $4";
const ALL_ENDS: &str = "SELECT sender, identifier, sent, token, ended, until FROM cap_ends \
     WHERE account = $1 ORDER BY until DESC LIMIT $2";

impl CapMessages for Postgres {
    fn note_cap_told<'a>(
        &'a self,
        account: &'a str,
        told: CapTold,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let note = Work::new((account.to_owned(), told, now.0), |link, (id, told, now)| {
            Box::pin(async move {
                let account = self::account(link, id).await?;
                link.execute(REMOVE_TOLD, &[now, &OLD_CAP_REMOVED]).await?;
                let texts = [&told.sender, &told.identifier, &told.sent, &told.told].map(|text| kept(text));
                let [sender, identifier, sent, whom] = &texts;
                let alert = told.alert.to_string();
                let row: super::link::Params<'_> =
                    &[&account, sender, identifier, sent, whom, &alert, &told.content, &told.until.0];
                link.execute(NOTE_TOLD, row).await?;
                Ok(())
            })
        });
        Box::pin(self.write(note.again()))
    }

    fn cap_told<'a>(
        &'a self,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
    ) -> BoxFuture<'a, Result<Vec<CapTold>, StoreError>> {
        let args = (account.to_owned(), kept(sender), kept(identifier));
        let find = Work::new(args, |link, (account, sender, identifier)| {
            Box::pin(async move {
                let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
                link.all(TOLD, &[&account, sender, identifier]).await?.iter().map(told).collect()
            })
        });
        Box::pin(self.read(find))
    }

    fn note_cap_end<'a>(
        &'a self,
        account: &'a str,
        end: CapEnd,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let note = Work::new((account.to_owned(), end, now.0), |link, (id, end, now)| {
            Box::pin(async move {
                let account = self::account(link, id).await?;
                link.execute(REMOVE_ENDS, &[now, &OLD_CAP_REMOVED]).await?;
                let texts = [&end.sender, &end.identifier, &end.sent].map(|text| kept(text));
                let [sender, identifier, sent] = &texts;
                let row: super::link::Params<'_> =
                    &[&account, sender, identifier, sent, &end.token, &end.ended.0, &end.until.0];
                link.execute(NOTE_END, row).await?;
                Ok(())
            })
        });
        Box::pin(self.write(note.again()))
    }

    fn cap_ends<'a>(
        &'a self,
        account: &'a str,
        of: Option<(&'a str, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<CapEnd>, StoreError>> {
        let args = (account.to_owned(), of.map(|(sender, identifier)| (kept(sender), kept(identifier))));
        let find = Work::new(args, |link, (account, of)| {
            Box::pin(async move {
                let Some(account) = account_no(link, account).await? else { return Ok(Vec::new()) };
                let rows = match of {
                    Some((sender, identifier)) => {
                        link.all(ENDS, &[&account, sender, identifier, &CAP_ENDS_MAX]).await?
                    }
                    None => link.all(ALL_ENDS, &[&account, &CAP_ENDS_MAX]).await?,
                };
                rows.iter().map(end).collect()
            })
        });
        Box::pin(self.read(find))
    }
}

fn told(row: &Row) -> Result<CapTold, Trouble> {
    let alert: &str = get(row, 4)?;
    Ok(CapTold {
        sender: get(row, 0)?,
        identifier: get(row, 1)?,
        sent: get(row, 2)?,
        told: get(row, 3)?,
        alert: alert.parse().map_err(|what| StoreError::Damaged { what })?,
        content: get(row, 5)?,
        until: Timestamp(get(row, 6)?),
    })
}

fn end(row: &Row) -> Result<CapEnd, Trouble> {
    Ok(CapEnd {
        sender: get(row, 0)?,
        identifier: get(row, 1)?,
        sent: get(row, 2)?,
        token: get(row, 3)?,
        ended: Timestamp(get(row, 4)?),
        until: Timestamp(get(row, 5)?),
    })
}
