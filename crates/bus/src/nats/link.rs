//! The way to the servers: one connection of many, kept up by the client, with an eye on whether anybody
//! answers.

use super::api::{self, ApiFailure};
use super::words::{self, Diagnosis};
use super::{Credentials, NatsOptions, SERVER_VERSION_MIN, lock};
use crate::BusError;
use async_nats::{Client, ConnectOptions, Event, HeaderMap, Message, Request, RequestErrorKind, ServerAddr};
use bytes::Bytes;
use records::TroubleTracker;
use serde_json::Value;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// One try to connect.
const CONNECT_TRY_WITHIN: Duration = Duration::from_millis(2_500);
/// While nobody answers at a start, the same is said again after so long.
const SAID_EVERY: Duration = Duration::from_secs(10);
/// A server that stands still is noticed after two of these without a sign, and another is taken.
const PING_EVERY: Duration = Duration::from_secs(2);
/// Between two tries to connect again.
const RECONNECT_AFTER: Duration = Duration::from_millis(100);
/// Messages of one subscription that wait for us.
const SUBSCRIPTION_MESSAGES_MAX: usize = 65_536;
/// Of how many appends the time is known.
const APPEND_TIMES_MAX: usize = 1_000;

/// Nobody takes what was sent: the servers choose a leader, or the stream is gone.
pub const NOT_RESPONSIBLE: &str = "no server is responsible at the moment";
const NO_CONNECTION: &str = "no connection";

/// The connection and what all topics share.
pub struct NatsLink {
    pub options: NatsOptions,
    pub client: Client,
    handle: Handle,
    pub servers: Vec<ServerAddr>,
    /// Raised with every new connection.
    epoch: watch::Receiver<u64>,
    closed: watch::Sender<bool>,
    pub answers: AtomicBool,
    /// What is wrong with the servers now.
    pub trouble: TroubleTracker,
    /// There has been no connection for so long that nobody waits for one any more.
    pub away: watch::Sender<bool>,
    /// Streams that are looked after: those of the topics that were opened first.
    pub streams: Mutex<Vec<String>>,
    /// Appends that were tried in vain and are tried again.
    pub struggling: AtomicUsize,
    /// This bus's part of the keys it gives to appends.
    nonce: String,
    number: AtomicU64,
    append_us: Mutex<VecDeque<u64>>,
}

impl NatsLink {
    /// Connects and looks who is there.
    pub fn open(handle: &Handle, url: &str, mut options: NatsOptions) -> Result<Arc<NatsLink>, BusError> {
        let (servers, who) = addresses(url)?;
        if let (Credentials::Address, Some(who)) = (&options.credentials, who) {
            options.credentials = who;
        }
        let (answer, answered) = mpsc::channel();
        let own = handle.clone();
        handle.spawn(async move {
            // Nobody listens any more only if the caller is gone.
            let _ = answer.send(connect(own, servers, options).await);
        });
        answered.recv().map_err(|_| BusError::Closed)?
    }

    /// Runs something on the bus's own threads and waits for it on this one. Not to be called from them.
    pub fn block<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, BusError>> + Send + 'static,
    ) -> Result<T, BusError> {
        let (answer, answered) = mpsc::channel();
        self.handle.spawn(async move {
            let _ = answer.send(work.await);
        });
        // The other end is dropped unsent when the bus closes.
        answered.recv().unwrap_or(Err(BusError::Closed))
    }

    /// The same for a caller that can wait without a thread, on whatever runtime it has.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, BusError>> + Send + 'static,
    ) -> Result<T, BusError> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.handle.spawn(async move {
            let _ = answer.send(work.await);
        });
        answered.await.unwrap_or(Err(BusError::Closed))
    }

    /// Starts something that goes on by itself.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }

    /// One request.
    pub async fn request(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
        within: Duration,
    ) -> Result<Message, ApiFailure> {
        if self.is_closed() {
            return Err(ApiFailure::Closed);
        }
        let mut request = Request::new().payload(payload).timeout(Some(within));
        if !headers.is_empty() {
            request = request.headers(headers);
        }
        // The client's own limit counts from when the request is on its way; while there is no connection it
        // is not.
        let sent = self.client.send_request(subject.to_owned(), request);
        let mut away = self.away.subscribe();
        let heard = tokio::select! {
            biased;
            heard = tokio::time::timeout(within + within, sent) => heard,
            _ = away.wait_for(|away| *away) => return Err(ApiFailure::Away(self.away_words())),
        };
        match heard {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
                Err(ApiFailure::Silent(NOT_RESPONSIBLE.to_owned()))
            }
            Ok(Err(error)) => Err(ApiFailure::Silent(error.to_string())),
            Err(_) => Err(ApiFailure::Silent(NO_CONNECTION.to_owned())),
        }
    }

    /// A key that no append ever had.
    pub fn own_key(&self) -> String {
        format!("{}-{}", self.nonce, self.number.fetch_add(1, Ordering::Relaxed))
    }

    /// Raised with every new connection.
    pub fn epoch(&self) -> watch::Receiver<u64> {
        self.epoch.clone()
    }

    /// Becomes true once, at the end.
    pub fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }

    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// There has been no connection for so long that appends are refused at once.
    pub fn is_away(&self) -> bool {
        *self.away.borrow()
    }

    /// Why nobody waits for a connection.
    pub fn away_words(&self) -> String {
        self.trouble.current().map_or_else(|| NO_CONNECTION.to_owned(), |trouble| trouble.why)
    }

    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    pub fn is_reachable(&self) -> bool {
        self.answers.load(Ordering::Relaxed)
            && self.struggling.load(Ordering::Relaxed) == 0
            && self.client.connection_state() == async_nats::connection::State::Connected
            && !self.is_closed()
    }

    /// Notes how long an append took.
    pub fn took(&self, time: Duration) {
        let mut times = lock(&self.append_us);
        if times.len() == APPEND_TIMES_MAX {
            times.pop_front();
        }
        times.push_back(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// The median of the last appends: here the servers sync.
    pub fn append_us_p50(&self) -> u64 {
        let mut times: Vec<u64> = lock(&self.append_us).iter().copied().collect();
        let middle = times.len() / 2;
        if times.is_empty() { 0 } else { *times.select_nth_unstable(middle).1 }
    }
}

/// `nats://user:password@a:4222,b:4222`: the servers, and who we are to all of them (`user:password`, or a
/// token alone).
fn addresses(url: &str) -> Result<(Vec<ServerAddr>, Option<Credentials>), BusError> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("nats", url));
    let (who, hosts) = rest.rsplit_once('@').map_or((None, rest), |(who, hosts)| (Some(who), hosts));
    let who = who.map(|who| match who.split_once(':') {
        Some((name, password)) => Credentials::User { name: decoded(name), password: decoded(password) },
        None => Credentials::Token(decoded(who)),
    });
    let mut servers = Vec::new();
    for host in hosts.trim_end_matches('/').split(',') {
        let host = host.trim();
        // The address without its secret is what may be shown.
        let bad = || BusError::Unreachable {
            why: format!("{host:?} is not an address of a server: use nats://host:port[,host:port…]"),
        };
        if host.is_empty() {
            return Err(bad());
        }
        servers.push(format!("{scheme}://{host}").parse().map_err(|_| bad())?);
    }
    Ok((servers, who))
}

/// Without percent-escapes, as an address needs them for `@` or `:` in a secret.
fn decoded(text: &str) -> String {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&octet, after)) = rest.split_first() {
        rest = after;
        let digits = after.first_chunk::<2>().filter(|_| octet == b'%');
        let escaped =
            digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        octets.push(escaped.unwrap_or(octet));
        if escaped.is_some() {
            rest = after.get(2..).unwrap_or_default();
        }
    }
    String::from_utf8_lossy(&octets).into_owned()
}

async fn connect(
    handle: Handle,
    servers: Vec<ServerAddr>,
    options: NatsOptions,
) -> Result<Arc<NatsLink>, BusError> {
    let (epoch_sender, epoch) = watch::channel(0);
    let trouble = TroubleTracker::new(names(&servers));
    let client = first_connection(&servers, &options, &epoch_sender, trouble.server()).await?;
    check_server(&client)?;
    let (closed, _) = watch::channel(false);
    let link = Arc::new(NatsLink {
        options,
        // What the client names its inboxes by is random: no two processes, and no two openings of one, have
        // the same.
        nonce: client.new_inbox().replace("_INBOX.", ""),
        client,
        handle,
        servers,
        epoch,
        closed,
        answers: AtomicBool::new(true),
        trouble,
        away: watch::Sender::new(false),
        streams: Mutex::default(),
        struggling: AtomicUsize::new(0),
        number: AtomicU64::new(0),
        append_us: Mutex::default(),
    });
    // A server that has just started does not answer yet.
    let asked = api::ask(&link, "$JS.API.INFO", &Value::Null).await;
    asked.map_err(|fault| fault.into_error("asking whether JetStream is on"))?;
    link.spawn(super::watch::run(Arc::downgrade(&link)));
    Ok(link)
}

/// Tries until a server takes us. What does not pass by itself ends it at once.
async fn first_connection(
    servers: &[ServerAddr],
    options: &NatsOptions,
    epoch: &watch::Sender<u64>,
    names: &str,
) -> Result<Client, BusError> {
    let until = Instant::now() + options.connected_within;
    let mut said: Option<Instant> = None;
    loop {
        let tried = asked_of_client(options, Some(epoch.clone())).await?.connect(servers).await;
        let error = match tried {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        let Diagnosis { text, passes } = words::diagnose(names, &whole(&error));
        let now = Instant::now();
        if !passes || now >= until {
            return Err(BusError::Unreachable { why: text });
        }
        if said.is_none_or(|said| now - said >= SAID_EVERY) {
            tracing::error!("{text}. It is tried again for {} s", (until - now).as_secs());
            said = Some(now);
        }
        tokio::time::sleep(RECONNECT_AFTER).await;
    }
}

/// `host:port,host:port`: the servers without who we are to them.
fn names(servers: &[ServerAddr]) -> String {
    let names: Vec<String> =
        servers.iter().map(|server| format!("{}:{}", server.host(), server.port())).collect();
    names.join(",")
}

/// An error with what caused it.
pub fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// How the client is to connect. Without `epoch` it is for one try, to hear what is wrong.
pub async fn asked_of_client(
    options: &NatsOptions,
    epoch: Option<watch::Sender<u64>>,
) -> Result<ConnectOptions, BusError> {
    let unreadable =
        |error: std::io::Error| BusError::Unreachable { why: format!("reading the credentials: {error}") };
    let mut asked = ConnectOptions::new()
        .name("campanile")
        .connection_timeout(CONNECT_TRY_WITHIN)
        .ping_interval(PING_EVERY)
        .subscription_capacity(SUBSCRIPTION_MESSAGES_MAX)
        .max_reconnects(None)
        .reconnect_delay_callback(|tries| if tries == 0 { Duration::ZERO } else { RECONNECT_AFTER })
        .event_callback(move |event| {
            let epoch = epoch.clone();
            async move {
                match (event, epoch) {
                    (Event::Connected, Some(epoch)) => epoch.send_modify(|epoch| *epoch += 1),
                    (Event::Disconnected, Some(_)) => {
                        tracing::warn!("the connection to NATS is lost; connecting again");
                    }
                    (other, _) => tracing::debug!(event = %other, "Event of the NATS client."),
                }
            }
        });
    asked = match &options.credentials {
        Credentials::Address => asked,
        Credentials::User { name, password } => asked.user_and_password(name.clone(), password.clone()),
        Credentials::Token(token) => asked.token(token.clone()),
        Credentials::Nkey(seed) => asked.nkey(seed.clone()),
        Credentials::File(path) => asked.credentials_file(path).await.map_err(unreadable)?,
    };
    let tls = &options.tls;
    if tls.required {
        asked = asked.require_tls(true);
    }
    if let Some(roots) = &tls.roots {
        asked = asked.add_root_certificates(roots.clone());
    }
    if let Some((certificate, key)) = &tls.identity {
        asked = asked.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(asked)
}

/// The version that the server told when the connection was made.
fn check_server(client: &Client) -> Result<(), BusError> {
    let Some(info) = client.try_server_info() else {
        return Err(BusError::Unreachable { why: "the server sent no INFO".to_owned() });
    };
    // In a cluster another server may have it.
    if !info.jetstream && info.cluster.is_none() {
        let why = format!("{}:{} runs without JetStream: enable it there", info.host, info.port);
        return Err(BusError::Unfit { why });
    }
    let (major, minor) = SERVER_VERSION_MIN;
    if version(&info.version).is_none_or(|found| found < SERVER_VERSION_MIN) {
        let found = &info.version;
        let why = format!(
            "nats-server {major}.{minor} or newer is needed, and {}:{} is {found}: install a newer one",
            info.host, info.port
        );
        return Err(BusError::Unfit { why });
    }
    Ok(())
}

/// Major and minor.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_name_several_servers_and_one_secret_for_all() {
        let (found, who) = addresses("nats://me:a%40b%@a:4222,b,127.0.0.1:4224").expect("three servers");
        let hosts: Vec<(String, u16)> = found.iter().map(|one| (one.host().to_owned(), one.port())).collect();
        assert_eq!(hosts, [("a".to_owned(), 4222), ("b".to_owned(), 4222), ("127.0.0.1".to_owned(), 4224)]);
        assert!(
            matches!(who, Some(Credentials::User { name, password }) if name == "me" && password == "a@b%")
        );
        assert!(
            matches!(addresses("nats://t%3Ak@a"), Ok((_, Some(Credentials::Token(token)))) if token == "t:k")
        );
        let error = addresses("nats://me:secret@a,,b").expect_err("no host");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn a_version_is_read_as_servers_tell_it() {
        assert_eq!(version("2.15.2"), Some((2, 15)));
        assert_eq!(version("v2.12.0-RC.1"), Some((2, 12)));
        assert_eq!(version("2"), None);
        assert!(version("2.9.10") < Some(SERVER_VERSION_MIN));
    }
}
