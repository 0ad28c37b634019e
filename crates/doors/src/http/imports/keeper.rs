//! Upkeep of imports: settles what can no longer be undone, discards what waited for too long, removes old
//! jobs, and runs directories at their times.

use super::job::{Actor, ImportJob, ImportState, find, parse};
use crate::http::app::App;
use crate::http::directories;
use crate::http::problem::HttpResult;
use engine::Leader;
use std::time::Duration;
use store::{DocumentKind, Expected, StoreError};

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Jobs handled in one look.
const AT_ONCE: usize = 100;
/// Parts of a job removed at a time.
const PARTS_AT_ONCE: usize = 100;
/// Who discards what waited for too long.
const KEEPER: &str = "server";

/// Runs for as long as it is polled. Of several processes the leading one does it.
pub(crate) async fn keep(app: App) {
    loop {
        if app.engine.leader() == Leader::Here
            && let Err(problem) = look(&app).await
        {
            tracing::warn!(
                problem = problem.detail(),
                "old imports could not be looked after; it is tried again"
            );
        }
        directories::run_due(&app).await;
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

pub(super) async fn look(app: &App) -> HttpResult<()> {
    let now = app.now();
    let settled = app.store.settle_imports(now).await?;
    if settled > 0 {
        tracing::info!(settled, "imports can no longer be undone");
    }
    for (account, document) in app.store.due_documents(DocumentKind::Import, now, AT_ONCE).await? {
        let job = parse(&document.body)?;
        match job.state {
            ImportState::Ready => discard(app, &account, job, document.version).await?,
            _ => remove(app, &account, &document.id).await?,
        }
    }
    Ok(())
}

async fn discard(app: &App, account: &str, job: ImportJob, version: u64) -> HttpResult<()> {
    let id = job.id.clone();
    let by = Actor { id: KEEPER.to_owned(), name: String::new() };
    match super::discard(app, account, (job, version), by).await {
        Ok(_) => tracing::info!(import = id, account, "an import that nobody committed was discarded"),
        // Somebody decided just now, or its rows are gone: the job says so, and is removed at its time.
        Err(problem) => {
            tracing::debug!(import = id, problem = problem.detail(), "an import was not discarded");
            let (job, version) = find(app, account, &id).await?;
            let job =
                ImportJob { state: ImportState::Failed, failure: Some(problem.detail().to_owned()), ..job };
            job.put(app, account, Expected::Version(version)).await?;
        }
    }
    Ok(())
}

/// A job with its parts, the parts first.
async fn remove(app: &App, account: &str, id: &str) -> Result<(), StoreError> {
    let first = format!("{id}/");
    loop {
        let parts =
            app.store.documents_after(account, DocumentKind::ImportPart, &first, PARTS_AT_ONCE).await?;
        let own: Vec<_> = parts.into_iter().filter(|part| part.id.starts_with(&first)).collect();
        if own.is_empty() {
            break;
        }
        for part in own {
            app.store.delete_document(account, DocumentKind::ImportPart, &part.id, Expected::Any).await?;
        }
    }
    app.store.delete_document(account, DocumentKind::Import, id, Expected::Any).await?;
    Ok(())
}
