//! How fast one SMS route is: endpoints a second from the bus to the carrier's answer on record, against a carrier in a
//! process of its own that accepts everything at once.
//!
//! `cargo run --profile perf -p gateway --example sms_rate -- [entries] [window] [sessions] [always|os] [rate]`

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::embedded::{Fsync, Options};
use gateway::GatewayContext;
use gateway::sms::SmsRoute;
use net::{Cores, Link, Listener, Worker, drive};
use records::{
    AlertId, AlertNo, AttemptResult, Body, EndpointNo, Entry, Lane, OUTCOMES, Outcome, Segment, Timestamp,
    decode_outcomes, segment_topic,
};
use smpp::Status;
use smpp::session::{Config, Event, Role, Session};

const ROUTE: &str = "carrier";
const SEGMENT_ENTRIES: u32 = 5_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "sink") {
        return sink();
    }
    let number = |at: usize, default: u32| args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let (entries, window, sessions) = (number(0, 300_000), number(1, 1_000), number(2, 1));
    let fsync = if args.get(3).is_some_and(|arg| arg == "os") { Fsync::Os } else { Fsync::Always };
    let mut sink = Command::new(std::env::current_exe().expect("this program"))
        .arg("sink")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the carrier starts");
    let mut address = String::new();
    BufReader::new(sink.stdout.take().expect("its output")).read_line(&mut address).expect("its address");
    measure(address.trim(), entries, window, sessions, fsync, f64::from(number(4, 0)));
    sink.kill().expect("the carrier ends");
    sink.wait().expect("it has ended");
}

fn measure(address: &str, entries: u32, window: u32, sessions: u32, fsync: Fsync, rate: f64) {
    let dir = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let dir = dir.join(format!("sms_rate-{}", std::process::id()));
    let bus = bus::embedded::open(&dir, Options { fsync, ..Options::default() }).expect("a bus");
    let cores = Arc::new(Cores::new(1).expect("a core"));
    let clock =
        || Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64);
    let world = GatewayContext::new(Arc::clone(&bus), Arc::new(clock), cores);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let topic = bus.topic(&segment_topic(ROUTE, Lane::Routine)).expect("a topic");
        for first in (0..entries).step_by(SEGMENT_ENTRIES as usize) {
            let segment = segment(first, SEGMENT_ENTRIES.min(entries - first), clock());
            topic.append(&[&segment.encode()]).await.expect("appended");
        }
        let route = SmsRoute {
            name: ROUTE.to_owned(),
            address: address.to_owned(),
            sessions,
            window,
            rate,
            ..SmsRoute::default()
        };
        // With a limit the first second is without credit.
        let (cpu, begun) = (cpu_seconds(), Instant::now());
        let running = gateway::sms::start(route, &world).expect("a route");
        let outcomes = bus.topic(OUTCOMES).expect("a topic");
        let (mut from, mut accepted, mut records) = (0, 0, 0);
        while accepted < entries {
            outcomes.readable(from).await;
            // Not record's work: read seldom, so that it costs little.
            tokio::time::sleep(Duration::from_millis(50)).await;
            for record in outcomes.read(from, 100_000, 64 << 20).expect("read") {
                from = record.index + 1;
                records += 1;
                let batch = decode_outcomes(&record.octets).expect("outcomes");
                let yes = |outcome: &&Outcome| {
                    matches!(outcome, Outcome::Attempt { result: AttemptResult::Accepted { .. }, .. })
                };
                accepted += batch.iter().filter(yes).count() as u32;
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let cpu = cpu_seconds() - cpu;
        running.stop().await;
        println!(
            "{entries} endpoints, window {window}, sessions {sessions}: {:.0}/s, {:.2} CPU s per million (with reading the \
             outcomes), {} appends, sync p50 {} us",
            f64::from(entries) / seconds,
            cpu * 1e6 / f64::from(entries),
            records,
            bus.sync_us_p50(),
        );
    });
    drop((world, bus));
    std::fs::remove_dir_all(&dir).expect("the folder goes");
}

fn segment(first: u32, count: u32, now: Timestamp) -> Segment {
    Segment {
        alert: AlertNo(1),
        alert_id: AlertId(uuid::Uuid::nil()),
        account: "a".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: now.plus_s(3_600),
        sender: None,
        flash: false,
        receipt: false,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(Body::of_text("Sirens test at noon. Nothing needs to be done."))],
        entries: (first..first + count)
            .map(|endpoint| Entry {
                expires: None,
                endpoint: EndpointNo(endpoint),
                attempt: 1,
                address: format!("+46{endpoint:09}"),
                body: 0,
                own: (endpoint % 100 == 0)
                    .then(|| Box::new(Body::of_text(format!("Number {endpoint}: sirens test at noon.")))),
                link: None,
            })
            .collect(),
    }
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    const TICKS_PER_S: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / TICKS_PER_S
}

/// Accepts everything.
fn sink() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = Listener::bind("127.0.0.1:0", 100).await.expect("a port");
        println!("{}", listener.address().expect("an address"));
        let cores = Cores::from_handles(Vec::new());
        let serve = listener.serve(&cores, None, |stream, _| async move {
            let config = Config { peer_window: 10_000, ..Config::default() };
            let mut session = Session::new(Role::Smsc, config, Instant::now());
            let _ = drive(&mut Link::new(stream), &mut session, &mut Sink::default()).await;
        });
        serve.await;
    });
}

#[derive(Default)]
struct Sink {
    bind: bool,
    answers: Vec<u32>,
    ids: u64,
}

impl Worker<Session> for Sink {
    fn handle(&mut self, event: Event<'_>, _now: Instant) {
        match event {
            Event::Bind { .. } => self.bind = true,
            Event::Submit { sequence, .. } => self.answers.push(sequence),
            _ => {}
        }
    }
    fn fill(&mut self, session: &mut Session, now: Instant, _writable: bool) {
        if std::mem::take(&mut self.bind) {
            session.accept_bind(b"sink", now).expect("it asked");
        }
        for sequence in self.answers.drain(..) {
            self.ids += 1;
            let mut id = [0; 16];
            for (at, digit) in id.iter_mut().enumerate() {
                *digit = b"0123456789ABCDEF"[(self.ids >> (60 - 4 * at)) as usize & 15];
            }
            session.respond(sequence, Status::ROK, &id, now).expect("it waits");
        }
    }
}
