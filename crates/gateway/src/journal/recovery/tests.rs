//! Cases of recovery: processes that ended half-way.

use super::*;
use crate::dispatcher::tests::*;
use bus::Bus;
use bus::embedded::{Fsync, Options};
use records::{NotTried, OUTCOMES, encode_outcomes, segment_topic};

struct TestRoute {
    _dir: tempfile::TempDir,
    bus: Arc<dyn Bus>,
}

impl TestRoute {
    fn new() -> TestRoute {
        let dir = tempfile::tempdir().unwrap();
        let bus =
            bus::embedded::open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
        TestRoute { _dir: dir, bus }
    }

    async fn segment(&self, segment: &Segment) -> u64 {
        let topic = self.bus.topic(&segment_topic(&segment.route, segment.lane)).unwrap();
        topic.append(&[&segment.encode()]).await.unwrap()
    }

    async fn outcomes(&self, outcomes: &[Outcome]) -> u64 {
        self.bus.topic(OUTCOMES).unwrap().append(&[&encode_outcomes(outcomes)]).await.unwrap()
    }

    async fn progress(&self, route: &str) -> RouteProgress {
        Recovery::new(Arc::clone(&self.bus)).of(route, NOW).await.unwrap()
    }
}

fn seen(parts: &[u8]) -> PartSet {
    let mut seen = PartSet::default();
    parts.iter().for_each(|part| seen.add(*part));
    seen
}

#[tokio::test]
async fn what_was_intended_without_a_complete_outcome_is_found_with_its_parts() {
    let test_route = TestRoute::new();
    let one = segment(1, Lane::Routine, 0, &[1, 3, 1, 1, 1]);
    let index = test_route.segment(&one).await;
    test_route.outcomes(&[intent(&one, index, 0, 2)]).await;
    test_route
        .outcomes(&[
            attempt(&one, 0, 1, 1, accepted()),
            attempt(&one, 1, 1, 3, accepted()),
            attempt(&one, 1, 3, 3, accepted()),
            intent(&one, index, 2, 4),
        ])
        .await;
    test_route.outcomes(&[attempt(&one, 2, 1, 1, AttemptResult::NotTried { why: NotTried::Closing })]).await;
    let mut progress = test_route.progress(ROUTE).await;
    let found = progress.take(Lane::Routine, index).unwrap();
    assert_eq!(found.intended_to, 4);
    assert_eq!(found.unresolved, [(1, seen(&[1, 3])), (3, seen(&[]))]);
    assert!(progress.take(Lane::Routine, index).is_none(), "told once");
}

#[tokio::test]
async fn untouched_and_acknowledged_segments_and_other_routes_are_left_alone() {
    let test_route = TestRoute::new();
    let one = segment(1, Lane::Routine, 0, &[1, 1]);
    let other = Segment { route: "other".to_owned(), ..one.clone() };
    let (done, untouched) = (test_route.segment(&one).await, test_route.segment(&one).await);
    let remote_health = test_route.segment(&other).await;
    test_route.outcomes(&[intent(&one, done, 0, 2), intent(&other, remote_health, 0, 1)]).await;
    test_route.bus.group(&segment_topic(ROUTE, Lane::Routine), "gateway").unwrap().ack(done).unwrap();
    let recovery = Recovery::new(Arc::clone(&test_route.bus));
    let mut ours = recovery.of(ROUTE, NOW).await.unwrap();
    assert_eq!((ours.take(Lane::Routine, done), ours.take(Lane::Routine, untouched)), (None, None));
    let mut theirs = recovery.of("other", NOW).await.unwrap();
    assert_eq!(theirs.take(Lane::Routine, remote_health).unwrap().intended_to, 1);
    // A second start of a route looks again.
    test_route.outcomes(&[intent(&one, untouched, 0, 1)]).await;
    assert_eq!(recovery.of(ROUTE, NOW).await.unwrap().take(Lane::Routine, untouched).unwrap().intended_to, 1);
}

#[tokio::test]
async fn what_was_given_back_is_not_sent_by_its_old_segment_but_by_the_new_one() {
    let test_route = TestRoute::new();
    let old = segment(1, Lane::Routine, 0, &[1; 4]);
    test_route.segment(&old).await;
    let back = |place| attempt(&old, place, 1, 1, AttemptResult::NotTried { why: NotTried::Paused });
    let last = test_route.outcomes(&[back(0), back(1)]).await;
    let new = Segment { outcomes_from: last + 1, ..old.clone() };
    test_route.segment(&new).await;
    let progress = test_route.progress(ROUTE).await;
    let gave_back = |segment: &Segment| {
        segment.entries.iter().map(|entry| progress.gave_back(segment, entry)).collect::<Vec<_>>()
    };
    assert_eq!(gave_back(&old), [true, true, false, false]);
    assert_eq!(gave_back(&new), [false; 4]);
}

#[tokio::test]
async fn where_the_outcomes_were_trimmed_away_nothing_is_sent_again() {
    // The log gives space back by whole files: small ones.
    let dir = tempfile::tempdir().unwrap();
    let options = Options { fsync: Fsync::Os, file_octets_max: 4_096, ..Options::default() };
    let bus = bus::embedded::open(dir.path(), options).unwrap();
    let test_route = TestRoute { _dir: dir, bus };
    let one = segment(1, Lane::Routine, 0, &[1, 1, 1]);
    let index = test_route.segment(&one).await;
    for _ in 0..200 {
        test_route.outcomes(&[intent(&one, index, 0, 3)]).await;
    }
    test_route.outcomes(&[attempt(&one, 1, 1, 1, accepted())]).await;
    let topic = test_route.bus.topic(OUTCOMES).unwrap();
    topic.trim(150).unwrap();
    assert!(topic.low() > 0);
    let found = test_route.progress(ROUTE).await.take(Lane::Routine, index).unwrap();
    assert_eq!((found.intended_to, found.unresolved), (3, vec![(0, seen(&[])), (2, seen(&[]))]));
}

#[test]
fn a_set_of_parts_holds_any_number_an_octet_can_say() {
    for parts in [1_u8, 2, 63, 64, 65, 128, 254, 255] {
        let mut all = PartSet::default();
        (1..parts).for_each(|part| all.add(part));
        assert!(!all.has_all(parts));
        all.add(parts);
        assert!(all.has_all(parts) && all.has(parts) && !all.has(0));
    }
}

#[tokio::test]
async fn a_start_is_quiet_when_nothing_was_said_for_a_minute_and_a_route_once_in_a_process() {
    let test_route = TestRoute::new();
    let recovery = || Recovery::new(Arc::clone(&test_route.bus));
    let later = |seconds: i64| NOW.plus_s(seconds);
    let once = recovery();
    assert!(once.of(ROUTE, NOW).await.unwrap().quiet, "nothing was ever said");
    assert!(!once.of(ROUTE, NOW).await.unwrap().quiet, "this process may have written since");
    assert!(once.of("other", NOW).await.unwrap().quiet);
    test_route.outcomes(&[intent(&segment(1, Lane::Routine, 0, &[1]), 0, 0, 1)]).await;
    for (now, quiet) in [(later(0), false), (later(59), false), (later(61), true), (later(-600), false)] {
        assert_eq!(recovery().of(ROUTE, now).await.unwrap().quiet, quiet, "{now:?}");
    }
}
