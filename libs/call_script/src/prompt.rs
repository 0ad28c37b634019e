//! Prompts, and a queue of them that is played one after the other.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time behind a prompt's own length after which it is stopped, where nobody reported it as played.
pub const PLAY_GRACE: Duration = Duration::from_secs(2);

/// A piece of sound, as the caller knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// The caller's own number of it.
    pub id: u32,
    /// Its length.
    pub length_ms: u32,
}

impl Prompt {
    /// Its length.
    pub fn length(self) -> Duration {
        Duration::from_millis(u64::from(self.length_ms))
    }
}

/// Length of several prompts, without gaps.
pub(crate) fn length_of<'a>(prompts: impl IntoIterator<Item = &'a Prompt>) -> Duration {
    prompts.into_iter().map(|prompt| prompt.length()).sum()
}

/// Part of a call that a line is, or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinePart {
    Greeting,
    /// The last sentence of a text.
    TextEnd,
    Other,
}

/// A prompt to be played, and its part of the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpokenLine {
    pub prompt: Prompt,
    pub part: LinePart,
}

impl SpokenLine {
    /// The line that names the organisation.
    pub fn greeting(prompt: Prompt) -> SpokenLine {
        SpokenLine { prompt, part: LinePart::Greeting }
    }
}

impl From<Prompt> for SpokenLine {
    fn from(prompt: Prompt) -> SpokenLine {
        SpokenLine { prompt, part: LinePart::Other }
    }
}

/// Lines of a text: with the last one it was heard in whole.
pub(crate) fn text_lines(sentences: &[Prompt]) -> impl Iterator<Item = SpokenLine> + '_ {
    let last = sentences.len().saturating_sub(1);
    let part = move |at| if at == last { LinePart::TextEnd } else { LinePart::Other };
    sentences.iter().enumerate().map(move |(at, &prompt)| SpokenLine { prompt, part: part(at) })
}

/// Lines under way: one is played, others wait. Without a line it is over.
#[derive(Debug, Default)]
pub(crate) struct Speech {
    lines: VecDeque<SpokenLine>,
    /// The first line counts as played from then on.
    late_at: Option<Instant>,
    /// A line was late: the text was not heard in whole.
    is_broken: bool,
}

/// Result of a line's end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineEnd {
    pub part: LinePart,
    /// To be played next; `None`: the speech is over.
    pub next: Option<Prompt>,
}

impl Speech {
    /// Begins with the first line, which is to be played.
    pub fn begin(lines: impl IntoIterator<Item = SpokenLine>, now: Instant) -> (Speech, Option<Prompt>) {
        let mut speech = Speech { lines: lines.into_iter().collect(), late_at: None, is_broken: false };
        let first = speech.first(now);
        (speech, first)
    }

    /// A line is under way.
    pub fn is_playing(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The line under way is late from then on.
    pub fn deadline(&self) -> Option<Instant> {
        self.late_at
    }

    /// The caller played a prompt: nothing where it is not the one under way.
    pub fn played(&mut self, prompt: Prompt, now: Instant) -> Option<LineEnd> {
        (self.lines.front()?.prompt == prompt).then(|| self.end_line(now)).flatten()
    }

    /// The line under way is late: it ends, and counts as no part of the call.
    pub fn late(&mut self, now: Instant) -> Option<LineEnd> {
        if self.late_at.is_none_or(|at| now < at) {
            return None;
        }
        self.is_broken = true;
        let end = self.end_line(now)?;
        Some(LineEnd { part: LinePart::Other, ..end })
    }

    /// Everything behind the line under way is replaced.
    pub fn replace_rest(&mut self, lines: impl IntoIterator<Item = SpokenLine>) {
        self.lines.truncate(1);
        self.lines.extend(lines);
    }

    fn end_line(&mut self, now: Instant) -> Option<LineEnd> {
        let line = self.lines.pop_front()?;
        let part = match line.part {
            LinePart::TextEnd if self.is_broken => LinePart::Other,
            part => part,
        };
        Some(LineEnd { part, next: self.first(now) })
    }

    fn first(&mut self, now: Instant) -> Option<Prompt> {
        let prompt = self.lines.front().map(|line| line.prompt);
        self.late_at = prompt.map(|prompt| now + prompt.length() + PLAY_GRACE);
        prompt
    }
}
