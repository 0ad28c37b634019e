//! The paced sender: threads that send, a manager that sees to them, and a peer that has agreed.

mod peer;
mod supervisor;
mod tally;
mod thread;
mod turn;

pub use peer::{ANSWERS_WITHIN, ReceiverPeer, SILENT_AFTER};
pub use tally::SenderTally;

use crate::error::PacedUdpError;
use crate::payload::{FileFeed, ReaderThread};
use crate::socket::Rung;
use crate::wire::{Counted, HEAD, Key, MSS_MAX, MSS_MIN};
use pace::{PacingRule, Profile};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender as Channel, channel};
use std::time::Duration;
use supervisor::Supervisor;

/// Threads a sender has at most.
pub const THREADS_MAX: usize = 64;

/// Who decides how many threads send, and how.
#[derive(Debug, Clone)]
pub enum Scaling {
    /// Nobody: as many as there are at first, each burst 100 us worth, on the highest rung.
    Fixed,
    /// What the threads report: [`pace::sender_scaler::SenderScaler`].
    Learned,
    /// The published rule, to compare with.
    Published(pace::sender_scaler::Published),
}

/// What to send.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// To whom.
    pub to: SocketAddr,
    /// Octets of a packet, [`MSS_MIN`] to [`MSS_MAX`].
    pub mss: u16,
    /// The rate asked for over time, in bits of such packets a second.
    pub profile: Profile,
    /// How being late is dealt with.
    pub rule: PacingRule,
    /// Threads to begin with, and at most; the most is held to the processors this process may use.
    pub threads: (usize, usize),
    /// Who decides between them.
    pub crewing: Scaling,
    /// Packets of a burst, at most.
    pub burst_max: Option<u32>,
    /// The highest rung to use.
    pub rung_max: Option<Rung>,
    /// How long; without it until it is stopped.
    pub lasts: Option<Duration>,
    /// The key both sides have.
    pub key: Key,
    /// A file to send once, instead of blank packets.
    pub file: Option<PathBuf>,
    /// No rate above this is taken, whoever asks for it; bits a second.
    pub ceiling: Option<f64>,
}

impl SendOptions {
    fn check(&self) -> Result<(), PacedUdpError> {
        let refused = |name, why: String| Err(PacedUdpError::Option { name, why });
        if !(MSS_MIN..=MSS_MAX).contains(&self.mss) {
            return refused(
                "mss",
                format!(
                    "{} octets; {MSS_MIN} to {MSS_MAX} are possible ({HEAD} of them are the head)",
                    self.mss
                ),
            );
        }
        let (first, most) = self.threads;
        if first == 0 || first > most || most > THREADS_MAX {
            return refused("threads", format!("{first} to {most}; from 1 to {THREADS_MAX} are possible"));
        }
        if let Some(ceiling) = self.ceiling.filter(|ceiling| self.profile.peak() > *ceiling) {
            return refused(
                "rate",
                format!(
                    "{:.0} bits/s is above the {ceiling:.0} that this machine allows",
                    self.profile.peak()
                ),
            );
        }
        Ok(())
    }
}

/// How a sender is doing; ten times a second.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// Seconds since it began.
    pub at_s: f64,
    /// Asked for, bits a second, in the mean since the last view.
    pub asked: f64,
    /// Sent, the same.
    pub sent: f64,
    /// Received as the peer tells, the same.
    pub received: f64,
    /// Threads that send.
    pub threads: usize,
    /// Packets of a burst.
    pub burst: u32,
    /// How they are handed to the kernel.
    pub rung: Rung,
    /// How late bursts left, in microseconds: mean and deviation.
    pub lag_us: f64,
    pub lag_sd_us: f64,
    /// Processors' time used, in processors.
    pub cpu: f64,
    /// Packets so far: asked for, sent, given up or not yet sent, lost at the receiver's socket, lost on the
    /// path.
    pub packets_asked: u64,
    pub packets_sent: u64,
    pub not_sent: u64,
    pub lost_socket: u64,
    pub lost_path: u64,
    /// What keeps the rate from being reached, if anything.
    pub ceiling: Option<&'static str>,
    /// Why threads, rung or burst are others than in the view before.
    pub reason: Option<&'static str>,
}

/// What came of it all.
#[derive(Debug, Clone, Serialize)]
pub struct SenderSummary {
    /// Seconds of sending.
    pub seconds: f64,
    /// Packets asked for.
    pub asked: u64,
    /// Packets that left.
    pub sent: u64,
    /// Asked for and never sent.
    pub not_sent: u64,
    /// Of those: given up since a thread was too late.
    pub written_off: u64,
    /// Packets that came, each once.
    pub received: u64,
    /// Lost at the receiver's socket, for want of room.
    pub lost_socket: u64,
    /// Lost on the path.
    pub lost_path: u64,
    /// Came more than once.
    pub duplicates: u64,
    /// Bits a second: asked for, sent, received.
    pub rate_asked: f64,
    pub rate_sent: f64,
    pub rate_received: f64,
    /// Time of all threads that were not parked, in seconds.
    pub thread_seconds: f64,
    /// The most at once.
    pub threads_max: usize,
    /// Processor time of all threads, in seconds.
    pub cpu_s: f64,
    /// Calls refused for want of room in the device's queue, in the socket; calls that told of a dead peer;
    /// times the file was not ready.
    pub no_buffers: u64,
    pub again: u64,
    pub refused: u64,
    pub starved: u64,
    /// How late bursts left: mean, deviation, worst, in microseconds.
    pub lag_us: f64,
    pub lag_sd_us: f64,
    pub lag_max_us: f64,
    /// The receiver's buffer: octets it has, octets it asked for.
    pub receiver_buffer: (u64, u64),
}

impl SenderSummary {
    /// Lost packets of each thousand that were sent.
    pub fn loss(&self) -> f64 {
        let lost = (self.lost_socket + self.lost_path) as f64;
        if self.sent == 0 { 0.0 } else { lost / self.sent as f64 }
    }

    fn lost(&mut self, counted: &Counted) {
        let lost = self.sent.saturating_sub(counted.packets);
        self.received = counted.packets;
        self.duplicates = counted.duplicates;
        self.lost_socket = counted.overflowed.min(lost);
        self.lost_path = lost - self.lost_socket;
    }
}

/// What a running sender is told.
pub(crate) enum SupervisorCommand {
    /// This rate from now on, whatever the profile says.
    Rate(f64),
    /// The end.
    Stop,
}

/// A sender that runs.
pub struct Sender {
    words: Channel<SupervisorCommand>,
    views: Receiver<View>,
    thread: std::thread::JoinHandle<Result<SenderSummary, PacedUdpError>>,
}

/// Tells a running sender something, from any thread.
#[derive(Clone)]
pub struct SenderControl {
    words: Channel<SupervisorCommand>,
    ceiling: Option<f64>,
}

impl SenderControl {
    /// Another rate from now on, in bits a second. Errors: it is out of bounds.
    pub fn set_rate(&self, rate: f64) -> Result<(), String> {
        if rate != 0.0 && !(pace::BIT_RATE_MIN..=pace::BIT_RATE_MAX).contains(&rate) {
            return Err(format!(
                "rate: {rate} bits/s; 0 (a pause) or {} to {} are possible",
                pace::BIT_RATE_MIN,
                pace::BIT_RATE_MAX
            ));
        }
        if let Some(ceiling) = self.ceiling.filter(|ceiling| rate > *ceiling) {
            return Err(format!("rate: {rate:.0} bits/s is above the {ceiling:.0} that this machine allows"));
        }
        self.words.send(SupervisorCommand::Rate(rate)).map_err(|_| "the sender has ended".to_owned())
    }

    /// Ends it.
    pub fn stop(&self) {
        let _ = self.words.send(SupervisorCommand::Stop);
    }
}

impl Sender {
    /// Asks the peer, and begins to send once it has agreed.
    pub fn start(options: SendOptions) -> Result<(Sender, SenderControl), PacedUdpError> {
        options.check()?;
        let ceiling = options.ceiling;
        let (words, heard) = channel();
        let (tell, views) = channel();
        let (feeds, reading) = match &options.file {
            Some(path) => FileFeed::open(path, options.threads.1)
                .map(|(feeds, reading)| (feeds, Some(reading)))
                .map_err(PacedUdpError::io(format!("the file {}", path.display())))?,
            None => (Vec::new(), None),
        };
        let steward = Supervisor::new(options, feeds, heard, tell)?;
        let thread = std::thread::Builder::new()
            .name("udp-manager".to_owned())
            .spawn(move || run(steward, reading))
            .map_err(PacedUdpError::io("a thread"))?;
        let helm = SenderControl { words: words.clone(), ceiling };
        Ok((Sender { words, views, thread }, helm))
    }

    /// The next view; `None` after the end.
    pub fn view(&self) -> Option<View> {
        self.views.recv().ok()
    }

    /// Waits for the end.
    pub fn join(self) -> Result<SenderSummary, PacedUdpError> {
        // Views that nobody takes are not kept.
        drop(self.views);
        let _keeps = self.words;
        self.thread.join().unwrap_or_else(|_| {
            Err(PacedUdpError::io("the sender")(std::io::Error::other("its manager panicked")))
        })
    }
}

fn run(steward: Supervisor, reading: Option<ReaderThread>) -> Result<SenderSummary, PacedUdpError> {
    let ended = steward.run();
    if let Some(reading) = reading {
        reading.end().map_err(PacedUdpError::io("reading the file"))?;
    }
    ended
}
