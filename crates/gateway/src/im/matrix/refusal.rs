//! Errors of the client-server API, as the route takes them (Matrix, Client-Server API, "API Standards").

use crate::im::http::{ApiAnswer, ApiClient, CallError};
use crate::im::message::SendResult;
use std::time::Duration;

/// Wait where a server limits the rate and does not say for how long.
const WAIT_UNSAID: Duration = Duration::from_secs(5);

/// No whole answer: nothing is lost, since a message is sent again under its transaction's id.
pub(super) fn lost(error: &CallError) -> SendResult {
    SendResult::Down { text: format!("the homeserver cannot be reached: {}", error.words()) }
}

/// What an answer that is no success means for the message it was about, and for the route.
pub(super) fn refusal(api: &ApiClient, answer: &ApiAnswer) -> SendResult {
    let code = answer.body["errcode"].as_str().unwrap_or_default();
    let words = api.shown(answer.body["error"].as_str().unwrap_or_default());
    let down = |why: &str| SendResult::Down { text: format!("{why} ({} {code} {words})", answer.status) };
    match (answer.status, code) {
        (_, "M_LIMIT_EXCEEDED") | (429, _) => {
            SendResult::Slow { wait: wait(answer), text: format!("the homeserver limits the rate: {words}") }
        }
        (_, "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN") => {
            down("the homeserver does not know the access token: log in again and set access_token")
        }
        (_, "M_USER_DEACTIVATED" | "M_USER_SUSPENDED" | "M_USER_LOCKED" | "M_CONSENT_NOT_GIVEN") => {
            down("the homeserver does not let the account write")
        }
        (401, _) => down("the homeserver refuses the account"),
        // With a code the homeserver speaks of another one.
        (502..=504, "") => down("the homeserver is not there"),
        (200..=399, _) => down("this is no homeserver of Matrix, or redirects to another address"),
        (404 | 405, "") => down("this is no homeserver of Matrix"),
        (_, "M_RESOURCE_LIMIT_EXCEEDED") | (500.., _) => refused(false, answer.status, code, words),
        _ => refused(true, answer.status, code, words),
    }
}

fn refused(permanent: bool, status: u16, code: &str, words: String) -> SendResult {
    let code = if code.is_empty() { format!("matrix:{status}") } else { format!("matrix:{code}") };
    SendResult::Refused { permanent, code: code.chars().take(100).collect(), text: words }
}

/// `retry_after_ms` of the body, which servers of today send beside `Retry-After`.
fn wait(answer: &ApiAnswer) -> Duration {
    let of_body = answer.body["retry_after_ms"].as_u64().map(Duration::from_millis);
    of_body.or(answer.retry_after).unwrap_or(WAIT_UNSAID)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::im::config::ImRoute;
    use crate::im::http::{TokenPlace, client};
    use serde_json::{Value, json};

    #[test]
    fn each_error_is_the_messages_or_the_routes() {
        let route = ImRoute { base: "http://h".to_owned(), ..ImRoute::default() };
        let api = ApiClient::new(&client(&route).unwrap(), &route, TokenPlace::Header).unwrap();
        let of = |status: u16, errcode: &str, more: Value| {
            let mut body = more;
            body["errcode"] = json!(errcode);
            body["error"] = json!("words");
            let body = if errcode.is_empty() { Value::Null } else { body };
            refusal(&api, &ApiAnswer { status, retry_after: None, body })
        };
        for (status, errcode, permanent) in [
            (403, "M_FORBIDDEN", true),
            (404, "M_NOT_FOUND", true),
            (413, "M_TOO_LARGE", true),
            (400, "M_BAD_JSON", true),
            (500, "M_UNKNOWN", false),
            (502, "M_UNKNOWN", false),
            (403, "M_RESOURCE_LIMIT_EXCEEDED", false),
        ] {
            let code = format!("matrix:{errcode}");
            let expected = SendResult::Refused { permanent, code, text: "words".to_owned() };
            assert_eq!(of(status, errcode, json!({})), expected);
        }
        for (status, errcode) in
            [(401, "M_UNKNOWN_TOKEN"), (403, "M_USER_SUSPENDED"), (502, ""), (404, ""), (301, ""), (200, "")]
        {
            let result = of(status, errcode, json!({}));
            assert!(matches!(result, SendResult::Down { .. }), "{status} {errcode}: {result:?}");
        }
        for (more, wait) in [(json!({"retry_after_ms": 1500}), 1_500), (json!({}), 5_000)] {
            match of(429, "M_LIMIT_EXCEEDED", more) {
                SendResult::Slow { wait: found, .. } => assert_eq!(found, Duration::from_millis(wait)),
                other => panic!("{other:?}"),
            }
        }
    }
}
