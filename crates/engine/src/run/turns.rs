//! Turns holds the alerts that have something to dispatch, in turn, by lane and class of routes. A pass asks
//! only for classes whose routes have room, so that it costs what it sends, and not what waits.

use crate::record::LiveAlert;
use records::{AlertNo, Lane, Timestamp};
use std::collections::{BTreeSet, VecDeque};

/// Places of alerts that left memory, beyond as many as there are others, that may stay in the queues.
const STALE_MAX: usize = 1_024;

/// See the module. An alert stands once in the queue of every class of which it has somebody ready.
#[derive(Default)]
pub struct Turns {
    lanes: [LaneTurns; 3],
    /// Alerts that are not to be sent before a moment.
    later: BTreeSet<(Timestamp, AlertNo)>,
    /// Places in queues.
    len: usize,
    /// How many of them may be of alerts that left memory.
    stale: usize,
}

#[derive(Default)]
struct LaneTurns {
    /// By class.
    queues: Vec<VecDeque<AlertNo>>,
    /// Those with a queue that is not empty, in turn.
    classes: VecDeque<u16>,
}

impl Turns {
    /// Puts an alert into the queues of the classes of which it has somebody ready, where it is not there
    /// already.
    pub fn enter(&mut self, live: &mut LiveAlert) {
        let (no, lane) = (live.alert.no, live.lane());
        while let Some(class) = live.ready.enter_turn() {
            self.lanes[lane as usize].push(class, no);
            self.len += 1;
        }
    }

    /// An alert comes back at this moment.
    pub fn put_off(&mut self, no: AlertNo, until: Timestamp) {
        self.later.insert((until, no));
    }

    /// The next of those whose moment has come.
    pub fn next_due(&mut self, now: Timestamp) -> Option<AlertNo> {
        self.later.first().filter(|(at, _)| *at <= now)?;
        self.later.pop_first().map(|(_, no)| no)
    }

    /// How many classes of a lane have alerts that wait.
    pub fn classes(&self, lane: Lane) -> usize {
        self.lanes[lane as usize].classes.len()
    }

    /// The next class of a lane, which goes behind the others.
    pub fn next_class(&mut self, lane: Lane) -> Option<u16> {
        let classes = &mut self.lanes[lane as usize].classes;
        let class = classes.pop_front()?;
        classes.push_back(class);
        Some(class)
    }

    /// How many alerts wait for a class.
    pub fn waiting(&self, lane: Lane, class: u16) -> usize {
        self.lanes[lane as usize].queues.get(usize::from(class)).map_or(0, VecDeque::len)
    }

    /// Takes the first alert of a class out of its queue. It is for the caller to have the alert
    /// leave its turn.
    pub fn take(&mut self, lane: Lane, class: u16) -> Option<AlertNo> {
        let turns = &mut self.lanes[lane as usize];
        let queue = turns.queues.get_mut(usize::from(class))?;
        let no = queue.pop_front()?;
        if queue.is_empty() {
            *queue = VecDeque::new();
            turns.classes.retain(|other| *other != class);
        }
        self.len -= 1;
        Some(no)
    }

    /// An alert left memory: its places fall out when they come to the front, or when there are many of the
    /// kind. `is_there` tells the alerts in memory.
    pub fn forget(&mut self, live: &LiveAlert, is_there: impl Fn(AlertNo) -> bool) {
        self.stale += live.ready.turns();
        if self.stale <= STALE_MAX + self.len / 2 {
            return;
        }
        self.stale = 0;
        self.later.retain(|(_, no)| is_there(*no));
        for turns in &mut self.lanes {
            turns.queues.iter_mut().for_each(|queue| queue.retain(|no| is_there(*no)));
            turns.classes.retain(|class| !turns.queues[usize::from(*class)].is_empty());
        }
        self.len = self.lanes.iter().flat_map(|turns| &turns.queues).map(VecDeque::len).sum();
    }
}

impl LaneTurns {
    fn push(&mut self, class: u16, no: AlertNo) {
        let place = usize::from(class);
        if self.queues.len() <= place {
            self.queues.resize_with(place + 1, VecDeque::new);
        }
        if self.queues[place].is_empty() {
            self.classes.push_back(class);
        }
        self.queues[place].push_back(no);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Wording;
    use crate::plan::Classifier;
    use crate::testing::{alert, entry, request, route};
    use records::RosterBlock;
    use std::sync::Arc;

    /// One alert, with one person ready by SMS, and one by mail if wanted.
    fn live(no: u64, by_mail: bool) -> LiveAlert {
        let request = request("x");
        let wording = Arc::new(Wording::new(&request).unwrap());
        let routes =
            [channels::SMS, channels::MAIL].map(|channel| route(channels::name(channel), channel, |_| {}));
        let mut entries = vec![entry(channels::SMS, "+46700000001")];
        entries.extend(by_mail.then(|| entry(channels::MAIL, "a@example.org")));
        let mut live = LiveAlert::new(alert(no, request), wording);
        let block = RosterBlock { entries, ..RosterBlock::default() };
        live.admit(&block, &Classifier::new(routes.into()), Timestamp(0));
        live.seal();
        live
    }

    #[test]
    fn alerts_of_a_class_come_in_turn_and_so_do_classes() {
        let mut turns = Turns::default();
        let (mut first, mut second) = (live(1, false), live(2, true));
        let lane = first.lane();
        let classes: Vec<u16> = second.ready_classes().collect();
        let [sms, mail] = classes[..] else { panic!("one class a channel") };
        turns.enter(&mut first);
        turns.enter(&mut second);
        turns.enter(&mut second);
        assert_eq!(
            (turns.waiting(lane, sms), turns.waiting(lane, mail)),
            (2, 1),
            "each stands once in a queue"
        );
        assert_eq!([turns.next_class(lane), turns.next_class(lane)], [Some(sms), Some(mail)]);
        assert_eq!(turns.take(lane, sms), Some(AlertNo(1)));
        first.ready.leave_turn(sms);
        turns.enter(&mut first);
        assert_eq!([turns.take(lane, sms), turns.take(lane, sms)], [Some(AlertNo(2)), Some(AlertNo(1))]);
        assert_eq!(turns.take(lane, sms), None);
        assert_eq!(turns.classes(lane), 1, "an empty class is not looked at");
    }

    #[test]
    fn an_alert_for_later_comes_back_once_its_moment_has_come() {
        let mut turns = Turns::default();
        turns.put_off(AlertNo(7), Timestamp(10));
        turns.put_off(AlertNo(7), Timestamp(10));
        assert_eq!(turns.next_due(Timestamp(9)), None);
        assert_eq!(turns.next_due(Timestamp(10)), Some(AlertNo(7)));
        assert_eq!(turns.next_due(Timestamp(11)), None);
    }

    #[test]
    fn places_of_alerts_that_left_memory_are_bounded() {
        let mut turns = Turns::default();
        let mut gone = live(1, false);
        let class = gone.ready_classes().next().unwrap();
        for _ in 0..20_000 {
            gone.ready.leave_turn(class);
            turns.enter(&mut gone);
            turns.forget(&gone, |_| false);
        }
        let places = turns.waiting(gone.lane(), class);
        assert!(places <= 4 * STALE_MAX, "{places} places stay");
    }
}
