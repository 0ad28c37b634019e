//! Files of JSON lines, for archives and for trying things.

use crate::{Address, Channel, Defaults, FILE, Traits};
use records::ChannelNumber;

/// Octets of a file's name at most.
const NAME_OCTETS_MAX: usize = 64;

/// Files of JSON lines.
pub(crate) struct FileChannel;

impl Channel for FileChannel {
    fn number(&self) -> ChannelNumber {
        FILE
    }
    fn name(&self) -> &'static str {
        "file"
    }
    fn example(&self) -> &'static str {
        "archive"
    }
    fn form(&self) -> &'static str {
        "a file's name without its ending"
    }
    /// Letters, digits, `-`, `_` and `.`, the first a letter or digit: never a path.
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        let name = text.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if begins && name.len() <= NAME_OCTETS_MAX && name.chars().all(fits) {
            return Ok(name.to_owned());
        }
        Err(format!(
            "{name:?} is no file: its name has 1 to {NAME_OCTETS_MAX} letters, digits, -, _ and . (not first), such as \
             file:archive"
        ))
    }
    fn traits(&self) -> Traits {
        Traits { repeatable: true, ..Traits::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_a_path() {
        let address = |name: &str| FileChannel.address(name, &Defaults::default());
        for name in ["archive", "2026.11", "a_b-c", &"x".repeat(NAME_OCTETS_MAX)] {
            assert_eq!(address(name).as_deref(), Ok(name));
        }
        for name in ["", ".", "..", "a/b", "../a", "a b", "\u{e5}", "-a", &"x".repeat(NAME_OCTETS_MAX + 1)] {
            assert!(address(name).is_err(), "{name:?}");
        }
    }
}
