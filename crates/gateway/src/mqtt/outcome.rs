//! Outcome of an acknowledgement, as it is recorded; and of a message of a device.

use super::tag::TaggedDelivery;
use mqtt::MqttReason;
use mqtt::client::PublishRefusal;
use mqtt::packet::PublishPacket;
use records::{AttemptResult, Inbound, Outcome, Receipt, ReceiptState, Timestamp, channel_key};
use serde_json::Value;

/// Octets of an answer that are kept.
const ANSWER_OCTETS_MAX: usize = 4_096;

/// Failures that will be the same next time: they name the topic, the rights or the message (MQTT 5, section
/// 3.4.2.1 and 4.13). All others are of the broker's state, and one that the standard does not name may pass.
const PERMANENT: [MqttReason; 7] = [
    MqttReason::NOT_AUTHORIZED,
    MqttReason::BANNED,
    MqttReason::TOPIC_NAME_INVALID,
    MqttReason::PACKET_TOO_LARGE,
    MqttReason::PAYLOAD_FORMAT_INVALID,
    MqttReason::RETAIN_NOT_SUPPORTED,
    MqttReason::QOS_NOT_SUPPORTED,
];

/// What became of a message that the broker acknowledged. `keys` are those of its delivery, `topic` is its
/// own.
pub(super) fn acknowledged(
    reason: MqttReason,
    words: Option<&str>,
    (keys, topic, retained): (Vec<u64>, &str, bool),
) -> AttemptResult {
    if reason == MqttReason::NO_MATCHING_SUBSCRIBERS && !retained {
        let text = format!("nobody listens on the topic {topic:?}: {reason}");
        return AttemptResult::Refused { permanent: false, code: code(reason), text };
    }
    if !reason.is_error() {
        let remark = match reason {
            MqttReason::NO_MATCHING_SUBSCRIBERS => ", retained; nobody listens now",
            _ if retained => ", retained",
            _ => "",
        };
        return AttemptResult::Accepted { keys, id: format!("{topic}{remark}") };
    }
    let text = match words {
        Some(words) => format!("the broker refused it: {reason}: {words:?}"),
        None => format!("the broker refused it: {reason}"),
    };
    AttemptResult::Refused { permanent: PERMANENT.contains(&reason), code: code(reason), text }
}

/// Stable: `mqtt:87`.
fn code(reason: MqttReason) -> String {
    format!("mqtt:{:02X}", reason.0)
}

/// A broker that says so has too much to do.
pub(super) fn slows(reason: MqttReason) -> bool {
    matches!(reason, MqttReason::QUOTA_EXCEEDED | MqttReason::SERVER_BUSY | MqttReason::MESSAGE_RATE_TOO_HIGH)
}

/// A message that could not be written, and never will be; nothing: it may be written later.
pub(super) fn unwritable(refusal: &PublishRefusal) -> Option<AttemptResult> {
    let (permanent, code) = match refusal {
        PublishRefusal::NotConnected | PublishRefusal::NoRoom => return None,
        PublishRefusal::Encode(mqtt::PacketEncodeError::PacketTooLarge { .. }) => (true, "mqtt:95"),
        PublishRefusal::Encode(_) | PublishRefusal::QosTwo => (true, "mqtt:encode"),
        PublishRefusal::QosNotSupported => (false, "mqtt:9B"),
        PublishRefusal::RetainNotSupported => (false, "mqtt:9A"),
    };
    Some(AttemptResult::Refused { permanent, code: code.to_owned(), text: refusal.to_string() })
}

/// An entry of which no message can be made.
pub(super) fn without_text() -> AttemptResult {
    AttemptResult::Refused {
        permanent: true,
        code: "mqtt:empty".to_owned(),
        text: "there is no text for a topic".to_owned(),
    }
}

/// A retained message that nobody would remove at its end is not sent.
pub(super) fn unnoted(error: &bus::BusError) -> AttemptResult {
    AttemptResult::Refused {
        permanent: false,
        code: "mqtt:note".to_owned(),
        text: format!("its end could not be noted, so it is not retained: {error}"),
    }
}

/// The connection was lost with it too often.
pub(super) fn lost(times: u8) -> AttemptResult {
    AttemptResult::Unknown {
        text: format!("the connection was lost {times} times before it was acknowledged"),
    }
}

/// What a device says of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DeviceSays {
    /// It got the message, or cannot show it.
    State(ReceiptState, String),
    /// Somebody answers.
    Answer(String),
}

/// Reads the payload of a message of a device: empty or `{"state": "delivered"}`, `{"state": "failed",
/// "text": …}`, `{"answer": "1"}`, or the answer itself as text. Nothing: it is none of these.
pub(super) fn read(payload: &[u8]) -> Vec<DeviceSays> {
    let Ok(text) = std::str::from_utf8(payload) else { return Vec::new() };
    let text = text.trim();
    if text.is_empty() {
        return vec![DeviceSays::State(ReceiptState::Delivered, String::new())];
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(members)) => {
            let state = members.get("state").and_then(|state| state_of(state, members.get("text")));
            let answer = members.get("answer").and_then(answer_of);
            state.into_iter().chain(answer).collect()
        }
        Ok(Value::String(answer)) => vec![DeviceSays::Answer(cut(&answer))],
        // A number or a word is an answer as it stands.
        _ => vec![DeviceSays::Answer(cut(text))],
    }
}

fn state_of(state: &Value, text: Option<&Value>) -> Option<DeviceSays> {
    let text = text.and_then(Value::as_str).map(cut).unwrap_or_default();
    match state.as_str()? {
        "delivered" => Some(DeviceSays::State(ReceiptState::Delivered, text)),
        "failed" => Some(DeviceSays::State(ReceiptState::Failed, text)),
        _ => None,
    }
}

fn answer_of(answer: &Value) -> Option<DeviceSays> {
    match answer {
        Value::String(text) => Some(DeviceSays::Answer(cut(text))),
        Value::Number(number) => Some(DeviceSays::Answer(number.to_string())),
        _ => None,
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(ANSWER_OCTETS_MAX)].to_owned()
}

/// The outcomes of a device's message; `route` is the one it came by.
pub(super) fn of_device(
    delivery: &TaggedDelivery,
    packet: &PublishPacket,
    route: &str,
    at: Timestamp,
) -> Vec<Outcome> {
    let TaggedDelivery { alert, endpoint, address } = delivery;
    let outcome = |says| match says {
        DeviceSays::State(state, text) => Outcome::Receipt(Receipt {
            route: route.to_owned(),
            keys: vec![channel_key(channels::MQTT, *alert, *endpoint)],
            id: address.clone(),
            state,
            text,
            at,
        }),
        DeviceSays::Answer(text) => Outcome::Inbound(Inbound {
            channel: channels::MQTT,
            route: route.to_owned(),
            from: address.clone(),
            to: packet.topic.clone(),
            text,
            octets: None,
            of: Some((*alert, *endpoint)),
            at,
        }),
    };
    read(&packet.payload).into_iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(reason: u8, words: Option<&str>, retained: bool) -> AttemptResult {
        acknowledged(MqttReason(reason), words, (vec![9], "site/7", retained))
    }

    #[test]
    fn every_reason_is_accepted_or_refused_for_now_or_for_good() {
        for (reason, retained, expected) in [
            (0x00, false, "site/7"),
            (0x00, true, "site/7, retained"),
            (0x10, true, "site/7, retained; nobody listens now"),
        ] {
            let accepted = AttemptResult::Accepted { keys: vec![9], id: expected.to_owned() };
            assert_eq!(result(reason, None, retained), accepted);
        }
        for (reason, permanent, code, text) in [
            (
                0x10,
                false,
                "mqtt:10",
                "nobody listens on the topic \"site/7\": No matching subscribers (0x10)",
            ),
            (0x80, false, "mqtt:80", "the broker refused it: Unspecified error (0x80)"),
            (0x83, false, "mqtt:83", "the broker refused it: Implementation specific error (0x83)"),
            (0x87, true, "mqtt:87", "the broker refused it: Not authorized (0x87)"),
            (0x90, true, "mqtt:90", "the broker refused it: Topic Name invalid (0x90)"),
            (0x97, false, "mqtt:97", "the broker refused it: Quota exceeded (0x97)"),
            (0x99, true, "mqtt:99", "the broker refused it: Payload format invalid (0x99)"),
            (0xF0, false, "mqtt:F0", "the broker refused it: reason 0xF0"),
        ] {
            let refused = AttemptResult::Refused { permanent, code: code.to_owned(), text: text.to_owned() };
            assert_eq!(result(reason, None, false), refused);
        }
        let AttemptResult::Refused { text, .. } = result(0x87, Some("ask Eve"), true) else { unreachable!() };
        assert_eq!(text, "the broker refused it: Not authorized (0x87): \"ask Eve\"");
    }

    #[test]
    fn a_device_confirms_fails_or_answers() {
        use DeviceSays::{Answer, State};
        let answer = |text: &str| vec![Answer(text.to_owned())];
        let delivered = vec![State(ReceiptState::Delivered, String::new())];
        let long = "ö".repeat(3_000);
        for (payload, expected) in [
            ("", delivered.clone()),
            (" \n", delivered.clone()),
            ("{\"state\": \"delivered\"}", delivered.clone()),
            (
                "{\"state\":\"failed\",\"text\":\"no power\"}",
                vec![State(ReceiptState::Failed, "no power".to_owned())],
            ),
            ("{\"answer\":\"1\"}", answer("1")),
            ("{\"answer\":1}", answer("1")),
            ("{\"state\":\"delivered\",\"answer\":\"2\"}", [delivered, answer("2")].concat()),
            ("1", answer("1")),
            ("\"yes\"", answer("yes")),
            ("help me", answer("help me")),
            ("{half", answer("{half")),
            ("{}", vec![]),
            ("{\"state\":\"on\"}", vec![]),
            ("{\"answer\":null}", vec![]),
            (&long, answer(&long[..4_096])),
        ] {
            assert_eq!(read(payload.as_bytes()), expected, "{payload}");
        }
        assert_eq!(read(&[0xFF]), vec![]);
    }
}
