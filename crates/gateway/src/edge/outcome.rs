//! Outcome of a push to a site, as it is recorded.

use paced_udp::push::SiteOutcome as End;
use records::AttemptResult;

/// What became of a copy. `joined`: the site was there, so that it may have the archive though nothing was
/// heard of it. `trouble` is what was last heard of it.
pub(super) fn result(end: &End, joined: bool, trouble: &str, key: u64, archive: &str) -> AttemptResult {
    let words = match end {
        End::Done => return AttemptResult::Accepted { keys: vec![key], id: archive.to_owned() },
        End::Refused(words) => return refused(true, "edge:refused", words),
        End::NoRoom(words) => return refused(false, "edge:disk", words),
        End::Away(words) => words,
        End::Late => trouble,
    };
    let words = if words.is_empty() { "the time was over" } else { words };
    match joined {
        true => AttemptResult::Unknown {
            text: format!("the site connected, but its receipt did not come in time: {words}"),
        },
        false => refused(false, "edge:away", &format!("the site did not connect in time: {words}")),
    }
}

/// A site that said no, or was never asked.
pub(super) fn refused(permanent: bool, code: &str, text: &str) -> AttemptResult {
    AttemptResult::Refused { permanent, code: code.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_site_that_was_there_leaves_an_unknown() {
        let of = |end: End, joined| match result(&end, joined, "", 1, "b") {
            AttemptResult::Accepted { .. } => "accepted".to_owned(),
            AttemptResult::Unknown { .. } => "unknown".to_owned(),
            AttemptResult::Refused { permanent, code, .. } => format!("{code} {permanent}"),
            AttemptResult::NotTried { .. } => "not tried".to_owned(),
        };
        let words = String::new;
        for (end, joined, expected) in [
            (End::Done, true, "accepted"),
            (End::Late, true, "unknown"),
            (End::Away(words()), true, "unknown"),
            (End::Late, false, "edge:away false"),
            (End::Away(words()), false, "edge:away false"),
            (End::Refused(words()), true, "edge:refused true"),
            (End::NoRoom(words()), true, "edge:disk false"),
        ] {
            assert_eq!(of(end.clone(), joined), expected, "{end:?}");
        }
    }
}
