//! Any octets from the peer, cut anywhere, to either role, open or not: no panic, whole messages out, bounded
//! buffers, and every request of ours comes back once.
#![no_main]

use diameter::Writer;
use diameter::frame::next_frame;
use diameter::header::{CommandFlags, Header};
use diameter::peer::{
    Answers, Application, Cause, Connection, ConnectionConfig, Event, Identity, Incoming, Outgoing, Start,
};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let mut now = Instant::now();
    let (mut connection, mut other) = pair(now);
    if choices & 1 != 0 {
        std::mem::swap(&mut connection, &mut other);
    }
    if choices & 2 != 0 {
        introduce(&mut connection, &mut other, now);
    }
    let mut book = Book::default();
    for piece in rest.chunks(1 + usize::from(cut)) {
        now += Duration::from_millis(u64::from(choices) * 100);
        connection.handle_timeout(now);
        connection.handle_input(piece, now, &mut |incoming, answers: &mut Answers<'_>| match incoming {
            Incoming::Request(message) if choices & 4 != 0 => {
                answers.answer(|out| {
                    Writer::answer(out, &message.header).finish();
                });
            }
            Incoming::Request(_) => {}
            Incoming::Answer { pending, .. } => book.back(pending.token),
        });
        book.take_events(&mut connection, now);
        book.request(&mut connection, now);
        if connection.owed() > 0 && choices & 8 != 0 {
            let _ = connection.answer(1, now, |out| {
                Writer::answer(out, &Header { command: 272, ..Header::default() }).finish();
            });
        }
        if choices & 16 != 0 && rest.len() % 7 == 0 {
            connection.disconnect(Cause::BUSY, now);
        }
        check_output(&mut connection);
    }
    connection.handle_eof(now);
    book.take_events(&mut connection, now);
    assert!(connection.is_over() && connection.in_flight() == 0 && connection.owed() == 0);
    assert_eq!(book.sent, book.returned, "each request comes back once");
});

/// Our requests.
#[derive(Default)]
struct Book {
    sent: u64,
    returned: u64,
}

impl Book {
    fn back(&mut self, token: u64) {
        assert!(token < self.sent);
        self.returned += 1;
    }

    fn request(&mut self, connection: &mut Connection, now: Instant) {
        let timeout = Duration::from_secs(3);
        let outgoing = Outgoing { token: self.sent, command: 272, timeout, end_to_end: 7 };
        let sent = connection.request(outgoing, now, |out, hop_by_hop| {
            Writer::request(out, 272, 4, CommandFlags::PROXIABLE, hop_by_hop, 7).finish();
        });
        self.sent += u64::from(sent.is_ok());
    }

    fn take_events(&mut self, connection: &mut Connection, now: Instant) {
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Asked(_) => connection.accept(now),
                Event::Unanswered(unanswered) => self.back(unanswered.token),
                _ => {}
            }
        }
    }
}

fn pair(now: Instant) -> (Connection, Connection) {
    let config = |host: &str| {
        let identity = Identity::new(host, "fuzz", Application::auth(4));
        Arc::new(ConnectionConfig { window: 4, message_octets_max: 4_096, ..ConnectionConfig::new(identity) })
    };
    let start =
        |seed| Start { local: IpAddr::V4(Ipv4Addr::LOCALHOST), is_secured: false, watchdog: None, seed };
    let client = Connection::connecting(config("a.fuzz"), start(1), None, now);
    (client, Connection::listening(config("b.fuzz"), start(2), now))
}

/// Capabilities are exchanged, so that the fuzzer need not find out how.
fn introduce(one: &mut Connection, two: &mut Connection, now: Instant) {
    for _ in 0..2 {
        carry(one, two, now);
        carry(two, one, now);
    }
}

fn carry(from: &mut Connection, to: &mut Connection, now: Instant) {
    let mut wire = Vec::new();
    from.poll_transmit(&mut wire);
    to.handle_input(&wire, now, &mut |_, _| {});
    while let Some(event) = to.poll_event() {
        if matches!(event, Event::Asked(_)) {
            to.accept(now);
        }
    }
}

fn check_output(connection: &mut Connection) {
    let mut out = Vec::new();
    while connection.poll_transmit(&mut out) > 0 {}
    let mut left = &out[..];
    while let Ok(Some(frame)) = next_frame(left, u32::MAX) {
        left = &left[frame.len()..];
    }
    assert!(left.is_empty(), "output is whole messages");
}
