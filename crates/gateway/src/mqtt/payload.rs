//! Payload of a message: an entry of a segment as JSON, and the properties of its PUBLISH.

use super::MqttRoute;
use super::tag::CorrelationTags;
use mqtt::client::MqttMessage;
use mqtt::packet::Qos;
use mqtt::{Properties, Property};
use records::{Body, Entry, Segment, Timestamp};
use serde_json::{Map, Value, json};

/// Of the payload.
const CONTENT_TYPE: &str = "application/json";
/// User Property with the alert's id.
const ALERT_PROPERTY: &str = "alert";

/// The message of an entry for a route; nothing for a body that is no rendered text.
pub(super) fn message(
    route: &MqttRoute,
    tags: &CorrelationTags,
    (segment, entry): (&Segment, &Entry),
    token: u64,
    now: Timestamp,
) -> Option<MqttMessage> {
    let mut properties = Properties::new()
        .with(Property::PayloadFormatIndicator(1))
        .with(Property::MessageExpiryInterval(expiry_s(end_of(segment, entry), now)))
        .with(Property::ContentType(CONTENT_TYPE.to_owned()))
        .with(Property::UserProperty((ALERT_PROPERTY.to_owned(), segment.alert_id.to_string())));
    if let Some(topic) = &route.response_topic {
        let tag = tags.tag(segment.alert, entry.endpoint, &entry.address);
        properties =
            properties.with(Property::ResponseTopic(topic.clone())).with(Property::CorrelationData(tag));
    }
    Some(MqttMessage {
        token,
        qos: Qos::AtLeastOnce,
        retain: route.retain,
        topic: route.topic_of(&entry.address),
        properties,
        payload: payload(route, segment, entry, now)?,
    })
}

/// The message that removes what a topic retains (MQTT 5, section 3.3.1.3).
pub(super) fn removal(topic: String, token: u64) -> MqttMessage {
    MqttMessage { token, qos: Qos::AtLeastOnce, retain: true, topic, ..MqttMessage::default() }
}

/// The moment after which an entry's message is of no use.
pub(super) fn end_of(segment: &Segment, entry: &Entry) -> Timestamp {
    entry.expires.map_or(segment.expires, |own| own.min(segment.expires))
}

/// Whole seconds until the end, at least 1.
fn expiry_s(end: Timestamp, now: Timestamp) -> u32 {
    let seconds = (end.us_since(now).max(0) as u64).div_ceil(1_000_000);
    u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
}

/// Members stay: devices read them. New ones may come.
fn payload(route: &MqttRoute, segment: &Segment, entry: &Entry, now: Timestamp) -> Option<Vec<u8>> {
    let body = segment.body(entry)?;
    let content = body.content()?;
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    put("id", json!(format!("{}/{}", segment.alert_id, entry.endpoint.0)));
    put("alert", json!(segment.alert_id.to_string()));
    put("mode", json!(if route.drill { "drill" } else { "live" }));
    put("emergency", json!(segment.emergency));
    put("text", json!(content.text));
    for (name, part) in [
        ("headline", content.subject.as_deref()),
        ("spoken", content.spoken.as_deref()),
        ("language", Body::language(body)),
    ] {
        if let Some(part) = part {
            put(name, json!(part));
        }
    }
    if segment.answer {
        let choice = |choice: &records::Choice| json!({"key": choice.key, "label": choice.label});
        put("choices", segment.choices.iter().map(choice).collect());
    }
    put("sent", json!(rfc3339(sent(segment).unwrap_or(now))));
    put("expires", json!(rfc3339(end_of(segment, entry))));
    Some(Value::Object(members).to_string().into_bytes())
}

/// The moment in which the alert was accepted, which its id has: a UUID of version 7 begins with milliseconds
/// since 1970 (RFC 9562, section 5.7).
fn sent(segment: &Segment) -> Option<Timestamp> {
    let id = segment.alert_id.0;
    let ms = (id.as_u128() >> 80) as i64;
    (id.get_version_num() == 7).then_some(Timestamp(ms * 1_000))
}

/// A moment with whole seconds, UTC; of one that no calendar has, the nearest that has four digits of a year.
fn rfc3339(at: Timestamp) -> String {
    /// 9999-12-31T23:59:59Z.
    const LAST_S: i64 = 253_402_300_799;
    let seconds = at.0.div_euclid(1_000_000).clamp(0, LAST_S);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to a date in the Gregorian calendar, by eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{AlertId, AlertNo, Choice, Content, EndpointNo, Lane};
    use std::sync::Arc;

    const NOW: Timestamp = Timestamp(1_795_000_000_000_000);

    fn segment() -> Segment {
        let content = Content {
            subject: Some("[ÖVNING] Gas".to_owned()),
            ..Content::of_text("[ÖVNING] Stäng fönstren")
        };
        Segment {
            alert: AlertNo(7),
            // 1,794,999,999,500 ms since 1970.
            alert_id: AlertId(uuid::Uuid::from_u128(1_794_999_999_500 << 80 | 7 << 76 | 1 << 63)),
            account: "default".to_owned(),
            route: "sirens".to_owned(),
            lane: Lane::Emergency,
            outcomes_from: 0,
            expires: NOW.plus_s(600).plus_us(1),
            sender: None,
            flash: false,
            receipt: true,
            answer: true,
            choices: vec![Choice { key: "1".to_owned(), label: "OK".to_owned() }],
            emergency: true,
            bodies: vec![Arc::new(Body::Translated("sv".into(), content))],
            entries: vec![Entry {
                endpoint: EndpointNo(3),
                attempt: 1,
                address: "site/7".to_owned(),
                body: 0,
                own: None,
                expires: None,
                link: None,
            }],
        }
    }

    fn made(route: &MqttRoute, segment: &Segment) -> (MqttMessage, Value) {
        let tags = CorrelationTags::new(b"a secret of sixteen octets");
        let message = message(route, &tags, (segment, &segment.entries[0]), 5, NOW).unwrap();
        let payload = serde_json::from_slice(&message.payload).unwrap();
        (message, payload)
    }

    #[test]
    fn a_message_says_what_a_device_must_know() {
        let route = MqttRoute {
            topic: "city/{address}".to_owned(),
            response_topic: Some("answers".to_owned()),
            drill: true,
            ..MqttRoute::default()
        };
        let segment = segment();
        let (message, payload) = made(&route, &segment);
        let id = segment.alert_id.to_string();
        assert_eq!(
            payload,
            json!({
                "id": format!("{id}/3"), "alert": id, "mode": "drill", "emergency": true,
                "headline": "[ÖVNING] Gas", "text": "[ÖVNING] Stäng fönstren", "language": "sv",
                "choices": [{"key": "1", "label": "OK"}],
                "sent": "2026-11-18T11:06:39Z", "expires": "2026-11-18T11:16:40Z",
            })
        );
        assert_eq!(
            (message.topic.as_str(), message.qos, message.retain),
            ("city/site/7", Qos::AtLeastOnce, false)
        );
        let properties = &message.properties;
        assert_eq!(properties.message_expiry_interval(), Some(601), "whole seconds, never too few");
        assert_eq!(properties.payload_format_indicator(), Some(1));
        assert_eq!(properties.content_type(), Some("application/json"));
        assert_eq!(properties.response_topic(), Some("answers"));
        assert_eq!(properties.user_property("alert"), Some(id.as_str()));
        let tags = CorrelationTags::new(b"a secret of sixteen octets");
        let delivery = tags.read(properties.correlation_data().unwrap()).unwrap();
        assert_eq!(
            (delivery.alert, delivery.endpoint, delivery.address.as_str()),
            (AlertNo(7), EndpointNo(3), "site/7")
        );
    }

    #[test]
    fn without_answers_there_is_nowhere_to_send_them() {
        let mut segment = segment();
        segment.answer = false;
        segment.entries[0].expires = Some(NOW);
        let (message, payload) = made(&MqttRoute { retain: true, ..MqttRoute::default() }, &segment);
        assert!(
            message.properties.response_topic().is_none() && message.properties.correlation_data().is_none()
        );
        assert_eq!((payload["choices"].clone(), payload["mode"].clone()), (Value::Null, json!("live")));
        assert_eq!((message.properties.message_expiry_interval(), message.retain), (Some(1), true));
    }

    #[test]
    fn the_same_delivery_has_the_same_id_however_often_it_is_sent() {
        let (mut again, route) = (segment(), MqttRoute::default());
        again.entries[0].attempt = 4;
        assert_eq!(made(&route, &segment()).1["id"], made(&route, &again).1["id"]);
    }

    #[test]
    fn moments_have_the_dates_the_calendar_gives_them() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_000_000, "2026-11-18T11:06:40Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (i64::MAX / 1_000_000, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(Timestamp(seconds * 1_000_000)), date);
        }
        assert_eq!(rfc3339(Timestamp(-1)), "1970-01-01T00:00:00Z");
    }
}
