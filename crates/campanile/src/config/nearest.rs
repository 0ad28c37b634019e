//! The known word that was probably meant.

/// A word with more differences than a third of its letters, or this, was not meant.
const DIFFERENCES_MAX: usize = 3;

/// The known word nearest to `word`, if one is near.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = DIFFERENCES_MAX.min(word.chars().count().div_ceil(3));
    let distances = known.into_iter().map(|known| (distance(word, known), known));
    distances
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
