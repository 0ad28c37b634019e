//! The receiver: threads that count what comes, and a manager that lets streams in, tells their senders what came, and adds it all up.

mod flow;
mod steward;
mod stream;
mod thread;

pub use flow::{Count, Evenness, Flow, LOOKS_BACK, Milliseconds};
pub use stream::{Ended, StreamReport};

use crate::error::CastError;
use crate::feed::{Sink, Writing};
use crate::socket::{Buffer, Inbox, bind, enlarge};
use crate::wire::Key;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Channel, channel, sync_channel};
use std::time::Duration;
use steward::Steward;
use thread::{Admitted, Desk, Thread};

/// Octets of a socket's buffer that are asked for: 25 ms of 10 Gbit/s.
pub const BUFFER: usize = 32 << 20;
/// A receiving call waits at most so long.
const PATIENCE: Duration = Duration::from_millis(20);
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
    /// Sockets, each with a thread.
    pub sockets: usize,
    /// Octets of a socket's buffer to ask for.
    pub buffer: usize,
    /// Whether the kernel may join packets (GRO).
    pub joins: bool,
    /// A file that the payload is written into.
    pub into: Option<PathBuf>,
    /// Streams at a time, at most.
    pub streams_max: usize,
    /// When it ends.
    pub until: Until,
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
}

/// A receiver that runs.
pub struct Receiver {
    /// Where it listens.
    pub local: SocketAddr,
    /// The buffer of each of its sockets.
    pub buffer: Buffer,
    /// Whether the kernel joins packets.
    pub joins: bool,
    views: Channel<View>,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<Vec<StreamReport>, CastError>>,
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
    pub fn start(options: ReceiveOptions) -> Result<(Receiver, Stop), CastError> {
        if options.sockets == 0 || options.sockets > SOCKETS_MAX {
            let why = format!("{}; 1 to {SOCKETS_MAX} are possible", options.sockets);
            return Err(CastError::Option { name: "sockets", why });
        }
        let (inboxes, local, buffer) = sockets(&options)?;
        let joins = inboxes.iter().all(|inbox| inbox.joins);
        let replies = inboxes[0].socket().try_clone().map_err(CastError::io("a socket"))?;
        let (sinks, writing) = sinks(&options)?;
        let admitted = Arc::new(Admitted::default());
        let (post, letters) = sync_channel(LETTERS);
        let mut threads = Vec::new();
        for (at, (inbox, sink)) in inboxes.into_iter().zip(sinks).enumerate() {
            let desk = Arc::new(Desk::default());
            let thread = Thread::new(inbox, desk.clone(), admitted.clone(), post.clone(), sink);
            let handle = std::thread::Builder::new()
                .name(format!("udp-receive-{at}"))
                .spawn(move || thread.run())
                .map_err(CastError::io("a thread"))?;
            threads.push((desk, handle));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, views) = channel();
        let steward =
            Steward::new(options, buffer, replies.into(), admitted, letters, threads, tell, stop.clone());
        let thread = std::thread::Builder::new()
            .name("udp-manager".to_owned())
            .spawn(move || steward.run(writing))
            .map_err(CastError::io("a thread"))?;
        Ok((Receiver { local, buffer, joins, views, stop: stop.clone(), thread }, Stop(stop)))
    }

    /// The next view; `None` after the end.
    pub fn view(&self) -> Option<View> {
        self.views.recv().ok()
    }

    /// Ends it, and tells of every stream.
    pub fn end(self) -> Result<Vec<StreamReport>, CastError> {
        self.stop.store(true, Ordering::Release);
        self.join()
    }

    /// Waits until it ends by itself.
    pub fn join(self) -> Result<Vec<StreamReport>, CastError> {
        // Views that nobody takes are not kept.
        drop(self.views);
        self.thread.join().unwrap_or_else(|_| {
            Err(CastError::io("the receiver")(std::io::Error::other("its manager panicked")))
        })
    }
}

fn sockets(options: &ReceiveOptions) -> Result<(Vec<Inbox>, SocketAddr, Buffer), CastError> {
    let mut local = options.listen;
    let mut inboxes = Vec::new();
    let mut buffer = Buffer { octets: 0, asked: options.buffer };
    for _ in 0..options.sockets {
        let at = local;
        let failed = || CastError::io(format!("listening on {at}"));
        let socket = bind(at, options.sockets > 1).map_err(failed())?;
        local = socket.local_addr().ok().and_then(|address| address.as_socket()).unwrap_or(local);
        buffer = enlarge(&socket, options.buffer).map_err(failed())?;
        inboxes.push(Inbox::new(socket, options.joins, PATIENCE).map_err(failed())?);
    }
    if let [first, _, ..] = &inboxes[..] {
        crate::socket::spread(first.socket(), options.sockets as u32)
            .map_err(CastError::io("spreading over sockets"))?;
    }
    Ok((inboxes, local, buffer))
}

fn sinks(options: &ReceiveOptions) -> Result<(Vec<Sink>, Option<Writing>), CastError> {
    match &options.into {
        Some(path) => Sink::create(path, options.sockets)
            .map(|(sinks, writing)| (sinks, Some(writing)))
            .map_err(CastError::io(format!("the file {}", path.display()))),
        None => Ok(((0..options.sockets).map(|_| Sink::None).collect(), None)),
    }
}
