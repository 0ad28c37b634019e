//! An ESME made of the library's session machine, over a real socket.

use super::super::{Smsc, alphabet};
use super::PATIENCE;
use smpp::pdu::{Address, Bind, BindMode, Body, Command, SubmitSm, Version};
use smpp::session::{Config, Event, NoResponse, Reason, Role, Session};
use smpp::status::Status;
use smpp::tlv::Tag;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Something that a client was told, of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Got {
    Bound(Version),
    BindRefused(Status),
    Answer(PageAnswer),
    Unanswered(u64, NoResponse),
    DeliverSm(QueuedDeliverSm),
    Outbind(String),
    Nack(Status),
    Unbinding,
    Closed(Reason),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PageAnswer {
    pub(super) token: u64,
    pub(super) command: Command,
    pub(super) status: Status,
    pub(super) id: String,
    pub(super) late: bool,
    pub(super) waited: Duration,
    pub(super) body: Vec<u8>,
}

/// A deliver_sm or data_sm, which was confirmed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueuedDeliverSm {
    pub(super) command: Command,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) esm_class: u8,
    pub(super) octets: Vec<u8>,
    pub(super) data_coding: u8,
    pub(super) tlvs: Vec<u8>,
    pub(super) text: String,
    /// `receipted_message_id` and `message_state`.
    pub(super) receipted: Option<(String, u8)>,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub(super) struct Client {
    stream: Box<dyn Stream>,
    pub(super) session: Session,
    got: VecDeque<Got>,
    tokens: u64,
    is_at_end: bool,
}

impl Client {
    pub(super) fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, config: Config) -> Self {
        let session = Session::new(Role::Esme, config, Instant::now());
        Client { stream: Box::new(stream), session, got: VecDeque::new(), tokens: 0, is_at_end: false }
    }

    pub(super) async fn connect(smsc: &Smsc, config: Config) -> Self {
        let stream = TcpStream::connect(smsc.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Client::over(stream, config)
    }

    /// Bound as this, with a wide window.
    pub(super) async fn bound(smsc: &Smsc, system_id: &str, mode: BindMode) -> Self {
        let mut client = Client::connect(smsc, wide()).await;
        let got = client.bind(system_id, "", mode).await;
        assert!(matches!(got, Got::Bound(_)), "{got:?}");
        client
    }

    pub(super) async fn transceiver(smsc: &Smsc) -> Self {
        Client::bound(smsc, "esme", BindMode::Transceiver).await
    }

    pub(super) async fn bind(&mut self, system_id: &str, password: &str, mode: BindMode) -> Got {
        let (system_id, password) = (system_id.as_bytes(), password.as_bytes());
        self.session.bind(&Bind { mode, system_id, password, ..Bind::default() }, Instant::now()).unwrap();
        self.next().await
    }

    /// Sends a request and returns its token, from 1.
    pub(super) async fn send<'a>(&mut self, body: &impl Body<'a>) -> u64 {
        self.tokens += 1;
        self.session.request(body, self.tokens, Instant::now()).unwrap();
        self.transmit().await;
        self.tokens
    }

    /// Sends a request and awaits its answer; what else comes is kept.
    pub(super) async fn ask<'a>(&mut self, body: &impl Body<'a>) -> PageAnswer {
        let token = self.send(body).await;
        self.find(|got| match got {
            Got::Answer(answer) if answer.token == token => Some(answer.clone()),
            _ => None,
        })
        .await
    }

    pub(super) async fn submit(&mut self, to: &str, text: &str) -> PageAnswer {
        self.ask(&message(to, text)).await
    }

    /// The next letter; what else comes is kept.
    pub(super) async fn letter(&mut self) -> QueuedDeliverSm {
        self.find(|got| match got {
            Got::DeliverSm(letter) => Some(letter.clone()),
            _ => None,
        })
        .await
    }

    pub(super) async fn find<T>(&mut self, wanted: impl Fn(&Got) -> Option<T>) -> T {
        let mut looked_at = 0;
        loop {
            while looked_at < self.got.len() {
                if let Some(found) = wanted(&self.got[looked_at]) {
                    self.got.remove(looked_at);
                    return found;
                }
                looked_at += 1;
            }
            self.fill().await;
        }
    }

    /// The next thing that comes.
    pub(super) async fn next(&mut self) -> Got {
        while self.got.is_empty() {
            self.fill().await;
        }
        self.got.pop_front().unwrap()
    }

    /// Whether nothing comes for so long.
    pub(super) async fn is_quiet_for(&mut self, time: Duration) -> bool {
        self.got.is_empty() && tokio::time::timeout(time, self.fill()).await.is_err()
    }

    /// Waits until something was told.
    async fn fill(&mut self) {
        let begin = Instant::now();
        let before = self.got.len();
        while self.got.len() == before {
            assert!(begin.elapsed() < PATIENCE, "nothing came in time; before: {:?}", self.got);
            self.transmit().await;
            self.take_events();
            self.transmit().await;
            if self.got.len() > before {
                return;
            }
            let due = self
                .session
                .poll_timeout()
                .map_or(PATIENCE, |at| at.saturating_duration_since(Instant::now()));
            let mut octets = [0; 4096];
            tokio::select! {
                read = self.stream.read(&mut octets), if !self.is_at_end => match read {
                    Ok(count) if count > 0 => self.session.handle_input(&octets[..count], Instant::now()),
                    _ => {
                        self.is_at_end = true;
                        self.session.handle_eof(Instant::now());
                    }
                },
                () = tokio::time::sleep(due) => self.session.handle_timeout(Instant::now()),
            }
        }
    }

    async fn transmit(&mut self) {
        let mut out = Vec::new();
        self.session.poll_transmit(&mut out);
        // A peer that is gone is told by the reads.
        let _ = self.stream.write_all(&out).await;
        let _ = self.stream.flush().await;
    }

    fn take_events(&mut self) {
        let mut confirm = Vec::new();
        while let Some(event) = self.session.poll_event() {
            let got = match event {
                Event::Bound { version, .. } => Got::Bound(version),
                Event::BindRefused { status } => Got::BindRefused(status),
                Event::Response(answer) => Got::Answer(PageAnswer {
                    token: answer.token,
                    command: answer.command,
                    status: answer.status,
                    id: text(answer.message_id),
                    late: answer.late,
                    waited: answer.waited,
                    body: answer.body.to_vec(),
                }),
                Event::Unanswered(unanswered) => Got::Unanswered(unanswered.token, unanswered.fate),
                Event::Deliver { sequence, pdu } => {
                    confirm.push(sequence);
                    let id = pdu.tlvs.find_cstring(Tag::RECEIPTED_MESSAGE_ID).map(text);
                    Got::DeliverSm(QueuedDeliverSm {
                        command: Command::DELIVER_SM,
                        from: text(pdu.source.addr),
                        to: text(pdu.destination.addr),
                        esm_class: pdu.esm_class,
                        octets: pdu.message().to_vec(),
                        data_coding: pdu.data_coding,
                        tlvs: pdu.tlvs.as_bytes().to_vec(),
                        text: alphabet::read(pdu.data_coding, pdu.message()).into_owned(),
                        receipted: id.zip(pdu.tlvs.find_u8(Tag::MESSAGE_STATE)),
                    })
                }
                Event::Data { sequence, pdu } => {
                    confirm.push(sequence);
                    let id = pdu.tlvs.find_cstring(Tag::RECEIPTED_MESSAGE_ID).map(text);
                    Got::DeliverSm(QueuedDeliverSm {
                        command: Command::DATA_SM,
                        from: text(pdu.source.addr),
                        to: text(pdu.destination.addr),
                        esm_class: pdu.esm_class,
                        octets: pdu.message().to_vec(),
                        data_coding: pdu.data_coding,
                        tlvs: pdu.tlvs.as_bytes().to_vec(),
                        text: alphabet::read(pdu.data_coding, pdu.message()).into_owned(),
                        receipted: id.zip(pdu.tlvs.find_u8(Tag::MESSAGE_STATE)),
                    })
                }
                Event::Outbind(outbind) => Got::Outbind(text(outbind.system_id)),
                Event::Nack { status, .. } => Got::Nack(status),
                Event::Unbinding => Got::Unbinding,
                Event::Closed(reason) => Got::Closed(reason),
                other => panic!("{other:?}"),
            };
            self.got.push_back(got);
        }
        for sequence in confirm {
            // After an unbind there may be nobody left to confirm to.
            let _ = self.session.respond(sequence, Status::ROK, b"", Instant::now());
        }
    }
}

pub(super) fn wide() -> Config {
    Config { window: 1_000, ..Config::default() }
}

pub(super) fn message<'a>(to: &'a str, text: &'a str) -> SubmitSm<'a> {
    SubmitSm {
        source: Address::new(3, 0, b"71700"),
        destination: Address::international(to.as_bytes()),
        registered_delivery: smpp::pdu::registered_delivery::FINAL,
        short_message: text.as_bytes(),
        ..SubmitSm::default()
    }
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}
