//! The server: fed by the bare generator.

use super::SmppOptions;
use super::generator::{self, GeneratorResult, Load};
use super::rig::{PLATFORM, Rig};
use super::sink::Totals;
use crate::deployment::{PartProcess, Usage, fdatasync_p50_us};
use crate::measured::Measured;

/// What a submit_sm_resp of the door says.
const ACKNOWLEDGED: &str = "when it is on the bus, as durable as fsync says";

/// The session code alone, in a process of its own.
///
/// # Errors
/// What did not work, in words.
pub(super) async fn front(options: &SmppOptions) -> Result<Measured, String> {
    let front = PartProcess::start(&["front"]).await?;
    let usage = || (front.usage(), Usage::of(std::process::id()).unwrap_or_default());
    let (mut seen, before) = feed(&load(options, front.address()), usage)?;
    let after = usage();
    let mut measured = judged(options.measured("smpp-server-session"), &mut seen);
    spent(&mut measured, before, after, seen.sums.count);
    Ok(measured)
}

/// The production door alone: what it acknowledges is on a bus, as durable as `fsync` says.
///
/// # Errors
/// What did not work, in words.
pub(super) async fn door(options: &SmppOptions) -> Result<Measured, String> {
    let folder = options.folder()?;
    let place = folder.path().join("bus").to_string_lossy().into_owned();
    let fdatasync_us = fdatasync_p50_us(folder.path()).map_err(|error| format!("fdatasync: {error}"))?;
    let arguments = ["door", "--folder", &place, "--fsync", &options.fsync];
    let mut door = PartProcess::start(&arguments).await?;
    let usage = || (door.usage(), Usage::of(std::process::id()).unwrap_or_default());
    let (mut seen, before) = feed(&load(options, door.address()), usage)?;
    let after = usage();
    let totals: Totals = door.ask().await?;
    let mut measured = judged(options.measured("smpp-server-door"), &mut seen)
        .with("fsync", options.fsync.as_str())
        .with("acknowledged", ACKNOWLEDGED);
    spent(&mut measured, before, after, seen.sums.count);
    measured.errors += seen.sums.differs(&totals.sums) + totals.unreadable;
    measured.fdatasync_p50_us = Some(fdatasync_us);
    Ok(measured)
}

/// The whole program: what it acknowledges is on its bus as durable as `[bus] fsync` says, and comes out at a
/// carrier.
///
/// # Errors
/// What did not work, in words.
pub(super) async fn deployment(options: &SmppOptions) -> Result<Measured, String> {
    let mut rig = Rig::open(options).await?;
    let fdatasync_us = fdatasync_p50_us(rig.folder()).map_err(|error| format!("fdatasync: {error}"))?;
    let load = load(options, &rig.door);
    let usage = || (rig.server.usage(), Usage::of(std::process::id()).unwrap_or_default());
    let (mut seen, before) = feed(&load, usage)?;
    let after = usage();
    let totals = rig.arrived(&seen.sums).await?;
    let whole = rig.server.usage();
    let mut measured = judged(options.measured("smpp-server"), &mut seen)
        .with("fsync", options.fsync.as_str())
        .with("acknowledged", ACKNOWLEDGED);
    spent(&mut measured, before, after, seen.sums.count);
    measured.errors += seen.sums.differs(&totals.sums) + totals.unreadable;
    measured.fdatasync_p50_us = Some(fdatasync_us);
    let through = (whole.cpu_s - before.0.cpu_s) * 1e6 / seen.sums.count.max(1) as f64;
    Ok(measured.and("cpu_s_per_million_to_the_carrier", through))
}

/// A server that runs already, by its answers alone.
///
/// # Errors
/// What did not work, in words.
pub(super) fn elsewhere(options: &SmppOptions) -> Result<Measured, String> {
    let address = options.server.as_ref().map_or("", |peer| &peer.address);
    let (mut seen, _) = feed(&load(options, address), || ())?;
    Ok(judged(options.measured("smpp-server").with("server", address), &mut seen))
}

fn load(options: &SmppOptions, address: &str) -> Load {
    let SmppOptions { connections, window, amount, .. } = *options;
    let known = options.server.as_ref().map(|peer| (peer.system_id.clone(), peer.password.clone()));
    let (system_id, password) = known.unwrap_or_else(|| (PLATFORM.to_owned(), PLATFORM.to_owned()));
    Load { address: address.to_owned(), system_id, password, connections, window, amount, echoes: false }
}

/// Runs the generator's threads; what `usage` said when all were bound comes back too.
fn feed<T>(load: &Load, usage: impl Fn() -> T) -> Result<(GeneratorResult, T), String> {
    // This task has nothing else to do meanwhile, and the process another thread for what runs beside.
    tokio::task::block_in_place(|| {
        let mut before = None;
        let seen = generator::run(load, || before = Some(usage()))?;
        Ok((seen, before.ok_or("the load did not begin")?))
    })
}

fn judged(mut measured: Measured, seen: &mut GeneratorResult) -> Measured {
    let seconds = seen.took.as_secs_f64().max(1e-6);
    measured.rate_per_s = seen.sums.count as f64 / seconds;
    measured.p50_us = seen.times.percentile_us(0.5);
    measured.p99_us = seen.times.percentile_us(0.99);
    measured.errors = seen.refused + seen.mismatches + seen.repeated_ids();
    measured.and("messages", seen.sums.count).and("seconds", seconds).and("throttled", seen.throttled)
}

fn spent(measured: &mut Measured, before: (Usage, Usage), after: (Usage, Usage), messages: u64) {
    let millions = messages.max(1) as f64 / 1e6;
    measured.cpu_s_per_million.server = Some((after.0.cpu_s - before.0.cpu_s) / millions);
    measured.cpu_s_per_million.load = Some((after.1.cpu_s - before.1.cpu_s) / millions);
    measured.peak_rss_mb = Some(after.0.peak_rss as f64 / 1e6);
}
