//! Posters and readers: threads with blocking connections, every reply looked at.

use super::words::{Chance, MESSAGES, NEWEST, TOPICS, Words};
use crate::statistics::Spread;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// A reply that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Messages in each topic before anything is measured.
const BEFORE: u64 = 1_000;
/// A thread with many connections asks on so many before it reads the replies.
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
    pub(super) words: Arc<Words>,
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
    let said = |error: io::Error| format!("the server at {}: {error}", load.address);
    let threads = load.posters + load.readers;
    let shared = Arc::new(Shared {
        load: load.clone(),
        known: Default::default(),
        over: AtomicBool::new(false),
        begin: Barrier::new(threads + 1),
    });
    prepare(&shared).map_err(said)?;
    let mut running = Vec::new();
    for number in 0..threads {
        let shared = Arc::clone(&shared);
        let each = load.connections / threads + usize::from(number < load.connections % threads);
        let work = move || {
            let thread = Thread::open(&shared, number, each.max(1));
            shared.begin.wait();
            thread?.run(&shared)
        };
        running.push(std::thread::Builder::new().name("load".to_owned()).spawn(work).map_err(said)?);
    }
    shared.begin.wait();
    let begin = Instant::now();
    std::thread::sleep(load.time);
    shared.over.store(true, Ordering::Relaxed);
    let mut done = Done { requests: 0, errors: 0, elapsed: Duration::ZERO, spread: Spread::new() };
    for thread in running {
        let one = thread.join().map_err(|_| "a thread of the load panicked")?.map_err(said)?;
        done.requests += one.requests;
        done.errors += one.errors;
        done.spread.merge(&one.spread);
    }
    done.elapsed = begin.elapsed();
    Ok(done)
}

/// Puts some messages into each topic, so that readers find something from the start on.
fn prepare(shared: &Shared) -> io::Result<()> {
    let mut connection = Connection::open(&shared.load)?;
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

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    filled: usize,
    /// Topics of the requests in flight.
    asked: Vec<usize>,
    /// The last index each topic gave to it.
    last: [Option<u64>; TOPICS],
}

impl Connection {
    fn open(load: &Load) -> io::Result<Connection> {
        let stream = TcpStream::connect(&load.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let input = vec![0; if load.connections > 1_000 { 1024 } else { READ_OCTETS }];
        let mut connection = Connection { stream, input, filled: 0, asked: Vec::new(), last: [None; TOPICS] };
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
            let read = self.stream.read(&mut self.input[self.filled..])?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.filled += read;
            let mut used = 0;
            while let Some(end) = self.input[used..self.filled].iter().position(|octet| *octet == 0) {
                each(seen, &self.input[used..used + end]);
                seen += 1;
                used += end + 1;
            }
            self.input.copy_within(used..self.filled, 0);
            self.filled -= used;
        }
        if seen > count || self.filled > 0 {
            return Err(io::Error::other("it said more than it was asked"));
        }
        Ok(())
    }
}

struct Thread {
    connections: Vec<Connection>,
    posts: bool,
    chance: Chance,
    output: Vec<u8>,
    requests: u64,
    errors: u64,
    spread: Spread,
}

impl Thread {
    fn open(shared: &Shared, number: usize, connections: usize) -> io::Result<Thread> {
        let connections: io::Result<Vec<Connection>> =
            (0..connections).map(|_| Connection::open(&shared.load)).collect();
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
        'running: loop {
            for some in connections.chunks_mut(AT_ONCE) {
                if shared.over.load(Ordering::Relaxed) {
                    break 'running;
                }
                let asked = Instant::now();
                for connection in &mut *some {
                    self.ask(connection, shared)?;
                }
                for connection in &mut *some {
                    self.hear(connection, shared)?;
                }
                self.spread.add(asked.elapsed().as_nanos() as u64);
            }
        }
        Ok(Done {
            requests: self.requests,
            errors: self.errors,
            elapsed: begin.elapsed(),
            spread: self.spread,
        })
    }

    fn ask(&mut self, connection: &mut Connection, shared: &Shared) -> io::Result<()> {
        let words = &shared.load.words;
        self.output.clear();
        connection.asked.clear();
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

    fn hear(&mut self, connection: &mut Connection, shared: &Shared) -> io::Result<()> {
        let asked = std::mem::take(&mut connection.asked);
        let mut last = connection.last;
        connection.read(asked.len(), |place, reply| {
            let topic = asked[place];
            let good = match self.posts {
                true => posted(topic, reply, &mut last[topic], shared),
                false => shared.load.words.has(reply),
            };
            self.errors += u64::from(!good);
            self.requests += 1;
        })?;
        (connection.asked, connection.last) = (asked, last);
        Ok(())
    }
}

/// An index above all that the topic gave to this connection before.
fn posted(topic: usize, reply: &[u8], last: &mut Option<u64>, shared: &Shared) -> bool {
    let Some(index) = number(reply) else { return false };
    shared.known[topic].fetch_max(index + 1, Ordering::Relaxed);
    last.replace(index).is_none_or(|last| index > last)
}
