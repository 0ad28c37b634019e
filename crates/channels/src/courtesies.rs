//! Courtesies of a text, such as a greeting: what a device that shows few letters can do without. A text that
//! is too long loses them first.

/// A mark of a drill, with its brackets, is at most so many characters.
const MARK_CHARS_MAX: usize = 24;
/// A greeting, or a line of closing words, is at most so many characters.
const COURTESY_CHARS_MAX: usize = 60;
/// Closing words stand in one of the last so many lines.
const CLOSING_LINES_MAX: usize = 4;

/// The mark of a drill at the beginning, and the rest.
pub fn split_mark(text: &str) -> (Option<&str>, &str) {
    let end = text.starts_with('[').then(|| text.find(']')).flatten();
    let mark = end.map(|end| &text[..=end]).filter(|mark| mark.chars().count() <= MARK_CHARS_MAX);
    match mark {
        Some(mark) => (Some(mark), text[mark.len()..].trim_start()),
        None => (None, text),
    }
}

/// On one line: the mark, the headline unless the text says it, the text.
pub fn joined(start: &str, headline: &str, text: &str) -> String {
    let (headline, text) = (headline.replace('\n', " "), text.replace('\n', " "));
    let says_it = text.to_lowercase().contains(&headline.to_lowercase());
    match (headline.is_empty() || says_it, headline.ends_with(['.', '!', '?', ':'])) {
        (true, _) => format!("{start}{text}"),
        (false, true) => format!("{start}{headline} {text}"),
        (false, false) => format!("{start}{headline}: {text}"),
    }
}

/// First words of greetings, in small letters as ASCII spells them.
const GREETINGS: [&str; 27] = [
    "dear",
    "hello",
    "hi",
    "good",
    "hej",
    "hejsan",
    "kara",
    "basta",
    "hallo",
    "liebe",
    "lieber",
    "sehr",
    "guten",
    "bonjour",
    "cher",
    "chere",
    "chers",
    "hola",
    "estimado",
    "estimados",
    "ciao",
    "gentile",
    "caro",
    "geachte",
    "beste",
    "hei",
    "kjaere",
];
/// First words of closing lines.
const CLOSINGS: [&str; 22] = [
    "regards",
    "kind",
    "best",
    "sincerely",
    "yours",
    "thank",
    "thanks",
    "med",
    "mvh",
    "vanliga",
    "halsningar",
    "hilsen",
    "mit",
    "viele",
    "liebe",
    "cordialement",
    "bien",
    "saludos",
    "atentamente",
    "cordiali",
    "terveisin",
    "groeten",
];

/// Without a greeting before the text, and closing words behind it, as far as they are known for such.
pub fn without_courtesies(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(CLOSING_LINES_MAX).max(1);
    let is_closing = |line: &&str| begins_with(line, &CLOSINGS) && line.chars().count() <= COURTESY_CHARS_MAX;
    let closing = lines.get(from..).and_then(|last| last.iter().position(is_closing));
    if let Some(at) = closing {
        lines.truncate(from + at);
    }
    let Some(first) = lines.first_mut() else { return String::new() };
    if begins_with(first, &GREETINGS) {
        let end =
            first.find([',', '!', ':']).filter(|end| first[..*end].chars().count() <= COURTESY_CHARS_MAX);
        *first = match end {
            Some(end) => first[end + 1..].trim_start(),
            None if lines_follow(text) && first.chars().count() <= COURTESY_CHARS_MAX => "",
            None => first,
        };
    }
    let kept: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    if kept.is_empty() { text.to_owned() } else { kept.join("\n") }
}

fn lines_follow(text: &str) -> bool {
    text.contains('\n')
}

/// Whether the first word of a line is one of these, which are in small letters as ASCII spells them.
pub(crate) fn begins_with(line: &str, words: &[&str]) -> bool {
    let first: String = line
        .chars()
        .take_while(|c| c.is_alphanumeric())
        .filter_map(crate::in_ascii)
        .collect::<String>()
        .to_ascii_lowercase();
    words.contains(&first.as_str())
}
