//! Links and mail addresses of spoken text: left out, or written in words.

use super::{AddressRule, Speaker, characters};

/// Characters around a link that are no part of it.
const OPENING: [char; 8] = ['(', '<', '[', '{', '"', '\'', '“', '«'];
const CLOSING: [char; 15] = [')', '>', ']', '}', '"', '\'', '”', '»', '.', ',', '!', '?', ';', ':', '…'];
/// Ends a sentence behind a link.
const STOPS: [char; 5] = ['.', '!', '?', ',', ';'];
/// Domains at the top by which a name without a scheme is known; in texts, others are missing blanks.
const TOP_DOMAINS: [&str; 30] = [
    "com", "org", "net", "info", "eu", "gov", "edu", "int", "mil", "se", "no", "dk", "fi", "de", "uk", "fr",
    "es", "it", "pt", "nl", "pl", "ua", "tr", "ir", "so", "sa", "us", "ie", "ch", "at",
];
/// Labels of a domain.
const LABELS_MAX: usize = 6;

/// A line without its links and with its addresses in words, and the number of links. With `names_links`, the
/// names of their hosts stand in their place.
pub(super) fn replaced(line: &str, speaker: &Speaker, names_links: bool) -> (String, usize) {
    let mut words: Vec<String> = Vec::new();
    let mut links = 0;
    for word in line.split(' ') {
        let core = word.trim_start_matches(OPENING).trim_end_matches(CLOSING);
        let trail = &word[word.rfind(core).unwrap_or(0) + core.len()..];
        if is_link(core) {
            links += 1;
            if names_links {
                words.push(host(core, speaker));
            }
            words.extend(trail.contains(STOPS).then(|| trail.replace(|c| !STOPS.contains(&c), "")));
        } else if let Some(number) =
            core.strip_prefix("tel:").filter(|number| number.contains(characters::is_word))
        {
            words.push(word.replacen(core, number, 1));
        } else if let Some((local, domain)) = address(core) {
            let left_out = speaker.addresses == AddressRule::LeftOut && !names_links;
            let text = match speaker.catalogue {
                _ if left_out => String::new(),
                None if names_links => words_of(core),
                _ => in_words(core, local, domain, speaker),
            };
            words.push(word.replacen(core, &text, 1));
        } else if is_domain(core) {
            words.push(word.replacen(core, &dotted(core, speaker), 1));
        } else {
            words.push(word.to_owned());
        }
    }
    (words.join(" "), links)
}

fn is_link(core: &str) -> bool {
    let lower = core.to_ascii_lowercase();
    let has_scheme = lower.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    });
    let has_path = lower.split_once('/').is_some_and(|(name, _)| is_domain(name));
    has_scheme || has_path || lower.starts_with("www.") && lower.len() > "www.".len() || is_mailto(&lower)
}

fn is_mailto(lower: &str) -> bool {
    lower.strip_prefix("mailto:").is_some_and(|rest| !rest.is_empty())
}

/// A name that is known as a domain's by its top.
fn is_domain(core: &str) -> bool {
    let lower = core.to_ascii_lowercase();
    let labels: Vec<&str> = lower.split('.').collect();
    let is_label = |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let has_letters = labels.iter().all(|label| label.contains(char::is_alphabetic));
    (2..=LABELS_MAX).contains(&labels.len())
        && labels.iter().all(is_label)
        && has_letters
        && labels.last().is_some_and(|top| TOP_DOMAINS.contains(top))
}

/// Local part and domain of a mail address.
fn address(core: &str) -> Option<(&str, &str)> {
    let (local, domain) = core.split_once('@')?;
    let is_domain = domain.contains('.')
        && domain.split('.').all(|label| !label.is_empty())
        && domain.chars().all(|c| c.is_alphanumeric() || c == '.' || c == '-');
    (characters_fit(local) && is_domain).then_some((local, domain))
}

fn characters_fit(local: &str) -> bool {
    local.contains(characters::is_word)
        && local.chars().all(|c| c.is_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c))
}

/// "info at example dot org", or as it is where there is no word for it.
fn in_words(core: &str, local: &str, domain: &str, speaker: &Speaker) -> String {
    match speaker.catalogue {
        Some(catalogue) => {
            format!("{} {} {}", dotted(local, speaker), catalogue.at(), dotted(domain, speaker))
        }
        None => core.to_owned(),
    }
}

/// "example dot org", or as it is where there is no word for it.
fn dotted(name: &str, speaker: &Speaker) -> String {
    match speaker.catalogue {
        Some(catalogue) => name.replace('.', &format!(" {} ", catalogue.dot())),
        None => name.to_owned(),
    }
}

/// The words in an address or a link, with blanks between them.
fn words_of(text: &str) -> String {
    text.replace(|c| !characters::is_word(c), " ")
}

/// The name of a link's host, else the words in it.
fn host(link: &str, speaker: &Speaker) -> String {
    let after = link.split_once("://").map_or(link, |(_, rest)| rest);
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.strip_prefix("www.").unwrap_or(host);
    let host = host.split(':').next().unwrap_or_default();
    let parts = if host.contains(characters::is_word) && !is_link(host) { host } else { link };
    let in_letters = |c: char| if characters::is_word(c) || ".-".contains(c) { c } else { ' ' };
    let words: String = parts.chars().map(in_letters).collect();
    let spelled: Vec<&str> = words.split(['.', ' ']).filter(|label| !label.is_empty()).collect();
    match speaker.catalogue {
        Some(catalogue) => spelled.join(&format!(" {} ", catalogue.dot())),
        None => spelled.join(" "),
    }
}
