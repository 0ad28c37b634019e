//! `campanile ledger`: the books, looked at where they are kept.

use super::args::{BooksArgs, LedgerAudit, LedgerExport, RecordsForm};
use super::{Failure, Outcome, print};
use crate::config;
use crate::setup::StoragePlace;
use ledger::audit::{self, Report};
use ledger::records::{Blocks, Export, Format, Gone};
use ledger::recovery::recover;
use ledger::shard_threads::{identity_of, shard_folder};
use ledger::{Refusal, Shard, shared};
use std::path::PathBuf;
use std::sync::Arc;
use store::LedgerLog;

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("the ledger: {why}"))
}

/// A ledger that is looked at.
enum OpenedLedger {
    Folder(PathBuf),
    Shared(Arc<dyn LedgerLog>),
}

impl OpenedLedger {
    /// The one in the database that the config names, else the one in the data folder.
    fn by(args: &BooksArgs) -> Result<OpenedLedger, Failure> {
        let here = || OpenedLedger::Folder(crate::message_funds::folder(&args.data));
        let Some(file) = &args.config else { return Ok(here()) };
        let config =
            config::load(Some(file), &args.data).map_err(|problems| Failure::Failed(problems.to_string()))?;
        let StoragePlace::Shared(servers) = config.setup(&args.data).map_err(failed)?.kept else {
            return Ok(here());
        };
        let options = store::postgres::PostgresOptions { sweep: false, ..servers.postgres.clone() };
        let store = store::postgres::open(servers.store.reveal(), &options).map_err(failed)?;
        store.ledger_log().map(OpenedLedger::Shared).ok_or_else(|| failed("this database has none"))
    }

    fn audit(&self) -> Result<Report, Refusal> {
        match self {
            OpenedLedger::Folder(folder) => audit::audit(folder),
            OpenedLedger::Shared(log) => shared::read::audit(log),
        }
    }

    fn shards(&self) -> Result<usize, Refusal> {
        match self {
            OpenedLedger::Folder(folder) => Ok(identity_of(folder)?.1),
            OpenedLedger::Shared(log) => Ok(shared::read::shards(log)? as usize),
        }
    }

    /// A shard's log, and its state: the names of accounts stand there.
    fn shard(&self, shard: usize) -> Result<(Blocks, Shard), Refusal> {
        match self {
            OpenedLedger::Folder(folder) => {
                let (key, _) = identity_of(folder)?;
                let log = shard_folder(folder, shard);
                let state = recover(&log, key, Arc::default())?.shard;
                Ok((Blocks::Folder(log), state))
            }
            OpenedLedger::Shared(log) => {
                let number = u32::try_from(shard).unwrap_or(u32::MAX);
                Ok((Blocks::Shared(log.clone(), number), shared::read::state(log, number)?))
            }
        }
    }
}

pub(super) fn audit(args: &LedgerAudit) -> Outcome {
    let report = OpenedLedger::by(&args.books)?.audit().map_err(failed)?;
    let text = match args.format.is_json() {
        true => serde_json::to_string(&report).map_err(|error| Failure::Failed(error.to_string()))? + "\n",
        false => report_text(&report),
    };
    print(&text)?;
    match report.is_exact() {
        true => Ok(()),
        false => Err(Failure::Failed(format!("{} sums are not equal", report.discrepancies))),
    }
}

pub(super) fn export(args: &LedgerExport) -> Outcome {
    let found = OpenedLedger::by(&args.books)?;
    let format = match args.form {
        RecordsForm::Csv => Format::Csv,
        RecordsForm::Json => Format::Json,
        RecordsForm::Xml => Format::Xml,
        RecordsForm::Ber => Format::Ber,
    };
    let (mut files, mut records, mut removed) = (Vec::new(), 0, 0);
    for shard in 0..found.shards().map_err(failed)? {
        let (log, state) = found.shard(shard).map_err(failed)?;
        let export = Export {
            log: &log,
            shard,
            into: &args.out.join(format!("shard-{shard:03}")),
            format,
            records_max: args.records as usize,
            node: &args.node,
            names: &state,
        };
        let summary = export.run(true).map_err(|error| failed(format!("shard {shard}: {error}")))?;
        if let Some(gone) = summary.gone {
            eprintln!("{}", lost(shard, &gone));
            removed += gone.octets;
        }
        records += summary.records;
        files.extend(summary.files.into_iter().map(|file| file.display().to_string()));
    }
    if args.format.is_json() {
        return print(&format!(
            "{}\n",
            serde_json::json!({"records": records, "files": files, "removed_octets": removed})
        ));
    }
    let listed: String = files.iter().map(|file| format!("{file}\n")).collect();
    print(&format!("{listed}{records} records in {} files\n", files.len()))
}

/// Records that are in no export, and never will be.
fn lost(shard: usize, gone: &Gone) -> String {
    let before = jiff::Timestamp::from_microsecond(i64::try_from(gone.before_us).unwrap_or(i64::MAX));
    let before = before.unwrap_or(jiff::Timestamp::MAX);
    format!(
        "warning: shard {shard}: {} octets of the log, all from before {}, were removed before they were exported: \
         export more often than the time in [charging] keep_records",
        gone.octets,
        before.round(jiff::Unit::Second).unwrap_or(before)
    )
}

/// For people.
fn report_text(report: &Report) -> String {
    let mut text = format!(
        "{} accounts in {} shards, {} entries\n\
         charged {}, refunded {}, paid in {}, owed by emergencies {}, used and never paid {}\n\
         balances {}, reserved {}\n",
        report.accounts,
        report.shards,
        report.entries,
        report.charged,
        report.refunded,
        report.paid_in,
        report.owed,
        report.shortfall,
        report.posted,
        report.pending
    );
    if report.from_snapshot > 0 {
        text += &format!(
            "{} shards were audited from their oldest snapshot on: earlier records have been removed\n",
            report.from_snapshot
        );
    }
    if report.torn_octets > 0 {
        text +=
            &format!("{} octets at the end were half written and never acknowledged\n", report.torn_octets);
    }
    for example in &report.examples {
        text += &format!("not equal: {example}\n");
    }
    text + if report.is_exact() { "records and balances are equal, to the unit\n" } else { "" }
}
