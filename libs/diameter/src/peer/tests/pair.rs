//! Two connections and a wire between them that delivers at once.

use crate::dictionary::{avp, command};
use crate::header::CommandFlags;
use crate::message::Message;
use crate::peer::{
    Answers, Application, Connection, ConnectionConfig, Event, Identity, Incoming, Outgoing, SendError, Start,
};
use crate::write::Writer;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn config(host: &str) -> ConnectionConfig {
    let mut identity = Identity::new(host, "example", Application::auth(4));
    identity.origin_state_id = Some(100);
    ConnectionConfig::new(identity)
}

pub(super) fn start(seed: u64) -> Start {
    Start { local: LOCAL, is_secured: false, watchdog: None, seed }
}

/// What came to a side, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A request, by its Hop-by-Hop Identifier and its Session-Id.
    Request(u32, String),
    /// An answer to one of ours, by its token.
    Answer(u64),
    Event(Event),
}

/// Notes what a message is.
pub(super) fn note(incoming: Incoming<'_>) -> Seen {
    match incoming {
        Incoming::Request(message) => {
            let session = message.find(avp::SESSION_ID).and_then(|avp| avp.utf8().ok());
            Seen::Request(message.header.hop_by_hop, session.unwrap_or_default().into())
        }
        Incoming::Answer { pending, .. } => Seen::Answer(pending.token),
    }
}

/// Hands octets in, and gives what that brought.
pub(super) fn input(connection: &mut Connection, octets: &[u8], now: Instant) -> Vec<Seen> {
    let mut seen = Vec::new();
    connection.handle_input(octets, now, &mut |incoming, _: &mut Answers<'_>| seen.push(note(incoming)));
    seen.extend(events(connection));
    seen
}

pub(super) fn events(connection: &mut Connection) -> Vec<Seen> {
    std::iter::from_fn(|| connection.poll_event()).map(Seen::Event).collect()
}

pub(super) fn output(connection: &mut Connection) -> Vec<u8> {
    let mut out = Vec::new();
    while connection.poll_transmit(&mut out) > 0 {}
    out
}

/// The messages that stand in some octets: (command, is a request).
pub(super) fn commands(octets: &[u8]) -> Vec<(u32, bool)> {
    messages(octets)
        .iter()
        .map(|message| (message.header.command, message.header.flags.is_request()))
        .collect()
}

pub(super) fn messages(octets: &[u8]) -> Vec<Message<'_>> {
    let mut rest = octets;
    let mut all = Vec::new();
    while let Some(frame) = crate::frame::next_frame(rest, u32::MAX).expect("output is whole messages") {
        all.push(Message::read(frame).expect("output is messages"));
        rest = &rest[frame.len()..];
    }
    assert!(rest.is_empty(), "output is whole messages");
    all
}

pub(super) fn code(message: &Message<'_>) -> u32 {
    message.find(avp::RESULT_CODE).expect("a Result-Code").u32().expect("four octets")
}

/// Sends a CCR with its token as Session-Id.
pub(super) fn request(connection: &mut Connection, token: u64, now: Instant) -> Result<u32, SendError> {
    let end_to_end = token as u32;
    let outgoing = Outgoing { token, command: command::CREDIT_CONTROL, timeout: TIMEOUT, end_to_end };
    connection.request(outgoing, now, |out, hop_by_hop| {
        let flags = CommandFlags::PROXIABLE;
        let mut writer = Writer::request(out, command::CREDIT_CONTROL, 4, flags, hop_by_hop, end_to_end);
        writer.utf8(avp::SESSION_ID, &token.to_string());
        writer.finish();
    })
}

/// Answers a CCR.
pub(super) fn answer(connection: &mut Connection, hop_by_hop: u32, now: Instant) -> Result<(), SendError> {
    connection.answer(1, now, |out| write_answer(out, hop_by_hop))
}

pub(super) fn write_answer(out: &mut Vec<u8>, hop_by_hop: u32) {
    let header = crate::header::Header { command: 272, application: 4, hop_by_hop, ..Default::default() };
    let mut writer = Writer::answer(out, &header);
    writer.u32(avp::RESULT_CODE, 2001);
    writer.finish();
}

/// A request of the base protocol, from Origin-Host to Origin-Realm.
pub(super) fn base_request(out: &mut Vec<u8>, command: u32) -> Writer<'_> {
    let mut writer = Writer::request(out, command, 0, CommandFlags(0), 5, 6);
    writer.identity(avp::ORIGIN_HOST, "client.example");
    writer.identity(avp::ORIGIN_REALM, "example");
    writer
}

/// A client that connected and a server that listens.
pub(super) struct Pair {
    pub(super) client: Connection,
    pub(super) server: Connection,
    pub(super) now: Instant,
}

impl Pair {
    pub(super) fn new(client: ConnectionConfig, server: ConnectionConfig) -> Pair {
        let now = Instant::now();
        Pair {
            client: Connection::connecting(Arc::new(client), start(1), None, now),
            server: Connection::listening(Arc::new(server), start(2), now),
            now,
        }
    }

    /// Capabilities are exchanged.
    pub(super) fn open() -> Pair {
        Pair::open_with(config("client.example"), config("server.example"))
    }

    pub(super) fn open_with(client: ConnectionConfig, server: ConnectionConfig) -> Pair {
        let mut pair = Pair::new(client, server);
        let (_, asked) = pair.exchange();
        assert!(matches!(asked[..], [Seen::Event(Event::Asked(_))]), "{asked:?}");
        pair.server.accept(pair.now);
        let (opened, _) = pair.exchange();
        assert!(matches!(opened[..], [Seen::Event(Event::Opened(_))]), "{opened:?}");
        pair
    }

    /// Carries octets both ways until there are none: what the client saw, what the server saw.
    pub(super) fn exchange(&mut self) -> (Vec<Seen>, Vec<Seen>) {
        let (mut client, mut server) = (events(&mut self.client), events(&mut self.server));
        for _ in 0..100 {
            let (up, down) = (output(&mut self.client), output(&mut self.server));
            if up.is_empty() && down.is_empty() {
                return (client, server);
            }
            server.extend(input(&mut self.server, &up, self.now));
            client.extend(input(&mut self.client, &down, self.now));
        }
        panic!("two machines talk without end");
    }

    /// Time passes, timer by timer, with nothing lost.
    pub(super) fn pass(&mut self, time: Duration) -> (Vec<Seen>, Vec<Seen>) {
        let end = self.now + time;
        let (mut client, mut server) = (Vec::new(), Vec::new());
        loop {
            let due = [self.client.poll_timeout(), self.server.poll_timeout()];
            let next = due.into_iter().flatten().min().unwrap_or(end).min(end);
            self.now = self.now.max(next);
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            let (more_client, more_server) = self.exchange();
            client.extend(more_client);
            server.extend(more_server);
            if self.now >= end {
                return (client, server);
            }
        }
    }
}
