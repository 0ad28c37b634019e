//! The open loop: requests fall due at a rate whatever the server does, and an answer's time is counted from
//! when its request was due. A server that stands still is not asked less for it: what fell due meanwhile is
//! late, and counted so.

use super::{AT_ONCE, CreditClient, LATE_AFTER, PATIENCE, Schedule, Shared, Thread};
use rustix::event::{Timespec, epoll};
use std::io;
use std::time::{Duration, Instant};

impl Thread {
    pub(super) fn run_open(
        mut self,
        shared: &Shared,
        clients: &mut [CreditClient],
        mut schedule: Schedule,
    ) -> io::Result<Thread> {
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (place, client) in clients.iter_mut().enumerate() {
            super::watch(&ready, place, client)?;
        }
        let (mut turn, mut touched, mut heard) = (0, Vec::new(), Instant::now());
        let mut events = Vec::with_capacity(AT_ONCE);
        loop {
            let now = Instant::now();
            let wait = self.begin_due(shared, clients, &mut schedule, (&mut turn, &mut touched), now);
            for place in touched.drain(..) {
                self.write(&ready, place, &mut clients[place])?;
            }
            let is_waiting = clients.iter().any(|client| client.waiting > 0);
            if !is_waiting && schedule.is_over() && clients.iter().all(|client| client.later.is_empty()) {
                return Ok(self);
            }
            if is_waiting && heard.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if !is_waiting {
                heard = Instant::now();
            }
            events.clear();
            epoll::wait(&ready, rustix::buffer::spare_capacity(&mut events), Some(&timespec(wait)))?;
            for event in &events {
                let (place, flags) = (event.data.u64() as usize, event.flags);
                heard = Instant::now();
                if flags.contains(epoll::EventFlags::IN) {
                    self.read(shared, &mut clients[place])?;
                }
                self.write(&ready, place, &mut clients[place])?;
            }
        }
    }

    /// Begins all that is due and has room; how long until something may be begun again, if no answer comes.
    fn begin_due(
        &mut self,
        shared: &Shared,
        clients: &mut [CreditClient],
        schedule: &mut Schedule,
        (turn, touched): (&mut usize, &mut Vec<usize>),
        now: Instant,
    ) -> Duration {
        loop {
            let due = schedule.due();
            if due > now {
                return (due - now).min(PATIENCE);
            }
            let is_over = schedule.is_over();
            let has_work =
                |client: &CreditClient| !client.free.is_empty() && (!is_over || !client.later.is_empty());
            let mut places = (0..clients.len()).map(|step| (*turn + step) % clients.len());
            let Some(place) = places.find(|place| has_work(&clients[*place])) else {
                // Every window is full, or what is left waits for an answer: that wakes us.
                return PATIENCE;
            };
            let client = &mut clients[place];
            let Some(slot) = client.free.pop() else { return PATIENCE };
            let (kind, session, account) = match client.later.pop_front() {
                Some(next) => next,
                None => self.new_one(shared, client),
            };
            client.ask(slot, kind, session, account, due);
            self.lag.record(due, now);
            self.late += u64::from(now.saturating_duration_since(due) > LATE_AFTER);
            schedule.advance();
            *turn = place + 1;
            if touched.last() != Some(&place) && client.output.len() > client.written {
                touched.push(place);
            }
        }
    }
}

fn timespec(wait: Duration) -> Timespec {
    // PATIENCE at most.
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::super::{Amount, Load, run, tls_of};
    use crate::diameter::{Pattern, Transport, floor};
    use diameter::frame::next_frame;
    use diameter::header::MESSAGE_OCTETS_MAX;
    use diameter::message::Message;
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{ServerConfig, ServerConnection, StreamOwned};
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn load(address: String, rate: Option<f64>, count: u64) -> Load {
        Load {
            address,
            threads: 1,
            connections: 1,
            window: 4,
            pattern: Pattern::Event,
            accounts: 10,
            amount: Amount::Of(count),
            rate,
            transport: Transport::Tcp,
            tls: None,
            cpus: Vec::new(),
            run: 1,
        }
    }

    /// Answers as the bare server does, but stands still once, before the first request's answer.
    fn stalling(stall: Duration) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            converse(stream, stall);
        });
        address
    }

    fn converse(mut stream: impl Read + Write, stall: Duration) {
        let (mut input, mut octets, mut output) = (Vec::new(), [0; 65_536], Vec::new());
        let mut messages = 0;
        while let Ok(read @ 1..) = stream.read(&mut octets) {
            input.extend_from_slice(&octets[..read]);
            while let Some(frame) = next_frame(&input, MESSAGE_OCTETS_MAX).unwrap() {
                let length = frame.len();
                floor::answer(&Message::read(frame).unwrap(), &mut output);
                input.drain(..length);
                messages += 1;
                if messages == 2 {
                    std::thread::sleep(stall);
                }
            }
            stream.write_all(&std::mem::take(&mut output)).unwrap();
            stream.flush().unwrap();
        }
    }

    #[test]
    fn with_tls_every_request_of_a_large_window_is_answered_in_either_loop() {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                std::thread::spawn(move || converse(StreamOwned::new(connection, stream), Duration::ZERO));
            }
        });
        let tls = tls_of(made.cert.der()).unwrap();
        for rate in [None, Some(20_000.0)] {
            // A thousand requests are some twenty TLS records, far more than one read takes.
            let load = Load {
                window: 1_000,
                transport: Transport::Tls,
                tls: Some(Arc::clone(&tls)),
                ..load(address.clone(), rate, 5_000)
            };
            let done = run(&load).unwrap();
            assert_eq!((done.requests, done.errors), (5_000, 0), "{:?}", done.wrong);
        }
        let clear = run(&load(address, None, 1));
        assert!(clear.is_err(), "without TLS nobody answers there");
    }

    #[test]
    fn requests_fall_due_at_the_rate_and_all_are_answered() {
        let begin = Instant::now();
        let done = run(&load(floor::start().unwrap().to_string(), Some(1_000.0), 300)).unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(299), "the last is due after 299 ms");
        assert_eq!((done.requests, done.errors, done.lag.count()), (300, 0, 300), "{:?}", done.wrong);
        assert_eq!(done.charged.iter().sum::<u32>(), 300);
    }

    #[test]
    fn a_stall_is_seen_by_all_requests_that_fell_due_in_it_and_not_only_by_those_in_flight() {
        let stall = Duration::from_millis(200);
        let open = run(&load(stalling(stall), Some(1_000.0), 400)).unwrap();
        assert_eq!((open.requests, open.errors), (400, 0), "{:?}", open.wrong);
        assert!(open.late >= 150, "{} were late: the window holds 4, and 200 fell due", open.late);
        let slow = open.spread.percentile_us(0.75).unwrap();
        assert!(slow >= 50_000, "a quarter waited 100 ms or more, or nearly so: {slow}");
        assert!(open.lag.max() >= Duration::from_millis(150), "{:?}", open.lag.max());

        // The closed loop hears of it with four requests alone.
        let closed = run(&load(stalling(stall), None, 400)).unwrap();
        assert_eq!((closed.requests, closed.late, closed.lag.count()), (400, 0, 0));
    }
}
