//! Audience of a request that may be unfinished: entries that cannot be read are left out, with the reason.

use crate::api::Problem;
use crate::solve::audience::To;
use records::{AlertRequest, Terminal, Texts, Timestamp};

/// See the module.
pub(super) struct ReadAudience {
    /// With the entries that can be read alone, and nothing that solving does not look at.
    pub(super) request: AlertRequest,
    pub(super) wanted: Vec<To>,
    pub(super) unwanted: Vec<To>,
    pub(super) problems: Vec<Problem>,
}

impl ReadAudience {
    pub(super) fn of(request: AlertRequest) -> ReadAudience {
        let (mut wanted, mut unwanted, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let (mut audience, mut exclude) = (Vec::new(), Vec::new());
        let mut read = |field: String, text: &str| match text.parse::<To>() {
            Ok(To::Received(_)) if field.starts_with("exclude") => {
                let reason = "only an audience names whoever got an alert".to_owned();
                problems.push(Problem { field, reason });
                None
            }
            Ok(to) => Some(to),
            Err(reason) => {
                problems.push(Problem { field, reason });
                None
            }
        };
        for (place, entry) in request.audience.iter().enumerate() {
            if let Some(to) = read(format!("audience[{place}]"), &entry.to) {
                wanted.push(to);
                audience.push(entry.clone());
            }
        }
        for (place, entry) in request.exclude.iter().enumerate() {
            if let Some(to) = read(format!("exclude[{place}]"), entry) {
                unwanted.push(to);
                exclude.push(entry.clone());
            }
        }
        // Subscribers are those of the words of the texts.
        let has_words = wanted.iter().chain(&unwanted).any(|to| *to == To::Subscribers);
        let request = AlertRequest { audience, exclude, ..solved_part(request, has_words) };
        ReadAudience { request, wanted, unwanted, problems }
    }

    /// The part of the request that solving looks at, as octets.
    pub(super) fn octets(&self) -> Vec<u8> {
        let problems: Vec<&str> = self.problems.iter().map(|problem| problem.field.as_str()).collect();
        serde_json::to_vec(&(&self.request, problems)).unwrap_or_default()
    }
}

/// A request without what solving does not look at.
fn solved_part(request: AlertRequest, has_words: bool) -> AlertRequest {
    AlertRequest {
        headline: request.headline.filter(|_| has_words),
        text: request.text.filter(|_| has_words),
        texts: if has_words { request.texts } else { Texts::default() },
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires: Timestamp(0),
        callback: None,
        answer_rules: records::AnswerRules::default(),
        follows: None,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        ..request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;
    use records::AudienceEntry;

    #[test]
    fn entries_that_cannot_be_read_are_named_and_the_others_are_counted() {
        let entry = |to: &str| AudienceEntry { to: to.into(), strategy: None, expires: None };
        let mut asked = request("Fire");
        asked.audience = ["fax:1", "group:staff", ""].map(entry).to_vec();
        asked.exclude = vec!["everyone".into(), "recipient:ann".into()];
        let read = ReadAudience::of(asked.clone());
        let fields: Vec<&str> = read.problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["audience[0]", "audience[2]", "exclude[0]"]);
        assert_eq!(read.wanted, [To::Group("staff".into(), None)]);
        assert_eq!(read.request.audience.len(), 1);
        assert_eq!(read.unwanted, [To::Recipient("ann".into())]);
        asked.text = Some("Flood".into());
        asked.expires = Timestamp(7);
        assert_eq!(read.octets(), ReadAudience::of(asked.clone()).octets(), "the same people");
        asked.audience = vec![entry("subscribers")];
        let flood = ReadAudience::of(asked.clone()).octets();
        asked.text = Some("Fire".into());
        assert_ne!(flood, ReadAudience::of(asked).octets(), "others subscribed to fires");
    }
}
