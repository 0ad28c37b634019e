//! Language tags (BCP 47) compared: lookup from the most to the least specific tag (RFC 4647, section 3.4).

/// Languages of which one tag stands for another: "Norwegian" is read and spoken as Bokmål.
const SAME: [(&str, &str); 1] = [("no", "nb")];
/// Letters of a script's subtag.
const SCRIPT_LETTERS: usize = 4;

/// The first subtag, in small letters, by which languages are told apart.
pub(crate) fn primary(tag: &str) -> String {
    let first = tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
    SAME.iter().find(|(from, _)| *from == first).map_or(first, |(_, to)| (*to).to_owned())
}

/// The tag in small letters with its primary subtag made the usual one.
pub(crate) fn canonical(tag: &str) -> String {
    let lower = tag.to_ascii_lowercase();
    match lower.split_once('-') {
        Some((_, rest)) => format!("{}-{rest}", primary(&lower)),
        None => primary(&lower),
    }
}

/// The script that a tag names, if it names one.
pub(crate) fn script(tag: &str) -> Option<&str> {
    let is_script =
        |part: &&str| part.len() == SCRIPT_LETTERS && part.bytes().all(|b| b.is_ascii_alphabetic());
    tag.split('-').skip(1).find(is_script)
}

/// The tag and those that it begins with, the most specific one first.
pub(crate) fn ranges(tag: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(tag), |tag| Some(&tag[..tag.rfind('-')?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_looked_up_from_the_most_to_the_least_specific() {
        assert_eq!(ranges("de-ch-1996").collect::<Vec<_>>(), ["de-ch-1996", "de-ch", "de"]);
    }

    #[test]
    fn norwegian_is_bokmal_and_nynorsk_is_not() {
        assert_eq!(
            (canonical("NO"), canonical("no-NO"), canonical("nn")),
            ("nb".into(), "nb-no".into(), "nn".into())
        );
    }

    #[test]
    fn a_script_is_the_subtag_of_four_letters() {
        assert_eq!((script("sr-Latn-RS"), script("de-1996"), script("en-GB")), (Some("Latn"), None, None));
    }
}
