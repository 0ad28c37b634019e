//! iperf3 beside ours: rate, loss and processor time as it tells them itself; how evenly its packets come by
//! our tap, in a run of its own.

use super::series::gbit;
use super::tap::{Tap, Tapped};
use super::{LATE_MAX, Threads, UdpOptions};
use crate::deployment::free_port;
use crate::measured::{Cpu, Measured};
use pace::parse_bit_rate;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Its server listens after so long.
const READY_MAX: Duration = Duration::from_secs(10);

/// What its client prints at the end (`-J`).
#[derive(Debug, Deserialize)]
struct Printed {
    end: IperfEnd,
}

#[derive(Debug, Deserialize)]
struct IperfEnd {
    sum: Sum,
    cpu_utilization_percent: Utilization,
}

/// Of the test: packets that the client sent, and of those that the server missed.
#[derive(Debug, Deserialize)]
struct Sum {
    seconds: f64,
    packets: u64,
    lost_packets: i64,
    jitter_ms: f64,
}

/// Of one processor: the client's, the server's.
#[derive(Debug, Deserialize)]
struct Utilization {
    host_total: f64,
    remote_total: f64,
}

/// Its version; nothing where it is not installed.
pub(super) async fn version() -> Option<String> {
    let output = Command::new("iperf3").arg("--version").stdin(Stdio::null()).output().await.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_ascii_whitespace().nth(1).map(str::to_owned)
}

/// What to do where it is not installed.
pub(super) const MISSING: &str =
    "iperf3 is not on the PATH: install it with `apt-get install iperf3` to have it measured beside ours";

/// Runs it twice: to its own server, and to our tap.
///
/// # Errors
/// It is not there, or breaks, in words.
pub(super) async fn run(options: &UdpOptions) -> Result<Measured, String> {
    let version = version().await.ok_or(MISSING)?;
    let rate = parse_bit_rate(&options.rate)
        .map_err(|error| format!("--rate {}: iperf3 has only a level rate: {error}", options.rate))?;
    let (_server, peer) = serve().await?;
    let printed = send(options, rate, peer.port()).await?;
    let (_server, peer) = serve().await?;
    let gap_ns = f64::from(options.mss) * 8.0 / rate * 1e9;
    let tap = Tap::start(peer, options.mss, gap_ns as u32).await?;
    // Its server misses all packets that we take: what it prints says nothing, and it may call that an error.
    let _ = send(options, rate, tap.port).await;
    Ok(line(options, &version, &printed, &tap.end()?))
}

async fn serve() -> Result<(Child, SocketAddr), String> {
    let describe = |error: std::io::Error| format!("iperf3's server: {error}");
    let port = free_port()?;
    let mut child = Command::new("iperf3")
        .args(["--server", "--one-off", "--forceflush", "--bind", "127.0.0.1", "--port", &port.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(describe)?;
    let output = child.stdout.take().ok_or("iperf3's server has no standard output")?;
    let mut lines = BufReader::new(output).lines();
    let listens = async {
        while let Some(line) = lines.next_line().await.map_err(describe)? {
            if line.contains("Server listening") {
                return Ok(());
            }
        }
        Err("iperf3's server ended at once".to_owned())
    };
    let listens = tokio::time::timeout(READY_MAX, listens).await;
    listens.map_err(|_| format!("iperf3's server does not listen within {} s", READY_MAX.as_secs()))??;
    // It goes on printing; nobody listens, but it must not be stopped by that.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok((child, ([127, 0, 0, 1], port).into()))
}

async fn send(options: &UdpOptions, rate: f64, port: u16) -> Result<Printed, String> {
    let streams = match options.threads {
        Threads::Fixed(threads) => threads,
        Threads::Managed(..) | Threads::Published { .. } => 1,
    };
    // It knows whole seconds only, and each stream has the rate.
    let seconds = whole_seconds(options.seconds);
    let arguments = [
        "--client=127.0.0.1".to_owned(),
        format!("--port={port}"),
        "--udp".to_owned(),
        format!("--bitrate={:.0}", rate / streams as f64),
        format!("--length={}", options.mss),
        format!("--time={seconds}"),
        format!("--parallel={streams}"),
        "--json".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let most = Duration::from_secs(seconds) + LATE_MAX;
    let told = super::output(Path::new("iperf3"), &arguments, most).await?;
    serde_json::from_str(&told).map_err(|error| format!("iperf3 printed what we do not know: {error}"))
}

fn whole_seconds(seconds: f64) -> u64 {
    (seconds.ceil() as u64).max(1)
}

fn line(options: &UdpOptions, version: &str, printed: &Printed, tapped: &Tapped) -> Measured {
    let (sum, cpu) = (&printed.end.sum, &printed.end.cpu_utilization_percent);
    let lost = u64::try_from(sum.lost_packets).unwrap_or(0).min(sum.packets);
    let received = sum.packets - lost;
    let per_s = |packets: u64| packets as f64 / sum.seconds.max(f64::MIN_POSITIVE);
    let mut line = Measured::new("udp")
        .with("sender", format!("iperf3 {version}"))
        .with("rate", options.rate.as_str())
        .with("mss", options.mss)
        .with("threads", options.threads.name())
        .with("seconds", whole_seconds(options.seconds))
        .with("rounds", options.rounds)
        .and("gbit_per_s", gbit(per_s(received), options.mss))
        .and("gbit_per_s_sent", gbit(per_s(sum.packets), options.mss))
        .and("packets_sent", sum.packets)
        .and("lost", lost)
        .and("jitter_us", sum.jitter_ms * 1e3)
        .and("gbit_per_s_tapped", gbit(tapped.packets as f64 / tapped.stamped_s.max(1e-9), options.mss))
        .and("gaps_near", tapped.gaps_near)
        .and("worst_ms", tapped.worst_ms)
        .and("gap_p50_us", tapped.gap_p50_us)
        .and("gap_p99_us", tapped.gap_p99_us)
        .and("gap_max_us", tapped.gap_max_us);
    line.rate_per_s = per_s(received);
    let per_million = |percent: f64, packets: u64| {
        (packets > 0).then(|| percent / 100.0 * sum.seconds / (packets as f64 / 1e6))
    };
    line.cpu_s_per_million = Cpu {
        server: per_million(cpu.host_total, sum.packets),
        load: per_million(cpu.remote_total, received),
    };
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_becomes_a_line_like_ours() {
        let printed = r#"{"start": {}, "end": {"sum": {"seconds": 2.0, "bytes": 1, "packets": 2000000, "lost_packets": 500000,
            "jitter_ms": 0.5}, "cpu_utilization_percent": {"host_total": 50.0, "remote_total": 75.0, "host_user": 1}}}"#;
        let options = UdpOptions { mss: 1_000, seconds: 1.2, ..UdpOptions::default() };
        let tapped = Tapped { packets: 1_000, stamped_s: 0.01, gaps_near: 0.5, ..Tapped::default() };
        let line = line(&options, "3.12", &serde_json::from_str(printed).unwrap(), &tapped);
        assert_eq!((line.rate_per_s, line.number("lost")), (750_000.0, Some(500_000.0)));
        assert_eq!((line.number("gbit_per_s"), line.number("gbit_per_s_sent")), (Some(6.0), Some(8.0)));
        assert_eq!(line.cpu_s_per_million, Cpu { server: Some(0.5), load: Some(1.0) });
        assert_eq!((line.number("gaps_near"), line.number("seconds")), (Some(0.5), Some(2.0)));
        let missed = printed.replace("500000", "-3");
        let line = super::line(&options, "3.12", &serde_json::from_str(&missed).unwrap(), &tapped);
        assert_eq!(line.number("lost"), Some(0.0), "it has been seen to count below nothing");
    }
}
