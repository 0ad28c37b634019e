//! Answers with Kannel's texts.

/// An answer: a status and a line of text. Nothing in it comes from the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KannelAnswer {
    pub status: u16,
    pub words: &'static str,
    /// Retry-After, in seconds.
    pub retry_after_s: Option<u32>,
}

impl KannelAnswer {
    pub(super) const ACCEPTED: KannelAnswer = KannelAnswer::new(202, "0: Accepted for delivery");
    pub(super) const NOT_ADMITTED: KannelAnswer = KannelAnswer::new(403, "Authorization failed for sendsms");
    pub(super) const NOT_ROUTABLE: KannelAnswer = KannelAnswer::new(403, "Not routable. Do not try again.");
    pub(super) const NO_RECEIVER: KannelAnswer = KannelAnswer::wrong("Missing receiver number, rejected");
    pub(super) const NO_RECEIVERS: KannelAnswer =
        KannelAnswer::wrong("Missing receiver(s) number(s), rejected");
    pub(super) const EMPTY_RECEIVER: KannelAnswer =
        KannelAnswer::wrong("Empty receiver number not allowed, rejected");
    pub(super) const WRONG_TYPE: KannelAnswer = KannelAnswer::wrong("Invalid content-type");
    pub(super) const UNSUPPORTED_TYPE: KannelAnswer =
        KannelAnswer::new(415, "Unsupported content-type, rejected");
    pub(super) const INCOMPLETE: KannelAnswer = KannelAnswer::wrong("Incomplete request.");
    pub(super) const WRONG_METHOD: KannelAnswer = KannelAnswer::new(405, "Method not allowed, rejected");
    pub(super) const TOO_LARGE: KannelAnswer = KannelAnswer::new(413, "Request too large, rejected");

    const fn new(status: u16, words: &'static str) -> KannelAnswer {
        KannelAnswer { status, words, retry_after_s: None }
    }

    /// Something is wrong with a field.
    pub(super) const fn wrong(words: &'static str) -> KannelAnswer {
        KannelAnswer::new(400, words)
    }

    /// Not now.
    pub(super) const fn busy(retry_after_s: u32) -> KannelAnswer {
        KannelAnswer {
            retry_after_s: Some(retry_after_s),
            ..KannelAnswer::new(503, "Temporal failure, try again later.")
        }
    }
}
