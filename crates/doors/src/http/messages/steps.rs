//! Steps of a message's way, in the order in which they come: taken, planned, sent, accepted, its end, and
//! the events that its client is told.

use super::{client_of, state_name};
use crate::http::request::time_text::rfc3339;
use crate::smpp::ToldEvent;
use engine::{DeliveryView, MessageCourse};
use records::{DeliveryState, DlrRequest};
use serde_json::{Value, json};

/// One step. What is not known of it is null.
#[derive(Default)]
struct Step {
    step: &'static str,
    at: Option<String>,
    words: String,
    route: Option<String>,
    carrier_id: Option<String>,
    is_told: Option<bool>,
}

impl From<Step> for Value {
    fn from(step: Step) -> Value {
        json!({
            "step": step.step,
            "at": step.at,
            "words": step.words,
            "route": step.route,
            "carrier_id": step.carrier_id,
            "is_told": step.is_told,
        })
    }
}

pub(super) fn steps(course: &MessageCourse, told: &[ToldEvent]) -> Vec<Value> {
    let carrier_id = told.iter().map(|event| &event.carrier_id).find(|id| !id.is_empty()).cloned();
    let mut steps = vec![taken(course), planned(course)];
    steps.extend(sent(&course.delivery));
    steps.extend(accepted(&course.delivery, carrier_id));
    steps.extend(end(course));
    steps.extend(told.iter().map(reported));
    steps.into_iter().map(Value::from).collect()
}

fn taken(course: &MessageCourse) -> Step {
    let message = &course.view.message;
    let words = match client_of(&message.party) {
        ("smpp", Some(name)) => format!("Taken at the SMPP door from {name}"),
        (_, Some(name)) => format!("Taken by HTTP from {name}"),
        _ => "A reply of this server".to_owned(),
    };
    Step { step: "taken", at: Some(rfc3339(message.at)), words, ..Step::default() }
}

fn planned(course: &MessageCourse) -> Step {
    let held = course.not_before.map(|until| format!("Planned, not before {}", rfc3339(until)));
    let waits = match course.delivery.state {
        DeliveryState::Planned | DeliveryState::Held if !course.delivery.reason.is_empty() => {
            Some(format!("Waits: {}", course.delivery.reason))
        }
        _ => None,
    };
    let words = waits.or(held).unwrap_or_else(|| "Planned".to_owned());
    Step { step: "planned", words, route: course.view.message.route.clone(), ..Step::default() }
}

fn sent(delivery: &DeliveryView) -> Option<Step> {
    let route = delivery.route.clone().filter(|_| delivery.attempts > 0)?;
    let words = match delivery.attempts {
        1 => format!("Sent by route {route}"),
        attempts => format!("Sent by route {route}, attempt {attempts}"),
    };
    Some(Step { step: "sent", at: delivery.submitted.clone(), words, route: Some(route), ..Step::default() })
}

fn accepted(delivery: &DeliveryView, carrier_id: Option<String>) -> Option<Step> {
    let at = delivery.accepted.clone()?;
    let words = "Accepted by the carrier".to_owned();
    Some(Step { step: "accepted", at: Some(at), words, carrier_id, ..Step::default() })
}

fn end(course: &MessageCourse) -> Option<Step> {
    let (delivery, view) = (&course.delivery, &course.view);
    let because = |words: &str| match delivery.reason.as_str() {
        "" => words.to_owned(),
        reason => format!("{words}: {reason}"),
    };
    let (step, words) = match delivery.state {
        DeliveryState::Delivered | DeliveryState::Answered => ("delivered", "Delivered".to_owned()),
        DeliveryState::Failed => ("failed", because("Not delivered")),
        DeliveryState::Excluded => ("failed", because("Left out")),
        DeliveryState::Unknown => ("unknown", because("Not known: the carrier did not answer")),
        _ => return None,
    };
    Some(Step { step, at: view.at.map(rfc3339), words, ..Step::default() })
}

fn reported(event: &ToldEvent) -> Step {
    let said = match event.event {
        DlrRequest::DELIVERED => "delivered",
        DlrRequest::FAILED => "failed",
        DlrRequest::BUFFERED => "on its way",
        DlrRequest::ACCEPTED => "accepted",
        DlrRequest::REFUSED => "refused",
        _ => "a status",
    };
    let state = event.state.map(|state| format!(" ({})", state_name(state))).unwrap_or_default();
    let more = if event.words.is_empty() { String::new() } else { format!(": {}", event.words) };
    let verb = if event.is_told { "The client was told" } else { "The client is to be told" };
    Step {
        step: "reported",
        at: Some(rfc3339(event.at)),
        words: format!("{verb}: {said}{state}{more}"),
        carrier_id: (!event.carrier_id.is_empty()).then(|| event.carrier_id.clone()),
        is_told: Some(event.is_told),
        ..Step::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{DlrState, Timestamp};

    #[test]
    fn an_event_says_what_the_client_was_told_or_is_to_be_told() {
        let event = ToldEvent {
            event: DlrRequest::FAILED,
            state: Some(DlrState::Rejected),
            at: Timestamp(0),
            carrier_id: "abc".into(),
            words: "error 011".into(),
            is_told: false,
        };
        let step = reported(&event);
        assert_eq!(step.words, "The client is to be told: failed (rejected): error 011");
        assert_eq!((step.carrier_id.as_deref(), step.is_told), (Some("abc"), Some(false)));
        let of_a_call = ToldEvent {
            event: DlrRequest::DELIVERED,
            state: None,
            carrier_id: String::new(),
            words: String::new(),
            is_told: true,
            ..event
        };
        let step = reported(&of_a_call);
        assert_eq!((step.words.as_str(), step.carrier_id), ("The client was told: delivered", None));
    }
}
