//! Telegram, by its bot API, or a server with an API like it.
//!
//! ```text
//! updates    answers of getUpdates
//! ```
//!
//! A bot is never told what a person has seen: a message that was taken is accepted, and answered at most.
//! Nothing tells a message that is sent again from another one, so that a missing answer leaves it unknown.

mod updates;

use super::connection::{Acknowledgement, ImSetup, ReadBatch, ReadError};
use super::http::{ApiAnswer, ApiCall, ApiClient, CallError, TokenPlace};
use super::message::{ImMessage, SendResult, message_key};
use super::signature::ImSigner;
use super::text::{self, TextUnit};
use crate::GatewayContext;
use records::{Inbound, Outcome, PersonReply};
use serde_json::{Value, json};
use std::time::Duration;
use updates::{Update, UpdateKind};

/// Code units of a text at most (Bot API, `sendMessage`).
const TEXT_UNITS_MAX: usize = 4_096;
/// Characters of a button's label that people see.
const LABEL_CHARS_MAX: usize = 64;
/// Characters of the note that answers a button (Bot API, `answerCallbackQuery`).
const NOTE_CHARS_MAX: usize = 200;
/// Updates of one answer (Bot API, `getUpdates`).
const UPDATES_MAX: u32 = 100;
/// Octets of them at most.
const UPDATES_OCTETS_MAX: usize = 16 << 20;
/// Wait where a server limits the rate and does not say for how long.
const WAIT_UNSAID: Duration = Duration::from_secs(5);

/// A bot.
pub(super) struct TelegramConnection {
    api: ApiClient,
    /// The bot's id.
    pub(super) me: String,
    route: String,
    context: GatewayContext,
    signer: ImSigner,
}

impl TelegramConnection {
    /// Asks the server whose the token is.
    ///
    /// # Errors
    /// Why the route cannot work, in words.
    pub(super) async fn open(
        setup: &ImSetup,
        context: &GatewayContext,
    ) -> Result<TelegramConnection, String> {
        let api = ApiClient::new(&setup.http, &setup.settings, TokenPlace::Path)?;
        let answer = api.call(ApiCall::get(&["getMe"])).await;
        let answer = answer.map_err(|error| unreachable(&error))?;
        let Some(me) = answer.body["result"]["id"].as_i64().filter(|_| is_ok(&answer)) else {
            return Err(words(refusal(&api, &answer)));
        };
        let (named, bot) = (answer.body["result"]["username"].as_str(), setup.settings.bot.as_deref());
        if let (Some(named), Some(bot)) = (named, bot)
            && !named.eq_ignore_ascii_case(bot)
        {
            let route = setup.settings.name.as_str();
            tracing::warn!(
                route,
                bot,
                named,
                "links on people's pages lead to another bot: set bot to its user name"
            );
        }
        Ok(TelegramConnection {
            api,
            me: me.to_string(),
            route: setup.settings.name.clone(),
            context: context.clone(),
            signer: ImSigner::new(&context.signing_key),
        })
    }

    /// Writes a message into a chat.
    pub(super) async fn deliver(&self, message: &ImMessage) -> SendResult {
        let body = body(message, &self.signer);
        let answer = match self.api.call(ApiCall::post(&["sendMessage"], &body)).await {
            Ok(answer) => answer,
            Err(error @ CallError::NotWritten(_)) => return SendResult::Down { text: unreachable(&error) },
            Err(CallError::Lost(words)) => {
                return SendResult::Unknown {
                    text: format!("no answer after the message was written: {words}"),
                };
            }
        };
        match answer.body["result"]["message_id"].as_i64().filter(|_| is_ok(&answer)) {
            Some(id) => {
                let id = id.to_string();
                SendResult::Accepted { key: self.key(&message.address, &id), id }
            }
            None => refusal(&self.api, &answer),
        }
    }

    /// What happened since a position.
    ///
    /// # Errors
    /// There is no answer. Nothing is lost: the same position gives it again.
    pub(super) async fn read(&self, since: Option<&str>, poll: Duration) -> Result<ReadBatch, ReadError> {
        let mut body =
            json!({"timeout": poll.as_secs(), "limit": UPDATES_MAX, "allowed_updates": updates::KINDS});
        let mut next = since.and_then(|since| since.parse::<i64>().ok());
        if let Some(next) = next {
            body["offset"] = json!(next);
        }
        let call = ApiCall::post(&["getUpdates"], &body).held(poll, UPDATES_OCTETS_MAX);
        let answer = self.api.call(call).await.map_err(|error| ReadError::Down(unreachable(&error)))?;
        if !is_ok(&answer) {
            return Err(match refusal(&self.api, &answer) {
                SendResult::Slow { wait, text } => ReadError::Wait(wait, text),
                // Another program reads the bot's updates: messages still go out.
                other if answer.status == 409 => ReadError::Wait(WAIT_UNSAID, words(other)),
                other => ReadError::Down(words(other)),
            });
        }
        let mut batch = ReadBatch::default();
        for update in answer.body["result"].as_array().into_iter().flatten() {
            let Some(number) = update["update_id"].as_i64() else { continue };
            next = next.max(number.checked_add(1));
            if let Some(update) = updates::read(update, &self.me) {
                self.take(update, &mut batch);
            }
        }
        batch.position = next.map(|next| next.to_string()).unwrap_or_default();
        Ok(batch)
    }

    /// Tells Telegram that a button was heard, so that it stops turning.
    pub(super) async fn acknowledge(&self, acknowledgement: &Acknowledgement) {
        let note: String = acknowledgement.note.chars().take(NOTE_CHARS_MAX).collect();
        let mut body = json!({"callback_query_id": acknowledgement.id});
        if !note.is_empty() {
            body["text"] = json!(note);
        }
        if let Err(error) = self.api.call(ApiCall::post(&["answerCallbackQuery"], &body)).await {
            tracing::debug!(route = self.route, error = error.words(), "a button was not acknowledged");
        }
    }

    fn take(&self, update: Update, batch: &mut ReadBatch) {
        let Update { chat, from, is_private, kind } = update;
        match kind {
            UpdateKind::Button { id, data, label } => {
                let read = self.signer.read_callback(&data);
                let note = read.map(|_| format!("\u{2713} {label}")).unwrap_or_default();
                batch.acknowledgements.push(Acknowledgement { id, note });
                if let Some((alert, endpoint, key)) = read {
                    let inbound = self.inbound(if is_private { chat } else { from }, key.to_owned());
                    batch.outcomes.push(Outcome::Inbound(Inbound { of: Some((alert, endpoint)), ..inbound }));
                }
            }
            UpdateKind::Reply { text, to } => {
                let keys = vec![self.key(&chat.to_string(), &to.to_string())];
                let inbound = self.inbound(if is_private { chat } else { from }, text);
                batch.outcomes.push(Outcome::Reply(Box::new(PersonReply { keys, inbound })));
            }
            UpdateKind::Message { text } if is_private => {
                batch.outcomes.push(Outcome::Inbound(self.inbound(chat, text)));
            }
            // What is said in a group is not said to us.
            UpdateKind::Message { .. } => {}
        }
    }

    /// The key of a message, whose number is one of its chat and bot.
    fn key(&self, chat: &str, message: &str) -> u64 {
        message_key(&["telegram", &self.me, chat, message])
    }

    fn inbound(&self, from: i64, text: String) -> Inbound {
        Inbound {
            channel: channels::IM,
            route: self.route.clone(),
            from: format!("telegram:{from}"),
            to: format!("telegram:{}", self.me),
            text,
            octets: None,
            of: None,
            at: self.context.now(),
        }
    }
}

/// Parameters of `sendMessage`. A choice without room in a button is answered by its key, which stands in the
/// text.
fn body(message: &ImMessage, signer: &ImSigner) -> Value {
    let text = text::cut(&message.text, TextUnit::Utf16, TEXT_UNITS_MAX, message.link.as_deref());
    let chat = message.address.parse::<i64>().map_or_else(|_| json!(message.address), |chat| json!(chat));
    let mut body = json!({"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": true}});
    let buttons = message.choices.iter().filter_map(|choice| {
        let data = signer.callback(message.alert, message.endpoint, &choice.key)?;
        let label: String = choice.label.chars().take(LABEL_CHARS_MAX).collect();
        Some(json!([{"text": label, "callback_data": data}]))
    });
    let buttons: Vec<Value> = buttons.collect();
    if !buttons.is_empty() {
        body["reply_markup"] = json!({"inline_keyboard": buttons});
    }
    body
}

fn is_ok(answer: &ApiAnswer) -> bool {
    answer.is_success() && answer.body["ok"] == true
}

fn unreachable(error: &CallError) -> String {
    format!("the bot API cannot be reached: {}", error.words())
}

/// What an answer that is no success means for the message it was about, and for the route (Bot API, "Making
/// requests").
fn refusal(api: &ApiClient, answer: &ApiAnswer) -> SendResult {
    let body = &answer.body;
    let status = body["error_code"].as_u64().unwrap_or(u64::from(answer.status));
    let mut words = api.shown(body["description"].as_str().unwrap_or_default());
    let parameters = &body["parameters"];
    if let Some(chat) = parameters["migrate_to_chat_id"].as_i64() {
        words += &format!(": the group is telegram:{chat} now");
    }
    let refused = |permanent| SendResult::Refused {
        permanent,
        code: format!("telegram:{status}"),
        text: words.clone(),
    };
    match status {
        429 => {
            let wait = parameters["retry_after"].as_u64().map(Duration::from_secs).or(answer.retry_after);
            SendResult::Slow {
                wait: wait.unwrap_or(WAIT_UNSAID),
                text: format!("Telegram limits the rate: {words}"),
            }
        }
        401 | 404 => SendResult::Down {
            text: format!(
                "the bot API does not know the token: set token to the one that BotFather shows ({status} {words})"
            ),
        },
        // Somewhere behind it the message may have been taken.
        502 | 504 => SendResult::Unknown { text: format!("the bot API is not there ({status} {words})") },
        500.. => refused(false),
        200..=399 => SendResult::Down { text: format!("this is no bot API ({status} {words})") },
        _ => refused(true),
    }
}

/// The words of a result that is no success.
fn words(result: SendResult) -> String {
    match result {
        SendResult::Refused { code, text, .. } => format!("{code} {text}"),
        SendResult::Unknown { text } | SendResult::Down { text } | SendResult::Slow { text, .. } => text,
        SendResult::Accepted { .. } | SendResult::NotTried { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::im::config::ImRoute;
    use crate::im::http::client;
    use records::{AlertId, AlertNo, Choice, EndpointNo};
    use settings::Secret;

    fn message(text: &str) -> ImMessage {
        let choice = |key: &str, label: &str| Choice { key: key.to_owned(), label: label.to_owned() };
        ImMessage {
            alert: AlertNo(26),
            alert_id: AlertId(uuid::Uuid::from_u128(7)),
            endpoint: EndpointNo(43),
            address: "-100123".to_owned(),
            text: text.to_owned(),
            link: Some("https://x/a".to_owned()),
            choices: vec![choice("1", "I am safe"), choice(&"k".repeat(64), "too long for a button")],
        }
    }

    #[test]
    fn choices_are_buttons_whose_data_are_signed() {
        let signer = ImSigner::new(b"a secret of sixteen octets");
        let body = body(&message("Fire"), &signer);
        assert_eq!((&body["chat_id"], &body["text"]), (&json!(-100_123), &json!("Fire")));
        let keyboard = body["reply_markup"]["inline_keyboard"].as_array().unwrap();
        assert_eq!(keyboard.len(), 1, "a key without room has no button: {keyboard:?}");
        assert_eq!(keyboard[0][0]["text"], "I am safe");
        let data = keyboard[0][0]["callback_data"].as_str().unwrap();
        assert_eq!(signer.read_callback(data), Some((AlertNo(26), EndpointNo(43), "1")));
    }

    #[test]
    fn a_text_over_the_limit_ends_in_the_link() {
        let body = body(&message(&"word ".repeat(1_000)), &ImSigner::new(b""));
        let text = body["text"].as_str().unwrap();
        assert!(text.ends_with("word\u{2026}\nhttps://x/a"), "{text}");
        assert!(text.encode_utf16().count() <= TEXT_UNITS_MAX);
    }

    #[test]
    fn each_error_is_the_messages_or_the_routes_and_shows_no_token() {
        let route = ImRoute {
            base: "http://h".to_owned(),
            token: Some(Secret::from("1:s3cret")),
            ..ImRoute::default()
        };
        let api = ApiClient::new(&client(&route).unwrap(), &route, TokenPlace::Path).unwrap();
        let of = |status: u16, description: &str, parameters: Value| {
            let body = json!({"ok": false, "error_code": status, "description": description, "parameters": parameters});
            refusal(&api, &ApiAnswer { status, retry_after: None, body })
        };
        let refused = |permanent, status: u16, text: &str| SendResult::Refused {
            permanent,
            code: format!("telegram:{status}"),
            text: text.to_owned(),
        };
        let blocked = "Forbidden: bot was blocked by the user";
        assert_eq!(of(403, blocked, json!(null)), refused(true, 403, blocked));
        assert_eq!(of(500, "Internal", json!(null)), refused(false, 500, "Internal"));
        let moved = of(400, "Bad Request: upgraded", json!({"migrate_to_chat_id": -1007}));
        assert_eq!(moved, refused(true, 400, "Bad Request: upgraded: the group is telegram:-1007 now"));
        for (parameters, wait) in [(json!({"retry_after": 7}), 7), (json!(null), 5)] {
            match of(429, "Too Many Requests", parameters) {
                SendResult::Slow { wait: found, .. } => assert_eq!(found, Duration::from_secs(wait)),
                other => panic!("{other:?}"),
            }
        }
        for status in [401, 404] {
            let result = of(status, "1:s3cret Unauthorized", json!(null));
            assert!(matches!(&result, SendResult::Down { text } if !text.contains("s3cret")), "{result:?}");
        }
        assert!(matches!(of(502, "Bad Gateway", json!(null)), SendResult::Unknown { .. }));
    }
}
