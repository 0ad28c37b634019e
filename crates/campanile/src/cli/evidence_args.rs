//! Arguments of `campanile evidence` and `campanile verify`.

use super::args::{FormatArgs, ServerArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

pub(super) const VERIFY_EXAMPLES: &str = "Examples:
  campanile verify alert.evidence.ndjson --key evidence-key.pem
  campanile verify alert.evidence.ndjson --key evidence-key.pem --timestamp-ca tsa-root.pem
  campanile verify one-line.ndjson --line 17 --key evidence-key.pem --format json";

/// `campanile evidence`.
#[derive(Debug, Subcommand)]
pub(crate) enum EvidenceCommand {
    /// Print the public key that verifies a server's evidence, as a PEM file
    #[command(after_help = "Examples:
  campanile evidence key > evidence-key.pem
  campanile evidence key --format json")]
    Key(EvidenceKey),
    /// Export the evidence of an alert, for campanile verify
    #[command(after_help = "Examples:
  campanile evidence export ID > alert.evidence.ndjson")]
    Export(ExportEvidence),
}

/// `campanile evidence key`.
#[derive(Debug, Args)]
pub(crate) struct EvidenceKey {
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `campanile evidence export`.
#[derive(Debug, Args)]
pub(crate) struct ExportEvidence {
    /// The alert's id
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `campanile verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyEvidence {
    /// The export: the header and its lines, or the header and one line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The server's public key: a PEM file, or the key in base64
    #[arg(long, value_name = "KEY")]
    pub key: String,
    /// Only the line with this index
    #[arg(long, value_name = "N")]
    pub line: Option<u64>,
    /// Root certificates (PEM) of the time-stamping authority: the time stamp must be of one of them
    #[arg(long, value_name = "FILE")]
    pub timestamp_ca: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArgs,
}
