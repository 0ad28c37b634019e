//! ReplyCorrelation finds the alert of a reply that names none: the last one that asked from that number.

use records::{AlertNo, ChannelNumber, EndpointNo};
use rustc_hash::FxHashMap;

use crate::solve::address_hash;

/// The memory. Answers match on (our number, theirs); where our number is not known, on theirs alone.
#[derive(Default)]
pub struct ReplyCorrelation {
    by_route: FxHashMap<u64, (u32, u32)>,
    by_address: FxHashMap<u64, (u32, u32)>,
    many_routes: bool,
    only_route: Option<u16>,
}

impl ReplyCorrelation {
    /// An alert that wants an answer was sent there, by this route.
    pub fn note(&mut self, channel: ChannelNumber, address: &str, route: u16, of: (AlertNo, EndpointNo)) {
        if !channels::traits(channel).replies {
            return;
        }
        let hash = address_hash(channel, address);
        let packed = (of.0.0 as u32, of.1.0);
        // With one route its number distinguishes nothing: one entry per address is enough.
        self.many_routes |= self.only_route.is_some_and(|only| only != route);
        self.only_route.get_or_insert(route);
        if self.many_routes {
            self.by_route.insert(with_route(hash, route), packed);
        }
        self.by_address.insert(hash, packed);
    }

    /// Whose answer it is.
    pub fn find(
        &self,
        channel: ChannelNumber,
        address: &str,
        route: Option<u16>,
    ) -> Option<(AlertNo, EndpointNo)> {
        let hash = address_hash(channel, address);
        let by_route = route.and_then(|route| self.by_route.get(&with_route(hash, route)));
        let (alert, endpoint) = *by_route.or_else(|| self.by_address.get(&hash))?;
        Some((AlertNo(u64::from(alert)), EndpointNo(endpoint)))
    }

    /// Forgets an alert that left memory.
    pub fn forget(&mut self, alert: AlertNo) {
        let keep = |_: &u64, of: &mut (u32, u32)| u64::from(of.0) != alert.0;
        self.by_route.retain(keep);
        self.by_address.retain(keep);
    }
}

fn with_route(hash: u64, route: u16) -> u64 {
    hash.rotate_left(17) ^ (u64::from(route) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_alert_that_asked_gets_the_answer() {
        let mut replies = ReplyCorrelation::default();
        replies.note(channels::SMS, "+461", 0, (AlertNo(1), EndpointNo(5)));
        replies.note(channels::SMS, "+461", 0, (AlertNo(2), EndpointNo(6)));
        assert_eq!(replies.find(channels::SMS, "+461", Some(0)), Some((AlertNo(2), EndpointNo(6))));
        assert_eq!(replies.find(channels::MAIL, "+461", None), None);
    }

    #[test]
    fn two_numbers_of_ours_keep_their_conversations_apart() {
        let mut replies = ReplyCorrelation::default();
        replies.note(channels::SMS, "+460", 0, (AlertNo(1), EndpointNo(0)));
        replies.note(channels::SMS, "+460", 1, (AlertNo(1), EndpointNo(0)));
        replies.note(channels::SMS, "+461", 0, (AlertNo(1), EndpointNo(5)));
        replies.note(channels::SMS, "+461", 1, (AlertNo(2), EndpointNo(6)));
        assert_eq!(replies.find(channels::SMS, "+461", Some(0)), Some((AlertNo(1), EndpointNo(5))));
        assert_eq!(replies.find(channels::SMS, "+461", Some(1)), Some((AlertNo(2), EndpointNo(6))));
        assert_eq!(replies.find(channels::SMS, "+461", None), Some((AlertNo(2), EndpointNo(6))));
    }
}
