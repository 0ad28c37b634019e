use super::error::Trouble;
use super::link::PgLink;
use super::{Postgres, Work, as_i64, documents, search, staging};
use crate::documents::within_limits;
use crate::import_jobs::{AbsentPeople, ImportCounts, ImportDocument, ImportJobs, ImportStep, not_allowed};
use crate::{DocumentKind, DocumentWritten, ImportNo, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;

const HOLD: &str = "UPDATE imports SET state = 3 WHERE generation = $1 AND state = 0";
const COMMIT: &str = "UPDATE imports SET state = 1, rank = nextval('versions'), undo_until = $2 \
     WHERE generation = $1 AND state = 3";
const DISCARD: &str = "UPDATE imports SET state = 2 WHERE generation = $1 AND state = 3";
const UNDO: &str = "UPDATE imports SET state = 2, undo_until = NULL \
     WHERE generation = $1 AND state = 1 AND undo_until > $2";
const SETTLE: &str = "UPDATE imports SET undo_until = NULL WHERE undo_until <= $1";
const STAGED: &str = "SELECT 1 FROM imports WHERE generation = $1 AND state = 0";

impl ImportJobs for Postgres {
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
            let taking = Work::new((import, step, document), |link, (import, step, document)| {
                Box::pin(take_step(link, *import, *step, document))
            });
            let written = self.write(taking).await?;
            if matches!(written, DocumentWritten::Done(_)) {
                self.staging.remove(import);
                self.sweep.notify_one();
            }
            Ok(written)
        })
    }

    fn is_import_staged(&self, import: ImportNo) -> BoxFuture<'_, Result<bool, StoreError>> {
        let staged = Work::new(as_i64(import.0), |link, generation| {
            Box::pin(async move { Ok(link.one(STAGED, &[generation]).await?.is_some()) })
        });
        Box::pin(self.read(staged))
    }

    fn settle_imports(&self, now: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let settle =
                Work::new(now.0, |link, now| Box::pin(async move { link.execute(SETTLE, &[now]).await }));
            let settled = self.write(settle.again()).await?;
            if settled > 0 {
                self.sweep.notify_one();
            }
            Ok(settled)
        })
    }

    fn people_by_term<'a>(
        &'a self,
        account: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let args = (account.to_owned(), prefix.to_owned(), limit);
        let find = Work::new(args, |link, (account, prefix, limit)| {
            Box::pin(search::by_term(link, account, prefix, *limit))
        });
        Box::pin(self.read(find))
    }
}

async fn take_step(
    link: &PgLink,
    import: ImportNo,
    step: ImportStep,
    document: &ImportDocument,
) -> Result<DocumentWritten, Trouble> {
    let ImportDocument { account, document, expected, now } = document;
    // Locks the account: puts and deletes come before the step or after it.
    let written = documents::put(link, account, DocumentKind::Import, document, *expected, now.0).await?;
    if !matches!(written, DocumentWritten::Done(_)) {
        return Ok(written);
    }
    let generation = as_i64(import.0);
    let changed = match step {
        ImportStep::Hold => link.execute(HOLD, &[&generation]).await?,
        ImportStep::Commit { undo_until } => link.execute(COMMIT, &[&generation, &undo_until.0]).await?,
        ImportStep::Discard => link.execute(DISCARD, &[&generation]).await?,
        ImportStep::Undo => link.execute(UNDO, &[&generation, &now.0]).await?,
    };
    if changed == 0 {
        return Err(not_allowed(import, step).into()); // the document is not written either
    }
    Ok(written)
}
