//! How many requests for `/cgi-bin/sendsms` a second, and what each costs the server.
//!
//! ```text
//! cargo run --profile perf -p doors --example sendsms_rate -- [seconds] [connections] [fake|engine] [os|always]
//! ```
//!
//! The door is the real one. With `fake` messages go nowhere, which shows what HTTP costs; with `engine` they are appended to the
//! bus and taken by the engine. Requests come from a process of its own, which waits for each answer before the next request.

use bus::embedded::Fsync;
use doors::http::{self, AnswerLinks, Deps, HttpConfig, Limits, MessageIntake, PlatformSettings, Platforms};
use engine::{EngineError, Unroutable};
use futures_util::future::BoxFuture;
use records::{MessageId, Mode, Route, Timestamp};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |place: usize, usual: &str| arguments.get(place).map_or(usual, String::as_str).to_owned();
    if argument(0, "") == "load" {
        return load(argument(1, "").parse()?, argument(2, "").parse()?, argument(3, "").parse()?);
    }
    let (seconds, connections) = (argument(0, "5").parse::<u64>()?, argument(1, "20").parse::<usize>()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let fsync = if argument(3, "os") == "always" { Fsync::Always } else { Fsync::Os };
    runtime.block_on(measure(seconds, connections, argument(2, "fake") == "engine", fsync))
}

async fn measure(seconds: u64, connections: usize, through_engine: bool, fsync: Fsync) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let options = bus::embedded::Options { fsync, ..Default::default() };
    let bus = bus::embedded::open(folder.path().join("bus"), options)?;
    let store = store::sqlite::open(&folder.path().join("db"), &store::sqlite::Options::default())?;
    let links = Arc::new(AnswerLinks::new(&[9; http::LINK_KEY_OCTETS], None));
    let clock: engine::Clock = Arc::new(now);
    let engine = engine::Engine::start(engine::Parts {
        texts: engine::TextCache::default(),
        bus: bus.clone(),
        store: store.clone(),
        routes: vec![route()],
        weigher: Arc::new(One),
        links: links.clone(),
        clock: clock.clone(),
        settings: engine::Settings::default(),
        parties: Vec::new(),
    })
    .await?;
    let platform = PlatformSettings {
        username: "tester".into(),
        password: "secret".into(),
        ..PlatformSettings::default()
    };
    let platforms = Platforms::new(vec![platform]).map_err(|problems| format!("{problems:?}"))?;
    let fake = Arc::new(Nowhere::default());
    let messages: Arc<dyn MessageIntake> =
        if through_engine { Arc::new(engine.messages()) } else { fake.clone() };
    let deps = Deps {
        engine: engine.clone(),
        store,
        media: store::media::Media::at(&folder.path().join("media")),
        clock,
        links,
        cap_senders: Arc::default(),
        messages,
        platforms: Arc::new(arc_swap::ArcSwap::from_pointee(platforms)),
        defaults: Arc::default(),
        reload: None,
        books: None,
        metrics: None,
        forwarding: None,
    };
    let door = http::serve(anywhere(), deps).await?;
    let load = tokio::process::Command::new(std::env::current_exe()?)
        .args(["load", &door.address().to_string(), &connections.to_string(), &seconds.to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let before = cpu_s()?;
    let said = load.wait_with_output().await?;
    let cpu = cpu_s()? - before;
    let answered: f64 = String::from_utf8(said.stdout)?.trim().parse()?;
    if fsync == Fsync::Always {
        let (sync_us, rate) = (bus.sync_us_p50() as f64, answered / seconds as f64);
        println!("a sync takes {sync_us} us: {:.2} N/s", rate * sync_us / 1e6 / connections as f64);
    }
    println!(
        "{connections} connections, {seconds} s: {:.0} requests/s, {:.2} us of CPU each, {:.1} messages an append",
        answered / seconds as f64,
        cpu * 1e6 / answered,
        answered / fake.appends.load(Ordering::Relaxed).max(1) as f64,
    );
    door.stop().await;
    Ok(())
}

/// A free port of this machine.
fn anywhere() -> HttpConfig {
    HttpConfig { listen: ([127, 0, 0, 1], 0).into(), tls: None, public_url: None, limits: Limits::default() }
}

/// CPU of this process, all its threads, in seconds.
fn cpu_s() -> Outcome<f64> {
    const TICKS_PER_S: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name in brackets: utime and stime are the 14th and 15th field of all.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(11) + ticks(12)) / TICKS_PER_S)
}

fn load(server: SocketAddr, connections: usize, seconds: u64) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = std::time::Instant::now() + Duration::from_secs(seconds);
    let answered = runtime.block_on(async {
        let tasks: Vec<_> = (0..connections).map(|place| tokio::spawn(ask(server, place, end))).collect();
        let mut answered = 0;
        for task in tasks {
            answered += task.await??;
        }
        Ok::<u64, Box<dyn Error>>(answered)
    })?;
    println!("{answered}");
    Ok(())
}

async fn ask(server: SocketAddr, place: usize, end: std::time::Instant) -> std::io::Result<u64> {
    let mut stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let mut buffer = [0; 4096];
    let mut answered = 0;
    while std::time::Instant::now() < end {
        let request = format!(
            "GET /cgi-bin/sendsms?username=tester&password=secret&to=%2B4670{place:03}{answered:07}&from=7001&text=Water+is+rising+in+the+old+town.+Please+go+to+the+school HTTP/1.1\r\nHost: localhost\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut read = 0;
        while !buffer[..read].ends_with(b"0: Accepted for delivery") {
            match stream.read(&mut buffer[read..]).await? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                octets => read += octets,
            }
        }
        answered += 1;
    }
    Ok(answered)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_micros() as i64)
}

/// Takes everything and keeps nothing.
#[derive(Default)]
struct Nowhere {
    messages: AtomicU64,
    appends: AtomicU64,
}

impl MessageIntake for Nowhere {
    fn routable(&self, _: Mode, _: &str, _: &str, _: &str, _: Option<&str>) -> Result<(), Unroutable> {
        Ok(())
    }
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        let first = self.messages.fetch_add(records.len() as u64, Ordering::Relaxed);
        Box::pin(async move { Ok(MessageId(first)) })
    }
    fn is_behind(&self) -> bool {
        false
    }
}

struct One;
impl engine::Weigher for One {
    fn units(&self, _: &Route, _: &records::Body) -> u32 {
        1
    }
}

fn route() -> Route {
    Route {
        name: "carrier".into(),
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
