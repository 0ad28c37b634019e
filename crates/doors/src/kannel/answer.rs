//! Answers, in Kannel's words.

/// An answer: a status and a line of words. Nothing in it comes from the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub status: u16,
    pub words: &'static str,
    /// Come again after so many seconds.
    pub retry_after_s: Option<u32>,
}

impl Answer {
    pub(super) const ACCEPTED: Answer = Answer::new(202, "0: Accepted for delivery");
    pub(super) const NOT_ADMITTED: Answer = Answer::new(403, "Authorization failed for sendsms");
    pub(super) const NOT_ROUTABLE: Answer = Answer::new(403, "Not routable. Do not try again.");
    pub(super) const NO_RECEIVER: Answer = Answer::wrong("Missing receiver number, rejected");
    pub(super) const NO_RECEIVERS: Answer = Answer::wrong("Missing receiver(s) number(s), rejected");
    pub(super) const EMPTY_RECEIVER: Answer = Answer::wrong("Empty receiver number not allowed, rejected");
    pub(super) const WRONG_TYPE: Answer = Answer::wrong("Invalid content-type");
    pub(super) const UNSUPPORTED_TYPE: Answer = Answer::new(415, "Unsupported content-type, rejected");
    pub(super) const INCOMPLETE: Answer = Answer::wrong("Incomplete request.");
    pub(super) const WRONG_METHOD: Answer = Answer::new(405, "Method not allowed, rejected");
    pub(super) const TOO_LARGE: Answer = Answer::new(413, "Request too large, rejected");

    const fn new(status: u16, words: &'static str) -> Answer {
        Answer { status, words, retry_after_s: None }
    }

    /// Something is wrong with a field.
    pub(super) const fn wrong(words: &'static str) -> Answer {
        Answer::new(400, words)
    }

    /// Not now.
    pub(super) const fn busy(retry_after_s: u32) -> Answer {
        Answer {
            retry_after_s: Some(retry_after_s),
            ..Answer::new(503, "Temporal failure, try again later.")
        }
    }
}
