//! Example measures the cost of one CCR EVENT in the four parts of the credit-control server, without sockets
//! and files: nanoseconds, or instructions under `valgrind --tool=callgrind --toggle-collect=...`, whose sums
//! over `Bench::receive`, `apply`, `answer` and `transmit` do not depend on what else runs.
//!
//! `cargo run --release -p charging --example server_cost --
//! [TURNS] [event|varied|sessions|mixed] [ACCOUNTS]`,
//! each of 64 requests; `varied`: of many shapes, so that each is checked and read in full; `sessions`:
//! INITIAL, UPDATE and TERMINATION of two services, a turn of each; `mixed`: all three in each turn, as a
//! server has them that many clients ask.

use charging::server::ServerConfig;
use charging::server::measure::Bench;
use diameter::avp::Avp;
use diameter::dictionary::{application, avp, command};
use diameter::header::CommandFlags;
use diameter::message::Message;
use diameter::write::Writer;
use ledger::Config;
use ledger::config::DefaultAccount;
use std::time::Instant;

/// Requests of a turn.
const TOGETHER: u32 = 64;
/// Accounts, each debited in its turn, where no number of them is named.
const ACCOUNTS: u32 = 6_400;
/// Simulated time of a turn: 300,000 requests a second.
const TURN_US: u64 = 213;
const CLIENT: &str = "client-00007.client.test";

/// A request as load tests send it; session, account and identifiers are written over.
struct Template {
    octets: Vec<u8>,
    /// Behind the digits of each.
    session_end: usize,
    account_end: usize,
    /// Of Service-Identifier, and whether another one is written each time.
    service_end: Option<usize>,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq)]
enum Pattern {
    Event,
    Varied,
    Sessions,
    Mixed,
}

/// Two services of a session: what is asked for and what was used.
fn services(writer: &mut Writer<'_>, request_type: u32) {
    writer.u32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
    if request_type == 3 {
        writer.u32(avp::TERMINATION_CAUSE, 1);
    }
    for group in [1, 2] {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
            let units = |unit: &mut Writer<'_>| unit.u64(avp::CC_TOTAL_OCTETS, 1_000_000);
            if request_type != 3 {
                service.group(avp::REQUESTED_SERVICE_UNIT, units);
            }
            if request_type != 1 {
                service.group(avp::USED_SERVICE_UNIT, units);
            }
            service.u32(avp::RATING_GROUP, group);
        });
    }
}

impl Template {
    fn new(request_type: u32, is_varied: bool) -> Template {
        let mut octets = Vec::new();
        let (code, application) = (command::CREDIT_CONTROL, application::CREDIT_CONTROL);
        let mut writer = Writer::request(&mut octets, code, application, CommandFlags::PROXIABLE, 0, 0);
        writer.utf8(avp::SESSION_ID, &format!("{CLIENT};1790000000;{:012}", 0));
        writer.identity(avp::ORIGIN_HOST, CLIENT);
        writer.identity(avp::ORIGIN_REALM, "client.test");
        writer.identity(avp::DESTINATION_REALM, "bench.example");
        writer.u32(avp::AUTH_APPLICATION_ID, application);
        writer.utf8(avp::SERVICE_CONTEXT_ID, "32274@3gpp.org");
        writer.u32(avp::CC_REQUEST_TYPE, request_type);
        writer.u32(avp::CC_REQUEST_NUMBER, request_type % 4);
        writer.time(avp::EVENT_TIMESTAMP, 1_790_000_000);
        writer.group(avp::SUBSCRIPTION_ID, |id| {
            id.u32(avp::SUBSCRIPTION_ID_TYPE, 0);
            id.utf8(avp::SUBSCRIPTION_ID_DATA, "46700000000");
        });
        if request_type == 4 {
            writer.u32(avp::REQUESTED_ACTION, 0);
            writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, 1));
            writer.u32(avp::SERVICE_IDENTIFIER, 1);
        } else {
            services(&mut writer, request_type);
        }
        writer.finish();
        let message = Message::read(&octets).expect("it was just written");
        let end = |avp: Avp<'_>| message.position(&avp) as usize + avp.octets.len();
        let session_end = end(message.find(avp::SESSION_ID).expect("it was just written"));
        let id = message.find(avp::SUBSCRIPTION_ID).expect("it was just written");
        let data = id.group().find_name(avp::SUBSCRIPTION_ID_DATA).expect("it was just written");
        let account_end = end(data);
        let service_end = message.find(avp::SERVICE_IDENTIFIER).filter(|_| is_varied).map(end);
        Template { octets, session_end, account_end, service_end }
    }

    fn write(&mut self, session: u32, number: u32, accounts: u32, output: &mut Vec<u8>) {
        digits(&mut self.octets[self.session_end - 12..self.session_end], session);
        let account = session.wrapping_mul(2_654_435_761) % accounts;
        digits(&mut self.octets[self.account_end - 8..self.account_end], account);
        self.octets[12..16].copy_from_slice(&number.to_be_bytes());
        self.octets[16..20].copy_from_slice(&number.to_be_bytes());
        if let Some(end) = self.service_end {
            self.octets[end - 4..end].copy_from_slice(&number.to_be_bytes());
        }
        output.extend_from_slice(&self.octets);
    }
}

/// Some number that nobody foresees.
fn spread(number: u32) -> u32 {
    let product = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
    (product ^ product >> 13).wrapping_mul(0xc2b2_ae35) >> 7
}

fn digits(place: &mut [u8], mut number: u32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// All of them say 2001.
fn assert_good(mut answers: &[u8], requests: u32) {
    for _ in 0..requests {
        let frame = diameter::frame::next_frame(answers, u32::MAX).expect("sound").expect("whole");
        let message = Message::read(frame).expect("a message");
        assert_eq!(message.find(avp::RESULT_CODE).map(|code| code.u32()), Some(Ok(2001)));
        answers = &answers[frame.len()..];
    }
    assert!(answers.is_empty());
}

/// Writes the requests of a turn, and says how many. Each of so many sessions has one in it; `is_mixed`: they
/// are not equally far, and come in another order each time.
fn write_turn(
    templates: &mut [Template],
    is_mixed: bool,
    turn: u32,
    accounts: u32,
    input: &mut Vec<u8>,
) -> u32 {
    let (kinds, shuffle, mut requests) = (templates.len() as u32, spread(turn) % TOGETHER, 0);
    for place in 0..TOGETHER {
        let line = if is_mixed { place ^ shuffle } else { place };
        let at = turn + if is_mixed { spread(line) % kinds } else { 0 };
        // None begins in its middle.
        if at % kinds <= turn {
            let (session, number) = (at / kinds * TOGETHER + line, turn * TOGETHER + place);
            templates[(at % kinds) as usize].write(session, number, accounts, input);
            requests += 1;
        }
    }
    requests
}

fn main() {
    let turns: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let accounts: u32 = std::env::args().nth(3).and_then(|text| text.parse().ok()).unwrap_or(ACCOUNTS);
    let server = ServerConfig {
        origin_host: "ocs.bench.example".to_owned(),
        origin_realm: "bench.example".to_owned(),
        ..ServerConfig::default()
    };
    let default_account = Some(DefaultAccount { balance: 1 << 40, limit: 0 });
    let mut bench = Bench::open(&server, CLIENT, Config { default_account, ..Config::default() });
    let pattern = match std::env::args().nth(2).as_deref() {
        Some("varied") => Pattern::Varied,
        Some("sessions") => Pattern::Sessions,
        Some("mixed") => Pattern::Mixed,
        _ => Pattern::Event,
    };
    let types: &[u32] = match pattern {
        Pattern::Sessions | Pattern::Mixed => &[1, 2, 3],
        Pattern::Event | Pattern::Varied => &[4],
    };
    let mut templates: Vec<Template> =
        types.iter().map(|kind| Template::new(*kind, pattern == Pattern::Varied)).collect();
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut parts: [Vec<u64>; 4] = Default::default();
    for turn in 0..turns {
        input.clear();
        output.clear();
        let requests = write_turn(&mut templates, pattern == Pattern::Mixed, turn, accounts, &mut input);
        let started = Instant::now();
        bench.receive(&input);
        let received = Instant::now();
        bench.apply(1_000_000_000_000 + u64::from(turn) * TURN_US);
        let applied = Instant::now();
        bench.answer();
        let answered = Instant::now();
        bench.transmit(&mut output);
        let sent = Instant::now();
        assert_good(&output, requests);
        let moments = [started, received, applied, answered, sent];
        for (part, moment) in parts.iter_mut().zip(moments.windows(2)) {
            part.push((moment[1] - moment[0]).as_nanos() as u64);
        }
    }
    println!(
        "{} octets a request, {} an answer",
        input.len() as u32 / TOGETHER,
        output.len() as u32 / TOGETHER
    );
    let mut sum = 0.0;
    for (name, mut part) in ["receive", "apply", "answer", "transmit"].into_iter().zip(parts) {
        // The fastest tenth: in the others another program had the processor for a while.
        part.sort_unstable();
        let ns = part[part.len() / 10] as f64 / f64::from(TOGETHER);
        sum += ns;
        println!("{name:<9} {ns:>6.1} ns/request");
    }
    println!("{:<9} {sum:>6.1} ns/request (fastest tenth of turns)", "sum");
}
