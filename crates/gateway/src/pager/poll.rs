//! Poller of two-way pages: asks the server how each stands, and notes what it says.
//!
//! Bounded: a page is asked for until it is over or for as long as the route's settings say, and only so many
//! at a time. A round has a connection of its own.

use super::config::Polling;
use super::encode::key_of;
use super::line::PagingLine;
use super::link::SnppLink;
use super::tags::{PagedTag, TagTopic};
use crate::context::Stop;
use crate::journal::Ticket;
use records::{Inbound, Outcome, ReceiptState, channel_key};
use snpp::client::SnppClientEvent;
use snpp::tag::{MessageTag, StatusReply, TagState, TagStatus};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first question for a page comes after so long at most.
const FIRST: Duration = Duration::from_secs(5);
/// A lease is so many polling intervals, and at least this.
const LEASE_INTERVALS: u32 = 4;
const LEASE_MIN: Duration = Duration::from_secs(60);
/// Tags that are killed in a round at most; a server expires others by itself.
const KILLS_MAX: usize = 1_000;
/// After it seemed that there is something to ask for, and was not.
const PAUSE: Duration = Duration::from_secs(5);
/// While nothing is asked for it is looked for something at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// A page that this process asks for.
struct HeldTag {
    paged: PagedTag,
    next: Instant,
    is_delivered: bool,
}

/// A page whose end is noted, until that is on disk.
struct EndedTag {
    ticket: Option<Ticket>,
    tag: MessageTag,
}

/// Asks for the pages of a route.
pub(super) struct TagPoller {
    line: Arc<PagingLine>,
    held: BTreeMap<u64, HeldTag>,
    ended: BTreeMap<u64, EndedTag>,
    kills: Vec<MessageTag>,
}

impl TagPoller {
    pub(super) fn new(line: Arc<PagingLine>) -> TagPoller {
        TagPoller { line, held: BTreeMap::new(), ended: BTreeMap::new(), kills: Vec::new() }
    }

    /// Until it is time to stop; then others may ask.
    pub(super) async fn run(mut self, mut stop: Stop) {
        let line = Arc::clone(&self.line);
        let Some(topic) = &line.tags else { return };
        let listener = line.dispatcher.listen();
        // A topic that has failed says at once that there may be more, and has nothing.
        let (mut was_ready, mut pause) = (false, None);
        while !stop.is_set() {
            let Some(polling) = line.peer().settings.two_way else { break };
            let now = Instant::now();
            let taken = self.take(topic, polling);
            if std::mem::take(&mut was_ready) && taken == 0 {
                pause = Some(now + PAUSE);
            }
            pause = pause.filter(|pause| now < *pause);
            self.let_go(topic);
            let due = self.held.values().map(|held| held.next).min();
            if due.is_some_and(|due| due <= now) {
                self.round(topic, polling, &mut stop).await;
                continue;
            }
            let has_room = self.held.len() + self.ended.len() < polling.pages;
            let wake = [due, pause].into_iter().flatten().min().unwrap_or(now + LOOK_EVERY);
            tokio::select! {
                () = topic.ready(), if has_room && pause.is_none() => was_ready = true,
                () = listener.notified(), if !self.ended.is_empty() => {}
                () = tokio::time::sleep_until(wake.into()) => {}
                () = stop.wait() => {}
            }
        }
        self.let_go(topic);
        let (held, ended) = (self.held.into_keys(), self.ended.into_keys());
        held.chain(ended).for_each(|index| topic.release(index));
    }

    /// Takes as many as it has room for; their number.
    fn take(&mut self, topic: &TagTopic, polling: Polling) -> usize {
        let room = polling.pages.saturating_sub(self.held.len() + self.ended.len());
        if room == 0 {
            return 0;
        }
        let taken = match topic.take(room, lease(polling)) {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(route = self.line.name(), %error, "two-way pages cannot be read");
                return 0;
            }
        };
        let (next, count) = (Instant::now() + polling.every.min(FIRST), taken.len());
        for leased in taken {
            let index = leased.record.index;
            match PagedTag::decode(&leased.record.octets) {
                Some(paged) => {
                    self.held.insert(index, HeldTag { paged, next, is_delivered: false });
                }
                None => topic.done(index),
            }
        }
        count
    }

    /// Acknowledges pages whose end is on disk.
    fn let_go(&mut self, topic: &TagTopic) {
        let dispatcher = &self.line.dispatcher;
        let over = self
            .ended
            .extract_if(.., |_, ended| ended.ticket.is_none_or(|ticket| dispatcher.is_durable(ticket)));
        for (index, ended) in over {
            topic.done(index);
            if self.kills.len() < KILLS_MAX {
                self.kills.push(ended.tag);
            }
        }
    }

    /// Asks for every page whose time has come, over one connection.
    async fn round(&mut self, topic: &TagTopic, polling: Polling, stop: &mut Stop) {
        let now = Instant::now();
        let due: Vec<u64> =
            self.held.iter().filter(|(_, held)| held.next <= now).map(|(index, _)| *index).collect();
        let asked = tokio::select! {
            asked = self.ask_all(topic, &due, polling) => asked,
            () = stop.wait() => return,
        };
        if let Err(trouble) = asked {
            tracing::warn!(route = self.line.name(), trouble, "two-way pages cannot be asked for now");
        }
        let next = Instant::now() + polling.every;
        for index in due {
            // What was asked for has its lease as well as what could not be.
            let is_ours = topic.renew(index, lease(polling));
            match self.held.get_mut(&index) {
                Some(held) if is_ours => held.next = next,
                Some(_) => drop(self.held.remove(&index)),
                None => {}
            }
        }
    }

    async fn ask_all(&mut self, topic: &TagTopic, due: &[u64], polling: Polling) -> Result<(), String> {
        let peer = self.line.peer();
        let stream = peer.connect().await.map_err(|error| error.to_string())?;
        let mut link = SnppLink::new(stream, peer.settings.options());
        until_idle(&mut link).await?;
        for tag in std::mem::take(&mut self.kills) {
            link.client.kill(Instant::now(), &tag);
            until_idle(&mut link).await?;
        }
        for index in due {
            let Some(tag) = self.held.get(index).map(|held| held.paged.tag.clone()) else { continue };
            link.client.query(Instant::now(), *index, &tag);
            let reply = answer(&mut link).await?;
            topic.renew(*index, lease(polling));
            self.answered(*index, reply);
            until_idle(&mut link).await?;
        }
        link.client.quit(Instant::now());
        // Nothing depends on the server's goodbye.
        while !matches!(link.turn().await, Some(SnppClientEvent::Closed(_))) {}
        Ok(())
    }

    /// Notes what the server says of a page.
    fn answered(&mut self, index: u64, reply: StatusReply) {
        let route = self.line.name();
        let ticket = match reply {
            StatusReply::Known(status) => match self.note(index, &status) {
                Some(ticket) => ticket,
                None => return,
            },
            StatusReply::Unknown(words) => {
                tracing::debug!(route, words, "the server has forgotten a two-way page");
                None
            }
            StatusReply::NotImplemented(words) => {
                tracing::warn!(
                    route,
                    words,
                    "the server cannot be asked for two-way pages: set two_way = false"
                );
                None
            }
            StatusReply::Failed(words) => {
                tracing::debug!(route, words, "the server cannot say now how a two-way page stands");
                if !self.is_late(index) {
                    return;
                }
                None
            }
        };
        if let Some(held) = self.held.remove(&index) {
            self.ended.insert(index, EndedTag { ticket, tag: held.paged.tag });
        }
    }

    /// A page's state: what is new of it is noted. The last ticket, if there is one, where the page is over.
    fn note(&mut self, index: u64, status: &TagStatus) -> Option<Option<Ticket>> {
        let is_late = self.is_late(index);
        let line = Arc::clone(&self.line);
        let held = self.held.get_mut(&index)?;
        let (paged, state) = (&held.paged, &status.state);
        let key = channel_key(channels::PAGER, paged.alert, paged.endpoint);
        let receipt = |state| {
            let id = paged.tag.tag().to_owned();
            line.dispatcher.note(&line.receipt(key, id, state, status.words.clone()))
        };
        let mut last = None;
        if state.is_delivered() && !held.is_delivered {
            last = Some(receipt(ReceiptState::Delivered));
            held.is_delivered = true;
        }
        match state {
            TagState::Expired => last = Some(receipt(ReceiptState::Expired)),
            TagState::Choice(code) => last = Some(said(&line, paged, key_of(&paged.choices, code))),
            TagState::Text(text) => last = Some(said(&line, paged, text)),
            _ => {}
        }
        let is_over = state.is_final() || state.is_delivered() && !paged.wants_answer || is_late;
        is_over.then_some(last)
    }

    /// It was asked for as long as the settings say.
    fn is_late(&self, index: u64) -> bool {
        self.held.get(&index).is_none_or(|held| held.paged.until <= self.line.context.now())
    }
}

/// Notes an answer: its delivery is known.
fn said(line: &PagingLine, paged: &PagedTag, text: &str) -> Ticket {
    line.dispatcher.note(&Outcome::Inbound(Inbound {
        channel: channels::PAGER,
        route: line.name().to_owned(),
        from: paged.address.clone(),
        to: String::new(),
        text: text.to_owned(),
        octets: None,
        of: Some((paged.alert, paged.endpoint)),
        at: line.context.now(),
    }))
}

fn lease(polling: Polling) -> Duration {
    (polling.every * LEASE_INTERVALS).max(LEASE_MIN)
}

/// Waits until the session can be asked something.
async fn until_idle(link: &mut SnppLink) -> Result<(), String> {
    while !link.client.is_idle() {
        if let Some(SnppClientEvent::Closed(end)) = link.turn().await {
            return Err(closed(end));
        }
    }
    Ok(())
}

/// The answer to a question.
async fn answer(link: &mut SnppLink) -> Result<StatusReply, String> {
    loop {
        match link.turn().await {
            Some(SnppClientEvent::Status { reply: Some(reply), .. }) => return Ok(reply),
            Some(SnppClientEvent::Closed(end)) => return Err(closed(end)),
            _ => {}
        }
    }
}

fn closed(end: Result<(), snpp::client::SnppFailure>) -> String {
    end.err().map_or_else(|| "the session was closed".to_owned(), |failure| failure.text)
}
