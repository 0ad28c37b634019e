//! The program campanile-bench: loads and measures, and prints and draws each table beside the published one.
//!
//! A scenario starts the production server and the simulated carriers as processes of their own, speaks to
//! the server over its API as any client does, checks every answer and every report against the carriers'
//! counts, and measures.
//!
//! - [`alert`]: one alert to many.
//! - [`http`]: submission alone.
//! - [`events`]: streams of browsers, and what they cost.
//! - [`sign_in`]: people who sign in, and what that does to others.
//! - [`smpp`]: client, server and gateway, and many carriers.
//! - [`diameter`]: credit control, beside a bare server that keeps nothing.
//! - [`topics`]: the topic protocol, beside a bare blocking server.
//! - [`udp`]: paced UDP from one process to another, beside iperf3.
//! - [`command`]: all of it on the command line.

mod alert;
mod command;
mod deployment;
mod diameter;
mod events;
mod http;
mod measured;
mod published;
mod sign_in;
mod smpp;
mod statistics;
mod topics;
mod udp;

use clap::Parser;
use command::BenchCommand;
use std::process::ExitCode;

/// Benchmarks
///
/// `campanile bench` runs this program with the same arguments and measures the campanile that was called.
/// Called by its own name this program measures the campanile in CAMPANILE_BIN, else the one beside it, else
/// the first on PATH.
#[derive(Debug, Parser)]
#[command(name = "campanile bench", bin_name = "campanile bench", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: BenchCommand,
}

fn main() -> ExitCode {
    // Clap prints help and wrong usage, each with its stream and exit code.
    let command = Cli::parse().command;
    let program = match command.needs_campanile().then(deployment::campanile).transpose() {
        Ok(program) => program.unwrap_or_default(),
        Err(why) => return failed(&why, 2),
    };
    match command.run(&program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => failed(&why, 1),
    }
}

fn failed(why: &str, code: u8) -> ExitCode {
    eprintln!("campanile: {why}");
    ExitCode::from(code)
}
