//! Outcome of a relay's reply, as it is recorded.

use super::encode::CannotCompose;
use records::AttemptResult;
use smtp::client::Verdict;

/// What became of an attempt; nothing where it was not tried and goes back to the feed.
pub(super) fn result(verdict: Verdict, keys: impl FnOnce() -> Vec<u64>) -> Option<AttemptResult> {
    match verdict {
        Verdict::Accepted { words, queue_id } => Some(AttemptResult::Accepted {
            keys: keys(),
            id: if queue_id.is_empty() { words } else { queue_id },
        }),
        Verdict::Refused { permanent, code, text } => Some(AttemptResult::Refused { permanent, code, text }),
        Verdict::Unknown { text } => Some(AttemptResult::Unknown { text }),
        Verdict::NotTried { .. } => None,
    }
}

/// What a reply says of the relay's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slows {
    /// Nothing.
    No,
    /// One mailbox cannot take mail now (RFC 3463, 3.3).
    Mailbox,
    /// The relay, or the way behind it, cannot.
    Relay,
}

/// Every 4xx asks for less: the relay refuses for now what it would take later.
pub(super) fn slows(verdict: &Verdict) -> Slows {
    match verdict {
        Verdict::Refused { permanent: false, code, .. } => match code.strip_prefix("smtp:4") {
            Some(rest) if rest.contains(" 4.2.") => Slows::Mailbox,
            Some(_) => Slows::Relay,
            None => Slows::No,
        },
        // It announced by 421 that it closes.
        Verdict::NotTried { text, suspect: false } if text.contains("421") => Slows::Relay,
        _ => Slows::No,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_for_now_slows_the_route_and_no_other_end_does() {
        let refused =
            |permanent, code: &str| Verdict::Refused { permanent, code: code.into(), text: String::new() };
        let lost = |text: &str, suspect| Verdict::NotTried { text: text.into(), suspect };
        for (verdict, expected) in [
            (refused(false, "smtp:421 4.3.2"), Slows::Relay),
            (refused(false, "smtp:450"), Slows::Relay),
            (refused(false, "smtp:451 4.7.1"), Slows::Relay),
            (refused(false, "smtp:452 4.3.1"), Slows::Relay),
            (refused(false, "smtp:452 4.2.2"), Slows::Mailbox),
            (refused(false, "smtp:454 4.7.0"), Slows::Relay),
            (refused(true, "smtp:550 5.1.1"), Slows::No),
            (refused(false, "local:too-large"), Slows::No),
            (lost("the relay closes: 421 4.7.0 too many connections", false), Slows::Relay),
            (lost("the connection broke", true), Slows::No),
            (Verdict::Accepted { words: "ok 421".into(), queue_id: String::new() }, Slows::No),
            (Verdict::Unknown { text: "lost".into() }, Slows::No),
        ] {
            assert_eq!(slows(&verdict), expected, "{verdict:?}");
        }
    }
}
