//! Clients: connections with a window of requests each, shared by a few threads; every answer is looked at.

mod link;
mod open;
mod schedule;

use super::pattern::Pattern;
use super::request::{RequestKind, RequestTemplate, client_name, is_good};
use super::transport::Transport;
use crate::deployment::bind_this_thread;
use crate::statistics::Spread;
use diameter::avp::Address;
use diameter::dictionary::{application, avp, command};
use diameter::frame::next_frame;
use diameter::header::{CommandFlags, MESSAGE_OCTETS_MAX};
use diameter::message::Message;
use diameter::write::Writer;
use link::CreditConnection;
pub(super) use link::tls_of;
use pace::Lag;
use rustix::event::{Timespec, epoll};
use schedule::Schedule;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

/// An answer that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(60);
const READ_OCTETS: usize = 256 * 1024;
/// Connections that are gone on with before the thread looks again.
const AT_ONCE: usize = 64;
/// A request that is begun so long after its due time is late: a timer of this system is not, a window that
/// is full is.
pub(super) const LATE_AFTER: Duration = Duration::from_millis(1);

/// What is to be done.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) address: String,
    pub(super) threads: usize,
    pub(super) connections: usize,
    /// Requests in flight on each connection.
    pub(super) window: usize,
    pub(super) pattern: Pattern,
    pub(super) accounts: u32,
    pub(super) amount: Amount,
    /// Requests a second that fall due whatever the server does; without it each answer lets the next request
    /// go.
    pub(super) rate: Option<f64>,
    pub(super) transport: Transport,
    /// By TLS: whom we trust.
    pub(super) tls: Option<Arc<rustls::ClientConfig>>,
    /// The processors of its threads; none named: as they come.
    pub(super) cpus: Vec<usize>,
    /// Tells this run's sessions from those of every other.
    pub(super) run: u64,
}

/// How much.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Amount {
    /// So many requests in all.
    Of(u64),
    /// As many as fit in.
    For(Duration),
}

/// What came of it.
pub(super) struct Done {
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) elapsed: Duration,
    pub(super) spread: Spread,
    /// How long after their due times requests were begun; nothing where nothing was due.
    pub(super) lag: Lag,
    /// Requests that were begun later than [`LATE_AFTER`] behind their due time.
    pub(super) late: u64,
    /// Minor units that the verified answers charged, by account.
    pub(super) charged: Vec<u32>,
    /// The first answer that was wrong.
    pub(super) wrong: Option<String>,
    /// Octets of a request.
    pub(super) octets: usize,
}

impl Done {
    fn nothing(octets: usize) -> Done {
        Done {
            requests: 0,
            errors: 0,
            elapsed: Duration::ZERO,
            spread: Spread::new(),
            lag: Lag::new(),
            late: 0,
            charged: Vec::new(),
            wrong: None,
            octets,
        }
    }
}

struct Shared {
    load: Load,
    over: AtomicBool,
    /// Requests that may still be sent.
    left: AtomicU64,
    charged: Vec<AtomicU32>,
    begin: Barrier,
    /// When the first request is due.
    started: OnceLock<Instant>,
}

impl Shared {
    fn new(load: &Load, threads: usize) -> Shared {
        Shared {
            load: load.clone(),
            over: AtomicBool::new(false),
            left: AtomicU64::new(if let Amount::Of(count) = load.amount { count } else { u64::MAX }),
            charged: (0..load.accounts).map(|_| AtomicU32::new(0)).collect(),
            begin: Barrier::new(threads + 1),
            started: OnceLock::new(),
        }
    }
}

/// Runs it.
///
/// # Errors
/// No connection, or one that broke.
pub(super) fn run(load: &Load) -> Result<Done, String> {
    let describe = |error: io::Error| format!("the server at {}: {error}", load.address);
    let threads = load.threads.clamp(1, load.connections);
    let shared = Arc::new(Shared::new(load, threads));
    let mut running = Vec::new();
    for number in 0..threads {
        let shared = Arc::clone(&shared);
        let work = move || {
            let cpus = &shared.load.cpus;
            let bound = if cpus.is_empty() { Ok(()) } else { bind_this_thread(cpus) };
            let clients: io::Result<Vec<CreditClient>> = (number..shared.load.connections)
                .step_by(threads)
                .map(|client| CreditClient::open(&shared.load, client))
                .collect();
            // Whoever failed still is waited for.
            shared.begin.wait();
            bound?;
            let begin = *shared.started.get_or_init(Instant::now);
            let thread = Thread::new(number);
            match shared.load.rate {
                Some(rate) => {
                    let schedule = Schedule::new(begin, rate, (number, threads), shared.load.amount);
                    thread.run_open(&shared, &mut clients?, schedule)
                }
                None => thread.run(&shared, &mut clients?),
            }
        };
        running.push(std::thread::Builder::new().name("load".to_owned()).spawn(work).map_err(describe)?);
    }
    shared.begin.wait();
    let begin = *shared.started.get_or_init(Instant::now);
    if let (Amount::For(time), None) = (load.amount, load.rate) {
        std::thread::sleep(time);
        shared.over.store(true, Ordering::Relaxed);
    }
    let mut done =
        Done::nothing(RequestTemplate::new(load.pattern, load.pattern.first(), 0, load.run).octets());
    for thread in running {
        let one = thread.join().map_err(|_| "a thread of the load panicked")?.map_err(describe)?;
        done.requests += one.requests;
        done.errors += one.errors;
        done.spread.merge(&one.spread);
        done.lag.merge(&one.lag);
        done.late += one.late;
        done.wrong = done.wrong.or(one.wrong);
    }
    done.elapsed = begin.elapsed();
    done.charged = shared.charged.iter().map(|charged| charged.load(Ordering::Relaxed)).collect();
    Ok(done)
}

/// A request in flight.
#[derive(Clone, Copy)]
struct RequestInFlight {
    kind: RequestKind,
    session: u64,
    account: u32,
    end_to_end: u32,
    since: Instant,
    waits: bool,
}

struct CreditClient {
    link: CreditConnection,
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
    written: usize,
    slots: Vec<RequestInFlight>,
    waiting: usize,
    templates: [RequestTemplate; 4],
    next_session: u64,
    next_end_to_end: u32,
    watches_writes: bool,
    /// Slots without a request, where requests fall due.
    free: Vec<usize>,
    /// What follows in sessions that were begun, where requests fall due.
    later: VecDeque<(RequestKind, u64, u32)>,
}

impl CreditClient {
    /// Connects and exchanges capabilities.
    fn open(load: &Load, number: usize) -> io::Result<CreditClient> {
        let mut link = CreditConnection::open(&load.address, load.transport, load.tls.as_ref(), PATIENCE)?;
        let mut input = vec![0; READ_OCTETS];
        exchange_capabilities(&mut link, number, &mut input)?;
        link.set_nonblocking()?;
        let template = |kind| RequestTemplate::new(load.pattern, kind, number, load.run);
        let slot = RequestInFlight {
            kind: RequestKind::Event,
            session: 0,
            account: 0,
            end_to_end: 0,
            since: Instant::now(),
            waits: false,
        };
        Ok(CreditClient {
            link,
            input,
            filled: 0,
            output: Vec::new(),
            written: 0,
            slots: vec![slot; load.window],
            waiting: 0,
            templates: [
                RequestKind::Event,
                RequestKind::Initial,
                RequestKind::Update,
                RequestKind::Terminate,
            ]
            .map(template),
            next_session: 0,
            // Unlike those of another run's connection of the same name (RFC 6733, section 3).
            next_end_to_end: (load.run as u32) << 20 | number as u32,
            watches_writes: false,
            free: (0..load.window).rev().collect(),
            later: VecDeque::new(),
        })
    }

    /// Asks on a slot that is free.
    fn ask(&mut self, place: usize, kind: RequestKind, session: u64, account: u32, since: Instant) {
        let end_to_end = self.next_end_to_end;
        self.next_end_to_end = end_to_end.wrapping_add(1);
        self.slots[place] = RequestInFlight { kind, session, account, end_to_end, since, waits: true };
        self.waiting += 1;
        let template = &mut self.templates[kind.request_type() as usize % 4];
        template.write(session, account, place as u32, end_to_end, &mut self.output);
    }

    /// True: all that waits was taken.
    fn flush(&mut self) -> io::Result<bool> {
        while self.written < self.output.len() {
            match self.link.write(&self.output[self.written..]) {
                Ok(written) => self.written += some(written)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.written = 0;
        self.link.is_flushed()
    }
}

fn exchange_capabilities(link: &mut CreditConnection, number: usize, input: &mut [u8]) -> io::Result<()> {
    let mut octets = Vec::new();
    let mut writer =
        Writer::request(&mut octets, command::CAPABILITIES_EXCHANGE, 0, CommandFlags::default(), 1, 1);
    writer.identity(avp::ORIGIN_HOST, &client_name(number));
    writer.identity(avp::ORIGIN_REALM, "client.test");
    writer.address(avp::HOST_IP_ADDRESS, Address::Ip(Ipv4Addr::LOCALHOST.into()));
    writer.u32(avp::VENDOR_ID, 0);
    writer.utf8(avp::PRODUCT_NAME, "campanile bench");
    writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
    writer.finish();
    link.write_all(&octets)?;
    let mut filled = 0;
    let octets = loop {
        match next_frame(&input[..filled], MESSAGE_OCTETS_MAX).map_err(io::Error::other)? {
            Some(frame) => break frame.len(),
            None => filled += some(link.read(&mut input[filled..])?)?,
        }
    };
    let answer = Message::read(&input[..octets]).map_err(io::Error::other)?;
    let result = answer.find(avp::RESULT_CODE).and_then(|result| result.u32().ok());
    if answer.header.command != command::CAPABILITIES_EXCHANGE || result != Some(2001) {
        return Err(io::Error::other(format!("it refused the connection's capabilities: {result:?}")));
    }
    Ok(())
}

fn some(octets: usize) -> io::Result<usize> {
    if octets == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(octets) }
}

struct Thread {
    chance: u64,
    requests: u64,
    errors: u64,
    spread: Spread,
    lag: Lag,
    late: u64,
    wrong: Option<String>,
}

impl Thread {
    fn new(number: usize) -> Thread {
        let chance = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (spread, lag) = (Spread::new(), Lag::new());
        Thread { chance, requests: 0, errors: 0, spread, lag, late: 0, wrong: None }
    }

    fn run(mut self, shared: &Shared, clients: &mut [CreditClient]) -> io::Result<Thread> {
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (place, client) in clients.iter_mut().enumerate() {
            watch(&ready, place, client)?;
            let now = Instant::now();
            for slot in 0..client.slots.len() {
                self.begin(shared, client, slot, now);
            }
            self.write(&ready, place, client)?;
        }
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let mut events = Vec::with_capacity(AT_ONCE);
        while clients.iter().any(|client| client.waiting > 0) {
            events.clear();
            epoll::wait(&ready, rustix::buffer::spare_capacity(&mut events), Some(&patience))?;
            if events.is_empty() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            for event in &events {
                let place = event.data.u64() as usize;
                let client = &mut clients[place];
                let flags = event.flags;
                if flags.contains(epoll::EventFlags::IN) {
                    self.read(shared, client)?;
                }
                self.write(&ready, place, client)?;
            }
        }
        Ok(self)
    }

    /// A new event or session on a free slot, while there is something to do.
    fn begin(&mut self, shared: &Shared, client: &mut CreditClient, place: usize, now: Instant) {
        if shared.over.load(Ordering::Relaxed) || !take(&shared.left) {
            return;
        }
        let (kind, session, account) = self.new_one(shared, client);
        client.ask(place, kind, session, account, now);
    }

    /// The first request of an event or session that nobody began yet.
    fn new_one(&mut self, shared: &Shared, client: &mut CreditClient) -> (RequestKind, u64, u32) {
        let session = client.next_session;
        client.next_session += 1;
        (shared.load.pattern.first(), session, self.below(shared.load.accounts))
    }

    fn below(&mut self, bound: u32) -> u32 {
        // xorshift64*: which accounts come in which order is the same in every run.
        self.chance ^= self.chance >> 12;
        self.chance ^= self.chance << 25;
        self.chance ^= self.chance >> 27;
        let high = self.chance.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }

    /// Hears what is there. With TLS more may be decrypted than one read takes, of which the system says
    /// nothing.
    fn read(&mut self, shared: &Shared, client: &mut CreditClient) -> io::Result<()> {
        let mut input = std::mem::take(&mut client.input);
        loop {
            let read = match client.link.read(&mut input[client.filled..]) {
                Ok(read) => some(read)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            let (filled, now, mut used) = (client.filled + read, Instant::now(), 0);
            while let Some(frame) =
                next_frame(&input[used..filled], MESSAGE_OCTETS_MAX).map_err(io::Error::other)?
            {
                let message = Message::read(frame).map_err(io::Error::other)?;
                used += frame.len();
                self.hear(shared, client, &message, now);
            }
            input.copy_within(used..filled, 0);
            client.filled = filled - used;
            if !client.link.may_hold_more() {
                break;
            }
        }
        client.input = input;
        Ok(())
    }

    fn hear(&mut self, shared: &Shared, client: &mut CreditClient, message: &Message<'_>, now: Instant) {
        if message.header.flags.is_request() {
            return watched(client, message);
        }
        let place = message.header.hop_by_hop as usize;
        let slot = client
            .slots
            .get(place)
            .copied()
            .filter(|slot| slot.waits && slot.end_to_end == message.header.end_to_end);
        let Some(slot) = slot else {
            return self.note(message, "it answers no request");
        };
        client.slots[place].waits = false;
        client.waiting -= 1;
        self.requests += 1;
        self.spread.add(now.saturating_duration_since(slot.since).as_nanos() as u64);
        let session = client.templates[slot.kind.request_type() as usize % 4].session_id(slot.session);
        if !is_good(message, slot.kind, session) {
            self.note(message, "it is not the answer that was to come");
            return self.go_on(shared, client, place, None, now);
        }
        shared.charged[slot.account as usize].fetch_add(slot.kind.charged() as u32, Ordering::Relaxed);
        let next = slot.kind.next().map(|next| (next, slot.session, slot.account));
        self.go_on(shared, client, place, next, now);
    }

    /// On a slot that was answered: at once, or when the next request is due.
    fn go_on(
        &mut self,
        shared: &Shared,
        client: &mut CreditClient,
        place: usize,
        next: Option<(RequestKind, u64, u32)>,
        now: Instant,
    ) {
        if shared.load.rate.is_some() {
            client.free.push(place);
            client.later.extend(next);
            return;
        }
        match next {
            Some((kind, session, account)) => client.ask(place, kind, session, account, now),
            None => self.begin(shared, client, place, now),
        }
    }

    fn note(&mut self, message: &Message<'_>, why: &str) {
        self.errors += 1;
        if self.wrong.is_none() {
            let result = message.find(avp::RESULT_CODE).and_then(|result| result.u32().ok());
            self.wrong = Some(format!("an answer with Result-Code {result:?}: {why}"));
        }
    }

    /// Writes what waits; looks for room where the system has none.
    fn write(&mut self, ready: &OwnedFd, place: usize, client: &mut CreditClient) -> io::Result<()> {
        let waits = !client.flush()?;
        if waits != client.watches_writes {
            let flags =
                if waits { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
            epoll::modify(ready, client.link.socket(), epoll::EventData::new_u64(place as u64), flags)?;
            client.watches_writes = waits;
        }
        Ok(())
    }
}

fn watch(ready: &OwnedFd, place: usize, client: &CreditClient) -> io::Result<()> {
    let data = epoll::EventData::new_u64(place as u64);
    Ok(epoll::add(ready, client.link.socket(), data, epoll::EventFlags::IN)?)
}

/// Takes one of what is left.
fn take(left: &AtomicU64) -> bool {
    left.load(Ordering::Relaxed) == u64::MAX
        || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// The server asks whether we live.
fn watched(client: &mut CreditClient, message: &Message<'_>) {
    if message.header.command == command::DEVICE_WATCHDOG {
        let mut writer = Writer::answer(&mut client.output, &message.header);
        writer.u32(avp::RESULT_CODE, 2001);
        writer.identity(avp::ORIGIN_HOST, "bench.client.test");
        writer.identity(avp::ORIGIN_REALM, "client.test");
        writer.finish();
    }
}
