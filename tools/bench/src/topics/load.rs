//! Posters and readers: threads with blocking connections, every reply looked at.

use super::request_lists::{Chance, MESSAGES, NEWEST, RequestLists, TOPICS};
use crate::statistics::Spread;
use rustix::event::{Timespec, epoll};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// A reply that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Messages in each topic before anything is measured.
const BEFORE: u64 = 1_000;
/// A thread with many connections goes on with so many that were answered before it looks again.
const AT_ONCE: usize = 64;
const READ_OCTETS: usize = 64 * 1024;

/// What is to be done.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) address: String,
    pub(super) token: Option<String>,
    pub(super) posters: usize,
    pub(super) readers: usize,
    /// So many of the topics are used, at least one.
    pub(super) topics: u64,
    /// Requests in flight on each connection.
    pub(super) depth: usize,
    /// Connections, spread over the threads; at least one each.
    pub(super) connections: usize,
    pub(super) time: Duration,
    pub(super) words: Arc<RequestLists>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct Done {
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) elapsed: Duration,
    /// From a request's write to its reply; of requests in flight together, of all of them.
    pub(super) spread: Spread,
}

struct Shared {
    load: Load,
    /// How many messages of each topic there are, as far as somebody was told.
    known: [AtomicU64; TOPICS],
    over: AtomicBool,
    begin: Barrier,
}

/// Runs it.
///
/// # Errors
/// No connection, or one that broke.
pub(super) fn run(load: &Load) -> Result<Done, String> {
    let describe = |error: io::Error| format!("the server at {}: {error}", load.address);
    let threads = load.posters + load.readers;
    let shared = Arc::new(Shared {
        load: load.clone(),
        known: Default::default(),
        over: AtomicBool::new(false),
        begin: Barrier::new(threads + 1),
    });
    prepare(&shared).map_err(describe)?;
    let mut running = Vec::new();
    for number in 0..threads {
        let shared = Arc::clone(&shared);
        let each = load.connections / threads + usize::from(number < load.connections % threads);
        let work = move || {
            let thread = Thread::open(&shared, number, each.max(1));
            shared.begin.wait();
            thread?.run(&shared)
        };
        running.push(std::thread::Builder::new().name("load".to_owned()).spawn(work).map_err(describe)?);
    }
    shared.begin.wait();
    let begin = Instant::now();
    std::thread::sleep(load.time);
    shared.over.store(true, Ordering::Relaxed);
    let mut done = Done { requests: 0, errors: 0, elapsed: Duration::ZERO, spread: Spread::new() };
    for thread in running {
        let one = thread.join().map_err(|_| "a thread of the load panicked")?.map_err(describe)?;
        done.requests += one.requests;
        done.errors += one.errors;
        done.spread.merge(&one.spread);
    }
    done.elapsed = begin.elapsed();
    Ok(done)
}

/// Puts some messages into each topic, so that readers find something from the start on.
fn prepare(shared: &Shared) -> io::Result<()> {
    let mut connection = LoadConnection::open(&shared.load)?;
    let words = &shared.load.words;
    for (place, topic) in words.topics.iter().enumerate() {
        let mut output = Vec::new();
        for number in 0..BEFORE {
            request(&mut output, b"POST", topic, words.messages[number as usize % MESSAGES].as_bytes());
        }
        connection.stream.write_all(&output)?;
        connection.read(BEFORE as usize, |_, reply| {
            if let Some(index) = number(reply) {
                shared.known[place].fetch_max(index + 1, Ordering::Relaxed);
            }
        })?;
        if shared.known[place].load(Ordering::Relaxed) < BEFORE {
            return Err(io::Error::other("it does not take messages"));
        }
    }
    Ok(())
}

fn request(output: &mut Vec<u8>, verb: &[u8], topic: &str, rest: &[u8]) {
    output.extend_from_slice(verb);
    output.extend_from_slice(topic.as_bytes());
    output.push(b'#');
    output.extend_from_slice(rest);
    output.push(0);
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

struct LoadConnection {
    stream: TcpStream,
    input: Vec<u8>,
    filled: usize,
    /// Topics of the requests in flight.
    asked: Vec<usize>,
    /// So many of them were replied to.
    heard: usize,
    /// When they were written.
    since: Instant,
    /// The last index each topic gave to it.
    last: [Option<u64>; TOPICS],
}

impl LoadConnection {
    fn open(load: &Load) -> io::Result<LoadConnection> {
        let stream = TcpStream::connect(&load.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let input = vec![0; if load.connections > 1_000 { 1024 } else { READ_OCTETS }];
        let (asked, last, since) = (Vec::new(), [None; TOPICS], Instant::now());
        let mut connection = LoadConnection { stream, input, filled: 0, asked, heard: 0, since, last };
        if let Some(token) = &load.token {
            connection.stream.write_all(format!("AUTH@{token}\0").as_bytes())?;
            let mut good = false;
            connection.read(1, |_, reply| good = reply == b"OK")?;
            if !good {
                return Err(io::Error::other("the token was denied"));
            }
        }
        Ok(connection)
    }

    /// Reads so many replies.
    fn read(&mut self, count: usize, mut each: impl FnMut(usize, &[u8])) -> io::Result<()> {
        let mut seen = 0;
        while seen < count {
            self.read_some(|reply| {
                each(seen, reply);
                seen += 1;
            })?;
        }
        self.check_heard(seen, count)
    }

    /// Reads once: what replies there are.
    fn read_some(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let read = self.stream.read(&mut self.input[self.filled..])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.filled += read;
        let mut used = 0;
        while let Some(end) = self.input[used..self.filled].iter().position(|octet| *octet == 0) {
            each(&self.input[used..used + end]);
            used += end + 1;
        }
        self.input.copy_within(used..self.filled, 0);
        self.filled -= used;
        Ok(())
    }

    fn check_heard(&self, heard: usize, asked: usize) -> io::Result<()> {
        match heard > asked || (heard == asked && self.filled > 0) {
            true => Err(io::Error::other("it said more than it was asked")),
            false => Ok(()),
        }
    }
}

struct Thread {
    connections: Vec<LoadConnection>,
    posts: bool,
    chance: Chance,
    output: Vec<u8>,
    requests: u64,
    errors: u64,
    spread: Spread,
}

impl Thread {
    fn open(shared: &Shared, number: usize, connections: usize) -> io::Result<Thread> {
        let connections: io::Result<Vec<LoadConnection>> =
            (0..connections).map(|_| LoadConnection::open(&shared.load)).collect();
        Ok(Thread {
            connections: connections?,
            posts: number < shared.load.posters,
            chance: Chance::new(number as u64 + 1),
            output: Vec::new(),
            requests: 0,
            errors: 0,
            spread: Spread::new(),
        })
    }

    fn run(mut self, shared: &Shared) -> io::Result<Done> {
        let begin = Instant::now();
        let mut connections = std::mem::take(&mut self.connections);
        match &mut connections[..] {
            [one] => self.wait_in_turn(one, shared)?,
            many => self.wait_for_any(many, shared)?,
        }
        Ok(Done {
            requests: self.requests,
            errors: self.errors,
            elapsed: begin.elapsed(),
            spread: self.spread,
        })
    }

    fn wait_in_turn(&mut self, connection: &mut LoadConnection, shared: &Shared) -> io::Result<()> {
        while !shared.over.load(Ordering::Relaxed) {
            self.ask(connection, shared)?;
            while !self.hear(connection, shared)? {}
        }
        Ok(())
    }

    /// Each connection goes on as soon as it was answered, whatever the others wait for: clients know nothing
    /// of each other.
    fn wait_for_any(&mut self, connections: &mut [LoadConnection], shared: &Shared) -> io::Result<()> {
        let readable = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (place, connection) in connections.iter_mut().enumerate() {
            let place = epoll::EventData::new_u64(place as u64);
            epoll::add(&readable, &connection.stream, place, epoll::EventFlags::IN)?;
            self.ask(connection, shared)?;
        }
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let mut answered = Vec::with_capacity(AT_ONCE);
        while !shared.over.load(Ordering::Relaxed) {
            answered.clear();
            epoll::wait(&readable, rustix::buffer::spare_capacity(&mut answered), Some(&patience))?;
            if answered.is_empty() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            for event in &answered {
                let connection = &mut connections[event.data.u64() as usize];
                if self.hear(connection, shared)? {
                    self.ask(connection, shared)?;
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, connection: &mut LoadConnection, shared: &Shared) -> io::Result<()> {
        let words = &shared.load.words;
        self.output.clear();
        connection.asked.clear();
        connection.heard = 0;
        connection.since = Instant::now();
        for _ in 0..shared.load.depth {
            let topic = self.chance.below(shared.load.topics) as usize;
            connection.asked.push(topic);
            if self.posts {
                let message = &words.messages[self.chance.below(MESSAGES as u64) as usize];
                request(&mut self.output, b"POST", &words.topics[topic], message.as_bytes());
            } else {
                let known = shared.known[topic].load(Ordering::Relaxed);
                let index = known - 1 - self.chance.below(known.min(NEWEST));
                let (mut digits, mut at, mut left) = ([0; 20], 20, index);
                loop {
                    at -= 1;
                    digits[at] = b'0' + (left % 10) as u8;
                    left /= 10;
                    if left == 0 {
                        break;
                    }
                }
                request(&mut self.output, b"READ", &words.topics[topic], &digits[at..]);
            }
        }
        connection.stream.write_all(&self.output)
    }

    /// Reads once, and whether all was replied to.
    fn hear(&mut self, connection: &mut LoadConnection, shared: &Shared) -> io::Result<bool> {
        let asked = std::mem::take(&mut connection.asked);
        let (mut last, mut heard) = (connection.last, connection.heard);
        connection.read_some(|reply| {
            let good = match asked.get(heard) {
                Some(topic) if self.posts => posted(*topic, reply, &mut last[*topic], shared),
                Some(_) => shared.load.words.has(reply),
                None => false,
            };
            heard += 1;
            self.errors += u64::from(!good);
            self.requests += 1;
        })?;
        let is_over = heard == asked.len();
        connection.check_heard(heard, asked.len())?;
        (connection.asked, connection.last, connection.heard) = (asked, last, heard);
        if is_over {
            self.spread.add(connection.since.elapsed().as_nanos() as u64);
        }
        Ok(is_over)
    }
}

/// An index above all that the topic gave to this connection before.
fn posted(topic: usize, reply: &[u8], last: &mut Option<u64>, shared: &Shared) -> bool {
    let Some(index) = number(reply) else { return false };
    shared.known[topic].fetch_max(index + 1, Ordering::Relaxed);
    last.replace(index).is_none_or(|last| index > last)
}
