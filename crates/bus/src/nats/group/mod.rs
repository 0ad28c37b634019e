//! A consumer group: a durable pull consumer. A task of the group asks for records while somebody here takes
//! them, gives back what nobody takes, and tells the servers that what is held is held.

mod consumer;
pub mod state;

use super::api;
use super::follow::AckSubject;
use super::link::NatsLink;
use super::topic::NatsTopic;
use super::{ANSWERED_WITHIN, lock, name};
use crate::{BusError, DeadLetter, Group, GroupSettings, Leased, Topic};
use async_nats::{HeaderMap, Message, StatusCode, Subscriber};
use bytes::Bytes;
use consumer::Consumer;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::json;
use state::{Dead, MemberState, Order};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// So many records at most are asked for at once, however many are taken at once.
const ASKED_MAX: usize = 256;
/// Who took within this takes on.
const WANTED_FOR: Duration = Duration::from_secs(2);
/// A question for records stands so long.
const PULL_STANDS: Duration = Duration::from_secs(20);
/// The servers say so often that it stands.
const HEARTBEAT: Duration = Duration::from_secs(4);
/// Without a word for so long it is asked anew.
const SILENT_MAX: Duration = Duration::from_secs(10);
/// How often a group looks around while it waits for records: no later than this after a standstill it knows
/// of it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After a refusal.
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// How often the servers are asked how far they are, while something is acknowledged.
const FLOOR_EVERY: Duration = Duration::from_secs(1);
/// An acknowledgement that the servers do not speak of is told again after so long, this time to be
/// confirmed: it may have been lost with a server that was asked to pass it on.
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// So many at once.
const TOLD_AGAIN_MAX: usize = 1_024;
/// Messages handled before looking around.
const MESSAGES_AT_ONCE: usize = 512;
/// Requests under way at once, of a group.
const REQUESTS_AT_ONCE: usize = 64;
/// A group.
pub struct NatsGroup {
    topic: Arc<NatsTopic>,
    consumer: Consumer,
    inner: Mutex<NatsGroupInner>,
    /// Rings when something may be taken.
    notify: Notify,
    /// Wakes the task.
    wake: Notify,
    /// Who waits for something to take.
    waiters: AtomicUsize,
    closed: AtomicBool,
    me: Weak<NatsGroup>,
}

struct NatsGroupInner {
    state: MemberState,
    /// To be told.
    orders: Vec<Order>,
    /// How many were last taken at once.
    asked: usize,
    taken: Option<Instant>,
    dead_letters: Option<Arc<NatsTopic>>,
    /// When the servers were last asked how far they are.
    floor_asked: Option<Instant>,
    floor_wanted: bool,
}

impl NatsGroup {
    /// Opens a group or makes it.
    pub fn open(
        link: &Arc<NatsLink>,
        topic: &Arc<NatsTopic>,
        name: &str,
        settings: &GroupSettings,
        dead_letters: Option<Arc<NatsTopic>>,
    ) -> Result<Arc<NatsGroup>, BusError> {
        let consumer = Consumer::new(topic, name::group(name)?);
        let (own, asked) = (consumer.clone(), settings.clone());
        let opened = link.block(async move { own.open(&asked).await })?;
        let state = MemberState::new(opened.floor, opened.ack_wait);
        let group = Arc::new_cyclic(|me| NatsGroup {
            topic: topic.clone(),
            consumer,
            inner: Mutex::new(NatsGroupInner {
                state,
                orders: Vec::new(),
                asked: 1,
                taken: None,
                dead_letters: None,
                floor_asked: None,
                floor_wanted: false,
            }),
            notify: Notify::new(),
            wake: Notify::new(),
            waiters: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            me: me.clone(),
        });
        group.set(settings, dead_letters);
        link.spawn(Task::run(group.clone()));
        Ok(group)
    }

    /// Opened again, perhaps otherwise.
    pub fn keep_as(&self, settings: &GroupSettings, dead_letters: Option<Arc<NatsTopic>>) {
        self.set(settings, dead_letters);
        let (consumer, asked) = (self.consumer.clone(), settings.clone());
        self.link().spawn(async move {
            if let Err(error) = consumer.open(&asked).await {
                tracing::warn!(%error, "The settings of a group could not be changed; the old ones stay.");
            }
        });
    }

    fn set(&self, settings: &GroupSettings, dead_letters: Option<Arc<NatsTopic>>) {
        let mut inner = lock(&self.inner);
        inner.state.out_of_order_max = settings.out_of_order_max;
        // Without a place to go to they are given out on and on.
        inner.state.deliveries_max = if dead_letters.is_some() { settings.deliveries_max } else { 0 };
        inner.dead_letters = dead_letters;
    }

    /// Its topic was removed.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
        self.notify.notify_waiters();
    }

    /// At the end: what is held goes to others at once, and what was acknowledged is told. Tells when that
    /// has been said; until then the bus must not close.
    pub fn hand_in(&self) -> Option<mpsc::Receiver<()>> {
        let orders = {
            let mut inner = lock(&self.inner);
            let mut orders = std::mem::take(&mut inner.orders);
            orders.extend(inner.state.hand_in());
            orders
        };
        self.close();
        if orders.is_empty() {
            return None;
        }
        let client = self.link().client.clone();
        let (done, is_done) = mpsc::channel();
        self.link().spawn(async move {
            for order in orders {
                let (subject, word) = words(order);
                // Not told, it is given to others when its lease is over.
                let _ = client.publish(subject, word).await;
            }
            let _ = client.flush().await;
            let _ = done.send(());
        });
        Some(is_done)
    }

    fn link(&self) -> &NatsLink {
        &self.topic.link
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) || self.topic.is_closed()
    }

    fn not_leased(&self, index: u64) -> BusError {
        BusError::NotLeased { topic: self.topic.name.clone(), index }
    }

    /// Somebody here takes, or waits to.
    fn is_wanted(&self, inner: &NatsGroupInner, now: Instant) -> bool {
        self.waiters.load(Ordering::Relaxed) > 0
            || inner.taken.is_some_and(|taken| now.saturating_duration_since(taken) < WANTED_FOR)
    }

    /// What cannot be dealt with goes where the dead are, once; then it is done.
    fn bury(&self, inner: &mut NatsGroupInner, now: Instant) {
        let dead = inner.state.dead(now);
        if dead.is_empty() {
            return;
        }
        let (Some(grave), Some(group)) = (inner.dead_letters.clone(), self.me.upgrade()) else { return };
        self.link().spawn(async move {
            let whose = name::hash(&format!("{}/{}", group.consumer.stream, group.consumer.name));
            for dead in dead {
                let Dead { index, deliveries, octets } = dead;
                let letter = DeadLetter { index, deliveries, octets }.encode();
                let key = format!("dead-{whose:032x}-{index}");
                match grave.append_keyed(key.as_bytes(), &[&letter]).await {
                    Ok(_) => drop(group.ack(index)),
                    Err(error) => {
                        tracing::warn!(topic = group.topic.name, index, %error, "A record could not be moved to the dead letters; retrying.");
                        lock(&group.inner).state.not_buried(index);
                    }
                }
            }
        });
    }

    /// Asks how far the servers are.
    async fn ask_floor(&self) -> Result<(), BusError> {
        let floor = self.consumer.floor().await?;
        let mut inner = lock(&self.inner);
        inner.state.reached(floor);
        Ok(())
    }

    /// Tells again of what was acknowledged a while ago and is not known to have been heard.
    async fn confirm(&self) {
        let now = Instant::now();
        let Some(before) = now.checked_sub(TOLD_AGAIN_AFTER) else { return };
        let again = lock(&self.inner).state.told_again(before, TOLD_AGAIN_MAX, now);
        stream::iter(again)
            .for_each_concurrent(REQUESTS_AT_ONCE, |(index, reply)| async move {
                // Unconfirmed it is told again.
                let _ = tell_surely(self, index, &reply).await;
            })
            .await;
    }

    fn order(&self, order: Option<Order>) {
        if let Some(order) = order {
            lock(&self.inner).orders.push(order);
            self.wake.notify_one();
        }
    }
}

impl Group for NatsGroup {
    fn take(&self, max: usize, lease: Duration) -> Result<Vec<Leased>, BusError> {
        if self.is_closed() {
            return Err(BusError::Closed);
        }
        let now = Instant::now();
        let mut inner = lock(&self.inner);
        inner.asked = max.clamp(1, ASKED_MAX);
        inner.taken = Some(now);
        inner.state.skip_to(self.topic.low_known());
        self.bury(&mut inner, now);
        let taken = inner.state.take(max, lease, now);
        drop(inner);
        self.wake.notify_one();
        Ok(taken)
    }

    fn ready(&self) -> BoxFuture<'static, ()> {
        let Some(group) = self.me.upgrade() else {
            return Box::pin(std::future::ready(()));
        };
        Box::pin(async move {
            let mut closed = group.link().closed();
            group.waiters.fetch_add(1, Ordering::Relaxed);
            let _one = Waiter(&group);
            group.wake.notify_one();
            loop {
                let mut rung = pin!(group.notify.notified());
                rung.as_mut().enable();
                if group.is_closed() || lock(&group.inner).state.at_hand(Instant::now()) > 0 {
                    return;
                }
                tokio::select! {
                    () = rung => {}
                    _ = closed.wait_for(|closed| *closed) => return,
                }
            }
        })
    }

    fn ack(&self, index: u64) -> Result<(), BusError> {
        if index >= self.topic.head() {
            return Err(self.not_leased(index));
        }
        let order = lock(&self.inner).state.ack(index, Instant::now());
        self.order(order);
        // It may have been what held up others.
        self.notify.notify_waiters();
        Ok(())
    }

    fn renew(&self, index: u64, lease: Duration) -> Result<(), BusError> {
        if lock(&self.inner).state.renew(index, lease, Instant::now()) {
            return Ok(());
        }
        Err(self.not_leased(index))
    }

    fn release(&self, index: u64) -> Result<(), BusError> {
        if !lock(&self.inner).state.release(index, Instant::now()) {
            return Err(self.not_leased(index));
        }
        self.notify.notify_waiters();
        self.wake.notify_one();
        Ok(())
    }

    fn low_water(&self) -> u64 {
        let mut inner = lock(&self.inner);
        inner.state.skip_to(self.topic.low_known());
        // What others acknowledge is heard of soon, not now.
        inner.floor_wanted = true;
        self.wake.notify_one();
        inner.state.low_water()
    }

    fn unacknowledged(&self, max: usize) -> Vec<u64> {
        let mut inner = lock(&self.inner);
        inner.state.skip_to(self.topic.low_known());
        inner.floor_wanted = true;
        self.wake.notify_one();
        inner.state.unacknowledged(max, self.topic.head())
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            let group = self.me.upgrade().ok_or(BusError::Closed)?;
            self.link().run(async move { flush(&group).await }).await
        })
    }
}

struct Waiter<'a>(&'a NatsGroup);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Every acknowledgement so far is confirmed by the servers. One that is alone writes it to the operating
/// system within a tenth of a second; several have told each other.
async fn flush(group: &NatsGroup) -> Result<(), BusError> {
    if !lock(&group.inner).state.is_ahead() {
        return Ok(());
    }
    let until = Instant::now() + ANSWERED_WITHIN;
    group.ask_floor().await?;
    let now = Instant::now();
    let again = lock(&group.inner).state.told_again(now, usize::MAX, now);
    let mut answers = stream::iter(again)
        .map(|(index, reply)| async move {
            loop {
                match tell_surely(group, index, &reply).await {
                    Err(fault) if fault.passes() && Instant::now() < until => {
                        tokio::time::sleep(api::TRY_AGAIN_AFTER).await;
                    }
                    told => return told.map_err(|fault| fault.into_error(&group.topic.name)),
                }
            }
        })
        .buffer_unordered(REQUESTS_AT_ONCE);
    while let Some(answer) = answers.next().await {
        answer?;
    }
    group.ask_floor().await
}

/// Tells of an acknowledgement and waits until the servers have confirmed it.
async fn tell_surely(group: &NatsGroup, index: u64, reply: &str) -> Result<(), api::ApiFailure> {
    group.link().request(reply, HeaderMap::new(), ACK, api::TRY_WITHIN).await?;
    lock(&group.inner).state.ack_confirmed(index);
    Ok(())
}

const ACK: Bytes = Bytes::from_static(b"+ACK");
const ALIVE: Bytes = Bytes::from_static(b"+WPI");
const GIVE_BACK: Bytes = Bytes::from_static(b"-NAK");

fn words(order: Order) -> (String, Bytes) {
    match order {
        Order::Ack(reply) => (reply, ACK),
        Order::Alive(_, reply) => (reply, ALIVE),
        Order::GiveBack(reply) => (reply, GIVE_BACK),
    }
}

/// A question for records that stands.
struct Pull {
    number: u64,
    left: usize,
    heard: Instant,
}

/// What works for a group while it is open.
struct Task {
    group: Arc<NatsGroup>,
    inbox: String,
    messages: Subscriber,
    pull: Option<Pull>,
    pulls: u64,
    /// Not asked again before.
    rests_until: Option<Instant>,
    /// When this was last seen to run with nothing waiting: what comes was not sent before.
    seen: Instant,
}

impl Task {
    async fn run(group: Arc<NatsGroup>) {
        let inbox = group.link().client.new_inbox();
        let messages = loop {
            match group.link().client.subscribe(format!("{inbox}.*")).await {
                Ok(messages) => break messages,
                Err(_) if group.is_closed() => return,
                Err(_) => tokio::time::sleep(AGAIN_AFTER).await,
            }
        };
        let seen = Instant::now();
        let mut task = Task { group, inbox, messages, pull: None, pulls: 0, rests_until: None, seen };
        let mut epoch = task.group.link().epoch();
        let mut closed = task.group.link().closed();
        while !task.group.is_closed() {
            let due = task.look().await;
            tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => return,
                _ = epoch.changed() => task.connected_anew(),
                message = task.messages.next() => match message {
                    Some(message) => task.heard_all(message),
                    None => return,
                },
                () = task.group.wake.notified() => task.seen = Instant::now(),
                () = tokio::time::sleep_until(due.into()) => task.seen = Instant::now(),
            }
        }
    }

    /// The questions that stood went with the old connection, and with it perhaps what was told.
    fn connected_anew(&mut self) {
        self.pull = None;
        self.rests_until = None;
        let now = Instant::now();
        let mut inner = lock(&self.group.inner);
        let again = inner.state.told_again(now, usize::MAX, now);
        inner.orders.extend(again.into_iter().map(|(_, reply)| Order::Ack(reply)));
    }

    fn heard_all(&mut self, message: Message) {
        let sent = self.seen;
        self.heard(message, sent);
        for _ in 0..MESSAGES_AT_ONCE {
            match self.messages.next().now_or_never() {
                Some(Some(message)) => self.heard(message, sent),
                _ => break,
            }
        }
        self.seen = Instant::now();
        self.group.notify.notify_waiters();
    }

    fn heard(&mut self, message: Message, sent: Instant) {
        let now = Instant::now();
        if let Some(status) = message.status.filter(|status| *status != StatusCode::OK) {
            let is_of_now = self.pull.as_ref().is_some_and(|pull| {
                message.subject.rsplit('.').next().and_then(|number| number.parse().ok()) == Some(pull.number)
            });
            match status {
                _ if !is_of_now => {}
                StatusCode::IDLE_HEARTBEAT => self.pull.iter_mut().for_each(|pull| pull.heard = now),
                StatusCode::TIMEOUT | StatusCode::NOT_FOUND => self.pull = None,
                _ => {
                    tracing::debug!(%status, words = message.description, "A question for records ended.");
                    self.pull = None;
                    self.rests_until = Some(now + AGAIN_AFTER);
                }
            }
            return;
        }
        let (Some(place), Some(reply)) = (AckSubject::of(&message), &message.reply) else { return };
        if let Some(pull) = &mut self.pull {
            pull.heard = now;
            pull.left = pull.left.saturating_sub(1);
            if pull.left == 0 {
                self.pull = None;
            }
        }
        let deliveries = u32::try_from(place.deliveries).unwrap_or(u32::MAX);
        self.group.topic.reached(place.index + 1);
        let mut inner = lock(&self.group.inner);
        let order =
            inner.state.arrive(place.index, message.payload, reply.to_string(), deliveries, sent, now);
        inner.orders.extend(order);
    }

    /// Tells what is to be told, asks for what is wanted. When to look again at latest.
    async fn look(&mut self) -> Instant {
        let now = Instant::now();
        let group = self.group.clone();
        let (orders, asks, asks_floor, due) = {
            let mut guard = lock(&group.inner);
            let inner = &mut *guard;
            let is_wanted = group.is_wanted(inner, now);
            if inner.state.expire(now) {
                group.notify.notify_waiters();
            }
            group.bury(inner, now);
            let mut orders = std::mem::take(&mut inner.orders);
            orders.extend(inner.state.orders(is_wanted, now));
            let asks = self.wants(inner, is_wanted, now);
            let is_time =
                inner.floor_asked.is_none_or(|asked| now.saturating_duration_since(asked) >= FLOOR_EVERY);
            let wants_floor = inner.floor_wanted || inner.state.is_ahead();
            let asks_floor = wants_floor && is_time;
            if asks_floor {
                inner.floor_asked = Some(now);
                inner.floor_wanted = false;
            }
            let mut due = inner.state.next_due(is_wanted, now).unwrap_or(now + PULL_STANDS);
            if is_wanted || wants_floor || self.pull.is_some() {
                due = due.min(now + LOOK_EVERY);
            }
            (orders, asks, asks_floor, due.min(self.rests_until.unwrap_or(due)))
        };
        self.tell(orders).await;
        if asks > 0 {
            self.ask(asks).await;
        }
        if asks_floor {
            self.group.link().spawn(async move {
                // Unanswered it is asked again.
                if group.ask_floor().await.is_ok() {
                    group.confirm().await;
                }
            });
        }
        due
    }

    /// How many records to ask for now.
    fn wants(&mut self, inner: &mut NatsGroupInner, is_wanted: bool, now: Instant) -> usize {
        if self.pull.as_ref().is_some_and(|pull| now.saturating_duration_since(pull.heard) > SILENT_MAX) {
            self.pull = None;
        }
        if self.rests_until.is_some_and(|until| until <= now) {
            self.rests_until = None;
        }
        if !is_wanted || self.pull.is_some() || self.rests_until.is_some() {
            return 0;
        }
        inner.asked.saturating_sub(inner.state.at_hand(now))
    }

    async fn ask(&mut self, count: usize) {
        self.pulls += 1;
        let group = &self.group;
        let question = json!({
            "batch": count,
            "expires": super::stream::nanoseconds(PULL_STANDS),
            "idle_heartbeat": super::stream::nanoseconds(HEARTBEAT),
        });
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", group.consumer.stream, group.consumer.name);
        let reply = format!("{}.{}", self.inbox, self.pulls);
        self.pull = Some(Pull { number: self.pulls, left: count, heard: Instant::now() });
        if group.link().client.publish_with_reply(subject, reply, question.to_string().into()).await.is_err()
        {
            self.pull = None;
            self.rests_until = Some(Instant::now() + AGAIN_AFTER);
        }
    }

    async fn tell(&self, orders: Vec<Order>) {
        let mut alive = Vec::new();
        for order in orders {
            if let Order::Alive(index, reply) = order {
                alive.push((index, reply));
                continue;
            }
            let (subject, word) = words(order);
            // Not told, it is told again with a new connection, or when the record comes again.
            let _ = self.group.link().client.publish(subject, word).await;
        }
        if alive.is_empty() {
            return;
        }
        // A sign of life counts only when it was confirmed.
        let group = self.group.clone();
        self.group.link().spawn(async move {
            let group = &group;
            let told =
                stream::iter(alive).for_each_concurrent(REQUESTS_AT_ONCE, |(index, reply)| async move {
                    let sent = Instant::now();
                    let heard = group.link().request(&reply, HeaderMap::new(), ALIVE, api::TRY_WITHIN).await;
                    lock(&group.inner).state.confirmed(index, heard.is_ok().then_some(sent));
                    group.wake.notify_one();
                });
            told.await;
        });
    }
}
