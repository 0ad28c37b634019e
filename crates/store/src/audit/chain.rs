//! Chain of the audit trail: the canonical form of a link, its hash, and the salted hashes of its fields.
//!
//! Integers are big endian; whatever has no fixed length has its length before it. The first octet says what
//! is hashed, the second its version, the third the algorithm. docs/dev/audit.md has an example.

use super::{Act, FORGET, GENESIS, RETENTION, SERVER, TEXT_OCTETS_MAX};
use crate::StoreError;
use records::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

/// Version of the canonical form.
pub const VERSION: u8 = 1;
/// SHA-256 (FIPS 180-4).
pub const SHA_256: u8 = 1;
/// Octets of a hash.
pub const HASH_OCTETS: usize = 32;
/// Octets of a salt.
pub const SALT_OCTETS: usize = 16;
/// Number of a chain's first link.
pub const FIRST: u64 = 1;

/// First octets of what is hashed or signed.
const TAG_LINK: u8 = b'L';
const TAG_FIELD: u8 = b'F';
const TAG_RETENTION: u8 = b'R';

/// A hash.
pub type Hash = [u8; HASH_OCTETS];
/// In place of a hash before the first link.
pub const NOTHING: Hash = [0; HASH_OCTETS];

/// A field that a link commits to by a salted hash, and that is kept apart from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum AuditField {
    /// [`Act::token_name`].
    TokenName = 1,
    /// [`Act::from`].
    From = 2,
    /// [`Act::object`].
    Object = 3,
    /// [`Act::detail`].
    Detail = 4,
}

impl AuditField {
    /// All of this version.
    pub const ALL: [AuditField; 4] =
        [AuditField::TokenName, AuditField::From, AuditField::Object, AuditField::Detail];

    /// As a link's commitments number it.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// As the API names it.
    pub fn name(self) -> &'static str {
        match self {
            AuditField::TokenName => "token_name",
            AuditField::From => "from",
            AuditField::Object => "object",
            AuditField::Detail => "detail",
        }
    }

    /// The field with this number.
    pub fn numbered(number: u16) -> Option<AuditField> {
        AuditField::ALL.into_iter().find(|field| field.number() == number)
    }
}

/// What a link says beyond account, verb and token, by number; later versions add numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
enum Extra {
    /// u64: the act noted under this number failed.
    Failed = 1,
    /// u64: so many times.
    Count = 2,
    /// 16 octets: the id of the database that the chain began in.
    Database = 3,
    /// (u64, u16) each: link and field of what was erased.
    Forgotten = 4,
    /// u64 and a hash: the last link that was dropped.
    Dropped = 5,
    /// 32 octets: HMAC-SHA-256 over the place of the link and what it dropped.
    Signature = 6,
}

/// A link as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLink {
    /// Its number: without gaps from [`FIRST`] on.
    pub seq: u64,
    /// [`VERSION`] when it was written.
    pub version: u8,
    /// [`SHA_256`].
    pub algorithm: u8,
    /// Hash of the link before it; [`NOTHING`] in the first.
    pub previous: Hash,
    /// When.
    pub at: Timestamp,
    /// Whose account.
    pub account: String,
    /// Such as `alert.cancel`.
    pub verb: String,
    /// The token's id.
    pub token: String,
    /// (number u16, length u32, octets) each, by number.
    pub extras: Vec<u8>,
    /// (number u16, salted hash) each, by number.
    pub commitments: Vec<u8>,
    /// Hash of all the above.
    pub hash: Hash,
}

/// A field with its salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaltedField {
    /// [`AuditField::number`].
    pub number: u16,
    /// Random octets of its own; without them the value cannot be found by trying.
    pub salt: Vec<u8>,
    /// The value.
    pub value: String,
}

/// The newest link of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// Its number; 0: there is none yet.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

impl ChainHead {
    /// Of a chain without a link.
    pub const EMPTY: ChainHead = ChainHead { seq: 0, hash: NOTHING };

    /// As it is printed: number, colon, hash in hexadecimal.
    pub fn text(&self) -> String {
        format!("{}:{}", self.seq, hex(&self.hash))
    }

    /// Reads what [`text`](Self::text) wrote.
    pub fn parse(text: &str) -> Option<ChainHead> {
        let (seq, digits) = text.split_once(':')?;
        if digits.len() != 2 * HASH_OCTETS || !digits.is_ascii() {
            return None;
        }
        let mut hash = NOTHING;
        for (octet, at) in hash.iter_mut().zip((0..).step_by(2)) {
            *octet = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
        }
        Some(ChainHead { seq: seq.parse().ok()?, hash })
    }
}

/// The key that signs what retention dropped: a secret of the server's, not in the database.
#[derive(Clone, Copy)]
pub struct AuditKey(pub [u8; 32]);

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditKey")
    }
}

impl AuditKey {
    fn mac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }

    fn sign(&self, place: &ChainHead, dropped: &ChainHead) -> Vec<u8> {
        hmac::sign(&self.mac(), &retention_octets(place, dropped)).as_ref().to_vec()
    }
}

fn retention_octets(place: &ChainHead, dropped: &ChainHead) -> Vec<u8> {
    let mut octets = vec![TAG_RETENTION, VERSION, SHA_256];
    for head in [place, dropped] {
        octets.extend(head.seq.to_be_bytes());
        octets.extend(head.hash);
    }
    octets
}

/// A link and its fields, to be appended.
#[derive(Debug, Clone)]
pub(crate) struct NewLink {
    pub link: AuditLink,
    pub fields: Vec<SaltedField>,
    /// The person that object and detail speak of.
    pub person: Option<String>,
}

impl NewLink {
    /// The chain's head once it is appended.
    pub(crate) fn head(&self) -> ChainHead {
        ChainHead { seq: self.link.seq, hash: self.link.hash }
    }

    /// The person of a field.
    pub(crate) fn person_of(&self, number: u16) -> Option<&str> {
        let speaks = number == AuditField::Object.number() || number == AuditField::Detail.number();
        self.person.as_deref().filter(|_| speaks)
    }
}

/// The link of an act, behind `head`.
pub(crate) fn link_of(head: &ChainHead, act: &Act) -> Result<NewLink, StoreError> {
    let mut extras = Vec::new();
    if let Some(failed) = act.failed {
        push_extra(&mut extras, Extra::Failed, &failed.to_be_bytes());
    }
    if let Some(count) = act.count {
        push_extra(&mut extras, Extra::Count, &count.to_be_bytes());
    }
    sealed(head, act, extras)
}

/// The first link of a chain.
pub(crate) fn genesis(database: &[u8; 16], earlier: u64, now: Timestamp) -> Result<NewLink, StoreError> {
    let mut extras = Vec::new();
    push_extra(&mut extras, Extra::Database, database);
    let detail = if earlier > 0 { format!("{earlier} earlier entries follow") } else { String::new() };
    sealed(&ChainHead::EMPTY, &Act { detail, ..by_server(GENESIS, now) }, extras)
}

/// A link that names erased fields.
pub(crate) fn forgetting(
    head: &ChainHead,
    account: &str,
    erased: &[(u64, u16)],
    now: Timestamp,
) -> Result<NewLink, StoreError> {
    let mut named = Vec::with_capacity(erased.len() * 10);
    for (seq, number) in erased {
        named.extend(seq.to_be_bytes());
        named.extend(number.to_be_bytes());
    }
    let mut extras = Vec::new();
    push_extra(&mut extras, Extra::Forgotten, &named);
    let detail = format!("{} fields", erased.len());
    let act = Act { account: account.to_owned(), detail, ..by_server(FORGET, now) };
    sealed(head, &act, extras)
}

/// A link that stands for those up to `dropped`.
pub(crate) fn retaining(
    head: &ChainHead,
    dropped: &ChainHead,
    key: &AuditKey,
    now: Timestamp,
) -> Result<NewLink, StoreError> {
    let mut extras = Vec::new();
    push_extra(&mut extras, Extra::Dropped, &[&dropped.seq.to_be_bytes()[..], &dropped.hash].concat());
    push_extra(&mut extras, Extra::Signature, &key.sign(head, dropped));
    let detail = format!("up to {}", dropped.seq);
    sealed(head, &Act { detail, ..by_server(RETENTION, now) }, extras)
}

fn by_server(verb: &str, at: Timestamp) -> Act {
    Act {
        at,
        account: records::Account::DEFAULT.to_owned(),
        token: SERVER.to_owned(),
        verb: verb.to_owned(),
        ..Act::default()
    }
}

fn sealed(head: &ChainHead, act: &Act, extras: Vec<u8>) -> Result<NewLink, StoreError> {
    let values = [
        (AuditField::TokenName, &act.token_name),
        (AuditField::From, &act.from),
        (AuditField::Object, &act.object),
    ];
    let mut fields = Vec::new();
    let mut commitments = Vec::new();
    for (field, value) in values.into_iter().chain([(AuditField::Detail, &act.detail)]) {
        if value.is_empty() {
            continue;
        }
        let field = SaltedField { number: field.number(), salt: salt()?, value: kept(value) };
        commitments.extend(field.number.to_be_bytes());
        commitments.extend(field.commitment());
        fields.push(field);
    }
    let mut link = AuditLink {
        seq: head.seq + 1,
        version: VERSION,
        algorithm: SHA_256,
        previous: head.hash,
        at: act.at,
        account: kept(&act.account),
        verb: kept(&act.verb),
        token: kept(&act.token),
        extras,
        commitments,
        hash: NOTHING,
    };
    link.hash = link.computed();
    Ok(NewLink { link, fields, person: act.person.as_deref().map(kept) })
}

/// Text as every database keeps it, and no longer than is useful.
pub(crate) fn kept(text: &str) -> String {
    let mut end = text.len().min(TEXT_OCTETS_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', "\u{fffd}")
}

fn salt() -> Result<Vec<u8>, StoreError> {
    let mut salt = vec![0; SALT_OCTETS];
    let filled = SystemRandom::new().fill(&mut salt);
    let failed = |_| StoreError::Database { why: "the system's random number generator failed".to_owned() };
    filled.map_err(failed)?;
    Ok(salt)
}

fn push_extra(extras: &mut Vec<u8>, extra: Extra, octets: &[u8]) {
    extras.extend((extra as u16).to_be_bytes());
    push(extras, octets);
}

/// Octets behind their length. Nothing here comes near 2^32.
fn push(out: &mut Vec<u8>, octets: &[u8]) {
    out.extend(u32::try_from(octets.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(octets);
}

fn sha_256(octets: &[u8]) -> Hash {
    let mut hash = NOTHING;
    hash.copy_from_slice(digest::digest(&digest::SHA256, octets).as_ref());
    hash
}

impl SaltedField {
    /// The hash that a link commits to.
    pub fn commitment(&self) -> Hash {
        let mut octets = vec![TAG_FIELD, VERSION, SHA_256];
        octets.extend(self.number.to_be_bytes());
        push(&mut octets, &self.salt);
        push(&mut octets, self.value.as_bytes());
        sha_256(&octets)
    }
}

impl AuditLink {
    /// What its hash is of.
    pub fn canonical(&self) -> Vec<u8> {
        let mut octets = vec![TAG_LINK, self.version, self.algorithm];
        octets.extend(self.seq.to_be_bytes());
        octets.extend(self.previous);
        octets.extend(self.at.0.to_be_bytes());
        for text in [&self.account, &self.verb, &self.token] {
            push(&mut octets, text.as_bytes());
        }
        push(&mut octets, &self.extras);
        push(&mut octets, &self.commitments);
        octets
    }

    /// The hash that it should have.
    pub fn computed(&self) -> Hash {
        sha_256(&self.canonical())
    }

    /// The fields it commits to, with their hashes.
    pub fn committed(&self) -> impl Iterator<Item = (u16, Hash)> {
        self.commitments.chunks_exact(2 + HASH_OCTETS).map(|one| {
            let mut hash = NOTHING;
            hash.copy_from_slice(&one[2..]);
            (u16::from_be_bytes([one[0], one[1]]), hash)
        })
    }

    fn extra(&self, wanted: Extra) -> Option<&[u8]> {
        let mut rest = &self.extras[..];
        while let Some((number, behind)) = rest.split_first_chunk::<2>() {
            let (length, behind) = behind.split_first_chunk::<4>()?;
            let (octets, behind) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            if u16::from_be_bytes(*number) == wanted as u16 {
                return Some(octets);
            }
            rest = behind;
        }
        None
    }

    fn number(&self, wanted: Extra) -> Option<u64> {
        self.extra(wanted)?.try_into().ok().map(u64::from_be_bytes)
    }

    /// The act that failed.
    pub fn failed(&self) -> Option<u64> {
        self.number(Extra::Failed)
    }

    /// How many times.
    pub fn count(&self) -> Option<u64> {
        self.number(Extra::Count)
    }

    /// Links and fields that were erased.
    pub fn forgotten(&self) -> Vec<(u64, u16)> {
        let named = self.extra(Extra::Forgotten).filter(|_| self.verb == FORGET).unwrap_or_default();
        let one = |octets: &[u8]| {
            let (seq, number) = octets.split_first_chunk::<8>()?;
            Some((u64::from_be_bytes(*seq), u16::from_be_bytes(number.try_into().ok()?)))
        };
        named.chunks_exact(10).filter_map(one).collect()
    }

    /// The last link that was dropped.
    pub fn dropped(&self) -> Option<ChainHead> {
        let octets = self.extra(Extra::Dropped).filter(|_| self.verb == RETENTION)?;
        let (seq, hash) = octets.split_first_chunk::<8>()?;
        Some(ChainHead { seq: u64::from_be_bytes(*seq), hash: hash.try_into().ok()? })
    }

    /// Whether a link of retention was signed with this key.
    pub fn is_signed(&self, key: &AuditKey) -> bool {
        let (Some(dropped), Some(signature)) = (self.dropped(), self.extra(Extra::Signature)) else {
            return false;
        };
        let place = ChainHead { seq: self.seq.saturating_sub(1), hash: self.previous };
        hmac::verify(&key.mac(), &retention_octets(&place, &dropped), signature).is_ok()
    }

    /// The link as people read it, with the fields that are left.
    pub(crate) fn entry(self, fields: Vec<SaltedField>) -> super::AuditEntry {
        let value = |wanted: AuditField| {
            let found = fields.iter().find(|field| field.number == wanted.number());
            found.map(|field| field.value.clone()).unwrap_or_default()
        };
        let act = Act {
            at: self.at,
            account: self.account.clone(),
            token: self.token.clone(),
            token_name: value(AuditField::TokenName),
            from: value(AuditField::From),
            verb: self.verb.clone(),
            object: value(AuditField::Object),
            detail: value(AuditField::Detail),
            person: None,
            failed: self.failed(),
            count: self.count(),
        };
        let is_gone = |number: &u16| !fields.iter().any(|field| field.number == *number);
        let gone = self.committed().map(|(number, _)| number).filter(is_gone);
        let erased = gone.filter_map(AuditField::numbered).collect();
        super::AuditEntry { link: self, act, fields, erased }
    }
}

/// Octets as hexadecimal digits.
pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// A hash as it is stored.
pub(crate) fn stored_hash(octets: &[u8], seq: i64) -> Result<Hash, StoreError> {
    octets.try_into().map_err(|_| StoreError::Damaged {
        what: format!("link {seq} of the audit trail: a hash has {} octets, not {HASH_OCTETS}", octets.len()),
    })
}
