//! Arguments of `campanile import`.

use super::args::{FormatArgs, Limit, OnProblem, One, PeopleFormat, ServerArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Compare a file of people with those there are; it waits for a decision, and nobody sees a row of it
    #[command(after_help = "Examples:
  campanile import check people.csv
  campanile import check people.csv --mapping Mobil:sms --mapping Note:- --problems wrong.csv
  campanile import check people.csv --commit --on-problem skip
  zcat people.csv.gz | campanile import check - --type csv

It prints how many people are new, changed and unchanged, what each column was taken for, and the first rows that are
wrong. `campanile import commit ID` makes it visible at one stroke, `campanile import undo ID` takes that back within
24 hours. What nobody decides is discarded after 7 days. Columns: campanile recipients import --help")]
    Check(CheckImport),
    /// Import the people of a directory of the config; they wait for a decision as a file does
    #[command(after_help = "Examples:
  campanile import directory ad
  campanile import directory ad --commit

With --commit the server commits it, unless more people would go or change than the directory's gone_percent_max and
changed_percent_max: then it waits, and says why.")]
    Directory(ImportDirectory),
    /// List imports, newest first
    #[command(
        after_help = "Examples:\n  campanile import list\n  campanile import list --limit 10 --format json"
    )]
    List(ListImports),
    /// Show one import: its state, what it would do, its first problems
    #[command(after_help = "Examples:\n  campanile import show ID\n  campanile import show ID --format json")]
    Show(One),
    /// Write all problems of an import as CSV: row, column, value, reason
    #[command(after_help = "Examples:
  campanile import problems ID | less
  campanile import problems ID --output wrong.csv")]
    Problems(ImportProblems),
    /// Make an import visible, all of it at one stroke
    #[command(after_help = "Examples:
  campanile import commit ID
  campanile import commit ID --on-problem skip

An import with rows that are wrong is not committed, unless they are left out by --on-problem skip.")]
    Commit(CommitImport),
    /// Give up an import that waits
    #[command(after_help = "Examples:\n  campanile import discard ID")]
    Discard(One),
    /// Take back an import that was committed within 24 hours
    #[command(after_help = "Examples:
  campanile import undo ID

People who were changed or removed by hand since stay as they are, and a STOP that the file brought stays.")]
    Undo(One),
}

#[derive(Debug, Args)]
pub(crate) struct CheckImport {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What a column is, whatever its heading says; FIELD `-` takes nothing of it; repeat for more
    #[arg(long, value_name = "COLUMN:FIELD")]
    pub mapping: Vec<String>,
    /// File for all problems, as CSV
    #[arg(long, value_name = "FILE")]
    pub problems: Option<PathBuf>,
    /// Commit it, if no row is wrong or those are left out
    #[arg(long)]
    pub commit: bool,
    /// Action when a row has a problem
    #[arg(long, value_enum, default_value_t = OnProblem::Reject)]
    pub on_problem: OnProblem,
    /// Format of the file [default: by its name]
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub kind: Option<PeopleFormat>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportDirectory {
    /// Name of the directory in the config
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Commit it, unless too many people would go or change
    #[arg(long)]
    pub commit: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListImports {
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportProblems {
    /// The import's id
    #[arg(value_name = "ID")]
    pub id: String,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CommitImport {
    #[command(flatten)]
    pub one: One,
    /// Action when rows are wrong
    #[arg(long, value_enum, default_value_t = OnProblem::Reject)]
    pub on_problem: OnProblem,
}
