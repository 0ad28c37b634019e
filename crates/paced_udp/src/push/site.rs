//! The sender's control channel to one site: tries until the site has the file, cannot have it, or stays
//! away.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender as EventSender;
use std::time::{Duration, Instant};

use quinn::{Connection, Endpoint, RecvStream, SendStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};

use super::link;
use super::message::{EARLY_LEN_MAX, Offer, PushMessage, PushReason, VERSION};
use super::proof::{Bond, ProofRole};
use super::report::LackReport;
use super::send::{PushProgress, Site, SiteOutcome};
use super::stream::PushEvent;

/// How long a site may be silent before nothing more is sent to it.
pub const SILENCE_MAX: Duration = Duration::from_secs(2);
/// How long one that answers may take nothing in.
const STANDSTILL_MAX: Duration = Duration::from_secs(10);
/// How long a connection may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// How long a site may take to prove itself, and to look at what it has of the file.
const ACCEPT_MAX: Duration = Duration::from_secs(60);
/// Between two tries.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Octets of a site's words and of what it has (a bit for each block) at most.
const ACCEPT_LEN_MAX: usize = (1 << 20) + EARLY_LEN_MAX;

/// All that a site's task needs.
pub struct Visit {
    /// Its number.
    pub number: usize,
    /// The site.
    pub site: Site,
    /// What is offered.
    pub offer: Arc<Offer>,
    /// BLAKE3 of the file.
    pub whole: [u8; 32],
    /// Blocks of the file.
    pub blocks: u32,
    /// The endpoint to connect from.
    pub endpoint: Endpoint,
    /// To the thread for data.
    pub events: EventSender<PushEvent>,
    /// To whoever looks on.
    pub progress: UnboundedSender<PushProgress>,
    /// How long a site may stay away.
    pub give_up: Duration,
}

/// How one try ends, but for success.
enum PushFailure {
    /// Trying again may help.
    ForNow(String),
    /// It will not.
    ForGood(String),
    /// The site's disk does not take it: somebody there has to do something first.
    Disk(String),
}

impl From<io::Error> for PushFailure {
    fn from(error: io::Error) -> Self {
        Self::ForNow(error.to_string())
    }
}

/// How far a site is.
pub struct SiteProgress {
    /// When it was first there.
    pub joined: Option<Instant>,
    /// Blocks it lacks.
    pub left: u32,
    heard: Instant,
    moved: Instant,
    lacks: u64,
    told: Instant,
}

impl SiteProgress {
    /// Of a site of which nothing was heard.
    pub fn new(blocks: u32) -> Self {
        let now = Instant::now();
        Self { joined: None, left: blocks, heard: now, moved: now, lacks: u64::MAX, told: now }
    }

    fn hear(&mut self, report: &LackReport) {
        let lacks = report.runs.iter().map(|run| u64::from(run.count) * u64::from(run.lacks)).sum();
        self.heard = Instant::now();
        if lacks != self.lacks {
            (self.lacks, self.moved) = (lacks, self.heard);
        }
        self.left = report.runs.iter().map(|run| run.count).sum();
    }
}

impl Visit {
    /// Tries until there is an outcome. `standing` is kept up to date, for a report at a deadline.
    pub async fn run(&self, standing: &mut SiteProgress) -> SiteOutcome {
        standing.heard = Instant::now();
        loop {
            let ended = self.attempt(standing).await;
            let _ = self.events.send(PushEvent::Leave(self.number));
            let words = match ended {
                Ok(()) => return SiteOutcome::Done,
                Err(PushFailure::ForGood(words)) => return SiteOutcome::Refused(words),
                Err(PushFailure::Disk(words)) => return SiteOutcome::NoRoom(words),
                Err(PushFailure::ForNow(words)) => words,
            };
            if standing.heard.elapsed() >= self.give_up {
                return SiteOutcome::Away(words);
            }
            let _ = self.progress.send(PushProgress::Away { site: self.number, words });
            sleep(AGAIN_AFTER).await;
        }
    }

    async fn attempt(&self, standing: &mut SiteProgress) -> Result<(), PushFailure> {
        let connecting = self.endpoint.connect(self.site.address, link::CERTIFICATE_NAME);
        let connecting = connecting.map_err(|error| PushFailure::ForGood(error.to_string()))?;
        let connection = match timeout(CONNECT_MAX, connecting).await {
            Ok(made) => made.map_err(|error| PushFailure::ForNow(format!("no connection: {error}")))?,
            Err(_) => return Err(PushFailure::ForNow("it does not answer".into())),
        };
        let ended = self.converse(&connection, standing).await;
        connection.close(0u8.into(), b"");
        ended
    }

    async fn converse(
        &self,
        connection: &Connection,
        standing: &mut SiteProgress,
    ) -> Result<(), PushFailure> {
        let (mut send, mut receive) = connection.open_bi().await.map_err(io::Error::from)?;
        let accepted = timeout(ACCEPT_MAX, async {
            let bond = self.handshake(connection, &mut send, &mut receive).await?;
            PushMessage::Offer(Box::new((*self.offer).clone())).send(&mut send).await?;
            match next(&mut receive, ACCEPT_LEN_MAX).await? {
                PushMessage::Accept { port, has } => Ok((bond, port, has)),
                _ => Err(PushFailure::ForGood("it did not accept as it should".into())),
            }
        });
        let accepted =
            accepted.await.map_err(|_| PushFailure::ForNow("it takes too long to accept".into()))?;
        let (bond, port, has) = accepted?;
        let now = Instant::now();
        standing.joined.get_or_insert(now);
        (standing.heard, standing.moved) = (now, now);
        let has_count = has.iter().map(|octet| octet.count_ones()).sum();
        let _ = self.progress.send(PushProgress::Joined {
            site: self.number,
            has: has_count,
            blocks: self.blocks,
        });
        let to = SocketAddr::new(self.site.address.ip(), port);
        let _ = self.events.send(PushEvent::Join { site: self.number, to, has });
        self.follow(connection, &mut receive, &bond, standing).await
    }

    async fn handshake(
        &self,
        connection: &Connection,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<Bond, PushFailure> {
        let nonce = link::random()?;
        PushMessage::Hello { version: VERSION, nonce }.send(send).await?;
        let PushMessage::Challenge { nonce: receiver, proof } = next(receive, EARLY_LEN_MAX).await? else {
            return Err(PushFailure::ForGood("it answered the hello with something else".into()));
        };
        let bond = Bond { exported: link::exported(connection)?, sender: nonce, receiver };
        if !bond.holds(&self.site.key, ProofRole::Receiver, b"", proof) {
            let words = "the two sides do not know the same key";
            let _ = PushMessage::End { reason: PushReason::Key, words: words.into() }.send(send).await;
            return Err(PushFailure::ForGood(format!("wrong key: {words}")));
        }
        let proof = *bond.prove(&self.site.key, ProofRole::Sender, b"").as_bytes();
        PushMessage::Proof(proof).send(send).await?;
        Ok(bond)
    }

    /// Passes on what the site lacks until its receipt comes.
    async fn follow(
        &self,
        connection: &Connection,
        receive: &mut RecvStream,
        bond: &Bond,
        standing: &mut SiteProgress,
    ) -> Result<(), PushFailure> {
        let receipt = next(receive, EARLY_LEN_MAX);
        tokio::pin!(receipt);
        loop {
            let silence = SILENCE_MAX.saturating_sub(standing.heard.elapsed());
            tokio::select! {
                message = &mut receipt => return match message? {
                    PushMessage::Receipt(proof) if bond.holds(&self.site.key, ProofRole::Receipt, &self.whole, proof) => Ok(()),
                    _ => Err(PushFailure::ForGood("its receipt is wrong".into())),
                },
                datagram = connection.read_datagram() => {
                    let datagram = datagram.map_err(io::Error::from)?;
                    if let Some(PushMessage::Receipt(proof)) = PushMessage::read(&datagram)
                        && bond.holds(&self.site.key, ProofRole::Receipt, &self.whole, proof)
                    {
                        return Ok(());
                    }
                    if let Some(report) = LackReport::read(&datagram, self.blocks) {
                        self.hear(report, standing)?;
                    }
                }
                () = sleep(silence) => {
                    return Err(PushFailure::ForNow(format!("it was silent for {} s", SILENCE_MAX.as_secs())));
                }
            }
        }
    }

    fn hear(&self, report: LackReport, standing: &mut SiteProgress) -> Result<(), PushFailure> {
        standing.hear(&report);
        if standing.left > 0 && standing.moved.elapsed() > STANDSTILL_MAX {
            let seconds = STANDSTILL_MAX.as_secs();
            return Err(PushFailure::ForGood(format!("it answers, but took nothing in for {seconds} s")));
        }
        if standing.told.elapsed() >= TELL_EVERY {
            standing.told = Instant::now();
            let (site, left) = (self.number, standing.left);
            let _ = self.progress.send(PushProgress::Going { site, left, blocks: self.blocks });
        }
        let _ = self.events.send(PushEvent::Report { site: self.number, report });
        Ok(())
    }
}

/// The next message, unless it is an end.
async fn next(receive: &mut RecvStream, most: usize) -> Result<PushMessage, PushFailure> {
    match PushMessage::receive(receive, most).await {
        Ok(PushMessage::End { reason: PushReason::Busy, words }) => Err(PushFailure::ForNow(words)),
        Ok(PushMessage::End { reason: PushReason::Disk, words }) => Err(PushFailure::Disk(words)),
        Ok(PushMessage::End { words, .. }) => Err(PushFailure::ForGood(words)),
        Ok(message) => Ok(message),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(PushFailure::ForGood(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}
