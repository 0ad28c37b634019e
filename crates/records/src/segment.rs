use crate::{AlertNo, DecodeError, EndpointNo, Lane, Short, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A segment holds at most so many seconds of its route's rate.
pub const SEGMENT_SECONDS_MAX: f64 = 2.0;
/// And at most so many octets.
pub const SEGMENT_OCTETS_MAX: usize = 512 * 1024;

/// Attempts for one route and lane that travel together: shared defaults, and what is special to each
/// endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The alert.
    pub alert: AlertNo,
    /// The alert as the outside knows it: for Message-IDs and links.
    pub alert_id: crate::AlertId,
    /// Whose it is.
    pub account: String,
    /// The route's name.
    pub route: String,
    /// The lane.
    pub lane: Lane,
    /// Where the topic of outcomes ended when this segment was made: what has become of it stands after.
    pub outcomes_from: u64,
    /// Nothing of it is written after this; what is left is not tried.
    pub expires: Timestamp,
    /// Sender shown, where the route allows it.
    pub sender: Option<String>,
    /// Shown at once and not kept (SMS class 0).
    pub flash: bool,
    /// Ask the network for a receipt.
    pub receipt: bool,
    /// An answer is asked for: mail carries a link, replies are kept.
    pub answer: bool,
    /// What can be answered.
    pub choices: Vec<crate::Choice>,
    /// Life safety: headers and data coding may say so.
    pub emergency: bool,
    /// Renderings that entries refer to by their place.
    pub bodies: Vec<Arc<Body>>,
    /// One attempt each.
    pub entries: Vec<Entry>,
}

/// One attempt at one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which delivery.
    pub endpoint: EndpointNo,
    /// Which attempt, from 1.
    pub attempt: u8,
    /// E.164, addr-spec, a topic without its `@`, or an edge site's name.
    pub address: String,
    /// Which of the segment's bodies, unless `own` is there.
    pub body: u16,
    /// A rendering for this endpoint alone.
    pub own: Option<Box<Body>>,
    /// Its own end, where the segment's is not its own: nothing of it is written after.
    pub expires: Option<Timestamp>,
    /// The link that leads to this endpoint's answer page, where an answer is asked for and the channel can
    /// show it.
    pub link: Option<String>,
}

/// The message of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// Rendered for the route's channel, whose gateway encodes it.
    Content(Content),
    /// A platform's own short message, with its sender, coding and headers.
    Short(Box<Short>),
    /// Rendered from the text of a language (BCP 47): a gateway's own words are in it too.
    Translated(Box<str>, Content),
}

/// A rendered text in the parts that a channel may have. The gateway of the channel writes headers, splits,
/// adds the answer link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Content {
    /// A line above the text, where the channel has one.
    pub subject: Option<String>,
    /// Plain text.
    pub text: String,
    /// HTML; nothing: plain text alone.
    pub html: Option<String>,
    /// The text as it is read out; nothing: the plain text is.
    pub spoken: Option<String>,
}

impl Content {
    /// A text alone.
    pub fn of_text(text: impl Into<String>) -> Content {
        Content { text: text.into(), ..Content::default() }
    }

    /// Octets of all parts.
    pub fn octets(&self) -> usize {
        let others = [&self.subject, &self.html, &self.spoken];
        self.text.len() + others.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

impl Body {
    /// A text alone.
    pub fn of_text(text: impl Into<String>) -> Body {
        Body::Content(Content::of_text(text))
    }

    /// The rendered text; nothing for a platform's own message.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Body::Content(content) | Body::Translated(_, content) => Some(content),
            Body::Short(_) => None,
        }
    }

    /// The language of the text, where it is known.
    pub fn language(&self) -> Option<&str> {
        match self {
            Body::Translated(language, _) => Some(language),
            Body::Content(_) | Body::Short(_) => None,
        }
    }
}

impl Segment {
    /// A record with nobody in it, by which a process that begins to lead moves the head of a topic of
    /// segments: what another still appends at the old head is refused. Gateways acknowledge it and do
    /// nothing else. `term` tells one from the other.
    pub fn fencing_record(route: &str, lane: Lane, term: u64) -> Segment {
        Segment {
            alert: AlertNo(0),
            alert_id: crate::AlertId(uuid::Uuid::from_u64_pair(0, term)),
            account: String::new(),
            route: route.to_owned(),
            lane,
            // It needs no outcome to be kept.
            outcomes_from: u64::MAX,
            expires: Timestamp(i64::MAX),
            sender: None,
            flash: false,
            receipt: false,
            answer: false,
            choices: Vec::new(),
            emergency: false,
            bodies: Vec::new(),
            entries: Vec::new(),
        }
    }
    /// See [`Segment::fencing_record`].
    pub fn is_fencing_record(&self) -> bool {
        self.entries.is_empty()
    }
    /// As stored on the bus.
    pub fn encode(&self) -> Vec<u8> {
        /// Most entries have fewer octets.
        const ENTRY_OCTETS: usize = 160;
        let mut out = Vec::with_capacity(self.entries.len() * ENTRY_OCTETS + 512);
        crate::extend_with(&mut out, self);
        out
    }
    /// Reads what [`Segment::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("segment", bytes)
    }
    /// What an entry says.
    pub fn body<'a>(&'a self, entry: &'a Entry) -> Option<&'a Body> {
        match &entry.own {
            Some(own) => Some(own),
            None => self.bodies.get(usize::from(entry.body)).map(|body| &**body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fencing_record_is_told_from_a_segment_and_holds_no_outcomes_back() {
        let record = Segment::decode(&Segment::fencing_record("sms", Lane::Urgent, 7).encode()).unwrap();
        assert!(record.is_fencing_record());
        assert_eq!((record.lane, record.outcomes_from), (Lane::Urgent, u64::MAX));
        assert_ne!(record.encode(), Segment::fencing_record("sms", Lane::Urgent, 8).encode());
    }
}
