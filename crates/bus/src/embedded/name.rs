//! Names of topics, groups and retained topics, and the folders they stand in.

use crate::{BusError, TOPIC_NAME_OCTETS_MAX};

/// A group's name is at most so many octets.
pub(super) const GROUP_NAME_OCTETS_MAX: usize = 128;

/// Stands for `/` in a folder's name: it cannot occur in a name, so the way back is unique.
const SLASH: char = '~';

/// The folder of a topic or retained topic: one folder each, never one inside another.
pub(super) fn folder(name: &str) -> Result<String, BusError> {
    flat(name, "a topic's name", TOPIC_NAME_OCTETS_MAX)
}

/// The folder of a group.
pub(super) fn group_folder(name: &str) -> Result<String, BusError> {
    flat(name, "a group's name", GROUP_NAME_OCTETS_MAX)
}

/// The name whose folder this is.
pub(super) fn of_folder(folder: &str) -> String {
    folder.replace(SLASH, "/")
}

fn flat(name: &str, what: &'static str, limit: usize) -> Result<String, BusError> {
    if name.len() > limit {
        return Err(BusError::TooLarge { what, size: name.len(), limit });
    }
    if !name.split('/').all(well_formed) {
        return Err(BusError::BadName { name: name.to_owned() });
    }
    Ok(name.replace('/', &SLASH.to_string()))
}

fn well_formed(part: &str) -> bool {
    if part.is_empty() || part == "." || part == ".." {
        return false;
    }
    let mut octets = part.bytes();
    while let Some(octet) = octets.next() {
        let good = match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => true,
            b'%' => {
                let is_hex = |octet: Option<u8>| octet.is_some_and(|octet| octet.is_ascii_hexdigit());
                is_hex(octets.next()) && is_hex(octets.next())
            }
            _ => false,
        };
        if !good {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_folder_are_one_to_one() {
        for (name, expected) in [
            ("outcomes", "outcomes"),
            ("segments/carrier-1/emergency", "segments~carrier-1~emergency"),
            ("text/%40a%2Fb", "text~%40a%2Fb"),
        ] {
            let flat = folder(name).unwrap();
            assert_eq!(flat, expected);
            assert_eq!(of_folder(&flat), name);
        }
    }

    #[test]
    fn names_that_could_leave_their_folder_are_refused() {
        let long = "x".repeat(256);
        for name in
            ["", "/", "a/", "/a", "a//b", "..", "a/../b", ".", "a b", "a~b", "a%4", "a%zz", "å", "a\0", &long]
        {
            assert!(folder(name).is_err(), "{name:?}");
        }
    }
}
