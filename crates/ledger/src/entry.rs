//! One entry of the log: the balance move, the charging record and what a duplicate is answered with, in one.
//! It holds what *became* of a request, never what to work out again, so that other tariffs make no other
//! past.
//!
//! Octets: length (u16, of all that follows), what (u8), which fields are there (varint), time (u64), then
//! those fields in the order of their bits. An EVENT has some 70 octets, 150 at most.

mod service;
#[cfg(test)]
mod tests;

pub use service::ServiceEntry;

use std::sync::Arc;

use super::account::AccountNumber;
use super::client::{Client, ClientNumber};
use super::hash::Hash128;
use super::key::PackedKey;
use super::request::{Destination, MessageKey, ServiceContext};
use super::tariff::Target;
use super::varint::{Cursor, Reader};
use service::SERVICE_ROOM;

/// What was done. The numbers stand on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EntryKind {
    #[default]
    Debit = 1,
    Refund = 2,
    CheckBalance = 3,
    PriceEnquiry = 4,
    Initial = 5,
    Update = 6,
    Terminate = 7,
    /// Tcc ran out.
    SessionExpired = 8,
    TopUp = 9,
    Create = 10,
    SetLimit = 11,
    Block = 12,
    AddBundle = 13,
    Hold = 14,
    Settle = 15,
    Release = 16,
    Debt = 17,
    /// A message's hold or memory ended.
    MessageExpired = 18,
    BundleExpired = 19,
    /// Nobody knows whether a message was sent.
    Keep = 20,
    /// A session was ended here: its client said that it does not know it, or started anew, or somebody ended
    /// it.
    SessionEnded = 21,
}

impl EntryKind {
    fn of(value: u8) -> Option<EntryKind> {
        use EntryKind::*;
        [
            Debit,
            Refund,
            CheckBalance,
            PriceEnquiry,
            Initial,
            Update,
            Terminate,
            SessionExpired,
            TopUp,
            Create,
            SetLimit,
            Block,
            AddBundle,
            Hold,
            Settle,
            Release,
            Debt,
            MessageExpired,
            BundleExpired,
            Keep,
            SessionEnded,
        ]
        .into_iter()
        .find(|deed| *deed as u8 == value)
    }

    /// Whether a session's duplicates window counts for it (and not that of events).
    pub fn is_of_session(self) -> bool {
        matches!(self, EntryKind::Initial | EntryKind::Update | EntryKind::Terminate)
    }
}

/// By how much the numbers of an account moved, in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Move {
    pub posted: i64,
    pub pending: i64,
    pub limit: i64,
    pub debt: i64,
}

/// A key that opens an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub key: PackedKey,
    /// The key's octets, where its packed form has only their hash.
    pub octets: Vec<u8>,
    pub balance: i64,
    pub limit: i64,
}

/// A number of units that are used before money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleEntry {
    pub units: u64,
    pub context: ServiceContext,
    pub expires_s: u32,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub deed: EntryKind,
    pub time_us: u64,
    pub result: u32,
    pub session: Hash128,
    pub number: u32,
    pub account: Option<AccountNumber>,
    pub opened: Option<Opened>,
    pub context: ServiceContext,
    pub class: u8,
    pub destination: Destination,
    pub moved: Move,
    /// The answer's cost where it is not the sum of the services' (a refund, an enquiry, a hold).
    pub cost: i64,
    pub enough_credit: Option<bool>,
    pub message: Option<MessageKey>,
    pub parts: u32,
    pub until_us: u64,
    /// The place in the order of outcomes before which nothing frees a hold.
    pub since: u64,
    pub bundle: Option<BundleEntry>,
    pub is_blocked: bool,
    /// The session of the event that was refunded.
    pub refund_of: Option<Hash128>,
    pub services: Vec<ServiceEntry>,
    /// Session-Id and client of a session that begins; empty and none elsewhere.
    pub session_id: Vec<u8>,
    pub client: Option<ClientNumber>,
    /// What the client's number means from now on.
    pub new_client: Option<Arc<Client>>,
}

mod field {
    pub const RESULT: u64 = 1; // else 2001
    pub const SESSION: u64 = 1 << 1;
    /// The hash of Origin-Host and end-to-end identifier: 0.2.0 wrote it; it is read over.
    pub const ORIGIN: u64 = 1 << 2;
    pub const NUMBER: u64 = 1 << 3;
    pub const ACCOUNT: u64 = 1 << 4;
    pub const TARGET: u64 = 1 << 5;
    pub const POSTED: u64 = 1 << 6;
    pub const SERVICES: u64 = 1 << 7;
    pub const PENDING: u64 = 1 << 8;
    pub const LIMIT: u64 = 1 << 9;
    pub const DEBT: u64 = 1 << 10;
    pub const COST: u64 = 1 << 11;
    pub const ENOUGH: u64 = 1 << 12;
    pub const NOT_ENOUGH: u64 = 1 << 13;
    pub const MESSAGE: u64 = 1 << 14;
    pub const UNTIL: u64 = 1 << 15;
    pub const BUNDLE: u64 = 1 << 16;
    pub const BLOCKED: u64 = 1 << 17;
    pub const REFUND_OF: u64 = 1 << 18;
    pub const OPENED: u64 = 1 << 19;
    pub const SINCE: u64 = 1 << 20;
    pub const CLIENT: u64 = 1 << 21;
    pub const NEW_CLIENT: u64 = 1 << 22;
    pub const ALL: u64 = (1 << 23) - 1;
}

const SUCCESS: u32 = 2001;
const NO_HASH: Hash128 = [0, 0];
/// No entry has more services; the shard refuses a request with more.
pub const SERVICES_MAX: usize = 128;

#[inline]
fn put_hash(into: &mut Cursor<'_>, hash: &Hash128) {
    into.array(hash[0].to_le_bytes());
    into.array(hash[1].to_le_bytes());
}

fn hash(reader: &mut Reader<'_>) -> Option<Hash128> {
    Some([u64::from_le_bytes(reader.array()?), u64::from_le_bytes(reader.array()?)])
}

/// Room for an entry without its services and the octets of a new key: numbers of 64 bits have ten octets at
/// most, those of 32 bits five. Length, deed and fields 6, time 8, result 5, hash 16, number and
/// account 10, target 17, five moves and cost 50, count 1, message 20, until 10, bundle 20, refund 16, new
/// account 37, since 10, client 5, length of the session's id 3: 250; what is named has room of its own.
const ENTRY_ROOM: usize = 256;
/// Octets before the fields: length and deed.
const HEAD_OCTETS: usize = 3;

impl Entry {
    /// What the tariffs look at.
    pub(super) fn target(&self) -> Target {
        Target { context: self.context, class: self.class, destination: self.destination }
    }

    /// Empties the entry for another use; its list of services keeps its room.
    pub fn reset(&mut self) {
        let mut services = std::mem::take(&mut self.services);
        services.clear();
        let mut session_id = std::mem::take(&mut self.session_id);
        session_id.clear();
        *self = Entry { services, session_id, result: SUCCESS, ..Entry::default() };
    }

    #[inline]
    fn fields(&self) -> u64 {
        use field::*;
        let mut fields = 0;
        let mut set = |is: bool, field: u64| fields |= if is { field } else { 0 };
        set(self.result != SUCCESS, RESULT);
        set(self.session != NO_HASH, SESSION);
        set(self.number != 0, NUMBER);
        set(self.account.is_some(), ACCOUNT);
        set(self.context.0 != 0 || self.class != 0 || self.destination.len != 0, TARGET);
        set(self.moved.posted != 0, POSTED);
        set(!self.services.is_empty(), SERVICES);
        // One look for all of them: an EVENT has none.
        let Move { posted: _, pending, limit, debt } = self.moved;
        let numbers = (pending | limit | debt | self.cost) as u64 | self.until_us | self.since;
        let is_there = self.message.is_some()
            | self.bundle.is_some()
            | self.refund_of.is_some()
            | self.opened.is_some()
            | self.enough_credit.is_some()
            | self.is_blocked;
        if numbers != 0 || is_there { fields | self.rare_fields() } else { fields }
    }

    fn rare_fields(&self) -> u64 {
        use field::*;
        let mut fields = 0;
        let mut set = |is: bool, field: u64| fields |= if is { field } else { 0 };
        set(self.moved.pending != 0, PENDING);
        set(self.moved.limit != 0, LIMIT);
        set(self.moved.debt != 0, DEBT);
        set(self.cost != 0, COST);
        set(self.enough_credit == Some(true), ENOUGH);
        set(self.enough_credit == Some(false), NOT_ENOUGH);
        set(self.message.is_some(), MESSAGE);
        set(self.until_us != 0, UNTIL);
        set(self.bundle.is_some(), BUNDLE);
        set(self.is_blocked, BLOCKED);
        set(self.refund_of.is_some(), REFUND_OF);
        set(self.opened.is_some(), OPENED);
        set(self.since != 0, SINCE);
        set(self.client.is_some(), CLIENT);
        set(self.new_client.is_some(), NEW_CLIENT);
        fields
    }

    /// Appends the entry. At most 64 KiB, which `SERVICES_MAX` and `KEY_OCTETS_MAX` see to.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        let key = self.opened.as_ref().map_or(0, |opened| opened.octets.len());
        let client = self.new_client.as_ref().map_or(0, |client| client.octets());
        let names = key + self.session_id.len() + client;
        into.resize(start + ENTRY_ROOM + names + SERVICE_ROOM * self.services.len(), 0);
        let octets = self.encode_in(&mut into[start..]);
        into.truncate(start + octets);
    }

    /// Writes the entry where there is room enough, and says how many octets it has.
    #[inline]
    fn encode_in(&self, room: &mut [u8]) -> usize {
        use field::*;
        let mut into = Cursor::new(room);
        let into = &mut into;
        let fields = self.fields();
        into.array([0, 0, self.deed as u8]);
        into.number(fields);
        into.array(self.time_us.to_le_bytes());
        if fields & RESULT != 0 {
            into.number(u64::from(self.result));
        }
        if fields & SESSION != 0 {
            put_hash(into, &self.session);
        }
        if fields & NUMBER != 0 {
            into.number(u64::from(self.number));
        }
        if let Some(account) = self.account {
            into.number(u64::from(account));
        }
        if fields & TARGET != 0 {
            into.number(u64::from(self.context.0));
            into.array([self.class, self.destination.len]);
            into.number(self.destination.digits);
        }
        if fields & POSTED != 0 {
            into.signed(self.moved.posted);
        }
        if fields & SERVICES != 0 {
            into.octet(self.services.len() as u8);
            self.services.iter().for_each(|service| service.encode(into));
        }
        if fields >= PENDING {
            self.encode_rare(fields, into);
        }
        let octets = into.octets();
        room[..2].copy_from_slice(&((octets - 2) as u16).to_le_bytes());
        octets
    }

    #[inline(never)]
    fn encode_rare(&self, fields: u64, into: &mut Cursor<'_>) {
        use field::*;
        for (is, value) in [
            (PENDING, self.moved.pending),
            (LIMIT, self.moved.limit),
            (DEBT, self.moved.debt),
            (COST, self.cost),
        ] {
            if fields & is != 0 {
                into.signed(value);
            }
        }
        if let Some(message) = self.message {
            into.number(message.alert);
            into.number(u64::from(message.endpoint));
            into.number(u64::from(self.parts));
        }
        if fields & UNTIL != 0 {
            into.number(self.until_us);
        }
        if let Some(bundle) = self.bundle {
            into.number(bundle.units);
            into.number(u64::from(bundle.context.0));
            into.number(u64::from(bundle.expires_s));
        }
        if let Some(of) = &self.refund_of {
            put_hash(into, of);
        }
        if let Some(opened) = &self.opened {
            into.array(*opened.key.bytes());
            into.octet(opened.octets.len() as u8);
            into.slice(&opened.octets);
            into.signed(opened.balance);
            into.signed(opened.limit);
        }
        if fields & SINCE != 0 {
            into.number(self.since);
        }
        if let Some(client) = self.client {
            into.number(u64::from(client));
            into.number(self.session_id.len() as u64);
            into.slice(&self.session_id);
        }
        if let Some(client) = &self.new_client {
            client.encode(into);
        }
    }

    /// Reads the entry that begins here, into an entry that is used again, and says how many octets it has.
    ///
    /// None: these octets are no entry.
    pub fn decode(&mut self, octets: &[u8]) -> Option<usize> {
        let len = 2 + usize::from(u16::from_le_bytes(octets.first_chunk().copied()?));
        let octets = octets.get(..len)?;
        if len < HEAD_OCTETS {
            return None;
        }
        self.reset();
        self.deed = EntryKind::of(octets[2])?;
        let mut reader = Reader(&octets[HEAD_OCTETS..]);
        let fields = reader.number()?;
        self.decode_fields(fields, &mut reader)?;
        if fields >= field::PENDING {
            self.decode_rare(fields, &mut reader)?;
        }
        (fields & !field::ALL == 0 && reader.0.is_empty()).then_some(len)
    }

    fn decode_fields(&mut self, fields: u64, reader: &mut Reader<'_>) -> Option<()> {
        use field::*;
        self.time_us = u64::from_le_bytes(reader.array()?);
        if fields & RESULT != 0 {
            self.result = reader.number_u32()?;
        }
        if fields & SESSION != 0 {
            self.session = hash(reader)?;
        }
        if fields & ORIGIN != 0 {
            hash(reader)?;
        }
        if fields & NUMBER != 0 {
            self.number = reader.number_u32()?;
        }
        if fields & ACCOUNT != 0 {
            self.account = Some(reader.number_u32()?);
        }
        if fields & TARGET != 0 {
            self.context = ServiceContext(reader.number_u32()?);
            self.class = reader.octet()?;
            self.destination.len = reader.octet().filter(|len| *len <= 16)?;
            self.destination.digits = reader.number()?;
        }
        if fields & POSTED != 0 {
            self.moved.posted = reader.signed()?;
        }
        if fields & SERVICES != 0 {
            for _ in 0..reader.octet()? {
                self.services.push(ServiceEntry::decode(reader)?);
            }
        }
        Some(())
    }

    fn decode_rare(&mut self, fields: u64, reader: &mut Reader<'_>) -> Option<()> {
        use field::*;
        for (is, value) in [
            (PENDING, &mut self.moved.pending),
            (LIMIT, &mut self.moved.limit),
            (DEBT, &mut self.moved.debt),
            (COST, &mut self.cost),
        ] {
            if fields & is != 0 {
                *value = reader.signed()?;
            }
        }
        self.enough_credit = match fields & (ENOUGH | NOT_ENOUGH) {
            0 => None,
            is => Some(is == ENOUGH),
        };
        if fields & MESSAGE != 0 {
            self.message = Some(MessageKey { alert: reader.number()?, endpoint: reader.number_u32()? });
            self.parts = reader.number_u32()?;
        }
        if fields & UNTIL != 0 {
            self.until_us = reader.number()?;
        }
        if fields & BUNDLE != 0 {
            self.bundle = Some(BundleEntry {
                units: reader.number()?,
                context: ServiceContext(reader.number_u32()?),
                expires_s: reader.number_u32()?,
            });
        }
        self.is_blocked = fields & BLOCKED != 0;
        if fields & REFUND_OF != 0 {
            self.refund_of = Some(hash(reader)?);
        }
        if fields & OPENED != 0 {
            let key = PackedKey::from_bytes(reader.array()?);
            let len = reader.octet()?;
            let octets = reader.octets(len.into())?.to_vec();
            self.opened = Some(Opened { key, octets, balance: reader.signed()?, limit: reader.signed()? });
        }
        if fields & SINCE != 0 {
            self.since = reader.number()?;
        }
        if fields & CLIENT != 0 {
            self.client = Some(reader.number_u32()?);
            let len = usize::try_from(reader.number()?).ok()?;
            self.session_id.extend_from_slice(reader.octets(len)?);
        }
        if fields & NEW_CLIENT != 0 {
            self.new_client = Some(Arc::new(Client::decode(reader)?));
        }
        Some(())
    }
}
