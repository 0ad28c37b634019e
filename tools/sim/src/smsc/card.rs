//! Handle of one connection: its state, and the order to end it.

use super::delivery_queue::QueuedDeliverSm;
use super::faults::{Mode, Parting};
use super::{Shared, Smsc};
use serde::Serialize;
use smpp::pdu::Version;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A connection, as it is told to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionInfo {
    /// From 0, in the order of their coming.
    pub session: u64,
    /// The other end.
    pub peer: String,
    /// With TLS.
    pub is_tls: bool,
    /// When it came, microseconds since 1970.
    pub since_us: u64,
    /// Who bound; empty: nobody yet.
    pub system_id: String,
    /// As what.
    pub mode: Option<Mode>,
    /// What both speak: 33, 34 or 50.
    pub version: Option<u8>,
    /// PDUs that came.
    pub pdus: u64,
    /// `deliver_sm` and `data_sm` written to it.
    pub delivered: u64,
    /// Of those, without an answer.
    pub unanswered: u64,
}

/// A connection from outside.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) number: u64,
    pub(super) peer: String,
    is_tls: bool,
    since_us: u64,
    identity: Mutex<Option<(String, Mode, Version)>>,
    pub(super) pdus: AtomicU64,
    pub(super) delivered: AtomicU64,
    pub(super) unanswered: AtomicU64,
    /// Letters that only this session may bring; nothing once it receives no more.
    own: Mutex<Option<VecDeque<QueuedDeliverSm>>>,
    order: Mutex<Option<Parting>>,
    /// There is a letter of its own, an order, or another scene.
    pub(super) wake: Notify,
}

impl Card {
    pub(super) fn new(number: u64, peer: String, is_tls: bool, since_us: u64) -> Self {
        Card {
            number,
            peer,
            is_tls,
            since_us,
            identity: Mutex::default(),
            pdus: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            own: Mutex::default(),
            order: Mutex::default(),
            wake: Notify::new(),
        }
    }

    pub(super) fn bound(&self, system_id: &[u8], mode: Mode, version: Version) {
        let system_id = String::from_utf8_lossy(system_id).into_owned();
        *lock(&self.identity) = Some((system_id, mode, version));
        if mode != Mode::Transmitter {
            *lock(&self.own) = Some(VecDeque::new());
        }
    }

    /// Takes a letter for this session, or gives it back if it receives no more.
    pub(super) fn push(&self, letter: QueuedDeliverSm) -> Result<(), QueuedDeliverSm> {
        match &mut *lock(&self.own) {
            Some(letters) => letters.push_back(letter),
            None => return Err(letter),
        }
        self.wake.notify_one();
        Ok(())
    }

    /// Its own letters, so many at most.
    pub(super) fn take(&self, count: usize, taken: &mut Vec<QueuedDeliverSm>) {
        if let Some(letters) = &mut *lock(&self.own) {
            let count = count.min(letters.len());
            taken.extend(letters.drain(..count));
        }
    }

    /// It receives no more: its letters are for others.
    pub(super) fn close(&self) -> VecDeque<QueuedDeliverSm> {
        lock(&self.own).take().unwrap_or_default()
    }

    /// Tells the session to end.
    pub(super) fn part(&self, how: Parting) {
        *lock(&self.order) = Some(how);
        self.wake.notify_one();
    }

    pub(super) fn order(&self) -> Option<Parting> {
        lock(&self.order).take()
    }

    fn info(&self) -> SessionInfo {
        let identity = lock(&self.identity).clone();
        let (system_id, mode, version) = match identity {
            Some((system_id, mode, version)) => (system_id, Some(mode), Some(version.0)),
            None => (String::new(), None, None),
        };
        SessionInfo {
            session: self.number,
            peer: self.peer.clone(),
            is_tls: self.is_tls,
            since_us: self.since_us,
            system_id,
            mode,
            version,
            pdus: self.pdus.load(Ordering::Relaxed),
            delivered: self.delivered.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
        }
    }
}

impl Shared {
    pub(super) fn cards(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Card>>> {
        lock(&self.cards)
    }

    pub(super) fn session_infos(&self) -> Vec<SessionInfo> {
        self.cards().values().map(|card| card.info()).collect()
    }

    /// Ends one connection, or all. Returns how many.
    pub(super) fn part(&self, session: Option<u64>, how: Parting) -> usize {
        let cards = self.cards();
        let chosen = cards.values().filter(|card| session.is_none_or(|number| number == card.number));
        chosen.map(|card| card.part(how)).count()
    }
}

impl Smsc {
    /// All connections, bound or not, the oldest first.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.shared.session_infos()
    }

    /// Ends one connection (by its number) or all of them. Returns how many there were.
    pub fn drop_sessions(&self, session: Option<u64>, how: Parting) -> usize {
        self.shared.part(session, how)
    }
}

/// What is inside stays right even if a task died while it held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
