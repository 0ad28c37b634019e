//! Follower runs in a process while another leads: its doors store alerts and announce them, and send
//! requests to the leader.

use super::leader_client::LeaderClient;
use super::nodes::Nodes;
use crate::api::{EngineError, Parts};
use crate::run::{ActorCommand, Health, Lags, bus_error, store_error};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

use super::leader_lease::Turn;

/// Commands taken in one go.
const COMMANDS_AT_ONCE: usize = 256;
/// Answers read in one go, and their octets.
const ANSWERS_AT_ONCE: usize = 1_024;
const ANSWERS_OCTETS: usize = 4 * 1024 * 1024;
/// How far the leader is, is asked of the store so often; and who waits too long is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After a failure the answers are read again so much later.
const PAUSE: Duration = Duration::from_millis(500);
/// Gateways take nothing new while so many records of outcomes are not in SQL: what a leader allows itself,
/// and a fold's worth more.
const BEHIND_RECORDS_MAX: u64 = 40_000;

/// Why a follower came to its end.
pub enum FollowerEnd {
    /// Whose turn it is has changed.
    Turn,
    /// It was told to stop.
    Stopped(tokio::sync::oneshot::Sender<()>),
    /// Nobody holds the engine any more.
    Gone,
}

/// See the module.
pub struct Follower {
    pub parts: Parts,
    asking: LeaderClient,
    accepted: Arc<dyn bus::Topic>,
    outcomes: Arc<dyn bus::Topic>,
    health: Arc<dyn bus::Retained>,
    nodes: Nodes,
    lags: Lags,
    background: FuturesUnordered<BoxFuture<'static, BackgroundResult>>,
    reading: bool,
    looked: Option<Instant>,
    looking: bool,
}

/// What a background task came to.
enum BackgroundResult {
    /// Requests are on the bus, or could not be put there.
    RequestsSent(Vec<u64>, Result<(), EngineError>),
    Answers(Result<Vec<bus::Record>, bus::BusError>),
    /// How far outcomes and intake are in SQL.
    Progress(Result<(u64, u64), EngineError>),
    Done,
}

impl Follower {
    /// Opens its topics; may block.
    pub fn open(parts: Parts, node: &str, lags: Lags) -> Result<Follower, EngineError> {
        let topic = |name: &str| parts.bus.topic(name).map_err(bus_error);
        Ok(Follower {
            asking: LeaderClient::open(&parts, node)?,
            accepted: topic(records::ACCEPTED)?,
            outcomes: topic(records::OUTCOMES)?,
            health: parts.bus.retained(records::ROUTES).map_err(bus_error)?,
            nodes: Nodes::default(),
            parts,
            lags,
            background: FuturesUnordered::new(),
            reading: false,
            looked: None,
            looking: false,
        })
    }

    /// Until it is another's turn.
    pub async fn follow(
        &mut self,
        commands: &mut mpsc::Receiver<ActorCommand>,
        turns: &mut watch::Receiver<Turn>,
    ) -> FollowerEnd {
        let mut waiting = Vec::with_capacity(COMMANDS_AT_ONCE);
        loop {
            self.look();
            let reads = self.asking.is_waiting() && !self.reading;
            let readable = self.asking.answers.readable(self.asking.next);
            tokio::select! {
                count = commands.recv_many(&mut waiting, COMMANDS_AT_ONCE) => {
                    if count == 0 {
                        return FollowerEnd::Gone;
                    }
                    for command in waiting.drain(..) {
                        if let Some(done) = self.obey(command) {
                            return FollowerEnd::Stopped(done);
                        }
                    }
                }
                () = readable, if reads => self.read(),
                Some(background_result) = self.background.next() => self.background_result(background_result),
                changed = turns.changed() => {
                    let is_ours = matches!(&*turns.borrow(), Turn::Ours(_));
                    if changed.is_err() || is_ours {
                        self.asking.give_up_all("the process that leads has changed; try again");
                        return if changed.is_err() { FollowerEnd::Gone } else { FollowerEnd::Turn };
                    }
                }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            self.send_requests();
        }
    }

    /// Does what can be done here; asks the rest. What it was told to stop by comes back.
    fn obey(&mut self, command: ActorCommand) -> Option<tokio::sync::oneshot::Sender<()>> {
        if let ActorCommand::Accepted { alert, .. } = &command {
            self.announce(alert.no);
        }
        match self.asking.ask(command)? {
            // From SQL, then: a second behind at most.
            ActorCommand::Look { reply, .. } => _ = reply.send(None),
            ActorCommand::Deliveries { reply, .. } => _ = reply.send(None),
            ActorCommand::People { question, .. } => question.send_back(),
            ActorCommand::Routes { routes, reply } => {
                self.parts.routes = routes;
                let _ = reply.send(Ok(()));
            }
            ActorCommand::Clients { clients, keywords, reply } => {
                self.parts.clients = clients;
                self.parts.settings.keywords = keywords;
                let _ = reply.send(());
            }
            ActorCommand::ApprovalRules { policy, reply } => {
                self.parts.settings.approval = policy;
                let _ = reply.send(());
            }
            ActorCommand::Health { reply } => _ = reply.send(self.how_it_stands()),
            ActorCommand::Stop { reply } => return Some(reply),
            // A live view is the leader's; whoever waits for one hears that it is not to be had here.
            _ => {}
        }
        None
    }

    /// The alert is safe in the store, which is asked for what is unsolved anyhow: this only makes it fast.
    fn announce(&mut self, no: records::AlertNo) {
        let topic = self.accepted.clone();
        self.background.push(Box::pin(async move {
            if let Err(error) = topic.append(&[&records::encode_accepted(no)]).await {
                tracing::warn!(alert = no.0, %error, "an accepted alert could not be announced; it is found in the store");
            }
            BackgroundResult::Done
        }));
    }

    fn send_requests(&mut self) {
        while let Some((ids, records)) = self.asking.take_ready() {
            let topic = self.asking.asks.clone();
            self.background.push(Box::pin(async move {
                let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
                let asked = topic.append(&slices).await.map(|_| ()).map_err(bus_error);
                BackgroundResult::RequestsSent(ids, asked)
            }));
        }
    }

    fn read(&mut self) {
        self.reading = true;
        let (topic, from) = (self.asking.answers.clone(), self.asking.next);
        self.background.push(Box::pin(async move {
            let read = topic.fetch(from, ANSWERS_AT_ONCE, ANSWERS_OCTETS).await;
            if read.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
            BackgroundResult::Answers(read)
        }));
    }

    fn background_result(&mut self, background_result: BackgroundResult) {
        match background_result {
            BackgroundResult::RequestsSent(_, Ok(())) | BackgroundResult::Done => {}
            BackgroundResult::RequestsSent(ids, Err(error)) => self.asking.not_asked(&ids, &error),
            BackgroundResult::Answers(read) => {
                self.reading = false;
                match read {
                    Ok(records) => self.asking.take_answers(&records),
                    Err(error) => tracing::warn!(%error, "answers cannot be read; it will be tried again"),
                }
            }
            BackgroundResult::Progress(progress) => {
                self.looking = false;
                match progress {
                    Ok((folded_to, intake_to)) => self.note_progress(folded_to, intake_to),
                    Err(error) => tracing::warn!(%error, "how far the leader is, is not known"),
                }
            }
        }
    }

    fn note_progress(&self, folded_to: u64, intake_to: u64) {
        self.lags.taken.fetch_max(intake_to, Ordering::Relaxed);
        let behind = self.outcomes.head().saturating_sub(folded_to) > BEHIND_RECORDS_MAX;
        self.lags.behind.store(behind, Ordering::Relaxed);
    }

    fn look(&mut self) {
        let now = Instant::now();
        if self.looked.is_some_and(|looked| now.duration_since(looked) < LOOK_EVERY) {
            return;
        }
        self.looked = Some(now);
        self.asking.give_up();
        self.nodes.read(&*self.health, now);
        if std::mem::replace(&mut self.looking, true) {
            return;
        }
        let store = self.parts.store.clone();
        let progress = async move {
            let folded_to = store.folded_to().await.map_err(store_error)?;
            Ok((folded_to, store.intake_to().await.map_err(store_error)?))
        };
        self.background.push(progress.map(BackgroundResult::Progress).boxed());
    }

    fn how_it_stands(&mut self) -> Health {
        let now = Instant::now();
        self.nodes.read(&*self.health, now);
        let routes = self.parts.routes.iter();
        Health {
            routes: routes.map(|route| (route.clone(), self.nodes.health(&route.name, now))).collect(),
            ..Health::default()
        }
    }
}
