//! Position in the events of an alert: what a listener has seen of its answers. It is the id of each event,
//! and a listener that comes again with it (`Last-Event-ID`; WHATWG HTML, 9.2.4) gets what it missed.
//!
//! ```text
//! id = MOMENT *( "-" ENDPOINT )     ; in hexadecimal: the time in microseconds of the newest answer seen, and
//!                                   ; the deliveries whose answers of the last second before it were seen
//! ```
//!
//! Answers come from several carriers, so one of an earlier time may be taken in after one of a later time:
//! answers of the last second count as seen only if their deliveries are named.

use records::{Answer, EndpointNo, Timestamp};
use std::collections::VecDeque;

/// So long before the newest answer another may still come, in microseconds.
const DISORDER_US: i64 = 1_000_000;
/// Deliveries named in an id. Of more the first are told again, rather than never.
const NAMED_MAX: usize = 32;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventPosition {
    newest: Timestamp,
    /// Seen, of the last second before.
    seen: VecDeque<(Timestamp, EndpointNo)>,
}

impl EventPosition {
    /// Of a listener who begins now.
    pub(super) fn at(now: Timestamp) -> EventPosition {
        EventPosition { newest: now, seen: VecDeque::new() }
    }

    /// Reads an id; nothing if it is none of ours.
    pub(super) fn parse(id: &str) -> Option<EventPosition> {
        let mut parts = id.split('-');
        let newest = Timestamp(i64::from_str_radix(parts.next()?, 16).ok()?);
        let seen = parts.take(NAMED_MAX).map(|part| {
            // The times of those that an id names are not kept: any that is not later will do.
            u32::from_str_radix(part, 16).ok().map(|endpoint| (newest, EndpointNo(endpoint)))
        });
        Some(EventPosition { newest, seen: seen.collect::<Option<_>>()? })
    }

    /// The id.
    pub(super) fn id(&self) -> String {
        let mut id = format!("{:x}", self.newest.0);
        self.seen.iter().for_each(|(_, endpoint)| id.push_str(&format!("-{:x}", endpoint.0)));
        id
    }

    /// From when on answers may have been missed.
    pub(super) fn since(&self) -> Timestamp {
        self.newest.plus_us(-DISORDER_US)
    }

    /// Whether an answer was seen before this position.
    pub(super) fn has_seen(&self, endpoint: EndpointNo, answer: &Answer) -> bool {
        answer.at < self.since()
            || answer.at <= self.newest
                && self.seen.iter().any(|(at, seen)| *seen == endpoint && answer.at <= *at)
    }

    /// An answer is seen.
    pub(super) fn note(&mut self, endpoint: EndpointNo, at: Timestamp) {
        self.newest = self.newest.max(at);
        self.seen.retain(|(_, seen)| *seen != endpoint);
        self.seen.push_back((at, endpoint));
        let since = self.since();
        self.seen.retain(|(at, _)| *at >= since);
        if self.seen.len() > NAMED_MAX {
            self.seen.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(at: i64) -> Answer {
        Answer { key: None, text: String::new(), via: String::new(), at: Timestamp(at) }
    }

    #[test]
    fn what_was_seen_is_not_missed_and_what_came_late_is() {
        let mut position = EventPosition::at(Timestamp(10_000_000));
        for (endpoint, at) in [(1, 11_000_000), (2, 11_500_000), (3, 11_400_000)] {
            position.note(EndpointNo(endpoint), Timestamp(at));
        }
        let again = EventPosition::parse(&position.id()).unwrap();
        for position in [&position, &again] {
            for (endpoint, at, seen) in [
                (1, 11_000_000, true),
                (2, 11_500_000, true),
                (3, 11_400_000, true),
                // Taken in after them, though of an earlier time.
                (4, 11_450_000, false),
                (4, 10_400_000, true),
                (2, 11_600_000, false),
                (5, 12_000_000, false),
            ] {
                assert_eq!(position.has_seen(EndpointNo(endpoint), &answer(at)), seen, "{endpoint} {at}");
            }
        }
    }

    #[test]
    fn an_id_has_a_limit_and_another_one_is_none() {
        let mut position = EventPosition::at(Timestamp(1));
        (0..1_000).for_each(|n| position.note(EndpointNo(u32::MAX - n), Timestamp(2)));
        assert!(position.id().len() < 20 + 9 * NAMED_MAX);
        for id in ["", "x", "2026-11-26T18:00:00Z", "12-", "12-zz", "12 "] {
            assert_eq!(EventPosition::parse(id), None, "{id}");
        }
    }
}
