//! Updates of a bot, read out of JSON that nothing vouches for (Bot API, `Update`).

use crate::im::text;
use serde_json::Value;

/// Kinds of updates that are asked for.
pub(super) const KINDS: [&str; 3] = ["message", "edited_message", "callback_query"];
/// Characters of what a person wrote that are kept.
const TEXT_CHARS_MAX: usize = 4_096;
/// Octets of an id at most.
const ID_OCTETS_MAX: usize = 128;

/// Something that a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Update {
    pub(super) chat: i64,
    pub(super) from: i64,
    /// The chat is with the person alone.
    pub(super) is_private: bool,
    pub(super) kind: UpdateKind,
}

/// What they did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UpdateKind {
    /// Wrote.
    Message { text: String },
    /// Replied to a message of the bot.
    Reply { text: String, to: i64 },
    /// Pressed a button.
    Button { id: String, data: String, label: String },
}

/// Reads an update, where it is one that counts. What bots write is never answered.
pub(super) fn read(update: &Value, me: &str) -> Option<Update> {
    if let Some(query) = update.get("callback_query") {
        return read_button(query);
    }
    let message = update.get("message").or_else(|| update.get("edited_message"))?;
    let from = &message["from"];
    if from["is_bot"] == true {
        return None;
    }
    let text = command(text::said(message["text"].as_str()?, false, TEXT_CHARS_MAX));
    if text.is_empty() {
        return None;
    }
    let replied = &message["reply_to_message"];
    let is_ours = replied["from"]["id"].as_i64().is_some_and(|id| id.to_string() == me);
    let to = replied["message_id"].as_i64().filter(|_| is_ours);
    let (chat, is_private) = chat(message)?;
    let kind = match to {
        Some(to) => UpdateKind::Reply { text, to },
        None => UpdateKind::Message { text },
    };
    Some(Update { chat, from: from["id"].as_i64()?, is_private, kind })
}

fn read_button(query: &Value) -> Option<Update> {
    let short = |value: &Value| value.as_str().filter(|id| id.len() <= ID_OCTETS_MAX).map(str::to_owned);
    let (id, data) = (short(&query["id"])?, short(&query["data"])?);
    let message = &query["message"];
    let (chat, is_private) = chat(message)?;
    let rows = message["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
    let mut buttons = rows.filter_map(Value::as_array).flatten();
    let pressed = buttons.find(|button| button["callback_data"] == *data);
    let label = pressed.and_then(|button| button["text"].as_str()).unwrap_or_default().to_owned();
    let kind = UpdateKind::Button { id, data, label };
    Some(Update { chat, from: query["from"]["id"].as_i64()?, is_private, kind })
}

fn chat(message: &Value) -> Option<(i64, bool)> {
    let chat = &message["chat"];
    Some((chat["id"].as_i64()?, chat["type"] == "private"))
}

/// `/stop@city_bot` is the word that it names: people of Telegram write commands so.
fn command(text: String) -> String {
    let Some(rest) = text.strip_prefix('/') else { return text };
    let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let word = word.split('@').next().unwrap_or_default();
    let is_word = !word.is_empty() && word.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    if is_word { format!("{word} {behind}").trim_end().to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(more: Value) -> Value {
        let mut message = json!({"message_id": 5, "from": {"id": 7, "is_bot": false},
            "chat": {"id": 7, "type": "private"}});
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        json!({"update_id": 1, "message": message})
    }

    fn kind(update: &Value) -> Option<UpdateKind> {
        read(update, "99").map(|update| update.kind)
    }

    #[test]
    fn a_message_a_reply_and_a_command_are_read() {
        let written = |text: &str| Some(UpdateKind::Message { text: text.to_owned() });
        assert_eq!(kind(&message(json!({"text": " safe "}))), written("safe"));
        assert_eq!(kind(&message(json!({"text": "/stop@city_bot"}))), written("stop"));
        assert_eq!(kind(&message(json!({"text": "/start abc"}))), written("start abc"));
        assert_eq!(kind(&message(json!({"text": "/ no"}))), written("/ no"));
        let of = |id: i64| json!({"text": "1", "reply_to_message": {"message_id": 3, "from": {"id": id}}});
        assert_eq!(kind(&message(of(99))), Some(UpdateKind::Reply { text: "1".to_owned(), to: 3 }));
        assert_eq!(kind(&message(of(98))), written("1"), "a reply to somebody else");
        let group = message(json!({"text": "x", "chat": {"id": -100, "type": "supergroup"}}));
        let read = read(&group, "99").unwrap();
        assert_eq!((read.chat, read.from, read.is_private), (-100, 7, false));
    }

    #[test]
    fn a_button_has_its_data_and_the_label_that_was_pressed() {
        let keyboard = json!([[{"text": "I am safe", "callback_data": "d1"}], [{"text": "Help", "callback_data": "d2"}]]);
        let query = json!({"id": "q", "from": {"id": 7}, "data": "d2", "message": {"message_id": 3,
            "chat": {"id": 7, "type": "private"}, "reply_markup": {"inline_keyboard": keyboard}}});
        let expected =
            UpdateKind::Button { id: "q".to_owned(), data: "d2".to_owned(), label: "Help".to_owned() };
        assert_eq!(kind(&json!({"callback_query": query})), Some(expected));
    }

    #[test]
    fn hostile_and_senseless_updates_are_passed_over() {
        for update in [
            json!(null),
            json!([]),
            json!({"message": null}),
            json!({"message": {"text": "x"}}),
            message(json!({})),
            message(json!({"text": 7})),
            message(json!({"text": " "})),
            message(json!({"text": "x", "from": {"id": 8, "is_bot": true}})),
            message(json!({"text": "x", "from": null})),
            message(json!({"text": "x", "chat": {"id": "7"}})),
            message(json!({"text": "x", "chat": {"id": 1e300}})),
            json!({"callback_query": null}),
            json!({"callback_query": {"id": "q", "data": "d"}}),
            json!({"callback_query": {"id": "q".repeat(200), "data": "d", "from": {"id": 1}, "message": {"chat": {"id": 1}}}}),
        ] {
            assert_eq!(kind(&update), None, "{update}");
        }
        let endless = kind(&message(json!({"text": "x".repeat(9_000)}))).unwrap();
        assert_eq!(endless, UpdateKind::Message { text: "x".repeat(TEXT_CHARS_MAX) });
    }
}
