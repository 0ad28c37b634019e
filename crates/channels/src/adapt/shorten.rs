//! Texts cut to a length: whole sentences before parts of one, and what to do before what happened.

use super::instructions::is_instruction;
use super::sentences::sentences;
use crate::courtesies::{joined, without_courtesies};
use records::Choice;

/// Stands at the end of a text of which something is left out.
const CUT: &str = "...";
/// Characters of a choice's label where there is no room for the whole.
const LABEL_CHARS_MAX: usize = 12;
/// Of a text that has to be cut, choices take one part of so many.
const CHOICES_SHARE: usize = 3;
/// And their keys alone one of so many.
const KEYS_SHARE: usize = 2;
/// A headline takes one part of so many from an instruction that has to be cut itself.
const HEADLINE_SHARE: usize = 3;

/// What is to be said.
pub(super) struct SourceText<'a> {
    /// The mark of a drill, with a blank behind it.
    pub(super) start: &'a str,
    /// Empty: none, or one that stands elsewhere.
    pub(super) headline: &'a str,
    pub(super) text: &'a str,
    pub(super) choices: &'a [Choice],
}

/// Characters.
fn count(text: &str) -> usize {
    text.chars().count()
}

/// A text of at most `length` characters; nothing if there is no room behind the mark.
pub(super) fn to_length(source: &SourceText<'_>, length: usize) -> Option<String> {
    let SourceText { start, headline, text, choices } = *source;
    let room = length.checked_sub(count(start)).filter(|room| *room > 0)?;
    let whole = |text: &str| match headline {
        "" => text.to_owned(),
        _ => joined("", headline, text),
    };
    let bare = without_courtesies(text);
    let [full, brief, keys] = forms(choices);
    for (text, choices) in [(text, &full), (&*bare, &full), (&*bare, &brief)] {
        let text = whole(text);
        if count(&text) + count(choices) <= room {
            return Some(format!("{start}{text}{choices}"));
        }
    }
    let fits = |form: &&String, share: usize| count(form) <= room / share;
    let form = [&full, &brief].into_iter().find(|form| fits(form, CHOICES_SHARE));
    let form = form.or_else(|| Some(&keys).filter(|form| fits(form, KEYS_SHARE)));
    let choices = form.map_or("", String::as_str);
    Some(format!("{start}{}{choices}", shortened(headline, &bare, room - count(choices))))
}

/// The line of choices whole, with short labels, and with the keys alone.
fn forms(choices: &[Choice]) -> [String; 3] {
    if choices.is_empty() {
        return Default::default();
    }
    let brief = |choice: &Choice| {
        let label: String = choice.label.chars().take(LABEL_CHARS_MAX).collect();
        format!("{}={}", choice.key, label.trim_end())
    };
    let brief: Vec<String> = choices.iter().map(brief).collect();
    let keys: Vec<&str> = choices.iter().map(|choice| choice.key.as_str()).collect();
    [
        super::choices_line(choices),
        format!("\nReply {}", brief.join(", ")),
        format!("\nReply {}", keys.join("/")),
    ]
}

/// The sentences that matter most, in their order, as many as have room; of the first of them its beginning
/// where not even that one has.
fn shortened(headline: &str, text: &str, room: usize) -> String {
    let all = sentences(text);
    let mut order: Vec<usize> = (0..all.len()).collect();
    // Stable: those of one kind stay in their order.
    order.sort_by_key(|at| !is_instruction(all[*at]));
    let Some(&first) = order.first() else { return cut(headline, room) };
    let lead = lead(headline, text);
    let top = all[first];
    let needed = count(top) + count(CUT);
    if needed > room && count(top) > room {
        let lead = if count(&lead) <= room / HEADLINE_SHARE { &*lead } else { "" };
        return cut(&format!("{lead}{top}"), room);
    }
    let lead = if count(&lead) + needed <= room { lead } else { String::new() };
    let mut used = count(&lead) + needed;
    let mut kept = vec![first];
    for &at in &order[1..] {
        let longer = used + 1 + count(all[at]);
        if longer <= room {
            used = longer;
            kept.push(at);
        }
    }
    kept.sort_unstable();
    let said: Vec<&str> = kept.iter().map(|at| all[*at]).collect();
    let said = format!("{lead}{}", said.join(" "));
    let is_all = kept.len() == all.len() && (!lead.is_empty() || headline.is_empty());
    if is_all || used > room { said } else { dotted(said) }
}

/// The headline before a text that does not say it.
fn lead(headline: &str, text: &str) -> String {
    const MARK: &str = "\u{1}";
    if headline.is_empty() || text.to_lowercase().contains(&headline.to_lowercase()) {
        return String::new();
    }
    joined("", headline, MARK).trim_end_matches(MARK).to_owned()
}

/// The beginning of a text, by whole words, with dots.
pub(super) fn cut(text: &str, room: usize) -> String {
    if count(text) <= room {
        return text.to_owned();
    }
    let Some(room_before) = room.checked_sub(count(CUT)).filter(|room| *room > 0) else {
        return text.chars().take(room).collect();
    };
    let end = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let front = &text[..end(room_before)];
    let is_between = text[front.len()..].starts_with(char::is_whitespace);
    let between = if is_between { Some(front.len()) } else { front.rfind(char::is_whitespace) };
    let words = between.map_or("", |at| front[..at].trim_end());
    dotted(if words.is_empty() { front.to_owned() } else { words.to_owned() })
}

/// With dots in place of what ends it.
fn dotted(mut text: String) -> String {
    text.truncate(text.trim_end_matches([' ', '\n', ',', ';', ':', '-', '.', '。', '、']).len());
    text + CUT
}
