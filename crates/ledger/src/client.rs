//! Client of a session: the client that asks, the connected peer it asks through, and since which start of
//! it. Each has a small number in its shard, which sessions keep; the log says the number's meaning once,
//! with the first session that needs it.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::hash::{Hash128, HashKey};
use super::session::KeyedHasher;
use super::varint::{Cursor, Reader, put};

/// A client's number in its shard.
pub type ClientNumber = u32;

/// No shard knows more clients at once; a session of one more is charged all the same, and nobody can be
/// asked about it.
pub const CLIENTS_MAX: usize = 65_536;
/// The longest name of a node, octets (a DiameterIdentity is a name of DNS).
const NAME_OCTETS_MAX: usize = 255;

/// A client at one of its starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    hash: Hash128,
    /// Origin-Host of its requests.
    pub host: Box<str>,
    /// Origin-Realm of its requests.
    pub realm: Box<str>,
    /// Origin-Host of the peer that they come from: itself, or an agent in between.
    pub via: Box<str>,
    /// Origin-State-Id: a greater one is a later start, which knows nothing of the sessions before (RFC 6733,
    /// section 8.16); 0 says nothing.
    pub state_id: Option<u32>,
}

impl Client {
    /// Names longer than 255 octets are cut: they are nobody's.
    pub fn new(key: HashKey, host: &str, realm: &str, via: &str, state_id: Option<u32>) -> Client {
        let [host, realm, via] = [host, realm, via].map(|name| cut(name).into());
        let mut client = Client { hash: [0, 0], host, realm, via, state_id };
        let mut octets = Vec::new();
        client.put(&mut octets);
        client.hash = key.octets(&octets);
        client
    }

    /// Whether it came directly, and is of an earlier start than this one.
    pub fn is_before(&self, host: &str, state_id: u32) -> bool {
        self.via.eq_ignore_ascii_case(host)
            && self.host.eq_ignore_ascii_case(host)
            && self.state_id.is_some_and(|before| before != 0 && before < state_id)
    }

    fn names(&self) -> [&str; 3] {
        [&self.host, &self.realm, &self.via]
    }

    /// Octets that `encode` needs at most.
    pub(super) fn octets(&self) -> usize {
        self.names().iter().map(|name| name.len() + 2).sum::<usize>() + 16 + 10
    }

    pub(super) fn encode(&self, into: &mut Cursor<'_>) {
        into.array(self.hash[0].to_le_bytes());
        into.array(self.hash[1].to_le_bytes());
        for name in self.names() {
            into.number(name.len() as u64);
            into.slice(name.as_bytes());
        }
        into.number(self.state_id.map_or(0, |id| u64::from(id) + 1));
    }

    /// The same for a buffer that grows.
    pub(super) fn put(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.hash[0].to_le_bytes());
        into.extend_from_slice(&self.hash[1].to_le_bytes());
        for name in self.names() {
            put(into, name.len() as u64);
            into.extend_from_slice(name.as_bytes());
        }
        put(into, self.state_id.map_or(0, |id| u64::from(id) + 1));
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Option<Client> {
        let hash = [u64::from_le_bytes(reader.array()?), u64::from_le_bytes(reader.array()?)];
        let mut name = || {
            let len = usize::try_from(reader.number()?).ok().filter(|len| *len <= NAME_OCTETS_MAX)?;
            std::str::from_utf8(reader.octets(len)?).ok().map(Box::<str>::from)
        };
        let (host, realm, via) = (name()?, name()?, name()?);
        let state_id = match reader.number()? {
            0 => None,
            more => Some(u32::try_from(more - 1).ok()?),
        };
        Some(Client { hash, host, realm, via, state_id })
    }
}

fn cut(name: &str) -> &str {
    let mut octets = name.len().min(NAME_OCTETS_MAX);
    while !name.is_char_boundary(octets) {
        octets -= 1;
    }
    &name[..octets]
}

/// Who begins a session, and as what.
#[derive(Clone, Copy, Debug)]
pub struct Opener<'a> {
    /// Session-Id, as it came.
    pub session_id: &'a [u8],
    pub client: &'a Arc<Client>,
    /// Its services stand in Multiple-Services-Credit-Control, and have results of their own.
    pub is_multiple: bool,
}

/// A client with the number of its open sessions.
#[derive(Clone, Debug)]
struct KnownClient {
    client: Arc<Client>,
    sessions: u32,
}

/// The clients of a shard. A number whose sessions are all over is given to somebody else when it is needed.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    all: Vec<KnownClient>,
    by_hash: HashMap<Hash128, ClientNumber, BuildHasherDefault<KeyedHasher>>,
}

impl Clients {
    /// A client's number; for one that is not known the number that it shall have, and true. None: there are
    /// too many.
    pub fn number(&self, client: &Client) -> Option<(ClientNumber, bool)> {
        if let Some(number) = self.by_hash.get(&client.hash) {
            return Some((*number, false));
        }
        let vacant = self.all.iter().position(|known| known.sessions == 0);
        let number = vacant.or((self.all.len() < CLIENTS_MAX).then_some(self.all.len()))?;
        Some((number as ClientNumber, true))
    }

    pub fn get(&self, number: ClientNumber) -> Option<&Arc<Client>> {
        self.all.get(number as usize).map(|known| &known.client)
    }

    /// From now on the number means this client. False: it is neither the next one nor vacant.
    pub fn set(&mut self, number: ClientNumber, client: Arc<Client>) -> bool {
        let (place, count) = (number as usize, self.all.len());
        let hash = client.hash;
        match self.all.get_mut(place) {
            Some(known) if known.sessions == 0 => {
                self.by_hash.remove(&known.client.hash);
                known.client = client;
            }
            None if place == count => self.all.push(KnownClient { client, sessions: 0 }),
            _ => return false,
        }
        self.by_hash.insert(hash, number);
        true
    }

    /// One of its sessions begins.
    pub fn begun(&mut self, number: ClientNumber) {
        if let Some(known) = self.all.get_mut(number as usize) {
            known.sessions += 1;
        }
    }

    /// One of its sessions is over.
    pub fn over(&mut self, number: ClientNumber) {
        if let Some(known) = self.all.get_mut(number as usize) {
            known.sessions = known.sessions.saturating_sub(1);
        }
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Client>> {
        self.all.iter().map(|known| &known.client)
    }

    /// Those with open sessions of which this is true.
    pub fn which(&self, is_it: impl Fn(&Client) -> bool) -> Vec<ClientNumber> {
        let open =
            self.all.iter().enumerate().filter(|(_, known)| known.sessions > 0 && is_it(&known.client));
        open.map(|(number, _)| number as ClientNumber).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: HashKey = HashKey([3, 4]);

    fn client(host: &str, state_id: Option<u32>) -> Arc<Client> {
        Arc::new(Client::new(KEY, host, "example", host, state_id))
    }

    #[test]
    fn a_client_comes_back_as_it_was_written() {
        for state_id in [None, Some(0), Some(u32::MAX)] {
            let long = "x".repeat(300);
            for client in [client("a.example", state_id), client(&long, state_id)] {
                let mut octets = vec![0; client.octets()];
                let mut cursor = Cursor::new(&mut octets);
                client.encode(&mut cursor);
                let len = cursor.octets();
                let mut reader = Reader(&octets[..len]);
                assert_eq!(Client::decode(&mut reader).as_ref(), Some(&*client));
                assert!(reader.0.is_empty() && client.host.len() <= NAME_OCTETS_MAX);
            }
        }
    }

    #[test]
    fn a_number_is_given_again_only_when_no_session_has_it() {
        let mut clients = Clients::default();
        let (one, two, three) = (client("a", Some(1)), client("a", Some(2)), client("b", None));
        assert_eq!(clients.number(&one), Some((0, true)));
        assert!(clients.set(0, one.clone()));
        clients.begun(0);
        assert_eq!(clients.number(&one), Some((0, false)));
        assert_eq!(clients.number(&two), Some((1, true)), "another start is another client");
        assert!(!clients.set(0, two.clone()), "the first has a session");
        assert!(!clients.set(7, two.clone()));
        assert!(clients.set(1, two.clone()));
        clients.begun(1);
        assert_eq!(clients.which(|client| client.is_before("A", 2)), [0]);
        clients.over(0);
        assert!(clients.which(|client| client.is_before("A", 2)).is_empty());
        assert_eq!(clients.number(&three), Some((0, true)));
        assert!(clients.set(0, three.clone()));
        clients.begun(0);
        assert_eq!(clients.number(&one), Some((2, true)), "its number means somebody else now");
        assert!(!three.is_before("b", 1), "who never said a state does not tell of a start");
        for (before, now, is_before) in
            [(1, 2, true), (2, 2, false), (2, 1, false), (2, 0, false), (0, 2, false)]
        {
            assert_eq!(client("a", Some(before)).is_before("a", now), is_before, "{before}, then {now}");
        }
    }
}
