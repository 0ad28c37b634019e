//! One platform's host: its notices are fetched some at a time, in no order, each again until it is heard.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pace::Backoff;
use records::{Notice, NoticeVerb, Redacted};
use reqwest::{Method, Url};
use tokio::sync::Notify;

use super::NoticeDispatcher;
use super::caller::NoCall;
use super::line::{TryResult, chance, words};
use crate::context::Stop;

/// Requests under way at a time to one host.
const IN_FLIGHT: usize = 16;
/// Notices of a host that are held in memory as they are; of more only their place is.
const KEPT_MAX: usize = 1_000;
/// After so many failures of a host one behind another it is left alone for a while.
const FAILURES_MAX: u32 = IN_FLIGHT as u32;

/// What waits for a host.
pub(super) struct Host {
    queue: VecDeque<HostQueue>,
    /// Those that were not heard, by when they are tried again.
    retries: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    under_way: BTreeSet<u64>,
    /// The host's failures since it last answered.
    failures: u32,
    left_alone: Option<Instant>,
    /// Something came.
    pub(super) came: Arc<Notify>,
}

struct HostQueue {
    index: u64,
    notice: Option<Box<Notice>>,
}

/// A notice whose turn it is.
struct DueNotice {
    index: u64,
    notice: Option<Box<Notice>>,
    failures: u32,
}

/// How a turn ended.
enum HostTurnResult {
    /// It needs no more telling.
    Over,
    /// Again; `broken` if the host itself is in trouble.
    NotYet { at_least: Option<Duration>, broken: bool },
}

/// The name of the line that an address waits in: all of a host wait together.
pub(super) fn host_of(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) => format!("{}://{}", url.scheme(), url.authority()),
        Err(_) => String::new(),
    }
}

impl Host {
    pub(super) fn new() -> Host {
        Host {
            queue: VecDeque::new(),
            retries: BinaryHeap::new(),
            under_way: BTreeSet::new(),
            failures: 0,
            left_alone: None,
            came: Arc::default(),
        }
    }

    pub(super) fn push(&mut self, index: u64, notice: Notice) {
        let notice = (self.queue.len() < KEPT_MAX).then(|| Box::new(notice));
        self.queue.push_back(HostQueue { index, notice });
        self.came.notify_one();
    }

    pub(super) fn places(&self) -> impl Iterator<Item = u64> + '_ {
        let queue = self.queue.iter().map(|waiting| waiting.index);
        let retries = self.retries.iter().map(|Reverse((_, index, _))| *index);
        queue.chain(retries).chain(self.under_way.iter().copied())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.retries.is_empty() && self.under_way.is_empty()
    }

    fn next(&mut self, now: Instant) -> Option<DueNotice> {
        if self.left_alone.is_some_and(|until| until > now) {
            return None;
        }
        let turn = match self.retries.peek() {
            Some(Reverse((due, index, failures))) if *due <= now => {
                let (index, failures) = (*index, *failures);
                self.retries.pop();
                DueNotice { index, notice: None, failures }
            }
            _ => {
                let HostQueue { index, notice } = self.queue.pop_front()?;
                DueNotice { index, notice, failures: 0 }
            }
        };
        self.under_way.insert(turn.index);
        Some(turn)
    }

    /// When there may be another turn, if nothing comes.
    fn due(&self) -> Option<Instant> {
        let retry = self.retries.peek().map(|Reverse((due, ..))| *due);
        let queued = (!self.queue.is_empty()).then(Instant::now);
        let next = [retry, queued].into_iter().flatten().min()?;
        Some(self.left_alone.map_or(next, |until| next.max(until)))
    }

    fn failed(
        &mut self,
        turn: &DueNotice,
        at_least: Option<Duration>,
        broken: bool,
        backoff: &Backoff,
        now: Instant,
    ) {
        let wait = |failures: u32| backoff.clone().after(failures).wait(chance());
        let due = now + wait(turn.failures).max(at_least.unwrap_or_default());
        self.retries.push(Reverse((due, turn.index, turn.failures.saturating_add(1))));
        if !broken {
            self.answered();
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES_MAX {
            self.left_alone = Some(now + wait(self.failures / FAILURES_MAX - 1));
        }
    }

    fn answered(&mut self) {
        (self.failures, self.left_alone) = (0, None);
    }
}

/// Tells a host everything that waits for it, until nothing does.
pub(super) async fn run(office: Arc<NoticeDispatcher>, name: String, came: Arc<Notify>, mut stop: Stop) {
    let backoff = Backoff::new(office.settings.retry_first, office.settings.retry_max);
    let mut under_way = FuturesUnordered::new();
    loop {
        let stopping = stop.is_set();
        while !stopping && under_way.len() < IN_FLIGHT {
            let turn = office.with_host(&name, |host| host.next(Instant::now()));
            let Some(turn) = turn.flatten() else { break };
            under_way.push(take_turn(&office, turn));
        }
        if under_way.is_empty() && (stopping || office.close_host(&name)) {
            return;
        }
        let full = under_way.len() >= IN_FLIGHT;
        let due = office.with_host(&name, |host| host.due()).flatten().filter(|_| !full && !stopping);
        tokio::select! {
            Some((turn, ended)) = under_way.next() => settle(&office, &name, &backoff, &turn, &ended),
            () = came.notified(), if !full && !stopping => {}
            () = until(due) => {}
            () = stop.wait(), if !stopping => {}
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

fn settle(
    office: &NoticeDispatcher,
    name: &str,
    backoff: &Backoff,
    turn: &DueNotice,
    ended: &HostTurnResult,
) {
    let over = office.with_host(name, |host| {
        host.under_way.remove(&turn.index);
        match *ended {
            HostTurnResult::Over => host.answered(),
            HostTurnResult::NotYet { at_least, broken } => {
                host.failed(turn, at_least, broken, backoff, Instant::now());
            }
        }
    });
    if over.is_some() && matches!(ended, HostTurnResult::Over) {
        office.acknowledge(turn.index);
    }
}

async fn take_turn(office: &NoticeDispatcher, mut turn: DueNotice) -> (DueNotice, HostTurnResult) {
    let notice = match turn.notice.take() {
        Some(notice) => Some(*notice),
        // Trimmed away: too old to be told.
        None => office.read(turn.index).await,
    };
    let Some(notice) = notice else { return (turn, HostTurnResult::Over) };
    if office.context.now() > notice.expires {
        tracing::warn!(
            url = %Redacted::Url(&notice.url),
            tries = turn.failures,
            "the callback expired before the platform accepted it: it is dropped"
        );
        return (turn, HostTurnResult::Over);
    }
    let ended = fetch(office, &notice).await;
    (turn, ended)
}

/// Asks for the address as it is.
async fn fetch(office: &NoticeDispatcher, notice: &Notice) -> HostTurnResult {
    // It is never closed.
    let _permit = office.requests.acquire().await;
    let request = match office.client.request(Method::GET, &notice.url) {
        Ok(request) => request,
        Err(NoCall::NoUrl) => return HostTurnResult::Over,
        Err(NoCall::Refused(why)) => {
            tracing::info!(url = %Redacted::Url(&notice.url), why, "the callback may not be sent there: it is retried");
            return HostTurnResult::NotYet { at_least: None, broken: true };
        }
    };
    match request.send().await {
        Ok(response) => {
            let status = response.status();
            if status.is_success() || status.is_redirection() {
                return fetched(office, notice, response).await;
            }
            match super::line::judge(office, &response) {
                TryResult::Gone | TryResult::Yes => HostTurnResult::Over,
                TryResult::NotYet(why, at_least) => {
                    tracing::info!(url = %Redacted::Url(&notice.url), why, "the platform refused the callback: it is retried");
                    let broken = status.is_server_error();
                    let _ = read_away(response).await;
                    HostTurnResult::NotYet { at_least, broken }
                }
            }
        }
        Err(error) if error.is_builder() => HostTurnResult::Over,
        Err(error) => {
            tracing::info!(
                url = %Redacted::Url(&notice.url),
                why = words(error),
                "the platform could not be reached: the callback is retried"
            );
            HostTurnResult::NotYet { at_least: None, broken: true }
        }
    }
}

/// The platform took it. Its answer may be a reply; if that cannot be handed in, the platform is called
/// again.
async fn fetched(office: &NoticeDispatcher, notice: &Notice, response: reqwest::Response) -> HostTurnResult {
    let NoticeVerb::FetchReply(form) = &notice.verb else {
        // The connection can be used again only when its answer was read.
        let _ = read_away(response).await;
        return HostTurnResult::Over;
    };
    let text = match super::reply::text_of(response, &notice.url).await {
        Ok(text) => text,
        Err(error) => {
            tracing::info!(
                url = %Redacted::Url(&notice.url),
                why = words(error),
                "the answer to a callback broke off: the person gets no reply"
            );
            None
        }
    };
    let Some(text) = text else { return HostTurnResult::Over };
    match super::reply::send(office, form, text).await {
        Ok(()) => HostTurnResult::Over,
        Err(error) => {
            tracing::error!(%error, "a reply in the answer to a callback could not be stored: the callback is repeated");
            HostTurnResult::NotYet { at_least: None, broken: false }
        }
    }
}

/// An answer's body says nothing to us; more of it than this is not waited for.
const BODY_OCTETS_MAX: usize = 64 * 1024;

async fn read_away(mut response: reqwest::Response) -> reqwest::Result<()> {
    let mut octets = 0;
    while let Some(chunk) = response.chunk().await? {
        octets += chunk.len();
        if octets > BODY_OCTETS_MAX {
            break;
        }
    }
    Ok(())
}
