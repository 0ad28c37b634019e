//! Records as text: CSV, JSON lines, and XML in chunks.

use std::io::{self, Write};

use serde::Serialize;

use super::Record;
use crate::Units;

/// A record with the names and forms that people read.
#[derive(Serialize)]
pub struct RecordRow<'a> {
    id: String,
    /// RFC 3339, to the microsecond.
    time: String,
    account_kind: &'static str,
    account: &'a str,
    event: String,
    result: u32,
    session: String,
    request_number: u32,
    context: String,
    class: u8,
    destination: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating_group: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_id: Option<u32>,
    units: u64,
    octets: u64,
    seconds: u32,
    charged: i64,
    shortfall: i64,
    owed: i64,
    tariff: u16,
    message: String,
    parts: u32,
}

/// The columns, in the order of `RecordRow::columns`.
pub const COLUMNS: [&str; 22] = [
    "id",
    "time",
    "account_kind",
    "account",
    "event",
    "result",
    "session",
    "request_number",
    "context",
    "class",
    "destination",
    "rating_group",
    "service_id",
    "units",
    "octets",
    "seconds",
    "charged",
    "shortfall",
    "owed",
    "tariff",
    "message",
    "parts",
];

/// Year, month, day, hour, minute, second of a time (proleptic Gregorian, UTC).
pub fn civil(time_us: u64) -> [u64; 6] {
    let seconds = time_us / 1_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days from 0000-03-01, so that a leap day ends its year.
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    [year, month, day, second / 3_600, second / 60 % 60, second % 60]
}

fn time(time_us: u64) -> String {
    let [year, month, day, hour, minute, second] = civil(time_us);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", time_us % 1_000_000)
}

/// What was used, or what was given where nothing was reported.
pub fn units(record: &Record) -> Units {
    if record.used.is_empty() { record.granted } else { record.used }
}

impl<'a> RecordRow<'a> {
    pub fn of(record: &'a Record) -> RecordRow<'a> {
        let units = units(record);
        let is_own = record.context.0 & 1 << 31 != 0;
        let context = match record.context.0 {
            0 => String::new(),
            own if is_own => format!("#{own:08x}"),
            number => format!("{number}@3gpp.org"),
        };
        let hash = record.session;
        RecordRow {
            id: format!("{}-{}-{}", record.shard, record.position, record.part),
            time: time(record.time_us),
            account_kind: record.account_kind.map_or("", |kind| kind.name()),
            account: &record.account_name,
            event: format!("{:?}", record.deed),
            result: record.result,
            session: if hash == [0, 0] { String::new() } else { format!("{:016x}{:016x}", hash[0], hash[1]) },
            request_number: record.number,
            context,
            class: record.class,
            destination: &record.destination,
            rating_group: record.rating_group,
            service_id: record.service_id,
            units: units.specific,
            octets: units.octets,
            seconds: units.time_s,
            charged: record.charged,
            shortfall: record.shortfall,
            owed: record.owed,
            tariff: record.tariff,
            message: record.message.map_or_else(String::new, |m| format!("{}-{}", m.alert, m.endpoint)),
            parts: record.parts,
        }
    }

    fn columns(&self) -> [String; 22] {
        let optional = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        [
            self.id.clone(),
            self.time.clone(),
            self.account_kind.to_owned(),
            self.account.to_owned(),
            self.event.clone(),
            self.result.to_string(),
            self.session.clone(),
            self.request_number.to_string(),
            self.context.clone(),
            self.class.to_string(),
            self.destination.to_owned(),
            optional(self.rating_group),
            optional(self.service_id),
            self.units.to_string(),
            self.octets.to_string(),
            self.seconds.to_string(),
            self.charged.to_string(),
            self.shortfall.to_string(),
            self.owed.to_string(),
            self.tariff.to_string(),
            self.message.clone(),
            self.parts.to_string(),
        ]
    }

    /// A line of CSV (RFC 4180); no column is a formula to a spreadsheet.
    pub fn csv(&self, to: &mut dyn Write) -> io::Result<()> {
        for (at, column) in self.columns().iter().enumerate() {
            if at > 0 {
                to.write_all(b",")?;
            }
            let column = store::spreadsheet::guarded(column);
            if column.contains([',', '"', '\n', '\r']) {
                write!(to, "\"{}\"", column.replace('"', "\"\""))?;
            } else {
                to.write_all(column.as_bytes())?;
            }
        }
        to.write_all(b"\r\n")
    }

    /// A line of JSON.
    pub fn json(&self, to: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *to, self)?;
        to.write_all(b"\n")
    }

    /// An element of XML; columns without a value are left out.
    pub fn xml(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(b"<record")?;
        for (name, column) in COLUMNS.iter().zip(self.columns()).filter(|(_, column)| !column.is_empty()) {
            write!(to, " {name}=\"")?;
            escape(&column, to)?;
            to.write_all(b"\"")?;
        }
        to.write_all(b"/>\n")
    }
}

/// What XML 1.0 does not allow at all becomes U+FFFD.
fn escape(text: &str, to: &mut dyn Write) -> io::Result<()> {
    for c in text.chars() {
        match c {
            '&' => to.write_all(b"&amp;")?,
            '<' => to.write_all(b"&lt;")?,
            '"' => to.write_all(b"&quot;")?,
            '\t' | '\n' | '\r' => write!(to, "&#{};", u32::from(c))?,
            '\u{0}'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => write!(to, "\u{fffd}")?,
            c => write!(to, "{c}")?,
        }
    }
    Ok(())
}
