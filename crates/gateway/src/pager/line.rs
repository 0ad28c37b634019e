//! State shared by the SNPP sessions of a route: its limit, its queue, its two-way pages, and pages with
//! which the connection was lost.

use super::config::{PagerRoute, PagingTransport, SnppSettings};
use super::encode::{PagerEncoder, PagerJob};
use super::tags::{PagedTag, TagTopic};
use crate::GatewayContext;
use crate::dispatcher::{RouteDispatcher, RouteLimit};
use arc_swap::ArcSwap;
use net::{ConnectError, Stream, TlsClient, connect};
use records::{AttemptRef, AttemptResult, Outcome, Receipt, ReceiptState, channel_key};
use rustc_hash::FxHashMap;
use snpp::client::PageVerdict;
use snpp::tag::{SendReceipt, TagState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A page with which the connection was lost so often is refused for now.
const LOST_MAX: u8 = 3;
/// It is looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Connecting, TLS included, may take so long.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// A route's settings, as its sessions use them.
pub(super) struct SnppPeer {
    pub(super) sessions: usize,
    pub(super) settings: SnppSettings,
    pub(super) tls: Option<TlsClient>,
}

impl SnppPeer {
    /// Of a route by SNPP; nothing for another.
    pub(super) fn of(route: &PagerRoute, tls: Option<TlsClient>) -> Option<SnppPeer> {
        match &route.transport {
            PagingTransport::Snpp(settings) => {
                Some(SnppPeer { sessions: route.sessions, settings: (**settings).clone(), tls })
            }
            PagingTransport::Smtp(_) => None,
        }
    }

    /// A connection to the server.
    pub(super) async fn connect(&self) -> Result<Stream, ConnectError> {
        connect(&self.settings.address, self.tls.as_ref(), CONNECT_MAX).await
    }
}

/// A paging carrier at work.
pub(super) struct PagingLine {
    name: String,
    peer: ArcSwap<SnppPeer>,
    pub(super) context: GatewayContext,
    pub(super) dispatcher: Arc<RouteDispatcher<PagerEncoder>>,
    pub(super) limit: Arc<RouteLimit<PagerEncoder>>,
    /// Two-way pages that are asked for; nothing on a route of one way.
    pub(super) tags: Option<TagTopic>,
    /// How often the connection was lost with a page that was not sent.
    lost: Mutex<FxHashMap<AttemptRef, u8>>,
}

impl PagingLine {
    pub(super) fn new(
        route: &PagerRoute,
        peer: SnppPeer,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<PagerEncoder>>,
        tags: Option<TagTopic>,
    ) -> PagingLine {
        PagingLine {
            name: route.name.clone(),
            peer: ArcSwap::from_pointee(peer),
            context: context.clone(),
            dispatcher: Arc::clone(dispatcher),
            limit: RouteLimit::new(dispatcher, route.rate),
            tags,
            lost: Mutex::default(),
        }
    }

    /// The route's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The settings as they are now.
    pub(super) fn peer(&self) -> Arc<SnppPeer> {
        self.peer.load_full()
    }

    /// Other settings from now on.
    pub(super) fn change(&self, peer: SnppPeer) {
        self.peer.store(Arc::new(peer));
    }

    /// The next page that may be sent, as soon as there is one. Safe to drop.
    pub(super) async fn next_job(&self, listener: &Notify) -> PagerJob {
        loop {
            let now = Instant::now();
            if self.limit.grant(now) {
                if let Some(job) = self.dispatcher.next() {
                    return job;
                }
                self.limit.unused();
                listener.notified().await;
                continue;
            }
            let due = self.limit.next(now).filter(|_| self.dispatcher.has_work());
            tokio::select! {
                () = listener.notified() => {}
                () = tokio::time::sleep_until(due.unwrap_or(now + LOOK_EVERY).into()) => {}
            }
        }
    }

    /// A page that was granted is surely not sent: it goes back.
    pub(super) fn put_back(&self, job: PagerJob) {
        self.limit.unused();
        self.dispatcher.put_back(job);
    }

    /// What became of a page. One that was not tried goes back, unless that happened too often; `was_idle`:
    /// the connection may have been closed before it came.
    pub(super) async fn settle(&self, job: PagerJob, verdict: PageVerdict, was_idle: bool) {
        let of = job.of(1);
        match verdict {
            PageVerdict::NotTried { text } => {
                let times = if was_idle { 0 } else { self.count_loss(of) };
                if times < LOST_MAX {
                    return self.dispatcher.put_back(job);
                }
                let text = format!("the connection was lost {times} times before SEND: {text}");
                self.refuse(&job, false, "snpp:lost", text);
            }
            PageVerdict::Refused { permanent, code, text } => {
                if !permanent && code != "snpp:750" {
                    let rate = self.limit.refused_for_now(true, Instant::now());
                    tracing::debug!(
                        route = self.name,
                        rate,
                        "the server refuses for now: the route is slowed down"
                    );
                }
                self.refuse(&job, permanent, &code, text);
            }
            PageVerdict::Unknown { text } => self.dispatcher.whole(&job, &AttemptResult::Unknown { text }),
            PageVerdict::Accepted { receipt, without } => self.accepted(&job, receipt, &without).await,
        }
        let mut lost = locked(&self.lost);
        if !lost.is_empty() {
            lost.remove(&of);
        }
    }

    /// Refused, by the server or by us.
    pub(super) fn refuse(&self, job: &PagerJob, permanent: bool, code: &str, text: String) {
        self.dispatcher.whole(job, &AttemptResult::Refused { permanent, code: code.to_owned(), text });
    }

    /// The tag is on disk before the outcome: a page on record as accepted is asked for after a crash.
    async fn accepted(&self, job: &PagerJob, receipt: SendReceipt, without: &[&'static str]) {
        if !without.is_empty() {
            tracing::debug!(route = self.name, ?without, "the server took a page without these commands");
        }
        let tag = self.tag_of(job, &receipt);
        if let (Some(topic), Some(tag)) = (&self.tags, &tag)
            && let Err(error) = topic.append(tag).await
        {
            tracing::error!(route = self.name, %error, "a two-way page cannot be asked for: its tag is not on disk");
        }
        let (alert, endpoint) = (job.leased.segment.alert, job.entry().endpoint);
        let key = channel_key(channels::PAGER, alert, endpoint);
        let id = receipt.tag.as_ref().map_or_else(|| receipt.words.clone(), |tag| tag.tag().to_owned());
        self.dispatcher.whole(job, &AttemptResult::Accepted { keys: vec![key], id: id.clone() });
        if receipt.state.as_ref().is_some_and(TagState::is_delivered) {
            let text = receipt.words;
            self.dispatcher.note(&self.receipt(key, id, ReceiptState::Delivered, text));
        }
    }

    /// What there is to ask of a page later; nothing where the reply to SEND said all.
    fn tag_of(&self, job: &PagerJob, receipt: &SendReceipt) -> Option<PagedTag> {
        let (polling, tag) = (self.peer().settings.two_way?, receipt.tag.clone()?);
        let (segment, state) = (&job.leased.segment, receipt.state.as_ref()?);
        // A reply to SEND knows of no answer, also where it says that nothing more will follow.
        let is_over = state.is_delivered() && !segment.answer;
        if is_over || self.tags.is_none() {
            return None;
        }
        let choices = &job.leased.prepared.choices;
        Some(PagedTag {
            alert: segment.alert,
            endpoint: job.entry().endpoint,
            address: job.entry().address.clone(),
            tag,
            until: self.context.now().plus_s(polling.at_most_for.as_secs() as i64),
            wants_answer: segment.answer,
            choices: choices.iter().map(|choice| (choice.code.clone(), choice.key.clone())).collect(),
        })
    }

    /// A receipt of a page.
    pub(super) fn receipt(&self, key: u64, id: String, state: ReceiptState, text: String) -> Outcome {
        let (route, at) = (self.name.clone(), self.context.now());
        Outcome::Receipt(Receipt { route, keys: vec![key], id, state, text, at })
    }

    fn count_loss(&self, of: AttemptRef) -> u8 {
        let mut lost = locked(&self.lost);
        // What went back and was then cancelled stays: rarely, and not for ever.
        if lost.len() > self.peer.load().sessions * 2 {
            lost.clear();
        }
        let times = lost.entry(of).or_default();
        *times += 1;
        *times
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
