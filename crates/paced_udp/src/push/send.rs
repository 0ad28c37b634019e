//! The sending side: describes and signs the file, visits every site, and tells what became of each.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use ed25519_dalek::SigningKey;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use super::interface::Interface;
use super::layout::SYMBOL_SIZE;
use super::link;
use super::manifest::{Manifest, sign};
use super::message::Offer;
use super::packet::{HEADER_LEN, TOKEN_LIMIT};
use super::proof::SiteKey;
use super::site::{SiteProgress, Visit};
use super::stream::{PushCounts, PushThread};
use super::udp::Sender;
use crate::socket::{PathMtu, path_mtu};

/// Sites of one push at most.
pub const SITES_MAX: usize = 1024;
/// Bits per second at least: a datagram in a second or so.
pub const RATE_MIN: u64 = 16_000;

/// A site to push to.
#[derive(Clone, Debug)]
pub struct Site {
    /// What it is called in reports.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// The key shared with it.
    pub key: SiteKey,
}

/// How a file is pushed.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// The file.
    pub file: PathBuf,
    /// Its name at the sites; none for its own.
    pub name: Option<String>,
    /// To whom.
    pub sites: Vec<Site>,
    /// The ed25519 key that signs the manifest.
    pub signing_key: [u8; 32],
    /// Bits per second: of the group, or of each site by unicast. Octets of UDP datagrams count, repair
    /// included.
    pub rate: u64,
    /// The group to send to; none for unicast.
    pub group: Option<SocketAddr>,
    /// The interface by which the group is reached.
    pub interface: Option<Interface>,
    /// Routers that the group's datagrams may pass.
    pub hops: u32,
    /// When it is over, whoever has the file by then.
    pub deadline: Option<Duration>,
    /// How long a site may stay away before it is given up.
    pub give_up: Duration,
}

/// What is told while it goes on. Sites by their number in the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushProgress {
    /// A site is there, proved itself, and has these many blocks.
    Joined {
        /// Which.
        site: usize,
        /// Blocks it has.
        has: u32,
        /// Blocks of the file.
        blocks: u32,
    },
    /// How far it is.
    Going {
        /// Which.
        site: usize,
        /// Blocks it lacks.
        left: u32,
        /// Blocks of the file.
        blocks: u32,
    },
    /// It is not there, or not any more; it is tried again.
    Away {
        /// Which.
        site: usize,
        /// Why, in words.
        words: String,
    },
    /// Nothing more becomes of it, whatever becomes of the others.
    Ended {
        /// Which.
        site: usize,
        /// Whether it was ever there.
        joined: bool,
        /// What became of it.
        outcome: SiteOutcome,
    },
}

/// What became of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteOutcome {
    /// It has the file on disk, and proved that it says so.
    Done,
    /// It cannot have the file: why, in words.
    Refused(String),
    /// Its disk has no room for the file, or did not take it: why, in words. That may change.
    NoRoom(String),
    /// It stayed away: what was last seen of it.
    Away(String),
    /// The deadline came first.
    Late,
}

/// The end of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteReport {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub outcome: SiteOutcome,
    /// From when it was there and the first datagram went out until its end; none when it never was there.
    pub took: Option<Duration>,
    /// Blocks it lacks.
    pub left: u32,
    /// Blocks of the file.
    pub blocks: u32,
}

/// The end of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushReport {
    /// Octets of the file.
    pub size: u64,
    /// BLAKE3 of the file.
    pub whole: [u8; 32],
    /// Each site's end, in the order of the options.
    pub sites: Vec<SiteReport>,
    /// Datagrams that went out.
    pub sent: PushCounts,
}

/// Pushes a file. Within a tokio runtime with time and IO. An error means that nothing was sent at all, or
/// that the file could not be read any more; what becomes of single sites stands in the report.
pub async fn send(options: SendOptions, progress: UnboundedSender<PushProgress>) -> io::Result<PushReport> {
    check(&options)?;
    check_file(&options.file)?;
    let (path, name) = (options.file.clone(), name(&options)?);
    let symbol_max = narrowest(&options).map_or(usize::MAX, |path| symbol_room(path.payload));
    let described = spawn_blocking(move || {
        let mut file = File::open(path)?;
        Manifest::of(&mut file, name, symbol_max).map(|manifest| (file, manifest))
    });
    let (file, manifest) = described.await.map_err(io::Error::other)??;
    let token = u64::from_be_bytes(link::random()?) % TOKEN_LIMIT;
    let offer = Arc::new(offer(&options, &manifest, token));
    let v6 = options.sites.iter().any(|site| site.address.is_ipv6());
    let data_v6 = options.group.map_or(v6, |group| group.is_ipv6());
    let interface = options.interface.as_ref().filter(|_| options.group.is_some());
    let paths = if options.group.is_some() { 1 } else { options.sites.len() };
    let began: Arc<[OnceLock<Instant>]> = (0..paths).map(|_| OnceLock::new()).collect();
    let stream = PushThread {
        file,
        layout: manifest.layout,
        token,
        rate: options.rate,
        group: options.group,
        socket: Sender::open(data_v6, interface, options.hops)?,
        sites: options.sites.len(),
        began: began.clone(),
    };
    let (events, hear) = mpsc::channel();
    let data = std::thread::Builder::new().name("push-stream".into()).spawn(move || stream.run(&hear))?;
    let endpoint = link::reach(v6)?;
    let mut visits = JoinSet::new();
    for (number, site) in options.sites.iter().enumerate() {
        let visit = Visit {
            number,
            site: site.clone(),
            offer: offer.clone(),
            whole: manifest.whole,
            blocks: manifest.layout.blocks(),
            endpoint: endpoint.clone(),
            events: events.clone(),
            progress: progress.clone(),
            give_up: options.give_up,
        };
        visits.spawn(visit_until(visit, options.deadline, began.clone()));
    }
    drop(events);
    let mut sites: Vec<(usize, SiteReport)> = Vec::new();
    while let Some(ended) = visits.join_next().await {
        sites.push(ended.map_err(io::Error::other)?);
    }
    sites.sort_by_key(|(number, _)| *number);
    endpoint.wait_idle().await;
    let joined = spawn_blocking(move || data.join()).await.map_err(io::Error::other)?;
    let sent = joined.map_err(|_| io::Error::other("the thread for data failed"))??;
    let sites = sites.into_iter().map(|(_, site)| site).collect();
    Ok(PushReport { size: manifest.layout.size(), whole: manifest.whole, sites, sent })
}

/// One site, until its end or the deadline.
async fn visit_until(
    visit: Visit,
    deadline: Option<Duration>,
    began: Arc<[OnceLock<Instant>]>,
) -> (usize, SiteReport) {
    let mut standing = SiteProgress::new(visit.blocks);
    let visiting = visit.run(&mut standing);
    let outcome = match deadline {
        Some(deadline) => timeout(deadline, visiting).await.unwrap_or(SiteOutcome::Late),
        None => visiting.await,
    };
    let _ = visit.progress.send(PushProgress::Ended {
        site: visit.number,
        joined: standing.joined.is_some(),
        outcome: outcome.clone(),
    });
    let left = if outcome == SiteOutcome::Done { 0 } else { standing.left };
    let began = began[visit.number.min(began.len() - 1)].get();
    let took = standing.joined.map(|joined| began.map_or(joined, |began| joined.max(*began)).elapsed());
    let report = SiteReport { name: visit.site.name.clone(), outcome, took, left, blocks: visit.blocks };
    (visit.number, report)
}

fn check(options: &SendOptions) -> io::Result<()> {
    let wrong = |words: String| Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    let count = options.sites.len();
    if count == 0 || count > SITES_MAX {
        return wrong(format!("{count} sites: 1 to {SITES_MAX} are possible"));
    }
    if options.rate < RATE_MIN {
        return wrong(format!("a rate of {} bit/s: {RATE_MIN} is the least", options.rate));
    }
    if let Some(group) = options.group
        && (!group.ip().is_multicast() || group.port() == 0)
    {
        return wrong(format!("{group} is no multicast group with a port"));
    }
    if let (Some(group), Some(interface)) = (options.group, &options.interface) {
        interface.serves(group).or_else(wrong)?;
    }
    let v6 = options.sites.iter().filter(|site| site.address.is_ipv6()).count();
    if v6 != 0 && v6 != count {
        return wrong("the sites of one push are all reached by IPv4, or all by IPv6".into());
    }
    Ok(())
}

/// A FIFO would be waited for, a device has no end, and a folder is none.
fn check_file(path: &Path) -> io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    let words = format!("is {what}: what is pushed is a regular file, such as an archive of it");
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}

/// The path to the sites, or the group, that carries the shortest packets.
fn narrowest(options: &SendOptions) -> Option<PathMtu> {
    let sites = options.sites.iter().map(|site| site.address).filter(|_| options.group.is_none());
    sites.chain(options.group).filter_map(path_mtu).min_by_key(|path| path.payload)
}

/// Octets of a symbol in a datagram of so many.
fn symbol_room(payload: u16) -> usize {
    usize::from(payload).saturating_sub(HEADER_LEN)
}

/// The path for which a push makes its packets shorter than usual; nothing where all carry the usual ones.
pub fn short_path(options: &SendOptions) -> Option<PathMtu> {
    narrowest(options).filter(|path| symbol_room(path.payload) < usize::from(SYMBOL_SIZE))
}

fn name(options: &SendOptions) -> io::Result<String> {
    let own = || options.file.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let wrong =
        || io::Error::new(io::ErrorKind::InvalidInput, "the file's name is not UTF-8; give it another");
    options.name.clone().or_else(own).ok_or_else(wrong)
}

fn offer(options: &SendOptions, manifest: &Manifest, token: u64) -> Offer {
    let key = SigningKey::from_bytes(&options.signing_key);
    let octets = manifest.write();
    Offer {
        token,
        group: options.group,
        signer: key.verifying_key().to_bytes(),
        signature: sign(&key, &octets),
        manifest: octets,
    }
}

/// A signing key that nobody has had before.
pub fn fresh_signing_key() -> [u8; 32] {
    rand::random()
}

/// The public key of a signing key, for receivers to trust.
pub fn public_key(signing_key: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(signing_key).verifying_key().to_bytes()
}
