//! Tests of the next intent, and of what a crash could leave unknown.

use super::*;
use crate::dispatcher::send_queue::{Intended, PassedOver, SendQueue};
use crate::dispatcher::{Job, Lane};
use crate::journal::OutcomeAppend;
use crate::journal::recovery::SegmentProgress;
use records::{ControlState, NotTried};
use std::collections::BTreeMap;

fn queue(slots: u32) -> SendQueue<()> {
    SendQueue::new(ROUTE, None, slots)
}

fn admit(queue: &mut SendQueue<()>, leased: &Arc<LeasedSegment<()>>) {
    queue.admit(&ByAddress, Arc::clone(leased), &SegmentProgress::default(), |_| false, NOW);
}

/// One append: what was noted, and what is intended with it.
fn append(queue: &mut SendQueue<()>) -> Vec<Outcome> {
    let mut batch = queue.pending.take();
    queue.free(&batch.tags);
    let mut intended = queue.intend(&ByAddress, NOW);
    intended.intents.drain(..).for_each(|intent| batch.add(&intent));
    let outcomes = records::decode_outcomes(batch.record()).unwrap();
    on_disk(queue, batch, intended);
    outcomes
}

fn on_disk(
    queue: &mut SendQueue<()>,
    mut batch: OutcomeAppend<crate::dispatcher::send_queue::Settled<()>>,
    intended: Intended<()>,
) {
    queue.settle(batch.tags.drain(..));
    queue.pending.done(batch);
    queue.clear(intended, &PassedOver::new(), NOW);
}

fn pop_all(queue: &mut SendQueue<()>) -> Vec<Job<()>> {
    std::iter::from_fn(|| queue.pop(Lane::Routine, NOW)).collect()
}

fn places(jobs: &[Job<()>]) -> Vec<u32> {
    jobs.iter().map(|job| job.entry().endpoint.0).collect()
}

#[test]
fn slots_bound_what_is_intended_and_come_back_with_the_append_that_frees_them() {
    let mut queue = queue(5);
    let leased = leased(0, segment(1, Lane::Routine, 0, &[1; 12]));
    admit(&mut queue, &leased);
    append(&mut queue);
    let jobs = pop_all(&mut queue);
    assert_eq!(places(&jobs), [0, 1, 2, 3, 4]);
    assert!(!queue.wants_more());
    queue.note_part(&jobs[1], 1, NOW, (&accepted()).into());
    queue.note_part(&jobs[0], 1, NOW, (&accepted()).into());
    let outcomes = append(&mut queue);
    assert_eq!(outcomes.len(), 3, "two outcomes and an intent in one append: {outcomes:?}");
    assert!(
        matches!(&outcomes[2], Outcome::Intent(intent) if (intent.from, intent.attempts.len()) == (5, 2))
    );
    assert_eq!(places(&pop_all(&mut queue)), [5, 6]);
}

#[test]
fn an_entry_past_its_own_end_is_passed_over_by_the_append_that_intends_its_neighbours() {
    let mut queue = queue(8);
    let mut segment = segment(1, Lane::Routine, 0, &[1; 6]);
    for place in [0, 3, 5] {
        segment.entries[place].expires = Some(Timestamp(NOW.0 - 1));
    }
    segment.entries[4].expires = Some(NOW);
    admit(&mut queue, &leased(0, segment));
    let outcomes = append(&mut queue);
    let said: Vec<(u32, usize)> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Intent(intent) => (intent.from, intent.attempts.len()),
            Outcome::Attempt { of, result: AttemptResult::NotTried { why: NotTried::Expired }, .. } => {
                (of.endpoint.0, 0)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, [(0, 0), (1, 2), (3, 0), (4, 1), (5, 0)]);
    let jobs = pop_all(&mut queue);
    assert_eq!(places(&jobs), [1, 2, 4]);
    for job in &jobs {
        queue.note_part(job, 1, NOW, (&accepted()).into());
    }
    append(&mut queue);
    assert_eq!(queue.take_done().len(), 1, "the segment is over");
}

#[test]
fn a_message_larger_than_the_window_goes_alone() {
    let mut queue = queue(4);
    admit(&mut queue, &leased(0, segment(1, Lane::Routine, 0, &[2, 9, 2])));
    for expected in [0, 1, 2] {
        append(&mut queue);
        let jobs = pop_all(&mut queue);
        assert_eq!(places(&jobs), [expected]);
        append(&mut queue);
        assert!(pop_all(&mut queue).is_empty(), "nothing beside it");
        for part in 1..=jobs[0].units {
            queue.note_part(&jobs[0], part, NOW, (&accepted()).into());
        }
    }
    append(&mut queue);
    assert_eq!(queue.take_done().len(), 1);
}

#[test]
fn an_emergency_does_not_wait_for_what_is_ready_behind_it() {
    let mut queue = queue(100);
    queue.set_ahead(4);
    admit(&mut queue, &leased(0, segment(1, Lane::Routine, 0, &[1; 20])));
    append(&mut queue);
    admit(&mut queue, &leased(0, segment(2, Lane::Emergency, 50, &[1; 6])));
    assert!(queue.wants_more());
    append(&mut queue);
    assert_eq!(places(&pop_all(&mut queue)), [50, 51, 52, 53, 0, 1, 2, 3]);
    append(&mut queue);
    assert_eq!(places(&pop_all(&mut queue))[..2], [54, 55]);
}

#[test]
fn what_was_put_back_is_next_again() {
    let mut queue = queue(10);
    admit(&mut queue, &leased(0, segment(1, Lane::Routine, 0, &[1; 3])));
    append(&mut queue);
    let jobs = pop_all(&mut queue);
    let mut jobs: Vec<_> = jobs.into_iter().rev().collect();
    jobs.drain(..).for_each(|job| queue.put_back(job));
    assert_eq!(places(&pop_all(&mut queue)), [0, 1, 2]);
}

#[test]
fn a_refused_segment_is_done_when_all_of_it_is_said_on_disk() {
    for (state, expires, why) in [
        (ControlState::Pause, Timestamp(i64::MAX), NotTried::Paused),
        (ControlState::Stop, Timestamp(i64::MAX), NotTried::Stopped),
        (ControlState::Run, Timestamp(NOW.0 - 1), NotTried::Expired),
    ] {
        let mut queue = queue(4);
        let leased = leased(0, Segment { expires, ..segment(1, Lane::Routine, 0, &[2; 5]) });
        admit(&mut queue, &leased);
        if state != ControlState::Run {
            append(&mut queue);
            leased.set_verdict(state);
        }
        queue.give_back_all_refused(NOW);
        assert!(queue.take_done().is_empty());
        let outcomes = append(&mut queue);
        let back = outcomes.iter().filter(|outcome| {
            matches!(outcome, Outcome::Attempt { of, result: AttemptResult::NotTried { why: said }, .. }
                if *said == why && of.parts == 1)
        });
        assert_eq!(back.count(), 5, "{outcomes:?}");
        assert_eq!(queue.take_done().len(), 1);
        assert_eq!(queue.leased().count(), 0);
        // Its slots are free again.
        admit(&mut queue, &super::leased(1, segment(2, Lane::Routine, 0, &[2; 5])));
        append(&mut queue);
        assert_eq!(pop_all(&mut queue).len(), 2);
    }
}

#[test]
fn an_empty_segment_is_done_at_once() {
    let mut queue = queue(4);
    admit(&mut queue, &leased(0, segment(1, Lane::Routine, 0, &[])));
    assert_eq!(queue.take_done().len(), 1);
}

/// What is on disk, as recovery would read it: intended and not over.
fn unknown_after_a_crash(disk: &[Outcome]) -> u32 {
    let mut open: BTreeMap<u32, u32> = BTreeMap::new();
    for outcome in disk {
        match outcome {
            Outcome::Intent(intent) => {
                open.extend(intent.attempts.iter().map(|(endpoint, _)| (endpoint.0, 0)));
            }
            Outcome::Attempt { of, .. } => {
                let parts = open.entry(of.endpoint.0).or_default();
                *parts += 1;
                if *parts == u32::from(of.parts) {
                    open.remove(&of.endpoint.0);
                }
            }
            _ => {}
        }
    }
    open.len() as u32
}

#[test]
fn whatever_happens_in_whatever_order_the_rules_hold() {
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    for round in 0..200 {
        let mut random = seed ^ u64::wrapping_mul(round, 0x9E37_79B9_7F4A_7C15);
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((random >> 33) % limit) as u32
        };
        let slots = 1 + below(12);
        let mut queue = queue(slots);
        queue.set_ahead(1 + below(12));
        let (mut disk, mut flying, mut done) = (Vec::new(), Vec::new(), 0);
        let mut last = BTreeMap::new();
        let segments = 6;
        for index in 0..segments {
            let units: Vec<u8> = (0..below(15)).map(|_| 1 + below(4) as u8).collect();
            let lane = Lane::ALL[below(3) as usize];
            admit(&mut queue, &leased(u64::from(index), segment(1, lane, index * 100, &units)));
        }
        for step in 0..100_000 {
            if done == segments as usize {
                break;
            }
            match below(4) {
                0 => disk.extend(append(&mut queue)),
                1 => flying.extend(queue.pop(Lane::Routine, NOW).map(|job: Job<()>| {
                    let place = last.entry(job.leased.index).or_insert(0);
                    assert!(job.place + 1 > *place, "seed {seed}, round {round}: out of order");
                    *place = job.place + 1;
                    let units = job.units;
                    (job, units)
                })),
                2 if !flying.is_empty() => {
                    let at = below(flying.len() as u64) as usize;
                    let (job, left) = &mut flying[at];
                    queue.note_part(job, *left, NOW, (&accepted()).into());
                    *left -= 1;
                    if *left == 0 {
                        flying.swap_remove(at);
                    }
                }
                _ => {}
            }
            done += queue.take_done().len();
            let unknown = unknown_after_a_crash(&disk);
            assert!(unknown <= slots, "seed {seed}, round {round}, step {step}: {unknown} of {slots}");
        }
        disk.extend(append(&mut queue));
        done += queue.take_done().len();
        assert_eq!(
            (done, unknown_after_a_crash(&disk)),
            (segments as usize, 0),
            "seed {seed}, round {round}"
        );
    }
}
