//! Measures audiences over a large directory: counts that nobody asked before, the same again, pages of
//! people, and two alerts to the same people.
//!
//! ```text
//! cargo run --profile perf -p engine --example audience_million -- [PEOPLE] [postgres]
//! ```
//!
//! The store is in TMPDIR; with `postgres` it is a PostgreSQL of its own.

use engine::{
    AudienceFilter, Audiences, DirectoryCache, Draft, Engine, KeyedHash, Links, Parts, Settings, TextCache,
    UnitsEstimator,
};
use records::{
    AlertNo, AlertRequest, AreaRequest, AudienceEntry, Body, Device, EndpointNo, Group, Mode, OnUnknown,
    Origin, Position, Priority, Recipient, Route, Rule, Strategy, Terminal, Test, Texts, Timestamp,
};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{SharedStore, postgres, sqlite};

const ACCOUNT: &str = "default";
/// People staged at a time.
const STAGE_ROWS: usize = 2_000;
/// Different values of the attribute that rules ask for: an audience by a rule is a hundredth of all.
const FLOORS: u64 = 100;
/// Questions of a kind.
const QUESTIONS: u64 = 100;
const PAGE: usize = 100;

struct OneUnit;
impl UnitsEstimator for OneUnit {
    fn units(&self, _: &Route, _: &Body) -> u32 {
        1
    }
}

struct NoLinks;
impl Links for NoLinks {
    fn link(&self, _: AlertNo, _: EndpointNo) -> Option<String> {
        None
    }
    fn keyed_hash(&self, _: &str, _: &[&[u8]]) -> KeyedHash {
        KeyedHash::default()
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut people: u64 = 1_000_000;
    let mut on_server = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "postgres" => on_server = true,
            number => people = number.parse()?,
        }
    }
    let folder = tempfile::tempdir_in(std::env::var("TMPDIR").unwrap_or_else(|_| ".".to_owned()))?;
    let server = on_server
        .then(|| servers::postgres::PostgresServer::start_with(&["fsync=on", "full_page_writes=on"]));
    let store = match &server {
        Some(server) => postgres::open(&server.create_database(), &postgres::PostgresOptions::default())?,
        None => sqlite::open(&folder.path().join("people.db"), &sqlite::SqliteOptions::default())?,
    };
    fill(&store, people).await?;
    let engine = start(&folder.path().join("bus"), &store).await?;
    let audiences = Audiences::of(&engine);
    let begun = Instant::now();
    let all = audiences.count(ACCOUNT, request(vec!["all".into()], None)).await.map_err(of_counts)?;
    println!(
        "all, from SQL: {} people in {:.0} ms; peak memory {} MB",
        all.people,
        ms(begun.elapsed()),
        peak_mb()
    );
    let again = Audiences::of(&engine);
    let begun = Instant::now();
    let all = again.count(ACCOUNT, request(vec!["all".into()], None)).await.map_err(of_counts)?;
    println!("all, from memory: {} people in {:.0} ms", all.people, ms(begun.elapsed()));
    counts(&audiences).await?;
    pages(&audiences).await?;
    alerts(&engine, &store).await?;
    engine.stop().await;
    println!("peak memory {} MB", peak_mb());
    Ok(store.close().await?)
}

async fn fill(store: &SharedStore, people: u64) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let import = store.begin_import(ACCOUNT, Timestamp(0)).await?;
    let mut from = 0;
    while from < people {
        let until = (from + STAGE_ROWS as u64).min(people);
        store.stage(import, (from..until).map(someone).collect()).await?;
        from = until;
    }
    store.publish_import(import).await?;
    for floor in 0..FLOORS {
        let test = Test::Is(floor.to_string());
        let rule = Some(Rule::Test { attribute: "floor".to_owned(), test });
        store.put_group(ACCOUNT, Group { id: format!("floor-{floor}"), rule, ..Group::default() }).await?;
    }
    println!("{people} people in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn someone(n: u64) -> Recipient {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Recipient {
        id: format!("p{n:08}"),
        name: format!("Person Number {n}"),
        language: Some(if n.is_multiple_of(3) { "en" } else { "sv" }.to_owned()),
        groups: vec![format!("ward-{}", mixed % 1_000)],
        devices: vec![
            Device::new(channels::SMS, format!("+4670{n:07}")),
            Device::new(channels::MAIL, format!("p{n}@example.org")),
        ],
        position: Some(Position {
            lat: (mixed % 1_000) as f64 / 100.0,
            lon: (mixed / 1_000 % 1_000) as f64 / 100.0,
        }),
        attributes: [("floor".to_owned(), (mixed / 7 % FLOORS).to_string())].into_iter().collect(),
        ..Recipient::default()
    }
}

async fn start(bus: &std::path::Path, store: &SharedStore) -> Result<Engine, Box<dyn Error>> {
    let parts = Parts {
        bus: bus::embedded::open(bus, bus::embedded::Options::default())?,
        store: store.clone(),
        routes: vec![route("sms", channels::SMS), route("mail", channels::MAIL)],
        weigher: Arc::new(OneUnit),
        links: Arc::new(NoLinks),
        clock: Arc::new(|| Timestamp(1_794_983_200_000_000)),
        settings: Settings::default(),
        clients: Vec::new(),
        texts: TextCache::default(),
        directory: DirectoryCache::default(),
    };
    Ok(Engine::start(parts).await?)
}

fn route(name: &str, channel: records::ChannelNumber) -> Route {
    Route {
        name: name.to_owned(),
        channel,
        mode: Mode::Live,
        rate: 1.0,
        simulated: true,
        prefixes: Vec::new(),
        senders: Vec::new(),
        accounts: Vec::new(),
        weight: 1,
        cost: 0,
        priority: 0,
        validity_s: 0,
        receipts: false,
        window: 0,
        shares: None,
    }
}

fn request(audience: Vec<String>, area: Option<AreaRequest>) -> AlertRequest {
    let entry = |to: String| AudienceEntry { to, strategy: None, expires: None };
    AlertRequest {
        headline: None,
        text: Some("Leave the building".to_owned()),
        texts: Texts::default(),
        audience: audience.into_iter().map(entry).collect(),
        exclude: Vec::new(),
        channels: Vec::new(),
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires: Timestamp(1_794_983_200_000_000).plus_s(3_600),
        priority: Priority::Routine,
        on_unknown: OnUnknown::Hold,
        callback: None,
        sender: None,
        mode: Mode::Live,
        participants_only: false,
        answer_rules: records::AnswerRules::default(),
        follows: None,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        area,
    }
}

/// An audience that nobody asked for before: a rule, a ward by name and a circle in the town.
fn question(n: u64) -> AlertRequest {
    let audience = vec![format!("group:floor-{}", n % FLOORS), format!("group:ward-{n}"), "area".to_owned()];
    let circle = (5.0, n as f64 / QUESTIONS as f64 * 10.0, 100.0);
    request(audience, Some(AreaRequest { circles: vec![circle], ..AreaRequest::default() }))
}

async fn counts(audiences: &Audiences) -> Result<(), Box<dyn Error>> {
    for name in ["counts, new", "counts, again"] {
        let mut took = Vec::new();
        for n in 0..QUESTIONS {
            // The last ones are kept.
            let n = if name.ends_with("again") { QUESTIONS - 1 - n % 16 } else { n };
            let begun = Instant::now();
            let count = audiences.count(ACCOUNT, question(n)).await.map_err(of_counts)?;
            took.push(begun.elapsed());
            assert!(count.people > 0 && count.entries.len() == 3);
        }
        say(name, &mut took);
    }
    Ok(())
}

async fn pages(audiences: &Audiences) -> Result<(), Box<dyn Error>> {
    let mut took = Vec::new();
    let mut from = Some(0);
    for _ in 0..QUESTIONS {
        let filter = AudienceFilter { from: from.unwrap_or(0), limit: PAGE, ..AudienceFilter::default() };
        let begun = Instant::now();
        let (people, next) =
            audiences.people(ACCOUNT, question(QUESTIONS - 1), filter).await.map_err(of_counts)?;
        took.push(begun.elapsed());
        assert!(!people.is_empty());
        from = next;
    }
    say("pages of 100 people", &mut took);
    Ok(())
}

/// Two alerts to the same people: the second one finds them in memory, after somebody changed before the
/// first.
async fn alerts(engine: &Engine, store: &SharedStore) -> Result<(), Box<dyn Error>> {
    store.put_recipients(ACCOUNT, vec![someone(7)]).await?;
    for name in ["first alert, solved", "second alert, solved"] {
        let draft = Draft {
            account: ACCOUNT.to_owned(),
            token: "bench".to_owned(),
            authors: Vec::new(),
            request: question(1),
            origin: Origin::Api,
            key: None,
            wait_solved: true,
            note: None,
        };
        let begun = Instant::now();
        let submitted = engine.submit(draft).await?;
        println!("{name}: {} endpoints in {:.0} ms", submitted.endpoints.unwrap_or(0), ms(begun.elapsed()));
    }
    Ok(())
}

fn of_counts(error: engine::AudienceError) -> Box<dyn Error> {
    format!("{error:?}").into()
}

fn say(name: &str, took: &mut [Duration]) {
    took.sort_unstable();
    let at = |percent: usize| ms(took[(took.len() * percent / 100).min(took.len() - 1)]);
    println!("{name}: p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms", at(50), at(99), at(100));
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}

/// The most memory that this process ever had, in MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1_024
}
