//! Gateways that are broken on purpose, each in one way: the checks must find it. One that is not broken
//! passes them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bus::BusError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pace::Limiter;
use pace::share::Need;
use records::{AttemptRef, AttemptResult, Entry, Lane, Outcome, Segment, Timestamp, segment_topic};
use settings::section;

use super::{FarEnd, Manner, Message, checks};
use crate::cluster::RateShareView;
use crate::context::{GatewayContext, RouteProblem, Stop};
use crate::dispatcher::{AccountLimit, ChannelEncoder, Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::registry::{AnyRoute, ChannelGateway};
use crate::route_keys::RouteKeys;
use crate::route_loop::{ChangeScope, Checked, RouteSessions, RouteSettings};
use crate::surroundings::Surroundings;
use crate::worker::Worker;

/// Nothing is wrong.
const SOUND: u8 = 0;
/// Each process has the whole rate.
const RATE_NOT_SHARED: u8 = 1;
/// An outcome is noted before the intent.
const OUTCOME_FIRST: u8 = 2;
/// It says that it is repeatable, and who gets a message twice has two.
const SECOND_COPY: u8 = 3;

/// Looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_millis(5);

section! {
    /// No keys.
    NoKeys {}
}

/// What arrived, kept in memory.
#[derive(Default)]
struct Memory {
    messages: Mutex<Vec<Message>>,
    copies: AtomicU64,
    /// Processes that had the route so far.
    processes: AtomicU64,
    /// The first of them has said one outcome.
    has_said_one: AtomicBool,
}

#[derive(Clone)]
struct MemoryRoute {
    name: String,
    rate: f64,
    memory: Arc<Memory>,
}

impl PartialEq for MemoryRoute {
    fn eq(&self, other: &MemoryRoute) -> bool {
        (&self.name, self.rate) == (&other.name, other.rate) && Arc::ptr_eq(&self.memory, &other.memory)
    }
}

impl fmt::Debug for MemoryRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl RouteSettings for MemoryRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        Vec::new()
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn slots(&self) -> u32 {
        100
    }

    fn down_after(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn step_to(&self, to: &MemoryRoute) -> ChangeScope {
        if self == to { ChangeScope::None } else { ChangeScope::InPlace }
    }
}

struct Broken<const FAULT: u8>;

impl<const FAULT: u8> ChannelGateway for Broken<FAULT> {
    type Sessions = MemorySessions<FAULT>;
    type Keys = NoKeys;
    // A repeatable channel.
    const CHANNEL: records::ChannelNumber = channels::EDGE;

    fn settings(_: &RouteKeys, _: &NoKeys, _: &Surroundings) -> Result<MemoryRoute, RouteProblem> {
        Err(RouteProblem { field: "channel", reason: "is of no configuration".to_owned() })
    }

    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        std::future::ready(Box::new(InMemory::default()) as Box<dyn FarEnd>).boxed()
    }
}

#[derive(Default)]
struct InMemory(Arc<Memory>);

impl FarEnd for InMemory {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(MemoryRoute { name: name.to_owned(), rate, memory: Arc::clone(&self.0) })
    }

    fn address(&self, person: u32) -> String {
        person.to_string()
    }

    fn set_manner(&self, manner: Manner) -> bool {
        manner == Manner::Accept
    }

    fn cut(&self) -> bool {
        false
    }

    fn arrived(&self) -> Vec<Message> {
        self.0.messages.lock().unwrap().clone()
    }
}

struct MemoryEncoder;

impl ChannelEncoder for MemoryEncoder {
    type Prepared = ();
    fn repeatable(&self) -> bool {
        true
    }

    fn prepare(&self, _: &Segment) {}

    fn units(&self, _: &Segment, (): &(), _: &Entry) -> u8 {
        1
    }
}

/// Takes no share: each process has the whole rate.
struct Unshared {
    dispatcher: Arc<RouteDispatcher<MemoryEncoder>>,
    account: Arc<AccountLimit>,
    rate: f64,
}

impl RateHolder for Unshared {
    fn account(&self) -> &Arc<AccountLimit> {
        &self.account
    }

    fn view(&self, now: Instant) -> RateShareView {
        RateShareView { rate: self.rate, begins: Some(now) }
    }

    fn set_rate(&self, agreed: f64) -> f64 {
        agreed
    }

    fn need(&self) -> Need {
        self.dispatcher.need(self.dispatcher.has_work())
    }

    fn told(&self) {
        self.dispatcher.set_share(&self.view(Instant::now()));
    }

    fn signal(&self) {
        self.dispatcher.signal();
    }
}

struct MemorySessions<const FAULT: u8> {
    unshared: Arc<Unshared>,
    limit: Arc<RouteLimit<MemoryEncoder>>,
    writer: Option<Writer<FAULT>>,
    worker: Worker,
}

impl<const FAULT: u8> RouteSessions for MemorySessions<FAULT> {
    type Settings = MemoryRoute;
    type Material = ();
    type Encoder = MemoryEncoder;

    fn prepare(_: &MemoryRoute, _: &GatewayContext) -> Result<(), Vec<RouteProblem>> {
        Ok(())
    }

    fn encoder(_: &MemoryRoute, (): &()) -> MemoryEncoder {
        MemoryEncoder
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<MemoryEncoder>>,
    ) -> Result<MemorySessions<FAULT>, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let writer = Writer {
            process: route.settings.memory.processes.fetch_add(1, Ordering::Relaxed),
            memory: Arc::clone(&route.settings.memory),
            whole: Limiter::new(route.settings.rate, Instant::now()),
            limit: Arc::clone(&limit),
            dispatcher: Arc::clone(dispatcher),
            context: context.clone(),
        };
        let rate = route.settings.rate;
        let account = Arc::new(AccountLimit::new(dispatcher.route(), rate, Instant::now()));
        let unshared = Arc::new(Unshared { dispatcher: Arc::clone(dispatcher), account, rate });
        Ok(MemorySessions { unshared, limit, writer: Some(writer), worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        match FAULT {
            RATE_NOT_SHARED => Arc::clone(&self.unshared) as Arc<dyn RateHolder>,
            _ => Arc::clone(&self.limit) as Arc<dyn RateHolder>,
        }
    }

    fn begin(&mut self) {
        let writer = self.writer.take().unwrap();
        self.worker.begin(|stop| writer.write(stop));
    }

    async fn change(&mut self, _: ChangeScope, _: Checked<Self>) {}

    async fn end(self) {
        self.worker.end().await;
    }
}

struct Writer<const FAULT: u8> {
    process: u64,
    memory: Arc<Memory>,
    /// The route's whole rate, for a gateway that does not share it.
    whole: Limiter,
    limit: Arc<RouteLimit<MemoryEncoder>>,
    dispatcher: Arc<RouteDispatcher<MemoryEncoder>>,
    context: GatewayContext,
}

impl<const FAULT: u8> Writer<FAULT> {
    async fn write(mut self, mut stop: Stop) {
        if FAULT == OUTCOME_FIRST {
            self.note_before_the_intent();
        }
        let work = self.dispatcher.listen();
        self.dispatcher.session_up();
        while !stop.is_set() {
            let jobs = self.take();
            if !jobs.is_empty() {
                self.carry_out(jobs);
                continue;
            }
            tokio::select! {
                () = work.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = stop.wait() => {}
            }
        }
    }

    fn grant(&mut self) -> bool {
        match FAULT {
            RATE_NOT_SHARED => self.whole.grant(Instant::now(), 1) == 1,
            _ => self.limit.grant(Instant::now()),
        }
    }

    fn take(&mut self) -> VecDeque<Job<()>> {
        let mut jobs = VecDeque::new();
        while jobs.len() < 20 && self.grant() {
            match self.dispatcher.next() {
                Some(job) => jobs.push_back(job),
                None => {
                    match FAULT {
                        RATE_NOT_SHARED => self.whole.unused(1),
                        _ => self.limit.unused(),
                    }
                    break;
                }
            }
        }
        jobs
    }

    fn carry_out(&mut self, jobs: VecDeque<Job<()>>) {
        for job in jobs {
            if let Some(why) = self.dispatcher.refusal(&job) {
                self.dispatcher.whole(&job, &AttemptResult::NotTried { why });
                continue;
            }
            self.deliver(&job);
            let now = Instant::now();
            self.whole.wrote(now, 1);
            self.limit.wrote(1, now, now);
            // One that is killed has written more than it could say.
            let is_cut_short = FAULT == SECOND_COPY
                && self.process == 0
                && self.memory.has_said_one.swap(true, Ordering::Relaxed);
            if !is_cut_short {
                self.dispatcher
                    .whole(&job, &AttemptResult::Accepted { keys: Vec::new(), id: "1".to_owned() });
            }
        }
    }

    fn deliver(&self, job: &Job<()>) {
        let copy = self.memory.copies.fetch_add(1, Ordering::Relaxed);
        let entry = job.entry();
        let body = job.leased.segment.body(entry).and_then(|body| body.content()).unwrap();
        let identity = if FAULT == SECOND_COPY { copy.to_string() } else { entry.endpoint.0.to_string() };
        let message = Message { address: entry.address.clone(), text: body.text.clone(), identity };
        self.memory.messages.lock().unwrap().push(message);
    }

    /// Reads a segment by itself, and says of its first entry that it was accepted.
    fn note_before_the_intent(&self) {
        let topic = self.context.bus.topic(&segment_topic(self.dispatcher.route(), Lane::Routine)).unwrap();
        let record = topic.read(0, 1, 1_000_000).unwrap().remove(0);
        let segment = Segment::decode(&record.octets).unwrap();
        let of = AttemptRef {
            alert: segment.alert,
            endpoint: segment.entries[0].endpoint,
            attempt: 1,
            part: 1,
            parts: 1,
        };
        let result = AttemptResult::Accepted { keys: Vec::new(), id: "0".to_owned() };
        let outcome = Outcome::Attempt { of, route: segment.route.clone(), at: Timestamp(1), result };
        self.dispatcher.note(&outcome);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_not_broken_passes() {
    let gateway = Broken::<SOUND>;
    for check in [
        checks::intent_comes_first,
        checks::kill_leaves_nobody_out,
        checks::paused_is_not_tried,
        checks::rate_is_shared,
        checks::reload_loses_nothing,
        checks::drill_mark_arrives,
    ] as [super::Check; 6]
    {
        let far_end = Broken::<SOUND>::far_end().await;
        assert_eq!(check(&gateway, &*far_end).await, Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_does_not_share_its_rate_fails() {
    let far_end = Broken::<RATE_NOT_SHARED>::far_end().await;
    let wrong = checks::rate_is_shared(&Broken::<RATE_NOT_SHARED>, &*far_end).await.unwrap_err();
    assert!(wrong.contains("in a second"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_with_an_outcome_before_the_intent_fails() {
    let far_end = Broken::<OUTCOME_FIRST>::far_end().await;
    let wrong = checks::intent_comes_first(&Broken::<OUTCOME_FIRST>, &*far_end).await.unwrap_err();
    assert!(wrong.contains("no intent before it") || wrong.contains("ended twice"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_leaves_a_second_copy_where_it_claims_none_fails() {
    let far_end = Broken::<SECOND_COPY>::far_end().await;
    let wrong = checks::kill_leaves_nobody_out(&Broken::<SECOND_COPY>, &*far_end).await.unwrap_err();
    assert!(wrong.contains("more than one message reached one person"), "{wrong}");
}
