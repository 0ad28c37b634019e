use super::visible::{ABANDONED, HELD, PUBLISHED, STAGING};
use super::{Sqlite, Tx, account_no, as_i64, documents, recipients, staging};
use crate::documents::within_limits;
use crate::import_jobs::{AbsentPeople, ImportCounts, ImportDocument, ImportJobs, ImportStep, not_allowed};
use crate::{DocumentKind, DocumentWritten, ImportNo, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use rusqlite::{Connection, OptionalExtension};

impl ImportJobs for Sqlite {
    fn prepare_import(
        &self,
        import: ImportNo,
        absent: Option<AbsentPeople>,
    ) -> BoxFuture<'_, Result<ImportCounts, StoreError>> {
        Box::pin(staging::prepare(self, import, absent))
    }

    fn step_import(
        &self,
        import: ImportNo,
        step: ImportStep,
        document: ImportDocument,
    ) -> BoxFuture<'_, Result<DocumentWritten, StoreError>> {
        Box::pin(async move {
            within_limits(&document.document)?;
            let written = self.write(move |tx| take_step(tx, import, step, &document)).await?;
            if matches!(written, DocumentWritten::Done(_)) {
                self.staging.remove(import);
                self.sweep.wake();
            }
            Ok(written)
        })
    }

    fn is_import_staged(&self, import: ImportNo) -> BoxFuture<'_, Result<bool, StoreError>> {
        let staged = move |connection: &Connection| {
            Ok(listed(connection, import)?.is_some_and(|one| one.state == STAGING))
        };
        Box::pin(self.read(staged))
    }

    fn settle_imports(&self, now: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let settle = move |tx: &Tx<'_>| {
                let sql = "UPDATE imports SET undo_until = NULL WHERE undo_until <= ?1";
                Ok(tx.prepare_cached(sql)?.execute([now.0])?)
            };
            let settled = self.write(settle).await?;
            if settled > 0 {
                self.sweep.wake();
            }
            Ok(settled as u64)
        })
    }

    fn people_by_term<'a>(
        &'a self,
        account: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let (account, prefix) = (account.to_owned(), prefix.to_owned());
        let find = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            recipients::by_term(connection, account, &prefix, limit)
        };
        Box::pin(self.read(find))
    }
}

/// An import on the list.
struct ImportRow {
    state: i64,
    undo_until: Option<i64>,
}

fn listed(connection: &Connection, import: ImportNo) -> Result<Option<ImportRow>, StoreError> {
    let mut select =
        connection.prepare_cached("SELECT state, undo_until FROM imports WHERE generation = ?1")?;
    let row = |row: &rusqlite::Row<'_>| Ok(ImportRow { state: row.get(0)?, undo_until: row.get(1)? });
    Ok(select.query_row([as_i64(import.0)], row).optional()?)
}

fn take_step(
    tx: &Tx<'_>,
    import: ImportNo,
    step: ImportStep,
    document: &ImportDocument,
) -> Result<DocumentWritten, StoreError> {
    let ImportDocument { account, document, expected, now } = document;
    let written = documents::put(tx, account, DocumentKind::Import, document, *expected, *now)?;
    if !matches!(written, DocumentWritten::Done(_)) {
        return Ok(written);
    }
    let found = listed(tx, import)?;
    let (needed, next, undo_until) = match step {
        ImportStep::Hold => (STAGING, HELD, None),
        ImportStep::Commit { undo_until } => (HELD, PUBLISHED, Some(undo_until.0)),
        ImportStep::Discard => (HELD, ABANDONED, None),
        ImportStep::Undo => (PUBLISHED, ABANDONED, None),
    };
    let is_late =
        |row: &ImportRow| step == ImportStep::Undo && row.undo_until.is_none_or(|until| until <= now.0);
    if !found.is_some_and(|row| row.state == needed && !is_late(&row)) {
        return Err(not_allowed(import, step)); // the document is not written either
    }
    let rank = if next == PUBLISHED { tx.raise_version(1)? } else { 0 };
    tx.prepare_cached("UPDATE imports SET state = ?2, rank = ?3, undo_until = ?4 WHERE generation = ?1")?
        .execute((as_i64(import.0), next, rank, undo_until))?;
    Ok(written)
}
