//! Listener of the SMTP door: drives a server machine for each connection.

use super::inbound_mail::InboundMailHandler;
use super::tag::TaggedAddresses;
use super::{MAIL_OCTETS_MAX, RECIPIENTS_MAX, SmtpConfig, SmtpDeps};
use net::{Balancers, ConnectionPlace, DescriptorBudget, Link, Listener, ListenerLimits, Places, Stream};
use smtp::server::{ServerOptions, SessionLimits, SmtpServer, SmtpServerEvent};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Connections at a time. One more takes the place of a waiting one, or is closed.
pub const CONNECTIONS_MAX: usize = 200;
/// Connections at a time of one address.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 50;
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
    let places = Places::new(CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, DescriptorBudget::unlimited());
    let listener = Listener::bind(&config.listen, ListenerLimits { places, balancers: Balancers::default() })
        .await
        .map_err(cannot)?;
    let address = listener.address().map_err(cannot)?;
    let (stop, stopping) = watch::channel(false);
    let (cores, kept) = (Arc::clone(&deps.cores), Arc::clone(&deps.cores));
    let limits = SessionLimits {
        mail_octets_max: MAIL_OCTETS_MAX,
        recipients_max: RECIPIENTS_MAX,
        ..SessionLimits::default()
    };
    let options = ServerOptions { hostname: config.domain.clone(), software: "Campanile", limits };
    let ours = TaggedAddresses { domain: config.domain, tags: deps.tags };
    let task = tokio::spawn(async move {
        let mut stopped = stopping.clone();
        let each = move |stream: Stream, peer: SocketAddr, place: ConnectionPlace| {
            let server = SmtpServer::new(options.clone(), ours.clone(), Instant::now());
            let (handler, stopping) = (handler.clone(), stopping.clone());
            async move {
                if let Err(error) = talk(Link::new(stream), server, &handler, &place, stopping).await {
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

/// One connection, until either side ends it.
async fn talk(
    mut link: Link,
    mut server: SmtpServer<TaggedAddresses>,
    handler: &InboundMailHandler,
    place: &ConnectionPlace,
    mut stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    loop {
        let now = Instant::now();
        server.handle_timeout(now);
        while let Some(SmtpServerEvent::Mail(mail)) = server.poll_event() {
            // The client waits for its reply, so nothing else of it waits here.
            place.set_busy();
            let disposition = handler.handle(&mail).await;
            place.set_waiting();
            server.finish_mail(Instant::now(), disposition);
        }
        link.fill(&mut server);
        if server.is_finished() {
            return last_words(link, server).await;
        }
        let due = server.poll_timeout().unwrap_or(now + IDLE);
        let reading = server.wants_input();
        tokio::select! {
            biased;
            progress = link.progress(&mut server, reading) => {
                if progress?.closed {
                    return Ok(());
                }
            }
            () = place.sent_out() => return Ok(()),
            _ = stopping.wait_for(|stop| *stop) => server.stop(),
            () = tokio::time::sleep_until(due.into()) => {}
        }
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
