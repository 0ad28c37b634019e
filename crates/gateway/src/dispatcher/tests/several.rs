//! Several processes that serve a route over one bus: each with a thread and a runtime of its own, so that it
//! can stand still or die as a process does. Hands that write, and an account of everything they wrote.

use super::*;
use crate::GatewayContext;
use crate::dispatcher::{DispatcherSettings, RouteDispatcher};
use bus::Bus;
use bus::embedded::{Fsync, Options};
use net::Cores;
use records::{AttemptRef, Intent, NotTried, OUTCOMES, decode_outcomes, segment_topic};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long anything is waited for: machines stand still.
const PATIENCE: Duration = Duration::from_secs(300);
const SLOTS: u32 = 8;

/// What processes share.
trait TestProcesses: Send + Sync {
    /// The bus as another process has it.
    fn bus(&self) -> Arc<dyn Bus>;
    fn lease(&self) -> Duration;
    /// A bus of the machine alone.
    fn outbox(&self) -> Option<Arc<dyn Bus>> {
        None
    }
}

struct OnDisk {
    _dir: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    lease: Duration,
}

impl OnDisk {
    fn with(lease: Duration) -> OnDisk {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(dir.path(), options).unwrap();
        OnDisk { _dir: dir, bus, lease }
    }

    fn ground(lease: Duration) -> Arc<dyn TestProcesses> {
        Arc::new(OnDisk::with(lease))
    }
}

impl TestProcesses for OnDisk {
    fn bus(&self) -> Arc<dyn Bus> {
        Arc::clone(&self.bus)
    }
    fn lease(&self) -> Duration {
        self.lease
    }
}

/// A real nats-server, of a test's own; each process has a connection.
struct OverNats {
    server: Mutex<servers::nats::NatsServer>,
    lease: Duration,
}

impl OverNats {
    fn ground(lease: Duration) -> Arc<dyn TestProcesses> {
        Arc::new(OverNats { server: Mutex::new(servers::nats::NatsServer::start()), lease })
    }
}

impl TestProcesses for OverNats {
    fn bus(&self) -> Arc<dyn Bus> {
        let url = self.server.lock().unwrap().url();
        let options =
            bus::nats::NatsOptions { lease: self.lease, connected_within: PATIENCE, ..Default::default() };
        bus::nats::open(&url, options).unwrap()
    }
    fn lease(&self) -> Duration {
        self.lease
    }
}

/// Who wrote to whom, and when it was done.
type Written = Arc<Mutex<Vec<(String, EndpointNo)>>>;

/// Opens and closes for a process.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn close(&self) {
        *self.closed.lock().unwrap() = true;
    }
    fn open(&self) {
        *self.closed.lock().unwrap() = false;
        self.opened.notify_all();
    }
    fn pass(&self) {
        let mut closed = self.closed.lock().unwrap();
        while *closed {
            closed = self.opened.wait(closed).unwrap();
        }
    }
}

/// A process.
struct Process {
    name: String,
    dispatcher: Arc<RouteDispatcher<ByAddress>>,
    gate: Arc<Gate>,
    /// Entries its hand may still write.
    allowance: Arc<AtomicU32>,
    /// Whether its hand says what became of them.
    tells: Arc<AtomicBool>,
    handle: tokio::runtime::Handle,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Process {
    /// Opens the route and begins to write what comes, so many entries at most.
    fn start(name: &str, ground: &Arc<dyn TestProcesses>, written: &Written, allowance: u32) -> Process {
        let (end, ended) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let gate = Arc::new(Gate::default());
        let allowance = Arc::new(AtomicU32::new(allowance));
        let tells = Arc::new(AtomicBool::new(true));
        let (bus, lease, outbox) = (ground.bus(), ground.lease(), ground.outbox());
        let hand = HeldSegment {
            name: name.to_owned(),
            written: Arc::clone(written),
            allowance: Arc::clone(&allowance),
            tells: Arc::clone(&tells),
        };
        let named = name.to_owned();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let dispatcher = open(&named, bus, lease, outbox).await;
                let running = Arc::clone(&dispatcher);
                tokio::spawn(async move { running.run().await });
                tokio::spawn(hand.work(Arc::clone(&dispatcher)));
                dispatcher.session_up();
                tell.send((dispatcher, tokio::runtime::Handle::current())).unwrap();
                let _ = ended.await;
            });
            // As when it is killed: nothing is waited for.
            runtime.shutdown_background();
        });
        let (dispatcher, handle) = told.recv_timeout(PATIENCE).unwrap();
        Process {
            name: name.to_owned(),
            dispatcher,
            gate,
            allowance,
            tells,
            handle,
            end: Some(end),
            thread: Some(thread),
        }
    }

    fn allow(&self, entries: u32) {
        self.allowance.store(entries, Ordering::SeqCst);
        self.dispatcher.signal();
    }

    /// Stands still until [`resume`](Process::resume): all of it.
    fn pause(&self) {
        self.gate.close();
        let (gate, (tell, told)) = (Arc::clone(&self.gate), std::sync::mpsc::channel());
        self.handle.spawn(async move {
            tell.send(()).unwrap();
            gate.pass();
        });
        told.recv_timeout(PATIENCE).unwrap();
    }

    fn resume(&self) {
        self.gate.open();
    }

    fn kill(self) {
        drop(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.gate.open();
        drop(self.end.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(ended.is_none_or(|ended| ended.is_ok()), "{} panicked", self.name);
        }
    }
}

async fn open(
    name: &str,
    bus: Arc<dyn Bus>,
    lease: Duration,
    outbox: Option<Arc<dyn Bus>>,
) -> Arc<RouteDispatcher<ByAddress>> {
    let cores = Arc::new(Cores::from_handles(Vec::new()));
    let mut context = GatewayContext::new(bus, Arc::new(|| NOW), cores);
    context.share(name, lease).unwrap();
    context.outbox = outbox;
    let settings = DispatcherSettings {
        route: ROUTE.to_owned(),
        slots: SLOTS,
        rate: 0.0,
        rests: false,
        down_after: Duration::from_secs(3_600),
    };
    RouteDispatcher::open(&context, settings, ByAddress).await.unwrap()
}

/// What writes in a process.
struct HeldSegment {
    name: String,
    written: Written,
    allowance: Arc<AtomicU32>,
    tells: Arc<AtomicBool>,
}

impl HeldSegment {
    async fn work(self, dispatcher: Arc<RouteDispatcher<ByAddress>>) {
        let listener = dispatcher.listen();
        loop {
            while self.allowance.load(Ordering::SeqCst) > 0
                && let Some(job) = dispatcher.next()
            {
                self.allowance.fetch_sub(1, Ordering::SeqCst);
                self.written.lock().unwrap().push((self.name.clone(), job.entry().endpoint));
                if self.tells.load(Ordering::SeqCst) {
                    (1..=job.units).for_each(|part| dispatcher.part(&job, part, &accepted()));
                }
                // Others have their turn.
                tokio::task::yield_now().await;
            }
            listener.notified().await;
        }
    }
}

/// What the topic of outcomes says.
#[derive(Default)]
struct Account {
    /// By endpoint: what became of it, part by part.
    results: BTreeMap<EndpointNo, Vec<(u8, AttemptResult)>>,
    /// By segment: who claimed it, in order.
    claims: BTreeMap<(Lane, u64), Vec<String>>,
}

impl Account {
    fn read(bus: &Arc<dyn Bus>) -> Account {
        let topic = bus.topic(OUTCOMES).unwrap();
        let (mut account, mut from) = (Account::default(), 0);
        loop {
            let records = topic.read(from, 1_000, 1_000_000).unwrap();
            let Some(last) = records.last() else { return account };
            from = last.index + 1;
            for outcome in records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap()) {
                match outcome {
                    Outcome::Attempt { of, result, .. } => {
                        account.results.entry(of.endpoint).or_default().push((of.part, result));
                    }
                    Outcome::Claim(claim) => {
                        account.claims.entry((claim.lane, claim.segment)).or_default().push(claim.node);
                    }
                    _ => {}
                }
            }
        }
    }

    fn count(&self, test: impl Fn(&AttemptResult) -> bool) -> usize {
        self.results.values().filter(|results| results.iter().any(|(_, result)| test(result))).count()
    }

    fn unknown(&self) -> usize {
        self.count(|result| matches!(result, AttemptResult::Unknown { .. }))
    }

    /// Claims of segments that somebody had claimed before.
    fn takeovers(&self) -> usize {
        self.claims.values().map(|claims| claims.len() - 1).sum()
    }
}

async fn append(bus: &Arc<dyn Bus>, segment: &Segment) -> u64 {
    let outcomes_from = bus.topic(OUTCOMES).unwrap().head();
    let topic = bus.topic(&segment_topic(ROUTE, segment.lane)).unwrap();
    topic.append(&[&Segment { outcomes_from, ..segment.clone() }.encode()]).await.unwrap()
}

async fn wait_for(what: &str, mut test: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !test() {
        assert!(Instant::now() < end, "not {what} in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Everybody has an outcome, nobody was written to twice, and no more is unknown than was under way when a
/// segment changed hands.
async fn all_accounted(bus: &Arc<dyn Bus>, entries: usize, written: &Written) -> Account {
    wait_for("everybody accounted for", || Account::read(bus).results.len() == entries).await;
    let account = Account::read(bus);
    let written = written.lock().unwrap().clone();
    let mut once = BTreeSet::new();
    for (name, endpoint) in &written {
        assert!(once.insert(*endpoint), "{endpoint:?} was written to twice, last by {name}");
    }
    let most = SLOTS as usize * account.takeovers();
    assert!(account.unknown() <= most, "{} unknown of {most}", account.unknown());
    for (endpoint, results) in &account.results {
        let mut parts = BTreeSet::new();
        for (part, _) in results.iter().filter(|(_, result)| matches!(result, AttemptResult::Accepted { .. }))
        {
            assert!(once.contains(endpoint), "{endpoint:?} was never written");
            assert!(parts.insert(*part), "{endpoint:?} was told twice: {results:?}");
        }
    }
    account
}

/// Each of two processes can only do some of it.
async fn shared(ground: Arc<dyn TestProcesses>) {
    let (bus, written) = (ground.bus(), Written::default());
    let one = Process::start("one", &ground, &written, 5);
    for number in 0..30 {
        append(&bus, &segment(1, Lane::Routine, number * 40, &[1; 40])).await;
    }
    wait_for("written by one", || written.lock().unwrap().len() == 5).await;
    let two = Process::start("two", &ground, &written, u32::MAX);
    // What one has in hand stays with it: some of the segments, and not all of them.
    let by = |name: &str| written.lock().unwrap().iter().filter(|(by, _)| by == name).count();
    wait_for("written by the other", || by("two") >= 40).await;
    one.allow(u32::MAX);
    let account = all_accounted(&bus, 1_200, &written).await;
    assert!(by("one") >= 5 && by("two") >= 40);
    assert!(account.claims.len() == 30, "each is claimed");
    wait_for("acknowledged", || {
        let group = bus.group(&segment_topic(ROUTE, Lane::Routine), "gateway").unwrap();
        group.low_water() == 30
    })
    .await;
    drop((one, two));
}

/// One dies with entries written and not told, and others only intended.
async fn killed(ground: Arc<dyn TestProcesses>) {
    let (bus, written) = (ground.bus(), Written::default());
    let one = Process::start("one", &ground, &written, 20);
    append(&bus, &segment(1, Lane::Emergency, 0, &[1; 40])).await;
    append(&bus, &segment(1, Lane::Routine, 40, &[2; 40])).await;
    wait_for("written by one", || written.lock().unwrap().len() == 20).await;
    let outcomes = || Account::read(&bus).results.len();
    wait_for("told", || outcomes() >= 20).await;
    one.tells.store(false, Ordering::SeqCst);
    one.allow(3);
    wait_for("written by one", || written.lock().unwrap().len() == 23).await;
    one.kill();
    let two = Process::start("two", &ground, &written, u32::MAX);
    let account = all_accounted(&bus, 80, &written).await;
    let by_one = written.lock().unwrap().iter().filter(|(by, _)| by == "one").count();
    assert_eq!(by_one, 23);
    assert!(account.unknown() >= 3, "what was written and not told is unknown");
    assert_eq!(account.claims[&(Lane::Emergency, 0)][0], "one");
    drop(two);
}

/// One stands still until another has its segments, and then goes on.
async fn paused(ground: Arc<dyn TestProcesses>) {
    let (bus, written) = (ground.bus(), Written::default());
    let one = Process::start("one", &ground, &written, 10);
    append(&bus, &segment(1, Lane::Routine, 0, &[1; 60])).await;
    wait_for("written by one", || written.lock().unwrap().len() == 10).await;
    wait_for("ready", || one.dispatcher.state().queue.has_ready(Lane::Routine)).await;
    one.pause();
    // It may write as much as it likes: it must not.
    one.allowance.store(u32::MAX, Ordering::SeqCst);
    let two = Process::start("two", &ground, &written, u32::MAX);
    let account = all_accounted(&bus, 60, &written).await;
    assert_eq!(account.claims[&(Lane::Routine, 0)].first().map(String::as_str), Some("one"));
    assert!(account.claims[&(Lane::Routine, 0)].iter().any(|node| node == "two"));
    let before = written.lock().unwrap().len();
    one.resume();
    wait_for("let go of", || !one.dispatcher.state().queue.holds(Lane::Routine, 0)).await;
    assert_eq!(written.lock().unwrap().len(), before, "it wrote what was another's");
    // It is as good as before.
    two.kill();
    append(&bus, &segment(2, Lane::Routine, 60, &[1; 20])).await;
    all_accounted(&bus, 80, &written).await;
    drop(one);
}

/// Processes come, stand still, and die, at random moments.
async fn story(ground: Arc<dyn TestProcesses>, seed: u64, segments: u32) {
    let (bus, written) = (ground.bus(), Written::default());
    let mut state = seed;
    let mut below = move |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut started = 0;
    let mut processes: Vec<Process> = Vec::new();
    let mut next = 0;
    while next < segments {
        if processes.len() < 3 {
            started += 1;
            processes.push(Process::start(&format!("p{started}"), &ground, &written, u32::MAX));
        }
        for _ in 0..4 {
            let lane = Lane::ALL[below(3) as usize];
            append(&bus, &segment(1, lane, next * 30, &[1; 30])).await;
            next += 1;
        }
        let one = below(processes.len() as u64) as usize;
        match below(3) {
            0 => processes.swap_remove(one).kill(),
            1 => {
                let process = &processes[one];
                process.pause();
                // Long enough to lose its segments, or not.
                tokio::time::sleep(ground.lease() * below(20) as u32 / 10).await;
                process.resume();
            }
            _ => tokio::time::sleep(Duration::from_millis(below(300))).await,
        }
    }
    if processes.is_empty() {
        processes.push(Process::start("last", &ground, &written, u32::MAX));
    }
    let account = all_accounted(&bus, segments as usize * 30, &written).await;
    let names: Vec<&str> = processes.iter().map(|process| process.name.as_str()).collect();
    assert_eq!(account.claims.len(), segments as usize, "seed {seed}, {names:?}");
}

/// Where a lease has to run out, a short one: whoever is too slow for it loses its segments, which is
/// accounted for as well.
const SHORT: Duration = Duration::from_secs(2);
/// Where none has to.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn processes_share_the_segments_of_a_route() {
    shared(OnDisk::ground(LONG)).await;
}

#[tokio::test]
async fn what_a_process_had_in_hand_when_it_died_another_goes_on_with_and_calls_unknown_what_was_under_way() {
    killed(OnDisk::ground(SHORT)).await;
}

#[tokio::test]
async fn a_process_that_stood_still_until_its_lease_was_over_writes_nothing_of_it_any_more() {
    paused(OnDisk::ground(SHORT)).await;
}

#[tokio::test]
async fn whatever_happens_to_processes_everybody_is_accounted_for_and_nobody_is_written_to_twice() {
    for seed in [1, 2] {
        story(OnDisk::ground(SHORT), seed, 24).await;
    }
}

mod over_nats {
    use super::*;

    /// A server gives a record to another only some seconds after it missed its taker.
    const SHORT: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn processes_share_the_segments_of_a_route() {
        shared(OverNats::ground(LONG)).await;
    }

    #[tokio::test]
    async fn what_a_process_had_in_hand_when_it_died_another_goes_on_with() {
        killed(OverNats::ground(SHORT)).await;
    }

    #[tokio::test]
    async fn a_process_that_stood_still_until_its_lease_was_over_writes_nothing_of_it_any_more() {
        paused(OverNats::ground(SHORT)).await;
    }

    #[tokio::test]
    async fn whatever_happens_to_processes_everybody_is_accounted_for_and_nobody_is_written_to_twice() {
        story(OverNats::ground(SHORT), 3, 12).await;
    }

    #[tokio::test]
    async fn what_a_carrier_answered_while_no_server_did_is_told_by_the_next_process_of_the_machine() {
        let lease = Duration::from_secs(5);
        let server = Mutex::new(servers::nats::NatsServer::start());
        let own = OnDisk::with(LONG);
        let ground = Arc::new(WithOutbox { over: OverNats { server, lease }, own });
        let (as_ground, written): (Arc<dyn TestProcesses>, _) = (ground.clone(), Written::default());
        let bus = ground.bus();
        append(&bus, &segment(1, Lane::Routine, 0, &[1; 5])).await;
        let one = Process::start("one", &as_ground, &written, 0);
        wait_for("all are ready to be written", || one.dispatcher.has_work()).await;
        ground.over.server.lock().unwrap().pause();
        one.allow(u32::MAX);
        let kept = ground.own.bus().topic(&format!("outbox/{ROUTE}")).unwrap();
        let facts = || {
            let records = kept.read(0, 10, usize::MAX).unwrap();
            records.last().map_or(0, |record| decode_outcomes(&record.octets).unwrap().len())
        };
        wait_for("what the carrier said is kept", || facts() == 5).await;
        one.kill();
        ground.over.server.lock().unwrap().resume();
        let _two = Process::start("two", &as_ground, &written, u32::MAX);
        // Some of it may stand there twice, as the server may have heard the first process too: that changes
        // nothing.
        let accepted = |result: &AttemptResult| matches!(result, AttemptResult::Accepted { .. });
        wait_for("all of it is told", || Account::read(&bus).count(accepted) == 5).await;
        wait_for("nothing is left to tell", || facts() == 0).await;
        let topic = bus.topic(&segment_topic(ROUTE, Lane::Routine)).unwrap();
        let group = bus.group(&segment_topic(ROUTE, Lane::Routine), crate::context::SEGMENT_GROUP).unwrap();
        wait_for("the segment is over", || group.low_water() == topic.head()).await;
        assert_eq!(Account::read(&bus).unknown(), 0);
        assert_eq!(written.lock().unwrap().len(), 5);
    }
}

/// Servers, and a disk of the machine's own.
struct WithOutbox {
    over: OverNats,
    own: OnDisk,
}

impl TestProcesses for WithOutbox {
    fn bus(&self) -> Arc<dyn Bus> {
        self.over.bus()
    }
    fn lease(&self) -> Duration {
        self.over.lease()
    }
    fn outbox(&self) -> Option<Arc<dyn Bus>> {
        Some(self.own.bus())
    }
}

#[tokio::test]
async fn what_another_gives_back_behind_our_claim_is_not_written_since_it_is_planned_again() {
    let ground = OnDisk::ground(LONG);
    let (bus, written) = (ground.bus(), Written::default());
    let segment = segment(1, Lane::Routine, 0, &[1; 40]);
    let index = append(&bus, &segment).await;
    let one = Process::start("one", &ground, &written, 3);
    wait_for("the first are written", || written.lock().unwrap().len() == 3).await;
    let attempts: Vec<_> =
        segment.entries[20..].iter().map(|entry| (entry.endpoint, entry.attempt)).collect();
    let (route, lane, alert) = (ROUTE.to_owned(), Lane::Routine, segment.alert);
    let late = Intent { route, lane, segment: index, alert, from: 20, attempts, at: NOW };
    let mut record = vec![Outcome::By { node: "late".to_owned() }, Outcome::Intent(late.clone())];
    record.extend(late.attempts.iter().map(|&(endpoint, attempt)| {
        let of = AttemptRef { alert, endpoint, attempt, part: 1, parts: 1 };
        let result = AttemptResult::NotTried { why: NotTried::RouteDown };
        Outcome::Attempt { of, route: ROUTE.to_owned(), at: NOW, result }
    }));
    bus.topic(OUTCOMES).unwrap().append(&[&records::encode_outcomes(&record)]).await.unwrap();
    one.allow(u32::MAX);
    let said = |account: &Account, from: usize| {
        segment.entries[from..]
            .iter()
            .map(|entry| account.results.get(&entry.endpoint).map_or(0, Vec::len))
            .min()
    };
    wait_for("the owner passes over them", || said(&Account::read(&bus), 20) == Some(2)).await;
    let account = Account::read(&bus);
    assert_eq!(said(&account, 0), Some(1));
    assert_eq!(account.count(|result| matches!(result, AttemptResult::NotTried { .. })), 20);
    assert_eq!(written.lock().unwrap().len(), 20);
}

#[tokio::test]
async fn what_a_process_gives_back_is_over_for_all_of_them() {
    let ground = OnDisk::ground(LONG);
    let (bus, written) = (ground.bus(), Written::default());
    let past = Segment { expires: Timestamp(NOW.0 - 1), ..segment(1, Lane::Routine, 0, &[1; 2_500]) };
    append(&bus, &past).await;
    let one = Process::start("one", &ground, &written, u32::MAX);
    let account = all_accounted(&bus, 2_500, &written).await;
    let expired = AttemptResult::NotTried { why: NotTried::Expired };
    assert_eq!(account.count(|result| *result == expired), 2_500);
    drop(one);
    // One that reads all of it knows that there is nothing left to do.
    let context = |name: &str| {
        let mut context =
            GatewayContext::new(ground.bus(), Arc::new(|| NOW), Arc::new(Cores::from_handles(Vec::new())));
        context.share(name, LONG).unwrap();
        context
    };
    let context = context("two");
    let shared = context.shared.clone().unwrap();
    let head = bus.topic(OUTCOMES).unwrap().head();
    assert!(shared.follower.pass(head - 1).await);
}
