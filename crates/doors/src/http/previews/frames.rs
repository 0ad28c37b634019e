//! Pages of mails that are previewed: kept in memory for some minutes, for the session that made them.

use crate::http::auth::{Caller, random_text};
use crate::http::problem::HttpResult;
use records::Timestamp;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pages kept.
const FRAMES_MAX: usize = 512;
/// Octets of all of them.
const FRAMES_OCTETS_MAX: usize = 32 * 1024 * 1024;
/// Octets of one of them; a longer mail has no page.
const FRAME_OCTETS_MAX: usize = 2 * 1024 * 1024;
/// Seconds for which one is kept.
const KEPT_S: i64 = 600;
/// Where they are.
const PATH: &str = "/api/v1/previews/";

/// Whose a page is: a token's, or a user's in one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameOwner {
    account: String,
    token: String,
    session: Option<[u8; 32]>,
}

impl FrameOwner {
    pub(crate) fn of(caller: &Caller) -> FrameOwner {
        FrameOwner {
            account: caller.account().to_owned(),
            token: caller.token.id.clone(),
            session: caller.user.as_ref().map(|user| user.session),
        }
    }
}

struct Frame {
    id: String,
    owner: FrameOwner,
    html: Arc<str>,
    until: Timestamp,
}

/// See the module. The newest is last.
#[derive(Default)]
pub(crate) struct PreviewFrames(Mutex<VecDeque<Frame>>);

impl PreviewFrames {
    /// Keeps a page; its URL, or nothing if it is too long. The same page of the same owner stays the same.
    pub(crate) fn keep(&self, owner: &FrameOwner, html: &str, now: Timestamp) -> HttpResult<Option<String>> {
        if html.len() > FRAME_OCTETS_MAX {
            return Ok(None);
        }
        let mut frames = self.frames(now);
        let known = frames.iter().position(|frame| frame.owner == *owner && *frame.html == *html);
        let id = match known.and_then(|at| frames.remove(at)) {
            Some(known) => known.id,
            None => random_text()?,
        };
        let url = format!("{PATH}{id}");
        frames.push_back(Frame { id, owner: owner.clone(), html: html.into(), until: now.plus_s(KEPT_S) });
        let octets = |frames: &VecDeque<Frame>| frames.iter().map(|frame| frame.html.len()).sum::<usize>();
        while frames.len() > FRAMES_MAX || octets(&frames) > FRAMES_OCTETS_MAX {
            frames.pop_front();
        }
        Ok(Some(url))
    }

    /// A page of this owner.
    pub(crate) fn find(&self, id: &str, owner: &FrameOwner, now: Timestamp) -> Option<Arc<str>> {
        let frames = self.frames(now);
        let found = frames.iter().find(|frame| frame.id == id && frame.owner == *owner);
        found.map(|frame| frame.html.clone())
    }

    fn frames(&self, now: Timestamp) -> MutexGuard<'_, VecDeque<Frame>> {
        let mut frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.retain(|frame| now < frame.until);
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(token: &str, session: Option<u8>) -> FrameOwner {
        FrameOwner {
            account: "default".to_owned(),
            token: token.to_owned(),
            session: session.map(|octet| [octet; 32]),
        }
    }

    #[test]
    fn a_page_is_its_sessions_until_its_time_is_over() {
        let frames = PreviewFrames::default();
        let eva = owner("user:eva", Some(1));
        let url = frames.keep(&eva, "<p>Out</p>", Timestamp(0)).unwrap().unwrap();
        let id = url.strip_prefix(PATH).unwrap();
        assert_eq!(frames.find(id, &eva, Timestamp(1)).as_deref(), Some("<p>Out</p>"));
        for other in [owner("user:eva", Some(2)), owner("user:bo", Some(1)), owner("user:eva", None)] {
            assert!(frames.find(id, &other, Timestamp(1)).is_none());
        }
        assert_eq!(frames.keep(&eva, "<p>Out</p>", Timestamp(5)).unwrap().as_deref(), Some(url.as_str()));
        assert!(frames.find(id, &eva, Timestamp(5).plus_s(KEPT_S)).is_none());
    }

    #[test]
    fn pages_are_bounded_in_number_and_octets_and_the_oldest_go() {
        let frames = PreviewFrames::default();
        let eva = owner("user:eva", Some(1));
        let keep = |html: &str| frames.keep(&eva, html, Timestamp(0)).unwrap();
        let first = keep("first").unwrap();
        (0..FRAMES_MAX).for_each(|n| _ = keep(&n.to_string()));
        assert!(frames.find(first.strip_prefix(PATH).unwrap(), &eva, Timestamp(0)).is_none());
        assert!(keep(&"x".repeat(FRAME_OCTETS_MAX + 1)).is_none());
        for n in 0..20 {
            keep(&format!("{n}{}", "x".repeat(FRAME_OCTETS_MAX - 2)));
        }
        let octets: usize = frames.frames(Timestamp(0)).iter().map(|frame| frame.html.len()).sum();
        assert!(octets <= FRAMES_OCTETS_MAX, "{octets}");
    }
}
