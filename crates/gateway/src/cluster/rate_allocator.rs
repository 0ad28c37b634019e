//! The process that hands the rates out: the one whose lease it is. Every record it writes says all that is
//! out, at the place it knows to be the next: so one that was replaced is refused, and one that begins knows
//! everything.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bus::{Bus, BusError, Record, Retention, Topic, TopicSettings};
use net::Cores;
use pace::share::{Allotment, Grant, GrantedShare, Need, ShareRequest};
use records::{RATES_ASKED, RATES_GRANTED, RateAsk, RateAsks, RateGrant, RateGrants};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::rate_client::newest;
use super::shares_last;
use crate::context::Stop;

/// Grants of a moment go together.
const TELL_PAUSE: Duration = Duration::from_millis(50);
/// After a failure it begins again after so long.
const SEAT_PAUSE: Duration = Duration::from_millis(500);
/// Routes whose rates are shared; asks for more are passed over.
const ROUTES_MAX: usize = 10_000;
/// Asks read at a time.
const READ_RECORDS: usize = 1_000;
/// And octets of them.
const READ_OCTETS: usize = 1024 * 1024;
/// Records kept of what was asked and granted: only the last few matter.
const KEPT_RECORDS: u64 = 10_000;

/// How the topics of shares are kept.
pub(super) fn settings() -> TopicSettings {
    let retention = Retention { records: Some(KEPT_RECORDS), ..Retention::default() };
    TopicSettings { retention, ..TopicSettings::default() }
}

/// Hands the rates of shared routes out, while it is told to. Each process has one; [`lead`](Allotter::lead)
/// is told by who knows whose lease it is. Two that lead at the same time do no harm: only one of them is
/// heard.
pub struct RateAllocator {
    leads: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RateAllocator {
    /// Opens the topics and waits to be told to lead. `node` and `lease` as in [`Shared`](super::Shared).
    ///
    /// # Errors
    /// The bus's.
    pub fn start(
        bus: &dyn Bus,
        cores: &Cores,
        node: &str,
        lease: Duration,
    ) -> Result<RateAllocator, BusError> {
        let office = AllocatorState {
            node: node.to_owned(),
            asked: bus.topic_with(RATES_ASKED, &settings())?,
            granted: bus.topic_with(RATES_GRANTED, &settings())?,
            lasts: shares_last(lease),
            terms: 0,
        };
        let (leads, led) = watch::channel(false);
        let (stop, stopping) = Stop::pair();
        let task = cores.spawn_on(cores.next(), office.run(led, stopping));
        Ok(RateAllocator { leads, stop, task })
    }

    /// It is this process's turn, or no longer.
    pub fn lead(&self, leads: bool) {
        self.leads.send_if_modified(|before| std::mem::replace(before, leads) != leads);
    }

    /// Ends in order.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

struct AllocatorState {
    node: String,
    asked: Arc<dyn Topic>,
    granted: Arc<dyn Topic>,
    lasts: Duration,
    /// How often it has begun to lead.
    terms: u64,
}

/// While it leads.
struct Term {
    name: String,
    routes: HashMap<String, Allotment>,
    /// The place at which the next record of grants must come to stand.
    head: u64,
    /// Where asks are read next.
    read: u64,
}

impl AllocatorState {
    async fn run(mut self, mut leads: watch::Receiver<bool>, mut stop: Stop) {
        loop {
            tokio::select! {
                led = leads.wait_for(|leads| *leads) => if led.is_err() { return },
                () = stop.wait() => return,
            }
            let ended = tokio::select! {
                ended = self.term() => ended,
                led = leads.wait_for(|leads| !*leads) => match led {
                    Ok(_) => continue,
                    Err(_) => return,
                },
                () = stop.wait() => return,
            };
            match ended {
                Err(BusError::Closed) => return,
                Err(BusError::Moved { .. }) => {
                    tracing::info!("another process allocates the rates of routes")
                }
                Err(error) => tracing::warn!(%error, "rates of routes cannot be allocated; retrying"),
                Ok(()) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(SEAT_PAUSE) => {}
                () = stop.wait() => return,
            }
        }
    }

    /// Leads until it may not, or cannot.
    async fn term(&mut self) -> Result<(), BusError> {
        let mut term = self.take_seat().await?;
        tracing::info!("this process allocates the rates of routes");
        loop {
            let due = term.routes.values().filter_map(Allotment::poll_timeout).min();
            tokio::select! {
                () = self.asked.readable(term.read) => {}
                () = until(due) => {}
            }
            let asks = self.asked.fetch(term.read, READ_RECORDS, READ_OCTETS).await?;
            let now = Instant::now();
            term.hear(&asks, self.lasts, now);
            for allotment in term.routes.values_mut() {
                if allotment.poll_timeout().is_some_and(|due| due <= now) {
                    allotment.handle_timeout(now);
                }
            }
            let mut news = false;
            term.routes.values_mut().for_each(|allotment| news |= allotment.poll_event());
            if news {
                let record = term.record();
                term.head = self.granted.append_at(term.head, &[&record]).await? + 1;
                tokio::time::sleep(TELL_PAUSE).await;
            }
            term.routes.retain(|_, allotment| !allotment.is_empty());
        }
    }

    /// Makes sure that nobody else is heard any more, and takes over all that is out.
    async fn take_seat(&mut self) -> Result<Term, BusError> {
        self.terms += 1;
        let name = format!("{}.{}", self.node, self.terms);
        // What is asked from now on; who asked before asks again when the seat is taken.
        let read = self.asked.latest().await?;
        loop {
            let mut head = self.granted.latest().await?;
            let mut last = head.saturating_sub(1);
            let before = newest(&*self.granted, &mut last).await;
            let before = match before {
                Some(before) => before,
                None if head == 0 => RateGrants { allots: String::new(), grants: Vec::new() },
                None => return Err(BusError::Damaged { what: format!("{RATES_GRANTED} {}", head - 1) }),
            };
            head = head.max(last);
            let seat = RateGrants { allots: name.clone(), ..before };
            match self.granted.append_at(head, &[&seat.encode()]).await {
                Ok(_) => {}
                Err(BusError::Moved { .. }) => continue,
                Err(error) => return Err(error),
            }
            let now = Instant::now();
            let mut routes = HashMap::new();
            for grant in &seat.grants {
                let allotment: &mut Allotment =
                    routes.entry(grant.route.clone()).or_insert_with(|| Allotment::new(self.lasts));
                let standing = GrantedShare {
                    grant: Grant { answers: grant.answers, number: grant.number, rate: grant.rate },
                    most: grant.most,
                };
                allotment.adopt(&grant.node, standing, now);
            }
            return Ok(Term { name, routes, head: head + 1, read });
        }
    }
}

impl Term {
    fn hear(&mut self, records: &[Record], lasts: Duration, now: Instant) {
        for record in records {
            self.read = record.index + 1;
            match RateAsks::decode(&record.octets) {
                Ok(asks) => asks.asks.iter().for_each(|ask| self.ask(ask, lasts, now)),
                Err(error) => {
                    tracing::error!(index = record.index, %error, "a request for rates cannot be decoded and is ignored")
                }
            }
        }
    }

    fn ask(&mut self, ask: &RateAsk, lasts: Duration, now: Instant) {
        if self.routes.len() >= ROUTES_MAX && !self.routes.contains_key(&ask.route) {
            tracing::warn!(
                route = ask.route,
                "too many routes share their rates: this route gets no share and sends nothing"
            );
            return;
        }
        let allotment = self.routes.entry(ask.route.clone()).or_insert_with(|| Allotment::new(lasts));
        let need = match ask.need {
            0 => Need::Unable,
            1 => Need::Idle,
            _ => Need::Busy,
        };
        let RateAsk { number, rate, holds, leaves, .. } = *ask;
        allotment.handle_input(&ask.node, ShareRequest { number, rate, need, holds, leaves }, now);
    }

    /// All that is out.
    fn record(&self) -> Vec<u8> {
        let sorted: BTreeMap<&String, &Allotment> = self.routes.iter().collect();
        let grants = sorted.into_iter().flat_map(|(route, allotment)| {
            allotment.standing().map(|(node, standing)| RateGrant {
                node: node.to_owned(),
                route: route.clone(),
                answers: standing.grant.answers,
                number: standing.grant.number,
                rate: standing.grant.rate,
                most: standing.most,
            })
        });
        RateGrants { allots: self.name.clone(), grants: grants.collect() }.encode()
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
