//! English vocabulary of spoken text.

use super::vocabulary::{Abbreviations, NONE, Vocabulary};

pub(super) static VOCABULARY: Vocabulary = Vocabulary {
    units: UNITS,
    currencies: &[('€', "euro", "euros"), ('$', "dollar", "dollars"), ('£', "pound", "pounds")],
    abbreviations: Abbreviations {
        anywhere: ABBREVIATIONS,
        before_number: BEFORE_NUMBER,
        ends: &["etc", "asap", "mon", "tue", "tues", "wed", "thu", "thurs", "fri"],
        names: NAMES,
    },
    calls: &["call", "dial", "phone", "telephone", "ring", "tel", "number", "sms", "text"],
    clocks: &[],
    spelled: SPELLED,
    months: Some(&[
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
    ]),
    dates: &[],
    time: Some(time),
    to: "to",
    minus: "minus",
    ..NONE
};

/// By 24 hours, as it is written.
fn time(hour: u8, minute: u8) -> String {
    match minute {
        0 => format!("{hour} o'clock"),
        1..=9 => format!("{hour} oh {minute}"),
        _ => format!("{hour} {minute}"),
    }
}

#[rustfmt::skip]
const UNITS: &[(&str, &str, &str)] = &[
    ("%", "percent", "percent"), ("‰", "per mille", "per mille"),
    ("km/h", "kilometre per hour", "kilometres per hour"), ("kph", "kilometre per hour", "kilometres per hour"),
    ("mph", "mile per hour", "miles per hour"), ("m/s", "metre per second", "metres per second"),
    ("km²", "square kilometre", "square kilometres"), ("m²", "square metre", "square metres"),
    ("m³", "cubic metre", "cubic metres"), ("km", "kilometre", "kilometres"), ("m", "metre", "metres"),
    ("dm", "decimetre", "decimetres"), ("cm", "centimetre", "centimetres"), ("mm", "millimetre", "millimetres"),
    ("mi", "mile", "miles"), ("ft", "foot", "feet"), ("yd", "yard", "yards"), ("yds", "yard", "yards"),
    ("kg", "kilogram", "kilograms"), ("g", "gram", "grams"), ("mg", "milligram", "milligrams"),
    ("lb", "pound", "pounds"), ("lbs", "pound", "pounds"), ("oz", "ounce", "ounces"),
    ("l", "litre", "litres"), ("dl", "decilitre", "decilitres"), ("ml", "millilitre", "millilitres"),
    ("°C", "degree Celsius", "degrees Celsius"), ("°F", "degree Fahrenheit", "degrees Fahrenheit"),
    ("°", "degree", "degrees"), ("ha", "hectare", "hectares"), ("hPa", "hectopascal", "hectopascals"),
    ("kW", "kilowatt", "kilowatts"), ("MW", "megawatt", "megawatts"), ("kV", "kilovolt", "kilovolts"),
    ("kr", "krona", "kronor"), ("SEK", "Swedish krona", "Swedish kronor"), ("EUR", "euro", "euros"),
    ("€", "euro", "euros"), ("USD", "US dollar", "US dollars"), ("GBP", "pound", "pounds"),
    ("h", "hour", "hours"), ("hr", "hour", "hours"), ("hrs", "hour", "hours"),
    ("min", "minute", "minutes"), ("mins", "minute", "minutes"), ("sec", "second", "seconds"),
    ("secs", "second", "seconds"), ("s", "second", "seconds"),
];

#[rustfmt::skip]
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("approx", "approximately"), ("e.g", "for example"), ("eg", "for example"), ("i.e", "that is"),
    ("etc", "et cetera"), ("incl", "including"), ("excl", "excluding"), ("asap", "as soon as possible"),
    ("dept", "department"), ("depts", "departments"), ("govt", "government"), ("bldg", "building"),
    ("hosp", "hospital"), ("msg", "message"), ("tel", "telephone"),
    ("temp", "temperature"), ("vs", "versus"), ("w/o", "without"), ("w/", "with"),
    ("mr", "Mister"), ("mrs", "Missis"), ("prof", "Professor"), ("opp.", "opposite"),
    ("jct", "junction"), ("mon.", "Monday"), ("tue.", "Tuesday"),
    ("tues.", "Tuesday"), ("wed.", "Wednesday"), ("thu.", "Thursday"), ("thurs.", "Thursday"), ("fri.", "Friday"),
];

const BEFORE_NUMBER: &[(&str, &str)] = &[
    ("no.", "number"),
    ("nos.", "numbers"),
    ("ext", "extension"),
    ("rm", "room"),
    ("apt", "apartment"),
    ("fl.", "floor"),
    ("p.", "page"),
    ("ca", "about"),
    ("c.", "about"),
    ("max", "at most"),
    ("min", "at least"),
    ("rte", "route"),
    ("hwy", "highway"),
    ("jn", "junction"),
    ("jct", "junction"),
];

const NAMES: &[(&str, &str, &str)] = &[
    ("St", "Saint", "Street"),
    ("Dr", "Doctor", "Drive"),
    ("Rd", "", "Road"),
    ("Ave", "", "Avenue"),
    ("Blvd", "", "Boulevard"),
    ("Ln", "", "Lane"),
    ("Sq", "", "Square"),
    ("Ct", "", "Court"),
    ("Pkwy", "", "Parkway"),
    ("Hwy", "Highway", "Highway"),
    ("Mt", "Mount", ""),
    ("Ft", "Fort", ""),
];

#[rustfmt::skip]
const SPELLED: &[&str] = &[
    "AED", "AI", "AM", "AC", "BBC", "CEO", "CIA", "CO", "CPR", "DOB", "EMS", "EPA", "ER", "ETA", "EU", "FAQ",
    "FBI", "HQ", "ICU", "ID", "IT", "MOD", "NHS", "OAP", "PA", "POB", "SOS", "SUV", "TV", "UK", "UN",
    "US", "USA", "UPS", "VIP",
];
