//! Allotment of one route's rate: what is out, and who is given what next.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::divide::divide;
use super::{Grant, Need, ShareRequest, margin};

/// Processes that can share a route; more are given nothing.
pub const NODES_MAX: usize = 256;
/// What a process gave up counts as out for so long after it said so: writes that were granted before may be
/// under way.
const SETTLE: Duration = Duration::from_millis(250);
/// Grants of one process that may be out at a time and are told apart; older ones count as one.
const OUT_MAX: usize = 16;

/// A route's rate, divided among the processes that ask for it.
///
/// Hand in every ask by [`handle_input`](Self::handle_input), and the time by
/// [`handle_timeout`](Self::handle_timeout). Whenever [`poll_event`](Self::poll_event) says that there is
/// news, tell everybody what [`standing`](Self::standing) says: as a whole, so that who missed something
/// misses nothing, and the process that allots next knows all there is.
#[derive(Debug, Clone)]
pub struct Allotment {
    lasts: Duration,
    nodes: BTreeMap<String, AllotmentNode>,
    /// The last grant's number.
    number: u64,
    news: bool,
}

#[derive(Debug, Clone)]
struct AllotmentNode {
    /// What it asked last, and when that was received.
    asked: Option<(ShareRequest, Instant)>,
    /// What it was granted last.
    given: Option<Grant>,
    /// What it may be using.
    out: Vec<Out>,
}

#[derive(Debug, Clone, Copy)]
struct Out {
    number: u64,
    rate: f64,
    until: Instant,
}

/// What one process was granted last, and the most it may be using.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrantedShare {
    /// The last grant.
    pub grant: Grant,
    /// Messages per second it may be using, until it says that it took the last grant up.
    pub most: f64,
}

impl Allotment {
    /// Nothing is out. Grants last for `lasts`, in all processes of a house.
    pub fn new(lasts: Duration) -> Allotment {
        Allotment { lasts, nodes: BTreeMap::new(), number: 0, news: false }
    }

    /// Takes over from the process that allotted before: what that one said last. It counts from `now`, which
    /// is after anything it could still say.
    pub fn adopt(&mut self, node: &str, standing: GrantedShare, now: Instant) {
        let until = now + self.lasts + margin(self.lasts);
        let GrantedShare { grant, most } = standing;
        self.number = self.number.max(grant.number);
        let before = Out { number: grant.number.saturating_sub(1), rate: most, until };
        let out = vec![before, Out { number: grant.number, rate: grant.rate, until }];
        self.nodes.insert(node.to_owned(), AllotmentNode { asked: None, given: Some(grant), out });
    }

    /// A process asks. What is older than what it asked before is passed over.
    pub fn handle_input(&mut self, node: &str, ask: ShareRequest, now: Instant) {
        if !self.nodes.contains_key(node) {
            if ask.leaves || self.nodes.len() >= NODES_MAX {
                return;
            }
            self.nodes.insert(node.to_owned(), AllotmentNode { asked: None, given: None, out: Vec::new() });
        }
        if let Some(node) = self.nodes.get_mut(node)
            && node.asked.as_ref().is_none_or(|(before, _)| before.number < ask.number)
        {
            node.asked = Some((ask, now));
            for out in node.out.iter_mut().filter(|out| ask.leaves || out.number < ask.holds) {
                out.until = out.until.min(now + SETTLE);
            }
        }
        self.allot(now);
    }

    /// What is over is free again.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.allot(now);
    }

    /// True once after each change of what [`standing`](Self::standing) says.
    pub fn poll_event(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// When something is over, if nothing comes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let lives = self.nodes.values().filter_map(|node| Some(self.end_of(node.asked.as_ref()?)));
        self.nodes.values().flat_map(|node| node.out.iter().map(|out| out.until)).chain(lives).min()
    }

    /// What each process was granted last, and may be using.
    pub fn standing(&self) -> impl Iterator<Item = (&str, GrantedShare)> {
        self.nodes.iter().filter_map(|(name, node)| {
            let grant = node.given.filter(|_| !node.out.is_empty())?;
            Some((name.as_str(), GrantedShare { grant, most: node.most() }))
        })
    }

    /// Nobody asks, and nothing is out.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The route's rate: the lowest that any process knows it by, as while its setting is being changed; 0:
    /// none has a limit.
    pub fn rate(&self) -> f64 {
        let rates = self.nodes.values().filter_map(|node| Some(node.asked.as_ref()?.0.rate));
        let lowest = rates.filter(|rate| rate.is_finite() && *rate > 0.0).fold(f64::INFINITY, f64::min);
        if lowest.is_finite() { lowest } else { 0.0 }
    }

    fn end_of(&self, asked: &(ShareRequest, Instant)) -> Instant {
        asked.1 + self.lasts + margin(self.lasts)
    }

    fn forget_over(&mut self, now: Instant) {
        let life = self.lasts + margin(self.lasts);
        let before = self.nodes.len();
        self.nodes.retain(|_, node| {
            node.out.retain(|out| out.until > now);
            let lives = node.asked.as_ref().is_some_and(|(ask, at)| !ask.leaves && *at + life > now);
            if !lives && node.out.is_empty() {
                return false;
            }
            if !lives && node.asked.as_ref().is_some_and(|(ask, _)| !ask.leaves) {
                node.asked = None;
            }
            true
        });
        self.news |= before != self.nodes.len();
    }

    fn allot(&mut self, now: Instant) {
        self.forget_over(now);
        let rate = self.rate();
        if rate == 0.0 {
            return;
        }
        let asking = |node: &AllotmentNode| node.asked.filter(|(ask, _)| !ask.leaves && ask.rate != 0.0);
        let names: Vec<String> = self
            .nodes
            .iter()
            .filter(|(_, node)| asking(node).is_some())
            .map(|(name, _)| name.clone())
            .collect();
        let needs: Vec<Need> =
            names.iter().filter_map(|name| Some(asking(&self.nodes[name])?.0.need)).collect();
        let held: Vec<f64> = names.iter().map(|name| self.nodes[name].last()).collect();
        for (name, target) in names.iter().zip(divide(rate, &needs, &held)) {
            let others: f64 =
                self.nodes.iter().filter(|(other, _)| *other != name).map(|(_, node)| node.most()).sum();
            self.grant(name, target, rate - others);
        }
    }

    /// Gives a process what it should have, of what the others leave.
    fn grant(&mut self, name: &str, target: f64, room: f64) {
        let (lasts, next) = (self.lasts, self.number + 1);
        let Some(node) = self.nodes.get_mut(name) else { return };
        let Some((ask, heard)) = node.asked else { return };
        let last = node.last();
        let rate = match target > last {
            // In part only what is whole.
            true if room + ROUNDING < target => last.max((room + ROUNDING).floor()),
            true => target,
            false => target,
        };
        if rate == last && node.given.is_some_and(|given| given.answers >= ask.number) {
            return;
        }
        if rate == 0.0 && last == 0.0 && node.out.is_empty() {
            // Nothing is not worth a word.
            return;
        }
        self.number = next;
        node.given = Some(Grant { answers: ask.number, number: next, rate });
        node.push(Out { number: next, rate, until: heard + lasts + margin(lasts) });
        self.news = true;
    }
}

/// Sums of shares are exact, but for what one process has alone.
const ROUNDING: f64 = 1e-9;

impl AllotmentNode {
    /// What it was granted last, if that still stands.
    fn last(&self) -> f64 {
        match (self.given, self.out.last()) {
            (Some(given), Some(out)) if out.number == given.number => given.rate,
            _ => 0.0,
        }
    }

    /// The most that it may be using.
    fn most(&self) -> f64 {
        self.out.iter().map(|out| out.rate).fold(0.0, f64::max)
    }

    fn push(&mut self, out: Out) {
        self.out.push(out);
        if self.out.len() > OUT_MAX {
            let first = self.out.remove(0);
            let second = &mut self.out[0];
            second.rate = second.rate.max(first.rate);
            second.until = second.until.max(first.until);
        }
    }
}
