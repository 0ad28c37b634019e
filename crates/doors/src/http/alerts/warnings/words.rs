//! Words by which a text's language, its instruction and its place are recognised, for the languages that the
//! lint knows.

/// The words of a language, in small letters.
#[derive(Debug)]
pub(super) struct LanguageWords {
    pub tag: &'static str,
    /// Words of nearly every sentence.
    function: &'static [&'static str],
    /// Verbs as they tell people to do something, or not to.
    instructions: &'static [&'static str],
    /// Nouns of places, and directions.
    places: &'static [&'static str],
    /// Words before a place's name.
    prepositions: &'static [&'static str],
    /// A word with more letters is long: languages that join nouns have longer ones.
    pub long: usize,
}

/// A text of fewer words is too short to tell its language.
const SHORT_WORDS: usize = 6;

const LANGUAGES: [LanguageWords; 4] = [
    LanguageWords {
        tag: "en",
        function: &[
            "the", "and", "is", "are", "of", "to", "in", "on", "your", "you", "for", "with", "has", "not",
            "from",
        ],
        instructions: &[
            "leave", "stay", "go", "move", "evacuate", "avoid", "keep", "close", "open", "call", "wait",
            "do", "don't", "take", "follow", "remain", "report", "come", "gather", "check", "turn", "drink",
            "boil", "use", "seek", "shelter", "run", "lock", "answer", "reply", "please", "read", "listen",
            "tell", "help", "bring", "stop", "drive", "walk", "contact", "confirm", "ignore", "must",
            "should",
        ],
        places: &[
            "street", "road", "building", "floor", "hall", "room", "house", "school", "hospital", "station",
            "bridge", "harbour", "harbor", "river", "city", "town", "area", "district", "campus", "gate",
            "yard", "park", "square", "north", "south", "east", "west", "stairs", "exit", "site", "lab",
            "ward", "block", "avenue", "home", "indoors",
        ],
        prepositions: &[
            "in", "at", "near", "on", "from", "to", "around", "between", "outside", "behind", "by",
        ],
        long: 14,
    },
    LanguageWords {
        tag: "sv",
        function: &[
            "och", "är", "att", "det", "som", "på", "för", "med", "av", "till", "den", "inte", "ett", "har",
            "ni", "du",
        ],
        instructions: &[
            "lämna",
            "stanna",
            "gå",
            "utrym",
            "undvik",
            "håll",
            "stäng",
            "öppna",
            "ring",
            "vänta",
            "ta",
            "följ",
            "kom",
            "samlas",
            "kontrollera",
            "drick",
            "koka",
            "använd",
            "sök",
            "spring",
            "lås",
            "svara",
            "läs",
            "lyssna",
            "hjälp",
            "kör",
            "kontakta",
            "bekräfta",
            "gör",
            "bege",
            "flytta",
            "stig",
            "vänligen",
            "måste",
            "ska",
            "bör",
        ],
        places: &[
            "gata",
            "gatan",
            "väg",
            "vägen",
            "byggnad",
            "byggnaden",
            "huset",
            "hus",
            "våning",
            "våningen",
            "hall",
            "hallen",
            "rum",
            "rummet",
            "skola",
            "skolan",
            "sjukhus",
            "sjukhuset",
            "station",
            "stationen",
            "bro",
            "bron",
            "hamn",
            "hamnen",
            "staden",
            "stad",
            "området",
            "område",
            "torget",
            "torg",
            "gården",
            "parken",
            "norr",
            "söder",
            "öster",
            "väster",
            "norra",
            "södra",
            "östra",
            "västra",
            "trappan",
            "utgången",
            "hem",
            "hemma",
            "inomhus",
            "avdelning",
        ],
        prepositions: &[
            "i", "på", "vid", "från", "till", "nära", "kring", "mellan", "utanför", "bakom", "längs",
        ],
        long: 22,
    },
    LanguageWords {
        tag: "de",
        function: &[
            "der", "die", "das", "und", "ist", "sind", "nicht", "ein", "eine", "sie", "mit", "für", "auf",
            "im", "zu", "den",
        ],
        instructions: &[
            "verlassen",
            "bleiben",
            "bleibt",
            "gehen",
            "geht",
            "meiden",
            "halten",
            "haltet",
            "schließen",
            "schliessen",
            "öffnen",
            "rufen",
            "warten",
            "wartet",
            "nehmen",
            "folgen",
            "kommen",
            "kommt",
            "sammeln",
            "prüfen",
            "trinken",
            "kochen",
            "abkochen",
            "benutzen",
            "suchen",
            "laufen",
            "antworten",
            "lesen",
            "hören",
            "helfen",
            "fahren",
            "melden",
            "bestätigen",
            "bitte",
            "müssen",
            "sollen",
            "vermeiden",
            "begeben",
            "räumen",
            "evakuieren",
            "stellen",
        ],
        places: &[
            "straße",
            "strasse",
            "weg",
            "platz",
            "gebäude",
            "haus",
            "stock",
            "halle",
            "raum",
            "zimmer",
            "schule",
            "krankenhaus",
            "klinik",
            "bahnhof",
            "brücke",
            "hafen",
            "stadt",
            "gebiet",
            "bezirk",
            "tor",
            "hof",
            "park",
            "norden",
            "süden",
            "osten",
            "westen",
            "treppe",
            "ausgang",
            "station",
            "hause",
            "drinnen",
            "gelände",
            "fluss",
        ],
        prepositions: &[
            "in", "im", "am", "an", "bei", "auf", "aus", "von", "vom", "zum", "zur", "nach", "zwischen",
            "hinter",
        ],
        long: 26,
    },
    LanguageWords {
        tag: "fr",
        function: &[
            "le", "la", "les", "et", "est", "des", "une", "un", "du", "dans", "pour", "vous", "pas", "sur",
            "au", "que",
        ],
        instructions: &[
            "quittez",
            "restez",
            "allez",
            "évacuez",
            "évitez",
            "fermez",
            "ouvrez",
            "appelez",
            "attendez",
            "prenez",
            "suivez",
            "venez",
            "rassemblez",
            "vérifiez",
            "buvez",
            "bouillir",
            "utilisez",
            "cherchez",
            "courez",
            "répondez",
            "lisez",
            "écoutez",
            "aidez",
            "conduisez",
            "contactez",
            "confirmez",
            "veuillez",
            "devez",
            "sortez",
            "rentrez",
            "éloignez",
            "dirigez",
            "gardez",
            "mettez",
            "faites",
            "ignorez",
            "signalez",
        ],
        places: &[
            "rue",
            "route",
            "bâtiment",
            "étage",
            "salle",
            "maison",
            "école",
            "hôpital",
            "gare",
            "pont",
            "port",
            "ville",
            "quartier",
            "zone",
            "porte",
            "cour",
            "parc",
            "place",
            "nord",
            "sud",
            "ouest",
            "escalier",
            "escaliers",
            "sortie",
            "site",
            "domicile",
            "rivière",
            "avenue",
            "service",
            "hall",
            "intérieur",
        ],
        prepositions: &[
            "à",
            "au",
            "aux",
            "dans",
            "en",
            "près",
            "de",
            "du",
            "vers",
            "entre",
            "devant",
            "derrière",
            "chez",
            "sur",
        ],
        long: 16,
    },
];

impl LanguageWords {
    /// The words of a language, by its tag.
    pub(super) fn of_tag(tag: &str) -> Option<&'static LanguageWords> {
        let primary = tag.split('-').next().unwrap_or_default();
        LANGUAGES.iter().find(|language| language.tag.eq_ignore_ascii_case(primary))
    }

    /// Whether a word tells people to do something.
    pub(super) fn instructs(&self, word: &str) -> bool {
        self.instructions.contains(&word)
    }

    /// Whether a word is a place or a direction.
    pub(super) fn is_place(&self, word: &str) -> bool {
        self.places.contains(&word)
    }

    /// Whether a word stands before a place's name.
    pub(super) fn is_preposition(&self, word: &str) -> bool {
        self.prepositions.contains(&word)
    }
}

/// The languages that a text may be in: the one that it is in, all where it is too short to tell, none where
/// it is in none of them.
pub(super) fn candidates(text: &str) -> Vec<&'static LanguageWords> {
    match language_of(text) {
        Some(language) => vec![language],
        None if words(text).count() < SHORT_WORDS => LANGUAGES.iter().collect(),
        None => Vec::new(),
    }
}

/// The language of a text, by the words of nearly every sentence.
pub(super) fn language_of(text: &str) -> Option<&'static LanguageWords> {
    let words: Vec<String> = words(text).map(str::to_lowercase).collect();
    let count = |language: &LanguageWords| {
        words.iter().filter(|word| language.function.contains(&word.as_str())).count()
    };
    let best = LANGUAGES.iter().rev().max_by_key(|language| count(language))?;
    (count(best) > 0).then_some(best)
}

/// The words of a text: letters, with apostrophes and hyphens between them.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-')));
    pieces.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_its_small_words() {
        for (text, tag) in [
            ("Fire in hall 2. Leave the building.", Some("en")),
            ("Brand i hall 2. Lämna huset och gå till gården.", Some("sv")),
            ("Feuer in Halle 2. Verlassen Sie das Gebäude und warten Sie im Hof.", Some("de")),
            ("Incendie dans la salle 2. Quittez le bâtiment.", Some("fr")),
            ("Tulipalo salissa 2. Poistukaa rakennuksesta.", None),
            ("", None),
        ] {
            assert_eq!(language_of(text).map(|language| language.tag), tag, "{text}");
        }
    }
}
