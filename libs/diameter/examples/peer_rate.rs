//! Example measures the cost of a request and its answer to the peer machine itself, for each side
//! separately, in memory.
//!
//! `cargo run --profile perf -p diameter --example peer_rate [thousands] [window]`
//!
//! Both machines take turns on one thread, each side's turns timed by themselves. Requests are CCRs of about
//! 300 octets, copied from one that was written before; answers are copied likewise: what is left is framing,
//! matching and keeping count.

use diameter::dictionary::{avp, command};
use diameter::header::CommandFlags;
use diameter::peer::{
    Answers, Application, Connection, ConnectionConfig, Event, Identity, Incoming, Outgoing, Start,
};
use diameter::{Header, Writer};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Requests by default, in thousands.
const THOUSANDS: u64 = 4_000;
/// Requests in flight by default.
const WINDOW: usize = 500;
const TIMEOUT: Duration = Duration::from_secs(10);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let count = number(THOUSANDS) * 1_000;
    let window = usize::try_from(number(WINDOW as u64)).unwrap_or(WINDOW);
    let (client, server) = run(count, window);
    let per_message = |time: Duration| time.as_nanos() as f64 / count as f64;
    println!("client: {:.1} ns per request and its answer", per_message(client));
    println!("server: {:.1} ns per request and its answer", per_message(server));
}

fn connect(window: usize, now: Instant) -> (Connection, Connection) {
    let config = |host: &str| {
        let identity = Identity::new(host, "example", Application::auth(4));
        Arc::new(ConnectionConfig { window, ..ConnectionConfig::new(identity) })
    };
    let start =
        |seed| Start { local: IpAddr::V4(Ipv4Addr::LOCALHOST), is_secured: false, watchdog: None, seed };
    let mut client = Connection::connecting(config("client.example"), start(1), None, now);
    let mut server = Connection::listening(config("server.example"), start(2), now);
    let mut wire = Vec::new();
    client.poll_transmit(&mut wire);
    server.handle_input(&wire, now, &mut |_, _| {});
    assert!(matches!(server.poll_event(), Some(Event::Asked(_))), "a good CER is asked for");
    server.accept(now);
    wire.clear();
    server.poll_transmit(&mut wire);
    client.handle_input(&wire, now, &mut |_, _| {});
    assert!(matches!(client.poll_event(), Some(Event::Opened(_))), "a good CEA opens");
    (client, server)
}

/// A CCR and a CCA to copy from.
fn templates() -> (Vec<u8>, Vec<u8>) {
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    let code = command::CREDIT_CONTROL;
    let mut writer = Writer::request(&mut request, code, 4, CommandFlags::PROXIABLE, 0, 0);
    writer.utf8(avp::SESSION_ID, "client.example;1;2;3");
    writer.octet_string(avp::SERVICE_CONTEXT_ID, &[b'x'; 240]);
    writer.finish();
    let mut writer =
        Writer::answer(&mut answer, &Header { command: code, application: 4, ..Header::default() });
    writer.u32(avp::RESULT_CODE, 2001);
    writer.octet_string(avp::SESSION_ID, &[b'x'; 100]);
    writer.finish();
    (request, answer)
}

fn put(out: &mut Vec<u8>, template: &[u8], hop_by_hop: u32) {
    let at = out.len();
    out.extend_from_slice(template);
    out[at + 12..at + 16].copy_from_slice(&hop_by_hop.to_be_bytes());
}

/// The time each side took.
fn run(count: u64, window: usize) -> (Duration, Duration) {
    let (mut client, mut server) = connect(window, Instant::now());
    let (request, answer) = templates();
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let (mut sent, mut answered) = (0, 0);
    let mut times = (Duration::ZERO, Duration::ZERO);
    while answered < count {
        let begin = Instant::now();
        client.handle_input(&down, begin, &mut |incoming, _: &mut Answers<'_>| {
            assert!(matches!(incoming, Incoming::Answer { pending, .. } if pending.token < sent));
            answered += 1;
        });
        assert_eq!(client.poll_event(), None);
        for _ in 0..client.free_slots().min((count - sent) as usize) {
            let outgoing = Outgoing { token: sent, command: 272, timeout: TIMEOUT, end_to_end: sent as u32 };
            let put = |out: &mut Vec<u8>, hop_by_hop| put(out, &request, hop_by_hop);
            client.request(outgoing, begin, put).expect("there is a free slot");
            sent += 1;
        }
        up.clear();
        client.poll_transmit(&mut up);
        let middle = Instant::now();
        server.handle_input(&up, middle, &mut |incoming, answers: &mut Answers<'_>| {
            let Incoming::Request(message) = incoming else { panic!("requests only") };
            answers.answer(|out| put(out, &answer, message.header.hop_by_hop));
        });
        assert_eq!(server.poll_event(), None);
        down.clear();
        server.poll_transmit(&mut down);
        times.0 += middle - begin;
        times.1 += middle.elapsed();
    }
    times
}
