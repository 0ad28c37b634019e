//! Run of an import job: rows are staged as they come, then compared with the people there are and held for a
//! decision. Its file may come from a client or from a directory.

use super::job::{Actor, ImportJob, ImportState, KeptProblem, ReadFile, part_id};
use crate::http::account_places::AccountPlace;
use crate::http::app::App;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::stops::{self, Stops};
use crate::http::recipients::stream::StagedImport;
use records::Recipient;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
use store::import::{FieldError, RowProblem};
use store::{AbsentPeople, DocumentKind, Expected, ImportStep, NewDocument};

/// Rows staged in one call.
const STAGE_ROWS: usize = 2_000;
/// Problems of one part, each of some 500 octets at most.
const PART_PROBLEMS: usize = 500;
/// Problems kept; more are counted.
const PROBLEMS_MAX: u64 = 100_000;
/// Devices of one part that are opted out.
const PART_STOPS: usize = 2_000;
/// Devices of one import that are opted out.
const STOPS_MAX: u64 = 2_000_000;
/// Jobs of one account at a time, finished ones of the last days included.
const JOBS_MAX: u64 = 10_000;

/// What a job is made from.
pub(crate) struct NewImport {
    pub account: String,
    pub source: String,
    pub by: Actor,
    pub skips_wrong: bool,
    /// People whom it takes away if they are not in it.
    pub absent: Option<AbsentPeople>,
}

/// A job that is being read.
pub(crate) struct ImportRun {
    app: App,
    account: String,
    job: ImportJob,
    version: u64,
    import: StagedImport,
    absent: Option<AbsentPeople>,
    rows: Vec<Recipient>,
    stops: Stops,
    problems: Vec<KeptProblem>,
    /// The last row with a problem.
    wrong_row: Option<u64>,
    _place: AccountPlace,
}

impl ImportRun {
    pub(crate) async fn begin(app: &App, new: NewImport, place: AccountPlace) -> HttpResult<ImportRun> {
        let NewImport { account, source, by, skips_wrong, absent } = new;
        if app.store.count_documents(&account, DocumentKind::Import).await? >= JOBS_MAX {
            let detail = format!("the account has {JOBS_MAX} imports of the last days, which is the limit");
            return Err(HttpProblem::new(ProblemKind::QuotaReached, detail));
        }
        let created = app.now();
        let no = app.store.begin_import(&account, created).await?;
        let import = StagedImport::new(app.store.clone(), no);
        let job = ImportJob {
            id: new_id(created.0)?,
            import: no.0,
            state: ImportState::Reading,
            source,
            by,
            created,
            skips_wrong,
            file: ReadFile::default(),
            counts: None,
            failure: None,
            decision: None,
        };
        let version = job.put(app, &account, Expected::Absent).await?;
        let (rows, stops, problems) = (Vec::new(), Stops::new(), Vec::new());
        let app = app.clone();
        Ok(ImportRun {
            app,
            account,
            job,
            version,
            import,
            absent,
            rows,
            stops,
            problems,
            wrong_row: None,
            _place: place,
        })
    }

    /// The job's id.
    pub(crate) fn id(&self) -> &str {
        &self.job.id
    }

    /// Stages rows, and keeps problems.
    pub(crate) async fn take(
        &mut self,
        read: impl IntoIterator<Item = Result<Recipient, RowProblem>>,
    ) -> HttpResult<()> {
        for row in read {
            match row {
                Ok(mut person) => {
                    self.stops.extend(stops::taken(std::slice::from_mut(&mut person)));
                    self.rows.push(person);
                }
                Err(problem) => self.note(problem),
            }
        }
        while self.rows.len() >= STAGE_ROWS {
            let rest = self.rows.split_off(STAGE_ROWS);
            let rows = std::mem::replace(&mut self.rows, rest);
            self.app.store.stage(self.import.no(), rows).await?;
        }
        self.keep_parts(false).await
    }

    fn note(&mut self, problem: RowProblem) {
        let file = &mut self.job.file;
        file.problem_count += 1;
        file.wrong += u64::from(self.wrong_row != Some(problem.row));
        self.wrong_row = Some(problem.row);
        if file.problem_count <= PROBLEMS_MAX {
            self.problems.push(KeptProblem::of(problem));
        }
    }

    /// Writes whole parts; at the end what is left.
    async fn keep_parts(&mut self, is_over: bool) -> HttpResult<()> {
        while self.problems.len() >= PART_PROBLEMS || (is_over && !self.problems.is_empty()) {
            let rest = self.problems.split_off(self.problems.len().min(PART_PROBLEMS));
            let part = std::mem::replace(&mut self.problems, rest);
            self.put_part('p', self.job.file.problem_parts, &part).await?;
            self.job.file.problem_parts += 1;
        }
        while self.stops.len() >= PART_STOPS || (is_over && !self.stops.is_empty()) {
            if u64::from(self.job.file.stop_parts) * PART_STOPS as u64 >= STOPS_MAX {
                let reason = format!(
                    "says of more than {STOPS_MAX} devices that they are opted out: import it in pieces"
                );
                return Err(HttpProblem::field(ProblemKind::InvalidFields, "opted_out", reason));
            }
            let rest = self.stops.split_off(self.stops.len().min(PART_STOPS));
            let part = std::mem::replace(&mut self.stops, rest);
            let part: Vec<(u8, String)> =
                part.into_iter().map(|(channel, address)| (channel.0, address)).collect();
            self.put_part('s', self.job.file.stop_parts, &part).await?;
            self.job.file.stop_parts += 1;
        }
        Ok(())
    }

    async fn put_part(&self, kind: char, number: u32, part: &impl Serialize) -> HttpResult<()> {
        let body = serde_json::to_string(part).map_err(|error| {
            HttpProblem::new(ProblemKind::Internal, format!("a part of an import: {error}"))
        })?;
        let document = NewDocument { id: part_id(&self.job.id, kind, number), lookup: None, due: None, body };
        let (account, now) = (&self.account, self.app.now());
        self.app.store.put_document(account, DocumentKind::ImportPart, document, Expected::Any, now).await?;
        Ok(())
    }

    /// Everything was read: the rest is staged, and the job says what the file had. Then
    /// [`ImportRun::compare`].
    pub(crate) async fn read(&mut self, file: FileFacts) -> HttpResult<()> {
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            self.app.store.stage(self.import.no(), rows).await?;
        }
        self.keep_parts(true).await?;
        let FileFacts { columns, notes, attributes, without_device } = file;
        self.job.file = ReadFile { columns, notes, attributes, without_device, ..self.job.file.clone() };
        self.job.state = ImportState::Comparing;
        self.version = self.job.put(&self.app, &self.account, Expected::Version(self.version)).await?;
        Ok(())
    }

    /// The job as it is, and its version.
    pub(crate) fn job(&self) -> (&ImportJob, u64) {
        (&self.job, self.version)
    }

    /// Compares and holds it; what fails is said in the job.
    pub(crate) async fn compare(mut self) -> HttpResult<ImportJob> {
        let held = self.hold().await;
        match held {
            Ok(()) => Ok(self.job),
            Err(problem) => {
                tracing::warn!(
                    import = self.job.id,
                    problem = problem.detail(),
                    "an import could not be prepared"
                );
                self.fail(problem.detail().to_owned()).await;
                Err(problem)
            }
        }
    }

    async fn hold(&mut self) -> HttpResult<()> {
        let counts = self.app.store.prepare_import(self.import.no(), self.absent.take()).await?;
        let job = ImportJob { counts: Some(counts), state: ImportState::Ready, ..self.job.clone() };
        let document = job.document(&self.account, Expected::Version(self.version), self.app.now())?;
        let step = self.app.store.step_import(self.import.no(), ImportStep::Hold, document);
        self.version = super::job::written(step.await?)?;
        self.import.end();
        self.job = job;
        Ok(())
    }

    /// Nothing comes of it. The staged rows go with the run.
    pub(crate) async fn fail(mut self, reason: String) {
        if let Err(problem) = self.keep_parts(true).await {
            tracing::debug!(problem = problem.detail(), "problems of an import that failed are not kept");
        }
        self.job.state = ImportState::Failed;
        self.job.failure = Some(reason);
        if let Err(problem) = self.job.put(&self.app, &self.account, Expected::Any).await {
            tracing::warn!(problem = problem.detail(), "an import that failed could not be marked so");
        }
    }
}

/// What is known of a file beside its rows.
#[derive(Debug, Default)]
pub(crate) struct FileFacts {
    pub columns: Vec<(String, String)>,
    pub notes: Vec<FieldError>,
    pub attributes: Vec<String>,
    pub without_device: u64,
}

/// Ids in the order of time, the newest first: the store lists documents in the order of their ids.
fn new_id(created_us: i64) -> HttpResult<String> {
    let mut random = [0; 4];
    let filled = SystemRandom::new().fill(&mut random);
    filled.map_err(|_| {
        HttpProblem::new(ProblemKind::Internal, "the system's random number generator failed")
    })?;
    let until = u64::MAX - u64::try_from(created_us).unwrap_or(0);
    Ok(format!("{until:016x}{:08x}", u32::from_be_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_id_is_the_first() {
        let [old, new] = [1_794_983_200_000_000, 1_794_983_200_000_001].map(|at| new_id(at).unwrap());
        assert!(new < old);
        assert_eq!(old.len(), 24);
    }
}
