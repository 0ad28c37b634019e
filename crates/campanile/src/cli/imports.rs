//! `campanile import`: imports that are looked at first.

use super::args::{OnProblem, One};
use super::client::{ApiClient, encoded, segment, sentence};
use super::import_args::{CheckImport, CommitImport, ImportDirectory, ImportProblems, ListImports};
use super::{Failure, Outcome, people, print, table};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reqwest::Method;
use reqwest::header::{ETAG, IF_MATCH};
use serde_json::Value;
use std::io::BufWriter;
use std::path::Path;
use std::time::{Duration, Instant};

const IMPORTS: &str = "/api/v1/imports";
/// Between two looks at an import that is under way, at first and at most.
const LOOK_EVERY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// A directory's run that is to be committed is looked after for so long once it was compared.
const COMMIT_WAIT: Duration = Duration::from_secs(60);
/// Problems that are shown.
const PROBLEMS_SHOWN: usize = 20;

/// An import as it was seen, with its version.
struct SeenImport {
    job: Value,
    version: String,
}

impl SeenImport {
    async fn of(client: &ApiClient, id: &str) -> Result<SeenImport, Failure> {
        let request = client.request(Method::GET, &path(id));
        let response = client.send(request).await?;
        let version = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok());
        let version = version.unwrap_or_default().to_owned();
        let text = response.text().await.map_err(|error| client.unreachable(&error))?;
        Ok(SeenImport { job: read(&text)?, version })
    }

    fn id(&self) -> &str {
        text(&self.job, "id")
    }

    fn state(&self) -> &str {
        text(&self.job, "state")
    }
}

fn path(id: &str) -> String {
    format!("{IMPORTS}/{}", segment(id))
}

fn read(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Failed(format!("the server answered with something other than JSON: {error}"))
    })
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

pub(super) async fn check(check: CheckImport) -> Outcome {
    let client = ApiClient::new(&check.server)?;
    let mut query = vec![("dry_run", "true".to_owned()), ("on_problem", word(check.on_problem).to_owned())];
    query.extend(check.mapping.iter().map(|mapping| ("mapping", mapping.clone())));
    let path = format!("/api/v1/recipients:import?{}", encoded(&query));
    let response = people::upload(&client, &path, (&check.file, check.kind)).await?;
    let status = response.status();
    let answer = response.text().await.map_err(|error| client.unreachable(&error))?;
    if !status.is_success() {
        return Err(Failure::Failed(sentence(status, &answer)));
    }
    let mut seen = compared(&client, text(&read(&answer)?, "id")).await?;
    if let Some(file) = &check.problems {
        write_problems(&client, seen.id(), file).await?;
    }
    let is_clean = seen.job["counts"]["wrong"] == 0 || check.on_problem == OnProblem::Skip;
    if check.commit && seen.state() == "ready" && is_clean {
        // What was compared just now, and nothing that somebody decided meanwhile.
        let request = client.request(Method::POST, &format!("{IMPORTS}/{}:commit", segment(seen.id())));
        seen.job = client.json(request.header(IF_MATCH, &seen.version)).await?;
    }
    said(&seen.job, check.format.is_json())?;
    match check.commit && seen.state() == "ready" {
        true => Err(Failure::Failed(format!(
            "rows are wrong, so nothing was committed (campanile import commit {} --on-problem skip leaves them out)",
            seen.id()
        ))),
        false => Ok(()),
    }
}

pub(super) async fn directory(run: ImportDirectory) -> Outcome {
    let client = ApiClient::new(&run.server)?;
    let path = format!("/api/v1/directories/{}:run?dry_run={}", segment(&run.name), !run.commit);
    let begun = client.post(&path, None).await?;
    let mut seen = compared(&client, text(&begun, "id")).await?;
    if run.commit {
        // The server commits it a moment later, or notes why it does not.
        let is_decided = |seen: &SeenImport| {
            seen.state() != "ready" || seen.job["notes"].as_array().is_some_and(|notes| !notes.is_empty())
        };
        let until = Instant::now() + COMMIT_WAIT;
        while !is_decided(&seen) && Instant::now() < until {
            tokio::time::sleep(LOOK_EVERY.0).await;
            seen = SeenImport::of(&client, text(&begun, "id")).await?;
        }
    }
    said(&seen.job, run.format.is_json())?;
    match run.commit && seen.state() == "ready" {
        true => Err(Failure::Failed("it was not committed: it waits for a decision".to_owned())),
        false => Ok(()),
    }
}

/// Waits until an import was compared, or failed.
async fn compared(client: &ApiClient, id: &str) -> Result<SeenImport, Failure> {
    let begun = Instant::now();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        .with_style(ProgressStyle::default_spinner());
    let (mut every, longest) = LOOK_EVERY;
    loop {
        let seen = SeenImport::of(client, id).await?;
        let doing = match seen.state() {
            "reading" => "the server reads",
            "comparing" => "the server compares with the people there are",
            _ => {
                bar.finish_and_clear();
                return Ok(seen);
            }
        };
        people::reveal(&bar);
        bar.set_message(format!("{doing}, for {} s", begun.elapsed().as_secs()));
        bar.tick();
        tokio::time::sleep(every).await;
        every = (every * 2).min(longest);
    }
}

pub(super) async fn list(list: ListImports) -> Outcome {
    let items = ApiClient::new(&list.server)?.list(IMPORTS, None, list.limit.limit).await?;
    if list.format.is_json() {
        return items.iter().try_for_each(|job| print(&format!("{job}\n")));
    }
    let row = |job: &Value| {
        let count = |key: &str| job["counts"][key].to_string();
        let own = |key: &str| text(job, key).to_owned();
        [
            own("id"),
            own("state"),
            own("source"),
            own("created"),
            count("new"),
            count("changed"),
            count("gone"),
            count("wrong"),
        ]
    };
    let header = ["id", "state", "source", "created", "#new", "#changed", "#gone", "#wrong"];
    print(&table::columns(header, items.iter().map(row)))
}

pub(super) async fn show(one: One) -> Outcome {
    let seen = SeenImport::of(&ApiClient::new(&one.server)?, &one.id).await?;
    match one.format.is_json() {
        true => print(&format!("{}\n", seen.job)),
        false => print(&shown(&seen.job)),
    }
}

pub(super) async fn problems(problems: ImportProblems) -> Outcome {
    let client = ApiClient::new(&problems.server)?;
    match &problems.output {
        Some(file) => write_problems(&client, &problems.id, file).await,
        None => {
            let path = format!("{}/problems.csv", path(&problems.id));
            client.copy(&path, "text/csv", &mut BufWriter::new(std::io::stdout().lock())).await
        }
    }
}

async fn write_problems(client: &ApiClient, id: &str, file: &Path) -> Outcome {
    let created = std::fs::File::create(file);
    let created = created.map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    client.copy(&format!("{}/problems.csv", path(id)), "text/csv", &mut BufWriter::new(created)).await
}

pub(super) async fn commit(commit: CommitImport) -> Outcome {
    decide(commit.one, &format!("commit?on_problem={}", word(commit.on_problem))).await
}

/// Commits, discards or undoes an import.
pub(super) async fn decide(one: One, verb: &str) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    let job = client.post(&format!("{}:{verb}", path(&one.id)), None).await?;
    said(&job, one.format.is_json())
}

fn word(on_problem: OnProblem) -> &'static str {
    match on_problem {
        OnProblem::Reject => "reject",
        OnProblem::Skip => "skip",
    }
}

/// Says what an import is; a failure if it failed.
fn said(job: &Value, is_json: bool) -> Outcome {
    match is_json {
        true => print(&format!("{job}\n"))?,
        false => print(&shown(job))?,
    }
    match text(job, "state") {
        "failed" => Err(Failure::Failed(if is_json {
            String::new()
        } else {
            format!("the import failed: {}", table::one_line(text(job, "failure")))
        })),
        _ => Ok(()),
    }
}

/// An import for people: what it does, what is wrong, what may be done next.
fn shown(job: &Value) -> String {
    let id = text(job, "id");
    let count = |key: &str| job["counts"][key].as_u64().unwrap_or(0);
    let counts = ["new", "changed", "unchanged", "gone", "wrong"].map(|key| format!("{} {key}", count(key)));
    let mut lines = vec![
        format!("import {id}: {} (from {})", text(job, "state"), table::one_line(text(job, "source"))),
        counts.join(", "),
    ];
    let columns = job["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !columns.is_empty() {
        let column =
            |one: &Value| table::one_line(&format!("{} is {}", text(one, "column"), text(one, "field")));
        lines.push(format!("columns: {}", columns.iter().map(column).collect::<Vec<_>>().join(", ")));
    }
    lines.extend(people::told(job));
    let problems = job["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    for problem in problems.iter().take(PROBLEMS_SHOWN) {
        let column = table::one_line(text(problem, "column"));
        let comma = if column.is_empty() { "" } else { ", " };
        lines.push(format!(
            "row {}{comma}{column}: {}",
            problem["row"],
            table::one_line(text(problem, "reason"))
        ));
    }
    let rest =
        job["problem_count"].as_u64().unwrap_or(0).saturating_sub(problems.len().min(PROBLEMS_SHOWN) as u64);
    if rest > 0 {
        lines.push(format!("and {rest} more problems: campanile import problems {id}"));
    }
    lines.extend(next(job, id));
    lines.join("\n") + "\n"
}

/// What may be done next.
fn next(job: &Value, id: &str) -> Option<String> {
    match text(job, "state") {
        "ready" if job["counts"]["wrong"] != job["counts"]["left_out"] => {
            Some(format!("next: campanile import commit {id} --on-problem skip, or discard {id}"))
        }
        "ready" => Some(format!("next: campanile import commit {id}, or discard {id}")),
        "committed" => {
            Some(format!("it can be undone until {}: campanile import undo {id}", text(job, "undo_until")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(state: &str, wrong: u64) -> Value {
        json!({"id": "f1", "state": state, "source": "file", "problem_count": wrong, "undo_until": "2026-11-19T06:26:40Z",
            "counts": {"new": 412, "changed": 11_803, "unchanged": 6_025, "gone": 0, "wrong": wrong, "left_out": 0},
            "columns": [{"column": "Mobil", "field": "sms"}], "notes": [], "attributes": ["floor"], "without_device": 0,
            "problems": [{"row": 7, "column": "Mobil", "value": "070 \u{1b}[31m", "reason": "is no\u{1b}[31m number"}]})
    }

    #[test]
    fn an_import_is_said_with_its_counts_columns_problems_and_what_comes_next() {
        let said = shown(&job("ready", 3));
        for words in [
            "import f1: ready (from file)\n",
            "412 new, 11803 changed, 6025 unchanged, 0 gone, 3 wrong\n",
            "columns: Mobil is sms\n",
            "attributes: floor\n",
            "row 7, Mobil: is no [31m number\n",
            "and 2 more problems: campanile import problems f1\n",
            "next: campanile import commit f1 --on-problem skip, or discard f1\n",
        ] {
            assert!(said.contains(words), "{words} is not in {said}");
        }
        assert!(!said.contains('\u{1b}'));
        assert!(shown(&job("committed", 0)).contains("until 2026-11-19T06:26:40Z: campanile import undo f1"));
        assert!(shown(&job("ready", 0)).ends_with("next: campanile import commit f1, or discard f1\n"));
        assert_eq!(next(&job("undone", 0), "f1"), None);
    }

    #[test]
    fn an_import_that_failed_is_a_failure_with_its_reason() {
        let mut failed = job("failed", 0);
        failed["failure"] = "the file cannot be read to its end".into();
        let Err(Failure::Failed(why)) = said(&failed, false) else { panic!("it failed") };
        assert_eq!(why, "the import failed: the file cannot be read to its end");
        assert_eq!(said(&job("ready", 1), false), Ok(()));
    }
}
