//! Text topics, for displays and scripts, by the topic protocol.

use crate::{Address, Channel, Defaults, TOPIC, Traits};
use records::{ChannelNumber, TEXT_TOPIC_OCTETS_MAX};

/// Text topics.
pub(crate) struct TopicChannel;

impl Channel for TopicChannel {
    fn number(&self) -> ChannelNumber {
        TOPIC
    }
    fn name(&self) -> &'static str {
        "topic"
    }
    fn example(&self) -> &'static str {
        "lobby"
    }
    fn form(&self) -> &'static str {
        "a topic's name without its @"
    }
    /// The topic without its `@`: a reader must be able to name it by the topic protocol.
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        let text = text.trim();
        let word = text.strip_prefix('@').unwrap_or(text);
        if word.is_empty() {
            return Err("a topic has a name, such as topic:lobby".to_owned());
        }
        if word.len() >= TEXT_TOPIC_OCTETS_MAX {
            return Err(format!("{word:?} is no topic: it has at most {} octets", TEXT_TOPIC_OCTETS_MAX - 1));
        }
        if let Some(odd) = word.chars().find(|c| matches!(c, '@' | '#') || c.is_control()) {
            return Err(format!("{word:?} is no topic: it may not hold {odd:?}"));
        }
        Ok(word.to_owned())
    }
    fn traits(&self) -> Traits {
        Traits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_topic_that_can_be_asked_for() {
        let address = |name: &str| TopicChannel.address(name, &Defaults::default());
        for (name, expected) in [("lobby", "lobby"), ("@lobby", "lobby"), (" two words ", "two words")] {
            assert_eq!(address(name).as_deref(), Ok(expected), "{name}");
        }
        for name in ["", "@", " ", "a@b", "@@a", "a#b", "a\nb", "a\0", &"x".repeat(150)] {
            assert!(address(name).is_err(), "{name:?}");
        }
    }
}
