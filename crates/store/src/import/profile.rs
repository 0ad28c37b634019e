//! Profile of a device, and the kind of devices that a person prefers, as the API takes and gives them.

use super::FieldError;
use super::json::{kind, unknown};
use records::{DeviceProfile, Letters, Preference};
use serde_json::{Map, Value, json};

/// Letters of one message that a profile may name.
const LENGTH_MAX: u16 = 10_000;
const MEMBERS: [&str; 4] = ["length", "letters", "links", "html"];
const LETTERS: [(&str, Letters); 4] =
    [("digits", Letters::Digits), ("ascii", Letters::Ascii), ("gsm", Letters::Gsm), ("all", Letters::All)];

/// Reads a profile; one without members is none. `field` is where it stands.
pub(super) fn profile_from_json(
    field: &str,
    value: &Value,
) -> Result<Option<DeviceProfile>, Vec<FieldError>> {
    let Value::Object(members) = value else {
        let reason =
            format!("is an object such as {{\"length\": 20, \"letters\": \"ascii\"}}, not {}", kind(value));
        return Err(vec![FieldError::new(field, reason)]);
    };
    let (mut profile, mut faults) = (DeviceProfile::default(), Vec::new());
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let read = match name.as_str() {
            "length" => length(value).map(|length| profile.length = Some(length)),
            "letters" => letters(value).map(|letters| profile.letters = Some(letters)),
            "links" => flag(value).map(|links| profile.links = Some(links)),
            "html" => flag(value).map(|html| profile.html = Some(html)),
            other => Err(unknown(other, &MEMBERS)),
        };
        faults.extend(read.err().map(|reason| FieldError::new(format!("{field}.{name}"), reason)));
    }
    let profile = Some(profile).filter(|profile| *profile != DeviceProfile::default());
    if faults.is_empty() { Ok(profile) } else { Err(faults) }
}

/// A profile; members that are not given are left out.
pub fn profile_to_json(profile: &DeviceProfile) -> Value {
    let mut members = Map::new();
    let letters = profile.letters.map(|letters| json!(letters));
    let all = [
        profile.length.map(Value::from),
        letters,
        profile.links.map(Value::from),
        profile.html.map(Value::from),
    ];
    for (name, value) in MEMBERS.iter().zip(all) {
        members.extend(value.map(|value| ((*name).to_owned(), value)));
    }
    Value::Object(members)
}

/// The kind of devices that somebody prefers.
pub(super) fn preference(text: &str) -> Result<Preference, String> {
    match text {
        _ if text.eq_ignore_ascii_case("text") => Ok(Preference::Text),
        _ if text.eq_ignore_ascii_case("voice") => Ok(Preference::Voice),
        other => Err(format!("is text or voice, not {other:?}")),
    }
}

fn length(value: &Value) -> Result<u16, String> {
    let length = value.as_u64().and_then(|length| u16::try_from(length).ok());
    length.filter(|length| (1..=LENGTH_MAX).contains(length)).ok_or_else(|| match value {
        Value::Number(number) => format!("is 1 to {LENGTH_MAX}, not {number}"),
        other => format!("is a number, 1 to {LENGTH_MAX}, not {}", kind(other)),
    })
}

fn letters(value: &Value) -> Result<Letters, String> {
    let names = LETTERS.map(|(name, _)| name).join(", ");
    let Value::String(text) = value else {
        return Err(format!("is one of {names}, not {}", kind(value)));
    };
    let found = LETTERS.iter().find(|(name, _)| name == text).map(|(_, letters)| *letters);
    found.ok_or_else(|| format!("is one of {names}, not {text:?}"))
}

fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("is true or false, not {}", kind(value)))
}
