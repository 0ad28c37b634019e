//! A recipient as it is encoded, looked at without a copy: what audiences ask of people, and nothing else.

use super::{DeviceProfile, Position, QuietHours, RECIPIENT_FORM, Recipient};
use crate::{ChannelNumber, DecodeError};
use serde::Deserialize;

/// What audiences and rules ask of a person.
pub trait PersonFacts {
    /// Their id.
    fn id(&self) -> &str;
    /// Their name.
    fn name(&self) -> &str;
    /// The language that they read.
    fn language(&self) -> Option<&str>;
    /// Their time zone.
    fn time_zone(&self) -> Option<&str>;
    /// Where they are.
    fn position(&self) -> Option<Position>;
    /// An attribute's value.
    fn attribute(&self, name: &str) -> Option<&str>;
    /// Whether one of the groups that they were put in by name is such a one.
    fn is_in(&self, is_sought: &mut dyn FnMut(&str) -> bool) -> bool;
}

impl PersonFacts for Recipient {
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }
    fn time_zone(&self) -> Option<&str> {
        self.time_zone.as_deref()
    }
    fn position(&self) -> Option<Position> {
        self.position
    }
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }
    fn is_in(&self, is_sought: &mut dyn FnMut(&str) -> bool) -> bool {
        self.groups.iter().any(|group| is_sought(group))
    }
}

impl<P: PersonFacts> PersonFacts for &P {
    fn id(&self) -> &str {
        (**self).id()
    }
    fn name(&self) -> &str {
        (**self).name()
    }
    fn language(&self) -> Option<&str> {
        (**self).language()
    }
    fn time_zone(&self) -> Option<&str> {
        (**self).time_zone()
    }
    fn position(&self) -> Option<Position> {
        (**self).position()
    }
    fn attribute(&self, name: &str) -> Option<&str> {
        (**self).attribute(name)
    }
    fn is_in(&self, is_sought: &mut dyn FnMut(&str) -> bool) -> bool {
        (**self).is_in(is_sought)
    }
}

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct RecipientView<'a> {
    id: &'a str,
    name: &'a str,
    language: Option<&'a str>,
    time_zone: Option<&'a str>,
    position: Option<Position>,
    groups: Pieces<'a>,
    attributes: Pieces<'a>,
}

/// Texts one behind the other, as they are encoded.
#[derive(Debug, Clone, Copy)]
struct Pieces<'a> {
    count: u64,
    encoded: &'a [u8],
}

/// As [`super::Device`] is encoded.
#[derive(Deserialize)]
#[allow(dead_code)] // read over, to come to what stands behind it
struct EncodedDevice<'a> {
    channel: ChannelNumber,
    address: &'a str,
    enabled: bool,
    verified: bool,
    opted_out: bool,
    profile: Option<DeviceProfile>,
}

impl<'a> RecipientView<'a> {
    /// Looks at what [`Recipient::encode`] of this version wrote.
    ///
    /// # Errors
    /// Damage, or a form of another version.
    pub fn read(record: &'a [u8]) -> Result<RecipientView<'a>, DecodeError> {
        let Some((&RECIPIENT_FORM, mut rest)) = record.split_first() else {
            let why = format!("is not of form {RECIPIENT_FORM}");
            return Err(DecodeError { noun: "recipient", why });
        };
        let rest = &mut rest;
        let (id, name) = (take(rest)?, take(rest)?);
        let (language, time_zone) = (take(rest)?, take(rest)?);
        let groups = Pieces::take(rest, 1)?;
        let devices: u64 = take(rest)?;
        for _ in 0..devices {
            take::<EncodedDevice<'_>>(rest)?;
        }
        let position = take(rest)?;
        take::<Option<QuietHours>>(rest)?;
        take::<bool>(rest)?;
        let attributes = Pieces::take(rest, 2)?;
        Ok(RecipientView { id, name, language, time_zone, position, groups, attributes })
    }
}

impl PersonFacts for RecipientView<'_> {
    fn id(&self) -> &str {
        self.id
    }
    fn name(&self) -> &str {
        self.name
    }
    fn language(&self) -> Option<&str> {
        self.language
    }
    fn time_zone(&self) -> Option<&str> {
        self.time_zone
    }
    fn position(&self) -> Option<Position> {
        self.position
    }
    fn attribute(&self, name: &str) -> Option<&str> {
        let mut texts = self.attributes.texts();
        while let (Some(known), Some(value)) = (texts.next(), texts.next()) {
            if known == name {
                return Some(value);
            }
        }
        None
    }
    fn is_in(&self, is_sought: &mut dyn FnMut(&str) -> bool) -> bool {
        self.groups.texts().any(is_sought)
    }
}

impl<'a> Pieces<'a> {
    /// A list of entries of so many texts each.
    fn take(rest: &mut &'a [u8], texts_each: u64) -> Result<Pieces<'a>, DecodeError> {
        let count = take::<u64>(rest)?.saturating_mul(texts_each);
        let from = *rest;
        for _ in 0..count {
            take::<&str>(rest)?;
        }
        Ok(Pieces { count, encoded: &from[..from.len() - rest.len()] })
    }

    fn texts(self) -> impl Iterator<Item = &'a str> {
        let mut rest = self.encoded;
        // They were all read once.
        (0..self.count).map_while(move |_| take(&mut rest).ok())
    }
}

fn take<'a, T: Deserialize<'a>>(rest: &mut &'a [u8]) -> Result<T, DecodeError> {
    let (value, behind) = crate::read_one("recipient", rest)?;
    *rest = behind;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::*;
    use proptest::prelude::*;

    fn facts(person: &impl PersonFacts, names: &[String]) -> String {
        let mut groups = Vec::new();
        person.is_in(&mut |group| {
            groups.push(group.to_owned());
            false
        });
        let values: Vec<Option<&str>> = names.iter().map(|name| person.attribute(name)).collect();
        let (id, name, position) = (person.id(), person.name(), person.position());
        format!(
            "{id:?} {name:?} {:?} {:?} {position:?} {groups:?} {values:?}",
            person.language(),
            person.time_zone()
        )
    }

    fn people() -> impl Strategy<Value = Recipient> {
        let text = || "[a-zåЖ🙂]{0,12}";
        let texts = (text(), text(), proptest::option::of(text()), proptest::option::of(text()));
        let lists = (
            proptest::collection::vec(text(), 0..4),
            proptest::collection::vec((0..9_u8, text(), any::<bool>(), any::<bool>()), 0..4),
            proptest::collection::btree_map(text(), text(), 0..4),
        );
        let rest = (proptest::option::of((-90.0..90.0_f64, -180.0..180.0_f64)), any::<bool>());
        (texts, lists, rest).prop_map(
            |((id, name, language, time_zone), (groups, devices, attributes), rest)| {
                let device = |(channel, address, enabled, is_small): (u8, String, bool, bool)| Device {
                    enabled,
                    profile: is_small
                        .then(|| DeviceProfile { length: Some(300), ..DeviceProfile::default() }),
                    ..Device::new(ChannelNumber(channel), address)
                };
                Recipient {
                    id,
                    name,
                    language,
                    time_zone,
                    groups,
                    devices: devices.into_iter().map(device).collect(),
                    position: rest.0.map(|(lat, lon)| Position { lat, lon }),
                    quiet_hours: rest.1.then_some(QuietHours { from: 1_320, to: 420 }),
                    participant: rest.1,
                    attributes,
                    prefers: None,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn a_view_tells_the_same_of_a_person_as_the_record(person in people()) {
            let record = person.encode();
            let mut names: Vec<String> = person.attributes.keys().cloned().collect();
            names.push("nothing".to_owned());
            prop_assert_eq!(facts(&RecipientView::read(&record).unwrap(), &names), facts(&person, &names));
            for cut in 0..record.len() - 1 {
                let _ = RecipientView::read(&record[..cut]);
            }
        }
    }

    #[test]
    fn a_record_of_another_form_is_none() {
        assert!(RecipientView::read(&[1]).is_err() && RecipientView::read(&[]).is_err());
    }
}
