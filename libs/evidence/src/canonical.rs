//! Canonical form of JSON (RFC 8785), of values without fractions: one value has one text.

use serde_json::Value;
use std::fmt::Write as _;

/// The greatest integer that every program reads exactly: 2^53 - 1 (RFC 8785, section 3.2.2.3).
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

/// The canonical text of a value; nothing if it has a number that is no integer of 53 bits.
pub fn canonical(value: &Value) -> Option<String> {
    let mut text = String::new();
    write(value, &mut text)?;
    Some(text)
}

fn write(value: &Value, text: &mut String) -> Option<()> {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => {
            let integer = number.as_i64().filter(|integer| integer.unsigned_abs() <= INTEGER_MAX)?;
            write!(text, "{integer}").ok()?;
        }
        Value::String(string) => write_string(string, text)?,
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(item, text)?;
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (place, (name, value)) in members.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_string(name, text)?;
                text.push(':');
                write(value, text)?;
            }
            text.push('}');
        }
    }
    Some(())
}

/// serde_json escapes what RFC 8785 (section 3.2.2.2) escapes, in the same way.
fn write_string(string: &str, text: &mut String) -> Option<()> {
    text.push_str(&serde_json::to_string(string).ok()?);
    Some(())
}

/// Reads a text that is canonical: any other text of the same value is refused.
///
/// # Errors
/// In words.
pub fn parse(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    match canonical(&value) {
        Some(same) if same == text => Ok(value),
        Some(_) => Err("it is not in canonical form (RFC 8785): it was reformatted or changed".to_owned()),
        None => Err("it has a number that is no integer of 53 bits".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_in_the_order_of_their_utf_16_units_and_strings_escaped_as_the_standard_says() {
        // RFC 8785, section 3.2.3, but for its numbers.
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin",
            "a": ["\u{20ac}$\u{f}\nA'B\"\\\"/", 0, -7, true, null],
        });
        let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\
            \"a\":[\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\"/\",0,-7,true,null],\
            \"\u{80}\":\"Control\",\"\u{f6}\":\"Latin\",\"\u{20ac}\":\"Euro Sign\",\
            \"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
        assert_eq!(canonical(&value).as_deref(), Some(expected));
        assert_eq!(parse(expected), Ok(value));
    }

    #[test]
    fn any_other_text_of_a_value_is_refused() {
        for text in [
            "{ }",
            "{\"b\":1,\"a\":1}",
            "{\"a\":1,\"a\":1}",
            "1.5",
            "1e3",
            "-0",
            "9007199254740992",
            "\"\\u0041\"",
            "\"\\/\"",
            "01",
            "",
            "{}\n",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert_eq!(parse("9007199254740991"), Ok(json!(INTEGER_MAX)));
    }
}
