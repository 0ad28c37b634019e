//! Pages of a segment's entries: the text once for a body, and the choices once for a segment.

use super::config::{PagerRoute, PagingTransport, SnppSettings};
use super::text::TextShape;
use crate::dispatcher::{ChannelEncoder, Job};
use crate::mail::encode::{Letterhead, Prepared as PreparedMails};
use crate::mail::{CannotCompose, MailComposer, MailRoute, Tags};
use records::{AlertNo, Body, Content, EndpointNo, Entry, Segment, Timestamp, channel_key, mail_key};
use smtp::client::Transaction;
use snpp::client::{CHOICES_MAX, OutgoingPage, TwoWay};
use snpp::command::{EXPIRY_HOURS_MAX, ReplyType};

/// Makes pages.
pub(crate) struct PagerEncoder {
    shape: TextShape,
    /// Of a route that mails its pages.
    letterhead: Option<Letterhead>,
}

/// What the entries of a segment share, made once.
pub(crate) struct PreparedPages {
    /// The text of each body, by its place.
    texts: Vec<Result<String, CannotCompose>>,
    pub(super) choices: Vec<PageChoice>,
    /// Of a route that mails its pages: the segment without entries, bodies and choices.
    bare: Option<Box<Segment>>,
    mails: Option<PreparedMails>,
}

/// A choice as it stands on a pager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageChoice {
    /// Two digits, from `01`.
    pub(super) code: String,
    /// The alert's own key.
    pub(super) key: String,
    text: Vec<u8>,
}

/// A page on its way.
pub(super) type PagerJob = Job<PreparedPages>;

impl PagerEncoder {
    pub(super) fn new(route: &PagerRoute, letterhead: Option<Letterhead>) -> PagerEncoder {
        PagerEncoder { shape: route.shape, letterhead }
    }

    fn text(&self, body: Option<&Body>) -> Result<String, CannotCompose> {
        match body.and_then(Body::content) {
            Some(content) => self.shape.page(content),
            None => {
                Err(CannotCompose { code: "local:body", text: "there is no text for a pager".to_owned() })
            }
        }
    }

    fn text_of(&self, job: &PagerJob) -> Result<String, CannotCompose> {
        let (segment, entry) = (&job.leased.segment, job.entry());
        match job.leased.prepared.texts.get(usize::from(entry.body)).filter(|_| entry.own.is_none()) {
            Some(shared) => shared.clone(),
            None => self.text(segment.body(entry)),
        }
    }

    /// The page of an entry by SNPP, under this number.
    pub(super) fn page(
        &self,
        job: &PagerJob,
        id: u64,
        settings: &SnppSettings,
        now: Timestamp,
    ) -> Result<OutgoingPage, CannotCompose> {
        let (segment, entry) = (&job.leased.segment, job.entry());
        if entry.address.contains('@') {
            return Err(CannotCompose {
                code: "local:address",
                text: "a mail address is paged by a route with protocol = \"smtp\"".to_owned(),
            });
        }
        let text = self.text_of(job)?;
        Ok(OutgoingPage {
            id,
            pager: entry.address.clone(),
            pin: None,
            text: self.shape.octets(&text),
            level: settings.level.map(|level| if segment.emergency { 0 } else { level }),
            coverage: settings.coverage.clone(),
            alert: None,
            caller: settings.caller.as_ref().map(|caller| caller.clone().into_bytes()),
            two_way: settings.two_way.map(|_| self.two_way(job, now)),
        })
    }

    fn two_way(&self, job: &PagerJob, now: Timestamp) -> TwoWay {
        let (segment, choices) = (&job.leased.segment, &job.leased.prepared.choices);
        let reply = match (segment.answer, choices.is_empty()) {
            (false, _) => ReplyType::None,
            (true, false) => ReplyType::MultipleChoice,
            (true, true) => ReplyType::Text,
        };
        TwoWay {
            expires_h: Some(expiry_h(job.entry().expires.unwrap_or(segment.expires), now)),
            no_queue: false,
            ack_read: false,
            reply,
            choices: choices.iter().map(|choice| (choice.code.clone(), choice.text.clone())).collect(),
        }
    }

    fn choices(&self, segment: &Segment) -> Vec<PageChoice> {
        if !segment.answer {
            return Vec::new();
        }
        let choices = (1..).zip(&segment.choices).take(CHOICES_MAX);
        let made = choices.map(|(number, choice)| {
            let text = self.shape.choice(&choice.label);
            let text = if text.is_empty() { self.shape.choice(&choice.key) } else { text };
            PageChoice {
                code: format!("{number:02}"),
                key: choice.key.clone(),
                text: self.shape.octets(&text),
            }
        });
        made.filter(|choice| !choice.text.is_empty()).collect()
    }
}

/// Whole hours until a page is of no use any more: the carrier keeps none for longer.
fn expiry_h(expires: Timestamp, now: Timestamp) -> u16 {
    const HOUR_US: i64 = 3_600_000_000;
    let hours = expires.us_since(now).max(1).div_euclid(HOUR_US).saturating_add(1);
    u16::try_from(hours).unwrap_or(EXPIRY_HOURS_MAX).clamp(1, EXPIRY_HOURS_MAX)
}

impl ChannelEncoder for PagerEncoder {
    type Prepared = PreparedPages;

    fn prepare(&self, segment: &Segment) -> PreparedPages {
        let bare = self.letterhead.is_some().then(|| {
            Box::new(Segment {
                account: segment.account.clone(),
                route: segment.route.clone(),
                sender: segment.sender.clone(),
                answer: false,
                choices: Vec::new(),
                bodies: Vec::new(),
                entries: Vec::new(),
                ..*segment
            })
        });
        PreparedPages {
            texts: segment.bodies.iter().map(|body| self.text(Some(body))).collect(),
            choices: self.choices(segment),
            mails: self
                .letterhead
                .as_ref()
                .zip(bare.as_deref())
                .map(|(letterhead, bare)| letterhead.prepare(bare)),
            bare,
        }
    }

    fn units(&self, _segment: &Segment, _prepared: &PreparedPages, _entry: &Entry) -> u8 {
        1
    }
}

impl MailComposer for PagerEncoder {
    fn compose(&self, job: &PagerJob, id: u64, now: Timestamp) -> Result<Transaction, CannotCompose> {
        let prepared = &job.leased.prepared;
        let (Some(letterhead), Some(bare), Some(mails)) = (&self.letterhead, &prepared.bare, &prepared.mails)
        else {
            return Err(CannotCompose { code: "local:body", text: "the route sends no mails".to_owned() });
        };
        let entry = job.entry();
        if !entry.address.contains('@') {
            return Err(CannotCompose {
                code: "local:address",
                text: "a pager's id is paged by a route with protocol = \"snpp\"".to_owned(),
            });
        }
        let text = Body::Content(Content::of_text(self.text_of(job)?));
        let mail = Entry { own: Some(Box::new(text)), link: None, ..entry.clone() };
        letterhead.compose(bare, mails, &mail, id, now)
    }

    /// A bounce names the delivery as any mail's does.
    fn keys(&self, alert: AlertNo, endpoint: EndpointNo) -> Vec<u64> {
        vec![channel_key(channels::PAGER, alert, endpoint), mail_key(alert, endpoint)]
    }
}

/// The letterhead of a route that mails its pages.
pub(super) fn letterhead(
    route: &PagerRoute,
    signing_key: &[u8],
) -> Result<Option<Letterhead>, crate::RouteProblem> {
    match &route.transport {
        PagingTransport::Snpp(_) => Ok(None),
        PagingTransport::Smtp(relay) => MailRoute::letterhead(relay, Tags::new(signing_key)).map(Some),
    }
}

/// The alert's own key for a choice's code; the code where it is none of ours.
pub(super) fn key_of<'a>(choices: &'a [(String, String)], code: &'a str) -> &'a str {
    let number = |text: &str| text.parse::<u32>().ok();
    let is_meant = |ours: &str| ours == code || number(ours).is_some() && number(ours) == number(code);
    choices.iter().find(|(ours, _)| is_meant(ours)).map_or(code, |(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_kept_by_the_carrier_until_the_alerts_end() {
        let now = Timestamp(0);
        for (seconds, hours) in
            [(-5, 1), (0, 1), (3_599, 1), (3_600, 2), (86_400, 25), (i64::MAX / 2_000_000, 672)]
        {
            assert_eq!(expiry_h(now.plus_s(seconds), now), hours, "{seconds}");
        }
    }

    #[test]
    fn an_answer_by_a_code_is_the_alerts_own_key() {
        let choices = [("01".to_owned(), "safe".to_owned()), ("02".to_owned(), "help".to_owned())];
        for (code, key) in [("01", "safe"), ("2", "help"), ("0002", "help"), ("9", "9"), ("x", "x")] {
            assert_eq!(key_of(&choices, code), key);
        }
    }
}
