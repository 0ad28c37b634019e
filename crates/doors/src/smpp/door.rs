//! Server of the SMPP door: listens, drives a session for each connection, and stops in order.

use super::clients::Clients;
use super::config::SmppConfig;
use super::connection::SmppConnection;
use super::message_control::MessageControl;
use super::places::ConnectionPlaces;
use super::unbound::UnboundConnections;
use super::{Clock, SmppDeps};
use crate::Gatekeeper;
use bus::{Bus, Topic};
use net::{ConnectionPlace, Cores, DriveEnd, Link, Listener, ListenerLimits, Stream, TlsServer, drive};
use records::INTAKE;
use smpp::pdu::Version;
use smpp::session::{self, Role, Session, WINDOW_MAX};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Beside the drain time, sessions get so long to end when the door closes.
const GRACE: Duration = Duration::from_secs(3);

/// The error of opening the door.
#[derive(Debug)]
pub struct SmppError {
    /// The key of `[smpp]`.
    pub field: &'static str,
    /// The text of the error.
    pub why: String,
}

impl std::fmt::Display for SmppError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[smpp] {}: {}", self.field, self.why)
    }
}
impl std::error::Error for SmppError {}

/// State that all sessions share.
pub(super) struct SmppDoorState {
    pub(super) config: SmppConfig,
    pub(super) clients: Arc<Clients>,
    pub(super) intake: Arc<dyn MessageControl>,
    pub(super) intake_topic: Arc<dyn Topic>,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) clock: Clock,
    pub(super) gatekeeper: Gatekeeper,
    pub(super) unbound: Arc<UnboundConnections>,
}

/// A door that is open.
pub struct SmppRunning {
    address: Option<SocketAddr>,
    tls_address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
    longest: Duration,
    /// Where its sessions live: they must outlive the listeners to be unbound.
    cores: Arc<Cores>,
}

impl SmppRunning {
    /// Where it listens in the clear.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where it listens by TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Stops listening, unbinds every session once its outstanding requests have drained, and returns when
    /// they are gone, or a little after the drain time.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        for listener in self.listeners {
            let _ = listener.await;
        }
        // Each session holds a receiver until it has ended.
        if tokio::time::timeout(self.longest, self.stop.closed()).await.is_err() {
            tracing::warn!("sessions of SMPP clients did not end in time");
        }
        drop(self.cores);
    }
}

/// Opens the door.
///
/// # Errors
/// A setting that cannot be, an address that cannot be listened on, a bus that cannot be opened.
pub async fn start(config: SmppConfig, deps: SmppDeps) -> Result<SmppRunning, SmppError> {
    if let Some(problem) = config.problems().into_iter().next() {
        return Err(SmppError { field: "config", why: format!("{}: {}", problem.field, problem.reason) });
    }
    let failed = |field, why: String| SmppError { field, why };
    let intake_topic = deps.bus.topic(INTAKE).map_err(|error| failed("bus", error.to_string()))?;
    let tls = config.tls.as_ref().map(TlsServer::new).transpose();
    let tls = tls.map_err(|error| failed(error.field, error.why))?;
    let (listen, tls_listen) = (config.listen.clone(), config.tls_listen.clone());
    let (limits, longest) = (config.limits.clone(), config.drain + GRACE);
    let door = Arc::new(SmppDoorState {
        config,
        clients: deps.clients,
        intake: deps.intake,
        intake_topic,
        bus: deps.bus,
        clock: deps.clock,
        unbound: Arc::new(UnboundConnections::new(limits.connections_max)),
        gatekeeper: deps.gatekeeper,
    });
    let (stop, stopping) = watch::channel(false);
    let mut running = SmppRunning {
        address: None,
        tls_address: None,
        stop,
        listeners: Vec::new(),
        longest,
        cores: Arc::clone(&deps.cores),
    };
    let limits = ListenerLimits::of_door("smpp", limits, Arc::clone(&door.gatekeeper.descriptors));
    for (field, listen, tls) in [("listen", listen, None), ("tls_listen", tls_listen, tls)] {
        let Some(listen) = listen else { continue };
        let cannot = |error: io::Error| failed(field, format!("cannot listen on {listen}: {error}"));
        let listener = Listener::bind(&listen, limits.clone()).await.map_err(cannot)?;
        let address = listener.address().map_err(cannot)?;
        match field {
            "listen" => running.address = Some(address),
            _ => running.tls_address = Some(address),
        }
        let serving = serve(listener, tls, Arc::clone(&door), Arc::clone(&deps.cores), stopping.clone());
        running.listeners.push(tokio::spawn(serving));
    }
    Ok(running)
}

async fn serve(
    listener: Listener,
    tls: Option<TlsServer>,
    door: Arc<SmppDoorState>,
    cores: Arc<Cores>,
    stopping: watch::Receiver<bool>,
) {
    let mut stopped = stopping.clone();
    let each = move |stream: Stream, peer: SocketAddr, place: ConnectionPlace| {
        let (door, stopping) = (Arc::clone(&door), stopping.clone());
        connection(stream, peer, place, door, stopping)
    };
    tokio::select! {
        () = listener.serve(&cores, tls, each) => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
}

/// One connection, until either side ends it.
async fn connection(
    stream: Stream,
    peer: SocketAddr,
    place: ConnectionPlace,
    door: Arc<SmppDoorState>,
    stopping: watch::Receiver<bool>,
) {
    let places = ConnectionPlaces::new(place, door.unbound.enter(peer.ip()));
    let mut session = Session::new(Role::Smsc, door.session(), Instant::now());
    let mut link = Link::new(stream);
    let mut worker = SmppConnection::new(door, peer, places, stopping);
    if let DriveEnd::Broken(error) = drive(&mut link, &mut session, &mut worker).await {
        tracing::debug!(%peer, %error, "a client's connection broke");
    }
    worker.close();
}

impl SmppDoorState {
    /// Limits and timers of a session. The client is not known yet: its own window is kept by the worker.
    fn session(&self) -> session::Config {
        session::Config {
            version: Version::V5_0,
            peer_window: WINDOW_MAX,
            session_init: self.config.session_init,
            response: self.config.response,
            enquire_link: Some(self.config.enquire_link),
            inactivity: self.config.inactivity,
            drain: self.config.drain,
            write_stall: self.config.write_stall,
            ..session::Config::default()
        }
    }
}
