//! The command line: what can be asked, and what is said. Exit codes: 0 success, 1 failed, 2 wrong usage.
//!
//! Commands that need a running server speak its HTTP API and nothing else. What runs inside this process
//! (the server, the demo) is handed in by [`InProcessCommands`], so that the command line can be tested
//! without a server.

mod alert_args;
mod alerts;
mod args;
mod attach;
mod audit;
mod audit_args;
mod bench;
mod client;
mod drills;
mod evidence;
mod evidence_args;
mod import_args;
mod imports;
mod ledger;
mod local_tokens;
mod message_clients;
mod messages;
mod migrate;
mod people;
mod privacy;
mod profiles;
mod report;
mod routes;
mod server_state;
mod sse;
mod stops;
mod table;
#[cfg(test)]
mod tests;
mod tokens;
mod udp;
mod user_args;
mod users;
mod watch;

pub use args::{Demo, Serve};

use crate::config;
use args::{AlertCommand, Cli, CliCommand, ConfigCommand, Recipients, Token};
use clap::{CommandFactory, FromArgMatches};
use import_args::ImportCommand;
use std::io::{self, Write};
use std::process::ExitCode;
use user_args::UserCommand;

/// What runs inside this process.
pub struct InProcessCommands {
    /// `campanile serve`: runs until it is told to stop.
    pub serve: fn(Serve) -> Result<(), String>,
    /// `campanile demo`; false if not everybody is accounted for.
    pub demo: fn(Demo) -> Result<bool, String>,
}

/// Why a command ended badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It was tried and failed. Empty: everything is said already.
    Failed(String),
    /// What was asked for makes no sense.
    Usage(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Failed(why)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Failed(error.to_string())
    }
}

type Outcome = Result<(), Failure>;

/// Does what the process's arguments ask for.
pub fn main(in_process: &InProcessCommands) -> ExitCode {
    run(std::env::args_os(), in_process)
}

/// Does what `arguments` ask for; the first is the program's name.
fn run(arguments: impl IntoIterator<Item = std::ffi::OsString>, in_process: &InProcessCommands) -> ExitCode {
    let parsed =
        Cli::command().try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors: clap knows which stream and code are theirs.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let (why, code) = match carry_out(cli.command, in_process) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(why)) => (why, 1),
        Err(Failure::Usage(why)) => (why, 2),
    };
    if !why.is_empty() {
        crate::log::say_failure(&why);
    }
    ExitCode::from(code)
}

fn carry_out(command: CliCommand, in_process: &InProcessCommands) -> Outcome {
    match command {
        CliCommand::Serve(serve) => Ok((in_process.serve)(serve)?),
        CliCommand::Demo(demo) => match (in_process.demo)(demo)? {
            true => Ok(()),
            false => Err(Failure::Failed("not every recipient is accounted for".to_owned())),
        },
        CliCommand::Check(check) => checked(&check),
        CliCommand::Config(ConfigCommand::PrintDefault) => print(&config::manual()),
        CliCommand::Openapi => print(&doors::http::openapi_document()),
        CliCommand::Recipients(recipients) => client::block_on(match recipients {
            Recipients::Import(import) => Box::pin(people::import(import)) as client::Work,
            Recipients::Export(export) => Box::pin(people::export(export)),
            Recipients::Erase(erase) => Box::pin(privacy::erase(erase)),
            Recipients::Page(page) => Box::pin(privacy::page(page)),
            Recipients::List(list) => Box::pin(people::list(list)),
        }),
        CliCommand::Import(import) => carry_out_import(import),
        CliCommand::Alert(alert) => client::block_on(match alert {
            AlertCommand::Send(send) => Box::pin(alerts::send(send)) as client::Work,
            AlertCommand::List(list) => Box::pin(alerts::list(list)),
            AlertCommand::Show(one) => Box::pin(alerts::show(one)),
            AlertCommand::Watch(one) => Box::pin(watch::watch(one)),
            AlertCommand::Cancel(one) => Box::pin(alerts::steer(one, "cancel")),
            AlertCommand::Pause(one) => Box::pin(alerts::steer(one, "pause")),
            AlertCommand::Resume(one) => Box::pin(alerts::steer(one, "resume")),
            AlertCommand::RetryFailed(one) => Box::pin(alerts::steer(one, "retry-failed")),
            AlertCommand::Report(report) => Box::pin(alerts::report(report)),
        }),
        CliCommand::Forecast(forecast) => client::block_on(Box::pin(alerts::forecast(forecast))),
        CliCommand::Drill(command) => client::block_on(drills::work(command)),
        CliCommand::Route(command) => client::block_on(routes::work(command)),
        CliCommand::Stops(command) => client::block_on(stops::work(command)),
        CliCommand::Message(command) => client::block_on(messages::work(command)),
        CliCommand::Client(command) => client::block_on(message_clients::work(command)),
        CliCommand::Server(command) => client::block_on(server_state::work(command)),
        CliCommand::Token(token) => client::block_on(match token {
            Token::Create(create) => match create.data.clone() {
                Some(data) => {
                    Box::pin(async move { local_tokens::create(create, &data).await }) as client::Work
                }
                None => Box::pin(tokens::create(create)),
            },
            Token::List(list) => Box::pin(tokens::list(list)),
            Token::Revoke(revoke) => Box::pin(tokens::revoke(revoke)),
        }),
        CliCommand::Profile(profile) => client::block_on(profiles::work(profile)),
        CliCommand::User(user) => carry_out_of_user(user),
        CliCommand::Audit(audit) => client::block_on(match audit {
            audit_args::AuditCommand::List(list) => Box::pin(audit::list(list)) as client::Work,
            audit_args::AuditCommand::Verify(verify) => Box::pin(audit::verify(verify)),
        }),
        CliCommand::Evidence(command) => client::block_on(evidence::work(command)),
        CliCommand::Verify(verify) => evidence::verify(&verify),
        CliCommand::Sim(args::Sim::Built(command)) => Ok(command.run()?),
        CliCommand::Bench(bench) => bench::run(&bench),
        CliCommand::Ledger(args::LedgerCommand::Audit(audit)) => ledger::audit(&audit),
        CliCommand::Ledger(args::LedgerCommand::Export(export)) => ledger::export(&export),
        CliCommand::Migrate(migrate) => {
            crate::data_folder::keep_private();
            migrate::run(&migrate)
        }
        CliCommand::Udp(udp) => udp::run(udp),
        CliCommand::Version(version) => said_version(&version),
    }
}

fn carry_out_import(import: ImportCommand) -> Outcome {
    client::block_on(match import {
        ImportCommand::Check(check) => Box::pin(imports::check(check)) as client::Work,
        ImportCommand::Directory(run) => Box::pin(imports::directory(run)),
        ImportCommand::List(list) => Box::pin(imports::list(list)),
        ImportCommand::Show(one) => Box::pin(imports::show(one)),
        ImportCommand::Problems(problems) => Box::pin(imports::problems(problems)),
        ImportCommand::Commit(commit) => Box::pin(imports::commit(commit)),
        ImportCommand::Discard(one) => Box::pin(imports::decide(one, "discard")),
        ImportCommand::Undo(one) => Box::pin(imports::decide(one, "undo")),
    })
}

fn carry_out_of_user(user: UserCommand) -> Outcome {
    client::block_on(match user {
        UserCommand::Create(create) => match create.data.clone() {
            Some(data) => Box::pin(async move { users::create_here(*create, &data).await }) as client::Work,
            None => Box::pin(users::create(*create)),
        },
        UserCommand::List(list) => Box::pin(users::list(list)),
        UserCommand::Invite(one) => Box::pin(users::invite(one)),
        UserCommand::Reset(reset) => Box::pin(users::reset(reset)),
        UserCommand::Disable(one) => Box::pin(users::set_active(one, false)),
        UserCommand::Enable(one) => Box::pin(users::set_active(one, true)),
    })
}

fn checked(check: &args::Check) -> Outcome {
    let result = config::load_with_warnings(check.config.as_deref(), &check.data);
    if let Ok((config, warnings)) = &result {
        missing_here(config).iter().for_each(|missing| eprintln!("{missing}"));
        warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    }
    match (result, check.format.is_json()) {
        (Ok((_, warnings)), true) => {
            print(&format!("{}\n", serde_json::json!({"ok": true, "problems": [], "warnings": warnings})))
        }
        (Ok((config, _)), false) => print(&format!("The config is good: {}.\n", summary(&config))),
        (Err(problems), true) => {
            let list: Vec<_> = problems.list().iter().map(|problem| {
                serde_json::json!({"place": problems.place(problem), "field": problem.field, "reason": problem.reason})
            }).collect();
            print(&format!("{}\n", serde_json::json!({"ok": false, "problems": list})))?;
            Err(Failure::Failed(String::new()))
        }
        (Err(problems), false) => {
            eprintln!("{problems}");
            let count = problems.list().len();
            let plural = if count == 1 { "" } else { "s" };
            Err(Failure::Failed(format!("{} has {count} problem{plural}", problems.file())))
        }
    }
}

/// What a good config asks for and this machine has not: the program runs without.
fn missing_here(config: &config::Config) -> Option<String> {
    config.diameter.as_ref().filter(|diameter| !diameter.listen_sctp.is_empty())?;
    let none = net::probe_sctp().err()?;
    Some(format!("diameter.listen_sctp: {none}. Peers will be served by TCP and TLS only."))
}

fn summary(config: &config::Config) -> String {
    let count = config.route.len();
    let plural = if count == 1 { "" } else { "s" };
    let smtp =
        config.smtp.as_ref().map(|smtp| format!(", the SMTP door on {}", smtp.listen)).unwrap_or_default();
    format!("{count} route{plural}, the HTTP door on {}{smtp}", config.http.listen)
}

fn said_version(version: &args::VersionArgs) -> Outcome {
    let number = env!("CARGO_PKG_VERSION");
    if version.format.is_json() {
        return print(&format!("{}\n", serde_json::json!({"name": "campanile", "version": number})));
    }
    print(&format!("campanile {number}\n"))
}

/// Writes to standard output. Who stops reading has seen enough.
fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
