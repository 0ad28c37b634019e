//! Clients that may bind, and the state that each client's sessions share.

use super::bucket::Bucket;
use super::client_queue::ClientQueue;
use super::config::{SmppClient, client_problems};
use super::meter::SmppMeter;
use crate::guessing::KnownNetworks;
use arc_swap::ArcSwap;
use bus::{Bus, BusError};
use engine::Problem;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;

/// Octets of a password that are compared; a bind has at most 8.
const PASSWORD_OCTETS: usize = smpp::limits::PASSWORD.octets_max;

/// Compared for a name that nobody has.
const NOBODYS_PASSWORD: &[u8] = b"01234567";

type ClientTable = HashMap<Box<[u8]>, Arc<BoundClient>>;

/// The clients by their `system_id`; a reload puts others in their place.
pub struct Clients {
    table: ArcSwap<ClientTable>,
    changing: Mutex<()>,
}

/// Changes by a reload, by `system_id`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientChanges {
    /// They may bind now.
    pub added: Vec<String>,
    /// Their sessions are being unbound, and may bind again by the new settings.
    pub changed: Vec<String>,
    /// Their sessions are being unbound for good.
    pub removed: Vec<String>,
}

impl Clients {
    /// A table of these.
    ///
    /// # Errors
    /// All their problems.
    pub fn new(clients: Vec<SmppClient>) -> Result<Clients, Vec<Problem>> {
        let empty = Clients { table: ArcSwap::default(), changing: Mutex::new(()) };
        empty.replace(clients)?;
        Ok(empty)
    }

    /// These from now on: sessions of clients that are the same stay bound, those of all others are unbound
    /// in order.
    ///
    /// # Errors
    /// All their problems; then nothing has changed.
    pub fn replace(&self, clients: Vec<SmppClient>) -> Result<ClientChanges, Vec<Problem>> {
        let problems = client_problems(&clients);
        if !problems.is_empty() {
            return Err(problems);
        }
        let _one = lock(&self.changing);
        let before = self.table.load_full();
        let mut changes = ClientChanges::default();
        let mut after = ClientTable::with_capacity(clients.len());
        for settings in clients {
            let key: Box<[u8]> = settings.system_id.as_bytes().into();
            let client = match before.get(&key) {
                Some(client) if client.settings == settings => Arc::clone(client),
                Some(earlier) => {
                    changes.changed.push(settings.system_id.clone());
                    Arc::new(BoundClient::after(earlier, settings))
                }
                None => {
                    changes.added.push(settings.system_id.clone());
                    Arc::new(BoundClient::new(settings))
                }
            };
            after.insert(key, client);
        }
        let after = Arc::new(after);
        self.table.store(Arc::clone(&after));
        for (key, client) in before.iter() {
            match after.get(key) {
                Some(same) if Arc::ptr_eq(same, client) => continue,
                Some(_) => {}
                None => changes.removed.push(client.settings.system_id.clone()),
            }
            client.ended.send_replace(true);
        }
        changes.removed.sort();
        Ok(changes)
    }

    /// Sessions that are bound, by `system_id`.
    pub fn sessions(&self) -> Vec<(String, u32)> {
        let table = self.table.load();
        let count = |client: &Arc<BoundClient>| {
            (client.settings.system_id.clone(), client.sessions.load(Ordering::Relaxed))
        };
        let mut sessions: Vec<(String, u32)> = table.values().map(count).collect();
        sessions.sort();
        sessions
    }

    pub(super) fn find(&self, system_id: &[u8]) -> Option<Arc<BoundClient>> {
        self.table.load().get(system_id).cloned()
    }
}

/// A client, as long as its settings stay the same.
pub(super) struct BoundClient {
    pub(super) settings: SmppClient,
    pub(super) meter: SmppMeter,
    sessions: AtomicU32,
    bucket: Option<Mutex<Bucket>>,
    /// Turns true when these settings no longer hold.
    ended: watch::Sender<bool>,
    client_queue: Mutex<Option<Arc<ClientQueue>>>,
    /// From where it lately came with its password.
    pub(super) known: Arc<KnownNetworks>,
}

impl BoundClient {
    /// With new settings.
    fn after(earlier: &BoundClient, settings: SmppClient) -> BoundClient {
        let has_same_password = earlier.settings.password == settings.password;
        let known = if has_same_password { Arc::clone(&earlier.known) } else { Arc::default() };
        BoundClient { known, ..BoundClient::new(settings) }
    }

    fn new(settings: SmppClient) -> BoundClient {
        let bucket = (settings.rate > 0.0).then(|| Mutex::new(Bucket::new(settings.rate)));
        let meter = SmppMeter::new(&settings.system_id);
        let (ended, sessions, client_queue) =
            (watch::Sender::new(false), AtomicU32::new(0), Mutex::new(None));
        BoundClient { settings, meter, sessions, bucket, ended, client_queue, known: Arc::default() }
    }

    /// Whether this is the password, in a time that does not depend on the matching part.
    pub(super) fn has_password(&self, password: &[u8]) -> bool {
        same_secret(self.settings.password.reveal().as_bytes(), password)
    }

    /// A permit for one more session; nothing when all are taken.
    pub(super) fn permit(self: &Arc<Self>) -> Option<SessionPermit> {
        let max = self.settings.connections;
        let taken = self
            .sessions
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |taken| (taken < max).then_some(taken + 1));
        taken.ok().map(|_| SessionPermit { client: Arc::clone(self) })
    }

    /// Takes `count` messages off the client's rate, or none.
    pub(super) fn may_take(&self, count: u32, now: Instant) -> bool {
        self.bucket.as_ref().is_none_or(|bucket| lock(bucket).take(count, now))
    }

    /// Turns true when these settings no longer hold.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// The queue of the client's events.
    pub(super) fn client_queue(&self, bus: &dyn Bus) -> Result<Arc<ClientQueue>, BusError> {
        let mut client_queue = lock(&self.client_queue);
        if let Some(client_queue) = client_queue.as_ref() {
            return Ok(Arc::clone(client_queue));
        }
        let fresh = Arc::new(ClientQueue::open(bus, &self.settings.system_id)?);
        *client_queue = Some(Arc::clone(&fresh));
        Ok(fresh)
    }
}

/// The place of one session among its client's; free again when dropped.
pub(super) struct SessionPermit {
    client: Arc<BoundClient>,
}

impl Drop for SessionPermit {
    fn drop(&mut self) {
        self.client.sessions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What [`BoundClient::has_password`] does, for a name that nobody has: never true, and it takes as long.
pub(super) fn nobody_has_password(password: &[u8]) -> bool {
    same_secret(NOBODYS_PASSWORD, password) && NOBODYS_PASSWORD.is_empty()
}

/// Compares two passwords without stopping at the first difference.
fn same_secret(ours: &[u8], theirs: &[u8]) -> bool {
    let padded = |word: &[u8]| {
        let mut octets = [0u8; PASSWORD_OCTETS];
        let length = word.len().min(PASSWORD_OCTETS);
        octets[..length].copy_from_slice(&word[..length]);
        octets
    };
    let (ours_padded, theirs_padded) = (padded(ours), padded(theirs));
    let differences = ours_padded.iter().zip(&theirs_padded).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differences) == 0 && ours.len() == theirs.len()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(system_id: &str) -> SmppClient {
        SmppClient {
            system_id: system_id.into(),
            password: "secret".into(),
            account: "a".into(),
            connections: 2,
            ..SmppClient::default()
        }
    }

    #[test]
    fn only_the_password_itself_is_taken() {
        for (theirs, expected) in
            [("secret", true), ("secreT", false), ("secre", false), ("", false), ("secret\0", false)]
        {
            assert_eq!(same_secret(b"secret", theirs.as_bytes()), expected, "{theirs:?}");
        }
        assert!(!same_secret(b"0123456789abcdef", b"0123456789abcdefg"));
    }

    #[test]
    fn a_reload_ends_those_that_changed_and_no_others() {
        let clients = Clients::new(vec![client("same"), client("other"), client("gone")]).unwrap();
        let found = |name: &str| clients.find(name.as_bytes()).unwrap();
        let (same, other, gone) = (found("same"), found("other"), found("gone"));
        let bad = SmppClient { window: 0, ..client("other") };
        assert!(clients.replace(vec![client("same"), bad]).is_err());
        assert!(Arc::ptr_eq(&other, &found("other")), "a bad list changes nothing");
        let changed = SmppClient { rate: 5.0, ..client("other") };
        let changes = clients.replace(vec![client("new"), changed, client("same")]).unwrap();
        assert_eq!(changes.added, ["new"]);
        assert_eq!(changes.changed, ["other"]);
        assert_eq!(changes.removed, ["gone"]);
        assert!(Arc::ptr_eq(&same, &clients.find(b"same").unwrap()));
        assert!(clients.find(b"gone").is_none());
        let ended: Vec<bool> = [same, other, gone].iter().map(|client| *client.ended().borrow()).collect();
        assert_eq!(ended, [false, true, true]);
    }

    #[test]
    fn no_more_sessions_sit_than_may() {
        let clients = Clients::new(vec![client("a")]).unwrap();
        let a = clients.find(b"a").unwrap();
        let (first, second) = (a.permit(), a.permit());
        assert!(first.is_some() && second.is_some() && a.permit().is_none());
        drop(first);
        assert!(a.permit().is_some());
        assert_eq!(clients.sessions(), [("a".to_owned(), 1)]);
    }
}
