//! Judgement of a request's `dlr-url`, as far as the URL tells. A platform's own `dlr_url` stands in the
//! config and is trusted.

use super::answer::KannelAnswer;
use super::compose;
use super::params::Params;
use net::{OutboundPolicy, OutboundRefusal};
use records::Message;
use std::cell::RefCell;
use std::sync::Arc;

/// The answer; it names the key, as Kannel's answers name the field.
const REFUSED: &str = "DLR-URL is no public address and not in [outbound] allow, rejected";

thread_local! {
    /// What was allowed last, and by which policy: a platform's reports go to one host, so that its next URL
    /// need not be parsed.
    static LAST: RefCell<Option<(Arc<OutboundPolicy>, String)>> = const { RefCell::new(None) };
}

/// Judges the URL of a message that wants reports at one of its own.
pub(super) fn judge(
    policy: &Arc<OutboundPolicy>,
    params: &Params<'_>,
    message: &Message,
) -> Result<(), KannelAnswer> {
    if message.tell.url.is_none() {
        return Ok(());
    }
    let url = compose::dlr_url(params)?;
    if url.is_empty() || judge_url(policy, &url) { Ok(()) } else { Err(KannelAnswer::wrong(REFUSED)) }
}

fn judge_url(policy: &Arc<OutboundPolicy>, url: &str) -> bool {
    let front = front(url);
    let is_last = LAST.with_borrow(|last| {
        last.as_ref().is_some_and(|(before, allowed)| Arc::ptr_eq(before, policy) && allowed == front)
    });
    if is_last {
        return true;
    }
    match policy.judge_text(url) {
        Ok(_) => {
            LAST.set(Some((policy.clone(), front.to_owned())));
            true
        }
        // Perhaps with an escape in its host; it is judged again when that is filled in.
        Err(OutboundRefusal::NoUrl) => true,
        Err(_) => false,
    }
}

/// Scheme, user, host and port, of which the verdict is made; the whole where these are not seen at once.
fn front(url: &str) -> &str {
    let Some(begin) = url.find("://").map(|at| at + 3) else { return url };
    let end = url[begin..].find(['/', '\\', '?', '#']).map_or(url.len(), |at| begin + at);
    if end == begin { url } else { &url[..end] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_host_that_was_allowed_is_allowed_until_the_policy_changes() {
        let loopback = OutboundPolicy::new(&["127.0.0.0/8".to_owned()]).unwrap();
        let (open, shut) = (Arc::new(loopback), Arc::new(OutboundPolicy::default()));
        let cases = [
            (&open, "http://127.0.0.1:9/a?b=%d", true),
            (&open, "http://127.0.0.1:9/c", true),
            (&open, "http://127.0.0.1:9?c", true),
            (&open, "http://127.0.0.1:9@10.0.0.1/", false),
            (&open, "http://127.0.0.1:9\\@10.0.0.1/", true),
            (&open, "http:///10.0.0.1/", false),
            (&shut, "http://127.0.0.1:9/c", false),
            (&shut, "http://hooks.example/c", true),
            (&open, "http://10.0.0.1/", false),
            (&open, "http://%p/", true),
        ];
        for (policy, url, expected) in cases {
            assert_eq!(judge_url(policy, url), expected, "{url}");
        }
    }
}
