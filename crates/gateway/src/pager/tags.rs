//! Two-way pages that are still asked for: records on a topic of the route, taken by a consumer group.
//!
//! A tag is appended before its page is on record as accepted, and acknowledged when its result is on
//! record. So a killed process leaves no page that nobody asks for; an answer that was just noted may be
//! noted again.

use bus::{Bus, BusError, Group, GroupSettings, Leased, Topic};
use records::{AlertNo, EndpointNo, Timestamp};
use serde_json::{Value, json};
use snpp::tag::MessageTag;
use std::sync::Arc;
use std::time::Duration;

/// The consumer group of pollers.
const GROUP: &str = "poll";
/// The form of a record.
const FORM: u64 = 1;

/// A two-way page that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PagedTag {
    pub(super) alert: AlertNo,
    pub(super) endpoint: EndpointNo,
    /// The pager.
    pub(super) address: String,
    pub(super) tag: MessageTag,
    /// It is not asked for after this.
    pub(super) until: Timestamp,
    /// It is asked for until it is answered, else until it is delivered.
    pub(super) wants_answer: bool,
    /// Codes of its choices, with the alert's own keys.
    pub(super) choices: Vec<(String, String)>,
}

impl PagedTag {
    fn encode(&self) -> Vec<u8> {
        let record = json!({
            "form": FORM,
            "alert": self.alert.0,
            "endpoint": self.endpoint.0,
            "address": self.address,
            "tag": self.tag.tag(),
            "pass_code": self.tag.pass_code(),
            "until_us": self.until.0,
            "wants_answer": self.wants_answer,
            "choices": self.choices,
        });
        record.to_string().into_bytes()
    }

    /// Nothing for a record of a later version, or one that is damaged.
    pub(super) fn decode(record: &[u8]) -> Option<PagedTag> {
        let read: Value = serde_json::from_slice(record).ok()?;
        let text = |name: &str| read.get(name).and_then(Value::as_str);
        let choice =
            |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
        if read.get("form")?.as_u64()? != FORM {
            return None;
        }
        Some(PagedTag {
            alert: AlertNo(read.get("alert")?.as_u64()?),
            endpoint: EndpointNo(read.get("endpoint")?.as_u64()?.try_into().ok()?),
            address: text("address")?.to_owned(),
            tag: MessageTag::new(text("tag")?, text("pass_code")?)?,
            until: Timestamp(read.get("until_us")?.as_i64()?),
            wants_answer: read.get("wants_answer")?.as_bool()?,
            choices: read.get("choices")?.as_array()?.iter().map(choice).collect::<Option<_>>()?,
        })
    }
}

/// The topic of a route's two-way pages.
pub(super) struct TagTopic {
    topic: Arc<dyn Topic>,
    group: Arc<dyn Group>,
}

impl TagTopic {
    pub(super) fn open(bus: &dyn Bus, route: &str) -> Result<TagTopic, BusError> {
        let name = format!("paged/{route}");
        let topic = bus.topic(&name)?;
        let group = bus.group_with(&name, GROUP, &GroupSettings::default())?;
        Ok(TagTopic { topic, group })
    }

    pub(super) async fn append(&self, tag: &PagedTag) -> Result<(), BusError> {
        self.topic.append(&[&tag.encode()]).await.map(|_| ())
    }

    /// Up to so many that nobody asks for yet, under a lease.
    pub(super) fn take(&self, max: usize, lease: Duration) -> Result<Vec<Leased>, BusError> {
        self.group.take(max, lease)
    }

    /// Resolves when there may be more to take.
    pub(super) async fn ready(&self) {
        self.group.ready().await;
    }

    /// Keeps one for longer; false if another process has it by now.
    pub(super) fn renew(&self, index: u64, lease: Duration) -> bool {
        self.group.renew(index, lease).is_ok()
    }

    /// Another process, or the next one, may ask for it.
    pub(super) fn release(&self, index: u64) {
        // One whose lease has expired is free already.
        let _ = self.group.release(index);
    }

    /// It is not asked for any more; what nobody needs is let go of.
    pub(super) fn done(&self, index: u64) {
        let trimmed = self.group.ack(index).and_then(|()| self.topic.trim(self.group.low_water()));
        if let Err(error) = trimmed {
            tracing::debug!(%error, "a two-way page stays on its topic, and is asked for again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_and_one_of_a_later_form_is_none() {
        let tag = PagedTag {
            alert: AlertNo(u64::MAX),
            endpoint: EndpointNo(7),
            address: "SHIRLEY".to_owned(),
            tag: MessageTag::new("00321", "1234").unwrap(),
            until: Timestamp(5),
            wants_answer: true,
            choices: vec![("01".to_owned(), "safe".to_owned())],
        };
        let record = tag.encode();
        assert_eq!(PagedTag::decode(&record), Some(tag.clone()));
        let later = String::from_utf8(record).unwrap().replace("\"form\":1", "\"form\":2");
        assert_eq!(PagedTag::decode(later.as_bytes()), None);
        for damaged in [&b""[..], b"{}", b"[1]", b"\xff"] {
            assert_eq!(PagedTag::decode(damaged), None);
        }
        assert!(!format!("{tag:?}").contains("1234"));
    }
}
