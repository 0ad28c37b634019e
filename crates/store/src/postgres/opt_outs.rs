use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, account, account_no, as_i64, as_limit, as_u64, kept};
use crate::opt_outs::stored_forms;
use crate::{
    ForgottenStop, OptOut, OptOutSet, OptOuts, PERHAPS_STOPS_MAX, PerhapsStop, StopHash, StopHasher,
    StoreError,
};
use futures_util::future::BoxFuture;
use records::{ChannelNumber, Timestamp};

/// Stops that hold for whatever we send, first; then those of one number or name of ours.
const ALL: &str =
    "SELECT channel, address, sender, at FROM opt_outs WHERE account = $1 ORDER BY sender, channel, address";
const SET: &str = "INSERT INTO opt_outs (account, channel, address, sender, at) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (account, channel, address, sender) DO NOTHING";
const REMOVE: &str =
    "DELETE FROM opt_outs WHERE account = $1 AND channel = $2 AND address = $3 AND sender = $4";
const FORGOTTEN: &str =
    "SELECT hash, sender, at FROM forgotten_opt_outs WHERE account = $1 ORDER BY hash, sender";
const STOPS_UNDER: &str = "SELECT sender, at FROM opt_outs WHERE account = $1 AND channel = $2 AND address = ANY($3) ORDER BY sender";
const FORGOTTEN_UNDER: &str =
    "SELECT sender, at FROM forgotten_opt_outs WHERE account = $1 AND hash = $2 ORDER BY sender";
const DECIDED: &str = "DELETE FROM perhaps_stops WHERE account = $1 AND channel = $2 AND address = $3";
const NOTE_PERHAPS: &str =
    "INSERT INTO perhaps_stops (account, channel, address, sender, text, at) VALUES ($1, $2, $3, $4, $5, $6)";
const FORGET_OLDEST: &str = "DELETE FROM perhaps_stops WHERE account = $1 AND no <= \
     (SELECT no FROM perhaps_stops WHERE account = $1 ORDER BY no DESC LIMIT 1 OFFSET $2)";
const PERHAPS: &str = "SELECT no, channel, address, sender, text, at FROM perhaps_stops \
     WHERE account = $1 AND no > $2 ORDER BY no LIMIT $3";
const REMOVE_PERHAPS: &str = "DELETE FROM perhaps_stops WHERE account = $1 AND no = $2 \
     RETURNING no, channel, address, sender, text, at";
const START_AGAIN: &str = "DELETE FROM forgotten_opt_outs WHERE account = $1 AND hash = $2 AND sender = $3";

struct OptOutChange {
    account: String,
    channel: i16,
    address: String,
    /// Empty: all.
    sender: String,
    out: bool,
    now: i64,
    /// By which a forgotten stop is known.
    hash: Option<StopHash>,
}

impl OptOuts for Postgres {
    fn set_opt_out<'a>(
        &'a self,
        account: &'a str,
        channel: ChannelNumber,
        address: &'a str,
        out: bool,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.set_sender_opt_out(account, channel, address, "", out, now)
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
        let args = OptOutChange {
            hash: self.stop_hasher().map(|hasher| hasher.hash(account, channel, address)),
            account: account.to_owned(),
            channel: i16::from(channel.0),
            address: kept(address),
            sender: kept(sender),
            out,
            now: now.0,
        };
        Box::pin(self.write(Work::new(args, |link, args| Box::pin(set(link, args))).again()))
    }

    fn all_opt_outs<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Vec<OptOut>, StoreError>> {
        Box::pin(self.read(Work::new(account.to_owned(), |link, account| Box::pin(all(link, account)))))
    }

    fn opt_outs<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(ChannelNumber, String)>, StoreError>> {
        Box::pin(async move {
            let all = self.all_opt_outs(account).await?;
            let of_all = all.into_iter().filter(|out| out.sender.is_none());
            Ok(of_all.map(|out| (out.channel, out.address)).collect())
        })
    }

    fn forgotten_stops<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ForgottenStop>, StoreError>> {
        let list = Work::new(account.to_owned(), |link, account| Box::pin(forgotten(link, account)));
        Box::pin(self.read(list))
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
        let put = Work::new((account.to_owned(), stops, now.0), |link, (of, stops, now)| {
            Box::pin(async move {
                let no = super::account(link, of).await?;
                for (channel, address) in stops {
                    let (channel, address) = (i16::from(channel.0), kept(address));
                    link.execute(SET, &[&no, &channel, &address, &"", now]).await?;
                    link.execute(DECIDED, &[&no, &channel, &address]).await?;
                }
                Ok(())
            })
        });
        Box::pin(self.write(put.again()))
    }

    fn stops_of<'a>(
        &'a self,
        account: &'a str,
        addresses: Vec<(ChannelNumber, String)>,
    ) -> BoxFuture<'a, Result<Vec<OptOut>, StoreError>> {
        let hasher = self.stop_hasher();
        let hashed = addresses.into_iter().map(|(channel, address)| {
            let hash = hasher.as_ref().map(|hasher| hasher.hash(account, channel, &address));
            (channel, address, hash)
        });
        let args = (account.to_owned(), hashed.collect::<Vec<_>>());
        let find = Work::new(args, |link, (of, addresses)| Box::pin(stops_of(link, of, addresses)));
        Box::pin(self.read(find))
    }

    fn note_perhaps_stop<'a>(
        &'a self,
        account: &'a str,
        perhaps: PerhapsStop,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let note = Work::new((account.to_owned(), perhaps), |link, (of, perhaps)| {
            Box::pin(note_perhaps(link, of, perhaps))
        });
        Box::pin(self.write(note.again()))
    }

    fn perhaps_stops<'a>(
        &'a self,
        account: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PerhapsStop>, StoreError>> {
        let args = (account.to_owned(), as_i64(after), as_limit(limit));
        let list = Work::new(args, |link, (of, after, limit)| {
            Box::pin(async move {
                let Some(no) = account_no(link, of).await? else { return Ok(Vec::new()) };
                link.all(PERHAPS, &[&no, after, limit]).await?.iter().map(perhaps_of).collect()
            })
        });
        Box::pin(self.read(list))
    }

    fn remove_perhaps_stop<'a>(
        &'a self,
        account: &'a str,
        no: u64,
    ) -> BoxFuture<'a, Result<Option<PerhapsStop>, StoreError>> {
        let remove = Work::new((account.to_owned(), as_i64(no)), |link, (of, no)| {
            Box::pin(async move {
                let Some(account) = account_no(link, of).await? else { return Ok(None) };
                link.one(REMOVE_PERHAPS, &[&account, no]).await?.as_ref().map(perhaps_of).transpose()
            })
        });
        Box::pin(self.write(remove))
    }

    fn opt_out_set<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<OptOutSet, StoreError>> {
        Box::pin(async move {
            let read = Work::new(account.to_owned(), |link, account| {
                Box::pin(async move { Ok((all(link, account).await?, forgotten(link, account).await?)) })
            });
            let stops = self.read(read).await?;
            crate::stops::set_of(account, stops, self.stop_hasher())
        })
    }
}

async fn stops_of(
    link: &PgLink,
    of: &str,
    addresses: &[(ChannelNumber, String, Option<StopHash>)],
) -> Result<Vec<OptOut>, Trouble> {
    let Some(no) = account_no(link, of).await? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (channel, address, hash) in addresses {
        let forms = stored_forms(address);
        let mut rows = link.all(STOPS_UNDER, &[&no, &i16::from(channel.0), &forms]).await?;
        if let Some(hash) = hash {
            rows.extend(link.all(FORGOTTEN_UNDER, &[&no, &hash.as_slice()]).await?);
        }
        for row in &rows {
            let (sender, at): (String, i64) = (get(row, 0)?, get(row, 1)?);
            let (sender, at) = ((!sender.is_empty()).then_some(sender), Timestamp(at));
            found.push(OptOut { channel: *channel, address: address.clone(), sender, at });
        }
    }
    Ok(found)
}

async fn note_perhaps(link: &PgLink, of: &str, perhaps: &PerhapsStop) -> Result<(), Trouble> {
    let no = account(link, of).await?;
    let (channel, address) = (i16::from(perhaps.channel.0), kept(&perhaps.address));
    let (sender, text) = (kept(&perhaps.sender), kept(&perhaps.text));
    link.execute(DECIDED, &[&no, &channel, &address]).await?;
    link.execute(NOTE_PERHAPS, &[&no, &channel, &address, &sender, &text, &perhaps.at.0]).await?;
    link.execute(FORGET_OLDEST, &[&no, &as_limit(PERHAPS_STOPS_MAX)]).await?;
    Ok(())
}

fn perhaps_of(row: &tokio_postgres::Row) -> Result<PerhapsStop, Trouble> {
    let number: i16 = get(row, 1)?;
    let damaged =
        || StoreError::Damaged { what: format!("perhaps a stop: channel {number} is no number of one") };
    Ok(PerhapsStop {
        no: as_u64(get(row, 0)?),
        channel: u8::try_from(number).map(ChannelNumber).map_err(|_| damaged())?,
        address: get(row, 2)?,
        sender: get(row, 3)?,
        text: get(row, 4)?,
        at: Timestamp(get(row, 5)?),
    })
}

async fn forgotten(link: &PgLink, account: &str) -> Result<Vec<ForgottenStop>, Trouble> {
    let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
    let damaged = || StoreError::Damaged { what: "a forgotten stop's hash has another length".to_owned() };
    let stop = |row: &_| -> Result<ForgottenStop, Trouble> {
        let sender: String = get(row, 1)?;
        Ok(ForgottenStop {
            hash: get::<&[u8]>(row, 0)?.try_into().map_err(|_| damaged())?,
            sender: (!sender.is_empty()).then_some(sender),
            at: Timestamp(get(row, 2)?),
        })
    };
    link.all(FORGOTTEN, &[&no]).await?.iter().map(stop).collect()
}

/// A person's decision, or a forgotten person, ends the question whether words were a stop.
pub(super) async fn decided(
    link: &PgLink,
    account: i32,
    channel: ChannelNumber,
    address: &str,
) -> Result<(), Trouble> {
    link.execute(DECIDED, &[&account, &i16::from(channel.0), &address]).await?;
    Ok(())
}

async fn set(link: &PgLink, args: &OptOutChange) -> Result<(), Trouble> {
    let OptOutChange { channel, address, sender, now, .. } = args;
    let no = account(link, &args.account).await?;
    if args.out {
        link.execute(SET, &[&no, channel, address, sender, now]).await?;
    } else {
        link.execute(REMOVE, &[&no, channel, address, sender]).await?;
        if let Some(hash) = &args.hash {
            link.execute(START_AGAIN, &[&no, &hash.as_slice(), sender]).await?;
        }
    }
    link.execute(DECIDED, &[&no, channel, address]).await?;
    Ok(())
}

async fn all(link: &PgLink, account: &str) -> Result<Vec<OptOut>, Trouble> {
    let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
    let rows = link.all(ALL, &[&no]).await?;
    let out = |row| -> Result<OptOut, Trouble> {
        let number: i16 = get(row, 0)?;
        let channel = u8::try_from(number).map(ChannelNumber);
        let damaged =
            || StoreError::Damaged { what: format!("opt-out: channel {number} is no number of one") };
        let sender: String = get(row, 2)?;
        Ok(OptOut {
            channel: channel.map_err(|_| damaged())?,
            address: get(row, 1)?,
            sender: (!sender.is_empty()).then_some(sender),
            at: Timestamp(get(row, 3)?),
        })
    };
    rows.iter().map(out).collect()
}
