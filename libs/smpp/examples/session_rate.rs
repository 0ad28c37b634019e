//! Example measures the cost of one submit_sm to the session machine, for the client and for the server
//! separately.
//!
//! `cargo run --profile perf -p smpp --example session_rate [thousands] [window]`
//!
//! First in memory: both machines in turns on one thread, each side's turns timed by themselves. Then over a
//! loopback connection: a thread a side, plain blocking sockets, wall time and each thread's CPU time. Every
//! PDU has a number and a text of its own, every response an id of its own, and each response is matched in
//! the client's window.

use smpp::Status;
use smpp::pdu::{Address, Bind, BindMode, SubmitSm, registered_delivery};
use smpp::session::{Config, Event, Role, Session, SessionState};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Messages by default, in thousands.
const THOUSANDS: u64 = 4_000;
/// Requests in flight by default.
const WINDOW: usize = 500;
/// Read in one go.
const READ_OCTETS: usize = 256 << 10;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let count = number(THOUSANDS) * 1_000;
    let window = usize::try_from(number(WINDOW as u64)).unwrap_or(WINDOW);
    in_memory(count, window);
    over_a_socket(count, window)
}

fn config(window: usize) -> Config {
    Config { window, peer_window: window, ..Config::default() }
}

/// A side that submits messages and matches their answers.
struct Esme {
    session: Session,
    count: u64,
    sent: u64,
    answered: u64,
    number: [u8; 11],
    text: [u8; 44],
}

impl Esme {
    fn new(count: u64, window: usize, now: Instant) -> Self {
        let mut session = Session::new(Role::Esme, config(window), now);
        let bind = Bind { mode: BindMode::Transmitter, system_id: b"load", ..Bind::default() };
        session.bind(&bind, now).expect("a fresh session binds");
        let text = *b"Fire at the harbour. Close windows. 00000000";
        Esme { session, count, sent: 0, answered: 0, number: *b"46740000000", text }
    }

    fn is_done(&self) -> bool {
        self.answered == self.count
    }

    fn take_in(&mut self, bytes: &[u8], now: Instant) {
        self.session.handle_input(bytes, now);
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Response(response) => {
                    assert!(response.status.is_ok() && response.message_id.len() == 16);
                    self.answered += 1;
                }
                Event::Bound { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn fill(&mut self, out: &mut Vec<u8>, now: Instant) {
        if matches!(self.session.state(), SessionState::Bound(_)) {
            for _ in 0..self.session.free_slots().min((self.count - self.sent) as usize) {
                decimal(self.sent, &mut self.number[4..]);
                hexadecimal(self.sent, &mut self.text[36..]);
                let submit = SubmitSm {
                    source: Address::alphanumeric(b"Campanile"),
                    destination: Address::international(&self.number),
                    registered_delivery: registered_delivery::FINAL,
                    short_message: &self.text,
                    ..SubmitSm::default()
                };
                self.session.submit(&submit, self.sent, now).expect("there is room");
                self.sent += 1;
            }
        }
        self.session.poll_transmit(out);
    }
}

/// A side that accepts everything and gives each message an id.
struct Smsc {
    session: Session,
    accepted: u64,
    waiting: Vec<u32>,
}

impl Smsc {
    fn new(window: usize, now: Instant) -> Self {
        let session = Session::new(Role::Smsc, config(window), now);
        Smsc { session, accepted: 0, waiting: Vec::new() }
    }

    fn take_in(&mut self, bytes: &[u8], now: Instant) {
        self.session.handle_input(bytes, now);
        let mut bind = false;
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Submit { sequence, pdu } => {
                    assert!(pdu.destination.addr.len() == 11 && pdu.short_message.len() == 44);
                    self.waiting.push(sequence);
                }
                Event::Bind { .. } => bind = true,
                Event::Closed(_) => return,
                other => panic!("{other:?}"),
            }
        }
        if bind {
            self.session.accept_bind(b"sink", now).expect("it asked");
        }
    }

    fn fill(&mut self, out: &mut Vec<u8>, now: Instant) {
        let mut id = *b"0000000000000000";
        for sequence in self.waiting.drain(..) {
            hexadecimal(self.accepted, &mut id);
            self.accepted += 1;
            self.session.respond(sequence, Status::ROK, &id, now).expect("it waits");
        }
        self.session.poll_transmit(out);
    }
}

/// The lowest digits of `value`, as many as fit.
fn decimal(mut value: u64, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// The lowest digits of `value`, as many as fit.
fn hexadecimal(value: u64, out: &mut [u8]) {
    for (place, digit) in out.iter_mut().rev().enumerate() {
        *digit = b"0123456789ABCDEF"[(value >> (4 * place)) as usize & 0xF];
    }
}

fn in_memory(count: u64, window: usize) {
    let start = Instant::now();
    let (mut client, mut server) = (Esme::new(count, window, start), Smsc::new(window, start));
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let (mut of_client, mut of_server) = (Duration::ZERO, Duration::ZERO);
    let mut now = start;
    while !client.is_done() {
        client.take_in(&down, now);
        down.clear();
        client.fill(&mut up, now);
        let between = Instant::now();
        of_client += between - now;
        server.take_in(&up, between);
        up.clear();
        server.fill(&mut down, between);
        now = Instant::now();
        of_server += now - between;
    }
    let each = |time: Duration| time.as_nanos() as f64 / count as f64;
    println!(
        "in memory, window {window}: client {:.1} ns, server {:.1} ns a message",
        each(of_client),
        each(of_server)
    );
}

fn over_a_socket(count: u64, window: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = std::thread::spawn(move || serve(listener.accept()?.0, window));
    let stream = TcpStream::connect(address)?;
    let begin = Instant::now();
    let of_client = submit(stream, count, window)?;
    let wall = begin.elapsed();
    let of_server = server.join().expect("the server's thread ends in order")?;
    let each = |time: Duration| time.as_nanos() as f64 / count as f64;
    println!(
        "over loopback, window {window}: {:.0} a second; CPU a message: client {:.1} ns, server {:.1} ns",
        count as f64 / wall.as_secs_f64(),
        each(of_client),
        each(of_server)
    );
    Ok(())
}

fn submit(mut stream: TcpStream, count: u64, window: usize) -> io::Result<Duration> {
    stream.set_nodelay(true)?;
    let mut client = Esme::new(count, window, Instant::now());
    let (mut input, mut out) = (vec![0; READ_OCTETS], Vec::new());
    loop {
        client.fill(&mut out, Instant::now());
        stream.write_all(&out)?;
        out.clear();
        if client.is_done() {
            return cpu_time();
        }
        let octets = stream.read(&mut input)?;
        client.take_in(&input[..octets], Instant::now());
    }
}

fn serve(mut stream: TcpStream, window: usize) -> io::Result<Duration> {
    stream.set_nodelay(true)?;
    let mut server = Smsc::new(window, Instant::now());
    let (mut input, mut out) = (vec![0; READ_OCTETS], Vec::new());
    loop {
        let octets = stream.read(&mut input)?;
        if octets == 0 {
            return cpu_time();
        }
        let now = Instant::now();
        server.take_in(&input[..octets], now);
        server.fill(&mut out, now);
        stream.write_all(&out)?;
        out.clear();
    }
}

/// CPU time of this thread so far, as the kernel accounts it.
fn cpu_time() -> io::Result<Duration> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = line.split_whitespace().next().and_then(|word| word.parse().ok());
    nanos.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no schedstat"))
}
