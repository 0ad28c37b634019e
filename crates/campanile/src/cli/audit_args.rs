//! Arguments of `campanile audit`.

use super::args::{FormatArgs, Limit, ServerArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `campanile audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List who did what, when, from where, the newest first
    #[command(after_help = "Examples:
  campanile audit list
  campanile audit list --verb token.create --from 2026-11-01T00:00:00Z
  campanile audit list --who t_Ab3dEf9h --oldest --limit 1000 --format json")]
    List(ListAudit),
    /// Verify the chain of entries, to its last link; exit code 0 if it holds
    ///
    /// A running server verifies by itself. With --data or --config the trail is read where it is kept, while
    /// no server has it open (on PostgreSQL also while servers run).
    #[command(after_help = "Examples:
  campanile audit verify
  campanile audit verify --head 1042:9f0c…
  campanile audit verify --data /var/lib/campanile
  campanile audit verify --config /etc/campanile/campanile.toml --format json")]
    Verify(VerifyAudit),
}

/// `campanile audit list`.
#[derive(Debug, Args)]
pub(crate) struct ListAudit {
    /// Only acts with the token of this id; server: the server's own
    #[arg(long, value_name = "ID")]
    pub who: Option<String>,
    /// Only acts of this verb, such as alert.cancel
    #[arg(long, value_name = "VERB")]
    pub verb: Option<String>,
    /// Only acts on this object, such as an alert's id
    #[arg(long, value_name = "ID")]
    pub object: Option<String>,
    /// Only acts of this account
    #[arg(long, value_name = "A")]
    pub account: Option<String>,
    /// Not older than this, such as 2026-11-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Older than this
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// The oldest first
    #[arg(long)]
    pub oldest: bool,
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `campanile audit verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyAudit {
    /// Data folder of a server that does not run
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The config of a server that does not run, or of processes that share PostgreSQL
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A head that was noted earlier: it must be in the chain
    #[arg(long, value_name = "NUMBER:HASH")]
    pub head: Option<String>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}
