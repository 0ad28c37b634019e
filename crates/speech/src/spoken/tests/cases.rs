//! Tables of cases: a text, and how it is read.

use super::read;

fn check(language: &str, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let told = read(language, text);
        assert_eq!(told, *expected, "{language}: {text:?}");
        assert_eq!(read(language, &told), told, "{language}: once more");
    }
}

#[test]
fn ends_of_lines_are_pauses_and_blanks_are_folded() {
    check(
        "en",
        &[
            ("Fire in hall B\nGo out", "Fire in hall B. Go out"),
            ("Fire!\r\n\r\n  Go\u{a0} out  \n", "Fire! Go out"),
            ("Bring:\n- water\n• a torch,\n– blankets", "Bring: water. a torch. blankets"),
            ("Wait\u{2028}here\t now", "Wait. here now"),
            ("Stay – inside", "Stay, inside"),
            ("Stay—inside", "Stay, inside"),
            ("Really?! Go... now!!", "Really? Go. now!"),
            ("", ""),
            ("\n \n", ""),
        ],
    );
}

#[test]
fn control_and_invisible_characters_pictures_and_markup_are_left_out() {
    check(
        "en",
        &[
            ("Go\u{200b} o\u{ad}ut\u{7}\u{1b}", "Go out"),
            ("\u{202e}Fire\u{202c} ⚠️🔥 now 👨‍👩‍👧", "Fire now"),
            ("<speak>Fire &amp; smoke</speak>", "speak Fire and amp; smoke speak"),
            ("[[fai@]] *Go* _out_ `now`", "fai@. Go out now"),
            ("\"Go\" “out” «now»", "Go out now"),
            ("Don’t go", "Don't go"),
            ("Hall (B) () [x]", "Hall (B) x."),
            ("and/or", "and or"),
            ("call 555-0123 / 555-0199", "call 5 5 5, 0 1 2 3, 555-0199"),
            ("Smoke & fire, Smith&Son", "Smoke and fire, Smith and Son"),
        ],
    );
    check("tlh", &[("a & b", "a b")]);
}

#[test]
fn the_mark_of_a_drill_is_a_sentence_of_its_own() {
    check(
        "sv",
        &[("[ÖVNING] Läs mer: https://x.example/a\n\n(https://x.example)\nGå ut", "Övning. Läs mer: Gå ut")],
    );
    check("en", &[("[EXERCISE] Fire", "Exercise. Fire")]);
    check("tr", &[("[TATBİKAT] Yangın", "TATBİKAT. Yangın")]);
}

#[test]
fn links_are_left_out_and_names_of_sites_are_read() {
    check(
        "en",
        &[
            ("Read https://example.org/a?b=1#c.", "Read."),
            ("See www.example.org now", "See now"),
            ("See (http://example.org), then go", "See, then go"),
            ("See example.org/fire", "See"),
            ("See example.org", "See example dot org"),
            ("Go out.Now", "Go out.Now"),
            ("mailto:a@example.org or b_c@example.org", "or b c at example dot org"),
        ],
    );
    check("sv", &[("Se krisinformation.se.", "Se krisinformation punkt se.")]);
    check("de", &[("Siehe feuer.de", "Siehe feuer Punkt de")]);
    check("tlh", &[("a@example.org", "a@example.org")]);
}

#[test]
fn telephone_numbers_are_read_digit_by_digit_in_groups() {
    check(
        "en",
        &[
            ("Call +46 70 123 45 67.", "Call plus 4 6, 7 0, 1 2 3, 4 5, 6 7."),
            ("+46701234567", "plus 4 6 7, 0 1 2, 3 4 5, 6 7"),
            ("+44 (0)20 7946 0958", "plus 4 4, 2 0, 7 9 4 6, 0 9 5 8"),
            ("(555) 555-0123 now", "5 5 5, 5 5 5, 0 1 2 3 now"),
            ("1-800-555-0123", "1, 8 0 0, 5 5 5, 0 1 2 3"),
            ("call 911, dial 1177", "call 9 1 1, dial 1 1 7 7"),
            ("tel:+4687654321", "plus 4 6 8, 7 6 5, 4 3, 2 1"),
            ("911 people", "911 people"),
            ("07/12/2026", "07/12/2026"),
            ("100-200 people", "100-200 people"),
            ("order 12345678", "order 12345678"),
        ],
    );
    check(
        "sv",
        &[
            ("Ring 112", "Ring 1 1 2"),
            ("Tel. 08-123 456 78", "Telefon 0 8, 1 2 3, 4 5 6, 7 8"),
            ("0701234567", "0 7 0, 1 2 3, 4 5, 6 7"),
            ("Ring 112, annars 113 13.", "Ring 1 1 2, annars 1 1 3, 1 3."),
            ("1177 vet, 113 personer", "1 1 7 7 vet, 113 personer"),
            ("(08) 123 456", "0 8, 1 2 3, 4 5 6"),
        ],
    );
    check("de", &[("+49 30 123456", "plus 4 9, 3 0, 1 2 3, 4 5 6")]);
    check("ar", &[("اتصل ٠١٢٣٤٥٦٧", "اتصل ٠ ١ ٢, ٣ ٤ ٥, ٦ ٧")]);
    check("tlh", &[("+46 70 123 45 67", "+ 4 6, 7 0, 1 2 3, 4 5, 6 7")]);
}

#[test]
fn times_and_dates_are_read_in_words() {
    check(
        "en",
        &[
            ("at 18:30", "at 18 30"),
            ("at 18:00.", "at 18 o'clock."),
            ("06:05", "6 oh 5"),
            ("from 18:30-19:00", "from 18 30 to 19 o'clock"),
            ("6pm, 6:30 p.m. and 7.15am", "6 P M, 6 30 P M. and 7 15 A M"),
            ("on 2026-11-28", "on 28 November 2026"),
            ("score 25:30 and 2026-13-28", "score 25:30 and 2026-13-28"),
            ("18:30:00", "18 30"),
        ],
    );
    check(
        "sv",
        &[
            ("kl. 18.30", "klockan 18 och 30"),
            ("Kl 18.00–19.05", "Klockan 18 noll noll till 19 noll 5"),
            ("08:15", "8 och 15"),
            ("den 28/11", "den 28 november"),
            ("fredag 1/5", "fredag 1 maj"),
            ("1/2 liter", "1/2 liter"),
            ("2026-05-01", "1 maj 2026"),
            ("version 18.30", "version 18.30"),
        ],
    );
    check("de", &[("um 18:30 am 2026-11-28", "um 18:30 am 2026-11-28")]);
}

#[test]
fn numbers_with_units_are_read_in_words() {
    check(
        "en",
        &[
            ("5 km", "5 kilometres"),
            ("1km", "1 kilometre"),
            ("2.5 m, 300mm", "2.5 metres, 300 millimetres"),
            ("30%", "30 percent"),
            ("-5 °C", "minus 5 degrees Celsius"),
            ("−5", "minus 5"),
            ("25m/s", "25 metres per second"),
            ("80 km/h.", "80 kilometres per hour."),
            ("20 kg and 500 kr", "20 kilograms and 500 kronor"),
            ("€5 or $1", "5 euros or 1 dollar"),
            ("5–10 km", "5 to 10 kilometres"),
            ("5-10 min", "5 to 10 minutes"),
            ("rooms 5-10", "rooms 5-10"),
            ("5 people", "5 people"),
        ],
    );
    check(
        "sv",
        &[
            ("1 kr", "1 krona"),
            ("500 kr", "500 kronor"),
            ("18 m/s", "18 meter per sekund"),
            ("-15°C", "minus 15 grader Celsius"),
            ("2,5 km", "2,5 kilometer"),
            ("ca 30 %", "cirka 30 procent"),
            ("10–15 mm", "10 till 15 millimeter"),
            ("-5–10 °C", "minus 5 till 10 grader Celsius"),
            ("3 st", "3 stycken"),
            ("5 min.", "5 minuter."),
        ],
    );
    check("fi", &[("5 km", "5 km")]);
}

#[test]
fn names_of_roads_are_spelled_and_named() {
    check(
        "en",
        &[
            ("the M25 and I-95", "the M 25 and I 95"),
            ("Main St closed", "Main Street closed"),
            ("at 12 Mill Rd.", "at 12 Mill Road."),
            ("in St Mary St", "in Saint Mary Street"),
            ("Call St Mary", "Call Saint Mary"),
            ("Dr. Ek on Park Ave", "Doctor Ek on Park Avenue"),
            ("COVID19", "COVID19"),
        ],
    );
    check(
        "sv",
        &[
            ("E4 och E4:an", "E 4 och E 4 an"),
            ("Rv 40 vid S:t Olof", "Riksväg 40 vid Sankt Olof"),
            ("väg E20.", "väg E 20."),
        ],
    );
    check("fi", &[("E18", "E 18")]);
}

#[test]
fn abbreviations_are_read_in_words() {
    check(
        "en",
        &[
            ("approx. 5 people", "approximately 5 people"),
            ("Bring e.g. water, food etc.", "Bring for example water, food et cetera."),
            ("Food etc. Go now", "Food et cetera. Go now"),
            ("Approx 5", "Approximately 5"),
            ("No. 5, there is no 6", "Number 5, there is no 6"),
            ("i.e. now", "that is now"),
        ],
    );
    check(
        "sv",
        &[
            ("T.ex. vatten, bl.a. mat m.m.", "Till exempel vatten, bland annat mat med mera."),
            ("ca 5, c:a 6", "cirka 5, cirka 6"),
            ("p.g.a. brand", "på grund av brand"),
            ("fr.o.m. måndag t.o.m. fredag", "från och med måndag till och med fredag"),
            ("hus nr 5 v. 48", "hus nummer 5 vecka 48"),
            ("mat osv. Gå ut", "mat och så vidare. Gå ut"),
            ("till fre. Frågor mån. 30", "till fredag. Frågor måndag 30"),
        ],
    );
    check("de", &[("z.B. Wasser", "z.B. Wasser")]);
}

#[test]
fn words_of_capitals_are_spelled_or_read() {
    check(
        "en",
        &[
            ("Listen to BBC", "Listen to B B C"),
            ("The UN's men", "The U N's men"),
            ("Do NOT go", "Do Not go"),
            ("GO OUT NOW IT IS ON FIRE", "Go Out Now It Is On Fire"),
            ("the EU, US and UN", "the E U, U S and U N"),
            ("NATO is not the FBI", "Nato is not the F B I"),
            ("A dog", "A dog"),
            ("McDonald iPhone", "McDonald iPhone"),
        ],
    );
    check(
        "sv",
        &[
            ("VMA från MSB och SMHI", "V M A från M S B och S M H I"),
            ("EU:s råd", "E U:s råd"),
            ("VIKTIGT MEDDELANDE", "Viktigt Meddelande"),
        ],
    );
    check("ru", &[("МЧС ПОЖАР", "М Ч С Пожар"), ("Пожар", "Пожар")]);
    check("tr", &[("TRT YANGIN", "T R T YANGIN")]);
    check("ar", &[("حريق في المبنى", "حريق في المبنى")]);
}
