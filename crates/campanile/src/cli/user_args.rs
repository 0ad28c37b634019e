//! Arguments of `campanile user`.

use super::args::{FormatArgs, Limit, ServerArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Create a user, and print the link by which they set their password: 24 hours, once
    #[command(after_help = "Examples:
  campanile user create eva --role administrator
  campanile user create jonas --role author,operator --group fire --space live,drill --full-name \"Jonas Ek\"
  campanile user create eva --role administrator --data /var/lib/campanile

A new user is in the drill space alone, unless --space says otherwise. With --data it makes the user in the data
folder itself, while no server runs.")]
    Create(Box<CreateUser>),
    /// List users
    #[command(after_help = "Examples:\n  campanile user list\n  campanile user list --format json")]
    List(ListUsers),
    /// Print another link for a user who has not set a password yet
    #[command(after_help = "Examples:\n  campanile user invite eva")]
    Invite(OneUser),
    /// Print a link by which a user sets another password
    #[command(after_help = "Examples:
  campanile user reset eva
  campanile user reset eva --second-factors")]
    Reset(ResetUser),
    /// Disable a user: they cannot sign in, and their sessions end
    #[command(after_help = "Examples:\n  campanile user disable eva")]
    Disable(OneUser),
    /// Enable a user again
    #[command(after_help = "Examples:\n  campanile user enable eva")]
    Enable(OneUser),
}

#[derive(Debug, Args)]
pub(crate) struct CreateUser {
    /// What the user signs in with
    pub name: String,
    /// Roles: viewer, author, operator, approver, directory, accounts, administrator
    #[arg(long, value_name = "ROLE", value_delimiter = ',', required = true)]
    pub role: Vec<records::UserRole>,
    /// What people call the user
    #[arg(long, value_name = "NAME")]
    pub full_name: Option<String>,
    /// Mail address
    #[arg(long, value_name = "ADDRESS")]
    pub mail: Option<String>,
    /// The recipient that the user is
    #[arg(long, value_name = "ID")]
    pub person: Option<String>,
    /// Only audiences within these groups
    #[arg(long, value_name = "G", value_delimiter = ',')]
    pub group: Vec<String>,
    /// Only audiences within these areas
    #[arg(long, value_name = "AREA", value_delimiter = ',')]
    pub area: Vec<String>,
    /// Spaces of the user [default: drill]
    #[arg(long, value_name = "SPACE", value_delimiter = ',', value_parser = ["live", "drill"])]
    pub space: Vec<String>,
    /// Account of the user, with --data [default: default]
    #[arg(long, value_name = "A", requires = "data")]
    pub account: Option<String>,
    /// Data folder to make the user in, while no server runs on it
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The server's config, where it names the database [default: campanile.toml if it exists]
    #[arg(long, value_name = "FILE", requires = "data")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListUsers {
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OneUser {
    /// Name or id of the user
    pub user: String,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResetUser {
    #[command(flatten)]
    pub one: OneUser,
    /// Remove one-time codes, recovery codes and passkeys as well: for who lost the device
    #[arg(long)]
    pub second_factors: bool,
}
