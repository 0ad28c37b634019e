//! Checks of a recipient and a group.

use super::FieldError;
use crate::rule;
use channels::{Defaults, languages, legible};
use records::{Device, Group, Recipient};

/// Octets of an id: of a recipient, of a group.
pub const ID_OCTETS_MAX: usize = 128;
/// Octets of a name.
pub const NAME_OCTETS_MAX: usize = 256;
/// Devices of a recipient.
pub const DEVICES_MAX: usize = 32;
/// Groups a recipient names.
pub const GROUPS_MAX: usize = 64;
/// Attributes of a recipient.
pub const ATTRIBUTES_MAX: usize = 64;
/// Octets of an attribute's name.
pub const ATTRIBUTE_NAME_OCTETS_MAX: usize = 64;
/// Octets of an attribute's value.
pub const ATTRIBUTE_OCTETS_MAX: usize = 2_048;
/// Members a group lists by name.
const GROUP_MEMBERS_MAX: usize = 100_000;
/// Groups a group lists.
const GROUP_GROUPS_MAX: usize = 1_000;
/// Minutes of a day.
const DAY_MINUTES: u16 = 24 * 60;
/// What an attribute may not be called, because it is something else already.
const NOT_ATTRIBUTES: [&str; 9] =
    ["id", "name", "language", "time_zone", "groups", "lat", "lon", "opted_out", "prefers"];

/// The recipient in the form that is kept, or everything that is wrong with it.
pub fn normalise(recipient: Recipient, defaults: &Defaults) -> Result<Recipient, Vec<FieldError>> {
    normalise_from(recipient, defaults, &|place| format!("devices[{place}].address"))
}

/// The same, with the field each device came from.
pub(super) fn normalise_from(
    mut recipient: Recipient,
    defaults: &Defaults,
    device_field: &dyn Fn(usize) -> String,
) -> Result<Recipient, Vec<FieldError>> {
    let mut faults = Vec::new();
    let mut note = |field: &str, result: Result<(), String>| {
        if let Err(reason) = result {
            faults.push(FieldError::new(field, reason));
        }
    };
    trim(&mut recipient.id);
    trim(&mut recipient.name);
    note("id", check_id(&recipient.id));
    note("name", check_text(&recipient.name, NAME_OCTETS_MAX));
    note("language", replace(&mut recipient.language, languages::tag));
    note("time_zone", replace(&mut recipient.time_zone, time_zone));
    note("groups", groups(&mut recipient.groups));
    if let Some(position) = recipient.position {
        note("lat", within(position.lat, 90.0));
        note("lon", within(position.lon, 180.0));
    }
    if let Some(quiet) = recipient.quiet_hours {
        let ok = quiet.from < DAY_MINUTES && quiet.to < DAY_MINUTES && quiet.from != quiet.to;
        note(
            "quiet_hours",
            if ok { Ok(()) } else { Err("is not a span of the day such as 22:00-07:00".to_owned()) },
        );
    }
    note("attributes", attributes(&recipient));
    devices(&mut recipient.devices, defaults, device_field, &mut faults);
    if faults.is_empty() { Ok(recipient) } else { Err(faults) }
}

/// An id of a recipient or a group: 1 to [`ID_OCTETS_MAX`] printable octets.
pub fn check_id(id: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err("is missing".to_owned());
    }
    check_text(id, ID_OCTETS_MAX)
}

/// A group as it may be stored.
pub fn check_group(group: &Group) -> Result<(), Vec<FieldError>> {
    let mut faults = Vec::new();
    let mut note = |field: &str, result: Result<(), String>| {
        if let Err(reason) = result {
            faults.push(FieldError::new(field, reason));
        }
    };
    note("id", check_group_id(&group.id));
    note("name", check_text(&group.name, NAME_OCTETS_MAX));
    note("members", check_list(&group.members, GROUP_MEMBERS_MAX, check_id));
    note("groups", check_list(&group.groups, GROUP_GROUPS_MAX, check_group_id));
    if group.groups.contains(&group.id) {
        note("groups", Err("a group cannot be in itself".to_owned()));
    }
    if let Some(rule) = &group.rule {
        note("rule", rule::check(rule));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn check_list(list: &[String], most: usize, check: fn(&str) -> Result<(), String>) -> Result<(), String> {
    if list.len() > most {
        return Err(format!("has {} entries, at most {most} are allowed", list.len()));
    }
    list.iter().try_for_each(|entry| check(entry).map_err(|why| format!("{entry:?} {why}")))
}

/// `group:G/channel` names a channel of a group, so a group's id cannot end in one.
fn check_group_id(id: &str) -> Result<(), String> {
    check_id(id)?;
    match id.rsplit_once('/') {
        Some((_, channel)) if channels::named(channel).is_ok() => {
            Err(format!("cannot end in /{channel}: that names the channel"))
        }
        _ => Ok(()),
    }
}

fn check_text(text: &str, octets_max: usize) -> Result<(), String> {
    if text.len() > octets_max {
        return Err(format!("has {} octets, at most {octets_max} are allowed", text.len()));
    }
    match text.chars().find(|c| c.is_control()) {
        Some(c) => Err(format!("has the control character {c:?}")),
        None => Ok(()),
    }
}

fn trim(text: &mut String) {
    let trimmed = legible::trimmed(text);
    if trimmed.len() != text.len() {
        *text = trimmed.to_owned();
    }
}

/// Puts the normal form in place; an empty text is none.
fn replace(value: &mut Option<String>, normal: fn(&str) -> Result<String, String>) -> Result<(), String> {
    match value.as_deref().map(legible::trimmed) {
        None => {}
        Some("") => *value = None,
        Some(text) => *value = Some(normal(text)?),
    }
    Ok(())
}

fn time_zone(text: &str) -> Result<String, String> {
    match jiff::tz::TimeZone::get(text) {
        Ok(zone) => Ok(zone.iana_name().unwrap_or(text).to_owned()),
        Err(_) => Err(format!("{text:?} is not a time zone such as Europe/Stockholm")),
    }
}

fn within(degrees: f64, most: f64) -> Result<(), String> {
    if degrees.is_finite() && degrees.abs() <= most {
        Ok(())
    } else {
        Err(format!("{degrees} is not between -{most} and {most}"))
    }
}

fn groups(groups: &mut Vec<String>) -> Result<(), String> {
    if groups.len() > GROUPS_MAX {
        return Err(format!("{} groups, at most {GROUPS_MAX} are allowed", groups.len()));
    }
    let mut kept: Vec<String> = Vec::with_capacity(groups.len());
    for group in groups.drain(..) {
        let group = legible::name(&group);
        check_group_id(&group).map_err(|why| format!("{group:?} {why}"))?;
        if !kept.iter().any(|other| *other == group) {
            kept.push(group.into_owned());
        }
    }
    *groups = kept;
    Ok(())
}

fn attributes(recipient: &Recipient) -> Result<(), String> {
    let attributes = &recipient.attributes;
    if attributes.len() > ATTRIBUTES_MAX {
        return Err(format!("{} attributes, at most {ATTRIBUTES_MAX} are allowed", attributes.len()));
    }
    for (name, value) in attributes {
        if name.trim().is_empty() {
            return Err("an attribute has no name".to_owned());
        }
        if NOT_ATTRIBUTES.contains(&name.as_str()) {
            return Err(format!("{name:?} is a field of its own, not an attribute"));
        }
        check_text(name, ATTRIBUTE_NAME_OCTETS_MAX).map_err(|why| format!("the name {name:?} {why}"))?;
        if value.len() > ATTRIBUTE_OCTETS_MAX {
            let len = value.len();
            return Err(format!("{name} has {len} octets, at most {ATTRIBUTE_OCTETS_MAX} are allowed"));
        }
    }
    Ok(())
}

fn devices(
    devices: &mut Vec<Device>,
    defaults: &Defaults,
    field: &dyn Fn(usize) -> String,
    faults: &mut Vec<FieldError>,
) {
    if devices.len() > DEVICES_MAX {
        faults.push(FieldError::new(
            "devices",
            format!("{} devices, at most {DEVICES_MAX} are allowed", devices.len()),
        ));
        return;
    }
    for (place, device) in devices.iter_mut().enumerate() {
        match channels::address(device.channel, &device.address, defaults) {
            Ok(normal) => device.address = normal,
            Err(reason) => faults.push(FieldError::new(field(place), reason)),
        }
    }
    // One address twice, however written, is one device; whoever said stop once said it for good, and a
    // profile that is given once is given.
    let mut place = 1;
    while place < devices.len() {
        let (before, rest) = devices.split_at_mut(place);
        let key = channels::key(rest[0].channel, &rest[0].address);
        let same = |other: &&mut Device| {
            other.channel == rest[0].channel && channels::key(other.channel, &other.address) == key
        };
        match before.iter_mut().find(same) {
            Some(first) => {
                first.opted_out |= rest[0].opted_out;
                first.profile = first.profile.or(rest[0].profile);
                devices.remove(place);
            }
            None => place += 1,
        }
    }
}
