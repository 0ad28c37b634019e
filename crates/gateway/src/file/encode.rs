//! Lines of JSON: an entry of a segment as one line, and the id of a line that is there.

use records::{Body, Entry, Segment, Timestamp};
use serde_json::{Map, Value, json};

/// The id of an entry's line: the same however often it is tried.
pub(super) fn id(segment: &Segment, entry: &Entry) -> String {
    format!("{}/{}", segment.alert_id, entry.endpoint.0)
}

/// An entry's line with its end; nothing for a body that is no rendered text.
pub(super) fn line(segment: &Segment, entry: &Entry, at: Timestamp) -> Option<Vec<u8>> {
    let content = segment.body(entry).and_then(Body::content)?;
    let mut members = Map::new();
    members.insert("id".to_owned(), json!(id(segment, entry)));
    members.insert("at_us".to_owned(), json!(at.0));
    members.insert("alert".to_owned(), json!(segment.alert_id.to_string()));
    members.insert("account".to_owned(), json!(segment.account));
    members.insert("address".to_owned(), json!(entry.address));
    members.insert("attempt".to_owned(), json!(entry.attempt));
    members.insert("emergency".to_owned(), json!(segment.emergency));
    members.insert("text".to_owned(), json!(content.text));
    let parts = [("subject", &content.subject), ("html", &content.html), ("link", &entry.link)];
    for (name, part) in parts {
        if let Some(part) = part {
            members.insert(name.to_owned(), json!(part));
        }
    }
    let mut line = Value::Object(members).to_string().into_bytes();
    line.push(b'\n');
    Some(line)
}

/// The ids of the lines in these octets; what is no line of ours has none.
pub(super) fn ids(octets: &[u8]) -> impl Iterator<Item = String> + '_ {
    octets.split(|octet| *octet == b'\n').filter_map(|line| {
        let read: Value = serde_json::from_slice(line).ok()?;
        read.get("id")?.as_str().map(str::to_owned)
    })
}
