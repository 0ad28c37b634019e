//! Messages in windows of one second.

/// A second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// So many messages at a moment, nanoseconds since something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) at_ns: u64,
    pub(super) messages: u64,
}

/// What the windows of one second that begin with a message hold. Both ends belong to a window: what keeps a
/// limit by this keeps it by any other way to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Windows {
    /// How many there are.
    pub(super) count: u64,
    /// The most in one.
    pub(super) worst: u64,
    /// With one message above the limit.
    pub(super) one_over: u64,
    /// With more than that.
    pub(super) more_over: u64,
}

impl Windows {
    /// Of stamps in the order of time.
    pub(super) fn of(stamps: &[Stamp], limit: u64) -> Windows {
        let mut windows = Windows::default();
        let (mut end, mut inside) = (0, 0);
        for stamp in stamps {
            while stamps.get(end).is_some_and(|last| last.at_ns <= stamp.at_ns + SECOND_NS) {
                inside += stamps[end].messages;
                end += 1;
            }
            windows.count += 1;
            windows.worst = windows.worst.max(inside);
            windows.one_over += u64::from(inside == limit + 1);
            windows.more_over += u64::from(inside > limit + 1);
            inside -= stamp.messages;
        }
        windows
    }

    pub(super) fn merge(&mut self, other: Windows) {
        self.count += other.count;
        self.worst = self.worst.max(other.worst);
        self.one_over += other.one_over;
        self.more_over += other.more_over;
    }
}

/// Messages from a moment on until before another.
pub(super) fn between(stamps: &[Stamp], from_ns: u64, until_ns: u64) -> u64 {
    let is_inside = |stamp: &&Stamp| (from_ns..until_ns).contains(&stamp.at_ns);
    stamps.iter().filter(is_inside).map(|stamp| stamp.messages).sum()
}

/// Messages of each whole second from the first stamp on, until the last.
pub(super) fn seconds(stamps: &[Stamp]) -> Vec<u64> {
    let Some(first) = stamps.first() else { return Vec::new() };
    let mut seconds = Vec::new();
    for stamp in stamps {
        let second = (stamp.at_ns.saturating_sub(first.at_ns) / SECOND_NS) as usize;
        if seconds.len() <= second {
            seconds.resize(second + 1, 0);
        }
        seconds[second] += stamp.messages;
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(milliseconds: &[u64]) -> Vec<Stamp> {
        milliseconds.iter().map(|ms| Stamp { at_ns: ms * 1_000_000, messages: 1 }).collect()
    }

    #[test]
    fn a_window_has_both_its_ends() {
        for (moments, worst, one_over, more_over) in [
            (&[][..], 0, 0, 0),
            (&[5], 1, 0, 0),
            (&[0, 500, 1_001], 2, 0, 0),
            (&[0, 500, 1_000], 3, 1, 0),
            (&[0, 0, 0, 0], 4, 1, 1),
            (&[0, 900, 1_100, 1_900, 3_000], 3, 1, 0),
        ] {
            let windows = Windows::of(&stamps(moments), 2);
            let expected = Windows { count: moments.len() as u64, worst, one_over, more_over };
            assert_eq!(windows, expected, "{moments:?}");
        }
    }

    #[test]
    fn a_write_of_several_counts_as_several() {
        let stamps = [Stamp { at_ns: 0, messages: 3 }, Stamp { at_ns: SECOND_NS / 2, messages: 4 }];
        let mut windows = Windows::of(&stamps, 5);
        assert_eq!(windows, Windows { count: 2, worst: 7, one_over: 0, more_over: 1 });
        windows.merge(Windows { count: 1, worst: 6, one_over: 1, more_over: 0 });
        assert_eq!(windows, Windows { count: 3, worst: 7, one_over: 1, more_over: 1 });
        assert_eq!((between(&stamps, 0, 1), between(&stamps, 1, SECOND_NS)), (3, 4));
    }

    #[test]
    fn seconds_are_counted_from_the_first_message() {
        assert_eq!(seconds(&stamps(&[1_500, 1_600, 2_499, 2_500, 4_500])), [3, 1, 0, 1]);
        assert_eq!(seconds(&[]), Vec::<u64>::new());
    }
}
