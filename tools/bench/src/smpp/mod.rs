//! SMPP: the client, the server, the gateway end to end, and many carriers at their limits.
//!
//! The production code is on one side; on the other is something bare of our own, in a process of its own,
//! that does nothing but the system calls. Every message has a number, an address and a text of its own,
//! every response is matched in its window, and what came is compared with what was acknowledged.
//!
//! ```text
//! record     what is sent, and how it is known again
//! sink       a bare SMSC                      generator  a bare ESME
//! session    the session machine as client    front      the session machine as server
//! route      the gateway of an SMS route      door       the SMPP door over a bus
//! rig        a house with doors for platforms
//! client, server, sendsms                     the scenarios
//! fleet      many routes in one process       windows    messages in windows of one second
//! carriers, paper                             the scenarios
//! ```

mod carriers;
mod client;
mod door;
mod fleet;
mod front;
mod generator;
mod paper;
mod part;
mod record;
mod rig;
mod route;
mod sendsms;
mod server;
mod session;
mod sink;
mod windows;

pub(crate) use carriers::{
    CarriersOptions, curves as carriers_curves, rows as carriers_rows, run as run_carriers,
};
pub(crate) use paper::run as run_paper;
pub use part::PartArgs;

use crate::measured::{Measured, shown};
use clap::ValueEnum;
use plot::Curve;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// Messages of a run at most: so many numbers there are.
pub(crate) const COUNT_MAX: u64 = record::NUMBERS;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// Our client against a bare sink
    Client,
    /// Our server, fed by a bare generator
    Server,
    /// HTTP sendsms to SMPP, end to end
    Gateway,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
            Side::Gateway => "gateway",
        }
    }
}

/// How much is sent, over all connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// So many.
    Of(u64),
    /// As many as can be in this time.
    For(Duration),
}

impl Amount {
    /// The numbers of one connection's messages: from the first on until before the second.
    fn numbers(self, place: u64, connections: u64) -> (u64, u64) {
        let all = match self {
            Amount::Of(count) => count,
            Amount::For(_) => record::NUMBERS,
        };
        (all * place / connections, all * (place + 1) / connections)
    }

    fn time(self) -> Option<Duration> {
        match self {
            Amount::Of(_) => None,
            Amount::For(time) => Some(time),
        }
    }
}

/// Somebody who runs already.
#[derive(Debug, Clone)]
pub struct Peer {
    /// `host:port`.
    pub address: String,
    /// Who we are there.
    pub system_id: String,
    /// And the proof.
    pub password: String,
}

/// What is run.
#[derive(Debug, Clone)]
pub struct SmppOptions {
    /// The program whose server and parts run.
    pub program: PathBuf,
    /// Where folders are made; nothing: where the system keeps temporary files.
    pub folder: Option<PathBuf>,
    /// What is measured.
    pub side: Side,
    /// Requests in flight on each connection.
    pub window: usize,
    /// Connections.
    pub connections: usize,
    /// How much.
    pub amount: Amount,
    /// `[bus] fsync`.
    pub fsync: String,
    /// Measured instead of ours.
    pub server: Option<Peer>,
}

impl SmppOptions {
    /// One connection with a window of 500, for ten seconds, everything durable.
    pub fn new(program: PathBuf, side: Side) -> SmppOptions {
        SmppOptions {
            program,
            folder: None,
            side,
            window: 500,
            connections: 1,
            amount: Amount::For(Duration::from_secs(10)),
            fsync: "always".to_owned(),
            server: None,
        }
    }

    fn measured(&self, scenario: &'static str) -> Measured {
        let measured = Measured::new(scenario)
            .with("side", self.side.name())
            .with("window", self.window)
            .with("connections", self.connections);
        match self.amount {
            Amount::Of(count) => measured.with("count", count),
            Amount::For(time) => measured.with("seconds", time.as_secs_f64()),
        }
    }

    fn folder(&self) -> Result<TempDir, String> {
        new_folder(self.folder.as_ref())
    }
}

/// A folder that goes when it is dropped.
fn new_folder(parent: Option<&PathBuf>) -> Result<TempDir, String> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("campanile-bench-");
    let folder = match parent {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    folder.map_err(|error| format!("no folder for the bench: {error}"))
}

/// Runs it: the session code alone, then what has it.
///
/// # Errors
/// What did not work, in words; what worked and was not right is counted in the measurement's errors.
pub async fn run(options: &SmppOptions) -> Result<Vec<Measured>, String> {
    match (options.side, &options.server) {
        (Side::Client, Some(_)) => Ok(vec![client::run(options).await?]),
        (Side::Client, None) => Ok(vec![client::run(options).await?, route::run(options).await?]),
        (Side::Server, Some(_)) => Ok(vec![server::elsewhere(options)?]),
        (Side::Server, None) => Ok(vec![
            server::front(options).await?,
            server::door(options).await?,
            server::deployment(options).await?,
        ]),
        (Side::Gateway, Some(_)) => Ok(vec![sendsms::elsewhere(options).await?]),
        (Side::Gateway, None) => Ok(vec![sendsms::run(options).await?]),
    }
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "scenario",
        "window",
        "connections",
        "fsync",
        "messages",
        "s",
        "messages/s",
        "p50 us",
        "p99 us",
        "CPU s/M",
        "load CPU s/M",
        "RSS MB",
        "fdatasync us",
        "of N/fdatasync",
        "throttled",
        "errors",
    ];
    let rows = measured.iter().map(|m| {
        let optional = |number: Option<f64>| number.map_or("-".to_owned(), shown);
        let whole = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let more = |name: &str| m.more.get(name).and_then(Value::as_f64).map_or("-".to_owned(), shown);
        let given = |name: &str| m.params.get(name).map_or("-".to_owned(), Value::to_string);
        vec![
            m.scenario.to_owned(),
            given("window"),
            given("connections"),
            m.params.get("fsync").and_then(Value::as_str).unwrap_or("-").to_owned(),
            m.more.get("messages").map_or("-".to_owned(), Value::to_string),
            more("seconds"),
            shown(m.rate_per_s),
            whole(m.p50_us),
            whole(m.p99_us),
            optional(m.cpu_s_per_million.server),
            optional(m.cpu_s_per_million.load),
            optional(m.peak_rss_mb),
            whole(m.fdatasync_p50_us),
            more("share_of_connections_per_fdatasync"),
            m.more.get("throttled").map_or("-".to_owned(), Value::to_string),
            m.errors.to_string(),
        ]
    });
    (head, rows.collect())
}

/// Messages a second against the window, a curve for each scenario and number of connections.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for one in measured {
        let fsync = one.params.get("fsync").and_then(Value::as_str).map(|fsync| format!(", {fsync}"));
        let connections = one.number("connections").unwrap_or(0.0);
        let name = format!("{}, {connections} connections{}", one.scenario, fsync.unwrap_or_default());
        let point = (one.number("window").unwrap_or(1.0), one.rate_per_s);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point] }),
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_numbers_of_its_own_and_together_they_are_all() {
        for (amount, connections, all) in [
            (Amount::Of(10), 3, 10),
            (Amount::Of(1), 50, 1),
            (Amount::For(Duration::from_secs(1)), 7, COUNT_MAX),
        ] {
            let ranges: Vec<_> = (0..connections).map(|place| amount.numbers(place, connections)).collect();
            assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, all));
            assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 <= pair[0].1));
        }
    }

    #[test]
    fn runs_of_one_kind_are_one_curve() {
        let one = |window: u64, connections: u64, rate: f64| {
            let mut one = Measured::new("smpp-x").with("window", window).with("connections", connections);
            one.rate_per_s = rate;
            one
        };
        let curves = curves(&[one(1, 1, 5.0), one(500, 1, 9.0), one(1, 4, 7.0)]);
        let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["smpp-x, 1 connections", "smpp-x, 4 connections"]);
        assert_eq!(curves[0].points, [(1.0, 5.0), (500.0, 9.0)]);
    }
}
