//! Log of our own messages in each room, in their order: a receipt covers all that stand before it.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Messages that are remembered of a room.
const EVENTS_MAX: usize = 64;
/// Rooms that are remembered; then all are asked for again.
const ROOMS_MAX: usize = 1_000_000;

/// The rooms of an account.
#[derive(Default)]
pub(super) struct RoomLogs {
    rooms: FxHashMap<String, RoomLog>,
}

#[derive(Default)]
struct RoomLog {
    /// Nothing of ours stands unread before the first.
    is_whole: bool,
    events: VecDeque<LoggedEvent>,
}

struct LoggedEvent {
    id: String,
    read: bool,
}

/// What a receipt says of our messages.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadUpTo {
    /// These were read by it, for the first time.
    Known(Vec<String>),
    /// The server knows what stands before it.
    AskServer,
}

impl RoomLogs {
    /// A room was made just now: there is nothing before.
    pub(super) fn created(&mut self, room: &str) {
        self.of(room).is_whole = true;
    }

    /// A message of ours stands in a room. The answer to sending it and the server's events both tell so.
    pub(super) fn note(&mut self, room: &str, event: &str) {
        let log = self.of(room);
        if log.events.iter().any(|known| known.id == event) {
            return;
        }
        if log.events.len() >= EVENTS_MAX {
            log.events.pop_front();
        }
        log.events.push_back(LoggedEvent { id: event.to_owned(), read: false });
    }

    /// Whether a message is known to be ours.
    pub(super) fn is_own(&self, room: &str, event: &str) -> bool {
        self.rooms.get(room).is_some_and(|log| log.events.iter().any(|known| known.id == event))
    }

    /// Somebody has read everything up to this event.
    pub(super) fn read_up_to(&mut self, room: &str, event: &str) -> ReadUpTo {
        let log = self.of(room);
        let place = log.events.iter().position(|known| known.id == event);
        match place.filter(|_| log.is_whole) {
            Some(place) => ReadUpTo::Known(log.take_read(place + 1)),
            None if log.is_whole && log.events.iter().all(|known| known.read) => ReadUpTo::Known(Vec::new()),
            None => ReadUpTo::AskServer,
        }
    }

    /// The server named these messages of ours, in their order, as all that were read. Those that were not
    /// known to be so come back.
    pub(super) fn read_by_server(&mut self, room: &str, events: Vec<String>) -> Vec<String> {
        let log = self.of(room);
        log.is_whole = true;
        let is_read = |id: &String| log.events.iter().any(|known| known.read && known.id == *id);
        let mut news: Vec<String> = events.into_iter().filter(|id| !is_read(id)).collect();
        let last = log.events.iter().rposition(|known| news.contains(&known.id));
        for id in log.take_read(last.map_or(0, |place| place + 1)) {
            if !news.contains(&id) {
                news.push(id);
            }
        }
        news
    }

    /// What is remembered may be wrong: the server is asked again.
    pub(super) fn clear(&mut self) {
        self.rooms.clear();
    }

    fn of(&mut self, room: &str) -> &mut RoomLog {
        if self.rooms.len() >= ROOMS_MAX && !self.rooms.contains_key(room) {
            self.rooms.clear();
        }
        self.rooms.entry(room.to_owned()).or_default()
    }
}

impl RoomLog {
    /// The first `count` are read now; those that were not before.
    fn take_read(&mut self, count: usize) -> Vec<String> {
        let unread = self.events.iter_mut().take(count).filter(|known| !known.read);
        let read = unread.map(|known| {
            known.read = true;
            known.id.clone()
        });
        read.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn a_receipt_covers_what_stands_before_it_once() {
        let mut logs = RoomLogs::default();
        logs.created("!r");
        ["$1", "$2", "$3", "$2"].iter().for_each(|event| logs.note("!r", event));
        assert_eq!(logs.read_up_to("!r", "$2"), ReadUpTo::Known(ids(&["$1", "$2"])));
        assert_eq!(logs.read_up_to("!r", "$1"), ReadUpTo::Known(Vec::new()));
        assert_eq!(logs.read_up_to("!r", "$theirs"), ReadUpTo::AskServer);
        assert_eq!(logs.read_by_server("!r", ids(&["$1", "$2", "$3"])), ids(&["$3"]));
        assert_eq!(logs.read_up_to("!r", "$theirs"), ReadUpTo::Known(Vec::new()));
        assert!(logs.is_own("!r", "$2") && !logs.is_own("!r", "$theirs") && !logs.is_own("!other", "$2"));
    }

    #[test]
    fn the_first_receipt_after_a_start_asks_the_server_for_what_stood_before() {
        let mut logs = RoomLogs::default();
        logs.note("!r", "$2");
        assert_eq!(logs.read_up_to("!r", "$2"), ReadUpTo::AskServer);
        assert_eq!(logs.read_by_server("!r", ids(&["$1", "$2"])), ids(&["$1", "$2"]));
        assert_eq!(logs.read_up_to("!r", "$2"), ReadUpTo::Known(Vec::new()));
        logs.clear();
        assert_eq!(logs.read_up_to("!r", "$2"), ReadUpTo::AskServer);
    }

    #[test]
    fn a_room_remembers_a_bounded_number_of_messages() {
        let mut logs = RoomLogs::default();
        for number in 0..2 * EVENTS_MAX {
            logs.note("!r", &format!("${number}"));
        }
        assert_eq!(logs.rooms["!r"].events.len(), EVENTS_MAX);
    }
}
