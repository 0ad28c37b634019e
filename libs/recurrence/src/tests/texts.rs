//! Texts that are read, and their canonical form.

use super::{parse, zones};
use crate::{Schedule, ScheduleFault};
use jiff::civil::date;

#[test]
fn a_text_is_written_in_one_form() {
    for (text, expected) in [
        ("DTSTART;TZID=Europe/Stockholm:20261127T120000", "DTSTART;TZID=Europe/Stockholm:20261127T120000"),
        (
            "rrule:byday=fr,MO,-1fr,+1FR,mo;freq=monthly;interval=1;wkst=mo\r\ndtstart;tzid=\"europe/stockholm\":20261127t120000\r\n",
            "DTSTART;TZID=Europe/Stockholm:20261127T120000\nRRULE:FREQ=MONTHLY;BYDAY=MO,FR,-1FR,1FR",
        ),
        (
            "DTSTART;VALUE=DATE-TIME;TZID=Europe/Stockholm:20261127T1200\r\n 00\r\nRRULE:FREQ=WEE\r\n\tKLY;COUNT=0010\r\n\r\n",
            "DTSTART;TZID=Europe/Stockholm:20261127T120000\nRRULE:FREQ=WEEKLY;COUNT=10",
        ),
        (
            "DTSTART:20261127T120000Z\nRRULE:WKST=SU;BYSETPOS=1,-1;BYMONTHDAY=31,-31,1;BYMONTH=12,1;UNTIL=20271127T120000Z;INTERVAL=2;FREQ=YEARLY",
            "DTSTART:20261127T120000Z\nRRULE:FREQ=YEARLY;INTERVAL=2;UNTIL=20271127T120000Z;BYMONTH=1,12;BYMONTHDAY=-31,1,31;BYSETPOS=-1,1;WKST=SU",
        ),
        (
            "EXDATE:20261129T110000Z\nDTSTART;TZID=Europe/Stockholm:20261127T120000\nEXDATE;TZID=Europe/Stockholm:20261128T120000,20261129T120000\nRDATE:20261128T110000Z",
            "DTSTART;TZID=Europe/Stockholm:20261127T120000\nRDATE;TZID=Europe/Stockholm:20261128T120000\nEXDATE;TZID=Europe/Stockholm:20261128T120000,20261129T120000",
        ),
        ("DTSTART;TZID=utc:20261127T120000", "DTSTART:20261127T120000Z"),
        (
            "DTSTART:20261127T120000Z\nRDATE;TZID=UTC:20261128T120000",
            "DTSTART:20261127T120000Z\nRDATE:20261128T120000Z",
        ),
    ] {
        let schedule = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(schedule.write(), expected, "{text}");
        assert_eq!(parse(expected), Ok(schedule), "{text}");
    }
}

#[test]
fn a_start_apart_from_its_text_lets_local_times_be_without_zone() {
    let start = date(2026, 11, 27).at(12, 0, 0, 0);
    let rules = "RRULE:FREQ=DAILY;UNTIL=20261231T120000\nEXDATE:20261224T120000\nRDATE:20270101T110000Z";
    let schedule = Schedule::new_with(start, "Europe/Stockholm", rules, zones()).unwrap();
    assert_eq!(
        schedule.write(),
        "DTSTART;TZID=Europe/Stockholm:20261127T120000\nRRULE:FREQ=DAILY;UNTIL=20261231T110000Z\n\
         RDATE;TZID=Europe/Stockholm:20270101T120000\nEXDATE;TZID=Europe/Stockholm:20261224T120000"
    );
    assert_eq!((schedule.start(), schedule.zone_name()), (start, "Europe/Stockholm"));
    assert_eq!(schedule.zone().iana_name(), Some("Europe/Stockholm"));
    let once = Schedule::new_with(start, "UTC", "", zones()).unwrap();
    assert_eq!(once.write(), "DTSTART:20261127T120000Z");
    assert_eq!(parse(&once.write()), Ok(once));
}

#[test]
fn a_start_apart_is_checked_as_one_in_the_text() {
    let start = date(2026, 11, 27).at(12, 0, 0, 0);
    for (start, zone, rules, fault) in [
        (start, "Mars/Olympus", "", ScheduleFault::UnknownZone),
        (start, "../../etc/passwd", "", ScheduleFault::UnknownZone),
        (start, "UTC", "DTSTART:20261127T120000Z", ScheduleFault::Twice),
        (date(2026, 11, 27).at(12, 0, 0, 1), "UTC", "", ScheduleFault::NotATime),
        (date(1899, 12, 31).at(12, 0, 0, 0), "UTC", "", ScheduleFault::Year),
        (date(-9999, 1, 1).at(0, 0, 0, 0), "Asia/Tokyo", "", ScheduleFault::Year),
        (date(9999, 12, 31).at(23, 59, 59, 0), "America/New_York", "", ScheduleFault::Year),
    ] {
        let error = Schedule::new_with(start, zone, rules, zones()).unwrap_err();
        assert_eq!(error.fault, fault, "{error}");
    }
}

#[test]
fn the_system_s_zones_are_found_as_well() {
    let text = "DTSTART;TZID=Europe/Stockholm:20261127T120000";
    assert_eq!(Schedule::parse(text).unwrap().write(), text);
    let start = date(2026, 11, 27).at(12, 0, 0, 0);
    assert_eq!(Schedule::new(start, "Europe/Stockholm", "").unwrap().write(), text);
}
