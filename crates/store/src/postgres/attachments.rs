use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, account, account_no, as_i64, as_limit, as_u64};
use crate::attachments::{NAMED_KEPT_S, granted};
use crate::{Attachments, ForgottenFiles, OwnedFile, StoreError, UploadRoom};
use futures_util::future::BoxFuture;
use records::{Alert, Timestamp};
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// "atta": of several that reserve for one account, one at a time counts. Freed with the transaction.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1635021921, $1)";
/// Octets and files of an account, the same file of several tokens counted once.
const OF_FILES: &str = "SELECT coalesce(sum(octets), 0)::bigint, count(*) \
     FROM (SELECT max(octets) AS octets FROM attachments WHERE account = $1 GROUP BY id) AS files";
/// Those that come, but this one.
const OF_UPLOADS: &str = "SELECT coalesce(sum(octets), 0)::bigint, count(*) FROM uploads \
     WHERE account = $1 AND id <> $2 AND until > $3";
const RESERVE: &str = "INSERT INTO uploads (id, account, octets, until) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (id) DO UPDATE SET octets = $3, until = $4";
const REMOVE_UPLOAD: &str = "DELETE FROM uploads WHERE id = $1";
const FINISH: &str = "INSERT INTO attachments AS had (account, id, token, octets, until) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (account, id, token) DO UPDATE SET until = greatest(had.until, $5)";
const FIND: &str =
    "SELECT octets FROM attachments WHERE account = $1 AND id = $2 AND ($3::text IS NULL OR token = $3)";
const PROLONG: &str = "UPDATE attachments SET until = $3 WHERE account = $1 AND id = $2 AND until < $3";
const FORGET: &str = "DELETE FROM attachments WHERE (account, id, token) IN \
     (SELECT account, id, token FROM attachments WHERE until <= $1 ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED) \
     AND until <= $1 RETURNING id";
const HAS: &str = "SELECT FROM attachments WHERE id = $1 LIMIT 1";

struct FinishedUpload {
    upload: Uuid,
    file: OwnedFile,
    until: Timestamp,
}

struct Held {
    account: String,
    token: Option<String>,
    ids: Vec<String>,
    until: Timestamp,
}

impl Attachments for Postgres {
    fn reserve_upload(&self, room: UploadRoom) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(self.write(Work::new(room, |link, room| Box::pin(reserve(link, room))).again()))
    }

    fn finish_upload<'a>(
        &'a self,
        upload: Uuid,
        file: OwnedFile,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let args = FinishedUpload { upload, file, until };
        Box::pin(self.write(Work::new(args, |link, args| Box::pin(finish(link, args))).again()))
    }

    fn drop_upload(&self, upload: Uuid) -> BoxFuture<'_, Result<(), StoreError>> {
        let remove = Work::new(upload, |link, upload| {
            Box::pin(async move { link.execute(REMOVE_UPLOAD, &[upload]).await.map(drop) })
        });
        Box::pin(self.write(remove.again()))
    }

    fn hold_attachments<'a>(
        &'a self,
        account: &'a str,
        token: Option<&'a str>,
        ids: Vec<String>,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Option<u64>>, StoreError>> {
        let args = Held { account: account.to_owned(), token: token.map(str::to_owned), ids, until };
        Box::pin(self.write(Work::new(args, |link, args| Box::pin(hold(link, args))).again()))
    }

    fn forget_attachments(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<ForgottenFiles, StoreError>> {
        let args = (now, limit);
        Box::pin(self.write(Work::new(args, |link, (now, limit)| Box::pin(forget(link, *now, *limit)))))
    }

    fn keep_named_for(&self, seconds: i64) {
        self.named_kept_s.store(seconds.max(NAMED_KEPT_S), Ordering::Relaxed);
    }

    fn has_attachment<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let has = Work::new(id.to_owned(), |link, id| {
            Box::pin(async move { Ok(link.one(HAS, &[id]).await?.is_some()) })
        });
        Box::pin(self.read(has))
    }
}

/// The files that an accepted alert names are kept for as long as it can need them.
pub(super) async fn name(link: &PgLink, account: i32, alert: &Alert, kept_s: i64) -> Result<(), Trouble> {
    let until = alert.created.plus_s(kept_s).0;
    for one in &alert.request.attachments {
        link.execute(PROLONG, &[&account, &one.blake3, &until]).await?;
    }
    Ok(())
}

async fn reserve(link: &PgLink, room: &UploadRoom) -> Result<Option<u64>, Trouble> {
    let account = account(link, &room.account).await?;
    link.execute(LOCK, &[&account]).await?;
    let mut used = (0_u64, 0_u64);
    let counted = [
        link.one(OF_FILES, &[&account]).await?,
        link.one(OF_UPLOADS, &[&account, &room.upload, &room.now.0]).await?,
    ];
    for row in counted.iter().flatten() {
        let (octets, files): (i64, i64) = (get(row, 0)?, get(row, 1)?);
        used = (used.0.saturating_add(as_u64(octets)), used.1 + as_u64(files));
    }
    let granted = granted(room, used.0, used.1);
    if let Some(granted) = granted {
        link.execute(RESERVE, &[&room.upload, &account, &as_i64(granted), &room.until.0]).await?;
    }
    Ok(granted)
}

async fn finish(link: &PgLink, args: &FinishedUpload) -> Result<(), Trouble> {
    let file = &args.file;
    let account = account(link, &file.account).await?;
    link.execute(REMOVE_UPLOAD, &[&args.upload]).await?;
    let octets = as_i64(file.octets);
    link.execute(FINISH, &[&account, &file.id, &file.token, &octets, &args.until.0]).await?;
    Ok(())
}

async fn hold(link: &PgLink, args: &Held) -> Result<Vec<Option<u64>>, Trouble> {
    let Some(account) = account_no(link, &args.account).await? else {
        return Ok(vec![None; args.ids.len()]);
    };
    let mut sizes = Vec::with_capacity(args.ids.len());
    for id in &args.ids {
        let row = link.one(FIND, &[&account, id, &args.token]).await?;
        if row.is_some() {
            link.execute(PROLONG, &[&account, id, &args.until.0]).await?;
        }
        let octets: Option<i64> = row.map(|row| get(&row, 0)).transpose()?;
        sizes.push(octets.map(as_u64));
    }
    Ok(sizes)
}

async fn forget(link: &PgLink, now: Timestamp, limit: usize) -> Result<ForgottenFiles, Trouble> {
    link.execute("DELETE FROM uploads WHERE until <= $1", &[&now.0]).await?;
    let gone = link.all(FORGET, &[&now.0, &as_limit(limit)]).await?;
    let is_more = gone.len() >= limit;
    let mut ids: Vec<String> = Vec::new();
    for row in &gone {
        let id: String = get(row, 0)?;
        if !ids.contains(&id) && link.one(HAS, &[&id]).await?.is_none() {
            ids.push(id);
        }
    }
    Ok(ForgottenFiles { ids, is_more })
}
