//! `campanile recipients`: import with a progress bar, export, list.

use super::args::{Export, ExportFormat, Import, ListRecipients, OnProblem, PeopleFormat};
use super::client::{ApiClient, segment, sentence};
use super::{Failure, Outcome, print, table};
use futures_util::stream::{self, Stream};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Body, Method, Response, StatusCode};
use serde_json::{Value, json};
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The file is read and sent in pieces of so many octets.
const PIECE_OCTETS: usize = 256 * 1024;
/// What takes longer shows how far it is.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// All recipients.
const ALL: &str = "/api/v1/recipients:export";
/// Rows with problems that are shown.
const ROWS_SHOWN: usize = 50;
/// Devices shown of one recipient in a list.
const DEVICES_SHOWN: usize = 3;

type Source = Pin<Box<dyn AsyncRead + Send>>;

pub(super) async fn import(import: Import) -> Outcome {
    let client = ApiClient::new(&import.server)?;
    let on_problem = match import.on_problem {
        OnProblem::Reject => "reject",
        OnProblem::Skip => "skip",
    };
    let path = format!("/api/v1/recipients:import?on_problem={on_problem}");
    let response = upload(&client, &path, (&import.file, import.kind)).await?;
    let status = response.status();
    let text = response.text().await.map_err(|error| client.unreachable(&error))?;
    let answer: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    // A file that was rejected is told like one that was imported: by its rows.
    let is_told = status.is_success()
        || (status == StatusCode::UNPROCESSABLE_ENTITY && answer["problem_count"].is_u64());
    if !is_told {
        return Err(Failure::Failed(sentence(status, &text)));
    }
    import_outcome(&answer, status.is_success(), import.format.is_json())
}

/// Sends a file of people; the answer, whatever its status.
pub(super) async fn upload(
    client: &ApiClient,
    path: &str,
    (file, kind): (&Path, Option<PeopleFormat>),
) -> Result<Response, Failure> {
    if file.is_dir() {
        let why = "is a folder: name the file in it, of CSV or NDJSON, that has the people";
        return Err(Failure::Failed(format!("{} {why}", file.display())));
    }
    let (media_type, encoding) = content(file, kind)?;
    let (source, octets) = open(file).await?;
    let bar = progress(octets);
    let mut request = client
        .request(Method::POST, path)
        .header(CONTENT_TYPE, media_type)
        .body(Body::wrap_stream(pieces(source, bar.clone())));
    if let Some(encoding) = encoding {
        request = request.header(CONTENT_ENCODING, encoding);
    }
    let response = request.send().await.map_err(|error| client.unreachable(&error));
    bar.finish_and_clear();
    response
}

/// What became of the import.
fn import_outcome(answer: &Value, is_success: bool, json: bool) -> Outcome {
    let problems = answer["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    let count = answer["problem_count"].as_u64().unwrap_or(problems.len() as u64);
    let imported = answer["imported"].as_u64().unwrap_or(0);
    if json {
        let mut out = json!({"imported": imported, "problem_count": count, "problems": problems});
        for told in ["notes", "attributes", "without_device", "without_device_ids"] {
            if !answer[told].is_null() {
                out[told] = answer[told].clone();
            }
        }
        print(&format!("{out}\n"))?;
    } else {
        told(answer).iter().for_each(|line| eprintln!("{line}"));
        for problem in problems.iter().take(ROWS_SHOWN) {
            eprintln!("{}", row_line(problem));
        }
        let shown = problems.len().min(ROWS_SHOWN) as u64;
        if count > shown {
            eprintln!("and {} more problems", count - shown);
        }
    }
    let rows = if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") };
    if !is_success {
        let hint = "nothing was imported (--on-problem skip takes the other rows)";
        return Err(Failure::Failed(format!("{rows}: {hint}")));
    }
    let people = if imported == 1 { "1 recipient".to_owned() } else { format!("{imported} recipients") };
    match (json, count) {
        (true, _) => Ok(()),
        (false, 0) => print(&format!("{people} imported\n")),
        (false, _) => print(&format!("{people} imported, {rows}: those rows were skipped\n")),
    }
}

/// What an importer should know beside the problems, a line each.
pub(super) fn told(answer: &Value) -> Vec<String> {
    let texts = |key: &str| -> Vec<String> {
        let list = answer[key].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(table::one_line).collect()
    };
    let notes = answer["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |note: &Value, key: &str| table::one_line(note[key].as_str().unwrap_or_default());
    // A note on a directory is on the run; all others are on columns.
    let is_of_directory = answer["source"].as_str().is_some_and(|source| source.starts_with("directory:"));
    let line = |note: &Value| match is_of_directory {
        true => text(note, "reason"),
        false => format!("column {} {}", text(note, "field"), text(note, "reason")),
    };
    let mut lines: Vec<String> = notes.iter().map(line).collect();
    let attributes = texts("attributes");
    if !attributes.is_empty() {
        lines.push(format!("attributes: {}", attributes.join(", ")));
    }
    let without = answer["without_device"].as_u64().unwrap_or(0);
    if without > 0 {
        let ids = texts("without_device_ids");
        let ids = ids.iter().take(DEVICES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if without > DEVICES_SHOWN as u64 { ", …" } else { "" };
        let ids = if ids.is_empty() { String::new() } else { format!(" ({ids}{more})") };
        lines.push(format!("without any device, so that nothing reaches them: {without}{ids}"));
    }
    lines
}

fn row_line(problem: &Value) -> String {
    let text = |key: &str| table::one_line(problem[key].as_str().unwrap_or_default());
    let field = text("field");
    let comma = if field.is_empty() { "" } else { ", " };
    format!("row {}{comma}{field}: {}", problem["row"], text("reason"))
}

/// The media type of what a file holds, by its name if it is not said, and how it is compressed.
pub(super) fn content(
    file: &Path,
    kind: Option<PeopleFormat>,
) -> Result<(&'static str, Option<&'static str>), Failure> {
    let name = file.to_string_lossy().to_lowercase();
    let (name, encoding) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
        (Some(name), _) => (name.to_owned(), Some("gzip")),
        (_, Some(name)) => (name.to_owned(), Some("zstd")),
        _ => (name, None),
    };
    let by_name = match name.rsplit_once('.') {
        Some((_, "csv")) => Some(PeopleFormat::Csv),
        Some((_, "ndjson" | "jsonl")) => Some(PeopleFormat::Ndjson),
        _ => None,
    };
    let kind = kind.or(by_name).ok_or_else(|| {
        let file = file.display();
        Failure::Usage(format!("{file}: the name does not show the format; add --type csv or --type ndjson"))
    })?;
    Ok((media_type(kind), encoding))
}

fn media_type(kind: PeopleFormat) -> &'static str {
    match kind {
        PeopleFormat::Csv => "text/csv",
        PeopleFormat::Ndjson => "application/x-ndjson",
    }
}

async fn open(path: &Path) -> Result<(Source, Option<u64>), Failure> {
    if path.as_os_str() == "-" {
        let own = io::stdin().as_fd().try_clone_to_owned()?;
        return Ok((Box::pin(tokio::fs::File::from_std(own.into())), None));
    }
    let fails = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    let file = tokio::fs::File::open(path).await.map_err(fails)?;
    let octets = file.metadata().await.map_err(fails)?.len();
    Ok((Box::pin(file), Some(octets)))
}

/// The file piece by piece; the bar follows.
fn pieces(source: Source, bar: ProgressBar) -> impl Stream<Item = io::Result<Vec<u8>>> + Send {
    stream::unfold(Some((source, bar)), |state| async move {
        let (mut source, bar) = state?;
        let mut piece = vec![0; PIECE_OCTETS];
        match source.read(&mut piece).await {
            Ok(0) => {
                bar.set_message("the server makes it visible");
                None
            }
            Ok(read) => {
                piece.truncate(read);
                bar.inc(read as u64);
                reveal(&bar);
                Some((Ok(piece), Some((source, bar))))
            }
            Err(error) => Some((Err(error), None)),
        }
    })
}

/// Shows what has taken long: nobody needs a bar for less.
pub(super) fn reveal(bar: &ProgressBar) {
    if bar.elapsed() >= SHOWN_AFTER && bar.is_hidden() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
}

/// On a terminal only, once it is revealed.
fn progress(octets: Option<u64>) -> ProgressBar {
    let (bar, template) = match octets {
        Some(octets) => {
            (ProgressBar::new(octets), "{bar:40} {bytes}/{total_bytes}  {bytes_per_sec}  {eta}  {msg}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}  {bytes_per_sec}  {msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

pub(super) async fn export(export: Export) -> Outcome {
    let client = ApiClient::new(&export.server)?;
    let (path, accept) = source(&export)?;
    let path = &*path;
    match &export.output {
        None => client.copy(path, accept, &mut BufWriter::new(io::stdout().lock())).await,
        Some(file) => {
            let created = std::fs::File::create(file);
            let created = created.map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
            client.copy(path, accept, &mut BufWriter::new(created)).await
        }
    }
}

/// The path that is exported, and the media type that is asked for.
pub(super) fn source(export: &Export) -> Result<(String, &'static str), Failure> {
    match (&export.id, export.format) {
        (Some(id), None | Some(ExportFormat::Json)) => {
            Ok((format!("/api/v1/recipients/{}/export", segment(id)), "application/json"))
        }
        (Some(_), Some(_)) => Err(Failure::Usage("one person is exported as JSON: --format json".to_owned())),
        (None, Some(ExportFormat::Json)) => Err(Failure::Usage(
            "all recipients are exported as --format csv or ndjson; json needs an ID".to_owned(),
        )),
        (None, None | Some(ExportFormat::Csv)) => Ok((ALL.to_owned(), media_type(PeopleFormat::Csv))),
        (None, Some(ExportFormat::Ndjson)) => Ok((ALL.to_owned(), media_type(PeopleFormat::Ndjson))),
    }
}

pub(super) async fn list(list: ListRecipients) -> Outcome {
    let client = ApiClient::new(&list.server)?;
    let items = client.list("/api/v1/recipients", list.filter.as_deref(), list.limit.limit).await?;
    if list.format.is_json() {
        return items.iter().try_for_each(|recipient| print(&format!("{recipient}\n")));
    }
    print(&table::columns(["id", "name", "groups", "devices"], items.iter().map(row)))
}

fn row(recipient: &Value) -> [String; 4] {
    let text = |key: &str| recipient[key].as_str().unwrap_or_default().to_owned();
    let groups: Vec<&str> =
        recipient["groups"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let devices = recipient["devices"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut shown: Vec<String> = devices.iter().take(DEVICES_SHOWN).map(device).collect();
    if devices.len() > DEVICES_SHOWN {
        shown.push(format!("and {} more", devices.len() - DEVICES_SHOWN));
    }
    [text("id"), text("name"), groups.join(", "), shown.join(", ")]
}

fn device(device: &Value) -> String {
    let text = |key: &str| device[key].as_str().unwrap_or_default();
    let off = if device["enabled"] == false { " (off)" } else { "" };
    let out = if device["opted_out"] == true { " (opted out)" } else { "" };
    format!("{}:{}{off}{out}", text("channel"), text("address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_importer_is_told_of_columns_and_of_people_without_a_device() {
        let answer = json!({
            "notes": [{"field": "mobile", "reason": "is taken for sms addresses: call the column sms to be sure"}],
            "attributes": ["floor", "site"], "without_device": 5, "without_device_ids": ["a", "b", "c", "d", "e"],
        });
        let lines = told(&answer);
        assert_eq!(lines[0], "column mobile is taken for sms addresses: call the column sms to be sure");
        assert_eq!(lines[1], "attributes: floor, site");
        assert_eq!(lines[2], "without any device, so that nothing reaches them: 5 (a, b, c, …)");
        assert!(told(&json!({"imported": 1, "without_device": 0, "attributes": []})).is_empty());
    }
}
