//! Numbers of a text, for devices that show digits alone: the oldest pagers.
//!
//! Such a device shows the numbers of the text, as a rule one to call, with blanks between them. Where there
//! is none, or none that it has room for, it shows a code of the alert's priority.

use super::{CannotAdapt, Frame};
use crate::decimal_digit;
use records::{Content, Priority};

/// Signs that stand inside a telephone number, and how many of them between two of its digits.
const SIGNS: [char; 7] = [' ', '-', '.', '/', '(', ')', '\u{a0}'];
const SIGNS_MAX: usize = 2;

/// The numbers of a content.
///
/// # Errors
/// It is a drill: no digit says so.
pub(super) fn adapted(
    content: Content,
    length: Option<u16>,
    frame: &Frame<'_>,
) -> Result<Content, CannotAdapt> {
    if frame.mark.is_some() {
        return Err(CannotAdapt::Mark);
    }
    let room = length.map_or(usize::MAX, usize::from);
    let headline = content.subject.unwrap_or_default();
    let mut shown = String::new();
    for number in numbers(&content.text).into_iter().chain(numbers(&headline)) {
        let longer = if shown.is_empty() { number.clone() } else { format!("{shown} {number}") };
        let is_there = shown.split_whitespace().any(|one| one == number);
        if longer.len() <= room && !is_there {
            shown = longer;
        }
    }
    if shown.is_empty() {
        shown = code(frame.priority).to_owned();
    }
    Ok(Content { spoken: content.spoken, ..Content::of_text(shown) })
}

/// What stands for an alert without a number.
fn code(priority: Priority) -> &'static str {
    match priority {
        Priority::Emergency => "1",
        Priority::Urgent => "2",
        Priority::Routine => "3",
    }
}

/// The numbers in a text, those of a telephone number together.
fn numbers(text: &str) -> Vec<String> {
    let (mut all, mut number, mut signs) = (Vec::new(), String::new(), 0);
    for c in text.chars() {
        match decimal_digit(c).and_then(|digit| char::from_digit(u32::from(digit), 10)) {
            Some(digit) => {
                if signs > 0 && !number.is_empty() {
                    number.push(' ');
                }
                number.push(digit);
                signs = 0;
            }
            None if SIGNS.contains(&c) && signs < SIGNS_MAX => signs += 1,
            None => {
                all.extend((!number.is_empty()).then(|| std::mem::take(&mut number)));
                signs = 0;
            }
        }
    }
    all.extend((!number.is_empty()).then_some(number));
    all
}
