//! Server of the HTTP door: listens, accepts within the places that there are, serves HTTP/1.1 on each
//! connection, or HTTP/2 where a client chooses it under TLS, and stops in order.

mod client_address;
mod host;
mod http2;
mod other_protocol;
mod watched;

pub(crate) use client_address::ClientAddress;
pub(crate) use host::is_host;
#[cfg(test)]
pub(crate) use http2::STREAMS_MAX as HTTP2_STREAMS_MAX;

use crate::activity::{Activity, ClientTimes};
use crate::http::app::App;
use crate::http::approvals;
use crate::http::console::Console;
use crate::http::problem::{HttpProblem, ProblemKind};
use crate::http::session::links::SignInLinks;
use crate::http::{AdminRecord, Deps, HttpConfig, router, schedules};
use crate::kannel::{BEGINNING_OCTETS, FastPath, GeneralPath, PATH, SendSms, is_for_fast_path};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use client_address::client_of;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use net::{Balancers, ConnectionPlace, Places, read_client};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use watched::{WatchedBody, WatchedStream};

/// A TLS handshake must be over within this.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Requests still running when the server stops get so long.
const GRACE: Duration = Duration::from_secs(10);
/// After an error of accept (too many open files, mostly) the next try waits.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// Octets of a connection's read buffer, and so of a request's head.
const HEAD_OCTETS_MAX: usize = 64 << 10;
/// HTTP/1.1, as the TLS handshake names it (RFC 7301, section 6).
const HTTP_1_1: &[u8] = b"http/1.1";
/// Interval at which histograms are folded, scraped or not.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// The error of opening the door.
#[derive(Debug)]
pub struct ServeError {
    /// Where.
    pub listen: SocketAddr,
    /// The system's error.
    pub why: io::Error,
}

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[http] listen: cannot listen on {}: {}", self.listen, self.why)
    }
}
impl std::error::Error for ServeError {}

/// A door that is open.
pub struct HttpRunning {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    admin: AdminRecord,
    links: SignInLinks,
    #[cfg(test)]
    app: App,
}

impl HttpRunning {
    /// The state that its handlers share.
    #[cfg(test)]
    pub(crate) fn app(&self) -> App {
        self.app.clone()
    }

    /// Passwords that were hashed.
    #[cfg(test)]
    pub(crate) fn password_hashes(&self) -> u64 {
        self.app.auth.sign_in.hasher.count()
    }

    /// What it knows of admin tokens; whoever makes one sets it.
    pub fn admin_record(&self) -> AdminRecord {
        self.admin.clone()
    }

    /// Makes one-time links that sign users in at this door.
    pub fn sign_in_links(&self) -> SignInLinks {
        self.links.clone()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, lets running requests end (10 s), ends event streams, and returns.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the task of the HTTP door failed");
        }
    }
}

/// Opens the door on the runtime this is called on.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn serve(config: HttpConfig, deps: Deps) -> Result<HttpRunning, ServeError> {
    let failed = |why| ServeError { listen: config.listen, why };
    let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (stop, stopping) = watch::channel(false);
    let metrics = deps.metrics.clone();
    let sendsms = SendSms::new(
        deps.messages.clone(),
        deps.policies.platforms.clone(),
        deps.guessing.clone(),
        deps.policies.outbound.clone(),
        deps.clock.clone(),
    );
    let app = App::new(deps, &config, stopping.clone());
    let (following, telling) = (app.clone(), app.clone());
    let (scheduling, keeping) = (app.clone(), app.clone());
    let (admin, links) = (app.auth.admin.clone(), app.auth.sign_in.links.clone());
    #[cfg(test)]
    let shared = app.clone();
    let door = HttpDoorState {
        paths: RequestPaths::new(app, Arc::new(sendsms), Console::new(config.console)),
        tls: config.tls.as_deref().map(offering_http2).map(TlsAcceptor::from),
        places: Places::new(
            config.limits.connections_max,
            config.limits.connections_per_address_max,
            config.descriptors,
        ),
        balancers: config.balancers,
        trusted_proxies: Arc::new(config.trusted_proxies),
        refused: metrics::counter!("campanile_connections_refused_total", "door" => "http"),
        times: ClientTimes { head: config.limits.head_timeout, write_stall: config.limits.write_stall },
        stopping,
    };
    tracing::info!(%address, tls = config.tls.is_some(), "the HTTP door is open");
    let task = tokio::spawn(async move {
        let upkeep = metrics.map(|handle| tokio::spawn(fold_metrics(handle)));
        let following = tokio::spawn(async move { following.follow_revocations().await });
        let telling = tokio::spawn(approvals::notices::run(telling));
        let scheduling = tokio::spawn(schedules::runner::run(scheduling));
        let keeping = tokio::spawn(crate::http::imports::keeper::keep(keeping));
        door.run(listener).await;
        scheduling.abort();
        following.abort();
        telling.abort();
        keeping.abort();
        if let Some(upkeep) = upkeep {
            upkeep.abort();
        }
    });
    Ok(HttpRunning {
        address,
        stop,
        task,
        admin,
        links,
        #[cfg(test)]
        app: shared,
    })
}

async fn fold_metrics(handle: metrics_exporter_prometheus::PrometheusHandle) {
    let mut tick = tokio::time::interval(METRICS_UPKEEP);
    loop {
        tick.tick().await;
        handle.run_upkeep();
    }
}

struct HttpDoorState {
    paths: RequestPaths,
    tls: Option<TlsAcceptor>,
    places: Arc<Places>,
    /// Their connections begin with a PROXY header.
    balancers: Balancers,
    /// Their requests name the client in a header.
    trusted_proxies: Arc<Balancers>,
    refused: metrics::Counter,
    times: ClientTimes,
    stopping: watch::Receiver<bool>,
}

impl HttpDoorState {
    async fn run(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        let mut stopping = self.stopping.clone();
        loop {
            // Ended connections are taken from the set as we go, so that it holds only those that live.
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                accepted = accept(&listener) => accepted,
                () = stopped(&mut stopping) => break,
            };
            let Some((stream, peer)) = accepted else { continue };
            match self.place(peer) {
                Ok(place) => _ = connections.spawn(self.connection(stream, peer, place)),
                Err(why) => {
                    self.refused.increment(1);
                    tracing::debug!(%peer, %why, "a connection is closed");
                }
            }
        }
        drop(listener);
        let ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::warn!("requests were cut off: they ran longer than the time to stop");
        }
    }

    fn place(&self, peer: SocketAddr) -> Result<ConnectionPlace, net::NoPlace> {
        let now = Instant::now();
        if self.balancers.holds(peer) || self.trusted_proxies.holds(peer) {
            return self.places.enter_balancer(peer.ip(), now);
        }
        self.places.enter(peer.ip(), now)
    }

    fn connection(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        place: ConnectionPlace,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (paths, tls, stopping) = (self.paths.clone(), self.tls.clone(), self.stopping.clone());
        let (has_header, trusted_proxies) = (self.balancers.holds(peer), Arc::clone(&self.trusted_proxies));
        let activity = Arc::new(Activity::new(place, self.times));
        async move {
            let sent_out = Arc::clone(&activity);
            let served = async move {
                let mut client = peer;
                if has_header {
                    client = read_client(&mut stream, peer).await?;
                    activity.place().move_to(client.ip(), Instant::now()).map_err(io::Error::other)?;
                }
                let connection = Connection { client, trusted_proxies, activity, paths, stopping };
                match tls {
                    None => connection.serve_plain(stream).await,
                    Some(tls) => {
                        if other_protocol::is_plain(&stream, HANDSHAKE_MAX).await? {
                            return other_protocol::refuse_plain(stream).await;
                        }
                        let handshake = tokio::time::timeout(HANDSHAKE_MAX, tls.accept(stream)).await;
                        let stream = handshake.map_err(io::Error::from)??;
                        match stream.get_ref().1.alpn_protocol() {
                            Some(http2::ALPN) => connection.serve_http2(stream).await,
                            _ => connection.serve_http(stream).await,
                        }
                    }
                }
            };
            let ended = tokio::select! {
                ended = served => ended,
                () = sent_out.place().sent_out() => Err(io::Error::other("it made room for another one of its network")),
            };
            if let Err(error) = ended {
                tracing::debug!(%peer, %error, "a connection ended early");
            }
        }
    }
}

/// The same TLS for clients of HTTP/2 and of HTTP/1.1; one that names neither is served HTTP/1.1.
fn offering_http2(tls: &rustls::ServerConfig) -> Arc<rustls::ServerConfig> {
    let mut tls = tls.clone();
    tls.alpn_protocols = vec![http2::ALPN.to_vec(), HTTP_1_1.to_vec()];
    Arc::new(tls)
}

async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            set_nodelay(&stream, peer);
            Some((stream, peer))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(ACCEPT_RETRY).await;
            None
        }
    }
}

/// The two paths of a request: the router, or the general path of sendsms, which does not need its layers.
#[derive(Clone)]
struct RequestPaths {
    router: TowerToHyperService<Router>,
    app: App,
    general_path: Arc<GeneralPath>,
    fast_path: Arc<FastPath>,
}

impl RequestPaths {
    fn new(app: App, sendsms: Arc<SendSms>, console: Console) -> RequestPaths {
        RequestPaths {
            router: TowerToHyperService::new(router::router(app.clone(), console)),
            app,
            general_path: Arc::new(GeneralPath::new(sendsms.clone())),
            fast_path: Arc::new(FastPath::new(sendsms)),
        }
    }

    async fn answer(
        self,
        mut request: Request<WatchedBody<Incoming>>,
        client: ClientAddress,
        activity: Arc<Activity>,
    ) -> Result<Response<Body>, Infallible> {
        if !host::has_valid_host(request.version(), request.headers()) {
            return Ok(HttpProblem::new(ProblemKind::BadHeader, host::WRONG_HOST).into_response());
        }
        if request.uri().path() == PATH {
            let from = (client.0, &activity);
            return Ok(self.general_path.answer(&self.app.bodies, request.map(Body::new), from).await);
        }
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(activity);
        self.router.call(request).await
    }
}

/// One connection, and whoever is at its other end.
#[derive(Clone)]
struct Connection {
    /// The client, as the connection or the balancer's header names it.
    client: SocketAddr,
    trusted_proxies: Arc<Balancers>,
    activity: Arc<Activity>,
    paths: RequestPaths,
    stopping: watch::Receiver<bool>,
}

impl Connection {
    /// A connection whose first request is for sendsms is served by the fast path as long as all its requests
    /// are.
    async fn serve_plain(mut self, stream: TcpStream) -> io::Result<()> {
        let mut beginning = [0; BEGINNING_OCTETS];
        let peeked = tokio::select! {
            peeked = tokio::time::timeout(self.activity.times().head, stream.peek(&mut beginning)) => peeked,
            () = stopped(&mut self.stopping) => return Ok(()),
        };
        let Ok(Ok(octets)) = peeked else { return Ok(()) };
        if other_protocol::is_tls(&beginning[..octets]) {
            return other_protocol::refuse_tls(stream, self.client).await;
        }
        if !is_for_fast_path(&beginning[..octets]) || self.trusted_proxies.holds(self.client) {
            return self.serve_http(stream).await;
        }
        let (client, activity) = (self.client, Arc::clone(&self.activity));
        match self.paths.fast_path.drive(stream, client, activity, self.stopping.clone()).await? {
            None => Ok(()),
            Some((stream, unread)) => {
                let (reads, writes) = TcpStream::from_std(stream)?.into_split();
                let unread = io::Cursor::new(unread);
                self.serve_http(tokio::io::join(unread.chain(reads), writes)).await
            }
        }
    }

    async fn serve_http<S>(self, stream: S) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Connection { client, trusted_proxies, activity, paths, mut stopping } = self;
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(activity.times().head)
            .max_buf_size(HEAD_OCTETS_MAX);
        let stream = WatchedStream::new(stream, Arc::clone(&activity));
        let service = service_fn(move |request: Request<Incoming>| {
            let (paths, activity) = (paths.clone(), Arc::clone(&activity));
            let client = client_of(client, request.headers(), &trusted_proxies);
            if request.body().is_end_stream() {
                activity.begin_request();
            }
            let request = request.map(|body| WatchedBody::of_request(body, Arc::clone(&activity)));
            async move {
                let answer = paths.answer(request, client, Arc::clone(&activity)).await;
                activity.begin_request();
                answer.map(|answer| answer.map(|body| WatchedBody::of_response(body, activity)))
            }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = stopped(&mut stopping) => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        ended.map_err(io::Error::other)
    }
}

/// Without it small answers wait for the peer's delayed acknowledgement: 40 ms each.
fn set_nodelay(stream: &TcpStream, peer: SocketAddr) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::warn!(%peer, %error, "cannot set TCP_NODELAY");
    }
}

/// Resolves when the server stops.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_accepted_socket_has_no_delay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_client, accepted) = tokio::join!(TcpStream::connect(address), accept(&listener));
        let (stream, _) = accepted.unwrap();
        assert!(stream.nodelay().unwrap());
    }
}
