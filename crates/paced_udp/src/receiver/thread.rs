//! One thread that receives: takes what a call brings, counts, and leaves messages that are no data to its
//! manager.

use super::flow::{Count, Evenness, Flow, Milliseconds};
use crate::payload::Sink;
use crate::socket::{Inbox, thread_cpu};
use crate::wire::{Head, MESSAGE};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A thread tells what it has counted this often.
const TELLS: Duration = Duration::from_millis(50);
/// Threads of a sender that one stream may have.
pub const FLOWS_MAX: u16 = 256;

/// A message that is no data, and who sent it.
pub struct ControlDatagram {
    /// Its octets.
    pub octets: [u8; MESSAGE],
    /// Who sent it.
    pub from: SocketAddr,
}

/// Which streams may come, and from where.
#[derive(Default)]
pub struct Admitted {
    version: AtomicU64,
    streams: Mutex<HashMap<u32, (IpAddr, u16)>>,
}

impl Admitted {
    /// Lets a stream in that comes from there, in packets of `mss` octets.
    pub fn admit(&self, stream: u32, from: IpAddr, mss: u16) {
        locked(&self.streams).insert(stream, (from, mss));
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Its packets are foreign again.
    pub fn dismiss(&self, stream: u32) {
        locked(&self.streams).remove(&stream);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// What a thread counted of one stream.
#[derive(Clone, Default)]
pub struct StreamPart {
    /// Octets of packets that came, each once.
    pub octets: u64,
    /// By sending thread: how far its numbers reached, and what came of them.
    pub flows: HashMap<u16, FlowCounts>,
    /// How evenly they came.
    pub evenness: Evenness,
    /// Packets in each millisecond since it was last taken.
    pub milliseconds: Vec<(u64, Count)>,
    /// Octets of the file that could not be handed to whoever writes it.
    pub unwritten: u64,
}

/// A flow's counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowCounts {
    /// Numbers given out, as far as is known.
    pub reached: u64,
    /// Came, each once.
    pub unique: u64,
    /// Came again.
    pub duplicates: u64,
    /// Came behind a later one.
    pub reordered: u64,
    /// By so many numbers at most.
    pub extent_max: u64,
    /// Jitter in nanoseconds.
    pub jitter_ns: f64,
}

/// What a thread tells.
#[derive(Clone, Default)]
pub struct ThreadReport {
    /// By stream.
    pub streams: HashMap<u32, StreamPart>,
    /// Packets its socket had no room for.
    pub overflowed: u64,
    /// Packets of no stream that was let in.
    pub foreign: u64,
    /// Packets of streams that were let in, and the messages that they and all others came in.
    pub packets: u64,
    pub messages: u64,
    /// Processor time.
    pub cpu: Duration,
    /// When it was told.
    pub at: Option<Instant>,
}

/// Where a thread tells it.
#[derive(Default)]
pub struct ThreadMailbox {
    told: Mutex<ThreadReport>,
    parked: AtomicBool,
    ends: AtomicBool,
}

impl ThreadMailbox {
    /// What it told so far; milliseconds are taken away.
    pub fn take(&self) -> ThreadReport {
        let mut told = locked(&self.told);
        let taken = told.clone();
        told.streams.values_mut().for_each(|part| part.milliseconds.clear());
        taken
    }

    /// Lets the thread wait as soon as nothing comes any more, or wakes it; unpark it after that.
    pub fn park(&self, parked: bool) {
        self.parked.store(parked, Ordering::Release);
    }

    /// Lets the thread end; unpark it after that.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Release);
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One stream as this thread sees it.
struct ThreadStream {
    id: u32,
    from: IpAddr,
    mss: u16,
    octets: u64,
    /// By sending thread; as many as it has used.
    flows: Vec<Option<Flow>>,
    evenness: Evenness,
    milliseconds: Milliseconds,
    unwritten: u64,
}

impl ThreadStream {
    fn new(id: u32, from: IpAddr, mss: u16) -> ThreadStream {
        ThreadStream {
            id,
            from,
            mss,
            octets: 0,
            flows: Vec::new(),
            evenness: Evenness::default(),
            milliseconds: Milliseconds::default(),
            unwritten: 0,
        }
    }

    fn flow(&mut self, thread: u16) -> &mut Flow {
        let at = usize::from(thread);
        if at >= self.flows.len() {
            self.flows.resize_with(at + 1, || None);
        }
        self.flows[at].get_or_insert_default()
    }
}

/// The thread.
pub struct Thread {
    inbox: Inbox,
    mailbox: Arc<ThreadMailbox>,
    admitted: Arc<Admitted>,
    seen: u64,
    letters: SyncSender<ControlDatagram>,
    sink: Sink,
    counts: StreamCounts,
}

/// Streams are few and packets many: the stream of the last packet is looked at first, and is nearly always
/// it. No map is asked per packet.
#[derive(Default)]
struct StreamCounts {
    streams: Vec<ThreadStream>,
    /// Where the last packet's stream stands.
    last: usize,
    foreign: u64,
    packets: u64,
    messages: u64,
}

impl Thread {
    /// Ready to run.
    pub fn new(
        inbox: Inbox,
        mailbox: Arc<ThreadMailbox>,
        admitted: Arc<Admitted>,
        letters: SyncSender<ControlDatagram>,
        sink: Sink,
    ) -> Thread {
        Thread { inbox, mailbox, admitted, seen: u64::MAX, letters, sink, counts: StreamCounts::default() }
    }

    /// Receives until it is told to end.
    pub fn run(mut self) -> std::io::Result<()> {
        let mut told = Instant::now();
        while !self.mailbox.ends.load(Ordering::Acquire) {
            let came = self.inbox.receive()?;
            if self.admitted.version.load(Ordering::Acquire) != self.seen {
                self.learn();
            }
            self.count();
            if came == 0 && self.mailbox.parked.load(Ordering::Acquire) {
                self.park();
            }
            let now = Instant::now();
            if now - told >= TELLS {
                told = now;
                self.tell();
            }
        }
        self.sink.finish();
        self.tell();
        Ok(())
    }

    /// What the last call brought.
    fn count(&mut self) {
        let Thread { inbox, counts, letters, sink, .. } = self;
        for message in inbox.messages() {
            let from = message.from();
            counts.messages += 1;
            let most = message.whole().and_then(|octets| counts.mss_of(octets)).unwrap_or(usize::MAX);
            for packet in message.packets_of(most) {
                match Head::read(packet) {
                    Some(head) => counts.take(&head, packet, message.stamp_ns, from, sink),
                    None => counts.pass_on(packet, from, letters),
                }
            }
        }
    }

    /// Waits until it is needed again, or is to end.
    fn park(&mut self) {
        self.tell();
        while self.mailbox.parked.load(Ordering::Acquire) && !self.mailbox.ends.load(Ordering::Acquire) {
            std::thread::park();
        }
    }

    /// Who may come.
    fn learn(&mut self) {
        self.seen = self.admitted.version.load(Ordering::Acquire);
        let admitted = locked(&self.admitted.streams);
        let streams = &mut self.counts.streams;
        streams.retain(|stream| admitted.contains_key(&stream.id));
        for (id, (from, mss)) in admitted.iter() {
            match streams.iter_mut().find(|stream| stream.id == *id) {
                Some(known) => (known.from, known.mss) = (*from, *mss),
                None => streams.push(ThreadStream::new(*id, *from, *mss)),
            }
        }
    }

    fn tell(&mut self) {
        let mut told = locked(&self.mailbox.told);
        told.overflowed = self.inbox.overflowed();
        told.foreign = self.counts.foreign;
        (told.packets, told.messages) = (self.counts.packets, self.counts.messages);
        (told.cpu, told.at) = (thread_cpu(), Some(Instant::now()));
        let streams = &self.counts.streams;
        told.streams.retain(|id, _| streams.iter().any(|stream| stream.id == *id));
        for stream in &mut self.counts.streams {
            let part = told.streams.entry(stream.id).or_default();
            part.octets = stream.octets;
            part.unwritten = stream.unwritten;
            part.milliseconds.extend(stream.milliseconds.drain());
            part.evenness.clone_from(&stream.evenness);
            for (thread, flow) in stream.flows.iter().enumerate() {
                let Some(flow) = flow else { continue };
                let counts = FlowCounts {
                    reached: flow.reached(),
                    unique: flow.unique,
                    duplicates: flow.duplicates + flow.ancient,
                    reordered: flow.reordered,
                    extent_max: flow.extent_max,
                    jitter_ns: flow.jitter_ns,
                };
                part.flows.insert(thread as u16, counts);
            }
        }
    }
}

impl StreamCounts {
    /// How large the packets of a stream are that `octets` begin with one of, if they are more than one.
    fn mss_of(&self, octets: &[u8]) -> Option<usize> {
        let stream = Head::read(octets)?.stream;
        let is_its = |known: &&ThreadStream| known.id == stream;
        let known =
            self.streams.get(self.last).filter(is_its).or_else(|| self.streams.iter().find(is_its))?;
        Some(usize::from(known.mss)).filter(|mss| octets.len() > *mss)
    }

    fn take(&mut self, head: &Head, packet: &[u8], stamp_ns: u64, from: Option<SocketAddr>, sink: &mut Sink) {
        let is_its = |stream: &ThreadStream| {
            stream.id == head.stream && from.is_some_and(|from| from.ip() == stream.from)
        };
        if !self.streams.get(self.last).is_some_and(is_its)
            && let Some(at) = self.streams.iter().position(is_its)
        {
            self.last = at;
        }
        let admitted = self.streams.get_mut(self.last).filter(|stream| is_its(stream));
        let Some(stream) = admitted.filter(|_| head.thread < FLOWS_MAX) else {
            self.foreign += 1;
            return;
        };
        self.packets += 1;
        stream.evenness.take(head, stamp_ns);
        stream.milliseconds.take(head, stamp_ns);
        if stream.flow(head.thread).take(head, stamp_ns) {
            stream.octets += packet.len() as u64;
            if head.filled > 0 {
                stream.unwritten += sink.take(head, packet);
            }
        }
    }

    /// The manager reads it; what has not the length of a message is nothing.
    fn pass_on(&mut self, packet: &[u8], from: Option<SocketAddr>, letters: &SyncSender<ControlDatagram>) {
        match (packet.try_into(), from) {
            // Where letters come faster than they can be read, some are lost, as any datagram may be.
            (Ok(octets), Some(from)) => drop(letters.try_send(ControlDatagram { octets, from })),
            _ => self.foreign += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::HEAD;

    fn take(counts: &mut StreamCounts, stream: u32, thread: u16, number: u64, from: [u8; 4]) {
        let head = Head { thread, stream, number, sent_ns: 0, offset: 0, gap_ns: 1_000, filled: 0 };
        counts.take(&head, &[0; HEAD], number, Some((from, 9).into()), &mut Sink::None);
    }

    fn unique(counts: &StreamCounts, at: usize) -> Vec<u64> {
        counts.streams[at].flows.iter().flatten().map(|flow| flow.unique).collect()
    }

    #[test]
    fn packets_of_several_streams_and_threads_in_turns_are_each_counted_with_their_own() {
        let (here, there) = ([127, 0, 0, 1], [127, 0, 0, 2]);
        let streams = vec![ThreadStream::new(7, here.into(), 1472), ThreadStream::new(8, there.into(), 1472)];
        let mut counts = StreamCounts { streams, ..StreamCounts::default() };
        for number in 0..10 {
            take(&mut counts, 7, 0, number, here);
            take(&mut counts, 7, 3, number, here);
            take(&mut counts, 8, 0, number, there);
            // Another's address, a stream nobody let in, a thread that no sender has.
            take(&mut counts, 8, 0, number + 100, here);
            take(&mut counts, 9, 0, number, here);
            take(&mut counts, 7, FLOWS_MAX, number, here);
        }
        assert_eq!((unique(&counts, 0), unique(&counts, 1)), (vec![10, 10], vec![10]));
        assert_eq!((counts.foreign, counts.streams[0].octets), (30, 20 * HEAD as u64));
    }

    #[test]
    fn a_stream_that_was_dismissed_while_it_was_the_last_is_foreign() {
        let here = [127, 0, 0, 1];
        let streams = vec![ThreadStream::new(7, here.into(), 1472), ThreadStream::new(8, here.into(), 1472)];
        let mut counts = StreamCounts { streams, ..StreamCounts::default() };
        take(&mut counts, 8, 0, 0, here);
        counts.streams.pop();
        take(&mut counts, 8, 0, 1, here);
        take(&mut counts, 7, 0, 0, here);
        assert_eq!((unique(&counts, 0), counts.foreign), (vec![1], 1));
    }
}
