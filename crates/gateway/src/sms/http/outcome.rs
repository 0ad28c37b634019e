//! Outcome of a request to an HTTP carrier, and of what it posts.

use super::config::{HttpSmsRoute, ReceiptNames, ResponseNames};
use super::fields::CarrierFields;
use crate::http_calls::response::ReadResponse;
use crate::sms::outcome::Ids;
use records::{AttemptResult, CallbackPurpose, CarrierCallback, Inbound, Outcome, Receipt, ReceiptState};

/// Characters of a value or an id of the carrier's that are kept.
const WORD_CHARS_MAX: usize = 100;
/// Characters of the carrier's own words.
const TEXT_CHARS_MAX: usize = 200;
/// Characters of a message from a person: more than any phone sends.
const INBOUND_CHARS_MAX: usize = 40_000;

/// What a response means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CarrierVerdict {
    Accepted,
    Refused { permanent: bool },
    Unknown,
}

/// The result of an attempt by its response. `id` is ours, by which the message is known where the carrier
/// names none.
pub(super) fn result(
    response: &ReadResponse,
    names: &ResponseNames,
    ids: &mut Ids,
    id: &str,
    secrets: &[&str],
) -> AttemptResult {
    let fields = CarrierFields::of(&response.body);
    let value = |path: &Option<String>, most| {
        let value = path.as_deref().and_then(|path| fields.value(path))?;
        (!secrets.iter().any(|secret| value.contains(secret))).then(|| cut(&value, most))
    };
    let state = value(&names.state, WORD_CHARS_MAX);
    let (verdict, code) = judge(response.status, names, state.as_deref());
    let text = || match (value(&names.text, TEXT_CHARS_MAX), state.clone()) {
        (Some(text), Some(state)) => format!("{state}: {text}"),
        (Some(words), None) | (None, Some(words)) => words,
        (None, None) => response.refusal(secrets),
    };
    match verdict {
        CarrierVerdict::Accepted => {
            let of_carrier = names.id.is_some();
            let id = if of_carrier { value(&names.id, WORD_CHARS_MAX) } else { Some(id.to_owned()) };
            let id = id.unwrap_or_default();
            AttemptResult::Accepted { keys: ids.key(id.as_bytes()).into_iter().collect(), id }
        }
        CarrierVerdict::Refused { permanent } => AttemptResult::Refused { permanent, code, text: text() },
        CarrierVerdict::Unknown => AttemptResult::Unknown {
            text: format!("the carrier's response does not say whether it took the message: {}", text()),
        },
    }
}

/// The verdict, and the code of a refusal.
fn judge(status: u16, names: &ResponseNames, state: Option<&str>) -> (CarrierVerdict, String) {
    let by_status = || format!("http:{status}");
    if let Some(state) = state {
        let is_in = |list: &[String]| list.iter().any(|value| value.eq_ignore_ascii_case(state));
        let code = format!("carrier:{state}");
        if is_in(&names.accepted) {
            return (CarrierVerdict::Accepted, code);
        }
        if is_in(&names.refused) {
            return (CarrierVerdict::Refused { permanent: true }, code);
        }
        if is_in(&names.temporary) {
            return (CarrierVerdict::Refused { permanent: false }, code);
        }
    }
    let verdict = match status {
        // It should have said so.
        200..=299 if !names.accepted.is_empty() => CarrierVerdict::Unknown,
        200..=299 => CarrierVerdict::Accepted,
        // Something on the way to the carrier's system speaks.
        502 | 504 => CarrierVerdict::Unknown,
        // The account, its money, the URL; or a moment's trouble.
        300..=399 | 401..=404 | 407 | 408 | 425 | 429 | 500.. => CarrierVerdict::Refused { permanent: false },
        _ => CarrierVerdict::Refused { permanent: true },
    };
    (verdict, by_status())
}

/// Outcomes of what the carrier posted.
///
/// # Errors
/// What of it cannot be read, in words.
pub(super) fn outcomes(
    callback: &CarrierCallback,
    route: &HttpSmsRoute,
    ids: &mut Ids,
) -> Result<Vec<Outcome>, String> {
    let body = CarrierFields::of(&callback.body);
    match callback.purpose {
        CallbackPurpose::Receipts => {
            let items = body.items(route.receipt.items.as_deref())?;
            items.iter().map(|item| receipt(item, route, ids, callback)).collect()
        }
        CallbackPurpose::Inbound => {
            let items = body.items(route.inbound.items.as_deref())?;
            items.iter().map(|item| inbound(item, route, callback)).collect()
        }
    }
}

fn receipt(
    item: &CarrierFields<'_>,
    route: &HttpSmsRoute,
    ids: &mut Ids,
    callback: &CarrierCallback,
) -> Result<Outcome, String> {
    let names = &route.receipt;
    let id = item.value(&names.id).filter(|id| !id.is_empty());
    let id = cut(&id.ok_or_else(|| format!("a receipt has no {}", names.id))?, WORD_CHARS_MAX);
    let word = item.value(&names.state).ok_or_else(|| format!("a receipt has no {}", names.state))?;
    let word = cut(&word, WORD_CHARS_MAX);
    let more = names.text.as_deref().and_then(|path| item.value(path)).filter(|text| !text.is_empty());
    let text = match more {
        Some(more) => format!("{word} {}", cut(&more, TEXT_CHARS_MAX)),
        None => word.clone(),
    };
    Ok(Outcome::Receipt(Receipt {
        route: route.name.clone(),
        keys: ids.key(id.as_bytes()).into_iter().collect(),
        id,
        state: state(names, &word),
        text,
        at: callback.at,
    }))
}

fn state(names: &ReceiptNames, word: &str) -> ReceiptState {
    let is_in = |list: &[String]| list.iter().any(|value| value.eq_ignore_ascii_case(word));
    match () {
        () if is_in(&names.delivered) => ReceiptState::Delivered,
        () if is_in(&names.failed) => ReceiptState::Failed,
        () if is_in(&names.expired) => ReceiptState::Expired,
        () => ReceiptState::Buffered,
    }
}

fn inbound(
    item: &CarrierFields<'_>,
    route: &HttpSmsRoute,
    callback: &CarrierCallback,
) -> Result<Outcome, String> {
    let names = &route.inbound;
    let value = |path: &str| item.value(path).ok_or_else(|| format!("a message has no {path}"));
    Ok(Outcome::Inbound(Inbound {
        channel: channels::SMS,
        route: route.name.clone(),
        from: cut(value(&names.from)?.trim(), WORD_CHARS_MAX),
        to: cut(item.value(&names.to).unwrap_or_default().trim(), WORD_CHARS_MAX),
        text: cut(&value(&names.text)?, INBOUND_CHARS_MAX),
        octets: None,
        of: None,
        at: callback.at,
    }))
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::route;
    use super::*;
    use records::Timestamp;
    use smpp::receipt::IdForm;

    fn ids() -> Ids {
        Ids::new("carrier", IdForm::AsIs)
    }

    fn result_of(status: u16, body: &str, names: &ResponseNames) -> AttemptResult {
        let response = ReadResponse { status, media_type: String::new(), body: body.to_owned() };
        result(&response, names, &mut ids(), "ours", &["Bearer sesame"])
    }

    fn kind(result: &AttemptResult) -> (&'static str, &str) {
        match result {
            AttemptResult::Accepted { id, .. } => ("accepted", id),
            AttemptResult::Refused { permanent: true, code, .. } => ("refused", code),
            AttemptResult::Refused { permanent: false, code, .. } => ("temporary", code),
            AttemptResult::Unknown { .. } => ("unknown", ""),
            AttemptResult::NotTried { .. } => ("not tried", ""),
        }
    }

    #[test]
    fn without_a_state_the_http_status_decides() {
        for (status, expected) in [
            (200, ("accepted", "ours")),
            (202, ("accepted", "ours")),
            (302, ("temporary", "http:302")),
            (400, ("refused", "http:400")),
            (401, ("temporary", "http:401")),
            (404, ("temporary", "http:404")),
            (422, ("refused", "http:422")),
            (429, ("temporary", "http:429")),
            (500, ("temporary", "http:500")),
            (502, ("unknown", "")),
            (503, ("temporary", "http:503")),
            (504, ("unknown", "")),
        ] {
            assert_eq!(kind(&result_of(status, "", &ResponseNames::default())), expected, "{status}");
        }
    }

    #[test]
    fn a_state_in_a_list_decides_whatever_the_status_and_any_other_is_unknown() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let names = ResponseNames {
            id: Some("/messages/0/id".to_owned()),
            state: Some("/messages/0/status".to_owned()),
            text: Some("/messages/0/error".to_owned()),
            accepted: list(&["queued"]),
            refused: list(&["invalid"]),
            temporary: list(&["busy"]),
        };
        let body = |state: &str| {
            format!(r#"{{"messages": [{{"id": "m-1", "status": "{state}", "error": "why"}}]}}"#)
        };
        for (status, state, expected) in [
            (200, "Queued", ("accepted", "m-1")),
            (200, "invalid", ("refused", "carrier:invalid")),
            (200, "busy", ("temporary", "carrier:busy")),
            (500, "queued", ("accepted", "m-1")),
            (200, "who knows", ("unknown", "")),
            (400, "who knows", ("refused", "http:400")),
        ] {
            assert_eq!(kind(&result_of(status, &body(state), &names)), expected, "{status} {state}");
        }
        assert_eq!(kind(&result_of(200, "<html>", &names)).0, "unknown");
        let AttemptResult::Refused { text, .. } = result_of(200, &body("busy"), &names) else { panic!() };
        assert_eq!(text, "busy: why");
        let echo = ResponseNames { text: Some("e".to_owned()), ..ResponseNames::default() };
        let AttemptResult::Refused { text, .. } = result_of(400, r#"{"e": "bad Bearer sesame"}"#, &echo)
        else {
            panic!()
        };
        assert_eq!(text, "400 Bad Request");
    }

    fn posted(purpose: CallbackPurpose, body: &str) -> Result<Vec<Outcome>, String> {
        let callback = CarrierCallback { purpose, is_json: true, body: body.to_owned(), at: Timestamp(9) };
        outcomes(&callback, &route(), &mut ids())
    }

    #[test]
    fn a_receipt_has_the_key_of_its_message() {
        let AttemptResult::Accepted { keys, .. } = result_of(200, "", &ResponseNames::default()) else {
            panic!()
        };
        for (body, state, text) in [
            ("id=ours&state=Delivered", ReceiptState::Delivered, "Delivered"),
            (r#"{"id": "ours", "state": "failed"}"#, ReceiptState::Failed, "failed"),
            (r#"{"id": "ours", "state": "expired"}"#, ReceiptState::Expired, "expired"),
            (r#"{"id": "ours", "state": "enroute"}"#, ReceiptState::Buffered, "enroute"),
        ] {
            let outcomes = posted(CallbackPurpose::Receipts, body).unwrap();
            let [Outcome::Receipt(receipt)] = &outcomes[..] else { panic!("{outcomes:?}") };
            assert_eq!((receipt.state, receipt.text.as_str(), &receipt.keys), (state, text, &keys));
            assert_eq!((receipt.route.as_str(), receipt.at), ("carrier", Timestamp(9)));
        }
        for body in ["state=delivered", "id=&state=delivered", "id=ours", "{}"] {
            assert!(posted(CallbackPurpose::Receipts, body).is_err(), "{body}");
        }
    }

    #[test]
    fn a_persons_message_comes_in_as_by_any_carrier() {
        let outcomes = posted(CallbackPurpose::Inbound, "from=%2B46701234567&to=71700&text=STOP").unwrap();
        let [Outcome::Inbound(inbound)] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert_eq!(inbound.channel, channels::SMS);
        let said = (inbound.from.as_str(), inbound.to.as_str(), inbound.text.as_str());
        assert_eq!(said, ("+46701234567", "71700", "STOP"));
        assert!(posted(CallbackPurpose::Inbound, "to=71700&text=STOP").is_err());
    }
}
