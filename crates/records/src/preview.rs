//! Preview of a message: how it reads as a route writes it. Nothing of it is stored or sent.

use crate::{Body, Choice};

/// What a preview is made of.
#[derive(Debug, Clone, Copy)]
pub struct PreviewSource<'a> {
    /// The rendered text.
    pub body: &'a Body,
    /// An answer link, where the message has one.
    pub link: Option<&'a str>,
    /// An answer is asked for.
    pub answer: bool,
    /// What can be chosen.
    pub choices: &'a [Choice],
    /// Shown at once, and not kept.
    pub flash: bool,
}

/// How a message reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessagePreview {
    /// The text, with what the route puts behind it.
    pub text: String,
    /// The same of the HTML, if there is any.
    pub html: Option<String>,
    /// How the text is written in parts, where the channel has parts and alphabets.
    pub encoding: Option<TextEncoding>,
}

impl MessagePreview {
    /// A text that goes out as it is.
    pub fn as_it_is(source: &PreviewSource<'_>) -> MessagePreview {
        let content = source.body.content();
        MessagePreview {
            text: content.map(|content| content.text.clone()).unwrap_or_default(),
            html: content.and_then(|content| content.html.clone()),
            encoding: None,
        }
    }
}

/// How a text is written in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEncoding {
    /// Stable name: `gsm7`, `ucs2`, …
    pub alphabet: &'static str,
    /// Messages that it becomes.
    pub parts: u32,
    /// Letters of the alphabet that fit until there is one part more.
    pub left: u32,
    /// The letters that the shorter alphabet lacks, each with its place in octets of the text.
    pub at_fault: Vec<(usize, char)>,
}
