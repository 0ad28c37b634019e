//! A recipient as it is encoded, looked at without a copy: what audiences ask of people, and nothing else.

use super::{DeviceProfile, Position, QuietHours, RECIPIENT_FORM, Recipient};
use crate::{ChannelNumber, DecodeError};
use serde::Deserialize;

/// Octets of a number of at most 63 bits.
const NUMBER_OCTETS_MAX: usize = 9;
/// Whether somebody takes part in drills: one octet.
const PARTICIPANT_OCTETS: u64 = 1;
/// Whether a device is enabled, verified, opted out: an octet each.
const DEVICE_MARKS_OCTETS: u64 = 3;

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

/// See the module. Lengths are checked when it is read; texts are looked at when somebody asks for them: of
/// a million people most are asked for one.
#[derive(Debug, Clone, Copy)]
pub struct RecipientView<'a> {
    id: &'a [u8],
    name: &'a [u8],
    language: Option<&'a [u8]>,
    time_zone: Option<&'a [u8]>,
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

impl<'a> RecipientView<'a> {
    /// Looks at what [`Recipient::encode`] of this version wrote.
    ///
    /// # Errors
    /// Damage, or a form of another version.
    pub fn read(record: &'a [u8]) -> Result<RecipientView<'a>, DecodeError> {
        let view = RecipientView::of_own(record)?;
        let texts = [Some(view.id), Some(view.name), view.language, view.time_zone];
        let pieces = view.groups.texts().chain(view.attributes.texts());
        if texts.into_iter().flatten().chain(pieces).all(|text| str::from_utf8(text).is_ok()) {
            Ok(view)
        } else {
            Err(damage("a text is no UTF-8"))
        }
    }

    /// The same of a record that this process encoded, whose texts need no second look: one that is no UTF-8
    /// counts as empty.
    ///
    /// # Errors
    /// As [`RecipientView::read`].
    pub fn of_own(record: &'a [u8]) -> Result<RecipientView<'a>, DecodeError> {
        let Some((&RECIPIENT_FORM, mut rest)) = record.split_first() else {
            let why = format!("is not of form {RECIPIENT_FORM}");
            return Err(DecodeError { noun: "recipient", why });
        };
        let rest = &mut rest;
        let (id, name) = (text(rest)?, text(rest)?);
        let (language, time_zone) = (optional(rest, text)?, optional(rest, text)?);
        let groups = Pieces::take(rest, 1)?;
        for _ in 0..number(rest)? {
            skip_device(rest)?;
        }
        let position = optional(rest, position)?;
        optional(rest, decoded::<QuietHours>)?;
        octets(rest, PARTICIPANT_OCTETS)?;
        let attributes = Pieces::take(rest, 2)?;
        Ok(RecipientView { id, name, language, time_zone, position, groups, attributes })
    }
}

impl PersonFacts for RecipientView<'_> {
    fn id(&self) -> &str {
        legible(self.id)
    }
    fn name(&self) -> &str {
        legible(self.name)
    }
    fn language(&self) -> Option<&str> {
        self.language.map(legible)
    }
    fn time_zone(&self) -> Option<&str> {
        self.time_zone.map(legible)
    }
    fn position(&self) -> Option<Position> {
        self.position
    }
    fn attribute(&self, name: &str) -> Option<&str> {
        let mut texts = self.attributes.texts();
        while let (Some(known), Some(value)) = (texts.next(), texts.next()) {
            if known == name.as_bytes() {
                return Some(legible(value));
            }
        }
        None
    }
    fn is_in(&self, is_sought: &mut dyn FnMut(&str) -> bool) -> bool {
        self.groups.texts().any(|group| is_sought(legible(group)))
    }
}

impl<'a> Pieces<'a> {
    /// A list of entries of so many texts each.
    fn take(rest: &mut &'a [u8], texts_each: u64) -> Result<Pieces<'a>, DecodeError> {
        let count = number(rest)?.saturating_mul(texts_each);
        let from = *rest;
        for _ in 0..count {
            text(rest)?;
        }
        Ok(Pieces { count, encoded: &from[..from.len() - rest.len()] })
    }

    fn texts(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.encoded;
        // They were all read once.
        (0..self.count).map_while(move |_| text(&mut rest).ok())
    }
}

fn legible(text: &[u8]) -> &str {
    str::from_utf8(text).unwrap_or_default()
}

fn damage(why: &str) -> DecodeError {
    DecodeError { noun: "recipient", why: why.to_owned() }
}

/// As postcard writes it: seven bits an octet, the lowest first.
fn number(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0_u64;
    for at in 0..NUMBER_OCTETS_MAX {
        let Some(&octet) = rest.get(at) else { return Err(damage("ends within a number")) };
        value |= u64::from(octet & 0x7f) << (7 * at);
        if octet & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Ok(value);
        }
    }
    Err(damage("a number is longer than 63 bits"))
}

fn octets<'a>(rest: &mut &'a [u8], count: u64) -> Result<&'a [u8], DecodeError> {
    let count = usize::try_from(count).map_err(|_| damage("a length is too large"))?;
    let (taken, behind) = rest.split_at_checked(count).ok_or_else(|| damage("ends within a value"))?;
    *rest = behind;
    Ok(taken)
}

fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let length = number(rest)?;
    octets(rest, length)
}

fn optional<'a, T>(
    rest: &mut &'a [u8],
    take: impl Fn(&mut &'a [u8]) -> Result<T, DecodeError>,
) -> Result<Option<T>, DecodeError> {
    match octets(rest, 1)? {
        [0] => Ok(None),
        [1] => take(rest).map(Some),
        _ => Err(damage("an optional value is neither there nor missing")),
    }
}

fn position(rest: &mut &[u8]) -> Result<Position, DecodeError> {
    let mut degrees = || -> Result<f64, DecodeError> {
        let octets = octets(rest, size_of::<f64>() as u64)?;
        octets.try_into().map(f64::from_le_bytes).map_err(|_| damage("ends within a position"))
    };
    Ok(Position { lat: degrees()?, lon: degrees()? })
}

/// Reads over a [`super::Device`]: channel, address, three marks, profile.
fn skip_device(rest: &mut &[u8]) -> Result<(), DecodeError> {
    octets(rest, size_of::<ChannelNumber>() as u64)?;
    text(rest)?;
    octets(rest, DEVICE_MARKS_OCTETS)?;
    optional(rest, decoded::<DeviceProfile>)?;
    Ok(())
}

fn decoded<'a, T: Deserialize<'a>>(rest: &mut &'a [u8]) -> Result<T, DecodeError> {
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
            prop_assert_eq!(facts(&RecipientView::of_own(&record).unwrap(), &names), facts(&person, &names));
            for cut in 0..record.len() - 1 {
                let _ = RecipientView::read(&record[..cut]);
            }
            for at in 0..record.len() {
                let mut damaged = record.clone();
                damaged[at] ^= 0xff;
                let _ = RecipientView::read(&damaged);
            }
        }
    }

    #[test]
    fn a_record_of_another_form_is_none() {
        assert!(RecipientView::read(&[1]).is_err() && RecipientView::read(&[]).is_err());
    }
}
