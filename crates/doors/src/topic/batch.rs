//! Batch carries out the requests of one wake-up of a connection: its appends together, its replies in order.

use super::TopicToken;
use super::config::Exit;
use super::door::{ConnectionCount, TopicDoorState};
use super::machine::{Conversation, TopicRequest};
use super::people::PersonSession;
use bus::{BusError, Topic};
use futures_util::future::join_all;
use net::ConnectionPlace;
use records::Role;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Messages of one append at most.
const MESSAGES_MAX: usize = 512;
/// Topics that messages are gathered for at a time; a search through them must be short.
const TOPICS_MAX: usize = 32;
/// Wrong tokens after which a connection ends.
const WRONG_TOKENS_MAX: u32 = 3;

/// One connection, driven by a thread or a reactor.
pub(super) struct TopicConnection {
    pub(super) machine: Conversation,
    /// Requests on this address need a token.
    needs_auth: bool,
    token: Option<Arc<TopicToken>>,
    wrong_tokens: u32,
    posts: Posts,
    counts: RequestCounts,
    pub(super) client: IpAddr,
    /// The id that a person asked to log in under.
    pub(super) asked_id: Option<String>,
    /// Of a person who is logged in.
    pub(super) session: Option<PersonSession>,
    /// Its place among the door's connections: its own while a request is carried out, and from a good token
    /// on as long as the client reads.
    pub(super) place: Arc<ConnectionPlace>,
    _count: ConnectionCount,
}

/// Messages that were not appended yet.
#[derive(Default)]
struct Posts {
    topics: Vec<Arc<dyn Topic>>,
    /// In the order they came: which topic, and where the message stands.
    messages: Vec<(usize, Range<usize>)>,
}

/// Requests since the last look at the meter.
#[derive(Default)]
struct RequestCounts {
    posts: u64,
    reads: u64,
    others: u64,
    garbage: u64,
    denied: u64,
}

impl TopicConnection {
    pub(super) fn new(
        door: &Arc<TopicDoorState>,
        needs_auth: bool,
        (client, place): (IpAddr, ConnectionPlace),
    ) -> TopicConnection {
        let machine = Conversation::new(door.config.limits(needs_auth), Instant::now());
        TopicConnection {
            machine: if door.logins.is_some() { machine.with_logins() } else { machine },
            needs_auth,
            token: None,
            wrong_tokens: 0,
            posts: Posts::default(),
            counts: RequestCounts::default(),
            client,
            asked_id: None,
            session: None,
            place: Arc::new(place),
            _count: ConnectionCount::new(door),
        }
    }

    /// Carries out all whole requests, until too much waits to be written.
    pub(super) async fn turn(&mut self, door: &TopicDoorState) {
        while let Some(request) = self.machine.poll_event() {
            self.place.set_busy();
            if let TopicRequest::Post { topic, message } = request {
                self.post(door, &topic, message).await;
            } else {
                self.append(door).await;
                self.other(door, request).await;
            }
        }
        self.append(door).await;
        self.count(door);
        self.set_reading(true);
    }

    /// Between requests: the client takes what it is sent, or does not.
    pub(super) fn set_reading(&self, is_reading: bool) {
        let is_known = self.token.is_some() || self.session.is_some();
        if is_known && is_reading {
            self.place.set_busy();
        } else {
            self.place.set_waiting();
        }
    }

    fn count(&mut self, door: &TopicDoorState) {
        let counts = std::mem::take(&mut self.counts);
        for (counter, count) in [
            (&door.meter.posts, counts.posts),
            (&door.meter.reads, counts.reads),
            (&door.meter.others, counts.others),
            (&door.meter.garbage, counts.garbage),
            (&door.meter.denied, counts.denied),
        ] {
            if count > 0 {
                counter.increment(count);
            }
        }
    }

    /// Gathers a message. Its reply comes with the append.
    async fn post(&mut self, door: &TopicDoorState, topic: &Range<usize>, message: Range<usize>) {
        if !self.may(|role| role != Role::Viewer) {
            self.append(door).await;
            return self.deny();
        }
        let found = match door.topic_cache.find(self.machine.text(topic)) {
            Some(found) => Ok(found),
            None => door.make(self.machine.text(topic)).await,
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.append(door).await;
                door.meter.trouble(1, &error);
                return self.machine.reply(b"");
            }
        };
        self.counts.posts += 1;
        let known = self.posts.topics.iter().position(|known| Arc::ptr_eq(known, &found));
        let place = known.unwrap_or_else(|| {
            self.posts.topics.push(found);
            self.posts.topics.len() - 1
        });
        self.posts.messages.push((place, message));
        if self.posts.messages.len() >= MESSAGES_MAX || self.posts.topics.len() >= TOPICS_MAX {
            self.append(door).await;
        }
    }

    /// Appends the gathered messages, each topic's as one unit, and replies.
    async fn append(&mut self, door: &TopicDoorState) {
        let Posts { topics, messages } = &mut self.posts;
        match &messages[..] {
            [] => return,
            [(_, message)] => {
                let first = topics[0].append(&[self.machine.text(message)]).await;
                match first {
                    Ok(index) => self.machine.reply_number(index),
                    Err(error) => {
                        door.meter.trouble(1, &error);
                        self.machine.reply(b"");
                    }
                }
            }
            all => {
                let mut next = append_all(&self.machine, topics, all).await;
                for (place, _) in all {
                    match &mut next[*place] {
                        Ok(index) => {
                            self.machine.reply_number(*index);
                            *index += 1;
                        }
                        Err(error) => {
                            door.meter.trouble(1, error);
                            self.machine.reply(b"");
                        }
                    }
                }
            }
        }
        topics.clear();
        messages.clear();
    }

    async fn other(&mut self, door: &TopicDoorState, request: TopicRequest) {
        match request {
            TopicRequest::Exit => return self.exit(door),
            TopicRequest::Auth { token } => return self.auth(door, &token).await,
            TopicRequest::Login { .. }
            | TopicRequest::Code { .. }
            | TopicRequest::Logout
            | TopicRequest::Said { .. }
            | TopicRequest::Enter => {
                self.counts.others += 1;
                return self.talk(door, request).await;
            }
            TopicRequest::Garbage => self.counts.garbage += 1,
            TopicRequest::Read { .. } => self.counts.reads += 1,
            TopicRequest::Count { .. } | TopicRequest::List | TopicRequest::Post { .. } => {
                self.counts.others += 1
            }
        }
        if !self.may(|_| true) {
            return self.deny();
        }
        match request {
            TopicRequest::Read { topic, index: Some(index) } => self.read(door, &topic, index).await,
            TopicRequest::Count { topic } => self.count_of(door, &topic).await,
            TopicRequest::List => door.topic_cache.list(|list| self.machine.reply(list)),
            _ => self.machine.reply(b""),
        }
    }

    async fn read(&mut self, door: &TopicDoorState, topic: &Range<usize>, index: u64) {
        let Some(topic) = door.topic_cache.find(self.machine.text(topic)) else {
            return self.machine.reply(b"");
        };
        if topic.glance(index, &mut |record| self.machine.reply(record.unwrap_or_default())) {
            return;
        }
        match topic.fetch(index, 1, 1).await {
            // Without a record at the index, one above it comes.
            Ok(records) => match records.first() {
                Some(record) if record.index == index => self.machine.reply(&record.octets),
                _ => self.machine.reply(b""),
            },
            Err(error) => {
                door.meter.trouble(1, &error);
                self.machine.reply(b"");
            }
        }
    }

    async fn count_of(&mut self, door: &TopicDoorState, topic: &Range<usize>) {
        let count = match door.topic_cache.find(self.machine.text(topic)) {
            None => Ok(0),
            Some(topic) if door.config.others.is_shared => topic.latest().await,
            Some(topic) => Ok(topic.head()),
        };
        match count {
            Ok(count) => self.machine.reply_number(count),
            Err(error) => {
                door.meter.trouble(1, &error);
                self.machine.reply(b"");
            }
        }
    }

    async fn auth(&mut self, door: &TopicDoorState, token: &Range<usize>) {
        self.counts.others += 1;
        let found = match std::str::from_utf8(self.machine.text(token)) {
            Ok(token) => {
                let token = token.to_owned();
                // Somebody who guesses takes no place from others while that waits.
                self.set_reading(true);
                door.token(token, self.client).await
            }
            Err(_) => None,
        };
        match found {
            Some(found) => {
                self.token = Some(Arc::new(found));
                self.machine.authenticated();
                self.machine.reply(b"OK");
            }
            None => {
                self.machine.reply(b"DENIED");
                self.note_wrong();
            }
        }
    }

    /// A token or a code was wrong.
    pub(super) fn note_wrong(&mut self) {
        self.wrong_tokens += 1;
        if self.wrong_tokens >= WRONG_TOKENS_MAX {
            self.machine.end();
        }
    }

    fn exit(&mut self, door: &TopicDoorState) {
        self.counts.others += 1;
        self.machine.reply(b"EXIT");
        self.machine.end();
        if door.config.exit == Exit::Stop && self.may(|role| role == Role::Admin) {
            door.stop_server();
        }
    }

    /// Whether the role allows it; without a needed token everything is allowed.
    fn may(&self, what: impl FnOnce(Role) -> bool) -> bool {
        let good = |token: &Arc<TopicToken>| !token.hold.is_ended() && what(token.role);
        !self.needs_auth || self.token.as_ref().is_some_and(good)
    }

    /// The token that the connection ends with.
    pub(super) fn token(&self) -> Option<&Arc<TopicToken>> {
        let of_session = self.session.as_ref().and_then(PersonSession::token);
        of_session.or(self.token.as_ref().filter(|_| self.needs_auth))
    }

    fn deny(&mut self) {
        self.counts.denied += 1;
        self.machine.reply(b"DENIED");
    }
}

/// The first index of each topic's messages.
async fn append_all(
    machine: &Conversation,
    topics: &[Arc<dyn Topic>],
    messages: &[(usize, Range<usize>)],
) -> Vec<Result<u64, BusError>> {
    let mut batches: Vec<Vec<&[u8]>> = topics.iter().map(|_| Vec::new()).collect();
    for (place, message) in messages {
        batches[*place].push(machine.text(message));
    }
    match (topics, &batches[..]) {
        ([topic], [batch]) => vec![topic.append(batch).await],
        _ => join_all(topics.iter().zip(&batches).map(|(topic, batch)| topic.append(batch))).await,
    }
}
