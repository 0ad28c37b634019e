//! Texts that people get of infos: a line, a text, and a short message in each language.

mod letters;
mod plain;
#[cfg(test)]
mod tests;
mod words;

use self::letters::parts;
pub use self::plain::{plain_line, plain_text};
pub use self::words::Words;
use crate::alert::{Alert, Info, MsgType, ResponseType};
use crate::time::Timestamp;

/// Parts of a short message that what to do may take.
const PARTS_MAX: usize = 2;
/// Characters of an event or a description that stands for a headline.
const HEADLINE_MADE_MAX: usize = 160;
/// Characters of areas named in a text.
const AREAS_MAX: usize = 300;
/// Issuers' own texts for phones (IPAWS), the better one first.
const PHONE_TEXTS: [&str; 2] = ["CMAMtext", "CMAMlongtext"];

/// What is said in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The language as the infos name it, in lower case.
    pub language: String,
    /// One line, the subject of a mail.
    pub headline: String,
    /// The whole: description, instruction, where, until when, by whom.
    pub text: String,
    /// The same for a phone: in at most two parts of a short message where the headline leaves room for more.
    pub short: String,
}

/// What is said of these infos of an alert, by language, in the order of the infos. Infos of one language are
/// joined; `is_apart` says that they are about different areas and go to the same people, so that each names
/// its own.
pub fn told(alert: &Alert, infos: &[&Info], is_apart: bool) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for info in infos {
        let said = of_info(alert, info, is_apart);
        match all.iter_mut().find(|told| told.language == said.language) {
            Some(told) => {
                join(&mut told.headline, &said.headline, " / ");
                join(&mut told.text, &said.text, "\n\n");
                join(&mut told.short, &said.short, "\n");
            }
            None => all.push(said),
        }
    }
    all
}

/// Adds a part that is not there yet.
fn join(text: &mut String, part: &str, between: &str) {
    if !text.contains(part) {
        text.push_str(between);
        text.push_str(part);
    }
}

fn of_info(alert: &Alert, info: &Info, is_apart: bool) -> Told {
    let words = Words::of(&info.language);
    let plain = |text: &Option<String>| text.as_deref().map(plain_text).unwrap_or_default();
    let (description, instruction) = (plain(&info.description), plain(&info.instruction));
    let area = areas(info);
    let mut headline = headline(info, &description, &instruction);
    let over = over(alert, info, words);
    if let Some(word) = over.filter(|_| !words.say_over(&headline)) {
        headline = format!("{word}: {headline}");
    }
    if is_apart && !area.is_empty() && !headline.contains(&area) {
        headline = format!("{area}: {headline}");
    }
    let until = match over {
        None => info.expires.map(|end| words.until.replace("{}", &time(end, alert.sent))),
        Some(_) => None,
    };
    let ends = Ends {
        area: if is_apart { String::new() } else { area },
        until: until.unwrap_or_default(),
        sender: info.sender_name.as_deref().map(plain_line).unwrap_or_default(),
    };
    let short = match phone_text(info) {
        Some(text) if over.is_some() && !words.say_over(&text) => format!("{headline}. {text}"),
        Some(text) if is_apart => format!("{}: {text}", areas(info)).trim_start_matches(": ").to_owned(),
        Some(text) => text,
        None => short(&headline, &description, &instruction, &ends),
    };
    Told {
        language: info.language.to_lowercase(),
        text: text(&headline, &description, &instruction, is_apart, &ends),
        headline,
        short,
    }
}

/// The headline, else the event; a headline of one word, such as `Alert`, with the event behind it.
fn headline(info: &Info, description: &str, instruction: &str) -> String {
    let event = plain_line(&info.event);
    let headline = info.headline.as_deref().map(plain_line).unwrap_or_default();
    let says_nothing = is_bare(&headline) && !event.is_empty() && !same_words(&event, &headline);
    match (headline.is_empty(), event.is_empty()) {
        (false, _) if says_nothing => format!("{headline}: {event}"),
        (false, _) => headline,
        (true, false) => event,
        (true, true) => {
            let first = [description, instruction].into_iter().find_map(|text| text.lines().next());
            first.unwrap_or_default().chars().take(HEADLINE_MADE_MAX).collect()
        }
    }
}

/// One word of a script with spaces, and no more.
fn is_bare(headline: &str) -> bool {
    !headline.contains(' ') && headline.chars().all(|c| (c as u32) < 0x0E00)
}

fn same_words(event: &str, headline: &str) -> bool {
    event.to_lowercase().contains(&headline.to_lowercase())
        || headline.to_lowercase().contains(&event.to_lowercase())
}

/// The word for it, where a message says that it is over.
fn over(alert: &Alert, info: &Info, words: &'static Words) -> Option<&'static str> {
    if info.response_types.contains(&ResponseType::AllClear) {
        Some(words.all_clear)
    } else {
        (alert.msg_type == Some(MsgType::Cancel)).then_some(words.cancelled)
    }
}

fn phone_text(info: &Info) -> Option<String> {
    let named = |name: &&str| info.parameters.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    let texts = PHONE_TEXTS.iter().filter_map(named).map(|one| plain_line(&one.value));
    texts.into_iter().find(|text| !text.is_empty())
}

fn areas(info: &Info) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut letters = 0;
    for area in &info.areas {
        let name = plain_line(&area.description);
        if name.is_empty() || names.contains(&name) {
            continue;
        }
        letters += name.chars().count();
        if letters > AREAS_MAX {
            names.push("…".to_owned());
            break;
        }
        names.push(name);
    }
    names.join("; ")
}

/// The time as the issuer's clock shows it: without the day if it is that of the sending.
fn time(end: Timestamp, sent: Option<Timestamp>) -> String {
    let shown = end.to_string();
    let (day, rest) = shown.split_once('T').unwrap_or((&shown, ""));
    let clock = rest.get(..5).unwrap_or(rest);
    let is_today = sent.is_some_and(|sent| {
        Timestamp::new(sent.utc_micros(), end.offset_minutes())
            .is_some_and(|sent| sent.to_string().starts_with(day))
    });
    let zone = if end.offset_minutes() == 0 { " UTC" } else { "" };
    if is_today { format!("{clock}{zone}") } else { format!("{day} {clock}{zone}") }
}

/// What stands at the end of a text.
struct Ends {
    area: String,
    until: String,
    sender: String,
}

fn text(headline: &str, description: &str, instruction: &str, is_apart: bool, ends: &Ends) -> String {
    let mut text = String::new();
    if is_apart || (description.is_empty() && instruction.is_empty()) {
        text.push_str(headline);
    }
    for part in [description, instruction] {
        if !part.is_empty() && !text.contains(part) {
            text.push_str(if text.is_empty() { "" } else { "\n\n" });
            text.push_str(part);
        }
    }
    let mut between = "\n\n";
    for end in [&ends.area, &ends.until, &ends.sender] {
        if !end.is_empty() && !text.contains(end.as_str()) {
            text.push_str(between);
            text.push_str(end);
            between = "\n";
        }
    }
    text
}

/// The headline; what happened and what to do, as far as whole sentences have room; then, in letters that are
/// left of the last part, where, until when and by whom.
fn short(headline: &str, description: &str, instruction: &str, ends: &Ends) -> String {
    let [description, instruction] = [description, instruction].map(plain_line);
    let mut short = headline.to_owned();
    let whole = [description.as_str(), instruction.as_str()].into_iter().fold(short.clone(), with);
    if parts(&whole) <= PARTS_MAX {
        short = whole;
    } else {
        // What to do goes before what happened.
        for text in [instruction.as_str(), description.as_str()] {
            short = with_sentences(short, text);
        }
        if short == headline {
            short = with_words(short, if instruction.is_empty() { &description } else { &instruction });
        }
    }
    let room = parts(&short);
    let mut between = "\n";
    for end in [&ends.area, &ends.until, &ends.sender] {
        if end.is_empty() || short.contains(end.as_str()) {
            continue;
        }
        let more = format!("{short}{between}{end}");
        if parts(&more) <= room {
            short = more;
            between = ", ";
        }
    }
    short
}

/// A text with one more sentence behind it, if it does not say that already.
fn with(mut text: String, sentence: &str) -> String {
    if sentence.is_empty() || text.contains(sentence) {
        return text;
    }
    if sentence.starts_with(text.as_str()) {
        return sentence.to_owned();
    }
    if !text.is_empty() {
        text.push_str(if text.ends_with(is_sentence_end) || text.ends_with([':', ';']) { " " } else { ". " });
    }
    text + sentence
}

fn with_sentences(mut short: String, text: &str) -> String {
    for sentence in sentences(text) {
        let more = with(short.clone(), sentence);
        if parts(&more) > PARTS_MAX {
            break;
        }
        short = more;
    }
    short
}

/// As many words as have room, where not even one sentence has.
fn with_words(short: String, text: &str) -> String {
    let mut best = short.clone();
    let ends = text.char_indices().filter(|(_, c)| *c == ' ' || is_wide(*c)).map(|(at, _)| at);
    for end in ends.filter(|end| *end > 0) {
        let more = with(short.clone(), &format!("{}…", &text[..end]));
        if parts(&more) > PARTS_MAX {
            break;
        }
        best = more;
    }
    best
}

/// Scripts without spaces may be cut anywhere.
fn is_wide(c: char) -> bool {
    matches!(c as u32, 0x0E00..=0x0EFF | 0x2E80..=0x9FFF | 0xAC00..=0xD7AF)
}

fn is_sentence_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？' | '।' | '؟' | '۔')
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = rest.char_indices().filter(|(_, c)| is_sentence_end(*c));
        let end = ends.map(|(at, c)| at + c.len_utf8()).find(|&end| {
            let before = rest[..end].chars().next_back();
            rest[end..].starts_with(' ') || before.is_some_and(|c| is_wide(c) || c == '。')
        });
        let (sentence, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind.trim_start();
        Some(sentence)
    })
}
