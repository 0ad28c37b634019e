//! Listener of the SMTP door: drives a server machine for each connection, and begins TLS where it is asked
//! for.

use super::inbound_mail::InboundMailHandler;
use super::tag::TaggedAddresses;
use super::{AuthenticatingRelays, KEPT_OCTETS_MAX, MAIL_OCTETS_MAX, RECIPIENTS_MAX, SmtpConfig, SmtpDeps};
use net::{ConnectionPlace, HANDSHAKE_MAX, Link, Listener, ListenerLimits, Stream, TlsServer};
use smtp::server::{ServerOptions, SessionLimits, SmtpServer, SmtpServerEvent};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Connections get so long to end when the door closes.
const GRACE: Duration = Duration::from_secs(5);
/// Time to write the waiting octets when a session ends.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Without any deadline a connection is still looked at this often.
const IDLE: Duration = Duration::from_secs(60);

/// The error of opening the door.
#[derive(Debug)]
pub struct SmtpError {
    /// The key of `[smtp]`.
    pub field: &'static str,
    /// The text of the error.
    pub why: String,
}

impl std::fmt::Display for SmtpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[smtp] {}: {}", self.field, self.why)
    }
}
impl std::error::Error for SmtpError {}

/// A door that is open.
pub struct SmtpRunning {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// The cores of its connections: they must outlive the listener, to write the last replies.
    cores: Arc<net::Cores>,
}

impl SmtpRunning {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, announces that to the connected clients, and returns when they are gone, or 5 s
    /// later.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
        // Each connection holds a receiver until it has ended.
        let _ = tokio::time::timeout(GRACE, self.stop.closed()).await;
        drop(self.cores);
    }
}

/// Opens the door.
///
/// # Errors
/// A domain that cannot be one, an address that cannot be listened on, a bus that cannot be opened.
pub async fn serve(config: SmtpConfig, deps: SmtpDeps) -> Result<SmtpRunning, SmtpError> {
    let failed = |field, why: String| SmtpError { field, why };
    config.check().map_err(|why| failed("domain", why))?;
    let handler = InboundMailHandler::open(&deps).map_err(|error| failed("bus", error.to_string()))?;
    let cannot = |error: io::Error| failed("listen", format!("cannot listen on {}: {error}", config.listen));
    let tls = config.tls.as_ref().map(TlsServer::new).transpose();
    let tls = tls.map_err(|error| failed(error.field, error.why))?;
    let descriptors = deps.gatekeeper.descriptors.clone();
    let limits = ListenerLimits::of_door("smtp", config.limits.clone(), descriptors);
    let listener = Listener::bind(&config.listen, limits).await.map_err(cannot)?;
    let address = listener.address().map_err(cannot)?;
    let (stop, stopping) = watch::channel(false);
    let (cores, kept) = (Arc::clone(&deps.cores), Arc::clone(&deps.cores));
    let (options, write_stall) = (options(&config), config.write_stall);
    let relays = config.relays.clone().map(Arc::new);
    let (domain, tags, guessing) = (config.domain, deps.tags, deps.gatekeeper.guessing);
    let ours = Arc::new(move |client, takes_untagged| TaggedAddresses {
        domain: domain.clone(),
        tags: tags.clone(),
        takes_untagged,
        guessing: guessing.clone(),
        client,
    });
    let task = tokio::spawn(async move {
        let mut stopped = stopping.clone();
        let each = move |stream: Stream, peer: SocketAddr, place: ConnectionPlace| {
            let relays = relays.clone().filter(|relays| relays.hold(peer.ip()));
            let connection = SmtpConnection {
                link: Link::new(stream),
                server: SmtpServer::new(options.clone(), ours(peer.ip(), relays.is_some()), Instant::now()),
                relays,
                handler: handler.clone(),
                place,
                tls: tls.clone(),
                starts_tls: false,
                write_stall,
                stalled: None,
            };
            let stopping = stopping.clone();
            async move {
                if let Err(error) = connection.talk(stopping).await {
                    tracing::debug!(%peer, %error, "an SMTP connection broke");
                }
            }
        };
        tokio::select! {
            () = listener.serve(&cores, None, each) => {}
            _ = stopped.wait_for(|stop| *stop) => {}
        }
    });
    Ok(SmtpRunning { address, stop, task, cores: kept })
}

fn options(config: &SmtpConfig) -> ServerOptions {
    let limits = SessionLimits {
        mail_octets_max: MAIL_OCTETS_MAX,
        kept_octets_max: KEPT_OCTETS_MAX,
        recipients_max: RECIPIENTS_MAX,
        command_within: config.command,
        mail_within: config.mail,
        ..SessionLimits::default()
    };
    let start_tls = config.tls.is_some();
    ServerOptions { hostname: config.domain.clone(), software: "Campanile", start_tls, limits }
}

/// One connection, until either side ends it.
struct SmtpConnection {
    link: Link,
    server: SmtpServer<TaggedAddresses>,
    handler: InboundMailHandler,
    /// Where the client is one of them.
    relays: Option<Arc<AuthenticatingRelays>>,
    place: ConnectionPlace,
    tls: Option<TlsServer>,
    /// STARTTLS came, and its reply is not written yet.
    starts_tls: bool,
    write_stall: Duration,
    /// Since when the client does not take what waits for it.
    stalled: Option<Instant>,
}

impl SmtpConnection {
    async fn talk(mut self, mut stopping: watch::Receiver<bool>) -> io::Result<()> {
        loop {
            let now = Instant::now();
            self.server.handle_timeout(now);
            self.handle_events().await;
            self.link.fill(&mut self.server);
            if self.server.is_finished() {
                return last_words(self.link, self.server).await;
            }
            if self.starts_tls && self.link.is_empty() {
                self = self.shake_hands().await?;
                continue;
            }
            let due = self.server.poll_timeout().unwrap_or(now + IDLE).min(self.stall_end(now));
            let reading = self.server.wants_input();
            tokio::select! {
                biased;
                progress = self.link.progress(&mut self.server, reading) => {
                    if progress?.closed {
                        return Ok(());
                    }
                }
                () = self.place.sent_out() => return Err(io::Error::other("it made room for another one of its network")),
                _ = stopping.wait_for(|stop| *stop) => self.server.stop(),
                () = tokio::time::sleep_until(due.into()) => {
                    if self.stalled.is_some_and(|since| since.elapsed() >= self.write_stall) {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its replies"));
                    }
                }
            }
        }
    }

    async fn handle_events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                SmtpServerEvent::Mail(mail) => {
                    // The client waits for its reply, so nothing else of it waits here.
                    self.place.set_busy();
                    let authserv_id = self.relays.as_ref().map(|relays| relays.authserv_id.as_str());
                    let disposition = self.handler.handle(&mail, authserv_id).await;
                    self.place.set_waiting();
                    self.server.finish_mail(Instant::now(), disposition);
                }
                SmtpServerEvent::StartTls => self.starts_tls = true,
            }
        }
    }

    /// When a client that takes nothing is given up.
    fn stall_end(&mut self, now: Instant) -> Instant {
        if self.link.is_empty() {
            self.stalled = None;
            return now + IDLE;
        }
        *self.stalled.get_or_insert(now) + self.write_stall
    }

    /// What came in the clear and was not read is the beginning of TLS, or no TLS at all.
    async fn shake_hands(self) -> io::Result<SmtpConnection> {
        let Some(tls) = &self.tls else { return Err(io::Error::other("no certificate")) };
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(HANDSHAKE_MAX, self.link.into_stream().into_tls_server(tls)) => shaken,
            () = self.place.sent_out() => return Err(io::Error::other("it made room for another one of its network")),
        };
        let mut server = self.server;
        let link = Link::new(shaken.map_err(io::Error::from)??);
        server.start_tls(Instant::now());
        Ok(SmtpConnection { link, server, starts_tls: false, ..self })
    }
}

async fn last_words(mut link: Link, mut server: SmtpServer<TaggedAddresses>) -> io::Result<()> {
    let write = async {
        loop {
            link.fill(&mut server);
            if link.is_empty() {
                return link.close().await;
            }
            link.progress(&mut server, false).await?;
        }
    };
    tokio::time::timeout(LAST_WORDS, write).await.unwrap_or(Ok(()))
}
