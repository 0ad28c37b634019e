//! Texts of a device that shows less than its channel carries: in its letters, and no longer than it shows.
//!
//! A device keeps the instruction, not the greeting. The mark of a drill stays first, whatever is left out; a
//! text of which the mark or most letters would be lost is no text for the device.

mod digits;
mod instructions;
mod letters;
mod sentences;
mod shorten;
#[cfg(test)]
mod tests;

use crate::drill::Mark;
use letters::{carried, lossy};
use records::{Choice, Content, DeviceProfile, Letters, Priority};

/// What stands around a text, and what it is for.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// First in each part, in a drill.
    pub mark: Option<Mark>,
    /// A text has room for the mark at its end, too.
    pub mark_last: bool,
    /// What a line at the end of the text says how to choose; empty: there is no such line.
    pub choices: &'a [Choice],
    /// The headline is shown as the beginning of the text.
    pub headline_in_text: bool,
    /// Of the alert.
    pub priority: Priority,
}

/// A device to which a text cannot be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CannotAdapt {
    /// Most letters of the text are none of the device's.
    Letters,
    /// The mark of a drill cannot be shown, and without it an exercise would be taken for an alert.
    Mark,
}

impl std::fmt::Display for CannotAdapt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CannotAdapt::Letters => {
                "most letters of the text are none that the device has: write a text for its channel (texts.CHANNEL), or \
                 allow more in profile.letters"
            }
            CannotAdapt::Mark => {
                "the mark of a drill cannot be shown by the device: allow more in profile.length and profile.letters, or \
                 leave the device out of drills"
            }
        })
    }
}

/// A letter that the default alphabet of GSM lacks, spelled in that alphabet; nothing where there is no such
/// spelling.
pub fn in_gsm(letter: char) -> Option<String> {
    letters::in_gsm(letter)
}

/// The line of a text that says how to answer it.
pub fn choices_line(choices: &[Choice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let list: Vec<String> = choices.iter().map(|Choice { key, label }| format!("{key} = {label}")).collect();
    format!("\nReply {}", list.join(", "))
}

/// A content, without mark and line of choices, as a device of this profile shows it, with both.
///
/// # Errors
/// Nobody would understand it.
pub fn adapted(content: Content, profile: &DeviceProfile, frame: &Frame<'_>) -> Result<Content, CannotAdapt> {
    let letters = profile.letters.unwrap_or(Letters::All);
    if letters == Letters::Digits {
        return digits::adapted(content, profile.length, frame);
    }
    // HTML would show other letters than the text, and more of them.
    let is_same = letters == Letters::All && profile.length.is_none();
    let html = content.html.filter(|_| is_same && profile.html != Some(false));
    let subject = content.subject.and_then(|subject| carried(letters, &subject).ok());
    let text = carried(letters, &content.text)?;
    let content = Content { subject, text, html, spoken: content.spoken };
    let mark = frame.mark.map(|mark| letters::mark(letters, mark));
    match profile.length {
        Some(length) => shortened(content, usize::from(length), letters, mark, frame),
        None => Ok(whole(content, letters, mark, frame)),
    }
}

fn whole(mut content: Content, letters: Letters, mark: Option<Mark>, frame: &Frame<'_>) -> Content {
    content.text.push_str(&choices_line(frame.choices));
    if let Some(mark) = mark {
        mark.put_on(&mut content, frame.mark_last);
    }
    content.subject = content.subject.map(|subject| lossy(letters, &subject));
    content.text = lossy(letters, &content.text);
    content
}

fn shortened(
    mut content: Content,
    length: usize,
    letters: Letters,
    mark: Option<Mark>,
    frame: &Frame<'_>,
) -> Result<Content, CannotAdapt> {
    let start = mark.map_or_else(String::new, |mark| format!("{} ", lossy(letters, mark.text())));
    if let (Some(mark), Some(spoken)) = (mark, &mut content.spoken) {
        *spoken = format!("{}. {spoken}", mark.word());
    }
    let choice = |choice: &Choice| Choice {
        key: lossy(letters, &choice.key),
        label: lossy(letters, &choice.label).replace('\n', " "),
    };
    let choices: Vec<Choice> = frame.choices.iter().map(choice).collect();
    let headline = content.subject.take_if(|_| frame.headline_in_text);
    let source = shorten::SourceText {
        start: &start,
        headline: headline.as_deref().unwrap_or_default(),
        text: &content.text,
        choices: &choices,
    };
    let text = shorten::to_length(&source, length).ok_or(CannotAdapt::Mark)?;
    let room = length.saturating_sub(start.chars().count());
    let subject = content.subject.map(|subject| format!("{start}{}", shorten::cut(&subject, room)));
    Ok(Content { subject, text, ..content })
}
