use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which the system takes ports for outgoing connections, so that none of those can take ours
/// between two runs of a server.
const FIRST: u16 = 20_000;
const PORTS: u16 = 10_000;

/// A free loopback port that no other caller in this process was given.
///
/// # Panics
/// None is free.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two test processes at a time begin at different places.
    let offset = (std::process::id() % u32::from(PORTS)) as u16;
    for _ in 0..PORTS {
        let port = FIRST + (offset + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port from {FIRST} on");
}
