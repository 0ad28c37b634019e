//! Document of an import job: what the file had, what it would do, who decided what.

use crate::http::app::App;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::time_text::rfc3339;
use records::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::import::{FieldError, RowProblem};
use store::{
    DocumentKind, DocumentWritten, Expected, ImportCounts, ImportDocument, ImportNo, NewDocument, StoreError,
};

/// Problems shown in the job itself; `problems.csv` has them all.
const SHOWN_PROBLEMS_MAX: usize = 100;
/// A job is kept for so long after it was begun.
const KEPT_S: i64 = 30 * 86_400;
/// An import that waits for a decision for so long is discarded.
const HELD_S: i64 = 7 * 86_400;

/// A job's state. Nothing of an import is seen before it is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ImportState {
    /// The file is being read.
    Reading,
    /// Its rows are compared with the people there are, and written unseen.
    Comparing,
    /// It waits for a decision.
    Ready,
    /// Nothing came of it.
    Failed,
    /// All see it.
    Committed,
    /// It was given up.
    Discarded,
    /// It was committed and taken back.
    Undone,
}

impl ImportState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ImportState::Reading => "reading",
            ImportState::Comparing => "comparing",
            ImportState::Ready => "ready",
            ImportState::Failed => "failed",
            ImportState::Committed => "committed",
            ImportState::Discarded => "discarded",
            ImportState::Undone => "undone",
        }
    }

    /// A living process works at it.
    fn is_under_way(self) -> bool {
        matches!(self, ImportState::Reading | ImportState::Comparing)
    }
}

/// Somebody who did something to a job: a token's or a user's id and name, or the schedule of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Actor {
    pub id: String,
    pub name: String,
}

/// What was read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ReadFile {
    /// Rows with a problem.
    pub wrong: u64,
    /// Problems of all of them.
    pub problem_count: u64,
    /// Headings, each with what it was taken for.
    pub columns: Vec<(String, String)>,
    pub notes: Vec<FieldError>,
    pub attributes: Vec<String>,
    pub without_device: u64,
    /// Parts of its problems, and of the devices that it opts out.
    pub problem_parts: u32,
    pub stop_parts: u32,
}

/// The last decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ImportDecision {
    pub by: Actor,
    pub at: Timestamp,
    pub undo_until: Option<Timestamp>,
}

/// A job, as its document has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ImportJob {
    pub id: String,
    pub import: u64,
    pub state: ImportState,
    /// `file`, or `directory:NAME`.
    pub source: String,
    pub by: Actor,
    pub created: Timestamp,
    /// Rows that are wrong are left out; otherwise an import with such rows is not committed.
    pub skips_wrong: bool,
    pub file: ReadFile,
    pub counts: Option<ImportCounts>,
    pub failure: Option<String>,
    pub decision: Option<ImportDecision>,
}

impl ImportJob {
    pub(crate) fn import(&self) -> ImportNo {
        ImportNo(self.import)
    }

    /// The document, to be written over what is expected.
    pub(crate) fn document(
        &self,
        account: &str,
        expected: Expected,
        now: Timestamp,
    ) -> HttpResult<ImportDocument> {
        let due = match self.state {
            ImportState::Ready => self.created.plus_s(HELD_S),
            _ => self.created.plus_s(KEPT_S),
        };
        let body = serde_json::to_string(self)
            .map_err(|error| HttpProblem::new(ProblemKind::Internal, format!("an import job: {error}")))?;
        let document = NewDocument { id: self.id.clone(), lookup: None, due: Some(due), body };
        Ok(ImportDocument { account: account.to_owned(), document, expected, now })
    }

    /// Writes it over the version that was seen, without a step of the import; its new version.
    pub(crate) async fn put(&self, app: &App, account: &str, expected: Expected) -> HttpResult<u64> {
        let ImportDocument { document, now, .. } = self.document(account, expected, app.now())?;
        let put = app.store.put_document(account, DocumentKind::Import, document, expected, now);
        written(put.await?)
    }

    /// As the API shows it, with the first of its problems.
    pub(crate) async fn view(&self, app: &App, account: &str) -> HttpResult<Value> {
        let problems = match self.file.problem_parts {
            0 => Vec::new(),
            _ => problems_of(app, account, &self.id, 0).await?,
        };
        let counts = self.counts.unwrap_or_default();
        let left_out = if self.skips_wrong { self.file.wrong } else { 0 };
        let imported = match self.state {
            ImportState::Committed => counts.new + counts.changed + counts.unchanged,
            _ => 0,
        };
        let time = |at: Option<Timestamp>| at.map(rfc3339);
        let decision = self.decision.as_ref();
        Ok(json!({
            "id": self.id,
            "state": self.state.name(),
            "source": self.source,
            "by": self.by,
            "created": rfc3339(self.created),
            "counts": {
                "new": counts.new,
                "changed": counts.changed,
                "unchanged": counts.unchanged,
                "gone": counts.gone,
                "wrong": self.file.wrong,
                "left_out": left_out,
            },
            "imported": imported,
            "columns": self.file.columns.iter().map(|(column, field)| json!({"column": column, "field": field})).collect::<Vec<_>>(),
            "notes": self.file.notes,
            "attributes": self.file.attributes,
            "without_device": self.file.without_device,
            "problem_count": self.file.problem_count,
            "problems": problems.iter().take(SHOWN_PROBLEMS_MAX).map(KeptProblem::view).collect::<Vec<_>>(),
            "failure": self.failure,
            "decided_by": decision.map(|decision| &decision.by),
            "decided": time(decision.map(|decision| decision.at)),
            "undo_until": time(decision.and_then(|decision| decision.undo_until)),
        }))
    }
}

/// The version of a document that was written, or why it was not.
pub(crate) fn written(written: DocumentWritten) -> HttpResult<u64> {
    match written {
        DocumentWritten::Done(version) => Ok(version),
        DocumentWritten::Conflict(stands) => {
            let version =
                stands.map_or_else(|| "gone".to_owned(), |stands| format!("\"{}\"", stands.version));
            let detail =
                format!("the import has changed since: the current version is {version}; read it again");
            Err(HttpProblem::new(ProblemKind::VersionChanged, detail))
        }
        DocumentWritten::LookupTaken => {
            Err(HttpProblem::new(ProblemKind::Internal, "an import job has no lookup"))
        }
    }
}

/// A job and its version. One whose process ended while it worked at it is shown as failed.
pub(crate) async fn find(app: &App, account: &str, id: &str) -> HttpResult<(ImportJob, u64)> {
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such import");
    let (mut job, version) = read(app, account, id).await?.ok_or_else(missing)?;
    if !job.state.is_under_way() || app.store.is_import_staged(job.import()).await? {
        return Ok((job, version));
    }
    // It may have been held just now.
    let (again, version) = read(app, account, id).await?.ok_or_else(missing)?;
    job = again;
    mark_if_lost(&mut job);
    Ok((job, version))
}

fn mark_if_lost(job: &mut ImportJob) {
    if job.state.is_under_way() {
        job.state = ImportState::Failed;
        job.failure = Some("the server ended while it worked at the import: send the file again".to_owned());
    }
}

async fn read(app: &App, account: &str, id: &str) -> HttpResult<Option<(ImportJob, u64)>> {
    if id.is_empty() || id.len() > store::DOCUMENT_KEY_OCTETS_MAX {
        return Ok(None);
    }
    let Some(document) = app.store.document(account, DocumentKind::Import, id).await? else {
        return Ok(None);
    };
    Ok(Some((parse(&document.body)?, document.version)))
}

pub(crate) fn parse(body: &str) -> Result<ImportJob, StoreError> {
    serde_json::from_str(body)
        .map_err(|error| StoreError::Damaged { what: format!("an import job: {error}") })
}

/// A problem as a part of a job keeps it: row, column, value, reason.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeptProblem(pub u64, pub String, pub String, pub String);

impl KeptProblem {
    pub(crate) fn of(problem: RowProblem) -> KeptProblem {
        KeptProblem(problem.row, problem.field, problem.value, problem.reason)
    }

    fn view(&self) -> Value {
        json!({"row": self.0, "column": self.1, "value": self.2, "reason": self.3})
    }
}

/// The id of a part: `p` for problems, `s` for stops.
pub(crate) fn part_id(job: &str, kind: char, number: u32) -> String {
    format!("{job}/{kind}{number:06}")
}

/// One part of the problems of a job.
pub(crate) async fn problems_of(
    app: &App,
    account: &str,
    job: &str,
    number: u32,
) -> HttpResult<Vec<KeptProblem>> {
    let part = app.store.document(account, DocumentKind::ImportPart, &part_id(job, 'p', number)).await?;
    let damaged =
        |error: serde_json::Error| StoreError::Damaged { what: format!("a part of an import: {error}") };
    Ok(part.map(|part| serde_json::from_str(&part.body).map_err(damaged)).transpose()?.unwrap_or_default())
}
