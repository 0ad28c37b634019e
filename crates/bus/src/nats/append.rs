//! Appends: those that wait together go together, in the order they came. Several records are one atomic
//! batch (ADR-50), of one append or of many; but to a server that is alone appends of one record each go as
//! messages of their own, one behind the other: it stages a batch in files that it syncs, which costs more
//! than it saves (a tenth of the rate with 16 waiting; three together, on the other hand, keep it in memory).
//! Each goes under a key, so that what is sent again after a silence stands there once.

use super::api::{self, ApiFailure, TRY_AGAIN_AFTER, TRY_WITHIN, code};
use super::link::{NOT_RESPONSIBLE, NatsLink};
use super::topic::NatsTopic;
use super::words;
use super::{ANSWERED_WITHIN, APPEND_RECORDS_MAX, lock, read};
use crate::{BusError, KEY_OCTETS_MAX, Keyed, RECORD_OCTETS_MAX};
use async_nats::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Appends that go together are at most so many octets.
const TOGETHER_OCTETS_MAX: usize = 8 * 1024 * 1024;
/// Messages of one record each that are under way at once.
const SINGLES_MAX: usize = 256;
/// Appends that wait are at most so many octets; who comes then is told to come again.
const WAITING_OCTETS_MAX: usize = 256 * 1024 * 1024;
/// What the headers of one record may take of the server's `max_payload`.
const HEADERS_OCTETS_MAX: usize = 1_024;

/// After so long without a server that is responsible it is asked whether the stream is still there.
const GONE_AFTER: Duration = Duration::from_secs(1);

const MESSAGE_ID: &str = "Nats-Msg-Id";
const EXPECTED_LAST_SEQUENCE: &str = "Nats-Expected-Last-Sequence";
const EXPECTED_LAST_MESSAGE_ID: &str = "Nats-Expected-Last-Msg-Id";
const BATCH_ID: &str = "Nats-Batch-Id";
const BATCH_SEQUENCE: &str = "Nats-Batch-Sequence";
const BATCH_COMMIT: &str = "Nats-Batch-Commit";

/// Appends that wait.
#[derive(Default)]
pub struct AppendQueue {
    inner: Mutex<AppenderInner>,
}

#[derive(Default)]
struct AppenderInner {
    waiting: VecDeque<PendingAppend>,
    octets: usize,
    is_running: bool,
}

struct PendingAppend {
    /// Its `Nats-Msg-Id`: on its first record.
    id: String,
    at: Option<u64>,
    records: Vec<Bytes>,
    octets: usize,
    since: Instant,
    /// It was sent and nobody answered.
    in_doubt: bool,
    answer: oneshot::Sender<Result<Keyed, BusError>>,
}

impl NatsTopic {
    /// Appends under a key, or one that only this append has.
    pub async fn put(
        &self,
        key: Option<&[u8]>,
        at: Option<u64>,
        records: &[&[u8]],
    ) -> Result<Keyed, BusError> {
        let octets = self.check(key, records)?;
        if self.is_closed() {
            return Err(BusError::Closed);
        }
        if self.link.is_away() {
            return Err(BusError::Unreachable { why: self.link.away_words() });
        }
        if records.is_empty() {
            let topic = self.shared()?;
            let head = self.link.run(async move { topic.look().await }).await?;
            return match at {
                Some(at) if at != head => Err(BusError::Moved { topic: self.name.clone(), head }),
                _ => Ok(Keyed { first: head, repeated: false }),
            };
        }
        let id = match key {
            Some(key) => format!("k-{}", URL_SAFE_NO_PAD.encode(key)),
            None => format!("a-{}", self.link.own_key()),
        };
        let (answer, answered) = oneshot::channel();
        let waiting = PendingAppend {
            id,
            at,
            records: records.iter().map(|record| Bytes::copy_from_slice(record)).collect(),
            octets,
            since: Instant::now(),
            in_doubt: false,
            answer,
        };
        let starts = {
            let mut inner = lock(&self.queue.inner);
            if inner.octets + octets > WAITING_OCTETS_MAX {
                let why = format!("topic {}: {} octets wait to be appended already", self.name, inner.octets);
                return Err(BusError::Unreachable { why });
            }
            inner.octets += octets;
            inner.waiting.push_back(waiting);
            !std::mem::replace(&mut inner.is_running, true)
        };
        if starts {
            let topic = self.shared()?;
            self.link.spawn(async move { run(&topic).await });
        }
        // The other end is dropped unsent when the bus closes.
        answered.await.unwrap_or(Err(BusError::Closed))
    }

    fn check(&self, key: Option<&[u8]>, records: &[&[u8]]) -> Result<usize, BusError> {
        let too_large = |what, size, limit| Err(BusError::TooLarge { what, size, limit });
        if let Some(key) = key
            && key.len() > KEY_OCTETS_MAX
        {
            return too_large("a key of an append", key.len(), KEY_OCTETS_MAX);
        }
        if records.len() > APPEND_RECORDS_MAX {
            return too_large("an append over NATS (in records)", records.len(), APPEND_RECORDS_MAX);
        }
        let payload_max = self.link.client.max_payload().saturating_sub(HEADERS_OCTETS_MAX);
        let limit = payload_max.min(RECORD_OCTETS_MAX);
        let mut octets = 0;
        for record in records {
            if record.len() > limit {
                return too_large("a record (the servers' max_payload)", record.len(), limit);
            }
            octets += record.len();
        }
        Ok(octets)
    }
}

/// Sends what waits until nothing does.
async fn run(topic: &NatsTopic) {
    loop {
        let together = {
            let mut inner = lock(&topic.queue.inner);
            let together = inner.next(topic.is_joined);
            if together.is_empty() {
                inner.is_running = false;
                return;
            }
            together
        };
        if !topic.is_joined && together.iter().all(PendingAppend::is_single) {
            // They are handed to the connection in their order: each sends when it is first asked how it
            // goes.
            let sent = together.into_iter().map(|one| send(topic, vec![one]));
            futures_util::future::join_all(sent).await;
        } else {
            send(topic, together).await;
        }
    }
}

impl PendingAppend {
    fn is_single(&self) -> bool {
        self.records.len() == 1 && self.at.is_none()
    }
}

impl AppenderInner {
    /// Those at the front that may go together: one that names its place goes alone, and where a batch costs
    /// more than messages do, those of one record do not go with others.
    fn next(&mut self, is_joined: bool) -> Vec<PendingAppend> {
        let mut together: Vec<PendingAppend> = Vec::new();
        let (mut records, mut octets) = (0, 0);
        while let Some(front) = self.waiting.front() {
            records += front.records.len();
            octets += front.octets;
            let fits = records <= APPEND_RECORDS_MAX && octets <= TOGETHER_OCTETS_MAX;
            let is_alike = together.last().is_none_or(|last| {
                is_joined
                    || last.is_single() == front.is_single()
                        && (!last.is_single() || together.len() < SINGLES_MAX)
            });
            if !together.is_empty() && (front.at.is_some() || !fits || !is_alike) {
                break;
            }
            let goes_alone = front.at.is_some();
            if let Some(front) = self.waiting.pop_front() {
                self.octets -= front.octets;
                together.push(front);
            }
            if goes_alone {
                break;
            }
        }
        together
    }
}

/// Sends appends together until each has its answer.
async fn send(topic: &NatsTopic, mut together: Vec<PendingAppend>) {
    let mut struggle = None;
    loop {
        let began = Instant::now();
        let heard = send_once(topic, &together).await;
        if heard.is_ok() {
            topic.link.took(began.elapsed());
        }
        match heard {
            Ok((first, repeated)) => return answer(topic, together, first, repeated),
            Err(fault)
                if together.len() > 1 && (!fault.passes() || fault.is(code::BATCH_HOLDS_DUPLICATE)) =>
            {
                // One of them is not as the others: each by itself, in their order.
                for one in together {
                    Box::pin(send(topic, vec![one])).await;
                }
                return;
            }
            Err(fault) => match settle(topic, &mut together, fault).await {
                NextAppend::Again => {
                    struggle.get_or_insert_with(|| RetryGuard::begin(&topic.link));
                    tokio::time::sleep(TRY_AGAIN_AFTER).await;
                }
                NextAppend::Done(result) => {
                    for one in together {
                        // Who does not listen any more does not want to know.
                        let _ = one.answer.send(result.clone());
                    }
                    return;
                }
            },
        }
    }
}

fn answer(topic: &NatsTopic, together: Vec<PendingAppend>, first: u64, repeated: bool) {
    let count: usize = together.iter().map(|one| one.records.len()).sum();
    // Before anybody hears of it: who has appended finds the head behind it.
    topic.reached(first + count as u64);
    let mut next = first;
    for one in together {
        let first = next;
        next += one.records.len() as u64;
        let _ = one.answer.send(Ok(Keyed { first, repeated }));
    }
}

enum NextAppend {
    Again,
    Done(Result<Keyed, BusError>),
}

/// What becomes of an append (or of several that only silence befell).
async fn settle(topic: &NatsTopic, together: &mut [PendingAppend], fault: ApiFailure) -> NextAppend {
    if matches!(fault, ApiFailure::Silent(_) | ApiFailure::Away(_)) {
        together.iter_mut().for_each(|one| one.in_doubt = true);
    }
    let Some(one) = together.first() else {
        return NextAppend::Done(Err(BusError::Closed));
    };
    let waited = one.since.elapsed();
    if let Some(error) = final_trouble(topic, &fault, waited).await {
        return NextAppend::Done(Err(error));
    }
    let is_late = waited >= ANSWERED_WITHIN;
    if fault.is(code::BATCH_HOLDS_DUPLICATE) {
        return match locate(topic, &one.id).await {
            Ok(first) => {
                topic.reached(first + one.records.len() as u64);
                NextAppend::Done(Ok(Keyed { first, repeated: true }))
            }
            Err(fault) if fault.passes() && !is_late => NextAppend::Again,
            Err(fault) => NextAppend::Done(Err(fault.into_error(&topic.name))),
        };
    }
    if let (true, Some(at)) = (fault.is(code::WRONG_LAST_SEQUENCE), one.at) {
        return match moved(topic, one, at).await {
            Ok(result) => NextAppend::Done(result),
            Err(fault) if fault.passes() && !is_late => NextAppend::Again,
            Err(fault) => NextAppend::Done(Err(fault.into_error(&topic.name))),
        };
    }
    if fault.passes() && !is_late {
        return NextAppend::Again;
    }
    if fault.is(code::STREAM_NOT_FOUND) {
        return NextAppend::Done(Err(BusError::Closed));
    }
    NextAppend::Done(Err(fault.into_error(&topic.name)))
}

/// What no waiting ends: the stream is gone, or there has been no server for too long. A server without room
/// is told to the watch, and the append fails by what the server says.
async fn final_trouble(topic: &NatsTopic, fault: &ApiFailure, waited: Duration) -> Option<BusError> {
    let (link, stream) = (&topic.link, &topic.names.stream);
    let is_unheard = matches!(fault, ApiFailure::Silent(heard) if heard == NOT_RESPONSIBLE);
    if is_unheard && waited >= GONE_AFTER && link.is_gone(stream).await {
        let why = words::gone(link.trouble.server(), stream);
        link.meets(&why);
        return Some(BusError::Unfit { why });
    }
    if let ApiFailure::Refused(refusal) = fault
        && refusal.has_no_room()
    {
        let heard = format!("{}, stream {stream}", refusal.description);
        link.meets(&words::diagnose(link.trouble.server(), &heard).text);
    }
    link.is_away().then(|| BusError::Unreachable { why: link.away_words() })
}

/// The next index is another. If an answer was lost before, it may be so because of this append itself: then
/// its record stands there.
async fn moved(
    topic: &NatsTopic,
    one: &PendingAppend,
    at: u64,
) -> Result<Result<Keyed, BusError>, ApiFailure> {
    if one.in_doubt && read::message_id(topic, at).await?.as_deref() == Some(&one.id) {
        topic.reached(at + one.records.len() as u64);
        return Ok(Ok(Keyed { first: at, repeated: false }));
    }
    let head = match topic.look().await {
        Ok(head) => head,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Err(BusError::Moved { topic: topic.name.clone(), head }))
}

/// Where the append with this id stands, of which the servers said that it is there. Asked by a message that
/// cannot be stored: should its id be forgotten at this very moment, the message before it is expected to
/// have an id that none has.
async fn locate(topic: &NatsTopic, id: &str) -> Result<u64, ApiFailure> {
    let mut headers = HeaderMap::new();
    headers.insert(MESSAGE_ID, id);
    headers.insert(EXPECTED_LAST_MESSAGE_ID, "none");
    let (first, _) =
        publish(&topic.link, &topic.names.subject, headers, Bytes::new()).await.map_err(|fault| {
            if fault.is(code::WRONG_LAST_MESSAGE_ID) {
                // Forgotten since: the next try appends.
                return ApiFailure::Silent("the key was forgotten at this moment".to_owned());
            }
            fault
        })?;
    Ok(first)
}

/// One try: one message, or one batch. The first record's index, and whether it was there before.
async fn send_once(topic: &NatsTopic, together: &[PendingAppend]) -> Result<(u64, bool), ApiFailure> {
    let link = &topic.link;
    let subject = &topic.names.subject;
    let count: usize = together.iter().map(|one| one.records.len()).sum();
    let batch = link.own_key();
    let mut number = 0;
    for one in together {
        for (place, record) in one.records.iter().enumerate() {
            number += 1;
            let mut headers = HeaderMap::new();
            if place == 0 {
                headers.insert(MESSAGE_ID, one.id.as_str());
                if let Some(at) = one.at {
                    headers.insert(EXPECTED_LAST_SEQUENCE, at.to_string());
                }
            }
            if count > 1 {
                headers.insert(BATCH_ID, batch.as_str());
                headers.insert(BATCH_SEQUENCE, number.to_string());
            }
            if number < count {
                let sent = link.client.publish_with_headers(subject.clone(), headers, record.clone());
                sent.await.map_err(|error| ApiFailure::Silent(error.to_string()))?;
                continue;
            }
            if count > 1 {
                headers.insert(BATCH_COMMIT, "1");
            }
            let (last, repeated) = publish(link, subject, headers, record.clone()).await?;
            // A message that was there before is told by its own place, a batch by its last one's.
            let before = if repeated { 0 } else { count as u64 - 1 };
            return Ok((last.saturating_sub(before), repeated));
        }
    }
    Err(ApiFailure::Silent("nothing to send".to_owned()))
}

/// Publishes a message and waits for the stream's word. Its index, and whether it was there before.
pub async fn publish(
    link: &NatsLink,
    subject: &str,
    headers: HeaderMap,
    payload: Bytes,
) -> Result<(u64, bool), ApiFailure> {
    let heard = link.request(subject, headers, payload, TRY_WITHIN).await?;
    let mut heard: Value = serde_json::from_slice(&heard.payload)
        .map_err(|error| ApiFailure::Silent(format!("an answer that is no JSON: {error}")))?;
    if let Some(error) = heard.get_mut("error").map(Value::take) {
        return Err(ApiFailure::Refused(api::read(error)?));
    }
    let sequence = heard["seq"].as_u64().filter(|sequence| *sequence > 0);
    let sequence = sequence.ok_or_else(|| ApiFailure::Silent("an answer without a sequence".to_owned()))?;
    Ok((sequence - 1, heard["duplicate"].as_bool().unwrap_or(false)))
}

/// An append that is tried again: while there is one the bus is not reachable.
struct RetryGuard<'a>(&'a NatsLink);

impl RetryGuard<'_> {
    fn begin(link: &NatsLink) -> RetryGuard<'_> {
        link.struggling.fetch_add(1, Ordering::Relaxed);
        RetryGuard(link)
    }
}

impl Drop for RetryGuard<'_> {
    fn drop(&mut self) {
        self.0.struggling.fetch_sub(1, Ordering::Relaxed);
    }
}

const _: () = assert!(TRY_WITHIN.as_secs() < ANSWERED_WITHIN.as_secs());

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(appends: &[(usize, Option<u64>)]) -> AppenderInner {
        let mut inner = AppenderInner::default();
        for (count, at) in appends {
            let (answer, _) = oneshot::channel();
            inner.waiting.push_back(PendingAppend {
                id: String::new(),
                at: *at,
                records: vec![Bytes::from_static(b"r"); *count],
                octets: *count,
                since: Instant::now(),
                in_doubt: false,
                answer,
            });
            inner.octets += count;
        }
        inner
    }

    fn counts(mut inner: AppenderInner, is_joined: bool) -> Vec<usize> {
        let mut counts = Vec::new();
        loop {
            let together = inner.next(is_joined);
            if together.is_empty() {
                assert_eq!(inner.octets, 0);
                return counts;
            }
            counts.push(together.len());
        }
    }

    #[test]
    fn what_waits_goes_together_up_to_a_batch_and_one_that_names_its_place_goes_alone() {
        let waiting =
            [(1, None), (1, None), (3, None), (2, None), (1, Some(7)), (1, None), (998, None), (2, None)];
        assert_eq!(counts(queue(&waiting), true), [4, 1, 2, 1]);
        assert_eq!(counts(queue(&waiting), false), [2, 2, 1, 1, 2], "single records go apart");
        assert_eq!(counts(queue(&[(1, None); 600]), false), [256, 256, 88]);
        assert_eq!(counts(queue(&[(1, None); 1_600]), true), [1_000, 600]);
    }
}
