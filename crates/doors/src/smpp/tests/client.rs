//! Clients of the door: a whole session, and one that sends octets.

use super::test_door::LONG;
use ::smpp::Status;
use ::smpp::limits::HEADER_OCTETS;
use ::smpp::pdu::{Address, Bind, Body, Command, DeliverSm, Header, SubmitSm, Version, encode};
use ::smpp::session::{Config, Event, Reason, Role, SendError, Session};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What a client hears.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DeliverResult {
    Bound(Version),
    BindRefused(Status),
    Answer { token: u64, status: Status, id: String, body: Vec<u8> },
    Deliver(Box<Delivered>),
    Unbinding,
    Closed(Reason),
    Other(String),
}

/// A deliver_sm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Delivered {
    pub(super) sequence: u32,
    pub(super) source: String,
    pub(super) destination: String,
    pub(super) esm_class: u8,
    pub(super) data_coding: u8,
    pub(super) message: Vec<u8>,
    pub(super) tlvs: Vec<u8>,
}

impl Delivered {
    fn of(sequence: u32, pdu: &DeliverSm<'_>) -> Delivered {
        let text = |address: Address<'_>| String::from_utf8(address.addr.to_vec()).unwrap();
        Delivered {
            sequence,
            source: text(pdu.source),
            destination: text(pdu.destination),
            esm_class: pdu.esm_class,
            data_coding: pdu.data_coding,
            message: pdu.message().to_vec(),
            tlvs: pdu.tlvs.as_bytes().to_vec(),
        }
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.message).into_owned()
    }
}

/// A session of a client.
pub(super) struct Esme {
    pub(super) session: Session,
    stream: TcpStream,
    heard: VecDeque<DeliverResult>,
}

impl Esme {
    pub(super) async fn connect(address: SocketAddr, config: Config) -> Esme {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Esme { session: Session::new(Role::Esme, config, Instant::now()), stream, heard: VecDeque::new() }
    }

    pub(super) async fn bind(&mut self, bind: &Bind<'_>) -> Result<Version, Status> {
        self.session.bind(bind, Instant::now()).unwrap();
        match self.next().await {
            DeliverResult::Bound(version) => Ok(version),
            DeliverResult::BindRefused(status) => Err(status),
            other => panic!("{other:?}"),
        }
    }

    /// Writes what the session has to say.
    pub(super) async fn flush(&mut self) {
        let mut out = Vec::new();
        self.session.poll_transmit(&mut out);
        let _ = self.stream.write_all(&out).await;
    }

    /// The next thing that is heard.
    pub(super) async fn next(&mut self) -> DeliverResult {
        loop {
            self.flush().await;
            if let Some(heard) = self.heard.pop_front() {
                return heard;
            }
            let mut buffer = vec![0; 64 << 10];
            match timeout(LONG, self.stream.read(&mut buffer)).await.expect("in time") {
                Ok(0) | Err(_) => self.session.handle_eof(Instant::now()),
                Ok(read) => self.session.handle_input(&buffer[..read], Instant::now()),
            }
            while let Some(event) = self.session.poll_event() {
                self.heard.push_back(heard(event));
            }
        }
    }

    /// Nothing is heard for a moment.
    pub(super) async fn hears_nothing(&mut self) {
        let heard = timeout(std::time::Duration::from_millis(100), self.next()).await;
        assert!(heard.is_err(), "{heard:?}");
    }

    pub(super) fn try_request<'a, B: Body<'a>>(&mut self, body: &B, token: u64) -> Result<u32, SendError> {
        self.session.request(body, token, Instant::now())
    }

    /// Sends a request and hears its answer.
    pub(super) async fn ask<'a, B: Body<'a>>(&mut self, body: &B) -> (Status, String, Vec<u8>) {
        self.try_request(body, 99).unwrap();
        self.answer().await
    }

    /// The next answer.
    pub(super) async fn answer(&mut self) -> (Status, String, Vec<u8>) {
        match self.next().await {
            DeliverResult::Answer { status, id, body, .. } => (status, id, body),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn delivered(&mut self) -> Delivered {
        match self.next().await {
            DeliverResult::Deliver(delivered) => *delivered,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn closed(&mut self) -> Reason {
        loop {
            if let DeliverResult::Closed(reason) = self.next().await {
                return reason;
            }
        }
    }

    pub(super) async fn respond(&mut self, sequence: u32, status: Status) {
        self.session.respond(sequence, status, b"", Instant::now()).unwrap();
        self.flush().await;
    }

    pub(super) async fn unbind(&mut self) -> Reason {
        self.session.unbind(Instant::now());
        self.closed().await
    }

    pub(super) async fn send_octets(&mut self, octets: &[u8]) {
        self.flush().await;
        self.stream.write_all(octets).await.unwrap();
    }
}

fn heard(event: Event<'_>) -> DeliverResult {
    match event {
        Event::Bound { version, .. } => DeliverResult::Bound(version),
        Event::BindRefused { status } => DeliverResult::BindRefused(status),
        Event::Response(response) => DeliverResult::Answer {
            token: response.token,
            status: response.status,
            id: String::from_utf8_lossy(response.message_id).into_owned(),
            body: response.body.to_vec(),
        },
        Event::Deliver { sequence, pdu } => DeliverResult::Deliver(Box::new(Delivered::of(sequence, &pdu))),
        Event::Unbinding => DeliverResult::Unbinding,
        Event::Closed(reason) => DeliverResult::Closed(reason),
        other => DeliverResult::Other(format!("{other:?}")),
    }
}

/// A good message to somebody.
pub(super) fn message() -> SubmitSm<'static> {
    SubmitSm {
        source: Address::alphanumeric(b"Town"),
        destination: Address::international(b"46701234567"),
        short_message: b"Close your windows.",
        ..SubmitSm::default()
    }
}

/// A connection that sends what no session would.
pub(super) struct Raw {
    pub(super) stream: TcpStream,
}

impl Raw {
    pub(super) async fn connect(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Raw { stream }
    }

    /// Bound as a transceiver of `client-a`.
    pub(super) async fn bound(address: SocketAddr) -> Raw {
        let mut raw = Raw::connect(address).await;
        raw.send(&pdu(&Bind { system_id: b"client-a", password: b"secret-a", ..Bind::default() }, 1)).await;
        let (header, _) = raw.read().await.unwrap();
        assert_eq!((header.command, header.status), (Command::BIND_TRANSCEIVER_RESP, Status::ROK));
        raw
    }

    pub(super) async fn send(&mut self, octets: &[u8]) {
        // The door may have hung up already.
        let _ = self.stream.write_all(octets).await;
    }

    /// The next PDU; nothing once the door has hung up.
    pub(super) async fn read(&mut self) -> Option<(Header, Vec<u8>)> {
        let read = async {
            let mut head = [0; HEADER_OCTETS];
            self.stream.read_exact(&mut head).await.ok()?;
            let header = Header::parse(&head)?;
            let mut body = vec![0; header.length as usize - HEADER_OCTETS];
            self.stream.read_exact(&mut body).await.ok()?;
            Some((header, body))
        };
        timeout(LONG, read).await.expect("in time")
    }

    /// Command, status and sequence of the next PDU.
    pub(super) async fn heads(&mut self) -> Option<(Command, Status, u32)> {
        self.read().await.map(|(header, _)| (header.command, header.status, header.sequence))
    }

    /// The door hangs up, whatever it says before.
    pub(super) async fn hung_up(&mut self) {
        while self.read().await.is_some() {}
    }
}

/// A whole PDU.
pub(super) fn pdu<'a, B: Body<'a>>(body: &B, sequence: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    encode(body, Status::ROK, sequence, &mut octets).unwrap();
    octets
}
