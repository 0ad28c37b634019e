//! The known word that was probably meant.

/// A word with more differences than a third of its letters, or this, was not meant.
const DIFFERENCES_MAX: usize = 3;

/// The known word nearest to `word`, if one is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = DIFFERENCES_MAX.min(word.chars().count().div_ceil(3));
    // Insertions, deletions, replacements and swaps of neighbours.
    let lower = word.to_lowercase();
    let distances = known.into_iter().map(|known| (strsim::osa_distance(&lower, known), known));
    distances
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_word_and_another_word_finds_none() {
        let known = ["listen", "tls_cert", "tls_key", "rate"];
        for (word, expected) in [
            ("lisen", Some("listen")),
            ("lsiten", Some("listen")),
            ("LISTEN", Some("listen")),
            ("tls-cert", Some("tls_cert")),
            ("rat", Some("rate")),
            ("bananas", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
