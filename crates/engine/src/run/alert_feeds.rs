//! AlertFeeds publishes the newest state of each alert and route of an account to those who follow all of
//! them. It owns their mailboxes, and the alerts that changed.
//!
//! A mailbox holds one state of an alert and one of a route, whatever its reader does: a later one takes the
//! place of an earlier one.

use super::alerts::Alerts;
use super::dispatcher::Dispatcher;
use super::event_publisher::report;
use super::{ActorCommand, Engine};
use crate::api::{EngineError, Report};
use records::{AlertNo, AlertState, Lane, Mode, Route, RouteHealth, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// An alert is published at most so often.
const ALERT_EVERY: Duration = Duration::from_millis(250);
/// Numbers of routes are compared so often, and their states with them.
const ROUTES_EVERY: Duration = Duration::from_secs(1);

/// State of an alert, for those who follow an account.
#[derive(Debug, Clone)]
pub struct AlertChange {
    /// Its number, in the order of their coming.
    pub no: AlertNo,
    /// Its version.
    pub version: u32,
    /// Its state.
    pub state: AlertState,
    /// How far it is.
    pub report: Arc<Report>,
}

/// State of a route, for those who follow an account.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteStanding {
    /// Its name.
    pub name: String,
    /// The name of what it carries.
    pub channel: &'static str,
    /// What may use it.
    pub mode: Mode,
    /// Its limit, messages a second; 0 is unlimited.
    pub rate: f64,
    /// Answered by the simulator.
    pub simulated: bool,
    /// Accounts that may use it; empty: all.
    pub accounts: Vec<String>,
    /// What its gateway published last; nothing: it has not yet.
    pub health: Option<RouteHealth>,
    /// Somebody stopped its use.
    pub is_held: bool,
    /// Units on the bus that its gateway has not handed over, by lane.
    pub waiting: [u64; Lane::ALL.len()],
}

/// What changed since the feed was last read.
#[derive(Debug, Default)]
pub struct FeedItems {
    /// Alerts, in the order of their numbers.
    pub alerts: Vec<AlertChange>,
    /// Routes by name; nothing in place of one that is not configured any more.
    pub routes: Vec<(String, Option<Arc<RouteStanding>>)>,
}

/// Feed of an account: first all its alerts that have not ended and all routes, then what changes.
pub struct AlertFeed(Arc<FeedMailbox>);

impl AlertFeed {
    /// Follows an account.
    ///
    /// # Errors
    /// This process does not lead, or is closing.
    pub async fn open(engine: &Engine, account: &str) -> Result<AlertFeed, EngineError> {
        let account = account.to_owned();
        engine.request(|reply| ActorCommand::Follow { account, reply }).await
    }

    /// What changed; nothing once the process has stopped to lead.
    pub async fn next(&mut self) -> Option<FeedItems> {
        loop {
            {
                let mut newest = self.0.lock();
                if newest.is_fresh {
                    newest.is_fresh = false;
                    let alerts = std::mem::take(&mut newest.alerts).into_values().collect();
                    let routes = std::mem::take(&mut newest.routes).into_iter().collect();
                    return Some(FeedItems { alerts, routes });
                }
                if newest.is_over {
                    return None;
                }
            }
            self.0.filled.notified().await;
        }
    }
}

struct FeedMailbox {
    account: String,
    newest: Mutex<Newest>,
    filled: Notify,
}

#[derive(Default)]
struct Newest {
    alerts: BTreeMap<AlertNo, AlertChange>,
    routes: BTreeMap<String, Option<Arc<RouteStanding>>>,
    /// Something was put in, or it is new.
    is_fresh: bool,
    is_over: bool,
}

impl FeedMailbox {
    fn lock(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, put: impl FnOnce(&mut Newest)) {
        let mut newest = self.lock();
        put(&mut newest);
        newest.is_fresh = true;
        drop(newest);
        self.filled.notify_one();
    }
}

/// See the module.
#[derive(Default)]
pub struct AlertFeeds {
    mailboxes: Vec<Arc<FeedMailbox>>,
    changed: FxHashSet<AlertNo>,
    published: FxHashMap<AlertNo, Instant>,
    /// As they were published last.
    routes: BTreeMap<String, Arc<RouteStanding>>,
    routes_at: Option<Instant>,
}

impl AlertFeeds {
    /// Something of an alert changed.
    pub fn note_change(&mut self, no: AlertNo) {
        if !self.mailboxes.is_empty() {
            self.changed.insert(no);
        }
    }

    /// An alert left memory.
    pub fn forget(&mut self, no: AlertNo) {
        self.changed.remove(&no);
        self.published.remove(&no);
    }

    /// Somebody follows an account.
    pub fn follow(
        &mut self,
        account: String,
        alerts: &Alerts,
        dispatcher: &Dispatcher,
        now: Timestamp,
    ) -> AlertFeed {
        self.compare_routes(dispatcher);
        let mut newest = Newest { is_fresh: true, ..Newest::default() };
        for (no, live) in &alerts.live {
            let is_under_way = !live.alert.state.is_final() && live.metas.is_none();
            if is_under_way && live.alert.account == account {
                newest.alerts.extend(change(*no, alerts, dispatcher, now).map(|change| (*no, change)));
            }
        }
        let routes = self.routes.iter().map(|(name, route)| (name.clone(), Some(route.clone())));
        newest.routes.extend(routes);
        let mailbox = Arc::new(FeedMailbox { account, newest: Mutex::new(newest), filled: Notify::new() });
        self.mailboxes.push(mailbox.clone());
        AlertFeed(mailbox)
    }

    /// Publishes what is due; `at` is the monotonic time of `now`.
    pub fn publish_due(&mut self, alerts: &Alerts, dispatcher: &Dispatcher, now: Timestamp, at: Instant) {
        if self.mailboxes.is_empty() {
            return;
        }
        // The other holder is the reader.
        self.mailboxes.retain(|mailbox| Arc::strong_count(mailbox) > 1);
        if self.mailboxes.is_empty() {
            *self = AlertFeeds::default();
            return;
        }
        self.publish_alerts(alerts, dispatcher, now, at);
        if self.routes_at.is_none_or(|before| at.duration_since(before) >= ROUTES_EVERY) {
            self.routes_at = Some(at);
            for (name, route) in self.compare_routes(dispatcher) {
                for mailbox in &self.mailboxes {
                    mailbox.put(|newest| _ = newest.routes.insert(name.clone(), route.clone()));
                }
            }
        }
    }

    fn publish_alerts(&mut self, alerts: &Alerts, dispatcher: &Dispatcher, now: Timestamp, at: Instant) {
        let published = &self.published;
        let is_due =
            |no: &AlertNo| published.get(no).is_none_or(|before| at.duration_since(*before) >= ALERT_EVERY);
        let due: Vec<AlertNo> = self.changed.iter().copied().filter(is_due).collect();
        for no in due {
            self.changed.remove(&no);
            // Messages of platforms are no alerts that an operator follows.
            let Some(live) = alerts.live.get(&no).filter(|live| live.metas.is_none()) else { continue };
            let account = live.alert.account.as_str();
            let mut followers = self.mailboxes.iter().filter(|one| one.account == account).peekable();
            if followers.peek().is_none() {
                continue;
            }
            let Some(change) = change(no, alerts, dispatcher, now) else { continue };
            for mailbox in followers {
                mailbox.put(|newest| _ = newest.alerts.insert(no, change.clone()));
            }
            self.published.insert(no, at);
        }
    }

    /// The routes that are not as they were, which are kept as they are now.
    fn compare_routes(&mut self, dispatcher: &Dispatcher) -> Vec<(String, Option<Arc<RouteStanding>>)> {
        let standings = standings(dispatcher);
        let mut differ = Vec::new();
        self.routes.retain(|name, _| {
            let stays = standings.contains_key(name);
            if !stays {
                differ.push((name.clone(), None));
            }
            stays
        });
        for (name, standing) in standings {
            if self.routes.get(&name).is_none_or(|before| **before != standing) {
                let standing = Arc::new(standing);
                self.routes.insert(name.clone(), standing.clone());
                differ.push((name, Some(standing)));
            }
        }
        differ
    }
}

impl Drop for AlertFeeds {
    /// The next leader has feeds of its own.
    fn drop(&mut self) {
        for mailbox in &self.mailboxes {
            mailbox.lock().is_over = true;
            mailbox.filled.notify_one();
        }
    }
}

fn change(no: AlertNo, alerts: &Alerts, dispatcher: &Dispatcher, now: Timestamp) -> Option<AlertChange> {
    let alert = &alerts.live.get(&no)?.alert;
    let report = report(no, alerts, dispatcher, now)?;
    Some(AlertChange { no, version: alert.version, state: alert.state, report })
}

fn standings(dispatcher: &Dispatcher) -> BTreeMap<String, RouteStanding> {
    let table = &dispatcher.routes;
    let all = table.classifier.routes().iter().zip(&table.list);
    all.map(|(route, entry)| {
        let waiting = std::array::from_fn(|lane| entry.lanes[lane].under_way);
        let standing = standing(route, entry.health.clone(), waiting);
        (route.name.clone(), RouteStanding { is_held: entry.hold.is_some(), ..standing })
    })
    .collect()
}

fn standing(route: &Route, health: Option<RouteHealth>, waiting: [u64; Lane::ALL.len()]) -> RouteStanding {
    RouteStanding {
        name: route.name.clone(),
        channel: channels::name(route.channel),
        mode: route.mode,
        rate: route.rate,
        simulated: route.simulated,
        accounts: route.accounts.clone(),
        health,
        is_held: false,
        waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox() -> Arc<FeedMailbox> {
        Arc::new(FeedMailbox { account: "a".into(), newest: Mutex::default(), filled: Notify::new() })
    }

    fn with_rate(rate_now: f64) -> Option<Arc<RouteStanding>> {
        let health =
            RouteHealth { up: true, since: Timestamp(0), sessions: 1, rate_now, note: String::new() };
        let route = RouteStanding {
            name: "carrier".into(),
            channel: "sms",
            mode: Mode::Live,
            rate: 0.0,
            simulated: false,
            accounts: Vec::new(),
            health: Some(health),
            is_held: false,
            waiting: [0; 3],
        };
        Some(Arc::new(route))
    }

    #[tokio::test]
    async fn a_reader_that_was_away_finds_the_newest_state_alone() {
        let mailbox = mailbox();
        let mut feed = AlertFeed(mailbox.clone());
        for rate in 0..1_000 {
            mailbox.put(|newest| _ = newest.routes.insert("carrier".into(), with_rate(f64::from(rate))));
        }
        let items = feed.next().await.unwrap();
        assert_eq!(items.routes, [("carrier".to_owned(), with_rate(999.0))]);
        assert!(mailbox.lock().routes.is_empty() && items.alerts.is_empty());
        mailbox.put(|newest| _ = newest.routes.insert("carrier".into(), None));
        assert_eq!(feed.next().await.unwrap().routes, [("carrier".to_owned(), None)]);
    }

    #[tokio::test]
    async fn a_feed_ends_with_those_who_publish_it_and_not_before_it_was_read() {
        let mailbox = mailbox();
        let mut feed = AlertFeed(mailbox.clone());
        let mut feeds = AlertFeeds::default();
        feeds.mailboxes.push(mailbox.clone());
        mailbox.put(|newest| _ = newest.routes.insert("carrier".into(), None));
        drop(feeds);
        assert_eq!(feed.next().await.unwrap().routes.len(), 1);
        assert!(feed.next().await.is_none());
    }
}
