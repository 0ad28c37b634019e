//! A retained topic: a stream that keeps the last message of each subject, and a copy in memory that follows
//! it. After any gap the copy is compared with all that is there, so that what was removed meanwhile goes.

use super::api::{ApiFailure, TRY_AGAIN_AFTER};
use super::append::publish;
use super::follow::{AckSubject, Linked, control, open_push};
use super::link::NatsLink;
use super::stream::{self, LimitsPolicy};
use super::{ANSWERED_WITHIN, name};
use crate::{BusError, RECORD_OCTETS_MAX, RETAINED_KEYS_MAX, Retained};
use async_nats::{HeaderMap, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Without a word for so long the copy is compared anew.
const SILENT_MAX: Duration = Duration::from_secs(6);
/// Before it is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// The message that says that a key was removed goes after so long: who was away for longer compares anew.
const REMOVAL_KEPT: &str = "3600s";
/// What a message's headers and subject may take of the servers' `max_payload`.
const HEADERS_OCTETS_MAX: usize = 4_096;

/// A retained topic.
pub struct NatsRetained {
    link: Arc<NatsLink>,
    name: String,
    names: name::StreamName,
    values: RwLock<Values>,
    version: watch::Sender<u64>,
    /// The copy was complete once.
    is_whole: watch::Sender<bool>,
    me: Weak<NatsRetained>,
}

#[derive(Default)]
struct Values {
    /// With the sequence of the message that said so; an empty value was removed.
    all: HashMap<String, (u64, Bytes)>,
    /// Keys that have a value.
    count: usize,
}

impl Values {
    /// True if that is news.
    fn put(&mut self, key: &str, sequence: u64, value: Bytes) -> bool {
        match self.all.get_mut(key) {
            Some((known, _)) if *known >= sequence => false,
            Some((known, old)) => {
                self.count = self.count + usize::from(!value.is_empty()) - usize::from(!old.is_empty());
                *known = sequence;
                let changed = !(old.is_empty() && value.is_empty());
                *old = value;
                changed
            }
            None => {
                let changed = !value.is_empty();
                self.count += usize::from(changed);
                self.all.insert(key.to_owned(), (sequence, value));
                changed
            }
        }
    }

    /// What is not among all that is there was removed. True if anything was.
    fn keep(&mut self, seen: &HashSet<String>, below: u64) -> bool {
        let before = self.count;
        self.all.retain(|key, (sequence, value)| {
            let stays = *sequence > below || seen.contains(key);
            self.count -= usize::from(!stays && !value.is_empty());
            stays
        });
        self.count != before
    }
}

impl Linked for NatsRetained {
    fn link(&self) -> &NatsLink {
        &self.link
    }
}

impl NatsRetained {
    /// Opens it or makes it, and waits until the copy is complete.
    pub fn open(link: &Arc<NatsLink>, name: &str) -> Result<Arc<NatsRetained>, BusError> {
        let names = name::retained(&link.options.prefix, name)?;
        let wanted = stream::of_retained(link, &names, name);
        let own = link.clone();
        link.block(async move { stream::open(&own, &wanted, LimitsPolicy::Stay).await })?;
        let retained = Arc::new_cyclic(|me| NatsRetained {
            link: link.clone(),
            name: name.to_owned(),
            names,
            values: RwLock::default(),
            version: watch::Sender::new(0),
            is_whole: watch::Sender::new(false),
            me: me.clone(),
        });
        link.spawn(follow(Arc::downgrade(&retained)));
        let mut whole = retained.is_whole.subscribe();
        let what = retained.name.clone();
        link.block(async move {
            match tokio::time::timeout(ANSWERED_WITHIN, whole.wait_for(|whole| *whole)).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(_)) => Err(BusError::Closed),
                Err(_) => Err(BusError::Unreachable { why: format!("reading retained topic {what}") }),
            }
        })?;
        Ok(retained)
    }

    fn put(&self, key: &str, sequence: u64, value: Bytes) {
        let changed = self.values.write().unwrap_or_else(PoisonError::into_inner).put(key, sequence, value);
        if changed {
            self.version.send_modify(|version| *version += 1);
        }
    }

    fn check(&self, key: &str, value: &[u8]) -> Result<String, BusError> {
        let token = name::key(key)?;
        let limit = self.link.client.max_payload().saturating_sub(HEADERS_OCTETS_MAX).min(RECORD_OCTETS_MAX);
        if value.len() > limit {
            let what = "a retained value (the servers' max_payload)";
            return Err(BusError::TooLarge { what, size: value.len(), limit });
        }
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        let is_new = values.all.get(key).is_none_or(|(_, value)| value.is_empty());
        if !value.is_empty() && is_new && values.count >= RETAINED_KEYS_MAX {
            let what = "keys of a retained topic";
            return Err(BusError::TooLarge { what, size: values.count + 1, limit: RETAINED_KEYS_MAX });
        }
        Ok(token)
    }

    /// Publishes until the servers answer: under one id, so that it stands there once.
    async fn send(&self, subject: &str, value: Bytes) -> Result<u64, BusError> {
        let id = format!("a-{}", self.link.own_key());
        let until = Instant::now() + ANSWERED_WITHIN;
        loop {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", id.as_str());
            if value.is_empty() {
                headers.insert("Nats-TTL", REMOVAL_KEPT);
            }
            match publish(&self.link, subject, headers, value.clone()).await {
                Ok((index, _)) => return Ok(index + 1),
                Err(fault) if fault.passes() && Instant::now() < until => {
                    tokio::time::sleep(TRY_AGAIN_AFTER).await;
                }
                Err(fault) => return Err(fault.into_error(&self.name)),
            }
        }
    }
}

impl Retained for NatsRetained {
    fn set<'a>(&'a self, key: &'a str, value: &'a [u8]) -> BoxFuture<'a, Result<(), BusError>> {
        Box::pin(async move {
            let token = self.check(key, value)?;
            let retained = self.me.upgrade().ok_or(BusError::Closed)?;
            let (key, value) = (key.to_owned(), Bytes::copy_from_slice(value));
            let work = async move {
                let subject = format!("{}.{token}", retained.names.subject);
                let sequence = retained.send(&subject, value.clone()).await?;
                retained.put(&key, sequence, value);
                Ok(())
            };
            self.link.run(work).await
        })
    }

    fn value(&self, key: &str) -> Option<Bytes> {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        values.all.get(key).filter(|(_, value)| !value.is_empty()).map(|(_, value)| value.clone())
    }

    fn all(&self) -> Vec<(String, Bytes)> {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        let there = values.all.iter().filter(|(_, (_, value))| !value.is_empty());
        there.map(|(key, (_, value))| (key.clone(), value.clone())).collect()
    }

    fn version(&self) -> u64 {
        *self.version.borrow()
    }

    fn changed(&self, seen: u64) -> BoxFuture<'static, ()> {
        let mut version = self.version.subscribe();
        let mut closed = self.link.closed();
        Box::pin(async move {
            // An error means that the topic is gone: then there is nothing to wait for.
            tokio::select! {
                _ = version.wait_for(|version| *version != seen) => {}
                _ = closed.wait_for(|closed| *closed) => {}
            }
        })
    }
}

async fn follow(retained: Weak<NatsRetained>) {
    loop {
        let Some(retained) = retained.upgrade() else { return };
        if retained.link.is_closed() {
            return;
        }
        if let Ok(copy) = Copy::open(&retained).await {
            copy.run(&retained).await;
        }
        drop(retained);
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

/// One run of following, from a whole comparison on.
struct Copy {
    messages: Subscriber,
    /// The consumer's own count of the last message.
    delivered: u64,
    /// What was there at the start, as far as it has come; nothing: it has all come.
    seen: Option<HashSet<String>>,
    /// The last sequence before the start.
    below: u64,
}

impl Copy {
    async fn open(retained: &NatsRetained) -> Result<Copy, ApiFailure> {
        let state = stream::state(&retained.link, &retained.names.stream, &retained.name).await;
        let state = state.map_err(|error| ApiFailure::Silent(error.to_string()))?;
        let inbox = retained.link.client.new_inbox();
        let policy = json!({
            "deliver_policy": "last_per_subject",
            "filter_subject": format!("{}.>", retained.names.subject),
        });
        let (messages, pending) = open_push(retained, &retained.names.stream, inbox, policy).await?;
        let mut copy = Copy { messages, delivered: 0, seen: Some(HashSet::new()), below: state.last_seq };
        if pending == 0 {
            copy.complete(retained);
        }
        Ok(copy)
    }

    /// Until something is missing.
    async fn run(mut self, retained: &NatsRetained) {
        let mut epoch = retained.link.epoch();
        epoch.mark_unchanged();
        let mut closed = retained.link.closed();
        loop {
            let message = tokio::select! {
                message = tokio::time::timeout(SILENT_MAX, self.messages.next()) => message,
                _ = epoch.changed() => return,
                _ = closed.wait_for(|closed| *closed) => return,
            };
            let Ok(Some(message)) = message else { return };
            let goes_on = if message.status.is_some() {
                control(retained, &message, self.delivered).await
            } else {
                self.heard(retained, message)
            };
            if !goes_on {
                return;
            }
        }
    }

    fn heard(&mut self, retained: &NatsRetained, message: Message) -> bool {
        let Some(place) = AckSubject::of(&message) else { return true };
        self.delivered += 1;
        if place.delivered != self.delivered {
            return false;
        }
        let token = message.subject.rsplit('.').next().unwrap_or_default();
        if let Some(key) = name::unescaped(token) {
            if let Some(seen) = &mut self.seen {
                seen.insert(key.clone());
            }
            retained.put(&key, place.index + 1, message.payload);
        }
        if place.pending == 0 {
            self.complete(retained);
        }
        true
    }

    fn complete(&mut self, retained: &NatsRetained) {
        let Some(seen) = self.seen.take() else { return };
        let mut values = retained.values.write().unwrap_or_else(PoisonError::into_inner);
        let changed = values.keep(&seen, self.below);
        drop(values);
        if changed {
            retained.version.send_modify(|version| *version += 1);
        }
        retained.is_whole.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_the_newest_and_forgets_what_is_not_there_any_more() {
        let mut values = Values::default();
        assert!(values.put("a", 1, Bytes::from_static(b"x")));
        assert!(!values.put("a", 1, Bytes::from_static(b"x")), "heard twice");
        assert!(values.put("b", 2, Bytes::from_static(b"y")));
        assert!(values.put("a", 3, Bytes::new()), "removed");
        assert!(!values.put("a", 2, Bytes::from_static(b"z")), "older");
        assert_eq!(values.count, 1);
        assert!(!values.put("c", 4, Bytes::new()), "was never there");
        assert!(values.put("d", 9, Bytes::from_static(b"later")));
        assert!(values.keep(&HashSet::new(), 8));
        assert_eq!((values.count, values.all.len()), (1, 1), "what came after the comparison began stays");
    }
}
