//! Server of the HTTP door: listens, accepts, serves HTTP/1.1 on each connection, and stops in order.

use crate::http::app::App;
use crate::http::{Deps, HttpConfig, router};
use crate::kannel::{BEGINNING_OCTETS, FastPath, GeneralPath, PATH, SendSms, is_for_fast_path};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// A request's head must be there within this; an idle connection is closed after it.
const HEAD_MAX: Duration = Duration::from_secs(60);
/// A TLS handshake must be over within this.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Requests still running when the server stops get so long.
const GRACE: Duration = Duration::from_secs(10);
/// After an error of accept (too many open files, mostly) the next try waits.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// Octets of a connection's read buffer, and so of a request's head.
const HEAD_OCTETS_MAX: usize = 64 << 10;
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
}

impl HttpRunning {
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
    let sendsms = SendSms::new(deps.messages.clone(), deps.platforms.clone(), deps.clock.clone());
    let app = App::new(deps, &config, stopping.clone());
    let door = HttpDoorState {
        paths: RequestPaths::new(app, Arc::new(sendsms)),
        tls: config.tls.clone().map(TlsAcceptor::from),
        places: Arc::new(Semaphore::new(config.limits.connections_max)),
        stopping,
    };
    tracing::info!(%address, tls = config.tls.is_some(), "the HTTP door is open");
    let task = tokio::spawn(async move {
        let upkeep = metrics.map(|handle| tokio::spawn(fold_metrics(handle)));
        door.run(listener).await;
        if let Some(upkeep) = upkeep {
            upkeep.abort();
        }
    });
    Ok(HttpRunning { address, stop, task })
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
    places: Arc<Semaphore>,
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
                accepted = accept(&listener, &self.places) => accepted,
                () = stopped(&mut stopping) => break,
            };
            if let Some((stream, peer, place)) = accepted {
                connections.spawn(self.connection(stream, peer, place));
            }
        }
        drop(listener);
        let ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::warn!("requests were cut off: they ran longer than the time to stop");
        }
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (paths, tls, stopping) = (self.paths.clone(), self.tls.clone(), self.stopping.clone());
        async move {
            let _place = place;
            match tls {
                None => serve_plain(stream, peer, paths, stopping).await,
                Some(tls) => match tokio::time::timeout(HANDSHAKE_MAX, tls.accept(stream)).await {
                    Ok(Ok(stream)) => serve_http(stream, peer, paths, stopping).await,
                    Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!(%peer, "a TLS handshake took too long"),
                },
            }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            set_nodelay(&stream, peer);
            Some((stream, peer, place))
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
    fn new(app: App, sendsms: Arc<SendSms>) -> RequestPaths {
        RequestPaths {
            router: TowerToHyperService::new(router::router(app.clone())),
            app,
            general_path: Arc::new(GeneralPath::new(sendsms.clone())),
            fast_path: Arc::new(FastPath::new(sendsms)),
        }
    }

    async fn answer(self, request: Request<Incoming>, from: IpAddr) -> Result<Response<Body>, Infallible> {
        if request.uri().path() == PATH {
            return Ok(self.general_path.answer(&self.app.bodies, request.map(Body::new), from).await);
        }
        self.router.call(request).await
    }
}

/// A connection whose first request is for sendsms is served by the fast path as long as all its requests
/// are.
async fn serve_plain(
    stream: TcpStream,
    peer: SocketAddr,
    paths: RequestPaths,
    mut stopping: watch::Receiver<bool>,
) {
    let mut beginning = [0; BEGINNING_OCTETS];
    let peeked = tokio::select! {
        peeked = tokio::time::timeout(HEAD_MAX, stream.peek(&mut beginning)) => peeked,
        () = stopped(&mut stopping) => return,
    };
    let Ok(Ok(octets)) = peeked else { return };
    if !is_for_fast_path(&beginning[..octets]) {
        return serve_http(stream, peer, paths, stopping).await;
    }
    let served = paths.fast_path.drive(stream, peer, stopping.clone()).await;
    let rest = served
        .and_then(|rest| rest.map(|(stream, unread)| Ok((TcpStream::from_std(stream)?, unread))).transpose());
    match rest {
        Ok(None) => {}
        Ok(Some((stream, unread))) => {
            let (reads, writes) = stream.into_split();
            let unread = io::Cursor::new(unread);
            serve_http(tokio::io::join(unread.chain(reads), writes), peer, paths, stopping).await;
        }
        Err(error) => tracing::debug!(%peer, %error, "a connection ended early"),
    }
}

/// Without it small answers wait for the peer's delayed acknowledgement: 40 ms each.
fn set_nodelay(stream: &TcpStream, peer: SocketAddr) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::warn!(%peer, %error, "cannot set TCP_NODELAY");
    }
}

async fn serve_http<S>(stream: S, peer: SocketAddr, paths: RequestPaths, mut stopping: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).max_buf_size(HEAD_OCTETS_MAX);
    let service = service_fn(move |request| paths.clone().answer(request, peer.ip()));
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
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Resolves when the server stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_accepted_socket_has_no_delay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let places = Arc::new(Semaphore::new(1));
        let (_client, accepted) = tokio::join!(TcpStream::connect(address), accept(&listener, &places));
        let (stream, _, _) = accepted.unwrap();
        assert!(stream.nodelay().unwrap());
    }
}
