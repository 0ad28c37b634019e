//! What an audience's entries mean, before anybody is looked up.

use crate::api::Problem;
use records::{AlertRequest, Channel};

/// One entry of an audience or of its exclusions, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// Every recipient of the account.
    All,
    /// Whoever is in the alert's area.
    Area,
    /// A group, perhaps limited to one channel.
    Group(String, Option<Channel>),
    /// One person.
    Recipient(String),
    /// One device address.
    Address(Channel, String),
}

impl std::str::FromStr for To {
    type Err = String;
    fn from_str(text: &str) -> Result<To, String> {
        match text.split_once(':') {
            None if text == "all" => Ok(To::All),
            None if text == "area" => Ok(To::Area),
            Some(("group", rest)) => group(rest),
            Some(("recipient", "")) | None => Err(format!("{text:?} names nobody: write {FORMS}")),
            Some(("recipient", id)) => Ok(To::Recipient(id.to_owned())),
            Some((channel, address)) => {
                let channel: Channel = channel.parse().map_err(|why| format!("{why}; write {FORMS}"))?;
                Ok(To::Address(channel, checked_address(channel, address)?))
            }
        }
    }
}

const FORMS: &str = "all, area, group:NAME, group:NAME/CHANNEL, recipient:ID, sms:+NUMBER or mail:ADDRESS";

fn group(rest: &str) -> Result<To, String> {
    let (name, channel) = match rest.rsplit_once('/') {
        Some((name, channel)) => match channel.parse::<Channel>() {
            Ok(channel) => (name, Some(channel)),
            Err(why) if why.contains("not built") => return Err(why),
            // A group's name may hold a slash of its own.
            Err(_) => (rest, None),
        },
        None => (rest, None),
    };
    if name.is_empty() {
        return Err(format!("a group has a name: write {FORMS}"));
    }
    Ok(To::Group(name.to_owned(), channel))
}

/// E.164 allows 15 digits; no country's numbers are shorter than 7 with its prefix.
const E164_DIGITS: std::ops::RangeInclusive<usize> = 7..=15;
/// RFC 5321, 4.5.3.1.3: a path has at most 256 octets with its brackets.
const MAIL_OCTETS_MAX: usize = 254;

/// The address in the form it is stored and compared in, or why it cannot be one.
pub fn checked_address(channel: Channel, address: &str) -> Result<String, String> {
    match channel {
        Channel::Sms => {
            let clean: String =
                address.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')' | '.')).collect();
            let digits = clean.strip_prefix('+').unwrap_or("");
            let right = E164_DIGITS.contains(&digits.len())
                && digits.bytes().all(|b| b.is_ascii_digit())
                && !digits.starts_with('0');
            if right {
                Ok(clean)
            } else {
                Err(format!(
                    "{address:?} is not a number in E.164 form: + and 7 to 15 digits, such as +46701234567"
                ))
            }
        }
        Channel::Mail => checked_mail(address),
        Channel::Topic => records::checked_text_topic(address),
        Channel::Edge => records::checked_edge_site(address),
    }
}

fn checked_mail(address: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "{address:?} is not a mail address of at most {MAIL_OCTETS_MAX} octets, such as name@example.org"
        )
    };
    let (local, domain) = address.rsplit_once('@').ok_or_else(wrong)?;
    let odd =
        |c: char| c.is_control() || c.is_whitespace() || matches!(c, '<' | '>' | ',' | ';' | '"' | '\\');
    if local.is_empty()
        || domain.is_empty()
        || address.len() > MAIL_OCTETS_MAX
        || address.chars().any(odd)
        || local.contains('@')
    {
        return Err(wrong());
    }
    Ok(format!("{local}@{}", domain.to_ascii_lowercase()))
}

/// Every entry and exclusion of a request, parsed; problems name the field.
pub fn parsed(request: &AlertRequest) -> Result<(Vec<To>, Vec<To>), Vec<Problem>> {
    let mut problems = Vec::new();
    let mut parse = |field: String, text: &str| match text.parse::<To>() {
        Ok(to) => Some(to),
        Err(reason) => {
            problems.push(Problem { field, reason });
            None
        }
    };
    let wanted: Vec<To> = request
        .audience
        .iter()
        .enumerate()
        .filter_map(|(i, entry)| parse(format!("audience[{i}]"), &entry.to))
        .collect();
    let unwanted: Vec<To> = request
        .exclude
        .iter()
        .enumerate()
        .filter_map(|(i, text)| parse(format!("exclude[{i}]"), text))
        .collect();
    if request.audience.is_empty() {
        problems.push(Problem {
            field: "audience".into(),
            reason: "is empty: it needs at least one entry".into(),
        });
    }
    if problems.is_empty() { Ok((wanted, unwanted)) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_entry_is_read() {
        let table = [
            ("all", To::All),
            ("area", To::Area),
            ("group:staff", To::Group("staff".into(), None)),
            ("group:fire/sms", To::Group("fire".into(), Some(Channel::Sms))),
            ("group:ward/7", To::Group("ward/7".into(), None)),
            ("recipient:ext-77", To::Recipient("ext-77".into())),
            ("sms:+46 70-123 45 67", To::Address(Channel::Sms, "+46701234567".into())),
            ("mail:a@B.SE", To::Address(Channel::Mail, "a@b.se".into())),
        ];
        for (text, to) in table {
            assert_eq!(text.parse::<To>(), Ok(to), "{text}");
        }
    }

    #[test]
    fn what_names_nobody_is_refused_with_the_forms_that_do() {
        for text in [
            "",
            "everyone",
            "group:",
            "recipient:",
            "sms:0701234567",
            "sms:+46",
            "sms:+4670123456789012",
            "mail:a",
            "mail:a b@c",
            "fax:1",
        ] {
            assert!(text.parse::<To>().is_err(), "{text}");
        }
        assert!("pager:1".parse::<To>().unwrap_err().contains("channel pager is not built yet"));
        assert!("group:x/pager".parse::<To>().unwrap_err().contains("not built yet"));
    }
}
