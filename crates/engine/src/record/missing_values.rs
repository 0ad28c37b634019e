//! Counter of the people who lack a value that their text has a placeholder for: they get it with nothing
//! there.

use crate::dispatch::Wording;
use records::RosterEntry;
use std::collections::BTreeMap;

/// How many people lack which value. Entries come in the roster's order: those of one person follow each
/// other.
#[derive(Debug, Clone, Default)]
pub struct MissingValues {
    by_name: BTreeMap<String, u64>,
    /// The recipient at hand, and what was counted of them already.
    person: String,
    counted: Vec<String>,
}

impl MissingValues {
    /// Takes an entry in.
    pub fn take(&mut self, entry: &RosterEntry, wording: &Wording) {
        let Some(channel) = entry.channel.filter(|_| entry.excluded.is_none()) else { return };
        let needed = wording.needed_by(channel, entry.language.as_deref());
        if needed.is_empty() {
            return;
        }
        let person = entry.persons.first().map_or("", |person| person.recipient.as_str());
        // A bare address is nobody's: each counts by itself.
        if person.is_empty() || person != self.person {
            self.counted.clear();
            person.clone_into(&mut self.person);
        }
        for name in needed {
            let has = entry.values.iter().any(|(of, value)| of == name && !value.is_empty());
            if !has && !self.counted.contains(name) {
                *self.by_name.entry(name.clone()).or_default() += 1;
                self.counted.push(name.clone());
            }
        }
    }

    /// By placeholder.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.by_name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entry, request};
    use records::{ChannelNumber, Person, Reason};

    #[test]
    fn a_person_counts_once_whatever_their_devices_and_a_default_fills_the_place() {
        let wording = Wording::new(&request("{{name}}: {{ward|default('all')}} {{floor}}")).unwrap();
        let of = |id: &str, channel: ChannelNumber, values: &[(&str, &str)]| RosterEntry {
            persons: vec![Person { recipient: id.into(), name: String::new(), step: 0 }],
            values: values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..entry(channel, "x")
        };
        let out = RosterEntry { excluded: Some(Reason::OptedOut), ..of("d", channels::SMS, &[]) };
        let mut missing = MissingValues::default();
        for entry in [
            of("a", channels::SMS, &[("floor", ""), ("name", "Ann"), ("ward", "")]),
            of("a", channels::MAIL, &[("floor", ""), ("name", "Ann"), ("ward", "")]),
            of("b", channels::SMS, &[("floor", "2"), ("name", "Bo"), ("ward", "7")]),
            of("c", channels::SMS, &[("floor", ""), ("name", ""), ("ward", "7")]),
            out,
            entry(channels::SMS, "+1"),
            entry(channels::SMS, "+2"),
        ] {
            missing.take(&entry, &wording);
        }
        let counts: Vec<_> = missing.counts().iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(counts, [("floor", 4), ("name", 3)]);
    }
}
