//! English words of descriptions.

use super::{Clauses, Connectives, Language, Prepositions};
use crate::rule::Frequency;
use jiff::civil::Weekday;

pub(super) struct English;

const CONNECTIVES: Connectives = Connectives {
    and: " and ",
    or: " or ",
    at: " at ",
    once: "once",
    workdays: "Monday to Friday",
    before: Prepositions {
        weekday: " on ",
        every_weekday: " on every ",
        numbered: " on ",
        date: " on ",
        month: " in ",
        month_of_day: " of ",
        every_month: " of every month",
        year: " of the year",
    },
    clauses: Clauses {
        condition: ", if it is ",
        positions: ", of these only ",
        from: ", from ",
        until: ", until ",
        added: ", also ",
        removed: ", not ",
    },
};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Language for English {
    fn connectives(&self) -> &'static Connectives {
        &CONNECTIVES
    }

    fn every(&self, frequency: Frequency, interval: u16) -> String {
        let period = match frequency {
            Frequency::Daily => "day",
            Frequency::Weekly => "week",
            Frequency::Monthly => "month",
            Frequency::Yearly => "year",
        };
        if interval == 1 { format!("every {period}") } else { format!("every {interval} {period}s") }
    }

    fn weekday(&self, weekday: Weekday) -> &'static str {
        match weekday {
            Weekday::Monday => "Monday",
            Weekday::Tuesday => "Tuesday",
            Weekday::Wednesday => "Wednesday",
            Weekday::Thursday => "Thursday",
            Weekday::Friday => "Friday",
            Weekday::Saturday => "Saturday",
            Weekday::Sunday => "Sunday",
        }
    }

    fn numbered_weekday(&self, number: i8, weekday: Weekday) -> String {
        format!("{} {}", self.position(i16::from(number)), self.weekday(weekday))
    }

    fn month_day(&self, day: i8) -> String {
        if day > 0 {
            format!("the {}", ordinal(day.unsigned_abs().into()))
        } else {
            self.position(day.into()) + " day"
        }
    }

    fn position(&self, position: i16) -> String {
        let count = position.unsigned_abs();
        let word = match count {
            1 => "first".to_owned(),
            2 => "second".to_owned(),
            3 => "third".to_owned(),
            4 => "fourth".to_owned(),
            5 => "fifth".to_owned(),
            count => ordinal(count),
        };
        match (position > 0, count) {
            (true, _) => format!("the {word}"),
            (false, 1) => "the last".to_owned(),
            (false, _) => format!("the {word} to last"),
        }
    }

    fn month(&self, month: i8) -> &'static str {
        usize::try_from(month - 1).ok().and_then(|index| MONTHS.get(index)).copied().unwrap_or_default()
    }

    fn count(&self, count: u32) -> String {
        if count == 1 { "once".to_owned() } else { format!("{count} times") }
    }

    fn listed(&self, count: usize) -> String {
        format!("at {count} listed times")
    }
}

/// `1st`, `2nd`, `11th`.
fn ordinal(number: u16) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
