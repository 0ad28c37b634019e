//! Snapshots: all of a shard's state at one position of its log, so that a start reads only what came after.
//!
//! The owner copies its state (some tens of milliseconds for a million accounts); another thread writes it. A
//! file is magic, then numbers in varints, then the CRC32C of all before it; it gets its name only when it is
//! on disk. Requests known again are not in it: recovery reads the log from `floor` on for them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wal::{AppendedFile, Disk, create_empty};

use super::account::{AccountNumber, Accounts};
use super::bundle::{AccountBundles, Bundle, Bundles};
use super::client::{Client, Clients};
use super::config::Config;
use super::expiry::Due;
use super::hash::{Hash128, HashKey};
use super::key::PackedKey;
use super::message::{Message, Messages, Stage};
use super::request::{Destination, MessageKey, ServiceContext, Units};
use super::session::{Reservation, Session};
use super::sessions::SessionTable;
use super::shard::Shard;
use super::tariff::Target;
use super::varint::{Reader, put, put_signed};

const MAGIC: &[u8; 16] = b"campanile snap 3";
/// Where in the last octet of a reservation the kinds of granted units begin. Until 0.2.0 nothing stood
/// there: then nobody remembers them.
const GRANTED_SHIFT: u32 = 2;
/// So many are kept: the newest, and one in case that is damaged.
pub const KEPT: usize = 2;

/// A shard's state at a moment.
pub struct FrozenShard {
    /// All entries before this position are in it, none after.
    pub position: u64,
    /// From here on the log is needed for requests that are known again.
    pub floor: u64,
    now_us: u64,
    accounts: Accounts,
    clients: Clients,
    sessions: SessionTable,
    messages: Messages,
    bundles: Bundles,
    refunds: Vec<(Hash128, i64, u64)>,
}

impl Shard {
    /// Copies the state, for a snapshot at the end of the log.
    pub fn freeze(&self, position: u64) -> FrozenShard {
        FrozenShard {
            position,
            floor: self.answered.floor().min(position),
            now_us: self.now_us(),
            accounts: self.accounts.clone(),
            clients: self.clients.clone(),
            sessions: self.sessions.clone(),
            messages: self.messages.clone(),
            bundles: self.bundles.clone(),
            refunds: self.refunds.iter().map(|(of, (amount, at))| (*of, *amount, *at)).collect(),
        }
    }
}

impl FrozenShard {
    /// Writes the snapshot, and removes older ones than are kept.
    ///
    /// # Errors
    ///
    /// The disk does not take it. Nothing is lost: the log has it all.
    pub fn write(&self, disk: &dyn Disk, folder: &Path) -> io::Result<PathBuf> {
        let new = folder.join("snapshot.new");
        let path = folder.join(format!("{:016x}.snapshot", self.position));
        let file = AppendedFile::new(create_empty(disk, &new)?);
        let file = self.encode(io::BufWriter::with_capacity(1 << 20, file))?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.into_inner().sync_all()?;
        disk.rename(&new, &path)?;
        disk.sync_folder(folder)?;
        for (_, old) in list(folder)?.iter().rev().skip(KEPT) {
            disk.remove_file(old)?;
        }
        Ok(path)
    }

    /// Writes the snapshot's octets, and gives back where they went.
    ///
    /// # Errors
    ///
    /// What the writer says.
    pub fn encode<W: Write>(&self, to: W) -> io::Result<W> {
        let mut to = Checked { file: to, crc: 0, piece: Vec::new() };
        to.piece.extend_from_slice(MAGIC);
        for number in [self.position, self.floor, self.now_us] {
            put(&mut to.piece, number);
        }
        self.write_accounts(&mut to)?;
        self.write_rest(&mut to)?;
        to.flush_piece()?;
        to.file.write_all(&to.crc.to_le_bytes())?;
        Ok(to.file)
    }

    fn write_accounts<W: Write>(&self, to: &mut Checked<W>) -> io::Result<()> {
        put(&mut to.piece, self.accounts.len() as u64);
        for (number, account) in self.accounts.iter() {
            to.piece.extend_from_slice(account.key.bytes());
            for amount in [account.posted, account.pending, account.limit, account.debt, account.used] {
                put_signed(&mut to.piece, amount);
            }
            to.piece.push(u8::from(account.is_blocked));
            if account.key.is_hashed() {
                let octets = self.accounts.octets(number);
                to.piece.push(octets.len() as u8);
                to.piece.extend_from_slice(&octets);
            }
            to.flush_if_large()?;
        }
        Ok(())
    }

    fn write_rest<W: Write>(&self, to: &mut Checked<W>) -> io::Result<()> {
        put(&mut to.piece, self.clients.iter().len() as u64);
        for client in self.clients.iter() {
            client.put(&mut to.piece);
            to.flush_if_large()?;
        }
        put(&mut to.piece, self.sessions.len() as u64);
        for (id, session) in self.sessions.iter() {
            put_session(&mut to.piece, id, session);
            to.flush_if_large()?;
        }
        put(&mut to.piece, self.messages.len() as u64);
        for (key, message) in self.messages.iter() {
            put(&mut to.piece, key.alert);
            put(&mut to.piece, key.endpoint.into());
            put(&mut to.piece, message.account.into());
            to.piece.push(message.stage as u8);
            put_signed(&mut to.piece, message.held);
            put_signed(&mut to.piece, message.part_price);
            put(&mut to.piece, message.until_us);
            put(&mut to.piece, message.since);
            to.flush_if_large()?;
        }
        put(&mut to.piece, self.bundles.len() as u64);
        for (account, bundles) in &self.bundles {
            put(&mut to.piece, u64::from(*account));
            put(&mut to.piece, bundles.pending);
            put(&mut to.piece, bundles.list.len() as u64);
            for bundle in &bundles.list {
                put(&mut to.piece, bundle.units);
                put(&mut to.piece, bundle.context.0.into());
                put(&mut to.piece, bundle.expires_s.into());
            }
            to.flush_if_large()?;
        }
        put(&mut to.piece, self.refunds.len() as u64);
        for (of, amount, at_us) in &self.refunds {
            put_hash(&mut to.piece, of);
            put_signed(&mut to.piece, *amount);
            put(&mut to.piece, *at_us);
            to.flush_if_large()?;
        }
        Ok(())
    }
}

/// A file with a checksum over what goes to it.
struct Checked<W> {
    file: W,
    crc: u32,
    piece: Vec<u8>,
}

impl<W: Write> Checked<W> {
    fn flush_if_large(&mut self) -> io::Result<()> {
        if self.piece.len() >= 1 << 16 { self.flush_piece() } else { Ok(()) }
    }

    fn flush_piece(&mut self) -> io::Result<()> {
        self.crc = crc32c::crc32c_append(self.crc, &self.piece);
        self.file.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }
}

fn put_hash(into: &mut Vec<u8>, hash: &Hash128) {
    into.extend_from_slice(&hash[0].to_le_bytes());
    into.extend_from_slice(&hash[1].to_le_bytes());
}

fn hash(reader: &mut Reader<'_>) -> Option<Hash128> {
    Some([u64::from_le_bytes(reader.array()?), u64::from_le_bytes(reader.array()?)])
}

fn put_session(into: &mut Vec<u8>, id: &Hash128, session: &Session) {
    put_hash(into, id);
    put(into, session.account.into());
    put(into, session.number.into());
    put(into, session.until_us);
    put(into, session.target.context.0.into());
    into.extend_from_slice(&[session.target.class, session.target.destination.len]);
    put(into, session.target.destination.digits);
    put(into, session.id.len() as u64);
    into.extend_from_slice(&session.id);
    put(into, session.client.map_or(0, |client| u64::from(client) + 1));
    put(into, session.reservations().count() as u64);
    for reservation in session.reservations() {
        for id in [reservation.rating_group, reservation.service_id] {
            put(into, id.map_or(0, |id| u64::from(id) + 1));
        }
        put_signed(into, reservation.reserved);
        put(into, reservation.bundle_reserved);
        put(into, reservation.tariff.into());
        let totals = &reservation.totals;
        into.push(totals.present);
        put(into, totals.time_s.into());
        put(into, totals.octets);
        put(into, totals.specific);
        put_signed(into, totals.money);
        let bits = u8::from(reservation.is_starved) | u8::from(reservation.is_pooled) << 1;
        into.push(bits | reservation.granted << GRANTED_SHIFT);
    }
}

fn session(reader: &mut Reader<'_>) -> Option<(Hash128, Session)> {
    let id = hash(reader)?;
    let mut session = Session {
        account: reader.number_u32()?,
        number: reader.number_u32()?,
        until_us: reader.number()?,
        target: Target {
            context: ServiceContext(reader.number_u32()?),
            class: reader.octet()?,
            destination: Destination { len: reader.octet()?, digits: reader.number()? },
        },
        ..Session::default()
    };
    let octets = usize::try_from(reader.number()?).ok()?;
    session.id = reader.octets(octets)?.into();
    session.client = reader.number()?.checked_sub(1).map(u32::try_from).transpose().ok()?;
    for _ in 0..reader.number()? {
        let mut id = || reader.number().map(|id| id.checked_sub(1).and_then(|id| u32::try_from(id).ok()));
        let (rating_group, service_id) = (id()?, id()?);
        *session.reservation(rating_group, service_id) = Reservation {
            rating_group,
            service_id,
            reserved: reader.signed()?,
            bundle_reserved: reader.number()?,
            tariff: u16::try_from(reader.number()?).ok()?,
            totals: Units {
                present: reader.octet()?,
                time_s: reader.number_u32()?,
                octets: reader.number()?,
                specific: reader.number()?,
                money: reader.signed()?,
            },
            ..Reservation::default()
        };
        let bits = reader.octet()?;
        let reservation = session.reservation(rating_group, service_id);
        (reservation.is_starved, reservation.is_pooled) = (bits & 1 != 0, bits & 2 != 0);
        reservation.granted = bits >> GRANTED_SHIFT;
    }
    Some((id, session))
}

/// The snapshots in a folder: position and path, the oldest first.
///
/// # Errors
///
/// The folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let position =
            name.strip_suffix(".snapshot").and_then(|position| u64::from_str_radix(position, 16).ok());
        found.extend(position.map(|position| (position, path)));
    }
    found.sort_unstable();
    Ok(found)
}

/// From where on a snapshot needs the log, by its head alone. None: it is damaged or of another version.
///
/// # Errors
///
/// The file cannot be read.
pub fn floor(path: &Path) -> io::Result<Option<u64>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_OCTETS_MAX).read_to_end(&mut head)?;
    let Some(rest) = head.strip_prefix(MAGIC) else {
        return Ok(None);
    };
    let mut reader = Reader(rest);
    Ok(reader.number().and_then(|_position| reader.number()))
}

/// Magic and two numbers have no more octets.
const HEAD_OCTETS_MAX: u64 = 16 + 2 * 10;

/// A shard as a snapshot has it.
pub struct SnapshotReader {
    pub shard: Shard,
    pub position: u64,
    pub floor: u64,
}

/// Reads a snapshot. None: it is damaged or of another version.
///
/// # Errors
///
/// The file cannot be read.
pub fn read(path: &Path, key: HashKey, config: Arc<Config>) -> io::Result<Option<SnapshotReader>> {
    Ok(decode(&fs::read(path)?, key, config))
}

/// Reads a snapshot's octets. None: they are damaged or of another version.
pub fn decode(octets: &[u8], key: HashKey, config: Arc<Config>) -> Option<SnapshotReader> {
    let (body, crc) = octets.split_last_chunk::<4>()?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
        return None;
    }
    thaw(Reader(body.strip_prefix(MAGIC)?), Shard::new(key, config))
}

fn thaw(mut reader: Reader<'_>, mut shard: Shard) -> Option<SnapshotReader> {
    let (position, floor) = (reader.number()?, reader.number()?);
    shard.rating.now_us = reader.number()?;
    for _ in 0..reader.number()? {
        thaw_account(&mut reader, &mut shard.accounts)?;
    }
    for number in 0..reader.number()? {
        let client = Arc::new(Client::decode(&mut reader)?);
        shard.clients.set(u32::try_from(number).ok()?, client).then_some(())?;
    }
    for _ in 0..reader.number()? {
        let (id, session) = session(&mut reader)?;
        shard.accounts.account(session.account)?;
        if let Some(client) = session.client {
            shard.clients.begun(client);
        }
        shard.sessions.insert(id, session);
    }
    for _ in 0..reader.number()? {
        let key = MessageKey { alert: reader.number()?, endpoint: reader.number_u32()? };
        let message = Message {
            account: reader.number_u32()?,
            stage: Stage::of(reader.octet()?)?,
            held: reader.signed()?,
            part_price: reader.signed()?,
            until_us: reader.number()?,
            since: reader.number()?,
        };
        shard.expiry.push(message.until_us, Due::Message(key));
        shard.messages.insert(key, message);
    }
    for _ in 0..reader.number()? {
        thaw_bundles(&mut reader, &mut shard)?;
    }
    for _ in 0..reader.number()? {
        let of = hash(&mut reader)?;
        shard.refunds.insert(of, (reader.signed()?, reader.number()?));
    }
    reader.0.is_empty().then_some(SnapshotReader { shard, position, floor })
}

fn thaw_account(reader: &mut Reader<'_>, accounts: &mut Accounts) -> Option<()> {
    let key = PackedKey::from_bytes(reader.array()?);
    let amounts = [reader.signed()?, reader.signed()?, reader.signed()?, reader.signed()?, reader.signed()?];
    let is_blocked = reader.octet()? != 0;
    let octets = match key.is_hashed() {
        true => {
            let len = reader.octet()?;
            reader.octets(len.into())?
        }
        false => &[],
    };
    let number = accounts.open(key, octets);
    let account = accounts.account_mut(number)?;
    [account.posted, account.pending, account.limit, account.debt, account.used] = amounts;
    account.is_blocked = is_blocked;
    Some(())
}

fn thaw_bundles(reader: &mut Reader<'_>, shard: &mut Shard) -> Option<()> {
    let number: AccountNumber = reader.number_u32()?;
    let mut bundles = AccountBundles { pending: reader.number()?, ..AccountBundles::default() };
    for _ in 0..reader.number()? {
        let bundle = Bundle {
            units: reader.number()?,
            context: ServiceContext(reader.number_u32()?),
            expires_s: reader.number_u32()?,
        };
        shard.expiry.push(u64::from(bundle.expires_s) * 1_000_000, Due::Bundles(number));
        bundles.list.push(bundle);
    }
    shard.accounts.account_mut(number)?.has_bundles = true;
    shard.bundles.insert(number, bundles);
    Some(())
}
