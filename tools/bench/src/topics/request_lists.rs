//! Topics and messages of fixed lists, and what a reply must be.

/// So many topics.
pub(super) const TOPICS: usize = 8;
/// So many messages.
pub(super) const MESSAGES: usize = 64;
/// Readers read among so many newest messages of a topic.
pub(super) const NEWEST: u64 = 10_000;

const SYLLABLES: [&str; 8] = [
    "water ",
    "is rising ",
    "nearby ",
    "the old bridge ",
    "keep away ",
    "at noon ",
    "all clear ",
    "by \u{e5}n ",
];

/// The fixed lists of a run.
#[derive(Debug, Clone)]
pub(super) struct RequestLists {
    pub(super) topics: Vec<String>,
    pub(super) messages: Vec<String>,
}

impl RequestLists {
    /// `mark` makes the topics a run's own, where a server has others.
    pub(super) fn new(mark: &str) -> RequestLists {
        let topics = (0..TOPICS).map(|number| format!("@bench{mark}-{number}")).collect();
        let messages = (0..MESSAGES).map(message).collect();
        RequestLists { topics, messages }
    }

    /// Whether a text is one of the messages: it says by itself which.
    pub(super) fn has(&self, text: &[u8]) -> bool {
        let number = text.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok());
        number.and_then(|number| self.messages.get(number)).is_some_and(|message| message.as_bytes() == text)
    }
}

/// Its number in two digits, then 8 to about 100 octets.
fn message(number: usize) -> String {
    let mut text = format!("{number:02} ");
    for step in 0..=number % 10 {
        text.push_str(SYLLABLES[(number + step * 3) % SYLLABLES.len()]);
    }
    text.trim_end().to_owned()
}

/// Numbers that are random enough to choose from a list: xorshift (Marsaglia 2003).
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Below `end`, which is at least 1.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_by_itself_which_it_is() {
        let words = RequestLists::new("");
        assert!(words.messages.iter().all(|message| words.has(message.as_bytes())));
        assert!(words.messages.iter().all(|message| (8..=140).contains(&message.len())));
        for wrong in [&b""[..], b"0", b"00", b"99 x", b"xx water", &words.messages[3].as_bytes()[1..]] {
            assert!(!words.has(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn chance_reaches_everything() {
        let mut chance = Chance::new(7);
        let mut seen = [0; 10];
        (0..10_000).for_each(|_| seen[chance.below(10) as usize] += 1);
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
    }
}
