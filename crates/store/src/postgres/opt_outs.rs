use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, account, account_no, kept};
use crate::{ForgottenStop, OptOut, OptOutSet, OptOuts, StopHash, StopHasher, StoreError};
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

    fn opt_out_set<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<OptOutSet, StoreError>> {
        Box::pin(crate::stops::set_of(self, account))
    }
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
