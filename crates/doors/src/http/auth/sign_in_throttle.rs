//! Throttle of sign-ins: 1, 2, 4 … seconds after each failure of a user, up to 15 minutes; 30 failures a
//! minute of an address. Names that nobody has wait as those that somebody has.
//!
//! An attempt takes a place in its address's budget before its password is looked at, and a user has few at a
//! time, so that attempts side by side count. One that waits for others alone, as many people behind one
//! address do who come at the same time, is not refused at once: those others may be right. A user who
//! signed in lately from a network waits there by themselves: whoever guesses the name from elsewhere does
//! not shut them out.

use crate::guessing::KnownNetworks;
use crate::http::problem::{HttpProblem, ProblemKind};
use net::network_of;
use sign_in::throttle::WrongCodes;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Failures of one address in a minute.
const ADDRESS_FAILURES: u32 = 30;
const ADDRESS_WINDOW_MS: u64 = 60_000;
/// Attempts of one user at a time.
const USER_AT_ONCE: u32 = 2;
/// Users, addresses, and users with known networks that are remembered; all further ones share an entry.
const KEYS_MAX: usize = 20_000;
/// Failures of a user are forgotten so long after the last one's wait.
const FORGET_AFTER_S: u64 = 3_600;
/// Entries that make nobody wait are looked for so often, where there is no room.
const MAKE_ROOM_EVERY_MS: u64 = 1_000;
/// An attempt that only others under way stand in front of waits so long.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Failures by user and by address.
#[derive(Default)]
pub(crate) struct SignInThrottle {
    hasher: RandomState,
    inner: Mutex<ThrottleState>,
}

#[derive(Default)]
struct ThrottleState {
    users: HashMap<u64, UserAttempts>,
    addresses: HashMap<IpAddr, AddressBudget>,
    known: HashMap<u64, Arc<KnownNetworks>>,
    /// When it was last looked for entries to forget.
    made_room_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct UserAttempts {
    wrong: WrongCodes,
    running: u32,
}

/// Failures since the beginning of a minute, and attempts under way.
#[derive(Debug, Clone, Copy, Default)]
struct AddressBudget {
    began_ms: u64,
    failed: u32,
    running: u32,
}

impl AddressBudget {
    fn is_over(self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.began_ms) >= ADDRESS_WINDOW_MS
    }
}

/// Why an attempt is not looked at now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Throttled {
    /// It comes again after so many seconds.
    For(u64),
    /// Others of the user, or of the address, are under way.
    Crowded,
}

impl SignInThrottle {
    /// An attempt of this user from this address; it counts as failed unless it is said to have succeeded.
    pub(crate) async fn take_turn(
        self: &Arc<Self>,
        user: &str,
        ip: IpAddr,
        now_ms: impl Fn() -> u64,
    ) -> Result<SignInTurn, HttpProblem> {
        let mut waited = Duration::ZERO;
        loop {
            match self.begin(user, ip, now_ms()) {
                Ok(turn) => return Ok(turn),
                Err(Throttled::For(seconds)) => return Err(refusal(seconds)),
                Err(Throttled::Crowded) if waited >= PATIENCE => return Err(refusal(1)),
                Err(Throttled::Crowded) => {
                    tokio::time::sleep(LOOK_EVERY).await;
                    waited += LOOK_EVERY;
                }
            }
        }
    }

    /// The same, at once.
    pub(crate) fn begin(
        self: &Arc<Self>,
        user: &str,
        ip: IpAddr,
        now_ms: u64,
    ) -> Result<SignInTurn, Throttled> {
        let name = self.hasher.hash_one(user);
        let mut state = self.lock();
        let is_known = state.known.get(&name).is_some_and(|known| known.holds(ip));
        let key = if is_known { self.hasher.hash_one((user, network_of(ip))) } else { name };
        state.make_room(now_ms);
        let network = state.network(ip);
        let is_address_full = state.check_address(network, now_ms)?;
        let attempts = state.user(key);
        match attempts.wrong.left_s(now_ms / 1_000) {
            0 if is_address_full || attempts.running >= USER_AT_ONCE => return Err(Throttled::Crowded),
            0 => attempts.running += 1,
            left_s => return Err(Throttled::For(left_s)),
        }
        state.addresses.entry(network).or_default().running += 1;
        let user = Some(TurnOfUser { name, key });
        Ok(SignInTurn { throttle: self.clone(), user, ip, network, now_s: now_ms / 1_000, is_over: false })
    }

    /// An attempt from this address of whoever it may be: a secret that names nobody until it was looked up.
    pub(crate) fn take_address_turn(
        self: &Arc<Self>,
        ip: IpAddr,
        now_ms: u64,
    ) -> Result<SignInTurn, HttpProblem> {
        let mut state = self.lock();
        state.make_room(now_ms);
        let network = state.network(ip);
        match state.check_address(network, now_ms) {
            Ok(false) => {}
            Ok(true) | Err(Throttled::Crowded) => return Err(refusal(1)),
            Err(Throttled::For(seconds)) => return Err(refusal(seconds)),
        }
        state.addresses.entry(network).or_default().running += 1;
        Ok(SignInTurn {
            throttle: self.clone(),
            user: None,
            ip,
            network,
            now_s: now_ms / 1_000,
            is_over: false,
        })
    }

    fn succeeded(&self, turn: &SignInTurn) {
        let mut state = self.lock();
        let address = state.addresses.entry(turn.network).or_default();
        address.running = address.running.saturating_sub(1);
        let Some(user) = turn.user else { return };
        let attempts = state.user(user.key);
        attempts.running = attempts.running.saturating_sub(1);
        attempts.wrong = WrongCodes::default();
        if state.known.len() >= KEYS_MAX {
            state.known.clear();
        }
        state.known.entry(user.name).or_default().note(turn.ip);
    }

    fn failed(&self, turn: &SignInTurn) {
        let mut state = self.lock();
        let address = state.addresses.entry(turn.network).or_default();
        address.running = address.running.saturating_sub(1);
        address.failed += 1;
        let Some(user) = turn.user else { return };
        let attempts = state.user(user.key);
        attempts.running = attempts.running.saturating_sub(1);
        attempts.wrong = attempts.wrong.failed(turn.now_s);
    }

    fn lock(&self) -> MutexGuard<'_, ThrottleState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThrottleState {
    /// Forgets what no longer makes anybody wait, where there is no room for more.
    fn make_room(&mut self, now_ms: u64) {
        let is_full = self.users.len() >= KEYS_MAX || self.addresses.len() >= KEYS_MAX;
        let is_due = |at: u64| now_ms.saturating_sub(at) >= MAKE_ROOM_EVERY_MS;
        if !is_full || !self.made_room_ms.is_none_or(is_due) {
            return;
        }
        self.made_room_ms = Some(now_ms);
        if self.users.len() >= KEYS_MAX {
            let is_recent = |wrong: WrongCodes| {
                wrong.last_s.saturating_add(wrong.wait_s()).saturating_add(FORGET_AFTER_S) > now_ms / 1_000
            };
            self.users.retain(|_, one| one.running > 0 || is_recent(one.wrong));
        }
        if self.addresses.len() >= KEYS_MAX {
            self.addresses.retain(|_, one| one.running > 0 || (one.failed > 0 && !one.is_over(now_ms)));
        }
    }

    /// Whether those under way from an address could use up the failures that it has left in its minute; an
    /// error where none is left.
    fn check_address(&mut self, network: IpAddr, now_ms: u64) -> Result<bool, Throttled> {
        let address = self.addresses.entry(network).or_default();
        if address.is_over(now_ms) {
            *address = AddressBudget { began_ms: now_ms, failed: 0, ..*address };
        }
        if address.failed >= ADDRESS_FAILURES {
            let left_ms = ADDRESS_WINDOW_MS - now_ms.saturating_sub(address.began_ms);
            return Err(Throttled::For(left_ms.div_ceil(1_000)));
        }
        Ok(address.failed + address.running >= ADDRESS_FAILURES)
    }

    /// The entry of a user; without room that of all others.
    fn user(&mut self, key: u64) -> &mut UserAttempts {
        let has_room = self.users.len() < KEYS_MAX || self.users.contains_key(&key);
        self.users.entry(if has_room { key } else { 0 }).or_default()
    }

    /// What the budget of an address is kept under: its network; without room that of all others.
    fn network(&self, ip: IpAddr) -> IpAddr {
        let network = network_of(ip);
        let has_room = self.addresses.len() < KEYS_MAX || self.addresses.contains_key(&network);
        if has_room { network } else { IpAddr::from([0, 0, 0, 0]) }
    }
}

fn refusal(seconds: u64) -> HttpProblem {
    let detail =
        format!("too many sign-ins failed for this name or from this address; try again in {seconds} s");
    HttpProblem::new(ProblemKind::TooMany, detail).retry_after(seconds)
}

/// Whose attempt it is: the hash of the name, and the entry that it counts in.
#[derive(Clone, Copy)]
struct TurnOfUser {
    name: u64,
    key: u64,
}

/// An attempt that may be looked at.
pub(crate) struct SignInTurn {
    throttle: Arc<SignInThrottle>,
    user: Option<TurnOfUser>,
    ip: IpAddr,
    /// Whose budget has its place.
    network: IpAddr,
    now_s: u64,
    is_over: bool,
}

impl SignInTurn {
    /// It was right.
    pub(crate) fn succeeded(mut self) {
        self.is_over = true;
        self.throttle.succeeded(&self);
    }
}

impl Drop for SignInTurn {
    /// A client that leaves has failed: otherwise it could guess without end.
    fn drop(&mut self) {
        if !self.is_over {
            self.throttle.failed(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u32) -> IpAddr {
        IpAddr::V4((0x0A00_0000 + last).into())
    }

    /// Guesses as fast as it may for so many seconds; the number that were looked at.
    fn guesses(throttle: &Arc<SignInThrottle>, seconds: u64, of: impl Fn(u64) -> (String, u32)) -> u64 {
        let mut looked_at = 0;
        for now_ms in (0..seconds * 1_000).step_by(10) {
            let (user, last) = of(now_ms);
            looked_at += u64::from(throttle.begin(&user, ip(last), now_ms).is_ok());
        }
        looked_at
    }

    #[test]
    fn a_user_is_guessed_at_one_two_four_seconds_and_then_every_quarter_of_an_hour() {
        let throttle = Arc::default();
        // From another address each time: 1 + 2 + … + 512 s, and then 900 s each.
        let looked_at = guesses(&throttle, 3_600, |now_ms| ("ann".to_owned(), now_ms as u32));
        assert!((11..=14).contains(&looked_at), "{looked_at}");
    }

    #[test]
    fn an_address_fails_thirty_times_a_minute_whatever_the_names() {
        let throttle = Arc::default();
        let looked_at = guesses(&throttle, 60, |now_ms| (now_ms.to_string(), 1));
        assert_eq!(looked_at, u64::from(ADDRESS_FAILURES));
    }

    #[test]
    fn an_attempt_of_nobody_counts_in_its_address_and_a_right_one_does_not() {
        let throttle: Arc<SignInThrottle> = Arc::default();
        for _ in 0..1_000 {
            throttle.take_address_turn(ip(1), 0).unwrap().succeeded();
        }
        for _ in 0..ADDRESS_FAILURES {
            drop(throttle.take_address_turn(ip(1), 0).unwrap());
        }
        assert!(throttle.take_address_turn(ip(1), 59_999).is_err());
        assert_eq!(throttle.begin("ann", ip(1), 59_999).err(), Some(Throttled::For(1)));
        assert!(throttle.take_address_turn(ip(2), 59_999).is_ok(), "others are not punished");
        assert!(throttle.take_address_turn(ip(1), 60_000).is_ok());
        assert!(throttle.lock().users.is_empty() && throttle.lock().known.is_empty());
    }

    #[test]
    fn a_right_password_costs_nothing_and_forgives() {
        let throttle: Arc<SignInThrottle> = Arc::default();
        for _ in 0..1_000 {
            throttle.begin("ann", ip(1), 5).unwrap().succeeded();
        }
        drop(throttle.begin("ann", ip(1), 5).unwrap());
        assert_eq!(throttle.begin("ann", ip(1), 5).err(), Some(Throttled::For(1)));
        throttle.begin("ann", ip(1), 1_005).unwrap().succeeded();
        assert!(throttle.begin("ann", ip(1), 1_006).is_ok());
    }

    #[test]
    fn a_user_who_is_known_somewhere_gets_in_there_while_others_guess() {
        let throttle: Arc<SignInThrottle> = Arc::default();
        throttle.begin("ann", ip(7 << 16), 0).unwrap().succeeded();
        guesses(&throttle, 60, |now_ms| ("ann".to_owned(), now_ms as u32));
        assert!(matches!(throttle.begin("ann", ip(1), 60_000), Err(Throttled::For(_))));
        assert!(throttle.begin("ann", ip(7 << 16), 60_000).is_ok());
    }

    #[test]
    fn many_people_behind_one_address_wait_for_each_other_and_are_not_taken_for_guesses() {
        let throttle: Arc<SignInThrottle> = Arc::default();
        let begin = |n: u32| throttle.begin(&n.to_string(), ip(1), 0);
        let mut running: Vec<_> = (0..ADDRESS_FAILURES).map(|n| begin(n).unwrap()).collect();
        assert_eq!(begin(99).err(), Some(Throttled::Crowded));
        running.pop().unwrap().succeeded();
        running.push(begin(99).unwrap());
        // Guesses take places for good: as many as were under way, and no more.
        drop(running);
        assert_eq!(begin(100).err(), Some(Throttled::For(60)));
    }

    #[test]
    fn attempts_side_by_side_are_few_and_memory_is_bounded() {
        let throttle: Arc<SignInThrottle> = Arc::default();
        let running: Vec<_> = (0..10).map(|last| throttle.begin("ann", ip(last), 0)).collect();
        assert_eq!(running.iter().filter(|turn| turn.is_ok()).count(), USER_AT_ONCE as usize);
        assert_eq!(running[9].as_ref().err(), Some(&Throttled::Crowded));
        for last in 0..2 * KEYS_MAX as u32 {
            drop(throttle.begin(&last.to_string(), ip(last), 0));
        }
        let state = throttle.lock();
        assert!(state.users.len() <= KEYS_MAX + 1 && state.addresses.len() <= KEYS_MAX + 1);
    }
}
