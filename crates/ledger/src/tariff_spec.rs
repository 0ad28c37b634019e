//! A tariff as people write it: in the config, and by API. The same keys in both.

use super::request::{Destination, ServiceContext, Units};
use super::tariff::{Hours, Rate, Rates, Tariff};
use serde::{Deserialize, Serialize};

/// So many minor units for each begun step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Minor units; at least 0.
    pub price: i64,
    /// Units of a step; at least 1.
    pub per: u64,
}

/// One tariff. What is left out stands for whatever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TariffSpec {
    /// Service-Context-Id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Rating-Group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating_group: Option<u32>,
    /// Message class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// First digits of the destination.
    pub prefix: String,
    /// `08:00-18:00`; nothing: the whole day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<String>,
    /// `mon`, `tue`, …; empty: all.
    pub days: Vec<String>,
    /// The clock of the hours, from UTC: `+01:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utc_offset: Option<String>,
    /// A message or another service-specific unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Price>,
    /// Octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octets: Option<Price>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Price>,
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Which key of a tariff is wrong, and why.
pub type Wrong = (&'static str, String);

impl TariffSpec {
    /// As the ledger takes it.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn read(&self) -> Result<Tariff, Wrong> {
        let digits = self.prefix.strip_prefix('+').unwrap_or(&self.prefix);
        if digits.len() > 16 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(("prefix", format!("{:?} is not up to 16 digits", self.prefix)));
        }
        let prices = [("unit", self.unit), ("octets", self.octets), ("seconds", self.seconds)];
        for (key, price) in prices.into_iter().filter_map(|(key, price)| Some((key, price?))) {
            if price.price < 0 || price.per == 0 {
                return Err((key, "price must be at least 0, per at least 1".to_owned()));
            }
        }
        Ok(Tariff {
            context: self.context.as_deref().map(ServiceContext::parse),
            rating_group: self.rating_group,
            class: self.class,
            prefix: Destination::parse(digits.as_bytes()),
            hours: self.hours()?,
            rates: self.rates(),
        })
    }

    /// What it names, and the usual price of the rest.
    fn rates(&self) -> Rates {
        let usual = Rates::BUILT_IN;
        let rate = |price: Option<Price>, usual: Rate| {
            price.map_or(usual, |price| Rate { price: price.price, per: price.per })
        };
        let named = [(self.unit, Units::SPECIFIC), (self.octets, Units::OCTETS), (self.seconds, Units::TIME)];
        Rates {
            time_s: rate(self.seconds, usual.time_s),
            octets: rate(self.octets, usual.octets),
            specific: rate(self.unit, usual.specific),
            named: named.iter().filter(|(price, _)| price.is_some()).fold(0, |named, (_, kind)| named | kind),
        }
    }

    fn hours(&self) -> Result<Option<Hours>, Wrong> {
        if self.hours.is_none() && self.days.is_empty() {
            return Ok(None);
        }
        let (from, to) = match self.hours.as_deref() {
            None => (0, 0),
            Some(text) => text
                .split_once('-')
                .and_then(|(from, to)| Some((minute(from)?, minute(to)?)))
                .filter(|(from, to)| *from < 1_440 && *to <= 1_440)
                .ok_or_else(|| ("hours", format!("{text:?} is not like 08:00-18:00")))?,
        };
        let mut weekdays = 0;
        for day in &self.days {
            let place = DAYS.iter().position(|known| known == day);
            let place = place.ok_or_else(|| ("days", format!("{day:?} is none of {}", DAYS.join(", "))))?;
            weekdays |= 1 << place;
        }
        let offset = match self.utc_offset.as_deref() {
            None => 0,
            Some(text) => {
                offset(text).ok_or_else(|| ("utc_offset", format!("{text:?} is not like +01:00")))?
            }
        };
        let weekdays = if self.days.is_empty() { 0x7F } else { weekdays };
        Ok(Some(Hours { from_minute: from, to_minute: to % 1_440, weekdays, offset_minutes: offset }))
    }
}

/// Minutes from midnight to `HH:MM`.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute) = (hour.parse::<u16>().ok()?, minute.parse::<u16>().ok()?);
    (hour <= 24 && minute < 60).then_some(hour * 60 + minute)
}

/// Minutes of `+HH:MM` or `-HH:MM`; at most 14 hours either way.
fn offset(text: &str) -> Option<i16> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let minutes = i16::try_from(minute(rest)?).ok()?;
    (minutes <= 14 * 60).then_some(sign * minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let usual = TariffSpec::default;
        let nothing = Price { price: 1, per: 0 };
        for (spec, key) in [
            (TariffSpec { prefix: "46x".into(), ..usual() }, "prefix"),
            (TariffSpec { octets: Some(nothing), ..usual() }, "octets"),
            (TariffSpec { hours: Some("8-18".into()), ..usual() }, "hours"),
            (TariffSpec { hours: Some("25:00-26:00".into()), ..usual() }, "hours"),
            (TariffSpec { days: vec!["someday".into()], ..usual() }, "days"),
            (TariffSpec { days: vec!["mon".into()], utc_offset: Some("1".into()), ..usual() }, "utc_offset"),
        ] {
            assert_eq!(spec.read().unwrap_err().0, key);
        }
        let spec = TariffSpec {
            prefix: "+4670".into(),
            hours: Some("22:00-24:00".into()),
            days: vec!["sun".into()],
            utc_offset: Some("-03:30".into()),
            ..usual()
        };
        let hours = Hours { from_minute: 1_320, to_minute: 0, weekdays: 0x40, offset_minutes: -210 };
        let read = spec.read().unwrap();
        assert_eq!((read.hours, read.prefix.len), (Some(hours), 4));
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<TariffSpec>(&text).unwrap(), spec);
    }
}
