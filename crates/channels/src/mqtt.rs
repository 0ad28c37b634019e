//! Topics at an MQTT broker: sirens, signs, devices of any kind.

use crate::content::{self, Part};
use crate::{Address, Channel, Defaults, MQTT, Traits, is_invisible};
use records::{AlertNo, AlertRequest, ChannelNumber, Content, EndpointNo, channel_key};

/// Octets of an address at most. A route puts it into a topic of its own.
const ADDRESS_OCTETS_MAX: usize = 256;

/// Topics at an MQTT broker.
pub(crate) struct MqttChannel;

impl Channel for MqttChannel {
    fn number(&self) -> ChannelNumber {
        MQTT
    }
    fn name(&self) -> &'static str {
        "mqtt"
    }
    fn example(&self) -> &'static str {
        "site/7"
    }
    fn form(&self) -> &'static str {
        "an MQTT topic without wildcards"
    }
    /// A Topic Name (MQTT 5, section 4.7) of characters that people can see: letters count in their case, and
    /// blanks at both ends are not a part of it.
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        let topic = text.trim();
        let wrong = |why: &str| Err(format!("{topic:?} is no MQTT topic: {why}, such as mqtt:site/7"));
        if topic.is_empty() {
            return wrong("it has at least one character");
        }
        if topic.len() > ADDRESS_OCTETS_MAX {
            return wrong("it has at most 256 octets");
        }
        if topic.starts_with('$') {
            return wrong("topics that begin with $ are the broker's own");
        }
        if topic.contains(['+', '#']) {
            return wrong("one topic is one device, so it has no wildcard + or #");
        }
        if topic.chars().any(|c| c.is_control() || is_invisible(c)) {
            return wrong("it has no control character and none that cannot be seen");
        }
        Ok(topic.to_owned())
    }
    fn content(&self, request: &AlertRequest, language: Option<&str>) -> Option<Content> {
        let text = content::text(request, language, MQTT)?;
        let texts = content::texts(request, language)?;
        let own = texts.own(MQTT);
        let headline = texts.headline.as_ref().or(request.headline.as_ref());
        Some(Content {
            subject: own.and_then(|own| own.subject.as_ref()).or(headline).cloned(),
            spoken: own.and_then(|own| own.spoken.clone()),
            ..Content::of_text(text)
        })
    }
    /// A device knows a message by the id in it.
    fn traits(&self) -> Traits {
        Traits { receipts: true, replies: true, repeatable: true, ..Traits::default() }
    }
    fn parts(&self) -> &'static [Part] {
        &[Part::Subject, Part::Text, Part::Spoken]
    }
    /// A broker gives a message no id that an answer would repeat: its Correlation Data names the delivery.
    fn own_key(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<u64> {
        Some(channel_key(MQTT, alert, endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_topic_of_one_device() {
        let address = |text: &str| MqttChannel.address(text, &Defaults::default());
        for topic in ["site/7", "a", "/a//b", "Norra sirenen/ö", "site 7", &"x".repeat(ADDRESS_OCTETS_MAX)] {
            assert_eq!(address(topic).as_deref(), Ok(topic));
        }
        assert_eq!(address("  site/7 ").as_deref(), Ok("site/7"));
        for topic in [
            "",
            " ",
            "$SYS/x",
            "$share/g/x",
            "site/+",
            "#",
            "a#",
            "a\0b",
            "a\nb",
            "a\u{200B}b",
            &"x".repeat(ADDRESS_OCTETS_MAX + 1),
        ] {
            assert!(address(topic).is_err(), "{topic:?}");
        }
    }
}
