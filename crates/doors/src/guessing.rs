//! Guessing guard bounds wrong passwords by network and by name, over all doors.
//!
//! Each network and each name has a budget of wrong attempts: some at once, then one in a while. An attempt
//! beyond it waits for its turn, however many connections there are, and one that would wait too long is
//! refused before its password is looked at. A name that lately signed in from a network has a budget of its
//! own there: somebody who guesses it from elsewhere, or guesses other names from the same network, does not
//! shut it out.

use crate::failed_sign_ins::FailedSignIns;
use metrics::Counter;
use net::network_of;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wrong attempts that a network, or a name, has at once.
const BURST: u32 = 20;
/// One more after so long, for a network.
const NETWORK_EVERY: Duration = Duration::from_secs(1);
/// One more after so long, for a name from all networks together.
const NAME_EVERY: Duration = Duration::from_secs(3);
/// An attempt that would wait longer is refused, and that is said after so long.
pub const WAIT_MAX: Duration = Duration::from_secs(3);
/// Networks, names, and pairs of both that are remembered; all further ones share a budget.
const KEYS_MAX: usize = 10_000;
/// Whole budgets are forgotten so often.
const FORGET_EVERY: Duration = Duration::from_secs(10);
/// A network's wrong attempts are one line of the log in so long.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Characters of a name in the log.
const LOGGED_CHARS: usize = 64;
/// Networks from which a name lately signed in.
const KNOWN_MAX: usize = 8;
/// Secrets that were right lately; with more, all are forgotten.
const RIGHT_SECRETS_MAX: usize = 10_000;

/// What an attempt may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuessVerdict {
    /// Be looked at.
    Now,
    /// Be looked at after so long.
    After(Duration),
    /// Nothing: after [`WAIT_MAX`] it is answered as a wrong password is.
    Refused,
}

/// An attempt to sign in.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The door, as the log and the metric name it.
    pub door: &'static str,
    /// The name as it was given; it may be anybody's, or nobody's.
    pub name: &'a [u8],
    /// The client's address.
    pub ip: IpAddr,
    /// The name lately signed in from there: see [`KnownNetworks`].
    pub is_known: bool,
}

/// Budgets of wrong attempts.
#[derive(Debug, Default)]
pub struct GuessingGuard {
    hasher: RandomState,
    /// Budgets that are not whole; 0: nothing needs to be looked at.
    suspects: AtomicUsize,
    inner: Mutex<Budgets>,
    /// Keyed hashes of names with passwords, and of tokens, that were right lately: whoever has one is looked
    /// at in any case, whoever else guesses from the same network.
    right_secrets: Mutex<HashSet<u64>>,
    failures: FailedSignIns,
}

#[derive(Debug, Default)]
struct Budgets {
    by_key: HashMap<Key, GuessBudget>,
    /// Of all that `by_key` has no room for.
    of_others: GuessBudget,
    logged: HashMap<IpAddr, Logged>,
    /// The last time that whole budgets were forgotten.
    forgotten: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Network(IpAddr),
    Name(u64),
    /// A name at a network that it is known from.
    Known(u64, IpAddr),
}

impl Key {
    fn every(self) -> Duration {
        match self {
            Key::Network(_) | Key::Known(..) => NETWORK_EVERY,
            Key::Name(_) => NAME_EVERY,
        }
    }
}

/// Generic cell rate algorithm: when all attempts so far would be due at their rate.
#[derive(Debug, Default)]
struct GuessBudget {
    due: Option<Instant>,
}

impl GuessBudget {
    /// How long until one more attempt is within the budget.
    fn wait(&self, every: Duration, now: Instant) -> Duration {
        let ahead = self.due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now));
        ahead.saturating_sub(every * (BURST - 1))
    }

    fn spend(&mut self, every: Duration, now: Instant) {
        self.due = Some(self.due.map_or(now, |due| due.max(now)) + every);
    }

    fn give_back(&mut self, every: Duration) {
        self.due = self.due.and_then(|due| due.checked_sub(every));
    }

    fn is_whole(&self, now: Instant) -> bool {
        self.due.is_none_or(|due| due <= now)
    }
}

#[derive(Debug)]
struct Logged {
    at: Instant,
    since: u64,
}

impl GuessingGuard {
    /// What failed, for the audit trail.
    pub fn failures(&self) -> &FailedSignIns {
        &self.failures
    }

    /// Nobody guesses: every attempt may be looked at. Costs one read.
    pub fn is_quiet(&self) -> bool {
        self.suspects.load(Ordering::Relaxed) == 0
    }

    /// Whether an attempt may be looked at, and takes it out of the budgets; [`succeeded`](Self::succeeded)
    /// gives it back. To call where looking takes time, so that attempts side by side count.
    pub fn begin(&self, attempt: Attempt<'_>, now: Instant) -> GuessVerdict {
        let verdict = self.judge(attempt, now);
        if verdict == GuessVerdict::Now {
            self.spend(attempt, now);
        }
        verdict
    }

    /// Whether an attempt may be looked at. Costs one read while nobody guesses. An attempt that waits is
    /// taken out of the budgets, so that those side by side wait one behind another.
    pub fn judge(&self, attempt: Attempt<'_>, now: Instant) -> GuessVerdict {
        if self.is_quiet() {
            return GuessVerdict::Now;
        }
        let keys = self.keys(attempt);
        let mut budgets = self.lock();
        if budgets.forget_whole(now) {
            self.count(&budgets);
        }
        let wait = keys
            .iter()
            .flatten()
            .map(|key| budgets.of(*key).wait(key.every(), now))
            .max()
            .unwrap_or_default();
        if wait > WAIT_MAX {
            return GuessVerdict::Refused;
        }
        if wait.is_zero() {
            return GuessVerdict::Now;
        }
        keys.into_iter().flatten().for_each(|key| budgets.spend(key, now));
        GuessVerdict::After(wait)
    }

    /// A name and its password were right: gives back what [`begin`](Self::begin) or a wait took.
    pub fn succeeded(&self, attempt: Attempt<'_>, now: Instant) {
        if self.is_quiet() {
            return;
        }
        let mut budgets = self.lock();
        self.keys(attempt).into_iter().flatten().for_each(|key| budgets.give_back(key, now));
        self.count(&budgets);
    }

    /// Waits until an attempt may be looked at; false: it may not, and is answered as a wrong one is.
    /// [`succeeded`](Self::succeeded) or [`note_failed`](Self::note_failed) comes next.
    pub async fn take_turn(&self, attempt: Attempt<'_>) -> bool {
        match self.begin(attempt, Instant::now()) {
            GuessVerdict::Now => true,
            GuessVerdict::After(wait) => {
                tokio::time::sleep(wait).await;
                true
            }
            GuessVerdict::Refused => {
                self.note_failed(attempt, Instant::now());
                tokio::time::sleep(WAIT_MAX).await;
                false
            }
        }
    }

    /// What `look` finds for a token that a client at `ip` shows; nothing, and a wrong attempt, if it finds
    /// nothing. A token has no name, so an attempt is of its network alone; one that was right lately never
    /// waits.
    ///
    /// # Errors
    /// Those of `look`; then nothing is known, and nothing counts.
    pub async fn judge_token<T, E>(
        &self,
        (door, ip): (&'static str, IpAddr),
        token: &[u8],
        look: impl Future<Output = Result<Option<T>, E>>,
    ) -> Result<Option<T>, E> {
        let attempt = Attempt { door, name: b"", ip, is_known: false };
        let was_right = self.was_right(b"", token);
        if !was_right && !self.take_turn(attempt).await {
            return Ok(None);
        }
        let found = look.await;
        match &found {
            Ok(found) => self.settle((attempt, token), was_right, found.is_some(), Instant::now()),
            Err(_) if was_right => {}
            Err(_) => self.succeeded(attempt, Instant::now()),
        }
        found
    }

    /// Whether this name had this password lately, or there was this token, which has no name. A password
    /// that somebody could guess is to count only where the name is known from the network.
    pub fn was_right(&self, name: &[u8], secret: &[u8]) -> bool {
        self.right_secrets().contains(&self.hasher.hash_one((name, secret)))
    }

    /// An attempt with a password or token was looked at, in its turn or because it [`was_right`] lately, and
    /// is right or wrong.
    ///
    /// [`was_right`]: Self::was_right
    pub fn settle(
        &self,
        (attempt, secret): (Attempt<'_>, &[u8]),
        was_right: bool,
        is_right: bool,
        now: Instant,
    ) {
        let hash = self.hasher.hash_one((attempt.name, secret));
        match (was_right, is_right) {
            (true, true) => {}
            (true, false) => {
                self.right_secrets().remove(&hash);
                self.failed(attempt, now);
            }
            (false, true) => {
                self.succeeded(attempt, now);
                let mut right_secrets = self.right_secrets();
                if right_secrets.len() >= RIGHT_SECRETS_MAX {
                    right_secrets.clear();
                }
                right_secrets.insert(hash);
            }
            (false, false) => self.note_failed(attempt, now),
        }
    }

    /// A name or its password was wrong, where [`judge`](Self::judge) alone came before: takes it out of the
    /// budgets, and notes it.
    pub fn failed(&self, attempt: Attempt<'_>, now: Instant) {
        self.spend(attempt, now);
        self.note_failed(attempt, now);
    }

    /// Counts a wrong attempt in the metric and, some together, in the log. Alone, after
    /// [`begin`](Self::begin), which took it out of the budgets before.
    pub fn note_failed(&self, attempt: Attempt<'_>, now: Instant) {
        failures(attempt.door).increment(1);
        self.failures.count(attempt.door, attempt.ip);
        let network = network_of(attempt.ip);
        let mut budgets = self.lock();
        if budgets.logged.len() >= KEYS_MAX {
            budgets.logged.retain(|_, logged| now.saturating_duration_since(logged.at) < LOG_EVERY);
        }
        let is_full = budgets.logged.len() >= KEYS_MAX;
        let attempts = match budgets.logged.get_mut(&network) {
            Some(logged) if now.saturating_duration_since(logged.at) < LOG_EVERY => {
                logged.since += 1;
                return;
            }
            Some(logged) => {
                let since = logged.since;
                *logged = Logged { at: now, since: 0 };
                since + 1
            }
            None if is_full => return,
            None => {
                budgets.logged.insert(network, Logged { at: now, since: 0 });
                1
            }
        };
        drop(budgets);
        let name: String = String::from_utf8_lossy(attempt.name).chars().take(LOGGED_CHARS).collect();
        tracing::warn!(
            door = attempt.door,
            name = ?name,
            from = %attempt.ip,
            attempts,
            "wrong name or password; attempts counts those of this network since the line before"
        );
    }

    fn spend(&self, attempt: Attempt<'_>, now: Instant) {
        let mut budgets = self.lock();
        self.keys(attempt).into_iter().flatten().for_each(|key| budgets.spend(key, now));
        self.count(&budgets);
    }

    fn count(&self, budgets: &Budgets) {
        self.suspects.store(budgets.by_key.len(), Ordering::Relaxed);
    }

    fn keys(&self, attempt: Attempt<'_>) -> [Option<Key>; 2] {
        let network = network_of(attempt.ip);
        let name = self.hasher.hash_one(attempt.name);
        if attempt.is_known {
            return [Some(Key::Known(name, network)), None];
        }
        [Some(Key::Network(network)), (!attempt.name.is_empty()).then_some(Key::Name(name))]
    }

    fn right_secrets(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.right_secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Budgets> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Budgets {
    fn of(&self, key: Key) -> &GuessBudget {
        self.by_key.get(&key).unwrap_or(if self.by_key.len() < KEYS_MAX { &WHOLE } else { &self.of_others })
    }

    fn of_mut(&mut self, key: Key) -> &mut GuessBudget {
        if self.by_key.len() >= KEYS_MAX && !self.by_key.contains_key(&key) {
            return &mut self.of_others;
        }
        self.by_key.entry(key).or_default()
    }

    /// Gives back what an attempt took; a budget that is whole by that is forgotten.
    fn give_back(&mut self, key: Key, now: Instant) {
        match self.by_key.get_mut(&key) {
            Some(budget) => {
                budget.give_back(key.every());
                if budget.is_whole(now) {
                    self.by_key.remove(&key);
                }
            }
            None => self.of_others.give_back(key.every()),
        }
    }

    /// Forgets budgets that are whole again, once in a while, so that everybody is quick again after a guess.
    fn forget_whole(&mut self, now: Instant) -> bool {
        let is_due = |at: Instant| now.saturating_duration_since(at) >= FORGET_EVERY;
        let is_time = self.forgotten.is_none_or(is_due);
        if is_time {
            self.forgotten = Some(now);
            self.by_key.retain(|_, budget| !budget.is_whole(now));
        }
        is_time
    }

    fn spend(&mut self, key: Key, now: Instant) {
        if self.by_key.len() >= KEYS_MAX && !self.by_key.contains_key(&key) {
            self.by_key.retain(|_, budget| !budget.is_whole(now));
        }
        self.of_mut(key).spend(key.every(), now);
    }
}

static WHOLE: GuessBudget = GuessBudget { due: None };

fn failures(door: &'static str) -> Counter {
    metrics::counter!("campanile_sign_in_failures_total", "door" => door)
}

/// Networks from which one name lately signed in. Looking and noting cost a few reads.
#[derive(Debug)]
pub struct KnownNetworks {
    hasher: RandomState,
    hashes: [AtomicU64; KNOWN_MAX],
    next: AtomicUsize,
}

impl Default for KnownNetworks {
    fn default() -> KnownNetworks {
        KnownNetworks { hasher: RandomState::new(), hashes: Default::default(), next: AtomicUsize::new(0) }
    }
}

impl KnownNetworks {
    /// Whether the name signed in from this address's network.
    pub fn holds(&self, ip: IpAddr) -> bool {
        self.has(self.hash(ip))
    }

    /// The name signed in from there; the network that was noted longest ago makes room.
    pub fn note(&self, ip: IpAddr) {
        let hash = self.hash(ip);
        if !self.has(hash) {
            let at = self.next.fetch_add(1, Ordering::Relaxed) % KNOWN_MAX;
            self.hashes[at].store(hash, Ordering::Relaxed);
        }
    }

    fn has(&self, hash: u64) -> bool {
        self.hashes.iter().any(|known| known.load(Ordering::Relaxed) == hash)
    }

    fn hash(&self, ip: IpAddr) -> u64 {
        // 0 is an empty place.
        self.hasher.hash_one(network_of(ip)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn ip(last: u32) -> IpAddr {
        IpAddr::V4((0x0A00_0000 + last).into())
    }

    fn attempt(name: &str, last: u32) -> Attempt<'_> {
        Attempt { door: "test", name: name.as_bytes(), ip: ip(last), is_known: false }
    }

    /// Tries as fast as the guard lets it for a while; the number of passwords that are looked at.
    fn guesses(
        guard: &GuessingGuard,
        begin: Instant,
        seconds: u64,
        of: impl Fn(u32) -> (String, u32),
    ) -> u32 {
        let mut looked_at = 0;
        for step in 0..seconds * 100 {
            let now = begin + Duration::from_millis(step * 10);
            let (name, last) = of(step as u32);
            let attempt = attempt(&name, last);
            match guard.judge(attempt, now) {
                GuessVerdict::Now => {
                    looked_at += 1;
                    guard.failed(attempt, now);
                }
                GuessVerdict::After(_) => looked_at += 1,
                GuessVerdict::Refused => {}
            }
        }
        looked_at
    }

    #[test]
    fn a_network_guesses_some_at_once_and_then_one_a_second_whatever_the_names() {
        let (guard, begin) = (GuessingGuard::default(), Instant::now());
        let looked_at = guesses(&guard, begin, 60, |step| (format!("name{step}"), 1));
        assert!((60..=60 + BURST + 4).contains(&looked_at), "{looked_at}");
        assert_eq!(guard.judge(attempt("other", 2), begin), GuessVerdict::Now, "others are not punished");
    }

    #[test]
    fn a_name_is_guessed_no_faster_from_many_networks() {
        let (guard, begin) = (GuessingGuard::default(), Instant::now());
        let looked_at = guesses(&guard, begin, 60, |step| ("water".to_owned(), step));
        assert!((20..=20 + BURST + 2).contains(&looked_at), "{looked_at}");
    }

    #[test]
    fn whoever_is_known_gets_in_while_others_guess_the_name() {
        let (guard, begin, known) = (GuessingGuard::default(), Instant::now(), KnownNetworks::default());
        known.note(ip(7));
        guesses(&guard, begin, 10, |_| ("water".to_owned(), 1));
        let now = begin + Duration::from_secs(10);
        assert_eq!(guard.judge(attempt("water", 8), now), GuessVerdict::Refused);
        let own = Attempt { is_known: known.holds(ip(7)), ..attempt("water", 7) };
        assert_eq!(guard.judge(own, now), GuessVerdict::Now);
        assert!(!known.holds(ip(8)));
    }

    #[test]
    fn attempts_side_by_side_count_before_they_are_looked_at() {
        let (guard, now) = (GuessingGuard::default(), Instant::now());
        let verdicts: Vec<GuessVerdict> =
            (0..BURST + 10).map(|_| guard.begin(attempt("a", 1), now)).collect();
        let at_once = verdicts.iter().filter(|verdict| **verdict == GuessVerdict::Now).count();
        assert_eq!(at_once, BURST as usize);
        assert!(matches!(verdicts[BURST as usize], GuessVerdict::After(wait) if wait <= WAIT_MAX));
        assert_eq!(verdicts.last(), Some(&GuessVerdict::Refused));
    }

    #[test]
    fn the_guard_is_quiet_again_after_a_guess() {
        let (guard, begin) = (GuessingGuard::default(), Instant::now());
        assert!(guard.is_quiet());
        guard.failed(attempt("a", 1), begin);
        assert!(!guard.is_quiet());
        guard.judge(attempt("b", 2), begin + FORGET_EVERY);
        assert!(guard.is_quiet());
    }

    #[test]
    fn a_right_password_costs_nothing() {
        let (guard, now) = (GuessingGuard::default(), Instant::now());
        for _ in 0..1_000 {
            assert_eq!(guard.begin(attempt("a", 1), now), GuessVerdict::Now);
            guard.succeeded(attempt("a", 1), now);
        }
        assert!(guard.is_quiet());
    }

    #[tokio::test]
    async fn wrong_tokens_wait_for_their_turn_and_one_that_was_right_does_not() {
        let guard = GuessingGuard::default();
        let from = ("test", ip(1));
        let judged = |token: &'static [u8], is_right: bool| {
            let look = async move { Ok::<_, ()>(is_right.then_some(7)) };
            guard.judge_token(from, token, look).now_or_never()
        };
        assert_eq!(judged(b"right", true), Some(Ok(Some(7))));
        let at_once = (0..BURST + 10).filter(|_| judged(b"wrong", false) == Some(Ok(None))).count();
        assert!((BURST..BURST + 5).contains(&(at_once as u32)), "{at_once}: those beyond the budget wait");
        assert_eq!(judged(b"other", true), None, "of any token");
        assert_eq!(judged(b"right", true), Some(Ok(Some(7))));
        // Once it is revoked it is as any other.
        assert_eq!(judged(b"right", false), Some(Ok(None)));
        assert_eq!(judged(b"right", true), None);
    }

    #[test]
    fn a_budget_fills_again() {
        let (guard, begin) = (GuessingGuard::default(), Instant::now());
        guesses(&guard, begin, 10, |_| ("a".to_owned(), 1));
        let later = begin + NAME_EVERY * (BURST + 10) + Duration::from_secs(10);
        assert!(guesses(&guard, later, 1, |_| ("a".to_owned(), 1)) >= BURST);
    }

    #[test]
    fn memory_is_bounded_and_further_networks_share_a_budget() {
        let (guard, begin) = (GuessingGuard::default(), Instant::now());
        for last in 0..2 * KEYS_MAX as u32 {
            guard.failed(attempt(&format!("n{last}"), last), begin);
        }
        let budgets = guard.lock();
        assert!(budgets.by_key.len() <= KEYS_MAX && budgets.logged.len() <= KEYS_MAX);
        drop(budgets);
        assert_eq!(guard.judge(attempt("new", 1 << 20), begin), GuessVerdict::Refused);
        let later = begin + Duration::from_secs(24 * 3_600);
        guard.failed(attempt("new", 1 << 20), later);
        assert_eq!(guard.judge(attempt("new", 1 << 20), later), GuessVerdict::Now);
    }
}
