//! Topics: what an alert is about, as people subscribe to it: words of its texts, and its area.

use crate::inbound_text::folded;
use crate::services::SUBSCRIPTIONS;
use records::{AlertRequest, ChannelTexts, PersonFacts};

/// An alert's words in folded form, each with a blank before and behind.
#[derive(Debug, Clone, Default)]
pub struct Topics {
    words: String,
}

impl Topics {
    /// Headline and texts in every language, geocodes, and the area in words.
    pub fn of(request: &AlertRequest) -> Topics {
        let mut words = String::from(" ");
        let mut add = |text: &str| {
            for word in folded(text).split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                words.push_str(word);
                words.push(' ');
            }
        };
        request.headline.iter().chain(&request.text).for_each(|text| add(text));
        let languages = std::iter::once(&request.texts.default).chain(request.texts.languages.values());
        for texts in languages {
            let of_channels = texts.own.values().flat_map(|own| own.subject.iter().chain(&own.text));
            let ChannelTexts { headline, text, .. } = texts;
            headline.iter().chain(text).chain(of_channels).for_each(|text| add(text));
        }
        if let Some(area) = &request.area {
            add(&area.description);
            area.geocodes.iter().for_each(|code| add(code));
        }
        Topics { words }
    }

    /// Whether somebody subscribed to one of them.
    pub fn hold(&self, recipient: &impl PersonFacts) -> bool {
        let Some(list) = recipient.attribute(SUBSCRIPTIONS) else { return false };
        list.split(';').any(|wanted| {
            let wanted = folded(wanted);
            let mut phrase = String::from(" ");
            for word in wanted.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                phrase.push_str(word);
                phrase.push(' ');
            }
            phrase.len() > 1 && self.words.contains(&phrase)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;
    use records::{AreaRequest, Recipient};

    #[test]
    fn an_alert_is_for_who_subscribed_to_a_word_of_it_or_to_its_area() {
        let mut flood = request("Översvämning vid hamnen.");
        flood.headline = Some("Flood warning".into());
        flood.area = Some(AreaRequest {
            geocodes: vec!["SE0114".into()],
            description: "Upplands Väsby".into(),
            ..AreaRequest::default()
        });
        let topics = Topics::of(&flood);
        for (list, expected) in [
            ("flood", true),
            ("FLOOD WARNING", true),
            ("warning flood", false),
            ("fire; hamnen", true),
            ("oversvamning", true),
            ("se0114", true),
            ("upplands vasby", true),
            ("hamn", false),
            ("", false),
            (" ; ", false),
        ] {
            let mut person = Recipient::default();
            person.attributes.insert(SUBSCRIPTIONS.to_owned(), list.to_owned());
            assert_eq!(topics.hold(&person), expected, "{list:?}");
        }
        assert!(!topics.hold(&Recipient::default()));
    }
}
