//! How fast platforms' messages go from acceptance to a carrier's yes, and what that costs: the real bus and store in a
//! temporary folder, doors that append what arrives, and a gateway that says yes to all.
//!
//! ```text
//! cargo run --profile perf -p engine --example intake_rate -- [messages] [messages an append] [a second; 0: all it can] [receipts]
//! ```
//!
//! Prints messages a second, and CPU microseconds a message of each thread.

use engine::{Engine, Links, Parts, Settings, Weigher};
use records::{
    AlertNo, AttemptRef, AttemptResult, Body, EndpointNo, Intake, Intent, Lane, Message, Mode, Outcome,
    Party, Receipt, ReceiptState, Route, RouteHealth, Segment, Short, ShortAddress, ShortText, Tell,
    Timestamp, encode_outcomes, segment_topic,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Appends that wait at a time: connections with something under way.
const UNDER_WAY: u64 = 16;

struct OneUnit;
impl Weigher for OneUnit {
    fn units(&self, _: &Route, _: &Body) -> u32 {
        1
    }
}
struct NoLinks;
impl Links for NoLinks {
    fn link(&self, _: AlertNo, _: EndpointNo) -> Option<String> {
        None
    }
}

struct Wanted {
    messages: u64,
    at_once: u64,
    per_s: u64,
    receipts: bool,
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let messages = args.next().map_or(Ok(500_000), |text| text.parse())?;
    let at_once = args.next().map_or(Ok(32), |text| text.parse())?;
    let per_s = args.next().map_or(Ok(0), |text| text.parse())?;
    let receipts = args.next().is_some_and(|text| text == "receipts");
    let wanted = Arc::new(Wanted { messages, at_once, per_s, receipts });
    let folder = tempfile::tempdir()?;
    let options = bus::embedded::Options { fsync: bus::embedded::Fsync::Os, ..Default::default() };
    let bus = bus::embedded::open(folder.path().join("bus"), options)?;
    let store = store::sqlite::open(&folder.path().join("db"), &store::sqlite::Options::default())?;
    let runtime = |name: &str| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name(name).enable_all().build()
    };
    let (doors, carrier) = (runtime("doors")?, runtime("carrier")?);
    let parts = Parts {
        texts: engine::TextCache::default(),
        bus: bus.clone(),
        store: store.clone(),
        routes: vec![route()],
        weigher: Arc::new(OneUnit),
        links: Arc::new(NoLinks),
        clock: Arc::new(now),
        settings: Settings::default(),
        parties: Vec::new(),
    };
    let engine = doors.block_on(async {
        let up = RouteHealth { up: true, since: now(), sessions: 1, rate_now: 0.0, note: String::new() };
        bus.retained(records::ROUTES)?.set("sms", &up.encode()).await?;
        Ok::<_, Failure>(Engine::start(parts).await?)
    })?;
    let answered = Arc::new(AtomicU64::new(0));
    carrier.spawn(serve(bus.clone(), answered.clone(), wanted.clone()));
    let (before, begun) = (cpu()?, Instant::now());
    doors.block_on(doors.spawn(hand_in(engine.clone(), wanted.clone())))??;
    let accepted = begun.elapsed();
    while answered.load(Ordering::Relaxed) < messages {
        std::thread::sleep(Duration::from_millis(1));
    }
    let through = begun.elapsed();
    while doors.block_on(store.intake_to())? < messages {
        std::thread::sleep(Duration::from_millis(1));
    }
    let whole = begun.elapsed();
    // The last fold ends; a thread that has ended tells no time.
    std::thread::sleep(Duration::from_millis(1_500));
    let after = cpu()?;
    doors.block_on(engine.stop());
    print(messages, [accepted, through, whole], &before, &after);
    let octets = |path: &str| folder.path().join(path).metadata().map_or(0, |data| data.len());
    println!("database {} MB, its log {} MB", octets("db") >> 20, octets("db-wal") >> 20);
    doors.block_on(store.close())?;
    Ok(())
}

fn print(messages: u64, times: [Duration; 3], before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) {
    let per_s = |time: Duration| messages as f64 / time.as_secs_f64();
    let [accepted, through, whole] = times;
    println!(
        "accepted {:.0}/s, answered by the carrier {:.0}/s, in SQL {:.0}/s",
        per_s(accepted),
        per_s(through),
        per_s(whole)
    );
    let mut house = 0.0;
    for (name, nanos) in after {
        let spent = nanos - before.get(name).copied().unwrap_or(0);
        let each = spent as f64 / 1000.0 / messages as f64;
        if !matches!(name.as_str(), "doors" | "carrier" | "intake_rate") {
            house += each;
        }
        if each > 0.005 {
            println!("  {name:<16} {each:6.2} us a message");
        }
    }
    println!("  engine, store and bus {house:.2} us a message");
}

/// CPU time of each kind of thread, nanoseconds.
fn cpu() -> Result<BTreeMap<String, u64>, Failure> {
    let mut times = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        let name = std::fs::read_to_string(path.join("comm"))?.trim().to_owned();
        let spent = std::fs::read_to_string(path.join("schedstat"))?;
        let nanos: u64 = spent.split_whitespace().next().unwrap_or("0").parse()?;
        *times.entry(name).or_default() += nanos;
    }
    Ok(times)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn route() -> Route {
    Route {
        name: "sms".into(),
        channel: channels::SMS,
        mode: Mode::Live,
        rate: 0.0,
        simulated: false,
        prefixes: Vec::new(),
        senders: Vec::new(),
        accounts: Vec::new(),
        weight: 1,
        cost: 0,
        priority: 0,
        validity_s: 0,
        receipts: true,
    }
}

fn message(i: u64, receipts: bool) -> Message {
    Message {
        account: "default".into(),
        party: Party::Smpp("platform-a".into()),
        at: now(),
        lane: Lane::Routine,
        mode: Mode::Live,
        to: format!("+4670{i:07}"),
        short: Short {
            source: ShortAddress { ton_npi: Some((5, 0)), addr: "CAMPANILE".into() },
            text: ShortText::Text {
                text: format!("Message number {i} of a platform, as long as most are").into(),
                class: None,
            },
            ..Short::default()
        },
        not_before: None,
        expires: now().plus_s(86_400),
        route: None,
        tell: Tell { mask: if receipts { Tell::DELIVERED | Tell::FAILED } else { 0 }, ..Tell::default() },
    }
}

async fn hand_in(engine: Engine, wanted: Arc<Wanted>) -> Result<(), Failure> {
    let (next, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut tasks = Vec::new();
    for _ in 0..UNDER_WAY {
        let (next, wanted, messages) = (next.clone(), wanted.clone(), engine.messages());
        tasks.push(tokio::spawn(async move {
            loop {
                let from = next.fetch_add(wanted.at_once, Ordering::Relaxed);
                let to = (from + wanted.at_once).min(wanted.messages);
                if from >= to {
                    return Ok::<(), Failure>(());
                }
                let encode = |i| Intake::Message(Box::new(message(i, wanted.receipts))).encode();
                let records: Vec<Vec<u8>> = (from..to).map(encode).collect();
                let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
                let due = Duration::from_micros(from * 1_000_000 / wanted.per_s.max(1));
                if wanted.per_s > 0 {
                    tokio::time::sleep_until((begun + due).into()).await;
                }
                while messages.is_behind() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                messages.accept(&slices).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn serve(
    bus: Arc<dyn bus::Bus>,
    answered: Arc<AtomicU64>,
    wanted: Arc<Wanted>,
) -> Result<(), bus::BusError> {
    let group = bus.group(&segment_topic("sms", Lane::Routine), engine::GATEWAYS)?;
    let outcomes = bus.topic(records::OUTCOMES)?;
    loop {
        for leased in group.take(16, Duration::from_secs(60))? {
            let Ok(segment) = Segment::decode(&leased.record.octets) else { continue };
            let intent = Outcome::Intent(Intent {
                route: segment.route.clone(),
                lane: segment.lane,
                segment: leased.record.index,
                alert: segment.alert,
                from: 0,
                attempts: segment.entries.iter().map(|entry| (entry.endpoint, entry.attempt)).collect(),
                at: now(),
            });
            let answers: Vec<Outcome> =
                segment.entries.iter().flat_map(|entry| answer(&segment, entry, &wanted)).collect();
            let (intent, answers) = (encode_outcomes(&[intent]), encode_outcomes(&answers));
            outcomes.append(&[&intent, &answers]).await?;
            group.ack(leased.record.index)?;
            answered.fetch_add(segment.entries.len() as u64, Ordering::Relaxed);
        }
        group.ready().await;
    }
}

fn answer(segment: &Segment, entry: &records::Entry, wanted: &Wanted) -> Vec<Outcome> {
    let (alert, endpoint, attempt, at) = (segment.alert, entry.endpoint, entry.attempt, now());
    let key = (alert.0 << 32 | u64::from(endpoint.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let result = AttemptResult::Accepted { keys: vec![key], id: format!("{key:x}") };
    let of = AttemptRef { alert, endpoint, attempt, part: 1, parts: 1 };
    let mut out = vec![Outcome::Attempt { of, route: segment.route.clone(), at, result }];
    if wanted.receipts {
        let text = "err:000".to_owned();
        let (route, state) = (segment.route.clone(), ReceiptState::Delivered);
        out.push(Outcome::Receipt(Receipt { route, keys: vec![key], id: String::new(), state, text, at }));
    }
    out
}
