//! Filters change the value of one placeholder.

use crate::{STRING_OCTETS_MAX, VALUE_OCTETS_MAX, start_of};

/// Names of all filters, as they are written.
pub(crate) const NAMES: [&str; 7] =
    ["default(\"…\")", "truncate(n)", "upper", "lower", "capitalize", "title", "trim"];
const _: () = assert!(STRING_OCTETS_MAX <= VALUE_OCTETS_MAX);

/// A filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// This text where the value is empty.
    Default(Box<str>),
    /// At most so many characters.
    Truncate(usize),
    /// Capital letters.
    Upper,
    /// Small letters.
    Lower,
    /// The first letter a capital, the others small.
    Capitalize,
    /// The first letter of each word a capital, the others small.
    Title,
    /// No blanks at both ends.
    Trim,
}

impl Filter {
    /// Changes a value. The result has at most [`VALUE_OCTETS_MAX`] octets, cut at a character: some letters
    /// grow as they change their case.
    pub fn apply(&self, value: &mut String) {
        match self {
            Filter::Default(text) if value.is_empty() => value.push_str(text),
            Filter::Default(_) => {}
            Filter::Truncate(characters) => {
                if let Some((at, _)) = value.char_indices().nth(*characters) {
                    value.truncate(at);
                }
            }
            Filter::Upper => *value = value.to_uppercase(),
            Filter::Lower => *value = value.to_lowercase(),
            Filter::Capitalize => {
                let mut is_first = true;
                *value = recased(value, |_| std::mem::replace(&mut is_first, false));
            }
            Filter::Title => {
                let mut is_first = true;
                *value = recased(value, |letter| {
                    let first = is_first;
                    is_first = !letter.is_alphanumeric() && letter != '\'';
                    first
                });
            }
            Filter::Trim => {
                value.truncate(value.trim_end().len());
                value.drain(..value.len() - value.trim_start().len());
            }
        }
        value.truncate(start_of(value, VALUE_OCTETS_MAX).len());
    }
}

fn recased(value: &str, mut is_capital: impl FnMut(char) -> bool) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        if is_capital(letter) {
            text.extend(letter.to_uppercase());
        } else {
            text.extend(letter.to_lowercase());
        }
    }
    text
}
