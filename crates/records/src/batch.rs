//! Many outcomes as one record, each written as it happens: nothing is kept of them but their octets.

use crate::{AttemptRef, AttemptResult, Intent, NotTried, Outcome, Timestamp};
use serde::Serialize;

/// Octets of a length at most, as postcard writes it: 64 bits, seven in each.
const LENGTH_OCTETS_MAX: usize = 10;
/// Room in front for the form's octet and the number of outcomes, which is known last.
const HEAD_OCTETS: usize = 1 + LENGTH_OCTETS_MAX;

/// What became of an attempt, of borrowed pieces: read back as an [`AttemptResult`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum AttemptResultRef<'a> {
    /// The carrier took it.
    Accepted {
        /// As in [`AttemptResult::Accepted`].
        keys: &'a [u64],
        /// The carrier's id.
        id: &'a str,
    },
    /// The carrier said no.
    Refused {
        /// Trying again would get the same no.
        permanent: bool,
        /// Stable.
        code: &'a str,
        /// The server's words.
        text: &'a str,
    },
    /// It was (perhaps) written, and the peer went silent.
    Unknown {
        /// In words.
        text: &'a str,
    },
    /// As [`AttemptResult::NotTried`].
    NotTried {
        /// Why.
        why: NotTried,
    },
}

impl<'a> From<&'a AttemptResult> for AttemptResultRef<'a> {
    fn from(result: &'a AttemptResult) -> Self {
        match result {
            AttemptResult::Accepted { keys, id } => AttemptResultRef::Accepted { keys, id },
            AttemptResult::Refused { permanent, code, text } => {
                AttemptResultRef::Refused { permanent: *permanent, code, text }
            }
            AttemptResult::Unknown { text } => AttemptResultRef::Unknown { text },
            AttemptResult::NotTried { why } => AttemptResultRef::NotTried { why: *why },
        }
    }
}

/// The first variants of [`Outcome`], in its order, of borrowed pieces.
#[derive(Serialize)]
enum OutcomeRef<'a> {
    #[expect(dead_code, reason = "it holds the place of the variant before the one that is written")]
    Intent(&'a Intent),
    Attempt {
        of: AttemptRef,
        route: &'a str,
        at: Timestamp,
        result: AttemptResultRef<'a>,
    },
}

/// A record for the topic of outcomes in the making: what [`crate::encode_outcomes`] would write of the same
/// outcomes.
#[derive(Debug, Clone, Default)]
pub struct OutcomeBatch {
    /// Behind [`HEAD_OCTETS`] of room, once there is something.
    octets: Vec<u8>,
    count: usize,
}

impl OutcomeBatch {
    /// Takes an outcome in.
    pub fn push(&mut self, outcome: &Outcome) {
        self.write(outcome);
    }

    /// Takes in what became of an attempt.
    pub fn push_attempt(&mut self, of: AttemptRef, route: &str, at: Timestamp, result: AttemptResultRef<'_>) {
        self.write(&OutcomeRef::Attempt { of, route, at, result });
    }

    /// Takes in all of another, which is empty then.
    pub fn append(&mut self, other: &mut OutcomeBatch) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else if !other.is_empty() {
            self.octets.extend_from_slice(&other.octets[HEAD_OCTETS..]);
            self.count += other.count;
        }
        other.clear();
    }

    /// How many outcomes there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// About how many octets the record has.
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// Forgets all of them; the room stays.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.count = 0;
    }

    /// The record.
    pub fn record(&mut self) -> &[u8] {
        if self.octets.is_empty() {
            self.octets.resize(HEAD_OCTETS, 0);
        }
        let mut length = [0; LENGTH_OCTETS_MAX];
        let used = postcard::to_slice(&self.count, &mut length).map_or(0, |used| used.len());
        let start = HEAD_OCTETS - used;
        self.octets[start..HEAD_OCTETS].copy_from_slice(&length[..used]);
        self.octets[start - 1] = crate::FORM;
        &self.octets[start - 1..]
    }

    fn write<T: Serialize>(&mut self, outcome: &T) {
        if self.octets.is_empty() {
            self.octets.resize(HEAD_OCTETS, 0);
        }
        crate::write_behind(&mut self.octets, outcome);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlertNo, EndpointNo, Lane, decode_outcomes, encode_outcomes};

    fn outcomes() -> Vec<Outcome> {
        let of = |endpoint| AttemptRef {
            alert: AlertNo(7),
            endpoint: EndpointNo(endpoint),
            attempt: 1,
            part: 1,
            parts: 2,
        };
        let attempt = |endpoint, result| Outcome::Attempt {
            of: of(endpoint),
            route: "r".into(),
            at: Timestamp(9),
            result,
        };
        vec![
            Outcome::Intent(Intent {
                route: "r".into(),
                lane: Lane::Urgent,
                segment: 300,
                alert: AlertNo(7),
                from: 2,
                attempts: vec![(EndpointNo(3), 1)],
                at: Timestamp(8),
            }),
            attempt(1, AttemptResult::Accepted { keys: vec![1, u64::MAX], id: "A0".into() }),
            attempt(2, AttemptResult::Refused { permanent: true, code: "c".into(), text: "t".into() }),
            attempt(3, AttemptResult::Unknown { text: "lost".into() }),
            attempt(4, AttemptResult::NotTried { why: NotTried::Closing }),
        ]
    }

    fn push(batch: &mut OutcomeBatch, outcome: &Outcome) {
        match outcome {
            Outcome::Attempt { of, route, at, result } => batch.push_attempt(*of, route, *at, result.into()),
            other => batch.push(other),
        }
    }

    #[test]
    fn a_batch_is_the_record_of_its_outcomes_whatever_their_number() {
        for copies in [0, 1, 40, 5_000] {
            let all: Vec<Outcome> = std::iter::repeat_n(outcomes(), copies).flatten().collect();
            let mut batch = OutcomeBatch::default();
            all.iter().for_each(|outcome| push(&mut batch, outcome));
            assert_eq!(batch.len(), all.len());
            assert_eq!(batch.record(), encode_outcomes(&all));
            assert_eq!(decode_outcomes(batch.record()).unwrap(), all);
        }
    }

    #[test]
    fn batches_are_put_together_in_order_and_used_again() {
        let (mut one, mut other) = (OutcomeBatch::default(), OutcomeBatch::default());
        for round in 0..3 {
            let all = outcomes();
            let (first, rest) = all.split_at(round);
            first.iter().for_each(|outcome| push(&mut one, outcome));
            rest.iter().for_each(|outcome| push(&mut other, outcome));
            one.append(&mut other);
            assert!(other.is_empty());
            assert_eq!(one.record(), encode_outcomes(&all));
            one.clear();
        }
    }
}
