//! A webhook receiver: a real HTTP listener that verifies signatures, drops repeats by their id, and answers
//! as its [`WebhookOptions`] say, for drills, demonstrations, tests and benches.

mod http;
mod options;
mod page;
mod signature;
#[cfg(test)]
mod tests;

pub use options::{RefusalShare, WebhookOptions};

use crate::chance::{Chance, hash};
use crate::clock::Clock;
use crate::tally::{KeyCounts, LastSecond};
use http::{HookRequest, next_request};
use serde::Serialize;
use signature::{SignedHeaders, Verifier};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Kept bodies take at most so many octets together.
const KEPT_OCTETS_MAX: usize = 256 << 20;

/// What was counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WebhookStats {
    /// Connections that came.
    pub connections: u64,
    /// Open now.
    pub sessions: u64,
    /// Messages taken, repeats too.
    pub accepted: u64,
    /// Requests that were not signed rightly.
    pub unsigned: u64,
    /// Refusals, by status.
    pub refused: BTreeMap<u16, u64>,
    /// Different ids.
    pub distinct: u64,
    /// Messages whose id was there before: dropped.
    pub repeats: u64,
    /// Most messages in any one second, by their arrival.
    pub peak_accepted: u64,
    /// When the first was taken, microseconds since 1970; 0: none was.
    pub first_accepted_us: u64,
    /// When the last was taken.
    pub last_accepted_us: u64,
}

/// A message as it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReceivedHook {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// The path of the URL with its query.
    pub path: String,
    /// `webhook-id`.
    pub id: String,
    /// The body.
    pub body: String,
}

impl ReceivedHook {
    /// A member of the body, where that is a JSON object and the member a text.
    pub fn text_of(&self, member: &str) -> Option<String> {
        let body: serde_json::Value = serde_json::from_str(&self.body).ok()?;
        body.get(member)?.as_str().map(str::to_owned)
    }
}

/// A running receiver. Dropping it ends it and all its connections.
pub struct WebhookReceiver {
    shared: Arc<ReceiverState>,
    address: SocketAddr,
    page: Option<SocketAddr>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// The options, checked, and what verifies by them.
struct Scene {
    options: WebhookOptions,
    verifier: Verifier,
}

struct ReceiverState {
    scene: RwLock<Arc<Scene>>,
    ledger: Mutex<WebhookLedger>,
    clock: Clock,
    sessions: AtomicU64,
    /// Raised to cut all connections.
    stop: watch::Sender<u64>,
}

#[derive(Default)]
struct WebhookLedger {
    stats: WebhookStats,
    accepted: LastSecond,
    ids: KeyCounts,
    kept: VecDeque<ReceivedHook>,
    kept_octets: usize,
}

/// What is done with a request.
enum HookAnswer {
    /// Status, Retry-After, body.
    Say(u16, Option<u32>, String),
    Silence,
    Cut,
}

impl Scene {
    fn new(options: WebhookOptions) -> Result<Arc<Scene>, String> {
        options.check()?;
        let verifier = Verifier::new(options.secret.as_deref(), options.tolerance_s)?;
        Ok(Arc::new(Scene { options, verifier }))
    }
}

impl ReceiverState {
    fn scene(&self) -> Arc<Scene> {
        Arc::clone(&self.scene.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts stay right even if a task died while it held them.
    fn ledger(&self) -> MutexGuard<'_, WebhookLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stats(&self) -> WebhookStats {
        let ledger = self.ledger();
        WebhookStats {
            sessions: self.sessions.load(Ordering::Relaxed),
            distinct: ledger.ids.distinct(),
            repeats: ledger.ids.repeats,
            peak_accepted: ledger.accepted.peak,
            ..ledger.stats.clone()
        }
    }

    fn hooks(&self, limit: usize) -> Vec<ReceivedHook> {
        let kept = &self.ledger().kept;
        kept.iter().skip(kept.len().saturating_sub(limit)).cloned().collect()
    }

    fn answer(&self, scene: &Scene, request: &HookRequest) -> HookAnswer {
        let headers = SignedHeaders {
            id: request.header("webhook-id"),
            timestamp: request.header("webhook-timestamp"),
            signature: request.header("webhook-signature"),
        };
        let (options, now_us) = (&scene.options, self.clock.now_us());
        if request.method() != "POST" {
            return self.refuse(405, None);
        }
        if !scene.verifier.verify(headers, &request.body, now_us / 1_000_000) {
            self.ledger().stats.unsigned += 1;
            return self.refuse(401, None);
        }
        // Different devices may be sent the same id by different senders.
        let key = hash(hash(0, request.path().as_bytes()), headers.id.as_bytes());
        let mut chance = Chance::new(options.seed, key);
        for refusal in &options.refusals {
            if chance.unit() < refusal.share {
                return self.refuse(refusal.status, refusal.retry_after);
            }
        }
        self.enter(options, request, headers.id, key, now_us);
        if chance.unit() < options.silence {
            return HookAnswer::Silence;
        }
        if chance.unit() < options.disconnect {
            return HookAnswer::Cut;
        }
        HookAnswer::Say(200, None, said(options, request, &mut chance))
    }

    fn refuse(&self, status: u16, retry_after: Option<u32>) -> HookAnswer {
        *self.ledger().stats.refused.entry(status).or_default() += 1;
        HookAnswer::Say(status, retry_after, String::new())
    }

    fn enter(&self, options: &WebhookOptions, request: &HookRequest, id: &str, key: u64, now_us: u64) {
        let ledger = &mut *self.ledger();
        let stats = &mut ledger.stats;
        stats.accepted += 1;
        stats.last_accepted_us = stats.last_accepted_us.max(now_us);
        if stats.first_accepted_us == 0 {
            stats.first_accepted_us = now_us;
        }
        ledger.accepted.add(now_us, 1);
        if options.count {
            ledger.ids.add(key);
        }
        if options.keep > 0 {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            let (path, id) = (request.path().to_owned(), id.to_owned());
            ledger.keep(ReceivedHook { at_us: now_us, path, id, body }, options.keep);
        }
    }
}

/// The body of an answer: nothing, or an object of what the device says.
fn said(options: &WebhookOptions, request: &HookRequest, chance: &mut Chance) -> String {
    let is_delivered = chance.unit() < options.delivered;
    let answers = chance.unit() < options.answering;
    let mut members = serde_json::Map::new();
    if is_delivered {
        members.insert("state".to_owned(), "delivered".into());
    }
    if answers && let Some(key) = first_choice(&request.body) {
        members.insert("answer".to_owned(), key);
    }
    if members.is_empty() { String::new() } else { serde_json::Value::Object(members).to_string() }
}

fn first_choice(body: &[u8]) -> Option<serde_json::Value> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body.get("choices")?.get(0)?.get("key").cloned()
}

impl WebhookLedger {
    fn keep(&mut self, hook: ReceivedHook, keep: usize) {
        self.kept_octets += hook.body.len();
        self.kept.push_back(hook);
        while self.kept.len() > keep || self.kept_octets > KEPT_OCTETS_MAX {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_octets -= oldest.body.len();
        }
    }
}

impl WebhookReceiver {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken.
    pub async fn start(options: WebhookOptions) -> io::Result<WebhookReceiver> {
        let listener = TcpListener::bind(&options.listen).await?;
        let page = match &options.control {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let scene = Scene::new(options).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let shared = Arc::new(ReceiverState {
            scene: RwLock::new(scene),
            ledger: Mutex::default(),
            clock: Clock::start(),
            sessions: AtomicU64::new(0),
            stop: watch::Sender::new(0),
        });
        let address = listener.local_addr()?;
        let page_address = page.as_ref().map(TcpListener::local_addr).transpose()?;
        let mut tasks = vec![tokio::spawn(accept(listener, Arc::clone(&shared)))];
        if let Some(page) = page {
            let answers = Arc::new(page::WebhookPage(Arc::clone(&shared)));
            tasks.push(tokio::spawn(crate::page::serve(page, answers)));
        }
        Ok(WebhookReceiver { shared, address, page: page_address, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its page is.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// What was counted so far.
    pub fn stats(&self) -> WebhookStats {
        self.shared.stats()
    }

    /// The last messages that were kept, the newest last; repeats too.
    pub fn hooks(&self, limit: usize) -> Vec<ReceivedHook> {
        self.shared.hooks(limit)
    }

    /// Does as these options say from the next request on. Addresses stay.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn change(&self, options: WebhookOptions) -> Result<(), String> {
        let scene = Scene::new(options)?;
        *self.shared.scene.write().unwrap_or_else(PoisonError::into_inner) = scene;
        Ok(())
    }

    /// Cuts all connections. New ones are let in.
    pub fn disconnect(&self) {
        self.shared.stop.send_modify(|generation| *generation += 1);
    }
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.disconnect();
    }
}

async fn accept(listener: TcpListener, shared: Arc<ReceiverState>) {
    loop {
        let stream = crate::smsc::accepted(&listener).await;
        let (shared, mut stop) = (Arc::clone(&shared), shared.stop.subscribe());
        tokio::spawn(async move {
            shared.ledger().stats.connections += 1;
            shared.sessions.fetch_add(1, Ordering::Relaxed);
            tokio::select! {
                served = serve(&shared, stream) => {
                    if let Err(error) = served {
                        tracing::debug!(%error, "a connection of the receiver ended");
                    }
                }
                _ = stop.changed() => {}
            }
            shared.sessions.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

async fn serve(shared: &ReceiverState, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut rest, mut count) = (Vec::new(), 0_u64);
    while let Some(request) = next_request(&mut stream, &mut rest).await? {
        let scene = shared.scene();
        count += 1;
        let answer = shared.answer(&scene, &request);
        let delay = scene.options.latency.at(Chance::new(scene.options.seed, count).unit());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        match answer {
            HookAnswer::Say(status, retry_after, body) => {
                stream.write_all(response(status, retry_after, &body).as_bytes()).await?;
            }
            HookAnswer::Silence => std::future::pending().await,
            HookAnswer::Cut => return Ok(()),
        }
    }
    Ok(())
}

fn response(status: u16, retry_after: Option<u32>, body: &str) -> String {
    let retry_after = retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n")).unwrap_or_default();
    format!(
        "HTTP/1.1 {status} \r\nContent-Type: application/json\r\n{retry_after}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Runs a receiver until the process is told to end (Ctrl-C), saying where it listens on standard output.
///
/// # Errors
/// As [`WebhookReceiver::start`].
pub fn run(options: WebhookOptions) -> io::Result<()> {
    crate::run_until_told(async move {
        let receiver = WebhookReceiver::start(options).await?;
        let addresses = (receiver.address(), receiver.page());
        Ok((receiver, addresses))
    })
}
