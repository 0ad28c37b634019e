//! Three processes over a JetStream cluster and a PostgreSQL that they share, and what becomes of an alert
//! when some of them die, stand still, or lose sight of each other. Everyone is accounted for, nobody gets a
//! second copy but among the unknowns, and the route's limit holds.

mod approved;
mod cuts;
mod devices;
mod elsewhere;
mod faults;
mod kills;
mod ledger;
mod migrate;
mod pauses;
mod sharing;

use crate::crash::seed;
use crate::fixtures::{assert_counts_add_up, count, phones_csv};
use it::{Constellation, Plan, eventually, sms_route};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use sim::smsc::{Counting, Receipts, Smsc, SmscOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Anything that takes a minute on an idle machine.
pub const AT_LAST: Duration = Duration::from_secs(300);
/// All processes.
pub const ALL: [usize; 3] = [0, 1, 2];
/// Submissions without an answer on the one session that each process has with the carrier.
const WINDOW: u64 = 50;
const SECOND_NS: u64 = 1_000_000_000;
const TEXT: &str = "The dam has burst";

/// One alert by one route of three processes.
pub struct Story {
    /// The processes and their servers.
    pub all: Constellation,
    /// The carrier at the end of the route.
    pub carrier: Smsc,
    /// The alert.
    pub id: String,
    plan: What,
    chance: StdRng,
    seed: u64,
    /// Processes that were killed, stopped or cut off so far.
    failed: u64,
    /// When processes went on that had stood still.
    resumed_ns: Vec<u64>,
    stalls: Stalls,
}

/// What a story is about.
#[derive(Debug, Clone, Copy)]
pub struct What {
    /// People with a phone each.
    pub people: u64,
    /// Messages a second that the carrier allows.
    pub rate: u64,
    /// What becomes of those of whom nobody knows.
    pub on_unknown: &'static str,
    /// After so long a process is taken to be gone.
    pub lease: Duration,
    /// Its network can be cut.
    pub cuttable: bool,
}

impl Story {
    /// Starts everything, and an alert to everybody by any process.
    pub async fn begin(plan: What) -> Story {
        let seed = seed();
        println!("IT_SEED={seed}");
        let receipts = Receipts { delay: "200ms..2s".parse().unwrap(), ..Receipts::default() };
        let options = SmscOptions {
            receipts,
            latency: "1ms..25ms".parse().unwrap(),
            count: Counting::Texts,
            seed,
            ..SmscOptions::default()
        };
        let carrier = Smsc::start(options).await.unwrap();
        let keys = format!("rate = {}.0\nsessions = 1\nwindow = {WINDOW}", plan.rate);
        let config = sms_route("carrier", carrier.address(), &keys);
        let What { lease, cuttable, .. } = plan;
        let all = Constellation::start(Plan { config, lease, cuttable, ..Plan::default() }).await;
        let mut chance = StdRng::seed_from_u64(seed);
        all.api(chance.random_range(0..3)).import_csv(phones_csv(plan.people)).await;
        let alert = json!({"text": TEXT, "audience": ["all"], "terminal": "delivered",
            "on_unknown": plan.on_unknown});
        let id = all.api(chance.random_range(0..3)).submit(&alert).await;
        let stalls = Stalls::watch(lease / 3);
        let (failed, resumed_ns) = (0, Vec::new());
        Story { all, carrier, id, plan, chance, seed, failed, resumed_ns, stalls }
    }

    /// Waits until the carrier has accepted so many more, and a moment that chance decides.
    pub async fn goes_on(&mut self, more: u64) {
        let wanted = (self.carrier.stats().accepted + more).min(self.plan.people);
        eventually("the carrier accepts", AT_LAST, async || {
            let accepted = self.carrier.stats().accepted;
            if accepted >= wanted {
                Ok(())
            } else {
                Err(format!("{accepted} of {wanted}, seed {}", self.seed))
            }
        })
        .await;
        tokio::time::sleep(Duration::from_micros(self.chance.random_range(0..30_000))).await;
    }

    /// A process that does not lead, and that writes to the carrier.
    pub async fn gateway(&self) -> usize {
        let leader = self.all.leads(&ALL, AT_LAST).await;
        let written = ALL.map(|place| self.all.written(place));
        eventually("another than the leader writes to the carrier", AT_LAST, async || {
            let writes = |place: &usize| *place != leader && self.all.written(*place) > written[*place];
            (0..3).find(writes).ok_or(format!("leader {leader}, seed {}", self.seed))
        })
        .await
    }

    /// Kills a process.
    pub fn kill(&mut self, place: usize) {
        self.all.processes[place].kill9();
        self.failed += 1;
    }

    /// Cuts a process off from its servers, though not from the carrier, until its lease is long over; then
    /// mends it.
    pub async fn cut_off(&mut self, place: usize) {
        self.all.cut(place);
        self.failed += 1;
        self.outlast_the_lease().await;
        self.all.mend(place);
    }

    /// All processes were killed.
    pub fn all_failed(&mut self) {
        self.failed += 3;
    }

    /// Time itself is what is waited for.
    pub async fn outlast_the_lease(&self) {
        tokio::time::sleep(self.plan.lease + self.plan.lease / 2).await;
    }

    /// Waits until nothing more happens: all is decided, and every receipt was brought.
    async fn rest(&self) -> Value {
        let mut last = Value::Null;
        eventually("all is decided", AT_LAST, async || {
            let report = self.all.report(&ALL, &self.id, AT_LAST).await;
            let open: u64 = ["planned", "held", "submitted"].map(|state| count(&report, state)).iter().sum();
            let waiting = self.carrier.stats().letters.waiting;
            let rests = open == 0 && waiting == 0 && report["counts"] == last;
            last = report["counts"].clone();
            if rests {
                return Ok(report);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err(format!("{waiting} receipts wait; {report}; seed {}", self.seed))
        })
        .await
    }

    /// What must hold at the end, whatever happened.
    pub async fn judge(&self) {
        let (report, seed, people) = (self.rest().await, self.seed, self.plan.people);
        assert_counts_add_up(&report);
        assert_eq!(count(&report, "endpoints"), people, "seed {seed}");
        let deliveries = self.all.deliveries(&ALL, &self.id, AT_LAST).await;
        assert_eq!(deliveries.len() as u64, people, "seed {seed}");
        let (mut unknown, mut resent, mut repeats) = (0, 0, 0);
        for delivery in &deliveries {
            let attempts = delivery["attempts"].as_u64().unwrap();
            let copies = u64::from(self.carrier.accepted(delivery["address"].as_str().unwrap(), TEXT));
            match delivery["state"].as_str().unwrap() {
                "delivered" => {
                    assert!((1..=attempts).contains(&copies), "{copies} copies of {delivery}, seed {seed}");
                }
                "unknown" => {
                    assert!(copies <= attempts, "{copies} copies of {delivery}, seed {seed}");
                    unknown += 1;
                }
                _ => panic!("{delivery}, seed {seed}"),
            }
            resent += attempts.saturating_sub(1);
            repeats += copies.saturating_sub(1);
        }
        let stalls = self.stalls.count();
        println!(
            "{people} people, {} failed: {unknown} unknown, {resent} sent again, {repeats} of them twice at the carrier; \
             {stalls} stalls",
            self.failed
        );
        if self.plan.on_unknown == "hold" {
            assert_eq!((resent, repeats), (0, 0), "what is held is not sent again, seed {seed}");
        }
        // Each process that failed leaves at most one window of its one session; one that stood still with
        // the machine too.
        let bound = (self.failed + 3 * stalls) * WINDOW;
        assert!(unknown + resent <= bound, "{unknown} and {resent} of {bound}, seed {seed}");
        assert!(repeats <= resent, "{repeats} of {resent}, seed {seed}");
        self.limit_holds();
    }

    /// Runs a part of the story, and says how long it took and how long nothing was written meanwhile.
    pub async fn part(&mut self, what: &str, part: impl AsyncFnOnce(&mut Story)) {
        let (began, from_ns) = (Instant::now(), now_ns());
        part(self).await;
        let until_ns = now_ns();
        let writes = self.all.writes();
        let within = writes.iter().map(|(at, _)| *at).filter(|at| (from_ns..until_ns).contains(at));
        let moments: Vec<u64> = std::iter::once(from_ns).chain(within).chain([until_ns]).collect();
        let silence = moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        println!(
            "{what}: {:.1} s, of which {:.1} s without a write",
            began.elapsed().as_secs_f64(),
            silence as f64 / SECOND_NS as f64
        );
    }

    /// No second has more writes than the carrier allows, by the stamps of all processes: not by the
    /// carrier's, since what left in time may arrive in a bunch. One that was stopped between its last look
    /// at its share and the write itself writes as it goes on: at most its window, once.
    fn limit_holds(&self) {
        let writes = self.all.writes();
        let total: u64 = writes.iter().map(|(_, messages)| messages).sum();
        let worst = worst_second(&writes, &[]);
        println!("{total} written; {} in the fullest second of {} allowed", worst.0, self.plan.rate);
        let (most, at) = worst_second(&writes, &self.resumed_ns);
        assert!(most <= self.plan.rate, "{most} written in the second from {at} ns on, seed {}", self.seed);
        let allowed = self.plan.rate + WINDOW;
        assert!(worst.0 <= allowed, "{} written in the second from {} ns on", worst.0, worst.1);
    }
}

/// The most in any window of one second, both its ends included, and where it begins; without those that hold
/// anything of the second that begins with one of these moments.
fn worst_second(writes: &[(u64, u64)], except: &[u64]) -> (u64, u64) {
    let (mut first, mut inside, mut worst) = (0, 0, (0, 0));
    for (at, messages) in writes {
        inside += messages;
        while at - writes[first].0 > SECOND_NS {
            inside -= writes[first].1;
            first += 1;
        }
        let from = writes[first].0;
        let is_excepted = except.iter().any(|moment| from <= moment + SECOND_NS && moment <= at);
        if inside > worst.0 && !is_excepted {
            worst = (inside, from);
        }
    }
    worst
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// Sees when the machine itself stands still for longer than leases bear: then all processes stood still, and
/// some leases were lost that no test took.
struct Stalls {
    count: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Stalls {
    fn watch(limit: Duration) -> Stalls {
        const LOOK_EVERY: Duration = Duration::from_millis(20);
        let (count, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, told) = (Arc::clone(&count), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let mut last = Instant::now();
            while !told.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK_EVERY);
                if last.elapsed() > limit {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                last = Instant::now();
            }
        });
        Stalls { count, is_over }
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_fullest_second_is_found_wherever_it_begins_and_without_excepted_moments() {
    let at = |ms: u64, messages| (ms * 1_000_000, messages);
    let writes = [at(0, 2), at(900, 3), at(1_000, 4), at(1_950, 6), at(5_000, 7)];
    assert_eq!(worst_second(&writes, &[]), (10, 1_000_000_000));
    assert_eq!(worst_second(&writes[..3], &[]), (9, 0));
    assert_eq!(worst_second(&writes, &[950_000_000]), (7, 5_000_000_000));
    assert_eq!(worst_second(&writes, &[1_940_000_000]), (9, 0));
}
