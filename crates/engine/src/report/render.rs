//! A report as JSON, CSV and XML.

use crate::api::{DeliveryView, Report};
use std::fmt::Write;

/// The report as one JSON object; with deliveries if there are any.
pub fn json(report: &Report, deliveries: Option<&[DeliveryView]>) -> String {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let (Some(deliveries), Some(object)) = (deliveries, value.as_object_mut()) {
        object.insert("deliveries".into(), serde_json::to_value(deliveries).unwrap_or_default());
    }
    value.to_string()
}

const COLUMNS: [&str; 15] = [
    "endpoint",
    "channel",
    "address",
    "recipients",
    "names",
    "state",
    "reason",
    "route",
    "attempts",
    "submitted",
    "accepted",
    "delivered",
    "answer",
    "answered",
    "reason_code",
];

/// The first line of a CSV report: RFC 4180.
pub fn csv_header() -> String {
    COLUMNS.join(",") + "\r\n"
}

/// A delivery a line.
pub fn csv_rows(deliveries: &[DeliveryView]) -> String {
    let mut out = String::new();
    for delivery in deliveries {
        let people = |of: fn(&crate::api::RecipientView) -> &str| {
            delivery.recipients.iter().map(of).collect::<Vec<_>>().join(";")
        };
        let fields = [
            delivery.endpoint.to_string(),
            delivery.channel.unwrap_or_default().to_owned(),
            delivery.address.clone(),
            people(|person| &person.id),
            people(|person| &person.name),
            delivery.state.name().to_owned(),
            delivery.reason.clone(),
            delivery.route.clone().unwrap_or_default(),
            delivery.attempts.to_string(),
            delivery.submitted.clone().unwrap_or_default(),
            delivery.accepted.clone().unwrap_or_default(),
            delivery.delivered.clone().unwrap_or_default(),
            delivery.answer.as_ref().map_or_else(String::new, |answer| answer.text.clone()),
            delivery.answer.as_ref().map_or_else(String::new, |answer| answer.at.clone()),
            reason_code(delivery.reason_code),
        ];
        let line: Vec<String> = fields.iter().map(|field| csv_field(field)).collect();
        out.push_str(&line.join(","));
        out.push_str("\r\n");
    }
    out
}

/// The code of a reason; nothing where there is nothing to explain.
fn reason_code(reason: records::Reason) -> String {
    match reason {
        records::Reason::None => String::new(),
        reason => serde_json::to_value(reason)
            .ok()
            .and_then(|code| code.as_str().map(str::to_owned))
            .unwrap_or_default(),
    }
}

/// The whole as CSV.
pub fn csv(deliveries: &[DeliveryView]) -> String {
    csv_header() + &csv_rows(deliveries)
}

/// Quoted where it must be, and no formula to a spreadsheet.
fn csv_field(field: &str) -> String {
    let guarded = store::spreadsheet::guarded(field).into_owned();
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

/// The report as XML; element names are those of the JSON.
pub fn xml(report: &Report, deliveries: Option<&[DeliveryView]>) -> String {
    let value: serde_json::Value = serde_json::from_str(&json(report, deliveries)).unwrap_or_default();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    element(&mut out, "report", &value, 0);
    out
}

fn element(out: &mut String, name: &str, value: &serde_json::Value, depth: usize) {
    let pad = "  ".repeat(depth);
    match value {
        serde_json::Value::Null => {}
        serde_json::Value::Object(members) => {
            let _ = writeln!(out, "{pad}<{name}>");
            for (key, value) in members {
                keyed(out, name, key, value, depth + 1);
            }
            let _ = writeln!(out, "{pad}</{name}>");
        }
        serde_json::Value::Array(items) => {
            let _ = writeln!(out, "{pad}<{name}>");
            let one = match name {
                "recipients" => "recipient",
                "reason_codes" => "reason_code",
                _ => "delivery",
            };
            for item in items {
                element(out, one, item, depth + 1);
            }
            let _ = writeln!(out, "{pad}</{name}>");
        }
        serde_json::Value::String(text) => _ = writeln!(out, "{pad}<{name}>{}</{name}>", escape(text)),
        other => _ = writeln!(out, "{pad}<{name}>{other}</{name}>"),
    }
}

/// Members whose keys are data (routes, channels, reasons, answers) become elements with a name attribute.
fn keyed(out: &mut String, parent: &str, key: &str, value: &serde_json::Value, depth: usize) {
    let one = match parent {
        "routes" => "route",
        "channels" => "channel",
        "reasons" => "reason",
        "answers" => "answer",
        "missing_values" => "placeholder",
        _ => return element(out, key, value, depth),
    };
    let pad = "  ".repeat(depth);
    if let serde_json::Value::Object(members) = value {
        let _ = writeln!(out, "{pad}<{one} name=\"{}\">", escape(key));
        for (key, value) in members {
            element(out, key, value, depth + 1);
        }
        let _ = writeln!(out, "{pad}</{one}>");
    } else {
        let _ = writeln!(out, "{pad}<{one} name=\"{}\">{value}</{one}>", escape(key));
    }
}

/// XML 1.0, 2.2 and 2.4: control characters cannot be written at all.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if (c as u32) < 0x20 || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{DeliveryState, Reason};

    fn view() -> DeliveryView {
        DeliveryView {
            endpoint: 3,
            channel: Some("sms"),
            address: "+46701234567".into(),
            recipients: vec![crate::api::RecipientView { id: "r1".into(), name: "Ann, \"A\"".into() }],
            state: DeliveryState::Failed,
            reason_code: Reason::Refused,
            reason: "=1+1".into(),
            route: Some("carrier".into()),
            attempts: 1,
            submitted: None,
            accepted: None,
            delivered: None,
            answer: None,
        }
    }

    #[test]
    fn csv_is_quoted_where_it_must_be_and_holds_no_formula() {
        let text = csv(&[view()]);
        assert_eq!(
            text.lines().nth(1),
            Some("3,sms,+46701234567,r1,\"Ann, \"\"A\"\"\",failed,'=1+1,carrier,1,,,,,,refused")
        );
    }

    #[test]
    fn xml_escapes_what_people_write() {
        assert_eq!(escape("a<b & \"c\"\u{1}"), "a&lt;b &amp; &quot;c&quot;\u{fffd}");
    }
}
