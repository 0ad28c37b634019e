//! Two machines on a wire of two buffers, and one machine against crafted octets.

mod conformance;
mod conversation;
mod hostile;
mod lifecycle;
mod server;
mod storm;
mod timing;
mod unit;
mod wire;

use super::*;
use crate::pdu::{Address, Bind, DeliverSm, Pdu, SubmitSm, decode};
use crate::samples::frame;
use crate::tlv::TlvBuf;

/// An event without its borrows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    Bind { mode: BindMode, password: Vec<u8> },
    Bound(Version),
    BindRefused(Status),
    Response { token: u64, status: Status, id: String, late: bool },
    Unanswered { token: u64, fate: NoResponse },
    Submit { sequence: u32, text: Vec<u8> },
    Deliver { sequence: u32, text: Vec<u8> },
    Data { sequence: u32, text: Vec<u8> },
    Request { sequence: u32, command: Command },
    Alert,
    Outbind,
    Nack { status: Status, sequence: u32 },
    Refused { command: Command, status: Status },
    Unbinding,
    Closed(Reason),
}

impl Seen {
    fn of(event: Event<'_>) -> Seen {
        match event {
            Event::Bind { bind } => Seen::Bind { mode: bind.mode, password: bind.password.to_vec() },
            Event::Bound { version, .. } => Seen::Bound(version),
            Event::BindRefused { status } => Seen::BindRefused(status),
            Event::Response(Response { token, status, message_id, late, .. }) => {
                let id = String::from_utf8_lossy(message_id).into_owned();
                Seen::Response { token, status, id, late }
            }
            Event::Unanswered(Unanswered { token, fate, .. }) => Seen::Unanswered { token, fate },
            Event::Submit { sequence, pdu } => Seen::Submit { sequence, text: pdu.message().to_vec() },
            Event::Deliver { sequence, pdu } => Seen::Deliver { sequence, text: pdu.message().to_vec() },
            Event::Data { sequence, pdu } => Seen::Data { sequence, text: pdu.message().to_vec() },
            Event::Request { sequence, pdu } => Seen::Request { sequence, command: pdu.command() },
            Event::Alert(_) => Seen::Alert,
            Event::Outbind(_) => Seen::Outbind,
            Event::Nack { status, sequence } => Seen::Nack { status, sequence },
            Event::Refused(Refused { command, status, .. }) => Seen::Refused { command, status },
            Event::Unbinding => Seen::Unbinding,
            Event::Closed(reason) => Seen::Closed(reason),
        }
    }
}

/// All events that wait.
pub(super) fn events(session: &mut Session) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(event) = session.poll_event() {
        seen.push(Seen::of(event));
    }
    seen
}

/// All output that waits.
pub(super) fn output(session: &mut Session) -> Vec<u8> {
    let mut out = Vec::new();
    session.poll_transmit(&mut out);
    out
}

/// The PDUs that wait to be written, as command, status and sequence.
pub(super) fn answers(session: &mut Session) -> Vec<(Command, Status, u32)> {
    headers(&output(session)).into_iter().map(|h| (h.command, h.status, h.sequence)).collect()
}

pub(super) fn headers(bytes: &[u8]) -> Vec<Header> {
    let mut headers = Vec::new();
    let mut rest = bytes;
    while let Ok(Split::Pdu(pdu)) = frame::split(rest, usize::MAX) {
        headers.extend(Header::parse(pdu));
        rest = &rest[pdu.len()..];
    }
    assert!(rest.is_empty(), "output is whole PDUs");
    headers
}

pub(super) fn input(session: &mut Session, bytes: &[u8], now: Instant) -> Vec<Seen> {
    session.handle_input(bytes, now);
    events(session)
}

pub(super) fn to(digits: &[u8]) -> SubmitSm<'_> {
    let destination = Address::international(digits);
    SubmitSm { destination, short_message: b"hello", ..SubmitSm::default() }
}

pub(super) fn hello() -> SubmitSm<'static> {
    to(b"41791234567")
}

pub(super) fn second(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// An ESME and an SMSC, and the time.
pub(super) struct Pair {
    pub(super) esme: Session,
    pub(super) smsc: Session,
    pub(super) now: Instant,
}

impl Pair {
    pub(super) fn new(esme: Config, smsc: Config) -> Pair {
        let now = Instant::now();
        Pair { esme: Session::new(Role::Esme, esme, now), smsc: Session::new(Role::Smsc, smsc, now), now }
    }

    pub(super) fn bound_with(mode: BindMode, esme: Config, smsc: Config) -> Pair {
        let mut pair = Pair::new(esme, smsc);
        let bind = Bind { mode, system_id: b"alice", password: b"secret", ..Bind::default() };
        pair.esme.bind(&bind, pair.now).unwrap();
        assert_eq!(pair.carry_to_smsc(), [Seen::Bind { mode, password: b"secret".to_vec() }]);
        pair.smsc.accept_bind(b"carrier", pair.now).unwrap();
        assert!(matches!(pair.carry_to_esme()[..], [Seen::Bound(_)]));
        assert_eq!(pair.esme.state(), SessionState::Bound(mode));
        assert_eq!(pair.smsc.state(), SessionState::Bound(mode));
        pair
    }

    pub(super) fn bound(mode: BindMode) -> Pair {
        Pair::bound_with(mode, Config::default(), Config::default())
    }

    pub(super) fn trx() -> Pair {
        Pair::bound(BindMode::Transceiver)
    }

    /// Carries what the ESME wrote over, and gives what the SMSC saw.
    pub(super) fn carry_to_smsc(&mut self) -> Vec<Seen> {
        let bytes = output(&mut self.esme);
        input(&mut self.smsc, &bytes, self.now)
    }

    /// Carries what the SMSC wrote over, and gives what the ESME saw.
    pub(super) fn carry_to_esme(&mut self) -> Vec<Seen> {
        let bytes = output(&mut self.smsc);
        input(&mut self.esme, &bytes, self.now)
    }

    /// Lets time pass without carrying anything; gives both sides' events.
    pub(super) fn pass(&mut self, time: Duration) -> (Vec<Seen>, Vec<Seen>) {
        self.now += time;
        self.esme.handle_timeout(self.now);
        self.smsc.handle_timeout(self.now);
        (events(&mut self.esme), events(&mut self.smsc))
    }
}

/// A server bound as transceiver by a peer we write by hand.
pub(super) fn bound_smsc(config: Config) -> (Session, Instant) {
    let pair = Pair::bound_with(
        BindMode::Transceiver,
        Config { version: config.version, ..Config::default() },
        config,
    );
    (pair.smsc, pair.now)
}

/// A PDU of a command and a body as they are, right or wrong.
pub(super) fn raw(command: Command, status: Status, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + crate::limits::HEADER_OCTETS) as u32;
    [&Header { length, command, status, sequence }.to_bytes()[..], body].concat()
}
