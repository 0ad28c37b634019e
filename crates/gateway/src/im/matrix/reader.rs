//! Reader of an account's events: receipts, replies, reactions and messages of people, as outcomes.

use super::refusal::{lost, refusal};
use super::room_log::ReadUpTo;
use super::rooms::ENCRYPTED;
use super::sync::{self, DirectInvite, RoomEvent, RoomEventKind, SyncAnswer, TimelineGap};
use super::{MatrixConnection, event_key};
use crate::im::connection::{ReadBatch, ReadError};
use crate::im::http::{ApiAnswer, ApiCall};
use crate::im::message::SendResult;
use records::{Inbound, Outcome, PersonReply, Receipt, ReceiptState};
use serde_json::{Value, json};
use std::time::Duration;

/// Octets of an answer of `/sync` at most.
const SYNC_OCTETS_MAX: usize = 64 << 20;
/// Calls for the events that did not fit into an answer, for each room.
const GAP_PAGES_MAX: usize = 10;
/// Invitations that are accepted of one answer.
const INVITES_MAX: usize = 20;

impl MatrixConnection {
    /// What happened since a position; without one nothing but the position of now.
    ///
    /// # Errors
    /// There is no answer, or what it needs to be understood has none. Nothing of it is lost: the same
    /// position gives it again.
    pub(in crate::im) async fn read(
        &self,
        since: Option<&str>,
        poll: Duration,
    ) -> Result<ReadBatch, ReadError> {
        let body = self.sync(since, poll).await?;
        let answer = sync::read(&body, &self.me)
            .ok_or_else(|| ReadError::Down("the homeserver's answer to /sync cannot be read".to_owned()))?;
        drop(body);
        if let Some(direct) = answer.direct.clone() {
            self.rooms.set_direct(direct).await;
        }
        let Some(since) = since else {
            return Ok(ReadBatch { position: answer.next, ..ReadBatch::default() });
        };
        let read = self.outcomes(answer, since).await;
        if read.is_err() {
            // What it noted as read has no outcome.
            self.log().clear();
        }
        read
    }

    async fn sync(&self, since: Option<&str>, poll: Duration) -> Result<Value, ReadError> {
        let filter = sync::filter(since.is_none());
        let poll = if since.is_some() { poll } else { Duration::ZERO };
        let timeout = poll.as_millis().to_string();
        let mut query = vec![("filter", &*filter), ("timeout", &*timeout), ("set_presence", "offline")];
        query.extend(since.map(|since| ("since", since)));
        let path = self.path(&["sync"]);
        let call = ApiCall::get(&path).with_query(&query).held(poll, SYNC_OCTETS_MAX);
        let answer = self.api.call(call).await.map_err(|error| down(lost(&error)))?;
        if answer.is_success() {
            return Ok(answer.body);
        }
        match refusal(&self.api, &answer) {
            SendResult::Refused { .. } if answer.status == 400 && since.is_some() => {
                Err(ReadError::NoPosition)
            }
            other => Err(down(other)),
        }
    }

    async fn outcomes(&self, answer: SyncAnswer, since: &str) -> Result<ReadBatch, ReadError> {
        let mut batch = ReadBatch { position: answer.next, ..ReadBatch::default() };
        let mut events = Vec::new();
        for gap in &answer.gaps {
            events.extend(self.events_of_gap(gap, since).await?);
        }
        events.extend(answer.events);
        for event in events {
            self.take(event, &mut batch).await?;
        }
        for invite in answer.invites.iter().take(INVITES_MAX) {
            self.accept(invite).await?;
        }
        Ok(batch)
    }

    async fn take(&self, event: RoomEvent, batch: &mut ReadBatch) -> Result<(), ReadError> {
        let RoomEvent { room, sender, event: id, kind } = event;
        if sender == self.me {
            match kind {
                RoomEventKind::Message { is_marked: true, .. } => self.log().note(&room, &id),
                RoomEventKind::Encrypted => self.note_encrypted(&room, batch),
                _ => {}
            }
            return Ok(());
        }
        let person = self.rooms.person_of(&room);
        // In a conversation of two nobody speaks for the person.
        let is_other = person.as_ref().is_some_and(|person| *person != sender);
        match kind {
            RoomEventKind::Encrypted => self.note_encrypted(&room, batch),
            RoomEventKind::Left { person } => self.rooms.forget(&person),
            _ if is_other => {}
            RoomEventKind::Message { text, refers_to, .. } => {
                let keys = self.own_keys(&room, &refers_to).await?;
                if !keys.is_empty() {
                    batch.outcomes.push(self.reply(keys, &sender, text));
                } else if person.is_some() {
                    batch.outcomes.push(Outcome::Inbound(self.inbound(&sender, text)));
                }
            }
            RoomEventKind::Reaction { word, refers_to } => {
                let keys = self.own_keys(&room, &[refers_to]).await?;
                if !keys.is_empty() {
                    batch.outcomes.push(self.reply(keys, &sender, word));
                }
            }
            RoomEventKind::Read { in_thread } => {
                let read = self.read_by(&room, &id, in_thread).await?;
                batch.outcomes.extend(read.iter().map(|event| self.receipt(event)));
            }
        }
        Ok(())
    }

    fn note_encrypted(&self, room: &str, batch: &mut ReadBatch) {
        self.rooms.set_encrypted(room);
        batch.warning = Some(format!("a room was encrypted: {ENCRYPTED}"));
    }

    /// Our messages that a receipt covers and none before did.
    async fn read_by(&self, room: &str, event: &str, in_thread: bool) -> Result<Vec<String>, ReadError> {
        if in_thread {
            let is_own = self.is_own(room, event).await?;
            return Ok(if is_own { vec![event.to_owned()] } else { Vec::new() });
        }
        let known = self.log().read_up_to(room, event);
        match known {
            ReadUpTo::Known(events) => Ok(events),
            ReadUpTo::AskServer => {
                let events = self.own_before(room, event).await?;
                Ok(self.log().read_by_server(room, events))
            }
        }
    }

    /// Our messages up to an event, in their order, as the server has them.
    async fn own_before(&self, room: &str, event: &str) -> Result<Vec<String>, ReadError> {
        let filter = sync::events_filter(Some(&self.me));
        let path = self.path(&["rooms", room, "context", event]);
        let query = [("limit", "40"), ("filter", &*filter)];
        let answer = self.asked(ApiCall::get(&path).with_query(&query)).await?;
        let Some(answer) = answer else { return Ok(Vec::new()) };
        let before = answer.body["events_before"].as_array().into_iter().flatten().rev();
        let events = before.chain(std::iter::once(&answer.body["event"]));
        Ok(events.filter_map(|event| self.own_message(room, event)).collect())
    }

    /// Keys of those events that are our messages.
    async fn own_keys(&self, room: &str, events: &[String]) -> Result<Vec<u64>, ReadError> {
        let mut keys = Vec::new();
        for event in events {
            if self.is_own(room, event).await? {
                keys.push(event_key(event));
            }
        }
        Ok(keys)
    }

    async fn is_own(&self, room: &str, event: &str) -> Result<bool, ReadError> {
        if self.log().is_own(room, event) {
            return Ok(true);
        }
        let path = self.path(&["rooms", room, "event", event]);
        let answer = self.asked(ApiCall::get(&path)).await?;
        Ok(answer.is_some_and(|answer| self.own_message(room, &answer.body).is_some()))
    }

    /// The id of an event that is a message of ours.
    fn own_message(&self, room: &str, event: &Value) -> Option<String> {
        let read = sync::read_event(room, event).filter(|read| read.sender == self.me)?;
        let is_marked = matches!(read.kind, RoomEventKind::Message { is_marked: true, .. });
        is_marked.then_some(read.event)
    }

    /// Events that did not fit into an answer, the oldest first.
    async fn events_of_gap(&self, gap: &TimelineGap, since: &str) -> Result<Vec<RoomEvent>, ReadError> {
        let filter = sync::events_filter(None);
        let (mut from, mut events) = (gap.before.clone(), Vec::new());
        for _ in 0..GAP_PAGES_MAX {
            let path = self.path(&["rooms", &gap.room, "messages"]);
            let query =
                [("dir", "b"), ("from", &*from), ("to", since), ("limit", "100"), ("filter", &*filter)];
            let Some(answer) = self.asked(ApiCall::get(&path).with_query(&query)).await? else { break };
            let chunk = answer.body["chunk"].as_array().into_iter().flatten();
            events.extend(chunk.filter_map(|event| sync::read_event(&gap.room, event)));
            match answer.body["end"].as_str().filter(|end| *end != from) {
                Some(end) => from = end.to_owned(),
                None => {
                    events.reverse();
                    return Ok(events);
                }
            }
        }
        tracing::warn!(
            route = self.route,
            "a room has more events than are read after a pause: older ones are passed over"
        );
        events.reverse();
        Ok(events)
    }

    /// An invitation to a conversation of two is accepted: people may write first.
    async fn accept(&self, invite: &DirectInvite) -> Result<(), ReadError> {
        let (path, body) = (self.path(&["rooms", &invite.room, "join"]), json!({}));
        if self.asked(ApiCall::post(&path, &body)).await?.is_some() {
            self.note_conversation(&invite.by, &invite.room).await.map_err(down)?;
            self.rooms.forget(&invite.by);
        }
        Ok(())
    }

    /// The answer to a call; nothing where the server refuses it for good.
    async fn asked(&self, call: ApiCall<'_>) -> Result<Option<ApiAnswer>, ReadError> {
        let answer = self.api.call(call).await.map_err(|error| down(lost(&error)))?;
        if answer.is_success() {
            return Ok(Some(answer));
        }
        match refusal(&self.api, &answer) {
            SendResult::Refused { permanent: true, .. } => Ok(None),
            other => Err(down(other)),
        }
    }

    fn receipt(&self, event: &str) -> Outcome {
        Outcome::Receipt(Receipt {
            route: self.route.clone(),
            keys: vec![event_key(event)],
            id: event.to_owned(),
            state: ReceiptState::Delivered,
            text: "m.read".to_owned(),
            at: self.context.now(),
        })
    }

    fn reply(&self, keys: Vec<u64>, sender: &str, text: String) -> Outcome {
        Outcome::Reply(Box::new(PersonReply { keys, inbound: self.inbound(sender, text) }))
    }

    fn inbound(&self, sender: &str, text: String) -> Inbound {
        Inbound {
            channel: channels::IM,
            route: self.route.clone(),
            from: format!("matrix:{sender}"),
            to: format!("matrix:{}", self.me),
            text,
            octets: None,
            of: None,
            at: self.context.now(),
        }
    }
}

/// What a result that is no success means for reading.
fn down(result: SendResult) -> ReadError {
    match result {
        SendResult::Slow { wait, text } => ReadError::Wait(wait, text),
        other => ReadError::Down(super::words(other)),
    }
}
