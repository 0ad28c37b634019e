//! What the SMPP door itself costs a message, without the engine behind it.
//!
//! `cargo run --profile perf -p doors --example smpp_front [millions] [window] [connections] [os|always]`
//!
//! A generator keeps a window full over a loopback connection: blocking sockets, a thread a connection, every message with a
//! number and a text of its own, every answer matched in the window. First with an intake that only counts, then with the bus
//! on disk, as the engine would give it. At last the other way: receipts from the bus to one connection that receives. CPU time
//! is the kernel's: the door's is that of all threads but the generator's.

use bus::embedded::{Fsync, Options};
use bus::{Bus, Topic};
use doors::smpp::{Clients, Intake, SmppClient, SmppConfig, SmppDeps};
use engine::{EngineError, MessageView, Steered};
use futures_util::future::BoxFuture;
use net::Cores;
use records::{
    Fate, FateState, INTAKE, MessageId, Mode, Party, Short, ShortAddress, Tell, Timestamp, Told, told_topic,
};
use smpp::pdu::{Address, Bind, BindMode, SubmitSm, registered_delivery};
use smpp::session::{Config, Event, Role, Session, State};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Messages by default, in millions.
const MILLIONS: u64 = 4;
/// Requests in flight by default, a connection.
const WINDOW: usize = 500;
/// Receipts put on the bus at a time.
const RECEIPTS_AT_ONCE: usize = 1_000;
/// Read in one go.
const READ_OCTETS: usize = 256 << 10;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let count = number(MILLIONS) * 1_000_000;
    let window = usize::try_from(number(WINDOW as u64)).unwrap_or(WINDOW);
    let connections = number(1).max(1);
    let dir = tempfile::tempdir()?;
    let fsync = if arguments.next().as_deref() == Some("always") { Fsync::Always } else { Fsync::Os };
    let options = Options { fsync, ..Options::default() };
    let bus = bus::embedded::open(dir.path(), options).map_err(io::Error::other)?;
    let load = |work| Load { bus: Arc::clone(&bus), count, window, connections, work };
    let counting = Arc::new(Counting::default());
    measure("an intake that counts", counting, load(submit))?;
    let topic = bus.topic(INTAKE).map_err(io::Error::other)?;
    measure(&format!("the bus at {fsync:?}"), Arc::new(OnBus { topic }), load(submit))?;
    put_receipts(&*bus, count)?;
    measure("receipts", Arc::new(Counting::default()), Load { connections: 1, ..load(receive) })
}

/// What a generator does: so many messages, in such a window.
type Work = fn(SocketAddr, u64, usize) -> io::Result<Duration>;

/// How much of it.
struct Load {
    bus: Arc<dyn Bus>,
    count: u64,
    window: usize,
    connections: u64,
    work: Work,
}

/// So many receipts wait for the client.
fn put_receipts(bus: &dyn Bus, count: u64) -> io::Result<()> {
    let topic = bus.topic(&told_topic("load")).map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for first in (0..count).step_by(RECEIPTS_AT_ONCE) {
        let records: Vec<Vec<u8>> =
            (first..count.min(first + RECEIPTS_AT_ONCE as u64)).map(receipt).collect();
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        runtime.block_on(topic.append(&records)).map_err(io::Error::other)?;
    }
    Ok(())
}

fn receipt(id: u64) -> Vec<u8> {
    let at = wall_clock();
    Told::Fate(Box::new(Fate {
        id: MessageId(id),
        event: Tell::DELIVERED,
        state: FateState::Delivered,
        source: ShortAddress { ton_npi: Some((5, 0)), addr: "Campanile".into() },
        to: "+46740000000".into(),
        dest: Some((1, 1)),
        text: "DELIVRD 000".into(),
        carrier_id: "7F3A9C".into(),
        route: "carrier-1".into(),
        beginning: "Fire at the harbour.".into(),
        submitted: at,
        at,
        tell: Tell::default(),
    }))
    .encode()
}

fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| since.as_micros() as i64))
}

/// Opens the door, lets the generators run, and says what it took.
fn measure(what: &str, intake: Arc<dyn Intake>, load: Load) -> io::Result<()> {
    let Load { bus, count, window, connections, work } = load;
    let client = SmppClient {
        system_id: "load".into(),
        password: "secret".into(),
        account: "account".into(),
        window,
        connections: u32::try_from(connections).unwrap_or(1),
        ..SmppClient::default()
    };
    let clients = Clients::new(vec![client]).map_err(|problems| io::Error::other(format!("{problems:?}")))?;
    let deps = SmppDeps {
        intake,
        clients: Arc::new(clients),
        bus,
        clock: Arc::new(wall_clock),
        cores: Arc::new(Cores::new(1)?),
    };
    let config = SmppConfig { listen: Some("127.0.0.1:0".into()), ..SmppConfig::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let running = runtime.block_on(doors::smpp::start(config, deps)).map_err(io::Error::other)?;
    let address = running.address().ok_or_else(|| io::Error::other("it listens nowhere"))?;
    // The listener lives here; its thread is not the generator's.
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let listening = std::thread::spawn(move || {
        runtime.block_on(async {
            let _ = stopped.await;
            running.stop().await;
        });
    });
    let (begin, cpu_before) = (Instant::now(), process_cpu()?);
    let generators: Vec<_> = (0..connections)
        .map(|_| std::thread::spawn(move || work(address, count / connections, window)))
        .collect();
    let mut of_generators = Duration::ZERO;
    for generator in generators {
        of_generators += generator.join().map_err(|_| io::Error::other("a generator panicked"))??;
    }
    let (wall, cpu) = (begin.elapsed(), process_cpu()? - cpu_before);
    let each = |time: Duration| time.as_nanos() as f64 / count as f64;
    println!(
        "{what}, window {window}, {connections} connections: {:.0} a second; CPU a message: door {:.0} ns, generator {:.0} ns",
        count as f64 / wall.as_secs_f64(),
        each(cpu.saturating_sub(of_generators)),
        each(of_generators),
    );
    let _ = stop.send(());
    listening.join().map_err(|_| io::Error::other("the listener panicked"))
}

/// Submits `count` messages; the CPU time that took.
fn submit(address: SocketAddr, count: u64, window: usize) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let config = Config { window, ..Config::default() };
    let mut session = Session::new(Role::Esme, config, Instant::now());
    let bind =
        Bind { mode: BindMode::Transmitter, system_id: b"load", password: b"secret", ..Bind::default() };
    session.bind(&bind, Instant::now()).map_err(io::Error::other)?;
    let (mut sent, mut answered) = (0, 0);
    let (mut input, mut out) = (vec![0; READ_OCTETS], Vec::new());
    let (mut to, mut text) = (*b"46740000000", *b"Fire at the harbour. Close windows. 00000000");
    while answered < count {
        let now = Instant::now();
        while matches!(session.state(), State::Bound(_)) && sent < count && session.free_slots() > 0 {
            digits(sent, &mut to[4..]);
            digits(sent, &mut text[36..]);
            let submit = SubmitSm {
                source: Address::alphanumeric(b"Campanile"),
                destination: Address::international(&to),
                registered_delivery: registered_delivery::FINAL,
                short_message: &text,
                ..SubmitSm::default()
            };
            session.submit(&submit, sent, now).map_err(io::Error::other)?;
            sent += 1;
        }
        session.poll_transmit(&mut out);
        stream.write_all(&out)?;
        out.clear();
        let octets = stream.read(&mut input)?;
        if octets == 0 {
            return Err(io::Error::other("the door hung up"));
        }
        session.handle_input(&input[..octets], Instant::now());
        while let Some(event) = session.poll_event() {
            match event {
                Event::Response(response) if response.status.is_ok() => answered += 1,
                Event::Bound { .. } => {}
                other => return Err(io::Error::other(format!("{other:?}"))),
            }
        }
    }
    thread_cpu()
}

/// Takes `count` receipts; the CPU time that took.
fn receive(address: SocketAddr, count: u64, window: usize) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let config = Config { peer_window: window, ..Config::default() };
    let mut session = Session::new(Role::Esme, config, Instant::now());
    let bind = Bind { mode: BindMode::Receiver, system_id: b"load", password: b"secret", ..Bind::default() };
    session.bind(&bind, Instant::now()).map_err(io::Error::other)?;
    let (mut received, mut sequences) = (0, Vec::new());
    let (mut input, mut out) = (vec![0; READ_OCTETS], Vec::new());
    while received < count || session.has_output() {
        session.poll_transmit(&mut out);
        stream.write_all(&out)?;
        out.clear();
        if received == count {
            break;
        }
        let octets = stream.read(&mut input)?;
        session.handle_input(&input[..octets], Instant::now());
        while let Some(event) = session.poll_event() {
            match event {
                Event::Deliver { sequence, pdu } if pdu.is_receipt() => sequences.push(sequence),
                Event::Bound { .. } => {}
                other => return Err(io::Error::other(format!("{other:?}"))),
            }
        }
        for sequence in sequences.drain(..) {
            session.respond(sequence, smpp::Status::ROK, b"", Instant::now()).map_err(io::Error::other)?;
            received += 1;
        }
    }
    thread_cpu()
}

/// The lowest digits of `value`, as many as fit.
fn digits(mut value: u64, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// CPU time of this thread so far.
fn thread_cpu() -> io::Result<Duration> {
    schedstat("/proc/thread-self/schedstat")
}

/// CPU time of this process so far, threads that have ended included. The kernel gives it in hundredths of a second.
fn process_cpu() -> io::Result<Duration> {
    let line = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name in brackets: utime and stime are the 12th and 13th.
    let words: Vec<&str> = line.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
    match (ticks(11), ticks(12)) {
        (Some(user), Some(system)) => Ok(Duration::from_millis((user + system) * 10)),
        _ => Err(io::Error::other("no stat")),
    }
}

fn schedstat(path: &str) -> io::Result<Duration> {
    let line = std::fs::read_to_string(path)?;
    let nanos = line.split_whitespace().next().and_then(|word| word.parse().ok());
    nanos.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no schedstat"))
}

/// Counts, and takes everything.
#[derive(Default)]
struct Counting {
    messages: AtomicU64,
}

/// Appends, as the engine's handle does.
struct OnBus {
    topic: Arc<dyn Topic>,
}

macro_rules! takes_nothing_back {
    () => {
        fn is_routable(&self, _: Mode, _: &str, _: &str, _: &str) -> bool {
            true
        }
        fn is_behind(&self) -> bool {
            false
        }
        fn message<'a>(
            &'a self,
            _: &'a str,
            _: MessageId,
        ) -> BoxFuture<'a, Result<Option<MessageView>, EngineError>> {
            Box::pin(async { Ok(None) })
        }
        fn cancel<'a>(&'a self, _: &'a str, _: MessageId) -> BoxFuture<'a, Result<Steered, EngineError>> {
            Box::pin(async { Ok(Steered::NotFound) })
        }
        fn cancel_all<'a>(
            &'a self,
            _: &'a str,
            _: &'a Party,
            _: &'a str,
            _: &'a str,
            _: &'a str,
        ) -> BoxFuture<'a, Result<u64, EngineError>> {
            Box::pin(async { Ok(0) })
        }
        fn replace<'a>(
            &'a self,
            _: &'a str,
            _: MessageId,
            _: Short,
            _: Option<Timestamp>,
            _: Option<Timestamp>,
        ) -> BoxFuture<'a, Result<Steered, EngineError>> {
            Box::pin(async { Ok(Steered::NotFound) })
        }
    };
}

impl Intake for Counting {
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        let first = self.messages.fetch_add(records.len() as u64, Ordering::Relaxed);
        Box::pin(async move { Ok(MessageId(first)) })
    }
    takes_nothing_back!();
}

impl Intake for OnBus {
    fn accept<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<MessageId, EngineError>> {
        Box::pin(async move {
            let first = self.topic.append(records).await;
            first.map(MessageId).map_err(|error| EngineError::Internal(error.to_string()))
        })
    }
    takes_nothing_back!();
}
