//! Parser of an audience's entries, before anybody is looked up.

use crate::api::Problem;
use crate::nearest::nearest;
use channels::{Defaults, NoChannel, legible};
use records::{AlertId, AlertRequest, ChannelNumber};

/// One entry of an audience or of its exclusions, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// Every recipient of the account.
    All,
    /// Whoever is in the alert's area.
    Area,
    /// Whoever is in the area that is kept under this id.
    NamedArea(String),
    /// Whoever subscribed to something that the alert is about.
    Subscribers,
    /// A group, perhaps limited to one channel.
    Group(String, Option<ChannelNumber>),
    /// One person.
    Recipient(String),
    /// One device address.
    Address(ChannelNumber, String),
    /// Whoever got an earlier alert, or may have got it, by the devices that it went to.
    Received(AlertId),
    /// People of an earlier alert, by what they have by now.
    Earlier(AlertId, EarlierPeople),
}

/// Which people of an earlier alert.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EarlierPeople {
    /// Who did not answer, but for those who were left out.
    NotAnswered,
    /// Whom it failed to reach, or of whom nobody knows.
    NotReached,
    /// Whose answer has this key; `other`: is no choice.
    Answer(String),
}

impl To {
    /// The earlier alert whose people it names.
    pub fn earlier(&self) -> Option<AlertId> {
        match self {
            To::Received(id) | To::Earlier(id, _) => Some(*id),
            _ => None,
        }
    }
}

impl std::str::FromStr for To {
    type Err = String;
    fn from_str(text: &str) -> Result<To, String> {
        match text.split_once(':') {
            None if text == "all" => Ok(To::All),
            None if text == "area" => Ok(To::Area),
            None if text == "subscribers" => Ok(To::Subscribers),
            Some(("group", rest)) => group(rest),
            Some(("alert", rest)) => earlier(rest),
            Some(("area", id)) if !id.is_empty() => Ok(To::NamedArea(legible::trimmed(id).to_owned())),
            Some(("recipient" | "area", "")) | None => {
                Err(format!("{text:?} names nobody: write {}", forms()))
            }
            Some(("recipient", id)) => Ok(To::Recipient(legible::trimmed(id).to_owned())),
            Some((kind, _)) if matches!(channels::before_colon(kind), Err(NoChannel::Unknown(_))) => {
                let known =
                    ["alert", "area", "group", "recipient"].into_iter().chain(channels::words_before_colon());
                let near = nearest(kind, known).map(|near| format!("did you mean {near}:…? "));
                Err(format!("{kind:?} is no kind of audience; {}write {}", near.unwrap_or_default(), forms()))
            }
            Some((channel, address)) => {
                // A door has completed the address; by now its site may be gone, or its region another.
                let endpoint = channels::endpoint(channel, address, &Defaults::default());
                let (channel, address) = endpoint.map_err(|why| format!("{why}; write {}", forms()))?;
                Ok(To::Address(channel, address))
            }
        }
    }
}

fn forms() -> String {
    let addresses: Vec<String> =
        channels::ALL.iter().map(|channel| channels::entry(channel.number(), channel.example())).collect();
    format!(
        "all, area, area:ID, subscribers, group:NAME, group:NAME/CHANNEL, recipient:ID, {EARLIER_FORMS}, or an address such as {}",
        addresses.join(", ")
    )
}

/// What may stand behind the id of an earlier alert.
pub const EARLIER_FORMS: &str = "alert:ID/received, /not_answered, /not_reached or /answer=KEY";

fn earlier(rest: &str) -> Result<To, String> {
    let Some((id, which)) = rest.split_once('/') else {
        return Err(format!(
            "alert:{rest:?} names nobody: write {EARLIER_FORMS} for people of an earlier alert"
        ));
    };
    let id = id.parse().map_err(|_| format!("{id:?} is no id of an alert: write {EARLIER_FORMS}"))?;
    match which {
        "received" => Ok(To::Received(id)),
        "not_answered" => Ok(To::Earlier(id, EarlierPeople::NotAnswered)),
        "not_reached" => Ok(To::Earlier(id, EarlierPeople::NotReached)),
        _ => match which.strip_prefix("answer=").filter(|key| !key.is_empty()) {
            Some(key) => Ok(To::Earlier(id, EarlierPeople::Answer(key.to_owned()))),
            None => Err(format!("{which:?} names nobody of an alert: write {EARLIER_FORMS}")),
        },
    }
}

fn group(rest: &str) -> Result<To, String> {
    let (name, channel) = match rest.rsplit_once('/') {
        Some((name, channel)) => match channels::named(channel) {
            Ok(channel) => (name, Some(channel.number())),
            Err(NoChannel::NotBuilt(_)) => return Err(NoChannel::NotBuilt(channel).to_string()),
            // A group's name may hold a slash of its own.
            Err(NoChannel::Unknown(_)) => (rest, None),
        },
        None => (rest, None),
    };
    if name.is_empty() {
        return Err(format!("a group has a name: write {}", forms()));
    }
    Ok(To::Group(legible::name(name).into_owned(), channel))
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
    for (i, _) in unwanted.iter().enumerate().filter(|(_, to)| to.earlier().is_some()) {
        let reason = "cannot be left out: only an audience names people of an earlier alert".to_owned();
        problems.push(Problem { field: format!("exclude[{i}]"), reason });
    }
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
            ("area:harbour", To::NamedArea("harbour".into())),
            ("subscribers", To::Subscribers),
            ("group:staff", To::Group("staff".into(), None)),
            ("group:fire/sms", To::Group("fire".into(), Some(channels::SMS))),
            ("group:ward/7", To::Group("ward/7".into(), None)),
            ("group:Stro\u{308}m", To::Group("Ström".into(), None)),
            ("group: Str\u{200b}öm /sms", To::Group("Ström".into(), Some(channels::SMS))),
            ("recipient:ext-77", To::Recipient("ext-77".into())),
            ("sms:+46 70-123 45 67", To::Address(channels::SMS, "+46701234567".into())),
            ("mail:a@B.SE", To::Address(channels::MAIL, "a@b.se".into())),
            ("edge:north", To::Address(channels::EDGE, "north".into())),
            (
                "alert:00000000-0000-0000-0000-000000000007/received",
                To::Received(AlertId(uuid::Uuid::from_u128(7))),
            ),
            (
                "alert:00000000-0000-0000-0000-000000000007/not_answered",
                To::Earlier(AlertId(uuid::Uuid::from_u128(7)), EarlierPeople::NotAnswered),
            ),
            (
                "alert:00000000-0000-0000-0000-000000000007/not_reached",
                To::Earlier(AlertId(uuid::Uuid::from_u128(7)), EarlierPeople::NotReached),
            ),
            (
                "alert:00000000-0000-0000-0000-000000000007/answer=2",
                To::Earlier(AlertId(uuid::Uuid::from_u128(7)), EarlierPeople::Answer("2".into())),
            ),
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
            "area:",
            "recipient:",
            "sms:0701234567",
            "sms:+46",
            "sms:+4670123456789012",
            "mail:a",
            "mail:a b@c",
            "fax:1",
            "alert:7/received",
            "alert:00000000-0000-0000-0000-000000000007",
            "alert:00000000-0000-0000-0000-000000000007/answered",
        ] {
            assert!(text.parse::<To>().is_err(), "{text}");
        }
        assert!("fax:1".parse::<To>().unwrap_err().contains("channel fax is not built yet"));
        assert!("group:x/fax".parse::<To>().unwrap_err().contains("not built yet"));
    }
}
