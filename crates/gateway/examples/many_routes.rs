//! Many routes in one process on one core, each at its own limit: what each reached, its busiest second by the writer's
//! stamps and by the carrier's, and what that cost; or what it costs to have them bound and idle.
//!
//! `cargo run --profile perf -p gateway --example many_routes -- [routes] [rate] [seconds] [always|os] [work|idle]`

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::embedded::{Fsync, Options};
use gateway::GatewayContext;
use gateway::sms::SmsRoute;
use net::{Cores, Link, Listener, Worker, drive};
use records::{
    AlertId, AlertNo, Body, EndpointNo, Entry, Lane, ROUTES, RouteHealth, Segment, Timestamp, segment_topic,
};
use smpp::Status;
use smpp::session::{Config, Event, Role, Session};

const SECOND: Duration = Duration::from_secs(1);

type Writes = Arc<Mutex<HashMap<String, Vec<(Instant, usize)>>>>;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "carriers") {
        return carriers(args.get(1).and_then(|arg| arg.parse().ok()).unwrap_or(5));
    }
    let number = |at: usize, default: u32| args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let (routes, rate, seconds) = (number(0, 500), number(1, 5), number(2, 60));
    let fsync = if args.get(3).is_some_and(|arg| arg == "always") { Fsync::Always } else { Fsync::Os };
    let idle = args.get(4).is_some_and(|arg| arg == "idle");
    let (mut child, stdin, mut stdout, address) = start_carriers(rate);
    measure(&address, routes, rate, u64::from(seconds), fsync, idle);
    drop(stdin);
    let mut report = String::new();
    stdout.read_to_string(&mut report).expect("the carriers' report");
    print!("{report}");
    child.wait().expect("they have ended");
}

fn start_carriers(rate: u32) -> (Child, ChildStdin, BufReader<ChildStdout>, String) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["carriers", &rate.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the carriers start");
    let mut stdout = BufReader::new(child.stdout.take().expect("their output"));
    let mut address = String::new();
    stdout.read_line(&mut address).expect("their address");
    let stdin = child.stdin.take().expect("their input");
    (child, stdin, stdout, address.trim().to_owned())
}

fn measure(address: &str, routes: u32, rate: u32, seconds: u64, fsync: Fsync, idle: bool) {
    let dir = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let dir = dir.join(format!("many_routes-{}", std::process::id()));
    let bus = bus::embedded::open(&dir, Options { fsync, ..Options::default() }).expect("a bus");
    let writes: Writes = Arc::default();
    let told = Arc::clone(&writes);
    let mut world =
        GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).expect("a core")));
    world.write_observer = Some(Arc::new(move |route, parts, _, after| {
        let mut told = told.lock().expect("nobody panics with it");
        match told.get_mut(route) {
            Some(writes) => writes.push((after, parts)),
            None => drop(told.insert(route.to_owned(), vec![(after, parts)])),
        }
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        if !idle {
            for route in 0..routes {
                fill(&*bus, &name(route), rate, seconds + 10).await;
            }
        }
        let begun = Instant::now();
        let running: Vec<_> = (0..routes)
            .map(|route| {
                let route = SmsRoute {
                    name: name(route),
                    address: address.to_owned(),
                    system_id: name(route),
                    rate: f64::from(rate),
                    window: 10,
                    ..SmsRoute::default()
                };
                gateway::sms::start(route, &world).expect("a route")
            })
            .collect();
        until_bound(&*bus, routes).await;
        println!("{routes} routes bound after {:.2} s", begun.elapsed().as_secs_f64());
        // What binding began is over.
        tokio::time::sleep(SECOND).await;
        let (from, cpu) = (Instant::now(), cpu_seconds());
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let (to, cpu) = (Instant::now(), cpu_seconds() - cpu);
        println!("{cpu:.2} CPU s in {seconds} s, {:.2} % of a core", 100.0 * cpu / seconds as f64);
        if !idle {
            report(&writes, rate, begun, from, to);
        }
        for running in running {
            running.stop().await;
        }
    });
    drop((world, bus));
    std::fs::remove_dir_all(&dir).expect("the folder goes");
}

fn report(writes: &Writes, rate: u32, begun: Instant, from: Instant, to: Instant) {
    let writes = writes.lock().expect("nobody panics with it");
    let within = |from: Instant| {
        let parts = |writes: &Vec<(Instant, usize)>| {
            writes.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, parts)| parts).sum::<usize>()
        };
        let whole = f64::from(rate) * (to - from).as_secs_f64();
        let mut reached: Vec<f64> =
            writes.values().map(|writes| 100.0 * parts(writes) as f64 / whole).collect();
        reached.sort_by(f64::total_cmp);
        let mean = reached.iter().sum::<f64>() / reached.len() as f64;
        (reached[0], reached[reached.len() / 2], mean)
    };
    for (what, since) in [("since the start", begun), ("once bound", from)] {
        let (least, median, mean) = within(since);
        println!("reached {what}: least {least:.2} %, median {median:.2} %, mean {mean:.2} %");
    }
    let stamps = |writes: &Vec<(Instant, usize)>| {
        writes.iter().flat_map(|&(at, parts)| std::iter::repeat_n(at, parts)).collect::<Vec<_>>()
    };
    let busiest = writes.values().map(|writes| busiest_second(&stamps(writes))).max().unwrap_or(0);
    println!("busiest second of any route by the writer's stamps: {busiest} of {rate}");
}

/// The most stamps in any second, its ends included.
fn busiest_second(stamps: &[Instant]) -> usize {
    let mut first = 0;
    let mut most = 0;
    for (last, stamp) in stamps.iter().enumerate() {
        while *stamp - stamps[first] > SECOND {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most
}

async fn until_bound(bus: &dyn bus::Bus, routes: u32) {
    let health = bus.retained(ROUTES).expect("a topic");
    loop {
        let seen = health.version();
        let all = health.all();
        let up =
            all.iter().filter(|(_, value)| RouteHealth::decode(value).is_ok_and(|health| health.up)).count();
        if up == routes as usize {
            return;
        }
        health.changed(seen).await;
    }
}

fn name(route: u32) -> String {
    format!("carrier-{route}")
}

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64)
}

/// Work for so many seconds, as the engine would cut it.
async fn fill(bus: &dyn bus::Bus, route: &str, rate: u32, seconds: u64) {
    let topic = bus.topic(&segment_topic(route, Lane::Routine)).expect("a topic");
    let size = rate * 2;
    let segments: Vec<Vec<u8>> =
        (0..seconds as u32 / 2).map(|number| segment(route, number * size, size).encode()).collect();
    let records: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
    topic.append(&records).await.expect("appended");
}

fn segment(route: &str, first: u32, count: u32) -> Segment {
    Segment {
        alert: AlertNo(1),
        alert_id: AlertId(uuid::Uuid::nil()),
        account: "a".to_owned(),
        route: route.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: false,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(Body::of_text("Sirens test at noon."))],
        entries: (first..first + count)
            .map(|endpoint| Entry {
                expires: None,
                endpoint: EndpointNo(endpoint),
                attempt: 1,
                address: format!("+46{endpoint:09}"),
                body: 0,
                own: None,
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

type Arrivals = Arc<Mutex<HashMap<String, Vec<Instant>>>>;

/// All carriers, told apart by who binds. Until the standard input ends.
fn carriers(rate: usize) {
    let arrivals: Arrivals = Arc::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = Listener::bind("127.0.0.1:0", 10_000).await.expect("a port");
        println!("{}", listener.address().expect("an address"));
        std::io::stdout().flush().expect("a pipe");
        let cores = Cores::from_handles(Vec::new());
        let shared = Arc::clone(&arrivals);
        let serve = listener.serve(&cores, None, move |stream, _| {
            let mut carrier = Carrier { arrivals: Arc::clone(&shared), ..Carrier::default() };
            async move {
                let mut session = Session::new(Role::Smsc, Config::default(), Instant::now());
                let _ = drive(&mut Link::new(stream), &mut session, &mut carrier).await;
                carrier.leave();
            }
        });
        let over = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        tokio::select! {
            () = serve => {}
            _ = over => {}
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    });
    let arrivals = arrivals.lock().expect("nobody panics with it");
    let (mut windows, mut over, mut worst) = (0, 0, 0);
    for stamps in arrivals.values() {
        for (at, first) in stamps.iter().enumerate() {
            let inside = stamps[at..].iter().take_while(|stamp| **stamp - *first < SECOND).count();
            windows += 1;
            over += usize::from(inside > rate);
            worst = worst.max(inside);
        }
    }
    println!(
        "by the carriers' stamps: busiest second {worst} of {rate}, {over} of {windows} windows over it ({:.3} %)",
        100.0 * over as f64 / windows.max(1) as f64
    );
}

#[derive(Default)]
struct Carrier {
    arrivals: Arrivals,
    name: String,
    stamps: Vec<Instant>,
    bind: bool,
    answers: Vec<u32>,
    ids: u64,
}

impl Carrier {
    fn leave(&mut self) {
        let mut arrivals = self.arrivals.lock().expect("nobody panics with it");
        arrivals.entry(std::mem::take(&mut self.name)).or_default().append(&mut self.stamps);
    }
}

impl Worker<Session> for Carrier {
    fn handle(&mut self, event: Event<'_>, now: Instant) {
        match event {
            Event::Bind { bind } => {
                self.bind = true;
                self.name = String::from_utf8_lossy(bind.system_id).into_owned();
            }
            Event::Submit { sequence, .. } => {
                self.stamps.push(now);
                self.answers.push(sequence);
            }
            _ => {}
        }
    }
    fn fill(&mut self, session: &mut Session, now: Instant, _writable: bool) {
        if std::mem::take(&mut self.bind) {
            session.accept_bind(b"carriers", now).expect("it asked");
        }
        for sequence in self.answers.drain(..) {
            self.ids += 1;
            session
                .respond(sequence, Status::ROK, format!("{:X}", self.ids).as_bytes(), now)
                .expect("it waits");
        }
    }
}
