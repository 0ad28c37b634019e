//! Sentences of a text.

/// A word with a full stop that is no longer than this and begins with a capital is taken for an
/// abbreviation: `St. Mary`.
const ABBREVIATION_CHARS_MAX: usize = 3;

/// The sentences of a text; a line end is the end of one too.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    text.lines().flat_map(of_line).filter(|sentence| !sentence.is_empty()).collect()
}

fn of_line(line: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, c) in line.char_indices().filter(|(_, c)| is_end(*c)) {
        let end = at + c.len_utf8();
        if ends(line, from, at, end, c) {
            found.push(line[from..end].trim());
            from = end;
        }
    }
    found.push(line[from..].trim());
    found
}

fn is_end(c: char) -> bool {
    is_wide_end(c) || matches!(c, '.' | '!' | '?' | '…' | '।' | '؟' | '۔')
}

/// After these no blank follows.
fn is_wide_end(c: char) -> bool {
    matches!(c, '。' | '！' | '？')
}

fn ends(line: &str, from: usize, at: usize, end: usize, c: char) -> bool {
    let behind = &line[end..];
    if is_wide_end(c) || behind.is_empty() {
        return true;
    }
    if !behind.starts_with(char::is_whitespace) {
        return false;
    }
    if c != '.' {
        return true;
    }
    // `kl. 5`, `No. 7`, `ca. hundred`, `St. Mary`.
    let goes_on = |c: char| c.is_lowercase() || c.is_numeric();
    let word = line[from..at].rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_short = word.starts_with(char::is_uppercase) && word.chars().count() <= ABBREVIATION_CHARS_MAX;
    !is_short && !behind.trim_start().starts_with(goes_on)
}
