//! The town as CSV and as NDJSON, a line at a time.

use super::Town;
use records::{ChannelNumber, Device, Position, QuietHours, Recipient};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The header row, in order.
pub const CSV_COLUMNS: &str = "id,name,language,time_zone,groups,sms,mail,lat,lon,age,street";

/// The two forms a town is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One recipient a line, as the API takes it.
    Ndjson,
    /// What a table can say: devices that are switched off or opted out are left away, for a table has no
    /// place for that and they must not be reached; so are quiet hours and who takes part in drills.
    Csv,
}

/// Writes the town as CSV with its header row; returns how many people were written.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(town: &Town, out: &mut impl Write) -> io::Result<u64> {
    writeln!(out, "{CSV_COLUMNS}")?;
    let mut line = String::new();
    for person in town.people() {
        line.clear();
        csv_line(&person, &mut line);
        out.write_all(line.as_bytes())?;
    }
    Ok(town.recipients)
}

/// Writes the town as NDJSON; returns how many people were written.
///
/// # Errors
/// Those of `out`.
pub fn write_ndjson(town: &Town, out: &mut impl Write) -> io::Result<u64> {
    let mut line = Vec::new();
    for person in town.people() {
        line.clear();
        ndjson_line(&person, &mut line);
        out.write_all(&line)?;
    }
    Ok(town.recipients)
}

/// Appends one person's row, with its line end.
pub fn csv_line(person: &Recipient, line: &mut String) {
    let addresses = |channel: ChannelNumber| {
        let usable = person.devices.iter().filter(|d| d.channel == channel && d.enabled && !d.opted_out);
        usable.map(|device| device.address.as_str()).collect::<Vec<_>>().join(";")
    };
    let attribute = |name: &str| person.attributes.get(name).map_or("", String::as_str);
    let position = person.position.map(|at| (at.lat.to_string(), at.lon.to_string())).unwrap_or_default();
    let fields = [
        person.id.as_str(),
        &person.name,
        person.language.as_deref().unwrap_or(""),
        person.time_zone.as_deref().unwrap_or(""),
        &person.groups.join(";"),
        &addresses(channels::SMS),
        &addresses(channels::MAIL),
        &position.0,
        &position.1,
        attribute("age"),
        attribute("street"),
    ];
    for (place, field) in fields.into_iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        push_field(field, line);
    }
    line.push('\n');
}

/// Quotes as RFC 4180 wants it.
fn push_field(field: &str, line: &mut String) {
    if !field.contains([',', '"', '\n', '\r']) {
        line.push_str(field);
        return;
    }
    line.push('"');
    line.push_str(&field.replace('"', "\"\""));
    line.push('"');
}

/// A person as the API takes one.
#[derive(Serialize)]
struct PersonLine<'a> {
    id: &'a str,
    name: &'a str,
    language: Option<&'a str>,
    time_zone: Option<&'a str>,
    groups: &'a [String],
    devices: Vec<DeviceLine<'a>>,
    position: Option<Position>,
    quiet_hours: Option<QuietHours>,
    participant: bool,
    attributes: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct DeviceLine<'a> {
    channel: &'static str,
    address: &'a str,
    enabled: bool,
    verified: bool,
    opted_out: bool,
}

impl DeviceLine<'_> {
    fn of(device: &Device) -> DeviceLine<'_> {
        DeviceLine {
            channel: channels::name(device.channel),
            address: &device.address,
            enabled: device.enabled,
            verified: device.verified,
            opted_out: device.opted_out,
        }
    }
}

/// Appends one person's line, with its line end.
pub fn ndjson_line(person: &Recipient, line: &mut Vec<u8>) {
    let person = PersonLine {
        id: &person.id,
        name: &person.name,
        language: person.language.as_deref(),
        time_zone: person.time_zone.as_deref(),
        groups: &person.groups,
        devices: person.devices.iter().map(DeviceLine::of).collect(),
        position: person.position,
        quiet_hours: person.quiet_hours,
        participant: person.participant,
        attributes: &person.attributes,
    };
    serde_json::to_writer(&mut *line, &person).expect("a recipient has string keys, and a vector takes all");
    line.push(b'\n');
}
