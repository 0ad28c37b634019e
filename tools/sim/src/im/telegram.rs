//! Bot API: the calls that a gateway makes, answered as Telegram does.

use super::NetworkState;
use super::book::{ArrivedMessage, ImRefusal, object};
use super::http::{ApiReply, ApiRequest};
use super::options::ImManner;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Updates that wait at most; the oldest are forgotten.
const UPDATES_MAX: usize = 100_000;
/// Updates of one answer.
const ANSWER_MAX: usize = 100;
/// Code units of a text.
const TEXT_UNITS_MAX: usize = 4_096;

/// Chats and updates of all bots.
#[derive(Default)]
pub(super) struct Chats {
    next_update: i64,
    updates: VecDeque<Value>,
    /// Messages by chat, in their order: the last has the highest number.
    messages: BTreeMap<i64, Vec<Value>>,
    /// Buttons that were answered.
    acknowledged: Vec<Value>,
}

impl Chats {
    fn push(&mut self, kind: &str, content: Value) {
        self.next_update += 1;
        let mut update = json!({"update_id": self.next_update});
        update[kind] = content;
        if self.updates.len() >= UPDATES_MAX {
            self.updates.pop_front();
        }
        self.updates.push_back(update);
    }

    fn add(&mut self, chat: i64, mut message: Value) -> i64 {
        let messages = self.messages.entry(chat).or_default();
        let id = messages.len() as i64 + 1;
        message["message_id"] = json!(id);
        messages.push(message);
        id
    }

    /// A person writes; `to`: the message that they reply to.
    pub(super) fn say(&mut self, chat: i64, text: &str, to: Option<i64>) {
        let replied = to.and_then(|to| self.messages.get(&chat)?.get(usize::try_from(to - 1).ok()?).cloned());
        let message = object(json!({
            "from": person(chat), "chat": chat_of(chat), "date": 0, "text": text, "reply_to_message": replied,
        }));
        let id = self.add(chat, message.clone());
        let mut message = message;
        message["message_id"] = json!(id);
        self.push("message", message);
    }

    /// A person presses a button of the last message that has some; false without one.
    pub(super) fn press(&mut self, chat: i64, button: usize) -> bool {
        let messages = self.messages.get(&chat).into_iter().flatten().rev();
        let found = messages.into_iter().find(|message| message.get("reply_markup").is_some()).cloned();
        let Some(message) = found else { return false };
        let data = message["reply_markup"]["inline_keyboard"][button][0]["callback_data"].clone();
        if data.is_null() {
            return false;
        }
        let id = format!("q{}", self.next_update + 1);
        self.push(
            "callback_query",
            json!({"id": id, "from": person(chat), "message": message, "data": data}),
        );
        true
    }

    /// Buttons whose answer people saw.
    pub(super) fn acknowledged(&self) -> Vec<Value> {
        self.acknowledged.clone()
    }
}

fn person(chat: i64) -> Value {
    json!({"id": chat.unsigned_abs() as i64, "is_bot": false, "first_name": "Person"})
}

fn chat_of(chat: i64) -> Value {
    json!({"id": chat, "type": if chat < 0 { "supergroup" } else { "private" }})
}

fn ok(result: Value) -> ApiReply {
    ApiReply { status: 200, body: json!({"ok": true, "result": result}) }
}

fn error(status: u16, description: &str, parameters: Value) -> ApiReply {
    let body =
        json!({"ok": false, "error_code": status, "description": description, "parameters": parameters});
    ApiReply { status, body: object(body) }
}

/// Answers a call of `/bot{token}/{method}`.
pub(super) async fn answer(
    shared: &NetworkState,
    token: &str,
    method: &str,
    request: ApiRequest,
) -> ApiReply {
    let options = shared.options();
    let bot = token.split(':').next().and_then(|id| id.parse::<i64>().ok());
    let Some(bot) = bot.filter(|_| options.tokens.is_empty() || options.tokens.iter().any(|it| it == token))
    else {
        return error(401, "Unauthorized", Value::Null);
    };
    match method {
        "getMe" => ok(json!({"id": bot, "is_bot": true, "first_name": "Sim", "username": "sim_bot"})),
        "sendMessage" => send(shared, bot, &request.body).await,
        "getUpdates" => updates(shared, &request.body).await,
        "answerCallbackQuery" => {
            shared.chats().acknowledged.push(request.body);
            ok(json!(true))
        }
        _ => error(404, "Not Found", Value::Null),
    }
}

async fn send(shared: &NetworkState, bot: i64, body: &Value) -> ApiReply {
    let options = shared.options();
    match options.manner {
        ImManner::Accept => {}
        ImManner::Silent => {
            shared.book().note_unanswered();
            return std::future::pending().await;
        }
        ImManner::RefuseForGood => {
            shared.book().note_refused();
            return error(403, "Forbidden: bot was blocked by the user", Value::Null);
        }
        ImManner::RefuseForNow => {
            shared.book().note_refused();
            return error(500, "Internal Server Error", Value::Null);
        }
    }
    shared.delay().await;
    let chat = body["chat_id"].as_i64();
    let (Some(chat), Some(text)) = (chat.filter(|chat| *chat != 0), body["text"].as_str()) else {
        return error(400, "Bad Request: chat not found", Value::Null);
    };
    if text.is_empty() || text.encode_utf16().count() > TEXT_UNITS_MAX {
        return error(400, "Bad Request: message is too long", Value::Null);
    }
    let address = format!("telegram:{chat}");
    match shared.book().judge(&options, &address) {
        Ok(()) => {}
        Err(ImRefusal::Throttled(wait_ms)) => {
            let seconds = wait_ms.div_ceil(1_000);
            let words = format!("Too Many Requests: retry after {seconds}");
            return error(429, &words, json!({"retry_after": seconds}));
        }
        Err(ImRefusal::Blocked) => {
            return error(403, "Forbidden: bot was blocked by the user", Value::Null);
        }
    }
    if shared.refuses(&address) {
        return error(403, "Forbidden: bot was blocked by the user", Value::Null);
    }
    let from = json!({"id": bot, "is_bot": true, "first_name": "Sim"});
    let message = object(json!({
        "from": from, "chat": chat_of(chat), "date": 0, "text": text, "reply_markup": body["reply_markup"],
    }));
    let id = shared.chats().add(chat, message.clone());
    let mut message = message;
    message["message_id"] = json!(id);
    let arrived = ArrivedMessage {
        address,
        text: text.to_owned(),
        id: id.to_string(),
        at_us: shared.book().now_us(),
        content: body.clone(),
    };
    shared.arrived(arrived, text);
    ok(message)
}

async fn updates(shared: &NetworkState, body: &Value) -> ApiReply {
    let poll = Duration::from_secs(body["timeout"].as_u64().unwrap_or(0).min(60));
    let end = tokio::time::Instant::now() + poll;
    loop {
        let changed = shared.changed.notified();
        let found: Vec<Value> = {
            let mut chats = shared.chats();
            if let Some(offset) = body["offset"].as_i64() {
                chats.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
            }
            chats.updates.iter().take(ANSWER_MAX).cloned().collect()
        };
        if !found.is_empty() || tokio::time::Instant::now() >= end {
            return ok(json!(found));
        }
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(end) => {}
        }
    }
}
