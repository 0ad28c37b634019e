//! Brings bounces and answers to the SMTP door of whoever sent the mail.

use super::reply_mail::{Parcel, ReplyKind};
use crate::agenda::Agenda;
use crate::clock::Clock;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};

/// Bounces and answers that wait; what is over it is dropped, and counted.
pub const PARCELS_MAX: u64 = 1_000_000;
/// Connections to the door at the same time.
const CONNECTIONS: usize = 4;
/// Parcels handed to the connections and not yet taken.
const HANDED_MAX: usize = 256;
/// Parcels that one connection takes at a time.
const BATCH: usize = 32;
/// A parcel is tried so often, so far apart.
const TRIES_MAX: u8 = 20;
const RETRY_US: u64 = 500_000;
/// A parcel that takes longer ends the connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest reply.
const REPLY_OCTETS_MAX: usize = 64 * 1024;

/// What became of bounces and answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LetterStats {
    /// Bounces that were written.
    pub bounces: u64,
    /// Answers of people that were written.
    pub answers: u64,
    /// Answers of machines that were written.
    pub automatic: u64,
    /// Taken by the door.
    pub delivered: u64,
    /// Refused by the door for good, or tried too often.
    pub failed: u64,
    /// Dropped because too many waited.
    pub dropped: u64,
    /// Waiting for their time or for the door.
    pub waiting: u64,
}

#[derive(Default)]
struct MailCounters {
    bounces: AtomicU64,
    answers: AtomicU64,
    automatic: AtomicU64,
    delivered: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

pub(super) struct MailboxDoor {
    clock: Clock,
    agenda: Agenda<Parcel>,
    counters: MailCounters,
}

impl MailboxDoor {
    pub(super) fn new(clock: Clock) -> Self {
        MailboxDoor { clock, agenda: Agenda::new(clock), counters: MailCounters::default() }
    }

    /// Takes parcels with their moments, and empties the list.
    pub(super) fn mail(&self, parcels: &mut Vec<(u64, Parcel)>) {
        if parcels.is_empty() {
            return;
        }
        for (_, parcel) in parcels.iter() {
            let counter = match parcel.kind {
                ReplyKind::Bounce => &self.counters.bounces,
                ReplyKind::Answer => &self.counters.answers,
                ReplyKind::Automatic => &self.counters.automatic,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let too_many = self.stats().waiting.saturating_sub(PARCELS_MAX) as usize;
        parcels.truncate(parcels.len().saturating_sub(too_many));
        self.counters.dropped.fetch_add(too_many as u64, Ordering::Relaxed);
        self.agenda.put(parcels.drain(..));
    }

    pub(super) fn stats(&self) -> LetterStats {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.counters;
        let (bounces, answers, automatic) = (of(&c.bounces), of(&c.answers), of(&c.automatic));
        let (delivered, failed, dropped) = (of(&c.delivered), of(&c.failed), of(&c.dropped));
        let waiting = (bounces + answers + automatic).saturating_sub(delivered + failed + dropped);
        LetterStats { bounces, answers, automatic, delivered, failed, dropped, waiting }
    }

    /// Brings parcels when their time has come, for ever. `address` says where the door is now.
    pub(super) async fn run(self: Arc<Self>, address: impl Fn() -> Option<String> + Clone + Send + 'static) {
        let (hand, taken) = mpsc::channel(HANDED_MAX);
        let taken = Arc::new(Mutex::new(taken));
        let mut connections = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS {
            connections.spawn(Arc::clone(&self).bring(Arc::clone(&taken), address.clone()));
        }
        loop {
            for parcel in self.agenda.ripe().await {
                if hand.send(parcel).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn bring(
        self: Arc<Self>,
        parcels: Arc<Mutex<mpsc::Receiver<Parcel>>>,
        address: impl Fn() -> Option<String>,
    ) {
        let mut link = None;
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            if parcels.lock().await.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            let mut replies = Vec::with_capacity(batch.len());
            let brought = deliver(&mut link, address(), &batch, &mut replies);
            let time = PATIENCE * batch.len() as u32;
            let brought = tokio::time::timeout(time, brought).await;
            if !matches!(brought, Ok(Ok(()))) {
                link = None;
            }
            let replies = replies.into_iter().map(Some).chain(std::iter::repeat(None));
            for (parcel, reply) in batch.drain(..).zip(replies) {
                self.judge(parcel, reply.as_deref());
            }
        }
    }

    /// What becomes of a parcel by the reply that decided, if there was one.
    fn judge(&self, parcel: Parcel, reply: Option<&str>) {
        match reply {
            Some(reply) if reply.starts_with('2') => {
                self.counters.delivered.fetch_add(1, Ordering::Relaxed);
            }
            Some(reply) if reply.starts_with('5') => {
                tracing::debug!(reply, "the door refuses a mail");
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
            }
            _ => self.try_again(parcel),
        }
    }

    fn try_again(&self, parcel: Parcel) {
        let tries = parcel.tries + 1;
        if tries >= TRIES_MAX {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let at_us = self.clock.now_us() + RETRY_US;
        self.agenda.put(std::iter::once((at_us, Parcel { tries, ..parcel })));
    }
}

struct SmtpConnection {
    stream: TcpStream,
    input: Vec<u8>,
    is_pipelining: bool,
}

/// Brings parcels in their order; adds the reply that decided for each. With a door that pipelines, a mail
/// and the next one's envelope leave in one write (RFC 2920 §3.1).
async fn deliver(
    link: &mut Option<SmtpConnection>,
    address: Option<String>,
    parcels: &[Parcel],
    replies: &mut Vec<String>,
) -> io::Result<()> {
    let address = address.ok_or(io::ErrorKind::NotConnected)?;
    if link.is_none() {
        *link = Some(SmtpConnection::open(&address).await?);
    }
    let link = link.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    let mut is_asked = false;
    for (place, parcel) in parcels.iter().enumerate() {
        if !is_asked {
            link.stream.write_all(envelope(parcel, link.is_pipelining).as_bytes()).await?;
        }
        is_asked = false;
        let reply = link.envelope_reply(parcel).await?;
        if !reply.starts_with('3') {
            link.ask(b"RSET\r\n").await?;
            replies.push(reply);
            continue;
        }
        let mut out = stuffed(&parcel.content);
        if let (true, Some(next)) = (link.is_pipelining, parcels.get(place + 1)) {
            out.extend_from_slice(envelope(next, true).as_bytes());
            is_asked = true;
        }
        replies.push(link.ask(&out).await?);
    }
    Ok(())
}

/// The commands before a mail: all of them, or the first.
fn envelope(parcel: &Parcel, is_pipelining: bool) -> String {
    let mail = format!("MAIL FROM:<{}>\r\n", parcel.from);
    if is_pipelining { format!("{mail}RCPT TO:<{}>\r\nDATA\r\n", parcel.to) } else { mail }
}

impl SmtpConnection {
    async fn open(address: &str) -> io::Result<SmtpConnection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut link = SmtpConnection { stream, input: Vec::new(), is_pipelining: false };
        let greeting = link.reply().await?;
        link.stream.write_all(b"EHLO mx.town.example\r\n").await?;
        loop {
            let line = link.line().await?;
            if !greeting.starts_with('2') || !line.starts_with('2') {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            link.is_pipelining |= line.get(4..).is_some_and(|word| word.eq_ignore_ascii_case("PIPELINING"));
            if is_last(&line) {
                return Ok(link);
            }
        }
    }

    /// Reads what the door says of an envelope: 354, or the first refusal.
    async fn envelope_reply(&mut self, parcel: &Parcel) -> io::Result<String> {
        let mut refusal = None;
        for command in [format!("RCPT TO:<{}>\r\n", parcel.to), "DATA\r\n".to_owned()] {
            let reply = self.reply().await?;
            if !reply.starts_with('2') {
                refusal.get_or_insert(reply);
            }
            if !self.is_pipelining {
                if let Some(refusal) = refusal {
                    return Ok(refusal);
                }
                self.stream.write_all(command.as_bytes()).await?;
            }
        }
        let reply = self.reply().await?;
        match refusal {
            // It waits for a mail all the same: an empty one ends that, and goes nowhere.
            Some(refusal) if reply.starts_with('3') => {
                self.ask(b".\r\n").await?;
                Ok(refusal)
            }
            Some(refusal) => Ok(refusal),
            None => Ok(reply),
        }
    }

    async fn ask(&mut self, command: &[u8]) -> io::Result<String> {
        self.stream.write_all(command).await?;
        self.reply().await
    }

    /// A whole reply, however many lines it has; its last line is returned.
    async fn reply(&mut self) -> io::Result<String> {
        loop {
            let line = self.line().await?;
            if is_last(&line) {
                return Ok(line);
            }
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.input.iter().position(|&octet| octet == b'\n') {
                let line = String::from_utf8_lossy(&self.input[..end]).trim_end().to_owned();
                self.input.drain(..=end);
                return Ok(line);
            }
            if self.input.len() > REPLY_OCTETS_MAX || self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// The last line of a reply has no hyphen behind its code.
fn is_last(line: &str) -> bool {
    line.as_bytes().get(3) != Some(&b'-')
}

/// The content with dots doubled at the beginning of lines, and the lone dot at its end.
fn stuffed(content: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 16);
    for line in content.split_inclusive('\n') {
        if line.starts_with('.') {
            out.push(b'.');
        }
        out.extend_from_slice(line.as_bytes());
    }
    if !out.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
    out
}
