//! Rooms of an account: the conversation with a person, found or made and remembered; and rooms that an alert
//! names.

use super::MatrixConnection;
use super::refusal::{lost, refusal};
use crate::GatewayContext;
use crate::im::http::{ApiAnswer, ApiCall};
use crate::im::message::{ENCRYPTED_CODE, SendResult};
use bus::{BusError, Retained};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;

/// Rooms that are tried for a conversation that is there already.
const CANDIDATES_MAX: usize = 4;
/// The account's list of conversations is written whole each time: beyond so many persons it stays as it is,
/// and the bus alone remembers.
const DIRECT_MAX: usize = 500;
/// Addresses whose rooms are known at a time.
const SLOTS_MAX: usize = 1_000_000;

/// A room to write to.
#[derive(Debug)]
pub(in crate::im) struct Room {
    pub(super) id: String,
    /// The address that it was found by.
    pub(super) address: String,
    /// It cannot be written to, and never can again (Matrix, "m.room.encryption").
    pub(super) is_encrypted: AtomicBool,
}

/// What is known of an account's rooms.
pub(super) struct Rooms {
    account: String,
    /// Rooms by person, over restarts.
    kept: Arc<dyn Retained>,
    /// Rooms by address, looked at once by one task.
    slots: Mutex<FxHashMap<String, Arc<OnceCell<Arc<Room>>>>>,
    /// Persons by the room of their conversation.
    persons: Mutex<FxHashMap<String, String>>,
    /// The account's own list of conversations: rooms by person.
    direct: tokio::sync::Mutex<Map<String, Value>>,
}

impl Rooms {
    /// Opens what is kept of a route's account.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn open(context: &GatewayContext, route: &str, account: &str) -> Result<Rooms, BusError> {
        let rooms = Rooms {
            account: account.to_owned(),
            kept: context.bus.retained(&format!("im/rooms/{route}"))?,
            slots: Mutex::default(),
            persons: Mutex::default(),
            direct: tokio::sync::Mutex::default(),
        };
        for (person, value) in rooms.kept.all() {
            if let Some(room) = rooms.read_kept(&value) {
                rooms.persons().insert(room, person);
            }
        }
        Ok(rooms)
    }

    /// The person of a conversation of two.
    pub(super) fn person_of(&self, room: &str) -> Option<String> {
        self.persons().get(room).cloned()
    }

    /// The account's list of conversations, as the server has it.
    pub(super) async fn set_direct(&self, direct: Map<String, Value>) {
        for (person, rooms) in &direct {
            for room in rooms.as_array().into_iter().flatten().filter_map(Value::as_str) {
                self.persons().insert(room.to_owned(), person.clone());
            }
        }
        *self.direct.lock().await = direct;
    }

    /// An address, or whatever was found by it, is looked at anew.
    pub(super) fn forget(&self, address: &str) {
        self.slots().remove(address);
    }

    /// A room is encrypted from now on.
    pub(super) fn set_encrypted(&self, room: &str) {
        for slot in self.slots().values() {
            if let Some(found) = slot.get().filter(|found| found.id == room) {
                found.is_encrypted.store(true, Ordering::Relaxed);
            }
        }
    }

    fn slot(&self, address: &str) -> Arc<OnceCell<Arc<Room>>> {
        let mut slots = self.slots();
        if slots.len() >= SLOTS_MAX && !slots.contains_key(address) {
            slots.clear();
        }
        Arc::clone(slots.entry(address.to_owned()).or_default())
    }

    /// Rooms in which a conversation with a person may be, the likeliest first.
    async fn candidates(&self, person: &str) -> Vec<String> {
        let kept = self.kept.value(person).and_then(|value| self.read_kept(&value));
        let direct = self.direct.lock().await;
        let listed = direct.get(person).and_then(Value::as_array).into_iter().flatten();
        let listed = listed.rev().filter_map(|room| room.as_str().map(str::to_owned));
        let mut rooms: Vec<String> = Vec::new();
        for room in kept.into_iter().chain(listed) {
            if rooms.len() < CANDIDATES_MAX && !rooms.contains(&room) {
                rooms.push(room);
            }
        }
        rooms
    }

    /// Remembers a conversation over restarts, before anything is written in it: what is sent again must go
    /// to the same room.
    async fn keep(&self, person: &str, room: &str) -> Result<(), BusError> {
        let value = json!({"account": self.account, "room": room}).to_string();
        self.kept.set(person, value.as_bytes()).await?;
        self.persons().insert(room.to_owned(), person.to_owned());
        Ok(())
    }

    fn read_kept(&self, value: &[u8]) -> Option<String> {
        let value: Value = serde_json::from_slice(value).ok()?;
        let is_ours = value["account"].as_str() == Some(&self.account);
        value["room"].as_str().filter(|_| is_ours).map(str::to_owned)
    }

    fn slots(&self) -> MutexGuard<'_, FxHashMap<String, Arc<OnceCell<Arc<Room>>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn persons(&self) -> MutexGuard<'_, FxHashMap<String, String>> {
        self.persons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MatrixConnection {
    /// The room of an address.
    ///
    /// # Errors
    /// There is none that can be written to.
    pub(in crate::im) async fn room_of(&self, address: &str) -> Result<Arc<Room>, SendResult> {
        let slot = self.rooms.slot(address);
        let found = slot.get_or_try_init(|| self.find_room(address)).await?;
        match found.is_encrypted.load(Ordering::Relaxed) {
            true => Err(encrypted()),
            false => Ok(Arc::clone(found)),
        }
    }

    async fn find_room(&self, address: &str) -> Result<Arc<Room>, SendResult> {
        let id = match address.starts_with('@') {
            true => self.conversation_with(address).await?,
            false => self.joined(address).await?,
        };
        let is_encrypted = self.is_encrypted(&id).await?;
        let is_encrypted = AtomicBool::new(is_encrypted);
        Ok(Arc::new(Room { id, address: address.to_owned(), is_encrypted }))
    }

    /// A room or alias that an alert names: the account enters it, where it may.
    async fn joined(&self, address: &str) -> Result<String, SendResult> {
        let answer = self.post(&["join", address], &json!({})).await?;
        match answer.body["room_id"].as_str().filter(|_| answer.is_success()) {
            Some(room) => Ok(room.to_owned()),
            None => Err(refusal(&self.api, &answer)),
        }
    }

    /// The conversation with a person: one that is there, else a new one.
    async fn conversation_with(&self, person: &str) -> Result<String, SendResult> {
        for room in self.rooms.candidates(person).await {
            if self.is_theirs(&room, person).await? {
                self.rooms.persons().insert(room.clone(), person.to_owned());
                return Ok(room);
            }
        }
        let body = json!({"preset": "trusted_private_chat", "is_direct": true, "invite": [person]});
        let answer = self.post(&["createRoom"], &body).await?;
        let Some(room) = answer.body["room_id"].as_str().filter(|_| answer.is_success()) else {
            return Err(refusal(&self.api, &answer));
        };
        self.log().created(room);
        self.note_conversation(person, room).await?;
        Ok(room.to_owned())
    }

    /// Remembers a conversation, here and in the account's own list.
    pub(super) async fn note_conversation(&self, person: &str, room: &str) -> Result<(), SendResult> {
        let kept = self.rooms.keep(person, room).await;
        kept.map_err(|error| SendResult::Down { text: format!("a room cannot be remembered: {error}") })?;
        let mut direct = self.rooms.direct.lock().await;
        if direct.len() >= DIRECT_MAX && !direct.contains_key(person) {
            return Ok(());
        }
        match direct.entry(person).or_insert_with(|| json!([])) {
            Value::Array(rooms) => rooms.push(json!(room)),
            other => *other = json!([room]),
        }
        let list = Value::Object(direct.clone());
        let path = self.path(&["user", &self.me, "account_data", "m.direct"]);
        match self.api.call(ApiCall::put(&path, &list)).await {
            Ok(answer) if answer.is_success() => {}
            // The bus remembers it.
            other => tracing::debug!(
                route = self.route,
                ?other,
                "the account's list of conversations is as it was"
            ),
        }
        Ok(())
    }

    /// Whether a person is in a room, or comes back into it by a new invitation.
    async fn is_theirs(&self, room: &str, person: &str) -> Result<bool, SendResult> {
        let answer = self.get(&["rooms", room, "state", "m.room.member", person]).await?;
        match answer.body["membership"].as_str() {
            Some("join" | "invite") if answer.is_success() => Ok(true),
            Some("leave") if answer.is_success() => {
                let answer = self.post(&["rooms", room, "invite"], &json!({"user_id": person})).await?;
                yes_or_no(self, &answer)
            }
            _ => yes_or_no(self, &answer).map(|_| false),
        }
    }

    async fn is_encrypted(&self, room: &str) -> Result<bool, SendResult> {
        let answer = self.get(&["rooms", room, "state", "m.room.encryption"]).await?;
        match answer.status {
            404 if answer.body["errcode"] == "M_NOT_FOUND" => Ok(false),
            _ if answer.is_success() => Ok(true),
            _ => Err(refusal(&self.api, &answer)),
        }
    }

    async fn get(&self, path: &[&str]) -> Result<ApiAnswer, SendResult> {
        self.api.call(ApiCall::get(&self.path(path))).await.map_err(|error| lost(&error))
    }

    async fn post(&self, path: &[&str], body: &Value) -> Result<ApiAnswer, SendResult> {
        self.api.call(ApiCall::post(&self.path(path), body)).await.map_err(|error| lost(&error))
    }
}

/// Whether a call worked; a refusal for good is a no.
fn yes_or_no(connection: &MatrixConnection, answer: &ApiAnswer) -> Result<bool, SendResult> {
    match refusal(&connection.api, answer) {
        _ if answer.is_success() => Ok(true),
        SendResult::Refused { permanent: true, .. } => Ok(false),
        other => Err(other),
    }
}

/// Said of an encrypted room.
pub(super) const ENCRYPTED: &str =
    "the room is end-to-end encrypted, and this route writes to rooms without encryption alone";

fn encrypted() -> SendResult {
    SendResult::Refused {
        permanent: true,
        code: ENCRYPTED_CODE.to_owned(),
        text: format!("{ENCRYPTED}: the person leaves it, or the alert names another room"),
    }
}
