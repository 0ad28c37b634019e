//! Language look-up (RFC 4647) among an alert's languages, and the grammar of a language tag.

/// Longest part of a language tag (RFC 5646, section 2.1).
const SUBTAG_MAX: usize = 8;

/// Whether a text has the form of a language tag (xs:language).
pub(crate) fn is_tag(text: &str) -> bool {
    text.split('-').enumerate().all(|(index, subtag)| {
        (1..=SUBTAG_MAX).contains(&subtag.len())
            && subtag.bytes().all(|b| b.is_ascii_alphabetic() || (index > 0 && b.is_ascii_digit()))
    })
}

/// The tag among `available` for a reader of `wanted`: the same one, else the longest that `wanted` narrows
/// (RFC 4647, section 3.4), else the first of the same primary language, else none.
pub(crate) fn look_up<'a>(wanted: &str, available: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let mut range = wanted.trim();
    while !range.is_empty() {
        if let Some(tag) = available.clone().find(|tag| tag.eq_ignore_ascii_case(range)) {
            return Some(tag);
        }
        range = range.rsplit_once('-').map_or("", |(shorter, _)| shorter);
    }
    let primary = primary(wanted.trim());
    available.clone().find(|tag| self::primary(tag).eq_ignore_ascii_case(primary))
}

fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_the_nearest_language() {
        let available = ["zh-mo", "pt-PT", "en-US", "zh-Hant", "en-GB"];
        for (wanted, expected) in [
            ("pt-pt", Some("pt-PT")),
            ("zh-Hant-TW", Some("zh-Hant")),
            ("zh-Hant-x-private", Some("zh-Hant")),
            ("en-GB", Some("en-GB")),
            ("en", Some("en-US")),
            ("en-AU", Some("en-US")),
            ("pt-BR", Some("pt-PT")),
            ("zh", Some("zh-mo")),
            (" en-gb ", Some("en-GB")),
            ("sv", None),
            ("e", None),
            ("", None),
        ] {
            assert_eq!(look_up(wanted, available.into_iter()), expected, "{wanted}");
        }
    }

    #[test]
    fn tags_have_parts_of_one_to_eight_characters() {
        for (text, expected) in [
            ("en", true),
            ("en-US", true),
            ("zh-Hant-TW", true),
            ("sl-rozaj-1994", true),
            ("", false),
            ("en_US", false),
            ("e1", false),
            ("en-", false),
            ("abcdefghi", false),
            ("English (US)", false),
        ] {
            assert_eq!(is_tag(text), expected, "{text}");
        }
    }
}
