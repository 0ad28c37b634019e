//! A recipient as the API takes and gives it.

use super::check::normalise_from;
use super::profile::{preference, profile_from_json, profile_to_json};
use super::{FieldError, nearest};
use channels::Defaults;
use records::{Device, Position, QuietHours, Recipient};
use serde_json::{Map, Value, json};

/// Members of a recipient before those of the channels, and behind them.
const MEMBERS: [&[&str]; 2] = [
    &["id", "name", "language", "time_zone", "groups", "devices"],
    &["lat", "lon", "quiet_hours", "participant", "attributes", "prefers"],
];
const DEVICE_MEMBERS: [&str; 6] = ["channel", "address", "enabled", "verified", "opted_out", "profile"];
const POSITION_MEMBERS: [&str; 2] = ["lat", "lon"];

/// Reads and checks one recipient:
///
/// ```text
/// {"id", "name", "language", "time_zone", "groups": [],
///  "devices": [{"channel", "address", "enabled", "verified", "opted_out",
///               "profile": {"length", "letters", "links", "html"}}],
///  "lat", "lon", "quiet_hours": "22:00-07:00", "participant", "attributes": {}, "prefers": "text" | "voice"}
/// ```
///
/// Instead of `devices`, or behind them, `"sms": "+46…"` or a list, likewise each other channel. `null` is as
/// good as absent.
pub fn from_json(value: &Value, defaults: &Defaults) -> Result<Recipient, Vec<FieldError>> {
    let Value::Object(members) = value else {
        return Err(vec![FieldError::new("", format!("a recipient is an object, not {}", kind(value)))]);
    };
    let mut read = Read::default();
    for (name, value) in members {
        if !value.is_null() {
            read.member(name, value);
        }
    }
    read.position();
    // Devices first, then the short ways, whatever order they stood in.
    read.shorthand(members);
    if !read.faults.is_empty() {
        return Err(read.faults);
    }
    normalise_from(read.recipient, defaults, &|place| read.device_fields[place].clone())
}

/// What [`from_json`] reads back as the same recipient. Members without a value are left out, `devices` and
/// `groups` never.
pub fn to_json(recipient: &Recipient) -> Value {
    let mut members = Map::new();
    members.insert("id".to_owned(), json!(recipient.id));
    if !recipient.name.is_empty() {
        members.insert("name".to_owned(), json!(recipient.name));
    }
    for (name, value) in [("language", &recipient.language), ("time_zone", &recipient.time_zone)] {
        if let Some(value) = value {
            members.insert(name.to_owned(), json!(value));
        }
    }
    members.insert("groups".to_owned(), json!(recipient.groups));
    members.insert("devices".to_owned(), recipient.devices.iter().map(device_to_json).collect());
    if let Some(Position { lat, lon }) = recipient.position {
        members.insert("lat".to_owned(), json!(lat));
        members.insert("lon".to_owned(), json!(lon));
    }
    if let Some(QuietHours { from, to }) = recipient.quiet_hours {
        let span = format!("{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60);
        members.insert("quiet_hours".to_owned(), json!(span));
    }
    if recipient.participant {
        members.insert("participant".to_owned(), json!(true));
    }
    if !recipient.attributes.is_empty() {
        members.insert("attributes".to_owned(), json!(recipient.attributes));
    }
    if let Some(preference) = recipient.prefers {
        members.insert("prefers".to_owned(), json!(preference));
    }
    Value::Object(members)
}

fn device_to_json(device: &Device) -> Value {
    let mut members = json!({
        "channel": channels::name(device.channel),
        "address": device.address,
        "enabled": device.enabled,
        "verified": device.verified,
        "opted_out": device.opted_out,
    });
    if let Some(profile) = &device.profile {
        members["profile"] = profile_to_json(profile);
    }
    members
}

#[derive(Default)]
struct Read {
    recipient: Recipient,
    /// Where each device stood.
    device_fields: Vec<String>,
    lat: Option<f64>,
    lon: Option<f64>,
    faults: Vec<FieldError>,
}

impl Read {
    fn member(&mut self, name: &str, value: &Value) {
        match name {
            "id" => self.recipient.id = self.id(value),
            "name" => self.recipient.name = self.text(name, value),
            "language" => self.recipient.language = Some(self.text(name, value)),
            "time_zone" => self.recipient.time_zone = Some(self.text(name, value)),
            "groups" => self.recipient.groups = self.texts(name, value),
            "devices" => self.devices(value),
            "lat" => self.lat = self.number(name, value),
            "lon" => self.lon = self.number(name, value),
            "position" => self.position_object(value),
            "quiet_hours" => self.recipient.quiet_hours = self.quiet_hours(value),
            "participant" => self.recipient.participant = self.flag(name, value),
            "attributes" => self.attributes(value),
            "prefers" => self.prefers(value),
            channel if channels::named(channel).is_ok() => {} // read behind the devices
            other => {
                let [before, behind] = MEMBERS;
                let known: Vec<&str> =
                    before.iter().copied().chain(channels::names()).chain(behind.iter().copied()).collect();
                self.fault(other, unknown(other, &known));
            }
        }
    }

    /// Numbers are taken for their digits: many sources number their people.
    fn id(&mut self, value: &Value) -> String {
        match value {
            Value::Number(number) if number.is_u64() => number.to_string(),
            other => self.text("id", other),
        }
    }

    fn text(&mut self, field: &str, value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            other => {
                self.fault(field, format!("is a text, not {}", kind(other)));
                String::new()
            }
        }
    }

    /// A list of texts, or one text.
    fn texts(&mut self, field: &str, value: &Value) -> Vec<String> {
        match value {
            Value::Array(values) => values
                .iter()
                .enumerate()
                .map(|(i, value)| self.text(&format!("{field}[{i}]"), value))
                .collect(),
            one => vec![self.text(field, one)],
        }
    }

    fn number(&mut self, field: &str, value: &Value) -> Option<f64> {
        if !value.is_number() {
            self.fault(field, format!("is a number, not {}", kind(value)));
        }
        value.as_f64()
    }

    fn flag(&mut self, field: &str, value: &Value) -> bool {
        value.as_bool().unwrap_or_else(|| {
            self.fault(field, format!("is true or false, not {}", kind(value)));
            false
        })
    }

    fn devices(&mut self, value: &Value) {
        let Value::Array(devices) = value else {
            return self.fault("devices", format!("is a list, not {}", kind(value)));
        };
        for (place, device) in devices.iter().enumerate() {
            let path = format!("devices[{place}]");
            match device {
                Value::Object(members) => self.device(&path, members),
                other => self.fault(&path, format!("is an object, not {}", kind(other))),
            }
        }
    }

    fn device(&mut self, path: &str, members: &Map<String, Value>) {
        let mut device = Device::new(channels::SMS, String::new());
        for required in ["channel", "address"] {
            if members.get(required).is_none_or(Value::is_null) {
                self.fault(&format!("{path}.{required}"), "is missing");
            }
        }
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let field = format!("{path}.{name}");
            match name.as_str() {
                "channel" => match channels::number(&self.text(&field, value)) {
                    Ok(channel) => device.channel = channel,
                    Err(why) => self.fault(&field, why),
                },
                "address" => device.address = self.text(&field, value),
                "enabled" => device.enabled = self.flag(&field, value),
                "verified" => device.verified = self.flag(&field, value),
                "opted_out" => device.opted_out = self.flag(&field, value),
                "profile" => match profile_from_json(&field, value) {
                    Ok(profile) => device.profile = profile,
                    Err(faults) => self.faults.extend(faults),
                },
                other => self.fault(&field, unknown(other, &DEVICE_MEMBERS)),
            }
        }
        self.recipient.devices.push(device);
        self.device_fields.push(format!("{path}.address"));
    }

    fn prefers(&mut self, value: &Value) {
        let text = self.text("prefers", value);
        match preference(&text) {
            Ok(preference) => self.recipient.prefers = Some(preference),
            Err(why) if value.is_string() => self.fault("prefers", why),
            Err(_) => {}
        }
    }

    fn shorthand(&mut self, members: &Map<String, Value>) {
        for channel in channels::ALL {
            let (channel, name) = (channel.number(), channel.name());
            let Some(value) = members.get(name).filter(|value| !value.is_null()) else { continue };
            for address in self.texts(name, value) {
                self.recipient.devices.push(Device::new(channel, address));
                self.device_fields.push(name.to_owned());
            }
        }
    }

    fn position_object(&mut self, value: &Value) {
        let Value::Object(members) = value else {
            return self.fault("position", format!("is an object, not {}", kind(value)));
        };
        for (name, value) in members {
            match name.as_str() {
                "lat" => self.lat = self.number("position.lat", value),
                "lon" => self.lon = self.number("position.lon", value),
                other => self.fault(&format!("position.{other}"), unknown(other, &POSITION_MEMBERS)),
            }
        }
    }

    fn position(&mut self) {
        match (self.lat, self.lon) {
            (Some(lat), Some(lon)) => self.recipient.position = Some(Position { lat, lon }),
            (None, None) => {}
            (Some(_), None) => self.fault("lon", "is missing, and lat is there"),
            (None, Some(_)) => self.fault("lat", "is missing, and lon is there"),
        }
    }

    fn quiet_hours(&mut self, value: &Value) -> Option<QuietHours> {
        let text = self.text("quiet_hours", value);
        let span = quiet_hours(&text);
        if span.is_none() && value.is_string() {
            self.fault("quiet_hours", format!("{text:?} is not a span of the day such as 22:00-07:00"));
        }
        span
    }

    fn attributes(&mut self, value: &Value) {
        let Value::Object(members) = value else {
            return self.fault("attributes", format!("is an object, not {}", kind(value)));
        };
        for (name, value) in members {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                other => {
                    self.fault(&format!("attributes.{name}"), format!("is a text, not {}", kind(other)));
                    continue;
                }
            };
            self.recipient.attributes.insert(name.clone(), text);
        }
    }

    fn fault(&mut self, field: &str, reason: impl Into<String>) {
        self.faults.push(FieldError::new(field, reason));
    }
}

/// `22:00-07:00` in minutes after midnight. 24:00 is midnight.
fn quiet_hours(text: &str) -> Option<QuietHours> {
    let (from, to) = text.split_once('-')?;
    Some(QuietHours { from: minute(from)?, to: minute(to)? })
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let number = |text: &str, len| -> Option<u16> {
        let fits = (len..=2).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_digit());
        fits.then(|| text.parse().ok()).flatten()
    };
    let (hour, minute) = (number(hour, 1)?, number(minute, 2)?);
    match (hour, minute) {
        (24, 0) => Some(0),
        (0..=23, 0..=59) => Some(hour * 60 + minute),
        _ => None,
    }
}

/// Says that a member is unknown, and what was perhaps meant.
pub(super) fn unknown(name: &str, known: &[&str]) -> String {
    if let Some(why) = channels::not_built(name) {
        return why;
    }
    match nearest(name, known) {
        Some(near) => format!("is unknown; did you mean {near}?"),
        None => format!("is unknown; there are {}", known.join(", ")),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
