//! Swedish vocabulary of spoken text.

use super::vocabulary::{Abbreviations, NONE, Vocabulary};

pub(super) static VOCABULARY: Vocabulary = Vocabulary {
    units: UNITS,
    currencies: &[('€', "euro", "euro"), ('$', "dollar", "dollar"), ('£', "pund", "pund")],
    abbreviations: Abbreviations {
        anywhere: ABBREVIATIONS,
        before_number: BEFORE_NUMBER,
        ends: &[
            "m.m", "mm", "osv", "o.s.v", "etc", "m.fl", "e.d", "o.d", "mån", "tis", "tors", "fre", "lör",
            "sön",
        ],
        names: &[("S:t", "Sankt", ""), ("S:ta", "Sankta", ""), ("St", "Sankt", "")],
    },
    calls: &["ring", "ringa", "tel", "telefon", "telefonnummer", "nummer", "larmnummer", "sms", "slå"],
    numbers: &["113 13", "11313", "114 14", "11414", "116 117", "1177"],
    clocks: &["kl", "klockan"],
    spelled: SPELLED,
    months: Some(&[
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
    ]),
    dates: &["den", "måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
    time: Some(time),
    to: "till",
    minus: "minus",
    ..NONE
};

fn time(hour: u8, minute: u8) -> String {
    match minute {
        0 => format!("{hour} noll noll"),
        1..=9 => format!("{hour} noll {minute}"),
        _ => format!("{hour} och {minute}"),
    }
}

#[rustfmt::skip]
const UNITS: &[(&str, &str, &str)] = &[
    ("%", "procent", "procent"), ("‰", "promille", "promille"),
    ("km/h", "kilometer i timmen", "kilometer i timmen"), ("km/tim", "kilometer i timmen", "kilometer i timmen"),
    ("m/s", "meter per sekund", "meter per sekund"), ("km²", "kvadratkilometer", "kvadratkilometer"),
    ("m²", "kvadratmeter", "kvadratmeter"), ("m³", "kubikmeter", "kubikmeter"),
    ("km", "kilometer", "kilometer"), ("m", "meter", "meter"), ("dm", "decimeter", "decimeter"),
    ("cm", "centimeter", "centimeter"), ("mm", "millimeter", "millimeter"), ("mil", "mil", "mil"),
    ("kg", "kilo", "kilo"), ("hg", "hekto", "hekto"), ("g", "gram", "gram"), ("mg", "milligram", "milligram"),
    ("l", "liter", "liter"), ("dl", "deciliter", "deciliter"), ("cl", "centiliter", "centiliter"),
    ("ml", "milliliter", "milliliter"), ("°C", "grad Celsius", "grader Celsius"), ("°", "grad", "grader"),
    ("ha", "hektar", "hektar"), ("hPa", "hektopascal", "hektopascal"), ("kW", "kilowatt", "kilowatt"),
    ("MW", "megawatt", "megawatt"), ("kV", "kilovolt", "kilovolt"), ("kr", "krona", "kronor"),
    ("SEK", "krona", "kronor"), ("EUR", "euro", "euro"), ("€", "euro", "euro"), ("USD", "dollar", "dollar"),
    ("st", "styck", "stycken"), ("h", "timme", "timmar"), ("tim", "timme", "timmar"),
    ("min", "minut", "minuter"), ("sek", "sekund", "sekunder"), ("s", "sekund", "sekunder"),
];

#[rustfmt::skip]
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("t.ex", "till exempel"), ("bl.a", "bland annat"),
    ("m.m", "med mera"), ("m.fl", "med flera"), ("d.v.s", "det vill säga"), ("dvs", "det vill säga"),
    ("o.s.v", "och så vidare"), ("osv", "och så vidare"), ("s.k", "så kallad"), ("p.g.a", "på grund av"),
    ("pga", "på grund av"), ("fr.o.m", "från och med"), ("t.o.m", "till och med"),
    ("f.n", "för närvarande"), ("f.d", "före detta"), ("ca", "cirka"),
    ("c:a", "cirka"), ("resp", "respektive"), ("inkl", "inklusive"), ("exkl", "exklusive"),
    ("ev", "eventuellt"), ("e.d", "eller dylikt"), ("o.d", "och dylikt"), ("tel", "telefon"),
    ("tfn", "telefon"), ("jfr", "jämför"), ("etc", "et cetera"),
    ("ang", "angående"), ("avd", "avdelning"), ("g:a", "gamla"), ("m.a.o", "med andra ord"),
    ("temp", "temperatur"), ("mån.", "måndag"), ("tis.", "tisdag"),
    ("tors.", "torsdag"), ("fre.", "fredag"), ("lör.", "lördag"), ("sön.", "söndag"),
];

const BEFORE_NUMBER: &[(&str, &str)] = &[
    ("kl", "klockan"),
    ("nr", "nummer"),
    ("v", "vecka"),
    ("rv", "riksväg"),
    ("lv", "länsväg"),
    ("ank", "anknytning"),
    ("lgh", "lägenhet"),
    ("max", "högst"),
    ("min", "minst"),
    ("s.", "sidan"),
];

#[rustfmt::skip]
const SPELLED: &[&str] = &[
    "AB", "AKU", "ATG", "BVC", "EKG", "EU", "FN", "ID", "IT", "IVA", "LVU", "MSB", "PA", "SOS", "SOU", "TV",
    "UD", "UK", "UNT", "USA", "VA", "VD", "VMA",
];
