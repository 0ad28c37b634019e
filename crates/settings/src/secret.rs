//! Secrets: passwords, tokens and keys, which no log and no error shows.

use std::fmt;

/// A word that no log shows: `Debug` prints `Secret(***)`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// The word itself, for the code that sends or compares it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(word: String) -> Secret {
        Secret(word)
    }
}

impl From<&str> for Secret {
    fn from(word: &str) -> Secret {
        Secret(word.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Secret(empty)" } else { "Secret(***)" })
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_is_never_shown() {
        let shown = format!("{:?} {:?}", Secret::from("hunter2"), Some(Secret::from(String::new())));
        assert_eq!(shown, "Secret(***) Some(Secret(empty))");
    }
}
