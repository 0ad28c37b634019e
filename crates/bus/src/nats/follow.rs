//! A topic's tail in memory, for those who wait at its end: an ordered push consumer (ADR-17) that is made
//! anew, from where it was, after any gap, silence or new connection. Nobody waits for a while, and it ends.

use super::api;
use super::lock;
use super::stream::nanoseconds;
use super::topic::NatsTopic;
use crate::Record;
use async_nats::{Message, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A tail holds at most so many octets,
const TAIL_OCTETS_MAX: usize = 4 * 1024 * 1024;
/// and so many records.
const TAIL_RECORDS_MAX: usize = 8_192;
/// A consumer says something at least so often.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// After so long without a word it is made anew.
const SILENT_MAX: Duration = Duration::from_secs(6);
/// Nobody waits for so long, and the tail is given up.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Before it is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// The newest records of a topic.
#[derive(Default)]
pub struct TopicTail {
    /// The index of the first.
    first: u64,
    records: VecDeque<Bytes>,
    octets: usize,
    /// A task follows.
    is_followed: bool,
    /// Its consumer stands, so that news come by themselves.
    is_live: bool,
    wanted: Option<Instant>,
}

impl TopicTail {
    /// Records from `from` on; nothing if they are not (all) here and the servers must be asked.
    pub fn read(&self, from: u64, head: u64, records_max: usize, octets_max: usize) -> Option<Vec<Record>> {
        if from >= head {
            return self.is_live.then(Vec::new);
        }
        let skip = usize::try_from(from.checked_sub(self.first)?).ok()?;
        let mut octets = 0;
        let mut found = Vec::new();
        for (index, record) in (from..).zip(self.records.iter().skip(skip)).take(records_max) {
            octets += record.len();
            if !found.is_empty() && octets > octets_max {
                break;
            }
            found.push(Record { index, octets: record.clone() });
        }
        (!found.is_empty()).then_some(found)
    }

    /// Lets go of what is below.
    pub fn forget_below(&mut self, below: u64) {
        while self.first < below
            && let Some(gone) = self.records.pop_front()
        {
            self.octets -= gone.len();
            self.first += 1;
        }
    }

    fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    fn push(&mut self, index: u64, record: Bytes) {
        if self.next() != index {
            self.restart(index);
        }
        self.octets += record.len();
        self.records.push_back(record);
        while self.octets > TAIL_OCTETS_MAX || self.records.len() > TAIL_RECORDS_MAX {
            let below = self.first + 1;
            self.forget_below(below);
        }
    }

    fn restart(&mut self, first: u64) {
        self.records.clear();
        self.octets = 0;
        self.first = first;
    }
}

/// Resolves when there is a readable record at `index` or above, or the topic is closed.
pub async fn wait(topic: &Arc<NatsTopic>, index: u64) {
    let mut progress = topic.progress();
    let mut closed = topic.link.closed();
    if progress.borrow().head > index || topic.is_closed() {
        return;
    }
    topic.waiters.fetch_add(1, Ordering::Relaxed);
    let _one = Waiter(topic);
    start(topic);
    tokio::select! {
        // An error means that the topic or the bus is gone: then there is nothing to wait for.
        _ = progress.wait_for(|progress| progress.head > index || progress.closed) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
}

struct Waiter<'a>(&'a Arc<NatsTopic>);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}

fn start(topic: &Arc<NatsTopic>) {
    let mut tail = lock(&topic.tail);
    tail.wanted = Some(Instant::now());
    if !std::mem::replace(&mut tail.is_followed, true) {
        tail.restart(crate::Topic::head(&**topic));
        topic.link.spawn(follow(Arc::downgrade(topic)));
    }
}

/// Nobody has waited for a while, or there is nothing to wait for: then the tail is given up.
fn is_unwanted(topic: &NatsTopic) -> bool {
    let mut tail = lock(&topic.tail);
    let is_idle = topic.waiters.load(Ordering::Relaxed) == 0
        && tail.wanted.is_none_or(|wanted| wanted.elapsed() > IDLE_MAX);
    if is_idle || topic.is_closed() {
        // Together with the look at who waits: who comes later starts another.
        tail.is_followed = false;
        tail.is_live = false;
        tail.restart(0);
        return true;
    }
    false
}

async fn follow(topic: Weak<NatsTopic>) {
    loop {
        let Some(topic) = topic.upgrade() else { return };
        if is_unwanted(&topic) {
            return;
        }
        let next = lock(&topic.tail).next();
        if let Ok(consumer) = Consumer::open(&topic, next).await {
            consumer.run(&topic).await;
        }
        lock(&topic.tail).is_live = false;
        if !topic.is_closed() {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}

/// A push consumer of ours alone.
struct Consumer {
    messages: Subscriber,
    /// The consumer's own count of the last message.
    delivered: u64,
}

impl Consumer {
    async fn open(topic: &NatsTopic, next: u64) -> Result<Consumer, api::ApiFailure> {
        let inbox = topic.link.client.new_inbox();
        let config = json!({
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": next + 1,
        });
        let (messages, _) = open_push(topic, &topic.names.stream, inbox, config).await?;
        lock(&topic.tail).is_live = true;
        Ok(Consumer { messages, delivered: 0 })
    }

    /// Until something is missing.
    async fn run(mut self, topic: &NatsTopic) {
        let mut epoch = topic.link.epoch();
        epoch.mark_unchanged();
        let mut closed = topic.link.closed();
        loop {
            let message = tokio::select! {
                message = tokio::time::timeout(SILENT_MAX, self.messages.next()) => message,
                _ = epoch.changed() => return,
                _ = closed.wait_for(|closed| *closed) => return,
            };
            let Ok(Some(message)) = message else { return };
            if message.status.is_some() {
                if !control(topic, &message, self.delivered).await || is_unwanted_now(topic) {
                    return;
                }
                continue;
            }
            let Some(place) = AckSubject::of(&message) else { continue };
            self.delivered += 1;
            if place.delivered != self.delivered {
                return;
            }
            let mut tail = lock(&topic.tail);
            tail.push(place.index, message.payload);
            drop(tail);
            topic.reached(place.index + 1);
        }
    }
}

fn is_unwanted_now(topic: &NatsTopic) -> bool {
    let tail = lock(&topic.tail);
    topic.is_closed()
        || topic.waiters.load(Ordering::Relaxed) == 0
            && tail.wanted.is_none_or(|wanted| wanted.elapsed() > IDLE_MAX)
}

/// Who has a link to the servers.
pub trait Linked {
    /// It.
    fn link(&self) -> &super::link::NatsLink;
}

impl Linked for NatsTopic {
    fn link(&self) -> &super::link::NatsLink {
        &self.link
    }
}

/// Makes a push consumer that ends by itself when nobody listens. Its messages, and how many are to come at
/// once.
pub async fn open_push(
    owner: &impl Linked,
    stream: &str,
    inbox: String,
    policy: serde_json::Value,
) -> Result<(Subscriber, u64), api::ApiFailure> {
    let link = owner.link();
    let subscribed = link.client.subscribe(inbox.clone()).await;
    let messages = subscribed.map_err(|error| api::ApiFailure::Silent(error.to_string()))?;
    let mut config = json!({
        "deliver_subject": inbox,
        "ack_policy": "none",
        "replay_policy": "instant",
        "max_deliver": 1,
        "flow_control": true,
        "idle_heartbeat": nanoseconds(HEARTBEAT),
        "mem_storage": true,
        "num_replicas": 1,
    });
    if let (Some(config), Some(policy)) = (config.as_object_mut(), policy.as_object()) {
        config.extend(policy.clone());
    }
    let question = json!({ "stream_name": stream, "config": config });
    let made = api::ask_once(link, &format!("$JS.API.CONSUMER.CREATE.{stream}"), &question).await?;
    Ok((messages, made["num_pending"].as_u64().unwrap_or(0)))
}

/// Answers what a consumer asks (flow control); false if it tells of more messages than came.
pub async fn control(owner: &impl Linked, message: &Message, delivered: u64) -> bool {
    let header = |name: &str| message.headers.as_ref().and_then(|headers| headers.get_last(name));
    let asked = match &message.reply {
        Some(reply) => Some(reply.to_string()),
        None => header("Nats-Consumer-Stalled").map(|subject| subject.as_str().to_owned()),
    };
    if let Some(subject) = asked {
        // Unanswered it is asked again with the next heartbeat.
        let _ = owner.link().client.publish(subject, Bytes::new()).await;
    }
    let last = header("Nats-Last-Consumer").and_then(|last| last.as_str().parse::<u64>().ok());
    message.status == Some(StatusCode::IDLE_HEARTBEAT) && last.is_none_or(|last| last <= delivered)
}

/// What the reply subject of a consumer's message says:
/// `$JS.ACK.STREAM.CONSUMER.DELIVERIES.STREAM_SEQ.CONSUMER_SEQ.TIME.PENDING`, or with domain and account
/// before the stream, and a token at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckSubject {
    /// How often this message was delivered, with this time.
    pub deliveries: u64,
    /// Its index in the topic.
    pub index: u64,
    /// The consumer's own count.
    pub delivered: u64,
    /// How many more are there.
    pub pending: u64,
}

impl AckSubject {
    /// Nothing if it did not come by a consumer.
    pub fn of(message: &Message) -> Option<AckSubject> {
        AckSubject::read(message.reply.as_ref()?)
    }

    fn read(reply: &str) -> Option<AckSubject> {
        let tokens: Vec<&str> = reply.split('.').collect();
        let at = match (tokens.as_slice(), tokens.len()) {
            (["$JS", "ACK", ..], 9) => 4,
            (["$JS", "ACK", ..], 11..) => 6,
            _ => return None,
        };
        let number = |place: usize| tokens.get(at + place)?.parse::<u64>().ok();
        Some(AckSubject {
            deliveries: number(0)?,
            index: number(1)?.checked_sub(1)?,
            delivered: number(2)?,
            pending: number(4)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_subject_says_where_a_message_stands_in_both_its_forms() {
        let place = AckSubject { deliveries: 2, index: 6, delivered: 5, pending: 11 };
        assert_eq!(AckSubject::read("$JS.ACK.s.c.2.7.5.1700000000000000000.11"), Some(place));
        assert_eq!(AckSubject::read("$JS.ACK._.hash.s.c.2.7.5.1700000000000000000.11"), Some(place));
        assert_eq!(AckSubject::read("$JS.ACK._.hash.s.c.2.7.5.1700000000000000000.11.token"), Some(place));
        assert_eq!(AckSubject::read("$JS.ACK.s.c.2.0.5.1.11"), None, "no sequence is 0");
        assert_eq!(AckSubject::read("_INBOX.x"), None);
    }

    #[test]
    fn a_tail_gives_what_it_has_and_says_when_servers_must_be_asked() {
        let mut tail = TopicTail::default();
        tail.restart(5);
        for index in 5..9 {
            tail.push(index, Bytes::from(vec![u8::try_from(index).expect("small"); 10]));
        }
        assert!(tail.read(4, 9, 10, 1000).is_none(), "below");
        let found = tail.read(6, 9, 10, 1000).expect("here");
        assert_eq!(found.iter().map(|record| record.index).collect::<Vec<_>>(), [6, 7, 8]);
        assert_eq!(tail.read(6, 9, 2, 1000).expect("here").len(), 2);
        assert_eq!(tail.read(6, 9, 10, 1).expect("at least one").len(), 1);
        assert!(tail.read(9, 9, 10, 1000).is_none(), "nobody follows: there may be more");
        tail.is_live = true;
        assert_eq!(tail.read(9, 9, 10, 1000), Some(Vec::new()));
        assert!(tail.read(9, 10, 10, 1000).is_none(), "known to be there, and not come yet");
        tail.forget_below(7);
        assert!(tail.read(6, 9, 10, 1000).is_none());
        tail.push(20, Bytes::new());
        assert_eq!(tail.read(20, 21, 10, 1000).expect("here").len(), 1);
        assert!(tail.read(8, 21, 10, 1000).is_none(), "a gap begins anew");
    }
}
