//! Takes the lease on leading, renews it, lets go of it. On a thread of its own: whatever the engine's actor
//! waits for, a lease is renewed in time or known to be over.

use super::term::Term;
use super::{Leader, Node};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{HeldLease, Holder, LeaseTaken, SharedStore};
use tokio::sync::{mpsc, oneshot, watch};

/// The lease on leading.
pub const LEASE: &str = "engine";
/// A lease is renewed, and looked at, so many times while it lasts.
const LOOKS: u32 = 3;
/// Who let go of it, or could not begin to lead, lets others try first for this part of a lease.
const REST_PART: u32 = 4;
/// A lease in other hands is asked for this long after it should have run out.
const AFTER: Duration = Duration::from_millis(20);

/// Whose turn it is, as this process knows.
#[derive(Clone)]
pub enum Turn {
    /// Not known yet.
    Unknown,
    /// Ours.
    Ours(Term),
    /// Not ours.
    Theirs,
}

/// What the leader lease can be told.
pub enum LeaseRequest {
    /// The actor's term is over: look at once.
    Ended,
    /// Let go and end; who waits is told.
    Stop(oneshot::Sender<()>),
}

pub struct LeaderLease {
    pub store: SharedStore,
    pub bus: Arc<dyn bus::Bus>,
    pub node: Node,
    pub turns: watch::Sender<Turn>,
    pub leader: watch::Sender<Leader>,
    pub wishes: mpsc::Receiver<LeaseRequest>,
    /// Who we are to others: another name for each term, so that epochs rise though nobody else took it in
    /// between.
    holder: Holder,
    term: Option<Term>,
    /// When the bus answered last.
    reached: Instant,
    /// When the store answered last.
    heard: Instant,
}

impl LeaderLease {
    pub fn new(
        store: SharedStore,
        bus: Arc<dyn bus::Bus>,
        node: Node,
        turns: watch::Sender<Turn>,
        leader: watch::Sender<Leader>,
        wishes: mpsc::Receiver<LeaseRequest>,
    ) -> LeaderLease {
        let holder = holder(&node);
        let now = Instant::now();
        LeaderLease { store, bus, node, turns, leader, wishes, holder, term: None, reached: now, heard: now }
    }

    /// Until it is told to stop, or nobody listens any more: then the lease runs out by itself.
    pub async fn keep(mut self) {
        loop {
            let wait = self.look().await;
            tokio::select! {
                wish = self.wishes.recv() => match wish {
                    Some(LeaseRequest::Ended) => {}
                    Some(LeaseRequest::Stop(done)) => {
                        self.let_go().await;
                        let _ = done.send(());
                        return;
                    }
                    None => return,
                },
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// One look; how long until the next.
    async fn look(&mut self) -> Duration {
        let lease = self.node.lease;
        if self.bus.is_reachable() {
            self.reached = Instant::now();
        } else if self.reached.elapsed() > lease && self.term.is_some() {
            tracing::warn!(
                "the servers behind the bus have not answered for a lease's time: another process may lead"
            );
            self.let_go().await;
            return lease / REST_PART;
        }
        if self.term.as_ref().is_some_and(|term| !term.holds()) {
            self.let_go().await;
            return lease / REST_PART;
        }
        let can_lead = self.node.leads && self.reached.elapsed() <= lease / LOOKS;
        if self.term.is_none() && !can_lead {
            return self.look_on().await;
        }
        let asked = Instant::now();
        let taking = self.store.take_lease(LEASE, &self.holder, lease);
        match tokio::time::timeout(lease / LOOKS, taking).await {
            Ok(Ok(LeaseTaken::Ours { epoch })) => self.is_ours(epoch, asked),
            Ok(Ok(LeaseTaken::Theirs(held))) => self.is_theirs(&held),
            Ok(Err(error)) => self.not_heard(&error.to_string()),
            Err(_) => self.not_heard("no answer in time"),
        }
    }

    fn is_ours(&mut self, epoch: u64, asked: Instant) -> Duration {
        let lease = self.node.lease;
        self.heard = Instant::now();
        let known = self.term.as_ref().filter(|term| term.epoch() == epoch);
        if known.is_some_and(|term| term.renew(asked, lease)) {
            return lease / LOOKS;
        }
        if known.is_some() {
            // It came too late: the actor stops, and begins anew under another epoch.
            return Duration::ZERO;
        }
        let term = Term::new(epoch, asked, lease);
        self.end_term();
        tracing::info!(epoch, "this process leads from now on");
        self.leader.send_replace(Leader::Nobody);
        self.term = Some(term.clone());
        self.turns.send_replace(Turn::Ours(term));
        lease / LOOKS
    }

    fn is_theirs(&mut self, held: &HeldLease) -> Duration {
        self.heard = Instant::now();
        if self.end_term() {
            tracing::warn!(by = held.holder.name, "another process leads from now on");
            self.holder = holder(&self.node);
        }
        self.tell(Leader::There { address: held.holder.address.clone() });
        self.follow();
        (held.remaining + AFTER).min(self.node.lease / LOOKS)
    }

    fn follow(&self) {
        self.turns.send_if_modified(|turn| {
            let news = !matches!(turn, Turn::Theirs);
            *turn = Turn::Theirs;
            news
        });
    }

    /// The store does not answer: who leads goes on until its own count is over.
    fn not_heard(&mut self, why: &str) -> Duration {
        let lease = self.node.lease;
        tracing::warn!(why, "the lease on leading could not be asked for");
        if self.heard.elapsed() > lease {
            self.end_term();
            self.tell(Leader::Nobody);
        }
        // Sooner than a renewal is due: there is less time left now.
        lease / (LOOKS * LOOKS)
    }

    /// This process cannot lead, since it does not reach the bus, or may not: it only looks who does.
    async fn look_on(&mut self) -> Duration {
        let lease = self.node.lease;
        let looking = self.store.lease_holder(LEASE);
        match tokio::time::timeout(lease / LOOKS, looking).await {
            Ok(Ok(Some(held))) => {
                self.is_theirs(&held);
            }
            Ok(Ok(None)) => {
                self.heard = Instant::now();
                self.tell(Leader::Nobody);
                self.follow();
            }
            Ok(Err(error)) => return self.not_heard(&error.to_string()),
            Err(_) => return self.not_heard("no answer in time"),
        }
        lease / LOOKS
    }

    /// Ends the term, and gives the lease back so that another need not wait for it.
    async fn let_go(&mut self) {
        let Some(term) = self.term.take() else { return };
        term.end();
        self.turns.send_replace(Turn::Theirs);
        self.tell(Leader::Nobody);
        self.holder = holder(&self.node);
        let release = self.store.release_lease(LEASE, term.epoch());
        match tokio::time::timeout(self.node.lease / LOOKS, release).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the lease on leading was not given back; it runs out"),
            Err(_) => tracing::warn!("the lease on leading was not given back in time; it runs out"),
        }
    }

    fn end_term(&mut self) -> bool {
        let ended = self.term.take();
        ended.iter().for_each(Term::end);
        ended.is_some()
    }

    fn tell(&self, leader: Leader) {
        self.leader.send_if_modified(|known| {
            let news = *known != leader;
            *known = leader;
            news
        });
    }
}

fn holder(node: &Node) -> Holder {
    let name = format!("{}/{}", node.name, uuid::Uuid::now_v7().as_simple());
    Holder { name, address: node.address.clone() }
}
