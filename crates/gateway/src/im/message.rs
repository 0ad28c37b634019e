//! A message on its way, and what became of sending it.

use super::ImJob;
use records::{AlertId, AlertNo, AttemptResult, Body, Choice, EndpointNo, NotTried};
use std::time::Duration;

/// One entry as a network gets it.
#[derive(Debug, Clone)]
pub(super) struct ImMessage {
    pub(super) alert: AlertNo,
    pub(super) alert_id: AlertId,
    pub(super) endpoint: EndpointNo,
    /// Behind its scheme.
    pub(super) address: String,
    pub(super) text: String,
    pub(super) link: Option<String>,
    /// What can be answered; empty where no answer is asked for.
    pub(super) choices: Vec<Choice>,
}

impl ImMessage {
    /// Of an entry.
    ///
    /// # Errors
    /// It is of another network, or has no text.
    pub(super) fn of(job: &ImJob, scheme: &str) -> Result<ImMessage, SendResult> {
        let (segment, entry) = (&job.leased.segment, job.entry());
        let refused = |code: &str, text: &str| SendResult::Refused {
            permanent: true,
            code: code.to_owned(),
            text: text.to_owned(),
        };
        let Some(address) = entry.address.strip_prefix(scheme) else {
            return Err(refused("im:address", "the address is of another network than the route"));
        };
        let text = segment.body(entry).and_then(Body::content).map(|content| content.text.trim());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Err(refused("im:empty", "there is no text for an instant message"));
        };
        Ok(ImMessage {
            alert: segment.alert,
            alert_id: segment.alert_id,
            endpoint: entry.endpoint,
            address: address.to_owned(),
            text: text.to_owned(),
            link: entry.link.clone(),
            choices: if segment.answer { segment.choices.clone() } else { Vec::new() },
        })
    }
}

/// What became of sending a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SendResult {
    /// The network took it.
    Accepted { key: u64, id: String },
    /// It said no.
    Refused { permanent: bool, code: String, text: String },
    /// It was perhaps taken, and cannot be sent again without a second copy.
    Unknown { text: String },
    /// It may not be sent any more.
    NotTried { why: NotTried },
    /// It was not taken, or may be sent again: the route cannot go on, in these words.
    Down { text: String },
    /// It was not taken: the network asks to wait.
    Slow { wait: Duration, text: String },
}

/// Code of the refusal of an encrypted room.
pub(super) const ENCRYPTED_CODE: &str = "matrix:encrypted";

impl SendResult {
    /// A word for the route's health: trouble that is not one message's alone.
    pub(super) fn warning(&self) -> Option<&str> {
        match self {
            SendResult::Refused { code, text, .. } if code == ENCRYPTED_CODE => Some(text),
            _ => None,
        }
    }

    /// As it is recorded; nothing where the message goes back to its queue.
    pub(super) fn recorded(&self) -> Option<AttemptResult> {
        match self.clone() {
            SendResult::Accepted { key, id } => Some(AttemptResult::Accepted { keys: vec![key], id }),
            SendResult::Refused { permanent, code, text } => {
                Some(AttemptResult::Refused { permanent, code, text })
            }
            SendResult::Unknown { text } => Some(AttemptResult::Unknown { text }),
            SendResult::NotTried { why } => Some(AttemptResult::NotTried { why }),
            SendResult::Down { .. } | SendResult::Slow { .. } => None,
        }
    }
}

/// The key by which receipts and answers name a message: of the network's ids, which together name no other.
pub(super) fn message_key(ids: &[&str]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for id in ids {
        hasher.update(&(id.len() as u64).to_le_bytes());
        hasher.update(id.as_bytes());
    }
    let hash = hasher.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    // 0 is no key.
    u64::from_le_bytes(first).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_stable_and_no_two_ids_run_together() {
        assert_eq!(message_key(&["matrix", "$a"]), message_key(&["matrix", "$a"]));
        assert_ne!(message_key(&["matrix", "$a"]), message_key(&["matri", "x$a"]));
        assert_eq!(message_key(&["matrix", "$a"]), KNOWN, "the key is on disk: it may never change");
    }

    /// Of `matrix` and `$a`, as first released.
    const KNOWN: u64 = 15_119_100_592_158_190_947;
}
