//! Topic forwards the requests of a charging server (RAR, ASR) to the process that owns the session, or ends
//! it: another of several processes, or the one that comes after this one. So it is put on a topic that each
//! reads as it grows, and the server is answered when it stands there.
//!
//! A record is what is asked, which server asks, and the Session-Id, with a space between. Who begins to read
//! looks at what was said before, for the sessions that are still to end; everything else was for those that
//! ran then.

use super::asr_rar::Abort;
use super::sessions::{FollowUp, Means, ServerRequest};
use super::{External, Inner};
use crate::message_charging::ChargeId;
use bus::{Bus, BusError, Record, Retention, Topic, TopicSettings};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};

/// The topic.
const TOPIC: &str = "charging-asked";
/// What was asked is decided long before.
const KEPT: Duration = Duration::from_secs(3_600);
/// Words that wait to be told; beyond, the server hears that it cannot be done.
const WAITING_MAX: usize = 4_096;
/// Words put there at a time.
const TOLD_AT_ONCE: usize = 64;
/// Records read at a time.
const READ_RECORDS: usize = 1_000;
/// And octets of them.
const READ_OCTETS: usize = 1024 * 1024;
/// After an error of the bus it is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// A record, and who waits until it stands on the topic.
type Word = (Vec<u8>, oneshot::Sender<()>);

/// How this process tells the others, and hears them.
pub(super) struct AsrRarPublisher {
    to: mpsc::Sender<Word>,
    /// Gone with what tells: then nobody reads any more.
    _is_here: watch::Sender<()>,
}

/// The ends of a [`AsrRarPublisher`] that are not set going yet.
pub(super) struct AsrRarSubscriptions {
    topic: Arc<dyn Topic>,
    /// Below are records of before this process began.
    born_at: u64,
    waiting: mpsc::Receiver<Word>,
    is_here: watch::Receiver<()>,
}

/// The way to other processes, and from them.
pub(super) async fn open(bus: &dyn Bus) -> Result<(AsrRarPublisher, AsrRarSubscriptions), BusError> {
    let retention = Retention { age: Some(KEPT), ..Retention::default() };
    let topic = bus.topic_with(TOPIC, &TopicSettings { retention, ..TopicSettings::default() })?;
    let born_at = topic.latest().await?;
    let (to, waiting) = mpsc::channel(WAITING_MAX);
    let (here, is_here) = watch::channel(());
    Ok((AsrRarPublisher { to, _is_here: here }, AsrRarSubscriptions { topic, born_at, waiting, is_here }))
}

impl AsrRarPublisher {
    /// Whether something can be told.
    pub(super) fn has_room(&self) -> bool {
        self.to.capacity() > 0
    }
}

impl AsrRarSubscriptions {
    /// Tells and hears from now on, until this installation is gone.
    pub(super) fn start(self, inner: &Arc<Inner>) {
        let AsrRarSubscriptions { topic, born_at, waiting, is_here } = self;
        tokio::spawn(tell(Arc::clone(&topic), waiting));
        tokio::spawn(hear(topic, born_at, Arc::downgrade(inner), is_here));
    }
}

/// Puts what is to be told on the topic, in its order, however long that takes.
async fn tell(topic: Arc<dyn Topic>, mut waiting: mpsc::Receiver<Word>) {
    let mut words = Vec::with_capacity(TOLD_AT_ONCE);
    while waiting.recv_many(&mut words, TOLD_AT_ONCE).await > 0 {
        loop {
            let records: Vec<&[u8]> = words.iter().map(|(record, _)| &record[..]).collect();
            match topic.append(&records).await {
                Ok(_) => break,
                Err(BusError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "what a charging server asks is not told to other processes yet");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
        // Whose connection is gone waits no more.
        for (_, told) in words.drain(..) {
            let _ = told.send(());
        }
    }
}

async fn hear(topic: Arc<dyn Topic>, born_at: u64, inner: Weak<Inner>, mut is_here: watch::Receiver<()>) {
    let mut next = topic.low();
    loop {
        match topic.fetch(next, READ_RECORDS, READ_OCTETS).await {
            Ok(records) if records.is_empty() => tokio::select! {
                () = topic.readable(next) => {}
                _ = is_here.changed() => return,
            },
            Ok(records) => {
                let Some(inner) = inner.upgrade() else { return };
                next = records.last().map_or(next, |last| last.index + 1);
                records.iter().for_each(|record| External(Arc::clone(&inner)).heard(record, born_at));
            }
            Err(BusError::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "what charging servers ask other processes is not heard");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

fn word(wish: ServerRequest) -> &'static str {
    match wish {
        ServerRequest::ReAuthorize => "RAR",
        ServerRequest::Abort => "ASR",
    }
}

impl External {
    /// What this process can do for a server that asks.
    pub(super) fn means(&self) -> Means {
        Means { tells: self.0.telling.has_room() }
    }

    /// Tells all processes, this one too, what a server asks; it is told when this resolves, and is not if
    /// that fails.
    pub(super) fn tell(&self, (id, wish): (ChargeId, ServerRequest), server: &str) -> oneshot::Receiver<()> {
        let text = format!("{} {server} {}", word(wish), self.session_id(id));
        let record = records::with_form(text.as_bytes());
        let (to, told) = oneshot::channel();
        // Where there is no room any more the server asks again.
        let _ = self.0.telling.to.try_send((record, to));
        told
    }

    fn heard(&self, record: &Record, born_at: u64) {
        let Some((id, wish, server)) = self.read(&record.octets) else {
            tracing::debug!(index = record.index, "what another process was asked is not of this house");
            return;
        };
        if wish == ServerRequest::ReAuthorize && record.index < born_at {
            return;
        }
        let deed = self.sessions().heard((id, wish), server, Instant::now());
        match deed {
            FollowUp::End => self.abort(Abort { id, is_again: record.index < born_at }),
            deed => self.carry_out(id, deed),
        }
    }

    fn read<'a>(&self, record: &'a [u8]) -> Option<(ChargeId, ServerRequest, &'a str)> {
        let text = records::behind_form("record of the topic charging-asked", record).ok()?;
        let mut words = std::str::from_utf8(text).ok()?.splitn(3, ' ');
        let said = words.next()?;
        let wish = [ServerRequest::ReAuthorize, ServerRequest::Abort]
            .into_iter()
            .find(|wish| word(*wish) == said)?;
        let server = words.next()?;
        Some((self.message_of(words.next()?)?, wish, server))
    }
}
