//! What an edge site may be called.

/// Octets of a site's name at most.
pub const EDGE_SITE_OCTETS_MAX: usize = 64;

/// A site's name as an address: letters, digits, `-`, `_` and `.`, the first a letter or digit.
///
/// # Errors
/// What is wrong with it, in words.
pub fn checked_edge_site(name: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if begins && name.len() <= EDGE_SITE_OCTETS_MAX && name.chars().all(fits) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "{name:?} is no edge site: its name has 1 to {EDGE_SITE_OCTETS_MAX} letters, digits, -, _ and . \
         (not first), such as edge:north-siren"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sites_name_is_plain() {
        for good in ["a", "north-siren", "7.east_2", &"x".repeat(64)] {
            assert_eq!(checked_edge_site(good).as_deref(), Ok(good));
        }
        for bad in ["", ".a", "-a", "a b", "a/b", "\u{e5}", &"x".repeat(65)] {
            assert!(checked_edge_site(bad).is_err(), "{bad:?}");
        }
    }
}
