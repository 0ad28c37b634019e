//! Outcome of a request: what a response means, and what no response means.
//!
//! A message has the same id however often it is sent. So what may have arrived without an answer is sent
//! again, and counts as refused for now.

use super::DeliveryOf;
use crate::http_calls::response::ReadResponse;
use net::OutboundRefusal;
use records::{AttemptResult, Outcome, Receipt, ReceiptState, Timestamp, channel_key};
use serde_json::Value;
use std::error::Error;

/// Characters of an answer: as the engine takes them.
const ANSWER_CHARS_MAX: usize = 1_000;
/// Characters of a far end's id that are kept.
const ID_CHARS_MAX: usize = 100;

/// A refusal of ours or of the far end.
pub(super) fn refused(permanent: bool, code: &str, text: impl Into<String>) -> AttemptResult {
    AttemptResult::Refused { permanent, code: code.to_owned(), text: text.into() }
}

/// What a response says of the far end's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slows {
    /// Nothing.
    No,
    /// It asks for less.
    Yes,
}

/// 429 asks for less; 503 does where it says for how long.
pub(super) fn slows(status: u16, has_retry_after: bool) -> Slows {
    match (status, has_retry_after) {
        (429, _) | (503, true) => Slows::Yes,
        _ => Slows::No,
    }
}

/// The result of an attempt by its response; `secrets` are never repeated.
pub(super) fn result(response: &ReadResponse, of: DeliveryOf<'_>, secrets: &[&str]) -> AttemptResult {
    let code = format!("http:{}", response.status);
    match response.status {
        200..=299 => AttemptResult::Accepted {
            keys: vec![channel_key(channels::WEBHOOK, of.alert, of.endpoint)],
            id: own_id(response).unwrap_or_else(|| of.id.to_owned()),
        },
        300..=399 => refused(
            true,
            &code,
            "the address redirects elsewhere, which is not followed: enter the address that it leads to",
        ),
        410 => refused(
            true,
            &code,
            "the address answered 410 (gone): it wants no more messages; remove it, or enter its new one",
        ),
        // Time-out, too early, too many (RFC 9110, 15.5.9; RFC 8470, 5.2; RFC 6585, 4).
        408 | 425 | 429 | 500.. => refused(false, &code, response.refusal(secrets)),
        _ => refused(true, &code, response.refusal(secrets)),
    }
}

/// What the response of an accepted message says beside that: its delivery, an answer.
pub(super) fn told(response: &ReadResponse, of: DeliveryOf<'_>, at: Timestamp) -> Vec<Outcome> {
    let Some(members) = members(response) else { return Vec::new() };
    let state = match members["state"].as_str() {
        Some("delivered") => Some(ReceiptState::Delivered),
        Some("failed") => Some(ReceiptState::Failed),
        _ => None,
    };
    let text = members["text"].as_str().unwrap_or_default().chars().take(ID_CHARS_MAX).collect();
    let receipt = state.map(|state| {
        let keys = vec![channel_key(channels::WEBHOOK, of.alert, of.endpoint)];
        Outcome::Receipt(Receipt { route: of.route.to_owned(), keys, id: String::new(), state, text, at })
    });
    let answer = members["answer"]
        .as_str()
        .map(str::trim)
        .filter(|answer| of.answer && !answer.is_empty() && answer.chars().count() <= ANSWER_CHARS_MAX);
    let answer = answer.map(|text| Outcome::Answer {
        alert: of.alert,
        endpoint: of.endpoint,
        text: text.to_owned(),
        via: "webhook".to_owned(),
        at,
    });
    receipt.into_iter().chain(answer).collect()
}

fn own_id(response: &ReadResponse) -> Option<String> {
    let id = members(response)?["id"].as_str()?.trim().to_owned();
    (!id.is_empty() && id.chars().count() <= ID_CHARS_MAX && !id.contains(char::is_control)).then_some(id)
}

/// The response, if it is a JSON object.
fn members(response: &ReadResponse) -> Option<Value> {
    let is_object = response.body.trim_start().starts_with('{');
    let read = is_object.then(|| serde_json::from_str::<Value>(&response.body).ok());
    read.flatten()
}

/// The result of an attempt without a response.
pub(super) fn without_response(error: reqwest::Error, is_written: bool) -> AttemptResult {
    if is_outbound_refusal(&error) {
        return refused(true, "webhook:outbound", OutboundRefusal::Resolved.to_string());
    }
    let (is_builder, is_timeout) = (error.is_builder(), error.is_timeout());
    let words = crate::notice::line::words(error);
    match (is_builder, is_written, is_timeout) {
        (true, ..) => refused(true, "webhook:url", words),
        (_, false, _) => refused(false, "webhook:connect", words),
        (_, true, true) => refused(
            false,
            "webhook:timeout",
            format!("{words}; it may have arrived: it is sent again with the same webhook-id"),
        ),
        (_, true, false) => refused(
            false,
            "webhook:lost",
            format!("{words}; it may have arrived: it is sent again with the same webhook-id"),
        ),
    }
}

/// The name's addresses were judged as it was resolved.
fn is_outbound_refusal(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = cause {
        if error.is::<OutboundRefusal>() {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{AlertNo, EndpointNo};

    const OF: DeliveryOf<'static> =
        DeliveryOf { alert: AlertNo(3), endpoint: EndpointNo(4), id: "a_4", route: "hooks", answer: true };

    fn response(status: u16, body: &str) -> ReadResponse {
        ReadResponse { status, media_type: "application/json".to_owned(), body: body.to_owned() }
    }

    #[test]
    fn every_status_is_accepted_refused_for_now_or_for_good() {
        for (status, expected) in [
            (200, None),
            (204, None),
            (301, Some(true)),
            (304, Some(true)),
            (400, Some(true)),
            (404, Some(true)),
            (408, Some(false)),
            (410, Some(true)),
            (425, Some(false)),
            (429, Some(false)),
            (500, Some(false)),
            (503, Some(false)),
            (599, Some(false)),
        ] {
            let permanent = match result(&response(status, ""), OF, &[]) {
                AttemptResult::Accepted { .. } => None,
                AttemptResult::Refused { permanent, code, .. } => {
                    assert_eq!(code, format!("http:{status}"));
                    Some(permanent)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(permanent, expected, "{status}");
        }
    }

    #[test]
    fn who_asks_for_less_slows_the_route_and_nobody_else_does() {
        for (status, retry_after, expected) in [
            (429, false, Slows::Yes),
            (429, true, Slows::Yes),
            (503, true, Slows::Yes),
            (503, false, Slows::No),
            (500, true, Slows::No),
            (200, true, Slows::No),
        ] {
            assert_eq!(slows(status, retry_after), expected, "{status}");
        }
    }

    #[test]
    fn delivered_and_an_answer_are_said_by_the_response_alone() {
        let at = Timestamp(5);
        for (body, count) in [
            ("", 0),
            ("ok", 0),
            ("[1]", 0),
            ("{", 0),
            ("{}", 0),
            ("{\"state\": \"accepted\"}", 0),
            ("{\"state\": true, \"answer\": 1}", 0),
            ("{\"answer\": \" \"}", 0),
            ("{\"state\": \"delivered\"}", 1),
            ("{\"state\": \"failed\", \"text\": \"no power\"}", 1),
            (" {\"state\": \"delivered\", \"answer\": \"1\"}", 2),
        ] {
            assert_eq!(told(&response(200, body), OF, at).len(), count, "{body}");
        }
        let long = format!("{{\"answer\": \"{}\"}}", "x".repeat(ANSWER_CHARS_MAX + 1));
        assert_eq!(told(&response(200, &long), OF, at), []);
        let both = told(&response(200, "{\"state\": \"delivered\", \"answer\": \"1\"}"), OF, at);
        let [Outcome::Receipt(receipt), Outcome::Answer { text, via, .. }] = &both[..] else { panic!() };
        assert_eq!((receipt.state, text.as_str(), via.as_str()), (ReceiptState::Delivered, "1", "webhook"));
        let AttemptResult::Accepted { keys, .. } = result(&response(200, ""), OF, &[]) else { panic!() };
        assert_eq!(receipt.keys, keys);
        // Nobody asked.
        let silent = DeliveryOf { answer: false, ..OF };
        assert_eq!(told(&response(200, "{\"answer\": \"1\"}"), silent, at), []);
    }

    #[test]
    fn the_far_ends_own_id_stands_in_the_report() {
        for (body, expected) in [
            ("{\"id\": \"msg-7\"}", "msg-7"),
            ("{\"id\": 7}", "a_4"),
            ("{\"id\": \"a\\nb\"}", "a_4"),
            ("", "a_4"),
        ] {
            let AttemptResult::Accepted { id, .. } = result(&response(200, body), OF, &[]) else { panic!() };
            assert_eq!(id, expected);
        }
    }
}
