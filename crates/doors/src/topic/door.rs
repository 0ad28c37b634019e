//! Server of the topic door: listens, gives each connection a thread or a place on a core, and stops in
//! order.

use super::batch::TopicConnection;
use super::config::TopicsConfig;
use super::meter::TopicMeter;
use super::people::Logins;
use super::threads::{self, ThreadHandle};
use super::topic_cache::{NoTopic, TopicCache};
use super::{TokenCheck, TopicToken, TopicsDeps, reactor};
use crate::Gatekeeper;
use bus::Topic;
use net::{ConnectionPlace, Cores, Listener, ListenerLimits, Stream, TlsServer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Up to so many connections have a thread each; with more, all go to the cores.
const THREADS_MAX: usize = 16;
/// When there are so few again, those on cores get threads.
const THREADS_AGAIN: usize = 8;
/// Interval at which the threads' clients are checked for silence, and for having to make room.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Interval at which topics of other processes are looked for.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
/// Connections get so long to end when the door closes.
const GRACE: Duration = Duration::from_secs(3);

/// The error of opening the door.
#[derive(Debug)]
pub struct TopicsError {
    /// The key of `[topics]`.
    pub field: String,
    /// The text of the error.
    pub why: String,
}

impl std::fmt::Display for TopicsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[topics] {}: {}", self.field, self.why)
    }
}
impl std::error::Error for TopicsError {}

/// State that all connections share.
pub(super) struct TopicDoorState {
    pub(super) config: TopicsConfig,
    pub(super) topic_cache: Arc<TopicCache>,
    pub(super) meter: TopicMeter,
    pub(super) cores: Arc<Cores>,
    /// Who logs in; nothing: nobody can.
    pub(super) logins: Option<Arc<Logins>>,
    token_check: TokenCheck,
    gatekeeper: Gatekeeper,
    /// The runtime for blocking calls and for looking up tokens.
    runtime: Handle,
    begin: Instant,
    /// Connections that there are.
    live: AtomicUsize,
    handles: Mutex<HashMap<u64, Arc<ThreadHandle>>>,
    next_handle: AtomicU64,
    stop: watch::Sender<bool>,
    exit: watch::Sender<bool>,
}

impl TopicDoorState {
    /// More connections than threads can be given to.
    pub(super) fn is_crowded(&self) -> bool {
        self.live.load(Ordering::Relaxed) > THREADS_MAX
    }

    /// So few connections that each can have a thread.
    pub(super) fn is_quiet(&self) -> bool {
        self.live.load(Ordering::Relaxed) <= THREADS_AGAIN
    }

    /// True: the door closes.
    pub(super) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Stops the server after an EXIT request.
    pub(super) fn stop_server(&self) {
        tracing::info!("an EXIT request at the topic door stops the server");
        self.exit.send_replace(true);
    }

    /// Milliseconds from the door's opening to an instant, at least 1; 0 for never.
    pub(super) fn due_ms(&self, due: Option<Instant>) -> u64 {
        due.map_or(0, |due| (due.saturating_duration_since(self.begin).as_millis() as u64).max(1))
    }

    /// A topic that is there now.
    pub(super) async fn make(&self, topic: &[u8]) -> Result<Arc<dyn Topic>, NoTopic> {
        let (topic_cache, topic) = (Arc::clone(&self.topic_cache), topic.to_vec());
        let made = self.runtime.spawn_blocking(move || topic_cache.make(&topic)).await;
        made.unwrap_or(Err(NoTopic::Bus(bus::BusError::Closed)))
    }

    /// What is known of the token that a client shows, once it is its turn.
    pub(super) async fn token(&self, token: String, client: IpAddr) -> Option<TopicToken> {
        let (token_check, guessing) = (Arc::clone(&self.token_check), Arc::clone(&self.gatekeeper.guessing));
        let judged = self.runtime.spawn(async move {
            let look = async { Ok::<_, Infallible>(token_check(token.clone()).await) };
            guessing.judge_token(("topics", client), token.as_bytes(), look).await
        });
        judged.await.ok()?.unwrap_or_else(|never| match never {})
    }

    /// What a future gives that needs the runtime's clock, whatever thread awaits it.
    pub(super) async fn on_runtime<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.runtime.spawn(future).await.ok()
    }

    /// Notes a thread's connection.
    pub(super) fn add_handle(&self, handle: &Arc<ThreadHandle>) -> u64 {
        let number = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.handles().insert(number, Arc::clone(handle));
        self.meter.threads.increment(1);
        if *self.stop.borrow() {
            handle.close();
        }
        number
    }

    /// Its thread is done with it.
    pub(super) fn remove_handle(&self, number: u64) {
        if self.handles().remove(&number).is_some() {
            self.meter.threads.decrement(1);
        }
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<u64, Arc<ThreadHandle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the threads' clients until the door closes, then wakes the threads.
    async fn watch_handles(&self) {
        let mut stopping = self.stopping();
        loop {
            tokio::select! {
                _ = stopping.wait_for(|stop| *stop) => break,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let now_ms = self.due_ms(Some(Instant::now()));
            self.handles().values().for_each(|handle| handle.look(now_ms));
        }
        self.handles().values().for_each(|handle| handle.close());
    }

    /// Finds topics of other processes, until the door closes.
    async fn follow(&self) {
        let mut stopping = self.stopping();
        loop {
            tokio::select! {
                _ = stopping.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(FOLLOW_EVERY) => {}
            }
            let topic_cache = Arc::clone(&self.topic_cache);
            match self.runtime.spawn_blocking(move || topic_cache.look()).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(error)) => tracing::warn!(%error, "topics of other processes cannot be listed"),
            }
        }
    }
}

/// Counts a connection for as long as it is.
pub(super) struct ConnectionCount {
    door: Arc<TopicDoorState>,
}

impl ConnectionCount {
    pub(super) fn new(door: &Arc<TopicDoorState>) -> ConnectionCount {
        door.live.fetch_add(1, Ordering::Relaxed);
        door.meter.connections.increment(1);
        ConnectionCount { door: Arc::clone(door) }
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.door.live.fetch_sub(1, Ordering::Relaxed);
        self.door.meter.connections.decrement(1);
    }
}

/// A door that is open.
pub struct TopicsRunning {
    address: Option<SocketAddr>,
    tls_address: Option<SocketAddr>,
    door: Arc<TopicDoorState>,
    tasks: Vec<JoinHandle<()>>,
}

impl TopicsRunning {
    /// Where it listens in the clear.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where it listens by TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Turns true when an EXIT request with the right role stops the server.
    pub fn exit(&self) -> watch::Receiver<bool> {
        self.door.exit.subscribe()
    }

    /// Stops listening, ends every connection once its current requests are answered, and returns when they
    /// are gone, or a little later.
    pub async fn stop(self) {
        self.door.stop.send_replace(true);
        for task in self.tasks {
            let _ = task.await;
        }
        let begin = Instant::now();
        while self.door.live.load(Ordering::Relaxed) > 0 {
            if begin.elapsed() > GRACE {
                tracing::warn!("connections of the topic door did not end in time");
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Opens the door.
///
/// # Errors
/// A setting that cannot be, an address that cannot be listened on, a bus that cannot be read.
pub async fn start(config: TopicsConfig, deps: TopicsDeps) -> Result<TopicsRunning, TopicsError> {
    if let Some(problem) = config.problems().into_iter().next() {
        let field = problem.field.strip_prefix("topics.").unwrap_or(&problem.field).to_owned();
        return Err(TopicsError { field, why: problem.reason });
    }
    let failed = |field: &str, why: String| TopicsError { field: field.to_owned(), why };
    let tls = config.tls.as_ref().map(TlsServer::new).transpose();
    let tls = tls.map_err(|error| failed(error.field, error.why))?;
    let runtime = Handle::current();
    let logins = open_logins(&config, &deps, &runtime).await.map_err(|why| failed("bus", why))?;
    let (bus, settings, topics_max) = (deps.bus, config.settings(), config.topics_max);
    let topic_cache = runtime.spawn_blocking(move || TopicCache::open(bus, settings, topics_max)).await;
    let topic_cache = topic_cache.map_err(|error| failed("bus", error.to_string()))?;
    let topic_cache = topic_cache.map_err(|error| failed("bus", error.to_string()))?;
    let door = Arc::new(TopicDoorState {
        config,
        topic_cache: Arc::new(topic_cache),
        meter: TopicMeter::new(),
        cores: deps.cores,
        logins,
        token_check: deps.token_check,
        gatekeeper: deps.gatekeeper,
        runtime,
        begin: Instant::now(),
        live: AtomicUsize::new(0),
        handles: Mutex::default(),
        next_handle: AtomicU64::new(0),
        stop: watch::Sender::new(false),
        exit: watch::Sender::new(false),
    });
    let mut running =
        TopicsRunning { address: None, tls_address: None, door: Arc::clone(&door), tasks: Vec::new() };
    let descriptors = Arc::clone(&door.gatekeeper.descriptors);
    let limits = ListenerLimits::of_door("topics", door.config.limits.clone(), descriptors);
    for (field, listen, tls) in
        [("listen", door.config.listen, None), ("listen_tls", door.config.tls_listen, tls)]
    {
        let Some(listen) = listen else { continue };
        let cannot = |error: io::Error| failed(field, format!("cannot listen on {listen}: {error}"));
        let listener = Listener::bind(&listen.to_string(), limits.clone()).await.map_err(cannot)?;
        let address = Some(listener.address().map_err(cannot)?);
        match field {
            "listen" => running.address = address,
            _ => running.tls_address = address,
        }
        let needs_auth = !listen.ip().is_loopback();
        running.tasks.push(tokio::spawn(serve(Arc::clone(&door), listener, tls, needs_auth)));
    }
    let watching = Arc::clone(&door);
    running.tasks.push(tokio::spawn(async move { watching.watch_handles().await }));
    if door.config.others.is_shared {
        running.tasks.push(tokio::spawn(async move { door.follow().await }));
    }
    Ok(running)
}

/// What people log in by, where a route writes into their sessions.
async fn open_logins(
    config: &TopicsConfig,
    deps: &TopicsDeps,
    runtime: &Handle,
) -> Result<Option<Arc<Logins>>, String> {
    let route = config.others.line_route.clone();
    let Some((route, people)) = route.zip(deps.people.clone()) else { return Ok(None) };
    let (bus, guessing) = (Arc::clone(&deps.bus), Arc::clone(&deps.gatekeeper.guessing));
    let at = runtime.clone();
    let opened = runtime.spawn_blocking(move || Logins::open(people, &route, (&*bus, at), guessing)).await;
    let opened = opened.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(opened)))
}

/// Accepts until the door closes.
async fn serve(door: Arc<TopicDoorState>, listener: Listener, tls: Option<TlsServer>, needs_auth: bool) {
    let (mut stopping, cores, state) = (door.stopping(), Arc::clone(&door.cores), Arc::clone(&door));
    let each = move |stream: Stream, client: SocketAddr, place: ConnectionPlace| {
        let door = Arc::clone(&state);
        async move {
            // Whom a balancer brings from beyond this machine needs a token too.
            let needs_auth = needs_auth || !client.ip().to_canonical().is_loopback();
            let connection = TopicConnection::new(&door, needs_auth, (client.ip(), place));
            match stream {
                Stream::Plain(tcp) if !door.is_crowded() => match tcp.into_std() {
                    Ok(tcp) => threads::start(&door, tcp, connection),
                    Err(error) => tracing::debug!(%error, "a connection ended before it began"),
                },
                stream => reactor::run(&door, stream, connection).await,
            }
        }
    };
    tokio::select! {
        () = listener.serve(&cores, tls, each) => {}
        _ = stopping.wait_for(|stop| *stop) => {}
    }
}
