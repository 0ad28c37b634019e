//! A relay between a sender and a site that loses and delays datagrams, by a seed.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a relay does to datagrams.
#[derive(Clone, Copy)]
pub struct Weather {
    pub loss: f64,
    pub delay: Duration,
    pub seed: u64,
}

/// Relays datagrams to one address, and answers back to whoever sent last.
pub struct Relay {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// Listens at `at` and passes on to `to`.
    pub fn start(at: SocketAddr, to: SocketAddr, weather: Weather) -> Self {
        let outer = UdpSocket::bind(at).unwrap();
        let inner = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        inner.connect(to).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || pass(&outer, &inner, weather, &stop)
        });
        Self { stop, threads: vec![thread] }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

fn pass(outer: &UdpSocket, inner: &UdpSocket, weather: Weather, stop: &AtomicBool) {
    outer.set_nonblocking(true).unwrap();
    inner.set_nonblocking(true).unwrap();
    let mut queue: VecDeque<(Instant, bool, Vec<u8>)> = VecDeque::new();
    let (mut state, mut peer, mut buffer) = (weather.seed | 1, None, vec![0; 65536]);
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        let mut came = Vec::new();
        while let Ok((len, from)) = outer.recv_from(&mut buffer) {
            peer = Some(from);
            came.push((true, buffer[..len].to_vec()));
        }
        while let Ok(len) = inner.recv(&mut buffer) {
            came.push((false, buffer[..len].to_vec()));
        }
        for (inward, datagram) in came {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if (state >> 11) as f64 / (1u64 << 53) as f64 >= weather.loss {
                queue.push_back((now + weather.delay, inward, datagram));
            }
        }
        while let Some((_, inward, datagram)) = queue.pop_front_if(|(due, ..)| *due <= now) {
            match (inward, peer) {
                (true, _) => drop(inner.send(&datagram)),
                (false, Some(peer)) => drop(outer.send_to(&datagram, peer)),
                (false, None) => {}
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}
