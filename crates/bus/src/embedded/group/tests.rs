use super::super::moved::Moved;
use super::super::{Embedded, Fsync, Options};
use super::*;
use crate::{Bus, DeadLetter, GroupSettings, Topic};
use power_cut::{Dice, SimulatedDisk, root};
use std::collections::{BTreeMap, BTreeSet};

const LEASE: Duration = Duration::from_secs(30);

struct Stage {
    disk: SimulatedDisk,
    clock: Arc<Moved>,
    bus: Embedded,
    topic: Arc<dyn Topic>,
    group: Arc<LogGroup>,
}

impl Stage {
    fn on(disk: SimulatedDisk, fsync: Fsync) -> Stage {
        let clock = Moved::new();
        let options = Options { fsync, file_octets_max: 2000, ..Options::default() };
        let bus = Embedded::on(Arc::new(disk.clone()), clock.clone(), &root(), &options).unwrap();
        let held = bus.held("t", None).unwrap();
        let group = bus.open_group("t", "g", &held).unwrap();
        Stage { disk, clock, bus, topic: held.topic(), group }
    }

    fn new(records: u64) -> Stage {
        let stage = Stage::on(SimulatedDisk::new(), Fsync::Always);
        stage.append(records);
        stage
    }

    fn append(&self, records: u64) {
        for _ in 0..records {
            now(self.topic.append(&[self.topic.head().to_string().as_bytes()])).unwrap();
        }
    }

    fn take(&self, max: usize) -> Vec<(u64, u32)> {
        let taken = self.group.take(max, LEASE).unwrap();
        for leased in &taken {
            assert_eq!(leased.record.octets, leased.record.index.to_string());
        }
        taken.iter().map(|leased| (leased.record.index, leased.redelivered)).collect()
    }

    fn forward(&self, by: Duration) {
        self.clock.forward(by);
        self.bus.clock_moved();
    }
}

fn now<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn is_ready(group: &dyn Group) -> bool {
    let mut ready = group.ready();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    ready.as_mut().poll(&mut context).is_ready()
}

#[test]
fn each_record_is_held_by_one_member_and_an_expired_lease_goes_to_another() {
    let stage = Stage::new(5);
    assert_eq!(stage.take(2), [(0, 0), (1, 0)]);
    stage.forward(LEASE / 2);
    assert_eq!(stage.take(9), [(2, 0), (3, 0), (4, 0)]);
    assert_eq!(stage.take(9), []);
    assert!(!is_ready(&*stage.group));
    let ready = stage.group.ready();
    stage.group.ack(1).unwrap();
    stage.forward(LEASE / 2);
    now(ready);
    assert_eq!(stage.take(9), [(0, 1)], "what was acknowledged does not come again");
    assert!(stage.group.ack(2).is_ok(), "done is done, whoever holds it");
    stage.forward(LEASE / 2);
    assert_eq!(stage.take(9), [(3, 1), (4, 1)]);
    stage.forward(LEASE * 2);
    assert_eq!(stage.take(9), [(0, 2), (3, 2), (4, 2)]);
    assert_eq!(stage.group.unacknowledged(2), [0, 3]);
    assert_eq!(stage.group.low_water(), 0);
    stage.group.ack(0).unwrap();
    assert_eq!(stage.group.low_water(), 3);
}

#[test]
fn a_renewed_lease_lasts_and_a_released_record_comes_back_at_once() {
    let stage = Stage::new(3);
    assert_eq!(stage.take(3).len(), 3);
    stage.forward(LEASE * 2 / 3);
    stage.group.renew(0, LEASE).unwrap();
    stage.group.release(2).unwrap();
    assert!(is_ready(&*stage.group));
    assert_eq!(stage.take(9), [(2, 1)]);
    stage.forward(LEASE * 2 / 3);
    assert_eq!(stage.take(9), [(1, 1)], "only the lease that was not renewed has ended");
    for wrong in [stage.group.renew(7, LEASE), stage.group.release(7), stage.group.ack(3)] {
        assert!(matches!(wrong, Err(BusError::NotLeased { .. })), "{wrong:?}");
    }
    stage.group.release(1).unwrap();
    assert!(matches!(stage.group.renew(1, LEASE), Err(BusError::NotLeased { index: 1, .. })));
}

#[test]
fn ready_waits_for_the_first_record_and_the_end_of_the_bus() {
    let stage = Stage::new(0);
    let ready = stage.group.ready();
    assert!(!is_ready(&*stage.group));
    let appends = std::thread::spawn({
        let topic = stage.topic.clone();
        move || now(topic.append(&[b"0"])).unwrap()
    });
    now(ready);
    appends.join().unwrap();
    assert_eq!(stage.take(1), [(0, 0)]);
    let ready = stage.group.ready();
    let Stage { bus, group, .. } = stage;
    drop(bus);
    now(ready);
    assert!(matches!(group.take(1, LEASE), Ok(taken) if taken.is_empty()));
}

#[test]
fn a_group_far_ahead_of_one_unacknowledged_record_waits_for_it() {
    let mut state = state::GroupState::new(10);
    let head = 10 + 2 * state::SPAN_MAX;
    let begin = Instant::now();
    for (index, _) in state.offer(usize::MAX, head) {
        state.lease(index, begin + LEASE);
    }
    assert!(!state.has_work(head));
    assert_eq!(state.ack(10 + state::SPAN_MAX), state::Acked::TooFar);
    for index in 11..10 + state::SPAN_MAX {
        assert_eq!(state.ack(index), state::Acked::Now { opens: false });
    }
    assert_eq!(state.offer(5, head), []);
    assert_eq!(state.ack(10), state::Acked::Now { opens: true });
    assert_eq!(state.low(), 10 + state::SPAN_MAX);
    assert_eq!(state.offer(1, head), [(10 + state::SPAN_MAX, 0)]);
}

#[test]
fn acknowledgements_survive_a_flush_and_a_power_cut_in_any_order() {
    let stage = Stage::new(40);
    stage.take(40);
    let acked = [0, 1, 2, 5, 6, 9, 30, 31, 39];
    acked.iter().for_each(|index| stage.group.ack(*index).unwrap());
    now(stage.group.flush()).unwrap();
    stage.group.ack(3).unwrap();
    let again = Stage::on(stage.disk.power_cut(&mut Dice(3)), Fsync::Always);
    assert_eq!(again.group.low_water(), 3);
    let left = again.group.unacknowledged(100);
    assert!((3..40).filter(|index| !acked.contains(index)).eq(left));
    assert_eq!(again.take(3), [(3, 0), (4, 0), (7, 0)]);
}

#[test]
fn acknowledgements_are_written_lazily_and_survive_the_process() {
    let stage = Stage::new(5);
    stage.take(5);
    stage.group.ack(0).unwrap();
    assert!(stage.disk.files("groups").is_empty(), "nothing is written yet");
    stage.forward(WRITE_AFTER);
    let again = Stage::on(stage.disk.power_cut_without_loss(), Fsync::Always);
    assert_eq!(again.group.low_water(), 1);
}

#[test]
fn trimmed_records_are_done_with() {
    let stage = Stage::new(300);
    stage.take(10);
    stage.topic.trim(150).unwrap();
    let low = stage.topic.low();
    assert!((100..150).contains(&low), "{low}");
    assert_eq!(stage.group.low_water(), low);
    assert_eq!(stage.take(1), [(low, 0)]);
    stage.group.ack(3).unwrap();
    stage.topic.trim(300).unwrap();
    assert_eq!(stage.group.low_water(), stage.topic.low());
}

#[test]
fn a_topic_that_lost_its_end_gives_the_new_records_out() {
    let disk = SimulatedDisk::new();
    let stage = Stage::on(disk.clone(), Fsync::Os);
    stage.append(20);
    stage.take(20);
    (0..20).for_each(|index| stage.group.ack(index).unwrap());
    now(stage.group.flush()).unwrap();
    let (topic_file, octets) = disk.files("topics/t").pop().unwrap();
    let lost = disk.with_file(&topic_file, octets[..octets.len() - 200].to_vec());
    let again = Stage::on(lost, Fsync::Os);
    let head = again.topic.head();
    assert!((10..20).contains(&head), "{head}");
    assert_eq!(again.group.low_water(), head);
    again.append(20);
    assert_eq!(again.take(1), [(head, 0)]);
    let third = Stage::on(again.disk.power_cut_without_loss(), Fsync::Os);
    assert_eq!(third.group.low_water(), head, "and the old acknowledgements do not come back");
}

#[test]
fn the_log_of_acknowledgements_stays_small() {
    let stage = Stage::on(SimulatedDisk::new(), Fsync::Os);
    let records = vec![&b"r"[..]; 1000];
    for _ in 0..30 {
        now(stage.topic.append(&records)).unwrap();
        let taken = stage.group.take(1000, LEASE).unwrap();
        // Every second one stays open: many spans.
        taken
            .iter()
            .filter(|leased| leased.record.index % 2 == 1)
            .for_each(|leased| stage.group.ack(leased.record.index).unwrap());
        stage.group.save().unwrap();
        let octets: usize = stage.disk.files("groups").iter().map(|(_, octets)| octets.len()).sum();
        assert!(octets < 2 * COMPACT_OCTETS as usize + 16 * 30_000, "{octets} octets");
    }
    let again = Stage::on(stage.disk.power_cut_without_loss(), Fsync::Os);
    assert_eq!(again.group.unacknowledged(usize::MAX).len(), 15_000);
}

fn with_dead_letters(stage: &Stage, deliveries_max: u32) -> Arc<dyn Topic> {
    let settings =
        GroupSettings { deliveries_max, dead_letters: Some("dead".to_owned()), ..GroupSettings::default() };
    stage.bus.group_with("t", "g", &settings).unwrap();
    stage.bus.topic("dead").unwrap()
}

#[test]
fn deliveries_are_counted_over_restarts() {
    let mut stage = Stage::new(3);
    for round in 0..3 {
        let dead = with_dead_letters(&stage, 3);
        let expected = [(0, round), (1, round), (2, round)];
        assert_eq!(stage.take(3), expected, "round {round}");
        assert_eq!(dead.head(), 0);
        // It dies with them in hand.
        stage = Stage::on(stage.disk.power_cut_without_loss(), Fsync::Always);
    }
    let dead = with_dead_letters(&stage, 3);
    now(dead.readable(2));
    assert_eq!(stage.take(3), []);
    let letters = dead.read(0, 9, 999).unwrap();
    let letters = letters.iter().map(|record| DeadLetter::decode(&record.octets).unwrap());
    assert!(letters.map(|letter| (letter.index, letter.deliveries)).eq((0..3).map(|index| (index, 3))));
}

#[test]
fn dead_letters_that_find_no_room_are_tried_again_and_stand_there_once() {
    let stage = Stage::new(2);
    let dead = with_dead_letters(&stage, 1);
    stage.take(2);
    stage.disk.fault(|faults| faults.room = Some(0));
    stage.group.release(0).unwrap();
    stage.group.release(1).unwrap();
    let begun = Instant::now();
    while lock(&stage.group.inner).bury_due.is_none() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it was never tried");
        std::thread::yield_now();
    }
    assert_eq!(stage.take(2), [], "they are dead all the same");
    assert_eq!(stage.group.unacknowledged(9), [0, 1]);
    stage.disk.fault(|faults| faults.room = None);
    stage.forward(Duration::from_secs(1));
    now(dead.readable(1));
    assert_eq!(dead.head(), 2);
}

#[test]
fn random_members_restarts_and_power_cuts_agree_with_a_model() {
    for seed in cases::seeds(60) {
        Model::run(seed);
    }
}

/// What a group must do, written the obvious way.
struct Model {
    acked: BTreeSet<u64>,
    held: BTreeMap<u64, Duration>,
    time: Duration,
}

impl Model {
    fn run(seed: u64) {
        let mut dice = Dice(seed);
        let mut stage = Stage::on(SimulatedDisk::new(), Fsync::Always);
        let mut model = Model { acked: BTreeSet::new(), held: BTreeMap::new(), time: Duration::ZERO };
        for step in 0..200 {
            match dice.roll(12) {
                0..3 => stage.append(dice.roll(4)),
                3..6 => model.take(&stage, 1 + dice.roll(6) as usize, &format!("seed {seed}, step {step}")),
                6..9 => {
                    let head = stage.topic.head();
                    for _ in 0..dice.roll(5).min(head) {
                        let index = dice.roll(head);
                        stage.group.ack(index).unwrap();
                        model.acked.insert(index);
                        model.held.remove(&index);
                    }
                }
                9 => {
                    let by = Duration::from_secs(dice.roll(20));
                    stage.forward(by);
                    model.time += by;
                    model.held.retain(|_, until| *until > model.time);
                }
                10 => {
                    if let Some((&index, _)) = model.held.iter().nth(dice.roll(4) as usize) {
                        stage.group.release(index).unwrap();
                        model.held.remove(&index);
                    }
                }
                _ if dice.one_in(4) => {
                    let flushed = dice.one_in(2);
                    if flushed {
                        now(stage.group.flush()).unwrap();
                    }
                    let disk = if flushed {
                        stage.disk.power_cut(&mut dice)
                    } else {
                        stage.disk.power_cut_without_loss()
                    };
                    let again = Stage::on(disk, Fsync::Always);
                    let open: BTreeSet<u64> = again.group.unacknowledged(usize::MAX).into_iter().collect();
                    let acked: BTreeSet<u64> =
                        (0..again.topic.head()).filter(|index| !open.contains(index)).collect();
                    assert!(
                        acked.is_subset(&model.acked),
                        "seed {seed}, step {step}: never acknowledged: {:?}",
                        acked.difference(&model.acked)
                    );
                    assert!(!flushed || acked == model.acked, "seed {seed}, step {step}: flushed and lost");
                    model = Model { acked, held: BTreeMap::new(), time: Duration::ZERO };
                    stage = again;
                }
                _ => {
                    let open = stage.group.unacknowledged(usize::MAX);
                    assert!(
                        (0..stage.topic.head()).filter(|index| !model.acked.contains(index)).eq(open),
                        "seed {seed}, step {step}"
                    );
                }
            }
        }
    }

    fn take(&mut self, stage: &Stage, max: usize, place: &str) {
        let free = (0..stage.topic.head())
            .filter(|index| !self.acked.contains(index) && !self.held.contains_key(index));
        let expected: Vec<u64> = free.take(max).collect();
        let taken: Vec<u64> = stage.take(max).into_iter().map(|(index, _)| index).collect();
        assert_eq!(taken, expected, "{place}");
        for index in taken {
            self.held.insert(index, self.time + LEASE);
        }
    }
}
