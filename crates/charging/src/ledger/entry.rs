//! One entry of the log: the balance move, the charging record and what a duplicate is answered with, in one. It holds what *became* of
//! a request, never what to work out again, so that other tariffs make no other past.
//!
//! Octets: length (u16, of all that follows), what (u8), which fields are there (varint), time (u64), then those fields in the order of
//! their bits. An EVENT has some 70 octets, 150 at most.

use std::sync::Arc;

use super::account::AccountNumber;
use super::client::{Client, ClientNumber};
use super::hash::Hash128;
use super::key::PackedKey;
use super::request::{Destination, MessageKey, ServiceContext, Terms, Units, Weights};
use super::varint::{Cursor, Reader};

/// What was done. The numbers stand on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Deed {
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
    /// A session was ended here: its client said that it does not know it, or started anew, or somebody ended it.
    SessionEnded = 21,
}

impl Deed {
    fn of(value: u8) -> Option<Deed> {
        use Deed::*;
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
        matches!(self, Deed::Initial | Deed::Update | Deed::Terminate)
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

/// One service of the entry: its charging record, its answer, and what is reserved for it from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceEntry {
    pub rating_group: Option<u32>,
    pub service_id: Option<u32>,
    pub result: u32,
    pub used: Units,
    pub granted: Units,
    /// What was taken for this service, by the record; the moves say it of the account.
    pub cost: i64,
    /// What is reserved for it after this entry, in minor units.
    pub reserved: i64,
    /// What was used and could not be paid.
    pub shortfall: i64,
    /// Which tariff it was; 0: the built-in one.
    pub tariff: u16,
    pub validity_s: u32,
    pub is_final: bool,
    pub terms: Terms,
    /// It is no part of the answer: the record of what was used before the tariff changed, before that of the service; or what a service that the
    /// request did not name still holds of a credit pool.
    pub is_part: bool,
    /// Specific units taken from bundles of messages.
    pub bundled: u64,
    /// Specific units of bundles that are reserved for it after this entry.
    pub bundle_reserved: u64,
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
    pub deed: Deed,
    pub time_us: u64,
    pub result: u32,
    pub session: Hash128,
    pub origin: Hash128,
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

mod service_field {
    pub const GRANTED: u64 = 1;
    pub const COST: u64 = 1 << 1;
    pub const RESULT: u64 = 1 << 2; // else 2001
    pub const RATING_GROUP: u64 = 1 << 3;
    pub const SERVICE_ID: u64 = 1 << 4;
    pub const USED: u64 = 1 << 5;
    pub const RESERVED: u64 = 1 << 6;
    pub const SHORTFALL: u64 = 1 << 7;
    pub const TARIFF: u64 = 1 << 8;
    pub const VALIDITY: u64 = 1 << 9;
    pub const FINAL: u64 = 1 << 10;
    pub const BUNDLED: u64 = 1 << 11;
    pub const BUNDLE_RESERVED: u64 = 1 << 12;
    pub const TERMS: u64 = 1 << 13;
    pub const PART: u64 = 1 << 14;
    pub const POOL: u64 = 1 << 15;
    pub const ALL: u64 = (1 << 16) - 1;
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

#[inline]
fn put_units(into: &mut Cursor<'_>, units: &Units) {
    into.octet(units.present);
    if units.present & Units::SPECIFIC != 0 {
        into.number(units.specific);
    }
    if units.present == Units::SPECIFIC {
        return;
    }
    if units.present & Units::TIME != 0 {
        into.number(u64::from(units.time_s));
    }
    if units.present & Units::OCTETS != 0 {
        into.number(units.octets);
    }
    if units.present & Units::MONEY != 0 {
        into.signed(units.money);
    }
}

fn units(reader: &mut Reader<'_>) -> Option<Units> {
    let mut units = Units { present: reader.octet()?, ..Units::default() };
    if units.present > 15 {
        return None;
    }
    if units.present & Units::SPECIFIC != 0 {
        units.specific = reader.number()?;
    }
    if units.present & Units::TIME != 0 {
        units.time_s = reader.number_u32()?;
    }
    if units.present & Units::OCTETS != 0 {
        units.octets = reader.number()?;
    }
    if units.present & Units::MONEY != 0 {
        units.money = reader.signed()?;
    }
    Some(units)
}

impl ServiceEntry {
    #[inline]
    fn fields(&self) -> u64 {
        use service_field::*;
        let mut fields = 0;
        let mut set = |is: bool, field: u64| fields |= if is { field } else { 0 };
        set(!self.granted.is_empty(), GRANTED);
        set(self.cost != 0, COST);
        set(self.result != SUCCESS, RESULT);
        set(self.rating_group.is_some(), RATING_GROUP);
        set(self.service_id.is_some(), SERVICE_ID);
        set(!self.used.is_empty(), USED);
        // One look for all of them: a service of an EVENT has none.
        let numbers = (self.reserved | self.shortfall) as u64 | self.bundled | self.bundle_reserved;
        let small = u32::from(self.tariff) | self.validity_s | u32::from(self.is_final | self.is_part);
        if numbers | u64::from(small) != 0 { fields | self.rare_fields() } else { fields }
    }

    fn rare_fields(&self) -> u64 {
        use service_field::*;
        let mut fields = 0;
        let mut set = |is: bool, field: u64| fields |= if is { field } else { 0 };
        set(self.reserved != 0, RESERVED);
        set(self.shortfall != 0, SHORTFALL);
        set(self.tariff != 0, TARIFF);
        set(self.validity_s != 0, VALIDITY);
        set(self.is_final, FINAL);
        set(self.bundled != 0, BUNDLED);
        set(self.bundle_reserved != 0, BUNDLE_RESERVED);
        set(self.terms != Terms { pool: self.terms.pool, ..Terms::default() }, TERMS);
        set(self.terms.pool != Weights::default(), POOL);
        set(self.is_part, PART);
        fields
    }

    #[inline]
    fn encode(&self, into: &mut Cursor<'_>) {
        use service_field::*;
        let fields = self.fields();
        into.number(fields);
        if fields & GRANTED != 0 {
            put_units(into, &self.granted);
        }
        if fields & COST != 0 {
            into.signed(self.cost);
        }
        if fields & RESULT != 0 {
            into.number(u64::from(self.result));
        }
        if fields & RATING_GROUP != 0 {
            into.number(u64::from(self.rating_group.unwrap_or(0)));
        }
        if fields & SERVICE_ID != 0 {
            into.number(u64::from(self.service_id.unwrap_or(0)));
        }
        if fields >= USED {
            self.encode_rare(fields, into);
        }
    }

    #[inline(never)]
    fn encode_rare(&self, fields: u64, into: &mut Cursor<'_>) {
        use service_field::*;
        if fields & USED != 0 {
            put_units(into, &self.used);
        }
        for (field, value) in [
            (RESERVED, self.reserved as u64),
            (SHORTFALL, self.shortfall as u64),
            (TARIFF, u64::from(self.tariff)),
            (VALIDITY, u64::from(self.validity_s)),
            (BUNDLED, self.bundled),
            (BUNDLE_RESERVED, self.bundle_reserved),
        ] {
            if fields & field != 0 {
                into.number(value);
            }
        }
        if fields & TERMS != 0 {
            into.array([self.terms.final_action, self.terms.threshold_percent]);
            into.number(self.terms.holding_s.into());
            into.number(self.terms.tariff_change_s.into());
        }
        if fields & POOL != 0 {
            let Weights { time, octets, specific } = self.terms.pool;
            [time, octets, specific].into_iter().for_each(|weight| into.number(weight));
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Option<ServiceEntry> {
        use service_field::*;
        let fields = reader.number()?;
        if fields & !ALL != 0 {
            return None;
        }
        let mut service =
            ServiceEntry { result: SUCCESS, is_final: fields & FINAL != 0, ..ServiceEntry::default() };
        service.is_part = fields & PART != 0;
        if fields & GRANTED != 0 {
            service.granted = units(reader)?;
        }
        if fields & COST != 0 {
            service.cost = reader.signed()?;
        }
        if fields & RESULT != 0 {
            service.result = reader.number_u32()?;
        }
        if fields & RATING_GROUP != 0 {
            service.rating_group = Some(reader.number_u32()?);
        }
        if fields & SERVICE_ID != 0 {
            service.service_id = Some(reader.number_u32()?);
        }
        if fields & USED != 0 {
            service.used = units(reader)?;
        }
        if fields & RESERVED != 0 {
            service.reserved = reader.number()? as i64;
        }
        if fields & SHORTFALL != 0 {
            service.shortfall = reader.number()? as i64;
        }
        if fields & TARIFF != 0 {
            service.tariff = reader.number()?.try_into().ok()?;
        }
        if fields & VALIDITY != 0 {
            service.validity_s = reader.number_u32()?;
        }
        if fields & BUNDLED != 0 {
            service.bundled = reader.number()?;
        }
        if fields & BUNDLE_RESERVED != 0 {
            service.bundle_reserved = reader.number()?;
        }
        if fields & TERMS != 0 {
            service.terms = Terms {
                final_action: reader.octet()?,
                threshold_percent: reader.octet()?,
                holding_s: reader.number_u32()?,
                tariff_change_s: reader.number_u32()?,
                pool: Weights::default(),
            };
        }
        if fields & POOL != 0 {
            service.terms.pool =
                Weights { time: reader.number()?, octets: reader.number()?, specific: reader.number()? };
        }
        Some(service)
    }
}

/// Room for an entry without its services and the octets of a new key: numbers of 64 bits have ten octets at most, those of 32 bits five.
/// Length, deed and fields 6, time 8, result 5, two hashes 32, number and account 10, target 17, five moves and cost 50, count 1, message 20,
/// until 10, bundle 20, refund 16, new account 37, since 10, client 5, length of the session's id 3: 250; what is named has room of its own.
const ENTRY_ROOM: usize = 256;
/// Room for a service: fields 3, twice units 36, cost, reserved, shortfall and both of bundles 50, result, group, id and validity 20, tariff 3,
/// terms 12, pool 30: 190.
const SERVICE_ROOM: usize = 190;

/// Octets before the fields: length and deed.
const HEAD_OCTETS: usize = 3;

impl Entry {
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
        set(self.origin != NO_HASH, ORIGIN);
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
        if fields & ORIGIN != 0 {
            put_hash(into, &self.origin);
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
        self.deed = Deed::of(octets[2])?;
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
            self.origin = hash(reader)?;
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

#[cfg(test)]
mod tests {
    use super::super::hash::HashKey;
    use super::*;

    #[test]
    fn a_part_is_known_as_one_whatever_else_it_says() {
        let part = ServiceEntry { result: SUCCESS, is_part: true, ..ServiceEntry::default() };
        let used = ServiceEntry { used: Units::specific(3), cost: 3, ..part };
        let entry = Entry { result: SUCCESS, services: vec![part, used], ..Entry::default() };
        let (mut encoded, mut decoded) = (Vec::new(), Entry::default());
        entry.encode(&mut encoded);
        assert_eq!(decoded.decode(&encoded), Some(encoded.len()));
        assert_eq!(decoded, entry);
    }

    #[test]
    fn the_longest_entry_has_room_and_comes_back() {
        let units =
            Units { present: 15, time_s: u32::MAX, octets: u64::MAX, specific: u64::MAX, money: i64::MIN };
        let service = ServiceEntry {
            rating_group: Some(u32::MAX),
            service_id: Some(u32::MAX),
            result: u32::MAX,
            used: units,
            granted: units,
            cost: i64::MIN,
            reserved: -1,
            shortfall: -1,
            tariff: u16::MAX,
            validity_s: u32::MAX,
            is_final: true,
            terms: Terms {
                final_action: 2,
                threshold_percent: 100,
                holding_s: u32::MAX,
                tariff_change_s: u32::MAX,
                pool: Weights { time: u64::MAX, octets: u64::MAX, specific: u64::MAX },
            },
            is_part: true,
            bundled: u64::MAX,
            bundle_reserved: u64::MAX,
        };
        let key = PackedKey::from_bytes([0xff; 16]);
        let octets = vec![7; super::super::key::KEY_OCTETS_MAX];
        let context = ServiceContext(u32::MAX);
        let name = "x".repeat(255);
        let client = Client::new(HashKey([1, 2]), &name, &name, &name, Some(u32::MAX));
        for services in [0, 1, SERVICES_MAX] {
            let entry = Entry {
                deed: Deed::BundleExpired,
                time_us: u64::MAX,
                result: u32::MAX,
                session: [u64::MAX; 2],
                origin: [u64::MAX; 2],
                number: u32::MAX,
                account: Some(u32::MAX),
                opened: Some(Opened { key, octets: octets.clone(), balance: i64::MIN, limit: i64::MAX }),
                context,
                class: u8::MAX,
                destination: Destination { digits: u64::MAX, len: 16 },
                moved: Move { posted: i64::MIN, pending: i64::MIN, limit: i64::MIN, debt: i64::MIN },
                cost: i64::MIN,
                enough_credit: Some(false),
                message: Some(MessageKey { alert: u64::MAX, endpoint: u32::MAX }),
                parts: u32::MAX,
                until_us: u64::MAX,
                since: u64::MAX,
                bundle: Some(BundleEntry { units: u64::MAX, context, expires_s: u32::MAX }),
                is_blocked: true,
                refund_of: Some([u64::MAX; 2]),
                services: vec![service; services],
                session_id: vec![7; 1_024],
                client: Some(u32::MAX),
                new_client: Some(Arc::new(client.clone())),
            };
            let (mut encoded, mut decoded) = (Vec::new(), Entry::default());
            entry.encode(&mut encoded);
            assert_eq!(decoded.decode(&encoded), Some(encoded.len()));
            assert_eq!(decoded, entry);
        }
    }
}
