//! `campanile migrate`.

use super::args::FormatArgs;
use super::{Failure, Outcome, print};
use crate::config;
use crate::migrate::{self, Migrated, Migration};
use crate::setup::StoragePlace;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Examples, and what happens.
pub(crate) const EXAMPLES: &str = "Examples:
  campanile migrate --data /var/lib/campanile --config /etc/campanile/several.toml --check
  campanile migrate --data /var/lib/campanile --config /etc/campanile/several.toml
  campanile migrate --data ./data --old-config campanile.toml --config several.toml --format json

--config is the config of the processes to be: its [store] names PostgreSQL, its [bus] NATS. People, groups, opt-outs,
tokens, alerts with their reports, audit, idempotency keys, messages for platforms, text topics, secrets and the ledger
are copied, and counted on both sides; reports, links in messages and ids stay as they are. The folder is only read, and
a note in it keeps a server from starting on it again. Attachments and exports stay in the folder.

It needs a stopped server, no running alert, and a database and a bus.prefix with nothing in them. When it fails, nothing
is usable on the other side and the folder is as it was: run it again, it begins anew. docs/scaling.md has the steps.";

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Data folder of the stopped server
    #[arg(long, value_name = "DIR", default_value = "./data")]
    data: PathBuf,
    /// Config of the processes to be, with PostgreSQL and NATS
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Config that the folder was used with, if it names other files in [store] or [bus] than the default
    /// ones
    #[arg(long, value_name = "FILE")]
    old_config: Option<PathBuf>,
    /// Only check whether it can be done
    #[arg(long)]
    check: bool,
    /// Leave the ledger behind: accounts begin anew
    #[arg(long)]
    without_ledger: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn run(args: &MigrateArgs) -> Outcome {
    let load = |file: Option<&PathBuf>| {
        let config = config::load(file.map(PathBuf::as_path), &args.data);
        config
            .map_err(|problems| Failure::Failed(problems.to_string()))?
            .setup(&args.data)
            .map_err(Failure::Failed)
    };
    let StoragePlace::Shared(to) = load(Some(&args.config))?.kept else {
        let file = args.config.display();
        let why = format!(
            "{file}: [store] url must be postgres://… and [bus] url nats://…: that is where to migrate"
        );
        return Err(Failure::Usage(why));
    };
    let (database, bus) = match &args.old_config {
        None => migrate::usual_places(),
        Some(file) => match load(Some(file))?.kept {
            StoragePlace::Here { database, bus, .. } => (database, bus),
            StoragePlace::Shared(_) => {
                let why = "--old-config names servers, not a folder: there is nothing to migrate";
                return Err(Failure::Usage(why.to_owned()));
            }
        },
    };
    let migration = Migration {
        data: args.data.clone(),
        database: args.data.join(database),
        bus: args.data.join(bus),
        to: *to,
        with_ledger: !args.without_ledger,
    };
    let migrated = if args.check { migration.check() } else { migration.run() };
    told(&migrated.map_err(Failure::Failed)?, args)
}

fn told(migrated: &Migrated, args: &MigrateArgs) -> Outcome {
    if args.format.is_json() {
        let tables = migrated
            .tables
            .iter()
            .map(|count| json!({"table": count.table, "from": count.from, "to": count.to}));
        let out = json!({
            "checked_only": args.check,
            "tables": tables.collect::<Vec<_>>(),
            "topics": migrated.topics,
            "ledger": migrated.ledger,
        });
        return print(&format!("{out}\n"));
    }
    if args.check {
        return print("It can be migrated: nothing runs, and both servers have room for it.\n");
    }
    let mut text = String::new();
    for count in migrated.tables.iter().filter(|count| count.from > 0) {
        text += &format!("{:24} {:>12} rows, {:>12} in PostgreSQL\n", count.table, count.from, count.to);
    }
    text += &format!("{} topics\n", migrated.topics);
    if let Some(ledger) = &migrated.ledger {
        text += &format!(
            "{} accounts, balances {}, reserved {}: equal on both sides\n",
            ledger.accounts, ledger.posted, ledger.pending
        );
    }
    text += &format!(
        "Migrated. Start the processes with {}; give the first of them this data folder, since attachments and exports are there.\n",
        args.config.display()
    );
    print(&text)
}
