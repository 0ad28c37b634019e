//! Mail, by SMTP: a client of a relay.
//!
//! ```text
//! config    what a route is told
//! tag       signed addresses by which replies and bounces find their delivery
//! encode    segments to messages, once for a body
//! machine   the protocol: octets and instants in, octets and verdicts out
//! session   one connection: mails out, verdicts in
//! relay     what the sessions of a route share: limit, work, losses
//! outcome   what the relay's words mean
//! ```

pub mod config;
pub mod encode;
pub mod machine;
mod outcome;
mod relay;
mod session;
pub mod tag;
#[cfg(test)]
mod tests;

pub use config::MailRoute;
pub use machine::{Timeouts, Tls};
pub use tag::{Purpose, Tags};

use crate::context::{GatewayContext, Problem, Running, Stop};
use crate::dispatcher::{DispatcherSettings, RouteDispatcher};
use ::pace::Backoff;
use bus::BusError;
use encode::Letterhead;
use net::{TlsClient, connect};
use relay::{MailEncoder, MailJob, Relay};
use session::{Ending, Talk};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// Connecting, TLS from the first octet included, may take so long.
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// A route whose topics cannot be opened tries again after so long.
const REOPEN: Duration = Duration::from_secs(5);
/// A relay that is gone for longer has what waits for it tried elsewhere. Relays hang up on single mails, and greet slowly.
const ROUTE_DOWN_AFTER: Duration = Duration::from_secs(30);

/// Starts a route. `tags` must be made with the secret whose tags the SMTP door reads.
///
/// # Errors
/// Everything that is wrong with its settings.
pub fn start(config: MailRoute, tags: Tags, context: &GatewayContext) -> Result<Running, Vec<Problem>> {
    let problems = config.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let letterhead = config.letterhead(tags).map_err(|problem| vec![problem])?;
    let tls = match config.tls {
        Tls::None => None,
        Tls::StartTls | Tls::Implicit => Some(
            TlsClient::new(&config.tls_settings())
                .map_err(|error| vec![Problem { field: "ca_file", reason: error.to_string() }])?,
        ),
    };
    if config.tls == Tls::None && config.username.is_some() {
        tracing::warn!(route = config.name, "the password goes over the network as it is: tls is \"none\"");
    }
    let (name, core) = (config.name.clone(), context.cores.next());
    let given = context.clone();
    Ok(Running::start(&name, context, core, move |stop| run(config, letterhead, tls, given, stop)))
}

async fn run(
    config: MailRoute,
    letterhead: Letterhead,
    tls: Option<TlsClient>,
    context: GatewayContext,
    mut stop: Stop,
) {
    let dispatcher = loop {
        match open(&config, &letterhead, &context).await {
            Ok(dispatcher) => break dispatcher,
            Err(error) => tracing::error!(route = config.name, %error, "the route cannot start yet"),
        }
        tokio::select! {
            () = tokio::time::sleep(REOPEN) => {}
            () = stop.wait() => return,
        }
    };
    let dispatching = tokio::spawn({
        let dispatcher = Arc::clone(&dispatcher);
        async move { dispatcher.run().await }
    });
    let relay = Arc::new(Relay::new(config, tls, context, Arc::clone(&dispatcher)));
    let mut sessions = JoinSet::new();
    for number in 0..relay.config.sessions {
        sessions.spawn(keep_session(Arc::clone(&relay), number, stop.clone()));
    }
    stop.wait().await;
    dispatcher.close();
    while sessions.join_next().await.is_some() {}
    dispatcher.finish();
    let _ = dispatching.await;
}

async fn open(
    config: &MailRoute,
    letterhead: &Letterhead,
    context: &GatewayContext,
) -> Result<Arc<RouteDispatcher<MailEncoder>>, BusError> {
    let settings = DispatcherSettings {
        route: config.name.clone(),
        slots: config.slots(),
        rate: config.rate,
        rests: false,
        down_after: ROUTE_DOWN_AFTER,
    };
    RouteDispatcher::open(context, settings, MailEncoder { letterhead: letterhead.clone() }).await
}

/// One place for a session. It is open while there is work for it; the first is also opened to see whether the relay is
/// there.
async fn keep_session(relay: Arc<Relay>, number: usize, mut stop: Stop) {
    let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
    let mut place = Place { up: false, probe: number == 0 };
    while !stop.is_set() {
        let job = match place.probe {
            true => None,
            false => tokio::select! {
                job = wait_for_work(&relay) => Some(job),
                () = stop.wait() => return,
            },
        };
        let ending = session(&relay, job, place.up, &mut stop).await;
        if stop.is_set() {
            return;
        }
        if place.end(&relay, &ending, number == 0) {
            backoff.reset();
        }
        let Some(trouble) = ending.trouble else { continue };
        let wait = if ending.completed > 0 { Duration::ZERO } else { backoff.wait(chance()) };
        let wait_ms = wait.as_millis() as u64;
        tracing::warn!(route = relay.config.name, session = number, trouble, wait_ms, "not connected");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => {}
        }
    }
}

/// What the route was told of a place's session.
struct Place {
    /// That it can send. A session closed in order still can: it is opened again when there is work.
    up: bool,
    /// It is opened without work.
    probe: bool,
}

impl Place {
    /// Takes the end of a session into account; true if it had been of use.
    fn end(&mut self, relay: &Relay, ending: &Ending, first: bool) -> bool {
        self.up |= ending.open;
        match &ending.trouble {
            None => self.probe = false,
            Some(trouble) => {
                if std::mem::take(&mut self.up) {
                    relay.dispatcher.session_down(trouble);
                }
                relay.dispatcher.trouble(trouble);
                self.probe = first;
            }
        }
        ending.completed > 0 || ending.trouble.is_none()
    }
}

/// Until there is a mail that no open session has room for.
async fn wait_for_work(relay: &Relay) -> MailJob {
    let listener = relay.dispatcher.listen();
    loop {
        if let Some(job) = relay.overflow() {
            return job;
        }
        listener.notified().await;
    }
}

/// From connecting to the end.
async fn session(relay: &Arc<Relay>, job: Option<MailJob>, up: bool, stop: &mut Stop) -> Ending {
    let config = &relay.config;
    let tls = relay.tls.as_ref().filter(|_| config.tls == Tls::Implicit);
    let connected = tokio::select! {
        connected = connect(&config.address, tls, CONNECT_MAX) => connected.map_err(|error| error.to_string()),
        () = stop.wait() => Err("the route was stopped".to_owned()),
    };
    match connected {
        Ok(stream) => {
            let on_open = if up { |_: &Relay| {} } else { |relay: &Relay| relay.dispatcher.session_up() };
            Talk::new(relay, job, on_open).run(stream, stop).await
        }
        Err(trouble) => {
            if let Some(job) = job {
                relay.dispatcher.put_back(job);
            }
            Ending { open: false, completed: 0, trouble: Some(trouble) }
        }
    }
}

/// From 0 to 1: so that a thousand sessions cut off together do not come back together.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
