//! The receiver: threads that count what comes, and a manager that lets streams in, tells their senders what
//! came, and adds it all up.

mod flow;
mod sockets;
mod stream;
mod supervisor;
mod thread;

pub use flow::{Count, Evenness, Flow, LOOKS_BACK, Milliseconds};
pub use sockets::SocketView;
pub use stream::{Ended, GapBin, SocketPart, StreamReport};

use crate::error::PacedUdpError;
use crate::payload::{Sink, Writing};
use crate::socket::Buffer;
use crate::wire::Key;
use serde::Serialize;
use sockets::Sockets;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Channel, channel, sync_channel};
use supervisor::Supervisor;
use thread::Admitted;

/// Octets of a socket's buffer that are asked for at first: 25 ms of 10 Gbit/s.
pub const BUFFER: usize = 32 << 20;
/// The largest buffer that is asked for.
pub const BUFFER_MAX: usize = 1 << 30;
/// Letters that may wait for the manager.
const LETTERS: usize = 1024;
/// Sockets of one receiver, at most.
pub const SOCKETS_MAX: usize = 16;

/// When a receiver ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Never.
    Stopped,
    /// After so many streams have ended.
    Streams(usize),
}

/// How to receive.
#[derive(Debug, Clone)]
pub struct ReceiveOptions {
    /// Where.
    pub listen: SocketAddr,
    /// The key both sides have.
    pub key: Key,
    /// Sockets, each with a thread: to begin with, and at most.
    pub sockets: (usize, usize),
    /// Octets of a socket's buffer to ask for: at first, and at most.
    pub buffer: (usize, usize),
    /// Whether the kernel may join packets (GRO); where it has nothing to join it is told not to.
    pub joins: bool,
    /// A file that the payload is written into.
    pub into: Option<PathBuf>,
    /// Streams at a time, at most.
    pub streams_max: usize,
    /// When it ends.
    pub until: Until,
}

impl ReceiveOptions {
    fn check(&self) -> Result<(), PacedUdpError> {
        let refused = |name, why: String| Err(PacedUdpError::Option { name, why });
        let (first, most) = self.sockets;
        if first == 0 || first > most || most > SOCKETS_MAX {
            return refused("sockets", format!("{first} to {most}; from 1 to {SOCKETS_MAX} are possible"));
        }
        let (first, most) = self.buffer;
        if first > most || most > BUFFER_MAX {
            return refused("buffer", format!("{first} to {most} octets; up to {BUFFER_MAX} are possible"));
        }
        Ok(())
    }
}

/// How a receiver is doing; ten times a second.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// Seconds since it began.
    pub at_s: f64,
    /// Streams that are there, and what came of each so far.
    pub streams: Vec<StreamReport>,
    /// Packets of no stream that was let in.
    pub foreign: u64,
    /// Packets the sockets had no room for.
    pub overflowed: u64,
    /// Processor time of all threads so far, in seconds.
    pub cpu_s: f64,
    /// Each socket.
    pub sockets: Vec<SocketView>,
    /// Octets of the smallest of their buffers, and what was asked for.
    pub buffer: usize,
    pub buffer_asked: usize,
    /// Whether the kernel is to join packets.
    pub joins: bool,
    /// Why sockets, buffer or joining are others than in the view before.
    pub reason: Option<&'static str>,
    /// What is in the way of packets that find no room, where nothing more can be done.
    pub ceiling: Option<&'static str>,
}

/// A receiver that runs.
pub struct Receiver {
    /// Where it listens.
    pub local: SocketAddr,
    /// The buffer of each of its sockets, as it began.
    pub buffer: Buffer,
    /// Whether the kernel joins packets, as it began.
    pub joins: bool,
    views: Channel<View>,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<Vec<StreamReport>, PacedUdpError>>,
}

/// Ends a running receiver, from any thread.
#[derive(Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends it.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Receiver {
    /// Binds, and begins to receive.
    pub fn start(options: ReceiveOptions) -> Result<(Receiver, Stop), PacedUdpError> {
        options.check()?;
        let (sinks, writing) = sinks(&options)?;
        let admitted = Arc::new(Admitted::default());
        let (post, letters) = sync_channel(LETTERS);
        let sockets = Sockets::open(&options, sinks, admitted.clone(), post)?;
        let replies = sockets.replies().map_err(PacedUdpError::io("a socket"))?;
        let Sockets { local, buffer, joins, .. } = sockets;
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, views) = channel();
        let steward =
            Supervisor::new(options, replies.into(), admitted, letters, sockets, tell, stop.clone());
        let thread = std::thread::Builder::new()
            .name("udp-manager".to_owned())
            .spawn(move || steward.run(writing))
            .map_err(PacedUdpError::io("a thread"))?;
        Ok((Receiver { local, buffer, joins, views, stop: stop.clone(), thread }, Stop(stop)))
    }

    /// The next view; `None` after the end.
    pub fn view(&self) -> Option<View> {
        self.views.recv().ok()
    }

    /// Ends it, and tells of every stream.
    pub fn end(self) -> Result<Vec<StreamReport>, PacedUdpError> {
        self.stop.store(true, Ordering::Release);
        self.join()
    }

    /// Waits until it ends by itself.
    pub fn join(self) -> Result<Vec<StreamReport>, PacedUdpError> {
        // Views that nobody takes are not kept.
        drop(self.views);
        self.thread.join().unwrap_or_else(|_| {
            Err(PacedUdpError::io("the receiver")(std::io::Error::other("its manager panicked")))
        })
    }
}

fn sinks(options: &ReceiveOptions) -> Result<(Vec<Sink>, Option<Writing>), PacedUdpError> {
    match &options.into {
        Some(path) => Sink::create(path, options.sockets.1)
            .map(|(sinks, writing)| (sinks, Some(writing)))
            .map_err(PacedUdpError::io(format!("the file {}", path.display()))),
        None => Ok((Vec::new(), None)),
    }
}
