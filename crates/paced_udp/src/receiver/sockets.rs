//! The sockets of one port, each with its thread: opened, enlarged, joined and parked as [`pace::intake`]
//! decides.

use super::ReceiveOptions;
use super::thread::{Admitted, ControlDatagram, Thread, ThreadMailbox, ThreadReport};
use crate::error::PacedUdpError;
use crate::host::HostWatch;
use crate::payload::Sink;
use crate::socket::{Buffer, Inbox, bind, bind_beside, enlarge, join, spread};
use pace::receiver_scaler::{
    ReceiverCeiling, ReceiverLimits, ReceiverReason, ReceiverScaler, ReceiverSeen, ReceiverSetting,
    SocketReport,
};
use pace::sender_scaler::Host;
use serde::Serialize;
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A receiving call waits at most so long.
const PATIENCE: Duration = Duration::from_millis(20);

/// How one socket is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SocketView {
    /// Packets that came to it so far.
    pub packets: u64,
    /// Packets it had no room for.
    pub overflowed: u64,
    /// Of a processor, what its thread used since the view before.
    pub busy: f64,
    /// Nothing comes to it at the moment.
    pub parked: bool,
}

/// One socket and who serves it.
struct RunningSocket {
    socket: Socket,
    mailbox: Arc<ThreadMailbox>,
    handle: JoinHandle<io::Result<()>>,
    parked: bool,
    /// What was told when it was last judged.
    before: Option<ThreadReport>,
    view: SocketView,
}

/// All of them.
pub(super) struct Sockets {
    running: Vec<RunningSocket>,
    intake: ReceiverScaler,
    host: HostWatch,
    /// For sockets to come.
    sinks: Vec<Sink>,
    admitted: Arc<Admitted>,
    post: SyncSender<ControlDatagram>,
    /// Where they listen.
    pub local: SocketAddr,
    /// The smallest buffer of them.
    pub buffer: Buffer,
    /// Whether the kernel joins packets.
    pub joins: bool,
    /// Why something was changed, until it is taken.
    pub reason: Option<&'static str>,
    /// What is in the way.
    pub ceiling: Option<&'static str>,
}

impl Sockets {
    /// Opens the first ones. `sinks`: one for each socket that may be.
    pub fn open(
        options: &ReceiveOptions,
        sinks: Vec<Sink>,
        admitted: Arc<Admitted>,
        post: SyncSender<ControlDatagram>,
    ) -> Result<Sockets, PacedUdpError> {
        let failed = || PacedUdpError::io(format!("listening on {}", options.listen));
        let first = bind(options.listen, false).map_err(failed())?;
        let can_join = options.joins && join(&first, true);
        let limits = ReceiverLimits {
            sockets: (options.sockets.0 as u32, options.sockets.1 as u32),
            buffer_octets: options.buffer,
            can_join,
        };
        let local = first.local_addr().ok().and_then(|address| address.as_socket());
        let mut sockets = Sockets {
            running: Vec::new(),
            intake: ReceiverScaler::new(limits),
            host: HostWatch::new(usize::MAX),
            sinks,
            admitted,
            post,
            local: local.unwrap_or(options.listen),
            buffer: Buffer { octets: usize::MAX, asked: options.buffer.0 },
            joins: can_join,
            reason: None,
            ceiling: None,
        };
        sockets.serve(first).map_err(failed())?;
        sockets.apply(sockets.intake.setting()).map_err(failed())?;
        Ok(sockets)
    }

    /// The first one, to answer on.
    pub fn replies(&self) -> io::Result<Socket> {
        self.running.first().ok_or(io::ErrorKind::NotConnected)?.socket.try_clone()
    }

    /// Whether a thread has ended by itself, which only an error does.
    pub fn has_failed(&self) -> bool {
        self.running.iter().any(|one| one.handle.is_finished())
    }

    fn serve(&mut self, socket: Socket) -> io::Result<()> {
        let ours = socket.try_clone()?;
        let buffer = enlarge(&socket, self.buffer.asked)?;
        self.buffer.octets = self.buffer.octets.min(buffer.octets);
        let inbox = Inbox::new(socket, self.joins, PATIENCE)?;
        let mailbox = Arc::new(ThreadMailbox::default());
        let sink = self.sinks.pop().unwrap_or(Sink::None);
        let thread = Thread::new(inbox, mailbox.clone(), self.admitted.clone(), self.post.clone(), sink);
        let handle = std::thread::Builder::new()
            .name(format!("udp-receive-{}", self.running.len()))
            .spawn(move || thread.run())?;
        let (before, view) = (None, SocketView::default());
        self.running.push(RunningSocket { socket: ours, mailbox, handle, parked: false, before, view });
        Ok(())
    }

    /// What each told so far, those that are parked as well; milliseconds are taken away.
    pub fn told(&self) -> Vec<ThreadReport> {
        self.running.iter().map(|one| one.mailbox.take()).collect()
    }

    /// The end of a period: what is to be from now on, by what was told.
    pub fn decide(&mut self, told: &[ThreadReport]) {
        let mut reports = Vec::new();
        let mut ours = Duration::ZERO;
        for (one, told) in self.running.iter_mut().zip(told) {
            let report = one.before.as_ref().and_then(|before| report(before, told));
            let (packets, overflowed, parked) = (told.packets, told.overflowed, one.parked);
            let mut view = SocketView { packets, overflowed, busy: one.view.busy, parked };
            if let Some(report) = report {
                ours += report.cpu;
                view.busy = report.cpu.as_secs_f64() / report.wall.as_secs_f64().max(1e-3);
            }
            if report.is_some() || one.before.is_none() {
                one.before = Some(ThreadReport { streams: Default::default(), ..told.clone() });
            }
            one.view = view;
            reports.extend(report.filter(|_| !one.parked));
        }
        let host = self.host.look(ours);
        if !reports.is_empty() {
            self.judge(Instant::now(), &reports, host);
        }
    }

    /// What is to be from now on, by what was measured.
    fn judge(&mut self, now: Instant, reports: &[SocketReport], host: Host) {
        let seen = ReceiverSeen { now, sockets: reports, buffer_octets: self.buffer.octets, host };
        let decision = self.intake.decide(&seen);
        self.ceiling = decision.ceiling.map(in_the_way);
        if let Some(reason) = decision.reason {
            self.reason = Some(changed_for(reason));
            if let Err(error) = self.apply(decision.setting) {
                // It goes on with what it has.
                tracing::warn!(%error, "the receiver could not open another socket; the limit on open files (ulimit -n) may be low");
                self.intake.keep_sockets(self.running.len() as u32);
            }
        }
    }

    /// Makes it so.
    fn apply(&mut self, setting: ReceiverSetting) -> io::Result<()> {
        if setting.buffer_octets != self.buffer.asked {
            let mut least = Buffer { octets: usize::MAX, asked: setting.buffer_octets };
            for one in &self.running {
                least.octets = least.octets.min(enlarge(&one.socket, setting.buffer_octets)?.octets);
            }
            self.buffer = least;
        }
        if setting.joins != self.joins {
            self.joins = self.running.iter().all(|one| join(&one.socket, setting.joins)) && setting.joins;
        }
        let wanted = setting.sockets as usize;
        while self.running.len() < wanted {
            let Some(first) = self.running.first() else { break };
            self.serve(bind_beside(&first.socket)?)?;
        }
        if let [first, _, ..] = &self.running[..] {
            spread(&first.socket, setting.sockets)?;
        }
        for (at, one) in self.running.iter_mut().enumerate() {
            one.set_parked(at >= wanted);
        }
        Ok(())
    }

    /// How each is doing.
    pub fn views(&self) -> Vec<SocketView> {
        self.running.iter().map(|one| one.view).collect()
    }

    /// Ends all threads: what they told, and the first error.
    pub fn end(mut self) -> (Vec<ThreadReport>, Option<io::Error>) {
        for one in &self.running {
            one.mailbox.end();
            one.handle.thread().unpark();
        }
        let (mut told, mut failed) = (Vec::new(), None);
        for one in self.running.drain(..) {
            match one.handle.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => failed = Some(error),
                Err(_) => failed = Some(io::Error::other("a receiving thread panicked")),
            }
            told.push(one.mailbox.take());
        }
        (told, failed)
    }
}

impl RunningSocket {
    fn set_parked(&mut self, parked: bool) {
        if self.parked != parked {
            self.parked = parked;
            // What it told before says nothing of what comes.
            self.before = None;
            self.mailbox.park(parked);
            self.handle.thread().unpark();
        }
    }
}

/// What was done between two tellings, if time has passed.
fn report(before: &ThreadReport, told: &ThreadReport) -> Option<SocketReport> {
    let wall = told.at?.saturating_duration_since(before.at?);
    (wall > Duration::ZERO).then(|| SocketReport {
        wall,
        cpu: told.cpu.saturating_sub(before.cpu),
        packets: told.packets - before.packets,
        messages: told.messages - before.messages,
        dropped: told.overflowed - before.overflowed,
    })
}

/// Why something was changed, for people.
fn changed_for(reason: ReceiverReason) -> &'static str {
    match reason {
        ReceiverReason::LargerBuffer => "packets found no room: a larger buffer",
        ReceiverReason::Joins => "little time left: the kernel joins packets",
        ReceiverReason::NothingToJoin => "nothing came that could be joined: each packet by itself",
        ReceiverReason::MoreSockets => "no time left: more sockets",
        ReceiverReason::Parked => "fewer sockets do it",
        ReceiverReason::TakenBack => "another socket brought too little",
    }
}

/// What keeps packets from being taken in, for people.
fn in_the_way(ceiling: ReceiverCeiling) -> &'static str {
    match ceiling {
        ReceiverCeiling::Cpu => "CPU",
        ReceiverCeiling::SystemBuffer => "the system's bound on buffers (net.core.rmem_max)",
        ReceiverCeiling::Buffer => "the largest buffer allowed (--buffer)",
        ReceiverCeiling::HostsOtherWork => "other work of this machine",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BUFFER, Until};
    use super::*;
    use crate::socket::now_ns;
    use crate::wire::{Head, Key};
    use std::net::UdpSocket;
    use std::sync::mpsc::sync_channel;

    const STREAM: u32 = 7;

    fn options() -> ReceiveOptions {
        ReceiveOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            key: Key::NONE,
            sockets: (1, 3),
            buffer: (BUFFER, BUFFER),
            joins: true,
            into: None,
            streams_max: 1,
            until: Until::Stopped,
        }
    }

    fn open(options: &ReceiveOptions) -> Sockets {
        let admitted = Arc::new(Admitted::default());
        admitted.admit(STREAM, [127, 0, 0, 1].into(), 100);
        Sockets::open(options, Vec::new(), admitted, sync_channel(9).0).unwrap()
    }

    fn send(to: SocketAddr, numbers: std::ops::Range<u64>) {
        send_of(STREAM, to, numbers);
    }

    fn send_of(stream: u32, to: SocketAddr, numbers: std::ops::Range<u64>) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for number in numbers {
            let mut packet = [0; 100];
            let head = Head { thread: 0, stream, number, sent_ns: now_ns(), offset: 0, gap_ns: 1, filled: 0 };
            head.write(&mut packet);
            socket.send_to(&packet, to).unwrap();
        }
    }

    /// Packets by socket once `all` have come.
    fn came(sockets: &Sockets, all: u64) -> Vec<u64> {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let packets: Vec<u64> = sockets.told().iter().map(|told| told.packets).collect();
            if packets.iter().sum::<u64>() >= all {
                return packets;
            }
            assert!(Instant::now() < patience, "{packets:?} of {all}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn sockets_that_are_added_share_what_comes_and_parked_ones_get_nothing() {
        let mut sockets = open(&options());
        let to = sockets.local;
        let setting = |sockets| ReceiverSetting { sockets, buffer_octets: BUFFER, joins: true };
        send(to, 0..640);
        assert_eq!(came(&sockets, 640), [640]);
        sockets.apply(setting(3)).unwrap();
        send(to, 640..640 + 1_920);
        assert_eq!(came(&sockets, 2_560), [1_280, 640, 640], "runs of 64 in turn");
        sockets.apply(setting(1)).unwrap();
        send(to, 2_560..3_200);
        assert_eq!(came(&sockets, 3_200), [1_920, 640, 640]);
        sockets.apply(setting(2)).unwrap();
        send(to, 3_200..4_480);
        assert_eq!(came(&sockets, 4_480), [2_560, 1_280, 640], "it was woken again");
        let (told, failed) = sockets.end();
        assert!(failed.is_none());
        let unique: u64 = told.iter().map(|told| told.streams[&STREAM].flows[&0].unique).sum();
        assert_eq!(unique, 4_480);
    }

    /// Of a socket whose thread was busy for so much of 100 ms.
    fn report(busy: f64, dropped: u64) -> SocketReport {
        let wall = Duration::from_millis(100);
        SocketReport { wall, cpu: wall.mul_f64(busy), packets: 100_000, messages: 100_000, dropped }
    }

    /// Two senders that overtake each other, and each packet counted once, whichever socket it came to. What
    /// the threads and the rest of the machine were doing is made up: here nobody can be sure of a processor
    /// that is left.
    #[test]
    fn a_socket_is_added_where_a_thread_has_no_time_left_and_each_packet_counts_once() {
        let mut sockets = open(&ReceiveOptions { joins: false, ..options() });
        sockets.admitted.admit(STREAM + 1, [127, 0, 0, 1].into(), 100);
        let to = sockets.local;
        let send_both = |from: u64| {
            std::thread::scope(|scope| {
                for stream in [STREAM, STREAM + 1] {
                    scope.spawn(move || send_of(stream, to, from..from + 640));
                }
            });
        };
        send_both(0);
        assert_eq!(came(&sockets, 1_280), [1_280]);
        let (begun, idle) = (Instant::now(), Host { cpus: 4, steal: 0.0, others: 0.5 });
        let others = Host { cpus: 2, steal: 0.0, others: 1.0 };
        sockets.judge(begun, &[report(0.95, 500)], others);
        assert_eq!(
            (sockets.running.len(), sockets.reason),
            (1, None),
            "one processor, and the senders have the other"
        );
        sockets.judge(begun, &[report(0.95, 500)], idle);
        assert_eq!((sockets.running.len(), sockets.reason), (2, Some("no time left: more sockets")));
        send_both(640);
        assert_eq!(came(&sockets, 2_560), [1_920, 640], "runs of 64 in turn, of either sender");
        // It has helped, and stays while it is needed; then it is parked.
        let later = |ms| begun + Duration::from_millis(ms);
        sockets.judge(later(400), &[report(0.7, 0); 2], idle);
        sockets.judge(later(4_000), &[report(0.1, 0); 2], idle);
        assert!(sockets.running.iter().all(|one| !one.parked));
        sockets.judge(later(6_100), &[report(0.1, 0); 2], idle);
        assert_eq!((sockets.running[1].parked, sockets.reason), (true, Some("fewer sockets do it")));
        send_both(1_280);
        assert_eq!(came(&sockets, 3_840), [3_200, 640]);
        let (told, failed) = sockets.end();
        assert!(failed.is_none());
        for stream in [STREAM, STREAM + 1] {
            let flows = told.iter().filter_map(|told| told.streams.get(&stream)?.flows.get(&0));
            let (unique, duplicates) =
                flows.fold((0, 0), |sum, flow| (sum.0 + flow.unique, sum.1 + flow.duplicates));
            assert_eq!((unique, duplicates), (1_920, 0));
        }
    }

    #[test]
    fn a_port_that_one_receiver_has_is_refused_to_another() {
        let sockets = open(&options());
        let second = ReceiveOptions { listen: sockets.local, ..options() };
        let Err(error) = Sockets::open(&second, Vec::new(), Arc::default(), sync_channel(9).0) else {
            panic!("both have it")
        };
        assert!(error.to_string().contains("listening"), "{error}");
        sockets.end();
    }

    #[test]
    fn packets_that_were_joined_before_joining_ended_still_come_apart() {
        let mut sockets = open(&options());
        let ours = crate::socket::connect(sockets.local).unwrap();
        let mut outbox = crate::socket::Outbox::new(ours, 100, 50).unwrap();
        for round in 0..40_u64 {
            for at in 0..50 {
                let number = round * 50 + at;
                let head =
                    Head { thread: 0, stream: STREAM, number, sent_ns: 0, offset: 0, gap_ns: 1, filled: 0 };
                head.write(outbox.packet(at as usize));
            }
            assert_eq!(outbox.send(crate::socket::Rung::Gso, 0, 50), Ok(50));
            // While they come it is switched off and on.
            let joins = round % 2 == 0;
            sockets.apply(ReceiverSetting { sockets: 1, buffer_octets: BUFFER, joins }).unwrap();
            assert_eq!(sockets.joins, joins);
        }
        came(&sockets, 2_000);
        let (told, _) = sockets.end();
        let flow = told[0].streams[&STREAM].flows[&0];
        assert_eq!((flow.unique, flow.duplicates, told[0].streams[&STREAM].octets), (2_000, 0, 200_000));
    }
}
