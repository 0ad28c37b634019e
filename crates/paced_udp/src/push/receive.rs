//! The receiving side: listens, takes part in the handshake, looks whether there is room, and takes files.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quinn::{Connection, Endpoint, Incoming, RecvStream, SendStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{interval, sleep, timeout};

use super::assembly::Assembly;
use super::block_receiver::{BlockReceiver, ReceiverEvent};
use super::disk::{FoundPart, Growing, Trouble};
use super::interface::Interface;
use super::link;
use super::manifest::{Manifest, signed_by};
use super::message::{EARLY_LEN_MAX, FRAME_LEN_MAX, Offer, PushMessage, PushReason, VERSION};
use super::proof::{Bond, ProofRole, SiteKey};
use super::udp::Receiver;

/// Senders that are served at a time.
const SESSIONS_MAX: usize = 8;
/// A handshake that takes longer is over.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// While a file is brought to disk the last report is told again this often.
const REPORT_AGAIN: Duration = Duration::from_millis(300);
/// Copies of a receipt, beside the one on the stream.
const RECEIPT_COPIES: u32 = 3;
/// Between two of them.
const RECEIPT_COPIES_APART: Duration = Duration::from_millis(5);
/// How long we wait for the other side to take our last words.
const GOODBYE_MAX: Duration = Duration::from_secs(5);

/// How a site receives.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// Where it listens for senders (QUIC, over UDP).
    pub listen: SocketAddr,
    /// Where it listens for data sent to it alone: 0 for any free port.
    pub data_port: u16,
    /// The interface on which groups are joined.
    pub interface: Option<Interface>,
    /// The folder into which files go.
    pub into: PathBuf,
    /// The key it shares with its senders.
    pub key: SiteKey,
    /// Public ed25519 keys of those whose manifests it takes; empty for everybody who knows the key.
    pub signers: Vec<[u8; 32]>,
    /// Octets of a file at most.
    pub size_max: u64,
    /// Octets of the disk that stay free.
    pub keep_free: u64,
    /// Whether a file of the same name is replaced.
    pub overwrite: bool,
    /// Whether a file is on disk, not only written, before it is called received.
    pub sync: bool,
    /// Whether to end after one file.
    pub once: bool,
    /// What is done with a file in its place before it counts as received.
    pub arrived: Option<Arrived>,
}

/// Something that is done with a file, by its path; an error says in words why it could not be.
pub type Done = dyn Fn(&Path) -> Result<(), String> + Send + Sync;

/// What is done with a file that is in its place, by its path: only then its receipt is given. An error, in
/// words, is told to the sender as trouble with the disk. It is done again whenever the same file is pushed
/// again.
#[derive(Clone)]
pub struct Arrived(pub Arc<Done>);

impl fmt::Debug for Arrived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arrived(…)")
    }
}

/// What a receiver tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A file is coming.
    Coming {
        /// From where.
        from: SocketAddr,
        /// Its name.
        name: String,
        /// Its octets.
        size: u64,
        /// Blocks that are there from before, and all of them.
        has: u32,
        /// All of them.
        blocks: u32,
    },
    /// A file is there.
    Finished {
        /// Its name.
        name: String,
    },
    /// A push ended without a file.
    Ended {
        /// From where it came.
        from: SocketAddr,
        /// Why it ended, in words.
        words: String,
    },
}

/// How a session goes wrong.
enum Wrong {
    /// We end it and say so.
    Refused(Trouble),
    /// The other side is gone, or does not keep to the protocol.
    Lost(io::Error),
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

impl From<Trouble> for Wrong {
    fn from(trouble: Trouble) -> Self {
        Self::Refused(trouble)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(trouble) => f.write_str(&trouble.words),
            Self::Lost(error) => error.fmt(f),
        }
    }
}

fn refused<T>(reason: PushReason, words: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Refused(Trouble { reason, words: words.into() }))
}

/// A receiver that listens.
pub struct Receiving {
    endpoint: Endpoint,
    options: Arc<ReceiveOptions>,
}

impl Receiving {
    /// Listens. Within a tokio runtime with time and IO.
    pub fn bind(options: ReceiveOptions) -> io::Result<Self> {
        Ok(Self { endpoint: link::listen(options.listen)?, options: Arc::new(options) })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Serves senders; with `once` until a file is there, otherwise until it is dropped.
    pub async fn run(self, progress: UnboundedSender<Received>) {
        let mut sessions = JoinSet::new();
        loop {
            tokio::select! {
                incoming = self.endpoint.accept(), if sessions.len() < SESSIONS_MAX => {
                    let Some(incoming) = incoming else { return };
                    sessions.spawn(serve(incoming, self.options.clone(), progress.clone()));
                }
                Some(finished) = sessions.join_next(), if !sessions.is_empty() => {
                    if self.options.once && finished.unwrap_or(false) {
                        self.endpoint.close(0u8.into(), b"");
                        return self.endpoint.wait_idle().await;
                    }
                }
            }
        }
    }
}

/// One sender. Whether a file of its came.
async fn serve(
    incoming: Incoming,
    options: Arc<ReceiveOptions>,
    progress: UnboundedSender<Received>,
) -> bool {
    let from = incoming.remote_address();
    let ended = |words: String| {
        let _ = progress.send(Received::Ended { from, words });
        false
    };
    let connection = match timeout(HANDSHAKE_MAX, async { incoming.await }).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return ended(error.to_string()),
        Err(_) => return ended("the handshake took too long".into()),
    };
    let Ok(Ok((mut send, receive))) = timeout(HANDSHAKE_MAX, connection.accept_bi()).await else {
        return ended("the sender did not begin".into());
    };
    match session(&connection, &mut send, receive, &options, &progress).await {
        Ok(name) => {
            let _ = progress.send(Received::Finished { name });
            let _ = timeout(GOODBYE_MAX, connection.closed()).await;
            true
        }
        Err(wrong) => {
            let words = wrong.to_string();
            if let Wrong::Refused(Trouble { reason, words }) = wrong {
                let _ = PushMessage::End { reason, words }.send(&mut send).await;
                let _ = send.finish();
                let _ = timeout(GOODBYE_MAX, connection.closed()).await;
            }
            ended(words)
        }
    }
}

/// Handshake, checks, data, receipt. The name of the file that came.
async fn session(
    connection: &Connection,
    send: &mut SendStream,
    mut receive: RecvStream,
    options: &ReceiveOptions,
    progress: &UnboundedSender<Received>,
) -> Result<String, Wrong> {
    let shaken = timeout(HANDSHAKE_MAX, handshake(connection, send, &mut receive, &options.key)).await;
    let bond = shaken.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let offer = match timeout(HANDSHAKE_MAX * 6, PushMessage::receive(&mut receive, FRAME_LEN_MAX)).await {
        Ok(message) => message?,
        Err(_) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
    };
    let PushMessage::Offer(offer) = offer else {
        return refused(PushReason::Protocol, "an offer was expected");
    };
    let manifest = Arc::new(check(&offer, options)?);
    let (folder, asked, overwrite, keep_free) =
        (options.into.clone(), manifest.clone(), options.overwrite, options.keep_free);
    let opened = spawn_blocking(move || Growing::open(&folder, &asked, overwrite, keep_free)).await;
    let found = opened.map_err(io::Error::other)??;
    let blocks = manifest.layout.blocks();
    let has = if let FoundPart::Part(_, has) = &found { has.clone() } else { vec![true; blocks as usize] };
    let socket = open_data(connection, &offer, options)?;
    PushMessage::Accept { port: socket.port()?, has: bits(&has) }.send(send).await?;
    let _ = progress.send(Received::Coming {
        from: connection.remote_address(),
        name: manifest.name.clone(),
        size: manifest.layout.size(),
        has: has.iter().filter(|has| **has).count() as u32,
        blocks,
    });
    if let FoundPart::Part(growing, has) = found {
        let assembly = Assembly::new(manifest.layout, offer.token, has);
        let stop = Arc::new(AtomicBool::new(false));
        let intake =
            BlockReceiver { manifest: manifest.clone(), assembly, growing, socket, stop: stop.clone() };
        take_in(connection, intake, StopOnDrop(stop), options).await?;
    } else if let Some(arrived) = options.arrived.clone() {
        // It may be that nothing was done with it yet: a crash came first.
        let place = options.into.join(&manifest.name);
        spawn_blocking(move || done_with(&arrived, &place)).await.map_err(io::Error::other)??;
    }
    let receipt = *bond.prove(&options.key, ProofRole::Receipt, &manifest.whole).as_bytes();
    let receipt = PushMessage::Receipt(receipt);
    receipt.send(send).await?;
    let _ = send.finish();
    // The stream repeats what is lost after a round trip or more; meanwhile copies go out as datagrams.
    for _ in 0..RECEIPT_COPIES {
        let _ = connection.send_datagram(receipt.write().into());
        sleep(RECEIPT_COPIES_APART).await;
    }
    Ok(manifest.name.clone())
}

/// Both sides prove themselves.
async fn handshake(
    connection: &Connection,
    send: &mut SendStream,
    receive: &mut RecvStream,
    key: &SiteKey,
) -> Result<Bond, Wrong> {
    let PushMessage::Hello { version, nonce: sender } = PushMessage::receive(receive, EARLY_LEN_MAX).await?
    else {
        return refused(PushReason::Protocol, "a hello was expected");
    };
    if version != VERSION {
        return refused(PushReason::Protocol, format!("version {version} is spoken there, {VERSION} here"));
    }
    let receiver = link::random()?;
    let bond = Bond { exported: link::exported(connection)?, sender, receiver };
    let proof = *bond.prove(key, ProofRole::Receiver, b"").as_bytes();
    PushMessage::Challenge { nonce: receiver, proof }.send(send).await?;
    match PushMessage::receive(receive, EARLY_LEN_MAX).await? {
        PushMessage::Proof(proof) if bond.holds(key, ProofRole::Sender, b"", proof) => Ok(bond),
        PushMessage::Proof(_) => refused(PushReason::Key, "the sender does not know this site's key"),
        PushMessage::End { words, .. } => {
            Err(Wrong::Lost(io::Error::other(format!("the sender ended: {words}"))))
        }
        _ => refused(PushReason::Protocol, "a proof was expected"),
    }
}

/// Whether the offer is signed, by one whom we trust, and within our limits.
fn check(offer: &Offer, options: &ReceiveOptions) -> Result<Manifest, Wrong> {
    if !options.signers.is_empty() && !options.signers.contains(&offer.signer) {
        return refused(PushReason::Signer, "the signer's key is none of those this site trusts");
    }
    if !signed_by(&offer.signer, &offer.manifest, &offer.signature) {
        return refused(PushReason::Manifest, "the signature of the manifest is wrong");
    }
    let manifest = match Manifest::read(&offer.manifest) {
        Ok(manifest) => manifest,
        Err(error) => return refused(PushReason::Manifest, error.0),
    };
    let (size, most) = (manifest.layout.size(), options.size_max);
    if size > most {
        return refused(
            PushReason::TooLarge,
            format!("the file has {size} octets, this site takes {most} at most"),
        );
    }
    Ok(manifest)
}

fn open_data(connection: &Connection, offer: &Offer, options: &ReceiveOptions) -> Result<Receiver, Wrong> {
    let Some(group) = offer.group else {
        let address = connection.local_ip().unwrap_or(options.listen.ip());
        return Ok(Receiver::unicast(address, options.data_port)?);
    };
    // The interface may be there later: the sender tries again, and tells why it has to.
    Receiver::multicast(group, options.interface.as_ref())
        .or_else(|error| refused(PushReason::Busy, format!("this site cannot join {group}: {error}")))
}

/// Stops the thread when its session ends, however.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs the thread for data, passes on its reports, and brings the whole file to its place.
async fn take_in(
    connection: &Connection,
    intake: BlockReceiver,
    _stop: StopOnDrop,
    options: &ReceiveOptions,
) -> Result<(), Wrong> {
    let (say, mut words) = unbounded_channel();
    std::thread::Builder::new().name("push-intake".into()).spawn(move || intake.run(&say))?;
    let mut last = Vec::new();
    let growing = loop {
        match next_word(connection, &mut words).await? {
            ReceiverEvent::Report(report) => {
                last.clone_from(&report);
                let _ = connection.send_datagram(report.into());
            }
            ReceiverEvent::Whole(growing) => break growing,
            ReceiverEvent::Trouble(trouble) => return Err(trouble.into()),
        }
    };
    let (folder, sync, arrived) = (options.into.clone(), options.sync, options.arrived.clone());
    let mut finishing = spawn_blocking(move || {
        let place = growing.finish(&folder, sync)?;
        arrived.map_or(Ok(()), |arrived| done_with(&arrived, &place))
    });
    let mut again = interval(REPORT_AGAIN);
    loop {
        tokio::select! {
            finished = &mut finishing => return Ok(finished.map_err(io::Error::other)??),
            _ = again.tick() => { let _ = connection.send_datagram(last.clone().into()); }
        }
    }
}

fn done_with(arrived: &Arrived, place: &Path) -> Result<(), Trouble> {
    (arrived.0)(place).map_err(|words| Trouble { reason: PushReason::Disk, words })
}

async fn next_word(
    connection: &Connection,
    words: &mut UnboundedReceiver<ReceiverEvent>,
) -> io::Result<ReceiverEvent> {
    tokio::select! {
        word = words.recv() => word.ok_or_else(|| io::Error::other("the thread for data ended")),
        error = connection.closed() => Err(io::Error::other(format!("the sender is gone: {error}"))),
    }
}

/// A bit for each block, the first in the lowest bit of the first octet.
fn bits(has: &[bool]) -> Vec<u8> {
    let octet = |part: &[bool]| part.iter().rev().fold(0, |octet, has| octet << 1 | u8::from(*has));
    has.chunks(8).map(octet).collect()
}
