//! `campanile ledger`: the books, looked at where they are kept.

use super::args::{LedgerAudit, LedgerExport, RecordsForm};
use super::{Failure, Outcome, print};
use charging::ledger::audit::{self, Report};
use charging::ledger::owner::{identity_of, shard_folder};
use charging::ledger::recovery::recover;
use charging::records::{Export, Format};
use std::sync::Arc;

pub(super) fn audit(args: &LedgerAudit) -> Outcome {
    let folder = crate::money::folder(&args.data);
    let report =
        audit::audit(&folder).map_err(|refusal| Failure::Failed(format!("the ledger: {refusal}")))?;
    let text = match args.format.is_json() {
        true => serde_json::to_string(&report).map_err(|error| Failure::Failed(error.to_string()))? + "\n",
        false => told(&report),
    };
    print(&text)?;
    match report.is_exact() {
        true => Ok(()),
        false => Err(Failure::Failed(format!("{} sums are not equal", report.discrepancies))),
    }
}

pub(super) fn export(args: &LedgerExport) -> Outcome {
    let folder = crate::money::folder(&args.data);
    let failed = |why: String| Failure::Failed(format!("the ledger: {why}"));
    let (key, shards) = identity_of(&folder).map_err(|refusal| failed(refusal.to_string()))?;
    let format = match args.form {
        RecordsForm::Csv => Format::Csv,
        RecordsForm::Json => Format::Json,
        RecordsForm::Xml => Format::Xml,
        RecordsForm::Ber => Format::Ber,
    };
    let (mut files, mut records) = (Vec::new(), 0);
    for shard in 0..shards {
        let log = shard_folder(&folder, shard);
        // The names of accounts stand in the state.
        let recovered = recover(&log, key, Arc::default()).map_err(|refusal| failed(refusal.to_string()))?;
        let export = Export {
            log: &log,
            shard,
            into: &args.out.join(format!("shard-{shard:03}")),
            format,
            records_max: args.records as usize,
            node: &args.node,
            names: &recovered.shard,
        };
        let summary = export.run(true).map_err(|error| failed(format!("shard {shard}: {error}")))?;
        records += summary.records;
        files.extend(summary.files.into_iter().map(|file| file.display().to_string()));
    }
    if args.format.is_json() {
        return print(&format!("{}\n", serde_json::json!({"records": records, "files": files})));
    }
    let listed: String = files.iter().map(|file| format!("{file}\n")).collect();
    print(&format!("{listed}{records} records in {} files\n", files.len()))
}

/// For people.
fn told(report: &Report) -> String {
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
            "{} shards from their oldest snapshot on: what is before it is gone\n",
            report.from_snapshot
        );
    }
    if report.torn_octets > 0 {
        text +=
            &format!("{} octets at the end were half written, and never answered for\n", report.torn_octets);
    }
    for example in &report.examples {
        text += &format!("not equal: {example}\n");
    }
    text + if report.is_exact() { "records and balances are equal, to the unit\n" } else { "" }
}
