//! The sessions of a route: how many there are, and when each is bound.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::pace::Backoff;
use net::{Cores, DriveEnd, Link, Listener, ListenerLimits, Stream, TlsClient, connect, drive, hang_up};
use smpp::pdu::BindMode;
use smpp::session::{Role, Session};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::carrier::Carrier;
use super::config::{SESSIONS_MAX, SmsRoute};
use super::session::{CarrierConnection, Ending, bind_of};
use crate::context::Stop;
use crate::dispatcher::RouteRemark;
use crate::route_loop::ChangeScope;

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// A session that was bound for so long begins with the first wait again.
const STEADY: Duration = Duration::from_secs(10);
/// An address that cannot be listened on is tried again after so long.
const RELISTEN: Duration = Duration::from_secs(5);

/// What keeps sessions.
pub(super) struct SessionPool {
    carrier: Arc<Carrier>,
    tls: Option<TlsClient>,
    posts: Vec<SessionTask>,
    tasks: JoinSet<()>,
}

/// A task that keeps a session bound.
struct SessionTask {
    kind: SessionKind,
    stop: watch::Sender<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionKind {
    /// We connect.
    Open(BindMode),
    /// The SMSC does.
    Outbind,
}

impl SessionPool {
    pub(super) fn new(carrier: Arc<Carrier>, tls: Option<TlsClient>) -> SessionPool {
        SessionPool { carrier, tls, posts: Vec::new(), tasks: JoinSet::new() }
    }

    /// As many posts as the settings say: what is missing is begun, what is too much ends in order.
    pub(super) fn fill(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        let config = self.carrier.config();
        let mut wanted: Vec<SessionKind> = config.modes().into_iter().map(SessionKind::Open).collect();
        wanted.extend(config.outbind.as_ref().map(|_| SessionKind::Outbind));
        self.posts.retain(|post| match wanted.iter().position(|kind| *kind == post.kind) {
            Some(at) => {
                wanted.swap_remove(at);
                true
            }
            None => {
                let _ = post.stop.send(true);
                false
            }
        });
        wanted.into_iter().for_each(|kind| self.begin(kind));
    }

    fn begin(&mut self, kind: SessionKind) {
        let (stop, stopping) = Stop::pair();
        let carrier = Arc::clone(&self.carrier);
        match kind {
            SessionKind::Open(mode) => {
                self.tasks.spawn(keep_session(carrier, self.tls.clone(), mode, stopping))
            }
            SessionKind::Outbind => self.tasks.spawn(keep_listening(carrier, stopping)),
        };
        self.posts.push(SessionTask { kind, stop });
    }

    /// Goes on with other settings, which the carrier has already.
    pub(super) async fn change(&mut self, step: ChangeScope, tls: Option<TlsClient>) {
        if step == ChangeScope::Rebind {
            self.tls = tls;
            // A carrier counts binds: the old ones go first.
            self.end().await;
        }
        self.fill();
    }

    /// All sessions end in order.
    pub(super) async fn end(&mut self) {
        for post in self.posts.drain(..) {
            let _ = post.stop.send(true);
        }
        while self.tasks.join_next().await.is_some() {}
    }
}

/// One session, bound again whenever it ends, or whenever there is need, until it is stopped.
async fn keep_session(carrier: Arc<Carrier>, tls: Option<TlsClient>, mode: BindMode, mut stop: Stop) {
    let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
    let (mut well, mut polled) = (true, None);
    while !stop.is_set() {
        // One that failed is bound again also without need: somebody must see when the carrier is back.
        let rests =
            carrier.config().is_on_demand() && well && (!mode.transmits() || carrier.dispatcher.is_well());
        if rests && !is_needed(&carrier, mode, polled, &mut stop).await {
            return;
        }
        let begun = Instant::now();
        let (trouble, ending) = session(&carrier, tls.as_ref(), mode, &stop).await;
        polled = Some(Instant::now());
        well = ending.rested;
        if stop.is_set() {
            return;
        }
        if ending.bound && begun.elapsed() >= STEADY || ending.rested {
            backoff.reset();
        }
        if ending.rested {
            continue;
        }
        let wait = backoff.wait(chance());
        let wait_ms = wait.as_millis() as u64;
        tracing::warn!(route = carrier.name(), ?mode, trouble, wait_ms, "not bound");
        match mode.transmits() {
            true => carrier.dispatcher.trouble(&trouble),
            false => carrier.dispatcher.remark(RouteRemark::WhileDown(&trouble)),
        }
        carrier.give_up_if_down();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => {}
        }
    }
}

/// Resolves when a session bound on demand should be: there is something to send, or it is time to look for
/// what waits for us. False: it was stopped.
async fn is_needed(carrier: &Carrier, mode: BindMode, polled: Option<Instant>, stop: &mut Stop) -> bool {
    let listener = carrier.dispatcher.listen();
    loop {
        if mode.transmits() && carrier.has_work() {
            return true;
        }
        let poll = async {
            match polled {
                _ if !mode.receives() => std::future::pending().await,
                None => {}
                Some(at) => tokio::time::sleep_until((at + carrier.config().poll_every).into()).await,
            }
        };
        tokio::select! {
            () = listener.notified() => {}
            () = poll => return true,
            () = stop.wait() => return false,
        }
    }
}

/// From connecting to the end; says why it ended, and how it went.
async fn session(
    carrier: &Arc<Carrier>,
    tls: Option<&TlsClient>,
    mode: BindMode,
    stop: &Stop,
) -> (String, Ending) {
    let config = carrier.config();
    let mut stopping = stop.clone();
    let stream = tokio::select! {
        stream = connect(&config.address, tls, config.connect_timeout) => match stream {
            Ok(stream) => stream,
            Err(error) => return (error.to_string(), Ending::default()),
        },
        () = stopping.wait() => return ("stopped".to_owned(), Ending::default()),
    };
    let now = Instant::now();
    let mut machine = Session::new(Role::Esme, config.session(), now);
    if let Err(error) = machine.bind(&bind_of(&config, mode), now) {
        return (format!("cannot bind: {error}"), Ending::default());
    }
    let connection = CarrierConnection::new(Arc::clone(carrier), mode, stop.clone());
    converse(stream, machine, connection, &config, stopping).await
}

/// From the first octet to the end of the connection.
async fn converse(
    stream: Stream,
    mut machine: Session,
    mut connection: CarrierConnection,
    config: &SmsRoute,
    mut stopping: Stop,
) -> (String, Ending) {
    let mut link = Link::new(stream);
    let end = tokio::select! {
        end = drive(&mut link, &mut machine, &mut connection) => end,
        // The carrier does not even answer the unbind.
        () = overdue(&mut stopping, config.drain) => DriveEnd::Finished,
    };
    hang_up(&mut machine, &mut connection);
    let why = words(&connection.end, &end);
    let ending = connection.leave(&why, Instant::now());
    (why, ending)
}

/// Listens for SMSCs that ask us to bind. At most as many of them at a time as the route has sessions; one
/// more is closed.
async fn keep_listening(carrier: Arc<Carrier>, mut stop: Stop) {
    let mut sessions = JoinSet::new();
    while !stop.is_set() {
        let config = carrier.config();
        let Some(address) = &config.outbind else { break };
        match Listener::bind(address, ListenerLimits::of(config.sessions as usize)).await {
            Ok(listener) => answer_outbinds(&carrier, &listener, &mut sessions, &mut stop).await,
            Err(error) => {
                tracing::error!(route = carrier.name(), address, %error, "cannot listen for outbind: no SMSC can request a bind until this succeeds");
                tokio::select! {
                    () = tokio::time::sleep(RELISTEN) => {}
                    () = stop.wait() => {}
                }
            }
        }
    }
    while sessions.join_next().await.is_some() {}
}

async fn answer_outbinds(
    carrier: &Arc<Carrier>,
    listener: &Listener,
    sessions: &mut JoinSet<()>,
    stop: &mut Stop,
) {
    let (tell, mut told) = mpsc::channel(SESSIONS_MAX as usize);
    let here = Cores::from_handles(Vec::new());
    let serve = listener.serve(&here, None, move |stream, _, place| {
        let tell = tell.clone();
        async move {
            // The connection has its place until its session ends.
            place.set_busy();
            let (done, ended) = oneshot::channel::<()>();
            if tell.send((stream, done)).await.is_ok() {
                let _ = ended.await;
            }
            drop(place);
        }
    });
    tokio::pin!(serve);
    loop {
        tokio::select! {
            () = &mut serve => return,
            Some((stream, done)) = told.recv() => {
                while sessions.try_join_next().is_some() {}
                sessions.spawn(outbound(Arc::clone(carrier), stream, stop.clone(), done));
            }
            () = stop.wait() => return,
        }
    }
}

/// A session that an SMSC asked for.
async fn outbound(carrier: Arc<Carrier>, stream: Stream, stop: Stop, done: oneshot::Sender<()>) {
    let config = carrier.config();
    let machine = Session::new(Role::Esme, config.session(), Instant::now());
    let connection =
        CarrierConnection::new(Arc::clone(&carrier), config.outbind_mode(), stop.clone()).asked();
    let (why, _) = converse(stream, machine, connection, &config, stop).await;
    tracing::info!(route = carrier.name(), why, "a session that the SMSC requested by outbind has ended");
    drop(done);
}

/// Resolves when a session that was told to stop has had its time: for the rest of a message, for what was
/// under way, and as much again for the unbind.
async fn overdue(stopping: &mut Stop, drain: Duration) {
    stopping.wait().await;
    tokio::time::sleep(drain * 3).await;
}

fn words(ending: &Ending, end: &DriveEnd) -> String {
    match (ending.refused, ending.reason, end) {
        (Some(status), ..) => format!("the carrier refused the bind: {status}"),
        (None, _, DriveEnd::Broken(error)) => format!("the connection broke: {error}"),
        (None, Some(reason), _) => reason.to_string(),
        (None, None, _) => "the connection went away".to_owned(),
    }
}

/// From 0 to 1: so that a thousand sessions cut off together do not come back together.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
