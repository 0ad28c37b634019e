//! Examples of RFC 5545, 3.8.5.3, with all of their expected dates, at 9 in New York.

use super::parse;
use jiff::civil::Date;

/// Start, rule, expected days; whether the rule ends with them.
type Example = (&'static str, &'static str, &'static [&'static str], bool);

const ENDS: bool = true;
const GOES_ON: bool = false;

const DAILY: &[Example] = &[
    ("19970902", "FREQ=DAILY;COUNT=10", &["1997-09 2-11"], ENDS),
    (
        "19970902",
        "FREQ=DAILY;UNTIL=19971224T000000Z",
        &["1997-09 2-30", "1997-10 1-31", "1997-11 1-30", "1997-12 1-23"],
        ENDS,
    ),
    (
        "19970902",
        "FREQ=DAILY;INTERVAL=2",
        &[
            "1997-09 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30",
            "1997-10 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30",
            "1997-11 1 3 5 7 9 11 13 15 17 19 21 23 25 27 29",
            "1997-12 1 3",
        ],
        GOES_ON,
    ),
    ("19970902", "FREQ=DAILY;INTERVAL=10;COUNT=5", &["1997-09 2 12 22", "1997-10 2 12"], ENDS),
    (
        "19980101",
        "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
        &["1998-01 1-31", "1999-01 1-31", "2000-01 1-31"],
        ENDS,
    ),
    (
        "19980101",
        "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1",
        &["1998-01 1-31", "1999-01 1-31", "2000-01 1-31"],
        ENDS,
    ),
];

const WEEKLY: &[Example] = &[
    ("19970902", "FREQ=WEEKLY;COUNT=10", &["1997-09 2 9 16 23 30", "1997-10 7 14 21 28", "1997-11 4"], ENDS),
    (
        "19970902",
        "FREQ=WEEKLY;UNTIL=19971224T000000Z",
        &["1997-09 2 9 16 23 30", "1997-10 7 14 21 28", "1997-11 4 11 18 25", "1997-12 2 9 16 23"],
        ENDS,
    ),
    (
        "19970902",
        "FREQ=WEEKLY;INTERVAL=2;WKST=SU",
        &[
            "1997-09 2 16 30",
            "1997-10 14 28",
            "1997-11 11 25",
            "1997-12 9 23",
            "1998-01 6 20",
            "1998-02 3 17",
        ],
        GOES_ON,
    ),
    (
        "19970902",
        "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH",
        &["1997-09 2 4 9 11 16 18 23 25 30", "1997-10 2"],
        ENDS,
    ),
    (
        "19970902",
        "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH",
        &["1997-09 2 4 9 11 16 18 23 25 30", "1997-10 2"],
        ENDS,
    ),
    (
        "19970901",
        "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
        &[
            "1997-09 1 3 5 15 17 19 29",
            "1997-10 1 3 13 15 17 27 29 31",
            "1997-11 10 12 14 24 26 28",
            "1997-12 8 10 12 22",
        ],
        ENDS,
    ),
    (
        "19970902",
        "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
        &["1997-09 2 4 16 18 30", "1997-10 2 14 16"],
        ENDS,
    ),
    ("19970805", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", &["1997-08 5 10 19 24"], ENDS),
    ("19970805", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", &["1997-08 5 17 19 31"], ENDS),
];

const MONTHLY: &[Example] = &[
    (
        "19970905",
        "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        &[
            "1997-09 5",
            "1997-10 3",
            "1997-11 7",
            "1997-12 5",
            "1998-01 2",
            "1998-02 6",
            "1998-03 6",
            "1998-04 3",
            "1998-05 1",
            "1998-06 5",
        ],
        ENDS,
    ),
    (
        "19970905",
        "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR",
        &["1997-09 5", "1997-10 3", "1997-11 7", "1997-12 5"],
        ENDS,
    ),
    (
        "19970907",
        "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        &["1997-09 7 28", "1997-11 2 30", "1998-01 4 25", "1998-03 1 29", "1998-05 3 31"],
        ENDS,
    ),
    (
        "19970922",
        "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
        &["1997-09 22", "1997-10 20", "1997-11 17", "1997-12 22", "1998-01 19", "1998-02 16"],
        ENDS,
    ),
    (
        "19970928",
        "FREQ=MONTHLY;BYMONTHDAY=-3",
        &["1997-09 28", "1997-10 29", "1997-11 28", "1997-12 29", "1998-01 29", "1998-02 26"],
        GOES_ON,
    ),
    (
        "19970902",
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
        &["1997-09 2 15", "1997-10 2 15", "1997-11 2 15", "1997-12 2 15", "1998-01 2 15"],
        ENDS,
    ),
    (
        "19970930",
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
        &["1997-09 30", "1997-10 1 31", "1997-11 1 30", "1997-12 1 31", "1998-01 1 31", "1998-02 1"],
        ENDS,
    ),
    (
        "19970910",
        "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
        &["1997-09 10-15", "1999-03 10-13"],
        ENDS,
    ),
    (
        "19970902",
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
        &["1997-09 2 9 16 23 30", "1997-11 4 11 18 25", "1998-01 6 13 20 27", "1998-03 3 10 17 24 31"],
        GOES_ON,
    ),
    // The start is no day of the rule: the RFC's example has an EXDATE for it, which changes nothing here.
    (
        "19970902",
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13\nEXDATE;TZID=America/New_York:19970902T090000",
        &["1998-02 13", "1998-03 13", "1998-11 13", "1999-08 13", "2000-10 13"],
        GOES_ON,
    ),
    (
        "19970913",
        "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
        &[
            "1997-09 13",
            "1997-10 11",
            "1997-11 8",
            "1997-12 13",
            "1998-01 10",
            "1998-02 7",
            "1998-03 7",
            "1998-04 11",
            "1998-05 9",
            "1998-06 13",
        ],
        GOES_ON,
    ),
    (
        "19970904",
        "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
        &["1997-09 4", "1997-10 7", "1997-11 6"],
        ENDS,
    ),
    (
        "19970929",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        &["1997-09 29", "1997-10 30", "1997-11 27", "1997-12 30", "1998-01 29", "1998-02 26", "1998-03 30"],
        GOES_ON,
    ),
    (
        "20070115",
        "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5",
        &["2007-01 15 30", "2007-02 15", "2007-03 15 30"],
        ENDS,
    ),
];

const YEARLY: &[Example] = &[
    (
        "19970610",
        "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
        &[
            "1997-06 10",
            "1997-07 10",
            "1998-06 10",
            "1998-07 10",
            "1999-06 10",
            "1999-07 10",
            "2000-06 10",
            "2000-07 10",
            "2001-06 10",
            "2001-07 10",
        ],
        ENDS,
    ),
    (
        "19970310",
        "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
        &[
            "1997-03 10",
            "1999-01 10",
            "1999-02 10",
            "1999-03 10",
            "2001-01 10",
            "2001-02 10",
            "2001-03 10",
            "2003-01 10",
            "2003-02 10",
            "2003-03 10",
        ],
        ENDS,
    ),
    ("19970519", "FREQ=YEARLY;BYDAY=20MO", &["1997-05 19", "1998-05 18", "1999-05 17"], GOES_ON),
    (
        "19970313",
        "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        &["1997-03 13 20 27", "1998-03 5 12 19 26", "1999-03 4 11 18 25"],
        GOES_ON,
    ),
    (
        "19970605",
        "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
        &[
            "1997-06 5 12 19 26",
            "1997-07 3 10 17 24 31",
            "1997-08 7 14 21 28",
            "1998-06 4 11 18 25",
            "1998-07 2 9 16 23 30",
            "1998-08 6 13 20 27",
            "1999-06 3 10 17 24",
            "1999-07 1 8 15 22 29",
            "1999-08 5 12 19 26",
        ],
        GOES_ON,
    ),
    (
        "19961105",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        &["1996-11 5", "2000-11 7", "2004-11 2"],
        GOES_ON,
    ),
];

/// Days of `1997-09 2-11 15`.
fn days(month: &str) -> Vec<Date> {
    let (month, days) = month.split_once(' ').unwrap();
    let range = |text: &str| {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        from.parse::<u8>().unwrap()..=to.parse::<u8>().unwrap()
    };
    let days = days.split(' ').flat_map(range);
    days.map(|day| format!("{month}-{day:02}").parse().unwrap()).collect()
}

#[test]
fn the_examples_of_the_rfc_have_its_dates_at_nine_o_clock_local_time() {
    for (start, rule, months, ends) in [DAILY, WEEKLY, MONTHLY, YEARLY].into_iter().flatten() {
        let schedule = parse(&format!("DTSTART;TZID=America/New_York:{start}T090000\nRRULE:{rule}")).unwrap();
        let expected: Vec<Date> = months.iter().flat_map(|month| days(month)).collect();
        let beyond = usize::from(*ends);
        let found: Vec<_> = schedule.occurrences().take(expected.len() + beyond).collect();
        assert_eq!(found.iter().map(|one| one.local.date()).collect::<Vec<_>>(), expected, "{rule}");
        for one in found {
            let zoned = one.instant.to_zoned(schedule.zone().clone());
            assert_eq!(zoned.datetime(), one.local, "{rule}");
            assert_eq!((zoned.hour(), zoned.minute(), zoned.second()), (9, 0, 0), "{rule}");
        }
    }
}

#[test]
fn the_examples_of_the_rfc_beyond_the_subset_are_refused() {
    for rule in [
        "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
        "FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z",
        "FREQ=MINUTELY;INTERVAL=15;COUNT=6",
        "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
        "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
    ] {
        let error =
            parse(&format!("DTSTART;TZID=America/New_York:19970902T090000\nRRULE:{rule}")).unwrap_err();
        assert!(matches!(error.fault, crate::ScheduleFault::Refused(_)), "{rule}: {error}");
    }
}
