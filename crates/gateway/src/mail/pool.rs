//! Pool of a route's sessions at a relay: places for connections, each open while there is work for it.
//!
//! Used by every channel whose routes send mails: the channel brings what makes them ([`MailComposer`]).

use super::TlsMode;
use super::config::MailRoute;
use super::relay::{MailComposer, MailJob, Relay};
use super::session::{Ending, RelayConnection};
use crate::context::{GatewayContext, Stop};
use crate::dispatcher::{ChannelEncoder, RateHolder, RouteDispatcher};
use crate::route_loop::ChangeScope;
use ::pace::Backoff;
use net::{TlsClient, connect};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// Connecting, TLS from the first octet included, may take so long.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// The sessions of a route at work.
pub(crate) struct RelaySessions<E: MailComposer> {
    relay: Arc<Relay<E>>,
    /// What stops each place for a session, by its number.
    places: Vec<watch::Sender<bool>>,
    tasks: JoinSet<()>,
}

impl<E: MailComposer> RelaySessions<E> {
    /// Sessions that have not begun yet.
    pub(crate) fn new(
        settings: MailRoute,
        tls: Option<TlsClient>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<E>>,
    ) -> RelaySessions<E> {
        let relay = Relay::new(settings, tls, context.clone(), Arc::clone(dispatcher));
        RelaySessions { relay: Arc::new(relay), places: Vec::new(), tasks: JoinSet::new() }
    }

    /// The route's limit.
    pub(crate) fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.relay.limit) as Arc<dyn RateHolder>
    }

    /// From now on they take mails and write them.
    pub(crate) fn begin(&mut self) {
        self.fill();
    }

    /// Goes on by other settings.
    pub(crate) async fn change(&mut self, step: ChangeScope, settings: MailRoute, tls: Option<TlsClient>) {
        self.relay.change(settings, tls);
        if step == ChangeScope::Rebind {
            // A relay counts connections: the old ones go first.
            self.end_places(0);
            while self.tasks.join_next().await.is_some() {}
        }
        self.fill();
    }

    /// Ends in order.
    pub(crate) async fn end(mut self) {
        self.end_places(0);
        while self.tasks.join_next().await.is_some() {}
    }
}

impl<E: MailComposer> RelaySessions<E> {
    /// As many places as the settings say: what is missing is begun, what is too much ends in order.
    fn fill(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        let wanted = self.relay.peer().config.sessions;
        self.end_places(wanted);
        while self.places.len() < wanted {
            let (stop, stopping) = Stop::pair();
            self.tasks.spawn(keep_session(Arc::clone(&self.relay), self.places.len(), stopping));
            self.places.push(stop);
        }
    }

    fn end_places(&mut self, keep: usize) {
        for place in self.places.drain(keep.min(self.places.len())..) {
            let _ = place.send(true);
        }
    }
}

/// One place for a session. It is open while there is work for it; the first is also opened to see whether
/// the relay is there.
async fn keep_session<E: MailComposer>(relay: Arc<Relay<E>>, number: usize, mut stop: Stop) {
    let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
    let mut place = SessionView { up: false, probe: number == 0 };
    while !stop.is_set() {
        let job = match place.probe {
            true => None,
            false => tokio::select! {
                job = wait_for_work(&relay) => Some(job),
                () = stop.wait() => return place.leave(&relay.dispatcher, false),
            },
        };
        let ending = session(&relay, job, place.up, &mut stop).await;
        if stop.is_set() {
            return place.leave(&relay.dispatcher, ending.open);
        }
        if place.end(&relay.dispatcher, &ending, number == 0) {
            backoff.reset();
        }
        let Some(trouble) = ending.trouble else { continue };
        let wait = if ending.completed > 0 { Duration::ZERO } else { backoff.wait(chance()) };
        let wait_ms = wait.as_millis() as u64;
        tracing::warn!(route = relay.name(), session = number, trouble, wait_ms, "not connected");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => {}
        }
    }
}

/// What the route was told of a place's session.
pub(crate) struct SessionView {
    /// That it can send. A session closed in order still can: it is opened again when there is work.
    pub(crate) up: bool,
    /// It is opened without work.
    pub(crate) probe: bool,
}

impl SessionView {
    /// It is given up. Others of the route may go on, and one that begins anew says so again.
    pub(crate) fn leave<E: ChannelEncoder>(&self, dispatcher: &RouteDispatcher<E>, opened: bool) {
        if self.up || opened {
            dispatcher.session_rests();
        }
    }

    /// Takes the end of a session into account; true if it had been of use.
    pub(crate) fn end<E: ChannelEncoder>(
        &mut self,
        dispatcher: &RouteDispatcher<E>,
        ending: &Ending,
        first: bool,
    ) -> bool {
        self.up |= ending.open;
        match &ending.trouble {
            None => self.probe = false,
            Some(trouble) => {
                if std::mem::take(&mut self.up) {
                    dispatcher.session_down(trouble);
                }
                dispatcher.trouble(trouble);
                self.probe = first;
            }
        }
        ending.completed > 0 || ending.trouble.is_none()
    }
}

/// Until there is a mail that no open session has room for.
async fn wait_for_work<E: MailComposer>(relay: &Relay<E>) -> MailJob<E> {
    let listener = relay.dispatcher.listen();
    loop {
        if let Some(job) = relay.overflow() {
            return job;
        }
        listener.notified().await;
    }
}

/// From connecting to the end.
async fn session<E: MailComposer>(
    relay: &Arc<Relay<E>>,
    job: Option<MailJob<E>>,
    up: bool,
    stop: &mut Stop,
) -> Ending {
    let peer = relay.peer();
    let config = &peer.config;
    let tls = peer.tls.as_ref().filter(|_| config.tls == TlsMode::Implicit);
    let connected = tokio::select! {
        connected = connect(&config.address, tls, CONNECT_MAX) => connected.map_err(|error| error.to_string()),
        () = stop.wait() => Err("the route was stopped".to_owned()),
    };
    match connected {
        Ok(stream) => {
            let on_open =
                if up { |_: &Relay<E>| {} } else { |relay: &Relay<E>| relay.dispatcher.session_up() };
            RelayConnection::new(relay, &peer, job, on_open).run(stream, stop).await
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
pub(crate) fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
