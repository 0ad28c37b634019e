//! Outcome of a relay's reply, as it is recorded.

use super::encode::CannotCompose;
use records::{AttemptResult, Segment, mail_key};
use smtp::client::Verdict;

use crate::dispatcher::Job;

/// What became of an attempt; nothing where it was not tried and goes back to the feed.
pub(super) fn result<P>(job: &Job<P>, verdict: Verdict) -> Option<AttemptResult> {
    let segment: &Segment = &job.leased.segment;
    match verdict {
        Verdict::Accepted { words, queue_id } => Some(AttemptResult::Accepted {
            keys: vec![mail_key(segment.alert, job.entry().endpoint)],
            id: if queue_id.is_empty() { words } else { queue_id },
        }),
        Verdict::Refused { permanent, code, text } => Some(AttemptResult::Refused { permanent, code, text }),
        Verdict::Unknown { text } => Some(AttemptResult::Unknown { text }),
        Verdict::NotTried { .. } => None,
    }
}

/// An entry of which no mail can be made will not become one by trying.
pub(super) fn refused(why: CannotCompose) -> AttemptResult {
    AttemptResult::Refused { permanent: true, code: why.code.to_owned(), text: why.text }
}

/// An entry with which the connection was lost too often: something about it may be the reason.
pub(super) fn given_up(times: u8, text: &str) -> AttemptResult {
    AttemptResult::Refused {
        permanent: false,
        code: "smtp:lost".to_owned(),
        text: format!("the connection was lost {times} times before the mail's end was written: {text}"),
    }
}
