//! Matrix, by its client-server API (version 1.11 and later).
//!
//! ```text
//! refusal    errors of the API, as the route takes them
//! rooms      the conversation with a person, and rooms that an alert names
//! room_log   our messages in each room, in their order
//! sync       answers of /sync
//! reader     from events to outcomes
//! ```
//!
//! Invariants worth naming:
//! - A message has the same transaction id whenever it is sent, and goes to the same room: the homeserver
//!   answers a second PUT with the event of the first (Client-Server API, "Transaction identifiers").
//! - Delivered is said of a message that a person's receipt covers, and of no other.

mod reader;
mod refusal;
mod room_log;
mod rooms;
mod sync;

use super::connection::ImSetup;
use super::http::{ApiCall, ApiClient, TokenPlace};
use super::message::{ImMessage, SendResult, message_key};
use super::text::{self, TextUnit};
use crate::GatewayContext;
use refusal::{lost, refusal};
use room_log::RoomLogs;
pub(super) use rooms::Room;
use rooms::Rooms;
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Octets of a text at most: an event may have 65,536 with its signatures (Client-Server API, "Size limits"),
/// and the text stands in it twice.
const TEXT_OCTETS_MAX: usize = 12_000;
/// Octets of its HTML at most; what is longer goes out as plain text alone.
const HTML_OCTETS_MAX: usize = 24_000;

/// An account at its homeserver.
pub(super) struct MatrixConnection {
    api: ApiClient,
    /// The account's user id.
    pub(super) me: String,
    route: String,
    context: GatewayContext,
    rooms: Rooms,
    log: Mutex<RoomLogs>,
}

impl MatrixConnection {
    /// Asks the homeserver whose the token is, and for the account's conversations.
    ///
    /// # Errors
    /// Why the route cannot work, in words.
    pub(super) async fn open(setup: &ImSetup, context: &GatewayContext) -> Result<MatrixConnection, String> {
        let api = ApiClient::new(&setup.http, &setup.settings, TokenPlace::Header)?;
        let me = whoami(&api).await?;
        let route = setup.settings.name.clone();
        let rooms = Rooms::open(context, &route, &me).map_err(|error| error.to_string())?;
        let connection =
            MatrixConnection { api, me, route, context: context.clone(), rooms, log: Mutex::default() };
        let path = connection.path(&["user", &connection.me, "account_data", "m.direct"]);
        let answer = connection.api.call(ApiCall::get(&path)).await.map_err(|error| words(lost(&error)))?;
        match answer.body {
            Value::Object(direct) if answer.status == 200 => connection.rooms.set_direct(direct).await,
            _ if answer.status == 404 => {}
            _ => return Err(words(refusal(&connection.api, &answer))),
        }
        Ok(connection)
    }

    /// Writes a message into a room.
    pub(super) async fn deliver(&self, room: &Room, message: &ImMessage) -> SendResult {
        let transaction = transaction(message);
        let path = self.path(&["rooms", &room.id, "send", "m.room.message", &transaction]);
        let body = body(message);
        let answer = match self.api.call(ApiCall::put(&path, &body)).await {
            Ok(answer) => answer,
            Err(error) => return lost(&error),
        };
        let Some(event) = answer.body["event_id"].as_str().filter(|_| answer.is_success()) else {
            let refused = refusal(&self.api, &answer);
            if matches!(refused, SendResult::Refused { .. }) {
                // Somebody may have left the room, or taken the right to write.
                self.rooms.forget(&room.address);
            }
            return refused;
        };
        self.log().note(&room.id, event);
        SendResult::Accepted { key: event_key(event), id: event.to_owned() }
    }

    fn path<'a>(&self, rest: &[&'a str]) -> Vec<&'a str> {
        path(rest)
    }

    fn log(&self) -> MutexGuard<'_, RoomLogs> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of an event's id, which names no other event of any server.
fn event_key(event: &str) -> u64 {
    message_key(&["matrix", event])
}

fn path<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["_matrix", "client", "v3"], rest].concat()
}

/// The account of the token.
async fn whoami(api: &ApiClient) -> Result<String, String> {
    let answer = api.call(ApiCall::get(&path(&["account", "whoami"]))).await;
    let answer = answer.map_err(|error| words(lost(&error)))?;
    let Some(me) = answer.body["user_id"].as_str().filter(|_| answer.is_success()) else {
        return Err(words(refusal(api, &answer)));
    };
    if answer.body["device_id"].as_str().is_none() {
        return Err("the access token belongs to no device, so that a message that is sent again would arrive twice: \
                    set access_token to one of a login (/login)"
            .to_owned());
    }
    Ok(me.to_owned())
}

/// The words of a result that is no success.
fn words(result: SendResult) -> String {
    match result {
        SendResult::Refused { code, text, .. } => format!("{code} {text}"),
        SendResult::Unknown { text } | SendResult::Down { text } | SendResult::Slow { text, .. } => text,
        SendResult::Accepted { .. } | SendResult::NotTried { .. } => String::new(),
    }
}

/// The same for every attempt at a delivery, and for no other delivery.
fn transaction(message: &ImMessage) -> String {
    format!("{}.{}", message.alert_id, message.endpoint.0)
}

/// Content of the event.
fn body(message: &ImMessage) -> Value {
    let text = text::cut(&message.text, TextUnit::Octet, TEXT_OCTETS_MAX, message.link.as_deref());
    let html = text::html(&text);
    let mut body = json!({"msgtype": "m.text", "body": text, sync::MARK: message.alert_id.to_string()});
    if html.len() <= HTML_OCTETS_MAX {
        body["format"] = json!("org.matrix.custom.html");
        body["formatted_body"] = json!(html);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{AlertId, AlertNo, EndpointNo};

    fn message(text: &str) -> ImMessage {
        ImMessage {
            alert: AlertNo(1),
            alert_id: AlertId(uuid::Uuid::from_u128(7)),
            endpoint: EndpointNo(3),
            address: "@a:s".to_owned(),
            text: text.to_owned(),
            link: Some("https://x/a".to_owned()),
            choices: Vec::new(),
        }
    }

    #[test]
    fn a_text_goes_out_plain_and_as_html_that_shows_it() {
        let body = body(&message("Fire <here>\n1 = safe"));
        assert_eq!((&body["msgtype"], &body["body"]), (&json!("m.text"), &json!("Fire <here>\n1 = safe")));
        assert_eq!(body["formatted_body"], "Fire &lt;here&gt;<br>1 = safe");
        assert_eq!(body[sync::MARK], "00000000-0000-0000-0000-000000000007");
    }

    #[test]
    fn no_text_makes_an_event_that_is_too_large() {
        for text in ["<".repeat(70_000), "\u{1f525} ".repeat(20_000), "word & ".repeat(9_000)] {
            let body = body(&message(&text));
            assert!(body["body"].as_str().unwrap().ends_with("\nhttps://x/a"));
            assert!(body.to_string().len() < 50_000, "{}", body.to_string().len());
        }
    }

    #[test]
    fn a_transaction_is_the_deliverys_whatever_the_attempt() {
        assert_eq!(transaction(&message("a")), transaction(&message("b")));
        let other = ImMessage { endpoint: EndpointNo(4), ..message("a") };
        assert_ne!(transaction(&message("a")), transaction(&other));
    }
}
