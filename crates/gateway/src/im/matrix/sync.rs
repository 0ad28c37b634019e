//! Answers of `/sync`: the events of people, of ours, and receipts, read out of JSON that nothing vouches for
//! (Matrix, Client-Server API, "Syncing", "Receipts", "Event relationships").

use crate::im::text;
use serde_json::{Map, Value, json};

/// Octets of an id at most (Matrix, Appendices, "Common Identifier Format").
const ID_OCTETS_MAX: usize = 255;
/// Characters of what a person wrote that are kept.
const TEXT_CHARS_MAX: usize = 4_096;
/// Characters of a reaction that are kept.
const REACTION_CHARS_MAX: usize = 200;
/// Events of a room in one answer; what is left out is asked for.
const TIMELINE_MAX: u32 = 100;
/// Types of events that are read.
const TYPES: [&str; 4] = ["m.room.message", "m.reaction", "m.room.encryption", "m.room.member"];

/// A member of the content of our messages, by which they are known from whatever else the account writes.
pub(super) const MARK: &str = "campanile.alert";

/// Something that happened in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoomEvent {
    pub(super) room: String,
    /// Who did it.
    pub(super) sender: String,
    /// The event's id; of a receipt the event that was read.
    pub(super) event: String,
    pub(super) kind: RoomEventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RoomEventKind {
    /// Somebody wrote: the text, and the events that it is an answer to.
    Message { text: String, refers_to: Vec<String>, is_marked: bool },
    /// Somebody reacted to an event.
    Reaction { word: String, refers_to: String },
    /// The room is encrypted from now on.
    Encrypted,
    /// A person is no longer in the room.
    Left { person: String },
    /// Everything up to the event was read; in a thread the event alone.
    Read { in_thread: bool },
}

/// An invitation to a conversation of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectInvite {
    pub(super) room: String,
    pub(super) by: String,
}

/// Events of a room that did not fit into an answer: they stand before this position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimelineGap {
    pub(super) room: String,
    pub(super) before: String,
}

/// What an answer holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SyncAnswer {
    /// From here on the next one.
    pub(super) next: String,
    /// Conversations of two, where they changed: rooms by person.
    pub(super) direct: Option<Map<String, Value>>,
    pub(super) events: Vec<RoomEvent>,
    pub(super) gaps: Vec<TimelineGap>,
    pub(super) invites: Vec<DirectInvite>,
}

/// The filter of `/sync`. `is_first`: nothing but the position is wanted.
pub(super) fn filter(is_first: bool) -> String {
    let none = json!({"types": []});
    let timeline = json!({"types": TYPES, "limit": if is_first { 1 } else { TIMELINE_MAX }});
    let ephemeral = if is_first { none.clone() } else { json!({"types": ["m.receipt"]}) };
    let filter = json!({
        "presence": none,
        "account_data": {"types": ["m.direct"]},
        "room": {"account_data": none, "state": none, "timeline": timeline, "ephemeral": ephemeral},
    });
    filter.to_string()
}

/// The filter of the calls for events of a room before others.
pub(super) fn events_filter(sender: Option<&str>) -> String {
    let mut filter = json!({"types": TYPES});
    if let Some(sender) = sender {
        filter = json!({"types": ["m.room.message"], "senders": [sender]});
    }
    filter.to_string()
}

/// Reads an answer. Nothing without a position for the next: then it is none.
pub(super) fn read(body: &Value, me: &str) -> Option<SyncAnswer> {
    let mut answer = SyncAnswer { next: body["next_batch"].as_str()?.to_owned(), ..SyncAnswer::default() };
    for data in list(&body["account_data"]["events"]) {
        if data["type"] == "m.direct" {
            answer.direct = data["content"].as_object().cloned();
        }
    }
    for (room, content) in members(&body["rooms"]["join"]) {
        let timeline = &content["timeline"];
        if timeline["limited"] == true
            && let Some(before) = timeline["prev_batch"].as_str()
        {
            answer.gaps.push(TimelineGap { room: room.clone(), before: before.to_owned() });
        }
        answer.events.extend(list(&timeline["events"]).iter().filter_map(|event| read_event(room, event)));
        for ephemeral in list(&content["ephemeral"]["events"]) {
            if ephemeral["type"] == "m.receipt" {
                read_receipts(room, &ephemeral["content"], &mut answer.events);
            }
        }
    }
    for (room, content) in members(&body["rooms"]["invite"]) {
        let state = list(&content["invite_state"]["events"]);
        answer.invites.extend(state.iter().find_map(|event| read_invite(room, event, me)));
    }
    Some(answer)
}

/// An event of a timeline, where it is one that counts.
pub(super) fn read_event(room: &str, event: &Value) -> Option<RoomEvent> {
    let (sender, id) = (id(&event["sender"])?, id(&event["event_id"])?);
    let content = &event["content"];
    let is_state = event.get("state_key").is_some();
    let kind = match event["type"].as_str()? {
        "m.room.message" if !is_state => read_message(content)?,
        "m.reaction" if !is_state => read_reaction(content)?,
        "m.room.encryption" if is_state => RoomEventKind::Encrypted,
        "m.room.member" if matches!(content["membership"].as_str(), Some("leave" | "ban")) => {
            RoomEventKind::Left { person: self::id(&event["state_key"])? }
        }
        _ => return None,
    };
    Some(RoomEvent { room: room.to_owned(), sender, event: id, kind })
}

/// Text of a person; of a correction the new text. A notice is a bot's, which is never answered.
fn read_message(content: &Value) -> Option<RoomEventKind> {
    let relates = &content["m.relates_to"];
    let is_correction = relates["rel_type"] == "m.replace";
    let said = if is_correction { &content["m.new_content"] } else { content };
    if !matches!(said["msgtype"].as_str(), Some("m.text" | "m.emote")) {
        return None;
    }
    let thread = (relates["rel_type"] == "m.thread").then_some(&relates["event_id"]);
    let targets = [Some(&relates["m.in_reply_to"]["event_id"]), thread];
    let refers_to: Vec<String> = targets.into_iter().flatten().filter_map(id).collect();
    let is_reply = !refers_to.is_empty();
    let text = text::said(said["body"].as_str()?, is_reply && !is_correction, TEXT_CHARS_MAX);
    let is_marked = content.get(MARK).is_some();
    (!text.is_empty()).then_some(RoomEventKind::Message { text, refers_to, is_marked })
}

fn read_reaction(content: &Value) -> Option<RoomEventKind> {
    let relates = &content["m.relates_to"];
    if relates["rel_type"] != "m.annotation" {
        return None;
    }
    let word = text::reaction(relates["key"].as_str()?, REACTION_CHARS_MAX);
    let refers_to = id(&relates["event_id"])?;
    (!word.is_empty()).then_some(RoomEventKind::Reaction { word, refers_to })
}

/// Receipts stand by event, type and person.
fn read_receipts(room: &str, content: &Value, events: &mut Vec<RoomEvent>) {
    for (event, kinds) in members(content).filter(|(event, _)| event.len() <= ID_OCTETS_MAX) {
        for (person, receipt) in members(&kinds["m.read"]).filter(|(person, _)| person.len() <= ID_OCTETS_MAX)
        {
            let thread = receipt["thread_id"].as_str();
            let in_thread = thread.is_some_and(|thread| thread != "main");
            let kind = RoomEventKind::Read { in_thread };
            let (room, sender, event) = (room.to_owned(), person.clone(), event.clone());
            events.push(RoomEvent { room, sender, event, kind });
        }
    }
}

/// Our own membership in the room that we are invited to, if it is a conversation of two.
fn read_invite(room: &str, event: &Value, me: &str) -> Option<DirectInvite> {
    let content = &event["content"];
    let is_ours = event["type"] == "m.room.member" && event["state_key"] == me;
    let is_direct = is_ours && content["membership"] == "invite" && content["is_direct"] == true;
    let by = id(&event["sender"]).filter(|_| is_direct)?;
    (room.len() <= ID_OCTETS_MAX).then(|| DirectInvite { room: room.to_owned(), by })
}

/// An id that may be one.
fn id(value: &Value) -> Option<String> {
    let id = value.as_str().filter(|id| !id.is_empty() && id.len() <= ID_OCTETS_MAX)?;
    (!id.chars().any(char::is_control)).then(|| id.to_owned())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ME: &str = "@alerts:s";

    fn in_room(events: Value) -> Value {
        json!({"next_batch": "s2", "rooms": {"join": {"!r:s": {"timeline": {"events": events}}}}})
    }

    fn kinds(events: Value) -> Vec<RoomEventKind> {
        read(&in_room(events), ME).unwrap().events.into_iter().map(|event| event.kind).collect()
    }

    fn event(kind: &str, content: Value) -> Value {
        json!({"type": kind, "sender": "@a:s", "event_id": "$1", "content": content})
    }

    fn message(text: &str, refers_to: &[&str]) -> RoomEventKind {
        let refers_to = refers_to.iter().map(|id| (*id).to_owned()).collect();
        RoomEventKind::Message { text: text.to_owned(), refers_to, is_marked: false }
    }

    #[test]
    fn replies_threads_corrections_and_reactions_name_what_they_are_about() {
        let reply = json!({"m.in_reply_to": {"event_id": "$0"}});
        let thread =
            json!({"rel_type": "m.thread", "event_id": "$root", "m.in_reply_to": {"event_id": "$0"}});
        let corrected = json!({"msgtype": "m.text", "body": "* 2", "m.new_content": {"msgtype": "m.text", "body": "2"},
            "m.relates_to": {"rel_type": "m.replace", "event_id": "$their"}});
        for (content, expected) in [
            (json!({"msgtype": "m.text", "body": " safe "}), message("safe", &[])),
            (
                json!({"msgtype": "m.text", "body": "> <@b:s> Fire\n\n1", "m.relates_to": reply}),
                message("1", &["$0"]),
            ),
            (
                json!({"msgtype": "m.text", "body": "1", "m.relates_to": thread}),
                message("1", &["$0", "$root"]),
            ),
            (corrected, message("2", &[])),
        ] {
            assert_eq!(kinds(json!([event("m.room.message", content.clone())])), [expected], "{content}");
        }
        let annotation = json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": "$0", "key": "1\u{fe0f}\u{20e3}"}});
        let expected = RoomEventKind::Reaction { word: "1".to_owned(), refers_to: "$0".to_owned() };
        assert_eq!(kinds(json!([event("m.reaction", annotation)])), [expected]);
    }

    #[test]
    fn a_receipt_names_who_has_read_up_to_where() {
        let content = json!({"$7": {"m.read": {"@a:s": {"ts": 1}, "@b:s": {"thread_id": "main"}, "@c:s": {"thread_id": "$t"}},
            "m.read.private": {"@d:s": {}}}});
        let body = json!({"next_batch": "s", "rooms": {"join": {"!r:s": {"ephemeral": {"events": [
            {"type": "m.typing", "content": {"user_ids": []}}, {"type": "m.receipt", "content": content}]}}}}});
        let events = read(&body, ME).unwrap().events;
        let seen: Vec<_> =
            events.iter().map(|it| (it.sender.as_str(), it.event.as_str(), &it.kind)).collect();
        let (whole, thread) =
            (RoomEventKind::Read { in_thread: false }, RoomEventKind::Read { in_thread: true });
        assert_eq!(seen, [("@a:s", "$7", &whole), ("@b:s", "$7", &whole), ("@c:s", "$7", &thread)]);
    }

    #[test]
    fn gaps_invitations_and_conversations_of_two_are_told() {
        let member = |to: &str, direct: bool| {
            json!({"type": "m.room.member", "sender": "@a:s", "state_key": to,
                "content": {"membership": "invite", "is_direct": direct}})
        };
        let body = json!({"next_batch": "s", "account_data": {"events": [{"type": "m.direct", "content": {"@a:s": ["!d:s"]}}]},
            "rooms": {"join": {"!r:s": {"timeline": {"limited": true, "prev_batch": "p", "events": []}}}, "invite": {
                "!d:s": {"invite_state": {"events": [member("@other:s", true), member(ME, true)]}},
                "!group:s": {"invite_state": {"events": [member(ME, false)]}}}}});
        let answer = read(&body, ME).unwrap();
        assert_eq!(answer.gaps, [TimelineGap { room: "!r:s".to_owned(), before: "p".to_owned() }]);
        assert_eq!(answer.invites, [DirectInvite { room: "!d:s".to_owned(), by: "@a:s".to_owned() }]);
        assert_eq!(answer.direct.unwrap()["@a:s"], json!(["!d:s"]));
    }

    #[test]
    fn hostile_and_senseless_events_are_passed_over() {
        let long = "x".repeat(300);
        for content in [
            json!(null),
            json!({}),
            json!([]),
            json!({"msgtype": "m.text"}),
            json!({"msgtype": "m.text", "body": 7}),
            json!({"msgtype": "m.text", "body": " \n"}),
            json!({"msgtype": "m.notice", "body": "I am a bot"}),
            json!({"msgtype": "m.image", "body": "cat.png"}),
            json!({"msgtype": "m.text", "body": "* x", "m.relates_to": {"rel_type": "m.replace"}}),
        ] {
            assert_eq!(kinds(json!([event("m.room.message", content.clone())])), [], "{content}");
        }
        let good = json!({"msgtype": "m.text", "body": "x"});
        for odd in [
            json!({"type": "m.room.message", "sender": long, "event_id": "$1", "content": good}),
            json!({"type": "m.room.message", "sender": "@a:s", "event_id": "", "content": good}),
            json!({"type": "m.room.message", "sender": "@a\n:s", "event_id": "$1", "content": good}),
            json!({"type": "m.room.message", "sender": "@a:s", "event_id": "$1", "state_key": "", "content": good}),
            json!({"type": "m.room.encryption", "sender": "@a:s", "event_id": "$1", "content": {}}),
            json!({"type": "m.reaction", "sender": "@a:s", "event_id": "$1", "content": {"m.relates_to": {"rel_type": "m.annotation", "key": "\u{fe0f}", "event_id": "$0"}}}),
            json!(7),
        ] {
            assert_eq!(kinds(json!([odd.clone()])), [], "{odd}");
        }
        for body in [json!(null), json!({"next_batch": 7}), json!([]), json!({"rooms": {"join": []}})] {
            assert_eq!(read(&body, ME), None, "{body}");
        }
        let odd =
            json!({"next_batch": "s", "rooms": {"join": [], "invite": 7}, "account_data": {"events": {}}});
        assert_eq!(read(&odd, ME).unwrap(), SyncAnswer { next: "s".to_owned(), ..SyncAnswer::default() });
        let endless =
            kinds(json!([event("m.room.message", json!({"msgtype": "m.text", "body": "x".repeat(9_000)}))]));
        assert_eq!(endless, [message(&"x".repeat(TEXT_CHARS_MAX), &[])]);
    }

    /// JSON of names that `/sync` has, in any shape.
    fn shapes() -> impl Strategy<Value = Value> {
        let names =
            ["next_batch", "rooms", "join", "timeline", "events", "type", "content", "m.relates_to", "body"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            proptest::sample::select(TYPES.to_vec()).prop_map(Value::from),
            proptest::sample::select(names.to_vec()).prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 48, 6, move |inner| {
            let member = (proptest::sample::select(names.to_vec()), inner.clone());
            prop_oneof![
                proptest::collection::vec(inner, 0..4).prop_map(Value::from),
                proptest::collection::vec(member, 0..6).prop_map(|members| {
                    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_shape_of_an_answer_ends_the_reader(body in shapes()) {
            let _ = read(&body, ME);
        }
    }
}
