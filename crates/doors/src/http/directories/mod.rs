//! Directories of others from which people are imported, such as LDAP servers: shown, and run as import jobs,
//! by hand or at their times.
//!
//! `GET /api/v1/directories` · `POST /api/v1/directories/{name}:run`
//!
//! A [`DirectorySource`] reads a directory; the config declares which there are.

#[cfg(test)]
mod tests;

use crate::http::account_places::AccountPlaces;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::imports::job::{Actor, ImportJob, ImportState};
use crate::http::imports::run::{FileFacts, ImportRun, NewImport};
use crate::http::imports::{accepted, commit};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::stream::IMPORTS_MAX;
use crate::http::request::query::{Captured, Query};
use crate::http::request::time_text::rfc3339;
use arc_swap::ArcSwap;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use channels::Defaults;
use engine::Leader;
use futures_util::future::BoxFuture;
use records::{Recipient, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::import::{FieldError, RowProblem, from_json};
use store::{AbsentPeople, DocumentKind, Expected, NewDocument};
use tokio::sync::{Mutex, mpsc};

/// The attribute that says from which directory a person comes.
pub const DIRECTORY_ATTRIBUTE: &str = "directory";
/// Rows between a directory's reader and the store.
const ROWS_AHEAD: usize = 2_000;
/// Requests that look through everybody, at once.
const SCANS_MAX: usize = 4;
/// Rows handed to the store at a time.
const ROWS_AT_ONCE: usize = 500;

/// A directory that people are imported from.
pub trait DirectorySource: Send + Sync {
    /// What the config says of it.
    fn settings(&self) -> &DirectorySettings;
    /// Reads it to its end. An error is in words, without secrets.
    fn read(&self, rows: mpsc::Sender<DirectoryRow>) -> BoxFuture<'_, Result<(), String>>;
}

/// A person as a directory has it.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectoryRow {
    /// Where it stands there, such as a distinguished name.
    pub place: String,
    /// The person, as the API takes it.
    pub person: Value,
}

/// A directory as the config declares it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectorySettings {
    /// Its name.
    pub name: String,
    /// The account that its people belong to.
    pub account: String,
    /// Where it is, without secrets.
    pub url: String,
    /// It is run so often; nothing: by hand alone.
    pub every: Option<Duration>,
    /// Its scheduled runs are looked at before somebody commits them.
    pub dry_run: bool,
    /// People who came from it and are absent now go.
    pub removes_absent: bool,
    /// A run that would take away more of its people, in percent, is not committed by itself.
    pub gone_percent_max: u8,
    /// One that would change more of them is not either.
    pub changed_percent_max: u8,
}

/// Directories of the config, in the order of the file.
pub type Directories = Vec<Arc<dyn DirectorySource>>;

/// What imports and provisioning share.
pub(crate) struct DirectoryState {
    /// Imports at once.
    pub places: Arc<AccountPlaces>,
    /// Requests at once that look through everybody.
    pub scans: Arc<AccountPlaces>,
    pub sources: Arc<ArcSwap<Directories>>,
    /// Held while a resource is provisioned.
    pub provisioning: Mutex<()>,
}

impl DirectoryState {
    pub(crate) fn new(sources: Arc<ArcSwap<Directories>>) -> DirectoryState {
        let places = AccountPlaces::new("imports", IMPORTS_MAX);
        let scans = AccountPlaces::new("searches of everybody", SCANS_MAX);
        DirectoryState { places, scans, sources, provisioning: Mutex::default() }
    }

    fn of(&self, account: &str) -> Vec<Arc<dyn DirectorySource>> {
        let sources = self.sources.load();
        sources.iter().filter(|source| source.settings().account == account).cloned().collect()
    }
}

/// The last run of a directory, as a document keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LastRun {
    import: String,
    at: Timestamp,
    /// The time of a schedule that it was for.
    #[serde(default)]
    key: Option<String>,
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/directories", get(list)).route("/api/v1/directories/{id}", post(act))
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let mut items = Vec::new();
    for source in app.uploads.directory.of(caller.account()) {
        let settings = source.settings();
        let last = last_run(&app, settings).await?;
        let next = settings.every.map(|every| next_run(last.as_ref(), every, app.now()));
        items.push(json!({
            "name": settings.name,
            "url": settings.url,
            "every_s": settings.every.map(|every| every.as_secs()),
            "dry_run": settings.dry_run,
            "remove": if settings.removes_absent { "absent" } else { "never" },
            "gone_percent_max": settings.gone_percent_max,
            "changed_percent_max": settings.changed_percent_max,
            "last": last.as_ref().map(|last| json!({"import": last.import, "at": rfc3339(last.at)})),
            "next": next.map(rfc3339),
        }));
    }
    Ok(Json(json!({"items": items, "next": null})))
}

/// `POST /api/v1/directories/{name}:run`; the router has no syntax for text behind a capture.
async fn act(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(name_and_verb): Captured,
    uri: Uri,
) -> HttpResult<Response> {
    let Some((name, "run")) = name_and_verb.rsplit_once(':') else {
        let detail = "POST needs a verb behind the name: {name}:run";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let query = Query::read(&uri, &["dry_run"])?;
    let dry_run = query.word("dry_run", &[("true", true), ("false", false)])?;
    let source = named(&app, caller.account(), name).ok_or_else(missing)?;
    let detail = if dry_run { "dry run" } else { "commit" };
    let act = app.act(&caller, "directory.run", name, detail);
    let run = app.noted(act, begin(&app, &source, Actor::of(&caller), None)).await?;
    let (job, version) = run.job();
    let answer = accepted(&job.view(&app, caller.account()).await?, run.id(), version);
    let by = Actor::of(&caller);
    tokio::spawn(async move { finish(&app, &source, (run, dry_run), by).await });
    Ok(answer)
}

/// The directory of an account with this name.
pub(crate) fn named(app: &App, account: &str, name: &str) -> Option<Arc<dyn DirectorySource>> {
    app.uploads.directory.of(account).into_iter().find(|one| one.settings().name == name)
}

fn missing() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "no such directory in the configuration")
}

/// Begins the run that a schedule has at a time, in the name of its author; the import's id. Under one key it
/// is begun once, and again only if its process ended while it worked at it, or it failed.
pub(crate) async fn run_once(app: &App, caller: &Caller, name: &str, key: &str) -> HttpResult<String> {
    let source = named(app, caller.account(), name).ok_or_else(missing)?;
    let settings = source.settings();
    let last = last_run(app, settings).await?.filter(|last| last.key.as_deref() == Some(key));
    if let Some(last) = last {
        let (job, _) = crate::http::imports::job::find(app, &settings.account, &last.import).await?;
        if job.state != ImportState::Failed {
            return Ok(last.import);
        }
    }
    let by = Actor::of(caller);
    let act = app.act(caller, "directory.run", name, key);
    let run = app.noted(act, begin(app, &source, by.clone(), Some(key))).await?;
    let id = run.id().to_owned();
    let (app, dry_run) = (app.clone(), settings.dry_run);
    tokio::spawn(async move { finish(&app, &source, (run, dry_run), by).await });
    Ok(id)
}

async fn begin(
    app: &App,
    source: &Arc<dyn DirectorySource>,
    by: Actor,
    key: Option<&str>,
) -> HttpResult<ImportRun> {
    let settings = source.settings();
    let place = app.uploads.directory.places.take(&settings.account)?;
    let absent = settings
        .removes_absent
        .then(|| AbsentPeople { attribute: DIRECTORY_ATTRIBUTE.to_owned(), value: settings.name.clone() });
    let new = NewImport {
        account: settings.account.clone(),
        source: format!("directory:{}", settings.name),
        by,
        skips_wrong: true,
        absent,
    };
    let run = ImportRun::begin(app, new, place).await?;
    note_run(app, settings, (run.id(), key)).await?;
    Ok(run)
}

/// Reads the directory, compares, and commits if it was asked to and no more go or change than may.
async fn finish(
    app: &App,
    source: &Arc<dyn DirectorySource>,
    (mut run, dry_run): (ImportRun, bool),
    by: Actor,
) {
    let settings = source.settings();
    if let Err(reason) = read(app, source, &mut run).await {
        tracing::warn!(directory = settings.name, reason, "a directory could not be read");
        return run.fail(reason).await;
    }
    let Ok(job) = run.compare().await else { return };
    if dry_run {
        return;
    }
    if let Err(problem) = commit_checked(app, settings, &job.id, by).await {
        tracing::warn!(
            directory = settings.name,
            import = job.id,
            problem = problem.detail(),
            "a run of a directory was not committed"
        );
    }
}

async fn commit_checked(app: &App, settings: &DirectorySettings, id: &str, by: Actor) -> HttpResult<()> {
    let (mut job, version) = crate::http::imports::job::find(app, &settings.account, id).await?;
    if let Some(reason) = too_much(&job, settings) {
        job.file.notes.push(FieldError { field: "directory".to_owned(), reason: reason.clone() });
        job.put(app, &settings.account, Expected::Version(version)).await?;
        return Err(HttpProblem::new(ProblemKind::WrongState, reason));
    }
    let act = store::Act {
        at: app.now(),
        account: settings.account.clone(),
        token: by.id.clone(),
        token_name: by.name.clone(),
        verb: "import.commit".to_owned(),
        object: id.to_owned(),
        detail: job.source.clone(),
        ..store::Act::default()
    };
    app.noted(act, commit(app, &settings.account, (job, version), by)).await?;
    Ok(())
}

/// Why a run is not committed by itself.
fn too_much(job: &ImportJob, settings: &DirectorySettings) -> Option<String> {
    let counts = job.counts.unwrap_or_default();
    let there = counts.changed + counts.unchanged + counts.gone;
    let of = |count: u64, what: &str, percent_max: u8| {
        let is_over = count * 100 > there * u64::from(percent_max);
        is_over.then(|| {
            format!(
                "{count} of {there} people would {what}, more than {percent_max} %: look at the directory, then commit or discard the import"
            )
        })
    };
    of(counts.gone, "go", settings.gone_percent_max)
        .or_else(|| of(counts.changed, "change", settings.changed_percent_max))
}

async fn read(app: &App, source: &Arc<dyn DirectorySource>, run: &mut ImportRun) -> Result<(), String> {
    // What takes the rows owns their end: where it fails, the reader stops too.
    let (sender, mut rows) = mpsc::channel(ROWS_AHEAD);
    let defaults = app.defaults.load_full();
    let name = &source.settings().name;
    let taking = async move {
        let mut row = 0;
        let mut without_device = 0;
        let mut slice = Vec::new();
        while rows.recv_many(&mut slice, ROWS_AT_ONCE).await > 0 {
            let mut people = Vec::with_capacity(slice.len());
            for one in slice.drain(..) {
                row += 1;
                match person(one, name, row, &defaults) {
                    Ok(person) => {
                        without_device += u64::from(person.devices.is_empty());
                        people.push(Ok(person));
                    }
                    Err(problems) => people.extend(problems.into_iter().map(Err)),
                }
            }
            run.take(people).await?;
        }
        run.read(FileFacts { without_device, ..FileFacts::default() }).await
    };
    let (read, taken) = tokio::join!(source.read(sender), taking);
    taken.map_err(|problem: HttpProblem| problem.detail().to_owned())?;
    read
}

/// A person of a directory, in the form that is kept.
fn person(
    DirectoryRow { place, mut person }: DirectoryRow,
    directory: &str,
    row: u64,
    defaults: &Defaults,
) -> Result<Recipient, Vec<RowProblem>> {
    person["attributes"][DIRECTORY_ATTRIBUTE] = directory.into();
    from_json(&person, defaults).map_err(|faults| {
        let problem = |fault: FieldError| RowProblem {
            row,
            field: fault.field,
            value: place.clone(),
            reason: fault.reason,
        };
        faults.into_iter().map(problem).collect()
    })
}

/// Begins the runs whose time has come.
pub(crate) async fn run_due(app: &App) {
    if app.engine.leader() != Leader::Here {
        return;
    }
    for source in app.uploads.directory.sources.load_full().iter() {
        if let Err(problem) = run_if_due(app, source).await {
            let name = &source.settings().name;
            tracing::warn!(
                directory = name,
                problem = problem.detail(),
                "a run of a directory did not begin"
            );
        }
    }
}

async fn run_if_due(app: &App, source: &Arc<dyn DirectorySource>) -> HttpResult<()> {
    let settings = source.settings();
    let Some(every) = settings.every else { return Ok(()) };
    let last = last_run(app, settings).await?;
    if next_run(last.as_ref(), every, app.now()) > app.now() {
        return Ok(());
    }
    let by = Actor { id: format!("directory:{}", settings.name), name: String::new() };
    let run = begin(app, source, by.clone(), None).await?;
    let (app, source, dry_run) = (app.clone(), source.clone(), settings.dry_run);
    tokio::spawn(async move { finish(&app, &source, (run, dry_run), by).await });
    Ok(())
}

/// The time of the next run; one that never ran is due now.
fn next_run(last: Option<&LastRun>, every: Duration, now: Timestamp) -> Timestamp {
    let every_s = i64::try_from(every.as_secs()).unwrap_or(i64::MAX / 2_000_000);
    last.map_or(now, |last| last.at.plus_s(every_s))
}

fn run_document(settings: &DirectorySettings) -> String {
    format!("directory/{}", settings.name)
}

async fn last_run(app: &App, settings: &DirectorySettings) -> HttpResult<Option<LastRun>> {
    let id = run_document(settings);
    let document = app.store.document(&settings.account, DocumentKind::ImportPart, &id).await?;
    Ok(document.and_then(|document| serde_json::from_str(&document.body).ok()))
}

async fn note_run(
    app: &App,
    settings: &DirectorySettings,
    (import, key): (&str, Option<&str>),
) -> HttpResult<()> {
    let body = json!({"import": import, "at": app.now(), "key": key}).to_string();
    let document = NewDocument { id: run_document(settings), lookup: None, due: None, body };
    let (account, now) = (&settings.account, app.now());
    app.store.put_document(account, DocumentKind::ImportPart, document, Expected::Any, now).await?;
    Ok(())
}
