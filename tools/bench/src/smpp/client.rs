//! The client's session code against a bare sink in a process of its own.

use super::SmppOptions;
use super::session::{self, Load};
use super::sink::Totals;
use crate::deployment::{PartProcess, Usage};
use crate::measured::Measured;

/// Runs it; against a server that runs already where one is named.
///
/// # Errors
/// What did not work, in words.
pub(super) async fn run(options: &SmppOptions) -> Result<Measured, String> {
    let mut sink = match &options.server {
        Some(_) => None,
        None => Some(PartProcess::start(&["sink"]).await?),
    };
    let load = load(options, sink.as_ref().map_or("", PartProcess::address));
    let usage = || {
        let sink = sink.as_ref().map(PartProcess::usage).unwrap_or_default();
        (Usage::of(std::process::id()).unwrap_or_default(), sink)
    };
    let mut before = None;
    let run = session::run(&load, || before = Some(usage())).await?;
    let (after, seen) = (usage(), run.seen);
    let before = before.unwrap_or(after);
    let mut measured = options.measured("smpp-client-session");
    let (seconds, millions) = (seen.took.as_secs_f64().max(1e-6), seen.sums.count.max(1) as f64 / 1e6);
    measured.rate_per_s = seen.sums.count as f64 / seconds;
    measured.p50_us = seen.times.percentile_us(0.5);
    measured.p99_us = seen.times.percentile_us(0.99);
    measured.cpu_s_per_million.server = Some((after.0.cpu_s - before.0.cpu_s) / millions);
    measured.peak_rss_mb = Some(after.0.peak_rss as f64 / 1e6);
    measured.errors = seen.refused + seen.mismatches;
    if let Some(sink) = &mut sink {
        let totals: Totals = sink.ask().await?;
        measured.cpu_s_per_million.load = Some((after.1.cpu_s - before.1.cpu_s) / millions);
        measured.errors += seen.sums.differs(&totals.sums) + totals.unreadable;
    } else {
        measured = measured.with("server", load.address);
    }
    Ok(measured.and("messages", seen.sums.count).and("seconds", seconds))
}

fn load(options: &SmppOptions, sink: &str) -> Load {
    let bench = || "bench".to_owned();
    let peer = options.server.clone();
    let echoes = peer.is_none();
    let (address, system_id, password) = match peer {
        Some(peer) => (peer.address, peer.system_id, peer.password),
        None => (sink.to_owned(), bench(), bench()),
    };
    let SmppOptions { connections, window, amount, .. } = *options;
    Load { address, system_id, password, connections, window, amount, echoes, stamps: false }
}
