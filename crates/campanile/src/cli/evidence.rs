//! `campanile evidence`: the key and exports, from a server. `campanile verify`: an export, offline.

use super::client::{ApiClient, Work};
use super::evidence_args::{EvidenceCommand, EvidenceKey, ExportEvidence, VerifyEvidence};
use super::{Failure, Outcome, print};
use crate::evidence_keeper::roots_of;
use evidence::timestamp::TimestampToken;
use evidence::{CheckedExport, Checker, EvidenceError, LINE_OCTETS_MAX, PublicKey};
use futures_util::StreamExt;
use reqwest::Method;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

pub(super) fn work(command: EvidenceCommand) -> Work {
    match command {
        EvidenceCommand::Key(command) => Box::pin(key(command)),
        EvidenceCommand::Export(command) => Box::pin(export(command)),
    }
}

async fn key(command: EvidenceKey) -> Outcome {
    let key = ApiClient::new(&command.server)?.get("/api/v1/evidence-key").await?;
    match command.format.is_json() {
        true => print(&format!("{key}\n")),
        false => print(key["pem"].as_str().unwrap_or_default()),
    }
}

async fn export(command: ExportEvidence) -> Outcome {
    let client = ApiClient::new(&command.server)?;
    let path = format!("/api/v1/alerts/{}/evidence/export", command.id);
    let answer = client.send(client.request(Method::GET, &path)).await?;
    let mut body = answer.bytes_stream();
    let mut out = io::stdout().lock();
    while let Some(piece) = body.next().await {
        out.write_all(&piece.map_err(|error| Failure::Failed(error.without_url().to_string()))?)?;
    }
    Ok(out.flush()?)
}

/// Sees nobody else: file, key and roots are all that it needs.
pub(super) fn verify(command: &VerifyEvidence) -> Outcome {
    match verified(command) {
        Ok((export, stamp)) => print(&if command.format.is_json() {
            said_json(&export, stamp.as_ref())
        } else {
            said(&export, stamp.as_ref())
        }),
        Err(Failure::Failed(why)) if command.format.is_json() => {
            print(&format!("{}\n", json!({"ok": false, "problem": why})))?;
            Err(Failure::Failed(String::new()))
        }
        Err(failure) => Err(failure),
    }
}

/// What a time stamp says.
struct CheckedStamp {
    at: String,
    /// Its authority is of one of the roots that were given.
    is_trusted: bool,
}

fn verified(command: &VerifyEvidence) -> Result<(CheckedExport, Option<CheckedStamp>), Failure> {
    let key = key_of(&command.key)?;
    let wrong = |error: io::Error| Failure::Failed(format!("{}: {error}", command.file.display()));
    let mut lines = Lines(BufReader::new(File::open(&command.file).map_err(wrong)?));
    let header = lines.next().map_err(wrong)?.unwrap_or_default();
    let mut checker = Checker::new(&header, &key, command.line).map_err(failed)?;
    while let Some(line) = lines.next().map_err(wrong)? {
        checker.line(&line).map_err(failed)?;
    }
    let export = checker.end().map_err(failed)?;
    let stamp = stamp_of(&export, command.timestamp_ca.as_deref())?;
    Ok((export, stamp))
}

fn failed(error: EvidenceError) -> Failure {
    Failure::Failed(error.to_string())
}

/// A file's content if there is such a file, else the text itself.
fn key_of(text: &str) -> Result<PublicKey, Failure> {
    let content = std::fs::read_to_string(text).unwrap_or_else(|_| text.to_owned());
    PublicKey::parse(&content).map_err(|error| Failure::Usage(format!("--key: {error}")))
}

fn stamp_of(export: &CheckedExport, roots: Option<&Path>) -> Result<Option<CheckedStamp>, Failure> {
    let signed = export.header.signed();
    let Some(token) = &export.header.timestamp else {
        return match roots {
            Some(_) => Err(Failure::Failed("the header has no time stamp".to_owned())),
            None => Ok(None),
        };
    };
    let token = TimestampToken::parse(token).map_err(failed)?;
    let stamp = match roots {
        Some(file) => {
            let roots = roots_of(file).map_err(|why| Failure::Usage(format!("--timestamp-ca: {why}")))?;
            token.check_authority(signed.as_bytes(), &roots)
        }
        None => token.check(signed.as_bytes()),
    };
    Ok(Some(CheckedStamp { at: stamp.map_err(failed)?.at, is_trusted: roots.is_some() }))
}

fn said(export: &CheckedExport, stamp: Option<&CheckedStamp>) -> String {
    let statement = &export.header.statement;
    let stamp = match stamp {
        Some(CheckedStamp { at, is_trusted: true }) => {
            format!("time stamp: {at}, of an authority that was given")
        }
        Some(CheckedStamp { at, is_trusted: false }) => {
            format!("time stamp: {at}, of whom it does not say: --timestamp-ca FILE verifies that")
        }
        None => "time stamp: none".to_owned(),
    };
    format!(
        "alert {} of the account {}, version {}, made {}, signed with the key {}\n\
         {} of {} lines are in the tree that was signed, {} of them by their hash alone\n{stamp}\n\
         the evidence holds\n",
        statement.alert,
        statement.account,
        statement.version,
        statement.made,
        export.header.key,
        export.checked,
        statement.size,
        export.erased,
    )
}

fn said_json(export: &CheckedExport, stamp: Option<&CheckedStamp>) -> String {
    let statement = &export.header.statement;
    let stamp = stamp.map(|stamp| json!({"at": stamp.at, "trusted": stamp.is_trusted}));
    let said = json!({
        "ok": true,
        "account": statement.account,
        "alert": statement.alert,
        "version": statement.version,
        "made": statement.made,
        "size": statement.size,
        "checked": export.checked,
        "erased": export.erased,
        "key": export.header.key,
        "timestamp": stamp,
    });
    format!("{said}\n")
}

/// Lines of a file, each within the limit.
struct Lines(BufReader<File>);

impl Lines {
    /// Without its end; nothing at the end of the file.
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut octets = Vec::new();
        let limit = LINE_OCTETS_MAX as u64 + 2;
        let read = self.0.by_ref().take(limit).read_until(b'\n', &mut octets)?;
        if read == 0 {
            return Ok(None);
        }
        if octets.last() == Some(&b'\n') {
            octets.pop();
        }
        // What is no UTF-8 is no line: it is read as one that fails.
        Ok(Some(String::from_utf8_lossy(&octets).into_owned()))
    }
}
