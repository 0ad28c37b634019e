//! Topic Names and Topic Filters (section 4.7), and Shared Subscriptions (section 4.8.2).

/// Octets of a Topic Name or a Topic Filter at most (section 4.7.3).
pub const TOPIC_OCTETS_MAX: usize = 65_535;

/// Checks a Topic Name: that of a message.
///
/// # Errors
/// The reason, in words: it is empty, too long, or has a wildcard or U+0000 (sections 3.3.2.1 and 4.7.3).
pub fn check_topic_name(name: &str) -> Result<(), &'static str> {
    check_octets(name)?;
    match name.contains(['+', '#']) {
        true => Err("a topic name has no wildcard: neither + nor #"),
        false => Ok(()),
    }
}

/// Checks a Topic Filter: that of a subscription, with or without `$share/NAME/` before it.
///
/// # Errors
/// The reason, in words (sections 4.7.1, 4.7.3 and 4.8.2).
pub fn check_topic_filter(filter: &str) -> Result<(), &'static str> {
    check_octets(filter)?;
    let levels = match filter.strip_prefix("$share/") {
        None => filter,
        Some(shared) => {
            let (name, rest) = shared.split_once('/').ok_or("a shared subscription is $share/NAME/FILTER")?;
            if name.is_empty() || name.contains(['+', '#']) || rest.is_empty() {
                return Err("a shared subscription is $share/NAME/FILTER, its name without + and #");
            }
            rest
        }
    };
    let mut levels = levels.split('/').peekable();
    while let Some(level) = levels.next() {
        let is_last = levels.peek().is_none();
        if level.contains('#') && (level != "#" || !is_last) {
            return Err("# stands alone in the last level of a filter");
        }
        if level.contains('+') && level != "+" {
            return Err("+ stands alone in its level of a filter");
        }
    }
    Ok(())
}

fn check_octets(topic: &str) -> Result<(), &'static str> {
    if topic.is_empty() {
        return Err("a topic has at least one character");
    }
    if topic.len() > TOPIC_OCTETS_MAX {
        return Err("a topic has at most 65535 octets");
    }
    if topic.contains('\0') {
        return Err("a topic has no U+0000");
    }
    Ok(())
}

/// The name of the group and the filter itself of a Shared Subscription; no name for any other filter.
pub fn shared_subscription(filter: &str) -> (Option<&str>, &str) {
    match filter.strip_prefix("$share/").and_then(|shared| shared.split_once('/')) {
        Some((name, filter)) => (Some(name), filter),
        None => (None, filter),
    }
}

/// Whether a filter without `$share/NAME/` matches a topic's name (section 4.7.1). A filter that begins with
/// a wildcard matches no name that begins with `$` (section 4.7.2).
pub fn topic_matches(filter: &str, name: &str) -> bool {
    if name.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let (mut filters, mut names) = (filter.split('/'), name.split('/'));
    loop {
        match (filters.next(), names.next()) {
            (Some("#"), _) | (None, None) => return true,
            (Some("+"), Some(_)) => {}
            (Some(filter), Some(level)) if filter == level => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_the_standards_examples_say() {
        for (filter, name, expected) in [
            ("sport/tennis/player1/#", "sport/tennis/player1", true),
            ("sport/tennis/player1/#", "sport/tennis/player1/ranking", true),
            ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
            ("sport/#", "sport", true),
            ("#", "a/b", true),
            ("sport/tennis/+", "sport/tennis/player1", true),
            ("sport/tennis/+", "sport/tennis/player1/ranking", false),
            ("sport/+", "sport", false),
            ("sport/+", "sport/", true),
            ("+/+", "/finance", true),
            ("/+", "/finance", true),
            ("+", "/finance", false),
            ("#", "$SYS/x", false),
            ("+/monitor/Clients", "$SYS/monitor/Clients", false),
            ("$SYS/#", "$SYS/x", true),
            ("accounts", "ACCOUNTS", false),
            ("a", "a/b", false),
        ] {
            assert_eq!(topic_matches(filter, name), expected, "{filter} {name}");
        }
    }

    #[test]
    fn wildcards_stand_alone_in_filters_and_nowhere_in_names() {
        let long = "x".repeat(TOPIC_OCTETS_MAX + 1);
        for filter in ["#", "a/#", "+", "+/b/#", "/", "a//b", "$share/g/a/+", "$share/g//a", &long[1..]] {
            assert_eq!(check_topic_filter(filter), Ok(()), "{filter}");
        }
        for filter in [
            "",
            "a#",
            "a/#/b",
            "a+",
            "+a/b",
            "$share/g",
            "$share/g/",
            "$share//a",
            "$share/g+/a",
            "a\0",
            &long,
        ] {
            assert!(check_topic_filter(filter).is_err(), "{filter}");
        }
        assert_eq!(check_topic_name("a/b c/å"), Ok(()));
        for name in ["", "a/+", "#", "a\0b", &long] {
            assert!(check_topic_name(name).is_err(), "{name}");
        }
        assert_eq!(shared_subscription("$share/g/a/b"), (Some("g"), "a/b"));
        assert_eq!(shared_subscription("a/b"), (None, "a/b"));
    }
}
