//! Board of the newest event of each key, for all readers of one audience. An event is encoded once, when it
//! is posted; each reader goes along the board at its own pace, holds nothing but its place, and copies
//! references.

use bytes::Bytes;
use records::AlertId;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// An event of something that is over stays so long, for readers that are slow.
const OVER_KEPT: Duration = Duration::from_secs(60);

/// What an event is about. A later one with the same key takes the place of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum EventKey {
    /// How far an alert is.
    Alert(AlertId),
    /// An alert came, ended or changed its state.
    AlertState(AlertId),
    /// An alert waits for approval, or does not any more.
    Approval(AlertId),
    /// How a route stands.
    Route(String),
    /// Something that operators should know.
    Notice(&'static str),
}

impl EventKey {
    /// The event's name.
    fn event(&self) -> &'static str {
        match self {
            EventKey::Alert(_) => "alert",
            EventKey::AlertState(_) => "alerts",
            EventKey::Approval(_) => "approval",
            EventKey::Route(_) => "route",
            EventKey::Notice(_) => "notice",
        }
    }
}

/// See the module.
pub(super) struct EventBoard {
    posts: Mutex<Posts>,
    /// The number of the newest event, and whether there will be more.
    progress: watch::Sender<Progress>,
}

/// How far a board is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The number of the newest event.
    pub newest: u64,
    /// What there was at its beginning is posted.
    pub is_whole: bool,
    /// Nothing more will be posted.
    pub is_closed: bool,
}

#[derive(Default)]
struct Posts {
    newest: u64,
    by_number: BTreeMap<u64, EventKey>,
    by_key: HashMap<EventKey, Post>,
    /// Up to here events were taken off.
    taken_off: u64,
}

/// An event on the board.
struct Post {
    number: u64,
    /// As it is sent.
    frame: Bytes,
    /// Of it the JSON.
    data: Bytes,
    over_since: Option<Instant>,
}

/// What a reader finds behind its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FoundBoard {
    /// The next event, which moves it there.
    Event(Bytes),
    /// Nothing yet.
    Nothing,
    /// An event was taken off before the reader came to it.
    Missed,
}

impl EventBoard {
    pub(super) fn new() -> EventBoard {
        EventBoard { posts: Mutex::default(), progress: watch::Sender::default() }
    }

    /// Posts an event; `is_over`: nothing will follow by this key.
    pub(super) fn post(&self, key: EventKey, data: &impl Serialize, is_over: bool) {
        // Maps and strings: they are always JSON.
        let Ok(json) = serde_json::to_string(data) else { return };
        let (frame, data) = framed(key.event(), &json);
        let mut posts = self.lock();
        posts.newest += 1;
        let number = posts.newest;
        posts.by_number.insert(number, key.clone());
        let post = Post { number, frame, data, over_since: is_over.then(Instant::now) };
        if let Some(before) = posts.by_key.insert(key, post) {
            posts.by_number.remove(&before.number);
        }
        drop(posts);
        self.progress.send_modify(|progress| progress.newest = number);
    }

    /// What there was at the beginning is posted.
    pub(super) fn set_whole(&self) {
        self.progress.send_modify(|progress| progress.is_whole = true);
    }

    /// Nothing more will be posted.
    pub(super) fn close(&self) {
        self.progress.send_modify(|progress| progress.is_closed = true);
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// The next event behind a reader's place that it wants.
    pub(super) fn next(&self, place: &mut u64, is_wanted: impl Fn(&EventKey) -> bool) -> FoundBoard {
        let posts = self.lock();
        if posts.taken_off > *place {
            return FoundBoard::Missed;
        }
        for (number, key) in posts.by_number.range(*place + 1..) {
            *place = *number;
            if is_wanted(key)
                && let Some(post) = posts.by_key.get(key)
            {
                return FoundBoard::Event(post.frame.clone());
            }
        }
        FoundBoard::Nothing
    }

    /// The JSON of all that is not over, by key, and the place of a reader that has seen it.
    pub(super) fn standing(&self) -> (BTreeMap<EventKey, Bytes>, u64) {
        let posts = self.lock();
        let all = posts.by_key.iter().filter(|(_, post)| post.over_since.is_none());
        (all.map(|(key, post)| (key.clone(), post.data.clone())).collect(), posts.newest)
    }

    /// Takes off what has been over for a while.
    pub(super) fn tidy(&self, now: Instant) {
        let mut posts = self.lock();
        let is_old = |post: &Post| {
            post.over_since.is_some_and(|since| now.saturating_duration_since(since) >= OVER_KEPT)
        };
        let old: Vec<(EventKey, u64)> = posts
            .by_key
            .iter()
            .filter(|(_, post)| is_old(post))
            .map(|(key, post)| (key.clone(), post.number))
            .collect();
        for (key, number) in old {
            posts.by_key.remove(&key);
            posts.by_number.remove(&number);
            posts.taken_off = posts.taken_off.max(number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Posts> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event as it is sent (WHATWG HTML, 9.2.6), and its JSON in it. JSON has no ends of lines.
pub(super) fn framed(event: &str, json: &str) -> (Bytes, Bytes) {
    let head = format!("event: {event}\ndata: ");
    let frame = Bytes::from(format!("{head}{json}\n\n"));
    let data = frame.slice(head.len()..head.len() + json.len());
    (frame, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn alert(n: u128) -> EventKey {
        EventKey::Alert(AlertId(uuid::Uuid::from_u128(n)))
    }

    /// All that a reader finds.
    fn read(board: &EventBoard, place: &mut u64) -> Vec<Bytes> {
        let mut found = Vec::new();
        while let FoundBoard::Event(event) = board.next(place, |_| true) {
            found.push(event);
        }
        found
    }

    #[test]
    fn an_event_is_encoded_once_and_all_readers_are_given_the_same_octets() {
        let board = EventBoard::new();
        for n in 0..3 {
            board.post(alert(n), &json!({"n": n}), false);
        }
        let readers: Vec<Vec<Bytes>> = (0..500).map(|_| read(&board, &mut 0)).collect();
        for found in &readers {
            assert_eq!(found.len(), 3);
            let shared = found.iter().zip(&readers[0]).all(|(one, first)| one.as_ptr() == first.as_ptr());
            assert!(shared, "a copy was made");
        }
        assert_eq!(readers[7][2], "event: alert\ndata: {\"n\":2}\n\n");
        let newest = board.progress().borrow().newest;
        assert_eq!(newest, 3, "so many encodings, whoever reads");
    }

    #[test]
    fn a_slow_reader_finds_the_newest_of_each_and_the_board_keeps_no_more() {
        let board = EventBoard::new();
        let mut slow = 0;
        for n in 0..10_000 {
            board.post(alert(n % 2), &json!({"n": n}), false);
            if n % 100 == 0 {
                board.post(EventKey::Route("carrier".into()), &json!({"n": n}), false);
            }
        }
        let found = read(&board, &mut slow);
        let text = |octets: &Bytes| String::from_utf8(octets.to_vec()).unwrap();
        let found: Vec<String> = found.iter().map(text).collect();
        assert_eq!(
            found,
            [
                "event: route\ndata: {\"n\":9900}\n\n",
                "event: alert\ndata: {\"n\":9998}\n\n",
                "event: alert\ndata: {\"n\":9999}\n\n",
            ]
        );
        let posts = board.lock();
        assert_eq!((posts.by_key.len(), posts.by_number.len()), (3, 3));
    }

    #[test]
    fn what_is_over_goes_after_a_while_and_who_missed_it_is_told_so() {
        let board = EventBoard::new();
        board.post(alert(1), &json!({}), false);
        let (mut slow, mut quick) = (1, 1);
        board.post(alert(1), &json!({"state": "done"}), true);
        assert_eq!(read(&board, &mut quick).len(), 1);
        assert!(board.standing().0.is_empty(), "a new reader need not know of it");
        board.tidy(Instant::now());
        let mut still = slow;
        let done = "event: alert\ndata: {\"state\":\"done\"}\n\n";
        assert_eq!(board.next(&mut still, |_| true), FoundBoard::Event(done.into()));
        board.tidy(Instant::now() + OVER_KEPT);
        assert_eq!(board.next(&mut slow, |_| true), FoundBoard::Missed);
        assert_eq!(board.next(&mut quick, |_| true), FoundBoard::Nothing);
        let (standing, place) = board.standing();
        assert_eq!((standing.len(), place), (0, 2));
    }

    #[test]
    fn a_reader_goes_past_what_it_does_not_want() {
        let board = EventBoard::new();
        (0..100).for_each(|n| board.post(alert(n), &json!({"n": n}), false));
        let mut place = 0;
        let is_wanted = |key: &EventKey| *key == alert(40);
        assert!(matches!(board.next(&mut place, is_wanted), FoundBoard::Event(_)));
        assert_eq!((board.next(&mut place, is_wanted), place), (FoundBoard::Nothing, 100));
    }
}
