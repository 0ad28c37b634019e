//! Swedish words of descriptions.

use super::{Clauses, Connectives, Language, Prepositions};
use crate::rule::Frequency;
use jiff::civil::Weekday;

pub(super) struct Swedish;

const CONNECTIVES: Connectives = Connectives {
    and: " och ",
    or: " eller ",
    at: " kl. ",
    once: "en gång",
    workdays: "måndag till fredag",
    before: Prepositions {
        weekday: " på ",
        every_weekday: " på varje ",
        numbered: " ",
        date: " den ",
        month: " i ",
        month_of_day: " i ",
        every_month: " i varje månad",
        year: " på året",
    },
    clauses: Clauses {
        condition: ", om det är ",
        positions: ", av dem bara ",
        from: ", från den ",
        until: ", till och med den ",
        added: ", också ",
        removed: ", inte ",
    },
};

const MONTHS: [&str; 12] = [
    "januari",
    "februari",
    "mars",
    "april",
    "maj",
    "juni",
    "juli",
    "augusti",
    "september",
    "oktober",
    "november",
    "december",
];

impl Language for Swedish {
    fn connectives(&self) -> &'static Connectives {
        &CONNECTIVES
    }

    fn every(&self, frequency: Frequency, interval: u16) -> String {
        // Year is neuter, the others are not.
        let (period, each, second, nth) = match frequency {
            Frequency::Daily => ("dag", "varje", "varannan", "var"),
            Frequency::Weekly => ("vecka", "varje", "varannan", "var"),
            Frequency::Monthly => ("månad", "varje", "varannan", "var"),
            Frequency::Yearly => ("år", "varje", "vartannat", "vart"),
        };
        match interval {
            1 => format!("{each} {period}"),
            2 => format!("{second} {period}"),
            interval => format!("{nth} {} {period}", ordinal(interval)),
        }
    }

    fn weekday(&self, weekday: Weekday) -> &'static str {
        match weekday {
            Weekday::Monday => "måndag",
            Weekday::Tuesday => "tisdag",
            Weekday::Wednesday => "onsdag",
            Weekday::Thursday => "torsdag",
            Weekday::Friday => "fredag",
            Weekday::Saturday => "lördag",
            Weekday::Sunday => "söndag",
        }
    }

    fn numbered_weekday(&self, number: i8, weekday: Weekday) -> String {
        counted(i16::from(number), &format!(" {}en", self.weekday(weekday)))
    }

    fn month_day(&self, day: i8) -> String {
        if day > 0 {
            format!("den {}", ordinal(day.unsigned_abs().into()))
        } else {
            counted(day.into(), " dagen")
        }
    }

    fn position(&self, position: i16) -> String {
        counted(position, "")
    }

    fn month(&self, month: i8) -> &'static str {
        usize::try_from(month - 1).ok().and_then(|index| MONTHS.get(index)).copied().unwrap_or_default()
    }

    fn count(&self, count: u32) -> String {
        if count == 1 { "en gång".to_owned() } else { format!("{count} gånger") }
    }

    fn listed(&self, count: usize) -> String {
        format!("vid {count} listade tider")
    }
}

/// `den första måndagen`, `den tredje måndagen från slutet`; the noun has its blank before it.
fn counted(position: i16, noun: &str) -> String {
    let count = position.unsigned_abs();
    let word = match count {
        1 => "första".to_owned(),
        2 => "andra".to_owned(),
        3 => "tredje".to_owned(),
        4 => "fjärde".to_owned(),
        5 => "femte".to_owned(),
        count => ordinal(count),
    };
    match (position > 0, count) {
        (true, _) => format!("den {word}{noun}"),
        (false, 1) => format!("den sista{noun}"),
        (false, 2) => format!("den näst sista{noun}"),
        (false, _) => format!("den {word}{noun} från slutet"),
    }
}

/// `1:a`, `3:e`, `11:e`, `21:a`.
fn ordinal(number: u16) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11 | 12) => "e",
        (1 | 2, _) => "a",
        _ => "e",
    };
    format!("{number}:{ending}")
}
