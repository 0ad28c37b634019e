//! Instructions among the sentences of a text: what its readers are to do, which a short text must keep.

use crate::courtesies::begins_with;

/// First words of sentences that say what to do, in small letters as ASCII spells them; by language.
#[rustfmt::skip]
const FIRST_WORDS: [&[&str]; 12] = [
    // English
    &["leave", "go", "stay", "evacuate", "do", "don", "never", "close", "shut", "keep", "move", "avoid", "call",
      "take", "seek", "shelter", "boil", "turn", "open", "remain", "report", "wait", "await", "use", "stop", "come",
      "follow", "listen", "lock", "run", "hide", "please", "reply", "answer", "drink", "switch", "drop", "cover",
      "check", "bring", "return", "meet", "gather", "assemble", "get", "exit", "proceed", "prepare", "watch",
      "drive", "walk", "climb", "phone", "dial", "contact", "confirm", "help", "protect", "limit", "you", "all"],
    // Swedish
    &["lamna", "ga", "stanna", "stang", "hall", "ring", "undvik", "sok", "koka", "lyssna", "folj", "ta", "anvand",
      "oppna", "utrym", "kom", "invanta", "vanligen", "svara", "las", "bege", "var", "flytta", "samlas", "drick"],
    // Danish, Norwegian
    &["forlad", "forlat", "bliv", "bli", "luk", "lukk", "hold", "undga", "unnga", "sog", "kog", "kok", "lyt",
      "folg", "tag", "brug", "bruk", "kobl", "svar", "vent"],
    // German
    &["verlassen", "gehen", "bleiben", "schliessen", "halten", "meiden", "rufen", "suchen", "kochen", "folgen",
      "nehmen", "bitte", "begeben", "horen", "warten", "antworten", "offnen", "schalten", "trinken", "nutzen",
      "benutzen", "achten", "vermeiden"],
    // French
    &["quittez", "allez", "restez", "fermez", "evitez", "appelez", "ne", "faites", "suivez", "evacuez", "gardez",
      "veuillez", "ecoutez", "attendez", "repondez", "utilisez", "rejoignez", "eloignez", "abritez", "rentrez"],
    // Spanish, Portuguese
    &["salga", "evacue", "vaya", "permanezca", "cierre", "evite", "llame", "siga", "busque", "mantenga", "mantengase",
      "no", "por", "espere", "responda", "dirijase", "hierva", "use", "quede", "quedese", "saia", "va", "fique",
      "feche", "ligue", "nao", "procure", "mantenha", "ferva", "aguarde"],
    // Italian
    &["lasciate", "lasciare", "andate", "andare", "restate", "restare", "rimanete", "chiudete", "chiudere",
      "evitate", "evitare", "chiamate", "seguite", "seguire", "non", "uscite", "tenete", "bollire", "rispondete"],
    // Dutch
    &["verlaat", "ga", "blijf", "sluit", "vermijd", "bel", "volg", "houd", "zoek", "kook", "luister", "wacht",
      "gebruik", "kom", "antwoord"],
    // Finnish
    &["poistu", "poistukaa", "mene", "menkaa", "pysy", "pysykaa", "sulje", "sulkekaa", "valta", "valttakaa",
      "soita", "seuraa", "seuratkaa", "keita", "odota", "ala", "alkaa", "siirry", "siirtykaa", "vastaa"],
    // Polish, Czech
    &["opusc", "opuscic", "idz", "pozostan", "zostan", "zamknij", "unikaj", "zadzwon", "nie", "prosze", "opustte",
      "jdete", "zustante", "zavrete", "vyhnete", "volejte", "prosim"],
    // Russian, Ukrainian
    &["pokinte", "idite", "ostavaytes", "zakroyte", "izbegayte", "zvonite", "sleduyte", "ne",
      "zalyshte", "zalyshaytesya", "zachynit", "unykayte", "proydite", "ukroytes"],
    // Turkish
    &["lutfen", "terk", "tahliye"],
];

/// What such sentences have in them in scripts without blanks, and in Korean.
const PARTS: [&str; 8] = ["ください", "下さい", "しないで", "请", "請", "십시오", "세요", "마시오"];

/// Whether a sentence says what to do.
pub(super) fn is_instruction(sentence: &str) -> bool {
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    FIRST_WORDS.iter().any(|words| begins_with(sentence, words))
        || !sentence.is_ascii() && PARTS.iter().any(|part| sentence.contains(part))
}
