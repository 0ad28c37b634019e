//! A bare generator: an ESME that does as little as can be done. It binds, keeps its window full of
//! ready-made submit_sm with sequence, number and text of their own, writes once for all that fit, and
//! matches every response in its window.

use super::Amount;
use super::record::{NUMBERS, NumberedMessage, SOURCE, Sums};
use crate::statistics::Spread;
use smpp::Status;
use smpp::pdu::{Address, Bind, BindMode, SubmitSm, encode};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Read in one go.
const READ_OCTETS: usize = 256 * 1024;
/// Written in one go at most.
const WRITE_OCTETS: usize = 256 * 1024;
/// No PDU that a server answers with is longer.
const PDU_OCTETS_MAX: usize = 64 * 1024;
const HEADER_OCTETS: usize = 16;
/// A server that says nothing for so long has failed.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const RESPONSE: u32 = 0x8000_0000;
const SUBMIT_SM_RESP: u32 = 0x8000_0004;
const DELIVER_SM: u32 = 0x005;
const ENQUIRE_LINK: u32 = 0x015;
/// So long nothing is sent after a response that asks for less speed.
const THROTTLE_PAUSE_NS: u64 = 10_000_000;
/// A slot of the window with nothing in it.
const FREE: u64 = u64::MAX;

/// How a server is loaded.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) address: String,
    pub(super) system_id: String,
    pub(super) password: String,
    pub(super) connections: usize,
    /// Of each connection.
    pub(super) window: usize,
    /// Over all connections.
    pub(super) amount: Amount,
    /// Ids are the messages' own: the server is our bare one.
    pub(super) echoes: bool,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct GeneratorResult {
    /// Acknowledged messages.
    pub(super) sums: Sums,
    /// From request to response.
    pub(super) times: Spread,
    /// Responses that refuse.
    pub(super) refused: u64,
    /// Responses that ask for less speed: the server is behind.
    pub(super) throttled: u64,
    /// Responses to nothing, or with another's id.
    pub(super) mismatches: u64,
    /// From the first request to the last response.
    pub(super) took: Duration,
    /// Hashes of the ids.
    ids: Vec<u64>,
}

impl GeneratorResult {
    pub(super) fn new() -> GeneratorResult {
        GeneratorResult {
            sums: Sums::default(),
            times: Spread::new(),
            refused: 0,
            throttled: 0,
            mismatches: 0,
            took: Duration::ZERO,
            ids: Vec::new(),
        }
    }

    pub(super) fn merge(&mut self, other: GeneratorResult) {
        self.sums.merge(other.sums);
        self.times.merge(&other.times);
        self.refused += other.refused;
        self.throttled += other.throttled;
        self.mismatches += other.mismatches;
        self.took = self.took.max(other.took);
        self.ids.extend(other.ids);
    }

    /// Ids that were given more than once.
    pub(super) fn repeated_ids(&mut self) -> u64 {
        self.ids.sort_unstable();
        self.ids.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64
    }
}

/// Binds all connections, then loads them, a thread each. `begun` is called between the two.
///
/// # Errors
/// A connection that does not come up, breaks, or falls silent.
pub(super) fn run(load: &Load, begun: impl FnOnce()) -> Result<GeneratorResult, String> {
    let describe = |error: io::Error| format!("the server at {}: {error}", load.address);
    let streams: Vec<TcpStream> =
        (0..load.connections).map(|_| bound(load).map_err(describe)).collect::<Result<_, _>>()?;
    begun();
    let begin = Instant::now();
    let mut seen = GeneratorResult::new();
    std::thread::scope(|scope| {
        let talks = streams.into_iter().enumerate().map(|(place, stream)| {
            let connection = GeneratorConnection::new(load, place as u64, begin);
            scope.spawn(move || connection.run(stream))
        });
        for connection in talks.collect::<Vec<_>>() {
            let one = connection.join().map_err(|_| "a connection of the generator panicked".to_owned())?;
            seen.merge(one.map_err(describe)?);
        }
        Ok(seen)
    })
}

/// A submit_sm of these words.
pub(super) fn submit_sm(words: &NumberedMessage, sequence: u32, output: &mut Vec<u8>) {
    let submit = SubmitSm {
        source: Address::alphanumeric(SOURCE.as_bytes()),
        destination: Address::international(&words.address),
        short_message: &words.text,
        ..SubmitSm::default()
    };
    encode(&submit, Status::ROK, sequence, output).expect("each field is far below its limit");
}

fn bound(load: &Load) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(&load.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    let bind = Bind {
        mode: BindMode::Transceiver,
        system_id: load.system_id.as_bytes(),
        password: load.password.as_bytes(),
        ..Bind::default()
    };
    let mut request = Vec::new();
    encode(&bind, Status::ROK, 1, &mut request).map_err(io::Error::other)?;
    stream.write_all(&request)?;
    let mut header = [0; HEADER_OCTETS];
    stream.read_exact(&mut header)?;
    let length = word(&header, 0) as usize;
    if !(HEADER_OCTETS..=PDU_OCTETS_MAX).contains(&length) {
        return Err(io::Error::other("the answer to the bind is no SMPP"));
    }
    let mut body = vec![0; length - HEADER_OCTETS];
    stream.read_exact(&mut body)?;
    match word(&header, 8) {
        0 => Ok(stream),
        status => Err(io::Error::other(format!("the bind was refused: {}", Status(status)))),
    }
}

fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

/// One connection.
struct GeneratorConnection {
    begin: Instant,
    until: Option<Duration>,
    window: usize,
    echoes: bool,
    /// The next message's number, and behind the last one's.
    next: u64,
    end: u64,
    first: u64,
    sequence: u32,
    in_flight: usize,
    /// By sequence: when it was sent (nanoseconds since `begin`) and which.
    slots: Vec<(u64, u64)>,
    /// The server wanted less speed: nothing is sent before, nanoseconds since `begin`.
    wait_until: u64,
    template: SubmitTemplate,
    seen: GeneratorResult,
}

impl GeneratorConnection {
    fn new(load: &Load, place: u64, begin: Instant) -> GeneratorConnection {
        let (first, end) = load.amount.numbers(place, load.connections as u64);
        GeneratorConnection {
            begin,
            until: load.amount.time(),
            window: load.window,
            echoes: load.echoes,
            next: first,
            end,
            first,
            sequence: 2,
            in_flight: 0,
            slots: vec![(FREE, 0); (load.window * 2).next_power_of_two()],
            wait_until: 0,
            template: SubmitTemplate::new(),
            seen: GeneratorResult::new(),
        }
    }

    fn run(mut self, mut stream: TcpStream) -> io::Result<GeneratorResult> {
        let (mut input, mut filled, mut output) = (vec![0; READ_OCTETS], 0, Vec::new());
        loop {
            if self.in_flight == 0 {
                // Nobody else will say when to go on.
                std::thread::sleep(Duration::from_nanos(self.wait_until.saturating_sub(self.now_ns())));
            }
            self.fill(&mut output);
            stream.write_all(&output)?;
            output.clear();
            if self.in_flight == 0 {
                self.seen.took = self.begin.elapsed();
                return Ok(self.seen);
            }
            let read = stream.read(&mut input[filled..])?;
            if read == 0 {
                return Err(io::Error::other("it closed the connection with requests in flight"));
            }
            filled += read;
            let used = self.take(&input[..filled], &mut output)?;
            input.copy_within(used..filled, 0);
            filled -= used;
        }
    }

    fn now_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    fn fill(&mut self, output: &mut Vec<u8>) {
        let now = self.now_ns();
        if self.until.is_some_and(|until| now >= until.as_nanos() as u64) {
            return;
        }
        if now < self.wait_until {
            return;
        }
        let mask = self.slots.len() - 1;
        while self.in_flight < self.window && self.next < self.end && output.len() < WRITE_OCTETS {
            let slot = &mut self.slots[self.sequence as usize & mask];
            if slot.0 != FREE {
                // One old request is still in flight: the window waits for it.
                return;
            }
            *slot = (now, self.next);
            self.template.put(self.next, self.sequence, output);
            self.next += 1;
            self.in_flight += 1;
            self.sequence = if self.sequence == 0x7FFF_FFFF { 1 } else { self.sequence + 1 };
        }
    }

    /// Matches all whole PDUs; returns how many octets they were. What wants an answer is answered into
    /// `output`.
    fn take(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        let (now, mut used) = (self.now_ns(), 0);
        while input.len() - used >= HEADER_OCTETS {
            let header = &input[used..];
            let length = word(header, 0) as usize;
            if !(HEADER_OCTETS..=PDU_OCTETS_MAX).contains(&length) {
                return Err(io::Error::other("it sent a command_length that is out of bounds"));
            }
            let Some(pdu) = header.get(..length) else { break };
            used += length;
            match word(pdu, 4) {
                SUBMIT_SM_RESP => self.matched(pdu, now),
                command @ (ENQUIRE_LINK | DELIVER_SM) => {
                    let body: &[u8] = if command == DELIVER_SM { &[0] } else { &[] };
                    output.extend_from_slice(&((HEADER_OCTETS + body.len()) as u32).to_be_bytes());
                    output.extend_from_slice(&(command | RESPONSE).to_be_bytes());
                    output.extend_from_slice(&[0; 4]);
                    output.extend_from_slice(&pdu[12..HEADER_OCTETS]);
                    output.extend_from_slice(body);
                }
                _ => self.seen.mismatches += 1,
            }
        }
        Ok(used)
    }

    fn matched(&mut self, pdu: &[u8], now: u64) {
        let mask = self.slots.len() - 1;
        let slot = &mut self.slots[word(pdu, 12) as usize & mask];
        let (sent, number) = std::mem::replace(slot, (FREE, 0));
        if sent == FREE {
            self.seen.mismatches += 1;
            return;
        }
        self.in_flight -= 1;
        self.seen.times.add(now - sent);
        match Status(word(pdu, 8)) {
            Status::ROK => {}
            Status::RTHROTTLED | Status::RMSGQFUL => {
                self.seen.throttled += 1;
                self.wait_until = now + THROTTLE_PAUSE_NS;
                return;
            }
            _ => {
                self.seen.refused += 1;
                return;
            }
        }
        let id = pdu[HEADER_OCTETS..].strip_suffix(&[0]).unwrap_or_default();
        let is_own = !self.echoes || id == self.template.id(number);
        if id.is_empty() || !is_own || !(self.first..self.next).contains(&number) {
            self.seen.mismatches += 1;
            return;
        }
        self.seen.sums.add(number);
        if !self.echoes {
            let mut hasher = DefaultHasher::new();
            id.hash(&mut hasher);
            self.seen.ids.push(hasher.finish());
        }
    }
}

/// A ready-made submit_sm, and where in it are number and text.
struct SubmitTemplate {
    pdu: Vec<u8>,
    address_at: usize,
    text_at: usize,
    words: NumberedMessage,
}

impl SubmitTemplate {
    fn new() -> SubmitTemplate {
        let words = NumberedMessage::new(NUMBERS - 1);
        let mut pdu = Vec::new();
        submit_sm(&words, 0, &mut pdu);
        let place = |of: &[u8]| pdu.windows(of.len()).position(|octets| octets == of).unwrap_or(0);
        let (address_at, text_at) = (place(&words.address), place(&words.text));
        SubmitTemplate { pdu, address_at, text_at, words }
    }

    fn put(&mut self, number: u64, sequence: u32, output: &mut Vec<u8>) {
        self.words.say(number);
        self.pdu[12..HEADER_OCTETS].copy_from_slice(&sequence.to_be_bytes());
        self.pdu[self.address_at..][..self.words.address.len()].copy_from_slice(&self.words.address);
        self.pdu[self.text_at..][..self.words.text.len()].copy_from_slice(&self.words.text);
        output.extend_from_slice(&self.pdu);
    }

    fn id(&mut self, number: u64) -> [u8; super::record::ID_OCTETS] {
        self.words.say(number);
        self.words.id()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sink::Sink;
    use super::*;

    #[test]
    fn a_ready_made_pdu_is_what_an_encoder_writes() {
        let mut template = SubmitTemplate::new();
        for (number, sequence) in [(0, 1), (12_345, 77), (NUMBERS - 1, 0x7FFF_FFFF)] {
            let (mut ready_made, mut encoded) = (Vec::new(), Vec::new());
            template.put(number, sequence, &mut ready_made);
            submit_sm(&NumberedMessage::new(number), sequence, &mut encoded);
            assert_eq!(ready_made, encoded);
        }
    }

    #[test]
    fn every_response_is_matched_and_every_message_comes_once() {
        let sink = Sink::start().unwrap();
        let load = Load {
            address: sink.address().to_string(),
            system_id: "bench".to_owned(),
            password: "bench".to_owned(),
            connections: 3,
            window: 7,
            amount: Amount::Of(1_000),
            echoes: true,
        };
        let mut seen = run(&load, || ()).unwrap();
        let totals = sink.totals();
        assert_eq!((seen.sums.count, seen.refused, seen.mismatches, totals.unreadable), (1_000, 0, 0, 0));
        assert_eq!(seen.sums.differs(&totals.sums), 0);
        assert!(seen.took > Duration::ZERO && seen.times.percentile_us(0.5).is_some());
        assert_eq!(seen.repeated_ids(), 0);
    }

    #[test]
    fn a_response_to_nothing_twice_or_of_another_is_a_mismatch() {
        let load = Load {
            address: String::new(),
            system_id: String::new(),
            password: String::new(),
            connections: 1,
            window: 4,
            amount: Amount::Of(2),
            echoes: false,
        };
        let mut connection = GeneratorConnection::new(&load, 0, Instant::now());
        connection.fill(&mut Vec::new());
        assert_eq!(connection.in_flight, 2);
        let response = |sequence: u32, status: u32, id: &[u8]| {
            let length = (HEADER_OCTETS + id.len() + 1) as u32;
            let words = [length, SUBMIT_SM_RESP, status, sequence];
            [words.map(u32::to_be_bytes).as_flattened(), id, &[0]].concat()
        };
        let all = [response(2, 0, b"1"), response(2, 0, b"1"), response(9, 0, b"1"), response(3, 0x45, b"")];
        let mut output = Vec::new();
        connection.take(&all.concat(), &mut output).unwrap();
        assert_eq!(
            (connection.seen.sums.count, connection.seen.mismatches, connection.seen.refused),
            (1, 2, 1)
        );
        assert_eq!((connection.in_flight, output.len()), (0, 0));
        (connection.end, connection.in_flight, connection.slots[4]) = (3, 1, (0, 1));
        connection.take(&response(4, 0x58, b""), &mut output).unwrap();
        connection.fill(&mut output);
        assert_eq!((connection.seen.throttled, connection.seen.refused, output.len()), (1, 1, 0), "it waits");
        connection.seen.ids.extend([5, 5, 6]);
        assert_eq!(connection.seen.repeated_ids(), 1);
    }
}
