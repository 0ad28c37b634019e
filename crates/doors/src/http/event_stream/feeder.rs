//! BoardFeeder posts on a board what changes of an account, as far as the board's audience may see it. There
//! is one for all readers of the same account, space and limits; it ends with the last of them.

use super::board::{EventBoard, EventKey};
use super::view;
use crate::http::alerts::view::mode;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::UserScope;
use crate::http::problem::HttpResult;
use crate::http::scope;
use crate::http::server::stopped;
use engine::{AlertChange, AlertFeed, FeedItems, RouteStanding};
use records::{Account, AlertId, AlertNo, AlertState, Mode, ServerTrouble};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Servers of others are looked at so often, and what is over is taken off the board.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Whether an alert is within a user's groups and areas is looked up again after so long.
const SEEN_FOR: Duration = Duration::from_secs(10);
/// The last state of an alert that is over is remembered for so long.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// Those who see the same events.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct EventAudience {
    pub account: String,
    /// Nothing: both, as a token may see them.
    pub space: Option<Mode>,
    /// Limits of a user.
    groups: Option<Vec<String>>,
    areas: Option<Vec<String>>,
}

impl EventAudience {
    pub(super) fn of(caller: &Caller, space: Option<Mode>) -> EventAudience {
        let scope = caller.user.as_ref().map(|user| user.scope.clone()).unwrap_or_default();
        let UserScope { groups, areas, .. } = scope;
        EventAudience { account: caller.account().to_owned(), space, groups, areas }
    }

    fn is_limited(&self) -> bool {
        self.groups.is_some() || self.areas.is_some()
    }

    fn has_mode(&self, name: &str) -> bool {
        self.space.is_none_or(|space| mode(space) == name)
    }

    fn has_route(&self, route: &RouteStanding) -> bool {
        let is_its = route.accounts.is_empty()
            || self.account == Account::DEFAULT
            || route.accounts.contains(&self.account);
        is_its && self.has_mode(mode(route.mode))
    }

    /// Whether an alert is within the limits, whatever its space.
    async fn reaches(&self, app: &App, id: AlertId) -> HttpResult<bool> {
        let alert = app.engine.alert(&self.account, id).await?;
        let (groups, areas) = (self.groups.clone(), self.areas.clone());
        let scope = UserScope { groups, areas, spaces: vec![alert.request.mode] };
        scope::reaches(app, &scope, &alert).await
    }
}

/// See the module.
pub(super) struct BoardFeeder {
    app: App,
    audience: EventAudience,
    feed: AlertFeed,
    board: Weak<EventBoard>,
    known: HashMap<AlertId, KnownAlert>,
    /// Of a limited audience: whether it sees an alert, and when that was looked up.
    seen: HashMap<AlertId, (bool, Instant)>,
    /// Changes of which nobody knows for now who may see them.
    put_off: BTreeMap<AlertNo, AlertChange>,
    /// Routes that are on the board.
    routes: HashSet<String>,
    store_trouble: Option<ServerTrouble>,
    bus_trouble: Option<ServerTrouble>,
}

/// An alert as it was posted last.
struct KnownAlert {
    state: AlertState,
    version: u32,
    at: Instant,
}

impl BoardFeeder {
    pub(super) fn new(
        app: App,
        audience: EventAudience,
        feed: AlertFeed,
        board: &Arc<EventBoard>,
    ) -> BoardFeeder {
        BoardFeeder {
            app,
            audience,
            feed,
            board: Arc::downgrade(board),
            known: HashMap::new(),
            seen: HashMap::new(),
            put_off: BTreeMap::new(),
            routes: HashSet::new(),
            store_trouble: None,
            bus_trouble: None,
        }
    }

    /// Until nobody reads the board, this process does not lead any more, or the door closes.
    pub(super) async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        let mut is_first = true;
        loop {
            tokio::select! {
                items = self.feed.next() => {
                    let Some(board) = self.board.upgrade() else { return };
                    let Some(items) = items else {
                        board.post(EventKey::Notice("leader"), &view::leader_lost(), false);
                        return board.close();
                    };
                    self.post(&board, items).await;
                    if std::mem::take(&mut is_first) {
                        self.look(&board).await;
                        board.set_whole();
                    }
                }
                _ = looks.tick() => {
                    let Some(board) = self.board.upgrade() else { return };
                    self.look(&board).await;
                }
                () = stopped(&mut stopping) => return,
            }
        }
    }

    async fn post(&mut self, board: &EventBoard, items: FeedItems) {
        for change in items.alerts {
            self.post_alert(board, change).await;
        }
        for (name, route) in items.routes {
            match route.as_deref() {
                Some(shown) if self.audience.has_route(shown) => _ = self.routes.insert(name.clone()),
                // Only one that was shown is missed.
                _ if !self.routes.remove(&name) => continue,
                _ => {}
            }
            let shown = route.as_deref().filter(|_| self.routes.contains(&name));
            let view = view::route(&name, shown);
            board.post(EventKey::Route(name), &view, shown.is_none());
        }
    }

    async fn post_alert(&mut self, board: &EventBoard, change: AlertChange) {
        let id = change.report.id;
        if !self.audience.has_mode(change.report.mode) {
            return;
        }
        match self.is_seen(id).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(problem) => {
                tracing::debug!(alert = %id, why = problem.detail(), "who sees an alert is not known now");
                self.put_off.insert(change.no, change);
                return;
            }
        }
        let is_over = change.state.is_final();
        let known = KnownAlert { state: change.state, version: change.version, at: Instant::now() };
        let before = self.known.insert(id, known);
        // One that was over long ago changes its counts alone.
        if before.as_ref().map_or(!is_over, |before| before.state != change.state) {
            board.post(EventKey::AlertState(id), &view::alert_state(&change), is_over);
        }
        board.post(EventKey::Alert(id), &view::alert(&change.report), is_over);
        let waits = change.state == AlertState::AwaitingApproval;
        let waited = before.as_ref().filter(|before| before.state == AlertState::AwaitingApproval);
        let is_news = match waited {
            Some(before) => !waits || before.version != change.version,
            None => waits,
        };
        if is_news {
            board.post(EventKey::Approval(id), &view::approval(&change, waits), !waits);
        }
    }

    /// Whether the audience sees an alert of its space.
    async fn is_seen(&mut self, id: AlertId) -> HttpResult<bool> {
        if !self.audience.is_limited() {
            return Ok(true);
        }
        if let Some((is_seen, since)) = self.seen.get(&id)
            && since.elapsed() < SEEN_FOR
        {
            return Ok(*is_seen);
        }
        let is_seen = self.audience.reaches(&self.app, id).await?;
        self.seen.insert(id, (is_seen, Instant::now()));
        Ok(is_seen)
    }

    /// Looks at the servers of others, and after what was put off.
    async fn look(&mut self, board: &EventBoard) {
        let now = Instant::now();
        board.tidy(now);
        self.known.retain(|_, known| !known.state.is_final() || now.duration_since(known.at) < KNOWN_FOR);
        self.seen.retain(|_, (_, since)| now.duration_since(*since) < KNOWN_FOR);
        for change in std::mem::take(&mut self.put_off).into_values() {
            self.post_alert(board, change).await;
        }
        let (store, bus) = (self.app.store.trouble(), self.app.engine.bus_trouble());
        note_trouble(board, "store", &mut self.store_trouble, store);
        note_trouble(board, "bus", &mut self.bus_trouble, bus);
    }
}

/// Posts the trouble of a server if it is another one than before.
fn note_trouble(
    board: &EventBoard,
    part: &'static str,
    before: &mut Option<ServerTrouble>,
    now: Option<ServerTrouble>,
) {
    let words = |trouble: &Option<ServerTrouble>| trouble.as_ref().map(|trouble| trouble.why.clone());
    if words(before) != words(&now) {
        board.post(EventKey::Notice(part), &view::trouble(part, now.as_ref()), now.is_none());
    }
    *before = now;
}
