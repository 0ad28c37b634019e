//! Paced UDP: one process sends, another receives, over loopback; rates and gaps by the stamps of the
//! receiver's kernel.

mod iperf;
mod paper;
mod part;
mod report;
mod series;
mod tap;

pub(crate) use paper::{PaperOptions, Section, run as run_paper};
pub(crate) use part::{Call, Late, run_receiver, run_sender};
pub(crate) use report::{curves, rows};

use crate::deployment::{PartProcess, this_program};
use crate::measured::{Cpu, Measured};
use part::{Came, ScalingRule, SendJob, Sent};
use series::{Point, gbit, points};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A sender that does not end so long after its time is given up.
const LATE_MAX: Duration = Duration::from_secs(30);

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct UdpOptions {
    /// A receiver that runs already.
    pub(crate) server: Option<SocketAddr>,
    /// Over time, in its text form.
    pub(crate) rate: String,
    pub(crate) mss: u16,
    pub(crate) threads: Threads,
    pub(crate) late: Late,
    pub(crate) burst: Option<u32>,
    pub(crate) call: Option<Call>,
    /// Sockets of the receiver.
    pub(crate) sockets: usize,
    pub(crate) seconds: f64,
    /// So many runs, of which the middle one counts.
    pub(crate) rounds: usize,
    /// Measures iperf3 in turns with ours.
    pub(crate) iperf: bool,
}

impl Default for UdpOptions {
    /// One thread, ten seconds, 10 Gbit/s in packets that fit into an Ethernet frame of 1,500 octets.
    fn default() -> UdpOptions {
        UdpOptions {
            server: None,
            rate: "10G".to_owned(),
            mss: 1472,
            threads: Threads::Fixed(1),
            late: Late::Bounded,
            burst: None,
            call: None,
            sockets: 1,
            seconds: 10.0,
            rounds: 1,
            iperf: false,
        }
    }
}

/// Threads of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// So many all the time.
    Fixed(usize),
    /// As many as are needed: so many to begin with, and at most.
    Managed(usize, usize),
    /// By the published rule: so many to begin with, and at most; one more above this lag, looked at this
    /// often.
    Published { first: usize, most: usize, limit_us: u64, period_ms: u64 },
}

impl Threads {
    fn bounds(self) -> (usize, usize) {
        match self {
            Threads::Fixed(threads) => (threads, threads),
            Threads::Managed(first, most) | Threads::Published { first, most, .. } => (first, most),
        }
    }

    fn name(self) -> String {
        match self {
            Threads::Fixed(threads) => threads.to_string(),
            Threads::Managed(first, most) | Threads::Published { first, most, .. } => {
                format!("{first} to {most}")
            }
        }
    }

    fn crew(self) -> ScalingRule {
        match self {
            Threads::Fixed(_) => ScalingRule::Fixed,
            Threads::Managed(..) => ScalingRule::Learned,
            Threads::Published { limit_us, period_ms, .. } => ScalingRule::Published { limit_us, period_ms },
        }
    }
}

/// What both processes told.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    sent: Sent,
    came: Option<Came>,
}

/// Runs it; one line for ours, and one for iperf3 where that was asked for.
///
/// # Errors
/// What does not come up or breaks, in words.
pub(crate) async fn run(options: &UdpOptions) -> Result<Vec<Measured>, String> {
    if options.iperf {
        // Before the first run, which may be long.
        iperf::version().await.ok_or(iperf::MISSING)?;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        ours.push(line(options, &once(options).await?));
        if options.iperf {
            theirs.push(iperf::run(options).await?);
        }
    }
    Ok([middle(ours), middle(theirs)].into_iter().flatten().collect())
}

/// The run in the middle by its rate, with the errors of all and how far their rates are apart.
fn middle(mut runs: Vec<Measured>) -> Option<Measured> {
    let errors = runs.iter().map(|run| run.errors).sum();
    runs.sort_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
    let (least, most) = (runs.first()?.number("gbit_per_s"), runs.last()?.number("gbit_per_s"));
    let mut run = runs.swap_remove(runs.len() / 2);
    run.errors = errors;
    Some(run.and("gbit_per_s_least", least).and("gbit_per_s_most", most))
}

/// Starts both processes and waits for the end.
async fn once(options: &UdpOptions) -> Result<Run, String> {
    if let Some(server) = options.server {
        return Ok(Run { sent: send(options, server).await?, came: None });
    }
    let sockets = options.sockets.to_string();
    let mut receiver = PartProcess::start(&["udp-receiver", "--count", &sockets]).await?;
    let to = receiver.address().parse().map_err(|error| format!("the receiver's address: {error}"))?;
    let sent = send(options, to).await?;
    Ok(Run { sent, came: Some(receiver.ask().await?) })
}

async fn send(options: &UdpOptions, to: SocketAddr) -> Result<Sent, String> {
    let job = SendJob {
        to,
        mss: options.mss,
        profile: options.rate.clone(),
        threads: options.threads.bounds(),
        crew: options.threads.crew(),
        late: options.late,
        burst_max: options.burst,
        call_max: options.call,
        seconds: options.seconds,
    };
    let job = serde_json::to_string(&job).map_err(|error| error.to_string())?;
    let most = Duration::from_secs_f64(options.seconds) + LATE_MAX;
    let told = output(&this_program()?, &["part", "udp-sender", "--job", &job], most).await?;
    serde_json::from_str(&told).map_err(|error| format!("the sender printed {told:?}: {error}"))
}

/// What a program prints until it ends well.
async fn output(program: &Path, arguments: &[&str], most: Duration) -> Result<String, String> {
    let name = program.display();
    let child = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    let output = tokio::time::timeout(most, child.wait_with_output()).await;
    let output = output.map_err(|_| format!("{name} took more than {} s", most.as_secs()))?;
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    let (said, told) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    if output.status.success() {
        return Ok(told.into_owned());
    }
    // Ours begins with its name, as whoever prints this does.
    let said = said.trim();
    Err(format!("{} {}", said.strip_prefix("campanile: ").unwrap_or(said), told.trim()).trim().to_owned())
}

/// Packets a second by the kernel's stamps: those after the first, in the time from it to the last.
fn rate(run: &Run, mss: u16) -> f64 {
    match &run.came {
        Some(came) if came.packets > 1 && came.stamped_s > 0.0 => (came.packets - 1) as f64 / came.stamped_s,
        Some(_) => 0.0,
        None => run.sent.rate_received / (f64::from(mss) * 8.0),
    }
}

/// What does not agree between the two sides.
fn errors(run: &Run) -> u64 {
    let sent = &run.sent;
    let books = sent.asked.abs_diff(sent.sent + sent.not_sent)
        + sent.sent.abs_diff(sent.received + sent.lost_socket + sent.lost_path);
    let came = run.came.as_ref().map_or(0, |came| {
        let told = came.sent.map_or(sent.sent.max(1), |told| told.abs_diff(sent.sent));
        let lost = came.lost_socket + came.lost_path;
        told + came.duplicates + sent.sent.abs_diff(came.packets + lost)
    });
    books + came
}

fn line(options: &UdpOptions, run: &Run) -> Measured {
    let sent = &run.sent;
    let rate = rate(run, options.mss);
    let gbit = gbit(rate, options.mss);
    let (lost_socket, lost_path) = match &run.came {
        Some(came) => (came.lost_socket, came.lost_path),
        None => (sent.lost_socket, sent.lost_path),
    };
    let mut line = Measured::new("udp")
        .with("sender", "campanile")
        .with("rate", options.rate.as_str())
        .with("mss", options.mss)
        .with("threads", options.threads.name())
        .with("rule", options.late.name())
        .with("burst_max", options.burst)
        .with("sockets", options.sockets)
        .with("seconds", options.seconds)
        .with("rounds", options.rounds)
        .and("gbit_per_s", gbit)
        .and("gbit_per_s_sent", sent.rate_sent / 1e9)
        .and("packets_sent", sent.sent)
        .and("not_sent", sent.not_sent)
        .and("lost", lost_socket + lost_path)
        .and("lost_socket", lost_socket)
        .and("lost_path", lost_path)
        .and("threads_most", sent.threads_max)
        .and("thread_seconds", sent.thread_seconds)
        .and("burst", sent.burst)
        .and("call", sent.call.map(Call::name))
        .and("refused_for_room", sent.no_buffers)
        .and("lag_us", sent.lag_us)
        .and("lag_sd_us", sent.lag_sd_us)
        .and("lag_max_us", sent.lag_max_us)
        .and("receiver_buffer_octets", sent.buffer);
    line.rate_per_s = rate;
    line.errors = errors(run);
    let millions = |packets: u64| (packets as f64 / 1e6).max(f64::MIN_POSITIVE);
    line.cpu_s_per_million.server = Some(sent.cost.cpu_s / millions(sent.sent));
    line.peak_rss_mb = Some(sent.cost.peak_rss as f64 / 1e6);
    let Some(came) = &run.came else { return line };
    line.cpu_s_per_million =
        Cpu { load: Some(came.cost.cpu_s / millions(came.packets)), ..line.cpu_s_per_million };
    line.p50_us = Some(came.delay_p50_us.round() as u64);
    line.p99_us = Some(came.delay_p99_us.round() as u64);
    line.and("gaps_near", came.gaps_near)
        .and("worst_ms", came.worst_ms)
        .and("gap_p50_us", came.gap_p50_us)
        .and("gap_p99_us", came.gap_p99_us)
        .and("gap_max_us", came.gap_max_us)
        .and("jitter_us", came.jitter_us)
        .and("reordered", came.reordered)
        .and("receiver_peak_rss_mb", came.cost.peak_rss as f64 / 1e6)
}

/// The rate over time.
fn over_time(run: &Run, mss: u16) -> Vec<Point> {
    run.came.as_ref().map(|came| points(&came.views, mss)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides in this process: what a run of 0.3 s comes to, by each rule and each call.
    #[test]
    fn a_short_run_is_measured_and_both_sides_agree() {
        for (late, call, threads, sockets) in [
            (Late::Bounded, Call::Gso, 1, 1),
            (Late::CatchUp, Call::Send, 2, 1),
            (Late::Capped, Call::Sendmmsg, 1, 2),
        ] {
            let (receiving, stop) = part::Receiving::start(sockets).unwrap();
            let job = SendJob {
                to: receiving.local(),
                mss: 1_000,
                profile: "4M".to_owned(),
                threads: (threads, threads),
                crew: ScalingRule::Fixed,
                late,
                burst_max: None,
                call_max: Some(call),
                seconds: 0.3,
            };
            let sent = part::send(&job).unwrap();
            stop.stop();
            let run = Run { sent, came: Some(receiving.until_stopped().unwrap()) };
            let options = UdpOptions {
                rate: job.profile,
                mss: job.mss,
                threads: Threads::Fixed(threads),
                late,
                seconds: job.seconds,
                ..UdpOptions::default()
            };
            let line = line(&options, &run);
            let came = run.came.as_ref().unwrap();
            assert_eq!(line.errors, 0, "{run:?}");
            assert!(came.packets > 1 && came.stamped_s > 0.0 && came.stamped_s < 30.0, "{came:?}");
            assert_eq!((came.packets, came.lost_path + came.lost_socket), (run.sent.sent, 0));
            assert_eq!(line.number("threads_most"), Some(threads as f64));
            assert_eq!(run.sent.call, Some(call), "no other way was taken");
            let gbit = line.number("gbit_per_s").unwrap();
            assert!((gbit - line.rate_per_s * 8e-6).abs() < 1e-9 && gbit > 0.0, "{line:?}");
            assert!(line.p50_us.is_some() && line.cpu_s_per_million.load.is_some_and(|cpu| cpu > 0.0));
        }
    }

    fn run() -> Run {
        let sent =
            Sent { asked: 110, sent: 101, not_sent: 9, received: 100, lost_path: 1, ..Sent::default() };
        let came = Came { packets: 100, stamped_s: 0.5, sent: Some(101), lost_path: 1, ..Came::default() };
        Run { sent, came: Some(came) }
    }

    #[test]
    fn a_rate_is_of_the_packets_between_the_first_stamp_and_the_last() {
        assert_eq!(rate(&run(), 1_000), 198.0);
        let alone = Came { packets: 1, ..Came::default() };
        assert_eq!(rate(&Run { came: Some(alone), ..run() }, 1_000), 0.0);
        let sent = Sent { rate_received: 8e6, ..Sent::default() };
        assert_eq!(rate(&Run { sent, came: None }, 1_000), 1_000.0, "where only the sender was told");
    }

    #[test]
    fn whatever_the_two_sides_count_otherwise_is_an_error() {
        assert_eq!(errors(&run()), 0);
        let with = |change: fn(&mut Sent, &mut Came)| {
            let Run { mut sent, came } = run();
            let mut came = came.unwrap();
            change(&mut sent, &mut came);
            errors(&Run { sent, came: Some(came) })
        };
        assert_eq!(with(|sent, _| sent.not_sent = 8), 1);
        assert_eq!(with(|sent, _| sent.received = 98), 2);
        assert_eq!(with(|_, came| came.duplicates = 3), 3);
        assert_eq!(with(|_, came| came.packets = 96), 4);
        assert_eq!(with(|_, came| came.sent = None), 101, "the receiver never heard the end");
    }

    #[test]
    fn the_run_in_the_middle_counts_with_the_errors_of_all() {
        let one = |rate: f64, errors| {
            let mut line = Measured::new("udp").and("gbit_per_s", rate);
            (line.rate_per_s, line.errors) = (rate, errors);
            line
        };
        let line = middle(vec![one(9.0, 1), one(7.0, 0), one(8.0, 2)]).unwrap();
        assert_eq!((line.rate_per_s, line.errors), (8.0, 3));
        assert_eq!((line.number("gbit_per_s_least"), line.number("gbit_per_s_most")), (Some(7.0), Some(9.0)));
        assert_eq!(middle(Vec::new()), None);
    }
}
