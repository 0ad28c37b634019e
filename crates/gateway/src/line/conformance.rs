//! Far end of routes of channel `line` for the conformance checks: people before screens, in the registry
//! that routes write into.

use super::{LineRoute, LineScreen, LineSessions, SessionEntry, ShowResult};
use crate::conformance::{FarEnd, Manner, Message};
use crate::{AnyRoute, GatewayContext};
use futures_util::future::BoxFuture;
use records::LineBlock;
use std::sync::{Arc, Mutex};

/// Persons of the checks: more than any has.
const PERSONS: u32 = 300;

/// Blocks that were shown, each with the id that it was for.
type SeenBlocks = Vec<(String, Arc<LineBlock>)>;

/// Everybody is logged in.
pub(super) struct People {
    sessions: Arc<LineSessions>,
    entries: Mutex<Vec<SessionEntry>>,
    seen: Arc<Mutex<SeenBlocks>>,
}

/// The screen of one person.
struct Screen {
    id: String,
    seen: Arc<Mutex<SeenBlocks>>,
}

impl LineScreen for Screen {
    fn show(&self, block: Arc<LineBlock>) -> BoxFuture<'static, ShowResult> {
        self.seen.lock().unwrap().push((self.id.clone(), block));
        Box::pin(std::future::ready(ShowResult::Taken))
    }
}

impl People {
    pub(super) fn new() -> People {
        let people = People { sessions: Arc::default(), entries: Mutex::default(), seen: Arc::default() };
        people.log_in();
        people
    }

    fn log_in(&self) {
        let entry = |person: u32| {
            let id = self.address(person);
            let screen = Arc::new(Screen { id: id.clone(), seen: Arc::clone(&self.seen) });
            self.sessions.open(&id, screen).unwrap()
        };
        *self.entries.lock().unwrap() = (0..PERSONS).map(entry).collect();
    }
}

impl FarEnd for People {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(LineRoute { name: name.to_owned(), rate, ..LineRoute::default() })
    }

    fn furnish(&self, context: &mut GatewayContext) {
        context.lines = Arc::clone(&self.sessions);
    }

    fn address(&self, person: u32) -> String {
        format!("person-{person}")
    }

    /// Nobody refuses for good, and what is not taken is written again: there is nothing to call unknown.
    fn set_manner(&self, manner: Manner) -> bool {
        match manner {
            Manner::Accept => {
                self.entries.lock().unwrap().clear();
                self.log_in();
                true
            }
            Manner::RefuseForNow => {
                self.entries.lock().unwrap().clear();
                true
            }
            Manner::Silent | Manner::RefuseForGood => false,
        }
    }

    fn cut(&self) -> bool {
        self.entries.lock().unwrap().clear();
        true
    }

    fn arrived(&self) -> Vec<Message> {
        let seen = self.seen.lock().unwrap();
        let message = |(number, (address, block)): (usize, &(String, Arc<LineBlock>))| Message {
            address: address.clone(),
            text: block.lines.join("\n"),
            // Two blocks on a screen are two, whatever their ids.
            identity: number.to_string(),
        };
        seen.iter().enumerate().map(message).collect()
    }
}
