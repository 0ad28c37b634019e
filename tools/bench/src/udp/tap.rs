//! Tap measures how evenly another program's packets come: it is given our socket for its peer's. Its control
//! connection goes through to the real peer, and so does its first datagram, which greets; all later ones are
//! stamped by the kernel, judged as ours are, and go no further.

use crate::deployment::free_port;
use paced_udp::receiver::{Evenness, Milliseconds};
use paced_udp::socket::{Inbox, bind, enlarge};
use paced_udp::wire::Head;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// A receiving call waits at most so long, and the greeting's answer is waited for so long.
const PATIENCE: Duration = Duration::from_millis(20);
const GREETING_MAX: Duration = Duration::from_secs(5);
/// A free port is tried so often: TCP and UDP both have to have it.
const PORTS: usize = 20;

/// What came.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tapped {
    pub(super) packets: u64,
    /// From the first stamp to the last.
    pub(super) stamped_s: f64,
    pub(super) gaps_near: f64,
    pub(super) worst_ms: f64,
    pub(super) gap_p50_us: f64,
    pub(super) gap_p99_us: f64,
    pub(super) gap_max_us: f64,
}

/// It listens.
pub(super) struct Tap {
    pub(super) port: u16,
    stop: Arc<AtomicBool>,
    judging: JoinHandle<io::Result<Tapped>>,
    passing: tokio::task::JoinHandle<()>,
}

impl Tap {
    /// In front of `peer`, for packets of `mss` octets of which ideally one comes each `gap_ns`.
    ///
    /// # Errors
    /// No port, in words.
    pub(super) async fn start(peer: SocketAddr, mss: u16, gap_ns: u32) -> Result<Tap, String> {
        let describe = |error: io::Error| format!("a tap in front of {peer}: {error}");
        let (listener, socket, port) = both_ports().await?;
        enlarge(&socket, paced_udp::receiver::BUFFER).map_err(describe)?;
        let replies: UdpSocket = socket.try_clone().map_err(describe)?.into();
        let inbox = Inbox::new(socket, true, PATIENCE).map_err(describe)?;
        let stop = Arc::new(AtomicBool::new(false));
        let passing = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(peer).await {
                        // Whichever side breaks off ends it; the client tells that.
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        let judge = Judge { peer, mss: mss.into(), gap_ns, stop: stop.clone(), replies };
        let judging = std::thread::Builder::new().name("udp-tap".to_owned()).spawn(move || judge.run(inbox));
        Ok(Tap { port, stop, judging: judging.map_err(describe)?, passing })
    }

    /// Ends it, and tells what came.
    ///
    /// # Errors
    /// A socket failed, in words.
    pub(super) fn end(self) -> Result<Tapped, String> {
        self.stop.store(true, Ordering::Release);
        self.passing.abort();
        let judged = self.judging.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
        judged.map_err(|error| format!("the tap: {error}"))
    }
}

async fn both_ports() -> Result<(TcpListener, socket2::Socket, u16), String> {
    for _ in 0..PORTS {
        let port = free_port()?;
        let address: SocketAddr = ([127, 0, 0, 1], port).into();
        if let (Ok(listener), Ok(socket)) = (TcpListener::bind(address).await, bind(address, false)) {
            return Ok((listener, socket, port));
        }
    }
    Err("no port is free for TCP and UDP".to_owned())
}

struct Judge {
    peer: SocketAddr,
    mss: usize,
    gap_ns: u32,
    stop: Arc<AtomicBool>,
    replies: UdpSocket,
}

impl Judge {
    fn run(self, mut inbox: Inbox) -> io::Result<Tapped> {
        let (mut evenness, mut milliseconds, mut packets) = (Evenness::default(), Milliseconds::default(), 0);
        while !self.stop.load(Ordering::Acquire) {
            if inbox.receive()? == 0 {
                continue;
            }
            for message in inbox.messages() {
                for packet in message.packets() {
                    if packet.len() == self.mss {
                        let head = self.head(message.stamp_ns);
                        evenness.take(&head, message.stamp_ns);
                        milliseconds.take(&head, message.stamp_ns);
                        packets += 1;
                    } else if let Some(from) = message.from() {
                        self.greet(packet, from)?;
                    }
                }
            }
        }
        let us = |ns: u64| ns as f64 / 1e3;
        let counts = milliseconds.drain();
        Ok(Tapped {
            packets,
            stamped_s: evenness.span_s(),
            gaps_near: evenness.near_share(),
            worst_ms: counts.iter().map(|(_, count)| count.times()).fold(0.0, f64::max),
            gap_p50_us: us(evenness.gaps.value_at_quantile(0.5)),
            gap_p99_us: us(evenness.gaps.value_at_quantile(0.99)),
            gap_max_us: us(evenness.gaps.max()),
        })
    }

    /// Its packets name no gap and no time; the gap is that of the rate it was asked for.
    fn head(&self, stamp_ns: u64) -> Head {
        let gap_ns = self.gap_ns;
        Head { thread: 0, stream: 0, number: 0, sent_ns: stamp_ns, offset: 0, gap_ns, filled: 0 }
    }

    /// Passes a greeting on, and its answer back.
    fn greet(&self, packet: &[u8], from: SocketAddr) -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(GREETING_MAX))?;
        socket.connect(self.peer)?;
        socket.send(packet)?;
        let mut answer = [0; 2048];
        let length = socket.recv(&mut answer)?;
        self.replies.send_to(&answer[..length], from).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_greeting_and_the_control_connection_go_through_and_packets_are_judged() {
        let (control, peer, port) = both_ports().await.unwrap();
        let peer: UdpSocket = peer.into();
        let tap = Tap::start(([127, 0, 0, 1], port).into(), 500, 1_000_000).await.unwrap();
        let mut ours = TcpStream::connect(("127.0.0.1", tap.port)).await.unwrap();
        let (mut theirs, _) = control.accept().await.unwrap();
        ours.write_all(b"cookie").await.unwrap();
        let mut heard = [0; 6];
        theirs.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"cookie");
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(("127.0.0.1", tap.port)).unwrap();
        client.send(b"1234").unwrap();
        let mut greeting = [0; 16];
        let (length, from) = peer.recv_from(&mut greeting).unwrap();
        assert_eq!(&greeting[..length], b"1234");
        peer.send_to(b"4321", from).unwrap();
        assert_eq!(client.recv(&mut greeting).unwrap(), 4);
        (0..9).for_each(|_| assert_eq!(client.send(&[7; 500]).unwrap(), 500));
        // The answer to another greeting says that all before it was taken.
        client.send(b"done").unwrap();
        let (_, from) = peer.recv_from(&mut greeting).unwrap();
        peer.send_to(b"well", from).unwrap();
        client.recv(&mut greeting).unwrap();
        let tapped = tap.end().unwrap();
        assert_eq!(tapped.packets, 9);
        assert!(tapped.stamped_s > 0.0 && tapped.worst_ms >= 1.0, "{tapped:?}");
    }
}
