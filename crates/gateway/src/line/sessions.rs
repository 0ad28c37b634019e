//! Registry of the open sessions of this process, by login id: doors enter them, routes write into them.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use futures_util::stream::{FuturesUnordered, StreamExt};
use records::{AlertNo, EndpointNo, LineBlock};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open sessions of one id at most.
pub const SESSIONS_OF_ID_MAX: usize = 16;
/// Deliveries that a session remembers to have shown.
const SHOWN_MAX: usize = 1_000;

/// What became of a block in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowResult {
    /// Its socket has taken all octets.
    Taken,
    /// It ended before.
    Ended,
    /// It has too much to write already.
    Full,
}

/// An open session, as its door shows it.
pub trait LineScreen: Send + Sync {
    /// Hands it a block at once; resolves when its socket has taken it.
    fn show(&self, block: Arc<LineBlock>) -> BoxFuture<'static, ShowResult>;
}

/// The open sessions of this process.
#[derive(Default)]
pub struct LineSessions {
    open: Mutex<FxHashMap<String, Vec<OpenSession>>>,
}

/// A session is open as long as this is held.
pub struct SessionEntry {
    sessions: Arc<LineSessions>,
    id: String,
    screen: Arc<dyn LineScreen>,
}

struct OpenSession {
    screen: Arc<dyn LineScreen>,
    shown: ShownBlocks,
}

type Showing = Shared<BoxFuture<'static, ShowResult>>;

/// What a session was handed, so that it is handed nothing twice.
#[derive(Default)]
struct ShownBlocks {
    results: FxHashMap<(AlertNo, EndpointNo), Showing>,
    order: VecDeque<(AlertNo, EndpointNo)>,
}

impl LineSessions {
    /// Enters a session of an id. Nothing if the id has too many.
    pub fn open(self: &Arc<Self>, id: &str, screen: Arc<dyn LineScreen>) -> Option<SessionEntry> {
        let mut open = self.lock();
        let sessions = open.entry(id.to_owned()).or_default();
        if sessions.len() >= SESSIONS_OF_ID_MAX {
            return None;
        }
        sessions.push(OpenSession { screen: Arc::clone(&screen), shown: ShownBlocks::default() });
        drop(open);
        Some(SessionEntry { sessions: Arc::clone(self), id: id.to_owned(), screen })
    }

    /// Whether somebody is logged in under an id.
    pub fn is_open(&self, id: &str) -> bool {
        self.lock().contains_key(id)
    }

    /// Writes a block into all sessions of an id that have not shown its delivery; resolves when the first of
    /// them has taken it, or none will. Nothing if nobody is logged in.
    pub(super) async fn show(&self, id: &str, block: LineBlock) -> Option<ShowResult> {
        let mut showing = self.hand_over(id, block)?;
        let mut result = ShowResult::Ended;
        while let Some(one) = showing.next().await {
            match one {
                ShowResult::Taken => return Some(ShowResult::Taken),
                ShowResult::Full => result = ShowResult::Full,
                ShowResult::Ended => {}
            }
        }
        Some(result)
    }

    fn hand_over(&self, id: &str, block: LineBlock) -> Option<FuturesUnordered<Showing>> {
        let block = Arc::new(block);
        let mut open = self.lock();
        let sessions = open.get_mut(id)?;
        Some(sessions.iter_mut().map(|session| session.show(&block)).collect())
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Vec<OpenSession>>> {
        // Every change is made whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenSession {
    fn show(&mut self, block: &Arc<LineBlock>) -> Showing {
        if let Some(known) = self.shown.results.get(&block.of).filter(|known| is_good(known)) {
            return known.clone();
        }
        let showing = self.screen.show(Arc::clone(block)).shared();
        self.shown.note(block.of, showing.clone());
        showing
    }
}

/// A session that had no room for a block may be handed it once more.
fn is_good(showing: &Showing) -> bool {
    showing.clone().now_or_never() != Some(ShowResult::Full)
}

impl ShownBlocks {
    fn note(&mut self, of: (AlertNo, EndpointNo), showing: Showing) {
        if self.results.insert(of, showing).is_none() {
            self.order.push_back(of);
        }
        if self.order.len() > SHOWN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.results.remove(&oldest);
        }
    }
}

impl Drop for SessionEntry {
    fn drop(&mut self) {
        let mut open = self.sessions.lock();
        if let Some(sessions) = open.get_mut(&self.id) {
            sessions.retain(|session| !Arc::ptr_eq(&session.screen, &self.screen));
            if sessions.is_empty() {
                open.remove(&self.id);
            }
        }
    }
}
