//! Courtesies around what people mean: greetings before it, thanks and a signature behind it.

use super::fold::{fold, words};
use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// What people say beside a STOP.
const THANKS: &[&str] = &[
    "thanks",
    "thank you",
    "thank you very much",
    "thx",
    "ty",
    "please",
    "pls",
    "plz",
    "kindly",
    "cheers",
    "sorry",
    "now",
    "ok",
    "hi",
    "hello",
    "dear sir",
    "dear sir or madam",
    "regards",
    "best regards",
    "kind regards",
    "bye",
    "sir",
    "madam",
    "tack",
    "tack så mycket",
    "snälla",
    "hej",
    "mvh",
    "vänliga hälsningar",
    "tak",
    "venligst",
    "hilsen",
    "takk",
    "vennlig hilsen",
    "kiitos",
    "hei",
    "moi",
    "danke",
    "danke schön",
    "vielen dank",
    "bitte",
    "hallo",
    "mfg",
    "merci",
    "merci beaucoup",
    "svp",
    "s'il vous plaît",
    "s'il te plaît",
    "bonjour",
    "cordialement",
    "bedankt",
    "dank u",
    "dank je",
    "alstublieft",
    "graag",
    "gracias",
    "muchas gracias",
    "por favor",
    "hola",
    "saludos",
    "obrigado",
    "obrigada",
    "olá",
    "grazie",
    "per favore",
    "ciao",
    "dziękuję",
    "proszę",
    "děkuji",
    "prosím",
    "спасибо",
    "пожалуйста",
    "дякую",
    "teşekkürler",
    "lütfen",
    "شكرا",
];

/// What stands on the line before an answer in a mail.
const GREETINGS: &[&str] = &[
    "hi",
    "hello",
    "hello there",
    "hey",
    "hi all",
    "hi there",
    "dear all",
    "dear sir",
    "dear sir or madam",
    "dear sirs",
    "good morning",
    "good day",
    "good afternoon",
    "good evening",
    "to whom it may concern",
    "hej",
    "hejsan",
    "hallå",
    "god morgon",
    "god dag",
    "goddag",
    "god kväll",
    "godmorgen",
    "hei",
    "moi",
    "terve",
    "hyvää päivää",
    "hallo",
    "guten morgen",
    "guten tag",
    "guten abend",
    "grüß gott",
    "servus",
    "moin",
    "sehr geehrte damen und herren",
    "liebe alle",
    "bonjour",
    "bonsoir",
    "salut",
    "madame monsieur",
    "hola",
    "buenos días",
    "buenas tardes",
    "buenas noches",
    "buenas",
    "olá",
    "bom dia",
    "boa tarde",
    "boa noite",
    "ciao",
    "buongiorno",
    "buonasera",
    "salve",
    "goedemorgen",
    "goedemiddag",
    "goedenavond",
    "beste",
    "cześć",
    "dzień dobry",
    "witam",
    "dobrý den",
    "ahoj",
    "здравствуйте",
    "привет",
    "добрый день",
    "merhaba",
    "你好",
    "こんにちは",
    "안녕하세요",
];

/// Words with which a line of greeting begins, before a name.
const GREETING_BEGINNINGS: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "dear",
    "hej",
    "hejsan",
    "kära",
    "bästa",
    "kære",
    "kjære",
    "hei",
    "moi",
    "hyvä",
    "hallo",
    "liebe",
    "lieber",
    "sehr geehrte",
    "sehr geehrter",
    "guten tag",
    "guten morgen",
    "guten abend",
    "bonjour",
    "cher",
    "chère",
    "salut",
    "hola",
    "estimado",
    "estimada",
    "querido",
    "querida",
    "olá",
    "prezado",
    "prezada",
    "caro",
    "cara",
    "gentile",
    "ciao",
    "buongiorno",
    "beste",
    "geachte",
    "cześć",
    "szanowni",
    "dzień dobry",
    "dobrý den",
    "vážení",
    "уважаемые",
    "merhaba",
];

/// Beginnings of the line behind an answer from which on nothing is meant.
const CLOSINGS: &[&str] = &[
    "best regards",
    "kind regards",
    "warm regards",
    "regards",
    "best wishes",
    "best",
    "cheers",
    "yours sincerely",
    "yours faithfully",
    "yours truly",
    "sincerely",
    "thanks",
    "thank you",
    "many thanks",
    "thx",
    "br",
    "kr",
    "sent from",
    "med vänlig hälsning",
    "med vänliga hälsningar",
    "vänliga hälsningar",
    "hälsningar",
    "mvh",
    "tack",
    "med venlig hilsen",
    "venlig hilsen",
    "vennlig hilsen",
    "med vennlig hilsen",
    "hilsen",
    "mange tak",
    "takk",
    "ystävällisin terveisin",
    "terveisin",
    "terv",
    "mit freundlichen grüßen",
    "freundliche grüße",
    "viele grüße",
    "beste grüße",
    "liebe grüße",
    "grüße",
    "gruß",
    "mfg",
    "lg",
    "danke",
    "cordialement",
    "bien cordialement",
    "merci",
    "saludos",
    "atentamente",
    "gracias",
    "cumprimentos",
    "obrigado",
    "cordiali saluti",
    "grazie",
    "met vriendelijke groet",
    "pozdrawiam",
];

/// A line of greeting has a few words at most, a signature's too.
const GREETING_WORDS_MAX: usize = 6;

/// Phrases in folded form, as words joined by blanks.
pub(super) struct Phrases {
    all: FxHashSet<String>,
    longest: usize,
}

impl Phrases {
    fn of(list: &[&str]) -> Phrases {
        let all: FxHashSet<String> = list.iter().map(|phrase| in_words(phrase)).collect();
        let longest = all.iter().map(|phrase| phrase.split(' ').count()).max().unwrap_or(0);
        Phrases { all, longest }
    }

    /// Words of the longest.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    fn begin(&self, line: &[&str]) -> bool {
        (1..=self.longest.min(line.len())).any(|count| self.all.contains(&line[..count].join(" ")))
    }
}

pub(super) static COURTESIES: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(THANKS));
static GREETED: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(GREETINGS));
static BEGUN: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(GREETING_BEGINNINGS));
static CLOSED: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(CLOSINGS));

fn in_words(phrase: &str) -> String {
    words(&fold(phrase)).collect::<Vec<_>>().join(" ")
}

/// Whether these words together are a courtesy.
pub(super) fn is_courtesy(said: &[&str]) -> bool {
    COURTESIES.all.contains(&said.join(" "))
}

/// Whether a folded line greets, and says nothing else: `hello`, `dear city of x,`. A greeting with a name
/// ends with a comma, a colon or an exclamation mark, and has no digit: `hi 2` is none.
pub(super) fn is_greeting(folded: &str) -> bool {
    let line: Vec<&str> = words(folded).take(GREETING_WORDS_MAX + 1).collect();
    if line.is_empty() || line.len() > GREETING_WORDS_MAX {
        return false;
    }
    let has_end = folded.trim_end().ends_with([',', '!', ':', '،', '、']);
    let has_digit = folded.bytes().any(|octet| octet.is_ascii_digit());
    GREETED.all.contains(&line.join(" ")) || has_end && !has_digit && BEGUN.begin(&line)
}

/// Whether a folded line is a greeting without a name.
pub(super) fn is_plain_greeting(folded: &str) -> bool {
    GREETED.all.contains(&words(folded).collect::<Vec<_>>().join(" "))
}

/// Whether a folded line may greet somebody by name without a comma, as `hello city of x`: that is known by
/// the answer behind it.
pub(super) fn may_greet(folded: &str) -> bool {
    let line: Vec<&str> = words(folded).take(GREETING_WORDS_MAX + 1).collect();
    let has_digit = folded.bytes().any(|octet| octet.is_ascii_digit());
    !has_digit && line.len() <= GREETING_WORDS_MAX && BEGUN.begin(&line)
}

/// Whether a folded line begins a signature: `best regards`, `/ann`, `--`, `// ann`.
pub(super) fn is_closing(folded: &str) -> bool {
    let line = folded.trim();
    if line.starts_with("--") || line.starts_with('/') || line.starts_with("__") || line == "—" {
        return true;
    }
    let line: Vec<&str> = words(line).take(GREETING_WORDS_MAX + 1).collect();
    !line.is_empty() && line.len() <= GREETING_WORDS_MAX && CLOSED.begin(&line)
}
