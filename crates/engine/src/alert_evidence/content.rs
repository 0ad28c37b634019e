//! Contents of leaves, made of an alert, of an entry of its roster and of a delivery. Pure: the same three make
//! the same octets at any time.

use crate::report::rfc3339;
use evidence::canonical::canonical;
use records::{Alert, ChannelTexts, Delivery, RosterEntry, Timestamp};
use serde_json::{Map, Value, json};
use store::EvidenceKind;

/// The leaves that an endpoint has, in their order.
pub(super) fn kinds(delivery: &Delivery) -> impl Iterator<Item = EvidenceKind> {
    let was_sent = delivery.attempts > 0 || delivery.submitted.is_some();
    let intent = was_sent.then_some(EvidenceKind::Intent);
    let answer = delivery.answer.as_ref().map(|_| EvidenceKind::Answer);
    intent.into_iter().chain([EvidenceKind::Outcome]).chain(answer)
}

/// What the alert itself says: its texts, and nobody's name.
pub(super) fn of_alert(alert: &Alert) -> String {
    let request = &alert.request;
    let choice = |choice: &records::Choice| json!({"key": choice.key, "label": choice.label});
    let languages = request.texts.languages.iter();
    let languages: Map<String, Value> =
        languages.map(|(tag, texts)| (tag.clone(), texts_of(texts))).collect();
    text(json!({
        "kind": "alert",
        "account": alert.account,
        "alert": alert.id.to_string(),
        "choices": request.choices.iter().map(choice).collect::<Vec<_>>(),
        "created": rfc3339(alert.created),
        "headline": request.headline,
        "languages": languages,
        "mode": if request.mode == records::Mode::Drill { "drill" } else { "live" },
        "sender": request.sender,
        "text": request.text,
        "texts": texts_of(&request.texts.default),
    }))
}

fn texts_of(texts: &ChannelTexts) -> Value {
    let own = texts.own.iter().map(|(channel, own)| {
        (channels::name(*channel).to_owned(), serde_json::to_value(own).unwrap_or_default())
    });
    json!({"headline": texts.headline, "text": texts.text, "channels": own.collect::<Map<_, _>>()})
}

/// What a leaf of an endpoint says; nothing: it has no such leaf.
pub(super) fn of_endpoint(kind: EvidenceKind, entry: &RosterEntry, delivery: &Delivery) -> Option<String> {
    let rest = match kind {
        EvidenceKind::Alert => return None,
        EvidenceKind::Intent => {
            let values: Map<String, Value> =
                entry.values.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
            json!({
                "kind": "intent",
                "attempts": delivery.attempts,
                "language": entry.language,
                "route": delivery.route,
                "submitted": moment(delivery.submitted),
                "values": values,
            })
        }
        EvidenceKind::Outcome => json!({
            "kind": "outcome",
            "accepted": moment(delivery.accepted),
            "delivered": moment(delivery.delivered),
            "reason": crate::report::reason_in_words(delivery),
            "state": delivery.state.name(),
        }),
        EvidenceKind::Answer => {
            let answer = delivery.answer.as_ref()?;
            json!({
                "kind": "answer",
                "at": rfc3339(answer.at),
                "key": answer.key,
                "text": answer.text,
                "via": answer.via,
            })
        }
    };
    Some(text(with_address(rest, entry, delivery)))
}

/// Each line says for itself whom it is of.
fn with_address(mut value: Value, entry: &RosterEntry, delivery: &Delivery) -> Value {
    let people: Vec<Value> = entry
        .persons
        .iter()
        .filter(|person| !person.recipient.is_empty() || !person.name.is_empty())
        .map(|person| json!({"id": person.recipient, "name": person.name}))
        .collect();
    value["address"] = entry.address.as_str().into();
    value["channel"] = entry.channel.map(channels::name).into();
    value["endpoint"] = delivery.endpoint.0.into();
    value["recipients"] = people.into();
    value
}

fn moment(at: Option<Timestamp>) -> Value {
    at.map(rfc3339).into()
}

/// All numbers here are small integers: there is a canonical form.
fn text(value: Value) -> String {
    canonical(&value).unwrap_or_default()
}
