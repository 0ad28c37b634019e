//! Readers of what people write back: an answer to an alert, a word that stops messages, or neither.
//!
//! Both compare texts in one folded form ([`fold`]): case, accents, width, scripts' digits, invisible marks
//! and punctuation do not count. A text is read as one thing: it is a choice, or a word that stops, or words
//! for a person to read.

mod answer;
mod courtesies;
mod fold;
mod service;
mod stop;
mod stop_words;
#[cfg(test)]
mod tests;

pub use answer::{AnswerReading, read_answer};
pub use fold::fold as folded;
pub use service::{Service, ServiceRequest, ServiceWord, read_service};
pub use stop::{StopReading, is_phrase, is_stop_word, read_stop};
