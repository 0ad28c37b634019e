//! Arguments of the command line: every command, its options, its help with examples.

use super::alert_args::AlertArgs;
use super::audit_args::AuditCommand;
use super::evidence_args::{EvidenceCommand, VerifyEvidence};
use super::import_args::ImportCommand;
use super::udp::Udp;
use super::user_args::UserCommand;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Default URL of client commands.
const URL: &str = "http://127.0.0.1:8080";

#[derive(Debug, Parser)]
#[command(
    name = "campanile",
    version,
    about = "Sends alerts to people on every device they have, and reports the state of every copy.",
    after_help = "Examples:
  campanile demo
  campanile serve --config campanile.toml --data /var/lib/campanile
  campanile recipients import people.csv
  campanile alert send --audience group:staff --text \"Leave the building\" --watch

`campanile COMMAND --help` and `campanile help COMMAND` have details and examples."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run the server: everything the config enables
    #[command(after_help = "Examples:
  campanile serve
  campanile serve --config /etc/campanile.toml --data /var/lib/campanile
  CAMPANILE__HTTP__LISTEN=0.0.0.0:8080 campanile serve
  campanile serve --data /var/lib/campanile --without-bus

On an empty data folder it prints one line `admin token: cmp_…`: the token for the first client.
SIGTERM and Ctrl-C stop it in order; SIGHUP reads the config again.")]
    Serve(Serve),
    /// A simulated town and its carriers, one alert, its report
    #[command(after_help = "Examples:
  campanile demo
  campanile demo --recipients 200 --exit
  campanile demo --charging --realm '*.3gppnetwork.org' --diameter 10.0.0.5:3868 --origin-host ocs.epc.mnc001.mcc001.3gppnetwork.org")]
    Demo(Demo),
    /// Check the config: every problem, with its line
    #[command(after_help = "Examples:
  campanile check
  campanile check --config /etc/campanile.toml --data /var/lib/campanile
  campanile check --format json")]
    Check(Check),
    /// The manual of the config
    #[command(subcommand)]
    Config(ConfigCommand),
    /// The description of the HTTP API (OpenAPI 3.1), for generators of clients; needs no server
    #[command(after_help = "Examples:
  campanile openapi > openapi.json
  campanile openapi | jq '.paths | keys'")]
    Openapi,
    /// People: import, export, list, erase, their own pages
    #[command(subcommand)]
    Recipients(Recipients),
    /// Imports that are looked at first: check a file or a directory, commit, undo for 24 hours
    #[command(subcommand)]
    Import(ImportCommand),
    /// Alerts: send, follow, pause, resume, cancel, report
    #[command(subcommand)]
    Alert(AlertCommand),
    /// Forecast an alert: audience, routes, duration, cost; sends nothing
    #[command(after_help = "Examples:
  campanile forecast --audience group:staff --text \"Leave the building\"
  campanile forecast --audience all --text \"Test\" --channel sms --format json")]
    Forecast(Box<Forecast>),
    /// Drills: replay a past alert in simulated time
    #[command(subcommand)]
    Drill(super::drills::DrillCommand),
    /// Routes to carriers: list, show, hold, release, test
    #[command(subcommand)]
    Route(super::routes::RouteCommand),
    /// Words of people that are perhaps a STOP: list, confirm, dismiss
    #[command(subcommand)]
    Stops(super::stops::StopsCommand),
    /// Platforms' messages: show one, step by step
    #[command(subcommand)]
    Message(super::messages::MessageCommand),
    /// SMPP clients and platforms: list, unbind
    #[command(subcommand)]
    Client(super::message_clients::ClientCommand),
    /// A running server: show how it stands
    #[command(subcommand)]
    Server(super::server_state::ServerCommand),
    /// Tokens: create, list, revoke
    #[command(subcommand)]
    Token(Token),
    /// Client profiles, what alerts of a token have where they say nothing: list, show, set, remove
    #[command(subcommand)]
    Profile(super::profiles::ProfileCommand),
    /// Users, people who sign in: create, list, invite, reset, disable, enable
    #[command(subcommand)]
    User(UserCommand),
    /// The audit trail: list, verify
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Evidence of alerts: the key that verifies it, exports
    #[command(subcommand)]
    Evidence(EvidenceCommand),
    /// Verify exported evidence of an alert, offline; exit code 0 if it holds
    #[command(after_help = super::evidence_args::VERIFY_EXAMPLES)]
    Verify(VerifyEvidence),
    /// Simulators of carriers, mail and people, for drills and development
    #[command(subcommand)]
    Sim(Sim),
    /// Benchmarks, run by the program campanile-bench
    #[command(after_help = "Examples:
  campanile bench --help
  campanile bench alert --recipients 100000
  campanile bench smpp --side gateway --connections 20")]
    Bench(Bench),
    /// The ledger: audit, export
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Move a data folder to PostgreSQL and NATS, for several processes
    #[command(after_help = super::migrate::EXAMPLES)]
    Migrate(super::migrate::MigrateArgs),
    /// Paced traffic: send, receive
    #[command(subcommand)]
    Udp(Udp),
    /// Print the version
    #[command(after_help = "Examples:\n  campanile version\n  campanile version --format json")]
    Version(VersionArgs),
}

/// `campanile bench`: all arguments are the other program's.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Bench {
    /// A scenario and its options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// `campanile ledger`.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Compare charging records with balance changes, for every account, to the unit; exit code 0 if they are
    /// equal
    ///
    /// It reads the ledger on disk or, with the config of processes that share PostgreSQL, in the database. A
    /// running server need not stop; entries that it appends meanwhile are left out.
    #[command(after_help = "Examples:
  campanile ledger audit
  campanile ledger audit --config /etc/campanile/campanile.toml
  campanile ledger audit --data /var/lib/campanile --format json")]
    Audit(LedgerAudit),
    /// Export charging records since the last export, into files of a bounded number of records
    ///
    /// An export continues where the last one of its form ended. It reads the ledger on disk or, with the
    /// config of processes that share PostgreSQL, in the database. A running server need not stop.
    #[command(after_help = "Examples:
  campanile ledger export --form csv --out records
  campanile ledger export --form ber --out records --node 46700000001")]
    Export(LedgerExport),
}

/// Which ledger.
#[derive(Debug, Args)]
pub(crate) struct BooksArgs {
    /// The server's data folder
    #[arg(long, value_name = "DIR", default_value = "./data")]
    pub data: PathBuf,
    /// The config of the processes, where they share PostgreSQL
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `campanile ledger export`.
#[derive(Debug, Args)]
pub(crate) struct LedgerExport {
    #[command(flatten)]
    pub books: BooksArgs,
    /// Format of the files
    #[arg(long, value_enum, value_name = "FORM")]
    pub form: RecordsForm,
    /// Folder for the files, with a folder in it for each shard
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Records in a file, at most
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub records: u32,
    /// Number of this node in BER records
    #[arg(long, value_name = "DIGITS", default_value = "0")]
    pub node: String,
    #[command(flatten)]
    pub format: FormatArgs,
}

/// The forms of charging records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordsForm {
    /// RFC 4180, with a header
    Csv,
    /// One object a line
    Json,
    /// Chunks of records in one element
    Xml,
    /// ASN.1 of TS 32.298; messages alone
    Ber,
}

/// `campanile ledger audit`.
#[derive(Debug, Args)]
pub(crate) struct LedgerAudit {
    #[command(flatten)]
    pub books: BooksArgs,
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `campanile serve`.
#[derive(Debug, Clone, Args)]
pub struct Serve {
    /// The config [default: campanile.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data folder; relative paths in the config are below it
    #[arg(long, value_name = "DIR", default_value = "./data")]
    pub data: PathBuf,
    /// Take an empty bus in the place of a lost one, and plan again what is not settled
    ///
    /// For one start, after the bus (the folder `bus`, the streams of NATS) is lost and no copy of it was
    /// made together with the database. Alerts that are not done go on: whoever is accepted, delivered or
    /// answered stays so; who was not sent to yet is planned again; of whom it is unknown is sent to again or
    /// held, as the alert's on_unknown says. The reports of these alerts say it. A bus that is not empty is
    /// refused.
    #[arg(long)]
    pub without_bus: bool,
}

/// `campanile demo`.
#[derive(Debug, Clone, Args)]
pub struct Demo {
    /// Number of people in the town
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub recipients: u64,
    /// End after the report: 0 if everyone is accounted for
    #[arg(long)]
    pub exit: bool,
    /// Address of the HTTP server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = settings::socket_address)]
    pub listen: SocketAddr,
    /// A credit-control server instead of the town, for gateways of a mobile network
    #[arg(long, conflicts_with = "recipients")]
    pub charging: bool,
    /// Listening address of the credit-control server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3868", requires = "charging", value_parser = settings::socket_address)]
    pub diameter: SocketAddr,
    /// Origin-Host of the server; its realm is the part behind the first point
    #[arg(long, value_name = "NAME", default_value = "ocs.example", requires = "charging")]
    pub origin_host: String,
    /// Realms whose peers are admitted; `*` stands for any part
    #[arg(long, value_name = "PATTERN", default_value = "*", requires = "charging")]
    pub realm: String,
}

/// `campanile check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The config [default: campanile.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data folder; relative paths in the config are below it
    #[arg(long, value_name = "DIR", default_value = "./data")]
    pub data: PathBuf,
    #[command(flatten)]
    pub format: FormatArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the whole config with comments
    #[command(after_help = "Examples:
  campanile config print-default | less
  campanile config print-default > campanile.toml")]
    PrintDefault,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Recipients {
    /// Import a CSV or NDJSON file of any size, as a whole or not at all
    #[command(after_help = import_help())]
    Import(Import),
    /// Write all recipients, or all that is known of one person, to a file or standard output
    #[command(after_help = "Examples:
  campanile recipients export --output people.csv
  campanile recipients export --format ndjson | gzip > people.ndjson.gz
  campanile recipients export ext-77 --output ext-77.json

With an ID: the record, groups, stops, every alert with its deliveries and answers, and messages, as JSON.")]
    Export(Export),
    /// Forget a person everywhere; a keyed hash remembers their STOP
    #[command(after_help = "Examples:
  campanile recipients erase ext-77
  campanile recipients erase ext-77 --format json

The record, its places in groups, and the person's addresses, names, answers and messages in reports, exports and the
audit trail are removed; counts stay. Alerts that have not ended are gone through when they have. An address that
another recipient has too stays theirs. What cannot be removed at once: docs/operating.md, Privacy.")]
    Erase(super::privacy::EraseArgs),
    /// Make a link to a person's own page, where they change how alerts reach them
    #[command(after_help = "Examples:
  campanile recipients page ext-77

The link holds for 30 days. Whoever has it decides how alerts reach the person: give it to nobody else. A person gets
one by themselves who writes PAGE to the number that alerts come from.")]
    Page(super::privacy::PageArgs),
    /// List recipients
    #[command(after_help = "Examples:
  campanile recipients list
  campanile recipients list --filter group:staff --limit 1000 --format json")]
    List(ListRecipients),
}

/// Examples of an import, and the columns of its file.
fn import_help() -> String {
    let channels = channels::names().collect::<Vec<_>>().join(", ");
    format!(
        "Examples:
  campanile recipients import people.csv
  campanile recipients import people.csv --on-problem skip
  campanile recipients import people.ndjson.gz
  zcat people.csv.gz | campanile recipients import - --type csv

CSV has a header row: id, name, language, time_zone, groups (several with ;), a column for each channel ({channels};
several addresses with ;), lat, lon; any other column is an attribute. An id that is there already is replaced."
    )
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnProblem {
    /// Import nothing
    Reject,
    /// Import the other rows
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PeopleFormat {
    /// With a header row
    Csv,
    /// One recipient a line
    Ndjson,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// All that is known of this person, instead of all recipients
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Output format [default: csv; of one person json]
    #[arg(long, value_enum)]
    pub format: Option<ExportFormat>,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// All recipients, with a header row
    Csv,
    /// All recipients, one a line
    Ndjson,
    /// One person
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ListRecipients {
    /// Only recipients that match, such as group:staff
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AlertCommand {
    /// Send an alert
    #[command(after_help = "Examples:
  campanile alert send --audience group:staff --text \"Leave the building\" --watch
  campanile alert send --audience all --exclude group:leave --text \"Are you safe?\" \\
      --choice \"1=I am safe\" --choice \"2=I need help\" --priority emergency
  campanile alert send --audience sms:+46701234567 --text \"Hello\" --channel sms
  campanile alert send --audience edge:north-siren --text \"Leave the valley\" --attach tone.wav
  campanile alert send --body alert.json --mode drill")]
    Send(Box<Send>),
    /// List alerts, newest first
    #[command(
        after_help = "Examples:\n  campanile alert list\n  campanile alert list --limit 1000 --format json"
    )]
    List(ListAlerts),
    /// Show one alert
    #[command(after_help = "Examples:\n  campanile alert show ID\n  campanile alert show ID --format json")]
    Show(One),
    /// Follow an alert live until it is over
    #[command(after_help = "Examples:
  campanile alert watch ID
  campanile alert watch ID | tee progress.txt
  campanile alert watch ID --format json")]
    Watch(One),
    /// Stop an alert for good
    #[command(after_help = "Examples:\n  campanile alert cancel ID")]
    Cancel(One),
    /// Stop an alert for now
    #[command(after_help = "Examples:\n  campanile alert pause ID")]
    Pause(One),
    /// Let a paused alert go on
    #[command(after_help = "Examples:\n  campanile alert resume ID")]
    Resume(One),
    /// Retry the failed deliveries, and no others
    #[command(after_help = "Examples:\n  campanile alert retry-failed ID")]
    RetryFailed(One),
    /// Report of an alert: every copy, with its state and reason
    #[command(after_help = "Examples:
  campanile alert report ID
  campanile alert report ID --format csv > deliveries.csv

table, json and xml are the report with its counts; csv is every delivery, a line each.")]
    Report(ReportCommand),
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub alert: AlertArgs,
    /// Follow it live until it is over
    #[arg(long)]
    pub watch: bool,
    /// Wait until the audience is resolved
    #[arg(long)]
    pub sync: bool,
    /// A file to attach, for edge sites; repeat for more
    #[arg(long, value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// Idempotency key: an alert submitted again with the same key within 24 h is sent once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Forecast {
    #[command(flatten)]
    pub alert: AlertArgs,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListAlerts {
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// Its id
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportCommand {
    /// The alert's id
    #[arg(value_name = "ID")]
    pub id: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Table)]
    pub format: ReportFormat,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Table,
    /// Every delivery, a line each
    Csv,
    /// The report
    Json,
    /// The report
    Xml,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Create a token; its secret is shown this once
    #[command(after_help = "Examples:
  campanile token create --role operator --name \"control room\"
  export CAMPANILE_TOKEN=$(campanile token create --role submit --format json | jq -r .token)
  campanile token create --role admin --data /var/lib/campanile

With --data it makes the token in the data folder itself, while no server runs: for who has lost the first
admin token.")]
    Create(CreateToken),
    /// List tokens
    #[command(after_help = "Examples:\n  campanile token list")]
    List(ListTokens),
    /// Revoke a token
    #[command(after_help = "Examples:\n  campanile token revoke ID")]
    Revoke(One),
}

#[derive(Debug, Args)]
pub(crate) struct CreateToken {
    /// Role of the token
    #[arg(long, value_parser = ["admin", "operator", "viewer", "submit"])]
    pub role: String,
    /// Account of the token [default: the account of your own token; with --data: default]
    #[arg(long, value_name = "A")]
    pub account: Option<String>,
    /// Name of the token
    #[arg(long, value_name = "N")]
    pub name: Option<String>,
    /// Data folder to make the token in, while no server runs on it
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
pub(crate) struct ListTokens {
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sim {
    #[command(flatten)]
    Built(Box<sim::SimCommand>),
}

#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FormatArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

impl FormatArgs {
    pub fn is_json(self) -> bool {
        self.format == OutputFormat::Json
    }
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Limit {
    /// Entries at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub limit: u64,
}

/// The server that is spoken to.
#[derive(Clone, Args)]
pub(crate) struct ServerArgs {
    /// URL of the server
    #[arg(long, env = "CAMPANILE_URL", value_name = "URL", default_value = URL, help_heading = "Server")]
    pub url: String,
    /// Token for the server
    #[arg(
        long,
        env = "CAMPANILE_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true,
        help_heading = "Server"
    )]
    pub token: Option<String>,
    /// File with the certificates of a CA of your own (PEM) that signed the server's certificate
    #[arg(long, env = "CAMPANILE_CA_FILE", value_name = "FILE", help_heading = "Server")]
    pub ca_file: Option<PathBuf>,
}

impl std::fmt::Debug for ServerArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}
