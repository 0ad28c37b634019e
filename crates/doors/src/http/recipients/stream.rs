//! People in streams: imported from a file of any size in bounded memory, exported likewise.

use super::stops::{self, Stops};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::imports;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body::{self, broken, media_type};
use crate::http::request::negotiation::negotiate;
use crate::http::request::query::Query;
use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use records::{ChannelNumber, Preference, Recipient};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use store::StoreError;
use store::import::{ColumnMapping, ImportFormat, ImportReader, RowProblem, to_json};
use tokio::io::AsyncBufReadExt;

/// Imports at once.
pub(crate) const IMPORTS_MAX: usize = 4;
/// Problems listed; more are counted.
const PROBLEMS_MAX: usize = 1_000;
/// Devices of one import that are opted out.
const STOPS_MAX: usize = 2_000_000;
/// Rows staged in one call.
const STAGE_ROWS: usize = 2_000;
/// Recipients read for one piece of an export.
const EXPORT_ROWS: usize = 500;
/// Attributes that have a column in an exported CSV file.
const COLUMNS_MAX: usize = 500;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProblemPolicy {
    Reject,
    Skip,
}

pub(crate) async fn import(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["on_problem", "dry_run", "mapping"])?;
    let on_problem =
        query.word("on_problem", &[("reject", ProblemPolicy::Reject), ("skip", ProblemPolicy::Skip)])?;
    const TYPES: [&str; 4] = ["text/csv", "application/x-ndjson", "application/jsonl", "application/ndjson"];
    let format = match media_type(&headers, &TYPES)? {
        "text/csv" => ImportFormat::Csv,
        _ => ImportFormat::Ndjson,
    };
    let rows = ImportReader::new(format, (**app.defaults.load()).clone());
    let rows = rows.with_mapping(mapping_of(&query, format)?);
    if query.word("dry_run", &[("false", false), ("true", true)])? {
        if body.size_hint().exact() == Some(0) {
            let detail = "the body is empty; the file to import is needed";
            return Err(HttpProblem::new(ProblemKind::MalformedBody, detail));
        }
        let body = body::open(&headers, body)?;
        return imports::from_file(&app, &caller, (rows, on_problem == ProblemPolicy::Skip), body).await;
    }
    let _place = app.uploads.directory.places.take(caller.account())?;
    let mut reader = body::open(&headers, body)?;
    let mut import = RecipientImport::begin(&app, &caller, rows, on_problem).await?;
    match import.read(&mut reader).await {
        Ok(()) => import.publish().await,
        Err(problem) => {
            import.abandon().await;
            Err(problem)
        }
    }
}

/// What the columns of a CSV file mean, whatever they are called.
fn mapping_of(query: &Query, format: ImportFormat) -> HttpResult<ColumnMapping> {
    let wrong = |reason: String| HttpProblem::field(ProblemKind::BadQuery, "mapping", reason);
    let mapping = ColumnMapping::parse(query.all("mapping")).map_err(wrong)?;
    if !mapping.is_empty() && format != ImportFormat::Csv {
        return Err(wrong("goes with text/csv, whose columns it names".to_owned()));
    }
    Ok(mapping)
}

/// A staged import: abandoned when it is dropped before it ended, as when its client hangs up.
pub(crate) struct StagedImport {
    store: store::SharedStore,
    no: store::ImportNo,
    ended: bool,
}

impl StagedImport {
    pub(crate) fn new(store: store::SharedStore, no: store::ImportNo) -> StagedImport {
        StagedImport { store, no, ended: false }
    }

    pub(crate) fn no(&self) -> store::ImportNo {
        self.no
    }

    /// It was published or held: nothing is abandoned.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }
}

impl Drop for StagedImport {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let (store, no) = (self.store.clone(), self.no);
        tokio::spawn(async move {
            if let Err(error) = store.abandon_import(no).await {
                tracing::warn!(%error, "an import that was cut short could not be abandoned");
            }
        });
    }
}

/// One import on its way.
struct RecipientImport<'a> {
    app: &'a App,
    caller: &'a Caller,
    import: StagedImport,
    reader: Option<ImportReader>,
    on_problem: ProblemPolicy,
    rows: Vec<Recipient>,
    /// What its rows say of stops; noted before they are published.
    stops: Stops,
    problems: Vec<RowProblem>,
    problem_count: u64,
    /// Rows staged.
    staged: usize,
    /// The file as a whole cannot be read: no row of it may be skipped over.
    is_unreadable: bool,
}

impl<'a> RecipientImport<'a> {
    async fn begin(
        app: &'a App,
        caller: &'a Caller,
        reader: ImportReader,
        on_problem: ProblemPolicy,
    ) -> HttpResult<RecipientImport<'a>> {
        let no = app.store.begin_import(caller.account(), app.now()).await?;
        let import = StagedImport::new(app.store.clone(), no);
        let (rows, problems) = (Vec::new(), Vec::new());
        Ok(RecipientImport {
            app,
            caller,
            import,
            reader: Some(reader),
            on_problem,
            rows,
            stops: Stops::new(),
            problems,
            problem_count: 0,
            staged: 0,
            is_unreadable: false,
        })
    }

    async fn read(&mut self, body: &mut body::BodyReader) -> HttpResult<()> {
        loop {
            let octets = body.fill_buf().await.map_err(|error| broken(&error))?;
            let (piece, length) = (Bytes::copy_from_slice(octets), octets.len());
            body.consume(length);
            self.take(piece).await?;
            if length == 0 {
                return Ok(());
            }
            if self.is_unreadable {
                return Ok(());
            }
        }
    }

    /// Parses a piece (the empty one ends the file) off the runtime's threads, and stages the rows that it
    /// completes.
    async fn take(&mut self, piece: Bytes) -> HttpResult<()> {
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        let length = piece.len();
        let parsed = tokio::task::spawn_blocking(move || {
            let mut out = Vec::new();
            if piece.is_empty() {
                reader.finish(&mut out);
            } else {
                reader.feed(&piece, &mut out);
            }
            (reader, out)
        });
        let (reader, out) =
            parsed.await.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
        self.is_unreadable |= length > 0 && reader.is_over();
        self.reader = Some(reader);
        for row in out {
            match row {
                Ok(mut recipient) => {
                    self.stops.extend(stops::taken(std::slice::from_mut(&mut recipient)));
                    self.rows.push(recipient);
                }
                Err(problem) => self.note(problem),
            }
        }
        if self.stops.len() > STOPS_MAX {
            let reason =
                format!("says of more than {STOPS_MAX} devices that they are opted out: import it in pieces");
            return Err(HttpProblem::field(ProblemKind::InvalidFields, "opted_out", reason));
        }
        // The rows of a file that will be rejected need not be kept; its problems are still reported.
        if self.on_problem == ProblemPolicy::Reject && self.problem_count > 0 {
            self.rows.clear();
        }
        while self.rows.len() >= STAGE_ROWS {
            let rest = self.rows.split_off(STAGE_ROWS);
            let rows = std::mem::replace(&mut self.rows, rest);
            self.staged += rows.len();
            self.app.store.stage(self.import.no, rows).await?;
        }
        Ok(())
    }

    fn note(&mut self, problem: RowProblem) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    async fn publish(mut self) -> HttpResult<Response> {
        if self.problem_count > 0 && (self.on_problem == ProblemPolicy::Reject || self.is_unreadable) {
            let problem = self.rejected();
            self.abandon().await;
            return Err(problem);
        }
        let rows = std::mem::take(&mut self.rows);
        let detail = format!("{} rows, {} problems", self.staged + rows.len(), self.problem_count);
        let published = async {
            if !rows.is_empty() {
                self.app.store.stage(self.import.no, rows).await?;
            }
            let act = self.app.act(self.caller, "recipients.import", "", &detail);
            let stops = std::mem::take(&mut self.stops);
            let publishing = async {
                engine::Stops::of(&self.app.engine).opt_out(self.caller.account(), stops).await?;
                Ok::<_, HttpProblem>(self.app.store.publish_import(self.import.no).await?)
            };
            self.app.noted(act, publishing).await
        };
        match published.await {
            Ok(imported) => {
                self.import.ended = true;
                Ok(Json(self.taken(imported)).into_response())
            }
            Err(error) => {
                self.abandon().await;
                Err(error)
            }
        }
    }

    fn view(&self, imported: u64) -> Value {
        json!({"imported": imported, "problems": self.problems, "problem_count": self.problem_count})
    }

    /// The same of a file that was taken, with what its importer should know beside the problems.
    fn taken(&self, imported: u64) -> Value {
        let mut view = self.view(imported);
        let summary = self.reader.as_ref().map(ImportReader::summary).map(|summary| json!(summary));
        if let (Value::Object(view), Some(Value::Object(summary))) = (&mut view, summary) {
            view.extend(summary);
        }
        view
    }

    /// The problem document of a file that was rejected: its rows are fields, and listed as an import's
    /// answer lists them too.
    fn rejected(&self) -> HttpProblem {
        let mut fields = Fields::default();
        for problem in &self.problems {
            let dot = if problem.field.is_empty() { "" } else { "." };
            fields.push(format!("row {}{dot}{}", problem.row, problem.field), problem.reason.clone());
        }
        HttpProblem::fields(ProblemKind::InvalidFields, fields).with_members(self.view(0))
    }

    async fn abandon(&mut self) {
        self.import.ended = true;
        if let Err(error) = self.app.store.abandon_import(self.import.no).await {
            tracing::warn!(%error, "an import could not be abandoned");
        }
    }
}

pub(crate) async fn export(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response> {
    Query::read(&uri, &[])?;
    let wanted = negotiate(&headers, &["application/x-ndjson", "text/csv"])?;
    let csv = wanted == "text/csv";
    app.note(app.act(&caller, "recipients.export", "", wanted)).await?;
    let columns = if csv { Some(columns(&app, &caller).await?) } else { None };
    let name = if csv { "recipients.csv" } else { "recipients.ndjson" };
    let head = columns.as_ref().map(|columns| columns.header());
    let export = RecipientExport { app, caller, columns, after: Some(String::new()), head };
    let pieces =
        stream::unfold(export, |mut export| async move { export.next().await.map(|piece| (piece, export)) });
    let content_type = if csv { "text/csv; charset=utf-8" } else { wanted };
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(([(CONTENT_TYPE, content_type), (CONTENT_DISPOSITION, &disposition)], Body::from_stream(pieces))
        .into_response())
}

struct RecipientExport {
    app: App,
    caller: Caller,
    columns: Option<CsvColumns>,
    /// Nothing once it is over.
    after: Option<String>,
    head: Option<String>,
}

impl RecipientExport {
    async fn next(&mut self) -> Option<io::Result<String>> {
        if let Some(head) = self.head.take() {
            return Some(Ok(head));
        }
        let after = self.after.take()?;
        let account = self.caller.account();
        let mut slice = match self.app.store.recipients_after(account, &after, EXPORT_ROWS).await {
            Ok(slice) => slice,
            Err(error) => return Some(Err(io::Error::other(error))),
        };
        if let Err(error) = engine::Stops::of(&self.app.engine).mark_stops(account, &mut slice).await {
            return Some(Err(io::Error::other(error.to_string())));
        }
        let last = slice.last()?;
        self.after = Some(last.id.clone());
        let mut piece = String::new();
        for recipient in &slice {
            match &self.columns {
                Some(columns) => piece.push_str(&columns.row(recipient)),
                None => piece.push_str(&format!("{}\n", to_json(recipient))),
            }
        }
        Some(Ok(piece))
    }
}

/// The columns of a CSV file that has a place for every attribute there is.
struct CsvColumns {
    attributes: Vec<String>,
}

/// Looks through everybody for the names of attributes, on a thread of its own.
async fn columns(app: &App, caller: &Caller) -> HttpResult<CsvColumns> {
    let (store, account) = (app.store.clone(), caller.account().to_owned());
    let scan = tokio::task::spawn_blocking(move || {
        let mut names: BTreeSet<String> = BTreeSet::new();
        store.scan_recipients(&account, &mut |slice| {
            for name in slice.iter().flat_map(|recipient| recipient.attributes.keys()) {
                if names.len() <= COLUMNS_MAX && !names.contains(name) {
                    names.insert(name.clone());
                }
            }
            names.len() <= COLUMNS_MAX
        })?;
        Ok::<_, StoreError>(names)
    });
    let names = scan.await.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))??;
    if names.len() > COLUMNS_MAX {
        let detail = format!(
            "there are more than {COLUMNS_MAX} attributes, too many for columns; request application/x-ndjson"
        );
        return Err(HttpProblem::new(ProblemKind::NotAcceptable, detail));
    }
    Ok(CsvColumns { attributes: names.into_iter().collect() })
}

impl CsvColumns {
    fn header(&self) -> String {
        let fixed = ["id", "name", "language", "time_zone", "groups"].into_iter();
        let attributes = self.attributes.iter().map(String::as_str);
        let fixed = fixed.chain(channels::names()).chain(["lat", "lon", "opted_out", "prefers"]);
        csv_line(fixed.map(|name: &str| name).chain(attributes))
    }

    fn row(&self, recipient: &Recipient) -> String {
        let of = |channel: ChannelNumber| {
            let devices = recipient.devices.iter().filter(|device| device.channel == channel);
            devices.map(|device| device.address.as_str()).collect::<Vec<_>>().join(";")
        };
        let mut cells = vec![
            recipient.id.clone(),
            recipient.name.clone(),
            recipient.language.clone().unwrap_or_default(),
            recipient.time_zone.clone().unwrap_or_default(),
            recipient.groups.join(";"),
        ];
        cells.extend(channels::numbers().map(of));
        let place = recipient.position;
        cells.push(place.map(|place| place.lat.to_string()).unwrap_or_default());
        cells.push(place.map(|place| place.lon.to_string()).unwrap_or_default());
        let out = recipient.devices.iter().filter(|device| device.opted_out);
        let out = out.map(|device| format!("{}:{}", channels::name(device.channel), device.address));
        cells.push(out.collect::<Vec<_>>().join(";"));
        let prefers = recipient.prefers.map(|preference| match preference {
            Preference::Text => "text",
            Preference::Voice => "voice",
        });
        cells.push(prefers.unwrap_or_default().to_owned());
        cells.extend(
            self.attributes.iter().map(|name| recipient.attributes.get(name).cloned().unwrap_or_default()),
        );
        csv_line(cells.iter().map(String::as_str))
    }
}

/// A record of RFC 4180, section 2, in which no cell is a formula; an import reads it back as it was.
pub(crate) fn csv_line<'c>(cells: impl Iterator<Item = &'c str>) -> String {
    let mut out = String::new();
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(',');
        }
        let cell = store::spreadsheet::guarded(cell);
        if cell.contains([',', '"', '\n', '\r']) || cell.trim() != &*cell {
            out.push_str(&format!("\"{}\"", cell.replace('"', "\"\"")));
        } else {
            out.push_str(&cell);
        }
    }
    out.push_str("\r\n");
    out
}
