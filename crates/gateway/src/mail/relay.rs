//! What the sessions of a route share: its limit, what is to be sent, and what the relay let fall.

use super::config::MailRoute;
use super::encode::{Letterhead, Prepared};
use super::machine::Verdict;
use super::outcome;
use crate::World;
use crate::feed::{Craft, Feed, Job};
use crate::peers::Metered;
use net::TlsClient;
use pace::Limiter;
use pace::share::Need;
use records::{AttemptRef, Entry, NotTried, Segment};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A mail with which the connection was lost so often is refused for now.
const LOST_MAX: u8 = 3;

/// Mails of segments.
pub struct MailCraft {
    pub(super) letterhead: Letterhead,
}

impl Craft for MailCraft {
    type Prepared = Prepared;

    fn prepare(&self, segment: &Segment) -> Prepared {
        self.letterhead.prepare(segment)
    }

    fn units(&self, _segment: &Segment, _prepared: &Prepared, _entry: &Entry) -> u8 {
        1
    }
}

/// A mail on its way.
pub(super) type MailJob = Job<Prepared>;

/// A relay at work.
pub(super) struct Relay {
    pub(super) config: MailRoute,
    pub(super) world: World,
    pub(super) feed: Arc<Feed<MailCraft>>,
    pub(super) tls: Option<TlsClient>,
    limiter: Mutex<Limiter>,
    /// This process's part of the rate, where there are others.
    metered: Mutex<Metered>,
    /// How often the connection was lost with a mail that was not through.
    lost: Mutex<FxHashMap<AttemptRef, u8>>,
    /// Sessions that could take another mail at once.
    with_room: AtomicUsize,
}

impl Relay {
    pub(super) fn new(
        config: MailRoute,
        tls: Option<TlsClient>,
        world: World,
        feed: Arc<Feed<MailCraft>>,
    ) -> Relay {
        let now = Instant::now();
        // The process before us may have written until a moment ago: a second passes without credit.
        let mut limiter = Limiter::new(config.rate, now);
        limiter.start(now);
        if let Some(at) = limiter.next(now) {
            feed.begin_at(at);
        }
        let (limiter, lost) = (Mutex::new(limiter), Mutex::new(FxHashMap::default()));
        let (metered, with_room) = (Mutex::default(), AtomicUsize::new(0));
        Relay { config, world, feed, tls, limiter, metered, lost, with_room }
    }

    /// Where other processes have the same route: from now on only this one's share of its rate is used.
    pub(super) fn begin_sharing(self: &Arc<Self>) {
        let Some(shared) = &self.world.shared else { return };
        let (needs, news) = (Arc::downgrade(self), Arc::downgrade(self));
        let needs =
            move || needs.upgrade().map_or(Need::Unable, |relay| relay.feed.need(relay.feed.has_work()));
        let news = move || {
            if let Some(relay) = news.upgrade() {
                relay.tell_share();
            }
        };
        let share = shared.rates.share(&self.config.name, self.config.rate, Box::new(needs), Box::new(news));
        let mut limiter = locked(&self.limiter);
        locked(&self.metered).begin(share, &mut limiter, Instant::now());
        drop(limiter);
        self.tell_share();
    }

    /// The feed intends what may be written by our share.
    fn tell_share(&self) {
        let mut limiter = locked(&self.limiter);
        let outlook = locked(&self.metered).outlook(&mut limiter, self.config.rate, Instant::now());
        drop(limiter);
        self.feed.set_share(&outlook);
    }

    /// The limiter, by what may be used now.
    fn limiter(&self, now: Instant) -> MutexGuard<'_, Limiter> {
        let mut limiter = locked(&self.limiter);
        if self.world.shared.is_some() {
            locked(&self.metered).keep(&mut limiter, self.config.rate, now);
        }
        limiter
    }

    /// A mail for a session that would have to be opened for it; nothing while an open one has room.
    pub(super) fn overflow(&self) -> Option<MailJob> {
        if self.with_room.load(Ordering::Relaxed) > 0 {
            return None;
        }
        self.feed.next()
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
            self.feed.signal();
        }
    }

    /// What became of a mail. One that was not tried goes back to the feed, unless that happened too often.
    pub(super) fn settle(&self, job: MailJob, verdict: Verdict) {
        let of = job.of(1);
        if let Verdict::NotTried { text, suspect } = &verdict {
            let times = if *suspect { self.count_loss(of) } else { 0 };
            if times < LOST_MAX {
                return self.feed.put_back(job);
            }
            self.feed.whole(&job, &outcome::given_up(times, text));
        } else if let Some(result) = outcome::result(&job, verdict) {
            self.feed.whole(&job, &result);
        }
        let mut lost = locked(&self.lost);
        if !lost.is_empty() {
            lost.remove(&of);
        }
    }

    /// It may not be sent any more.
    pub(super) fn give_back(&self, job: &MailJob, why: NotTried) {
        self.feed.whole(job, &records::AttemptResult::NotTried { why });
    }

    fn count_loss(&self, of: AttemptRef) -> u8 {
        let mut lost = locked(&self.lost);
        // What went back and was then cancelled stays: rarely, and not for ever.
        if lost.len() > self.config.slots() as usize * 2 {
            lost.clear();
        }
        let times = lost.entry(of).or_default();
        *times += 1;
        *times
    }

    pub(super) fn grant(&self, now: Instant) -> bool {
        self.limiter(now).grant(now, 1) == 1
    }

    pub(super) fn unused(&self) {
        locked(&self.limiter).unused(1);
    }

    pub(super) fn next_grant(&self, now: Instant) -> Option<Instant> {
        locked(&self.limiter).next(now)
    }

    /// So many mails were begun between two instants.
    pub(super) fn wrote(&self, mails: usize, before: Instant, after: Instant) {
        locked(&self.limiter).wrote(after, mails);
        if let Some(witness) = &self.world.witness {
            witness(&self.config.name, mails, before, after);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
