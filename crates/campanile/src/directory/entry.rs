//! Entry of a directory as a person: which attribute is which field.

use channels::NoChannel;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Attributes that a mapping names.
const MAPPED_MAX: usize = 64;
/// Values of one attribute of one entry; a person has no more groups.
const VALUES_MAX: usize = 64;

/// Fields of a person with one value.
const SINGLE: [&str; 7] = ["id", "name", "language", "time_zone", "lat", "lon", "prefers"];

/// What an attribute means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PersonField {
    Single(&'static str),
    /// Names of groups, or the distinguished names of their entries.
    Groups,
    /// Addresses of a channel, by its name.
    Addresses(&'static str),
    Attribute(String),
}

/// Attributes of a directory, each with its field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttributeMapping(Vec<(String, PersonField)>);

impl AttributeMapping {
    /// Reads entries such as `mobile:sms`: an attribute of the directory, and a field of a person.
    ///
    /// # Errors
    /// The place of the first entry that is wrong, and why.
    pub fn parse(entries: &[String]) -> Result<AttributeMapping, (usize, String)> {
        let mut mapping: Vec<(String, PersonField)> = Vec::with_capacity(entries.len());
        for (place, entry) in entries.iter().enumerate() {
            let pair = entry.rsplit_once(':').map(|(from, to)| (from.trim(), to.trim()));
            let (from, to) = pair
                .filter(|(from, to)| !from.is_empty() && !to.is_empty())
                .ok_or_else(|| (place, format!("{entry:?} is not ATTRIBUTE:FIELD, such as mobile:sms")))?;
            if place >= MAPPED_MAX {
                return Err((place, format!("maps more than {MAPPED_MAX} attributes")));
            }
            let field = field(to).map_err(|why| (place, why))?;
            if mapping.iter().any(|(_, other)| *other == field && !matches!(field, PersonField::Addresses(_)))
            {
                return Err((place, format!("maps {to} twice")));
            }
            mapping.push((from.to_owned(), field));
        }
        if !mapping.iter().any(|(_, field)| *field == PersonField::Single("id")) {
            return Err((0, "maps no attribute to id: people are known by it".to_owned()));
        }
        Ok(AttributeMapping(mapping))
    }

    /// The attributes that are asked for.
    pub(super) fn wanted(&self) -> Vec<String> {
        let mut wanted: Vec<String> = self.0.iter().map(|(from, _)| from.clone()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// A person, as the API takes one. Servers spell attributes in a case of their own.
    pub fn person(&self, attributes: &HashMap<String, Vec<String>>) -> Value {
        let mut person: Map<String, Value> = Map::new();
        let mut others: Map<String, Value> = Map::new();
        for (from, field) in &self.0 {
            let own = attributes.iter().find(|(name, _)| name.eq_ignore_ascii_case(from));
            let values = own.map(|(_, values)| values.as_slice()).unwrap_or_default();
            let mut values = values.iter().map(|value| value.trim()).filter(|value| !value.is_empty());
            match field {
                PersonField::Single(name) => {
                    if let Some(value) = values.next() {
                        person.insert((*name).to_owned(), single(name, value));
                    }
                }
                PersonField::Groups => {
                    let groups: Vec<&str> = values.take(VALUES_MAX).map(first_value).collect();
                    person.insert("groups".to_owned(), json!(groups));
                }
                PersonField::Addresses(channel) => {
                    let list = person.entry((*channel).to_owned()).or_insert_with(|| json!([]));
                    if let Some(list) = list.as_array_mut() {
                        list.extend(values.take(VALUES_MAX).map(Value::from));
                    }
                }
                PersonField::Attribute(name) => {
                    if let Some(value) = values.next() {
                        others.insert(name.clone(), value.into());
                    }
                }
            }
        }
        person.insert("attributes".to_owned(), others.into());
        person.into()
    }
}

fn field(name: &str) -> Result<PersonField, String> {
    if let Some(single) = SINGLE.iter().find(|single| **single == name) {
        return Ok(PersonField::Single(single));
    }
    if name == "groups" {
        return Ok(PersonField::Groups);
    }
    match channels::named(name) {
        Ok(channel) => Ok(PersonField::Addresses(channel.name())),
        Err(NoChannel::Unknown(_)) => Ok(PersonField::Attribute(name.to_owned())),
        Err(why) => Err(why.to_string()),
    }
}

/// Degrees are numbers; what is none stays a text, whose problem the import names.
fn single(name: &str, value: &str) -> Value {
    let degrees = ["lat", "lon"].contains(&name).then(|| value.parse::<f64>().ok()).flatten();
    degrees.map_or_else(|| value.into(), Value::from)
}

/// `fire` of `cn=fire,ou=groups,dc=example`: the value of the first part of a distinguished name (RFC 4514),
/// without its escapes where they are single characters. A text that is none is itself.
fn first_value(text: &str) -> &str {
    let is_end = |(at, c): &(usize, char)| *c == ',' && !text[..*at].ends_with('\\');
    let first = text.char_indices().find(is_end).map_or(text, |(at, _)| &text[..at]);
    match first.split_once('=') {
        Some((name, value)) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-') => {
            value.trim()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(entries: &[&str]) -> Result<AttributeMapping, (usize, String)> {
        AttributeMapping::parse(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn an_entry_is_a_person_by_its_mapping() {
        let entries = [
            "uid:id",
            "cn:name",
            "mobile:sms",
            "telephoneNumber:sms",
            "mail:mail",
            "memberOf:groups",
            "l:site",
            "latitude:lat",
            "longitude:lon",
        ];
        let mapping = parsed(&entries).unwrap();
        let attributes = [
            ("UID", vec!["bjensen", "second"]),
            ("cn", vec!["Barbara Jensen"]),
            ("mobile", vec!["+46701000001"]),
            ("telephonenumber", vec!["+46701000002", " "]),
            ("memberOf", vec!["cn=Fire,ou=groups,dc=example,dc=com", "CN=Night\\, late,dc=x", "plain"]),
            ("l", vec!["north"]),
            ("latitude", vec!["59.3"]),
            ("longitude", vec!["east"]),
        ];
        let attributes = attributes
            .into_iter()
            .map(|(name, values)| (name.to_owned(), values.into_iter().map(str::to_owned).collect()))
            .collect();
        let person = mapping.person(&attributes);
        let expected = json!({
            "id": "bjensen", "name": "Barbara Jensen", "sms": ["+46701000001", "+46701000002"], "mail": [],
            "groups": ["Fire", "Night\\, late", "plain"], "lat": 59.3, "lon": "east",
            "attributes": {"site": "north"},
        });
        assert_eq!(person, expected);
        assert_eq!(mapping.wanted().len(), 9);
    }

    #[test]
    fn a_mapping_that_cannot_be_used_names_its_entry() {
        for (entries, place, reason) in [
            (&["uid"][..], 0, "is not ATTRIBUTE:FIELD"),
            (&["uid:id", "cn:"], 1, "is not ATTRIBUTE:FIELD"),
            (&["cn:name"], 0, "maps no attribute to id"),
            (&["uid:id", "cn:id"], 1, "maps id twice"),
            (&["uid:id", "n:fax"], 1, "channel fax is not built yet"),
        ] {
            let (at, why) = parsed(entries).unwrap_err();
            assert!(at == place && why.contains(reason), "{entries:?}: {at} {why}");
        }
    }
}
