use super::{Sqlite, Tx, account_no, as_i64, as_limit, as_u64};
use crate::attachments::{NAMED_KEPT_S, granted};
use crate::{Attachments, ForgottenFiles, OwnedFile, StoreError, UploadRoom};
use futures_util::future::BoxFuture;
use records::{Alert, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// Octets and files of an account, the same file of several tokens counted once.
const OF_FILES: &str = "SELECT coalesce(sum(octets), 0), count(*) \
     FROM (SELECT max(octets) AS octets FROM attachments WHERE account = ?1 GROUP BY id)";
/// Those that come, but this one.
const OF_UPLOADS: &str = "SELECT coalesce(sum(octets), 0), count(*) FROM uploads \
     WHERE account = ?1 AND id <> ?2 AND until > ?3";

impl Attachments for Sqlite {
    fn reserve_upload(&self, room: UploadRoom) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(self.write(move |tx| reserve(tx, &room)))
    }

    fn finish_upload<'a>(
        &'a self,
        upload: Uuid,
        file: OwnedFile,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let finish = move |tx: &Tx<'_>| {
            remove_upload(tx, upload)?;
            tx.prepare_cached(
                "INSERT INTO attachments (account, id, token, octets, until) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (account, id, token) DO UPDATE SET until = max(until, ?5)",
            )?
            .execute((
                tx.account(&file.account)?,
                &file.id,
                &file.token,
                as_i64(file.octets),
                until.0,
            ))?;
            Ok(())
        };
        Box::pin(self.write(finish))
    }

    fn drop_upload(&self, upload: Uuid) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write(move |tx| remove_upload(tx, upload)))
    }

    fn hold_attachments<'a>(
        &'a self,
        account: &'a str,
        token: Option<&'a str>,
        ids: Vec<String>,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Option<u64>>, StoreError>> {
        let (account, token) = (account.to_owned(), token.map(str::to_owned));
        let hold = move |tx: &Tx<'_>| {
            let Some(account) = account_no(tx, &account)? else { return Ok(vec![None; ids.len()]) };
            ids.iter().map(|id| hold(tx, account, token.as_deref(), id, until)).collect()
        };
        Box::pin(self.write(hold))
    }

    fn forget_attachments(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<ForgottenFiles, StoreError>> {
        Box::pin(self.write(move |tx| forget(tx, now, limit)))
    }

    fn keep_named_for(&self, seconds: i64) {
        self.named_kept_s.store(seconds.max(NAMED_KEPT_S), Ordering::Relaxed);
    }

    fn has_attachment<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.read(move |connection| has(connection, &id)))
    }
}

/// The files that an accepted alert names are kept for as long as it can need them.
pub(super) fn name(tx: &Tx<'_>, account: i64, alert: &Alert, kept_s: i64) -> Result<(), StoreError> {
    for one in &alert.request.attachments {
        tx.prepare_cached("UPDATE attachments SET until = max(until, ?3) WHERE account = ?1 AND id = ?2")?
            .execute((account, &one.blake3, alert.created.plus_s(kept_s).0))?;
    }
    Ok(())
}

fn reserve(tx: &Tx<'_>, room: &UploadRoom) -> Result<Option<u64>, StoreError> {
    let account = tx.account(&room.account)?;
    let pair = |row: &rusqlite::Row<'_>| Ok((as_u64(row.get(0)?), as_u64(row.get(1)?)));
    let (octets, files) = tx.prepare_cached(OF_FILES)?.query_row([account], pair)?;
    let (coming, uploads) =
        tx.prepare_cached(OF_UPLOADS)?.query_row((account, room.upload.as_bytes(), room.now.0), pair)?;
    let granted = granted(room, octets.saturating_add(coming), files + uploads);
    if let Some(granted) = granted {
        tx.prepare_cached(
            "INSERT OR REPLACE INTO uploads (id, account, octets, until) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((room.upload.as_bytes(), account, as_i64(granted), room.until.0))?;
    }
    Ok(granted)
}

fn remove_upload(tx: &Tx<'_>, upload: Uuid) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM uploads WHERE id = ?1")?.execute([upload.as_bytes()])?;
    Ok(())
}

fn hold(
    tx: &Tx<'_>,
    account: i64,
    token: Option<&str>,
    id: &str,
    until: Timestamp,
) -> Result<Option<u64>, StoreError> {
    let octets: Option<i64> = tx
        .prepare_cached(
            "SELECT octets FROM attachments WHERE account = ?1 AND id = ?2 AND (?3 IS NULL OR token = ?3)",
        )?
        .query_row((account, id, token), |row| row.get(0))
        .optional()?;
    if octets.is_some() {
        tx.prepare_cached("UPDATE attachments SET until = ?3 WHERE account = ?1 AND id = ?2 AND until < ?3")?
            .execute((account, id, until.0))?;
    }
    Ok(octets.map(as_u64))
}

fn forget(tx: &Tx<'_>, now: Timestamp, limit: usize) -> Result<ForgottenFiles, StoreError> {
    tx.prepare_cached("DELETE FROM uploads WHERE until <= ?1")?.execute([now.0])?;
    let gone: Vec<String> = tx
        .prepare_cached(
            "DELETE FROM attachments WHERE (account, id, token) IN \
             (SELECT account, id, token FROM attachments WHERE until <= ?1 ORDER BY until LIMIT ?2) RETURNING id",
        )?
        .query_map((now.0, as_limit(limit)), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let is_more = gone.len() >= limit;
    let mut ids = Vec::new();
    for id in gone {
        if !ids.contains(&id) && !has(tx, &id)? {
            ids.push(id);
        }
    }
    Ok(ForgottenFiles { ids, is_more })
}

fn has(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    let mut select = connection.prepare_cached("SELECT 1 FROM attachments WHERE id = ?1 LIMIT 1")?;
    Ok(select.exists([id])?)
}
