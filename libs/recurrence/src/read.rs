//! Reader of a schedule's text: content lines (RFC 5545, 3.1) to properties, then properties to a schedule.

use crate::rule::{self, RuleStart};
use crate::time::{self, WrittenTime, ZonedTime, has_year};
use crate::{DATES_MAX, Schedule, ScheduleError, ScheduleFault, TEXT_OCTETS_MAX};
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// A content line: `NAME;PARAMETER=VALUE:VALUE`.
struct ContentLine<'a> {
    /// In capitals.
    name: String,
    /// TZID, without quotes.
    zone: Option<&'a str>,
    value: &'a str,
}

/// The start, and the zone of all local times.
struct Start {
    time: ZonedTime,
    zone: TimeZone,
    /// It was given apart from the text, so local times in the text have no zone.
    is_floating: bool,
}

/// Reads a schedule: with its start in the text, or given apart.
pub(crate) fn schedule(
    text: &str,
    apart: Option<(DateTime, &str)>,
    zones: &TimeZoneDatabase,
) -> Result<Schedule, ScheduleError> {
    check_length(text.len())?;
    let text = unfolded(text);
    let lines: Vec<ContentLine> =
        text.lines().filter(|line| !line.trim().is_empty()).map(content_line).collect::<Result<_, _>>()?;
    let start = start(&lines, apart, zones)?;
    let mut rule = None;
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for line in &lines {
        match line.name.as_str() {
            "RRULE" if rule.is_some() => return Err(line.error(ScheduleFault::Twice)),
            "RRULE" => rule = Some(read_rule(line, &start)?),
            "RDATE" => read_times(line, &start, &mut added)?,
            "EXDATE" => read_times(line, &start, &mut removed)?,
            _ => {}
        }
    }
    if let Some(early) = added.iter().find(|time| time.instant < start.time.instant) {
        return Err(ScheduleError::new("RDATE", &time::basic(early.local), ScheduleFault::BeforeStart));
    }
    let schedule = Schedule::from_parts(start.zone, start.time, rule, added, removed);
    check_length(schedule.write().len())?;
    Ok(schedule)
}

fn check_length(octets: usize) -> Result<(), ScheduleError> {
    if octets > TEXT_OCTETS_MAX {
        return Err(ScheduleError::new("", "", ScheduleFault::TextTooLong(octets)));
    }
    Ok(())
}

/// The text with LF for CRLF, and folded lines joined (3.1).
fn unfolded(text: &str) -> String {
    text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
}

/// Reads one line. A `:` or `;` in quotes belongs to its parameter (3.2).
fn content_line(line: &str) -> Result<ContentLine<'_>, ScheduleError> {
    let not_a_line = || ScheduleError::new("", line, ScheduleFault::NotALine);
    let (head, value) = split_outside_quotes(line, ':').ok_or_else(not_a_line)?;
    let (name, mut parameters) = match split_outside_quotes(head, ';') {
        Some((name, parameters)) => (name, Some(parameters)),
        None => (head, None),
    };
    let name = name.to_ascii_uppercase();
    check_name(&name)?;
    let mut zone = None;
    while let Some(rest) = parameters {
        let (parameter, rest) = match split_outside_quotes(rest, ';') {
            Some((parameter, rest)) => (parameter, Some(rest)),
            None => (rest, None),
        };
        parameters = rest;
        let (key, text) = parameter.split_once('=').ok_or_else(not_a_line)?;
        take_parameter(&name, key, text, &mut zone)
            .map_err(|fault| ScheduleError::new(&name, parameter, fault))?;
    }
    Ok(ContentLine { name, zone, value })
}

/// The parts before and behind the first such character that is not in double quotes.
fn split_outside_quotes(text: &str, at: char) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let place = text.char_indices().find(|(_, c)| {
        is_quoted ^= *c == '"';
        *c == at && !is_quoted
    });
    place.map(|(place, c)| (&text[..place], &text[place + c.len_utf8()..]))
}

fn check_name(name: &str) -> Result<(), ScheduleError> {
    let fault = match name {
        "DTSTART" | "RRULE" | "RDATE" | "EXDATE" => return Ok(()),
        "EXRULE" => ScheduleFault::Refused("write each time to leave out in EXDATE"),
        "DTEND" | "DURATION" | "DUE" => ScheduleFault::Refused("a schedule has instants; remove it"),
        "BEGIN" | "END" => ScheduleFault::Refused("write only the lines DTSTART, RRULE, RDATE and EXDATE"),
        _ => ScheduleFault::UnknownProperty,
    };
    Err(ScheduleError::new(name, "", fault))
}

fn take_parameter<'a>(
    name: &str,
    key: &str,
    text: &'a str,
    zone: &mut Option<&'a str>,
) -> Result<(), ScheduleFault> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if name == "RRULE" {
        return Err(ScheduleFault::UnknownParameter);
    }
    if key.eq_ignore_ascii_case("TZID") {
        return if zone.replace(text).is_none() { Ok(()) } else { Err(ScheduleFault::Twice) };
    }
    match (key.eq_ignore_ascii_case("VALUE"), text.to_ascii_uppercase().as_str()) {
        (true, "DATE-TIME") => Ok(()),
        (true, "DATE") => Err(ScheduleFault::DateOnly),
        (true, "PERIOD") => Err(ScheduleFault::Refused("write the beginning of each period as a time")),
        _ => Err(ScheduleFault::UnknownParameter),
    }
}

impl ContentLine<'_> {
    fn error(&self, fault: ScheduleFault) -> ScheduleError {
        ScheduleError::new(&self.name, self.value, fault)
    }
}

fn start(
    lines: &[ContentLine<'_>],
    apart: Option<(DateTime, &str)>,
    zones: &TimeZoneDatabase,
) -> Result<Start, ScheduleError> {
    let mut found = lines.iter().filter(|line| line.name == "DTSTART");
    let (local, zone, line) = match (apart, found.next()) {
        (Some((local, zone)), None) => (local, time::zone(zone, zones)?, None),
        (Some(_), Some(line)) => return Err(line.error(ScheduleFault::Twice)),
        (None, Some(line)) => {
            let (local, zone) = start_of_line(line, zones)?;
            (local, zone, Some(line))
        }
        (None, None) => {
            let example = "DTSTART;TZID=Europe/Stockholm:20261127T120000";
            return Err(ScheduleError::new("DTSTART", "", ScheduleFault::Missing(example)));
        }
    };
    if let Some(second) = found.next() {
        return Err(second.error(ScheduleFault::Twice));
    }
    let error = |fault| match line {
        Some(line) => line.error(fault),
        None => ScheduleError::new("DTSTART", &local.to_string(), fault),
    };
    if local.subsec_nanosecond() != 0 {
        return Err(error(ScheduleFault::NotATime));
    }
    let time = ZonedTime::of_local(local, &zone).filter(|time| has_year(time.local));
    let time = time.ok_or_else(|| error(ScheduleFault::Year))?;
    Ok(Start { time, zone, is_floating: line.is_none() })
}

fn start_of_line(
    line: &ContentLine<'_>,
    zones: &TimeZoneDatabase,
) -> Result<(DateTime, TimeZone), ScheduleError> {
    match (time::written(line.value).map_err(|fault| line.error(fault))?, line.zone) {
        (WrittenTime::Utc(_), Some(_)) => Err(line.error(ScheduleFault::ZoneOfUtc)),
        (WrittenTime::Utc(time), None) => Ok((time, TimeZone::UTC)),
        (WrittenTime::Local(local), Some(zone)) => Ok((local, time::zone(zone, zones)?)),
        (WrittenTime::Local(_), None) => Err(line.error(ScheduleFault::NoZone)),
    }
}

fn read_rule(line: &ContentLine<'_>, start: &Start) -> Result<rule::RecurrenceRule, ScheduleError> {
    let start = RuleStart { time: start.time, zone: &start.zone, is_floating: start.is_floating };
    rule::read(line.value, &start)
}

/// Reads the values of RDATE or EXDATE.
fn read_times(line: &ContentLine<'_>, start: &Start, into: &mut Vec<ZonedTime>) -> Result<(), ScheduleError> {
    for value in line.value.split(',') {
        let error = |fault| ScheduleError::new(&line.name, value, fault);
        if into.len() == DATES_MAX {
            return Err(error(ScheduleFault::DATES));
        }
        let written = time::written(value).map_err(error)?;
        into.push(listed_time(written, line.zone, start).map_err(error)?);
    }
    Ok(())
}

fn listed_time(written: WrittenTime, zone: Option<&str>, start: &Start) -> Result<ZonedTime, ScheduleFault> {
    let zone_name = time::zone_name(&start.zone);
    let time = match (written, zone) {
        (WrittenTime::Utc(_), Some(_)) => return Err(ScheduleFault::ZoneOfUtc),
        (WrittenTime::Utc(utc), None) => {
            let time = ZonedTime::of_local(utc, &TimeZone::UTC).ok_or(ScheduleFault::Year)?;
            ZonedTime::of_instant(time.instant, &start.zone)
        }
        (WrittenTime::Local(local), zone) => {
            let is_here = zone.map_or(start.is_floating, |zone| zone.eq_ignore_ascii_case(zone_name));
            match (is_here, zone) {
                (true, _) => ZonedTime::of_local(local, &start.zone).ok_or(ScheduleFault::Year)?,
                (false, Some(_)) => return Err(ScheduleFault::OtherZone(zone_name.to_owned())),
                (false, None) => return Err(ScheduleFault::NoZone),
            }
        }
    };
    if has_year(time.local) { Ok(time) } else { Err(ScheduleFault::Year) }
}
