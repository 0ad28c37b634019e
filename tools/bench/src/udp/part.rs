//! The two processes of a run: one receives, one sends; each tells what it did and what processor time it
//! took.

use crate::deployment::Usage;
use clap::ValueEnum;
use pace::sender_scaler::Published;
use pace::{DEBT, PacingRule, Profile};
use paced_udp::receiver::{BUFFER, ReceiveOptions, Receiver, Stop, StreamReport, Until};
use paced_udp::sender::{Scaling, SendOptions, Sender, SenderSummary};
use paced_udp::socket::Rung;
use paced_udp::wire::Key;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// How being late is dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Late {
    /// What was missed is sent at once: next = previous due time + T
    CatchUp,
    /// Nothing is made up for: next = now + T
    Capped,
    /// Small delays are made up for, at no more than twice the rate; long ones are not
    Bounded,
}

impl Late {
    fn rule(self) -> PacingRule {
        match self {
            Late::CatchUp => PacingRule::CatchUp,
            Late::Capped => PacingRule::Capped,
            Late::Bounded => PacingRule::Bounded { debt: DEBT },
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Late::CatchUp => "catch-up",
            Late::Capped => "capped",
            Late::Bounded => "bounded",
        }
    }
}

/// How packets are handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Call {
    /// One call a packet
    Send,
    /// One call for several packets
    Sendmmsg,
    /// One buffer for several packets, which the kernel cuts
    Gso,
}

impl Call {
    fn rung(self) -> Rung {
        match self {
            Call::Send => Rung::Send,
            Call::Sendmmsg => Rung::Sendmmsg,
            Call::Gso => Rung::Gso,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Call::Send => "send",
            Call::Sendmmsg => "sendmmsg",
            Call::Gso => "gso",
        }
    }

    fn of(rung: Rung) -> Call {
        match rung {
            Rung::Send => Call::Send,
            Rung::Sendmmsg => Call::Sendmmsg,
            Rung::Gso => Call::Gso,
        }
    }
}

/// Who decides how many threads send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ScalingRule {
    /// Nobody.
    Fixed,
    /// What they report.
    Learned,
    /// The published rule: above this accumulated lag one more, looked at this often.
    Published { limit_us: u64, period_ms: u64 },
}

impl ScalingRule {
    fn crewing(self, threads: (usize, usize)) -> Scaling {
        match self {
            ScalingRule::Fixed => Scaling::Fixed,
            ScalingRule::Learned => Scaling::Learned,
            ScalingRule::Published { limit_us, period_ms } => {
                let (limit, period) = (Duration::from_micros(limit_us), Duration::from_millis(period_ms));
                Scaling::Published(Published::new(limit, period, threads.0 as u32, threads.1 as u32))
            }
        }
    }
}

/// What the sender is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SendJob {
    pub(super) to: SocketAddr,
    pub(super) mss: u16,
    /// The rate over time, in its text form.
    pub(super) profile: String,
    /// Threads to begin with, and at most.
    pub(super) threads: (usize, usize),
    pub(super) crew: ScalingRule,
    pub(super) late: Late,
    pub(super) burst_max: Option<u32>,
    pub(super) call_max: Option<Call>,
    pub(super) seconds: f64,
}

/// What it did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) asked: u64,
    pub(super) sent: u64,
    pub(super) not_sent: u64,
    /// As the receiver told it.
    pub(super) received: u64,
    pub(super) lost_socket: u64,
    pub(super) lost_path: u64,
    pub(super) rate_sent: f64,
    pub(super) rate_received: f64,
    pub(super) threads_max: usize,
    pub(super) thread_seconds: f64,
    pub(super) no_buffers: u64,
    pub(super) lag_us: f64,
    pub(super) lag_sd_us: f64,
    pub(super) lag_max_us: f64,
    /// Octets of the receiver's buffer.
    pub(super) buffer: u64,
    pub(super) burst: u32,
    pub(super) call: Option<Call>,
    pub(super) views: Vec<SendView>,
    pub(super) cost: Cost,
}

/// A tenth of a second of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct SendView {
    pub(super) at_s: f64,
    pub(super) asked: f64,
    pub(super) threads: usize,
}

/// What came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Came {
    pub(super) packets: u64,
    pub(super) seconds: f64,
    /// From the kernel's stamp of the first packet to that of the last.
    pub(super) stamped_s: f64,
    /// What the sender said it sent.
    pub(super) sent: Option<u64>,
    pub(super) lost_socket: u64,
    pub(super) lost_path: u64,
    pub(super) duplicates: u64,
    pub(super) reordered: u64,
    pub(super) jitter_us: f64,
    pub(super) delay_p50_us: f64,
    pub(super) delay_p99_us: f64,
    pub(super) gap_p50_us: f64,
    pub(super) gap_p99_us: f64,
    pub(super) gap_max_us: f64,
    pub(super) gaps_near: f64,
    pub(super) worst_ms: f64,
    pub(super) views: Vec<CameView>,
    pub(super) cost: Cost,
}

/// What had come by then, by the kernel's stamps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct CameView {
    pub(super) at_s: f64,
    pub(super) packets: u64,
}

/// What a process took.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Cost {
    pub(super) cpu_s: f64,
    pub(super) peak_rss: u64,
}

impl Cost {
    fn since(cpu_before: f64) -> Cost {
        let peak_rss = Usage::of(std::process::id()).map_or(0, |usage| usage.peak_rss);
        Cost { cpu_s: cpu_of_this_process() - cpu_before, peak_rss }
    }
}

fn cpu_of_this_process() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Sends as the job says and prints what came of it.
///
/// # Errors
/// In words.
pub(crate) fn run_sender(job: &str) -> Result<(), String> {
    let job: SendJob = serde_json::from_str(job).map_err(|error| format!("--job: {error}"))?;
    say(&send(&job)?)
}

/// Sends as the job says.
pub(super) fn send(job: &SendJob) -> Result<Sent, String> {
    let profile = Profile::parse(&job.profile, |path| Err(format!("{path}: a bench reads no trace")))
        .map_err(|error| format!("--rate: {error}"))?;
    let options = SendOptions {
        to: job.to,
        mss: job.mss,
        profile,
        rule: job.late.rule(),
        threads: job.threads,
        crewing: job.crew.crewing(job.threads),
        burst_max: job.burst_max,
        rung_max: job.call_max.map(Call::rung),
        lasts: Some(Duration::from_secs_f64(job.seconds)),
        key: Key::NONE,
        file: None,
        ceiling: None,
    };
    let before = cpu_of_this_process();
    let (sender, _helm) = Sender::start(options).map_err(|error| error.to_string())?;
    let (mut views, mut last) = (Vec::new(), None);
    while let Some(view) = sender.view() {
        views.push(SendView { at_s: view.at_s, asked: view.asked, threads: view.threads });
        last = Some((view.burst, Call::of(view.rung)));
    }
    let summary = sender.join().map_err(|error| error.to_string())?;
    Ok(Sent { views, cost: Cost::since(before), ..sent(&summary, last) })
}

fn sent(summary: &SenderSummary, last: Option<(u32, Call)>) -> Sent {
    Sent {
        asked: summary.asked,
        sent: summary.sent,
        not_sent: summary.not_sent,
        received: summary.received,
        lost_socket: summary.lost_socket,
        lost_path: summary.lost_path,
        rate_sent: summary.rate_sent,
        rate_received: summary.rate_received,
        threads_max: summary.threads_max,
        thread_seconds: summary.thread_seconds,
        no_buffers: summary.no_buffers,
        lag_us: summary.lag_us,
        lag_sd_us: summary.lag_sd_us,
        lag_max_us: summary.lag_max_us,
        buffer: summary.receiver_buffer.0,
        burst: last.map_or(0, |(burst, _)| burst),
        call: last.map(|(_, call)| call),
        ..Sent::default()
    }
}

/// Receives one stream over so many sockets, says where; once it is asked it ends and prints what came.
///
/// # Errors
/// In words.
pub(crate) fn run_receiver(sockets: usize) -> Result<(), String> {
    let (receiving, stop) = Receiving::start(sockets)?;
    println!("listening on {}", receiving.local());
    std::thread::spawn(move || {
        // A line, or the end of whoever started this: both end it.
        let _ = std::io::stdin().lock().read(&mut [0]);
        stop.stop();
    });
    say(&receiving.until_stopped()?)
}

/// A receiver, and what its process had taken before.
pub(super) struct Receiving {
    receiver: Receiver,
    cpu_before: f64,
}

impl Receiving {
    pub(super) fn start(sockets: usize) -> Result<(Receiving, Stop), String> {
        let options = ReceiveOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            key: Key::NONE,
            sockets: (sockets, sockets),
            buffer: (BUFFER, BUFFER),
            joins: true,
            into: None,
            streams_max: 1,
            until: Until::Stopped,
        };
        let cpu_before = cpu_of_this_process();
        let (receiver, stop) = Receiver::start(options).map_err(|error| error.to_string())?;
        Ok((Receiving { receiver, cpu_before }, stop))
    }

    pub(super) fn local(&self) -> SocketAddr {
        self.receiver.local
    }

    pub(super) fn until_stopped(self) -> Result<Came, String> {
        let mut views = Vec::new();
        while let Some(view) = self.receiver.view() {
            let stream = view.streams.first();
            views.extend(stream.map(|stream| CameView { at_s: stream.stamped_s, packets: stream.packets }));
        }
        let reports = self.receiver.join().map_err(|error| error.to_string())?;
        let came = reports.first().map(came).unwrap_or_default();
        Ok(Came { views, cost: Cost::since(self.cpu_before), ..came })
    }
}

fn came(report: &StreamReport) -> Came {
    Came {
        packets: report.packets,
        seconds: report.seconds,
        stamped_s: report.stamped_s,
        sent: report.sent,
        lost_socket: report.lost_socket,
        lost_path: report.lost_path,
        duplicates: report.duplicates,
        reordered: report.reordered,
        jitter_us: report.jitter_us,
        delay_p50_us: report.delay_p50_us,
        delay_p99_us: report.delay_p99_us,
        gap_p50_us: report.gap_p50_us,
        gap_p99_us: report.gap_p99_us,
        gap_max_us: report.gap_max_us,
        gaps_near: report.gaps_near,
        worst_ms: report.worst_ms,
        ..Came::default()
    }
}

fn say(told: &impl Serialize) -> Result<(), String> {
    let told = serde_json::to_string(told).map_err(|error| error.to_string())?;
    writeln!(std::io::stdout(), "{told}").map_err(|error| format!("the parent process is gone: {error}"))
}
