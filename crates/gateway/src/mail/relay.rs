//! State shared by the sessions of a route that sends mails: its limit, its queue, and mails that the relay
//! let fall.

use super::config::MailRoute;
use super::encode::{CannotCompose, Letterhead, Prepared};
use super::outcome::{self, Slows};
use crate::GatewayContext;
use crate::dispatcher::{ChannelEncoder, Job, RouteDispatcher, RouteLimit};
use crate::route_loop::RouteSettings;
use arc_swap::ArcSwap;
use net::TlsClient;
use records::{AlertNo, AttemptRef, EndpointNo, Entry, NotTried, Segment, Timestamp, mail_key};
use rustc_hash::FxHashMap;
use smtp::client::{Transaction, Verdict};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A mail with which the connection was lost so often is refused for now.
const LOST_MAX: u8 = 3;

/// Makes mails of a segment's entries: for channels whose routes are relays.
pub(crate) trait MailComposer: ChannelEncoder {
    /// The mail of an entry, as a transaction with this number.
    ///
    /// # Errors
    /// An entry of which no mail can be made.
    fn compose(
        &self,
        job: &Job<Self::Prepared>,
        id: u64,
        now: Timestamp,
    ) -> Result<Transaction, CannotCompose>;

    /// Keys by which bounces of an accepted mail are known.
    fn keys(&self, alert: AlertNo, endpoint: EndpointNo) -> Vec<u64>;
}

/// Mails of segments.
pub struct MailEncoder {
    pub(super) letterhead: Letterhead,
}

impl ChannelEncoder for MailEncoder {
    type Prepared = Prepared;

    fn prepare(&self, segment: &Segment) -> Prepared {
        self.letterhead.prepare(segment)
    }

    fn units(&self, _segment: &Segment, _prepared: &Prepared, _entry: &Entry) -> u8 {
        1
    }
}

impl MailComposer for MailEncoder {
    fn compose(&self, job: &Job<Prepared>, id: u64, now: Timestamp) -> Result<Transaction, CannotCompose> {
        let leased = &job.leased;
        self.letterhead.compose(&leased.segment, &leased.prepared, job.entry(), id, now)
    }

    fn keys(&self, alert: AlertNo, endpoint: EndpointNo) -> Vec<u64> {
        vec![mail_key(alert, endpoint)]
    }
}

/// A mail on its way.
pub(super) type MailJob<E> = Job<<E as ChannelEncoder>::Prepared>;

/// Where a session connects, and how.
pub(super) struct RelayPeer {
    pub(super) config: MailRoute,
    pub(super) tls: Option<TlsClient>,
}

/// A relay at work.
pub(super) struct Relay<E: MailComposer> {
    name: String,
    peer: ArcSwap<RelayPeer>,
    pub(super) context: GatewayContext,
    pub(super) dispatcher: Arc<RouteDispatcher<E>>,
    pub(super) limit: Arc<RouteLimit<E>>,
    /// How often the connection was lost with a mail that was not through.
    lost: Mutex<FxHashMap<AttemptRef, u8>>,
    /// Sessions that could take another mail at once.
    with_room: AtomicUsize,
}

impl<E: MailComposer> Relay<E> {
    pub(super) fn new(
        config: MailRoute,
        tls: Option<TlsClient>,
        context: GatewayContext,
        dispatcher: Arc<RouteDispatcher<E>>,
    ) -> Relay<E> {
        let limit = RouteLimit::new(&dispatcher, config.rate);
        let (lost, with_room) = (Mutex::new(FxHashMap::default()), AtomicUsize::new(0));
        let (name, peer) = (config.name.clone(), ArcSwap::from_pointee(RelayPeer { config, tls }));
        Relay { name, peer, context, dispatcher, limit, lost, with_room }
    }

    /// The route's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The settings as they are now.
    pub(super) fn peer(&self) -> Arc<RelayPeer> {
        self.peer.load_full()
    }

    /// Other settings from now on: for sessions that begin.
    pub(super) fn change(&self, config: MailRoute, tls: Option<TlsClient>) {
        self.peer.store(Arc::new(RelayPeer { config, tls }));
    }

    /// A mail for a session that would have to be opened for it; nothing while an open one has room.
    pub(super) fn overflow(&self) -> Option<MailJob<E>> {
        if self.with_room.load(Ordering::Relaxed) > 0 {
            return None;
        }
        self.dispatcher.next()
    }

    /// A session has room now, or no longer has.
    pub(super) fn set_room(&self, had: bool, has: bool) {
        match (had, has) {
            (false, true) => self.with_room.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.with_room.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
        if had {
            // Who waited because of our room may open a session.
            self.dispatcher.signal();
        }
    }

    /// What became of a mail. One that was not tried goes back to the feed, unless that happened too often.
    pub(super) fn settle(&self, job: MailJob<E>, verdict: Verdict) {
        let of = job.of(1);
        self.slow_down(outcome::slows(&verdict));
        if let Verdict::NotTried { text, suspect } = &verdict {
            let times = if *suspect { self.count_loss(of) } else { 0 };
            if times < LOST_MAX {
                return self.dispatcher.put_back(job);
            }
            self.dispatcher.whole(&job, &outcome::given_up(times, text));
        } else if let Some(result) = outcome::result(verdict, || self.keys(&job)) {
            self.dispatcher.whole(&job, &result);
        }
        let mut lost = locked(&self.lost);
        if !lost.is_empty() {
            lost.remove(&of);
        }
    }

    fn keys(&self, job: &MailJob<E>) -> Vec<u64> {
        self.dispatcher.encoder().keys(job.leased.segment.alert, job.entry().endpoint)
    }

    fn slow_down(&self, slows: Slows) {
        let all = match slows {
            Slows::No => return,
            Slows::Mailbox => false,
            Slows::Relay => true,
        };
        let rate = self.limit.refused_for_now(all, Instant::now());
        tracing::debug!(route = self.name, rate, "the relay refuses for now: the route is slowed down");
    }

    /// It may not be sent any more.
    pub(super) fn give_back(&self, job: &MailJob<E>, why: NotTried) {
        self.dispatcher.whole(job, &records::AttemptResult::NotTried { why });
    }

    fn count_loss(&self, of: AttemptRef) -> u8 {
        let mut lost = locked(&self.lost);
        // What went back and was then cancelled stays: rarely, and not for ever.
        if lost.len() > self.peer.load().config.slots() as usize * 2 {
            lost.clear();
        }
        let times = lost.entry(of).or_default();
        *times += 1;
        *times
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
