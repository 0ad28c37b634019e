//! Descriptions in English and Swedish.

use super::{parse, ruled};
use crate::DescribedIn;

/// Rule, English, Swedish.
const RULES: &[(&str, &str, &str)] = &[
    ("FREQ=MONTHLY;BYDAY=1MO", "every month on the first Monday", "varje månad den första måndagen"),
    ("FREQ=MONTHLY;BYDAY=-1FR", "every month on the last Friday", "varje månad den sista fredagen"),
    (
        "FREQ=MONTHLY;BYDAY=-2SA,-3SU",
        "every month on the third to last Sunday and the second to last Saturday",
        "varje månad den tredje söndagen från slutet och den näst sista lördagen",
    ),
    ("FREQ=MONTHLY;BYDAY=MO", "every month on every Monday", "varje månad på varje måndag"),
    ("FREQ=MONTHLY", "every month on the 27th", "varje månad den 27:e"),
    (
        "FREQ=MONTHLY;BYMONTHDAY=1,-1,-2",
        "every month on the second to last day, the last day and the 1st",
        "varje månad den näst sista dagen, den sista dagen och den 1:a",
    ),
    (
        "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
        "every month on the 13th, if it is Friday",
        "varje månad den 13:e, om det är fredag",
    ),
    (
        "FREQ=MONTHLY;BYMONTH=1,7;BYDAY=1MO",
        "every month on the first Monday in January and July",
        "varje månad den första måndagen i januari och juli",
    ),
    (
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1",
        "every month on every Monday to Friday, of these only the last and the first",
        "varje månad på varje måndag till fredag, av dem bara den sista och den första",
    ),
    ("FREQ=DAILY", "every day", "varje dag"),
    (
        "FREQ=DAILY;BYMONTH=6,7,8;BYDAY=SA,SU",
        "every day in June, July and August, if it is Saturday or Sunday",
        "varje dag i juni, juli och augusti, om det är lördag eller söndag",
    ),
    (
        "FREQ=DAILY;BYMONTHDAY=11,22",
        "every day, if it is the 11th or the 22nd",
        "varje dag, om det är den 11:e eller den 22:a",
    ),
    ("FREQ=WEEKLY", "every week on Friday", "varje vecka på fredag"),
    ("FREQ=WEEKLY;BYDAY=FR,MO", "every week on Monday and Friday", "varje vecka på måndag och fredag"),
    (
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYMONTH=12",
        "every week on Monday to Friday in December",
        "varje vecka på måndag till fredag i december",
    ),
    ("FREQ=YEARLY", "every year on the 27th of November", "varje år den 27:e i november"),
    ("FREQ=YEARLY;BYMONTH=3", "every year on the 27th of March", "varje år den 27:e i mars"),
    ("FREQ=YEARLY;BYMONTHDAY=3", "every year on the 3rd of every month", "varje år den 3:e i varje månad"),
    (
        "FREQ=YEARLY;BYDAY=20MO",
        "every year on the 20th Monday of the year",
        "varje år den 20:e måndagen på året",
    ),
    (
        "FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU",
        "every year on the last Sunday in March",
        "varje år den sista söndagen i mars",
    ),
];

#[test]
fn a_rule_is_told_in_words() {
    for (rule, english, swedish) in RULES {
        let schedule = ruled("Europe/Stockholm", "20261127T120000", rule);
        let text = schedule.describe(DescribedIn::English);
        assert_eq!(text, format!("{english} at 12:00, Europe/Stockholm"), "{rule}");
        let text = schedule.describe(DescribedIn::Swedish);
        assert_eq!(text, format!("{swedish} kl. 12:00, Europe/Stockholm"), "{rule}");
    }
}

#[test]
fn what_stands_beside_the_rule_is_told_behind_it() {
    let zone = "TZID=Europe/Stockholm";
    for (rest, english, swedish) in [
        (
            "".to_owned(),
            "once on 27 November 2026 at 12:00:30, Europe/Stockholm",
            "en gång den 27 november 2026 kl. 12:00:30, Europe/Stockholm",
        ),
        (
            "RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=10".into(),
            "every 2 weeks on Friday at 12:00:30, Europe/Stockholm, from 27 November 2026, 10 times",
            "varannan vecka på fredag kl. 12:00:30, Europe/Stockholm, från den 27 november 2026, 10 gånger",
        ),
        (
            "RRULE:FREQ=DAILY;INTERVAL=21;COUNT=1".into(),
            "every 21 days at 12:00:30, Europe/Stockholm, from 27 November 2026, once",
            "var 21:a dag kl. 12:00:30, Europe/Stockholm, från den 27 november 2026, en gång",
        ),
        (
            "RRULE:FREQ=DAILY;UNTIL=20270627T100000Z".into(),
            "every day at 12:00:30, Europe/Stockholm, until 27 June 2027 at 12:00",
            "varje dag kl. 12:00:30, Europe/Stockholm, till och med den 27 juni 2027 kl. 12:00",
        ),
        (
            "RRULE:FREQ=DAILY;UNTIL=99991231T235959Z".into(),
            "every day at 12:00:30, Europe/Stockholm, until 31 December 9999 at 23:59:59",
            "varje dag kl. 12:00:30, Europe/Stockholm, till och med den 31 december 9999 kl. 23:59:59",
        ),
        (
            format!(
                "RRULE:FREQ=DAILY\nEXDATE;{zone}:20261224T120030,20261225T120030\nRDATE;{zone}:20261224T180000"
            ),
            "every day at 12:00:30, Europe/Stockholm, also on 24 December 2026 at 18:00, \
             not on 24 December 2026 and 25 December 2026",
            "varje dag kl. 12:00:30, Europe/Stockholm, också den 24 december 2026 kl. 18:00, \
             inte den 24 december 2026 och 25 december 2026",
        ),
        (
            format!(
                "RRULE:FREQ=DAILY\nEXDATE;{zone}:20261201T120030,20261202T120030,20261203T120030,20261204T120030"
            ),
            "every day at 12:00:30, Europe/Stockholm, not at 4 listed times",
            "varje dag kl. 12:00:30, Europe/Stockholm, inte vid 4 listade tider",
        ),
    ] {
        let schedule = parse(&format!("DTSTART;{zone}:20261127T120030\n{rest}")).unwrap();
        assert_eq!(schedule.describe(DescribedIn::English), english);
        assert_eq!(schedule.describe(DescribedIn::Swedish), swedish);
    }
}

#[test]
fn numbers_have_the_endings_of_their_language() {
    for (day, english, swedish) in [
        (1, "1st", "1:a"),
        (2, "2nd", "2:a"),
        (3, "3rd", "3:e"),
        (11, "11th", "11:e"),
        (12, "12th", "12:e"),
        (13, "13th", "13:e"),
        (21, "21st", "21:a"),
        (22, "22nd", "22:a"),
        (23, "23rd", "23:e"),
        (30, "30th", "30:e"),
        (31, "31st", "31:a"),
    ] {
        let schedule = ruled("UTC", "20260101T000000", &format!("FREQ=MONTHLY;BYMONTHDAY={day}"));
        let texts = [DescribedIn::English, DescribedIn::Swedish].map(|language| schedule.describe(language));
        assert_eq!(
            texts,
            [
                format!("every month on the {english} at 00:00, UTC"),
                format!("varje månad den {swedish} kl. 00:00, UTC")
            ]
        );
    }
    for (interval, swedish) in [(2, "vartannat år"), (3, "vart 3:e år")] {
        let schedule = ruled("UTC", "20260101T000000", &format!("FREQ=YEARLY;INTERVAL={interval}"));
        assert!(schedule.describe(DescribedIn::Swedish).starts_with(swedish));
    }
}
