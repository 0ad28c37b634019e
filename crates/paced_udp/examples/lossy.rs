//! A relay that loses and delays, for pushes between network namespaces where the kernel has no `netem`:
//! `lossy LOSS_PERCENT DELAY_MS OUTER_NET INNER_NET SITES [group=IPV4:PORT]`.
//!
//! With OUTER_NET 10.9.0 and INNER_NET 10.9 the sender reaches site N at 10.9.0.(100+N), and the relay
//! reaches it at 10.9.N.2, both at the ports 7000 (control) and 7001 (data). What is sent to the group on
//! 10.9.0.1 goes out to the group on 10.9.N.1, for each site with a loss of its own. Control is lost and
//! delayed too, both ways.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Queue, Sender as Into, channel};
use std::time::{Duration, Instant};

use paced_udp::push::Interface;
use paced_udp::push::udp::{Receiver, Sender};
use tokio::net::UdpSocket;

const CONTROL: u16 = 7000;
const DATA: u16 = 7001;

struct Coin(u64, f64);

impl Coin {
    fn lost(&mut self) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 / (1u64 << 53) as f64) < self.1
    }
}

/// A burst under way: when it comes out, for whom, its octets and the size of a datagram.
type Burst = (Instant, Option<usize>, Vec<u8>, usize);

fn read(mut from: Receiver, site: Option<usize>, delay: Duration, into: &Into<Burst>) {
    while let Ok(came) = from.receive() {
        if let Some((octets, len)) = came
            && into.send((Instant::now() + delay, site, octets.to_vec(), len)).is_err()
        {
            return;
        }
    }
}

fn write(bursts: &Queue<Burst>, mut sites: Vec<(Sender, SocketAddr, Coin)>) {
    let (mut kept, mut passed, mut lost) = (Vec::new(), 0u64, 0u64);
    let mut told = Instant::now();
    while let Ok((due, site, octets, len)) = bursts.recv() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        for (_, (socket, to, coin)) in
            sites.iter_mut().enumerate().filter(|(at, _)| site.is_none_or(|site| site == *at))
        {
            kept.clear();
            for datagram in octets.chunks(len) {
                if coin.lost() {
                    lost += 1;
                } else {
                    passed += 1;
                    kept.extend_from_slice(datagram);
                }
            }
            if !kept.is_empty() {
                let _ = socket.send(*to, &kept, len);
            }
        }
        if told.elapsed() > Duration::from_secs(5) {
            told = Instant::now();
            eprintln!("data: {passed} passed, {lost} lost");
        }
    }
}

/// Control of one site, both ways.
async fn control(
    outer: SocketAddr,
    inner: SocketAddr,
    delay: Duration,
    mut coin: Coin,
) -> std::io::Result<()> {
    let outer = Arc::new(UdpSocket::bind(outer).await?);
    let mut peers: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut buffer = vec![0; 65536];
    loop {
        let (len, from) = outer.recv_from(&mut buffer).await?;
        let socket = match peers.entry(from) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let socket = Arc::new(UdpSocket::bind("0.0.0.0:0").await?);
                socket.connect(inner).await?;
                tokio::spawn(back(socket.clone(), outer.clone(), from, delay, Coin(coin.0 ^ 0x5555, coin.1)));
                new.insert(socket).clone()
            }
        };
        if !coin.lost() {
            let datagram = buffer[..len].to_vec();
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = socket.send(&datagram).await;
            });
        }
    }
}

async fn back(inner: Arc<UdpSocket>, outer: Arc<UdpSocket>, to: SocketAddr, delay: Duration, mut coin: Coin) {
    let mut buffer = vec![0; 65536];
    loop {
        // A site that is not there yet answers by ICMP; it may be there later.
        let Ok(len) = inner.recv(&mut buffer).await else { continue };
        if !coin.lost() {
            let (outer, datagram) = (outer.clone(), buffer[..len].to_vec());
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = outer.send_to(&datagram, to).await;
            });
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [loss, delay, outer, inner, count, rest @ ..] = arguments.as_slice() else {
        return Err("usage: lossy LOSS_PERCENT DELAY_MS OUTER_NET INNER_NET SITES [group=IPV4:PORT]".into());
    };
    let (loss, delay) = (loss.parse::<f64>()? / 100.0, Duration::from_millis(delay.parse()?));
    let group: Option<SocketAddr> =
        rest.iter().find_map(|word| word.strip_prefix("group=")).map(str::parse).transpose()?;
    let (into, bursts) = channel();
    let mut sites = Vec::new();
    for site in 1..=count.parse::<usize>()? {
        let coin = || Coin(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(site as u64), loss);
        let (near, far): (Ipv4Addr, Ipv4Addr) =
            (format!("{outer}.{}", 100 + site).parse()?, format!("{inner}.{site}.2").parse()?);
        let toward: Ipv4Addr = format!("{inner}.{site}.1").parse()?;
        tokio::spawn(control((near, CONTROL).into(), (far, CONTROL).into(), delay, coin()));
        let to = group.unwrap_or((far, DATA).into());
        sites.push((Sender::open(false, Some(&Interface::Address(toward)), 1)?, to, coin()));
        if group.is_none() {
            let (from, into) = (Receiver::unicast(near.into(), DATA)?, into.clone());
            std::thread::spawn(move || read(from, Some(site - 1), delay, &into));
        }
    }
    if let Some(group) = group {
        let from = Receiver::multicast(group, Some(&format!("{outer}.1").parse()?))?;
        std::thread::spawn(move || read(from, None, delay, &into));
    }
    std::thread::spawn(move || write(&bursts, sites));
    std::future::pending().await
}
