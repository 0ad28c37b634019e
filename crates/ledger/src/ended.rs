//! Sessions seen from outside their requests: who opened them, whose they are, and their end by somebody else
//! than their client.

use std::sync::Arc;

use super::account::AccountNumber;
use super::client::{Client, ClientNumber, Clients, Opener};
use super::entry::{Entry, EntryKind};
use super::expiry::Due;
use super::hash::Hash128;
use super::request::ServiceContext;
use super::session::{Reservation, Session};
use super::sessions::SessionTable;
use super::shard::{Shard, Unfit};

/// An open session, for reports and for who asks its client something.
#[derive(Clone, Debug)]
pub struct OpenSession {
    pub session: Hash128,
    /// Session-Id; empty where it is not known.
    pub id: Box<[u8]>,
    pub client: Option<Arc<Client>>,
    pub account: AccountNumber,
    pub number: u32,
    pub until_us: u64,
    /// With more money it would get more.
    pub is_starved: bool,
    pub reserved: i64,
    pub services: Vec<Reservation>,
}

impl Shard {
    /// The open sessions of an account of which this is true.
    pub fn sessions_of(
        &self,
        account: AccountNumber,
        is_wanted: impl Fn(&Session) -> bool,
    ) -> Vec<OpenSession> {
        let wanted = self.sessions.of_account(account).filter(|(_, session)| is_wanted(session));
        wanted.map(|(id, session)| view(&self.clients, *id, session)).collect()
    }

    /// One open session.
    pub fn session(&self, session: &Hash128) -> Option<OpenSession> {
        self.sessions.find(session).map(|found| view(&self.clients, *session, found))
    }

    /// Open sessions of an account in the order of their hashes, after this one: so that pages go on where
    /// the last one ended, whatever begins and ends between them.
    pub fn sessions_after(
        &self,
        account: AccountNumber,
        after: Option<Hash128>,
        count: usize,
    ) -> Vec<OpenSession> {
        let all = self.sessions.of_account(account).map(|(id, _)| *id);
        let mut ids: Vec<Hash128> = all.filter(|id| after.is_none_or(|after| *id > after)).collect();
        if ids.len() > count {
            ids.select_nth_unstable(count);
            ids.truncate(count);
        }
        ids.sort_unstable();
        ids.iter().filter_map(|id| self.session(id)).collect()
    }

    /// The owner's next turns end these sessions, each with a record, and free what they hold.
    pub fn end_sessions(&mut self, sessions: impl IntoIterator<Item = Hash128>) {
        for session in sessions {
            self.expiry.push(0, Due::Ended(session));
        }
    }

    /// A peer of this Origin-Host is at its start `state_id`: sessions that it opened before are to end. How
    /// many. They are looked for only where there are any.
    pub fn end_sessions_before(&mut self, host: &str, state_id: u32) -> usize {
        let clients = self.clients.which(|client| client.is_before(host, state_id));
        if clients.is_empty() {
            return 0;
        }
        let is_theirs = |session: &Session| session.client.is_some_and(|client| clients.contains(&client));
        let ended = self.sessions.iter().filter(|(_, session)| is_theirs(session)).map(|(id, _)| *id);
        let ended: Vec<Hash128> = ended.collect();
        let count = ended.len();
        self.end_sessions(ended);
        count
    }
}

impl Clients {
    /// Notes in the entry of a session that begins who opened it.
    pub(super) fn note_opener(&self, opener: Option<Opener<'_>>, entry: &mut Entry) {
        let Some((opener, (number, is_new))) =
            opener.and_then(|opener| Some((opener, self.number(opener.client)?)))
        else {
            return;
        };
        entry.session_id.extend_from_slice(opener.session_id);
        entry.client = Some(number);
        entry.new_client = is_new.then(|| Arc::clone(opener.client));
    }

    /// A session begins, perhaps in the place of one that a client had opened.
    pub(super) fn commit(&mut self, entry: &Entry, before: Option<ClientNumber>) -> Result<(), Unfit> {
        if let (Some(number), Some(client)) = (entry.client, &entry.new_client)
            && !self.set(number, Arc::clone(client))
        {
            return Err(Unfit("a client with a number that another one has"));
        }
        // Counted before the other is given up: else its number could be thought vacant.
        entry.client.into_iter().for_each(|client| self.begun(client));
        before.into_iter().for_each(|client| self.over(client));
        Ok(())
    }
}

impl SessionTable {
    /// The entry that frees all that a session holds.
    pub(super) fn end_entry(&self, id: Hash128, deed: EntryKind) -> Option<Entry> {
        let session = self.find(&id)?;
        let mut entry = Entry {
            deed,
            session: id,
            number: session.number,
            account: Some(session.account),
            context: session.target.context,
            class: session.target.class,
            destination: session.target.destination,
            ..Entry::default()
        };
        entry.moved.pending = -session.reserved();
        Some(entry)
    }

    /// The service of an entry; of its session, where a later request does not name it.
    pub(super) fn context_of(&self, entry: &Entry) -> ServiceContext {
        match self.find(&entry.session) {
            Some(session) if entry.context.0 == 0 => session.target.context,
            _ => entry.context,
        }
    }
}

fn view(clients: &Clients, id: Hash128, session: &Session) -> OpenSession {
    OpenSession {
        session: id,
        id: session.id.as_slice().into(),
        client: session.client.and_then(|client| clients.get(client)).cloned(),
        account: session.account,
        number: session.number,
        until_us: session.until_us,
        is_starved: session.is_starved(),
        reserved: session.reserved(),
        services: session.reservations().copied().collect(),
    }
}
