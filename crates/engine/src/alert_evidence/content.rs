//! Contents of leaves, made of an alert, of an entry of its roster and of a delivery. Pure: the same three
//! make the same octets at any time.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::untouched;
    use records::{AlertNo, Answer, EndpointNo, Person};

    fn entry() -> RosterEntry {
        RosterEntry {
            channel: Some(channels::SMS),
            address: "+461".to_owned(),
            persons: vec![Person { recipient: "ann".to_owned(), name: "Ann".to_owned(), step: 0 }],
            language: None,
            values: vec![("ward".to_owned(), "7".to_owned())],
            not_before: None,
            expires: None,
            rule: 0,
            excluded: None,
            message: None,
        }
    }

    #[test]
    fn an_endpoint_has_a_line_for_what_was_sent_what_became_of_it_and_its_answer() {
        use EvidenceKind::{Answer as Given, Intent, Outcome};
        let entry = entry();
        let mut delivery = untouched(AlertNo(1), EndpointNo(4), &entry);
        assert_eq!(kinds(&delivery).collect::<Vec<_>>(), [Outcome]);
        assert_eq!(of_endpoint(Given, &entry, &delivery), None);
        (delivery.attempts, delivery.submitted) = (1, Some(Timestamp(1_000_000)));
        delivery.answer = Some(Answer {
            key: Some("1".to_owned()),
            text: "I am safe".to_owned(),
            via: "sms".to_owned(),
            at: Timestamp(2_000_000),
        });
        assert_eq!(kinds(&delivery).collect::<Vec<_>>(), [Intent, Outcome, Given]);
        let said = of_endpoint(Intent, &entry, &delivery).unwrap();
        assert_eq!(
            said,
            "{\"address\":\"+461\",\"attempts\":1,\"channel\":\"sms\",\"endpoint\":4,\"kind\":\"intent\",\
             \"language\":null,\"recipients\":[{\"id\":\"ann\",\"name\":\"Ann\"}],\"route\":null,\
             \"submitted\":\"1970-01-01T00:00:01.000Z\",\"values\":{\"ward\":\"7\"}}"
        );
        let said = of_endpoint(Given, &entry, &delivery).unwrap();
        assert!(said.contains("\"text\":\"I am safe\"") && said.contains("\"address\":\"+461\""), "{said}");
        assert_eq!(of_endpoint(EvidenceKind::Alert, &entry, &delivery), None);
    }
}
