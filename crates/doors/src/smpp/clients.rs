//! Clients that may bind, and the state that each client's sessions share.

use super::activity::{ActivityView, ClientActivity};
use super::bucket::Bucket;
use super::client_queue::ClientQueue;
use super::config::{SmppClient, client_problems};
use super::meter::SmppMeter;
use crate::guessing::KnownNetworks;
use arc_swap::ArcSwap;
use bus::{Bus, BusError};
use engine::Problem;
use std::collections::{HashMap, HashSet};
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

    /// Unbinds the sessions that a client has now, in order; it may bind again at once. Gives how many there
    /// are; nothing: there is no such client.
    pub(crate) fn unbind(&self, system_id: &str) -> Option<u32> {
        let _one = lock(&self.changing);
        let before = self.table.load_full();
        let client = before.get(system_id.as_bytes())?;
        let mut after = ClientTable::clone(&before);
        after.insert(system_id.as_bytes().into(), Arc::new(BoundClient::again(client)));
        self.table.store(Arc::new(after));
        let count = client.sessions.load(Ordering::Relaxed);
        client.ended.send_replace(true);
        Some(count)
    }

    /// All clients as they are now, by `system_id`.
    pub(crate) fn shown(&self, now: Instant) -> Vec<ClientView> {
        let table = self.table.load();
        let mut shown: Vec<ClientView> = table.values().map(|client| client.shown(now)).collect();
        shown.sort_by(|a, b| a.settings.system_id.cmp(&b.settings.system_id));
        shown
    }

    /// Events that wait for a client, of `topics` on the bus; nothing was kept for one without a topic. May
    /// block.
    ///
    /// # Errors
    /// The bus's.
    pub(crate) fn waiting(
        &self,
        bus: &dyn Bus,
        topics: &HashSet<String>,
        system_id: &str,
    ) -> Result<u64, BusError> {
        match self.find(system_id.as_bytes()) {
            Some(client) if topics.contains(&records::client_topic(system_id)) => {
                Ok(client.client_queue(bus)?.waiting())
            }
            _ => Ok(0),
        }
    }

    pub(super) fn find(&self, system_id: &[u8]) -> Option<Arc<BoundClient>> {
        self.table.load().get(system_id).cloned()
    }
}

/// A client as it is now.
pub(crate) struct ClientView {
    /// As the config has it.
    pub(crate) settings: SmppClient,
    /// What its sessions in this process do.
    pub(crate) activity: ActivityView,
}

/// A client, as long as its settings stay the same.
pub(super) struct BoundClient {
    pub(super) settings: SmppClient,
    pub(super) meter: SmppMeter,
    sessions: AtomicU32,
    bucket: Option<Arc<Mutex<Bucket>>>,
    /// Turns true when these settings no longer hold.
    ended: watch::Sender<bool>,
    client_queue: Mutex<Option<Arc<ClientQueue>>>,
    /// From where it lately came with its password.
    pub(super) known: Arc<KnownNetworks>,
    /// Also of the sessions that still end by earlier settings.
    pub(super) activity: Arc<ClientActivity>,
}

impl BoundClient {
    /// With new settings.
    fn after(earlier: &BoundClient, settings: SmppClient) -> BoundClient {
        let has_same_password = earlier.settings.password == settings.password;
        let known = if has_same_password { Arc::clone(&earlier.known) } else { Arc::default() };
        BoundClient { known, ..BoundClient::counted(settings, Arc::clone(&earlier.activity)) }
    }

    /// With the same settings, for sessions that bind from now on.
    fn again(earlier: &BoundClient) -> BoundClient {
        let client_queue = Mutex::new(lock(&earlier.client_queue).clone());
        let bucket = earlier.bucket.clone();
        BoundClient { bucket, client_queue, ..BoundClient::after(earlier, earlier.settings.clone()) }
    }

    fn new(settings: SmppClient) -> BoundClient {
        BoundClient::counted(settings, Arc::default())
    }

    fn counted(settings: SmppClient, activity: Arc<ClientActivity>) -> BoundClient {
        let bucket = (settings.rate > 0.0).then(|| Arc::new(Mutex::new(Bucket::new(settings.rate))));
        let meter = SmppMeter::new(&settings.system_id, Arc::clone(&activity));
        let (ended, sessions, client_queue) =
            (watch::Sender::new(false), AtomicU32::new(0), Mutex::new(None));
        BoundClient {
            settings,
            meter,
            sessions,
            bucket,
            ended,
            client_queue,
            known: Arc::default(),
            activity,
        }
    }

    fn shown(&self, now: Instant) -> ClientView {
        ClientView { settings: self.settings.clone(), activity: self.activity.shown(now) }
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
    fn whoever_is_unbound_may_bind_again_with_what_is_left_of_the_rate() {
        let clients = Clients::new(vec![SmppClient { rate: 1.0, ..client("a") }, client("b")]).unwrap();
        let find = |name: &str| clients.find(name.as_bytes()).unwrap();
        let (a, b, now) = (find("a"), find("b"), Instant::now());
        let _permit = a.permit().unwrap();
        assert!(a.may_take(1, now));
        assert_eq!((clients.unbind("a"), clients.unbind("c")), (Some(1), None));
        assert!(*a.ended().borrow() && !*b.ended().borrow() && Arc::ptr_eq(&b, &find("b")));
        let again = find("a");
        assert!(!*again.ended().borrow() && again.permit().is_some());
        assert!(!again.may_take(1, now), "the rate is not granted anew");
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
