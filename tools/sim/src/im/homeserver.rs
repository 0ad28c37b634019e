//! Homeserver: rooms, events, receipts and the stream of all that happened, as Matrix orders them.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Items of the stream that are kept: a client that was away for longer begins with now.
const STREAM_MAX: usize = 500_000;
/// Items of one answer.
const ANSWER_MAX: usize = 2_000;

/// A room.
#[derive(Default)]
pub(super) struct SimRoom {
    /// Membership by user.
    pub(super) members: BTreeMap<String, &'static str>,
    /// The person of a conversation of two.
    pub(super) person: Option<String>,
    pub(super) is_encrypted: bool,
    /// Events with their places in the stream.
    events: Vec<(u64, Arc<Value>)>,
}

/// Something that happened.
enum StreamItem {
    Event(Arc<Value>),
    Receipt(Value),
    Invite(Value),
}

/// A homeserver with one account that programs use.
pub(super) struct Homeserver {
    pub(super) me: String,
    server_name: String,
    /// Places given out so far.
    place: u64,
    stream: VecDeque<(u64, String, StreamItem)>,
    rooms: BTreeMap<String, SimRoom>,
    /// Rooms by the address that a person or an alert calls them.
    by_address: BTreeMap<String, String>,
    transactions: HashMap<String, String>,
    pub(super) direct: Value,
}

impl Homeserver {
    pub(super) fn new(server_name: &str) -> Homeserver {
        Homeserver {
            me: format!("@alerts:{server_name}"),
            server_name: server_name.to_owned(),
            place: 0,
            stream: VecDeque::new(),
            rooms: BTreeMap::new(),
            by_address: BTreeMap::new(),
            transactions: HashMap::new(),
            direct: json!({}),
        }
    }

    pub(super) fn room(&self, id: &str) -> Option<&SimRoom> {
        self.rooms.get(id)
    }

    pub(super) fn room_mut(&mut self, id: &str) -> Option<&mut SimRoom> {
        self.rooms.get_mut(id)
    }

    /// The room behind an address: a person's conversation, or a room by id or alias.
    pub(super) fn room_of(&self, address: &str) -> Option<String> {
        let known = self.by_address.get(address).cloned();
        known.or_else(|| self.rooms.contains_key(address).then(|| address.to_owned()))
    }

    /// A new room with the account and perhaps a person in it.
    pub(super) fn create(&mut self, person: Option<&str>) -> String {
        let id = format!("!room{}:{}", self.rooms.len() + 1, self.server_name);
        let mut room = SimRoom { person: person.map(str::to_owned), ..SimRoom::default() };
        room.members.insert(self.me.clone(), "join");
        if let Some(person) = person {
            room.members.insert(person.to_owned(), "join");
            self.by_address.insert(person.to_owned(), id.clone());
        }
        self.rooms.insert(id.clone(), room);
        id
    }

    /// Enters the room of this id or alias; it is made where it is not there.
    pub(super) fn join(&mut self, address: &str) -> String {
        let id = self.room_of(address).unwrap_or_else(|| {
            let id = self.create(None);
            self.by_address.insert(address.to_owned(), id.clone());
            id
        });
        if let Some(room) = self.rooms.get_mut(&id) {
            room.members.insert(self.me.clone(), "join");
        }
        id
    }

    /// A person makes a room and invites the account into a conversation of two.
    pub(super) fn invite_me(&mut self, person: &str) -> String {
        let id = self.create(Some(person));
        if let Some(room) = self.rooms.get_mut(&id) {
            room.members.insert(self.me.clone(), "invite");
        }
        let member = json!({"type": "m.room.member", "sender": person, "state_key": self.me,
            "content": {"membership": "invite", "is_direct": true}});
        self.push(&id, StreamItem::Invite(member));
        id
    }

    /// The event of a transaction that was done.
    pub(super) fn done(&self, room: &str, transaction: &str) -> Option<String> {
        self.transactions.get(&format!("{room} {transaction}")).cloned()
    }

    /// Remembers the event of a transaction.
    pub(super) fn note_done(&mut self, room: &str, transaction: &str, event: &str) {
        self.transactions.insert(format!("{room} {transaction}"), event.to_owned());
    }

    /// Puts an event into a room; its id.
    pub(super) fn add(
        &mut self,
        room: &str,
        sender: &str,
        kind: &str,
        content: Value,
        is_state: bool,
    ) -> String {
        let id = format!("$event{}", self.place + 1);
        let mut event = json!({"type": kind, "event_id": id, "sender": sender, "origin_server_ts": 0,
            "room_id": room, "content": content});
        if is_state {
            event["state_key"] = json!("");
        }
        let event = Arc::new(event);
        let place = self.push(room, StreamItem::Event(Arc::clone(&event)));
        if let Some(room) = self.rooms.get_mut(room) {
            room.events.push((place, event));
        }
        id
    }

    /// Somebody has read up to an event; nothing: up to the last of the room.
    pub(super) fn read(&mut self, room: &str, person: &str, event: Option<&str>) -> bool {
        let last = self
            .rooms
            .get(room)
            .and_then(|room| Some(room.events.last()?.1["event_id"].as_str()?.to_owned()));
        let Some(event) = event.map(str::to_owned).or(last) else { return false };
        let mut content = Map::new();
        content.insert(event, json!({"m.read": {person: {"ts": 0}}}));
        self.push(room, StreamItem::Receipt(Value::Object(content)));
        true
    }

    fn push(&mut self, room: &str, item: StreamItem) -> u64 {
        self.place += 1;
        if self.stream.len() >= STREAM_MAX {
            self.stream.pop_front();
        }
        self.stream.push_back((self.place, room.to_owned(), item));
        self.place
    }

    /// An event of a room.
    pub(super) fn event(&self, room: &str, id: &str) -> Option<Arc<Value>> {
        let mut events = self.rooms.get(room)?.events.iter();
        events.find(|(_, event)| event["event_id"] == id).map(|(_, event)| Arc::clone(event))
    }

    /// Events of a room before a place and after another, the newest first.
    pub(super) fn events_before(&self, room: &str, before: u64, after: u64) -> Vec<(u64, Arc<Value>)> {
        let events = self.rooms.get(room).map(|room| room.events.as_slice()).unwrap_or_default();
        let within = events.iter().rev().filter(|(place, _)| *place < before && *place > after);
        within.cloned().collect()
    }

    /// The place of an event.
    pub(super) fn place_of(&self, room: &str, id: &str) -> Option<u64> {
        let mut events = self.rooms.get(room)?.events.iter();
        events.find(|(_, event)| event["event_id"] == id).map(|(place, _)| *place)
    }

    /// Whether something happened after a place.
    pub(super) fn has_news(&self, since: u64) -> bool {
        self.place > since
    }

    /// Place of the last thing that happened.
    pub(super) fn last_place(&self) -> u64 {
        self.place
    }

    /// The answer of `/sync` from a place on; at most `limit` events of each room.
    pub(super) fn sync(&self, since: Option<u64>, limit: usize) -> Value {
        let Some(since) = since else {
            let data = json!({"events": [{"type": "m.direct", "content": self.direct}]});
            return json!({"next_batch": format!("s{}", self.place), "account_data": data, "rooms": {}});
        };
        let mut rooms: BTreeMap<&str, Vec<(u64, &StreamItem)>> = BTreeMap::new();
        let mut next = since;
        let first = self.stream.partition_point(|(place, ..)| *place <= since);
        for (place, room, item) in self.stream.iter().skip(first).take(ANSWER_MAX) {
            rooms.entry(room).or_default().push((*place, item));
            next = *place;
        }
        let (mut joined, mut invited) = (Map::new(), Map::new());
        for (room, items) in rooms {
            if let Some(invite) = items.iter().find_map(|(_, item)| match item {
                StreamItem::Invite(member) => Some(member),
                _ => None,
            }) {
                invited.insert(room.to_owned(), json!({"invite_state": {"events": [invite]}}));
            }
            joined.insert(room.to_owned(), joined_room(&items, limit));
        }
        json!({"next_batch": format!("s{next}"), "rooms": {"join": joined, "invite": invited}})
    }
}

/// A room's part of the answer: its last events, and its receipts.
fn joined_room(items: &[(u64, &StreamItem)], limit: usize) -> Value {
    let events: Vec<(u64, &Arc<Value>)> = items
        .iter()
        .filter_map(
            |(place, item)| if let StreamItem::Event(event) = item { Some((*place, event)) } else { None },
        )
        .collect();
    let receipts: Vec<Value> = items
        .iter()
        .filter_map(|(_, item)| match item {
            StreamItem::Receipt(content) => Some(json!({"type": "m.receipt", "content": content})),
            _ => None,
        })
        .collect();
    let shown = &events[events.len().saturating_sub(limit)..];
    let before = shown.first().map_or(0, |(place, _)| *place);
    let shown_events: Vec<&Value> = shown.iter().map(|(_, event)| &***event).collect();
    json!({
        "timeline": {"events": shown_events, "limited": shown.len() < events.len(), "prev_batch": format!("t{before}")},
        "ephemeral": {"events": receipts},
    })
}
