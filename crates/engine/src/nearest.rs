//! Nearest of the known words to one that somebody mistyped.

/// The known word that was meant, if one is near enough: two letters off, or a third of a long word.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let typed = plain(word);
    let distance = |one: &'k str| (strsim::osa_distance(&typed, &plain(one)), one);
    let (off, best) = known.into_iter().filter(|one| *one != word).map(distance).min()?;
    (off <= 2.min(best.chars().count() / 2).max(best.chars().count() / 3)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_word_that_was_meant_and_another_word_finds_none() {
        let known = ["name", "id", "exit", "Room number", "group", "recipient"];
        for (typed, meant) in [
            ("nmae", Some("name")),
            ("exitt", Some("exit")),
            ("EXIT", Some("exit")),
            ("room_number", Some("Room number")),
            ("grup", Some("group")),
            ("recipent", Some("recipient")),
            ("ward", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
